"""Competition mathematics with answers in LaTeX, for users' own copies of MATH-500.

There is no generator: problems come from `loaders`. `strict` compares what stands in the last
`\\boxed{}` of the answer (else the whole answer) with the target as numbers and as text without what
only lays it out. It does not do algebra: two formulas that differ as written are `ambiguous`, and
the range that the report shows says what that leaves open.
"""

from __future__ import annotations

import re

from meta_tui.errors import UsageError
from meta_tui.tasks import Family, Grade, Sample
from meta_tui.tasks.grading.extraction import abstains, correct, incorrect, strictly
from meta_tui.tasks.grading.numbers import answer_number, show

_LAYOUT = re.compile(
    r"\\(?:left|right|displaystyle|,|!|;|:| |quad|qquad)(?![A-Za-z])|\\(?:text|mathrm|mbox|textbf)\s*(?=\{)"
    r"|[\s$]|\^\s*\{?\s*\\circ\s*\}?|\\degree|\\%|%"
)
_SHORT_FRACTION = re.compile(r"\\frac(?:(\d)(\d)|\{([^{}]*)\}(\d)|(\d)\{([^{}]*)\})")
_NAMED = re.compile(r"^[A-Za-z]\s*(?:=|\\in)\s*")
_NUMERIC = re.compile(r"[-+]?(?:[\d.,]+|\\frac\{-?[\d.,]+\}\{[\d.,]+\}|[\d.,]+/[\d.,]+)")


def boxed(answer: str) -> str:
    """What stands in the last `\\boxed{}`, braces balanced; the whole text without one."""
    start = answer.rfind("\\boxed")
    opened = answer.find("{", start) if start >= 0 else -1
    if opened < 0:
        return answer
    depth = 0
    for place in range(opened, len(answer)):
        depth += {"{": 1, "}": -1}.get(answer[place], 0)
        if depth == 0:
            return answer[opened + 1 : place]
    return answer[opened + 1 :]


def plain(text: str) -> str:
    """The text without layout: spaces, \\left, \\text, degrees, short fractions written out."""
    text = text.strip().strip("$").strip().rstrip(".")
    text = _NAMED.sub("", text).replace("dfrac", "frac").replace("tfrac", "frac").replace("−", "-")
    text = _LAYOUT.sub("", text)
    text = _SHORT_FRACTION.sub(_fraction, text)
    return text[1:-1] if re.fullmatch(r"\{[^{}]*\}", text) else text


def _fraction(match: re.Match[str]) -> str:
    top, bottom = (part for part in match.groups() if part is not None)
    return f"\\frac{{{top}}}{{{bottom}}}"


def _judge(sample: Sample, answer: str) -> Grade:
    found, wanted = plain(boxed(answer)), plain(boxed(sample.target))
    if _bare(found) == _bare(wanted):
        return correct(found)
    numeric = [_NUMERIC.fullmatch(text) is not None for text in (found, wanted)]
    if all(numeric):
        values = [answer_number(text, fractions=True).number for text in (found, wanted)]
        if values[0] is not None and values[1] is not None:
            same = values[0].value == values[1].value
            return correct(found) if same else incorrect(found, f"{show(values[0].value)} is another number")
    if abstains(answer):
        return Grade("abstained", "says that there is no answer", answer[:200])
    return Grade("ambiguous", "differs from the target as written; formulas are not compared", found[:200])


def _bare(text: str) -> str:
    """Braces around single words do not matter: \\text{odd} is odd."""
    return re.sub(r"\{([A-Za-z]+)\}", r"\1", text).casefold()


def generate(index: int, seed: int) -> Sample:
    """There is no generator.

    Raises:
        UsageError: always.
    """
    raise UsageError("math has no generator; give a file of your own, such as MATH-500's test.jsonl")


strict = strictly(_judge)
"""The boxed answer is the target, as a number or as written."""

FAMILY = Family(
    id="math",
    title="Competition mathematics (own copies)",
    description="Solve the following problem. Put the answer in \\boxed{}.",
    generate=generate,
    graders={"strict": strict},
)
