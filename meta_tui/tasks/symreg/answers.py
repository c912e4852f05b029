"""Grading formulas: how well they predict points that no example showed.

The score is 1 - NMSE on the test points, not below 0; a formula is `correct` when its NMSE is below
SOLVED. Its size is told as a tie-break. Nothing in an answer is run.
"""

from __future__ import annotations

from collections.abc import Sequence

from meta_tui.errors import UsageError
from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.extraction import abstains, strictly
from meta_tui.tasks.symreg.expressions import NotAFormula, NoValue, Point, read, size, value

SOLVED = 1e-6

Row = tuple[float, float, float]
"""x, y and the value there."""


def nmse(predicted: Sequence[float], wanted: Sequence[float]) -> float:
    """Mean squared error over the variance of what is wanted; 1 is no better than the mean."""
    mean = sum(wanted) / len(wanted)
    spread = sum((w - mean) ** 2 for w in wanted)
    return sum((p - w) ** 2 for p, w in zip(predicted, wanted, strict=True)) / spread


def evaluate(sample: Sample, formula: str) -> Grade:
    """The grade of a formula on the sample's test points.

    Raises:
        UsageError: the sample has no test points.
    """
    rows = [(float(x), float(y), float(z)) for x, y, z in sample.meta.get("test", ())]
    if not rows:
        raise UsageError(f"sample {sample.id} has no test points to check a formula against")
    try:
        tree = read(_formula(formula))
        error = nmse([value(tree, (x, y)) for x, y, _ in rows], [z for _, _, z in rows])
    except (NotAFormula, NoValue) as problem:
        if abstains(formula):
            return Grade("abstained", "says that there is no formula", formula[:200])
        return Grade("incorrect", str(problem), formula[:200], 0.0, {"feedback": str(problem)})
    return _graded(formula, error, size(tree), _train_error(sample, tree))


def _train_error(sample: Sample, tree: object) -> float | None:
    rows = sample.meta.get("train", ())
    try:
        predicted = [value(tree, _point(row)) for row in rows]  # type: ignore[arg-type]
    except NoValue:
        return None
    return nmse(predicted, [float(row[2]) for row in rows]) if rows else None


def _point(row: Sequence[float]) -> Point:
    return float(row[0]), float(row[1])


def _graded(formula: str, error: float, nodes: int, train: float | None) -> Grade:
    score = max(0.0, 1.0 - error)
    solved = error < SOLVED
    shown = "not defined at every example" if train is None else f"NMSE {train:.2g} on the examples"
    facts = {"nmse": error, "nodes": nodes, "feedback": f"{shown}, {error:.2g} outside of them"}
    verdict = "correct" if solved else "incorrect"
    reason = "" if solved else f"NMSE {error:.2g} on the test points"
    return Grade(verdict, reason, formula[:200], 1.0 if solved else score, facts)  # type: ignore[arg-type]


def _formula(answer: str) -> str:
    """The last line that is not empty, without the marks of a formula or of code."""
    lines = [line.strip(" \t`$*") for line in answer.split("\n")]
    lines = [line for line in lines if line]
    return lines[-1].removeprefix("return ").rstrip(".;") if lines else ""


def _judge(sample: Sample, answer: str) -> Grade:
    return evaluate(sample, answer)


strict = strictly(_judge)
"""The formula of the answer predicts the test points."""
