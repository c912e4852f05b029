"""kill -9 in every batch of a stream: the resumed run learns what an undisturbed one learns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scripted_runs import again, go_on

from meta_tui.evaluation.learner import SimulatedLearner, items
from meta_tui.events import Stored
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.session import TaskScorer
from meta_tui.tasks.theorem import generate

ROOT = Path(__file__).parents[2]
SAMPLES = [generate(n, 3, recurring=0.8) for n in range(12)]
PROGRAM = """
import asyncio, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_mc2_kills import SAMPLES
from meta_tui.evaluation.learner import SimulatedLearner, items
from meta_tui.methods import build
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.session import TaskScorer
from meta_tui.sources import header, live
learner = SimulatedLearner(SAMPLES)
def slow(call):
    time.sleep(float(sys.argv[3]))
    return learner(call)
method = build("mc2", {"batch": 4})
started = header(method, "q", model="simulation", stream=items(SAMPLES))
doors = Doors(ScriptedModel(slow), scorer=TaskScorer({s.id: s for s in SAMPLES}))
asyncio.run(live(method, started, doors, log=Path(sys.argv[1]), clock=None))
"""


def begin(log: Path, pause: float) -> subprocess.Popen[bytes]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests/long")))}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(log), str(ROOT / "tests"), str(pause)], env=env
    )


def learned(log: Path) -> list[tuple[str, str]]:
    kinds = ("lesson", "knowledge")
    return [(e.id, e.body) for e in read(log).events if isinstance(e, Stored) and e.kind in kinds]


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("more", [3, 11])
def test_a_stream_that_is_killed_in_a_batch_learns_the_same_once_resumed(
    batch: int, more: int, tmp_path: Path
) -> None:
    whole, log = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    assert begin(whole, 0).wait(60) == 0
    child = begin(log, 0.02)
    mark, deadline = f'"kind":"batch","id":"{batch}"'.encode(), time.monotonic() + 60
    while time.monotonic() < deadline:
        behind = log.read_bytes().partition(mark)[2] if log.exists() else b""
        if behind.count(b'"e":"Replied"') >= more:
            break
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    assert child.wait(10) == -signal.SIGKILL
    assert read(log).finished is None
    model = ScriptedModel(SimulatedLearner(SAMPLES))
    go_on(log, Doors(model, scorer=TaskScorer({s.id: s for s in SAMPLES})))
    assert learned(log) == learned(whole)
    assert again(log).status == "completed"
    assert items(SAMPLES)
