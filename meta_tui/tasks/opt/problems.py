"""What an optimisation problem is: how an instance is made, worded, solved and checked.

Constructions are checked from scratch; a value that a model claims is never read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Instance = Mapping[str, Any]


class Infeasible(Exception):
    """A construction breaks a rule; the message says which, for people and for methods."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem.

    Attributes:
        name: unique.
        goal: whether more or less is better.
        level: 1 to 3.
        draw: an instance (JSON values) of the usual or, if told so, of a large size.
        words: the question, which says how the construction is written.
        solve: a construction and its value: the optimum, or for a large instance the best of our
            own heuristics.
        value: value of a construction (JSON as the model wrote it); raises Infeasible.
        held_out: never in train or dev samples.
    """

    name: str
    goal: Literal["max", "min"]
    level: int
    draw: Callable[[random.Random, bool], Instance]
    words: Callable[[Instance], str]
    solve: Callable[[Instance], tuple[Any, int]]
    value: Callable[[Instance, Any], int]
    held_out: bool = False


def integers(construction: Any, what: str) -> list[int]:
    """A JSON list of integers.

    Raises:
        Infeasible: it is none.
    """
    if not isinstance(construction, list) or not all(type(x) is int for x in construction):
        raise Infeasible(f"{what} must be a JSON list of integers")
    return construction


def once_each(places: list[int], count: int, what: str) -> None:
    """Check that places are different and lie in 0 .. count - 1.

    Raises:
        Infeasible: they do not.
    """
    for place in places:
        if not 0 <= place < count:
            raise Infeasible(f"there is no {what} {place}; they run from 0 to {count - 1}")
    if len(set(places)) != len(places):
        raise Infeasible(f"a {what} stands twice")


def every_one(places: list[int], count: int, what: str) -> None:
    """Check that places are 0 .. count - 1 in some order.

    Raises:
        Infeasible: they are not.
    """
    once_each(places, count, what)
    if len(places) != count:
        raise Infeasible(f"{count - len(places)} of {count} {what}s are missing")
