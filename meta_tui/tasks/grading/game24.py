"""Game of 24: an expression over the four given numbers whose value is the goal.

`paper` follows the published evaluator: prose before and after decides what is read, floats are
compared within 1e-3, and `**` or `//` pass. `strict` computes with fractions over `+ - * /`, wants
each number exactly once, and refuses an answer that tries several expressions of which one fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.expressions import MOST_CHARACTERS, NotAnExpression, exact, loose
from meta_tui.tasks.grading.extraction import (
    abstains,
    correct,
    incorrect,
    is_negated,
    paper_answer,
    paper_grade,
    strictly,
)
from meta_tui.tasks.grading.numbers import clean

GOAL = 24
TOLERANCE = 1e-3
NO_SOLUTION = "no solution"
"""The target of a puzzle that has none."""

_OPERATORS = str.maketrans(dict.fromkeys("+-*/÷()", " "))
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]{1,100})\}\s*\{([^{}]{1,100})\}")
_LATEX = {
    "\\times": "*",
    "\\cdot": "*",
    "\\div": "/",
    "\\left": "",
    "\\right": "",
    "\\boxed": " ",
    "\\fbox": " ",
}
_SIGNS = str.maketrans({**dict.fromkeys("×·∙⋅∗✕", "*"), **dict.fromkeys("÷∕⁄", "/"), "–": "-"})
_BRACKETS = str.maketrans("[]{}", "()()")
_EQUALS = re.compile(r"[-=]{1,4}>|<=>|[→⇒➔≈≠≡]|\\(?:to|rightarrow|approx|neq?|implies)\b")
_LETTER_X = re.compile(r"(?<=[\d)])\s{0,3}[xX]\s{0,3}(?=[\d(])")
_BOLD = re.compile(r"(?:(?<=[\s:])|^)\*\*(?=\S)([^\n]{1,400}?)(?<=\S)\*\*(?=$|[\s.,;:])", re.MULTILINE)
# Nothing that changes the value may touch a candidate: a root, a power, a factorial, a decimal part,
# a letter that is calculated with, an operator in words.
_CANDIDATE = re.compile(
    r"(?<![\w.^√!(])(?:-(?=[\d(]))?[\d(][\d+\-*/() \t]*+(?!\s*[\^!%√²³]|\.\d|(?<=[\d)])[A-Za-z]|\s*(?:plus|minus|times|multiplied|divided|mod)\b)"
)
_LETTER_OPERAND = re.compile(r"[A-Za-z]\s?[*+/]\s?$")


@dataclass(frozen=True, slots=True)
class Try:
    """An expression in an answer; no value where it divides by zero."""

    text: str
    value: Fraction | None
    numbers: list[int]


def paper(sample: Sample, reply: str) -> Grade:
    """Value within 1e-3 of 24 and the same numbers as strings, read as the published code reads."""
    answer = _paper_expression(paper_answer(reply))
    try:
        value = loose(answer)
        hit = abs(value - GOAL) < TOLERANCE
    except (NotAnExpression, OverflowError) as error:
        return paper_grade(False, answer, str(error))
    used = sorted(answer.translate(_OPERATORS).split())
    return paper_grade(hit and used == sorted(sample.input.lower().split(" ")), answer)


def _paper_expression(answer: str) -> str:
    if "=" in answer:
        answer = answer.split("=")[0]
    if "is" in answer:
        answer = answer.split("is")[1]
    for word in ("equals", "evaluates to"):
        answer = answer.partition(word)[0]
    return answer.strip()


def _judge(sample: Sample, answer: str) -> Grade:
    if sample.target.casefold() == NO_SOLUTION:
        return _judge_unsolvable(answer)
    goal = int(sample.target)
    wanted = sorted(map(int, sample.input.split()))
    tries = _tries(answer)
    fitting = [one for one in tries if sorted(one.numbers) == wanted]
    wrong = [one.text for one in fitting if one.value != goal]
    if wrong:
        return incorrect(wrong[0], f"{wrong[0]} is not {goal}")
    if fitting:
        return correct(fitting[-1].text)
    if tries:
        return incorrect(tries[0].text, f"does not use each of {sample.input} once")
    if abstains(answer):
        return Grade("abstained", "says that there is no solution", answer[:200])
    return incorrect(answer[:200], "no expression in the answer")


def _judge_unsolvable(answer: str) -> Grade:
    """A puzzle without a solution: saying so is right."""
    if abstains(answer) and not _tries(answer):
        return correct(answer[:200], "there is no solution")
    return incorrect(answer[:200], "there is no solution, and the answer does not say so")


def _tries(answer: str) -> list[Try]:
    """Each expression of an answer that has an operator; equals signs and lines part them."""
    found = []
    for part in re.split(r"[=\n]", plain(answer)):
        for match in _CANDIDATE.finditer(part):
            read = _read(match.group().strip())
            apart = not _LETTER_OPERAND.search(part[max(0, match.start() - 4) : match.start()])
            if read and apart and not is_negated(part, match.start(), match.end()):
                found.append(read)
    return found


def plain(answer: str) -> str:
    """The answer with the usual signs and LaTeX written as `+ - * / ( ) =`."""
    text = _EQUALS.sub(" = ", clean(answer)).replace("\\(", " ").replace("\\)", " ")
    while _FRACTION.search(text):
        text = _FRACTION.sub(r"((\1)/(\2))", text)
    for latex, sign in _LATEX.items():
        text = text.replace(latex, sign)
    text = _LETTER_X.sub("*", text.translate(_SIGNS).translate(_BRACKETS))
    return _BOLD.sub(r"\1", text)


def _read(text: str) -> Try | None:
    text = _balanced(text)
    numbers = [int(n) for n in re.findall(r"\d+", text[: MOST_CHARACTERS + 1])]
    if len(numbers) < 2:
        return None
    try:
        value, _ = exact(text)
    except NotAnExpression as error:
        return Try(text, None, numbers) if "zero" in str(error) else None
    return Try(text, value, numbers)


def _balanced(text: str) -> str:
    """Without brackets at the ends that belong to the sentence around it."""
    text = text.rstrip("( \t")
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip("( \t")
    while text.startswith("(") and text.count("(") > text.count(")"):
        text = text[1:].lstrip()
    return text


strict = strictly(_judge)
"""Every expression over the right numbers has exactly the goal as its value, and there is one."""
