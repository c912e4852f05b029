"""What an evaluation consists of: its plan, and the cells that follow from it.

A cell is one method on one sample, or on one stream of samples, once, with one model. Its name is
the digest of everything that can change its run (imported knowledge stands in the settings), so the
same cell is the same file in every shard and every continuation.
Pure values; reading and writing the evaluation's folder is at the end of the module.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from meta_tui.chat import Params, Value, canonical_json
from meta_tui.errors import UsageError
from meta_tui.methods import PRESETS, build, method_class, settings_of
from meta_tui.tasks import Sample, family

PLAN_VERSION = 1
PLAN_FILE = "evaluation.json"
SAMPLES_FILE = "samples.jsonl"


class Variant(Value, frozen=True, kw_only=True):
    """A method with its settings, under the label that reports show."""

    label: str
    method: str
    settings: dict[str, Any]
    params: Params = Params()


class Plan(Value, frozen=True, kw_only=True):
    """Everything that decides which cells an evaluation has."""

    version: int = PLAN_VERSION
    variants: tuple[Variant, ...]
    models: tuple[str, ...]
    tasks: tuple[str, ...]
    repeats: int = 1
    seed: int = 0
    samples: str
    """SHA-256 of the samples in order: the questions are part of what is evaluated."""
    stream: int = 0
    """Instances of a stream at most; 0: every sample is a cell of its own."""


class Cell(Value, frozen=True, kw_only=True):
    """One method on one sample (of a stream: on its samples, the first of which is `sample`), once,
    with one model."""

    variant: Variant
    model: str
    sample: Sample
    repeat: int
    seed: int
    stream: tuple[Sample, ...] = ()

    @property
    def name(self) -> str:
        """File name without its ending: task, index and the digest of all that matters."""
        last = f"-{self.stream[-1].index}" if self.stream else ""
        return f"{self.sample.task}-{self.sample.index}{last}-{self.digest[:16]}"

    @property
    def place(self) -> str:
        """What it is run on: the sample's id, or `theorem:0-39` for a stream."""
        return f"{self.sample.id}-{self.stream[-1].index}" if self.stream else self.sample.id

    @property
    def digest(self) -> str:
        """SHA-256 (64 hex digits) of what can change the cell's run."""
        matter = {
            "method": self.variant.method,
            "settings": self.variant.settings,
            "params": self.variant.params,
            "model": self.model,
            "repeat": self.repeat,
            "seed": self.seed,
        }
        return sha256(canonical_json(matter | self._asked())).hexdigest()

    def _asked(self) -> dict[str, Any]:
        if self.stream:
            return {"stream": [[one.id, family(one.task).question(one)] for one in self.stream]}
        return {"question": family(self.sample.task).question(self.sample), "sample": self.sample.id}


def variant(text: str, preset: str = "default", params: Params | None = None) -> Variant:
    """A variant from its text: `meta_prompting`, or `meta_prompting:python=false,rounds=8`.

    Raises:
        UsageError: no such method or setting.
    """
    method, _, given = text.partition(":")
    if preset not in PRESETS:
        raise UsageError(f"no preset {preset!r}; there are {', '.join(PRESETS)}")
    method_class(method)
    chosen = PRESETS[preset].settings_of(method) | _given(given)
    base = PRESETS[preset].params
    return Variant(
        label=text,
        method=method,
        settings=settings_of(build(method, chosen)),
        params=(params or Params()).over(base if base != Params() else Params(temperature=0.0)),
    )


def _given(text: str) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"{item!r}: write a method's settings as method:name=value,name=value")
        try:
            chosen[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            chosen[name] = value
    return chosen


def samples_digest(samples: Sequence[Sample]) -> str:
    """SHA-256 (64 hex digits) of samples in order."""
    return sha256(b"\n".join(canonical_json(sample) for sample in samples)).hexdigest()


def cells(plan: Plan, samples: Sequence[Sample]) -> Iterator[Cell]:
    """The cells of a plan, in the order in which they are run: sample by sample, so that an
    evaluation that is cut short has all methods on the samples that it reached. Streams are as
    many samples of one task as the plan says; a task's last one may be shorter."""
    for repeat in range(plan.repeats):
        for stream in _places(plan, samples):
            for one in plan.variants:
                for model in plan.models:
                    yield Cell(
                        variant=one,
                        model=model,
                        sample=stream[0],
                        repeat=repeat,
                        seed=plan.seed,
                        stream=stream if plan.stream else (),
                    )


def _places(plan: Plan, samples: Sequence[Sample]) -> Iterator[tuple[Sample, ...]]:
    """What each cell is run on: one sample, or the samples of a stream."""
    if not plan.stream:
        yield from ((sample,) for sample in samples)
        return
    for _, group in groupby(samples, key=lambda sample: (sample.task, sample.source)):
        own = tuple(group)
        yield from (own[start : start + plan.stream] for start in range(0, len(own), plan.stream))


def shard(all_cells: Iterator[Cell], part: int, parts: int) -> Iterator[Cell]:
    """Every `parts`-th cell, beginning with number `part` (from 0)."""
    return (cell for number, cell in enumerate(all_cells) if number % parts == part)


def open_folder(folder: Path, plan: Plan, samples: Sequence[Sample]) -> None:
    """Make the evaluation's folder, or see that it holds this very evaluation.

    Raises:
        UsageError: the folder holds another evaluation; the message says what differs.
    """
    path = folder / PLAN_FILE
    if path.exists():
        _same_plan(read_plan(folder), plan, folder)
        return
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    lines = b"".join(canonical_json(sample) + b"\n" for sample in samples)
    _replace(folder / SAMPLES_FILE, lines)
    _replace(path, msgspec.json.format(canonical_json(plan), indent=1) + b"\n")


def read_plan(folder: Path) -> Plan:
    """The plan of an evaluation's folder.

    Raises:
        UsageError: there is none, or it is damaged or newer.
    """
    try:
        return msgspec.json.decode((folder / PLAN_FILE).read_bytes(), type=Plan)
    except OSError as error:
        raise UsageError(f"{folder} holds no evaluation (no {PLAN_FILE})") from error
    except msgspec.DecodeError as error:
        raise UsageError(f"{folder / PLAN_FILE}: {error}") from error


def read_samples(folder: Path) -> list[Sample]:
    """The samples of an evaluation's folder, targets included.

    Raises:
        UsageError: they are not those that the plan names.
    """
    path = folder / SAMPLES_FILE
    try:
        lines = path.read_bytes().split(b"\n")
        found = [msgspec.json.decode(line, type=Sample) for line in lines if line]
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    if samples_digest(found) != read_plan(folder).samples:
        raise UsageError(f"{path} was changed: it does not hold the samples of this evaluation")
    return found


def unlike_field(one: Plan, other: Plan) -> str | None:
    """The first field in which two plans differ; None where they are the same."""
    unlike = (
        name
        for name in Plan.__struct_fields__
        if canonical_json(getattr(one, name)) != canonical_json(getattr(other, name))
    )
    return next(unlike, None)


def _same_plan(old: Plan, new: Plan, folder: Path) -> None:
    if (name := unlike_field(old, new)) is not None:
        raise UsageError(
            f"{folder} holds another evaluation: its {name} are not those asked for now. "
            "Give another --to, or the same methods, tasks, models, samples and settings"
        )


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    partial.write_bytes(content)
    partial.replace(path)
