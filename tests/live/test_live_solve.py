"""A live solve from the command line: shown as it comes, recorded, replayed, not asked for twice."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import threading
from pathlib import Path
from typing import Any

import pytest
from live_runs import (
    KEY,
    Terminal,
    asked,
    holding,
    logs,
    paid,
    start,
    start_before_the_import,
    story,
    waiting_import,
)
from local_model import NAME
from scripted_server import Behaviour, Exchange, ScriptedServer, ok

from meta_tui.cli import main
from meta_tui.events import Replied
from meta_tui.runlog import read

WORDS = "one two three four five six seven eight".split()


class Lockstep:
    """A reply whose every word waits until the reader has seen the one before it."""

    def __init__(self) -> None:
        self.seen = threading.Semaphore(0)
        self.whole = False

    def behaviour(self) -> Behaviour:
        async def behave(exchange: Exchange) -> None:
            await exchange.open_stream()
            for word in WORDS:
                await exchange.event(exchange.chunk({"content": f"{word} "}))
                assert await asyncio.to_thread(self.seen.acquire, timeout=60)
            self.whole = True
            await exchange.event(exchange.chunk({"content": '\n>> FINAL ANSWER: "nine"'}))
            await exchange.event(exchange.chunk({}, "stop"))
            await exchange.close_stream()

        return behave

    def read(self, handle: int) -> str:
        """Everything up to the last word, each word acknowledged when it is on the screen."""
        shown, waiting = b"", list(WORDS)
        while waiting:
            shown += os.read(handle, 65536)
            reply = shown.decode("utf-8", "replace").partition("Meta Model")[2]
            if waiting[0] in reply:
                assert not self.whole
                waiting.pop(0)
                self.seen.release()
        return shown.decode()


def solve(server: ScriptedServer, *more: str, question: str = "6 * 7?") -> int:
    return main(["solve", question, "--base-url", server.url, "--model", "scripted", *more])


def solved(capsys: pytest.CaptureFixture[str], server: ScriptedServer, *more: str) -> dict[str, Any]:
    capsys.readouterr()
    assert solve(server, "--json", *more) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_every_word_is_on_the_screen_before_the_next_one_is_there(
    kind: str, server: ScriptedServer, tmp_path: Path
) -> None:
    """The server sends a word only when the word before it was read from the program's output."""
    lockstep = Lockstep()
    server.play(lockstep.behaviour())
    if kind == "terminal":
        reader, other = pty.openpty()
        out = Path(os.ttyname(other))
    else:
        out = tmp_path / "pipe"
        os.mkfifo(out)
        reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(reader, True)
        other = os.open(out, os.O_WRONLY)  # else the reader sees an end before the program begins
    program = start(
        ["solve", "count", "--base-url", server.url, "--model", "scripted", "--plain"], tmp_path, out=out
    )
    lockstep.read(reader)
    assert program.end() == 0, program.err.read_text()
    os.close(other)
    os.close(reader)
    (log,) = logs(tmp_path / "home")
    assert read(log).answer == '"nine"'


def test_the_first_line_is_there_before_the_model_library_is(
    server: ScriptedServer, home: Path, tmp_path: Path
) -> None:
    """The import waits for a file that is made when the first line was read."""
    server.default = ok(story())
    began, go = tmp_path / "began", tmp_path / "go"
    where = ["--base-url", server.url, "--model", "scripted", "--plain"]
    program = start_before_the_import(["solve", "6 * 7?", *where], home, began, go)
    assert program.stdout is not None
    assert program.stdout.readline() == b"meta_prompting \xc2\xb7 scripted \xc2\xb7 live\n"
    assert server.count == 0
    go.touch()
    out, err = program.communicate(timeout=90)
    assert program.returncode == 0, err
    assert began.exists()
    assert b"Answer\n  42\n" in out
    assert server.count == 3
    assert KEY.encode() not in out + err
    assert holding(KEY, tmp_path) == []


def test_the_first_frame_of_the_app_is_there_before_the_model_library_is(
    server: ScriptedServer, home: Path, tmp_path: Path
) -> None:
    """In a terminal `solve` opens the app; it shows the question while the import waits."""
    server.default = ok(story())
    began, go = tmp_path / "began", tmp_path / "go"
    where = ["--base-url", server.url, "--model", "scripted"]
    command = waiting_import(["solve", "How much is 6 * 7?", *where], began, go)
    with Terminal(command, home) as terminal:
        terminal.read_until("How much is 6 * 7?")
        assert server.count == 0
        go.touch()
        terminal.read_until("answered")
        terminal.type("q")
        assert terminal.end() == 0
    assert began.exists()
    assert read(logs(home)[0]).answer == "42"
    assert KEY.encode() not in terminal.shown


def test_a_run_is_recorded_and_replays_exactly(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    found = solved(capsys, server)
    assert (found["answer"], found["calls"], found["cached"], found["cost"]) == ("42", 3, 0, None)
    log = Path(found["path"])
    assert paid(log) == asked(server.requests)
    assert read(log).started.origin == "live"
    sent = server.requests[0].body
    assert (sent["model"], sent["temperature"], sent["stream"]) == ("scripted", 0, True)
    before = len(server.requests)
    assert main(["replay", str(log)]) == 0
    assert len(server.requests) == before


def test_the_second_solve_asks_nothing_and_fresh_and_another_repeat_do(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())

    def requests(*more: str) -> int:
        before = server.count
        found = solved(capsys, server, *more)
        assert found["answer"] == "42"
        assert found["calls"] == 3
        assert main(["replay", found["run"]]) == 0
        return server.count - before

    assert requests() == 3
    assert requests() == 0
    assert requests("--fresh") == 3
    assert requests("--repeat", "1") == 3
    assert requests("--repeat", "1") == 0
    assert requests("--no-cache") == 3
    assert requests("--temperature", "0.5") == 3
    assert requests() == 0


def test_fresh_replaces_what_the_cache_holds(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["first", "second"])
    server.default = ok(lambda _: f'>> FINAL ANSWER:\n"""\n{next(answers)}\n"""')
    given = [solved(capsys, server, *more)["answer"] for more in ((), (), ("--fresh",), ())]
    assert given == ["first", "first", "second", "second"]


def test_another_address_is_another_model(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    assert solved(capsys, server)["answer"] == "42"
    with ScriptedServer(ok('>> FINAL ANSWER:\n"""\n43\n"""')) as other:
        assert solved(capsys, other)["answer"] == "43"
        assert other.count == 1
    assert solved(capsys, server)["answer"] == "42"
    assert server.count == 3


def test_cached_calls_count_as_calls_and_say_that_they_cost_nothing(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    solved(capsys, server)
    assert solve(server, "--plain") == 0
    out = capsys.readouterr().out
    assert out.count("◆ cached") == 3
    assert "3 calls (3 cached)" in out
    replies = [e for e in read(logs(home)[-1]).events if isinstance(e, Replied)]
    assert [(e.how.source, e.how.cost) for e in replies if e.how] == [("cache", 0.0)] * 3


FINAL = r'root ::= ">> FINAL ANSWER:\n\"\"\"\n" [0-9]{1,3} "\n\"\"\""'
CALL = r'root ::= "Expert " [A-Z] [a-z]{3,8} ":\n\"\"\"\n" [a-z ]{5,30} "\n\"\"\""'


def local(url: str, question: str, grammar: str, *more: str) -> list[str]:
    """A solve with the local model, with a short instruction (its prompt costs seconds)."""
    return [
        *("solve", question, "--base-url", url, "--model", NAME, "--max-tokens", "60"),
        *("--set", "instruction=Ask an expert or answer.", "--set", "suffix=", "--param", "seed=1"),
        *("--param", f"extra_body={json.dumps({'grammar': grammar})}", *more),
    ]


@pytest.mark.local_model
def test_a_real_model_solves_is_recorded_replayed_and_not_asked_again(
    local_url: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(local(local_url, "How many?", FINAL, "--plain")) == 0
    assert "✓ answered" in capsys.readouterr().out
    (log,) = logs(home)
    recording = read(log)
    assert recording.answer is not None
    assert recording.answer.isdigit()
    (reply,) = (e.reply for e in recording.events if isinstance(e, Replied))
    assert reply.usage is not None
    assert reply.usage.completion_tokens > 5
    assert main(["replay", str(log)]) == 0
    capsys.readouterr()
    assert main(local(local_url, "How many?", FINAL, "--json")) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["answer"], again["cached"], again["calls"]) == (recording.answer, 1, 1)


@pytest.mark.local_model
def test_a_real_model_consults_experts_until_the_rounds_are_used_up(
    local_url: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(local(local_url, "How many?", CALL, "--json", "--rounds", "2")) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["reason"], found["calls"]) == ("no_answer", "round_limit", 4)
    assert main(["replay", found["run"]]) == 0


@pytest.mark.local_model
def test_a_real_model_is_shown_token_by_token(local_url: str, home: Path, tmp_path: Path) -> None:
    """At least four writes carry pieces of one reply: it was not shown in one go. On a busy machine
    we may be woken for several writes together, so the best of five tries counts."""
    tries = []
    while len(tries) < 5 and max(tries, default=0) < 4:
        tries.append(_writes_of_one_reply(local_url, tmp_path))
    print(f"writes until the reply was whole: {tries}")
    assert max(tries) >= 4


def _writes_of_one_reply(local_url: str, tmp_path: Path) -> int:
    reader, other = pty.openpty()
    arguments = local(local_url, "How many?", CALL, "--plain", "--rounds", "1", "--fresh")
    program = start(arguments, tmp_path, out=Path(os.ttyname(other)))
    writes, shown = 0, ""
    while "\r\n  " not in shown.partition('"""')[2] or '"""' not in shown.partition('"""')[2]:
        shown += os.read(reader, 65536).decode("utf-8", "replace")
        writes += "Meta Model" in shown
    program.end()
    os.close(other)
    os.close(reader)
    return writes
