"""A Meta^n run as an archive that grows, event by event: what each use of the operation brought.

`apply(view, event) -> view` is the only way in, so a run that is watched, played, sought in or told
in plain text ends in the same view. Pure and frozen: nothing here draws, and nothing is read but the
records that the run kept (`methods.meta_n.records`) and the spans around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, Literal

import msgspec

from meta_tui.events import (
    AnyEvent,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
    Stored,
    parent_span,
)
from meta_tui.methods.meta_n.records import (
    KINDS,
    ArchiveBest,
    CandidateKept,
    Focus,
    Gate,
    HeldOut,
    LayerKept,
    OmegaCall,
    Record,
    Routed,
    Skipped,
    StopKept,
    TaskScore,
    read,
)

METHOD: Final = "meta_n"
THRESHOLD: Final = 0.01
"""From this difference on a task did better or worse: what the operation itself is told."""
TIE: Final = 1e-9
"""A mean that is lower by more than this regressed."""

Verdict = Literal["", "better", "worse", "same", "repaired"]
"""How a mean stands to the mean below: `repaired` is a rise that brings a regression back."""

_replace = msgspec.structs.replace


class Attempt(msgspec.Struct, frozen=True):
    """A line of the archive: a use of the operation, or a candidate or layer that came without one.

    Attributes:
        number: place among the lines, from 0.
        span: the span whose request wrote the layer; "" where none did.
        call: what the operation was shown; None for the seed, controls and layers that were given.
        layer: what it wrote; None where nothing came.
        focus: the one task that it may improve, under the guard.
        gate: the decision of the gate; None where there is none.
        candidate: what became of it; None where it was empty or refused, or is still evaluated.
    """

    number: int
    span: str = ""
    call: OmegaCall | None = None
    layer: LayerKept | None = None
    focus: Focus | None = None
    gate: Gate | None = None
    candidate: CandidateKept | None = None

    @property
    def id(self) -> str:
        """The candidate's name where there is one, else that of the layer or of the call."""
        if self.candidate is not None:
            return self.candidate.id
        if self.gate is not None:
            return self.gate.candidate
        return self.layer.id if self.layer else self.call.id if self.call else ""

    @property
    def parent(self) -> str:
        """The candidate that it was written for; "" for the seed and for layers that were given."""
        if self.candidate is not None:
            return self.candidate.parent
        return self.call.parent if self.call else ""

    @property
    def refused(self) -> bool:
        """Whether the gate refused it."""
        return self.gate is not None and not self.gate.passed

    @property
    def empty(self) -> bool:
        """Whether nothing usable came, or nothing of it passed the screening."""
        if self.call is None:
            return False
        return self.call.empty or (
            self.layer is not None and not self.layer.pre_process and not self.layer.library
        )

    @property
    def given(self) -> bool:
        """Whether it is a layer that the run began with."""
        return self.call is None and self.candidate is None and self.layer is not None


class ChainView(msgspec.Struct, frozen=True, dict=True):
    """Everything that is known of a Meta^n run at one moment.

    Attributes:
        settings: of the method, as the log has them.
        tasks: samples that are bred on, in their order.
        held: samples that are kept apart.
        attempts: lines of the archive, in the order in which they were begun.
        bests: where the archive stood after each iteration, the seed's first.
        skipped: layer -> reason -> tasks to which it contributed nothing for that reason.
        under: (candidate, span, tasks done) of what is evaluated now.
        iteration: that is going on; 0 before the first.
        unreadable: records that could not be read.
        ended: the run is over, so that nothing is still evaluated.
    """

    settings: Mapping[str, object] = {}
    tasks: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    bests: tuple[ArchiveBest, ...] = ()
    held_out: tuple[HeldOut, ...] = ()
    skipped: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    under: tuple[str, str, int] | None = None
    waiting: Focus | None = None
    iteration: int = 0
    routed: Routed | None = None
    stop: StopKept | None = None
    unreadable: int = 0
    ended: bool = False

    @cached_property
    def candidates(self) -> Mapping[str, CandidateKept]:
        """Candidates by id, in order."""
        return {one.candidate.id: one.candidate for one in self.attempts if one.candidate is not None}

    @cached_property
    def layers(self) -> Mapping[str, LayerKept]:
        """Layers by id, in order."""
        return {one.layer.id: one.layer for one in self.attempts if one.layer is not None}

    @cached_property
    def by_layer(self) -> Mapping[str, Attempt]:
        """The line in which a layer was written, by the layer's id."""
        return {one.layer.id: one for one in self.attempts if one.layer is not None}

    @cached_property
    def children(self) -> Mapping[str, int]:
        """Candidate -> how often something was bred from it, empty layers and refused children too."""
        found: dict[str, int] = {}
        for one in self.attempts:
            if one.parent:
                found[one.parent] = found.get(one.parent, 0) + 1
        return found

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, TaskScore]]:
        """Candidate -> task -> how it did."""
        return {id_: {one.task: one for one in kept.scores} for id_, kept in self.candidates.items()}

    @property
    def best(self) -> ArchiveBest | None:
        """Where the archive stands; None before the seed is evaluated."""
        return self.bests[-1] if self.bests else None

    @cached_property
    def wins(self) -> Mapping[str, int]:
        """Candidate -> of how many tasks it holds the best score."""
        found: dict[str, int] = {}
        for holder in self.best.tasks.values() if self.best else ():
            found[holder] = found.get(holder, 0) + 1
        return found

    @cached_property
    def scale(self) -> tuple[float, float]:
        """The ends of the scores: 0 and the range that is set, else the least and the largest seen."""
        top = self.settings.get("score_range", 1.0)
        if isinstance(top, int | float) and top > 0:
            return 0.0, float(top)
        seen = [
            one.score for kept in self.candidates.values() for one in kept.scores if one.score is not None
        ]
        return (min(seen), max(seen)) if seen else (0.0, 1.0)

    def chain(self, candidate: CandidateKept) -> list[LayerKept]:
        """The layers of a chain that are known, shallow first."""
        return [self.layers[id_] for id_ in candidate.chain if id_ in self.layers]

    def lineage(self, candidate: CandidateKept) -> list[CandidateKept]:
        """A candidate and those that it was bred from, the oldest first."""
        line, seen = [candidate], {candidate.id}
        while (parent := self.candidates.get(line[-1].parent)) is not None and parent.id not in seen:
            seen.add(parent.id)
            line.append(parent)
        return line[::-1]

    def step(self, candidate: CandidateKept) -> Verdict:
        """Whether a candidate's mean is better, worse or the same as its parent's."""
        parent = self.candidates.get(candidate.parent)
        if parent is None or parent.mean is None or candidate.mean is None:
            return ""
        gap = candidate.mean - parent.mean
        return "same" if abs(gap) <= TIE else "better" if gap > 0 else "worse"

    def verdict(self, candidate: CandidateKept) -> Verdict:
        """`step`, and `repaired` where a rise brings back what the layer below had lost."""
        step, parent = self.step(candidate), self.candidates.get(candidate.parent)
        if step != "better" or parent is None or self.step(parent) != "worse":
            return step
        before, mean = self.candidates[parent.parent].mean, candidate.mean
        return "repaired" if before is not None and mean is not None and mean >= before - TIE else step

    def moved(self, candidate: CandidateKept) -> tuple[dict[str, float], dict[str, float]]:
        """Tasks that did better and worse than under the parent, by how much, those that changed
        most first."""
        before = self.scores.get(candidate.parent, {})
        gaps = {
            one.task: one.score - old.score
            for one in candidate.scores
            if one.score is not None and (old := before.get(one.task)) is not None and old.score is not None
        }
        order = sorted(gaps, key=lambda task: (-abs(gaps[task]), task))
        better = {task: gaps[task] for task in order if gaps[task] > THRESHOLD}
        return better, {task: gaps[task] for task in order if gaps[task] < -THRESHOLD}

    def repaired(self, candidate: CandidateKept) -> list[str]:
        """Tasks that the layer below lost and this candidate brought back to what they were."""
        parent = self.candidates.get(candidate.parent)
        if parent is None:
            return []
        own, first = self.scores[candidate.id], self.scores.get(parent.parent, {})
        return [
            task
            for task in self.moved(parent)[1]
            if (new := own.get(task)) is not None
            and new.score is not None
            and (old := first.get(task)) is not None
            and old.score is not None
            and new.score >= old.score - THRESHOLD
        ]


EMPTY: Final = ChainView()


def is_meta_n(event: AnyEvent) -> bool:
    """Whether an event begins a run of this method."""
    return isinstance(event, RunStarted) and event.method == METHOD


def record_of(event: Stored) -> Record | None:
    """What a `Stored` of this method holds; None where it is no record of ours or cannot be read."""
    kind = KINDS.get(event.kind)
    if kind is None:
        return None
    try:
        return read(event, kind)  # type: ignore[return-value]
    except (msgspec.DecodeError, ValueError):
        return None


def apply(view: ChainView, event: AnyEvent) -> ChainView:
    """The view after one more event."""
    match event:
        case Stored():
            return _stored(view, event)
        case SpanStarted(role="candidate"):
            return _replace(view, under=(event.name, event.span, 0))
        case SpanFinished() if view.under is not None:
            return _done(view, event.span)
        case RoundStarted(span="", number=number):
            return _replace(view, iteration=number)
        case RunStarted():
            return _begun(event)
        case RunFinished():
            return _replace(view, ended=True, under=None)
    return view


def apply_all(view: ChainView, events: Sequence[AnyEvent]) -> ChainView:
    """The view after several more events."""
    for event in events:
        view = apply(view, event)
    return view


class Reader:
    """Follows the events of a run, forwards by what is new and backwards from the beginning.

    Attributes:
        view: after the events that were read last.
        moments: the view after each iteration so far, the seed's first.
    """

    def __init__(self) -> None:
        self.view = EMPTY
        self.moments: list[ChainView] = []
        self._seen = 0

    def to(self, events: Sequence[AnyEvent]) -> bool:
        """Read up to the end of these events, a shorter or longer part of one run; whether anything
        is to be seen anew."""
        if len(events) == self._seen:
            return False
        if len(events) < self._seen:
            self.view, self.moments, self._seen = EMPTY, [], 0
        before = self.view
        for at in range(self._seen, len(events)):
            self.take(events[at])
        self._seen = len(events)
        return self.view is not before

    def take(self, event: AnyEvent) -> None:
        """Read one event."""
        self.view = apply(self.view, event)
        if isinstance(event, Stored) and event.kind == "archive_best":
            self.moments.append(self.view)


def _begun(event: RunStarted) -> ChainView:
    names = tuple(item.sample for item in event.stream)
    wanted = event.settings.get("held_out", 0)
    apart = min(wanted, len(names) - 1) if isinstance(wanted, int) and names else 0
    return ChainView(
        settings=event.settings, tasks=names[: len(names) - apart], held=names[len(names) - apart :]
    )


def _done(view: ChainView, span: str) -> ChainView:
    assert view.under is not None
    name, around, done = view.under
    if span == around:
        return _replace(view, under=None)
    return _replace(view, under=(name, around, done + 1)) if parent_span(span) == around else view


def _stored(view: ChainView, event: Stored) -> ChainView:
    if event.kind not in KINDS:
        return view
    record = record_of(event)
    match record:
        case None:
            return _replace(view, unreadable=view.unreadable + 1)
        case OmegaCall():
            made = Attempt(len(view.attempts), event.span, record, focus=view.waiting)
            return _replace(view, attempts=(*view.attempts, made), waiting=None)
        case LayerKept():
            return _layer(view, record, event.span)
        case Gate():
            return _changed(view, _place(view, record.layer, record.parent), gate=record)
        case CandidateKept():
            return _candidate(view, record)
        case ArchiveBest():
            return _replace(view, bests=(*view.bests, record))
        case Focus():
            return _replace(view, waiting=record)
        case Skipped():
            return _replace(view, skipped=_skip(view.skipped, record))
        case Routed():
            return _replace(view, routed=record)
        case HeldOut():
            return _replace(view, held_out=(*view.held_out, record))
        case StopKept():
            return _replace(view, stop=record)


def _layer(view: ChainView, layer: LayerKept, span: str) -> ChainView:
    for one in reversed(view.attempts):
        if one.call is not None and one.call.id == layer.call:
            return _changed(view, one.number, layer=layer)
    made = Attempt(len(view.attempts), span if layer.call else "", layer=layer)
    return _replace(view, attempts=(*view.attempts, made))


def _place(view: ChainView, layer: str, parent: str) -> int | None:
    """The newest line without a candidate that this layer stands in, or, under the guard, the last
    line if it brought no layer for this parent."""
    for one in reversed(view.attempts):
        if one.candidate is None and one.call is not None and one.layer is not None and one.layer.id == layer:
            return one.number
    last = view.attempts[-1] if view.attempts else None
    fits = last is not None and last.call is not None and last.candidate is None and last.focus is not None
    return last.number if last is not None and fits and last.parent == parent and last.empty else None


def _changed(view: ChainView, number: int | None, **fields: object) -> ChainView:
    if number is None:
        return view
    changed = _replace(view.attempts[number], **fields)
    return _replace(view, attempts=(*view.attempts[:number], changed, *view.attempts[number + 1 :]))


def _candidate(view: ChainView, candidate: CandidateKept) -> ChainView:
    newest = candidate.chain[-1] if candidate.chain else ""
    number = _place(view, newest, candidate.parent) if candidate.parent else None
    if number is not None:
        return _changed(view, number, candidate=candidate)
    made = Attempt(len(view.attempts), candidate=candidate, focus=view.waiting)
    return _replace(view, attempts=(*view.attempts, made), waiting=None)


def _skip(
    known: Mapping[str, Mapping[str, tuple[str, ...]]], record: Skipped
) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    of = known.get(record.layer, {})
    tasks = of.get(record.reason, ())
    if record.task in tasks:
        return known
    return {**known, record.layer: {**of, record.reason: (*tasks, record.task)}}
