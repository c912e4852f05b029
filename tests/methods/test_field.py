"""The final-answer field: found, unwrapped, compared."""

from __future__ import annotations

import time

import pytest

from meta_tui.methods.asking import filled, json_object, labelled
from meta_tui.methods.field import final_field, normalised, same_answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Final Answer: 7", "7"),
        ("steps\n**Final Answer: 7**", "7"),
        ("**Final Answer:** 7.", "7"),
        ("  final answer :  $\\boxed{14/3}$.", "14/3"),
        ("FINAL ANSWER: x\nmore\nFinal Answer: y", "y"),
        ("Final Answer:\n\n42\n", "42"),
        ("Final_Answer: \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("### Final Answer: [1, 2]", "[1, 2]"),
        ("FINAL_ANSWER: `no`", "no"),
        ("Final Answer: 3.50", "3.50"),
        ("Final Answer: apple fig pear", "apple fig pear"),
    ],
)
def test_the_last_field_is_the_answer_without_its_wrapping(reply: str, answer: str) -> None:
    assert final_field(reply) == answer


@pytest.mark.parametrize("reply", ["", "the final answer is 7", "Final Answer:", "Final Answer: $$", "42"])
def test_without_a_field_there_is_no_answer(reply: str) -> None:
    assert final_field(reply) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000"),
        ("14/3", "\\frac{14}{3}"),
        ("28/6", "14/3"),
        ("0.5", "1/2"),
        ("7.0", "7"),
        ("-\\frac{1}{2}", "-0.5"),
        ("Yes", "yes."),
        ("apple  fig", "Apple fig"),
        ("\u22123", "-3"),
        ("\uff17", "7"),
        ("$12$", "12"),
    ],
)
def test_two_wordings_of_one_answer_are_the_same(one: str, other: str) -> None:
    assert same_answer(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("50%", "0.5"), ("50%", "50"), ("1,00", "100"), ("7", "8"), ("1/0", "1")]
)
def test_two_answers_are_not_the_same(one: str, other: str) -> None:
    assert not same_answer(one, other)
    assert normalised("50%") == "50%"


@pytest.mark.parametrize("text", ["\n" * 300_000, "*" * 300_000, "Final Answer" * 30_000, "{" * 300_000])
def test_reading_takes_time_in_proportion_to_the_text(text: str) -> None:
    start = time.process_time()
    final_field(text)
    labelled(text, ("ACTION",))
    json_object(text)
    assert time.process_time() - start < 2


def test_a_template_is_filled_in_one_pass_and_braces_of_models_stay() -> None:
    assert filled("{a} and {b} and {c}", a="{b}", b="B") == "{b} and B and {c}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure:\n```json\n{"a": {"b": 2}}\n```\nDone.', {"a": {"b": 2}}),
        ("[1]", None),
        ("{a: 1}", None),
        ('{"a": 1} {"b": 2}', None),
        ("}{", None),
        ("", None),
    ],
)
def test_a_json_object_is_found_inside_a_reply(text: str, found: object) -> None:
    assert json_object(text) == found
