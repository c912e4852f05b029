"""Playback at a pace: when each recorded event is shown, replies as if they were being written.

Pure: from recorded events to a schedule of (seconds, event). Nothing here waits, and nothing is
asked again. Long gaps are shortened, and events without a time (imported runs) get one from the
length of the text, so that every log plays at a speed that eyes can follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from meta_tui.events import AnyEvent, CodeFinished, Delta, Failed, Replied

LONGEST_GAP = 2.0
"""Seconds; a longer pause in the recording is shown as one of this length."""

CHARS_A_SECOND = 400.0
"""Pace of a reply whose time is not known."""

INSTANT = 0.05
"""Seconds within which only a cache or a script replies; such a reply gets the invented pace."""

PIECE = 24
"""Characters of one piece of a reply."""


@dataclass(frozen=True, slots=True)
class Beat:
    """An event and the second of the playback at which it is shown.

    Attributes:
        at: seconds from the start of the playback.
        event: what is shown; a `Delta` is invented, everything else was recorded.
        index: place of the recorded event in the recording (of the reply, for a `Delta`).
    """

    at: float
    event: AnyEvent
    index: int


@dataclass(frozen=True, slots=True)
class Slot:
    """When one recorded event is shown: it is under way from `start`, and there at `at`."""

    start: float
    at: float

    def shown(self, length: int, time: float) -> int:
        """How many of the `length` characters of a reply are written at a time in the slot."""
        if time >= self.at:
            return length
        pieces = -(-length // PIECE)
        share = (time - self.start) / (self.at - self.start)
        return min(length, PIECE * max(0, int(share * (pieces + 1))))


class Schedule:
    """The slots of events that still come: each is worked out once.

    Attributes:
        slots: of every event so far, in order.
        ends: their ends, in seconds.
    """

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.ends: list[float] = []
        self._before: float | None = None

    def take(self, event: AnyEvent) -> None:
        """One more event."""
        now = self.ends[-1] if self.ends else 0.0
        slot = Slot(now, now + _gap(event, self._before))
        self._before = event.at if event.at is not None else self._before
        self.slots.append(slot)
        self.ends.append(slot.at)


def slots(events: Sequence[AnyEvent]) -> list[Slot]:
    """The slot of every event, in order."""
    schedule = Schedule()
    for event in events:
        schedule.take(event)
    return schedule.slots


def beats(events: Sequence[AnyEvent]) -> Iterator[Beat]:
    """The schedule of a recording with replies in pieces, in order."""
    for index, (event, slot) in enumerate(zip(events, slots(events), strict=True)):
        if isinstance(event, Replied):
            yield from _pieces(event, index, slot)
        yield Beat(slot.at, event, index)


def _gap(event: AnyEvent, before: float | None) -> float:
    """Seconds that an event takes: as recorded, invented where nothing was waited for."""
    waited = 0.0 if event.at is None or before is None else max(0.0, event.at - before)
    if waited > INSTANT or (event.at is not None and not isinstance(event, Replied)):
        return min(waited, LONGEST_GAP)
    match event:
        case Replied():
            return min(len(event.reply.text) / CHARS_A_SECOND, LONGEST_GAP)
        case CodeFinished() | Failed():
            return 0.2
    return 0.0


def _pieces(event: Replied, index: int, slot: Slot) -> Iterator[Beat]:
    text = event.reply.text
    count = -(-len(text) // PIECE)
    for k in range(count):
        piece = text[k * PIECE : (k + 1) * PIECE]
        at = slot.start + (slot.at - slot.start) * (k + 1) / (count + 1)
        yield Beat(at, Delta(event.n, piece, span=event.span), index)
