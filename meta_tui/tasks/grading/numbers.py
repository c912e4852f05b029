"""Reading numbers as people write them, in any script, and choosing the one that is the answer.

Values are exact fractions and nothing is rounded. What a locale leaves open (`1.080`) keeps both
readings, the locale's first. Units and currencies are ignored. This module knows no task: it says
which number a text answers with, or that it does not answer with one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from meta_tui.errors import UsageError
from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.extraction import abstains, correct, incorrect, is_negated

COMMA_LANGUAGES = frozenset({"de", "es", "fr", "ru"})
"""Languages that write a decimal comma; all others here write a point."""

MOST_DIGITS = 60
"""Longer runs of digits are no answer to anything here, and big powers cost time."""

_MINUS = dict.fromkeys(map(ord, "−﹣－‒"), "-")
_MARKS = {0xFF0C: ",", 0xFF0E: ".", 0x066C: ",", 0x066B: ".", 0x2019: "'", 0xFF1D: "=", 0xFF1A: ":"}
_SPACES = " \u00a0\u202f\u2009\u2007"
_DIGITS = rf"\d+(?:[.,']\d+|[{_SPACES}]\d{{3}}(?!\d))*"
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_NUMBER = re.compile(
    rf"\\[dt]?frac\s*\{{\s*(?P<top>{_DIGITS})\s*\}}\s*\{{\s*(?P<bottom>{_DIGITS})\s*\}}"
    rf"|(?P<mixed>{_DIGITS})?[{_SPACES}]?(?P<vulgar>[{_VULGAR}])"
    rf"|(?P<plain>(?<![\w.])\.\d+|{_DIGITS})"
)
_FRACTION_BAR = re.compile(r"\s{0,3}[/⁄∕]\s{0,3}(?=\d)")
_OPERATOR = re.compile(
    rf"[)\]{_SPACES}]{{0,6}}(?:\*\*|[+*×÷·∙⋅^–-]|\\times|\\cdot|\\div|[xX](?=[\s\d]))[{_SPACES}]{{0,3}}"
    r"(?=[(\[$€£¥₹-]{0,4}\d)"
)
_POWER_OF_TEN = re.compile(
    r"\s?(?:[×x*·⋅]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)\s?\{?(-?\d{1,3})\}?|[eE]([+-]?\d{1,3})(?![\w.])"
)
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]")
_SHORT_FRACTION = re.compile(r"\\[dt]?frac\s?(\d)\s?(\d)")
_UNDER_A_ROOT = re.compile(
    r"(?:√|\\sqrt\s?(?:\[\d{1,3}\])?\s?\{?|\b(?:sqrt|log|ln|sin|cos|tan)\s?\(?|\\(?:log|ln|sin|cos|tan)\s?[({]?)\s?$",
    re.IGNORECASE,
)
_TIMES_A_ROOT = re.compile(r"\s?(?:√|\\?sqrt\b|\\pi\b|π|pi\b)|i\b")
_OF_A_UNIT = re.compile(r"(?:[A-Za-z}]\^\{?|\b[cdkm]?m)$")
_CLOCK = re.compile(r":(?=\d)")
_SIGN = re.compile(
    r"(?:(?:^|[\s(=:\[{$€£¥₹*_\"'`,;~≈])[-–][$€£¥₹]?|\b(?:minus|negative)\s+[$€£¥₹]?)$", re.IGNORECASE
)
_LOOSE_SIGN = re.compile(r"(?:^|[=(:])\s*-\s+[$€£¥₹]?$")
_WORD = re.compile(r"\w")
_BOXED = re.compile(r"\\boxed\s*\{")
_BOLD = re.compile(r"\*\*(.+?)\*\*|__(.+?)__", re.DOTALL)

_MYRIADS = {"百": 10**2, "千": 10**3, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_MYRIAD = re.compile(r"[ ]?(千?[万萬亿億兆]|百万|[百千](?![克米瓦卡公分]))")
_MYRIAD_REST = re.compile(r"\d[\d,]*")
_SCALES: tuple[tuple[str, int], ...] = (
    (r"(?:(?<=\d)k|thousand|tausend|mille|тысяч[аи]?|тыс\.?|হাজার|हज़ार|వేలు|వేల|พัน(?!ธ))", 10**3),
    (r"(?:หมื่น)", 10**4),
    (r"(?:lakhs?|লাখ|লক্ষ|लाख|లక్షలు|లక్షల|แสน)", 10**5),
    (r"(?:millions?|millionen|mio\.?|millones|millón|миллион(?:а|ов)?|млн\.?|ล้าน)", 10**6),
    (r"(?:crores?|কোটি|करोड़|కోట్లు|కోట్ల)", 10**7),
    (r"(?:billions?|milliarden?|milliards?|миллиард(?:а|ов)?|млрд\.?)", 10**9),
)
_SCALE = re.compile(
    r"[ \u00a0]?(?:"
    + "|".join(rf"(?P<s{n}>{pattern})" for n, (pattern, _) in enumerate(_SCALES))
    + r")(?![^\W\d_])",
    re.IGNORECASE,
)
_SPANISH_THOUSAND = re.compile(r"[ \u00a0]mil\b", re.IGNORECASE)
_SWAHILI_SCALE = re.compile(r"\b(elfu|laki|milioni)[ \u00a0]$", re.IGNORECASE)
_SWAHILI = {"elfu": 10**3, "laki": 10**5, "milioni": 10**6}

Kind = Literal["value", "fraction", "part"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text.

    Attributes:
        readings: what it can mean, the locale's reading first; never empty.
        text: as it stands there.
        start: where it begins in the cleaned text.
        end: where it ends.
        kind: `value`; `fraction` is written with a bar or as ½; `part` is an operand, a power, under
            a root or a time of day, so not a value of its own.
    """

    readings: tuple[Fraction, ...]
    text: str
    start: int
    end: int
    kind: Kind = "value"

    @property
    def value(self) -> Fraction:
        """The locale's reading."""
        return self.readings[0]


@dataclass(frozen=True, slots=True)
class Reading:
    """Which number a text answers with.

    Attributes:
        number: the answer, None if there is none or one cannot tell.
        how: the rule that chose it: only, boxed, bold, equals, new; else none, fraction or many.
        seen: the distinct values among which it was chosen.
    """

    number: Number | None
    how: str
    seen: tuple[Number, ...] = ()


def clean(text: str) -> str:
    """The text with decimal digits of every script as 0-9, one minus sign, plain LaTeX spacing.

    Digits by their decimal value and not by compatibility: that would turn 3½ into 31⁄2.
    """
    for latex, plain in (
        ("{,}", ","),
        ("\\,", "\u2009"),
        ("\\ ", " "),
        ("\\$", "$"),
        ("\\%", "%"),
        ("\\!", ""),
    ):
        text = text.replace(latex, plain)
    text = _SHORT_FRACTION.sub(r"\\frac{\1}{\2}", text)
    digits = (str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    return "".join(digits).translate(_MINUS).translate(_MARKS)


def numbers(text: str, language: str = "en") -> list[Number]:
    """All numbers of a text, in order.

    Args:
        text: any text; it is cleaned first.
        language: two letters; decides what `1.080` means first.
    """
    text = clean(text)
    found: list[Number] = []
    position = 0
    while match := _NUMBER.search(text, position):
        read, position = _read(text, match, language)
        found += read
    return _without_operands(text, _with_mixed(text, found))


def _with_mixed(text: str, found: list[Number]) -> list[Number]:
    """`3 1/2` is one number."""
    kept: list[Number] = []
    for number in found:
        whole = kept[-1] if kept else None
        joined = whole and whole.kind == "value" and text[whole.end : number.start].strip(_SPACES) == ""
        if (
            whole
            and joined
            and number.kind == "fraction"
            and 0 < number.value < 1
            and whole.end < number.start
        ):
            sign = -1 if whole.value < 0 else 1
            value = whole.value + sign * number.value
            kept[-1] = Number((value,), text[whole.start : number.end], whole.start, number.end, "fraction")
        else:
            kept.append(number)
    return kept


def _read(text: str, match: re.Match[str], language: str) -> tuple[list[Number], int]:
    """The numbers that a match holds, and where to go on."""
    if match["plain"] is None:
        return [_written_fraction(text, match, language)], match.end()
    bar = _FRACTION_BAR.match(text, match.end())
    below = _NUMBER.match(text, bar.end()) if bar else None
    if below and below["plain"]:
        return [_over(text, match, below, language)], below.end()
    parts = _listed(match["plain"])
    if len(parts) > 1:
        return _comma_list(text, match, language), match.end()
    readings = _readings(match["plain"], language)
    if not readings:
        return [], match.end()
    return _scaled(text, Number(readings, match["plain"], match.start(), match.end()), language)


def _listed(token: str) -> list[str]:
    """`1,2,3` is a list; every other token is one number (or none)."""
    parts = token.split(",")
    if len(parts) < 3 or not all(part.isdigit() for part in parts) or _is_grouped(parts) or _is_indian(parts):
        return [token]
    return parts


def _comma_list(text: str, match: re.Match[str], language: str) -> list[Number]:
    found, position = [], match.start()
    for part in match["plain"].split(","):
        number = Number((Fraction(int(part[:MOST_DIGITS])),), part, position, position + len(part))
        found.append(_signed(text, number))
        position += len(part) + 1
    return found


def _written_fraction(text: str, match: re.Match[str], language: str) -> Number:
    if match["top"] is not None:
        top, bottom = _first(match["top"], language), _first(match["bottom"], language)
        value = top / bottom if bottom else Fraction(0)
    else:
        whole = _first(match["mixed"], language) if match["mixed"] else Fraction(0)
        value = whole + Fraction(unicodedata.numeric(match["vulgar"])).limit_denominator(10)
    return _signed(text, Number((value,), match.group(), match.start(), match.end(), "fraction"))


def _over(text: str, above: re.Match[str], below: re.Match[str], language: str) -> Number:
    bottom = _first(below["plain"], language)
    value = _first(above["plain"], language) / bottom if bottom else Fraction(0)
    span = text[above.start() : below.end()]
    return _signed(text, Number((value,), span, above.start(), below.end(), "fraction"))


def _first(token: str, language: str) -> Fraction:
    readings = _readings(token, language)
    return readings[0] if readings else Fraction(0)


def _readings(token: str, language: str) -> tuple[Fraction, ...]:
    """What a run of digits and marks can mean; nothing for dates, versions and the like."""
    if token.startswith("."):
        return (Fraction(int(token[1:MOST_DIGITS]), 10 ** len(token[1:MOST_DIGITS])),)
    groups = re.split(rf"[.,'{_SPACES}]", token)
    marks = re.findall(rf"[.,'{_SPACES}]", token)
    if sum(map(len, groups)) > MOST_DIGITS:
        return ()
    if not marks:
        return (Fraction(int(token)),)
    whole = Fraction(int("".join(groups)))
    decimal = whole / 10 ** len(groups[-1])
    if len(marks) == 1 and marks[0] in ".,":
        return _one_mark(groups, marks[0], whole, decimal, language)
    if len(set(marks)) == 1:
        indian = marks[0] == "," and _is_indian(groups)
        return (whole,) if _is_grouped(groups) or indian else ()
    grouped = len(set(marks[:-1])) == 1 and (_is_grouped(groups[:-1]) or _is_indian(groups[:-1]))
    return (decimal,) if grouped and marks[-1] in ".," and marks[-1] != marks[0] else ()


def _one_mark(
    groups: list[str], mark: str, whole: Fraction, decimal: Fraction, language: str
) -> tuple[Fraction, ...]:
    if not _is_grouped(groups):
        return (decimal,)
    decimal_mark = "," if language in COMMA_LANGUAGES else "."
    return (decimal, whole) if mark == decimal_mark else (whole, decimal)


def _is_grouped(groups: Sequence[str]) -> bool:
    """Thousands: 1 to 3 digits that do not start with 0, then threes."""
    first, *rest = groups
    return 1 <= len(first) <= 3 and not first.startswith("0") and all(len(group) == 3 for group in rest)


def _is_indian(groups: Sequence[str]) -> bool:
    """Lakhs and crores: 1 or 2 digits, then twos, then three."""
    first, *middle, last = groups if len(groups) > 2 else ("", "", "")
    return 1 <= len(first) <= 2 and first[0] != "0" and all(len(g) == 2 for g in middle) and len(last) == 3


# Signs, scale words, powers


def _scaled(text: str, number: Number, language: str) -> tuple[list[Number], int]:
    """A plain number with what stands around it: scale words, powers of ten, its sign."""
    number = _with_myriads(text, number, language)
    number = _with_scale_word(text, number, language)
    power = _POWER_OF_TEN.match(text, number.end)
    if power:
        factor = Fraction(10) ** int(power[1] or power[2])
        number = replace(
            number,
            readings=tuple(r * factor for r in number.readings),
            end=power.end(),
            text=text[number.start : power.end()],
        )
    elif (
        _SUPERSCRIPT.match(text, number.end)
        or _CLOCK.match(text, number.end)
        or _behind_clock(text, number)
        or _with_symbol(text, number)
    ):
        number = replace(number, kind="part")
    return [_signed(text, number)], number.end


def _with_symbol(text: str, number: Number) -> bool:
    """√18 and 18π are not 18, and the 2 of cm^2 is no number of its own."""
    before = text[max(0, number.start - 12) : number.start]
    return bool(
        _UNDER_A_ROOT.search(before)
        or _TIMES_A_ROOT.match(text, number.end)
        or (number.text in ("2", "3") and _OF_A_UNIT.search(before))
    )


def _behind_clock(text: str, number: Number) -> bool:
    return number.start > 1 and text[number.start - 1] == ":" and text[number.start - 2].isdigit()


def _with_myriads(text: str, number: Number, language: str) -> Number:
    """11万4200, 1億2000万: units of Chinese and Japanese, each smaller than the one before."""
    unit = _MYRIAD.match(text, number.end)
    if not unit:
        return number
    total, current, end = Fraction(0), number.value, number.end
    while unit:
        factor = 1
        for letter in unit[1]:
            factor *= _MYRIADS[letter]
        total, end = total + current * factor, unit.end()
        following = _MYRIAD_REST.match(text, end)
        current = _first(following[0], language) if following else Fraction(0)
        end = following.end() if following else end
        unit = _MYRIAD.match(text, end) if following else None
    return replace(number, readings=(total + current,), end=end, text=text[number.start : end])


def _with_scale_word(text: str, number: Number, language: str) -> Number:
    factor, end = 1, number.end
    scale = _SCALE.match(text, number.end)
    spanish = _SPANISH_THOUSAND.match(text, number.end) if language == "es" else None
    swahili = (
        _SWAHILI_SCALE.search(text, max(0, number.start - 10), number.start) if language == "sw" else None
    )
    if scale and scale.lastgroup:
        factor, end = _SCALES[int(scale.lastgroup[1:])][1], scale.end()
    elif spanish:
        factor, end = 1000, spanish.end()
    elif swahili:
        factor = _SWAHILI[swahili[1].lower()]
    if factor == 1:
        return number
    return replace(
        number, readings=tuple(r * factor for r in number.readings), end=end, text=text[number.start : end]
    )


def _signed(text: str, number: Number) -> Number:
    before = text[max(0, number.start - 16) : number.start]
    loose = _LOOSE_SIGN.search(before) and not _WORD.search(text, number.end)
    if not _SIGN.search(before) and not loose:
        return number
    return replace(number, readings=tuple(-r for r in number.readings))


def _without_operands(text: str, found: list[Number]) -> list[Number]:
    """Numbers that an operator joins are parts of a sum that is not worked out."""
    operands = set()
    for index, (one, other) in enumerate(pairwise(found)):
        joint = _OPERATOR.match(text, one.end)
        between = text[one.end : other.start].strip("() \u00a0\u202f\u2009")
        if joint and len(between) <= 8 and not re.search(r"[^\W\d_xX]{2}", between.lstrip("\\")):
            operands |= {index, index + 1}
    return [replace(n, kind="part") if i in operands else n for i, n in enumerate(found)]


# Choosing


def answer_number(text: str, question: str = "", language: str = "en", fractions: bool = False) -> Reading:
    """The number that a text answers with.

    One distinct value is it. Among several: the one in a box, in bold, behind the last `=`, or the
    only one that the question does not hold; else one cannot tell. Numbers that the text rules out
    (`not 24`) and parts of sums do not count.

    Args:
        fractions: whether 3/4 and ½ may be the answer.
    """
    cleaned = clean(text)
    found = [n for n in numbers(text, language) if not is_negated(cleaned, n.start, n.end)]
    values = [n for n in found if n.kind == "value" or (fractions and n.kind == "fraction")]
    seen = distinct(values)
    if not seen:
        return Reading(None, "fraction" if any(n.kind == "fraction" for n in found) else "none")
    if len(seen) == 1:
        return Reading(seen[0], "only", seen)
    for how, some in _preferred(cleaned, values, question, language):
        if len(some) == 1:
            return Reading(some[0], how, seen)
    return Reading(None, "many", seen)


def _preferred(
    text: str, values: list[Number], question: str, language: str
) -> Iterable[tuple[str, tuple[Number, ...]]]:
    yield "boxed", distinct(_inside(values, _boxes(text)))
    yield "bold", distinct(_inside(values, [m.span() for m in _BOLD.finditer(text)]))
    last = text.rfind("=")
    yield "equals", distinct(n for n in values if last >= 0 and n.start > last)
    asked = {reading for n in numbers(question, language) for reading in n.readings}
    yield "new", distinct(n for n in values if not asked & set(n.readings))


def _inside(values: list[Number], spans: list[tuple[int, int]]) -> list[Number]:
    return [n for n in values if any(start <= n.start and n.end <= end for start, end in spans)]


def _boxes(text: str) -> list[tuple[int, int]]:
    spans = []
    for box in _BOXED.finditer(text):
        depth, position = 1, box.end()
        while depth and position < len(text):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            position += 1
        spans.append((box.end(), position))
    return spans


def distinct(found: Iterable[Number]) -> tuple[Number, ...]:
    """The numbers by value; two that can mean the same are one, with what they share."""
    kept: list[Number] = []
    places: dict[Fraction, list[int]] = {}
    for number in found:
        held = (i for r in number.readings for i in places.get(r, ()) if r in kept[i].readings)
        place = min(held, default=None)
        if place is None:
            for reading in number.readings:
                places.setdefault(reading, []).append(len(kept))
            kept.append(number)
        else:
            shared = tuple(r for r in kept[place].readings if r in number.readings)
            kept[place] = replace(kept[place], readings=shared)
    return tuple(kept)


def show(value: Fraction) -> str:
    """A value for people: whole, decimal where that is exact, else a fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{float(value):.10g}"
    return text if "e" not in text and Fraction(text) == value else str(value)


def judge_number(sample: Sample, answer: str, language: str = "en") -> Grade:
    """The grade of an answer whose target is one number.

    Correct when the chosen number equals the target exactly in one of its readings; a reading that
    is not the locale's first is noted. `ambiguous` says whether the target is among the values.
    """
    target = _target(sample.target)
    read = answer_number(answer, sample.input, language, fractions=target.denominator != 1)
    if read.number is None:
        return _unread(answer, read, target)
    text = show(read.number.value)
    details = {"rule": read.how}
    if target == read.number.value:
        return correct(text, "", **details)
    if target in read.number.readings:
        return correct(show(target), "by the other decimal mark", reading="other", **details)
    return incorrect(text, f"{text} is not {show(target)}", **details)


def _unread(answer: str, read: Reading, target: Fraction) -> Grade:
    if read.how == "many":
        values = ", ".join(show(n.value) for n in read.seen[:8])
        held = any(target in n.readings for n in read.seen)
        return Grade(
            "ambiguous",
            "several numbers, and none is marked as the answer",
            values,
            0.0,
            {"holds_target": held},
        )
    if read.how == "fraction":
        return incorrect(answer[:200], "a fraction where a whole number is asked for")
    if abstains(answer):
        return Grade("abstained", "says that there is no answer", answer[:200])
    return incorrect(answer[:200], "no number in the answer")


def _target(text: str) -> Fraction:
    read = answer_number(text, fractions=True)
    if read.number is None:
        raise UsageError(f"target {text!r} of a number task is no number; correct the task file")
    return read.number.value
