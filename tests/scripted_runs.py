"""Scripted runs of every shipped method, and ways to record them, cut them and go on.

The scripts are written here by hand; nothing is imitated but what a model says. Runs are recorded
without a clock, so two logs of the same run are the same bytes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace as replaced

from meta_tui.chat import CodeResult, Params, Program, Reply, Usage
from meta_tui.errors import CallFailed
from meta_tui.events import AnyEvent, How, Outcome, RunStarted
from meta_tui.methods import PRESETS, build
from meta_tui.models.base import Call
from meta_tui.models.scripted import WRITTEN, Line, ScriptedModel
from meta_tui.run import Doors, Method, RunResult, Stop
from meta_tui.runlog import Recording, read
from meta_tui.sources import header, live, replay, resume

NOTHING = Params()
Address = tuple[str, str, int]
FINAL = '>> FINAL ANSWER:\n"""\n42\n"""'
PROGRAM = "```python\nprint(6 * 7)\n```\nPlease run this code!"


def call_text(name: str, instruction: str) -> str:
    """A Meta Model reply that consults one expert."""
    return f'I consult someone.\n\n{name}:\n"""\n{instruction}\n"""'


@dataclass(frozen=True)
class Case:
    """One scripted run: the method, what the model says in order, what programs give."""

    name: str
    method: str
    script: tuple[Line, ...]
    results: tuple[CodeResult, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    preset: str = "default"
    params: Params = NOTHING
    status: str = "answered"

    def __str__(self) -> str:
        return self.name

    def build(self) -> Method:
        """The method with the settings of this case."""
        return build(self.method, {**PRESETS[self.preset].settings_of(self.method), **self.settings})

    def header(self) -> RunStarted:
        """The first event of this run."""
        return header(self.build(), "What is 6 times 7?", model="scripted", params=self.params, seed=7)


_REPLIED = Reply(FINAL, finish_reason="stop", usage=Usage(900, 12))
_DOWN = CallFailed("server", "the server is down")
_CHECK = call_text("Expert Proofreader", "Check that 6 * 7 = 42. Künftig bitte auf Deutsch — ✓")
_PYTHON = call_text("Expert Python", "Print 6 times 7.")
_TWO = 'Expert Ada:\n"""\nfirst\n"""\n\nExpert Bob:\n"""\nsecond\n"""'
_ABOVE = call_text("Expert Proofreader", "Check the solution above.")

CASES = (
    Case("standard", "standard", (FINAL,)),
    Case("standard_usage", "standard", (_REPLIED,), params=Params(temperature=0, seed=3)),
    Case("standard_repairs", "standard", ("It is 42.", "", FINAL)),
    Case("zero_shot_cot", "zero_shot_cot", ("Six sevens are 42.", FINAL)),
    Case("expert_static", "expert_static", (FINAL,)),
    Case("expert_dynamic", "expert_dynamic", ("You are good at products.", FINAL)),
    Case("expert_dynamic_empty", "expert_dynamic", (" ", FINAL)),
    Case("multipersona", "multipersona", ("Ada: 42?\nBob: yes.\n" + FINAL,)),
    Case(
        "python",
        "meta_prompting",
        (_PYTHON, PROGRAM, _CHECK, "It is right.", FINAL),
        (CodeResult("ok", "42\n"),),
        params=Params(temperature=0.5),
    ),
    Case(
        "python_repairs",
        "meta_prompting",
        (_PYTHON, PROGRAM, _PYTHON, PROGRAM, _PYTHON, "no program here. Please run this code!", FINAL),
        (CodeResult("error", error="ZeroDivisionError", line=1), CodeResult("timeout")),
    ),
    Case("two_calls", "meta_prompting", (_TWO, "one", "two", FINAL)),
    Case("twice_the_same", "meta_prompting", (_CHECK, "yes", _CHECK, "no", _CHECK, "yes", FINAL)),
    Case("malformed", "meta_prompting", ("hm", "hm", "hm", FINAL)),
    Case("call_and_answer", "meta_prompting", (f"{_CHECK}\n\n{FINAL}", "fine", FINAL)),
    Case(
        "round_limit",
        "meta_prompting",
        (_CHECK, "no", _CHECK, "no", "hm"),
        settings={"rounds": 3, "notice_round": 3},
        status="no_answer",
    ),
    Case(
        "published",
        "meta_prompting",
        (_PYTHON, PROGRAM, _TWO, "one", "two", FINAL),
        (CodeResult("ok", "42"),),
        preset="published",
        params=PRESETS["published"].params,
    ),
    Case(
        "published_failures",
        "meta_prompting",
        (_DOWN, _TWO, "one", _DOWN, _CHECK, "fine", _DOWN, _DOWN, FINAL),
        preset="published",
    ),
    Case("at_once", "meta_prompting", (_TWO, "one", "two", FINAL), settings={"several": "at_once"}),
    Case("one_a_round", "meta_prompting", (_TWO, "one", FINAL), settings={"several": "one"}),
    Case(
        "history_summarised",
        "meta_prompting",
        (_CHECK, "x" * 2000, _CHECK, "no", "a summary", _CHECK, "yes", "a later summary", FINAL),
        settings={"history_tokens": 500, "history_keep": 1},
    ),
    Case(
        "nudged",
        "meta_prompting",
        (_ABOVE, _ABOVE, "as you say", _ABOVE, FINAL),
        settings={"nudge": "reask"},
    ),
    Case("remarked", "meta_prompting", (_ABOVE, "what?", FINAL), settings={"nudge": "show"}),
    Case(
        "special_experts",
        "meta_prompting",
        (_TWO, "found", "another model's word", FINAL),
        settings={
            "experts": [
                {"name": "Expert Ada", "model": "function:Expert Ada", "about": "finds things."},
                {"name": "expert b*", "model": "other/model"},
            ]
        },
    ),
    Case(
        "special_experts_fail",
        "meta_prompting",
        (_TWO, CallFailed("timeout", "nothing came within 30 s"), FINAL),
        (CodeResult("error", "half", "ZeroDivisionError", line=1),),
        settings={
            "experts": [
                {"name": "Expert Ada", "model": "command:Expert Ada"},
                {"name": "Expert Bob", "program": {"code": "1 / 0"}},
            ]
        },
    ),
    Case(
        "temperatures",
        "meta_prompting",
        (_TWO, "one\n42", "two\n43", "three\n42", "hot", _DOWN, "a summary", FINAL),
        settings={
            "experts": [
                {"name": "Expert Ada", "temperatures": [0, 0.5, 1], "merge": "majority"},
                {"name": "Expert Bob", "temperatures": [1, 2], "merge": "summary"},
            ]
        },
    ),
    Case("gives_up", "standard", (_DOWN,) * 3, settings={"tries": 3}, status="failed"),
    Case("expert_fails", "meta_prompting", (_CHECK, _DOWN), status="failed"),
)


@dataclass
class Script:
    """What a run was told, by address, so that any part of it can be told again."""

    lines: dict[Address, Line] = field(default_factory=dict)
    results: dict[str, list[CodeResult]] = field(default_factory=dict)

    def model(self) -> ScriptedModel:
        """A model that answers every address as it was answered."""
        return ScriptedModel(lambda call: self.lines[address(call)])


class Programs:
    """Runs programs from a script; `ran` counts them."""

    def __init__(self, results: Sequence[CodeResult], how: How | None = WRITTEN) -> None:
        self._results = list(results)
        self._how = how
        self.ran: list[Program] = []

    async def execute(self, program: Program) -> tuple[CodeResult, How | None]:
        """The next result."""
        self.ran.append(program)
        return self._results[len(self.ran) - 1], self._how


def address(call: Call) -> Address:
    """Where a call stands in its run."""
    return (call.request.key, call.strand, call.draw)


def remembering(lines: Sequence[Line] | Callable[[Call], Line], script: Script) -> ScriptedModel:
    """A model that answers in order (or by a function) and notes which address got what."""
    rest = iter(lines) if not callable(lines) else iter(())

    def answer(call: Call) -> Line:
        line = lines(call) if callable(lines) else next(rest)
        script.lines[address(call)] = line
        return line

    return ScriptedModel(answer)


def record(
    case: Case,
    log: Path,
    *,
    consumers: Sequence[Callable[[AnyEvent], None]] = (),
    clock: Callable[[], float] | None = None,
) -> Script:
    """Run a case into a log; gives back its script by address."""
    script = Script()
    doors = Doors(remembering(case.script, script), Programs(case.results))
    result = run(case.build(), case.header(), doors, log, consumers=consumers, clock=clock)
    assert result.status == case.status, result
    return script


def run(
    method: Method,
    started: RunStarted,
    doors: Doors,
    log: Path | None,
    *,
    consumers: Sequence[Callable[[AnyEvent], None]] = (),
    stop: Stop | None = None,
    clock: Callable[[], float] | None = None,
) -> RunResult:
    """A run in a loop of its own, without a clock unless one is given."""
    return asyncio.run(live(method, started, doors, log=log, consumers=consumers, stop=stop, clock=clock))


def again(log: Path | Recording, method: Method | None = None) -> RunResult:
    """A replay, in a loop of its own."""
    recording = log if isinstance(log, Recording) else read(log)
    return asyncio.run(replay(recording, method=method))


def go_on(log: Path, doors: Doors, stop: Stop | None = None) -> RunResult:
    """A resumed run without a clock, in a loop of its own."""
    return asyncio.run(resume(log, doors, stop=stop, clock=None))


def ticking() -> Callable[[], float]:
    """A clock that moves on by an odd number of milliseconds every time it is read."""
    ticks = itertools.count(1_700_000_000_123, 37)
    return lambda: next(ticks) / 1000


def timeless(recording: Recording) -> list[AnyEvent]:
    """The events without `at` and `how`, which never take part in a comparison."""
    return [
        replaced(event, at=None, how=None) if isinstance(event, Outcome) else replaced(event, at=None)
        for event in recording.events
    ]


def case_named(name: str) -> Case:
    """The case of that name."""
    return next(case for case in CASES if case.name == name)


def lines_of(log: Path) -> list[bytes]:
    """The lines of a log, with their newlines."""
    return log.read_bytes().splitlines(keepends=True)


def objects(log: Path) -> list[dict[str, Any]]:
    """The lines of a log, decoded by json and nothing of ours."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line]
