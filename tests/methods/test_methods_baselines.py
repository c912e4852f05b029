"""The five baselines: one call each where all goes well, two for expert_dynamic."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_runs import FINAL, PROGRAM, Programs, run

from meta_tui.chat import CodeResult
from meta_tui.errors import CallFailed
from meta_tui.events import AnyEvent, CodeStarted, Rejected
from meta_tui.methods import PRESETS, build
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors, RunResult
from meta_tui.sources import header

ONE_CALL = ("standard", "zero_shot_cot", "expert_static", "multipersona")
BASELINES = (*ONE_CALL, "expert_dynamic")


def solved(
    method: str, *script: Line, results: tuple[CodeResult, ...] = (), **settings: Any
) -> tuple[RunResult, ScriptedModel, list[AnyEvent]]:
    found = build(method, settings)
    model, told = ScriptedModel(script), list[AnyEvent]()
    doors = Doors(model, Programs(results))
    return run(found, header(found, "QUESTION", model="m"), doors, None, consumers=[told.append]), model, told


@pytest.mark.parametrize("method", ONE_CALL)
def test_one_call_gives_the_answer(method: str) -> None:
    result, model, _ = solved(method, FINAL)
    assert (result.answer, result.calls) == ("42", 1)
    system, user = model.calls[0].request.messages
    assert (system.role, user.role) == ("system", "user")
    assert user.content.startswith("ROUND 1:\n\n")
    assert "Question: QUESTION" in user.content


@pytest.mark.parametrize("method", BASELINES)
def test_a_reply_without_an_answer_gets_the_error_text_and_experts_are_not_called(method: str) -> None:
    """Branch A is off: a call to an expert is no call here."""
    first = ("identity",) if method == "expert_dynamic" else ()
    call = 'Expert Ada:\n"""\nGo.\n"""'
    result, model, told = solved(method, *first, call, FINAL, error="ERROR")
    assert result.answer == "42"
    assert {c.role for c in model.calls} <= {"meta", "identity"}
    assert model.calls[-1].request.messages[-1].content == "ROUND 2:\n\nERROR"
    assert sum(isinstance(event, Rejected) for event in told) == 1


def test_expert_dynamic_asks_for_an_identity_and_then_the_question() -> None:
    result, model, _ = solved("expert_dynamic", "You are a baker.", FINAL)
    assert (result.answer, result.calls) == ("42", 2)
    identity, question = model.calls
    assert identity.role == "identity"
    assert identity.request.messages[-1].content.endswith("[Instruction]: QUESTION\n[Description]:")
    body = question.request.messages[-1].content
    assert body.startswith("ROUND 1:\n\nYou are a baker.\n\n")
    assert body.endswith("\n\nQuestion: QUESTION")


def test_expert_dynamic_may_be_asked_about_the_input_alone() -> None:
    """The published runs gave the identity call the raw input, without the task description."""
    _, model, _ = solved("expert_dynamic", "You.", FINAL, identity_input="INPUT")
    assert "[Instruction]: INPUT\n" in model.calls[0].request.messages[-1].content
    assert "QUESTION" not in model.calls[0].request.messages[-1].content


@pytest.mark.parametrize("identity", ["", " \n"])
def test_an_empty_identity_falls_back_to_the_static_preamble_and_is_flagged(identity: str) -> None:
    _, model, told = solved("expert_dynamic", identity, FINAL)
    _, static, _ = solved("expert_static", FINAL)
    assert model.calls[1].request.messages == static.calls[0].request.messages
    (flag,) = [event for event in told if isinstance(event, Rejected)]
    assert "identity" in flag.reason


def test_an_identity_may_hold_braces() -> None:
    """Model text is never a format string."""
    _, model, _ = solved("expert_dynamic", "You {question} {0}.", FINAL)
    assert "You {question} {0}." in model.calls[1].request.messages[-1].content


@pytest.mark.parametrize("method", BASELINES)
def test_the_published_preset_gives_up_after_eight_failures(method: str) -> None:
    settings = PRESETS["published"].settings_of(method)
    first: tuple[Line, ...] = ("identity",) if method == "expert_dynamic" else ()
    down = CallFailed("server", "down")
    result, model, _ = solved(method, *first, *[down] * 8, **settings)
    assert (result.status, result.reason) == ("failed", "server")
    assert result.messages[-1].content.startswith("ROUND 1:\n\n" * 8)
    assert len(model.calls) == 8 + len(first)


@pytest.mark.parametrize("method", ONE_CALL)
def test_with_python_a_baseline_has_code_run_and_goes_on(method: str) -> None:
    """A fair comparison: the output comes back as a user message."""
    ok = (CodeResult("ok", "42\n"),)
    result, model, told = solved(method, PROGRAM, FINAL, results=ok, python=True)
    assert result.answer == "42"
    assert "42" in model.calls[1].request.messages[-1].content
    assert sum(isinstance(event, CodeStarted) for event in told) == 1
    _, _, told = solved(method, PROGRAM, FINAL)
    assert not [event for event in told if isinstance(event, CodeStarted)]
