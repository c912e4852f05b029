"""200 candidates on 36 tasks with a SIMULATED Omega and solver in the real sandbox: killed half way
and resumed, memory that does not grow with what was done, and processors that are in use.

`META_N_CANDIDATES` makes it smaller. Prints what it measured (`-s` shows it).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from meta_n_size import TASKS
from scripted_runs import again

from meta_tui.events import CodeFinished, Stored
from meta_tui.methods.meta_n.records import ArchiveBest, CandidateKept, StopKept, all_of
from meta_tui.runlog import read

ROOT = Path(__file__).parents[2]
CANDIDATES = int(os.environ.get("META_N_CANDIDATES", "200"))
GROWTH = 300_000
"""Bytes that a further candidate may cost while it runs: 36 traces of bounded length."""


def begin(log: Path) -> subprocess.Popen[str]:
    """The run (or its resumption) in a process of its own, which tells of every tenth candidate."""
    places = (ROOT, ROOT / "tests", ROOT / "tests/long")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))}
    command = [sys.executable, str(ROOT / "tests/long/meta_n_size.py"), str(log), str(CANDIDATES)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def told(child: subprocess.Popen[str]) -> Iterator[dict[str, float]]:
    """What the process tells, as it tells it."""
    assert child.stdout is not None
    for line in child.stdout:
        yield json.loads(line)


def idle() -> tuple[float, float]:
    """Idle and all seconds of this machine's processors since it started."""
    numbers = [float(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return numbers[3] + numbers[4], sum(numbers)


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="reads processor times from /proc")
def test_two_hundred_candidates_are_killed_resumed_and_kept_within_bounds(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    before, started = idle(), time.monotonic()
    child = begin(log)
    half = []
    for fact in told(child):
        half.append(fact)
        if fact["candidates"] >= CANDIDATES / 2:
            break
    child.send_signal(signal.SIGKILL)
    child.wait(30)
    assert read(log).finished is None
    kept = [(e.kind, e.id, e.body) for e in read(log).events if isinstance(e, Stored)]

    child = begin(log)
    rest = list(told(child))
    assert child.wait(60) == 0
    after, wall = idle(), time.monotonic() - started

    recording = read(log)
    events = recording.events
    assert recording.finished is not None
    assert recording.finished.status == "completed"
    assert [(e.kind, e.id, e.body) for e in events if isinstance(e, Stored)][: len(kept)] == kept
    candidates = all_of(events, CandidateKept)
    assert len(candidates) == CANDIDATES
    assert all(len(one.scores) == TASKS for one in candidates)
    sizes = [best.size for best in all_of(events, ArchiveBest)]
    assert sizes == sorted(sizes)

    share_idle = (after[0] - before[0]) / (after[1] - before[1])
    cpu = half[-1]["cpu"] + rest[-1]["cpu"]
    programs = sum(isinstance(event, CodeFinished) for event in events)
    first, last = half[0], half[-1]
    growth = (last["rss"] - first["rss"]) / max(1, last["candidates"] - first["candidates"])
    print(
        f"\n{len(candidates)} candidates x {TASKS} tasks, {programs:,} programs in {wall:.0f} s; "
        f"this run used {cpu / wall:.2f} of {os.cpu_count()} processors, the machine was idle {share_idle:.0%}; "
        f"memory {half[-1]['rss'] / 1e6:.0f} MB at the kill, {growth / 1e3:.0f} kB a candidate, "
        f"{rest[-1]['rss'] / 1e6:.0f} MB at the end of the resumed run; log {log.stat().st_size / 1e6:.1f} MB; "
        f"best mean {all_of(events, StopKept)[0].mean}"
    )
    assert growth < GROWTH
    assert rest[-1]["rss"] < 700e6
    assert share_idle < 0.35 or cpu / wall > 0.65 * (os.cpu_count() or 1)
    assert again(log).reason == recording.finished.reason
