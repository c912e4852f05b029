"""1,319 instances, the size of GSM8K, with the scripted model: time of our own a call, memory, resume.

Time is CPU time of the process, scripted replies included; the bound is ten times what is usual.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time
from pathlib import Path

from mc2_runs import Golds, by_role, stream
from msgspec.structs import replace
from scripted_runs import again, go_on, lines_of

from meta_tui.events import Stored
from meta_tui.methods import build
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors, RunResult
from meta_tui.runlog import read
from meta_tui.sources import header, live

ROOT = Path(__file__).parents[2]
GSM8K = 1319
WORDS = " word" * 60


class Forgetful(ScriptedModel):
    """The scripted model without its list of calls."""

    async def answer(self, call: Call, tell: Tell) -> Answer:
        found = await super().answer(call, tell)
        self.calls.clear()
        return found


def solve_many(count: int, log: Path) -> RunResult:
    """A stream of that many questions of some 60 words."""
    method = build("mc2")
    items = tuple(replace(item, question=item.question + WORDS) for item in stream(count))
    started = header(method, "q", model="m", stream=items)
    return asyncio.run(live(method, started, Doors(Forgetful(by_role), scorer=Golds()), log=log))


def measured(count: int, log: Path) -> tuple[int, float, int]:
    """(calls, CPU milliseconds a call, peak kilobytes) of such a stream in a process of its own."""
    program = f"import test_mc2_size as t; t.report({count}, {str(log)!r})"
    paths = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/long")]
    code = f"import sys; sys.path[:0] = {paths!r}; {program}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    calls, ms, peak = done.stdout.split()
    return int(calls), float(ms), int(peak)


def report(count: int, log: str) -> None:
    start = time.process_time()
    result = solve_many(count, Path(log))
    spent = 1000 * (time.process_time() - start) / result.calls
    print(result.calls, spent, _peak())


def _peak() -> int:
    """Peak kilobytes of this process alone (the other measure counts what its parent had)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(next(line.split()[1] for line in status.read_text().split("\n") if line.startswith("VmHWM")))


def test_a_stream_of_1319_instances_costs_little_time_and_bounded_memory(tmp_path: Path) -> None:
    """At most 3 ms a call; four times the instances take less than twice the memory."""
    few_calls, few_ms, few_peak = measured(GSM8K // 4, tmp_path / "few.jsonl")
    calls, ms, peak = measured(GSM8K, tmp_path / "many.jsonl")
    print(
        f"{GSM8K} instances: {calls} calls, {ms:.2f} ms a call, peak {peak // 1024} MB ({few_peak // 1024} MB)"
    )
    assert calls > 3 * few_calls
    assert ms <= 3
    assert ms <= 2 * few_ms
    assert peak < 2 * few_peak


def test_it_is_resumed_from_the_middle_of_a_batch_and_learns_the_same(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    solve_many(GSM8K, whole)
    lines = lines_of(whole)
    cut.write_bytes(b"".join(lines[: len(lines) * 5 // 9]))
    assert go_on(cut, Doors(Forgetful(by_role), scorer=Golds())).status == "completed"
    assert _learned(cut) == _learned(whole)
    assert len(_learned(whole)) == 14 * 6
    assert again(cut).status == "completed"


def _learned(log: Path) -> list[tuple[str, str]]:
    kinds = ("lesson", "knowledge")
    return [(e.id, e.body) for e in read(log).events if isinstance(e, Stored) and e.kind in kinds]
