"""Python programming puzzles: a function `sat`, and the question which argument makes it true.

Every kind is written here, has constants of its own and a witness that the generator found by its
own search. A `sat` ends for every argument, takes a few milliseconds, and no empty or trivial
argument satisfies it. The text is never run here; annotations use `List` as the published puzzles
do, which whoever runs it must provide.
"""

from __future__ import annotations

import random
from functools import partial

from meta_tui.tasks import Sample
from meta_tui.tasks.generating import among, distinct, kind_of, make
from meta_tui.tasks.generating.puzzle_kinds import Kind
from meta_tui.tasks.generating.puzzle_kinds.boards import BOARDS
from meta_tui.tasks.generating.puzzle_kinds.numbers import NUMBERS
from meta_tui.tasks.generating.puzzle_kinds.texts import TEXTS

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*TEXTS, *NUMBERS, *BOARDS)}
LEVELS = {1: "easy", 2: "medium", 3: "hard"}


def generate(index: int, seed: int, *, level: int = 0) -> Sample:
    """A puzzle; its target is empty, as in the published set, since many answers may be right.

    `meta` has `name` and `ans_type`, the annotation of the answer.

    Args:
        level: 1, 2 or 3; 0 for all.

    Raises:
        UsageError: there is no such level.
    """
    among("level", level, (0, *LEVELS))
    return distinct("puzzles", index, seed, partial(_sample, seed, level), level)


def _sample(seed: int, level: int, index: int, rng: random.Random) -> Sample:
    names = [kind.name for kind in KINDS.values() if level in (0, kind.level)]
    kind = KINDS[kind_of(names, index, seed)]
    puzzle = kind.make(rng)
    return make(
        "puzzles", index, seed, puzzle.sat, "",
        kind=kind.name, difficulty=LEVELS[kind.level], witness=_witness(puzzle.answer),
        name=f"{kind.name}:{index}", ans_type=kind.type,
    )  # fmt: skip


def _witness(answer: object) -> str:
    return f"```python\ndef solution():\n    return {answer!r}\n```"
