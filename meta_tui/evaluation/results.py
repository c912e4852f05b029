"""From run logs to rows: what each cell did, what it cost, and how its answer is graded.

Grades are made anew from the log; those that stand in it are not trusted. A stream gives a row for
each of its instances. Everything but reading the files is pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from meta_tui.chat import Value
from meta_tui.errors import LogError, UsageError
from meta_tui.evaluation import streams
from meta_tui.evaluation.cells import Cell, cells, read_plan, read_samples
from meta_tui.evaluation.evaluate import graded_text
from meta_tui.events import (
    AnyEvent,
    CodeStarted,
    Failed,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    SpanFinished,
    SpanStarted,
    parent_span,
)
from meta_tui.methods.mc2.history import Instance
from meta_tui.protocol import final_answer
from meta_tui.runlog import Recording, read
from meta_tui.tasks import Execute, Grade, Sample, grade

CONFIDENCE = re.compile(
    r"^[ \t*]*CONFIDENCE:[ \t*]*(0(?:\.\d+)?|1(?:\.0+)?|\d{1,3} ?%)", re.MULTILINE | re.IGNORECASE
)
ASKS_TO_CHECK = re.compile(r"\b(verif|check|confirm|review|correct|valid|mistake|error)\w*", re.IGNORECASE)


class Row(Value, frozen=True, kw_only=True):
    """One cell of an evaluation, or one recorded run.

    Attributes:
        method: label of the variant.
        log: path of the log, relative to the evaluation's folder.
        status: status of the run; `missing`, `unfinished` or `damaged` where there is none.
        grades: grader -> grade.
        experts: name -> consultations.
        cost: dollars at full price of live calls, None where a price is unknown.
        verified: the last expert call before the answer asks for a check of that answer.
        confidence: the stated probability that the answer is right.
        trouble: kind and words of the failure that ended the run, or what is wrong with its log.
        stream: the stream that this is an instance of (`theorem:0-39`).
        batch: number of its batch in the stream, from 1.
        actions: what the Controller decided, one an attempt.
        shared: calls of the stream outside of its instances, by instance: what learning costs.
        shared_tokens, shared_cost: the same in tokens and dollars, None where unknown.
    """

    method: str
    model: str
    task: str
    sample: str
    repeat: int
    log: str
    status: str
    reason: str = ""
    answer: str | None = None
    grades: dict[str, Grade] = msgspec.field(default_factory=dict)
    rounds: int = 0
    calls: int = 0
    cached: int = 0
    code_runs: int = 0
    tokens: int | None = None
    cost: float | None = None
    rejected: int = 0
    replies: int = 0
    experts: dict[str, int] = msgspec.field(default_factory=dict)
    verified: bool = False
    confidence: float | None = None
    trouble: str = ""
    stream: str = ""
    batch: int = 0
    actions: tuple[str, ...] = ()
    shared: float = 0.0
    shared_tokens: float | None = 0.0
    shared_cost: float | None = 0.0

    def correct(self, grader: str) -> bool:
        """Whether that grader calls the answer correct."""
        found = self.grades.get(grader)
        return found is not None and found.verdict == "correct"


async def rows(
    folder: Path, graders: Iterable[str] = ("strict",), execute: Execute | None = None
) -> AsyncIterator[Row]:
    """The rows of an evaluation's folder, cell by cell in the plan's order.

    Raises:
        UsageError: the folder holds no evaluation, or its samples were changed.
    """
    for cell in cells(read_plan(folder), read_samples(folder)):
        for one in await of_cell(folder, cell, tuple(graders), execute):
            yield one


async def of_cell(
    folder: Path, cell: Cell, graders: tuple[str, ...], execute: Execute | None
) -> tuple[Row, ...]:
    """The row of one cell, or the rows of its stream's instances, whatever state its log is in."""
    path = folder / "cells" / f"{cell.name}.jsonl"
    place: dict[str, Any] = {
        "method": cell.variant.label,
        "model": cell.model,
        "task": cell.sample.task,
        "repeat": cell.repeat,
        "log": path.relative_to(folder).as_posix(),
    }
    place |= {"stream": cell.place} if cell.stream else {}
    try:
        recording = read(path)
    except LogError as error:
        place |= {"status": "damaged", "trouble": str(error)} if path.exists() else {"status": "missing"}
        return tuple(Row(**place, sample=one.id) for one in cell.stream or (cell.sample,))
    if cell.stream:
        return await stream_rows(recording, cell.stream, place, graders, execute)
    return (await graded_row(recording, cell.sample, place | {"sample": cell.sample.id}, graders, execute),)


async def graded_row(
    recording: Recording,
    sample: Sample,
    place: dict[str, Any],
    graders: tuple[str, ...],
    execute: Execute | None,
) -> Row:
    """A row from a recording: its facts, and its grades made anew."""
    finished = recording.finished
    facts = _facts(recording.events, recording.answer)
    facts |= {"status": finished.status if finished else "unfinished"}
    facts |= {"reason": finished.reason if finished else ""}
    if finished and finished.status in ("failed", "budget", "cancelled"):
        facts["trouble"] = _trouble(recording.events) or finished.reason
    return await _row(sample, place, facts, graders, execute)


async def stream_rows(
    recording: Recording,
    samples: Sequence[Sample],
    place: dict[str, Any],
    graders: tuple[str, ...],
    execute: Execute | None,
) -> tuple[Row, ...]:
    """The rows of a stream's samples; of several passes the last one counts, and what was spent
    outside of it is shared out among the rows."""
    found = _Parts(recording)
    last = {one.sample: one for one in found.instances}
    beside = found.beside({one.span for one in last.values()})
    rows = []
    for sample in samples:
        own = place | {"sample": sample.id, **_share_of(beside, len(samples))}
        if sample.id not in last:
            rows.append(Row(**own, status="missing"))
            continue
        instance = last[sample.id]
        facts = _facts(found.events[instance.span], instance.answer, instance.span)
        facts |= {"status": found.status(instance), "actions": instance.actions}
        facts |= {"batch": found.batches[instance.span], "reply": ""}
        if facts["status"] in ("failed", "budget", "cancelled"):
            facts["trouble"] = _trouble(found.events[instance.span]) or found.reason
        rows.append(await _row(sample, own, facts, graders, execute))
    return tuple(rows)


class _Parts:
    """The events of a stream by instance, and those that belong to none."""

    def __init__(self, recording: Recording) -> None:
        self.instances = streams.instances(recording)
        self.batches = {one.span: one.batch for one in self.instances}
        self.events: dict[str, list[AnyEvent]] = {one.span: [] for one in self.instances}
        self._rest: list[AnyEvent] = []
        self._ended: dict[str, str] = {}
        finished = recording.finished
        self._failed = finished is not None and finished.status == "failed"
        self.reason = finished.reason if finished else ""
        for event in recording.events:
            self._within(event.span).append(event)
            if isinstance(event, SpanFinished):
                self._ended[event.span] = event.status

    def _within(self, span: str) -> list[AnyEvent]:
        while span and span not in self.events:
            span = parent_span(span)
        return self.events[span] if span else self._rest

    def beside(self, spans: set[str]) -> list[AnyEvent]:
        """All events but those of these instances."""
        others = [event for span, own in self.events.items() if span not in spans for event in own]
        return [*self._rest, *others]

    def status(self, instance: Instance) -> str:
        """How an instance ended, in the words of runs."""
        ended = self._ended.get(instance.span, "unfinished")
        if ended != "done":
            return ended
        if instance.answer is not None:
            return "answered"
        return "failed" if self._failed else "no_answer"


def _share_of(events: Sequence[AnyEvent], count: int) -> dict[str, float | None]:
    """What one of `count` instances bears of calls that belong to none of them."""
    if not any(isinstance(event, Requested) for event in events):
        return {}
    facts = _facts(events, None)
    tokens, cost = facts["tokens"], facts["cost"]
    return {
        "shared": facts["calls"] / count,
        "shared_tokens": None if tokens is None else tokens / count,
        "shared_cost": None if cost is None else cost / count,
    }


async def _row(
    sample: Sample,
    place: dict[str, Any],
    facts: dict[str, Any],
    graders: tuple[str, ...],
    execute: Execute | None,
) -> Row:
    reply, grades = facts.pop("reply"), {}
    if facts["status"] not in ("unfinished", "cancelled", "missing"):
        text = graded_text(facts["answer"], reply)
        for name in graders:
            grades[name] = await _grade(sample, text, name, execute)
    return Row(**place, **facts, grades=grades)


async def _grade(sample: Sample, text: str, name: str, execute: Execute | None) -> Grade:
    try:
        return await grade(sample, text, name, execute)
    except UsageError as error:
        return Grade("error", str(error))


def _facts(events: Sequence[AnyEvent], answer: str | None, span: str = "") -> dict[str, Any]:
    """What the events of a run, or of the instance whose span is given, add up to."""
    replies = [e for e in events if isinstance(e, Replied)]
    usages = [e.reply.usage for e in replies]
    last = next((e.reply.text for e in reversed(replies) if e.span == span), "")
    return {
        "answer": answer,
        "reply": last,
        "rounds": max((e.number for e in events if isinstance(e, RoundStarted)), default=0),
        "calls": sum(isinstance(e, Requested) for e in events),
        "cached": sum(e.how is not None and e.how.source == "cache" for e in replies),
        "code_runs": sum(isinstance(e, CodeStarted) for e in events),
        "tokens": sum(u.total for u in usages if u) if replies and all(usages) else None,
        "cost": _full_price(replies),
        "rejected": sum(isinstance(e, Rejected) for e in events),
        "replies": sum(e.span == span for e in replies),
        "experts": dict(sorted(Counter(e.name for e in events if isinstance(e, SpanStarted)).items())),
        "verified": _verified(events, answer),
        "confidence": _confidence(last),
    }


def _trouble(events: Sequence[AnyEvent]) -> str:
    """Kind and words of the last failure that was final, on one line."""
    failed = [e for e in events if isinstance(e, Failed) and e.retry_in is None]
    return " ".join(f"{failed[-1].kind}: {failed[-1].message}".split()).rstrip(": ") if failed else ""


def _full_price(replies: list[Replied]) -> float | None:
    """Dollars that the run costs where nothing is cached: methods are compared at equal price."""
    prices = [(e.how.price if e.how.source == "cache" else e.how.cost) if e.how else None for e in replies]
    known = [price for price in prices if price is not None]
    return round(sum(known), 8) if replies and len(known) == len(prices) else None


def _verified(events: Sequence[AnyEvent], answer: str | None) -> bool:
    asked = [e for e in events if isinstance(e, Requested) and e.span and e.messages]
    if not asked or not answer:
        return False
    text = asked[-1].messages[-1].content
    return _flat(answer) in _flat(text) and ASKS_TO_CHECK.search(text) is not None


def _flat(text: str) -> str:
    return "".join(text.lower().split())


def _confidence(reply: str) -> float | None:
    if final_answer(reply) is None:
        return None
    found = CONFIDENCE.findall(reply)
    if not found:
        return None
    text = found[-1]
    value = float(text.rstrip(" %")) / 100 if text.endswith("%") else float(text)
    return value if 0 <= value <= 1 else None
