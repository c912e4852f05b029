"""After five hundred runs that end in every way, no process, thread, file or descriptor is left."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from itertools import cycle, islice
from pathlib import Path

import pytest
from sandbox_programs import needs_layers

from meta_tui.chat import Limits, Program
from meta_tui.sandbox import Sandbox

RUNS = 500
LIMITS = Limits(seconds=0.25, memory=256 << 20)
ENDINGS = (
    ("print(1)", "policy", "ok"),
    ("1 / 0", "policy", "error"),
    ("import os", "policy", "refused"),
    ("x = (", "policy", "syntax"),
    ("while True: pass", "policy", "timeout"),
    ("x = bytearray(1 << 40)", "policy", "memory"),
    ("import sys; sys.exit(1)", "policy", "exit"),
    ("import os; os.abort()", "os_only", "crash"),
    ("import os; os._exit(3)", "os_only", "crash"),
    ("import os; os.write(3, b'x' * 9)", "os_only", "crash"),
)


@pytest.mark.timeout(600)
async def test_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_layers("landlock", "seccomp")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = (_children(), threading.active_count(), _descriptors())
    async with Sandbox(pool=2) as sandbox:
        runs = islice(cycle(ENDINGS), RUNS)
        await asyncio.gather(*(_run(sandbox, code, profile, status) for code, profile, status in runs))
    assert (_children(), threading.active_count(), _descriptors()) == before
    assert list(tmp_path.iterdir()) == []


async def _run(sandbox: Sandbox, code: str, profile: str, status: str) -> None:
    program = Program(code, profile=profile, limits=LIMITS)  # type: ignore[arg-type]
    result, _ = await sandbox.execute(program)
    assert result.status in (status, "timeout"), (code, result)


def _children() -> set[int]:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("children are counted in /proc, which this system lacks")
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text().split()}


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
