"""Running an evaluation: many cells at once, each an ordinary run log, nothing lost.

The same call goes on with what an earlier one left: cells that ended stay as they are, cells that
were stopped are resumed, failed ones are run again on request. What is not here: which models and
sandboxes there are (`session`), grading rules (`tasks`) and numbers (`report`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from meta_tui import sources
from meta_tui.display import count
from meta_tui.errors import LogError, MetaTuiError, RecordError
from meta_tui.evaluation import leases
from meta_tui.evaluation.cells import Cell
from meta_tui.events import Origin, Scored, StreamItem
from meta_tui.methods import build, method_class
from meta_tui.methods.artifacts import answer_of
from meta_tui.protocol import MARKER, QUOTES, final_answer
from meta_tui.run import Doors, Regrade, RunResult, Stop
from meta_tui.runlog import read
from meta_tui.session import with_scorer
from meta_tui.tasks import Execute, Sample, family, grade

DONE = ("answered", "completed", "no_answer")


@dataclass(slots=True)
class Progress:
    """How an evaluation is getting on; `report` is called after every change."""

    total: int = 0
    done: int = 0
    ran: int = 0
    failed: int = 0
    elsewhere: int = 0
    correct: int = 0
    calls: int = 0
    stopped: bool = False
    began: float = field(default_factory=time.monotonic)
    report: Callable[[Progress], None] = lambda _: None
    spent: Callable[[], float | None] = lambda: None
    """Dollars that were spent now; None where a price is unknown."""

    @property
    def rate(self) -> float | None:
        """Cells a minute so far; None before the first cell is through."""
        return 60 * self.ran / max(1e-9, time.monotonic() - self.began) if self.ran else None

    @property
    def eta(self) -> float | None:
        """Seconds that are left at the pace so far; None before the first cell is through."""
        if not self.ran:
            return None
        left = self.total - self.done - self.elsewhere
        return (time.monotonic() - self.began) / self.ran * left

    def line(self) -> str:
        """`61/100 cells · 12.4 a minute · 3 failed · 402 calls · $0.0410 · eta 4 m 10 s`."""
        rate, cost = self.rate, self.spent()
        parts = [f"{self.done}/{self.total} cells"]
        parts += [] if rate is None else [f"{rate:,.1f} a minute"]
        parts += [f"{self.failed} failed"] if self.failed else []
        parts += [f"{self.elsewhere} elsewhere"] if self.elsewhere else []
        parts += [count(self.calls, "call")]
        parts += ["cost -" if cost is None else f"${cost:.4f}"] if self.calls else []
        eta = self.eta
        if eta is not None and self.done < self.total:
            parts.append(f"eta {int(eta) // 60} m {int(eta) % 60} s")
        return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class Bench:
    """What cells are run with.

    Attributes:
        folder: the evaluation's folder.
        doors: model name -> doors.
        execute: runs programs for graders, or None.
        graders: names of the graders whose grades are written into the logs.
        concurrency: cells at once.
        cell_seconds: wall clock of a cell from the moment a worker starts it; None for no limit.
        again: run failed cells again.
        fresh: read nothing from the cache.
        origins: model name -> where its replies come from, for models that are not live.
        notes: model name -> words that stand in the first line of its logs.
    """

    folder: Path
    doors: dict[str, Doors]
    execute: Execute | None = None
    graders: tuple[str, ...] = ("strict",)
    concurrency: int = 8
    cell_seconds: float | None = None
    again: bool = False
    fresh: bool = False
    origins: Mapping[str, Origin] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def log(self, cell: Cell) -> Path:
        """Where a cell's run log stands."""
        return self.folder / "cells" / f"{cell.name}.jsonl"


async def evaluate(
    bench: Bench, cells: Sequence[Cell], progress: Progress | None = None, stop: Stop | None = None
) -> Progress:
    """Run every cell that has not ended, `concurrency` at once.

    Args:
        cells: the cells of this shard.
        progress: is kept up to date.
        stop: ends the evaluation: cells under way get it too, and no new one begins.

    Raises:
        RecordError: a log could not be written.
    """
    state, stop = progress or Progress(), stop or Stop()
    state.total = len(cells)
    waiting, held = iter(cells), set[Path]()
    beating = asyncio.create_task(_beat(held))
    workers = [_worker(bench, waiting, state, stop, held) for _ in range(min(bench.concurrency, len(cells)))]
    results = await asyncio.gather(*workers, return_exceptions=True)
    beating.cancel()
    state.stopped = stop.kind is not None
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return state


async def _worker(
    bench: Bench, waiting: Iterable[Cell], state: Progress, stop: Stop, held: set[Path]
) -> None:
    for cell in waiting:
        if stop.kind:
            return
        path = bench.log(cell)
        if not _ended(path, bench, state):
            await _leased(bench, cell, path, state, stop, held)
        state.report(state)


async def _leased(bench: Bench, cell: Cell, path: Path, state: Progress, stop: Stop, held: set[Path]) -> None:
    mark = path.with_suffix(".lease")
    with leases.lease(mark) as ours:
        if not ours:
            state.elsewhere += 1
            return
        if _ended(path, bench, state):  # another process came to its end since we looked
            return
        held.add(mark)
        try:
            await _one(bench, cell, path, state, stop)
        except RecordError:
            stop.after_call()
            raise
        finally:
            held.discard(mark)


async def _one(bench: Bench, cell: Cell, path: Path, state: Progress, stop: Stop) -> None:
    own = stop.child()
    limit = bench.cell_seconds
    timer = asyncio.get_running_loop().call_later(limit, own.now, "budget") if limit is not None else None
    try:
        result = await _run(bench, cell, path, own)
    finally:
        if timer is not None:
            timer.cancel()
    state.ran += 1
    state.calls += result.calls
    state.done += result.status in DONE or result.status == "failed"
    state.failed += result.status == "failed"
    if result.status == "budget" and not own.kind:
        stop.after_call("budget")


async def _beat(held: set[Path]) -> None:
    """Signs of life for the leases that this process holds."""
    while True:
        await asyncio.sleep(leases.HEARTBEAT)
        for mark in list(held):
            leases.touch(mark)


async def _run(bench: Bench, cell: Cell, path: Path, stop: Stop) -> RunResult:
    grade_ = None if cell.stream else _regrade(cell.sample, bench)
    doors, settings = bench.doors[cell.model], dict(cell.variant.settings)
    if cell.stream and hasattr(method_class(cell.variant.method), "prepared"):
        doors = with_scorer(doors, cell.stream, cell.variant.method)
        settings |= method_class(cell.variant.method).prepared(cell.stream)
    if path.exists():
        try:
            return await sources.resume(path, doors, stop=stop, fresh=bench.fresh, grade=grade_)
        except LogError:
            path.rename(path.with_suffix(".damaged"))
    method = build(cell.variant.method, settings)
    started = sources.header(
        method,
        _question(cell),
        model=cell.model,
        params=cell.variant.params,
        origin=bench.origins.get(cell.model, "live"),
        note=bench.notes.get(cell.model, ""),
        task=cell.sample.task,
        sample="" if cell.stream else cell.sample.id,
        repeat=str(cell.repeat),
        seed=cell.seed,
        stream=tuple(StreamItem(one.id, family(one.task).question(one)) for one in cell.stream),
    )
    return await sources.live(method, started, doors, log=path, stop=stop, fresh=bench.fresh, grade=grade_)


def _question(cell: Cell) -> str:
    if cell.stream:
        return f"A stream of {len(cell.stream)} questions, {cell.place}"
    return family(cell.sample.task).question(cell.sample)


def _regrade(sample: Sample, bench: Bench) -> Regrade:
    async def regrade(answer: str | None, reply: str) -> list[Scored]:
        found = []
        for name in bench.graders:
            try:
                made = await grade(sample, graded_text(answer, reply), name, bench.execute)
            except MetaTuiError as error:
                found.append(Scored(name, 0.0, f"error: {error}"))
                continue
            found.append(Scored(name, made.score, f"{made.verdict}: {made.reason}".rstrip(": ")))
        return found

    return regrade


def graded_text(answer: str | None, reply: str) -> str:
    """What a grader is given: the whole last reply, or the answer in the expected form where the
    reply does not hold it (methods whose answers are not their last reply). Of a worker's whole
    text, submitted as it stands, only what follows its answer mark is the answer."""
    if answer is None or final_answer(reply) == answer:
        return reply
    return f"{MARKER}\n{QUOTES}\n{answer_of(answer)}\n{QUOTES}"


def _ended(path: Path, bench: Bench, state: Progress) -> bool:
    """Whether a cell need not be run, which is counted then."""
    status = _status(path)
    if status not in DONE and (status != "failed" or bench.again):
        return False
    state.done += 1
    state.failed += status == "failed"
    return True


def _status(path: Path) -> str:
    """Status of a log that ended, "" for one that did not, is not there or is damaged anywhere: a
    last line that reads well says nothing of those before it."""
    try:
        finished = read(path).finished
    except LogError:
        return ""
    return finished.status if finished else ""
