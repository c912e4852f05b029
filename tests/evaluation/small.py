"""Small evaluations for tests, run by the ordinary engine with simulated or scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from meta_tui.errors import CallFailed
from meta_tui.evaluation import cells, evaluate, simulation
from meta_tui.models.base import Model
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.session import with_scorer
from meta_tui.tasks import Sample, loaders

T = TypeVar("T")


def planned(
    folder: Path, methods: Sequence[str], samples: Sequence[Sample], model: str, stream: int = 0
) -> list[cells.Cell]:
    """The cells of an evaluation in a folder that is made."""
    plan = cells.Plan(
        variants=tuple(cells.variant(method) for method in methods),
        models=(model,),
        tasks=tuple(dict.fromkeys(sample.task for sample in samples)),
        samples=cells.samples_digest(samples),
        stream=stream,
    )
    cells.open_folder(folder, plan, samples)
    return list(cells.cells(plan, samples))


def run(
    folder: Path,
    methods: Sequence[str] = ("standard", "zero_shot_cot"),
    tasks: Sequence[str] = ("words", "arithmetic"),
    count: int = 8,
    model: str = "simulated:answers,chance=0.6",
    stream: int = 0,
    samples: Sequence[Sample] | None = None,
    **more: object,
) -> evaluate.Progress:
    """An evaluation with a simulated model."""
    found = samples or [sample for task in tasks for sample in loaders.samples(task, count)]
    made = simulation.named(model, found)
    doors = with_scorer(Doors(made), found) if stream else Doors(made)
    bench = evaluate.Bench(folder, {made.id: doors}, **more)  # type: ignore[arg-type]
    return finished(evaluate.evaluate(bench, planned(folder, methods, found, made.id, stream)))


def failing(folder: Path, words: str = "503 from the server", count: int = 3) -> evaluate.Progress:
    """An evaluation whose model is down for `zero_shot_cot` and works for `standard`."""
    found = loaders.samples("words", count)
    answers = simulation.SimulatedAnswers(found)

    class Halfway:
        """Fails where it is asked to think step by step."""

        async def answer(self, call, tell):  # type: ignore[no-untyped-def]
            """A failure or an answer."""
            if "step by step" in call.request.messages[-1].content:
                raise CallFailed("server", words)
            return await answers.answer(call, tell)

    bench = evaluate.Bench(folder, {"m": Doors(Halfway())}, concurrency=1)
    return finished(evaluate.evaluate(bench, planned(folder, ("standard", "zero_shot_cot"), found, "m")))


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What some work gives, also where a loop is running already (fixtures of async tests)."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def down(words: str) -> Model:
    """A model that is down."""
    return ScriptedModel(lambda call: CallFailed("server", words))
