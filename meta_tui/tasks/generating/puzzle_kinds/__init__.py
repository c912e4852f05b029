"""What a kind of programming puzzle is. The kinds themselves stand in the modules beside this one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Puzzle:
    """The text of `sat` and an argument that satisfies it."""

    sat: str
    answer: object


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of puzzle: its level (1 to 3), the annotation of its answer, and how one is made."""

    name: str
    level: int
    type: str
    make: Callable[[random.Random], Puzzle]


def written(text: str, answer: object, /, **constants: object) -> Puzzle:
    """A puzzle from a text in which `<name>` stands for the repr of a constant."""
    sat = dedent(text).strip()
    for name, value in constants.items():
        sat = sat.replace(f"<{name}>", repr(value))
    return Puzzle(sat, answer)
