"""What streams add up to: accuracy, restarts and tokens batch by batch and pass by pass.

From run logs of streams (any method) to one plain summary; grades are made anew from the answers,
those that stand in a log are not trusted. Pure but for grading answers that are code. Plots are
`plots_mc2`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from meta_tui.errors import LogError, UsageError
from meta_tui.evaluation import cells, statistics
from meta_tui.evaluation.evaluate import graded_text
from meta_tui.events import Replied, Requested, RunStarted, SpanStarted
from meta_tui.methods.embedding import Vector, cosine, hashed
from meta_tui.methods.mc2.history import History, Instance, history
from meta_tui.methods.mc2.method import batch_size
from meta_tui.methods.prompts import text
from meta_tui.runlog import Recording, read
from meta_tui.tasks import Execute, GraderName, Sample, grade

Right = Mapping[str, bool]
"""Span of an instance -> whether its answer is right."""

GRADE_VALUE = {"A": 2, "B": 1, "C": 0}


async def graded(
    found: History,
    samples: Mapping[str, Sample],
    grader: GraderName = "strict",
    execute: Execute | None = None,
) -> dict[str, bool]:
    """Whether each instance's answer is right, by the span of the instance.

    Raises:
        UsageError: a sample of the stream is not among those given.
    """
    right = {}
    for one in found.instances:
        if one.sample not in samples:
            raise UsageError(
                f"the right answer of {one.sample} is not known; give the stream's file with --stream"
            )
        made = await grade(samples[one.sample], graded_text(one.answer, ""), grader, execute)
        right[one.span] = made.verdict == "correct"
    return right


def summary(label: str, recording: Recording, right: Right) -> dict[str, Any]:
    """All numbers of one stream.

    Args:
        label: its name in tables and plots.
        right: from `graded`.
    """
    started, found = recording.started, history(recording.events)
    instances = numbered(found, started)
    per_pass = max(1, len(started.stream))
    passes = [instances[i : i + per_pass] for i in range(0, len(instances), per_pass)]
    usages = [event.reply.usage for event in recording.events if isinstance(event, Replied)]
    return {
        "label": label,
        "method": started.method,
        "variant": started.settings.get("variant", ""),
        "model": started.model,
        "note": started.note,
        "status": recording.finished.status if recording.finished else "unfinished",
        **_numbers(instances, right),
        "calls_total": len(usages),
        "tokens_total": sum(u.completion_tokens for u in usages if u) if usages and all(usages) else None,
        "batches": [
            {"batch": batch, "learning_tokens": found.learning.get(batch), **_numbers(list(group), right)}
            for batch, group in groupby(instances, key=lambda one: one.batch)
        ],
        "passes": [{"pass": n, **_numbers(group, right)} for n, group in enumerate(passes, 1)],
        "validity": _validity(instances, right),
        "guide_alignment": round(_mean(aligned), 6) if (aligned := guide_alignment(recording)) else None,
        "lifetimes": [
            {"role": life.role, "rule": life.rule.text, "kind": life.rule.kind, "batches": list(life.batches)}
            for life in found.lifetimes()
        ],
    }


async def of_folder(
    folder: Path, grader: GraderName = "strict", execute: Execute | None = None
) -> list[dict[str, Any]]:
    """The summaries of the streams of an evaluation that have ended, in the plan's order; those of
    methods that solve a sample again and again are `stacks.of_folder`."""
    found = []
    for cell in cells.cells(cells.read_plan(folder), cells.read_samples(folder)):
        if cell.variant.method == "meta_n":
            continue
        try:
            recording = read(folder / "cells" / f"{cell.name}.jsonl") if cell.stream else None
        except LogError:
            continue
        if recording is not None and recording.finished is not None:
            known = {one.id: one for one in cell.stream}
            right = await graded(history(recording.events), known, grader, execute)
            label = f"{cell.variant.label} · {cell.place} · {cell.model} · repeat {cell.repeat}"
            found.append({"log": f"cells/{cell.name}.jsonl", **summary(label, recording, right)})
    return found


def instances(recording: Recording) -> list[Instance]:
    """The instances of a stream in order, each with the number of its batch."""
    return numbered(history(recording.events), recording.started)


def numbered(found: History, started: RunStarted) -> list[Instance]:
    """The instances of a history, each with the number of its batch."""
    size = started.settings.get("batch") or 0
    return _with_batches(found.instances, batch_size(len(started.stream) or 1, size))


def _with_batches(instances: Sequence[Instance], size: int) -> list[Instance]:
    """Instances of methods that know no batches are counted into batches of the same size."""
    return [one if one.batch else replace(one, batch=i // size + 1) for i, one in enumerate(instances)]


def _numbers(instances: Sequence[Instance], right: Right) -> dict[str, Any]:
    n, correct = len(instances), sum(right[one.span] for one in instances)
    actions = [action for one in instances for action in one.actions]
    first = sum(one.actions[:1] in (("accept",), ("patch",)) for one in instances)
    low, high = statistics.wilson(correct, n) if n else (0.0, 1.0)
    tokens = [one.tokens for one in instances]
    return {
        "n": n,
        "correct": correct,
        "accuracy": _share(correct, n),
        "interval": [round(low, 6), round(high, 6)],
        "actions": len(actions),
        "restart_share": _share(actions.count("restart"), len(actions)),
        "accept_share": _share(actions.count("accept"), len(actions)),
        "patch_share": _share(actions.count("patch"), len(actions)),
        "first_try_rate": _share(first, n) if actions else None,
        "calls": sum(one.calls for one in instances),
        "tokens": None if any(t is None for t in tokens) else sum(t or 0 for t in tokens),
    }


def _validity(instances: Sequence[Instance], right: Right) -> dict[str, Any] | None:
    """Accuracy by quality grade, and Spearman's rho of grade and correctness."""
    known = [one for one in instances if one.quality in GRADE_VALUE]
    if not known:
        return None
    by_grade = {
        letter: {"n": len(own), "accuracy": _share(sum(right[one.span] for one in own), len(own))}
        for letter in GRADE_VALUE
        for own in [[one for one in known if one.quality == letter]]
    }
    grades = [float(GRADE_VALUE[one.quality]) for one in known]
    rho = statistics.spearman(grades, [float(right[one.span]) for one in known])
    return {"by_grade": by_grade, "rho": round(rho, 6) if rho == rho else None}


def guide_alignment(recording: Recording) -> list[float]:
    """How much nearer each composed guide of the Reasoner is to its own question than to the batch's
    other ones: cosine of question and guide (the question's text removed) minus the mean over the
    other guides of the batch. One number an instance; none where a batch has one guide only."""
    found = history(recording.events)
    batch = {one.span: one.batch for one in found.instances}
    questions = {item.sample: item.question for item in recording.started.stream}
    asked = {one.span: questions.get(one.sample, "") for one in found.instances}
    guides: dict[int, list[tuple[Vector, Vector]]] = {}
    for span, guide in _guides(recording, {one.span for one in found.instances if one.retrieved}).items():
        own = guide.replace(asked[span], "")
        guides.setdefault(batch[span], []).append((hashed(asked[span]), hashed(own)))
    return [
        round(
            cosine(question, own)
            - _mean([cosine(question, other) for _, other in group if other is not own]),
            6,
        )
        for group in guides.values()
        for question, own in group
        if len(group) > 1
    ]


def _guides(recording: Recording, spans: set[str]) -> dict[str, str]:
    """Instance span -> the instructions of its first Reasoner call, without the form of the reply,
    which is the same for all."""
    form = text("mc2_reasoner_format")
    roles = {e.span: e.role for e in recording.events if isinstance(e, SpanStarted)}
    found: dict[str, str] = {}
    for event in recording.events:
        instance = event.span.partition("/")[0]
        if isinstance(event, Requested) and instance in spans and roles[event.span] == "reasoner":
            found.setdefault(instance, event.messages[0].content.removesuffix(form).rstrip())
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 6) if whole else None


HEADS = (
    "stream",
    "batch",
    "correct",
    "accuracy",
    "95 % interval",
    "restarts",
    "first try",
    "calls",
    "tokens",
)


def lines(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """The table of one stream, one line a batch and one for all of it, as text."""
    rows = [(str(b["batch"]), b) for b in found["batches"]] + [("all", found)]
    return [
        (
            found["label"],
            name,
            f"{row['correct']}/{row['n']}",
            _percent(row["accuracy"]),
            f"[{_percent(row['interval'][0])}, {_percent(row['interval'][1])}]",
            _percent(row["restart_share"]),
            _percent(row["first_try_rate"]),
            f"{row['calls_total'] if name == 'all' else row['calls']:,}",
            _tokens(row["tokens_total"] if name == "all" else row["tokens"]),
        )
        for name, row in rows
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _tokens(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
