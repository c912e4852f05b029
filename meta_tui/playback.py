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


def beats(events: Sequence[AnyEvent]) -> Iterator[Beat]:
    """The schedule of a recording, in order."""
    now = 0.0
    before: float | None = None
    for index, event in enumerate(events):
        gap = _gap(event, before)
        before = event.at if event.at is not None else before
        if isinstance(event, Replied):
            yield from _pieces(event, index, now, gap)
        now += gap
        yield Beat(now, event, index)


def _gap(event: AnyEvent, before: float | None) -> float:
    if event.at is not None and before is not None:
        return min(max(0.0, event.at - before), LONGEST_GAP)
    match event:
        case Replied():
            return min(len(event.reply.text) / CHARS_A_SECOND, LONGEST_GAP)
        case CodeFinished() | Failed():
            return 0.2
    return 0.0


def _pieces(event: Replied, index: int, start: float, gap: float) -> Iterator[Beat]:
    text = event.reply.text
    count = -(-len(text) // PIECE)
    for k in range(count):
        piece = text[k * PIECE : (k + 1) * PIECE]
        yield Beat(start + gap * (k + 1) / (count + 1), Delta(event.n, piece, span=event.span), index)
