"""What a stream learned, batch by batch, as a screen or a report needs it.

Pure functions from the events of one run to values: what each batch added, merged and dropped, how
long a rule lived, and which instances retrieved it. Nothing here draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from meta_tui.events import Answered, AnyEvent, Replied, RunStarted, Scored, SpanStarted, Stored, parent_span
from meta_tui.methods.embedding import cosine, hashed
from meta_tui.methods.mc2.memory import Checklist, Known, Lesson
from meta_tui.methods.mc2.trace import LETTERS, ROLES, Role

ALIKE = 0.55
"""From this likeness on a new rule is called a rewording (a merge) of one that it replaces."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A rule of the new checklist, and the rules of the old one that it took the place of."""

    into: Known
    of: tuple[Known, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What one batch did to the checklist of one role."""

    role: Role
    batch: int
    added: tuple[Known, ...] = ()
    merged: tuple[Merge, ...] = ()
    dropped: tuple[Known, ...] = ()
    kept: tuple[Known, ...] = ()


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The batches after which a rule stood in the checklist of a role, in order."""

    role: Role
    rule: Known
    batches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a stream as its log tells it.

    Attributes:
        batch: number of its batch; 0 where the method has none.
        actions: the Controller's, one an iteration.
        right: the grade that steered the method; None where none was asked for.
        tokens: completion tokens; None where a reply has no usage.
        retrieved: ids of the rules that were retrieved for it.
    """

    sample: str
    span: str
    batch: int = 0
    answer: str | None = None
    first_answer: str | None = None
    actions: tuple[str, ...] = ()
    quality: str = ""
    right: bool | None = None
    calls: int = 0
    tokens: int | None = 0
    retrieved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """All that a stream learned and did."""

    lessons: tuple[tuple[Role, Lesson], ...] = ()
    checklists: tuple[tuple[Role, Checklist], ...] = ()
    instances: tuple[Instance, ...] = ()
    learning: dict[int, int | None] = field(default_factory=dict)
    """Batch -> completion tokens of distilling and consolidating."""
    length: int = 1
    """Questions of the stream: so many instances are one pass."""

    def changes(self) -> tuple[Change, ...]:
        """What each batch did to each checklist, in order."""
        before: dict[Role, tuple[Known, ...]] = {}
        found = []
        for role, after in self.checklists:
            found.append(change(role, after.batch, before.get(role, ()), after.rules))
            before[role] = after.rules
        return tuple(found)

    def lifetimes(self) -> tuple[Lifetime, ...]:
        """How long each rule stood, by role and first appearance; a rule is its exact text."""
        found: dict[tuple[Role, Known], list[int]] = {}
        for role, after in self.checklists:
            for rule in after.rules:
                found.setdefault((role, rule), []).append(after.batch)
        ordered = sorted(found.items(), key=lambda entry: ROLES.index(entry[0][0]))
        return tuple(Lifetime(role, rule, tuple(batches)) for (role, rule), batches in ordered)

    def retrieved_by(self) -> dict[str, tuple[str, ...]]:
        """Rule id (`R2.1`) -> the instances for which it was retrieved, in stream order."""
        found: dict[str, list[str]] = {}
        for instance in self.instances:
            for id_ in instance.retrieved:
                found.setdefault(id_, []).append(instance.sample)
        return {id_: tuple(samples) for id_, samples in sorted(found.items())}


def change(role: Role, batch: int, before: Sequence[Known], after: Sequence[Known]) -> Change:
    """What became of a checklist: a rule that is new and resembles ones that left is their merge."""
    gone = [rule for rule in before if rule not in after]
    added: list[Known] = []
    merged: list[Merge] = []
    for rule in (rule for rule in after if rule not in before):
        old = tuple(other for other in gone if alike(rule.text, other.text))
        if old:
            merged.append(Merge(rule, old))
        else:
            added.append(rule)
    replaced = {other for merge in merged for other in merge.of}
    dropped = tuple(rule for rule in gone if rule not in replaced)
    kept = tuple(rule for rule in after if rule in before)
    return Change(role, batch, tuple(added), tuple(merged), dropped, kept)


def alike(one: str, other: str) -> bool:
    """Whether two rules are wordings of one thing, as far as their words tell."""
    return cosine(hashed(one), hashed(other)) >= ALIKE


def history(events: Iterable[AnyEvent]) -> History:
    """What a stream learned and did, from its events (of a whole log or a part of one)."""
    reader = _Reader()
    for event in events:
        reader.take(event)
    return reader.history()


@dataclass(slots=True)
class _Facts:
    """What is known of an instance so far."""

    sample: str
    batch: int
    answer: str | None = None
    first: str | None = None
    actions: list[str] = field(default_factory=list)
    quality: str = ""
    right: bool | None = None
    calls: int = 0
    tokens: int | None = 0
    retrieved: tuple[str, ...] = ()

    def spend(self, reply: Replied) -> None:
        """Count a reply."""
        self.calls += 1
        self.tokens = _plus(self.tokens, reply)


class _Step(msgspec.Struct, frozen=True):
    """The part of a stored iteration that is needed here."""

    action: str | None = None
    answer: str | None = None


class _Verdict(msgspec.Struct, frozen=True):
    """The part of a stored reflection that is needed here."""

    grades: dict[str, str] = {}


class _Reader:
    """Takes events one by one; needs memory for the instances only."""

    def __init__(self) -> None:
        self._batch = 0
        self._lessons: list[tuple[Role, Lesson]] = []
        self._lists: list[tuple[Role, Checklist]] = []
        self._facts: dict[str, _Facts] = {}
        self._learning: dict[int, int | None] = {}
        self._length = 1

    def take(self, event: AnyEvent) -> None:
        """Read one event."""
        match event:
            case RunStarted():
                self._length = len(event.stream) or 1
            case SpanStarted(role="instance"):
                self._facts[event.span] = _Facts(event.name, self._batch)
            case Stored():
                self._stored(event)
            case Answered() if event.span in self._facts:
                self._facts[event.span].answer = event.text
            case Scored() if event.span in self._facts:
                self._facts[event.span].right = event.value >= 1
            case Replied():
                self._replied(event)

    def _replied(self, event: Replied) -> None:
        facts = self._instance(event.span)
        if facts is not None:
            facts.spend(event)
        elif self._batch:
            self._learning[self._batch] = _plus(self._learning.get(self._batch, 0), event)

    def _instance(self, span: str) -> _Facts | None:
        while span:
            if span in self._facts:
                return self._facts[span]
            span = parent_span(span)
        return None

    def _stored(self, event: Stored) -> None:
        facts = self._instance(event.span)
        match event.kind:
            case "batch":
                self._batch = int(event.id)
            case "lesson":
                self._lessons.append((_role(event.id), msgspec.json.decode(event.body, type=Lesson)))
            case "knowledge":
                self._lists.append((_role(event.id[1:]), msgspec.json.decode(event.body, type=Checklist)))
            case "mro_iter" if facts is not None:
                step = msgspec.json.decode(event.body, type=_Step)
                facts.first = step.answer if event.id == "1" else facts.first
                facts.actions += [step.action] if step.action else []
            case "retrieval" if facts is not None:
                facts.retrieved = event.inputs
            case "reflection" if facts is not None:
                facts.quality = msgspec.json.decode(event.body, type=_Verdict).grades.get("quality", "")

    def history(self) -> History:
        """All that was read."""
        instances = tuple(
            Instance(
                f.sample, span, f.batch, f.answer, f.first, tuple(f.actions), f.quality, f.right,
                f.calls, f.tokens, f.retrieved,
            )
            for span, f in self._facts.items()
        )  # fmt: skip
        return History(
            tuple(self._lessons), tuple(self._lists), instances, dict(self._learning), self._length
        )


def _role(id_: str) -> Role:
    return next(role for role in ROLES if LETTERS[role] == id_[:1])


def _plus(tokens: int | None, reply: Replied) -> int | None:
    usage = reply.reply.usage
    return None if tokens is None or usage is None else tokens + usage.completion_tokens
