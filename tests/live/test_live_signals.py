"""Stopping a run by its signals: the log is finished, says so, replays, and can be gone on with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from live_runs import Program, asked, logs, paid, start, start_before_the_import, story
from scripted_server import ScriptedServer, drip, ok, rate_limited

from meta_tui.cli import main
from meta_tui.events import Failed, RunFinished, SpanFinished
from meta_tui.runlog import read

SLOW = 0.25
"""Seconds from piece to piece of a reply that is to be interrupted."""


def solve(server: ScriptedServer, place: Path, *more: str) -> Program:
    return start(
        ["solve", "6 * 7?", "--base-url", server.url, "--model", "scripted", "--plain", *more], place
    )


def is_cancelled_and_goes_on(server: ScriptedServer, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What holds after every way to stop: status, exact replay, and a resume that asks for the rest only."""
    (log,) = logs(place / "home")
    finished = read(log).finished
    assert finished is not None
    assert (finished.status, finished.reason) == ("cancelled", "cancelled")
    assert main(["replay", str(log)]) == 0
    held, before = paid(log), len(server.requests)
    server.default = ok(story())
    where = ["--base-url", server.url, "--model", "scripted", "--no-cache"]
    capsys.readouterr()
    assert main(["resume", str(log), *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "42"
    assert not set(held) & set(asked(server.requests[before:]))
    assert main(["replay", str(log)]) == 0


def test_ctrl_c_once_lets_the_call_under_way_end_and_keeps_its_reply(
    server: ScriptedServer, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story(), every=SLOW)
    program = solve(server, tmp_path)
    program.wait_for("Expert")
    program.send(signal.SIGINT)
    assert program.end() == 1
    assert "stopping after this call; Ctrl-C again stops now" in program.output
    assert "goes on from here" in program.output
    assert (server.count, sum(paid(logs(home)[0]).values())) == (1, 1)
    is_cancelled_and_goes_on(server, tmp_path, capsys)


def test_ctrl_c_twice_ends_the_call_under_way(
    server: ScriptedServer, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = drip(every=0.05)
    program = solve(server, tmp_path)
    program.wait_for("drip drip")
    program.send(signal.SIGINT)
    program.wait_for("stopping after this call", program.err)
    program.send(signal.SIGINT)
    assert program.end() == 1
    assert not paid(logs(home)[0])
    is_cancelled_and_goes_on(server, tmp_path, capsys)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_polite_kill_ends_the_call_under_way(
    number: signal.Signals,
    server: ScriptedServer,
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.default = drip(every=0.05)
    program = solve(server, tmp_path)
    program.wait_for("drip drip")
    program.send(number)
    assert program.end() == 1
    is_cancelled_and_goes_on(server, tmp_path, capsys)


def test_a_stop_inside_an_expert_closes_its_span(
    server: ScriptedServer, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.play(ok(story()))
    server.default = drip(every=0.05)
    program = solve(server, tmp_path)
    program.wait_for("drip drip")
    program.send(signal.SIGTERM)
    assert program.end() == 1
    last = read(logs(home)[0]).events[-3:]
    assert [type(event) for event in last] == [Failed, SpanFinished, RunFinished]
    assert (last[0].kind, last[1].status, last[1].span) == ("cancelled", "cancelled", "1")  # type: ignore[union-attr]
    is_cancelled_and_goes_on(server, tmp_path, capsys)


def test_a_stop_during_a_pause_between_attempts_does_not_wait_for_it(
    server: ScriptedServer, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.play(rate_limited(50))
    program = solve(server, tmp_path)
    program.wait_for("retry 1 in 50 s")
    program.send(signal.SIGTERM)
    assert program.end() == 1
    first = read(logs(home)[0])
    kinds = [(e.kind, e.retry_in) for e in first.events if isinstance(e, Failed)]
    assert kinds == [("rate_limit", 50.0), ("cancelled", None)]
    is_cancelled_and_goes_on(server, tmp_path, capsys)


def test_copy_paste_can_be_stopped_while_it_waits_for_a_reply(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "meta_tui", "solve", "q", "--model", "copy-paste", "--plain"]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.stderr is not None
    while b"Ctrl-D twice" not in program.stderr.readline():
        pass
    program.send_signal(signal.SIGINT)
    assert b"stopping after this call" in program.stderr.readline()
    program.send_signal(signal.SIGINT)
    assert program.wait(30) == 1
    program.communicate()
    (log,) = logs(home)
    recording = read(log)
    assert recording.finished is not None
    assert recording.finished.status == "cancelled"
    assert main(["replay", str(log)]) == 0


def test_a_kill_during_the_import_ends_at_once(
    server: ScriptedServer,
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    where = ["--base-url", server.url, "--model", "scripted", "--plain"]
    program = start_before_the_import(["solve", "6 * 7?", *where], home, began, go)
    assert program.stdout is not None
    while "Round 1" not in program.stdout.readline().decode():
        pass
    while not began.exists():
        pass
    program.send_signal(signal.SIGTERM)
    assert program.wait(30) == 1
    assert not go.exists()
    assert server.count == 0
    is_cancelled_and_goes_on(server, tmp_path, capsys)
