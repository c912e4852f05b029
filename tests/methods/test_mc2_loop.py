"""MRO, the inner loop of MC2: the worked example, the limit, and what a malformed reply leads to."""

from __future__ import annotations

from typing import Any

import pytest
from mc2_runs import ACCEPT, NO, RESTART, YES, Told, solve, solved

from meta_tui.events import Answered, Rejected, RoundStarted
from meta_tui.methods.mc2.trace import read_audit, read_control

EXAMPLE = (
    "1. ... 4. 2r = 28 ...\nFinal Answer: 7",
    "The segments do not add up like that.\nERROR_FOUND: YES\nERROR_STEP: 4\nERROR_DESCRIPTION: radius relation ignores tangency",
    "ACTION: 3\nJUSTIFICATION: wrong model\nSUGGESTIONS: place coordinates; centre distance = sum of radii",
    "1. Let Q = (0,0) ... 5. 196 = 42 r\nFinal Answer: 14/3",
    "ERROR_FOUND: NO\nERROR_STEP: NONE\nERROR_DESCRIPTION: NONE",
    "ACTION: 1\nJUSTIFICATION: consistent\nFINAL_ANSWER: 14/3",
)


def rmc(*script: str, **settings: Any) -> Told:
    """The loop alone on one question."""
    return solve("mc2", list(script), variant="rmc", **settings)


def test_the_worked_example_takes_two_iterations_and_the_second_answer() -> None:
    """Section 4.7 of the specification: 7, error, restart; then 14/3, no error, accept."""
    told = rmc(*EXAMPLE)
    assert (told.result.status, told.result.reason, told.result.answer) == ("answered", "accepted", "14/3")
    assert told.result.calls == 6
    assert [c.name for c in told.model.calls] == ["Reasoner", "Monitor", "Controller"] * 2
    assert [e.number for e in told.events if isinstance(e, RoundStarted)] == [1, 2]
    bodies = told.bodies("mro_iter")
    assert [b["iteration"] for b in bodies] == [1, 2]
    assert [b["answer"] for b in bodies] == ["7", "14/3"]
    assert [b["error_found"] for b in bodies] == [True, False]
    assert bodies[0]["error_location"] == "4"
    assert [b["action"] for b in bodies] == ["restart", "accept"]


def test_a_restarted_reasoner_is_told_the_description_and_the_suggestions_and_not_its_old_solution() -> None:
    told = rmc(*EXAMPLE)
    first, second = told.prompts("reasoner")
    assert "radius relation ignores tangency" in second
    assert "place coordinates; centre distance = sum of radii" in second
    assert "2r = 28" not in second
    assert "Feedback" not in first


def test_the_monitor_sees_the_steps_and_the_controller_sees_steps_and_audit() -> None:
    told = rmc(*EXAMPLE)
    assert "4. 2r = 28" in told.prompts("monitor")[0]
    assert "radius relation" not in told.prompts("monitor")[0]
    assert "4. 2r = 28" in told.prompts("controller")[0]
    assert "radius relation ignores tangency" in told.prompts("controller")[0]


def test_c9_a_controller_that_always_restarts_ends_after_three_iterations_and_nine_calls() -> None:
    told = rmc(*[solved("1"), YES, RESTART, solved("2"), YES, RESTART, solved("3"), YES, RESTART])
    assert (told.result.reason, told.result.answer, told.result.calls) == ("max_iter", "3", 9)
    assert len(told.bodies("mro_iter")) == 3


def test_feedback_is_of_the_last_attempt_or_of_all() -> None:
    one = YES.replace("the relation is wrong", "FIRST FAULT")
    script = [solved(), one, RESTART, solved(), YES, RESTART, solved(), NO, ACCEPT.format(answer="7")]
    assert "FIRST FAULT" not in rmc(*script).prompts("reasoner")[2]
    assert "FIRST FAULT" in rmc(*script, feedback="all").prompts("reasoner")[2]


def test_a_patch_gives_the_controllers_answer() -> None:
    patch = "ACTION: patch\nJUSTIFICATION: slip\nCORRECTED_REASONING: 1. so\n2. thus\nFINAL_ANSWER: **8**."
    told = rmc(solved("7"), YES, patch)
    assert (told.result.reason, told.result.answer, told.result.calls) == ("corrected", "8", 3)


def test_a_reasoner_without_an_answer_is_asked_once_more_and_then_audited_all_the_same() -> None:
    told = rmc("no field", "none again", NO, RESTART, solved(), NO, ACCEPT.format(answer="7"))
    assert told.result.answer == "7"
    assert [c.role for c in told.model.calls][:4] == ["reasoner", "reasoner", "monitor", "controller"]
    again = told.prompts("reasoner")[1]
    assert again.startswith(told.prompts("reasoner")[0])
    assert "Final Answer: <the answer and nothing else>" in again
    assert sum(isinstance(e, Rejected) for e in told.events) == 2


def test_an_accept_without_an_answer_is_a_restart() -> None:
    told = rmc("no field", "none again", NO, "ACTION: 1", solved(), NO, ACCEPT.format(answer="7"))
    assert [b["action"] for b in told.bodies("mro_iter")] == ["restart", "accept"]
    assert told.bodies("mro_iter")[0]["flags"] == ["accept_without_answer"]


def test_an_unreadable_monitor_counts_as_no_error_and_is_flagged() -> None:
    told = rmc(solved(), "hm", "hm", ACCEPT.format(answer="7"))
    (body,) = told.bodies("mro_iter")
    assert (body["error_found"], body["parse_failed"]) == (False, True)
    assert told.result.answer == "7"


def test_an_unreadable_controller_restarts_and_at_the_limit_ends_the_loop() -> None:
    told = rmc(*[solved("1"), NO, "hm", "hm", solved("2"), NO, "hm", "hm", solved("3"), NO, "hm", "hm"])
    assert (told.result.reason, told.result.answer, told.result.calls) == ("max_iter", "3", 12)
    assert all(b["flags"] == ["parse_failed"] for b in told.bodies("mro_iter"))


def test_a_patch_without_an_answer_accepts_the_reasoners_or_else_restarts() -> None:
    patch = "ACTION: 2\nJUSTIFICATION: slip\nCORRECTED_REASONING: 1. so"
    told = rmc(solved("7"), YES, patch)
    assert (told.result.reason, told.result.answer) == ("accepted", "7")
    told = rmc("no", "no", YES, patch, solved(), NO, ACCEPT.format(answer="7"))
    assert [b["action"] for b in told.bodies("mro_iter")] == ["restart", "accept"]


def test_the_reasoners_answer_wins_over_another_one_in_an_accept_and_that_is_flagged() -> None:
    told = rmc(solved("14/3"), NO, ACCEPT.format(answer="5"))
    assert told.result.answer == "14/3"
    assert told.bodies("mro_iter")[0]["flags"] == ["stated_answer_differs"]
    assert told.bodies("mro_iter")[0]["final_answer"] == "14/3"
    told = rmc(solved("14/3"), NO, ACCEPT.format(answer=r"$\frac{14}{3}$"))
    assert "flags" not in told.bodies("mro_iter")[0]


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("ACTION: 1", "accept"),
        ("**ACTION:** 2 (patch)\nFINAL_ANSWER: 3", "patch"),
        ("action: Restart", "restart"),
        ("ACTION: 3.", "restart"),
        ("ACTION: [accept]", "accept"),
        ("thinking of ACTION\nACTION: 3\nSUGGESTIONS: a\nb\nACTION: 1", "accept"),
    ],
)
def test_an_action_is_a_digit_or_a_word_and_the_last_one_counts(line: str, action: str) -> None:
    found = read_control(line)
    assert found is not None
    assert found.action == action


@pytest.mark.parametrize("text", ["", "ACTION:", "ACTION: 4", "ACTION: 12", "accept", "ACTION: accepted"])
def test_what_names_no_action_is_not_read(text: str) -> None:
    assert read_control(text) is None


def test_labelled_lines_may_run_over_several_lines() -> None:
    found = read_control("ACTION: 2\nCORRECTED_REASONING: 1. a\n2. b\n\n3. c\nFINAL_ANSWER: \\boxed{9}\n")
    assert found is not None
    assert found.corrected_reasoning == "1. a\n2. b\n\n3. c"
    assert found.final_answer == "9"


def test_an_audit_keeps_its_explanation_and_none_is_no_description() -> None:
    audit = read_audit("I checked.\nAll of it.\nERROR_FOUND: no\nERROR_STEP: NONE\nERROR_DESCRIPTION: None.")
    assert audit is not None
    assert (audit.error_found, audit.error_location, audit.description) == (False, None, "")
    assert audit.explanation == "I checked.\nAll of it."
    assert read_audit("ERROR_FOUND: maybe") is None
    assert read_audit("ERROR_FOUND: nowhere") is None


def test_the_form_of_a_reply_stands_behind_the_instructions_of_each_role() -> None:
    told = rmc(*EXAMPLE, reasoner="R!", monitor="M!", controller="C!")
    systems = [call.request.messages[0].content for call in told.model.calls[:3]]
    assert [s.partition("\n\n")[0] for s in systems] == ["R!", "M!", "C!"]
    assert "Final Answer:" in systems[0]
    assert "ERROR_FOUND:" in systems[1]
    assert "ACTION:" in systems[2]


def test_the_answer_of_a_single_question_is_told_once() -> None:
    assert [e.span for e in rmc(*EXAMPLE).events if isinstance(e, Answered)] == [""]
