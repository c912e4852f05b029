"""What holds for the three methods of agentic meta-reasoning alike: properties, X-1 to X-6, logs."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from pathlib import Path
from typing import Any, ClassVar

import pytest
from amr_runs import (
    QUESTION,
    WORKED,
    Ran,
    Shuffled,
    by_name,
    finish,
    first_line,
    ran,
    tool,
    worked,
    workers,
)
from scripted_runs import Script, again, go_on, lines_of, remembering, timeless

from meta_tui.chat import CodeResult, Program, Reply, ToolCall, Usage
from meta_tui.errors import CallFailed, Stopped
from meta_tui.events import AnyEvent, How, Requested
from meta_tui.methods import METHODS, build, deliberation, tools
from meta_tui.methods.artifacts import FAILED, Artifact, Memory, answer_of, layers, read_worker, trace, tree
from meta_tui.methods.meta_reasoning import MetaReasoning
from meta_tui.methods.prompts import text
from meta_tui.methods.workers import run_batch
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line
from meta_tui.run import Doors, Run, Solution
from meta_tui.runlog import read
from meta_tui.sources import live

DIRECT: dict[str, list[Line]] = {
    "control": [
        workers((), ()),
        "let me think",
        workers(("0_0", "0_1")),
        tool("finish", result="Checked twice.\nANSWER: 29"),
    ],
    "worker 0_0": [worked("Trial division", "13195 = 5*7*13*29", "29", "HIGH")],
    "worker 0_1": [worked("Too early", "13195 = 5*2639", "2639", "MEDIUM")],
    "worker 2_0": [worked("Compared", "29 is prime", "29", "HIGH")],
}
PROGRAM = '```python\nfirst = query("a")\nboth = query_batch([first, "b"])\nprint(both)\n```'
SECOND = '```python\nanswer = both[0] + "!"\nready = True\n```'
RLM: dict[str, list[Line]] = {
    "control": ["no code", PROGRAM, "```python\nx = 1 * 2\n```", SECOND],
    "query 1": ["alpha"],
    "query 2": ["beta"],
    "query 3": ["gamma"],
}
SCRIPTS = {"meta_reasoning": WORKED, "direct_control": DIRECT, "rlm": RLM}


class Interpreter:
    """Runs the few programs of RLM scripts with Python itself: they are written in this file."""

    def __init__(self) -> None:
        self.ran: list[Program] = []

    async def execute(self, program: Program) -> tuple[CodeResult, How | None]:
        self.ran.append(program)
        printed: list[str] = []
        space = {**program.inputs, "print": lambda *words: printed.append(" ".join(map(str, words)) + "\n")}
        try:
            exec(program.code, space)
        except Exception as error:  # noqa: BLE001 - whatever a program does wrong is its result
            return CodeResult("error", "".join(printed), f"{type(error).__name__}: {error}"), None
        return CodeResult(
            "ok", "".join(printed), value=json.loads(json.dumps(space[program.result or ""]))
        ), None


def run_of(method: str, log: Path | None = None, **settings: Any) -> Ran:
    return ran(method, SCRIPTS[method], log, code=Interpreter(), **{"budget": 20, **settings})


# The property of random controllers.

WORDS = ("alpha", "beta", "gamma", "delta", "idea", "step", "proof")


class Wild:
    """A controller that does anything: valid, invalid, huge, empty; bodies hold no digits."""

    def __init__(self, seed: int, letters_only: bool = True) -> None:
        self.seed = seed
        self.said: dict[str, str] = {}

    def __call__(self, call: Call) -> Line:
        chance = random.Random(f"{self.seed} {call.span} {len(call.request.messages)} {call.draw}")
        if call.role == "worker":
            return self._worker(chance)
        if call.name == "dispatch":
            return self._dispatch(chance)
        return chance.choice([self._stage(chance), self._memory(chance), ""])

    def _id(self, chance: random.Random) -> str:
        return f"{chance.randrange(4)}_{chance.randrange(5)}"

    def _worker(self, chance: random.Random) -> Line:
        if chance.random() < 0.1:
            return CallFailed("server", "down")
        words = " ".join(chance.choices(WORDS, k=chance.randrange(6)))
        return chance.choice([words, worked(words, words, words, "HIGH"), "", f"<title>{words}</title>"])

    def _memory(self, chance: random.Random) -> str:
        if chance.random() < 0.5:
            return tool("read_memory", ids=[self._id(chance) for _ in range(3)])
        return tool("write_memory", entries=[{"title": "note", "body": chance.choice(WORDS)}, {"title": "x"}])

    def _stage(self, chance: random.Random) -> str:
        verdict = chance.choice(["LIKELY_CORRECT", "HAS_GAPS", "FUNDAMENTALLY_FLAWED", "?"])
        return (
            f'<candidate id="{self._id(chance)}">{verdict}</candidate>\nrecommendations: [{{action_id: A}}]'
        )

    def _dispatch(self, chance: random.Random) -> str:
        kind = chance.random()
        if kind < 0.15:
            return finish(self._id(chance))
        if kind < 0.3:
            return chance.choice(["", "nothing", tool("launch"), self._memory(chance), "```json\n{"])
        number = chance.randrange(1, 5)
        prompts = [" ".join(chance.choices(WORDS, k=chance.choice([1, 60]))) for _ in range(number)]
        blocks = [[self._id(chance) for _ in range(chance.randrange(3))] for _ in range(number)]
        return tool(
            "run_workers",
            num_repeats=chance.choice([number, number + 1, 0, "3", None]),
            subagent_prompts=prompts,
            memory_blocks=chance.choice([blocks, blocks[:1], None]),
        )


@pytest.mark.parametrize("part", range(10))
def test_random_controllers_keep_the_promises_of_the_method(part: int) -> None:
    """1,000 runs in ten parts: acyclic, ledger equal to counted calls, worker prompts without ids
    or budget, and only what was stored is ever submitted."""
    for seed in range(100 * part, 100 * part + 100):
        budget = random.Random(seed).choice([1, 5, 17, 40, 7919 % 60])
        run = ran("meta_reasoning", Wild(seed), budget=budget)
        trace, requests = run.trace, run.of(Requested)
        order = {a.id: n for n, a in enumerate(trace.artifacts)}
        assert all(order[a] < order[b] for a, b in trace.edges() + trace.edges("note"))
        assert run.result.calls == len(requests) == len(trace.strip) == trace.ledger[-1]
        assert run.result.reason in ("stopped", "forced")
        assert run.result.answer in {a.body for a in trace.workers}
        assert trace.artifacts[order[trace.submitted]].body == run.result.answer
        check_worker_prompts(run)
        check_available(run)


def check_worker_prompts(run: Ran) -> None:
    """Bodies and instructions of these controllers hold no digit, so no digit may be there but
    those of the question and of our fixed words."""
    ours = "".join((text("amr_worker_form"), text("amr_worker_prior"), QUESTION))
    for call in run.calls:
        if call.role == "worker":
            shown = "\n".join(m.content for m in call.request.messages)
            assert not {c for c in shown if c.isdigit()} - {c for c in ours if c.isdigit()}


def check_available(run: Ran) -> None:
    """Inside a batch workers count in index order, one call each."""
    at = [a.available_at for a in run.trace.workers]
    assert at == sorted(set(at))
    assert all(run.trace.strip[n - 1] == "worker" for n in at)


@pytest.mark.parametrize("method", ["meta_reasoning", "direct_control", "rlm"])
def test_x6_workers_that_finish_in_another_order_give_the_same_ids_graph_and_answer(method: str) -> None:
    def shuffled(seed: int) -> Ran:
        model = Shuffled(by_name(SCRIPTS[method]), seed)
        return ran(method, SCRIPTS[method], model=model, code=Interpreter(), budget=20)

    first, orders = shuffled(0), set()
    for seed in range(1, 30):
        other = shuffled(seed)
        assert other.trace.artifacts == first.trace.artifacts
        assert other.result == first.result
        orders.add(tuple(type(e).__name__ + e.span for e in other.events))
    assert len(orders) > 1 or method == "rlm"


@pytest.mark.parametrize("seed", range(20))
def test_x6_random_controllers_too(seed: int) -> None:
    one, other = (ran("meta_reasoning", {}, model=Shuffled(Wild(seed), order), budget=30) for order in (1, 2))
    assert one.trace.artifacts == other.trace.artifacts
    assert one.result == other.result


#


@pytest.mark.parametrize("method", SCRIPTS)
@pytest.mark.parametrize("reply", ["", " ", "\n", "\x00", "?", "{", "```json\n{}\n```"])
def test_x1_a_method_ends_on_replies_that_say_nothing(method: str, reply: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    run = ran(method, lambda call: reply, log, code=Interpreter(), budget=25)
    assert run.result.status in ("answered", "no_answer")
    assert run.result.calls <= 25 + 5
    assert again(log).answer == run.result.answer


def test_x1_the_staged_controller_goes_on_until_the_budget_is_used_up() -> None:
    run = ran("meta_reasoning", lambda call: "", budget=25)
    assert (run.result.reason, run.result.calls, run.result.answer) == ("forced", 25, "")


@pytest.mark.parametrize("method", SCRIPTS)
def test_x2_a_method_replays_exactly_from_its_own_log(method: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    run = run_of(method, log)
    result = again(log)
    assert (result.answer, result.reason, result.calls) == (
        run.result.answer,
        run.result.reason,
        run.result.calls,
    )


@pytest.mark.parametrize("method", SCRIPTS)
def test_a_run_that_was_cut_at_any_line_goes_on_to_the_same_log(method: str, tmp_path: Path) -> None:
    """Cut behind every line: what was recorded is used, the rest asked for, the events are equal."""
    whole, script = tmp_path / "whole.jsonl", Script()
    model = remembering(by_name(SCRIPTS[method]), script)
    ran(method, {}, whole, model=model, code=Interpreter(), budget=20)
    expected, lines = read(whole), lines_of(whole)
    answer = again(whole).answer
    for cut in range(1, len(lines)):
        log = tmp_path / "cut.jsonl"
        log.write_bytes(b"".join(lines[:cut]))
        result = go_on(log, Doors(script.model(), Interpreter()))
        assert result.answer == answer
        now = read(log)
        key = repr
        assert sorted(map(key, timeless(now))) == sorted(map(key, timeless(expected))), cut
        again(now)
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_a_wild_run_with_failed_workers_goes_on_from_every_fifth_cut(seed: int, tmp_path: Path) -> None:
    """What a failed worker left stays: its call is not made again."""
    whole, script = tmp_path / "whole.jsonl", Script()
    ran("meta_reasoning", {}, whole, model=remembering(Wild(seed), script), budget=30)
    expected, lines = sorted(map(repr, timeless(read(whole)))), lines_of(whole)
    for cut in range(1 + seed % 5, len(lines), 5):
        log = tmp_path / "cut.jsonl"
        log.write_bytes(b"".join(lines[:cut]))
        go_on(log, Doors(script.model()))
        assert sorted(map(repr, timeless(read(log)))) == expected, cut


@pytest.mark.parametrize("method", SCRIPTS)
@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_stopped_by_its_own_budget_goes_on_when_there_is_more(
    method: str, seed: int, tmp_path: Path
) -> None:
    """The run's budget (not B) stops it hard after 3, 5 or 7 calls; resumed, it ends as it would have."""
    whole = run_of(method, tmp_path / "whole.jsonl")
    script, log, allowed = by_name(SCRIPTS[method]), tmp_path / "run.jsonl", 3 + 2 * seed
    counted: list[str] = []

    def capped(call: Call) -> Line:
        counted.append(call.name)
        return Stopped("budget", "met") if len(counted) > allowed else script(call)

    stopped = ran(method, capped, log, code=Interpreter(), budget=20)
    if len(counted) <= allowed:
        assert stopped.result.answer == whole.result.answer
        return
    assert stopped.result.status == "budget"
    told = Script()
    ran(method, {}, None, model=remembering(by_name(SCRIPTS[method]), told), code=Interpreter(), budget=20)
    result = go_on(log, Doors(told.model(), Interpreter()))
    assert (result.status, result.answer) == (whole.result.status, whole.result.answer)
    again(log)


@pytest.mark.parametrize("method", SCRIPTS)
def test_x3_the_ledger_is_the_count_of_requests_and_the_sum_of_usage(method: str) -> None:
    usage = Usage(7, 5)
    answer = by_name(SCRIPTS[method])

    def counted(call: Call) -> Line:
        line = answer(call)
        assert isinstance(line, str)
        return Reply(line, usage=usage)

    run = ran(method, counted, code=Interpreter(), budget=20)
    assert run.result.calls == len(run.of(Requested)) == len(run.calls)
    assert run.result.tokens == 12 * run.result.calls


@pytest.mark.parametrize("method", SCRIPTS)
def test_x4_no_prompt_holds_the_target_or_the_name_of_the_sample(method: str) -> None:
    """The sentinel: a run knows its sample by name only, and no role is told even that."""
    events: list[Any] = []
    sentinel = "GOLD-SENTINEL"
    settings = {"budget": 20} if method == "rlm" else {"budget": 20, "tools": "text"}
    started = first_line(method, settings, task="theorem", sample=f"theorem:{sentinel}")
    model = Shuffled(by_name(SCRIPTS[method]), 0)
    asyncio.run(
        live(
            build(method, settings),
            started,
            Doors(model, Interpreter()),
            consumers=[events.append],
            clock=None,
        )
    )
    shown = [m.content for call in model.calls for m in call.request.messages]
    assert shown
    assert not any(sentinel in content or "theorem:" in content for content in shown)


POOL = [
    line
    for script in SCRIPTS.values()
    for lines in script.values()
    for line in lines
    if isinstance(line, str)
]


def noisy(chance: random.Random) -> str:
    """A reply of the scripts, cut anywhere, with noise put in."""
    content = chance.choice(POOL)[: chance.randrange(700)]
    place = chance.randrange(len(content) + 1)
    noise = "".join(chance.choice('"\n:`>{}[]<\u202e\x1b0_\x00é') for _ in range(chance.randrange(9)))
    return content[:place] + noise + content[place:]


@pytest.mark.parametrize("method", SCRIPTS)
def test_x5_cut_and_noisy_replies_never_break_a_method(method: str, tmp_path: Path) -> None:
    for seed in range(40):
        chance = random.Random(f"{method} {seed}")
        log = tmp_path / f"{seed}.jsonl"
        run = ran(method, lambda call, chance=chance: noisy(chance), log, code=Interpreter(), budget=30)
        assert run.result.status in ("answered", "no_answer")
        assert again(log).answer == run.result.answer


def test_x5_no_reader_raises_on_noise() -> None:
    """5,000 texts through every reader of replies."""
    chance = random.Random(5)
    for _ in range(5000):
        content = noisy(chance)
        deliberation.assessment(content)
        deliberation.recommendations(content)
        assert deliberation.actions(content)
        assert isinstance(read_worker(content).title, str)
        assert isinstance(answer_of(content), str)
        native = Reply(content, (ToolCall("i", content[:9], content),))
        for use in (*tools.uses(Reply(content)), *tools.uses(native)):
            deliberation.batch(use.arguments)


@pytest.mark.parametrize(
    "piece",
    ["<candidate id=", "<action ", "<title>", "recommendations: [", "- action_id: A\n", "```json\n{", "0_0 "],
)
def test_readers_are_linear_in_the_length_of_a_reply(piece: str) -> None:
    """A megabyte of openings is read in the time limit of a test, which quadratic readers miss."""
    content = piece * (1_000_000 // len(piece))
    deliberation.assessment(content)
    deliberation.actions(content)
    deliberation.recommendations(content)
    tools.uses(Reply(content))
    read_worker(content)


# Trees and layers, which screens draw.


def test_the_tree_puts_each_artifact_under_the_first_one_it_was_shown() -> None:
    rows = tree(run_of("meta_reasoning").trace)
    assert [(r.id, r.indent, r.depth, r.also) for r in rows] == [
        ("0_0", 0, 0, ()),
        ("1_2", 1, 1, ("0_1",)),
        ("0_1", 0, 0, ()),
        ("1_1", 1, 1, ()),
        ("0_2", 0, 0, ()),
        ("1_0", 0, 0, ()),
    ]
    by_id = {row.id: row for row in rows}
    assert by_id["1_1"].submitted
    assert by_id["0_1"].readers == ("propose of cycle 1",)
    assert by_id["0_1"].used_by == ("1_1", "1_2")
    assert by_id["0_1"].verdict == "FUNDAMENTALLY_FLAWED"
    assert by_id["1_0"].kind == "note"


def test_the_layers_are_the_worker_artifacts_by_depth() -> None:
    assert layers(run_of("meta_reasoning").trace) == [["0_0", "0_1", "0_2"], ["1_1", "1_2"]]


class OneBatch(MetaReasoning, frozen=True):
    """Runs one batch of three behind four calls that somebody made, and keeps what it is given."""

    kept: ClassVar[list[Artifact]] = []

    async def solve(self, run: Run, question: str) -> Solution:
        batch = deliberation.Batch(("", "", ""), ((), (), ()))
        self.kept[:] = await run_batch(run, question, Memory(), batch, 2, 4, "dispatch")
        return Solution("done", "stopped")


def test_what_a_batch_gives_to_the_controller_says_after_how_many_calls_each_was_there() -> None:
    """In index order, one call each: 5, 6, 7; the same as the trace finds from the events (1, 2, 3 of
    this run, which made no others)."""
    seen = Shuffled(lambda call: worked(call.name, "b", "1", "LOW"), 3)
    events: list[AnyEvent] = []
    started = first_line("meta_reasoning", {})
    asyncio.run(live(OneBatch(), started, Doors(seen), consumers=[events.append], clock=None))
    assert [(a.id, a.available_at) for a in OneBatch.kept] == [("2_0", 5), ("2_1", 6), ("2_2", 7)]
    assert [a.available_at for a in trace(events).workers] == [1, 2, 3]


def test_the_methods_are_registered_and_a_failed_worker_is_known_by_its_body() -> None:
    assert set(SCRIPTS) <= set(METHODS)
    assert FAILED == "worker failed"
