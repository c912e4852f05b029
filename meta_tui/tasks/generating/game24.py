"""Game of 24: four numbers of 1 to 13 and all their expressions, exactly.

The 1,820 multisets are dealt to the splits once and for all, so none is asked in two of them, and
each seed shuffles its part anew, so no sample stands twice in a set. Counting merges what only
commutes (a+b and b+a) and nothing else. No `eval`, no floats: values are pairs of integers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations_with_replacement, islice
from math import floor
from typing import NamedTuple

from meta_tui.errors import UsageError
from meta_tui.tasks import SPLITS, Sample
from meta_tui.tasks.generating import among, chance, make, split_of, within

Numbers = tuple[int, ...]
STRATA = ("", "easy", "medium", "hard", "fraction")
EASY, MEDIUM = 15, 5
"""More than EASY solutions are easy, MEDIUM to EASY medium, fewer hard."""

NO_SOLUTION = "no solution"
"""Target of a sample that has none."""


class Node(NamedTuple):
    """An expression: its value up / down, its text, and whether a step of it is no whole number."""

    up: int
    down: int
    text: str
    fraction: bool


def generate(
    index: int,
    seed: int,
    *,
    goal: int = 24,
    max_solutions: int = 30,
    unsolvable: float = 0.0,
    stratum: str = "",
) -> Sample:
    """Four numbers that make `goal`, as in Suzgun & Kalai 2024 (after Yao et al. 2023).

    Args:
        goal: the number to reach; the sample's target.
        max_solutions: leave out numbers with more solutions than this (the published set's
            quartiles of 3, 6 and 11 come with 30).
        unsolvable: share of samples without a solution; their target is `no solution`.
        stratum: easy, medium, hard or fraction; empty for all.

    Raises:
        UsageError: an option is out of range, or the split has no such sample left.
    """
    among("stratum", stratum, STRATA)
    within("unsolvable", unsolvable, 0, 1)
    chance("game24", seed, index)
    impossible = floor(index * unsolvable)
    hopeless = floor((index + 1) * unsolvable) > impossible
    place = impossible if hopeless else index - impossible
    numbers = _numbers(seed, goal, max_solutions, stratum, hopeless, place)
    facts = {"may_be_unsolvable": True} if unsolvable else {}
    found = solutions(numbers, goal)
    text = " ".join(map(str, numbers))
    if hopeless:
        return make(
            "game24", index, seed, text, NO_SOLUTION,
            kind="unsolvable", difficulty="hard", witness=NO_SOLUTION, goal=goal, solutions=0, solvable=False,
            **facts,
        )  # fmt: skip
    return make(
        "game24", index, seed, text, str(goal),
        kind=stratum_of(found), difficulty=_difficulty(found), witness=found[0].text, goal=goal,
        solutions=len(found), needs_fraction=all(node.fraction for node in found), **facts,
    )  # fmt: skip


def solutions(numbers: Numbers, goal: int = 24) -> list[Node]:
    """All expressions of these numbers, each used once, that make `goal`: plainest first."""
    found = [n._replace(text=_bare(n.text)) for n in _nodes(tuple(sorted(numbers))) if n.up == goal * n.down]
    return sorted(found, key=lambda node: (node.fraction, len(node.text), node.text))


def stratum_of(found: list[Node]) -> str:
    """The stratum of numbers with these solutions (at least one)."""
    return "fraction" if all(node.fraction for node in found) else _difficulty(found)


def _difficulty(found: list[Node]) -> str:
    if all(node.fraction for node in found) or len(found) < MEDIUM:
        return "hard"
    return "easy" if len(found) > EASY else "medium"


def multisets() -> list[Numbers]:
    """The 1,820 sorted choices of four numbers of 1 to 13."""
    return list(combinations_with_replacement(range(1, 14), 4))


def _numbers(seed: int, goal: int, most: int, stratum: str, hopeless: bool, place: int) -> Numbers:
    known = _known(seed, goal, most, stratum, hopeless)
    if place >= len(known.found):
        known.found.extend(islice(known.rest, place + 1 - len(known.found)))
    if place >= len(known.found):
        what = "unsolvable" if hopeless else stratum or "such"
        raise UsageError(
            f"the {split_of(seed)} split has {len(known.found)} {what} samples of game24 for goal {goal}; "
            "ask for fewer or use a seed of another split"
        )
    return known.found[place]


class _Known(NamedTuple):
    found: list[Numbers]
    rest: Iterator[Numbers]


@lru_cache(maxsize=64)
def _known(seed: int, goal: int, most: int, stratum: str, hopeless: bool) -> _Known:
    return _Known([], _walk(seed, goal, most, stratum, hopeless))


def _walk(seed: int, goal: int, most: int, stratum: str, hopeless: bool) -> Iterator[Numbers]:
    dealt = multisets()
    random.Random("game24:splits").shuffle(dealt)
    mine = dealt[SPLITS.index(split_of(seed)) :: len(SPLITS)]
    random.Random(f"game24:{seed}").shuffle(mine)
    for numbers in mine:
        found = solutions(numbers, goal)
        fits = 0 < len(found) <= most and stratum in ("", stratum_of(found))
        if (not found) if hopeless else fits:
            yield numbers


@lru_cache(maxsize=4096)
def _nodes(numbers: Numbers) -> frozenset[Node]:
    if len(numbers) == 1:
        return frozenset({Node(numbers[0], 1, str(numbers[0]), False)})
    found: set[Node] = set()
    for left, right in _halves(numbers):
        for a in _nodes(left):
            for b in _nodes(right):
                found.update(_joined(a, b))
    return frozenset(found)


def _halves(numbers: Numbers) -> set[tuple[Numbers, Numbers]]:
    halves = set()
    for mask in range(1, 2 ** len(numbers) - 1):
        left = tuple(n for i, n in enumerate(numbers) if mask >> i & 1)
        right = tuple(n for i, n in enumerate(numbers) if not mask >> i & 1)
        halves.add((left, right) if left <= right else (right, left))
    return halves


def _joined(a: Node, b: Node) -> Iterator[Node]:
    first, second = sorted((a.text, b.text))
    yield _node(a.up * b.down + b.up * a.down, a.down * b.down, f"({first} + {second})", a, b)
    yield _node(a.up * b.up, a.down * b.down, f"({first} * {second})", a, b)
    for x, y in ((a, b), (b, a)):
        yield _node(x.up * y.down - y.up * x.down, x.down * y.down, f"({x.text} - {y.text})", a, b)
        if y.up:
            yield _node(x.up * y.down, x.down * y.up, f"({x.text} / {y.text})", a, b)


def _node(up: int, down: int, text: str, a: Node, b: Node) -> Node:
    return Node(up, down, text, a.fraction or b.fraction or up % down != 0)


def _bare(text: str) -> str:
    return text[1:-1] if text.startswith("(") else text
