"""A large run of agentic meta-reasoning in the app: B = 1,200 and 400 artifacts, in CPU time of our own.

The bounds are those of any long transcript (`test_tui_speed`): opened in 1.5 s and 120 MB; of the keys
95 % cost at most 100 ms, in the run screen and among the artifacts, and none more than 250 ms (from the
beginning straight to the end, everything is laid out anew). Figures are printed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from memory import peak_mb
from test_meta_reasoning_cost import large

from meta_tui.tui.app import MetaApp
from meta_tui.tui.origin import playback
from meta_tui.tui.screens.artifacts import ArtifactsScreen
from meta_tui.tui.screens.run import RunScreen

HERE = Path(__file__).parent
PROGRAM = """
import sys
sys.path[:0] = sys.argv[2:]
from test_meta_reasoning_app import report
report(sys.argv[1])
"""
RUN_KEYS = (
    "0",
    *("right_square_bracket", "l", "l", "h") * 5,
    "dollar_sign",
    "left_square_bracket",
    "dollar_sign",
)
ARTIFACT_KEYS = ("j", "j", "2", "j", "3", "4", "1", "G", "k")


async def figures(log: Path) -> dict[str, Any]:
    """CPU seconds to the first whole picture, milliseconds a key, megabytes."""
    screen = RunScreen(playback(log), title="large", log=log, speed=0, fps=0)
    app = MetaApp(lambda: screen, fps=0)
    began = time.process_time()
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        screen.flush()
        await pilot.pause()
        opened = time.process_time() - began
        run_keys = [await _cost(pilot, screen, key) for key in RUN_KEYS]
        began = time.process_time()
        await pilot.press("t")
        await pilot.pause()
        artifacts = time.process_time() - began
        assert isinstance(app.screen, ArtifactsScreen)
        assert len(app.screen.rows) == 400
        keys = [await _cost(pilot, None, key) for key in ARTIFACT_KEYS]
    return {
        "opened": opened,
        "artifacts": artifacts,
        "run key": _p95(run_keys),
        "artifact key": _p95(keys),
        "any key": max(*run_keys, *keys),
        "mb": peak_mb(),
    }


def _p95(costs: list[float]) -> float:
    return sorted(costs)[int(0.95 * len(costs)) - 1]


async def _cost(pilot: Any, screen: RunScreen | None, key: str) -> float:
    began = time.process_time()
    await pilot.press(key)
    if screen is not None:
        screen.flush()
    await pilot.pause()
    return 1000 * (time.process_time() - began)


def report(log: str) -> None:
    print(json.dumps(asyncio.run(figures(Path(log)))))


def test_the_app_opens_a_run_of_1200_calls_and_answers_every_key(tmp_path: Path) -> None:
    log = tmp_path / "large.jsonl"
    large(log, 1200)
    arguments = [sys.executable, "-c", PROGRAM, str(log), str(HERE), str(HERE.parent)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    print(found)
    assert found["opened"] <= 1.5
    assert found["artifacts"] <= 1.5
    assert found["run key"] <= 100
    assert found["artifact key"] <= 100
    assert found["any key"] <= 250
    assert found["mb"] <= 120
