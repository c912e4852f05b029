"""Every setting of live commands changes a request, the run or what is printed."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import live_kills  # registers `fan_out`
import pytest
from live_runs import KEY, failures, holding, logs, start, story
from scripted_server import Exchange, ScriptedServer, failing, ok, silent

from meta_tui.cli import main
from meta_tui.events import CodeFinished, Replied, Requested
from meta_tui.runlog import Recording, read

FAN_OUT = live_kills.FanOut.id


def solve(server: ScriptedServer, *more: str) -> int:
    return main(["solve", "6 * 7?", "--base-url", server.url, "--model", "scripted", "--plain", *more])


def last(home: Path) -> Recording:
    return read(logs(home)[-1])


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# Requests.


@pytest.mark.parametrize(
    ("flags", "sent"),
    [
        (["--temperature", "0.7"], {"temperature": 0.7}),
        (["--top-p", "0.9"], {"top_p": 0.9}),
        (["--max-tokens", "77"], {"max_tokens": 77}),
        (["--param", "seed=5"], {"seed": 5}),
        (["--param", 'stop=["END"]'], {"stop": ["END"]}),
        (
            ["--param", 'response_format={"type": "json_object"}'],
            {"response_format": {"type": "json_object"}},
        ),
        (["--param", 'extra_body={"grammar": "root ::= [0-9]"}'], {"grammar": "root ::= [0-9]"}),
        (["--preset", "published"], {"temperature": 0.1, "top_p": 0.95, "max_tokens": 1024}),
    ],
)
def test_parameters_are_sent_recorded_and_in_the_key(
    flags: list[str],
    sent: dict[str, Any],
    server: ScriptedServer,
    home: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.default = ok(story())
    assert solve(server) == 0
    plain_keys = {e.key for e in last(home).events if isinstance(e, Requested)}
    assert solve(server, *flags) == 0
    bodies = [seen.body for seen in server.requests[3:]]
    assert len(bodies) == 3, "none of them is in the cache"
    for body in bodies:
        assert body | sent == body
    keys = {e.key for e in last(home).events if isinstance(e, Requested)}
    assert not keys & plain_keys
    assert main(["replay", "last"]) == 0


@pytest.mark.parametrize(
    ("given", "needle"),
    [
        ("colour=1", "unknown field `colour`"),
        ("seed=x", "JSON is malformed"),
        ('seed="x"', "Expected `int | null`"),
        ("seed", "--param NAME=JSON"),
        ("model=1", "--model 1"),
        ("max_tokens=1", "--max-tokens 1"),
    ],
)
def test_a_parameter_that_is_none_is_refused_before_anything_is_recorded(
    given: str, needle: str, server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert solve(server, "--param", given) == 2
    assert needle in capsys.readouterr().err
    assert (server.count, logs(home)) == (0, [])


def test_a_note_stands_in_the_first_line_and_changes_no_request(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    assert solve(server, "--note", "made on a train") == 0
    assert last(home).started.note == "made on a train"
    assert "made on a train\n" in capsys.readouterr().out
    assert solve(server) == 0
    assert server.count == 3
    assert main(["replay", "last"]) == 0


# Patience.


def test_timeout_is_the_silence_that_ends_an_attempt(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok('Here it is. >> FINAL ANSWER:\n"""\n42\n"""', every=0.3)
    server.play(silent(3))
    assert solve(server, "--timeout", "1", "--retries", "0") == 5
    assert [failed.kind for failed in failures(last(home))] == ["timeout"]
    # Pieces 0.3 s apart are no silence, however long the whole takes.
    assert solve(server, "--timeout", "1", "--retries", "0") == 0


def test_deadline_ends_a_call_with_all_its_attempts(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok('>> FINAL ANSWER:\n"""\n42\n"""', every=0.4)
    assert solve(server, "--deadline", "0.7") == 5
    assert "no whole reply within 0.7 s" in capsys.readouterr().out
    assert solve(server, "--deadline", "30") == 0


@pytest.mark.parametrize("retries", [0, 1])
def test_retries_are_attempts_after_the_first(
    retries: int, server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = failing(500)
    assert solve(server, "--retries", str(retries)) == 5
    assert server.count == retries + 1


def test_an_environment_variable_sets_what_no_flag_does(
    server: ScriptedServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.default = failing(500)
    for name, value in (("BASE_URL", server.url), ("MODEL", "scripted"), ("RETRIES", "0")):
        monkeypatch.setenv(f"META_TUI_{name}", value)
    assert main(["solve", "q", "--plain"]) == 5
    assert server.count == 1
    Path("meta-tui.toml").write_text('temperature = 0.3\nmethod = "standard"\nretries = 2\n')
    server.default = ok('>> FINAL ANSWER:\n"""\n42\n"""')
    assert main(["solve", "q", "--plain"]) == 0
    assert server.requests[-1].body["temperature"] == 0.3
    assert last(home).started.method == "standard"


class Crowd:
    """Answers with what was asked last, and knows how many were waiting for an answer at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._now = self.most = 0

    async def __call__(self, exchange: Exchange) -> None:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(self._seconds)
        self._now -= 1
        await ok(exchange.body["messages"][-1]["content"])(exchange)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_concurrency_is_how_many_calls_are_made_at_once(
    concurrency: int,
    server: ScriptedServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("META_TUI_CONCURRENCY", str(concurrency))
    server.default = crowd = Crowd(0.1)
    assert solve(server, "--method", FAN_OUT, "--set", "workers=4") == 0
    assert crowd.most == concurrency
    assert main(["replay", "last"]) == 0


def test_per_minute_is_how_many_calls_begin_in_a_minute(
    loaded: None,
    server: ScriptedServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("META_TUI_PER_MINUTE", "2")
    server.default = ok(story())
    begun = time.monotonic()
    assert solve(server, "--max-seconds", "3") == 4
    assert server.count == 2, "the third call waits for the minute to pass, and the budget ends the wait"
    assert time.monotonic() - begun < 30


def test_a_key_from_a_dotenv_file_is_sent_and_kept_nowhere_else(
    server: ScriptedServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("META_TUI_API_KEY", "to be removed")  # so that it is put back afterwards
    del os.environ["META_TUI_API_KEY"]
    Path(".env").write_text(f"META_TUI_API_KEY={KEY}\n")
    server.default = ok(story())
    assert solve(server) == 0
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert holding(KEY, home) == []
    shown = capsys.readouterr()
    assert KEY not in shown.out + shown.err


# Resume and fork take the same settings.


def test_resume_and_fork_ask_where_and_as_they_are_told(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    assert solve(server, "--max-calls", "1") == 4
    with ScriptedServer(ok(story())) as other:
        where = ["--base-url", other.url, "--plain"]
        assert main(["resume", "last", *where, "--max-calls", "2"]) == 4
        assert (server.count, other.count) == (1, 1)
        assert main(["resume", "last", *where, "--model", "another"]) == 0
        assert other.requests[-1].body["model"] == "another"
        replies = [e for e in last(home).events if isinstance(e, Replied)]
        assert replies[-1].how is not None
        assert replies[-1].how.sent["model"] == "another"
        assert main(["replay", "last"]) == 0
        line = next(
            n
            for n, event in zip(last(home).lines, last(home).events, strict=True)
            if isinstance(event, Replied) and event.span
        )
        before = other.count
        assert main(["fork", "last", "--at", str(line), *where, "--retries", "0", "--brief"]) == 0
        assert other.count == before + 2, "the expert and what follows it; the cache has another repeat"
        assert main(["fork", logs(home)[0].stem, "--at", str(line), *where, "--no-cache"]) == 0
    assert all(main(["replay", str(log)]) == 0 for log in logs(home))


def test_fresh_and_the_cache_apply_to_resume(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    where = ["--base-url", server.url, "--plain"]
    assert solve(server) == 0
    assert solve(server, "--max-calls", "1") == 4
    assert main(["resume", "last", *where]) == 0
    assert server.count == 3, "the cache had the rest"
    assert solve(server, "--max-calls", "1") == 4
    assert main(["resume", "last", *where, "--fresh"]) == 0
    assert server.count == 5


# The sandbox.

PYTHON_STORY = [
    'Expert Python:\n"""\nPrint 6 times 7.\n"""',
    "```python\nprint(6 * 7)\n```\nPlease run this code!",
    '>> FINAL ANSWER:\n"""\n42\n"""',
]


def without_landlock(arguments: list[str]) -> int:
    """`meta-tui ARGUMENTS` on a machine whose Landlock is used up: sixteen layers are the most."""
    from meta_tui.sandbox import lockdown, syscalls

    lockdown._prctl(lockdown.PR_SET_NO_NEW_PRIVS, 1)
    make_block_device = (1 << 11).to_bytes(8, "little")
    for _ in range(16):
        try:
            rules = lockdown._syscall(syscalls.LANDLOCK_CREATE_RULESET, make_block_device, 8, 0)
            lockdown._syscall(syscalls.LANDLOCK_RESTRICT_SELF, rules, 0)
            os.close(rules)
        except OSError:
            break
    return main(arguments)


@pytest.mark.parametrize("mode", ["warn", "strict"])
def test_a_strict_sandbox_runs_nothing_without_all_layers(mode: str, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps({"text": text}) + "\n" for text in PYTHON_STORY))
    arguments = ["solve", "6 * 7?", "--model", f"script:{script}", "--sandbox", mode, "--plain"]
    program = start(arguments, tmp_path, work=without_landlock)
    code = program.end()
    (log,) = logs(tmp_path / "home")
    results = [e for e in read(log).events if isinstance(e, CodeFinished)]
    if mode == "warn":
        assert code == 0, program.output
        assert "the sandbox runs without landlock" in program.output
        assert [e.result.stdout for e in results] == ["42\n"]
        assert results[0].how is not None
        assert "landlock" not in results[0].how.layers
    else:
        assert code == 1, program.output
        assert results == []
        assert "strict mode needs landlock, which this machine lacks" in program.output
    assert main(["replay", str(log)]) == 0


# The cache.


def test_cache_stats_check_and_clear_say_and_do_what_they_say(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    assert printed(capsys, "cache", "stats")["entries"] == 0
    assert solve(server, "--model", "openai/gpt-4o-mini") == 0
    stats = printed(capsys, "cache", "stats")
    assert (stats["entries"], stats["models"]) == (3, [["openai/gpt-4o-mini", 3]])
    assert stats["paid"] > 0
    assert printed(capsys, "cache", "check") == {"entries": 3, "problems": [], "fixed": False}

    import sqlite3

    with sqlite3.connect(home / "cache" / "cache.db") as database:
        database.execute("UPDATE Cache SET value = 'nonsense' WHERE rowid = 1")
    database.close()
    found = printed(capsys, "cache", "check", code=1)
    assert len(found["problems"]) == 1
    assert solve(server, "--model", "openai/gpt-4o-mini") == 2
    assert "`meta-tui cache check --fix`" in capsys.readouterr().err
    assert printed(capsys, "cache", "check", "--fix")["fixed"] is True
    assert printed(capsys, "cache", "check")["entries"] == 2
    assert server.count == 3
    assert solve(server, "--model", "openai/gpt-4o-mini") == 0
    assert server.count == 4, "what was damaged is asked for again, and nothing else"

    assert main(["cache", "clear", "--yes"]) == 0
    assert "MB freed" in capsys.readouterr().out
    assert printed(capsys, "cache", "stats")["entries"] == 0
    assert solve(server, "--model", "openai/gpt-4o-mini") == 0
    assert server.count == 7
    assert len(logs(home)) == 4, "recorded runs stay"


def test_clearing_the_cache_asks_first(
    server: ScriptedServer, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io
    import sys

    server.default = ok(story())
    assert solve(server) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    assert main(["cache", "clear"]) == 1
    assert "Remove all cached replies in" in capsys.readouterr().err
    assert printed(capsys, "cache", "stats")["entries"] == 3


# The doctor and the settings shown.


def check_named(report: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(check for check in report["checks"] if check["name"] == name)
    return found


def test_the_doctor_asks_the_model_only_when_it_is_told_to(
    server: ScriptedServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("META_TUI_BASE_URL", server.url)
    monkeypatch.setenv("META_TUI_MODEL", "scripted")
    report = printed(capsys, "doctor")
    assert report["ok"]
    assert server.count == 0
    assert check_named(report, "model")["found"] == "scripted"
    report = printed(capsys, "doctor", "--network")
    assert report["ok"]
    assert server.count == 1
    answered = check_named(report, "model answers")
    assert answered["state"] == "ok"
    assert answered["found"].startswith("scripted in ")
    server.default = failing(500)
    report = printed(capsys, "doctor", "--network", code=1)
    assert not report["ok"]
    assert check_named(report, "model answers")["state"] == "fail"
    assert server.count == 2, "it tries once"
    assert main(["doctor", "--network"]) == 1
    assert "✗ model answers: " in capsys.readouterr().out
    assert logs(home) == []


def test_the_doctor_fails_on_a_cache_and_on_settings_that_cannot_be_read(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("meta-tui.toml").write_text("colour = 1\n")
    report = printed(capsys, "doctor", code=1)
    failed = check_named(report, "settings")
    assert failed["state"] == "fail"
    assert "meta-tui.toml: no setting 'colour'" in failed["found"]
    Path("meta-tui.toml").unlink()
    assert printed(capsys, "doctor")["ok"]
    (home / "cache").mkdir(parents=True, exist_ok=True)
    (home / "cache" / "cache.db").write_bytes(b"this is no database at all" * 100)
    failed = check_named(printed(capsys, "doctor", code=1), "cache")
    assert failed["state"] == "fail"
    assert "`meta-tui cache clear`" in failed["fix"]
    assert main(["cache", "clear", "--yes"]) == 0
    assert printed(capsys, "doctor")["ok"]


def test_the_doctor_shows_no_key(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    shown = capsys.readouterr()
    assert "META_TUI_API_KEY" in shown.out
    assert KEY not in shown.out + shown.err
    main(["config", "show"])
    shown = capsys.readouterr()
    assert KEY not in shown.out + shown.err
