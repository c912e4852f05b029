"""kill -9 in every part of a run of Meta^n: the resumed run breeds what an undisturbed one breeds.

The solver and Omega are a SIMULATION; programs run in the real sandbox.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scripted_runs import again
from simulated_stack import SimulatedStack, Worth

from meta_tui.events import Stored
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.sandbox import Sandbox
from meta_tui.sources import resume

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "linear": {"patience": 1, "max_depth": 3},
    "evolutionary": {"mode": "evolutionary", "iterations": 3, "patience": 3, "gate": True},
    "guard": {"mode": "evolutionary", "iterations": 4, "patience": 4, "guard": True},
}
PROGRAM = """
import asyncio, sys, time
from pathlib import Path
from simulated_stack import MODEL, NOTE, SimulatedStack, Worth, facts, stream
from test_meta_n_kills import SETTINGS
from meta_tui.methods import build
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.sandbox import Sandbox
from meta_tui.sources import header, live
voice = SimulatedStack(2)
def slow(call):
    time.sleep(float(sys.argv[3]))
    return voice(call)
async def main():
    method = build("meta_n", {**SETTINGS[sys.argv[2]], "tasks": facts(6)})
    started = header(method, "q", model=MODEL, stream=stream(6), seed=2, note=NOTE)
    async with Sandbox() as sandbox:
        doors = Doors(ScriptedModel(slow), sandbox, scorer=Worth())
        await live(method, started, doors, log=Path(sys.argv[1]), clock=None)
asyncio.run(main())
"""


def begin(log: Path, mode: str, pause: float) -> subprocess.Popen[bytes]:
    places = (ROOT, ROOT / "tests", ROOT / "tests/long")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(log), mode, str(pause)], env=env)


def kept(log: Path) -> list[tuple[str, str, str]]:
    return [(e.kind, e.id, e.body) for e in read(log).events if isinstance(e, Stored)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An undisturbed run of each mode."""
    folder = tmp_path_factory.mktemp("whole")
    for mode in SETTINGS:
        assert begin(folder / f"{mode}.jsonl", mode, 0).wait(120) == 0
    return {mode: folder / f"{mode}.jsonl" for mode in SETTINGS}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", SETTINGS)
@pytest.mark.parametrize("part", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_killed_run_ends_as_the_undisturbed_one(
    mode: str, part: float, whole: dict[str, Path], tmp_path: Path
) -> None:
    log = tmp_path / "killed.jsonl"
    aim = whole[mode].stat().st_size * part
    child = begin(log, mode, 0.005)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not log.exists() or log.stat().st_size < aim):
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    assert child.wait(10) == -signal.SIGKILL
    assert read(log).finished is None

    go_on_in_the_sandbox(log)
    assert sorted(kept(log)) == sorted(kept(whole[mode]))
    assert again(log).reason == again(whole[mode]).reason


def go_on_in_the_sandbox(log: Path) -> None:
    """Resume with the same voices."""

    async def work() -> None:
        async with Sandbox() as sandbox:
            result = await resume(
                log, Doors(ScriptedModel(SimulatedStack(2)), sandbox, scorer=Worth()), clock=None
            )
            assert result.status == "completed"

    asyncio.run(work())
