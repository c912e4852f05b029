"""Runs for tests of Meta^n: layers and scripts by hand, a grader of numbers, ways to run them.

`InProcess` runs programs that a test wrote itself, for tests that are about bookkeeping and need
thousands of them; whatever is about containing a program uses the real sandbox.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meta_tui.chat import CodeResult, Program
from meta_tui.events import AnyEvent, How, Stored, StreamItem
from meta_tui.methods import build
from meta_tui.methods.meta_n.layers import helper
from meta_tui.methods.meta_n.records import LayerKept
from meta_tui.methods.meta_n.traces import Trace
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors, RunResult
from meta_tui.sandbox import Sandbox
from meta_tui.sources import header, live

PACK = '''def pack_items(items: list, capacity: int) -> list:
    """First-fit decreasing. Args: items: list[int]; capacity: int. Returns: list[list[int]] bins."""
    bins = []
    for x in sorted(items, reverse=True):
        for b in bins:
            if sum(b) + x <= capacity:
                b.append(x)
                break
        else:
            bins.append([x])
    return bins'''


def script(value: object) -> str:
    """A solver's reply whose script returns a value."""
    return f"I compute it.\n```python\ndef solve():\n    return {value!r}\n```"


def layer_reply(pre_process: str = "", rationale: str = "because", **helpers: str) -> str:
    """A reply of Omega."""
    parts = [f"```rationale\n{rationale}\n```"]
    parts += [f"```pre_process\n{pre_process}\n```"] if pre_process else []
    parts += [f"```solver_lib:{name}\n{source}\n```" for name, source in helpers.items()]
    return "\n".join(parts)


def layer(number: int, pre_process: str = "", *helpers: str, rationale: str = "r") -> LayerKept:
    """A layer as it is kept, of depth `number`."""
    library = tuple(found for source in helpers if (found := helper("", source)) is not None)
    return LayerKept(
        id=f"L{number - 1}", depth=number, rationale=rationale, pre_process=pre_process, library=library
    )


def say(text: str) -> str:
    """Pre-process code that says a text."""
    return f"additional_context = {text!r}"


def trace(task: str, score: float | None = 0.0, success: bool | None = None, **more: Any) -> Trace:
    """A trace with a score."""
    good = bool(score) if success is None else success
    return Trace(task, 1, status="ok", success=good, score=score, **more)


class Numbers:
    """A grader for which the answer is its own score."""

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """The number, or an invalid 0."""
        try:
            return "score", float(answer), f"scored {answer}"
        except ValueError:
            return "invalid", 0.0, "infeasible: no number"


class InProcess:
    """Runs what a test wrote, in this process."""

    def __init__(self) -> None:
        self.programs: list[Program] = []

    async def execute(self, program: Program) -> tuple[CodeResult, How]:
        """The program's result."""
        self.programs.append(program)
        space: dict[str, Any] = json.loads(json.dumps(program.inputs or {}))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(program.code, "program.py", "exec"), space)
            value = space[program.result] if program.result else None
            return CodeResult("ok", value=json.loads(json.dumps(value))), How()
        except SyntaxError as error:
            return CodeResult("syntax", error=f"SyntaxError: {error.msg}"), How()
        except Exception as error:  # noqa: BLE001 - whatever the test's program raises
            return CodeResult("error", error=f"{type(error).__name__}: {error}"), How()


@dataclass
class Told:
    """A run: how it ended, what was asked, every event."""

    result: RunResult
    model: ScriptedModel
    events: list[AnyEvent] = field(default_factory=list)

    def stored(self, kind: str) -> list[Stored]:
        """What was kept of a kind."""
        return [e for e in self.events if isinstance(e, Stored) and e.kind == kind]

    def bodies(self, kind: str) -> list[Any]:
        """Their bodies, decoded."""
        return [json.loads(e.body) for e in self.stored(kind)]

    def prompts(self, role: str) -> list[str]:
        """What a role was sent, as one text each."""
        calls = [call for call in self.model.calls if call.role == role]
        return ["\n".join(m.content for m in call.request.messages) for call in calls]


def family(count: int) -> tuple[StreamItem, ...]:
    """Invented tasks `t:0`, `t:1`, ..."""
    return tuple(StreamItem(f"t:{n}", f"Task number {n}: pack the items.") for n in range(count))


def solve(
    reply: Callable[[Call], Line] | Sequence[Line],
    count: int = 4,
    *,
    log: Path | None = None,
    code: Any = None,
    scorer: Any = None,
    question: str = "q",
    seed: int = 7,
    model: Any = None,
    name: str = "m",
    note: str = "",
    items: Sequence[StreamItem] = (),
    **settings: Any,
) -> Told:
    """Run the method on invented tasks; `code` is `sandbox` for the real one."""
    asked = model or ScriptedModel(reply)
    events: list[AnyEvent] = []
    method = build("meta_n", settings)
    started = header(method, question, model=name, stream=tuple(items) or family(count), seed=seed, note=note)

    async def work() -> RunResult:
        sandbox = Sandbox() if code == "sandbox" else None
        doors = Doors(asked, sandbox or code or InProcess(), scorer=scorer or Numbers())
        try:
            return await live(method, started, doors, log=log, consumers=[events.append], clock=None)
        finally:
            if sandbox is not None:
                await sandbox.aclose()

    return Told(asyncio.run(work()), asked, events)


def by_role(omega: Callable[[Call], Line], solver: Callable[[Call], Line]) -> Callable[[Call], Line]:
    """One voice for Omega, one for the solver."""
    return lambda call: omega(call) if call.role == "omega" else solver(call)


def means(told: Told) -> list[float]:
    """The means of the candidates in order."""
    return [body["mean"] for body in told.bodies("candidate")]


def number_of(call: Call) -> int:
    """The number of the invented task that a solver is asked about."""
    text = call.request.messages[0].content
    return int(text.partition("Task number ")[2].partition(":")[0])


def scores_of(body: Mapping[str, Any]) -> dict[str, float]:
    """Task -> score of a candidate's body."""
    return {one["task"]: one["score"] for one in body["scores"]}
