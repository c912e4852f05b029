"""Follow: one mechanism for live runs, replay, resume, fork and record modes.

The method runs from the start. Each of its events is compared with the next recorded one of its
span; outcomes come by address. Past the recorded end a live run appends and a replay stops. So
replay is "no live door and everything consumed", resume is "append past the end", and a live run
is the case in which nothing was recorded. A fork is a new file that holds a prefix, resumed.

The journal touches no model and decides nothing about a method; it compares, appends and tells
consumers.
"""

from __future__ import annotations

import difflib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from meta_tui.chat import Message
from meta_tui.errors import CassetteMiss, Difference, NotReached, Unfinished
from meta_tui.events import (
    Answered,
    AnyEvent,
    CodeStarted,
    Delta,
    Effect,
    EmbedStarted,
    Failed,
    Requested,
    Result,
    RoundStarted,
    RunFinished,
    RunStarted,
    Scored,
    ScoreStarted,
    SpanFinished,
    SpanStarted,
    is_outcome,
    parent_span,
)
from meta_tui.runlog import Recording, Writer, seal

Emit = Callable[[AnyEvent], None]
"""A consumer of the stream."""

Clock = Callable[[], float]
"""Seconds since the epoch."""

_Event = TypeVar("_Event", bound=AnyEvent)
_replace = msgspec.structs.replace
_log = logging.getLogger("meta_tui")


@dataclass(slots=True)
class _Track:
    """The recorded method events of one span, and how far the run has come."""

    events: list[AnyEvent] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    done: int = 0


class Journal:
    """Where every event of a run passes.

    Args:
        recording: what was recorded before; None for a run that starts afresh.
        writer: where events go that were not recorded; None keeps no log.
        live: whether effects without a recorded outcome may be performed.
        compare: whether method events must equal the recorded ones.
        rewrite: write recorded events too (the file is being replaced).
        consumers: who is told of every event.
        clock: seconds since the epoch; None leaves times out.
    """

    def __init__(
        self,
        recording: Recording | None = None,
        *,
        writer: Writer | None = None,
        live: bool = True,
        compare: bool = True,
        rewrite: bool = False,
        consumers: Iterable[Emit] = (),
        clock: Clock | None = time.time,
    ) -> None:
        self.live = live
        self.used: set[tuple[str, str, int]] = set()
        self._recording = recording
        self._writer = writer
        self._compare = compare and recording is not None
        self._rewrite = rewrite
        self._consumers = list(consumers)
        self._clock = clock
        self._tracks = _tracks(recording) if recording and self._compare else {}
        self._spans: dict[str, SpanStarted] = {}
        self._round = 0

    @property
    def grades(self) -> list[Scored]:
        """The evaluation's own grades that were recorded."""
        events = self._recording.events if self._recording else []
        return [e for e in events if isinstance(e, Scored) and e.n is None]

    @property
    def recording(self) -> Recording | None:
        """What is being followed."""
        return self._recording

    def start(self, started: RunStarted, history: Sequence[Message] = ()) -> RunStarted:
        """The first event. When following it must be the recorded one, which is given back."""
        if self._recording is not None and not self._rewrite:
            self._tell(self._recording.started)
            return self._recording.started
        stamped = seal(_replace(started, id="", at=self._now()))
        if self._writer:
            self._writer.write(stamped, history)
        self._tell(stamped)
        return stamped

    def method(self, event: AnyEvent) -> None:
        """An event that the method caused.

        Raises:
            Difference: it is not the recorded one at this place.
            CassetteMiss: it is a request that was not recorded.
            Unfinished: the log ends here and nothing may be performed.
        """
        self._remember(event)
        track = self._tracks.get(_track_of(event))
        if track is not None and track.done < len(track.events):
            recorded = track.events[track.done]
            if not _same(recorded, event):
                raise self._difference(recorded, track.lines[track.done], event)
            track.done += 1
            if isinstance(recorded, RunFinished):
                self._tell_all(self.grades)
            self._tell(recorded)
            return
        if not self.live:
            raise self._past_the_end(event)
        self._new(event)

    def outcomes(self, effect: Effect, strand: str) -> list[Result]:
        """The recorded outcomes of an effect, told to the consumers (empty: perform it)."""
        if self._recording is None:
            return []
        address = (effect.key, strand, effect.draw)
        found = self._recording.outcomes.get(address, [])
        if found:
            self.used.add(address)
        if self._compare:
            for outcome in found:
                self._tell(outcome)
            return found
        return [self._moved(outcome, effect) for outcome in found if not _stopped(outcome)]

    def outcome(self, event: _Event) -> _Event:
        """An outcome that just arrived: stored, then told. Gives back the stored event."""
        return self._new(seal(event))  # type: ignore[type-var]

    def delta(self, event: Delta) -> None:
        """A piece of a reply: told, never stored."""
        self._tell(event)

    def missing(self, effect: Effect) -> CassetteMiss | Unfinished:
        """The error for an effect without a recorded outcome where nothing may be performed."""
        if self._recording is not None and self._recording.finished is None:
            return Unfinished(
                f"{self._place(effect)}: the log ends before the outcome; unfinished: resume it"
            )
        return self._miss(effect)

    def check_reached(self) -> None:
        """After a replay: everything that was recorded must have happened.

        Raises:
            NotReached: naming the first recorded event that did not.
        """
        left = [(t.lines[t.done], t.events[t.done]) for t in self._tracks.values() if t.done < len(t.events)]
        if left:
            line, event = min(left, key=lambda pair: pair[0])
            count = sum(len(t.events) - t.done for t in self._tracks.values())
            raise NotReached(
                f"line {line}: the run ended without {describe(event)} ({count} recorded events not reached)"
            )

    def unused(self) -> list[Effect]:
        """Recorded effects whose outcome the run did not use (stale recordings)."""
        if self._recording is None:
            return []
        spans = self._recording.shelf.spans
        effects = (e for e in self._recording.events if isinstance(e, Effect))
        return [e for e in effects if (e.key, spans[e.span], e.draw) not in self.used]

    def _new(self, event: _Event) -> _Event:
        stamped = _replace(event, at=self._now())
        if self._writer:
            self._writer.write(stamped)
        self._tell(stamped)
        return stamped

    def _moved(self, outcome: Result, effect: Effect) -> Result:
        """A recorded outcome at the place where the effect stands now (events are not compared)."""
        moved = seal(_replace(outcome, span=effect.span, n=effect.n))
        if self._writer:
            self._writer.write(moved)
        self._tell(moved)
        return moved

    def _now(self) -> float | None:
        return None if self._clock is None else round(self._clock(), 3)

    def _tell_all(self, events: Sequence[AnyEvent]) -> None:
        for event in events:
            self._tell(event)

    def _tell(self, event: AnyEvent) -> None:
        if not self._consumers:
            return
        for consumer in self._consumers[:]:
            try:
                consumer(event)
            except Exception:  # noqa: BLE001 - a broken display must not end a run that costs money
                _log.warning("a display failed and was dropped; the run goes on", exc_info=True)
                self._consumers.remove(consumer)

    def _remember(self, event: AnyEvent) -> None:
        match event:
            case SpanStarted():
                self._spans[event.span] = event
            case RoundStarted():
                self._round = event.number

    def _place(self, event: AnyEvent) -> str:
        started = self._spans.get(event.span)
        who = f"{started.role} {started.name}" if started else "meta"
        return f"{who}, round {self._round}" if self._round else who

    def _difference(self, recorded: AnyEvent, line: int, event: AnyEvent) -> Difference | CassetteMiss:
        if isinstance(event, Requested) and not self._was_recorded(event):
            return self._miss(event)
        return Difference(f"line {line} ({self._place(event)}): {_first_difference(recorded, event)}")

    def _was_recorded(self, event: Requested) -> bool:
        assert self._recording is not None
        return any(key == event.key for key, _, _ in self._recording.outcomes)

    def _past_the_end(self, event: AnyEvent) -> Difference | CassetteMiss | Unfinished:
        assert self._recording is not None
        if self._recording.finished is None:
            return Unfinished(f"{self._place(event)}: the log ends here; unfinished: resume it")
        if isinstance(event, Requested) and not self._was_recorded(event):
            return self._miss(event)
        return Difference(f"{self._place(event)}: {describe(event)} was not recorded")

    def _miss(self, effect: Effect) -> CassetteMiss:
        text = f"not recorded: {self._place(effect)}, key {effect.key[:16]}, draw {effect.draw}"
        if not isinstance(effect, Requested) or self._recording is None:
            return CassetteMiss(text)
        wanted = _as_text(effect)
        found = _nearest(effect, self._recording)
        if found is None:
            return CassetteMiss(f"{text}; the log holds no request at all", wanted)
        request, line = found
        return CassetteMiss(f"{text}; {_how_near(effect, request, line)}", wanted, _as_text(request), line)


def _stopped(outcome: Result) -> bool:
    """A stop belongs to the run that was stopped, not to what it asked."""
    return isinstance(outcome, Failed) and outcome.kind in ("cancelled", "budget")


def _track_of(event: AnyEvent) -> str:
    """A span's start belongs to its parent: parents open their children in order."""
    return parent_span(event.span) if isinstance(event, SpanStarted) else event.span


def _tracks(recording: Recording) -> dict[str, _Track]:
    tracks: dict[str, _Track] = {}
    for event, line in zip(recording.events, recording.lines, strict=True):
        if is_outcome(event) or isinstance(event, RunStarted):
            continue
        of = _track_of(event)
        track = tracks.get(of)
        if track is None:
            track = tracks[of] = _Track()
        track.events.append(event)
        track.lines.append(line)
    return tracks


def _same(recorded: AnyEvent, event: AnyEvent) -> bool:
    if type(recorded) is not type(event) or recorded.span != event.span:
        return False
    if isinstance(recorded, Effect) and isinstance(event, Effect):
        return (recorded.key, recorded.draw, recorded.n) == (event.key, event.draw, event.n)
    return recorded == event if recorded.at is None else _replace(recorded, at=None) == event


def describe(event: AnyEvent) -> str:
    """A short noun phrase for an event, for messages to people."""
    match event:
        case Requested():
            return f"request {event.n} of span {event.span or 'run'!r}"
        case CodeStarted() | EmbedStarted() | ScoreStarted():
            return f"{type(event).__name__} {event.n} of span {event.span or 'run'!r}"
        case SpanStarted():
            return f"{event.role} {event.name!r}"
        case SpanFinished():
            return f"the end of span {event.span!r} ({event.status})"
        case RoundStarted():
            return f"round {event.number} of {event.limit}"
        case Answered():
            return f"the answer {_short(event.text)!r}"
        case RunFinished():
            return f"the end of the run ({event.status}, {event.reason})"
        case Failed():
            return f"a failure ({event.kind})"
    return type(event).__name__


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _first_difference(recorded: AnyEvent, event: AnyEvent) -> str:
    if type(recorded) is not type(event):
        return f"recorded {describe(recorded)}, now {describe(event)}"
    if isinstance(recorded, Requested) and isinstance(event, Requested):
        if recorded.key != event.key:
            return f"{describe(event)}: {_message_difference(recorded, event)}"
        return f"recorded {describe(recorded)} draw {recorded.draw}, now {describe(event)} draw {event.draw}"
    for name in recorded.__struct_fields__:
        old, new = getattr(recorded, name), getattr(event, name)
        if name != "at" and old != new:
            return f"{type(event).__name__}.{name}: recorded {_short(repr(old))}, now {_short(repr(new))}"
    return "no difference"


def _message_difference(recorded: Requested, event: Requested) -> str:
    for number, (old, new) in enumerate(zip(recorded.messages, event.messages, strict=False)):
        if old != new:
            return f"message {number} ({new.role}) {_text_difference(old.content, new.content)}"
    if len(recorded.messages) != len(event.messages):
        return f"recorded {len(recorded.messages)} messages, now {len(event.messages)}"
    return "its parameters differ"


def _text_difference(old: str, new: str) -> str:
    before, after = old.split("\n"), new.split("\n")
    for number, (a, b) in enumerate(zip(before, after, strict=False), 1):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            window = slice(max(0, at - 20), at + 40)
            return f"line {number}, character {at + 1}: recorded {a[window]!r}, now {b[window]!r}"
    return f"recorded {len(before)} lines, now {len(after)}"


def _as_text(request: Requested) -> str:
    """What was sent, for eyes."""
    return "\n".join(f"── {message.role} ──\n{message.content}" for message in request.messages)


def _nearest(event: Requested, recording: Recording) -> tuple[Requested, int] | None:
    """The recorded request that is most like another, and its line."""
    requests = [
        (r, line)
        for r, line in zip(recording.events, recording.lines, strict=True)
        if isinstance(r, Requested)
    ]
    if not requests:
        return None
    wanted = event.messages[-1].content if event.messages else ""
    shared = {id(r): _shared(r, event) for r, _ in requests}
    best = max(shared.values())
    close = [(r, line) for r, line in requests if shared[id(r)] == best][:20]
    return max(close, key=lambda pair: _likeness(pair[0], wanted))


def _how_near(event: Requested, request: Requested, line: int) -> str:
    if request.key == event.key:
        return f"the nearest recorded request, line {line}, is the same request at another place or draw"
    return f"the nearest recorded request is line {line}; {_message_difference(request, event)}"


def _shared(recorded: Requested, event: Requested) -> int:
    count = 0
    for old, new in zip(recorded.messages, event.messages, strict=False):
        if old != new:
            break
        count += 1
    return count


def _likeness(request: Requested, wanted: str) -> float:
    last = request.messages[-1].content if request.messages else ""
    return difflib.SequenceMatcher(None, last[:2000], wanted[:2000], autojunk=False).quick_ratio()
