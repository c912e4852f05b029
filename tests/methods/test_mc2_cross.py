"""X-1 to X-6 for MC2's variants and its baselines alike."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mc2_runs import Golds, by_role, policies, solved, stream
from scripted_runs import again, go_on, lines_of, objects, run

from meta_tui.chat import Reply, Usage
from meta_tui.errors import CallFailed
from meta_tui.events import AnyEvent, Stored
from meta_tui.methods import build
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.sources import header, live

VARIANTS = ("only_reasoner", "reasoner_updates", "rmc", "rmc_micro", "full")
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"mc2-{v}": ("mc2", {"variant": v, "batch": 2}) for v in VARIANTS},
    "mc2-sequential": ("mc2", {"carry": "sequential", "batch": 2}),
    "mc2-per-iteration": ("mc2", {"per_iteration": True, "feedback": "all", "batch": 2}),
    **{name: (name, {}) for name in ("cot", "cot_sc", "tot", "mrp", "meta_reasoner", "bot")},
    "mrp-original": ("mrp", {"pool": "mrp"}),
    "bot-success": ("bot", {"update_on": "success"}),
    "ttpi": ("ttpi", {"steps": 3}),
    "ttpi-entropy": ("ttpi", {"steps": 3, "when": "entropy"}),
}
LOGPROBS = {
    "content": [{"token": "a", "logprob": -0.4, "top_logprobs": [{"token": "a", "logprob": -1.2}] * 4}]
}

each_case = pytest.mark.parametrize("case", CASES)


def text_for(call: Call) -> str:
    """A sensible reply for every role of every method here."""
    name = call.name.partition(":")[0]
    if call.role in ("monitor", "controller") or name.startswith(("Compose", "Distil ", "Consolidate")):
        return str(by_role(call))
    replies = {
        "Select": ">> FINAL CHOICE: step-back",
        "Report": "Going well.\nPROGRESS: 0.5",
        "Template": json.dumps({"description": "d", "category": "code", "template": "t"}),
        "Distil": "the problem, taken apart",
    }
    rates = "line of reasoning:" in call.request.messages[-1].content
    return "Rating: 6" if rates else replies.get(name, solved())


def sensible(call: Call) -> Reply:
    """The same with usage and log-probabilities."""
    return Reply(
        text_for(call), usage=Usage(11, 3), logprobs=LOGPROBS if call.request.params.logprobs else None
    )


def solve_case(case: str, reply: Callable[[Call], Line], log: Path | None, count: int = 5) -> Any:
    """Run a case on a stream (of one question where count is 0)."""
    name, settings = CASES[case]
    method = build(name, settings)
    started = header(method, "What is 6 times 7?", model="m", stream=stream(count), seed=3)
    return run(method, started, Doors(ScriptedModel(reply), scorer=Golds()), log)


@each_case
@pytest.mark.parametrize("count", [0, 5])
@pytest.mark.parametrize("reply", ["", " \n", "\x00", "{}", "?"])
def test_x1_a_method_ends_on_replies_that_say_nothing(
    case: str, count: int, reply: str, tmp_path: Path
) -> None:
    """A status, no exception, bounded calls: 9 an instance with as many re-asks for MC2's loop."""
    log = tmp_path / "run.jsonl"
    result = solve_case(case, lambda call: reply, log, count)
    ends = {"completed"} if count else {"no_answer"}
    assert result.status in (ends | {"failed"} if case.startswith("ttpi") else ends)
    most = {"mc2": 2 * 9 + 2 * 6 + 6, "tot": 31, "meta_reasoner": 17, "ttpi": 16, "cot_sc": 5}
    assert result.calls <= max(1, count) * most.get(CASES[case][0], 6)
    assert again(log).calls == result.calls


@each_case
@pytest.mark.parametrize("count", [0, 5])
def test_x2_a_method_replays_from_its_own_log(case: str, count: int, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    result = solve_case(case, sensible, log, count)
    assert result.status == ("completed" if count else "answered")
    replayed = again(log)
    assert (replayed.status, replayed.calls, replayed.answer) == (result.status, result.calls, result.answer)


@each_case
def test_x3_the_ledger_is_the_count_of_requests_and_the_sum_of_usage(case: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    result = solve_case(case, sensible, log)
    found = objects(log)
    assert result.calls == sum(line["e"] == "Requested" for line in found)
    assert result.tokens == 14 * sum(line["e"] == "Replied" for line in found) == 14 * result.calls


@each_case
def test_x4_a_sentinel_target_is_in_no_prompt_and_not_in_the_log(case: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    name, settings = CASES[case]
    method = build(name, settings)
    started = header(method, "q", model="m", stream=stream(5))
    golds = {f"t:{n}": ("SENTINEL" if n % 2 else "7") for n in range(5)}
    model = ScriptedModel(sensible)
    run(method, started, Doors(model, scorer=Golds(golds)), log)
    assert not [m for call in model.calls for m in call.request.messages if "SENTINEL" in m.content]
    assert b"SENTINEL" not in log.read_bytes()


POOL = [
    solved(),
    "ACTION: 2\nCORRECTED_REASONING: 1. x\nFINAL_ANSWER: 9",
    "ERROR_FOUND: YES\nERROR_STEP: 2\nERROR_DESCRIPTION: hm",
    policies(),
    '{"do": [{"rule": "r", "when": "w", "evidence_ids": [1]}], "avoid": [{"rule": 3}]}',
    '{"rules": [{"text": "t", "kind": "avoid"}, {"kind": "do"}]}',
    ">> FINAL CHOICE: ToT\nGRADE CoT: 4",
    "Rating: 9\nPROGRESS: 0.3",
    '{"description": "d", "category": "code", "template": "t"}',
]


@each_case
def test_x5_cut_and_noisy_replies_never_break_a_method(case: str, tmp_path: Path) -> None:
    """15 streams each, every one replayed exactly."""
    for seed in range(15):
        chance = random.Random(f"{case} {seed}")

        def answer(call: Call, chance: random.Random = chance) -> Reply:
            text = chance.choice(POOL)[: chance.randrange(100)]
            place = chance.randrange(len(text) + 1)
            noise = "".join(chance.choice('"\n:`{}[]\u202e\x1b\\$*1é') for _ in range(chance.randrange(9)))
            logprobs = LOGPROBS if call.request.params.logprobs and chance.random() < 0.8 else None
            return Reply(text[:place] + noise + text[place:], logprobs=logprobs)

        log = tmp_path / f"{seed}.jsonl"
        result = solve_case(case, answer, log, 4)
        assert result.status in ("completed", "failed")
        assert again(log).calls == result.calls


class Unordered:
    """A model whose answers come back in a random order."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    async def answer(self, call: Call, tell: Tell) -> Answer:
        for _ in range(self._chance.randrange(6)):
            await asyncio.sleep(0)
        return Answer(sensible(call), None)


@each_case
def test_x6_the_order_in_which_calls_come_back_changes_nothing_that_is_kept(case: str) -> None:
    kept = []
    for seed in range(3):
        name, settings = CASES[case]
        method, events = build(name, settings), list[AnyEvent]()
        started = header(method, "q", model="m", stream=stream(5))
        doors = Doors(Unordered(seed), scorer=Golds())
        asyncio.run(live(method, started, doors, consumers=[events.append], clock=None))
        kept.append(sorted((e.span, e.kind, e.id, e.body, e.inputs) for e in events if isinstance(e, Stored)))
    assert kept[0] == kept[1] == kept[2]


@each_case
def test_a_stream_that_is_cut_and_resumed_ends_as_the_whole_one(case: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    result = solve_case(case, sensible, whole)
    lines = lines_of(whole)
    for part in range(1, 8):
        log = tmp_path / f"{part}.jsonl"
        log.write_bytes(b"".join(lines[: 1 + (len(lines) - 1) * part // 8]))
        resumed = go_on(log, Doors(ScriptedModel(sensible), scorer=Golds()))
        assert (resumed.status, resumed.calls) == (result.status, result.calls)
        assert sorted(_kept(log)) == sorted(_kept(whole))
        assert again(log).status == result.status


def _kept(log: Path) -> list[tuple[str, str, str, str]]:
    return [(e.span, e.kind, e.id, e.body) for e in read(log).events if isinstance(e, Stored)]


@each_case
def test_an_answer_that_a_filter_took_costs_one_instance(case: str, tmp_path: Path) -> None:
    def reply(call: Call) -> Line:
        text = call.request.messages[-1].content
        return CallFailed("filtered", "no") if "number 1?" in text else sensible(call)

    log = tmp_path / "run.jsonl"
    result = solve_case(case, reply, log)
    assert result.status == "completed"
    answered = [line for line in objects(log) if line["e"] == "Answered"]
    assert len(answered) == 4
    assert again(log).status == "completed"


@each_case
def test_a_server_that_is_down_ends_the_stream_whatever_the_method_and_it_can_be_resumed(
    case: str, tmp_path: Path
) -> None:
    """Unlike what asking again does not mend, this must not cost the instance its answer."""

    def reply(call: Call) -> Line:
        text = call.request.messages[-1].content
        return CallFailed("server", "down") if "number 1?" in text else sensible(call)

    log = tmp_path / "run.jsonl"
    result = solve_case(case, reply, log)
    assert (result.status, result.reason) == ("failed", "server")
    assert go_on(log, Doors(ScriptedModel(sensible), scorer=Golds())).status == "completed"
    assert len([line for line in objects(log) if line["e"] == "Answered"]) == 5
