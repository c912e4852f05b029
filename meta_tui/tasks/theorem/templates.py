"""What a theorem question is: a template, its parameters, and an exact answer.

A template draws parameters and words a question; `solve` gives the exact value from the parameters
alone. So tests can work the value out in another way, and a person can check one by hand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Exact = bool | int | Fraction | float | list[int]
"""A float only where the value is irrational."""

AnswerType = Literal["integer", "float", "bool", "list"]
Params = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """One theorem and the questions about it.

    Attributes:
        name: unique.
        area: one of AREAS; what a memory can learn on.
        answer: type of the answer.
        level: 1 (one formula) to 3 (several steps).
        draw: parameters of a question, JSON values.
        words: the question.
        solve: its exact answer.
        held_out: never in train or dev samples.
    """

    name: str
    area: str
    answer: AnswerType
    level: int
    draw: Callable[[random.Random], Params]
    words: Callable[[Params], str]
    solve: Callable[[Params], Exact]
    held_out: bool = False


AREAS = (
    "number theory",
    "combinatorics",
    "probability",
    "linear algebra",
    "graph theory",
    "geometry and analysis",
)


def balanced(
    rng: random.Random, draw: Callable[[random.Random], Params], solve: Callable[[Params], Exact]
) -> Params:
    """Parameters of a yes/no question, of which half are answered yes."""
    wanted = rng.random() < 0.5
    while True:
        params = draw(rng)
        if solve(params) is wanted:
            return params


def matrix(rows: list[list[int]]) -> str:
    """A matrix as text: `[[1, 2], [3, 4]]`."""
    return str(rows)
