"""kill -9 at random moments, then `resume` until there is an answer: what must hold every time.

Whoever answers counts what it is asked, before it answers, as a bill would: `Counting` in a file,
the scripted server in its memory. After every kill, nothing whose reply stands in the log may be
asked again.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

import msgspec
from live_runs import PATIENCE, Program, logs, paid, story, wire
from scripted_server import ScriptedServer

from meta_tui import sources
from meta_tui.chat import Program as Code
from meta_tui.chat import Reply, user
from meta_tui.config import Settings
from meta_tui.errors import NotARunLog
from meta_tui.events import How, Replied
from meta_tui.methods import register
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.run import Run, Solution
from meta_tui.runlog import read


@register
class FanOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A method with all that can be cut in two: strands side by side, equal requests, a program."""

    id: ClassVar[str] = "fan_out"

    workers: int = 3

    async def solve(self, run: Run, question: str) -> Solution:
        async def work(inner: Run, index: int) -> str:
            texts = [(await inner.ask([user(f"{question} {index} {part}")])).text for part in range(3)]
            result = await inner.execute(Code(f"print({index} * 7)"))
            return " ".join([*texts, result.stdout.strip()])

        found = await run.parallel("worker", [f"Worker {i}" for i in range(self.workers)], work)
        votes = await run.ask_many([[user(question)]] * 3)
        return Solution(" ".join([*found, *(vote.text for vote in votes if isinstance(vote, Reply))]), "done")


class Counting:
    """A model that notes down each request, takes its time, and answers."""

    def __init__(self, bill: Path, pause: float) -> None:
        self._bill = os.open(bill, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._pause = pause
        self._says = story(rounds=5)

    async def answer(self, call: Call, tell: Tell) -> Answer:
        os.write(self._bill, f"{call.request.key} {call.strand} {call.draw}\n".encode())
        for piece in ("one ", "two "):
            tell(piece)
            await asyncio.sleep(random.uniform(0, self._pause))
        messages = wire(call.request.messages)
        text = self._says({"messages": messages}) if call.role in ("meta", "expert") else f"ok {call.draw}"
        return Answer(Reply(text), How("written"))


def counted(arguments: list[str]) -> int:
    """The work of a process: solve or resume with `Counting`. Arguments: what, method, bill."""
    from meta_tui import session

    what, method, bill = arguments

    async def run() -> int:
        settings = Settings(model="counting", method=method, cache=False)
        live = session.Session(settings, model=Counting(Path(bill), 0.02))
        try:
            if what == "solve":
                result = await session.solve(session.plan("6 * 7?", settings), live)
            else:
                result = await session.resume(logs(Path(os.environ["META_TUI_HOME"]))[-1], live)
        finally:
            await live.aclose()
        return session.exit_code(result)

    return asyncio.run(run())


class Bill(Protocol):
    """What was asked so far, in order, and what of it a log holds replies to."""

    def asked(self) -> list[str]: ...

    def paid(self, log: Path) -> set[str]: ...


@dataclass
class FileBill:
    """The bill that `Counting` writes."""

    path: Path

    def asked(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def paid(self, log: Path) -> set[str]:
        outcomes = read(log).outcomes
        return {
            f"{key} {strand} {draw}"
            for (key, strand, draw), found in outcomes.items()
            if any(isinstance(outcome, Replied) for outcome in found)
        }


@dataclass
class Toll:
    """How often the kills struck, and where."""

    runs: int = 0
    before_the_first_line: int = 0
    midway: int = 0
    after_the_end: int = 0
    asked_again: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.runs} runs: {self.before_the_first_line} kills before the first line, {self.midway} midway, "
            f"{self.after_the_end} after the end; {len(self.asked_again)} replies asked for again"
        )


def kill_and_resume(
    toll: Toll,
    begin: Callable[[], Program],
    go_on: Callable[[Path], Program],
    home: Path,
    bill: Bill,
    moments: list[float],
) -> None:
    """Begin a run, kill and resume it at each of the moments, then let it end and check it.

    Args:
        toll: counts what happened.
        begin: starts the run.
        go_on: resumes it.
        home: an empty user's folder.
        bill: what is asked.
        moments: seconds from when a program has begun to its kill.
    """
    toll.runs += 1
    program: Program | None = begin()
    before, held = len(bill.asked()), set[str]()
    for moment in moments:
        assert program is not None
        kill_at(program, home, moment)
        log = _first_line(home)
        toll.asked_again += [name for name in bill.asked()[before:] if name in held]
        if log is None:
            toll.before_the_first_line += 1
            assert bill.asked()[before:] == [], "something was asked for that no log knows of"
            program = begin()
            continue
        if read(log).finished is not None:
            toll.after_the_end += 1
            program = None
            break
        toll.midway += 1
        before, held = len(bill.asked()), bill.paid(log)
        program = go_on(log)
    if program is not None:
        assert program.end() == 0, program.output
        toll.asked_again += [name for name in bill.asked()[before:] if name in held]
    result = asyncio.run(sources.replay(read(logs(home)[-1])))
    assert (result.status, bool(result.answer)) == ("answered", True)


def kill_at(program: Program, home: Path, moment: float) -> None:
    """kill -9 a moment after the program began: after it opened its log, or sooner (negative)."""
    if moment < 0:
        time.sleep(-moment)
    else:
        end = time.monotonic() + PATIENCE
        while not logs(home) and program.process.is_alive():
            assert time.monotonic() < end, program.output
            time.sleep(0.002)
        time.sleep(moment)
    program.kill()


def _first_line(home: Path) -> Path | None:
    """The log of the run; None, and nothing left of it, if the kill came before its first line."""
    for log in logs(home)[-1:]:
        try:
            read(log)
        except NotARunLog:
            log.unlink()
        else:
            return log
    return None


@dataclass
class ServerBill:
    """What a scripted server was asked; requests are told apart by their messages."""

    server: ScriptedServer

    def asked(self) -> list[str]:
        return [json.dumps(seen.body["messages"]) for seen in list(self.server.requests)]

    def paid(self, log: Path) -> set[str]:
        return set(paid(log))
