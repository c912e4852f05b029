"""Files under strain: a disk that is full, and two processes that share one cache."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_runs import asked, logs, paid, start, story
from scripted_server import ScriptedServer, ok

from meta_tui.cli import main
from meta_tui.errors import NotARunLog
from meta_tui.models import cached

ROUNDS = 4
CALLS = 2 * ROUNDS - 1


def where(server: ScriptedServer) -> list[str]:
    return ["--base-url", server.url, "--model", "scripted"]


def resumed(server: ScriptedServer, log: Path, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    capsys.readouterr()
    assert main(["resume", str(log), *where(server), "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("size", [3_000, 6_500, 8_000, 9_500])
def test_a_full_disk_stops_the_run_with_its_reason_and_keeps_what_was_paid_for(
    size: int, server: ScriptedServer, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file may have so many bytes: the disk is full before, at or after some of the calls."""
    server.default = ok(story(ROUNDS))
    program = start(["solve", "6 * 7?", *where(server), "--plain", "--no-cache"], tmp_path, file_size=size)
    assert program.end() == 5
    assert "cannot write the run log" in program.output
    assert "free space or choose another folder, then `meta-tui resume` it" in program.output
    assert "Traceback" not in program.output
    (log,) = logs(home)
    held, before = paid(log), server.count
    assert before - sum(held.values()) in (0, 1), "at most the reply that found no room is lost"
    assert resumed(server, log, capsys, "--no-cache")["answer"] == "42"
    assert server.count - before == CALLS - sum(held.values())
    assert not set(held) & set(asked(server.requests[before:]))
    assert main(["replay", str(log)]) == 0


def test_a_cache_that_finds_no_room_stops_the_run_before_anything_is_paid_for(
    server: ScriptedServer, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story(ROUNDS))
    program = start(["solve", "6 * 7?", *where(server), "--plain"], tmp_path, file_size=20_000)
    assert program.end() == 5
    assert f"the cache in {home / 'cache'} cannot be written" in program.output
    assert "Free some space" in program.output
    assert server.count == 0
    assert resumed(server, logs(home)[0], capsys)["answer"] == "42"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 600 kB; skips where one cannot be made."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("needs the right to mount a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def filled(place: Path, left: int) -> Path:
    """A file that leaves so many bytes of a file system."""
    filler = place / "filler"
    free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
    filler.write_bytes(b"x" * max(0, free - left))
    return filler


def test_a_disk_that_fills_up_under_log_and_cache_loses_nothing_that_was_written(
    server: ScriptedServer,
    home: Path,
    small_disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With 0, 4, 8, ... kB left. After each stop there is room again, and the run is resumed."""
    home = small_disk / "home"
    monkeypatch.setenv("META_TUI_HOME", str(home))
    server.default = ok(story(ROUNDS))
    assert main(["solve", "6 * 7?", *where(server), "--plain"]) == 0
    stops = 0
    for number, left in enumerate(range(0, 30_000, 4096), 1):
        filler = filled(small_disk, left)
        program = start(
            ["solve", "6 * 7?", *where(server), "--plain", "--repeat", str(number)],
            small_disk.parent,
            environ={"META_TUI_HOME": str(home)},
        )
        code = program.end()
        filler.unlink()
        assert code in (0, 5), program.output
        assert "Traceback" not in program.output
        log = logs(home)[-1]
        try:
            held = paid(log)
        except NotARunLog:
            log.unlink()
            continue
        if code:
            stops += 1
            assert "No space left on device" in program.output or "Is the disk full?" in program.output
            before = len(server.requests)
            assert resumed(server, log, capsys)["answer"] == "42"
            assert not set(held) & set(asked(server.requests[before:]))
        assert main(["replay", str(log)]) == 0
        log.unlink()
    print(f"{stops} runs stopped")
    assert stops >= 2
    assert cached.check(home / "cache").problems == ()


def test_two_processes_share_one_cache(
    server: ScriptedServer, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both run the same questions at once; nobody errs, all agree, and the cache is whole."""
    server.default = ok(story(ROUNDS), every=0.01)
    questions = ["6 * 7?", "7 * 6?", "42 * 1?"]
    programs = [
        start(["solve", question, *where(server), "--json"], tmp_path)
        for question in questions
        for _ in range(2)
    ]
    assert [program.end() for program in programs] == [0] * 6
    for program in programs:
        assert json.loads(program.out.read_text())["answer"] == "42"
        assert "not cached" not in program.output
    assert cached.check(home / "cache").problems == ()
    # Experts see their instruction alone, so the three questions share what their experts said.
    assert cached.stats(home / "cache").entries == 3 * ROUNDS + (ROUNDS - 1)
    assert all(main(["replay", str(log)]) == 0 for log in logs(home))
    before = server.count
    for question in questions:
        assert main(["solve", question, *where(server), "--plain"]) == 0
    assert server.count == before
