"""What every test of the app needs: a still terminal, and runs that were really recorded."""

import os

for _name in (
    "NO_COLOR",
    "FORCE_COLOR",
    "TEXTUAL_THEME",
    "TEXTUAL_FPS",
    "TEXTUAL_COLOR_SYSTEM",
    "COLUMNS",
    "LINES",
):
    os.environ.pop(_name, None)
os.environ.update(TEXTUAL_ANIMATIONS="none", TZ="UTC", LC_ALL="C.UTF-8")

import pytest  # noqa: E402
from tui_runs import record  # noqa: E402


@pytest.fixture
async def run_log(tmp_path):
    """A recorded run of four rounds: code, a malformed reply, a check, an answer."""
    path = tmp_path / "solved.jsonl"
    await record(path)
    return path


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Nobody's own runs are looked at."""
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
