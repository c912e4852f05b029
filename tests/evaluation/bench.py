"""An evaluation to be killed: 2 methods on samples of 4 tasks, with a scripted model.

Run as a program it goes on with the evaluation in the folder that it is given; every model call is
one line in the side file, so that a test can count them. Used as a module it makes the same cells
in the test's own process. The model answers by arithmetic on the question's digest: some answers
are right, some wrong, some calls consult an expert first.
"""

from __future__ import annotations

import asyncio
import sys
from hashlib import sha256
from pathlib import Path

from meta_tui.chat import Reply, Usage
from meta_tui.evaluation import cells, evaluate
from meta_tui.events import How
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.run import Doors
from meta_tui.tasks import Sample, family

TASKS = ("arithmetic", "words", "game24", "shapes")
METHODS = ("meta_prompting", "standard")


class Talker:
    """A model that is a pure function of the call, after a pause."""

    def __init__(self, samples: list[Sample], pause: float, side: Path | None) -> None:
        self._targets = [(family(s.task).question(s), s.target, s) for s in samples]
        self._pause = pause
        self._side = side

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """An expert's remark, a call to an expert, or a final answer."""
        await asyncio.sleep(self._pause)
        if self._side is not None:
            with self._side.open("a") as file:
                file.write(f"{call.request.key} {call.strand} {call.draw} {call.repeat}\n")
        return Answer(Reply(self._text(call), usage=Usage(10, 5)), How(ms=1, cost=0.001))

    def _text(self, call: Call) -> str:
        last = call.request.messages[-1].content
        if call.role == "expert":
            return "I find nothing wrong."
        question, target, sample = next(
            t for t in self._targets if any(t[0] in m.content for m in call.request.messages)
        )
        chance = int(sha256(f"{question}{call.repeat}".encode()).hexdigest(), 16)
        if "Meta-Expert" in call.request.messages[0].content and "output:" not in last:
            return f'Expert Checker:\n"""\nCheck this: {sample.input}\n"""'
        said = _right(sample, target) if chance % 3 else "no idea"
        return f'>> FINAL ANSWER:\n"""\n{said}\n"""'


def _right(sample: Sample, target: str) -> str:
    return str(sample.meta.get("witness", target)) if sample.task == "game24" else target


def samples(count: int) -> list[Sample]:
    """`count` samples of each task."""
    return [family(task).generate(index, 7) for task in TASKS for index in range(count)]


def plan(found: list[Sample], repeats: int = 1) -> cells.Plan:
    """The plan of the evaluation."""
    return cells.Plan(
        variants=tuple(cells.variant(method) for method in METHODS),
        models=("scripted",),
        tasks=TASKS,
        repeats=repeats,
        samples=cells.samples_digest(found),
    )


async def run(
    folder: Path,
    count: int,
    *,
    pause: float = 0.0,
    side: Path | None = None,
    shard: tuple[int, int] = (0, 1),
    at_once: int = 8,
) -> evaluate.Progress:
    """Go on with the evaluation in a folder."""
    found = samples(count)
    chosen = plan(found)
    cells.open_folder(folder, chosen, found)
    bench = evaluate.Bench(folder, {"scripted": Doors(Talker(found, pause, side))}, concurrency=at_once)
    return await evaluate.evaluate(bench, list(cells.shard(cells.cells(chosen, found), *shard)))


if __name__ == "__main__":
    where, number, wait = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    part, parts = (int(n) for n in sys.argv[4].split("/"))
    asyncio.run(run(where, number, pause=wait, side=where / "calls.txt", shard=(part, parts)))
