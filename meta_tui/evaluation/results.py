"""From run logs to rows: what each cell did, what it cost, and how its answer is graded.

Grades are made anew from the log; those that stand in it are not trusted. Everything but reading
the files is pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import msgspec

from meta_tui.chat import Value
from meta_tui.errors import LogError, UsageError
from meta_tui.evaluation.cells import Cell, cells, read_plan, read_samples
from meta_tui.evaluation.evaluate import graded_text
from meta_tui.events import (
    AnyEvent,
    CodeStarted,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    SpanStarted,
)
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
        yield await row(folder, cell, tuple(graders), execute)


async def row(folder: Path, cell: Cell, graders: tuple[str, ...], execute: Execute | None) -> Row:
    """The row of one cell, whatever state its log is in."""
    path = folder / "cells" / f"{cell.name}.jsonl"
    place: dict[str, Any] = {
        "method": cell.variant.label,
        "model": cell.model,
        "task": cell.sample.task,
        "sample": cell.sample.id,
        "repeat": cell.repeat,
        "log": path.relative_to(folder).as_posix(),
    }
    try:
        recording = read(path)
    except LogError as error:
        missing = "damaged" if path.exists() else "missing"
        return Row(**place, status=missing, reason="" if missing == "missing" else str(error))
    return await graded_row(recording, cell.sample, place, graders, execute)


async def graded_row(
    recording: Recording,
    sample: Sample,
    place: dict[str, Any],
    graders: tuple[str, ...],
    execute: Execute | None,
) -> Row:
    """A row from a recording: its facts, and its grades made anew."""
    facts = _facts(recording)
    reply = facts.pop("reply")
    grades = {}
    if facts["status"] not in ("unfinished", "cancelled"):
        text = graded_text(facts["answer"], reply)
        for name in graders:
            grades[name] = await _grade(sample, text, name, execute)
    return Row(**place, **facts, grades=grades)


async def _grade(sample: Sample, text: str, name: str, execute: Execute | None) -> Grade:
    try:
        return await grade(sample, text, name, execute)
    except UsageError as error:
        return Grade("error", str(error))


def _facts(recording: Recording) -> dict[str, Any]:
    events = recording.events
    finished = recording.finished
    replies = [e for e in events if isinstance(e, Replied)]
    usages = [e.reply.usage for e in replies]
    last = next((e.reply.text for e in reversed(replies) if not e.span), "")
    return {
        "status": finished.status if finished else "unfinished",
        "reason": finished.reason if finished else "",
        "answer": recording.answer,
        "reply": last,
        "rounds": max((e.number for e in events if isinstance(e, RoundStarted)), default=0),
        "calls": sum(isinstance(e, Requested) for e in events),
        "cached": sum(e.how is not None and e.how.source == "cache" for e in replies),
        "code_runs": sum(isinstance(e, CodeStarted) for e in events),
        "tokens": sum(u.total for u in usages if u) if replies and all(usages) else None,
        "cost": _full_price(replies),
        "rejected": sum(isinstance(e, Rejected) for e in events),
        "replies": sum(not e.span for e in replies),
        "experts": dict(sorted(Counter(e.name for e in events if isinstance(e, SpanStarted)).items())),
        "verified": _verified(events, recording.answer),
        "confidence": _confidence(last),
    }


def _full_price(replies: list[Replied]) -> float | None:
    """Dollars that the run costs where nothing is cached: methods are compared at equal price."""
    prices = [(e.how.price if e.how.source == "cache" else e.how.cost) if e.how else None for e in replies]
    known = [price for price in prices if price is not None]
    return round(sum(known), 8) if replies and len(known) == len(prices) else None


def _verified(events: list[AnyEvent], answer: str | None) -> bool:
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
