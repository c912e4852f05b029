"""The cassettes that ship: run logs of stories that were written by hand.

Each story stands in `stories/<name>.txt`: the question, then every reply in the order in which it
is asked for, each under a line that names who gives it. This module says which method is run on
which story with which settings, and runs it for real: the ordinary method, writer and sandbox,
with the scripted model as the only thing that is not a live run. So a changed prompt needs one
command and no edit:

    python tests/cassettes/written.py              writes cassettes/*.jsonl anew
    python tests/cassettes/written.py --to FOLDER  writes them elsewhere

What this is not: it asks no language model, and it changes no story.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from meta_tui.chat import CodeResult, Program, Reply, ToolCall, canonical_json
from meta_tui.errors import CallFailed, UsageError
from meta_tui.events import AnyEvent, FailureKind, How, RunStarted, SpanStarted, StreamItem
from meta_tui.methods import build, method_class
from meta_tui.models.base import Answer, Attempt, Call, CodeRunner, Model, Tell
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors, Method, RunResult
from meta_tui.sandbox import Sandbox
from meta_tui.session import with_scorer
from meta_tui.sources import header, live
from meta_tui.tasks import Sample, family
from meta_tui.tasks.loaders import sample

SHIPPED = Path(__file__).resolve().parents[2] / "cassettes"
STORIES = Path(__file__).resolve().parent / "stories"

NOTE = (
    "Written by hand for meta-tui through its scripted model: no language model was called. "
    "Programs, if there are any, were really run; times are made up. Licence: MIT."
)
MODEL = "scripted"
TOOL = "meta-tui 0.1.0"
"""The version for which the stories were first written; a new version does not change them."""
START = 1_796_032_800
"""Seconds since the epoch at which every story is said to begin."""
RAN = How(note="run when this cassette was written")

SETTLED = 100
"""Turns of the event loop after which nothing more follows from a program's result."""

META = "Meta Model"
RULE = "=== "


@dataclass(frozen=True, slots=True)
class Cassette:
    """One cassette: what it shows, and the method and settings that its story is told with."""

    name: str
    shows: str
    task: str = ""
    method: str = "meta_prompting"
    settings: Mapping[str, Any] = field(default_factory=dict)
    stream: tuple[str, ...] = ()
    """Samples, for a method that solves them in one run."""
    sample: str = ""
    """The shipped sample that the story solves; its question is the story's."""
    seed: int = 0
    """Of the method's own chance."""


CASSETTES = (
    Cassette("bakery-spanish", "A word problem in Spanish, worked out and then computed", "mgsm_es"),
    Cassette(
        "baseline-expert-dynamic", "Two calls: who should answer, then the answer", "", "expert_dynamic"
    ),
    Cassette("baseline-expert-static", "One call under a general expert preamble", "", "expert_static"),
    Cassette("baseline-multipersona", "One reply in which three personas talk", "", "multipersona"),
    Cassette("baseline-standard", "The question and nothing else", "", "standard"),
    Cassette(
        "baseline-zero-shot-cot",
        "Step by step; the answer's form comes after a reminder",
        "",
        "zero_shot_cot",
    ),
    Cassette(
        "checkmate-second-opinion",
        "A mate in one, verified by a second expert; without Expert Python",
        "checkmate",
        settings={"python": False},
    ),
    Cassette(
        "direct-forced",
        "Direct Control stopped by its budget: the latest worker counts",
        "",
        "direct_control",
        {"budget": 6, "tools": "text"},
    ),
    Cassette(
        "direct-native",
        "Native tool calls: two in one message, of which one batch is run",
        "",
        "direct_control",
        {"budget": 12},
    ),
    Cassette(
        "direct-repair",
        "Direct Control has one step of a wrong attempt repaired",
        "",
        "direct_control",
        {"budget": 12, "tools": "text"},
    ),
    Cassette(
        "direct-two-agree",
        "Direct Control ends as soon as two workers agree",
        "",
        "direct_control",
        {"budget": 12, "tools": "text"},
    ),
    Cassette("game24-python", "A Game of 24 solved through Expert Python", "game24"),
    Cassette(
        "history-summarised",
        "A history that grew past its tokens: two rounds are summarised, and it goes on",
        "puzzles",
        settings={"python": False, "history_tokens": 1400, "history_keep": 1},
    ),
    Cassette("race-several-experts", "Two experts in one reply, and a call that had to wait", "puzzles"),
    Cassette("rival-bot", "A problem is taken apart, solved, and leaves a template behind", "", "bot"),
    Cassette("rival-cot", "Step by step to an answer in its field", "", "cot"),
    Cassette("rival-cot-sc", "Five chains of thought vote; one is wrong, one has no field", "", "cot_sc"),
    Cassette(
        "rival-meta-reasoner",
        "After each step a report, from which a bandit picks the next strategy",
        "",
        "meta_reasoner",
    ),
    Cassette("rival-mrp", "One call chooses to draft, criticise and revise, and that is done", "", "mrp"),
    Cassette(
        "rival-tot",
        "Two thoughts a level, rated by the same model; the better one goes on",
        "",
        "tot",
        {"candidates": 2, "keep": 1},
    ),
    Cassette(
        "rival-ttpi",
        "Three openings of each step; the one with the least perplexity goes on",
        "",
        "ttpi",
        {"behaviours": ("verification", "conclusion")},
    ),
    Cassette(
        "rlm-digits-forced",
        "The budget is used up by a check: the answer that was set counts",
        "",
        "rlm",
        {"budget": 8},
    ),
    Cassette(
        "rlm-orchard",
        "Small programs over the task; what they may not compute, sub-models do",
        "",
        "rlm",
        {"budget": 20},
    ),
    Cassette(
        "rlm-two-depths",
        "A query is a recursive model of its own, which asks others in turn",
        "",
        "rlm",
        {"budget": 20, "depth": 2},
    ),
    Cassette(
        "sample-game24-experts",
        "A sample of the Game of 24, searched by a program and checked by an expert",
        "game24",
        sample="game24:3",
    ),
    Cassette(
        "sample-game24-standard",
        "The same sample without experts: the answer uses a number twice",
        "game24",
        "standard",
        sample="game24:3",
    ),
    Cassette(
        "sample-words-cot",
        "A sample of word sorting, step by step",
        "words",
        "zero_shot_cot",
        sample="words:2",
    ),
    Cassette("seats-corrected", "A wrong count that one expert refutes and a new one puts right", "puzzles"),
    Cassette(
        "shapes-malformed-reply", "Two replies without a usable form, each answered by a reminder", "shapes"
    ),
    Cassette("sonnet-repaired", "A sonnet that a reader finds faulty and an editor repairs", "sonnets"),
    Cassette(
        "squares-round-limit",
        "Six rounds, and the answer is found one round too late",
        "puzzles",
        settings={"python": False, "rounds": 6, "notice_round": 6},
    ),
    Cassette(
        "staged-early-stop",
        "Four stages stop on an early artifact, not on the latest",
        "",
        "meta_reasoning",
        {"budget": 25, "tools": "text"},
    ),
    Cassette(
        "staged-forced",
        "The budget is used up in the second cycle: the latest artifact is submitted",
        "",
        "meta_reasoning",
        {"budget": 10, "tools": "text"},
    ),
    Cassette(
        "staged-native",
        "Native tool calls: a note and a read in one message, a batch, a submission",
        "",
        "meta_reasoning",
        {"budget": 25},
    ),
    Cassette(
        "staged-note-repair",
        "A note is written, read and given to the worker that repairs an attempt",
        "",
        "meta_reasoning",
        {"budget": 25, "tools": "text"},
    ),
    Cassette(
        "tilings-code-timeout",
        "A program that takes too long, a better one, and a second method",
        "puzzles",
        settings={"code_seconds": 2.0},
    ),
    Cassette(
        "timetable-function",
        "An expert that is a function: it refuses the first instruction, then looks trains up",
        settings={
            "python": False,
            "experts": [
                {
                    "name": "Expert Timetable",
                    "about": "looks up the next three trains of one line, as departure and arrival.",
                    "model": "function:Expert Timetable",
                }
            ],
        },
    ),
    Cassette("words-sorted", "Words sorted; a lost word is noticed and put back", "words"),
)

STREAMS = (
    Cassette(
        "mc2-digits",
        "Answers rounded too early become a rule, and later first attempts keep their digits",
        "theorem",
        "mc2",
        {"batch": 4},
        tuple(f"theorem:{n}" for n in (6, 14, 19, 24, 2, 4, 12, 16, 13, 18, 22, 23)),
    ),
    Cassette(
        "layers-linear",
        "Three layers around a solver: a gain, a directive that goes too far, and its repair",
        "opt",
        "meta_n",
        {"patience": 2, "max_depth": 4, "held_out": 2, "script_seconds": 2.0},
        tuple(f"opt:{n}" for n in (1, 12, 4, 20, 0, 18, 16, 23)),
    ),
    Cassette(
        "layers-evolution",
        "An archive of stacks: a layer that wins one kind of task and loses another is bred from and repaired",
        "opt",
        "meta_n",
        {"mode": "evolutionary", "iterations": 5, "patience": 2, "gate": True},
        tuple(f"opt:{n}" for n in (1, 12, 4, 20, 0, 18)),
        seed=0,
    ),
)
"""Runs over many samples: instances of a batch speak at once, so their order is not a story's."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a story: who speaks (or what happens), and the text."""

    who: str
    text: str


def story(name: str) -> tuple[str, list[Part]]:
    """The question of a story and its other parts in order.

    Raises:
        UsageError: the file does not begin with a question.
    """
    text = (STORIES / f"{name}.txt").read_text(encoding="utf-8")
    parts = [Part(*_halves(part)) for part in f"\n{text}".split(f"\n{RULE}")[1:]]
    if not parts or parts[0].who != "Question":
        raise UsageError(f"the story {name} must begin with a line `{RULE}Question`")
    return parts[0].text, parts[1:]


def _halves(part: str) -> tuple[str, str]:
    who, _, text = part.partition("\n")
    return who.strip(), text.strip("\n")


class Clock:
    """A clock that goes on as far as it is told, and a few milliseconds with every look at it."""

    def __init__(self, start: int) -> None:
        self._ms = start * 1000

    def __call__(self) -> float:
        """Seconds since the epoch."""
        self._ms += 4
        return self._ms / 1000

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._ms += round(seconds * 1000)


class Storyteller:
    """The scripted model, given the parts of a story, with time passing as if replies took some."""

    def __init__(self, parts: list[Part], clock: Clock) -> None:
        self._parts = iter(parts)
        self._attempts = 0
        self._uses = 0
        self._model: Model = ScriptedModel(self._line)
        self._clock = clock

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply that the story has at this place."""

        def wait_and_tell(news: str | Attempt) -> None:
            self._clock.wait(0.4)
            tell(news)
            if isinstance(news, Attempt):
                self._clock.wait(news.retry_in)

        answer = await self._model.answer(call, wait_and_tell)
        self._clock.wait(0.7 + len(answer.reply.text) / 320)
        return answer

    def left(self) -> list[str]:
        """Who has not spoken yet."""
        return [part.who for part in self._parts]

    def _line(self, call: Call) -> Line:
        part = next(self._parts, Part("nobody", ""))
        if part.who.startswith("Retry "):
            return self._attempt(part)
        if part.who.startswith("Failed "):
            return CallFailed(part.who.removeprefix("Failed "), part.text)
        wanted = call.name or META
        if part.who != wanted:
            raise UsageError(f"{wanted} is asked, and the story goes on with {part.who}")
        self._attempts = 0
        said = _said(part.text)
        numbered = tuple(
            replace(one, id=f"call_{self._uses + n}") for n, one in enumerate(said.tool_calls, 1)
        )
        self._uses += len(numbered)
        return replace(said, tool_calls=numbered)

    def _attempt(self, part: Part) -> Attempt:
        _, kind, seconds = part.who.split()
        if kind not in get_args(FailureKind):
            raise UsageError(f"{kind} is no kind of failure")
        self._attempts += 1
        return Attempt(kind, part.text, self._attempts, float(seconds))  # type: ignore[arg-type]


def _said(text: str) -> Reply:
    """A reply; a last line `~ -0.1 -0.3` holds the log-probabilities of its tokens (made up), and what
    stands behind `! NAME` at the beginning of a line are the arguments of a native tool call."""
    words, *uses = f"\n{text}".split("\n! ")
    if uses:
        calls = [use.partition(" ") for use in uses]
        return Reply(
            words.strip(),
            tuple(ToolCall("", name, canonical_json(_object(given)).decode()) for name, _, given in calls),
        )
    said, mark, numbers = text.rpartition("\n~ ")
    if not mark:
        return Reply(text)
    content = [{"token": f"token {n}", "logprob": float(value)} for n, value in enumerate(numbers.split())]
    return Reply(said, logprobs={"content": content})


def _object(text: str) -> dict[str, Any]:
    return msgspec.json.decode(text, type=dict[str, Any])


class Chorus:
    """One storyteller for each instance of a stream, and one for each voice of its memory.

    A story of a stream has sections: `=== Instance SAMPLE`, whose parts follow in their order, and
    `=== Memory`, whose voices (`Distil Reasoner`, ...) each have an order of their own.
    """

    def __init__(self, parts: list[Part], clock: Clock) -> None:
        voices: dict[str, list[Part]] = {}
        section = ""
        for part in parts:
            if part.who == "Memory" or part.who.startswith("Instance "):
                section = part.who.removeprefix("Memory")
            else:
                voices.setdefault(section or part.who, []).append(part)
        self._tellers = {voice: Storyteller(own, clock) for voice, own in voices.items()}
        self._instances: dict[str, str] = {}

    def watch(self, event: AnyEvent) -> None:
        """Note which span belongs to which instance."""
        if isinstance(event, SpanStarted) and event.role == "instance":
            self._instances[event.span] = f"Instance {event.name}"

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply that the story has for this voice."""
        voice = self._instances.get(call.span.partition("/")[0], call.name)
        if voice not in self._tellers:
            raise UsageError(f"{voice} is asked, and the story has no such part")
        return await self._tellers[voice].answer(call, tell)

    def left(self) -> list[str]:
        """Who has not spoken yet."""
        return [who for teller in self._tellers.values() for who in teller.left()]


class Stack:
    """One storyteller for each task of each candidate, and one for Omega.

    A story of layers has sections: `=== Omega`, whose parts follow in their order, `=== Candidate C1`
    and `=== Held out C1`, whose parts are named by the samples (several on a line) that they answer.
    """

    def __init__(self, parts: list[Part], clock: Clock) -> None:
        voices: dict[str, list[Part]] = {}
        section = ""
        for part in parts:
            if part.who == "Omega" or part.who.startswith(("Candidate ", "Held out ")):
                section = part.who
            elif section == "Omega":
                voices.setdefault(section, []).append(part)
            else:
                for name in part.who.split():
                    voices.setdefault(f"{section} {name}", []).append(Part(name, part.text))
        self._tellers = {voice: Storyteller(own, clock) for voice, own in voices.items()}
        self._sections: dict[str, str] = {}

    def watch(self, event: AnyEvent) -> None:
        """Note which span belongs to which section."""
        names = {"candidate": "Candidate", "held_out": "Held out"}
        if isinstance(event, SpanStarted) and event.role in names:
            self._sections[event.span] = f"{names[event.role]} {event.name}"

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply that the story has for this voice."""
        section = self._sections.get(call.span.rpartition("/")[0], "")
        voice = f"{section} {call.name}" if section else "Omega"
        if voice not in self._tellers:
            raise UsageError(f"{voice} is asked, and the story has no such part")
        return await self._tellers[voice].answer(call, tell)

    def left(self) -> list[str]:
        """Who has not spoken yet."""
        return [who for teller in self._tellers.values() for who in teller.left()]


class PacedCode:
    """The sandbox, with time passing as the story has it and nothing said about this machine. One
    program after the other, so that the log's lines have the same order everywhere."""

    def __init__(self, code: CodeRunner, clock: Clock) -> None:
        self._code = code
        self._clock = clock
        self._turn = asyncio.Lock()

    async def execute(self, program: Program) -> tuple[CodeResult, How]:
        """The result of really running the program."""
        await self._turn.acquire()
        try:
            result, _ = await self._code.execute(program)
        finally:
            self._later = asyncio.create_task(self._next())
        self._clock.wait(program.limits.seconds if result.status == "timeout" else 0.2)
        return result, RAN

    async def _next(self) -> None:
        """Let the next program begin when all that follows from this one has happened."""
        for _ in range(SETTLED):
            await asyncio.sleep(0)
        self._turn.release()


def first_line(cassette: Cassette, question: str) -> RunStarted:
    """The first event of a cassette; it says that it is written and how."""
    started = header(
        method_of(cassette),
        question,
        model=MODEL,
        origin="written",
        note=f"{cassette.shows}. {NOTE}",
        task=cassette.task,
        sample=cassette.sample,
        seed=cassette.seed,
        stream=tuple(StreamItem(one.id, family(one.task).question(one)) for one in samples(cassette)),
    )
    return msgspec.structs.replace(started, tool=TOOL)


def method_of(cassette: Cassette) -> Method:
    """The method of a cassette, with what it must know of the samples of its stream."""
    known = getattr(method_class(cassette.method), "prepared", None)
    facts = known(samples(cassette)) if known and cassette.stream else {}
    return build(cassette.method, facts | dict(cassette.settings))


def voices(cassette: Cassette, parts: list[Part], clock: Clock) -> Storyteller | Chorus | Stack:
    """Whoever tells the story of a cassette."""
    if cassette.method == "meta_n":
        return Stack(parts, clock)
    return Chorus(parts, clock) if cassette.stream else Storyteller(parts, clock)


def asked(name: str) -> str:
    """The question of a shipped sample."""
    found = sample(name)
    return family(found.task).question(found)


def samples(cassette: Cassette) -> list[Sample]:
    """The samples of a stream, from the task files that ship."""
    return [sample(name) for name in cassette.stream]


async def write(cassette: Cassette, folder: Path, code: CodeRunner) -> RunResult:
    """Run a method on a story and keep the run log; an older one is replaced.

    Args:
        cassette: which story, method and settings.
        folder: where the log is to stand.
        code: what runs programs.

    Raises:
        UsageError: the method asks somebody else than the story has next, or parts are left over.
        CallFailed: this machine cannot run a program as it must be run.
    """
    question, parts = story(cassette.name)
    if cassette.sample and question != asked(cassette.sample):
        raise UsageError(f"{cassette.name}: the story must ask what {cassette.sample} asks")
    clock = Clock(START)
    teller = voices(cassette, parts, clock)
    path = folder / f"{cassette.name}.jsonl"
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    result = await live(
        method_of(cassette),
        first_line(cassette, question),
        with_scorer(Doors(teller, PacedCode(code, clock)), samples(cassette), cassette.method),
        log=partial,
        consumers=() if isinstance(teller, Storyteller) else [teller.watch],
        clock=clock,
    )
    if left := teller.left():
        raise UsageError(f"{cassette.name}: the run is over, and the story goes on with {left[0]}")
    if result.status == "failed":
        raise CallFailed("unknown", f"{cassette.name}: {result.reason}")
    partial.replace(path)
    return result


async def write_all(folder: Path, code: CodeRunner) -> dict[str, RunResult]:
    """Write every cassette into a folder that exists; how each run ended, by name."""
    return {cassette.name: await write(cassette, folder, code) for cassette in (*CASSETTES, *STREAMS)}


async def _main(folder: Path) -> None:
    async with Sandbox() as sandbox:
        for name, result in (await write_all(folder, sandbox)).items():
            print(f"{name}: {result.status} ({result.reason}), {result.calls} calls")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the cassettes that ship, from their stories.")
    parser.add_argument("--to", type=Path, default=SHIPPED, help="a folder that exists (the shipped one)")
    asyncio.run(_main(parser.parse_args().to))
