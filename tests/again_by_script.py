"""Run recorded runs once more from their own outcomes and print what their logs hash to.

A script of its own, so that other interpreters can run it: it needs the package's core and no test
library. Arguments: a folder for the new logs, then the recorded logs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from meta_tui.chat import CodeResult, Program, embed_key, score_key
from meta_tui.errors import CallFailed
from meta_tui.events import CodeFinished, Embedded, Failed, How, Replied, Result, Scored
from meta_tui.methods import build
from meta_tui.models.base import Answer, Attempt, Call, Tell, decode_vector
from meta_tui.run import Doors
from meta_tui.runlog import Address, Recording, read
from meta_tui.sources import live


class Recorded:
    """All doors, giving what was recorded: replies by address; results, vectors and grades, whose
    doors are told no address, by key in the order of their draws.

    Args:
        outcomes: address -> outcomes that are still to be given.
    """

    def __init__(self, outcomes: Mapping[Address, Sequence[Result]]) -> None:
        self._outcomes = {address: list(found) for address, found in outcomes.items()}
        self.asked: list[Address] = []

    @property
    def doors(self) -> Doors:
        """This, as every door."""
        return Doors(self, self, self, self)

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The recorded reply or failure, its failed attempts told first."""
        *attempts, last = self._take((call.request.key, call.strand, call.draw))
        for attempt in attempts:
            tell(_attempt(attempt))
        assert isinstance(last, Replied)
        return Answer(last.reply, None)

    async def execute(self, program: Program) -> tuple[CodeResult, How | None]:
        """The recorded result."""
        last = self._take_key(program.key)
        assert isinstance(last, CodeFinished)
        return last.result, None

    async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
        """The recorded vectors."""
        last = self._take_key(embed_key(model, texts))
        assert isinstance(last, Embedded)
        return [decode_vector(vector) for vector in last.vectors], How()

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """The recorded grade."""
        last = self._take_key(score_key(answer))
        assert isinstance(last, Scored)
        return last.metric, last.value, last.feedback

    def _take_key(self, key: str) -> Result:
        return self._take(min(address for address in self._outcomes if address[0] == key))[-1]

    def _take(self, address: Address) -> list[Result]:
        self.asked.append(address)
        found = self._outcomes.pop(address)
        if isinstance(last := found[-1], Failed):
            raise CallFailed(last.kind, last.message)
        return found


def _attempt(outcome: Result) -> Attempt:
    assert isinstance(outcome, Failed)
    assert outcome.retry_in is not None
    return Attempt(outcome.kind, outcome.message, outcome.attempt, outcome.retry_in)


async def again(recording: Recording, log: Path) -> None:
    """The recorded run, performed once more into a new log, without times and provenance."""
    started = recording.started
    doors = Recorded(recording.outcomes).doors
    method = build(started.method, started.settings)
    await live(method, started, doors, log=log, history=recording.history, clock=None)


def main(folder: Path, logs: list[Path]) -> None:
    """Print the digest of every new log."""
    for log in logs:
        new = folder / log.name
        asyncio.run(again(read(log), new))
        print(log.stem, sha256(new.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
