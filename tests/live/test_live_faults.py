"""Every fault that a provider plays, through `solve`: how it ends, what is shown, recorded, cached.

A fault is played once and then for ever. Once: the run retries (or goes on) and answers. For
ever: the run ends as a failure of the provider, and `resume` answers when the server is well.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from live_runs import KEY, asked, failures, holding, logs, paid, start, story
from scripted_server import (
    Behaviour,
    ScriptedServer,
    cut,
    drip,
    echo_key,
    empty,
    error_in_stream,
    failing,
    filtered,
    html,
    malformed,
    nothing,
    ok,
    rate_limited,
    refused_by_filter,
    say_key,
    silent,
    stalled,
    unfinished,
)

from meta_tui.cli import main
from meta_tui.events import FailureKind, Replied
from meta_tui.models import cached
from meta_tui.runlog import read

QUICK = ("--timeout", "1", "--deadline", "10", "--retries", "1")


@dataclass(frozen=True)
class Case:
    """A fault: what the server does, the kind that it is given, and whether another try helps."""

    name: str
    behaviour: Callable[[], Behaviour]
    kind: FailureKind
    retried: bool = True
    flags: tuple[str, ...] = QUICK

    def __str__(self) -> str:
        return self.name


CASES = [
    Case("429 with Retry-After", lambda: rate_limited(0.5), "rate_limit"),
    Case("500", lambda: failing(500), "server"),
    Case("503", lambda: failing(503), "server"),
    Case("time-out", silent, "timeout"),
    Case("stalled stream", stalled, "timeout"),
    Case("slow drip past the deadline", drip, "timeout", False, ("--deadline", "0.7", "--retries", "3")),
    Case("cut stream", cut, "cut"),
    Case("stream without an end", unfinished, "cut"),
    Case("stream without anything", nothing, "cut"),
    Case("error in the stream", error_in_stream, "server"),
    Case("filtered request", refused_by_filter, "filtered", False),
    Case("malformed JSON", malformed, "server"),
    Case("HTML page", html, "server"),
    Case("HTML error page", lambda: html(502), "server"),
    Case("error that echoes the key", echo_key, "auth", False),
    Case("bad request", lambda: failing(400, "no such parameter"), "bad_request", False),
]
RETRIED = [case for case in CASES if case.retried]


def solve(server: ScriptedServer, *more: str) -> int:
    return main(["solve", "6 * 7?", "--base-url", server.url, "--model", "scripted", "--plain", *more])


def resumed(
    server: ScriptedServer, log: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, Any]:
    capsys.readouterr()
    where = ["--base-url", server.url, "--model", "scripted", "--json"]
    assert main(["resume", str(log), *where, *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("case", RETRIED, ids=str)
def test_a_fault_that_passes_is_retried_and_the_run_replays_exactly(
    case: Case, server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    server.play(case.behaviour())
    assert solve(server, *case.flags) == 0
    shown = capsys.readouterr()
    assert f"▲ Meta Model: {case.kind}: " in shown.out
    assert "; retry 1 in " in shown.out
    (log,) = logs(home)
    (failed,) = failures(read(log))
    assert (failed.kind, failed.attempt) == (case.kind, 1)
    assert failed.retry_in is not None
    assert server.count == 4
    assert main(["replay", str(log)]) == 0
    assert cached.stats(home / "cache").entries == 3
    assert KEY not in shown.out + shown.err
    assert holding(KEY, home) == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fault_that_stays_ends_the_run_keeps_nothing_and_can_be_resumed(
    case: Case, server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = case.behaviour()
    code = 1 if case.kind in ("bad_request", "filtered") else 5
    assert solve(server, *case.flags) == code
    shown = capsys.readouterr()
    assert f"✗ Meta Model: {case.kind}: " in shown.out
    assert f"✗ failed ({case.kind})" in shown.out
    assert "goes on from here" in shown.err
    (log,) = logs(home)
    recording = read(log)
    kinds = [(failed.kind, failed.retry_in is None) for failed in failures(recording)]
    assert kinds == [(case.kind, False)] * case.retried + [(case.kind, True)]
    assert server.count == len(kinds)
    assert recording.finished is not None
    assert (recording.finished.status, recording.finished.reason) == ("failed", case.kind)
    assert main(["replay", str(log)]) == 0
    assert cached.stats(home / "cache").entries == 0
    server.default = ok(story())
    assert resumed(server, log, capsys)["answer"] == "42"
    assert main(["replay", str(log)]) == 0
    assert KEY not in shown.out + shown.err
    assert holding(KEY, home) == []


@pytest.mark.parametrize("case", RETRIED[:2], ids=str)
def test_a_fault_in_the_middle_keeps_what_was_paid_for_before_it(
    case: Case, server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story(rounds=3))
    server.play(ok(story(rounds=3)), ok(story(rounds=3)), case.behaviour(), case.behaviour())
    assert solve(server, *case.flags, "--no-cache") == 5
    (log,) = logs(home)
    held, before = set(paid(log)), len(server.requests)
    assert len(held) == 2
    assert resumed(server, log, capsys, "--no-cache")["answer"] == "42"
    assert not held & set(asked(server.requests[before:]))
    assert main(["replay", str(log)]) == 0


def test_a_pause_is_as_long_as_the_server_asks(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    server.play(rate_limited(2))
    assert solve(server) == 0
    (failed,) = failures(read(logs(home)[0]))
    assert failed.retry_in == 2.0
    events = read(logs(home)[0]).events
    after = next(e for e in events if isinstance(e, Replied))
    assert after.at is not None
    assert failed.at is not None
    assert after.at - failed.at >= 2.0
    assert after.how is not None
    assert after.how.attempts == 2
    assert "retry 1 in 2 s" in capsys.readouterr().out


def test_a_pause_that_would_outlast_the_deadline_is_not_begun(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = rate_limited(300)
    assert solve(server, "--deadline", "5") == 5
    assert server.count == 1
    assert "after the deadline" in capsys.readouterr().out


def test_an_empty_reply_is_a_reply_that_is_neither_retried_nor_cached(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok('>> FINAL ANSWER:\n"""\n42\n"""')
    server.play(empty())
    assert solve(server) == 0
    assert "(an empty reply)" in capsys.readouterr().out
    recording = read(logs(home)[0])
    assert next(e.reply.text for e in recording.events if isinstance(e, Replied)) == ""
    assert failures(recording) == []
    assert server.count == 2, "one request for the empty reply, one for the next round"
    assert cached.stats(home / "cache").entries == 1
    assert main(["replay", str(logs(home)[0])]) == 0
    assert solve(server) == 0
    assert server.count == 3, "what had the empty reply is asked again, and answered this time"


def test_a_reply_that_a_filter_stopped_is_not_cached(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = filtered()
    code = solve(server)
    recording = read(logs(home)[0])
    assert cached.stats(home / "cache").entries == 0
    assert code == 1
    assert [failed.kind for failed in failures(recording)] == ["filtered"]
    assert server.count == 1
    server.default = ok(story())
    assert resumed(server, logs(home)[0], capsys)["answer"] == "42"


def test_a_reply_cut_by_its_token_limit_is_recorded_but_answers_nobody_else(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok('>> FINAL ANSWER:\n"""\n42', finish="length")
    assert solve(server) == 0
    assert main(["replay", "last"]) == 0
    assert cached.stats(home / "cache").entries == 0
    assert solve(server) == 0
    assert server.count == 2


def test_a_key_that_a_model_says_is_neither_shown_nor_stored(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok('>> FINAL ANSWER:\n"""\n42\n"""')
    server.play(say_key())
    assert solve(server) == 0
    shown = capsys.readouterr()
    assert "your key is [secret] indeed" in shown.out
    assert KEY not in shown.out + shown.err
    assert holding(KEY, home) == []


@pytest.mark.parametrize("behaviour", [echo_key, say_key])
def test_no_key_gets_out_of_the_process_itself(
    behaviour: Callable[[], Behaviour], server: ScriptedServer, tmp_path: Path
) -> None:
    """The same from outside: what a process writes to its handles, whoever writes it."""
    server.play(behaviour())
    server.default = ok(story())
    where = ["--base-url", server.url, "--model", "scripted"]
    program = start(["solve", "6 * 7?", *where, "--plain"], tmp_path)
    assert program.end() == (5 if behaviour is echo_key else 0)
    sent = server.requests[0].headers["authorization"]
    assert sent == f"Bearer {KEY}", "else nothing was tested"
    assert KEY not in program.output
    assert "[secret]" in program.output
    assert holding(KEY, tmp_path) == []


def test_a_server_that_is_not_there_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer() as gone:
        pass
    assert solve(gone, "--retries", "0") == 5
    out = capsys.readouterr().out
    assert "network" in out
    assert f"is the server at {gone.url} running?" in out
    assert main(["replay", "last"]) == 0
