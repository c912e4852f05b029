"""Scripted runs of agentic meta-reasoning, its baseline and RLM, written by hand.

A script is replies by span: every stage and worker is told its next line by its name, so scripts
do not depend on the order in which workers are asked.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meta_tui.chat import Message, Reply, ToolCall
from meta_tui.events import AnyEvent, RunStarted
from meta_tui.methods import build
from meta_tui.methods.artifacts import Trace, trace
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors, RunResult
from meta_tui.sources import header, live

QUESTION = "Largest prime factor of 13195?"
LONG = "Work out the largest prime factor by trial division and show every division that you try. " * 3
"""An instruction of more than 200 characters."""


def tool(name: str, /, **arguments: Any) -> str:
    """A reply that calls a tool in the text form."""
    return f"```json\n{json.dumps({'tool': name, 'arguments': arguments})}\n```"


def native(name: str, /, **arguments: Any) -> Reply:
    """A reply that calls a tool natively."""
    return Reply("", (ToolCall(f"call_{name}", name, json.dumps(arguments)),))


def workers(*contexts: Sequence[str], prompts: Sequence[str] = ()) -> str:
    """A dispatch of one worker for each context."""
    given = list(prompts) or [f"{number}. {LONG}" for number in range(len(contexts))]
    return tool(
        "run_workers",
        num_repeats=len(contexts),
        subagent_prompts=given,
        memory_blocks=[list(c) for c in contexts],
    )


def finish(id: str) -> str:
    return tool("finish", memory_id=id)


def advice(entries: str) -> str:
    return f"Worth it. HIGH_VALUE\n```yaml\nrecommendations: {entries}\n```"


def worked(title: str, body: str, answer: str, confidence: str) -> str:
    return f"<title>{title}</title>\n{body}\nANSWER: {answer}\nconfidence: {confidence}"


WORKED: dict[str, list[Line]] = {
    "assess": [
        "<overall_assessment>No work yet.</overall_assessment>\n"
        "<stop_recommended>CONTINUE nothing to submit</stop_recommended>",
        tool("write_memory", entries=[{"title": "2639 is composite", "body": "2639 = 7*377"}]),
        '<candidate id="0_0">fine VERDICT: LIKELY_CORRECT</candidate>\n'
        '<candidate id="0_1">2639 is composite VERDICT: FUNDAMENTALLY_FLAWED</candidate>\n'
        '<candidate id="0_2">only a bound VERDICT: HAS_GAPS</candidate>\n'
        "<stop_recommended>CONTINUE verify first</stop_recommended>",
        '<candidate id="1_1">LIKELY_CORRECT</candidate><candidate id="1_2">HAS_GAPS</candidate>\n'
        "<stop_recommended>STOP 1_1 it is verified</stop_recommended>",
    ],
    "propose": [
        '<actions><action id="A">Factor by trial division, three independent attempts.</action>'
        '<action id="B">Prove an upper bound first.</action></actions>',
        tool("read_memory", ids=["0_1"]),
        '<actions><action id="A">Repair 0_1.</action></actions>',
        '<actions><action id="A">Stop.</action></actions>',
    ],
    "evaluate": [
        advice("[{action_id: A, memory: [], parallel_workers: 3}]"),
        advice("[{action_id: A, memory: [0_1], parallel_workers: 2}]"),
        advice("[{action_id: STOP, memory_id: 1_1}]"),
    ],
    "dispatch": [workers((), (), ()), workers(("0_1",), ("0_0", "0_1")), finish("1_1")],
    "worker 0_0": [worked("Trial division", "13195 = 5*7*13*29", "29", "HIGH")],
    "worker 0_1": [worked("Divide by 5 first", "13195 = 5*2639 ...", "2639", "HIGH")],
    "worker 0_2": [worked("Bound only", "factor <= 114", "unknown", "LOW")],
    "worker 1_1": [worked("Repaired", "2639 = 7*13*29", "29", "HIGH")],
    "worker 1_2": [worked("Both at once", "29 or 2639", "2639", "MEDIUM")],
}
"""The worked example of section 3.9 of the specification, B = 20."""


@dataclass
class Ran:
    """A run that was made: how it ended, its events, its calls, its log."""

    result: RunResult
    events: list[AnyEvent]
    calls: list[Call]
    log: Path | None

    @property
    def trace(self) -> Trace:
        return trace(self.events)

    def sent(self, name: str, nth: int = 0) -> tuple[Message, ...]:
        """The messages of the nth call of a stage or worker."""
        return [c.request.messages for c in self.calls if c.name == name][nth]

    def text(self, name: str, nth: int = 0) -> str:
        return "\n".join(message.content for message in self.sent(name, nth))

    def of(self, kind: type[AnyEvent]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def by_name(script: Mapping[str, Sequence[Line]], otherwise: Line = "") -> Callable[[Call], Line]:
    """Answers from a script by span name; the root span is `control`."""
    told: dict[str, int] = defaultdict(int)

    def answer(call: Call) -> Line:
        name = call.name or "control"
        lines, number = script.get(name, ()), told[name]
        told[name] += 1
        return lines[number] if number < len(lines) else otherwise

    return answer


def first_line(method: str, settings: Mapping[str, Any], question: str = QUESTION, **more: Any) -> RunStarted:
    return header(build(method, settings), question, model="m", seed=7, **more)


def ran(
    method: str,
    script: Mapping[str, Sequence[Line]] | Callable[[Call], Line],
    log: Path | None = None,
    *,
    question: str = QUESTION,
    code: Any = None,
    model: Any = None,
    **settings: Any,
) -> Ran:
    """Run a method on a script, in a loop of its own and without a clock."""
    events: list[AnyEvent] = []
    if method != "rlm":
        settings = {"tools": "text", **settings}
    scripted = model or ScriptedModel(script if callable(script) else by_name(script))
    started = first_line(method, settings, question)
    result = asyncio.run(
        live(
            build(method, settings),
            started,
            Doors(scripted, code),
            log=log,
            consumers=[events.append],
            clock=None,
        )
    )
    return Ran(result, events, scripted.calls, log)


@dataclass
class Shuffled:
    """A model whose parallel replies come back in an order that a seed decides."""

    answer_of: Callable[[Call], Line]
    seed: int
    calls: list[Call] = field(default_factory=list)

    async def answer(self, call: Call, tell: Tell) -> Answer:
        self.calls.append(call)
        chance = random.Random(f"{self.seed} {call.span}")
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)
        return await ScriptedModel(self.answer_of).answer(call, tell)
