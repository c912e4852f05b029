"""The door of a method: addresses, draws, strands, chance, stops, failures and consumers."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from checkout import project
from scripted_runs import again, go_on, objects, run

from meta_tui import methods
from meta_tui.chat import CodeResult, Message, Params, Program, Reply, Usage, user
from meta_tui.errors import CallFailed, MetaTuiError, RecordError, Stopped, StrandBusy
from meta_tui.events import (
    AnyEvent,
    BudgetChanged,
    CodeStarted,
    Failed,
    How,
    Replied,
    Requested,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
)
from meta_tui.models.base import Answer, Attempt, Call, Tell, encode_vector
from meta_tui.models.scripted import ScriptedCode, ScriptedModel
from meta_tui.run import Doors, Run, RunResult, Solution, Stop
from meta_tui.runlog import read
from meta_tui.sources import header, live, replay, resume

Body = Callable[[Run], Awaitable[str | None]]


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A method whose body a test gives."""

    id: ClassVar[str] = "probe"
    body: ClassVar[Body]

    async def solve(self, run: Run, question: str) -> Solution:
        return Solution(await type(self).body(run), "done")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    methods.register(Probe)
    yield
    del methods.METHODS["probe"], methods._OWN["probe"]


def started(**more: Any) -> RunStarted:
    return header(Probe(), "q", model="m", **more)


def solve(
    body: Body,
    log: Path | None = None,
    model: Any = None,
    *,
    stop: Stop | None = None,
    doors: Doors | None = None,
    told: list[AnyEvent] | None = None,
    **more: Any,
) -> RunResult:
    """Run a body as a method."""
    Probe.body = staticmethod(body)
    use = doors or Doors(model or ScriptedModel(lambda call: f"reply to {call.request.messages[-1].content}"))
    consumers = [told.append] if told is not None else []
    return run(Probe(), started(**more), use, log, stop=stop, consumers=consumers)


async def ask(run: Run, text: str, **params: Any) -> str:
    return (await run.ask([user(text)], Params(**params) if params else None)).text


def effects(run: Run) -> dict[str, Callable[[], Awaitable[object]]]:
    """All that a strand can wait for."""
    return {
        "ask": lambda: run.ask([user("b")]),
        "ask_many": lambda: run.ask_many([[user("b")]]),
        "execute": lambda: run.execute(Program("pass")),
        "embed": lambda: run.embed(["a"], "e"),
        "score": lambda: run.score("a"),
        "parallel": lambda: run.parallel("worker", ["a"], lambda inner, _: ask(inner, "b")),
    }


# Draws and addresses.


def test_the_draw_counts_equal_requests_of_a_strand(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        texts = [await ask(run, "same"), await ask(run, "other"), await ask(run, "same")]
        async with run.span("expert", "Ada") as inner:
            texts.append(await ask(inner, "same"))
        return " ".join(texts)

    solve(body, log, ScriptedModel(["a", "b", "c", "d"]))
    draws = [(line["key"][:4], line.get("draw", 0)) for line in objects(log) if line["e"] == "Requested"]
    assert [draw for _, draw in draws] == [0, 0, 1, 2]
    assert again(log).answer == "a b c d"


def test_ask_many_numbers_equal_requests_in_their_order(tmp_path: Path) -> None:
    """Replies that come in another order stand where they were asked for."""
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        replies = await run.ask_many([[user("same")], [user("same")], [user("other")], [user("same")]])
        return " ".join(r.text for r in replies if isinstance(r, Reply))

    model = Late(lambda call: f"{call.request.messages[0].content}{call.draw}", [0.03, 0.02, 0.01, 0.0])
    assert solve(body, log, model).answer == "same0 same1 other0 same2"
    written = [line["n"] for line in objects(log) if line["e"] == "Replied"]
    assert written == [3, 2, 1, 0], "outcomes are written as they arrive"
    assert again(log).answer == "same0 same1 other0 same2"


def test_ask_many_gives_a_failed_call_as_its_error(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        replies = await run.ask_many(
            [[user("a")], [user("b")], [user("c")]], [Params(), Params(seed=1), Params()]
        )
        return " ".join(r.text if isinstance(r, Reply) else f"!{r.kind}" for r in replies)

    def answer(call: Call) -> Any:
        return CallFailed("filtered", "no") if call.request.params.seed == 1 else "ok"

    assert solve(body, log, ScriptedModel(answer)).answer == "ok !filtered ok"
    assert again(log).answer == "ok !filtered ok"


def test_ask_many_wants_as_many_parameters_as_requests() -> None:
    async def body(run: Run) -> str:
        await run.ask_many([[user("a")], [user("b")]], [Params()])
        return "x"

    with pytest.raises(ValueError, match="shorter"):
        solve(body)


def test_ask_many_of_nothing_is_nothing(tmp_path: Path) -> None:
    async def body(run: Run) -> str:
        return str(await run.ask_many([]))

    assert solve(body, tmp_path / "run.jsonl").answer == "[]"


class Late:
    """A model whose nth call answers after a delay of its own."""

    def __init__(self, answer: Callable[[Call], str], delays: list[float]) -> None:
        self._answer = answer
        self._delays = iter(delays)
        self.calls: list[Call] = []

    async def answer(self, call: Call, tell: Tell) -> Answer:
        self.calls.append(call)
        await asyncio.sleep(next(self._delays))
        return Answer(Reply(self._answer(call)), None)


class Shuffled:
    """A model that lets waiting calls go in a random order; every reply is told apart by when it
    was sent, as a provider at temperature 1 would."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._waiting: list[asyncio.Future[None]] = []
        self.calls: list[Call] = []

    async def answer(self, call: Call, tell: Tell) -> Answer:
        self.calls.append(call)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, self._let_go())
        await turn
        return Answer(Reply(f"reply {len(self.calls)} {self._chance.random():.6f}"), None)

    async def _let_go(self) -> None:
        for _ in range(self._chance.randrange(5)):
            await asyncio.sleep(0)
        if self._waiting:
            self._waiting.pop(self._chance.randrange(len(self._waiting))).set_result(None)


async def equal_strands(run: Run) -> str:
    """Three strands that ask the same twice, one of which opens two of its own; after them the
    same strands once more."""

    async def work(run: Run, index: int) -> str:
        first = await ask(run, "same")
        if index == 1:
            inner = await run.parallel("worker", ["x", "y"], lambda inner, _: ask(inner, "same"))
            first += "|".join(inner)
        run.store("note", f"n{index}", body=first)
        return f"{first} {await ask(run, 'same')} {run.random.random():.4f}"

    texts = await run.parallel("worker", ["a", "b", "c"], work)
    texts += await run.parallel("worker", ["d", "e", "f"], work)
    return "\n".join(texts)


def test_equal_prompts_in_three_strands_replay_exactly_in_200_orders(tmp_path: Path) -> None:
    """Whoever finishes first: addresses are places, never arrivals. X-6: ids do not move."""
    shapes = set()
    orders = set()
    for seed in range(200):
        log = tmp_path / f"{seed}.jsonl"
        result = solve(equal_strands, log, Shuffled(seed))
        assert result.status == "answered"
        assert again(log).answer == result.answer
        found = objects(log)
        spans = {"": ""} | {line["span"]: line["strand"] for line in found if line["e"] == "SpanStarted"}
        places = {
            (spans[line.get("span", "")], line["key"], line.get("draw", 0), line.get("span", ""), line["n"])
            for line in found
            if line["e"] == "Requested"
        }
        shapes.add(frozenset(places))
        orders.add(tuple((line.get("span"), line["n"]) for line in found if line["e"] == "Replied"))
    assert len(shapes) == 1
    assert len(orders) > 50
    (shape,) = shapes
    assert len(shape) == 16
    assert {strand for strand, *_ in shape} == {"0", "1", "2", "1.0", "1.1"}
    assert {draw for strand, _, draw, *_ in shape if strand == "0"} == {0, 1, 2, 3}, "draws count on"


def test_a_run_with_strands_cut_anywhere_goes_on_and_replays(tmp_path: Path) -> None:
    """Recorded replies keep their places; only what is missing is asked, once."""
    log = tmp_path / "run.jsonl"
    model = Shuffled(3)
    whole = solve(equal_strands, log, model)
    lines = log.read_bytes().splitlines(keepends=True)
    recording = read(log)
    replies = {place: outcome[-1] for place, outcome in recording.outcomes.items()}

    def answer(call: Call) -> Reply:
        outcome = replies[call.request.key, call.strand, call.draw]
        assert isinstance(outcome, Replied)
        return outcome.reply

    for count in range(1, len(lines)):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(b"".join(lines[:count]))
        known = set(read(cut).outcomes)
        again_model = ScriptedModel(answer)
        assert go_on(cut, Doors(again_model)).answer == whole.answer
        asked = [(call.request.key, call.strand, call.draw) for call in again_model.calls]
        assert sorted(asked) == sorted(set(replies) - known)
        assert again(cut).answer == whole.answer


def test_spans_are_positions_and_open_in_order(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        async with run.span("stage", "one") as one, one.span("expert", "inner"):
            pass
        await run.parallel("worker", ["a", "b"], lambda inner, _: ask(inner, "x"))
        return "x"

    solve(body, log)
    spans = [
        (line["span"], line["name"], line.get("strand", ""))
        for line in objects(log)
        if line["e"] == "SpanStarted"
    ]
    assert spans == [("1", "one", ""), ("1/1", "inner", ""), ("2", "a", "0"), ("3", "b", "1")]


def test_a_failure_in_one_branch_lets_the_others_end_and_is_raised_after_them(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    ended = []

    async def work(run: Run, index: int) -> str:
        for step in range(index + 1):
            await ask(run, f"{index} {step}")
        ended.append(index)
        return "x"

    async def body(run: Run) -> str:
        try:
            await run.parallel("worker", ["a", "b", "c"], work)
        except CallFailed as error:
            return f"caught {error.kind} {await ask(run, 'after')}"
        return "nothing"

    def answer(call: Call) -> Any:
        return CallFailed("server", "down") if call.strand == "0" else "fine"

    result = solve(body, log, ScriptedModel(answer))
    assert result.answer == "caught server fine"
    assert ended == [1, 2]
    assert {
        line["span"]: line.get("status", "done") for line in objects(log) if line["e"] == "SpanFinished"
    } == {
        "1": "failed",
        "2": "done",
        "3": "done",
    }
    assert again(log).answer == result.answer


def test_a_branch_that_failed_and_was_taken_stays_failed_when_the_run_is_resumed(tmp_path: Path) -> None:
    """The strand that waited for the branch went on, so the failure is part of the run."""
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        try:
            await run.parallel("worker", ["a", "b"], lambda inner, i: ask(inner, f"{i}"))
        except CallFailed as error:
            return f"{error.kind} {await ask(run, 'after')}"
        return "nothing failed"

    def down(call: Call) -> Any:
        return "fine" if call.strand == "1" else CallFailed("server", "down")

    assert solve(body, log, ScriptedModel(down)).status == "failed"
    model = ScriptedModel(["up again"])
    assert go_on(log, Doors(model)).answer == "server up again"
    assert [call.strand for call in model.calls] == [""]
    assert again(log).answer == "server up again"


def test_the_first_error_by_index_is_raised() -> None:
    async def work(run: Run, index: int) -> str:
        await asyncio.sleep(0.01 * (2 - index))
        raise CallFailed("server" if index == 0 else "cut")

    async def body(run: Run) -> str:
        await run.parallel("worker", ["a", "b", "c"], work)
        return "x"

    assert solve(body).reason == "server"


@pytest.mark.parametrize("second", ["ask", "ask_many", "execute", "embed", "score", "parallel"])
def test_a_strand_has_one_call_outstanding(second: str) -> None:
    """The message says what to use instead."""
    caught: list[StrandBusy] = []

    async def body(run: Run) -> str:
        first = asyncio.ensure_future(run.ask([user("a")]))
        await asyncio.sleep(0)
        try:
            await effects(run)[second]()
        except StrandBusy as error:
            caught.append(error)
        return (await first).text

    assert solve(body, model=Late(lambda call: "first", [0.01])).answer == "first"
    assert "ask_many" in str(caught[0])
    assert "parallel" in str(caught[0])


def test_a_span_of_a_busy_strand_is_as_busy() -> None:
    async def body(run: Run) -> str:
        async with run.span("expert", "Ada") as inner:
            first = asyncio.ensure_future(inner.ask([user("a")]))
            await asyncio.sleep(0)
            with pytest.raises(StrandBusy):
                await run.ask([user("b")])
            return (await first).text

    assert solve(body, model=Late(lambda call: "first", [0.01])).answer == "first"


def test_chance_is_one_sequence_for_each_strand_and_the_same_on_replay(tmp_path: Path) -> None:
    """Spans of a strand draw in turn; strands and seeds differ; resume and replay agree."""
    log = tmp_path / "run.jsonl"
    drawn: list[list[float]] = []

    async def body(run: Run) -> str:
        numbers = [run.random.random()]
        async with run.span("stage", "a") as inner:
            numbers.append(inner.random.random())
        numbers.append(run.random.random())
        numbers += await run.parallel("worker", ["a", "b"], lambda inner, _: draw(inner))
        numbers += await run.parallel("worker", ["a", "b"], lambda inner, _: draw(inner))
        drawn.append(numbers)
        return str(numbers)

    async def draw(run: Run) -> float:
        await ask(run, "x")
        return run.random.random()

    solve(body, log, seed=5)
    again(log)
    solve(body, None, seed=6)
    first, second, other = drawn
    assert first == second
    assert len(set(first)) == 7
    assert not set(first) & set(other)
    expected = random.Random("5/")
    assert first[:3] == [expected.random() for _ in range(3)]
    assert first[3] == random.Random("5/0").random()


# Other effects.


class Vectors:
    """Embeds a text as its length and a third."""

    async def embed(self, model: str, texts: Any) -> tuple[list[list[float]], How]:
        return [[float(len(text)), 1 / 3] for text in texts], How()


class Grades:
    """Grades by equality; gives an int where a float is meant."""

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        return "em", int(answer == "42"), f"for {sample}"


async def all_effects(run: Run) -> str:
    run.round(1, 1)
    vectors = await run.embed(["ab", "c"], "e")
    result = await run.execute(Program("print(1)", inputs={"x": (1, 2)}, result="y"))
    grade = await run.score("42")
    text = await ask(run, "q", temperature=0)
    run.budget()
    run.store("lesson", "l1", "Title", "Body", ["a"])
    run.reject("why not")
    run.answered("half")
    run.keep("kept")
    return f"{vectors} {result.value} {grade.value} {grade.feedback} {text}"


def effect_doors() -> Doors:
    return Doors(
        ScriptedModel([Reply("r", usage=Usage(3, 4))]),
        ScriptedCode([CodeResult("ok", "1\n", value={"y": [1.0, None]})]),
        Vectors(),
        Grades(),
    )


def test_every_effect_replays_to_the_value_that_the_run_saw(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    result = solve(all_effects, log, doors=effect_doors(), sample="game24:3")
    third = 0.3333333432674408  # 1/3 as a float32
    assert result.answer == f"[[2.0, {third}], [1.0, {third}]] {{'y': [1.0, None]}} 1.0 for game24:3 r"
    assert (result.calls, result.tokens) == (1, 7)
    replayed = again(log)
    assert replayed.answer == result.answer
    assert (replayed.calls, replayed.tokens) == (1, 7)


def test_every_effect_cut_anywhere_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    whole = solve(all_effects, log, doors=effect_doors())
    lines = log.read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines)):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(b"".join(lines[:count]))
        doors = effect_doors()
        assert go_on(cut, doors).answer == whole.answer
        assert cut.read_bytes() == log.read_bytes()


@pytest.mark.parametrize("effect", ["ask", "execute", "embed", "score"])
def test_a_closed_door_fails_the_effect(effect: str, tmp_path: Path) -> None:
    """The message names the door; the failure is recorded, so it replays."""
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        try:
            await effects(run)[effect]()
        except CallFailed as error:
            return str(error)
        return "open"

    answer = solve(body, log, doors=Doors()).answer
    assert answer is not None
    assert answer.startswith("unsupported: this run has no")
    assert again(log).answer == answer


def test_vectors_are_little_endian_float32() -> None:
    assert encode_vector([1.0, -2.5]) == "AACAPwAAIMA="  # 0000803f 000020c0


# Failures.


def test_attempts_are_told_and_only_the_last_outcome_counts(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"

    class Flaky:
        async def answer(self, call: Call, tell: Tell) -> Answer:
            tell(Attempt("rate_limit", "slow down", 1, 2))
            tell(Attempt("server", "oops", 2, 4.0004))
            return Answer(Reply("third"), How(attempts=3))

    assert solve(lambda run: ask(run, "q"), log, Flaky()).answer == "third"
    failed = [line for line in objects(log) if line["e"] == "Failed"]
    assert [(f["kind"], f.get("attempt", 1), f["retry_in"]) for f in failed] == [
        ("rate_limit", 1, 2.0),
        ("server", 2, 4.0),
    ]
    assert again(log).answer == "third"


def test_a_failure_of_no_known_kind_keeps_its_words_and_the_log_readable(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    result = solve(lambda run: ask(run, "q"), log, ScriptedModel([CallFailed("strange", "as never before")]))
    assert (result.status, result.reason) == ("failed", "unknown")
    (failed,) = [e for e in read(log).events if isinstance(e, Failed)]
    assert failed.message == "strange: as never before"
    assert again(log).status == "failed"


def test_a_method_that_breaks_ends_its_log_and_replays(tmp_path: Path) -> None:
    """Live, the error is raised; the log says failed; a replay fails alike and is exact."""
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        async with run.span("stage", "a") as inner:
            await ask(inner, "q")
            return dict[str, str]()["missing"]

    with pytest.raises(KeyError):
        solve(body, log)
    recording = read(log)
    assert recording.events[-1] == RunFinished("failed", "exception KeyError")
    assert SpanFinished("failed", span="1") in recording.events
    assert again(log).status == "failed"


def test_a_run_whose_method_was_mended_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"

    async def broken(run: Run) -> str:
        return (await ask(run, "q"))[99]

    async def mended(run: Run) -> str:
        return await ask(run, "q")

    with pytest.raises(IndexError):
        solve(broken, log)
    Probe.body = staticmethod(mended)
    model = ScriptedModel([])
    assert go_on(log, Doors(model)).answer == "reply to q"
    assert not model.calls


@pytest.mark.parametrize("kind", ["budget", "cancelled"])
def test_a_door_that_stops_a_run_ends_it(kind: str, tmp_path: Path) -> None:
    """The budget stands before the model and stops the run; the best answer so far is kept."""
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        run.keep(await ask(run, "one"))
        return await ask(run, "two")

    result = solve(body, log, ScriptedModel(["best", Stopped(kind, "no more")]))
    assert (result.status, result.reason, result.answer) == (kind, kind, "best")
    assert again(log).answer == "best"


# Stops.


async def three_strands(run: Run) -> str:
    run.keep("best so far")
    await ask(run, "first")

    async def work(run: Run, index: int) -> str:
        async with run.span("expert", f"E{index}") as inner:
            await inner.ask_many([[user("a")], [user("b")]])
        return await ask(run, "c")

    return "".join(await run.parallel("worker", ["x", "y", "z"], work)) + await ask(run, "last")


class Counting:
    """A model that answers at once, after some steps of the loop, and counts."""

    def __init__(self, at: int = -1, then: Callable[[], None] = lambda: None) -> None:
        self.count = 0
        self._at, self._then = at, then

    async def answer(self, call: Call, tell: Tell) -> Answer:
        self.count += 1
        if self.count == self._at:
            self._then()
        for _ in range(self.count % 4):
            await asyncio.sleep(0)
        return Answer(Reply(f"reply {self.count}"), None)


def check_stopped(log: Path, kind: str) -> None:
    """A stopped log is whole, replays to the same stop, and goes on to an answer."""
    recording = read(log)
    assert recording.events[-1] == RunFinished(kind, kind)  # type: ignore[arg-type]
    started = {e.span for e in recording.events if isinstance(e, SpanStarted)}
    assert started == {e.span for e in recording.events if isinstance(e, SpanFinished)}
    assert again(log).status == kind
    paid = {place for place, o in recording.outcomes.items() if isinstance(o[-1], Replied)}
    model = ScriptedModel(lambda call: "more")
    assert go_on(log, Doors(model)).status == "answered"
    assert not paid & {(call.request.key, call.strand, call.draw) for call in model.calls}
    assert again(log).status == "answered"


@pytest.mark.parametrize("at", range(1, 12))
@pytest.mark.parametrize("kind", ["cancelled", "budget"])
def test_a_stop_after_the_call_lets_replies_under_way_come_in(at: int, kind: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    stop = Stop()
    model = Counting(at, lambda: stop.after_call(kind))
    result = solve(three_strands, log, model, stop=stop)
    if at == 11:
        assert result.status == "answered", "the run was over before another effect"
        return
    assert (result.status, result.answer) == (kind, "best so far")
    assert sum(line["e"] == "Replied" for line in objects(log)) == model.count
    check_stopped(log, kind)


@pytest.mark.parametrize("at", range(1, 12))
def test_a_stop_now_ends_the_calls_under_way(at: int, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    stop = Stop()
    result = solve(three_strands, log, Counting(at, stop.now), stop=stop)
    if result.status == "answered":  # it came with the last reply
        assert at == 11
        return
    assert result.answer == "best so far"
    check_stopped(log, "cancelled")


@pytest.mark.parametrize("steps", range(60))
def test_a_cancelled_task_leaves_a_finished_log(steps: int, tmp_path: Path) -> None:
    """Cancelled after any number of steps of the loop: the error is raised, the log is whole."""
    log = tmp_path / "run.jsonl"
    Probe.body = staticmethod(three_strands)

    async def cancelled_soon() -> bool:
        work = live(Probe(), started(), Doors(Counting()), log=log, clock=None)
        task = asyncio.ensure_future(work)
        for _ in range(steps):
            await asyncio.sleep(0)
        if task.done():
            return False
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return True

    if (
        asyncio.run(cancelled_soon())
        and log.exists()
        and read(log).events[-1] != RunFinished("answered", "done")
    ):
        check_stopped(log, "cancelled")
    assert not log.exists() or read(log).finished


def test_a_reply_that_comes_while_its_call_is_being_stopped_is_kept(tmp_path: Path) -> None:
    """It is paid for."""
    log = tmp_path / "run.jsonl"
    stop = Stop()

    class Stubborn:
        async def answer(self, call: Call, tell: Tell) -> Answer:
            stop.now()
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                return Answer(Reply("just in time"), None)
            raise AssertionError

    async def body(run: Run) -> str:
        return await ask(run, "one") + await ask(run, "two")

    assert solve(body, log, Stubborn(), stop=stop).status == "cancelled"
    assert "just in time" in [e.reply.text for e in read(log).events if isinstance(e, Replied)]
    check_stopped(log, "cancelled")


def test_a_timeout_around_a_run_ends_it_in_time(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    Probe.body = staticmethod(lambda run: ask(run, "q"))

    async def bounded() -> None:
        async with asyncio.timeout(0.05):
            await live(Probe(), started(), Doors(Late(lambda call: "late", [30])), log=log, clock=None)

    with pytest.raises(TimeoutError):
        asyncio.run(bounded())
    check_stopped(log, "cancelled")


def test_a_run_that_was_stopped_before_it_began_asks_nothing(tmp_path: Path) -> None:
    stop = Stop()
    stop.after_call()
    model = Counting()
    assert solve(three_strands, tmp_path / "run.jsonl", model, stop=stop).status == "cancelled"
    assert model.count == 0
    check_stopped(tmp_path / "run.jsonl", "cancelled")


def test_a_method_cannot_swallow_a_stop(tmp_path: Path) -> None:
    """One that catches every failure meets the stop at each further effect, until it ends."""
    log = tmp_path / "run.jsonl"
    stop = Stop()

    async def body(run: Run) -> str:
        for number in range(3):
            try:
                await ask(run, f"{number}")
            except CallFailed:
                run.reject("failed")
        return "went on regardless"

    model = Counting(1, stop.after_call)
    assert solve(body, log, model, stop=stop).answer == "went on regardless"
    assert model.count == 1
    assert again(log).answer == "went on regardless"


# Consumers and the log.


def test_a_display_that_fails_is_dropped_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[AnyEvent] = []

    def broken(event: AnyEvent) -> None:
        seen.append(event)
        raise RuntimeError("no screen")

    good: list[AnyEvent] = []
    Probe.body = staticmethod(three_strands)
    result = run(
        Probe(), started(), Doors(Counting()), tmp_path / "run.jsonl", consumers=[broken, good.append]
    )
    assert result.status == "answered"
    assert len(seen) == 1
    assert isinstance(good[-1], RunFinished)
    assert "went on" not in caplog.text
    assert "a display failed and was dropped" in caplog.text


def test_a_full_disk_stops_the_run_before_anything_more_is_paid_for() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this machine has no /dev/full")
    model = Counting()
    Probe.body = staticmethod(three_strands)
    from meta_tui.journal import Journal
    from meta_tui.run import conduct
    from meta_tui.runlog import Writer

    async def written() -> None:
        with Writer(full) as writer:
            await conduct(Probe(), started(), Journal(writer=writer), Doors(model))

    with pytest.raises(RecordError, match=r"cannot write.*No space.*resume"):
        asyncio.run(written())
    assert model.count == 0


def test_a_log_that_cannot_be_made_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot write"):
        solve(three_strands, tmp_path / "file" / "run.jsonl", Counting())


def test_a_log_is_never_written_over(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    solve(three_strands, log, Counting())
    before = log.read_bytes()
    with pytest.raises(RecordError, match="exists"):
        solve(three_strands, log, Counting())
    assert log.read_bytes() == before


def test_what_is_paid_for_is_on_disk_before_the_method_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    seen = []

    async def body(run: Run) -> str:
        await ask(run, "q")
        seen.append(log.read_bytes().count(b'{"e":"Replied"'))
        return "x"

    solve(body, log)
    assert seen == [1]


def test_the_ledger_counts_recorded_calls_as_it_counted_live_ones(tmp_path: Path) -> None:
    """X-3: calls are requests; tokens are those of their replies."""
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        for number in range(3):
            await ask(run, f"{number}")
            run.budget()
        return str(run.calls)

    script = [Reply("a", usage=Usage(10, 1)), Reply("b"), Reply("c", usage=Usage(20, 2))]
    result = solve(body, log, ScriptedModel(script))
    changes = [e for e in read(log).events if isinstance(e, BudgetChanged)]
    assert [(e.calls, e.tokens) for e in changes] == [(1, 11), (2, 11), (3, 33)]
    assert (result.calls, result.tokens, result.answer) == (3, 33, "3")
    assert again(log).answer == "3"


def test_a_call_says_where_it_stands() -> None:
    """What the layers of a model look at: strand, draw, repeat, span, role and name, fresh."""
    model = ScriptedModel(lambda call: "x")

    async def body(run: Run) -> str:
        async with run.span("expert", "Expert Ada") as inner:
            await ask(inner, "q")
            await ask(inner, "q", seed=1)
        return "x"

    solve(body, model=model, repeat="2", params=Params(temperature=0.5))
    first, second = model.calls
    assert (first.strand, first.draw, first.repeat, first.span) == ("", 0, "2", "1")
    assert (first.role, first.name, first.fresh) == ("expert", "Expert Ada", False)
    assert first.request.params == Params("m", temperature=0.5)
    assert second.request.params == Params("m", temperature=0.5, seed=1)
    assert first.request.messages == (Message("user", "q"),)


def test_inputs_of_a_program_may_be_any_sequence(tmp_path: Path) -> None:
    """What is recorded as a list was a tuple in the run; the key says that it is the same."""
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        await run.execute(Program("pass", inputs={"pair": (1, (2.0, 3))}))
        return "x"

    solve(body, log, doors=Doors(code=ScriptedCode([CodeResult("ok")])))
    assert again(log).answer == "x"
    (program,) = [e.program for e in read(log).events if isinstance(e, CodeStarted)]
    assert json.dumps(program.inputs) == '{"pair": [1, [2.0, 3]]}'


def test_text_that_no_file_can_hold_is_refused_by_name() -> None:
    with pytest.raises(MetaTuiError, match="surrogate"):
        solve(lambda run: ask(run, "\ud800"))
    with pytest.raises(MetaTuiError, match="cannot be stored"):
        solve(lambda run: ask(run, "q"), model=ScriptedModel(["\udfff"]))


async def test_replay_and_resume_run_inside_a_loop(tmp_path: Path) -> None:
    """The coroutines themselves, for callers that have a loop."""
    log = tmp_path / "run.jsonl"
    Probe.body = staticmethod(lambda run: ask(run, "q"))
    await live(Probe(), started(), Doors(ScriptedModel(["a"])), log=log, clock=None)
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:3]))
    assert (await resume(log, Doors(ScriptedModel(["b"])), clock=None)).answer == "b"
    assert (await replay(read(log))).answer == "b"
    assert next(e for e in read(log).events if isinstance(e, Requested)).draw == 0


FULL = """
import asyncio, json, resource, signal, sys
from pathlib import Path
from test_core_run import Counting, Probe, started, three_strands
from meta_tui.errors import RecordError
from meta_tui.run import Doors
from meta_tui.sources import live
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
Probe.body = staticmethod(three_strands)
asked = {}
for limit in map(int, sys.argv[2:]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    model = Counting()
    log = Path(sys.argv[1]) / f"{limit}.jsonl"
    try:
        asyncio.run(live(Probe(), started(), Doors(model), log=log, clock=None))
    except RecordError:
        asked[limit] = model.count
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(json.dumps(asked))
"""

FREED = """
import resource, signal, sys
from pathlib import Path
from meta_tui.errors import RecordError
from meta_tui.events import Rejected, RoundStarted
from meta_tui.runlog import Writer
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))
writer = Writer(Path(sys.argv[1]))
for event in (Rejected("too long for what is left"), RoundStarted(1, 2)):
    try:
        writer.write(event)
    except RecordError:
        print("refused")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def in_a_child(script: str, *arguments: object) -> str:
    """What a script prints that may ruin its process for files."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={
            "PYTHONPATH": os.pathsep.join(map(str, (project(), project() / "tests", Path(__file__).parent))),
            "PATH": os.environ["PATH"],
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_follows_half_a_line_even_if_room_is_made(tmp_path: Path) -> None:
    """Another strand that writes when the disk has room again would damage the log for good."""
    log = tmp_path / "run.jsonl"
    assert in_a_child(FREED, log).split() == ["refused", "refused"]
    assert log.read_bytes() == b'{"e":"Rejected","rea'


def test_a_disk_that_fills_in_the_middle_of_a_line_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    """Half a line stands at the end and nothing behind it, whatever other strands still wanted to
    write; every reply but those of the moment is kept, and the run can be resumed."""
    whole = tmp_path / "whole.jsonl"
    solve(three_strands, whole, Counting())
    limits = range(100, whole.stat().st_size, 61)
    asked = json.loads(in_a_child(FULL, tmp_path, *limits))
    assert set(asked) == set(map(str, limits))
    for limit, count in asked.items():
        log = tmp_path / f"{limit}.jsonl"
        assert log.stat().st_size == int(limit)
        if b"\n" not in log.read_bytes():
            continue
        kept = sum(isinstance(e, Replied) for e in read(log).events)
        assert count - kept <= 6, "at most those that were under way"
        assert go_on(log, Doors(Counting())).status == "answered"
        assert again(log).status == "answered"


async def ledgers(run: Run) -> str:
    """Strands that look at the ledger and keep answers while others are under way."""
    await ask(run, "first")
    seen: list[str] = []

    async def work(run: Run, index: int) -> str:
        for step in range(index + 1):
            await ask(run, f"{index} {step}")
            run.budget()
        run.keep(f"from {index}")
        return f"{index}: {run.calls}"

    seen += await run.parallel("worker", ["a", "b", "c"], work)
    run.budget()
    return f"{' '.join(seen)} then {run.calls}"


def test_what_a_strand_sees_of_the_ledger_does_not_depend_on_the_others(tmp_path: Path) -> None:
    """A strand knows what was spent before it began and what it spent itself; who waits for it then
    knows everything. Numbers of arrivals would replay as a difference."""
    for seed in range(30):
        log = tmp_path / f"{seed}.jsonl"
        result = solve(ledgers, log, Shuffled(seed))
        assert result.answer == "0: 2 1: 3 2: 4 then 7"
        assert again(log).answer == result.answer
        found = {
            line["span"]: line["calls"]
            for line in objects(log)
            if line["e"] == "BudgetChanged" and line.get("span")
        }
        assert found == {"1": 2, "2": 3, "3": 4}
        assert [line["calls"] for line in objects(log) if line["e"] == "BudgetChanged"][-1] == 7


def test_the_best_answer_of_several_strands_is_that_of_the_last_by_index(tmp_path: Path) -> None:
    """Whoever came first: a stopped run must end with the same answer when it is replayed."""

    async def body(run: Run) -> str:
        await ledgers(run)
        return await ask(run, "last")

    for seed in range(30):
        log = tmp_path / f"{seed}.jsonl"
        stop = Stop()

        class Stopping(Shuffled):
            async def answer(self, call: Call, tell: Tell, stop: Stop = stop) -> Answer:
                if call.request.messages[-1].content == "last":
                    raise Stopped("budget")
                return await super().answer(call, tell)

        result = solve(body, log, Stopping(seed), stop=stop)
        assert (result.status, result.answer) == ("budget", "from 2")
        assert again(log).answer == "from 2"


def test_an_answer_may_be_empty_and_is_an_answer(tmp_path: Path) -> None:
    """None is no answer; nothing between the quotes is one, in the log too."""
    log = tmp_path / "run.jsonl"

    async def body(run: Run) -> str:
        return (await ask(run, "q"))[:0]

    assert solve(body, log).status == "answered"
    assert {"e": "Answered", "text": ""} in objects(log)
    assert read(log).answer == ""
    assert again(log).answer == ""
