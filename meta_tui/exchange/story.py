"""A run as passages of safe text, for exports: who said what, in the order of the events.

Pure. Control characters are made visible and whatever looks like a key is taken out here, once
for all formats, because an export is made to be given away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from meta_tui.display import clean
from meta_tui.events import (
    Answered,
    AnyEvent,
    CodeFinished,
    CodeStarted,
    Failed,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    Scored,
    SpanStarted,
    Stored,
)
from meta_tui.models.secrets import HIDDEN, scrub, secret_values

if TYPE_CHECKING:
    from meta_tui.evaluation.chains import Reader

Kind = Literal[
    "question",
    "round",
    "asked",
    "reply",
    "code",
    "output",
    "error",
    "notice",
    "failure",
    "stored",
    "answer",
    "end",
]


class Passage(msgspec.Struct, frozen=True):
    """A stretch of text of one kind.

    Attributes:
        at: number of the event that brought it, from 0.
        span: the part of the run in which it stands; "" is the run itself.
        note: facts about it (tokens, seconds, outcome).
    """

    at: int
    span: str
    kind: Kind
    text: str
    note: str = ""


class Part(msgspec.Struct, frozen=True):
    """A part of the run: an expert, a worker, a stage; "" is the run itself."""

    span: str
    role: str
    name: str
    at: int


class Story(msgspec.Struct, frozen=True):
    """A whole run, ready to be shown to anybody.

    Attributes:
        rounds: (event, number) of each beginning of a round.
        calls: events at which a model call was answered.
        hidden: how many things that look like keys were taken out.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    passages: tuple[Passage, ...]
    rounds: tuple[tuple[int, int], ...]
    calls: tuple[int, ...]
    events: int
    hidden: int


def tell(events: Sequence[AnyEvent], title: str) -> Story:
    """The story of a run.

    Args:
        events: all events of the run, the first one included.
        title: its name, for people.
    """
    teller = _Teller()
    for at, event in enumerate(events):
        teller.take(at, event)
    return Story(
        teller.safe(title),
        tuple((name, teller.safe(value)) for name, value in _facts(events) if value),
        tuple(teller.parts),
        tuple(teller.passages),
        tuple(teller.rounds),
        tuple(at for at, event in enumerate(events) if isinstance(event, Replied)),
        len(events),
        teller.hidden,
    )


class _Teller:
    """Turns events into passages; keeps which reply a code run repeats."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.passages: list[Passage] = []
        self.rounds: list[tuple[int, int]] = []
        self.hidden = 0
        self._secrets = secret_values()
        self._asked: set[str] = set()
        self._at = 0
        self._chains: Reader | None = None

    def safe(self, text: str) -> str:
        """Text without controls and keys."""
        scrubbed = scrub(text, self._secrets)
        self.hidden += max(0, scrubbed.count(HIDDEN) - text.count(HIDDEN))
        return clean(scrubbed)

    def take(self, at: int, event: AnyEvent) -> None:
        """One event."""
        self._at = at
        if self._chains is not None:
            self._chains.take(event)
        match event:
            case RunStarted():
                self._chains = _chains_of(event)
                name = "Meta Model" if event.method.startswith("meta_prompting") else "Model"
                self.parts.append(Part("", "meta", name, at))
                self._add("", "question", event.question)
            case SpanStarted():
                self.parts.append(Part(event.span, event.role, self.safe(event.name), at))
            case RoundStarted():
                self.rounds.append((at, event.number))
                self._add(event.span, "round", f"Round {event.number} of {event.limit}")
            case Requested():
                self._request(event)
            case Replied():
                self._add(event.span, "reply", event.reply.shown or "(an empty reply)", _reply_note(event))
            case CodeStarted():
                self._code(event)
            case CodeFinished():
                self._result(event)
            case Failed():
                self._failure(event)
            case Rejected():
                # A reason with a colon says itself what is done instead; Meta^n asks nothing again.
                done = "" if ":" in event.reason or self._chains else "; a reminder follows"
                self._add(event.span, "notice", f"{event.reason}{done}")
            case Stored():
                self._stored(event)
            case Scored():
                self._add(event.span, "notice", f"{event.metric}: {event.value:g} {event.feedback}".strip())
            case Answered():
                self._add(event.span, "answer", event.text)
            case RunFinished():
                self._overview()
                reason = f" ({event.reason})" if event.reason else ""
                self._add("", "end", f"{event.status.replace('_', ' ')}{reason}")

    def _add(self, span: str, kind: Kind, text: str, note: str = "") -> None:
        self.passages.append(Passage(self._at, span, kind, self.safe(text), self.safe(note)))

    def _stored(self, event: Stored) -> None:
        """What was kept; records of Meta^n are told for people."""
        text = event.body
        if self._chains is not None:
            from meta_tui.evaluation.chain_text import told_of

            text = told_of(self._chains.view, event)
        self._add(event.span, "stored", text, f"{event.kind} {event.id} {event.title}".strip())

    def _overview(self) -> None:
        """The archive of a Meta^n run, score by depth, and the best of each task."""
        if self._chains is not None:
            from meta_tui.evaluation.chain_text import overview, plain

            for head, lines in overview(self._chains.view):
                self._add("", "stored", plain(lines), head)

    def _request(self, event: Requested) -> None:
        """What a part was asked stands where it begins; later requests repeat most of it."""
        if event.span and event.span not in self._asked and event.messages:
            self._add(event.span, "asked", event.messages[-1].content)
        self._asked.add(event.span)

    def _code(self, event: CodeStarted) -> None:
        said = any(
            p.span == event.span and p.kind == "reply" and event.program.code in p.text for p in self.passages
        )
        if not said:
            self._add(event.span, "code", event.program.code)

    def _result(self, event: CodeFinished) -> None:
        result, how = event.result, event.how
        line = f", line {result.line}" if result.line else ""
        note = f"code {result.status}{line}" + (f" · {how.ms} ms" if how and how.ms is not None else "")
        if result.stdout.strip() or not result.error:
            self._add(event.span, "output", result.stdout.rstrip() or "(nothing was printed)", note)
        if result.error:
            self._add(event.span, "error", result.error.rstrip(), note)

    def _failure(self, event: Failed) -> None:
        what = event.kind.replace("_", " ") + (f": {event.message}" if event.message else "")
        if event.retry_in is None:
            self._add(event.span, "failure", what)
        else:
            self._add(event.span, "notice", f"{what}; again in {event.retry_in:g} s")


def _chains_of(event: RunStarted) -> Reader | None:
    from meta_tui.evaluation.chains import Reader, is_meta_n

    if not is_meta_n(event):
        return None
    reader = Reader()
    reader.take(event)
    return reader


def _reply_note(event: Replied) -> str:
    how, usage = event.how, event.reply.usage
    parts: list[str] = [how.source] if how and how.source in ("cache", "edited", "copy-paste") else []
    parts += [f"{usage.prompt_tokens:,}+{usage.completion_tokens:,} tokens"] if usage else []
    parts += [f"{how.ms / 1000:.1f} s"] if how and how.ms is not None and how.source == "live" else []
    return " · ".join(parts)


def _facts(events: Sequence[AnyEvent]) -> list[tuple[str, str]]:
    started = next((e for e in events if isinstance(e, RunStarted)), None)
    finished = next((e for e in reversed(events) if isinstance(e, RunFinished)), None)
    if started is None:
        return []
    return [
        ("method", started.method),
        ("model", started.model),
        ("task", started.sample or started.task),
        ("origin", started.origin),
        ("result", finished.status.replace("_", " ") if finished else "unfinished"),
        ("rounds", str(sum(isinstance(e, RoundStarted) for e in events) or "")),
        ("calls", str(sum(isinstance(e, Requested) for e in events))),
        ("code runs", str(sum(isinstance(e, CodeStarted) for e in events) or "")),
        ("note", started.note),
        ("written by", started.tool),
    ]
