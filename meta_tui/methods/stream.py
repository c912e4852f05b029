"""A method over the questions of its run: the one question, or a stream of them.

An instance is a span with role `instance`, named by its sample; a run without a stream is a
stream of one. What is not here: what a method does with one question, and what it keeps from one
instance to the next.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from meta_tui.errors import CallFailed, Stopped
from meta_tui.events import StreamItem
from meta_tui.run import Run, Solution

HOPELESS = frozenset({"filtered", "cut", "bad_request"})
"""Failures that asking again does not mend: in a stream they cost their instance, not the rest."""

AT_ONCE = 100
"""Instances that are begun together where nothing is carried from one to the next."""

SolveOne = Callable[[Run, StreamItem], Awaitable[Solution]]


def items(run: Run, question: str) -> tuple[StreamItem, ...]:
    """The questions of a run in order; the run's own where it is no stream."""
    return run.started.stream or (StreamItem(run.started.sample or "question", question),)


async def each(run: Run, question: str, solve: SolveOne, *, in_turn: bool = False) -> Solution:
    """Solve every question of the run.

    Args:
        solve: what is done with one question, in the span of its instance.
        in_turn: one after the other, because something is carried on.

    Returns:
        the solution of the one question; for a stream `completed`, or `failed` where the method
        refuses to run at all.
    """
    if not run.started.stream:
        return await solve(run, items(run, question)[0])
    queue = run.started.stream
    step = 1 if in_turn else AT_ONCE
    for start in range(0, len(queue), step):
        batch = queue[start : start + step]
        solved = await (_alone(run, batch[0], solve) if in_turn else _together(run, batch, solve))
        refused = next((solution for solution in solved if solution.status == "failed"), None)
        if refused is not None:
            return Solution(None, refused.reason, status="failed")
    return Solution(None, "stream", status="completed")


async def _alone(run: Run, item: StreamItem, solve: SolveOne) -> list[Solution]:
    async with run.span("instance", item.sample) as instance:
        return [await _attempt(instance, item, solve)]


async def _together(run: Run, batch: Sequence[StreamItem], solve: SolveOne) -> list[Solution]:
    async def one(instance: Run, index: int) -> Solution:
        return await _attempt(instance, batch[index], solve)

    return await run.parallel("instance", [item.sample for item in batch], one)


async def _attempt(instance: Run, item: StreamItem, solve: SolveOne) -> Solution:
    try:
        solution = await solve(instance, item)
    except Stopped:
        raise
    except CallFailed as error:
        if error.kind not in HOPELESS:
            raise
        instance.reject(f"{error.kind}: this instance has no answer; the stream goes on")
        return Solution(None, error.kind)
    if solution.answer is not None:
        instance.answered(solution.answer)
    return solution
