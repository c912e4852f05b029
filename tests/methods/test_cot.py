"""CoT and CoT-SC of the MC2 comparison."""

from __future__ import annotations

import pytest
from mc2_runs import solve, solved, stream

from meta_tui.chat import Params
from meta_tui.errors import CallFailed
from meta_tui.events import Answered, Rejected
from meta_tui.methods.cot_sc import majority


def test_cot_is_one_call_that_asks_for_steps_and_the_field() -> None:
    told = solve("cot", [solved("14/3")])
    assert (told.result.answer, told.result.calls) == ("14/3", 1)
    (prompt,) = told.prompts()
    assert prompt.startswith("QUESTION\n\n")
    assert "step by step" in prompt
    assert "Final Answer:" in prompt


def test_cot_without_the_marker_is_a_failure() -> None:
    told = solve("cot", ["It is 7."])
    assert (told.result.status, told.result.reason) == ("no_answer", "no_field")
    assert [e.reason for e in told.events if isinstance(e, Rejected)] == ["no final-answer field"]


def test_cot_goes_over_a_stream_instance_by_instance() -> None:
    told = solve("cot", lambda call: solved(call.name), stream(3))
    assert told.result.status == "completed"
    assert [e.text for e in told.events if isinstance(e, Answered)] == ["t:0", "t:1", "t:2"]


def test_cot_sc_draws_five_samples_of_one_prompt_at_its_own_temperature() -> None:
    told = solve("cot_sc", [solved(n) for n in ("5", "7", "7", "5", "9")])
    assert (told.result.answer, told.result.calls) == ("5", 5)
    assert [call.draw for call in told.model.calls] == [0, 1, 2, 3, 4]
    assert {call.request.params for call in told.model.calls} == {Params("m", temperature=0.7)}
    assert len(set(told.prompts())) == 1


@pytest.mark.parametrize(
    ("votes", "winner"),
    [
        (["5", "7", "7", "5", None], "5"),
        (["7", "5", "5"], "5"),
        (["14/3", "5", "\\frac{14}{3}"], "14/3"),
        ([None, None], None),
        ([], None),
        (["a", "b", "c"], "a"),
    ],
)
def test_the_majority_wins_and_of_equals_the_first(votes: list[str | None], winner: str | None) -> None:
    """5, 7, 7, 5 and none: the tie goes to 5, which came first."""
    assert majority(votes) == winner


def test_cot_sc_without_any_answer_is_a_failure() -> None:
    assert solve("cot_sc", ["hm"] * 5).result.status == "no_answer"


@pytest.mark.parametrize("items", [(), stream(2)])
def test_cot_sc_at_temperature_zero_is_refused_with_a_warning(items: tuple[object, ...]) -> None:
    told = solve("cot_sc", [solved()] * 5, items, temperature=0)  # type: ignore[arg-type]
    assert (told.result.status, told.result.reason, told.result.calls) == ("failed", "temperature_zero", 0)
    (warning,) = [e.reason for e in told.events if isinstance(e, Rejected)]
    assert "--set temperature=0.7" in warning


def test_a_sample_that_fails_is_no_vote_and_all_that_fail_are_the_runs_failure() -> None:
    down = CallFailed("server", "down")
    assert solve("cot_sc", [down, solved("7"), down, down, down]).result.answer == "7"
    told = solve("cot_sc", [down] * 5)
    assert (told.result.status, told.result.reason) == ("failed", "server")
