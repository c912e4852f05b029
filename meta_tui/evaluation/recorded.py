"""Grading recorded runs that stand in no evaluation: cassettes, one's own runs, other people's.

A run is graded if its first line names a sample (or a stream of samples) that is found again and
whose question is the one that was asked. What is left out is counted by its reason. Nothing is
asked of any model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meta_tui.errors import LogError, UsageError
from meta_tui.evaluation import results
from meta_tui.evaluation.results import Row
from meta_tui.events import RunStarted
from meta_tui.runlog import Recording, read
from meta_tui.tasks import Execute, Sample, family, loaders

NO_SAMPLE = "name no sample"
NOT_ASKED = "are on other tasks"
NOT_FOUND = "name a sample that is not known here"
OTHER_QUESTION = "ask another question than the sample that they name"
DAMAGED = "cannot be read"


@dataclass(slots=True)
class Graded:
    """Rows of the runs that were graded, and how many were left out for which reason."""

    rows: list[Row] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)


class Known:
    """Samples by their names: those given, and those of ours, made as they are asked for.

    Args:
        given: samples of files of one's own.
        tasks: only these tasks are graded; empty for all.
    """

    def __init__(self, given: Iterable[Sample] = (), tasks: Sequence[str] = ()) -> None:
        self._known = {sample.id: sample for sample in given}
        self._tasks = set(tasks)

    def wanted(self, name: str) -> bool:
        """Whether the task of a sample is to be graded."""
        task = name.partition("@")[0].rpartition(":")[0] or name.partition("@")[0]
        return name in self._known or not self._tasks or task in self._tasks

    def get(self, name: str) -> Sample | None:
        """The sample of that name."""
        if name not in self._known:
            try:
                self._known[name] = loaders.sample(name)
            except UsageError:
                return None
        return self._known[name]


async def graded(paths: Iterable[Path], known: Known, grader: str, execute: Execute | None = None) -> Graded:
    """Grade every run whose samples are known; a stream gives a row for each of its samples."""
    found = Graded()
    for path in paths:
        try:
            recording = read(path)
        except LogError:
            found.left[DAMAGED] += 1
            continue
        samples = _samples(recording.started, known)
        if isinstance(samples, str):
            found.left[samples] += 1
        else:
            found.rows += await _rows(recording, path, samples, grader, execute)
    return found


def _samples(started: RunStarted, known: Known) -> tuple[Sample, ...] | str:
    """The samples that a run is on, or why it is left out."""
    asked: Mapping[str, str] = {item.sample: item.question for item in started.stream}
    asked = asked or ({started.sample: started.question} if started.sample else {})
    if not asked:
        return NO_SAMPLE
    if not any(map(known.wanted, asked)):
        return NOT_ASKED
    samples = tuple(sample for name in asked if (sample := known.get(name)) is not None)
    if len(samples) < len(asked):
        return NOT_FOUND
    same = all(family(one.task).question(one) == asked[one.id] for one in samples)
    return samples if same else OTHER_QUESTION


async def _rows(
    recording: Recording, path: Path, samples: tuple[Sample, ...], grader: str, execute: Execute | None
) -> Sequence[Row]:
    started = recording.started
    place: dict[str, Any] = {
        "method": started.method,
        "model": started.model,
        "task": samples[0].task,
        "repeat": 0,
        "log": str(path),
    }
    if started.stream:
        place |= {"stream": f"{samples[0].id} to {samples[-1].id}"}
        return await results.stream_rows(recording, samples, place, (grader,), execute)
    place |= {"sample": started.sample}
    return [await results.graded_row(recording, samples[0], place, (grader,), execute)]
