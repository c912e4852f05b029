"""Prompt intervention while reasoning: the surest opening goes on, or a refusal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from mc2_runs import solve, stream

from meta_tui.chat import Reply
from meta_tui.errors import CallFailed
from meta_tui.events import Rejected
from meta_tui.methods.ttpi import TRIGGERS, entropy, perplexity
from meta_tui.models.base import Call


def said(text: str, *logprobs: float, top: Sequence[float] = ()) -> Reply:
    """A reply with log-probabilities in OpenAI's shape."""
    tokens: list[dict[str, Any]] = [{"token": "t", "logprob": value} for value in logprobs]
    if tokens:
        tokens[0]["top_logprobs"] = [{"token": "t", "logprob": value} for value in top]
    return Reply(text, logprobs={"content": tokens})


def behaviour(call: Call) -> str:
    """Which opening a call was given."""
    text = call.request.messages[-1].content
    return next((name for name, words in TRIGGERS.items() if words and text.endswith(words)), "natural")


def test_perplexities_by_hand() -> None:
    """(-0.1, -0.3, -0.2) -> e^0.2 = 1.2214; (-1.0, -0.2) -> e^0.6 = 1.8221."""
    assert perplexity((-0.1, -0.3, -0.2)) == pytest.approx(1.2214, abs=5e-5)
    assert perplexity((-1.0, -0.2)) == pytest.approx(1.8221, abs=5e-5)
    assert perplexity(()) == math.inf


def test_the_candidate_with_the_least_perplexity_goes_on() -> None:
    def reply(call: Call) -> Reply:
        if behaviour(call) == "summary":
            return said("SURE\nFinal Answer: 1", -0.1, -0.3, -0.2)
        return said("UNSURE\nFinal Answer: 2", -1.0, -0.2)

    told = solve("ttpi", reply)
    assert (told.result.answer, told.result.calls) == ("1", 5)
    assert told.stored("candidate")[0].title == "summary goes on"
    assert told.bodies("candidate")[0]["summary"] == round(math.exp(0.2), 6)


def test_of_equal_candidates_the_natural_one_goes_on() -> None:
    told = solve("ttpi", lambda call: said(f"{behaviour(call)}\nFinal Answer: 1", -0.5))
    assert told.stored("candidate")[0].title == "natural goes on"


def test_every_boundary_has_five_candidates_and_the_limit_one_conclusion() -> None:
    told = solve("ttpi", lambda call: said("a step", -0.5), steps=3)
    assert told.result.calls == 3 * 5 + 1
    assert [behaviour(c) for c in told.model.calls[:5]] == [
        "natural",
        "progression",
        "summary",
        "verification",
        "conclusion",
    ]
    assert told.result.answer is None
    params = told.model.calls[0].request.params
    assert (params.logprobs, params.top_logprobs, params.stop) == (True, 5, "\n\n")


def test_sixteen_steps_are_the_most() -> None:
    assert solve("ttpi", lambda call: said("a step", -0.5)).result.calls == 16 * 5 + 1


def test_the_next_step_is_asked_for_behind_what_was_chosen_with_its_opening() -> None:
    def reply(call: Call) -> Reply:
        return said(" all is well", -0.1 if behaviour(call) == "verification" else -0.9)

    told = solve("ttpi", reply, steps=2)
    assert f"{TRIGGERS['verification']} all is well" in told.prompts()[5]


def test_a_provider_without_log_probabilities_is_refused_by_name() -> None:
    told = solve("ttpi", lambda call: Reply("a step"))
    assert (told.result.status, told.result.reason) == ("failed", "LOGPROBS_UNAVAILABLE")
    assert told.result.calls == 5
    assert [e.reason for e in told.events if isinstance(e, Rejected)] == [
        "LOGPROBS_UNAVAILABLE: this model gives no log-probabilities, and ttpi chooses by them; "
        "choose another model or another method"
    ]


@pytest.mark.parametrize("items", [(), stream(2)])
def test_a_provider_that_refuses_the_parameter_is_refused_alike(items: tuple[Any, ...]) -> None:
    told = solve("ttpi", lambda call: CallFailed("unsupported", "logprobs"), items)
    assert (told.result.status, told.result.reason) == ("failed", "LOGPROBS_UNAVAILABLE")


def test_another_failure_is_the_runs_failure() -> None:
    told = solve("ttpi", lambda call: CallFailed("server", "down"))
    assert (told.result.status, told.result.reason) == ("failed", "server")


def test_entropy_of_the_first_token_by_hand() -> None:
    """Two equal alternatives have ln 2; a lone one has none; shares are renormalised."""
    assert entropy([math.log(0.25)] * 2) == pytest.approx(math.log(2))
    assert entropy([-0.7]) == 0
    assert entropy([]) == 0
    assert entropy([math.log(0.6), math.log(0.2)]) == pytest.approx(0.5623, abs=5e-5)


@pytest.mark.parametrize(("alternatives", "calls"), [(2, 1), (4, 5)])
def test_with_entropy_openings_are_tried_only_where_the_step_begins_unsurely(
    alternatives: int, calls: int
) -> None:
    """ln 2 = 0.69 is below 1 nat, ln 4 = 1.39 above."""
    top = [math.log(1 / alternatives)] * alternatives
    told = solve("ttpi", lambda call: said("x\nFinal Answer: 1", -0.5, top=top), when="entropy")
    assert told.result.calls == calls


def test_an_entropy_at_the_threshold_is_not_high() -> None:
    told = solve(
        "ttpi", lambda call: said("x\nFinal Answer: 1", -0.5, top=[0.0]), when="entropy", threshold=0
    )
    assert told.result.calls == 1


def test_a_model_that_falls_silent_after_a_step_is_asked_to_conclude_and_not_refused() -> None:
    """It gave log-probabilities before; an empty step has no token to carry any."""

    def reply(call: Call) -> Reply:
        text = call.request.messages[-1].content
        if "a step" not in text:
            return said("a step", -0.5)
        return Reply("Final Answer: 4") if call.request.params.logprobs is None else said("")

    told = solve("ttpi", reply)
    assert (told.result.answer, told.result.calls) == ("4", 5 + 5 + 1)


def test_a_partial_text_is_sent_as_the_assistants_own_where_that_is_asked_for() -> None:
    told = solve("ttpi", lambda call: said("a step", -0.5), steps=2, prefill=True)
    roles = [[m.role for m in c.request.messages] for c in told.model.calls]
    assert roles[0] == ["user"]
    assert roles[1] == ["user", "assistant"]
    assert told.model.calls[6].request.messages[1].content.startswith("a step\n\n")


def test_damaged_log_probabilities_are_none() -> None:
    for damaged in (3, {"content": 3}, {"content": [{"logprob": "x"}]}, {"content": [{"logprob": math.nan}]}):
        told = solve("ttpi", lambda call, d=damaged: Reply("x", logprobs=d))
        assert told.result.reason == "LOGPROBS_UNAVAILABLE"
