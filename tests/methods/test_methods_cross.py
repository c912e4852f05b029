"""Checks that hold for every method of the meta-prompting family alike."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import CASES, FINAL, Case, Programs, again, case_named, objects, record, run

from meta_tui.chat import CodeResult, Reply, Usage, system, user
from meta_tui.methods import METHODS, PRESETS, build, settings_of
from meta_tui.models.base import Call
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.sources import header, live

FAMILY = ("meta_prompting", "standard", "zero_shot_cot", "expert_static", "expert_dynamic", "multipersona")


class AnyProgram(Programs):
    """Every program prints nothing."""

    def __init__(self) -> None:
        super().__init__([CodeResult("ok")] * 1000)


def solved(method: str, answer: Any, log: Path, preset: str = "default", **settings: Any) -> Any:
    found = build(method, {**PRESETS[preset].settings_of(method), **settings})
    return run(found, header(found, "q", model="m"), Doors(ScriptedModel(answer), AnyProgram()), log)


def test_the_family_is_registered_and_every_case_is_one_of_it() -> None:
    assert set(FAMILY) <= set(METHODS)
    assert {case.method for case in CASES} == set(FAMILY)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", FAMILY)
@pytest.mark.parametrize("reply", ["", " ", "\n", "\x00", "?"])
def test_x1_a_method_ends_on_replies_that_say_nothing(
    method: str, preset: str, reply: str, tmp_path: Path
) -> None:
    """A status, no exception, calls bounded by the rounds (and the identity of expert_dynamic)."""
    log = tmp_path / "run.jsonl"
    result = solved(method, lambda call: reply, log, preset)
    assert (result.status, result.reason, result.answer) == ("no_answer", "round_limit", None)
    assert result.calls == 16 + (method == "expert_dynamic")
    assert again(log).calls == result.calls


@pytest.mark.parametrize("case", CASES, ids=str)
def test_x3_the_ledger_is_the_count_of_requests_and_the_sum_of_usage(case: Case, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    usage = Usage(7, 5)
    lines = [Reply(line, usage=usage) if isinstance(line, str) else line for line in case.script]
    result = run(case.build(), case.header(), Doors(ScriptedModel(lines), Programs(case.results)), log)
    found = objects(log)
    replied = [line["reply"]["usage"] for line in found if line["e"] == "Replied"]
    assert result.calls == sum(line["e"] == "Requested" for line in found) == len(case.script)
    assert result.tokens == sum(u["prompt_tokens"] + u["completion_tokens"] for u in replied)


def test_x4_a_method_is_never_told_the_target(tmp_path: Path) -> None:
    """It is given a run and a question; what a run knows of its sample is the name."""
    log = tmp_path / "run.jsonl"
    method = build("meta_prompting")
    case = case_named("python")
    model = ScriptedModel(case.script)
    started = header(method, "q", model="m", task="game24", sample="game24:3")
    run(method, started, Doors(model, Programs(case.results)), log)
    assert "game24" not in "".join(m.content for call in model.calls for m in call.request.messages)
    assert not {"target", "gold", "expected"} & set(type(started).__struct_fields__)


POOL = [case_line for case in CASES for case_line in case.script if isinstance(case_line, str)]


@pytest.mark.parametrize("method", FAMILY)
@pytest.mark.parametrize("preset", PRESETS)
def test_x5_cut_and_noisy_replies_never_break_a_method(method: str, preset: str, tmp_path: Path) -> None:
    """40 runs each: replies of the scripts, cut anywhere, with noise put in; all replay exactly."""
    for seed in range(40):
        chance = random.Random(f"{method} {preset} {seed}")

        def answer(call: Call, chance: random.Random = chance) -> str:
            text = chance.choice(POOL)[: chance.randrange(400)]
            place = chance.randrange(len(text) + 1)
            noise = "".join(
                chance.choice('"\n:`>{}\u202e\x1b Expert\x00é') for _ in range(chance.randrange(9))
            )
            return text[:place] + noise + text[place:]

        log = tmp_path / f"{seed}.jsonl"
        result = solved(method, answer, log, preset, rounds=6)
        assert result.status in ("answered", "no_answer", "failed")
        assert again(log).answer == result.answer


@pytest.mark.parametrize("method", FAMILY)
def test_settings_survive_the_first_line_of_a_log(method: str, tmp_path: Path) -> None:
    for preset in PRESETS.values():
        built = build(method, preset.settings_of(method))
        log = tmp_path / f"{preset.summary[:3]}.jsonl"
        run(built, header(built, "q", model="m"), Doors(ScriptedModel(lambda call: FINAL)), log)
        assert build(method, objects(log)[0]["settings"]) == built
        assert settings_of(built) == objects(log)[0]["settings"]


def test_two_runs_of_one_script_are_the_same_bytes(tmp_path: Path) -> None:
    for case in CASES:
        one, other = tmp_path / f"{case}1.jsonl", tmp_path / f"{case}2.jsonl"
        record(case, one)
        record(case, other)
        assert one.read_bytes() == other.read_bytes()


def test_a_run_that_continues_another_sends_its_history_and_the_new_question(tmp_path: Path) -> None:
    """The earlier messages stand in the log once; the new question comes as the last message."""
    history = (system("S"), user("first question"), Reply("first answer").message)
    method = build("standard")
    started = header(method, "second question", model="m", history=tuple(m.id for m in history))
    log = tmp_path / "run.jsonl"
    model = ScriptedModel([FINAL])
    asyncio.run(live(method, started, Doors(model), log=log, history=history, clock=None))
    sent = model.calls[0].request.messages
    assert sent[:3] == history
    assert sent[3:] == (user("ROUND 1:\n\nQuestion: second question"),)
    assert again(log).answer == "42"
