"""How an evaluation stands, as its files tell it: for whoever watches one that runs anywhere.

The folder is all that is looked at, so it makes no difference whether this process, another one or
another machine runs the cells. Only what changed since the last look is read and graded again.
Nothing is written and no model is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from meta_tui.chat import CodeResult, Program, Value
from meta_tui.errors import LogError
from meta_tui.evaluation import leases, results
from meta_tui.evaluation.cells import Cell, Plan, cells, read_plan, read_samples
from meta_tui.evaluation.evaluate import DONE
from meta_tui.evaluation.results import Row
from meta_tui.events import RunFinished
from meta_tui.runlog import last_event

LATEST = 50
"""Ends of cells from which the pace is taken."""

PAUSE = 600.0
"""Seconds without an end after which the pace begins anew: somebody went on later."""


class Standing(Value, frozen=True, kw_only=True):
    """An evaluation at a moment.

    Attributes:
        rows: those of all cells, in the plan's order (of a stream: of its instances).
        cells: how many there are.
        done: cells that ended by themselves, failed ones among them.
        running: cells that somebody works on now.
        stopped: cells that were begun and that nobody works on.
        rate: cells a minute, by the latest ends; None where they say nothing.
        calls: requests of all cells so far.
        cost: dollars of all cells so far at full price, None where a price is unknown.
    """

    plan: Plan
    rows: tuple[Row, ...] = ()
    cells: int = 0
    done: int = 0
    failed: int = 0
    running: int = 0
    stopped: int = 0
    rate: float | None = None
    calls: int = 0
    cost: float | None = None

    @property
    def state(self) -> str:
        """`running`, `completed`, `unfinished`, or `waiting` before the first cell."""
        if self.running:
            return "running"
        if self.done == self.cells:
            return "completed"
        return "unfinished" if self.done or self.stopped else "waiting"

    @property
    def eta(self) -> float | None:
        """Seconds that are left at this pace; None where nobody is at work or the pace is unknown."""
        return (self.cells - self.done) / self.rate * 60 if self.rate and self.running else None


class Watch:
    """Looks at an evaluation's folder again and again.

    Args:
        folder: of the evaluation.
        grader: whose verdicts stand in the rows.

    Raises:
        UsageError: the folder holds no evaluation, or a damaged one.
    """

    def __init__(self, folder: Path, grader: str = "strict") -> None:
        self.folder = folder
        self.grader = grader
        self.plan = read_plan(folder)
        self._cells = {cell.name: cell for cell in cells(self.plan, read_samples(folder))}
        self._seen: dict[str, tuple[int, int]] = {}
        self._rows: dict[str, tuple[Row, ...]] = {}
        self._ends: dict[str, RunFinished] = {}

    async def look(self, tell: Callable[[Standing], None] = lambda _: None, every: int = 100) -> Standing:
        """How it stands now.

        Args:
            tell: told in between, after every `every` cells that had to be read.
        """
        code = _Code()
        try:
            read = 0
            for name, cell in self._cells.items():
                if await self._take(name, cell, code):
                    read += 1
                    if read % every == 0:
                        tell(self._standing())
        finally:
            await code.aclose()
        return self._standing()

    async def _take(self, name: str, cell: Cell, code: _Code) -> bool:
        """Read a cell's log if it changed; says whether it had to be."""
        path = self._log(name)
        mark = _mark(path)
        if self._seen.get(name) == mark:
            return False
        self._seen[name] = mark
        self._rows[name] = await results.of_cell(self.folder, cell, (self.grader,), code.execute)
        self._end(name, path)
        return True

    def _end(self, name: str, path: Path) -> None:
        self._ends.pop(name, None)
        try:
            event = last_event(path)
        except LogError:
            return
        if isinstance(event, RunFinished):
            self._ends[name] = event

    def _log(self, name: str) -> Path:
        return self.folder / "cells" / f"{name}.jsonl"

    def _standing(self) -> Standing:
        rows = tuple(row for name in self._cells for row in self._rows.get(name, ()))
        failed = sum(end.status == "failed" for end in self._ends.values())
        done = sum(end.status in DONE for end in self._ends.values()) + failed
        held = {path.stem for path in (self.folder / "cells").glob("*.lease") if leases.held(path)}
        begun = {name for name, (_, size) in self._seen.items() if size > 0}
        ended = {name for name, end in self._ends.items() if end.status in (*DONE, "failed")}
        return Standing(
            plan=self.plan,
            rows=rows,
            cells=len(self._cells),
            done=done,
            failed=failed,
            running=len(held - ended),
            stopped=sum(self._seen[name] == _mark(self._log(name)) for name in begun - ended - held),
            rate=pace([end.at for end in self._ends.values() if end.at is not None]),
            calls=round(sum(row.calls + row.shared for row in rows)),
            cost=_cost(rows),
        )


def _mark(path: Path) -> tuple[int, int]:
    """When a log was last written to, and its size. One that went on since it was read may have come
    to its end, and its lease gone with it: that is not stopped."""
    try:
        found = path.stat()
    except OSError:
        return 0, -1
    return found.st_mtime_ns, found.st_size


def pace(ends: list[float]) -> float | None:
    """Cells a minute from the times (seconds) at which cells ended; None for fewer than two."""
    latest = sorted(ends, reverse=True)[:LATEST]
    count = 1
    while count < len(latest) and latest[count - 1] - latest[count] <= PAUSE:
        count += 1
    if count < 2 or latest[0] <= latest[count - 1]:
        return None
    return 60 * (count - 1) / (latest[0] - latest[count - 1])


def _cost(rows: tuple[Row, ...]) -> float | None:
    """Dollars so far; None as soon as a row that ended has calls without a price."""
    prices = [
        None if row.cost is None or row.shared_cost is None else row.cost + row.shared_cost
        for row in rows
        if row.calls and (row.status != "unfinished" or row.cost is not None)
    ]
    known = [price for price in prices if price is not None]
    return sum(known) if known and len(known) == len(prices) else None


class _Code:
    """A sandbox that is only started when an answer is code."""

    def __init__(self) -> None:
        self._sandbox: object | None = None

    async def execute(self, program: Program) -> CodeResult:
        """Run a program for a grader."""
        from meta_tui.sandbox import Sandbox

        if self._sandbox is None:
            self._sandbox = Sandbox(pool=1)
        assert isinstance(self._sandbox, Sandbox)
        return (await self._sandbox.execute(program))[0]

    async def aclose(self) -> None:
        """End the sandbox, if there is one."""
        if self._sandbox is not None:
            await self._sandbox.aclose()  # type: ignore[attr-defined]
