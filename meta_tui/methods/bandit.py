"""LinUCB, a contextual bandit, in plain arithmetic: which arm promises most for a context.

Source: Li et al. 2010 (arXiv 1003.0146), disjoint linear models. Values and pure functions; the
inverse of each arm's matrix is kept up to date (Sherman & Morrison), so nothing is ever inverted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from meta_tui.chat import Value

DIGITS = 12
"""Kept digits: sums must come out alike on every machine."""


class Arm(Value, frozen=True):
    """One arm: the inverse of A (a list of rows) and b; both empty before its first pull."""

    inverse: tuple[tuple[float, ...], ...] = ()
    b: tuple[float, ...] = ()
    pulls: int = 0


class Bandit(Value, frozen=True):
    """The arms by name; one that was never pulled is not in it."""

    arms: dict[str, Arm] = {}  # noqa: RUF012 - msgspec copies it

    def of(self, name: str) -> Arm:
        """An arm, pulled or not."""
        return self.arms.get(name, Arm())

    def lines(self) -> list[str]:
        """Every arm that was pulled, for people."""
        return [f"{name}: {arm.pulls} pulls" for name, arm in sorted(self.arms.items())]


def bound(arm: Arm, x: Sequence[float], c: float) -> float:
    """theta.x + c sqrt(x' A^-1 x), to nine digits."""
    if not arm.inverse:
        return round(c * math.sqrt(_dot(x, x)), 9)
    ax = [_dot(row, x) for row in arm.inverse]
    return round(_dot(ax, arm.b) + c * math.sqrt(max(0.0, _dot(x, ax))), 9)


def best(bandit: Bandit, names: Sequence[str], x: Sequence[float], c: float) -> str:
    """The arm with the highest bound; of equal ones the first by name order given."""
    return max(names, key=lambda name: bound(bandit.of(name), x, c))


def pulled(bandit: Bandit, name: str, x: Sequence[float], reward: float) -> Bandit:
    """The bandit after a pull: A += x x', b += r x."""
    arm = bandit.of(name)
    size = len(x)
    inverse = arm.inverse or tuple(tuple(float(i == j) for j in range(size)) for i in range(size))
    ax = [_dot(row, x) for row in inverse]
    scale = 1.0 + _dot(x, ax)
    rows = tuple(
        tuple(round(value - left * right / scale, DIGITS) for value, right in zip(row, ax, strict=True))
        for row, left in zip(inverse, ax, strict=True)
    )
    b = tuple(round(old + reward * new, DIGITS) for old, new in zip(arm.b or (0.0,) * size, x, strict=True))
    return Bandit({**bandit.arms, name: Arm(rows, b, arm.pulls + 1)})


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return float(sum(map(mul, a, b)))
