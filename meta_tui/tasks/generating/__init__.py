"""What the generators share: chance by item, splits by seed, and the shape of a sample's meta.

Each module beside this one makes the samples of one family with `generate(index, seed, **options)`.
Item `index` of a seed is the same however many are made, on every interpreter. A generator knows
its own solution (the witness) and never asks a grader; nothing here reads a file or a clock.

`meta` always has: `kind`, `difficulty` (easy, medium, hard), `split`, and `witness`: an answer that
is correct, worded as a method would word its final answer. It never reaches a model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, TypeVar

from meta_tui.errors import UsageError
from meta_tui.tasks import Sample

VERSION = 1
"""Raised whenever any generator gives other samples for a seed than before."""

DEV_SEEDS = 1000
TEST_SEEDS = 2000
"""Seeds below DEV_SEEDS make train samples, below TEST_SEEDS dev samples, from there on test
samples: what is tuned on one range is never asked in another."""

MOST_ATTEMPTS = 1000

Split = Literal["train", "dev", "test"]
T = TypeVar("T")


def chance(task: str, seed: int, index: int, attempt: int = 0) -> random.Random:
    """The source of chance of one item; a further attempt at it has its own.

    Raises:
        UsageError: index or seed is negative.
    """
    if index < 0 or seed < 0:
        raise UsageError(f"index {index} and seed {seed} of a sample cannot be negative")
    return random.Random(f"{task}:{seed}:{index}" + (f":{attempt}" if attempt else ""))


def distinct(
    task: str, index: int, seed: int, draw: Callable[[int, random.Random], Sample], *options: object
) -> Sample:
    """Sample `index` of a seed's series, in which no question stands twice.

    For families whose questions are few enough to come again: one that an earlier sample of the
    series asks is drawn anew. A sample still does not depend on how many are made.

    Args:
        draw: a sample from an index and a source of chance.
        options: all that `draw` depends on beside these (hashable).
    """
    chance(task, seed, index)
    series = _series(task, seed, options)
    while len(series) <= index:
        place, attempt = len(series), 0
        sample = draw(place, chance(task, seed, place))
        while sample.input in series:
            attempt += 1
            if attempt > MOST_ATTEMPTS:
                raise UsageError(
                    f"{task} has no {index + 1} different samples with these options; ask for fewer"
                )
            sample = draw(place, chance(task, seed, place, attempt))
        series[sample.input] = sample
    return next(islice(series.values(), index, None))


@lru_cache(maxsize=64)
def _series(task: str, seed: int, options: tuple[object, ...]) -> dict[str, Sample]:
    return {}


def split_of(seed: int) -> Split:
    """The split that samples of a seed belong to."""
    if seed < DEV_SEEDS:
        return "train"
    return "dev" if seed < TEST_SEEDS else "test"


def make(
    task: str,
    index: int,
    seed: int,
    question: str,
    target: str,
    *,
    kind: str,
    difficulty: str,
    witness: str,
    **more: Any,
) -> Sample:
    """A sample with the facts that every family gives, and the family's own."""
    meta = {"kind": kind, "difficulty": difficulty, "split": split_of(seed), "witness": witness, **more}
    return Sample(input=question, target=target, task=task, index=index, meta=meta)


def among(name: str, value: T, allowed: Sequence[T]) -> T:
    """An option's value.

    Raises:
        UsageError: it is none of those allowed.
    """
    if value not in allowed:
        raise UsageError(f"option {name}={value!r}; give one of {', '.join(map(str, allowed))}")
    return value


def within(name: str, value: float, low: float, high: float) -> None:
    """Check that an option's number lies in [low, high].

    Raises:
        UsageError: it does not.
    """
    if not low <= value <= high:
        raise UsageError(f"option {name}={value}; give a number from {low:g} to {high:g}")


def kind_of(kinds: Sequence[T], index: int, seed: int, held_out: Sequence[T] = ()) -> T:
    """The kind of an item: all kinds in turn, in an order of the seed's own.

    Kinds held out are in no train or dev sample, so that test samples of them measure transfer.
    """
    shown = [kind for kind in kinds if split_of(seed) == "test" or kind not in held_out]
    block, place = divmod(index, len(shown))
    order = random.Random(f"kinds:{seed}:{block}").sample(shown, len(shown))
    return order[place]
