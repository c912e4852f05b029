"""Agentic meta-reasoning: a controller of four stages that decides what is computed next.

Source: Thinking Before Thinking (arXiv 2609.38147). In every cycle
Assess, Propose, Evaluate and Dispatch deliberate, each in a fresh context, and one batch of
workers runs or one artifact is submitted. Only the compact state and the artifact memory cross
cycles, and only Evaluate sees the budget. What is not here: the memory (`artifacts`), reading the
stages' replies (`deliberation`), workers (`workers`) and how tools are called (`tools`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import msgspec

from meta_tui.chat import canonical_json, system, user
from meta_tui.errors import UsageError
from meta_tui.methods import deliberation, tools
from meta_tui.methods.artifacts import Artifact, Memory, full
from meta_tui.methods.deliberation import DEFAULT_BATCH, MOST_WORKERS, Batch, Finish
from meta_tui.methods.prompts import text
from meta_tui.methods.tools import Tool, Transport, Use
from meta_tui.methods.workers import run_batch
from meta_tui.run import Run, Solution

Count = Annotated[int, msgspec.Meta(ge=1)]

NUMBER = re.compile(r"\d+")

ACTIONS = (tools.RUN, tools.FINISH)
"""What only Dispatch may do."""

Section = tuple[str, str]
"""A heading and its text in a stage's user message."""


class MetaReasoning(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Four stages decide what to compute next; isolated workers compute it.

    Attributes:
        budget: B, model calls of stages and workers together. Looked at between cycles only, so
            that a batch that was begun is finished; the run's own budget stops hard.
        mode: what workers are; only `text` exists so far, `coding` is reserved.
        tools: `native` tool calls of the provider, or `text`: a fenced JSON block.
        stage_calls: most calls of one stage; the last of them is without tools.
        most_workers: most workers of one batch.
        instruction_chars: a shorter instruction to a worker is asked for once more.
        reasks: how often Dispatch is asked again for each such fault, and for finishing on a note.
        dispatch_sees_state: Dispatch is shown the compact state too.
        no_propose: an ablation: Evaluate gets no proposals and finds its own actions.
        no_evaluate: an ablation: the proposals go to Dispatch as they are; nobody sees the budget.
        state_only: an ablation: stages see the compact state, but no index, and read and write no
            artifacts.
        no_memory: an ablation: as `state_only`, and workers are shown no earlier attempts.
        assess, propose, evaluate, dispatch: the system prompts of the stages.
    """

    id: ClassVar[str] = "meta_reasoning"

    budget: Count = 50
    mode: Literal["text", "coding"] = "text"
    tools: Transport = "native"
    stage_calls: Count = 6
    most_workers: Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)] = MOST_WORKERS
    instruction_chars: Annotated[int, msgspec.Meta(ge=0)] = 200
    reasks: Annotated[int, msgspec.Meta(ge=0)] = 1
    dispatch_sees_state: bool = False
    no_propose: bool = False
    no_evaluate: bool = False
    state_only: bool = False
    no_memory: bool = False
    assess: str = msgspec.field(default_factory=lambda: text("amr_assess"))
    propose: str = msgspec.field(default_factory=lambda: text("amr_propose"))
    evaluate: str = msgspec.field(default_factory=lambda: text("amr_evaluate"))
    dispatch: str = msgspec.field(default_factory=lambda: text("amr_dispatch"))

    def __post_init__(self) -> None:
        if self.mode == "coding":
            raise UsageError("mode coding is reserved and not there yet; use mode text")

    async def solve(self, run: Run, question: str) -> Solution:
        """b_0 = B; cycles of deliberation and work until `finish` or until b <= 0."""
        desk = Desk(question, Memory(), run.calls)
        state, new = "", list[Artifact]()
        for cycle in itertools.count():
            run.budget()
            if desk.spent(run) >= self.budget:
                return self.forced(run, desk.memory)
            run.round(cycle + 1, self.cycles)
            desk.cycle = cycle
            state = await self.assessed(run, desk, state, new)
            proposals = "" if self.no_propose else await self.proposed(run, desk, state)
            selected = proposals if self.no_evaluate else await self.evaluated(run, desk, state, proposals)
            action = await self.dispatched(run, desk, state, selected, proposals)
            if isinstance(action, Finish):
                return self.submit(run, desk.memory, action, "stopped")
            new = await run_batch(
                run, question, desk.memory, self.allowed(action), cycle, desk.spent(run), "dispatch"
            )
        raise AssertionError("count() never ends")

    # The four stages.

    async def assessed(self, run: Run, desk: Desk, state: str, new: Sequence[Artifact]) -> str:
        """s_t = Assess(x, s_{t-1}, dM_t; M_t): the whole output is the state."""
        async with run.span("stage", "assess") as stage:
            sections = [
                *self.memory_sections(desk),
                ("Your previous assessment", state or "(none: this is the beginning)"),
                ("New attempts", "\n\n".join(map(full, new)) or "(none)"),
            ]
            output = await self.held(stage, desk, self.assess, sections)
            self.note_assessment(stage, desk.memory, output, expected=bool(new))
        return output

    async def proposed(self, run: Run, desk: Desk, state: str) -> str:
        """A_t = Propose(x, s_t; M_t). It is told nothing of the budget."""
        async with run.span("stage", "propose") as stage:
            sections = [*self.memory_sections(desk), ("Current assessment", state)]
            output = await self.held(stage, desk, self.propose, sections)
            if not deliberation.has_actions(output):
                stage.reject("no action tags: the whole text is one action A")
        return output

    async def evaluated(self, run: Run, desk: Desk, state: str, proposals: str) -> str:
        """a~_t = Evaluate(x, s_t, b, A_t; M_t): the only stage that is shown the ledger."""
        async with run.span("stage", "evaluate") as stage:
            stage.budget()
            used, notes = desk.spent(stage), len(desk.memory)
            sections = [*self.memory_sections(desk), ("Current assessment", state)]
            sections += [] if self.no_propose else [("Proposed actions", proposals)]
            sections.append(("Budget", self.budget_text(desk.cycle, used)))
            output = await self.held(stage, desk, self.evaluate_prompt(), sections)
            self.note_recommendations(stage, output)
            self.flag_numbers(stage, used, {"": output} | desk.bodies_since(notes))
        return output

    async def dispatched(
        self, run: Run, desk: Desk, state: str, selected: str, proposals: str
    ) -> Batch | Finish:
        """a_t = Dispatch(x, a~_t; M_t): one batch, or one artifact to submit."""
        async with run.span("stage", "dispatch") as stage:
            sections = self.memory_sections(desk)
            sections += [("Current assessment", state)] if self.dispatch_sees_state else []
            sections.append(("Decision", selected))
            clerk = Clerk(self, desk, stage, _letters(selected, proposals))
            await self.held(stage, desk, self.dispatch_prompt(), sections, clerk.take, ACTIONS)
            if clerk.action is None:
                stage.reject("no tool call: one worker on the plain problem")
        return clerk.action or DEFAULT_BATCH

    async def held(
        self,
        stage: Run,
        desk: Desk,
        prompt: str,
        sections: Sequence[Section],
        act: Callable[[Use], str | None] | None = None,
        extra: Sequence[Tool] = (),
    ) -> str:
        """One stage: ask, use tools, ask again, until a text without tool calls is its output.

        Args:
            act: takes the uses of `extra`; the stage ends when it gives back None.
        """
        offered = [*self.memory_tools(), *extra]
        messages = [
            system(tools.described(prompt, offered, self.tools)),
            user(_laid_out([("Problem", desk.question), *sections])),
        ]
        for left in range(self.stage_calls - 1, -1, -1):
            if left == 0 and self.stage_calls > 1:
                messages.append(user(text("amr_last_call")))
            reply = await stage.ask(messages, tools.params(offered, self.tools, allowed=left > 0))
            messages.append(reply.message)
            used = tools.uses(reply) if offered and (left > 0 or self.stage_calls == 1) else ()
            for use in used:
                answer = (
                    act(use)
                    if act and use.name in [t.name for t in extra]
                    else desk.take(stage, use, offered)
                )
                if answer is None:
                    return reply.text
                messages.append(tools.result(use, answer))
            if not used:
                return reply.text
        return reply.text

    # What the stages are shown.

    @property
    def cycle_cost(self) -> int:
        """Calls of the smallest cycle before any worker."""
        return 4 - self.no_propose - self.no_evaluate

    @property
    def cycles(self) -> int:
        """Most cycles that can begin within the budget: one with one worker is the smallest."""
        return -(-self.budget // (self.cycle_cost + 1))

    def memory_tools(self) -> list[Tool]:
        """The tools that all stages have."""
        return [] if self.state_only or self.no_memory else [tools.READ, tools.WRITE]

    def memory_sections(self, desk: Desk) -> list[Section]:
        """The index, if stages may see it."""
        return [("Memory index", desk.memory.index())] if self.memory_tools() else []

    def budget_text(self, cycle: int, used: int) -> str:
        """Cycle, calls used and left, at the moment when Evaluate begins."""
        return (
            f"Cycle: {cycle}\nCalls used so far: {used} of {self.budget}\n"
            f"Calls remaining: {max(0, self.budget - used)}"
        )

    def evaluate_prompt(self) -> str:
        """Evaluate's system prompt with the costs filled in."""
        filled = self.evaluate.replace("{worker_cost}", "1 call").replace(
            "{cycle_cost}", f"{self.cycle_cost} calls"
        )
        return f"{filled}\n\n{text('amr_unproposed')}" if self.no_propose else filled

    def dispatch_prompt(self) -> str:
        """Dispatch's system prompt; without Evaluate it has to choose."""
        return f"{self.dispatch}\n\n{text('amr_unranked')}" if self.no_evaluate else self.dispatch

    def allowed(self, batch: Batch) -> Batch:
        """The batch, without contexts where workers have no memory."""
        return Batch(batch.instructions, ((),) * len(batch.contexts)) if self.no_memory else batch

    # What is kept for people and diagnostics.

    def note_assessment(self, stage: Run, memory: Memory, output: str, *, expected: bool) -> None:
        """Store the verdicts and the advice; a verdict on an unknown id is only flagged."""
        found = deliberation.assessment(output)
        for id, verdict in found.verdicts:
            if id in memory:
                stage.store("verdict", id, verdict)
            else:
                stage.store("flag", id, "verdict_for_unknown_id")
        if expected and not found.verdicts:
            stage.reject("no verdict: the text is kept as the state")
        if found.stop is not None:
            stage.store("advice", found.stop, "STOP")

    def note_recommendations(self, stage: Run, output: str) -> None:
        """Store the recommendations in order; the first one decides."""
        found = deliberation.recommendations(output)
        if not found:
            stage.reject("no readable recommendations: the text is passed on as it is")
        for entry in found:
            body = {"workers": entry.workers, **({"memory_id": entry.submit} if entry.submit else {})}
            stage.store("recommendation", entry.action, "", canonical_json(body).decode(), entry.memory)

    def flag_numbers(self, stage: Run, used: int, texts: dict[str, str]) -> None:
        """Flag what Evaluate writes that carries the budget on to those who must not see it."""
        numbers = {str(self.budget), str(self.budget - used)}
        for id, written in texts.items():
            if not numbers.isdisjoint(NUMBER.findall(written)):
                stage.store("flag", id, "budget_in_note")

    def submit(self, run: Run, memory: Memory, finish: Finish, reason: str) -> Solution:
        """y* is the stored body, byte for byte."""
        run.budget()
        run.store("submit", finish.id, finish.how)
        return Solution(memory[finish.id].body, reason)

    def forced(self, run: Run, memory: Memory) -> Solution:
        """The budget is used up: the latest worker artifact, if there is one."""
        if memory.latest is None:
            return Solution(None, "no_answer")
        run.store("submit", memory.latest.id, "forced")
        return Solution(memory.latest.body, "forced")


@dataclass(slots=True)
class Desk:
    """What all stages of a run share: the question, the memory, the cycle, the ledger's start."""

    question: str
    memory: Memory
    start: int
    cycle: int = 0

    def spent(self, run: Run) -> int:
        """Calls that were charged so far."""
        return run.calls - self.start

    def bodies_since(self, count: int) -> dict[str, str]:
        """The artifacts that came after the first `count`, by id."""
        return {artifact.id: artifact.body for artifact in itertools.islice(self.memory, count, None)}

    def take(self, stage: Run, use: Use, offered: Sequence[Tool]) -> str:
        """Read or write the memory for a stage; anything else is answered with what exists."""
        if use.error:
            return f"Not done: {use.error}."
        if use.name not in [tool.name for tool in offered]:
            return f"There is no tool {use.name[:40]!r} here; there are {', '.join(t.name for t in offered)}."
        if use.name == tools.READ.name:
            return self.read(stage, tools.texts(use.arguments.get("ids")))
        return self.write(stage, use.arguments.get("entries"))

    def read(self, stage: Run, ids: Sequence[str]) -> str:
        """The blocks of these ids."""
        found = tuple(id for id in dict.fromkeys(ids) if id in self.memory)
        if found:
            stage.store("read", "", inputs=found)
        return self.memory.read(list(dict.fromkeys(ids)))

    def write(self, stage: Run, entries: object) -> str:
        """Keep notes; gives back their ids."""
        given = entries if isinstance(entries, list) else [entries]
        kept = [self.note(stage, e) for e in given if isinstance(e, dict) and isinstance(e.get("body"), str)]
        return (
            f"Kept as {', '.join(kept)}." if kept else "Nothing was kept: give entries with title and body."
        )

    def note(self, stage: Run, entry: dict[str, object]) -> str:
        """Keep one note; gives back its id."""
        body, title = str(entry["body"]), entry.get("title")
        note = self.memory.add(
            Artifact(
                id=self.memory.next_id(self.cycle),
                title=" ".join(title.split()) if isinstance(title, str) and title.strip() else "(untitled)",
                body=body,
                kind="note",
                cycle=self.cycle,
                calls_used=0,
                available_at=self.spent(stage),
            )
        )
        stage.store("note", note.id, note.title, note.body)
        return note.id


@dataclass(slots=True)
class Clerk:
    """Dispatch's own tools: reads a batch or a submission, asks again where the rules say so."""

    method: MetaReasoning
    desk: Desk
    stage: Run
    letters: Sequence[str]
    action: Batch | Finish | None = None
    asked: dict[str, int] = field(default_factory=dict)

    def take(self, use: Use) -> str | None:
        """None once there is an action, else what Dispatch is told."""
        if use.error:
            return f"Not done: {use.error}."
        return self.batch(use) if use.name == tools.RUN.name else self.finish(use)

    def batch(self, use: Use) -> str | None:
        """A batch; instructions that cannot stand on their own are asked for again."""
        found = deliberation.batch(use.arguments, self.method.most_workers)
        least = self.method.instruction_chars
        short = [i for i in found.instructions if deliberation.is_short(i, self.letters, least)]
        if short and self.may_ask("short"):
            self.stage.reject("an instruction cannot stand on its own")
            return text("amr_again_short").replace("{chars}", str(least))
        for instruction in short:
            self.stage.store("flag", "", "short_instruction", instruction[:300])
        self.action = found
        return None

    def finish(self, use: Use) -> str | None:
        """A submission; an unknown id, or a note named twice, becomes the latest worker artifact."""
        id, memory = str(use.arguments.get("memory_id", "")).strip(), self.desk.memory
        if id in memory and memory[id].kind == "worker":
            self.action = Finish(id, "stopped")
            return None
        if id in memory and self.may_ask("note"):
            self.stage.reject("finish on a note")
            return text("amr_again_note").replace("{id}", id)
        self.stage.store("flag", id[:40], "finish_on_note" if id in memory else "finish_with_unknown_id")
        self.action = Finish(memory.latest.id, "repaired") if memory.latest else DEFAULT_BATCH
        return None

    def may_ask(self, fault: str) -> bool:
        """Whether this fault may be asked about once more."""
        self.asked[fault] = self.asked.get(fault, 0) + 1
        return self.asked[fault] <= self.method.reasks


def _letters(selected: str, proposals: str) -> list[str]:
    found = [letter for letter, _ in deliberation.actions(proposals)]
    return found + [entry.action for entry in deliberation.recommendations(selected)]


def _laid_out(sections: Sequence[Section]) -> str:
    return "\n\n".join(f"## {heading}\n{body}" for heading, body in sections)
