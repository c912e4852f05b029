"""The library in notebooks and asynchronous programs: streams of events, loops inside loops."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import FINAL, call_text

import meta_tui
from meta_tui.errors import CassetteMiss, Difference, RecordError, UsageError
from meta_tui.events import Answered, AnyEvent, Replied, RunFinished, RunStarted
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.runlog import read
from meta_tui.sources import replay

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.py"))
CALL = call_text("Expert Ada", "add")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def scripted(*more: Any) -> meta_tui.ScriptedModel:
    return meta_tui.ScriptedModel([CALL, "42", FINAL, *more], piece=3)


class Slow:
    """A model that answers when it is let."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.free = asyncio.Event()

    async def answer(self, call: Call, tell: Tell) -> Answer:
        self.asked.set()
        await self.free.wait()
        return Answer(meta_tui.Reply(FINAL), None)


# A stream of events.


async def test_the_events_of_a_run_come_as_they_happen_and_are_those_of_its_log() -> None:
    seen: list[AnyEvent] = [
        event async for event in meta_tui.solve_events("q", model=scripted(), log="run.jsonl")
    ]
    assert isinstance(seen[0], RunStarted)
    assert isinstance(seen[-1], RunFinished)
    kept = [event for event in seen if type(event).__name__ != "Delta"]
    assert kept == read(Path("run.jsonl")).events
    assert len(kept) < len(seen)


async def test_an_event_comes_before_the_call_after_it_is_made() -> None:
    slow = Slow()
    async with aclosing(meta_tui.solve_events("q", model=slow, log="run.jsonl")) as events:
        first = await anext(events)
        assert isinstance(first, RunStarted)
        await slow.asked.wait()
        slow.free.set()
        rest = [event async for event in events]
    assert isinstance(rest[-1], RunFinished)


async def test_whoever_leaves_early_stops_the_run_which_its_log_says() -> None:
    slow = Slow()
    async with aclosing(meta_tui.solve_events("q", model=slow, log="run.jsonl")) as events:
        async for event in events:
            if isinstance(event, RunStarted):
                break
        await slow.asked.wait()
    finished = read(Path("run.jsonl")).finished
    assert finished is not None
    assert finished.status == "cancelled"


async def test_an_early_end_after_a_reply_keeps_the_reply_and_replays() -> None:
    async with aclosing(meta_tui.solve_events("q", model=scripted(), log="run.jsonl")) as events:
        async for event in events:
            if isinstance(event, Replied):
                break
    recording = read(Path("run.jsonl"))
    assert any(isinstance(event, Replied) for event in recording.events)
    assert (await replay(recording)).status in ("cancelled", "answered")


async def test_an_error_comes_after_the_events_before_it() -> None:
    Path("run.jsonl").write_text("somebody else's")
    with pytest.raises(RecordError):
        async for _ in meta_tui.solve_events("q", model=scripted(), log="run.jsonl"):
            pass
    with pytest.raises(UsageError, match="no method"):
        async for _ in meta_tui.solve_events("q", model=scripted(), method="nope"):
            pass


async def test_another_consumer_is_told_as_well_and_a_cassette_can_be_followed() -> None:
    told: list[AnyEvent] = []
    for _ in range(2):
        events = [
            event
            async for event in meta_tui.solve_events(
                "q", model=scripted(), cassette="c.jsonl", on_event=told.append
            )
        ]
        assert told[-len(events) :] == events
    with pytest.raises((CassetteMiss, Difference)):
        async for _ in meta_tui.solve_events("another", model=scripted(), cassette="c.jsonl"):
            pass


async def test_another_consumer_that_fails_does_not_end_the_stream() -> None:
    def fails(event: AnyEvent) -> None:
        raise RuntimeError("a display that fails")

    events = [e async for e in meta_tui.solve_events("q", model=scripted(), on_event=fails, log="log.jsonl")]
    assert isinstance(events[-1], RunFinished)
    assert len(events) > len(read(Path("log.jsonl")).events)


async def test_two_runs_can_be_streamed_at_once() -> None:
    async def answer(name: str) -> list[str]:
        events = meta_tui.solve_events("q", model=scripted(), log=name)
        return [event.text async for event in events if isinstance(event, Answered)]

    assert await asyncio.gather(answer("a.jsonl"), answer("b.jsonl")) == [["42"], ["42"]]


# The plain functions inside a running loop.


async def test_solve_and_replay_work_inside_a_running_loop_in_a_thread_of_their_own() -> None:
    threads: list[str] = []
    result = meta_tui.solve(
        "q",
        model=scripted(),
        log="run.jsonl",
        on_event=lambda event: threads.append(threading.current_thread().name),
    )
    assert result.answer == "42"
    assert set(threads) == {"meta-tui run"}
    assert meta_tui.replay("run.jsonl").answer == "42"


async def test_an_error_inside_a_running_loop_is_the_same_error() -> None:
    with pytest.raises(UsageError, match="no method"):
        meta_tui.solve("q", model=scripted(), method="nope")


async def test_a_function_expert_works_inside_a_running_loop() -> None:
    result = meta_tui.solve(
        "q", model=meta_tui.ScriptedModel([CALL, FINAL]), experts={"Expert Ada": str.upper}
    )
    assert result.answer == "42"


def test_solve_outside_of_a_loop_runs_in_the_thread_that_calls_it() -> None:
    threads: list[threading.Thread] = []
    meta_tui.solve("q", model=scripted(), on_event=lambda event: threads.append(threading.current_thread()))
    assert set(threads) == {threading.current_thread()}


def test_ctrl_c_inside_a_running_loop_ends_the_run_and_its_log(tmp_path: Path) -> None:
    """Under asyncio.run the first Ctrl-C only cancels the task that waits, which cannot be told."""
    code = """
import asyncio, _thread, threading
import meta_tui

class Never:
    async def answer(self, call, tell):
        threading.Timer(0.2, _thread.interrupt_main).start()
        await asyncio.sleep(60)

async def cell():
    try:
        meta_tui.solve("q", model=Never(), log="run.jsonl")
    finally:
        print("interrupted", meta_tui.load("run.jsonl").finished.status)

try:
    asyncio.run(cell())
except KeyboardInterrupt:
    print("ended")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    )
    assert done.stdout == "interrupted cancelled\nended\n", done.stderr


# The examples.

OUTPUT = {
    "function_expert": "Lima 5\nLima\n",
    "events_as_they_happen": (
        "round 1\n  reply: Expert Poet:\n  reply: tea\nround 2\n  reply: >> FINAL ANSWER:\nanswer: tea\nNone\n"
    ),
    "inside_a_running_loop": "42\n['42', '42']\n",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_says_what_it_promises(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    )
    assert done.stdout == OUTPUT[path.stem], done.stderr


def test_the_examples_pass_the_type_checker() -> None:
    mypy = pytest.importorskip("mypy.api", reason="pip install meta-tui[test]")
    root = Path(__file__).parent.parent
    out, errors, code = mypy.run(
        ["--strict", "--config-file", str(root / "pyproject.toml"), *map(str, EXAMPLES)]
    )
    assert code == 0, out + errors


async def test_what_is_no_model_is_refused_before_a_log_is_written() -> None:
    with pytest.raises(UsageError, match="int has none"):
        await meta_tui.solve_async("q", model=3, log="run.jsonl")  # type: ignore[arg-type]
    assert not Path("run.jsonl").exists()


async def test_a_setting_that_does_not_exist_is_looked_for_in_the_arguments() -> None:
    with pytest.raises(UsageError, match=r"^the arguments: no setting 'bogus'"):
        await meta_tui.solve_async("q", model=scripted(), bogus=1)
    with pytest.raises(UsageError, match=r"^the arguments: no setting 'bogus'"):
        meta_tui.solve_stream([("q", "a")], model=scripted(), method="bot", bogus=1)
