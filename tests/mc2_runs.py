"""Streams for tests of MC2: replies by role, a grader by sample, and short ways to run them.

Replies are functions of what is asked, so any part of a stream can be told again, in any order.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripted_runs import run

from meta_tui.events import AnyEvent, Stored, StreamItem
from meta_tui.methods import build
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors, Method, RunResult
from meta_tui.sources import header

ACCEPT = "ACTION: 1\nJUSTIFICATION: consistent\nFINAL_ANSWER: {answer}"
RESTART = "ACTION: 3\nJUSTIFICATION: wrong model\nSUGGESTIONS: place coordinates"
NO = "ERROR_FOUND: NO\nERROR_STEP: NONE\nERROR_DESCRIPTION: NONE"
YES = "Not so.\nERROR_FOUND: YES\nERROR_STEP: 4\nERROR_DESCRIPTION: the relation is wrong"
LESSON = json.dumps({"do": [{"rule": "check twice", "when": "always", "evidence_ids": ["t:1"]}], "avoid": []})
KNOWLEDGE = json.dumps({"rules": [{"text": "check everything twice", "kind": "do"}]})


def solved(answer: str = "7") -> str:
    """A Reasoner's reply."""
    return f"1. given\n2. hence\nFinal Answer: {answer}"


def policies(**fields: str) -> str:
    """A Composer's reply."""
    return json.dumps(
        fields or {"P_R": "be the Reasoner", "P_M": "be the Monitor", "P_C": "be the Controller"}
    )


def by_role(call: Call) -> Line:
    """Every instance is settled at once with the answer 7; every memory call brings a rule."""
    match call.role, call.name:
        case "reasoner", _:
            return solved()
        case "monitor", _:
            return NO
        case "controller", _:
            return ACCEPT.format(answer="7")
        case _, "Compose":
            return policies()
        case _, name if name.startswith("Distil"):
            return LESSON
        case _, name if name.startswith("Consolidate"):
            return KNOWLEDGE
    raise AssertionError(f"nobody is expected to ask as {call.role} {call.name}")


@dataclass
class Golds:
    """A grader that knows the right answers; `asked` counts its work."""

    golds: Mapping[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """1 for the right answer."""
        self.asked.append((sample, answer))
        return "strict", float(self.golds.get(sample, "7") == answer), ""


@dataclass
class Told:
    """A run: how it ended, what was asked, and every event."""

    result: RunResult
    model: ScriptedModel
    events: list[AnyEvent]

    def calls(self, role: str = "", name: str = "") -> list[Call]:
        """The calls of a role or of a span's name."""
        return [c for c in self.model.calls if role in ("", c.role) and c.name.startswith(name)]

    def prompts(self, role: str = "", name: str = "") -> list[str]:
        """What they were sent, as one text each."""
        return ["\n".join(m.content for m in call.request.messages) for call in self.calls(role, name)]

    def stored(self, kind: str) -> list[Stored]:
        """What was kept of a kind."""
        return [e for e in self.events if isinstance(e, Stored) and e.kind == kind]

    def bodies(self, kind: str) -> list[Any]:
        """Their bodies, decoded."""
        return [json.loads(e.body) for e in self.stored(kind)]


def stream(count: int, first: int = 0) -> tuple[StreamItem, ...]:
    """Invented questions `t:0`, `t:1`, ..."""
    return tuple(StreamItem(f"t:{n}", f"What is question number {n}?") for n in range(first, first + count))


def solve(
    method: str | Method = "mc2",
    reply: Callable[[Call], Line] | Iterable[Line] = by_role,
    items: Sequence[StreamItem] = (),
    *,
    golds: Mapping[str, str] | None = None,
    log: Path | None = None,
    question: str = "QUESTION",
    **settings: Any,
) -> Told:
    """Run a method on a stream (or on one question)."""
    found = build(method, settings) if isinstance(method, str) else method
    model, events = ScriptedModel(reply), list[AnyEvent]()
    started = header(found, question, model="m", stream=tuple(items), seed=7)
    doors = Doors(model, scorer=Golds(golds or {}))
    result = run(found, started, doors, log, consumers=[events.append])
    return Told(result, model, events)


def in_loop(work: Any) -> Any:
    """A coroutine's result."""
    return asyncio.run(work)
