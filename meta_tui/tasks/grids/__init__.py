"""Grid transformations: find the program behind four examples and apply it to a question.

A stand-in for the Abstraction and Reasoning Corpus with a guarantee that it lacks: a solution of
known, least depth exists, and the examples leave only one answer. Programs that use a held-out
transformation are in no train or dev sample.
"""

from __future__ import annotations

import random

from meta_tui.tasks import Family, Sample
from meta_tui.tasks.generating import among, chance, make, split_of
from meta_tui.tasks.grids.answers import strict, worded, written
from meta_tui.tasks.grids.search import Pair, Program, is_sound
from meta_tui.tasks.grids.transforms import PRIMITIVES, Grid, run

HELD_OUT = ("mirror", "sort_rows", "outline")
PAIRS = 4
DEPTHS = (1, 1, 2, 2, 2, 2, 3, 3)
"""Depths of mixed samples, equally likely."""

LEVELS = {1: "easy", 2: "medium", 3: "hard"}
DRAWS = 12
"""Sets of grids that are tried before another program is drawn."""


def generate(index: int, seed: int, *, depth: int = 0) -> Sample:
    """Four examples and a question; `meta` has the program and its depth.

    Args:
        depth: 1, 2 or 3 transformations; 0 mixes them.

    Raises:
        UsageError: there is no such depth.
    """
    among("depth", depth, (0, *LEVELS))
    rng = chance("grids", seed, index)
    length = depth or rng.choice(DEPTHS)
    program, pairs, question = _task(rng, length, _names(seed))
    target = written(question[1])
    return make(
        "grids", index, seed, worded(pairs, question[0]), target,
        kind=f"depth {length}", difficulty=LEVELS[length], witness=target, depth=length,
        program=list(program), held_out=any(name in HELD_OUT for name in program),
    )  # fmt: skip


def _names(seed: int) -> list[str]:
    return [name for name in PRIMITIVES if split_of(seed) == "test" or name not in HELD_OUT]


def _task(rng: random.Random, depth: int, names: list[str]) -> tuple[Program, list[Pair], Pair]:
    while True:
        program = tuple(rng.choices(names, k=depth))
        for _ in range(DRAWS):
            pairs = _pairs(rng, program)
            if pairs and is_sound(pairs[:-1], pairs[-1], depth):
                return program, pairs[:-1], pairs[-1]


def _pairs(rng: random.Random, program: Program) -> list[Pair]:
    """Inputs and outputs; none where an output is empty, the same as its input, or always one."""
    inputs = [_picture(rng) for _ in range(PAIRS + 1)]
    pairs = [(grid, out) for grid in inputs if (out := run(program, grid)) is not None]
    telling = all(a != b and any(map(any, b)) for a, b in pairs) and len({b for _, b in pairs}) == len(pairs)
    return pairs if telling and len(pairs) == len(inputs) else []


def _picture(rng: random.Random) -> Grid:
    """Some boxes, frames and lines of few colours, and at times stray cells."""
    height, width = rng.randint(4, 8), rng.randint(4, 8)
    rows = [[0] * width for _ in range(height)]
    colours = rng.sample(range(1, 10), rng.randint(2, 3))
    for _ in range(rng.randint(2, 4)):
        _draw(rng, rows, rng.choice(colours))
    for _ in range(rng.choice((0, 1, 3))):
        rows[rng.randrange(height)][rng.randrange(width)] = rng.choice(colours)
    return tuple(map(tuple, rows))


def _draw(rng: random.Random, rows: list[list[int]], colour: int) -> None:
    tall, wide = rng.randint(1, 4), rng.randint(1, 4)
    top, left = rng.randrange(len(rows) - tall + 1), rng.randrange(len(rows[0]) - wide + 1)
    hollow = tall > 2 and wide > 2 and rng.random() < 0.6
    for r in range(tall):
        for c in range(wide):
            inside = 0 < r < tall - 1 and 0 < c < wide - 1
            if not (hollow and inside):
                rows[top + r][left + c] = colour


FAMILY = Family(
    id="grids",
    title="Grid transformations",
    description=(
        "In every example the same transformation turns the input grid into the output grid; digits are colours "
        "and 0 is empty. Give the output grid of the question: a line for each row, a space between digits. You may "
        "give a second attempt after an empty line."
    ),
    generate=generate,
    graders={"strict": strict},
    options={"depth": 0},
)
