"""What a run will probably need, from runs of the past: calls and dollars. Pure.

It is a range that most of those runs lay in, never a promise; the limits of the form are what
stops a run. A price that no past run knows is shown as "-".
"""

from __future__ import annotations

from collections.abc import Sequence

from meta_tui.display import count
from meta_tui.store import RunSummary

LEFT_OUT = 0.1
"""Share of the runs at either end that the range leaves out, where there are ten or more."""

ENDED = ("answered", "completed", "no_answer")
"""Runs that came to their end by themselves."""


def estimate(runs: Sequence[RunSummary], method: str, model: str, most: int | None = None) -> str:
    """`about 4-15 calls, cost $0.02-0.15 (from 40 past runs)`.

    Args:
        runs: recorded runs.
        method, model: what the new run will use; calls come from runs of the method with any model,
            dollars only from live runs with this one.
        most: limit of calls.
    """
    past = [run for run in runs if run.method == method and run.status in ENDED and run.calls]
    if not past:
        return "no past run of this method to estimate from"
    own = [run for run in past if run.model == model]
    priced = sorted(run.cost for run in own if run.cost is not None)
    used = own or past
    calls = _between(sorted(run.calls for run in used))
    ends = [f"{int(min(number, most or number)):,}" for number in calls]
    cost = _money(_between(priced)) if priced else "-"
    noun = "call" if ends[1] == "1" else "calls"
    return f"about {_range(ends)} {noun}, cost {cost} (from {count(len(used), 'past run')})"


def _between(values: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest of sorted values, without the outermost where there are many."""
    cut = int(len(values) * LEFT_OUT)
    return values[cut], values[-1 - cut]


def _range(ends: Sequence[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}-{ends[1]}"


def _money(ends: tuple[float, float]) -> str:
    digits = 4 if ends[1] < 0.01 else 2
    return "$" + _range([f"{dollars:.{digits}f}" for dollars in ends])
