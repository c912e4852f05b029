"""The final-answer field: how the methods of the MC2 comparison state, read and compare answers.

One explicit line `Final Answer: ...` (MC2, arXiv 2604.17399, section on the protocol); meta-
prompting's marker is another thing and stands in `protocol`. Pure and linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

FIELD = re.compile(r"[\s>#_-]{0,9}\**_{0,2}final[ _]answer_{0,2}\**\s{0,3}:\s*(.*)", re.IGNORECASE)
_FRAC = re.compile(r"(-?)\\[dt]?frac\{(-?\d{1,60})\}\{(-?\d{1,60})\}")
_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d{1,60})(?:\.\d{1,60})?|-?\.\d{1,60}")
_RATIO = re.compile(r"(-?\d{1,60})\s?/\s?(-?\d{1,60})")


def final_field(reply: str) -> str | None:
    """The answer in the last final-answer line of a reply, unwrapped; None where there is none.

    A field that ends its line is answered by the next line that holds something.
    """
    lines = reply.split("\n")
    for number in range(len(lines) - 1, -1, -1):
        found = FIELD.match(lines[number][:20_000])
        if found:
            stated = found.group(1).strip(" *_\t\r")
            rest = stated or next((line for line in lines[number + 1 :] if line.strip()), "")
            return unwrapped(rest) or None
    return None


def unwrapped(answer: str) -> str:
    """An answer without surrounding spaces, `$`, `**`, `\\boxed{}` and its trailing period."""
    text = answer.strip()
    while True:
        inner = _without_a_wrap(text).strip()
        if inner == text:
            return text
        text = inner


def _without_a_wrap(text: str) -> str:
    for opening, closing in (("**", "**"), ("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("`", "`")):
        if len(text) > len(opening) and text.startswith(opening) and text.endswith(closing):
            return text[len(opening) : -len(closing)]
    if text.startswith("\\boxed{") and text.endswith("}"):
        return text[len("\\boxed{") : -1]
    if text.startswith("**"):
        return text[2:]
    if text.endswith("**"):
        return text[:-2]
    return text[:-1] if text.endswith(".") and not text.endswith("..") else text


def normalised(answer: str) -> str:
    """The form in which answers are compared: numbers as exact ratios, other text folded.

    Unicode NFKC, spaces collapsed, lower case. `1,000`, `14/3` and `\\frac{14}{3}` are numbers;
    `50%` stays text.
    """
    text = " ".join(unicodedata.normalize("NFKC", unwrapped(answer)).split())
    text = text.replace("\u2212", "-").replace("\u2044", "/")
    value = _rational(text)
    return str(value) if value is not None else text.lower()


def same_answer(one: str, other: str) -> bool:
    """Whether two answers say the same."""
    return normalised(one) == normalised(other)


def _rational(text: str) -> Fraction | None:
    if frac := _FRAC.fullmatch(text):
        value = _ratio(frac.group(2), frac.group(3))
        return -value if value is not None and frac.group(1) else value
    if ratio := _RATIO.fullmatch(text):
        return _ratio(ratio.group(1), ratio.group(2))
    return Fraction(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def _ratio(top: str, bottom: str) -> Fraction | None:
    return Fraction(int(top), int(bottom)) if int(bottom) else None
