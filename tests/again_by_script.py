"""Run recorded runs once more from their own outcomes and print what their logs hash to.

A script of its own, so that other interpreters can run it: it needs the package's core and no test
library. Arguments: a folder for the new logs, then the recorded logs.
"""

from __future__ import annotations

import asyncio
import sys
from hashlib import sha256
from pathlib import Path

from meta_tui.chat import CodeResult, Program
from meta_tui.errors import CallFailed
from meta_tui.events import CodeFinished, Failed, How, Replied, Result
from meta_tui.methods import build
from meta_tui.models.base import Answer, Attempt, Call, Tell
from meta_tui.run import Doors
from meta_tui.runlog import Recording, read
from meta_tui.sources import live


class Recorded:
    """Doors that give what a recording holds, by address; programs in their order."""

    def __init__(self, recording: Recording) -> None:
        self._outcomes = recording.outcomes
        events = recording.events
        self._results = iter([e.result for e in events if isinstance(e, CodeFinished)])

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The recorded reply or failure, its failed attempts told first."""
        *attempts, last = self._outcomes[call.request.key, call.strand, call.draw]
        for attempt in attempts:
            tell(_attempt(attempt))
        if isinstance(last, Failed):
            raise CallFailed(last.kind, last.message)
        assert isinstance(last, Replied)
        return Answer(last.reply, None)

    async def execute(self, program: Program) -> tuple[CodeResult, How | None]:
        """The next recorded result."""
        return next(self._results), None


def _attempt(outcome: Result) -> Attempt:
    assert isinstance(outcome, Failed)
    assert outcome.retry_in is not None
    return Attempt(outcome.kind, outcome.message, outcome.attempt, outcome.retry_in)


async def again(recording: Recording, log: Path) -> None:
    """The recorded run, performed once more into a new log, without times and provenance."""
    started = recording.started
    doors = Recorded(recording)
    method = build(started.method, started.settings)
    await live(method, started, Doors(doors, doors), log=log, history=recording.history, clock=None)


def main(folder: Path, logs: list[Path]) -> None:
    """Print the digest of every new log."""
    for log in logs:
        new = folder / log.name
        asyncio.run(again(read(log), new))
        print(log.stem, sha256(new.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
