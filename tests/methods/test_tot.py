"""Tree of thoughts: call counts, who is kept, ties, early stop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import pytest
from mc2_runs import Told, solve

from meta_tui.methods.tot import rating
from meta_tui.models.base import Call

RATE = "A partial or complete line of reasoning"


def tree(scores: Mapping[str, int], answers: Mapping[str, str] | None = None) -> Callable[[Call], str]:
    """Thoughts are named a, b, c ... in order; each is rated as told (else 1)."""
    names = itertools.chain("abcdefghijklmnopqrstuvwxyz")

    def reply(call: Call) -> str:
        text = call.request.messages[-1].content
        if RATE in text:
            path = text.partition("reasoning:\n")[2].partition("\n\nRate it")[0]
            last = path.split("thought-")[-1][0]
            return f"So so.\nRating: {scores.get(last, 1)}"
        name = next(names)
        end = f"\nFinal Answer: {answers[name]}" if answers and name in answers else ""
        return f"thought-{name}{end}"

    return reply


def grown_from(told: Told) -> list[str]:
    """The reasoning so far that each call of the second level was given."""
    asked = [p for p in told.prompts() if "Finish the reasoning" in p]
    return [p.partition("so far:\n")[2].partition("\n\nFinish")[0] for p in asked]


def test_five_and_five_then_ten_and_ten_calls() -> None:
    told = solve("tot", tree({}, {"f": "1"}))
    kinds = ["rate" if RATE in p else "grow" for p in told.prompts()]
    assert kinds == ["grow"] * 5 + ["rate"] * 5 + ["grow"] * 10 + ["rate"] * 10
    assert told.result.calls == 30


def test_the_two_best_rated_thoughts_are_grown_on() -> None:
    told = solve("tot", tree({"b": 7, "d": 8}, {"f": "1"}))
    assert grown_from(told) == ["thought-d"] * 5 + ["thought-b"] * 5


def test_of_equally_rated_thoughts_the_earlier_are_kept() -> None:
    told = solve("tot", tree({"b": 5, "c": 5, "e": 5}, {"f": "1"}))
    assert grown_from(told) == ["thought-b"] * 5 + ["thought-c"] * 5


def test_the_best_rated_node_with_an_answer_gives_it() -> None:
    told = solve("tot", tree({"a": 5, "g": 8, "h": 4, "k": 7}, {"h": "low", "k": "good"}))
    assert (told.result.answer, told.result.calls) == ("good", 30)


def test_an_answer_of_an_earlier_level_counts_if_it_is_rated_higher() -> None:
    """8 points do not end the search, and the second level brings nothing better."""
    told = solve("tot", tree({"a": 8, "h": 4}, {"a": "early", "h": "late"}))
    assert (told.result.answer, told.result.calls) == ("early", 30)


def test_a_kept_node_with_an_answer_and_nine_points_ends_the_search() -> None:
    told = solve("tot", tree({"c": 9}, {"c": "42"}))
    assert (told.result.answer, told.result.calls) == ("42", 10)
    told = solve("tot", tree({"c": 8}, {"c": "42"}))
    assert told.result.calls == 30


def test_a_node_that_is_not_kept_does_not_end_the_search() -> None:
    """Two better thoughts without an answer are kept before one with nine points and an answer."""
    told = solve("tot", tree({"a": 10, "b": 10, "c": 9}, {"c": "42"}))
    assert told.result.calls == 30


def test_without_any_answer_the_best_node_is_finished_in_one_call() -> None:
    told = solve("tot", tree({"b": 6, "h": 9}))
    assert told.result.calls == 31
    assert "thought-h" in told.prompts()[-1]
    assert told.result.answer is None


def test_a_thought_that_stands_in_its_level_already_scores_nothing_and_is_not_rated() -> None:
    same = iter(["x", "x", "y", "x", "z", *"abcdefghij"])

    def reply(call: Call) -> str:
        text = call.request.messages[-1].content
        return "Rating: 5" if RATE in text else f"{next(same)}\nFinal Answer: 1"

    told = solve("tot", reply)
    assert told.result.calls == 5 + 3 + 10 + 10
    assert [b["score"] for b in told.bodies("candidate")[:5]] == [5, 5, 5, 0, 0]


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Rating: 7", 7),
        ("**Rating:** 10", 10),
        ("Rating: 3\nRating: 4/10", 4),
        ("Rating: 5. Fine", 5),
        ("rating - 5.", 5),
        ("Rating: 8\n", 8),
        ("Rating: 11", 0),
        ("Rating: 7.5", 0),
        ("Rating: 0", 0),
        ("good", 0),
        ("", 0),
    ],
)
def test_ratings_are_read_from_one_to_ten(reply: str, score: int) -> None:
    assert rating(reply) == score


def test_thoughts_are_drawn_with_one_prompt_and_numbered_draws() -> None:
    told = solve("tot", tree({}, {"f": "1"}))
    assert [c.draw for c in told.model.calls[:5]] == [0, 1, 2, 3, 4]
    assert {c.request.params.temperature for c in told.model.calls[:5]} == {0.7}
    assert {c.request.params.temperature for c in told.model.calls[5:10]} == {None}
