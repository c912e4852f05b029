"""The live cassette recorded anew, by the command that its README gives."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from local_model import MISSING, weights

from meta_tui.events import Replied
from meta_tui.runlog import read
from meta_tui.sources import replay

SCRIPT = Path(__file__).parents[1] / "cassettes" / "recorded.py"


@pytest.mark.local_model
@pytest.mark.skipif(weights() is None, reason=MISSING)
def test_recording_live_again_keeps_to_the_protocol(tmp_path: Path) -> None:
    """What the model says may differ between machines; that it fits the grammar may not."""
    command = [sys.executable, str(SCRIPT), "live-rolls", "--to", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"on this machine the seed leads to no answer: {done.stderr[-200:].decode()}")
    again = read(tmp_path / "live-rolls.jsonl")
    assert asyncio.run(replay(again)).status == "answered"
    first = next(event for event in again.events if isinstance(event, Replied))
    assert first.reply.text.startswith("Expert ")
