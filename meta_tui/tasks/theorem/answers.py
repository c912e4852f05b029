"""Grading theorem questions: integers and lists exactly, decimals within one percent, yes and no.

The types and the tolerance are TheoremQA's (Chen et al. 2023), so users' own copies are graded by
the same rules. `details` says how far a decimal is off, and whether 0.1 % would have accepted it.
"""

from __future__ import annotations

import re
from fractions import Fraction

from meta_tui.errors import UsageError
from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.extraction import abstains, correct, incorrect, strictly
from meta_tui.tasks.grading.numbers import answer_number, numbers, show

TOLERANCE = Fraction(1, 100)
CLOSE = Fraction(1, 1000)

_YES = re.compile(r"\b(?:yes|true)\b", re.IGNORECASE)
_NO = re.compile(r"\b(?:no|false|not)\b", re.IGNORECASE)
_LIST = re.compile(r"[\[({]([^\[\](){}]*)[\])}]")
_OPTION = re.compile(r"\(?\b([A-Za-z])\b\)?")
_HUGE = re.compile(r"e[+-]?\d{4,}|\d{400,}", re.IGNORECASE)
"""Numbers that would fill the memory as exact fractions; no question's answer is one."""


def _judge(sample: Sample, answer: str) -> Grade:
    kind = str(sample.meta.get("answer_type", "float"))
    judges = {"integer": _integer, "float": _decimal, "bool": _yes_or_no, "option": _option}
    if kind.startswith("list"):
        return _listing(sample, answer)
    if kind not in judges:
        raise UsageError(
            f"sample {sample.id} has answer_type {kind!r}; there are {', '.join(judges)} and list"
        )
    return judges[kind](sample, answer)


def _value(sample: Sample, answer: str) -> Fraction | Grade:
    read = answer_number(answer, sample.input, fractions=True)
    if read.number is not None:
        return read.number.value
    if read.how == "many":
        seen = ", ".join(show(number.value) for number in read.seen[:8])
        return Grade("ambiguous", "several numbers, and none is marked as the answer", seen)
    return _without(answer, "no number in the answer")


def _without(answer: str, reason: str) -> Grade:
    if abstains(answer):
        return Grade("abstained", "says that there is no answer", answer[:200])
    return incorrect(answer[:200], reason)


def _integer(sample: Sample, answer: str) -> Grade:
    value = _value(sample, answer)
    if isinstance(value, Grade):
        return value
    if value == _target(sample):
        return correct(show(value))
    return _feedback(incorrect(show(value), f"{show(value)} is not {sample.target}"), sample)


def _decimal(sample: Sample, answer: str) -> Grade:
    value = _value(sample, answer)
    if isinstance(value, Grade):
        return value
    target = _target(sample)
    off = abs(value - target) / abs(target) if target else abs(value)
    facts = {"relative_error": float(off), "within_0.001": off <= CLOSE}
    if off <= TOLERANCE:
        return correct(show(value), "", **facts)
    wrong = incorrect(show(value), f"{show(value)} is off by {float(off):.1%}", **facts)
    return _feedback(wrong, sample)


def _target(sample: Sample) -> Fraction:
    try:
        if _HUGE.search(sample.target):
            raise ValueError("too large")
        return Fraction(sample.target.strip().replace(",", ""))
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(
            f"target {sample.target[:80]!r} of {sample.id} is no number; correct the task file"
        ) from error


def _yes_or_no(sample: Sample, answer: str) -> Grade:
    yes, no = _YES.search(answer) is not None, _NO.search(answer) is not None
    if yes == no:
        return (
            Grade("ambiguous", "says both yes and no", answer[:200])
            if yes
            else _without(answer, "neither yes nor no")
        )
    said = "yes" if yes else "no"
    if yes == (sample.target.strip().casefold() in ("yes", "true")):
        return correct(said)
    return _feedback(incorrect(said, f"{said} is wrong"), sample)


def _option(sample: Sample, answer: str) -> Grade:
    letters = {letter.upper() for letter in _OPTION.findall(answer)}
    if len(letters) > 1:
        return Grade("ambiguous", "several options", ", ".join(sorted(letters)))
    if letters == {sample.target.strip(" ()").upper()}:
        return correct(sample.target)
    return _without(answer, "another option, or none")


def _listing(sample: Sample, answer: str) -> Grade:
    found = _LIST.findall(answer)
    values = [number.value for number in numbers(found[-1] if found else answer)]
    wanted = [number.value for number in numbers(sample.target)]
    text = "[" + ", ".join(map(show, values)) + "]"
    if not values:
        return _without(answer, "no list in the answer")
    if len(values) != len(wanted):
        return _feedback(incorrect(text, f"{len(values)} values where {len(wanted)} are wanted"), sample)
    wrong = [i + 1 for i, (a, b) in enumerate(zip(values, wanted, strict=True)) if not _near(a, b)]
    if not wrong:
        return correct(text)
    return _feedback(incorrect(text, f"wrong at place {', '.join(map(str, wrong))}"), sample)


def _near(value: Fraction, target: Fraction) -> bool:
    if target.denominator == 1:
        return value == target
    return abs(value - target) <= TOLERANCE * abs(target)


def _feedback(grade: Grade, sample: Sample) -> Grade:
    """What a method that may learn is told: what is wrong and in which area, never the answer."""
    text = "the answer is wrong"
    if "area" in sample.meta:
        text += f"; it is a question of {sample.meta['area']} ({sample.meta['kind'].replace('_', ' ')})"
    return Grade(grade.verdict, grade.reason, grade.answer, grade.score, {**grade.details, "feedback": text})


strict = strictly(_judge)
"""The value after the marker equals the target: exactly, or within TOLERANCE for a decimal."""
