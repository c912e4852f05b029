"""A shipped cassette that is cut anywhere goes on to the same file, and nothing is asked twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from written import CASSETTES, SHIPPED

from meta_tui.chat import CodeResult, Program
from meta_tui.errors import CallFailed
from meta_tui.events import CodeFinished, CodeStarted, Failed, Replied, Result, SpanStarted
from meta_tui.models.base import Answer, Attempt, Call, Tell
from meta_tui.run import Doors
from meta_tui.runlog import Recording, parse, read
from meta_tui.sources import resume

Address = tuple[str, str, int]


class Rest:
    """Both doors of a run, giving what was recorded after a cut and nothing else."""

    def __init__(self, whole: Recording, cut: Recording) -> None:
        self.outcomes: dict[Address, list[Result]] = {
            address: found[len(cut.outcomes.get(address, [])) :] for address, found in whole.outcomes.items()
        }
        self._programs: dict[str, list[Address]] = {}
        strands = {event.span: event.strand for event in whole.events if isinstance(event, SpanStarted)}
        for event in whole.events:
            if isinstance(event, CodeStarted):
                address = (event.key, strands.get(event.span, ""), event.draw)
                if address not in cut.outcomes:
                    self._programs.setdefault(event.key, []).append(address)

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The rest of the outcomes of a request, once."""
        left = self.outcomes.pop((call.request.key, call.strand, call.draw))
        for failed in left[:-1]:
            assert isinstance(failed, Failed)
            tell(Attempt(failed.kind, failed.message, failed.attempt, failed.retry_in or 0.0))
        if isinstance(left[-1], Failed):
            raise CallFailed(left[-1].kind, left[-1].message)
        assert isinstance(left[-1], Replied)
        return Answer(left[-1].reply, None)

    async def execute(self, program: Program) -> tuple[CodeResult, None]:
        """The recorded result of a program, once; equal programs in the order of their recording."""
        (done,) = self.outcomes.pop(self._programs[program.key].pop(0))
        assert isinstance(done, CodeFinished)
        return done.result, None


def timeless(data: bytes) -> list[dict[str, object]]:
    """The lines of a log without `at` and `how`, keys in their order."""
    lines = [json.loads(line) for line in data.split(b"\n") if line]
    return [{k: v for k, v in line.items() if k not in ("at", "how")} for line in lines]


@pytest.mark.parametrize("name", [cassette.name for cassette in CASSETTES])
def test_a_cassette_cut_after_any_line_is_resumed_to_the_same_file(name: str, tmp_path: Path) -> None:
    data = (SHIPPED / f"{name}.jsonl").read_bytes()
    whole, expected = read(SHIPPED / f"{name}.jsonl"), json.dumps(timeless(data))
    lines = data.splitlines(keepends=True)
    for count in range(1, len(lines)):
        kept = b"".join(lines[:count])
        log = tmp_path / f"{count}.jsonl"
        log.write_bytes(kept + lines[count][: len(lines[count]) // 2])
        rest = Rest(whole, parse(kept))
        asyncio.run(resume(log, Doors(model=rest, code=rest), clock=None))
        assert json.dumps(timeless(log.read_bytes())) == expected, f"cut after line {count}"
        assert not any(rest.outcomes.values()), f"cut after line {count}: not everything was asked for"
