"""Meta Reasoning Prompting: the choice, its fallbacks, and every way of reasoning."""

from __future__ import annotations

import pytest
from mc2_runs import solve, solved

from meta_tui.events import Rejected
from meta_tui.methods.mrp import CARDS, POOLS, read_choice

SPP = 'Ada: 7\n>> FINAL ANSWER:\n"""\n7\n"""'


def test_the_pools_have_seven_ways_each() -> None:
    """Section 4.9 of the specification, the two presets."""
    assert POOLS["mc2"] == ("CoT", "CoT-SC", "ToT", "analogical", "self-refine", "SPP", "step-back")
    assert set(POOLS["mrp"]) == {"CoT", "ToT", "analogical", "self-refine", "SPP", "step-back", "SimToM"}
    assert set(CARDS) == set(POOLS["mc2"]) | set(POOLS["mrp"])


def test_the_selection_prompt_has_every_card_and_asks_for_grades_and_one_name() -> None:
    told = solve("mrp", [">> FINAL CHOICE: CoT", solved()])
    prompt = told.prompts(name="Select")[0]
    assert all(f"- {name}: " in prompt for name in POOLS["mc2"])
    for words in (
        "easier than it is",
        "could go wrong",
        "1 (unsuitable) to 7",
        ">> FINAL CHOICE:",
        "QUESTION",
    ):
        assert words in prompt, words


@pytest.mark.parametrize(
    ("name", "replies", "pool"),
    [
        ("CoT", [solved()], "mc2"),
        ("CoT-SC", [solved()] * 5, "mc2"),
        ("analogical", [solved()], "mc2"),
        ("self-refine", [solved("6"), "Step 2 is wrong.", solved("7"), "NO FURTHER CHANGES"], "mc2"),
        ("self-refine", [solved("5"), "wrong", solved("6"), "wrong", solved("7")], "mc2"),
        ("SPP", [SPP], "mc2"),
        ("step-back", ["a principle", solved()], "mc2"),
        ("SimToM", ["the facts", solved()], "mrp"),
        ("ToT", [f"t{n}\nFinal Answer: 7" for n in range(5)] + ["Rating: 9"] * 5, "mc2"),
    ],
)
def test_each_way_solves_with_its_own_calls(name: str, replies: list[str], pool: str) -> None:
    told = solve("mrp", [f">> FINAL CHOICE: {name}", *replies], pool=pool)
    assert (told.result.status, told.result.answer) == ("answered", "7")
    assert told.result.calls == 1 + len(replies)
    assert told.stored("choice")[0].title == name


def test_self_refine_hands_draft_and_criticism_on() -> None:
    told = solve(
        "mrp", [">> FINAL CHOICE: self-refine", solved("6"), "FAULT", solved("7"), "NO FURTHER CHANGES"]
    )
    prompts = told.prompts(name="self-refine")
    assert "Final Answer: 6" in prompts[1]
    assert "FAULT" in prompts[2]
    assert "Final Answer: 6" in prompts[2]


def test_step_back_and_simtom_use_what_they_found() -> None:
    told = solve("mrp", [">> FINAL CHOICE: step-back", "PRINCIPLE", solved()])
    assert "PRINCIPLE" in told.prompts(name="step-back")[1]
    told = solve("mrp", [">> FINAL CHOICE: SimToM", "FACTS", solved()], pool="mrp")
    assert "FACTS" in told.prompts(name="SimToM")[1]


@pytest.mark.parametrize(
    ("reply", "name", "fallback"),
    [
        (">> FINAL CHOICE: tot", "ToT", False),
        (">> FINAL CHOICE: **Self Refine**.", "self-refine", False),
        (">> FINAL CHOICE: CoT\n>> FINAL CHOICE: step-back", "step-back", False),
        ("GRADE CoT: 3\nGRADE ToT: 6\n>> FINAL CHOICE: magic", "ToT", True),
        ("GRADE ToT: 6\nGRADE CoT: 6", "CoT", True),
        ("- **GRADE analogical**: 5", "analogical", True),
        ("GRADE magic: 7\nGRADE SPP: 9", "CoT", True),
        ("", "CoT", True),
    ],
)
def test_an_invalid_choice_falls_back_to_the_best_grade_and_then_to_cot(
    reply: str, name: str, fallback: bool
) -> None:
    found, reason, _ = read_choice(reply, POOLS["mc2"])
    assert (found, bool(reason)) == (name, fallback)


def test_a_fallback_is_flagged() -> None:
    told = solve("mrp", ["hm", solved()])
    assert told.result.answer == "7"
    assert [e.reason for e in told.events if isinstance(e, Rejected)] == [
        "no valid choice and no grade: CoT is used"
    ]
