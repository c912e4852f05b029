"""MCA, the memory: lessons of a batch, the checklist that they are merged into, and retrieval.

Per role and batch: distil the chosen reflections into a lesson (Eq. 10), consolidate the last w
lessons into the knowledge K (Eq. 11); per instance: retrieve the rules of those lessons that
resemble it (Eqs. 15-16). Lessons that leave the window are forgotten. What is not here: how
rules are put into instructions (`compose`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from meta_tui.chat import Value, canonical_json, user
from meta_tui.events import Stored
from meta_tui.methods.asking import ask_read, filled, json_object
from meta_tui.methods.embedding import Vector, cosine, embed
from meta_tui.methods.mc2.reflection import Reflection, chosen
from meta_tui.methods.mc2.trace import LETTERS, ROLES, TITLES, Role
from meta_tui.methods.prompts import text
from meta_tui.run import Run

Kind = Literal["do", "avoid"]
KINDS: tuple[Kind, ...] = ("do", "avoid")

MOST_RULES = 6
"""Rules of each kind in a lesson."""

MOST_KNOWN = 12
"""Rules in the knowledge of a role."""

_replace = msgspec.structs.replace


class Rule(Value, frozen=True):
    """One rule of a lesson; `evidence` are instances."""

    text: str
    kind: Kind
    when: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """What is embedded."""
        return f"{self.text} {self.when}".strip()

    @property
    def line(self) -> str:
        """The rule as prompts show it."""
        return f"- {self.kind.upper()}: {self.text}" + (f" (when {self.when})" if self.when else "")


class Lesson(Value, frozen=True):
    """The rules that a role learned from one batch."""

    batch: int
    rules: tuple[Rule, ...]


class Known(Value, frozen=True):
    """One rule of the standing checklist."""

    text: str
    kind: Kind = "do"

    @property
    def line(self) -> str:
        """The rule as prompts show it."""
        return f"- {self.kind.upper()}: {self.text}"


class Checklist(Value, frozen=True):
    """The standing checklist of a role after a batch, as the log keeps it."""

    batch: int
    rules: tuple[Known, ...] = ()


class RoleMemory(Value, frozen=True):
    """What a role knows: its checklist, and the lessons that are still in the window."""

    rules: tuple[Known, ...] = ()
    lessons: tuple[Lesson, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compose from."""
        return not self.rules and not any(lesson.rules for lesson in self.lessons)


class Memory(Value, frozen=True):
    """All that is carried from batch to batch, and from one run to a later one."""

    batch: int = 0
    roles: dict[str, RoleMemory] = msgspec.field(default_factory=dict)

    def of(self, role: str) -> RoleMemory:
        """What a role knows."""
        return self.roles.get(role, RoleMemory())

    def lines(self) -> list[str]:
        """Every rule of every checklist, for people."""
        known = ((role, rule) for role, memory in sorted(self.roles.items()) for rule in memory.rules)
        return [f"{role}: {rule.kind.upper()} {rule.text}" for role, rule in known]


class Found(Value, frozen=True):
    """A rule that was retrieved for an instance, and how near it is (cosine)."""

    id: str
    rule: Rule
    similarity: float


@dataclass(frozen=True, slots=True)
class Placed:
    """A rule on the shelf: its id, where it came from, and its vector."""

    id: str
    batch: int
    place: int
    rule: Rule
    vector: Vector


@dataclass(frozen=True, slots=True)
class Shelf:
    """The individual rules of the lessons in the window, per role."""

    entries: Mapping[str, Sequence[Placed]] = field(default_factory=dict)

    def nearest(self, role: str, query: Vector, k: int) -> tuple[Found, ...]:
        """The k nearest rules; of equally near ones the newer batch, then the earlier rule."""
        near = [(cosine(query, placed.vector), placed) for placed in self.entries.get(role, ())]
        near.sort(key=lambda pair: (-pair[0], -pair[1].batch, pair[1].place))
        return tuple(Found(placed.id, placed.rule, similarity) for similarity, placed in near[:k])


async def shelved(run: Run, memory: Memory, embedder: str, before: Shelf) -> Shelf:
    """The shelf of a memory: every rule of its lessons, embedded unless it was on the shelf before."""
    known = {placed.rule.meaning: placed.vector for row in before.entries.values() for placed in row}
    rows = [
        (role, lesson.batch, place, rule)
        for role, memories in sorted(memory.roles.items())
        for lesson in memories.lessons
        for place, rule in enumerate(lesson.rules, 1)
    ]
    new = list(dict.fromkeys(rule.meaning for *_, rule in rows if rule.meaning not in known))
    known |= dict(zip(new, await embed(run, new, embedder), strict=True))
    entries: dict[str, list[Placed]] = {}
    for role, batch, place, rule in rows:
        placed = Placed(f"{LETTERS[role]}{batch}.{place}", batch, place, rule, known[rule.meaning])
        entries.setdefault(role, []).append(placed)
    return Shelf(entries)


async def distil(run: Run, role: Role, reflections: Sequence[Reflection], batch: int) -> Lesson | None:
    """The lesson of a batch for one role; None where there is nothing to learn from or no reply
    could be read."""
    worked, failed = chosen(reflections)
    if not worked and not failed:
        return None
    asked = filled(
        text("mc2_distil"),
        role=TITLES[role],
        duty=text(f"mc2_duty_{role}"),
        limit=str(MOST_RULES),
        worked=_listed([reflection.shown(role) for reflection in worked], "\n\n"),
        failed=_listed([reflection.shown(role) for reflection in failed], "\n\n"),
        form=text("mc2_distil_form"),
    )
    async with run.span("stage", f"Distil {TITLES[role]}") as inner:
        rules, _ = await ask_read(inner, [user(asked)], read_lesson, text("mc2_distil_form"))
    return None if rules is None else Lesson(batch, rules)


async def consolidate(run: Run, role: Role, known: RoleMemory) -> tuple[Known, ...] | None:
    """The checklist written anew from the lessons in the window; None where no reply could be read."""
    asked = filled(
        text("mc2_consolidate"),
        role=TITLES[role],
        limit=str(MOST_KNOWN),
        knowledge=_listed([rule.line for rule in known.rules]),
        lessons=_listed([_lesson(lesson) for lesson in known.lessons], "\n\n"),
        form=text("mc2_consolidate_form"),
    )
    async with run.span("stage", f"Consolidate {TITLES[role]}") as inner:
        rules, _ = await ask_read(inner, [user(asked)], read_knowledge, text("mc2_consolidate_form"))
    return rules


def read_lesson(reply: str) -> tuple[Rule, ...] | None:
    """The rules of a Distiller's reply, at most six of each kind; None if it is not of the form."""
    found = json_object(reply)
    if found is None or not any(isinstance(found.get(kind), list) for kind in KINDS):
        return None
    rules: list[Rule] = []
    for kind in KINDS:
        entries = found.get(kind)
        read = [_rule(entry, kind) for entry in (entries if isinstance(entries, list) else [])]
        rules += [rule for rule in read if rule is not None][:MOST_RULES]
    return tuple(rules)


def read_knowledge(reply: str) -> tuple[Known, ...] | None:
    """The checklist of a Consolidator's reply, at most twelve rules; None if it is not of the form."""
    found = json_object(reply)
    entries = found.get("rules") if found else None
    if not isinstance(entries, list):
        return None
    read = [_rule(entry, "do", "text") for entry in entries]
    return tuple(Known(rule.text, rule.kind) for rule in read if rule is not None)[:MOST_KNOWN]


def _rule(entry: Any, kind: Kind, name: str = "rule") -> Rule | None:
    said = {name: entry} if isinstance(entry, str) else entry
    if not isinstance(said, dict) or not isinstance(said.get(name), str) or not said[name].strip():
        return None
    own = said.get("kind")
    when, evidence = said.get("when"), said.get("evidence_ids")
    return Rule(
        " ".join(said[name].split()),
        own if own in KINDS else kind,
        " ".join(when.split()) if isinstance(when, str) else "",
        tuple(str(item) for item in evidence)[:MOST_KNOWN] if isinstance(evidence, list) else (),
    )


def in_window(known: RoleMemory, lesson: Lesson | None, batch: int, window: int) -> RoleMemory:
    """The memory of a role with the lesson of this batch, and without those of batches that left
    the window."""
    lessons = (*known.lessons, lesson) if lesson is not None else known.lessons
    return _replace(known, lessons=tuple(old for old in lessons if old.batch > batch - window))


def recalled(kept: Iterable[Stored], memory: Memory, window: int) -> Memory:
    """The memory after what a run stored, beginning with the one that it was given."""
    roles, batch = dict(memory.roles), memory.batch
    for one in kept:
        if one.kind == "lesson":
            role, lesson = _role_of(one.id), msgspec.json.decode(one.body, type=Lesson)
            roles[role] = in_window(roles.get(role, RoleMemory()), lesson, lesson.batch, window)
            batch = max(batch, lesson.batch)
        elif one.kind == "knowledge":
            role, found = _role_of(one.id[1:]), msgspec.json.decode(one.body, type=Checklist)
            known = in_window(roles.get(role, RoleMemory()), None, found.batch, window)
            roles[role] = _replace(known, rules=found.rules)
            batch = max(batch, found.batch)
    return Memory(batch, roles)


def _role_of(id_: str) -> Role:
    return next(role for role in ROLES if LETTERS[role] == id_[:1])


def store_lesson(run: Run, role: Role, lesson: Lesson) -> None:
    """Keep a lesson in the log: `R2` is the Reasoner's of batch 2."""
    title = f"{TITLES[role]}, batch {lesson.batch}: {len(lesson.rules)} rules"
    evidence = sorted({id_ for rule in lesson.rules for id_ in rule.evidence})
    run.store("lesson", f"{LETTERS[role]}{lesson.batch}", title, canonical_json(lesson).decode(), evidence)


def store_knowledge(run: Run, role: Role, known: RoleMemory, batch: int) -> None:
    """Keep a checklist in the log: `KR2` is the Reasoner's after batch 2."""
    letter = LETTERS[role]
    title = f"{TITLES[role]}, after batch {batch}: {len(known.rules)} rules"
    inputs = [f"{letter}{lesson.batch}" for lesson in known.lessons]
    body = canonical_json(Checklist(batch, known.rules)).decode()
    run.store("knowledge", f"K{letter}{batch}", title, body, inputs)


def _lesson(lesson: Lesson) -> str:
    return f"Batch {lesson.batch}:\n{_listed([rule.line for rule in lesson.rules])}"


def _listed(lines: Sequence[str], glue: str = "\n") -> str:
    return glue.join(lines) or "(none)"
