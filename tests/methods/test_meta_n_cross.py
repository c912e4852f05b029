"""X-1 to X-6 for every mode of Meta^n."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from meta_n_runs import (
    PACK,
    InProcess,
    Numbers,
    Told,
    by_role,
    family,
    layer,
    layer_reply,
    number_of,
    say,
    script,
    solve,
)
from scripted_runs import again, go_on, lines_of, objects

from meta_tui.chat import Reply, Usage
from meta_tui.events import AnyEvent, Stored
from meta_tui.methods import build
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.sources import header, live

CASES: dict[str, dict[str, Any]] = {
    "linear": {"patience": 2},
    "linear-best": {"patience": 2, "grow_from": "best"},
    "linear-agentic": {"base": "agentic", "turns": 3},
    "evolutionary": {"mode": "evolutionary", "patience": 2},
    "evolutionary-gate": {"mode": "evolutionary", "patience": 2, "gate": True, "beam": 2, "branching": 2},
    "evolutionary-guard": {"mode": "evolutionary", "patience": 3, "guard": True},
    "no-library": {"library": False},
    "no-outer-context": {"mode": "evolutionary", "patience": 2, "outer_context": False},
    "held-out": {"held_out": 2},
    "depth1": {"mode": "depth1", "calls": 12, "iterations": 4},
    "object-level": {"mode": "object_level", "calls": 12, "iterations": 4},
    "apply": {"mode": "apply", "chain": [layer(2, say("hello"), PACK)]},
}
each_case = pytest.mark.parametrize("case", CASES)


def sensible(call: Call) -> Reply:
    """A reply of every role, which depends on the request alone."""
    if call.role == "omega":
        depth = call.request.messages[0].content.count("## Layer of depth")
        text = layer_reply(say(f"[{depth}]"), pack_items=PACK)
    else:
        said = call.request.messages[0].content
        text = script(round(0.2 + 0.05 * said.count("[") + 0.01 * number_of(call), 4))
    return Reply(text, usage=Usage(11, 3))


def run_case(case: str, reply: Any = sensible, log: Path | None = None, count: int = 5, **more: Any) -> Told:
    return solve(reply, count, log=log, **{**CASES[case], **more})


@each_case
@pytest.mark.parametrize("reply", ["", " \n", "\x00", "{}", "```", "```python\n```"])
def test_x1_every_mode_ends_on_replies_that_say_nothing(case: str, reply: str, tmp_path: Path) -> None:
    """Completed, no exception, and no more calls than tasks, turns and patience allow."""
    log = tmp_path / "run.jsonl"
    told = run_case(case, lambda call: reply, log)
    assert told.result.status == "completed"
    assert told.result.calls <= 3 * 5 * 3 + 4 * 3 + 2 * 2
    assert again(log).calls == told.result.calls


@each_case
def test_x2_every_mode_replays_from_its_own_log(case: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    told = run_case(case, log=log)
    assert told.result.status == "completed"
    replayed = again(log)
    assert (replayed.status, replayed.reason, replayed.calls) == (
        told.result.status,
        told.result.reason,
        told.result.calls,
    )


@each_case
def test_x2_replay_runs_no_program(case: str, tmp_path: Path) -> None:
    """`again` has no code door: what programs gave stands in the log."""
    log = tmp_path / "run.jsonl"
    told = run_case(case, log=log)
    ran = sum(line["e"] == "CodeFinished" for line in objects(log))
    assert ran > 0
    assert ran == sum(line["e"] == "CodeStarted" for line in objects(log))
    assert again(log).status == told.result.status


@each_case
def test_x3_the_ledger_is_the_count_of_requests_and_the_sum_of_usage(case: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    told = run_case(case, log=log)
    found = objects(log)
    assert told.result.calls == sum(line["e"] == "Requested" for line in found) == len(told.model.calls)
    assert told.result.tokens == 14 * told.result.calls


class Secret(Numbers):
    """A grader that knows a target."""

    target = "SENTINEL-TARGET"


@each_case
def test_x4_a_sentinel_target_is_in_no_prompt_and_not_in_the_log(case: str, tmp_path: Path) -> None:
    from meta_tui.session import ContinuousScorer
    from meta_tui.tasks import Sample

    log = tmp_path / "run.jsonl"
    known = {
        item.sample: Sample(input=item.question, target="SENTINEL-TARGET 7", task="words", index=n)
        for n, item in enumerate(family(5))
    }
    told = run_case(case, log=log, scorer=ContinuousScorer(known))
    assert told.result.status == "completed"
    assert not [m for call in told.model.calls for m in call.request.messages if "SENTINEL" in m.content]
    assert b"SENTINEL" not in log.read_bytes()


POOL = [
    layer_reply(say("x"), pack_items=PACK),
    layer_reply("import os", bad="def bad(:"),
    "```solver_lib:x\ndef x(): return 1\n```\n```pre_process\nadditional_context = outer_context\n```",
    script(0.5),
    "```python\ndef solve():\n    return [1, 2]\n```",
    "```python\nraise ValueError('infeasible')\n```",
]


@each_case
def test_x5_cut_and_noisy_replies_never_break_a_mode(case: str, tmp_path: Path) -> None:
    """12 runs each, every one replayed exactly."""
    for seed in range(12):
        chance = random.Random(f"{case} {seed}")

        def answer(call: Call, chance: random.Random = chance) -> Line:
            text = chance.choice(POOL)
            text = text[: chance.randrange(len(text) + 1)] if chance.random() < 0.5 else text
            place = chance.randrange(len(text) + 1)
            noise = "".join(chance.choice("\n`:{}[]\u202e\x1b\\$*1é'\"#") for _ in range(chance.randrange(7)))
            return text[:place] + noise + text[place:]

        log = tmp_path / f"{seed}.jsonl"
        told = run_case(case, answer, log, 3)
        assert told.result.status == "completed"
        assert again(log).calls == told.result.calls


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
        method, events = build("meta_n", CASES[case]), list[AnyEvent]()
        started = header(method, "q", model="m", stream=family(5), seed=7)
        doors = Doors(Unordered(seed), InProcess(), scorer=Numbers())
        asyncio.run(live(method, started, doors, consumers=[events.append], clock=None))
        kept.append([(e.span, e.kind, e.id, e.body, e.inputs) for e in events if isinstance(e, Stored)])
    assert kept[0] == kept[1] == kept[2]


@each_case
def test_a_run_that_is_cut_and_resumed_ends_as_the_whole_one(case: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    told = run_case(case, log=whole)
    lines = lines_of(whole)
    for part in range(1, 8):
        log = tmp_path / f"{part}.jsonl"
        log.write_bytes(b"".join(lines[: 1 + (len(lines) - 1) * part // 8]))
        resumed = go_on(log, Doors(ScriptedModel(sensible), InProcess(), scorer=Numbers()))
        assert (resumed.status, resumed.calls) == (told.result.status, told.result.calls)
        assert _kept(log) == _kept(whole)
        assert again(log).status == told.result.status


def _kept(log: Path) -> list[tuple[str, str, str, str]]:
    return sorted((e.span, e.kind, e.id, e.body) for e in read(log).events if isinstance(e, Stored))


def test_the_voices_are_told_apart_by_role() -> None:
    voice = by_role(lambda call: "omega", lambda call: "solver")
    told = solve(voice, 1, patience=1)
    assert {call.role for call in told.model.calls} == {"omega", "instance"}
