"""Running a chain of layers on one task: what deeper layers say, the solver, its script, the grade.

Everything that a model wrote runs in the sandbox, each piece in a process of its own: a layer sees
a copy of the task and what deeper layers said, and gives back one text. It can reach neither the
solver nor another layer. What a task's script gave is graded by whoever holds the right answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, Literal

from meta_tui.chat import CodeResult, Limits, Message, Params, Program, user
from meta_tui.errors import CallFailed, Stopped
from meta_tui.events import StreamItem
from meta_tui.methods.asking import filled
from meta_tui.methods.meta_n.facts import TaskFacts
from meta_tui.methods.meta_n.layers import called, in_order, listing, merged, script_in, staged
from meta_tui.methods.meta_n.records import HelperKept, LayerKept, Skipped, body
from meta_tui.methods.meta_n.traces import (
    LAST,
    NO_CODE,
    SCRIPT,
    TURNS,
    Trace,
    failure_class,
    finite,
    shortened,
)
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import HOPELESS
from meta_tui.run import Run

Base = Literal["single", "agentic"]

CONTEXT: Final = "additional_context"
ANSWER: Final = "solve_answer"
LONGEST_CONTEXT: Final = 10_000
"""Characters that one layer may say to a task."""
EXECUTOR_RETRIES: Final = 2
"""Runs of the same script after one whose process broke: no further model call."""
INVALID: Final = "invalid"
"""Metric of a grade whose answer breaks a rule of its task: it ran, but is no success."""
UNSCORED: Final = "unscored"
"""Metric where the grader gave no finite number: in no mean, and the best of no task."""
OBSERVED: Final = 2_000

_PRELUDE = (
    "from collections import namedtuple; task = namedtuple('Task', 'task_id description metadata')(**task)\n"
)


@dataclass(frozen=True, slots=True)
class How:
    """How tasks are solved: a method's settings as far as they concern one task.

    Attributes:
        base: the base solver: one call, or an observe-act loop.
        turns: model calls of the loop at most.
        outer: whether a layer is told what deeper layers said.
        pre_seconds: most that a layer's pre-process code may take.
        limits: of a script, where its task says nothing else.
        params: of the solver's requests.
        facts: of each task.
    """

    base: Base = "single"
    turns: int = 8
    outer: bool = True
    pre_seconds: float = 5.0
    limits: Limits = field(default_factory=Limits)
    params: Params = field(default_factory=Params)
    facts: Mapping[str, TaskFacts] = field(default_factory=dict)

    def of(self, task: str) -> TaskFacts:
        """The facts of a task."""
        return self.facts.get(task, TaskFacts())


@dataclass(slots=True)
class Said:
    """What layers said before, by their code, the task and what they were told: the same code on
    the same input is not run again. A layer that does not mention what it is told is told nothing."""

    known: dict[bytes, tuple[str, str]] = field(default_factory=dict)

    @staticmethod
    def place(code: str, task: str, outer: str) -> bytes:
        """The look-up of one result."""
        return sha256(json.dumps([code, task, outer]).encode("utf-8", "backslashreplace")).digest()


async def solve(
    run: Run, item: StreamItem, chain: Sequence[LayerKept], how: How, said: Said, graded: bool = True
) -> Trace:
    """One task under a chain, in the span of its instance.

    Raises:
        Stopped: the run was stopped.
        CallFailed: a call failed for good in a way that asking again may mend.
    """
    try:
        context = await context_of(run, item, chain, how, said)
        helpers = merged(chain)
        attempt = Attempt(item, tuple(helpers), 1 + len(chain))
        prompt = solver_prompt(item, context, helpers, how)
        if how.base == "single":
            await attempt.once(run, prompt, helpers, how)
        else:
            await attempt.in_turns(run, prompt, helpers, how)
        return await attempt.graded(run) if graded else attempt.trace()
    except Stopped:
        raise
    except CallFailed as error:
        if error.kind not in HOPELESS:
            raise
        run.reject(f"{error.kind}: this task has no answer here")
        return Trace(item.sample, 1 + len(chain), summary=error.kind, failure="environment fault")


async def context_of(run: Run, item: StreamItem, chain: Sequence[LayerKept], how: How, said: Said) -> str:
    """What the layers say to the solver, the deepest first."""
    parts: list[str] = []
    for layer in reversed(chain):
        if not layer.pre_process:
            continue
        words, trouble = await _asked(run, item, layer, "\n\n".join(parts) if how.outer else "", how, said)
        if trouble:
            record = Skipped(layer=layer.id, task=item.sample, reason=trouble)
            run.store("skipped", layer.id, f"{layer.id} contributes nothing: {trouble}", body(record))
        elif words.strip():
            parts.append(words)
    return "\n\n".join(parts)


async def _asked(
    run: Run, item: StreamItem, layer: LayerKept, outer: str, how: How, said: Said
) -> tuple[str, str]:
    """What one layer says to a task, and why it says nothing."""
    told = outer if "outer_context" in layer.pre_process else ""
    place = said.place(layer.pre_process, item.sample, told)
    if place not in said.known:
        result = await run.execute(pre_program(item, layer, told, how))
        said.known[place] = _words(result)
    return said.known[place]


def pre_program(item: StreamItem, layer: LayerKept, outer: str, how: How) -> Program:
    """A layer's pre-process code with its copy of the task."""
    facts = how.of(item.sample)
    metadata = {"category": facts.category, "data": facts.data}
    task = {"task_id": item.sample, "description": item.question, "metadata": metadata}
    return Program(
        _PRELUDE + layer.pre_process,
        inputs={"task": task, "outer_context": outer, CONTEXT: ""},
        result=CONTEXT,
        limits=Limits(seconds=how.pre_seconds),
    )


def _words(result: CodeResult) -> tuple[str, str]:
    if result.status != "ok":
        last = result.error.strip().rpartition("\n")[2] or "it ended before its last line"
        return "", f"{result.status}: {last}"[:LAST]
    if not isinstance(result.value, str):
        return "", f"{CONTEXT} is {type(result.value).__name__}, no text"
    if len(result.value) > LONGEST_CONTEXT:
        return "", f"{CONTEXT} has {len(result.value):,} characters, more than {LONGEST_CONTEXT:,}"
    return result.value, ""


def solver_prompt(item: StreamItem, context: str, helpers: Mapping[str, HelperKept], how: How) -> str:
    """What the base solver is asked: the task, what the layers say, and which helpers there are."""
    facts = how.of(item.sample)
    parts = [
        filled(text("meta_n_solver"), task=item.question),
        text("meta_n_solver_agentic") if how.base == "agentic" else text("meta_n_solver_single"),
        filled(text("meta_n_solver_data"), names=_shape(facts.data)) if facts.data is not None else "",
        filled(text("meta_n_solver_context"), context=context) if context else "",
        filled(text("meta_n_solver_helpers"), helpers=listing(helpers)) if helpers else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _shape(data: Any) -> str:
    if isinstance(data, dict):
        return "a dictionary with the keys " + ", ".join(map(repr, sorted(data)))
    return f"a {type(data).__name__}"


def script_program(
    script: str, helpers: Mapping[str, HelperKept], facts: TaskFacts, limits: Limits
) -> Program:
    """A script behind the helpers of its chain, as one program."""
    code = [*map(staged, in_order(helpers)), script, f"{ANSWER} = solve()"]
    return Program("\n\n".join(code), inputs={"data": facts.data}, result=ANSWER, limits=facts.limits(limits))


def written_answer(value: Any) -> str:
    """A script's value as the text that is graded."""
    return value.strip() if isinstance(value, str) else json.dumps(value)


@dataclass(slots=True)
class Attempt:
    """One task being solved: its last script and what that gave."""

    item: StreamItem
    available: tuple[str, ...]
    depth: int
    script: str = ""
    result: CodeResult | None = None
    starved: bool = False
    metric: str = ""
    score: float | None = 0.0
    feedback: str = ""

    @property
    def answer(self) -> str:
        """What the last script gave; empty where it gave nothing."""
        if self.result is None or self.result.status != "ok" or self.result.value is None:
            return ""
        return written_answer(self.result.value)

    async def once(self, run: Run, prompt: str, helpers: Mapping[str, HelperKept], how: How) -> None:
        """One call and one script."""
        self.script = script_in((await run.ask([user(prompt)], how.params)).text)
        if self.script:
            await self.executed(run, helpers, how)

    async def in_turns(self, run: Run, prompt: str, helpers: Mapping[str, HelperKept], how: How) -> None:
        """Calls that see what their scripts gave, until one has no script: the last one counts."""
        messages: list[Message] = [user(prompt)]
        for left in range(how.turns - 1, -1, -1):
            reply = await run.ask(messages, how.params)
            script = script_in(reply.text)
            if not script:
                return
            self.script = script
            await self.executed(run, helpers, how)
            messages += [
                reply.message,
                user(filled(text("meta_n_observation"), seen=self.seen(), left=str(left))),
            ]
        self.starved = not self.answer

    async def executed(self, run: Run, helpers: Mapping[str, HelperKept], how: How) -> None:
        """Run the script; a process that broke is no fault of the script, so it is run again."""
        program = script_program(self.script, helpers, how.of(self.item.sample), how.limits)
        for _ in range(1 + EXECUTOR_RETRIES):
            self.result = await run.execute(program)
            if self.result.status != "crash":
                return

    def seen(self) -> str:
        """What a script gave, as the next turn is told it: never a grade."""
        assert self.result is not None
        printed = shortened(self.result.stdout) if self.result.stdout else "(nothing was printed)"
        gave = f"solve() returned: {self.answer[:OBSERVED]}" if self.answer else "solve() returned nothing"
        ended = gave if self.result.status == "ok" else f"{self.result.status}\n{self.result.error[-LAST:]}"
        return f"{printed}\n{ended}"

    async def graded(self, run: Run) -> Trace:
        """The trace, with its grade where there is an answer to grade."""
        if self.answer:
            run.answered(self.answer)
            made = await run.score(self.answer)
            self.metric, self.feedback = made.metric, made.feedback[-LAST:]
            self.score = None if made.metric == UNSCORED else finite(made.value)
        return self.trace()

    def trace(self) -> Trace:
        """What became of the task."""
        status = self.status()
        stderr = "" if self.result is None else self.result.error
        success = bool(self.answer) and self.metric not in (INVALID, UNSCORED)
        failure = "" if success else failure_class(status, stderr, self.feedback)
        return Trace(
            self.item.sample,
            self.depth,
            self.script[:SCRIPT],
            shortened(self.result.stdout) if self.result else "",
            stderr[-LAST:],
            status,
            success,
            self.score,
            stderr.strip().rpartition("\n")[2][-200:],
            self.feedback,
            failure,
            self.available,
            called(self.script, self.available),
            self.answer[:SCRIPT],
        )

    def status(self) -> str:
        """How it ended, in one word."""
        if self.starved:
            return TURNS
        if self.result is None or (self.result.status == "ok" and not self.answer):
            return NO_CODE
        return self.result.status
