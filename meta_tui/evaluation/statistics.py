"""The statistics of an evaluation: pure functions of counts and lists, standard library only.

Proportions get Wilson intervals, never the normal one; two methods on the same samples get the
exact McNemar test and Newcombe's paired interval; repeats stay with their sample. Nothing here
knows a method, a task or a log, and whatever draws at random takes its seed from the caller.
Checked against scipy and statsmodels in the tests.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import ceil, comb, inf, isfinite, isnan, nan, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

LEVEL = 0.95
RESAMPLES = 10_000

T_TABLE = (
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
    2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
    2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272,
)  # fmt: skip
"""97.5 % points of Student's t for 1 to 30 degrees of freedom."""


class Interval(NamedTuple):
    """A value and the interval around it."""

    value: float
    low: float
    high: float


def wilson(successes: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval of a proportion (Wilson 1927): low and high, in [0, 1].

    Raises:
        ValueError: the counts are impossible.
    """
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"{successes} of {n} is no proportion")
    z2 = _z(level) ** 2
    p = successes / n
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return (middle - half if successes else 0.0), (middle + half if successes < n else 1.0)


def mcnemar(first: int, second: int) -> float:
    """Two-sided p of the exact McNemar test: binomial on the samples that only one of two methods
    got right.

    Args:
        first, second: samples that only the first, only the second got right.
    """
    n, few = first + second, min(first, second)
    tail = sum(comb(n, k) for k in range(few + 1))
    return min(1.0, float(2 * tail / 2**n))


def newcombe(both: int, first: int, second: int, neither: int, level: float = LEVEL) -> Interval:
    """The first method's proportion minus the second's, on the same samples, with its interval.

    Newcombe (1998, Statistics in Medicine 17: 2635-2650), method 10: Wilson intervals, squared and
    added with their correlation, which is corrected for continuity.

    Args:
        both, first, second, neither: samples that both got right, only the first, only the second,
            none of the two.

    Raises:
        ValueError: there are no samples.
    """
    n = both + first + second + neither
    low1, high1 = wilson(both + first, n, level)
    low2, high2 = wilson(both + second, n, level)
    one, two = (both + first) / n, (both + second) / n
    phi = _phi(both, first, second, neither)
    difference = (first - second) / n
    down = _joined(one - low1, high2 - two, phi)
    return Interval(difference, difference - down, difference + _joined(high1 - one, two - low2, phi))


def _phi(a: int, b: int, c: int, d: int) -> float:
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    cross = a * d - b * c
    if margins == 0:
        return 0.0
    corrected = cross if cross < 0 else max(cross - (a + b + c + d) / 2, 0)
    return corrected / sqrt(margins)


def _joined(x: float, y: float, phi: float) -> float:
    return sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def cluster_bootstrap(
    clusters: Sequence[Sequence[float]], *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """Mean over samples of the mean over their repeats, with its percentile interval.

    Samples are drawn anew and keep their repeats together, so that repeats are never pooled as if
    they were independent. For a difference of two methods give the differences of their outcomes.

    Raises:
        ValueError: there are no clusters, or an empty one.
    """
    if not clusters or not all(clusters):
        raise ValueError("nothing to resample, or a sample without repeats")
    return bootstrap(
        [fmean(repeats) for repeats in clusters], fmean, seed=seed, resamples=resamples, level=level
    )


def bootstrap(
    clusters: Sequence[T],
    statistic: Callable[[Sequence[T]], float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """Percentile interval of any statistic of samples (each with whatever belongs to it).

    Resamples whose statistic is infinite (a ratio over nothing) count at the end that their sign
    names; those where it is not a number are left out.

    Raises:
        ValueError: there are no samples.
    """
    if not clusters:
        raise ValueError("nothing to resample")
    rng = random.Random(seed)
    drawn = [statistic(rng.choices(clusters, k=len(clusters))) for _ in range(resamples)]
    found = sorted(value for value in drawn if not isnan(value))
    if not found:
        return Interval(statistic(clusters), nan, nan)
    tail = (1 - level) / 2
    return Interval(statistic(clusters), _quantile(found, tail), _quantile(found, 1 - tail))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low, high = ordered[int(place)], ordered[ceil(place)]
    if low == high or not (isfinite(low) and isfinite(high)):
        return low if place - int(place) < 0.5 else high
    return low + (high - low) * (place - int(place))


def t_interval(values: Sequence[float]) -> Interval:
    """Mean of repeats with its 95 % t interval; without an interval (nan) for a single value.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values to average")
    mean = fmean(values)
    if len(values) == 1:
        return Interval(mean, nan, nan)
    half = t_quantile(len(values) - 1) * stdev(values) / sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def t_quantile(df: int) -> float:
    """The 97.5 % point of Student's t: from the table up to 30 degrees of freedom, beyond it by
    the expansion of Cornish and Fisher (off by less than 1e-6 there).

    Raises:
        ValueError: df is below 1.
    """
    if df < 1:
        raise ValueError(f"{df} degrees of freedom")
    if df <= len(T_TABLE):
        return T_TABLE[df - 1]
    z = _z(LEVEL)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(df) ** (k + 1) for k, term in enumerate(terms))


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Unbiased chance that one of k of a sample's n runs is correct (Chen et al. 2021).

    Raises:
        ValueError: the counts are impossible.
    """
    if not (0 <= correct <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} of {correct} correct among {n} runs")
    return 1 - comb(n - correct, k) / comb(n, k)


def cost_per_correct(total: float | None, correct: int) -> float | None:
    """Dollars (or calls, or tokens) for each correct answer; infinite where none is correct, None
    where the total is unknown."""
    if total is None:
        return None
    return total / correct if correct else inf


@dataclass(frozen=True, slots=True)
class Spent:
    """What one sample cost two methods and whether each got it right."""

    cost: float
    correct: float
    other_cost: float
    other_correct: float


def incremental_cost(samples: Sequence[Spent]) -> float:
    """Cost of each further correct answer of the first method over the other.

    Negative where more is right for less (or less for more): look at the differences themselves
    then. Infinite where the numbers right are equal; not a number where costs are equal too.
    """
    more = fmean(s.cost for s in samples) - fmean(s.other_cost for s in samples)
    right = fmean(s.correct for s in samples) - fmean(s.other_correct for s in samples)
    if right:
        return more / right
    return nan if more == 0 else inf if more > 0 else -inf


def calibration(confidences: Sequence[float], correct: Sequence[bool], bins: int = 10) -> dict[str, Any]:
    """How well stated confidences (in [0, 1]) match what came of them.

    Returns:
        `n`; `ece`, the expected calibration error: the gap between accuracy and mean confidence of a
        bin, weighted by its entries; `brier`, the mean squared error; and `table`: for each of the
        equal bins (low, high] that has entries, its low, high, n, confidence and accuracy.

    Raises:
        ValueError: the lists are empty or differ in length, or a confidence is out of range.
    """
    if not confidences:
        raise ValueError("no stated confidences")
    rows: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for confidence, right in zip(confidences, correct, strict=True):
        if not 0 <= confidence <= 1:
            raise ValueError(f"confidence {confidence} is not in [0, 1]")
        rows[max(0, ceil(confidence * bins) - 1)].append((confidence, right))
    table = [_bin(i / bins, (i + 1) / bins, row) for i, row in enumerate(rows) if row]
    n = len(confidences)
    return {
        "n": n,
        "ece": sum(row["n"] * abs(row["accuracy"] - row["confidence"]) for row in table) / n,
        "brier": fmean((c - right) ** 2 for c, right in zip(confidences, correct, strict=True)),
        "table": table,
    }


def _bin(low: float, high: float, row: list[tuple[float, bool]]) -> dict[str, Any]:
    confidence, accuracy = fmean(c for c, _ in row), fmean(right for _, right in row)
    return {"low": low, "high": high, "n": len(row), "confidence": confidence, "accuracy": accuracy}


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rho with mean ranks for ties; nan where one of the two is constant.

    Raises:
        ValueError: the lists differ in length.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} values")
    a, b = _ranks(x), _ranks(y)
    mean = (len(x) + 1) / 2
    spread = sqrt(sum((i - mean) ** 2 for i in a) * sum((j - mean) ** 2 for j in b))
    return sum((i - mean) * (j - mean) for i, j in zip(a, b, strict=True)) / spread if spread else nan


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for i in order[start : end + 1]:
            ranks[i] = (start + end) / 2 + 1
        start = end + 1
    return ranks


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Cohen's kappa of two raters; nan where both always say the same one thing.

    Raises:
        ValueError: the lists differ in length or are empty.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"{len(first)} and {len(second)} ratings")
    n = len(first)
    agree = sum(a == b for a, b in zip(first, second, strict=True)) / n
    by_chance = sum(list(first).count(label) * list(second).count(label) for label in set(first)) / n**2
    return (agree - by_chance) / (1 - by_chance) if by_chance < 1 else nan


def ambiguous_range(correct: int, ambiguous: int, n: int) -> tuple[float, float]:
    """Accuracy if every ambiguous answer were wrong, and if every one were right."""
    return correct / n, (correct + ambiguous) / n


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)
