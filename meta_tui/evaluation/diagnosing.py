"""From run logs to labelled traces: whose sample a run is on, and how its artifacts are graded.

Reads files and calls graders; the numbers are `diagnostics`. A run without a known sample, or with
a question that is not its sample's, is diagnosed without labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from meta_tui.chat import Value
from meta_tui.errors import LogError, UsageError
from meta_tui.evaluation import cells, diagnostics
from meta_tui.evaluation.evaluate import graded_text
from meta_tui.events import RunStarted
from meta_tui.methods import build, settings_of
from meta_tui.methods.artifacts import trace
from meta_tui.runlog import Recording, read
from meta_tui.tasks import Execute, Sample, family, grade, loaders

METHODS = ("meta_reasoning", "direct_control", "rlm")
"""Methods whose runs have workers."""

UNSURE = ("error", "ambiguous")
"""Verdicts that give no label."""

Find = Callable[[RunStarted], Sample | None]
"""The sample that a run is on."""


class Diagnosed(Value, frozen=True, kw_only=True):
    """A run that was diagnosed: where it stands, which group it is in, and what it did."""

    path: str
    label: str
    model: str
    run: diagnostics.Run


async def diagnosed(
    recording: Recording, sample: Sample | None, grader: str = "strict", execute: Execute | None = None
) -> Diagnosed:
    """The labelled run of a recording."""

    async def label(answer: str) -> bool | None:
        if sample is None:
            return None
        try:
            verdict = (await grade(sample, graded_text(answer, ""), grader, execute)).verdict
        except UsageError:
            return None
        return None if verdict in UNSURE else verdict == "correct"

    started = recording.started
    run = await diagnostics.label_with(trace(recording.events), label)
    run = msgspec.structs.replace(run, graded=sample is not None)
    return Diagnosed(path=str(recording.path or ""), label=label_of(started), model=started.model, run=run)


def label_of(started: RunStarted) -> str:
    """The method and those of its settings that are not the default, without budget and prompts."""
    try:
        usual = settings_of(build(started.method))
    except UsageError:
        return started.method
    own = {k: v for k, v in started.settings.items() if k in usual and v != usual[k]}
    shown = [
        name if value is True else f"{name}={value}"
        for name, value in sorted(own.items())
        if name not in ("budget", "tools") and len(str(value)) < 40
    ]
    return " ".join([started.method, *shown])


def finder(files: Iterable[Path] = ()) -> Find:
    """Finds samples by id: in given files, in the evaluation that a log lies in, or among ours."""
    found = [sample for file in files for sample in loaders.own(file)]
    given = {msgspec.structs.replace(sample, source="").id: sample for sample in found}
    given |= {sample.id: sample for sample in found}

    def find(started: RunStarted) -> Sample | None:
        if started.sample in given:
            return _same(given[started.sample], started)
        task, _, index = started.sample.partition(":")
        if not index.isdecimal():
            return None
        try:
            return _same(loaders.samples(task, int(index) + 1)[int(index)], started)
        except (UsageError, IndexError):
            return None

    return find


def _same(sample: Sample, started: RunStarted) -> Sample | None:
    return sample if family(sample.task).question(sample) == started.question else None


async def of_folder(folder: Path, grader: str = "strict", execute: Execute | None = None) -> list[Diagnosed]:
    """The runs of an evaluation's folder whose methods have workers, in the plan's order."""
    found = []
    for cell in cells.cells(cells.read_plan(folder), cells.read_samples(folder)):
        if cell.variant.method not in METHODS:
            continue
        try:
            recording = read(folder / "cells" / f"{cell.name}.jsonl")
        except LogError:
            continue
        if recording.finished is not None:
            found.append(await diagnosed(recording, cell.sample, grader, execute))
    return found


def grouped(found: Sequence[Diagnosed]) -> list[dict[str, Any]]:
    """Summaries by method, task, model and budget, in the order in which they first came."""
    groups: dict[tuple[str, str, str, int], list[diagnostics.Run]] = {}
    for one in found:
        key = (one.label, one.run.trace.task, one.model, one.run.trace.budget)
        groups.setdefault(key, []).append(one.run)
    return [
        {"label": label, "task": task, "model": model, "budget": budget, **diagnostics.of_runs(runs)}
        for (label, task, model, budget), runs in sorted(groups.items())
    ]
