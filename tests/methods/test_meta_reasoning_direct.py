"""Direct Control: B-13 and the rules of section 3.6 of the specification."""

from __future__ import annotations

from itertools import pairwise

import pytest
from amr_runs import LONG, QUESTION, Ran, native, ran, tool, worked, workers

from meta_tui.events import Rejected
from meta_tui.methods.artifacts import answer_of
from meta_tui.methods.prompts import text

DONE = tool("finish", result="So it is.\nANSWER: 29")


def controlled(*lines: object, **settings: object) -> Ran:
    return ran("direct_control", {"control": list(lines)}, **{"budget": 20, **settings})  # type: ignore[arg-type]


def history(run: Ran) -> list[tuple[object, ...]]:
    return [c.request.messages for c in run.calls if c.role != "worker"]


def test_b13_the_message_list_only_grows_and_a_decision_is_one_call() -> None:
    run = controlled(workers(()), "hm", workers(("0_0",), ()), DONE)
    for before, after in pairwise(history(run)):
        assert after[: len(before)] == before
        assert len(after) > len(before)
    assert [c.role for c in run.calls] == ["meta", "worker", "meta", "meta", "worker", "worker", "meta"]


def told(run: Ran, words: str) -> list[str]:
    return [m.content for m in history(run)[-1] if words in m.content]  # type: ignore[attr-defined]


def test_b13_every_tenth_of_the_budget_is_told_once_and_finish_now_once() -> None:
    """B = 20, two calls a decision: 10, 20, ... per cent after every one; 90 per cent at 18."""
    run = controlled(*[workers(())] * 30)
    lines = told(run, "calls used")
    assert lines == [f"Budget: {n} of 20 calls used, {20 - n} left." for n in range(2, 20, 2)]
    assert told(run, text("amr_finish_now")) == [text("amr_finish_now")]
    last = [m.content for m in history(run)[-1]]  # type: ignore[attr-defined]
    assert last.index(text("amr_finish_now")) == last.index(lines[-1]) + 1


def test_b13_finish_now_is_demanded_once_however_many_decisions_are_left() -> None:
    """B = 40, the controller never finishes: decisions at 36 and 38 calls both lie behind 90 per cent."""
    run = controlled(*[workers(())] * 30, budget=40)
    assert run.result.calls == 40
    assert told(run, text("amr_finish_now")) == [text("amr_finish_now")]


def test_steps_that_a_batch_jumps_over_are_told_as_one_line() -> None:
    run = controlled(workers(*[()] * 8), workers(()), DONE)
    assert told(run, "calls used") == [
        "Budget: 9 of 20 calls used, 11 left.",
        "Budget: 11 of 20 calls used, 9 left.",
    ]


def test_the_system_prompt_ends_with_the_budget() -> None:
    shown = controlled(DONE).sent("")[0].content
    assert shown.endswith("the output of the latest worker is submitted as it stands.")
    assert "Budget: 20 model calls in all." in shown


def test_the_result_of_a_batch_lists_new_ids_and_full_bodies() -> None:
    script = {
        "control": [workers((), ()), DONE],
        "worker 0_0": [worked("One", "first body", "1", "LOW")],
        "worker 0_1": ["second body"],
    }
    heard = ran("direct_control", script, budget=20).sent("", 1)[-2].content
    assert heard == (
        'Result of run_workers:\n<artifact id="0_0">\nTITLE: One\nfirst body\nANSWER: 1\nconfidence: LOW\n'
        '</artifact>\n\n<artifact id="0_1">\nTITLE: second body\nsecond body\n</artifact>'
    )


def test_workers_are_shown_what_those_of_the_staged_controller_are() -> None:
    script = {"control": [workers((), prompts=[LONG]), DONE]}
    direct = ran("direct_control", script, budget=20)
    staged = ran("meta_reasoning", {"dispatch": [workers((), prompts=[LONG])]}, budget=5)
    assert direct.sent("worker 0_0") == staged.sent("worker 0_0")
    assert QUESTION in direct.text("worker 0_0")


def test_finish_ends_with_the_text_that_the_controller_gave() -> None:
    run = controlled(workers(()), DONE)
    assert (run.result.reason, run.result.answer) == ("stopped", "So it is.\nANSWER: 29")
    assert answer_of(run.result.answer or "") == "29"


def test_at_exhaustion_the_latest_worker_output_is_submitted() -> None:
    script = {"control": [workers((), ())] * 9, "worker 6_1": ["the latest"]}
    run = ran("direct_control", script, budget=20)
    assert (run.result.calls, run.result.reason, run.result.answer) == (21, "forced", "the latest")
    assert run.trace.submitted == "6_1"


def test_without_a_tool_call_it_is_asked_again_once_and_then_taken_at_its_word() -> None:
    run = controlled("thinking", "It is 29.")
    assert (run.result.answer, run.result.calls, run.result.reason) == ("It is 29.", 2, "stopped")
    assert text("amr_again_direct") in [m.content for m in history(run)[-1]]  # type: ignore[attr-defined]


def test_the_reminder_is_for_messages_in_a_row() -> None:
    run = controlled("hm", workers(()), "hm", DONE)
    assert run.result.answer == "So it is.\nANSWER: 29"
    assert len(run.of(Rejected)) == 2


def test_two_empty_messages_submit_the_latest_worker_output_or_nothing() -> None:
    assert controlled("", "").result.status == "no_answer"
    run = ran("direct_control", {"control": [workers(()), "", ""], "worker 0_0": ["x"]}, budget=20)
    assert (run.result.answer, run.result.reason) == ("x", "stopped")


@pytest.mark.parametrize("call", [tool("read_memory", ids=[]), tool("finish"), tool("finish", result=5)])
def test_other_tools_and_a_finish_without_a_result_are_answered_and_cost_a_call(call: str) -> None:
    run = controlled(call, DONE)
    assert "Not done: there is no tool" in run.sent("", 1)[-2].content + run.sent("", 1)[-1].content
    assert run.result.calls == 2


def test_native_one_batch_for_each_message() -> None:
    batch = native("run_workers", num_repeats=1, subagent_prompts=[LONG], memory_blocks=[[]])
    both = batch.__class__("", batch.tool_calls * 2)
    run = controlled(both, native("finish", result="x"), tools="native")
    answers = [m for m in run.sent("", 1) if m.role == "tool"]
    assert len(answers) == 2
    assert "one batch for each of your messages" in answers[1].content
    assert len(run.trace.workers) == 1
