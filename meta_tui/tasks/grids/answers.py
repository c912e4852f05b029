"""Grading grids: the whole grid must be right, in one of two attempts.

Cell accuracy and the size are feedback only. Our own tasks and the Abstraction and Reasoning
Corpus (Chollet 2019) are worded and graded alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.extraction import abstains, correct, incorrect, strictly

ATTEMPTS = 2

Rows = Sequence[Sequence[int]]

_ROW = re.compile(r"[\[\](),;|\s]*\d(?:[\s,;|\[\]()]*\d)*[\[\](),;|\s]*")
_BRACKETED = re.compile(r"\[\s*(\d(?:[\s,]*\d)*)\s*\]")


def written(grid: Rows) -> str:
    """A grid as text: a line a row, a space between colours."""
    return "\n".join(" ".join(map(str, row)) for row in grid)


def worded(pairs: Sequence[tuple[Rows, Rows]], question: Rows) -> str:
    """The examples and the question of a task."""
    parts = [
        f"Example {i + 1}, input:\n{written(a)}\noutput:\n{written(b)}" for i, (a, b) in enumerate(pairs)
    ]
    return "\n\n".join([*parts, f"Question, input:\n{written(question)}\noutput:"])


def grids_in(answer: str) -> list[list[list[int]]]:
    """The grids of a text in order: blocks of lines that hold single digits only, or one nested
    list on a line."""
    found: list[list[list[int]]] = []
    block: list[list[int]] = []
    for line in [*answer.split("\n"), ""]:
        nested = _BRACKETED.findall(line)
        if len(nested) > 1:
            found += [block] if block else []
            found, block = [*found, [_digits(row) for row in nested]], []
        elif line.strip() and _ROW.fullmatch(line) and _digits(line):
            block.append(_digits(line))
        elif block and not re.fullmatch(r"[\[\](){},\s]+", line):
            found, block = [*found, block], []
    return found + ([block] if block else [])


def _digits(line: str) -> list[int]:
    return [int(d) for d in re.findall(r"\d", line)]


def _judge(sample: Sample, answer: str) -> Grade:
    wanted = [_digits(line) for line in sample.target.split("\n")]
    attempts = grids_in(answer)[:ATTEMPTS]
    if not attempts:
        if abstains(answer):
            return Grade("abstained", "says that there is no answer", answer[:200])
        return incorrect(answer[:200], "no grid in the answer", feedback="the answer holds no grid")
    if wanted in attempts:
        return correct(written(wanted), "", attempts=len(attempts), right=attempts.index(wanted) + 1)
    best = max(attempts, key=lambda grid: _cell_accuracy(grid, wanted))
    text = _feedback(best, wanted)
    return incorrect(
        written(best), text, attempts=len(attempts), cell_accuracy=_cell_accuracy(best, wanted), feedback=text
    )


def _cell_accuracy(grid: list[list[int]], wanted: list[list[int]]) -> float:
    """Share of right cells; 0 for a grid of another size."""
    if [len(row) for row in grid] != [len(row) for row in wanted]:
        return 0.0
    cells = [a == b for row, other in zip(grid, wanted, strict=True) for a, b in zip(row, other, strict=True)]
    return sum(cells) / len(cells)


def _feedback(grid: list[list[int]], wanted: list[list[int]]) -> str:
    if len({len(row) for row in grid}) > 1:
        return "the rows of the grid differ in length"
    if [len(row) for row in grid] != [len(row) for row in wanted]:
        return f"the grid has {len(grid)} x {len(grid[0])} cells, which is the wrong size"
    return f"{_cell_accuracy(grid, wanted):.0%} of the cells are right"


strict = strictly(_judge)
"""One of the first two grids of the answer is the target."""
