"""MC2 over a stream: batches of instances, and what is learned between them.

Source: MC2, arXiv 2604.17399 (equations and templates are reconstructed). The five
variants of the paper are one setting. Instances of a batch start from the same memory and run at
once, so their order inside a batch changes nothing; `carry: sequential` follows the paper's
notation literally instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeVar

import msgspec

from meta_tui.chat import canonical_json
from meta_tui.errors import CallFailed, Stopped
from meta_tui.events import Stored, StreamItem
from meta_tui.methods.embedding import HASHING, embed
from meta_tui.methods.mc2.compose import Retrieved, composed, store_retrieval, store_updates
from meta_tui.methods.mc2.loop import Feedback, Updates, mro, reason_once
from meta_tui.methods.mc2.memory import (
    Lesson,
    Memory,
    RoleMemory,
    Shelf,
    consolidate,
    distil,
    in_window,
    recalled,
    shelved,
    store_knowledge,
    store_lesson,
)
from meta_tui.methods.mc2.reflection import MonitorRule, Reflection, reflect
from meta_tui.methods.mc2.trace import ROLES, TITLES, Policies, Role, Trace
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import HOPELESS, items
from meta_tui.run import Run, Solution

Variant = Literal["only_reasoner", "reasoner_updates", "rmc", "rmc_micro", "full"]
Count = Annotated[int, msgspec.Meta(ge=1)]
T = TypeVar("T")
_replace = msgspec.structs.replace


def batch_size(instances: int, own: int = 0) -> int:
    """Instances of a batch: a tenth of the stream, at least 10 and at most 100, unless set."""
    return own or min(max(instances // 10, 10), 100)


@dataclass(frozen=True, slots=True)
class Start:
    """What the instances of a batch start from."""

    policies: Policies
    memory: Memory
    shelf: Shelf


@dataclass(frozen=True, slots=True)
class Solved:
    """What became of one instance; no trace where its calls failed for good."""

    trace: Trace | None
    reflection: Reflection | None
    policies: Policies


class MC2(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Reasoner is audited by a Monitor and steered by a Controller; batches become knowledge.

    Attributes:
        variant: `only_reasoner` and `rmc` have no memory; `reasoner_updates` learns for the
            Reasoner alone, without the loop; `rmc_micro` retrieves from the latest lesson only;
            `full` is everything.
        iterations: attempts of the loop at most.
        window: batches whose lessons are kept.
        top: rules retrieved for each role.
        batch: instances of a batch; 0: a tenth of the stream, between 10 and 100.
        passes: how often the stream is gone through; knowledge persists.
        carry: `batch`: all instances of a batch start alike; `sequential`: each goes on from the
            instructions of the one before.
        per_iteration: instructions are composed anew before every attempt.
        feedback: a restarted attempt is told of the `last` attempt or of `all`.
        label_source: `oracle`: the grade says whether an answer was right (never what is right);
            `none`: the loop's own verdict counts.
        monitor_rule: `paper` calls a Monitor poor whose report led to a patch, `patch_aware` good.
        reasoner_trajectory: the Distiller sees the Reasoner's `answers` (paper) or its whole `text`.
        policy_characters: most characters of composed instructions of one role.
        embedder: `hashing` (offline), or the name of an embedding model.
        reasoner: the Reasoner's first instructions.
        monitor: the Monitor's first instructions.
        controller: the Controller's first instructions.
        knowledge: what an earlier run learned (`meta-tui knowledge export`).
    """

    id: ClassVar[str] = "mc2"
    streams: ClassVar[bool] = True

    variant: Variant = "full"
    iterations: Count = 3
    window: Count = 3
    top: Count = 3
    batch: Annotated[int, msgspec.Meta(ge=0)] = 0
    passes: Count = 1
    carry: Literal["batch", "sequential"] = "batch"
    per_iteration: bool = False
    feedback: Feedback = "last"
    label_source: Literal["oracle", "none"] = "oracle"
    monitor_rule: MonitorRule = "paper"
    reasoner_trajectory: Literal["answers", "text"] = "answers"
    policy_characters: Count = 6000
    embedder: str = HASHING
    reasoner: str = msgspec.field(default_factory=lambda: text("mc2_reasoner"))
    monitor: str = msgspec.field(default_factory=lambda: text("mc2_monitor"))
    controller: str = msgspec.field(default_factory=lambda: text("mc2_controller"))
    knowledge: Memory | None = None

    @property
    def loops(self) -> bool:
        """Whether Monitor and Controller take part."""
        return self.variant not in ("only_reasoner", "reasoner_updates")

    @property
    def learners(self) -> tuple[Role, ...]:
        """The roles that learn."""
        if self.variant in ("only_reasoner", "rmc"):
            return ()
        return ("reasoner",) if self.variant == "reasoner_updates" else ROLES

    @property
    def policies(self) -> Policies:
        """The first instructions of the roles."""
        return {"reasoner": self.reasoner, "monitor": self.monitor, "controller": self.controller}

    def carried(self, kept: Iterable[Stored]) -> Memory:
        """The memory that a run with these settings left behind, from what it stored."""
        return recalled(kept, self.knowledge or Memory(), 1 if self.variant == "rmc_micro" else self.window)

    async def solve(self, run: Run, question: str) -> Solution:
        """Every batch of every pass: solve its instances, then learn from them."""
        queue = items(run, question)
        size = batch_size(len(queue), self.batch)
        memory, policies = self.knowledge or Memory(), self.policies
        solved: Sequence[Solved] = ()
        shelf = Shelf()
        for first in list(range(0, len(queue), size)) * self.passes:
            batch = queue[first : first + size]
            memory = _replace(memory, batch=memory.batch + 1)
            run.store("batch", str(memory.batch), f"{len(batch)} instances", "", [i.sample for i in batch])
            shelf = await shelved(run, memory, self.embedder, shelf)
            solved = await self.solve_batch(run, batch, Start(policies, memory, shelf))
            memory = await self.learn(run, memory, [s.reflection for s in solved if s.reflection])
            if self.carry == "sequential" and solved:
                policies = solved[-1].policies
        if run.started.stream:
            return Solution(None, "stream", status="completed")
        return _only(solved)

    async def solve_batch(self, run: Run, batch: Sequence[StreamItem], start: Start) -> list[Solved]:
        """The instances of a batch: at once, or one after the other."""
        if self.carry == "sequential":
            done: list[Solved] = []
            for item in batch:
                async with run.span("instance", item.sample) as instance:
                    done.append(await self.attempt(instance, item, start))
                start = Start(done[-1].policies, start.memory, start.shelf)
            return done

        async def one(instance: Run, index: int) -> Solved:
            return await self.attempt(instance, batch[index], start)

        return await run.parallel("instance", [item.sample for item in batch], one)

    async def attempt(self, run: Run, item: StreamItem, start: Start) -> Solved:
        """One instance, whose calls may fail for good without ending the stream."""
        try:
            return await self.instance(run, item, start)
        except Stopped:
            raise
        except CallFailed as error:
            if error.kind not in HOPELESS or not run.started.stream:
                raise
            run.reject(f"{error.kind}: this instance has no answer; the stream goes on")
            return Solved(None, None, start.policies)

    async def instance(self, run: Run, item: StreamItem, start: Start) -> Solved:
        """Compose, solve, grade and reflect."""
        current = [start.policies]

        async def policies_at(inner: Run, number: int) -> tuple[Policies, Updates]:
            if number > 1 and not self.per_iteration:
                return current[0], {}
            updates = await self.compose(inner, item.question, current[0], start)
            current[0] = {**current[0], **{role: update.after for role, update in updates.items()}}
            return current[0], updates

        if self.loops:
            trace = await mro(run, item.question, policies_at, self.iterations, self.feedback)
        else:
            trace = await reason_once(run, item.question, policies_at)
        if trace.answer is not None and run.started.stream:
            run.answered(trace.answer)
        reflection = await self.reflect(run, item, trace) if self.learners else None
        return Solved(trace, reflection, current[0])

    async def compose(self, run: Run, question: str, policies: Policies, start: Start) -> Updates:
        """Instructions for this question; none where nothing is known yet."""
        roles = self.learners
        if all(start.memory.of(role).is_empty for role in roles):
            return {}
        (query,) = await embed(run, [question], self.embedder)
        retrieved: Retrieved = {role: start.shelf.nearest(role, query, self.top) for role in roles}
        store_retrieval(run, retrieved)
        updates = await composed(
            run, question, policies, start.memory, retrieved, roles, self.policy_characters
        )
        store_updates(run, updates)
        return updates

    async def reflect(self, run: Run, item: StreamItem, trace: Trace) -> Reflection:
        """The instance in retrospect; the only place where a grade is asked for."""
        labelled = self.label_source == "oracle" and bool(run.started.stream)
        if not labelled:
            right = trace.status in ("accepted", "corrected")
        elif trace.answer is None:
            right = False
        else:
            right = (await run.score(trace.answer)).value >= 1
        found = reflect(item.sample, trace, right, self.monitor_rule, self.reasoner_trajectory == "text")
        body = {
            "success": found.success,
            "status": found.status,
            "iterations": found.iterations,
            "grades": found.grades,
            "label_free": None if labelled else True,
        }
        outcome = "success" if found.success else "failure"
        title = f"{outcome}, {found.status}, quality {found.grades.quality}"
        run.store("reflection", item.sample, title, canonical_json(body).decode())
        return found

    async def learn(self, run: Run, memory: Memory, reflections: Sequence[Reflection]) -> Memory:
        """The memory after a batch: each learning role distils, then consolidates."""
        roles = self.learners
        if not roles:
            return memory

        async def one(inner: Run, index: int) -> tuple[Lesson | None, RoleMemory]:
            return await self.learn_role(inner, roles[index], memory, reflections)

        names = [f"{TITLES[role]}'s memory" for role in roles]
        learned = await run.parallel("memory", names, one)
        for role, (lesson, known) in zip(roles, learned, strict=True):
            if lesson is not None:
                store_lesson(run, role, lesson)
            if self.variant != "rmc_micro":
                store_knowledge(run, role, known, memory.batch)
        return _replace(memory, roles={role: known for role, (_, known) in zip(roles, learned, strict=True)})

    async def learn_role(
        self, run: Run, role: Role, memory: Memory, reflections: Sequence[Reflection]
    ) -> tuple[Lesson | None, RoleMemory]:
        """What one role takes from a batch."""
        known = memory.of(role)
        lesson = await _unless_hopeless(run, lambda: distil(run, role, reflections, memory.batch))
        if self.variant == "rmc_micro":
            return lesson, _replace(known, lessons=(lesson,) if lesson else known.lessons)
        known = in_window(known, lesson, memory.batch, self.window)
        if not known.lessons:
            return lesson, known
        rules = await _unless_hopeless(run, lambda: consolidate(run, role, known))
        return lesson, known if rules is None else _replace(known, rules=rules)


async def _unless_hopeless(run: Run, work: Callable[[], Awaitable[T | None]]) -> T | None:
    try:
        return await work()
    except Stopped:
        raise
    except CallFailed as error:
        if error.kind not in HOPELESS:
            raise
        run.reject(f"{error.kind}: nothing is learned here; the stream goes on")
        return None


def _only(solved: Sequence[Solved]) -> Solution:
    """The solution of a stream of one."""
    trace = solved[-1].trace if solved else None
    if trace is None:
        return Solution(None, "no_trace")
    return Solution(trace.answer, trace.status)
