"""Two runs side by side: aligned by round, with what is equal, different or only in one.

Pure functions over recorded events; the command `diff` and the app's compare screen draw from
the same rows. Texts are compared as they stand; times and provenance never count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from meta_tui.events import (
    Answered,
    AnyEvent,
    CodeFinished,
    Failed,
    Rejected,
    Replied,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanStarted,
    Stored,
)

Mark = Literal["=", "~", "<", ">"]
"""`=` same, `~` differs, `<` only in the first run, `>` only in the second."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened: who (`Expert Python`), what (`reply`), and its text."""

    round: int
    who: str
    what: str
    text: str


class Row(msgspec.Struct, frozen=True):
    """A pair of steps at the same place of both runs; one of them may be missing."""

    mark: Mark
    round: int
    who: str
    what: str
    left: str | None
    right: str | None


def steps(events: Sequence[AnyEvent]) -> list[Step]:
    """What a person would compare, in order."""
    found: list[Step] = []
    names = {"": "Meta Model"}
    number = 0
    for event in events:
        who = names.get(event.span, event.span)
        match event:
            case RunStarted():
                found += [
                    Step(0, "run", name, getattr(event, name)) for name in ("method", "model", "question")
                ]
            case RoundStarted():
                number = event.number
            case SpanStarted():
                names[event.span] = event.name
            case Replied():
                found.append(Step(number, who, "reply", event.reply.shown))
            case CodeFinished(result=result):
                found.append(Step(number, who, f"code {result.status}", result.stdout or result.error))
            case Failed():
                found.append(Step(number, who, "failure", event.kind))
            case Rejected():
                found.append(Step(number, who, "rejected", event.reason))
            case Stored():
                found.append(Step(number, who, event.kind, f"{event.title}\n{event.body}".strip()))
            case Answered():
                found.append(Step(number, "run", "answer", event.text))
            case RunFinished():
                found.append(Step(number, "run", "status", f"{event.status} ({event.reason})"))
    return found


def compare(left: Sequence[AnyEvent], right: Sequence[AnyEvent]) -> list[Row]:
    """The rows of both runs, round by round.

    Within a round, steps are paired in order when who and what agree; the run's own facts
    (question, answer, status) are paired by name whatever their round.
    """
    ours, theirs = steps(left), steps(right)
    rounds = sorted({step.round for step in (*ours, *theirs) if step.who != "run"})
    rows = _pair(_facts(ours, 0), _facts(theirs, 0))
    for number in rounds:
        rows += _pair(_of(ours, number), _of(theirs, number))
    return rows + _pair(_facts(ours, 1), _facts(theirs, 1))


def _facts(found: list[Step], end: int) -> list[Step]:
    last = ("answer", "status")
    return [s for s in found if s.who == "run" and (s.what in last) == bool(end)]


def _of(found: list[Step], number: int) -> list[Step]:
    return [s for s in found if s.round == number and s.who != "run"]


def _pair(left: list[Step], right: list[Step]) -> list[Row]:
    rows: list[Row] = []
    rest = list(right)
    for step in left:
        index = next((i for i, r in enumerate(rest) if (r.who, r.what) == (step.who, step.what)), None)
        if index is None:
            rows.append(Row("<", step.round, step.who, step.what, step.text, None))
            continue
        rows += [_only_right(other) for other in rest[:index]]
        other = rest[index]
        mark: Mark = "=" if other.text == step.text else "~"
        rows.append(Row(mark, step.round, step.who, step.what, step.text, other.text))
        del rest[: index + 1]
    return rows + [_only_right(other) for other in rest]


def _only_right(step: Step) -> Row:
    return Row(">", step.round, step.who, step.what, None, step.text)
