"""MC2 over whole streams: no gold in any prompt (C-2), the same knowledge whatever happens (C-10),
and what a run leaves behind for a later one."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from mc2_runs import Golds, by_role, policies, solve, stream
from scripted_runs import again, go_on, lines_of

from meta_tui.errors import CallFailed, Unfinished
from meta_tui.evaluation.learner import SimulatedLearner, items
from meta_tui.events import Answered, AnyEvent, Failed, Rejected, Requested, Scored, SpanStarted, Stored
from meta_tui.methods import build
from meta_tui.methods.carried import as_setting, from_json, left_behind, to_json
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.session import TaskScorer
from meta_tui.sources import header, live
from meta_tui.tasks.theorem import generate

VARIANTS = ("only_reasoner", "reasoner_updates", "rmc", "rmc_micro", "full")
SAMPLES = [generate(n, 3, recurring=0.8) for n in range(12)]


def simulated(log: Path | None, order: list[int] | None = None, **settings: Any) -> list[AnyEvent]:
    """A stream of 12 theorem questions in 3 batches with the simulated learner."""
    chosen = [SAMPLES[n] for n in order or range(12)]
    method = build("mc2", {"batch": 4, **settings})
    events: list[AnyEvent] = []
    started = header(method, "q", model="simulation", stream=items(chosen))
    doors = Doors(ScriptedModel(SimulatedLearner(SAMPLES)), scorer=TaskScorer({s.id: s for s in SAMPLES}))
    asyncio.run(live(method, started, doors, log=log, consumers=[events.append], clock=None))
    return events


def knowledge(events: list[AnyEvent]) -> list[tuple[str, str]]:
    """Every lesson and checklist, with its text."""
    kinds = ("lesson", "knowledge")
    return [(e.id, e.body) for e in events if isinstance(e, Stored) and e.kind in kinds]


@pytest.mark.parametrize("variant", VARIANTS)
def test_c2_a_sentinel_gold_answer_is_in_no_prompt_and_in_no_log_before_its_score(
    variant: str, tmp_path: Path
) -> None:
    """Over a whole stream, right and wrong answers alike; the flag is all that is told."""
    golds = {f"t:{n}": f"SENTINEL-{n}" if n % 2 else "7" for n in range(12)}
    log = tmp_path / "run.jsonl"
    told = solve("mc2", by_role, stream(12), golds=golds, batch=4, variant=variant, log=log)
    assert told.result.status == "completed"
    assert not [p for p in told.prompts() if "SENTINEL" in p]
    assert b"SENTINEL" not in log.read_bytes()


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_instance_has_its_answer_in_its_own_span(variant: str) -> None:
    told = solve("mc2", by_role, stream(8), batch=4, variant=variant)
    answers = [e for e in told.events if isinstance(e, Answered)]
    assert [e.text for e in answers] == ["7"] * 8
    assert len({e.span for e in answers}) == 8
    assert told.result.answer is None
    assert told.result.reason == "stream"


@pytest.mark.parametrize("variant", VARIANTS)
def test_c10_a_stream_replays_exactly_and_twice_alike(variant: str, tmp_path: Path) -> None:
    one, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first, second = simulated(one, variant=variant), simulated(other, variant=variant)
    assert one.read_bytes() == other.read_bytes()
    assert knowledge(first) == knowledge(second)
    assert again(one).status == "completed"


def _prompts(events: list[AnyEvent]) -> dict[str, list[str]]:
    """Instance -> the keys of what was asked for it, in order."""
    names = {e.span: e.name for e in events if isinstance(e, SpanStarted) and e.role == "instance"}
    found: dict[str, list[str]] = {name: [] for name in names.values()}
    for event in events:
        if isinstance(event, Requested) and event.span.partition("/")[0] in names:
            found[names[event.span.partition("/")[0]]].append(event.key)
    return found


@pytest.mark.parametrize("variant", ["reasoner_updates", "rmc_micro", "full"])
def test_c10_the_order_inside_a_batch_changes_no_prompt_and_no_knowledge(variant: str) -> None:
    plain = simulated(None, variant=variant)
    for seed in range(5):
        chance = random.Random(seed)
        order = [b * 4 + n for b in range(3) for n in chance.sample(range(4), 4)]
        shuffled = simulated(None, order, variant=variant)
        assert knowledge(shuffled) == knowledge(plain)
        assert _prompts(shuffled) == _prompts(plain)


@pytest.mark.parametrize("variant", ["reasoner_updates", "full"])
def test_a_stream_that_is_cut_anywhere_and_resumed_learns_the_same(variant: str, tmp_path: Path) -> None:
    """Cut at 25 places over all batches, as a kill would; the resumed log is whole and exact."""
    whole = tmp_path / "whole.jsonl"
    expected = knowledge(simulated(whole, variant=variant))
    lines = lines_of(whole)
    for n in range(25):
        cut = 1 + (len(lines) - 1) * n // 25
        log = tmp_path / f"{n}.jsonl"
        log.write_bytes(b"".join(lines[:cut]) + lines[cut][: len(lines[cut]) // 2])
        with pytest.raises(Unfinished):
            again(log)
        model = ScriptedModel(SimulatedLearner(SAMPLES))
        go_on(log, Doors(model, scorer=TaskScorer({s.id: s for s in SAMPLES})))
        events = read(log).events
        assert knowledge(events) == expected
        assert again(log).status == "completed"
        replied = sum(b'"e":"Replied"' in line for line in lines[:cut])
        assert len(model.calls) == sum(b'"e":"Replied"' in line for line in lines) - replied


def test_a_failed_instance_costs_its_stream_nothing_but_its_answer(tmp_path: Path) -> None:
    def reply(call: Call) -> Line:
        if call.role == "monitor" and "number 2" in call.request.messages[-1].content:
            return CallFailed("filtered", "no")
        return by_role(call)

    log = tmp_path / "run.jsonl"
    told = solve("mc2", reply, stream(4), batch=4, log=log)
    assert told.result.status == "completed"
    assert sum(isinstance(e, Answered) for e in told.events) == 3
    assert [e.reason for e in told.events if isinstance(e, Rejected)] == [
        "filtered: this instance has no answer; the stream goes on"
    ]
    assert [e.id for e in told.stored("reflection")] == ["t:0", "t:1", "t:3"]
    assert again(log).status == "completed"


def test_a_server_that_is_down_ends_the_stream_which_can_be_resumed(tmp_path: Path) -> None:
    down = True

    def reply(call: Call) -> Line:
        if down and call.name == "Compose":
            return CallFailed("server", "down")
        return by_role(call)

    log = tmp_path / "run.jsonl"
    told = solve("mc2", reply, stream(8), batch=4, log=log)
    assert (told.result.status, told.result.reason) == ("failed", "server")
    down = False
    assert go_on(log, Doors(ScriptedModel(reply), scorer=Golds())).status == "completed"
    assert not [e for e in read(log).events if isinstance(e, Failed)]
    assert again(log).status == "completed"


def test_passes_go_through_the_stream_again_with_what_was_learned() -> None:
    told = solve("mc2", by_role, stream(4), batch=4, passes=3)
    assert [e.id for e in told.stored("batch")] == ["1", "2", "3"]
    assert len(told.calls(name="Compose")) == 8
    assert sum(isinstance(e, Answered) for e in told.events) == 12


def test_carried_in_sequence_an_instance_goes_on_from_the_instructions_before_it() -> None:
    numbers = iter(range(100))

    def reply(call: Call) -> Line:
        if call.name == "Compose":
            n = next(numbers)
            return policies(P_R=f"reasoner {n}", P_M="m", P_C="c")
        return by_role(call)

    told = solve("mc2", reply, stream(8), batch=4, carry="sequential")
    prompts = told.prompts(name="Compose")
    assert "You are the Reasoner of a team of three" in prompts[0]
    for n in (1, 2, 3):
        assert f"reasoner {n - 1}" in prompts[n]
    together = solve("mc2", by_role, stream(8), batch=4).prompts(name="Compose")
    assert all("You are the Reasoner of a team of three" in p for p in together)


def test_what_a_run_learned_begins_a_later_one(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    simulated(log)
    carried = left_behind(read(log), "run")
    assert from_json(to_json(carried), "file") == carried
    assert carried.knowledge["batch"] == 3
    told = solve("mc2", by_role, stream(1), **as_setting(carried, "mc2"))
    (prompt,) = told.prompts(name="Compose")
    rules = [r["text"] for r in carried.knowledge["roles"]["reasoner"]["rules"]]
    assert rules
    assert all(rule in prompt for rule in rules)
    assert [e.id for e in told.stored("batch")] == ["4"]


@pytest.mark.parametrize("variant", ["full", "rmc_micro", "reasoner_updates"])
def test_what_is_left_behind_is_what_the_next_batch_would_have_started_from(
    variant: str, tmp_path: Path
) -> None:
    """12 questions in one run, or 8 and then 4 with what the first run left: the same prompts."""
    log = tmp_path / "run.jsonl"
    plain = simulated(None, variant=variant)
    simulated(log, list(range(8)), variant=variant)
    carried = as_setting(left_behind(read(log)), "mc2")
    later = simulated(None, list(range(8, 12)), variant=variant, **carried)
    assert _prompts(later) == {
        name: keys for name, keys in _prompts(plain).items() if name in _prompts(later)
    }
    assert knowledge(later) == knowledge(plain)[-len(knowledge(later)) :]
    assert len(knowledge(later)) == {"full": 6, "rmc_micro": 3, "reasoner_updates": 2}[variant]


def test_a_score_tells_right_or_wrong_and_not_a_word_more() -> None:
    events = simulated(None)
    scores = [e for e in events if isinstance(e, Scored)]
    assert len(scores) == 12
    assert {e.value for e in scores} <= {0.0, 1.0}
    assert {(e.metric, e.feedback) for e in scores} == {("strict", "")}


async def test_an_unknown_sample_is_refused_with_what_to_do() -> None:
    with pytest.raises(CallFailed, match="give the stream's file again with --stream"):
        await TaskScorer({}).score("t:1", "7")


def test_a_single_question_is_a_stream_of_one_without_labels() -> None:
    told = solve("mc2", by_role)
    assert (told.result.status, told.result.reason, told.result.answer) == ("answered", "accepted", "7")
    assert told.result.calls == 3 + 6
    assert not [e for e in told.events if isinstance(e, Scored)]
    assert told.bodies("reflection")[0]["label_free"]
