"""What tests of the app need beyond a still terminal: a run that was really recorded."""

import pytest
from tui_runs import record


@pytest.fixture
async def run_log(tmp_path):
    """A recorded run of four rounds: code, a malformed reply, a check, an answer."""
    path = tmp_path / "solved.jsonl"
    await record(path)
    return path
