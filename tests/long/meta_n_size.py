"""The run of `test_meta_n_size`, in a process of its own: begins it, or goes on with its log.

    python meta_n_size.py LOG CANDIDATES

After every tenth candidate, and at the end, it prints a line of JSON: candidates, memory in use and
its peak in bytes, and seconds of processor time (its own and its workers').
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from simulated_stack import MODEL, NOTE, SimulatedStack, Worth, facts, stream

from meta_tui.events import AnyEvent, Stored
from meta_tui.methods import build
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.sandbox import Sandbox
from meta_tui.sources import header, live, resume

TASKS, CATEGORIES, EVERY = 36, 9, 10
WORDS = 800
"""Characters of a task, about as many as a real one has."""


class Forgetful:
    """The simulated model behind the door, without the list of calls that a test would keep."""

    def __init__(self) -> None:
        self._voice = SimulatedStack(1, categories=CATEGORIES, gives_up=0.0)

    async def answer(self, call: object, tell: object) -> object:
        """The reply to a call."""
        return await ScriptedModel(self._voice).answer(call, tell)  # type: ignore[arg-type]


def facts_now(candidates: int) -> dict[str, float]:
    """What is printed."""
    status = Path("/proc/self/status").read_text()
    rss = int(status.partition("VmRSS:")[2].split()[0]) * 1024
    times = os.times()
    cpu = times.user + times.system + times.children_user + times.children_system
    return {"candidates": candidates, "rss": rss, "cpu": round(cpu, 2)}


def teller() -> Callable[[AnyEvent], None]:
    """A consumer that prints."""
    count = 0

    def take(event: AnyEvent) -> None:
        nonlocal count
        if isinstance(event, Stored) and event.kind == "candidate":
            count += 1
            if count % EVERY == 0:
                print(json.dumps(facts_now(count)), flush=True)

    return take


async def main(log: Path, candidates: int) -> None:
    """Begin, or go on."""
    settings = {
        "mode": "evolutionary",
        "tasks": facts(TASKS, CATEGORIES),
        "iterations": candidates - 1,
        "patience": candidates,
        "max_depth": 5,
    }
    method = build("meta_n", settings)
    started = header(method, "q", model=MODEL, stream=stream(TASKS, CATEGORIES, WORDS), seed=1, note=NOTE)
    async with Sandbox(pool=4) as sandbox:
        doors = Doors(Forgetful(), sandbox, scorer=Worth())  # type: ignore[arg-type]
        if log.exists():
            await resume(log, doors, consumers=[teller()])
        else:
            await live(method, started, doors, log=log, consumers=[teller()])
    print(json.dumps(facts_now(candidates)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
