"""The tape of a run and the hand on it: which moment of the stream is on screen.

A `Tape` collects the events that a source gives, a `Transport` says which of them are shown:
following the end as a live run does, or playing at a pace, paused, stepped, sought. The picture is
a function of the tape and the transport's time alone, so seeking to a moment shows what playing
up to it shows. No clock is read here: whoever owns one calls `advance(seconds)`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from meta_tui.events import AnyEvent, Delta, Replied, RoundStarted, RunFinished
from meta_tui.playback import Beat, beats
from meta_tui.tui.state import EMPTY, RunState, apply, troubled

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
CHECKPOINT = 256
"""Beats between two states that are kept for seeking."""


class Tape:
    """Events as they came, the schedule of their playback, and the state at any beat."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []
        self.head: RunState = EMPTY
        self.ended = False
        self.trouble = ""
        self._beats: list[Beat] = []
        self._times: list[float] = []
        self._planned = 0
        self._kept: dict[int, RunState] = {0: EMPTY}

    def add(self, event: AnyEvent) -> None:
        """One more event from the source."""
        self.head = apply(self.head, event)
        if not isinstance(event, Delta):
            self.events.append(event)
        if isinstance(event, RunFinished):
            self.ended = True

    def break_off(self, message: str) -> None:
        """The source ended with an error instead of an end."""
        self.head = troubled(self.head, message)
        self.trouble = message
        self.ended = True

    @property
    def beats(self) -> list[Beat]:
        """The schedule of everything that came so far."""
        if self._planned != len(self.events):
            self._beats = list(beats(self.events))
            self._times = [beat.at for beat in self._beats]
            self._planned = len(self.events)
        return self._beats

    @property
    def length(self) -> float:
        """Seconds of the whole playback at speed 1."""
        return self.beats[-1].at if self.beats else 0.0

    def place(self, time: float) -> int:
        """How many beats are over at a time."""
        return bisect_right(self._times, time) if self.beats else 0

    def time(self, place: int) -> float:
        """When the beat before this place is shown; 0 before the first."""
        return self.beats[place - 1].at if place > 0 else 0.0

    def state(self, place: int, near: tuple[int, RunState] | None = None) -> RunState:
        """The state after the first `place` beats.

        Args:
            place: number of beats.
            near: a place and its state to start from, where it lies before and close.
        """
        start = place // CHECKPOINT * CHECKPOINT
        while start not in self._kept:
            start -= CHECKPOINT
        state = self._kept[start]
        if near is not None and start <= near[0] <= place:
            start, state = near
        for index in range(start, place):
            state = apply(state, self.beats[index].event)
            if (index + 1) % CHECKPOINT == 0:
                self._kept[index + 1] = state
        return state

    def marks(self, kind: type | tuple[type, ...]) -> list[int]:
        """Places just after each event of a kind."""
        return [i + 1 for i, beat in enumerate(self.beats) if isinstance(beat.event, kind)]

    def place_of(self, event: int) -> int:
        """The place just after recorded event `event` (0 is the first)."""
        return bisect_left(self.beats, 2 * event, key=_order) + 1


def _order(beat: Beat) -> int:
    """Recorded events are even; an invented piece comes just before the one it leads to."""
    return 2 * beat.index - isinstance(beat.event, Delta)


class Transport:
    """Where on the tape the screen is, and how it moves.

    Attributes:
        time: seconds into the playback.
        speed: seconds of playback a second.
        playing: time passes.
        following: the end of the tape is shown, whatever comes.
    """

    def __init__(self, tape: Tape, *, following: bool = False, speed: float = 1.0) -> None:
        self.tape = tape
        self.following = following
        self.playing = True
        self.speed = speed
        self.time = 0.0
        self.place = 0
        self._view: RunState = EMPTY

    @property
    def state(self) -> RunState:
        """What is on screen."""
        return self.tape.head if self.following else self._with_trouble(self._view)

    @property
    def at_end(self) -> bool:
        """Nothing comes after what is on screen."""
        return self.following or self.place >= len(self.tape.beats)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        if self.following or not self.playing:
            return
        self.time = min(self.time + seconds * self.speed, self.tape.length)
        self._show(self.tape.place(self.time))
        if self.at_end:
            self.playing = not self.tape.ended and self.playing

    def toggle(self) -> None:
        """Pause or go on; at the end of a finished run, play from the start."""
        if self.following:
            self._leave_end()
            self.playing = False
        elif self.at_end and self.tape.ended:
            self.seek(0)
            self.playing = True
        else:
            self.playing = not self.playing

    def seek(self, place: int) -> None:
        """Show the state after `place` beats, at once."""
        self.following = False
        place = max(0, min(place, len(self.tape.beats)))
        self.time = self.tape.time(place)
        self._show(place)

    def to_start(self) -> None:
        """The first event, paused."""
        self.playing = False
        self.seek(1)

    def to_end(self) -> None:
        """The end; a run that still goes on is followed."""
        self.seek(len(self.tape.beats))
        self.playing = False
        if not self.tape.ended:
            self.following = True

    def step(self, forward: bool, marks: list[int]) -> None:
        """To the next or previous of some places (the ends where there is none), paused."""
        here = len(self.tape.beats) if self.following else self.place
        self.playing = False
        if forward:
            after = [mark for mark in marks if mark > here]
            self.seek(after[0] if after else len(self.tape.beats))
        else:
            before = [mark for mark in marks if mark < here]
            self.seek(before[-1] if before else 1)

    def step_call(self, forward: bool) -> None:
        """To the next or previous end of a call."""
        self.step(forward, self.tape.marks(_CALL_ENDS))

    def step_round(self, forward: bool) -> None:
        """To the next or previous beginning of a round."""
        self.step(forward, self.tape.marks(RoundStarted))

    def to_round(self, number: int) -> bool:
        """To the beginning of a round; False where there is none of that number."""
        found = [i + 1 for i, beat in enumerate(self.tape.beats) if _is_round(beat.event, number)]
        if not found:
            return False
        self.playing = False
        self.seek(found[0])
        return True

    def faster(self) -> None:
        """The next speed up."""
        self.speed = next((speed for speed in SPEEDS if speed > self.speed), SPEEDS[-1])

    def slower(self) -> None:
        """The next speed down."""
        self.speed = next((speed for speed in reversed(SPEEDS) if speed < self.speed), SPEEDS[0])

    def _leave_end(self) -> None:
        self.seek(len(self.tape.beats))

    def _show(self, place: int) -> None:
        if place != self.place or self._view is EMPTY:
            near = (self.place, self._view) if self._view is not EMPTY else None
            self._view = self.tape.state(place, near)
            self.place = place

    def _with_trouble(self, view: RunState) -> RunState:
        broken = self.tape.trouble and self.place >= len(self.tape.beats)
        return troubled(view, self.tape.trouble) if broken else view


_CALL_ENDS: tuple[type, ...] = (Replied,)


def _is_round(event: AnyEvent, number: int) -> bool:
    return isinstance(event, RoundStarted) and event.number == number and not event.span
