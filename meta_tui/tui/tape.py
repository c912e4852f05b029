"""The tape of a run and the hand on it: which moment of the stream is on screen.

A `Tape` collects the events that a source gives, a `Transport` says which of them are shown:
following the end as a live run does, or playing at a pace, paused, stepped, sought. The picture is
a function of the tape and the transport's time alone, so seeking to a moment shows what playing
up to it shows. No clock is read here: whoever owns one calls `advance(seconds)`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from meta_tui.events import AnyEvent, Delta, Replied, RoundStarted, RunFinished
from meta_tui.playback import Schedule, Slot
from meta_tui.tui.state import EMPTY, RunState, apply, troubled

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
CHECKPOINT = 64
"""Events between two states that are kept for seeking; half as many as the run has parts where those
are more, since each state holds them all."""

Place = int
"""How many events are over: 0 is before the first."""


class Tape:
    """Events as they came, the schedule of their playback, and the state at any place.

    Attributes:
        events: without `Delta`s.
        head: the state after everything that came, `Delta`s of open replies included.
        ended: the source has nothing more.
        trouble: why it broke off, in a person's words.
    """

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []
        self.head: RunState = EMPTY
        self.ended = False
        self.trouble = ""
        self._schedule = Schedule()
        self._marks: dict[type, list[Place]] = {Replied: [], RoundStarted: []}
        self._written = False
        self._kept: dict[Place, RunState] = {0: EMPTY}

    def add(self, event: AnyEvent) -> None:
        """One more event from the source."""
        self.head = apply(self.head, event)
        if isinstance(event, Delta):
            self._written = True
        else:
            self.events.append(event)
            self._schedule.take(event)
            if isinstance(event, Replied | RoundStarted):
                self._marks[type(event)].append(len(self.events))
            if not self._written:
                self._keep(len(self.events), self.head)
        if isinstance(event, RunFinished):
            self.ended = True

    def break_off(self, message: str) -> None:
        """The source ended with an error instead of an end."""
        self.head = troubled(self.head, message)
        self.trouble = message
        self.ended = True

    @property
    def slots(self) -> list[Slot]:
        """The schedule of everything that came so far."""
        return self._schedule.slots

    @property
    def length(self) -> float:
        """Seconds of the whole playback at speed 1."""
        return self.slots[-1].at if self.events else 0.0

    def place(self, time: float) -> Place:
        """How many events are over at a time."""
        return bisect_right(self._schedule.ends, time)

    def time(self, place: Place) -> float:
        """When the event before this place is over; 0 before the first."""
        return self.slots[place - 1].at if place > 0 else 0.0

    def state(self, place: Place, near: tuple[Place, RunState] = (0, EMPTY)) -> RunState:
        """The state after the first `place` events.

        Args:
            place: number of events.
            near: a place and its state to start from, where it lies close before.
        """
        if place == len(self.events) and not self._written and not self.trouble:
            return self.head  # no piece of a reply ever came, so it is what all events give
        start = max(kept for kept in self._kept if kept <= place)
        state = self._kept[start]
        if start <= near[0] <= place:
            start, state = near
        for index in range(start, place):
            state = apply(state, self.events[index])
            self._keep(index + 1, state)
        return state

    def _keep(self, place: Place, state: RunState) -> None:
        """Keep a state to seek from, if none is kept a little before."""
        if place % CHECKPOINT:
            return
        apart = max(CHECKPOINT, len(state.spans) // 2)
        before = max(kept for kept in self._kept if kept <= place)
        if place - before >= apart:
            self._kept[place] = state

    def writing(self, place: Place, time: float) -> Delta | None:
        """What is written at a time of the reply that comes next, as one piece."""
        event = self.events[place] if place < len(self.events) else None
        if not isinstance(event, Replied):
            return None
        count = self.slots[place].shown(len(event.reply.text), time)
        return Delta(event.n, event.reply.text[:count], span=event.span) if count else None

    def marks(self, kind: type[Replied] | type[RoundStarted]) -> Sequence[Place]:
        """Places just after each reply, or each beginning of a round."""
        return self._marks[kind]


class Transport:
    """Where on the tape the screen is, and how it moves.

    Attributes:
        time: seconds into the playback.
        place: events that are over.
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
        self.place: Place = 0
        self._view: RunState = EMPTY
        self._shown: RunState = EMPTY
        self._writing: Delta | None = None

    @property
    def state(self) -> RunState:
        """What is on screen."""
        return self.tape.head if self.following else self._shown

    @property
    def at_end(self) -> bool:
        """Nothing comes after what is on screen."""
        return self.following or self.place >= len(self.tape.events)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        if self.following or not self.playing:
            return
        self.time = min(self.time + seconds * self.speed, self.tape.length)
        self._show()
        if self.at_end and self.tape.ended:
            self.playing = False

    def toggle(self) -> None:
        """Pause or go on; at the end of a finished run, play from the start."""
        if self.following:
            self.seek(len(self.tape.events))
            self.playing = False
        elif self.at_end and self.tape.ended:
            self.seek(0)
            self.playing = True
        else:
            self.playing = not self.playing

    def seek(self, place: Place) -> None:
        """Show the state after `place` events, at once."""
        self.following = False
        self.time = self.tape.time(max(0, min(place, len(self.tape.events))))
        self._show(place)

    def to_start(self) -> None:
        """The first event, paused."""
        self.playing = False
        self.seek(1)

    def to_end(self) -> None:
        """The end; a run that still goes on is followed."""
        self.seek(len(self.tape.events))
        self.playing = False
        self.following = not self.tape.ended

    def step(self, forward: bool, marks: Sequence[Place]) -> None:
        """To the next or previous of some places (the ends where there is none), paused."""
        here = len(self.tape.events) if self.following else self.place
        self.playing = False
        if forward:
            after = [mark for mark in marks if mark > here]
            self.seek(after[0] if after else len(self.tape.events))
        else:
            before = [mark for mark in marks if mark < here]
            self.seek(before[-1] if before else 1)

    def step_call(self, forward: bool) -> None:
        """To the end of the next or previous call."""
        self.step(forward, self.tape.marks(Replied))

    def step_round(self, forward: bool) -> None:
        """To the next or previous beginning of a round."""
        self.step(forward, self.tape.marks(RoundStarted))

    def to_round(self, number: int) -> bool:
        """To the beginning of a round; False where there is none of that number."""
        for index, event in enumerate(self.tape.events):
            if isinstance(event, RoundStarted) and event.number == number:
                self.playing = False
                self.seek(index + 1)
                return True
        return False

    def faster(self) -> None:
        """The next speed up."""
        self.speed = next((speed for speed in SPEEDS if speed > self.speed), SPEEDS[-1])

    def slower(self) -> None:
        """The next speed down."""
        self.speed = next((speed for speed in reversed(SPEEDS) if speed < self.speed), SPEEDS[0])

    def _show(self, place: Place | None = None) -> None:
        """Bring the view to the time (and to a place, where several events share that time)."""
        last = len(self.tape.events)
        target = self.tape.place(self.time) if place is None else max(0, min(place, last))
        moved = target != self.place or self._view is EMPTY
        if moved:
            self._view = self.tape.state(target, (self.place, self._view))
            self.place = target
        writing = self.tape.writing(target, self.time)
        if moved or writing != self._writing or self.tape.trouble:
            self._writing = writing
            shown = apply(self._view, writing) if writing else self._view
            broken = self.tape.trouble and target >= last
            self._shown = troubled(shown, self.tape.trouble) if broken and not shown.trouble else shown
