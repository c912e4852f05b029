"""Agentic meta-reasoning: the worked example of section 3.9 of the specification, B-1 to B-12, repairs of 3.5."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from amr_runs import (
    LONG,
    QUESTION,
    WORKED,
    Ran,
    advice,
    finish,
    native,
    ran,
    tool,
    worked,
    workers,
)

from meta_tui.chat import Reply
from meta_tui.errors import CallFailed, Stopped, UnknownSetting
from meta_tui.events import (
    BudgetChanged,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    SpanStarted,
    Stored,
)
from meta_tui.methods import build
from meta_tui.methods.prompts import text
from meta_tui.runlog import read

STAGES = ("assess", "propose", "evaluate", "dispatch")
ID = re.compile(r"\b\d+_\d+\b")


@pytest.fixture(scope="module")
def example() -> Ran:
    return ran("meta_reasoning", WORKED, budget=20)


def stored(run: Ran, *kinds: str) -> list[Stored]:
    return [e for e in run.of(Stored) if e.kind in kinds]


# The worked example.


def test_example_the_calls_come_in_the_stated_order(example: Ran) -> None:
    """c = 4, 6, 4 and w = 3, 2, 0; U = 19/20."""
    cycle0 = [*STAGES, "worker 0_0", "worker 0_1", "worker 0_2"]
    cycle1 = ["assess", "assess", "propose", "propose", "evaluate", "dispatch", "worker 1_1", "worker 1_2"]
    assert [call.name for call in example.calls] == [*cycle0, *cycle1, *STAGES]
    assert example.result.calls == 19


def test_example_every_event_of_the_method_comes_in_order(example: Ran) -> None:
    """The stream without requests, outcomes and instructions, worked out by hand from the table."""
    stage = [("stage", name) for name in STAGES]
    told: list[Any] = []
    for event in example.events:
        match event:
            case SpanStarted():
                told.append((event.role, event.name))
            case RoundStarted():
                told.append(("cycle", event.number - 1))
            case BudgetChanged():
                told.append(event.calls)
            case Stored() if event.kind != "instruction":
                told.append((event.kind, event.id, event.inputs))
            case RunFinished():
                told.append((event.status, event.reason))
    assert told == [
        *(0, ("cycle", 0), *stage[:3], 2, ("recommendation", "A", ()), stage[3]),
        *(("worker", f"worker 0_{n}") for n in range(3)),
        *(("artifact", f"0_{n}", ()) for n in range(3)),
        *(7, ("cycle", 1), stage[0], ("note", "1_0", ())),
        *(("verdict", f"0_{n}", ()) for n in range(3)),
        *(stage[1], ("read", "", ("0_1",)), stage[2], 11, ("recommendation", "A", ("0_1",)), stage[3]),
        *(("worker", "worker 1_1"), ("worker", "worker 1_2")),
        *(("artifact", "1_1", ("0_1",)), ("artifact", "1_2", ("0_0", "0_1"))),
        *(15, ("cycle", 2), stage[0], ("verdict", "1_1", ()), ("verdict", "1_2", ()), ("advice", "1_1", ())),
        *(stage[1], stage[2], 17, ("recommendation", "STOP", ()), stage[3]),
        *(19, ("submit", "1_1", ()), ("answered", "stopped")),
    ]


@pytest.mark.parametrize(("cycle", "used", "left"), [(0, 2, 18), (1, 11, 9), (2, 17, 3)])
def test_example_evaluate_sees_used_and_remaining(example: Ran, cycle: int, used: int, left: int) -> None:
    shown = example.text("evaluate", cycle)
    assert f"Cycle: {cycle}\nCalls used so far: {used} of 20\nCalls remaining: {left}" in shown


def test_example_the_graph_has_the_stated_edges_verdicts_and_confidences(example: Ran) -> None:
    trace = example.trace
    assert trace.edges() == [("0_1", "1_1"), ("0_0", "1_2"), ("0_1", "1_2")]
    assert trace.edges("note") == []
    assert {id: v[0] for id, v in trace.verdicts.items() if id.startswith("0_")} == {
        "0_0": "LIKELY_CORRECT",
        "0_1": "FUNDAMENTALLY_FLAWED",
        "0_2": "HAS_GAPS",
    }
    assert [a.confidence for a in trace.workers[:3]] == ["HIGH", "HIGH", "LOW"]
    assert [a.answer for a in trace.workers[:3]] == ["29", "2639", "unknown"]
    assert [a.available_at for a in trace.workers] == [5, 6, 7, 14, 15]
    assert (trace.work, trace.control) == (5, 14)


# B-1 to B-12.


def numbers_in(run: Ran, name: str, nth: int = 0) -> set[str]:
    return set(re.findall(r"\d+", run.text(name, nth)))


def test_b1_only_evaluate_is_told_the_budget() -> None:
    """B = 7919; the remaining counts of every moment of the run occur nowhere else either."""
    run = ran("meta_reasoning", WORKED, budget=7919)
    secret = {str(7919 - used) for used in range(20)}
    for call in run.calls:
        found = secret & set(re.findall(r"\d+", "\n".join(m.content for m in call.request.messages)))
        assert bool(found) == (call.name == "evaluate"), (call.name, found)
    assert {"7919", "7917"} <= numbers_in(run, "evaluate")
    assert {"7919", "7908"} <= numbers_in(run, "evaluate", 1)


def test_b1_a_note_of_evaluate_that_carries_the_number_on_is_flagged() -> None:
    note = tool("write_memory", entries=[{"title": "t", "body": "only 7917 calls are left"}])
    run = ran("meta_reasoning", WORKED | {"evaluate": [note, *WORKED["evaluate"]]}, budget=7919)
    assert ("budget_in_note", "0_0") in run.trace.flags
    assert not [f for f in ran("meta_reasoning", WORKED, budget=7919).trace.flags if f[0] == "budget_in_note"]


def test_b2_a_worker_is_shown_no_id_and_no_title(example: Ran) -> None:
    for id in ("0_0", "0_1", "0_2", "1_1", "1_2"):
        shown = example.text(f"worker {id}")
        assert not ID.search(shown)
        assert not {a.title for a in example.trace.artifacts} & set(re.findall(r"[^<>\n]+", shown))
    shown = example.text("worker 1_2")
    first, second = "13195 = 5*7*13*29\nANSWER: 29", "13195 = 5*2639 ...\nANSWER: 2639"
    assert f"<memory>\n{first}\nconfidence: HIGH\n</memory>" in shown
    assert shown.index(first) < shown.index(second)


def test_b2_an_instruction_that_names_an_id_is_passed_on_and_flagged() -> None:
    instruction = f"Repair the step in 0_0. {LONG}"
    script = WORKED | {"dispatch": [workers((), (), ()), workers(("0_0",), prompts=[instruction])]}
    run = ran("meta_reasoning", script, budget=12)
    assert instruction in run.text("worker 1_1")
    assert ("id_in_instruction", "1_1") in run.trace.flags
    assert not ID.search(run.text("worker 1_1").replace(instruction, ""))


def test_b3_the_submission_is_the_stored_body_to_the_byte_and_was_there_before(example: Ran) -> None:
    (body,) = [e.body for e in stored(example, "artifact") if e.id == "1_1"]
    assert example.result.answer == body == "2639 = 7*13*29\nANSWER: 29\nconfidence: HIGH"
    at = example.events.index
    (submit,) = stored(example, "submit")
    (artifact,) = [e for e in stored(example, "artifact") if e.id == submit.id]
    last = example.of(Requested)[-1]
    assert at(artifact) < at(last) < at(submit)


def test_b4_bodies_are_shown_only_to_assess_when_new_and_after_a_read(example: Ran) -> None:
    body = "13195 = 5*2639 ..."
    with_body = [c.name for c in example.calls if body in "\n".join(m.content for m in c.request.messages)]
    assert with_body == ["assess", "assess", "propose", "worker 1_1", "worker 1_2"]
    propose = [c for c in example.calls if c.name == "propose"]
    assert body not in propose[1].request.messages[1].content
    assert body in propose[2].request.messages[-1].content


def test_b4_index_lines_hold_id_and_title_only(example: Ran) -> None:
    shown = example.sent("assess", 3)[1].content
    index = shown.partition("## Memory index\n")[2].partition("\n\n")[0]
    assert index == (
        "0_0: TITLE: Trial division\n0_1: TITLE: Divide by 5 first\n0_2: TITLE: Bound only\n"
        "1_0: TITLE: 2639 is composite\n1_1: TITLE: Repaired\n1_2: TITLE: Both at once"
    )


def test_b5_the_ledger_is_the_count_of_requests_after_every_cycle(example: Ran) -> None:
    """b_0 = 20, c + w = 7, 8, 4: b = 13, 5, 1."""
    looked, calls = [], 0
    for event in example.events:
        calls += isinstance(event, Requested)
        if isinstance(event, BudgetChanged):
            assert event.calls == calls
            looked.append(20 - calls)
    assert [b for b in looked if b not in (18, 9, 3)] == [20, 13, 5, 1]


def test_the_state_of_a_cycle_is_the_last_reply_of_assess_not_a_tool_call_before_it(example: Ran) -> None:
    """Assess of cycle 1 writes a note first."""
    assert example.trace.state_sizes == tuple(len(str(WORKED["assess"][n])) for n in (0, 2, 3))


@pytest.mark.parametrize(("budget", "calls"), [(5, 9), (4, 9), (1, 9), (9, 9), (10, 18)])
def test_b6_a_batch_larger_than_the_rest_runs_and_no_further_cycle_begins(budget: int, calls: int) -> None:
    """4 calls and 5 workers a cycle; whatever is left of b when a batch begins, the batch ends."""
    run = ran(
        "meta_reasoning", lambda call: workers(*[()] * 5) if call.name == "dispatch" else "", budget=budget
    )
    assert (run.result.calls, run.result.reason) == (calls, "forced")
    assert len(run.of(RoundStarted)) == calls // 9


def test_b11_an_empty_dispatch_starts_one_worker_on_the_plain_problem() -> None:
    run = ran("meta_reasoning", {}, budget=5)
    assert [c.name for c in run.calls] == [*STAGES, "worker 0_0"]
    assert run.text("worker 0_0") == f"Problem:\n{QUESTION}\n\n{text('amr_worker_form')}"
    (artifact,) = run.trace.workers
    assert artifact.context == ()
    assert len(run.of(RoundStarted)) == 1


def test_b12_assess_sees_of_the_last_cycle_its_state_the_new_artifacts_and_the_index() -> None:
    script = {
        "assess": ["STATE-ZERO", "STATE-ONE"],
        "propose": ["PROPOSALS-ZERO"],
        "evaluate": ["EVALUATION-ZERO"],
        "dispatch": [
            tool("write_memory", entries=[{"title": "NOTE-TITLE", "body": "NOTE-BODY"}]),
            workers(()),
        ],
        "worker 0_1": [worked("WORKER-TITLE", "WORKER-BODY", "1", "LOW")],
    }
    shown = ran("meta_reasoning", script, budget=12).sent("assess", 1)[1].content
    assert shown == (
        f"## Problem\n{QUESTION}\n\n## Memory index\n0_0: TITLE: NOTE-TITLE\n0_1: TITLE: WORKER-TITLE\n\n"
        '## Your previous assessment\nSTATE-ZERO\n\n## New attempts\n<artifact id="0_1">\n'
        "TITLE: WORKER-TITLE\nWORKER-BODY\nANSWER: 1\nconfidence: LOW\n</artifact>"
    )


# Endings.


def test_even_the_smallest_budget_gives_the_text_of_one_worker() -> None:
    """The budget is looked at between cycles only, and a cycle without `finish` has a worker."""
    run = ran("meta_reasoning", {"worker 0_0": ["only"]}, budget=1)
    assert (run.result.answer, run.result.reason) == ("only", "forced")


def test_stopping_on_an_early_artifact_submits_that_one_and_not_the_latest() -> None:
    run = ran("meta_reasoning", WORKED | {"dispatch": [*WORKED["dispatch"][:2], finish("0_0")]}, budget=20)
    assert run.trace.submitted == "0_0"
    assert run.result.answer == "13195 = 5*7*13*29\nANSWER: 29\nconfidence: HIGH"


def test_a_hard_stop_of_the_run_keeps_the_latest_artifact() -> None:
    """Another budget than B, and it may stop between the calls of a cycle."""

    def answer(call: Any) -> Any:
        seen.append(call.name)
        return (
            Stopped("budget", "no calls left") if len(seen) > 6 else ("kept" if "worker" in call.name else "")
        )

    seen: list[str] = []
    run = ran("meta_reasoning", answer, budget=20)
    assert (run.result.status, run.result.answer) == ("budget", "kept")


# Repairs of 3.5.


def flags(run: Ran) -> list[tuple[str, str]]:
    return list(run.trace.flags)


def test_a_verdict_for_an_unknown_id_is_ignored_and_flagged() -> None:
    script = WORKED | {"assess": ['<candidate id="9_9">LIKELY_CORRECT</candidate>', "", "", ""]}
    run = ran("meta_reasoning", script, budget=7)
    assert flags(run) == [("verdict_for_unknown_id", "9_9")]
    assert run.trace.verdicts == {}


def test_an_assessment_without_parts_is_the_state_and_says_so() -> None:
    run = ran("meta_reasoning", {"assess": ["", "just words"]}, budget=10)
    assert "just words" in run.text("propose", 1)
    assert "no verdict: the text is kept as the state" in [e.reason for e in run.of(Rejected)]


def test_unreadable_recommendations_are_passed_on_to_dispatch() -> None:
    run = ran("meta_reasoning", WORKED | {"evaluate": ["do something", "", ""]}, budget=7)
    assert run.sent("dispatch")[1].content.endswith("## Decision\ndo something")


def test_finish_with_an_unknown_id_submits_the_latest_worker_artifact() -> None:
    run = ran("meta_reasoning", WORKED | {"dispatch": [*WORKED["dispatch"][:2], finish("7_7")]}, budget=20)
    assert (run.trace.submitted, run.trace.how) == ("1_2", "repaired")
    assert flags(run) == [("finish_with_unknown_id", "7_7")]


def test_finish_on_a_note_is_asked_again_once_then_the_latest_worker_artifact_counts() -> None:
    dispatch = [*WORKED["dispatch"][:2], finish("1_0"), finish("1_0")]
    run = ran("meta_reasoning", WORKED | {"dispatch": dispatch}, budget=20)
    assert (run.trace.submitted, run.result.calls) == ("1_2", 20)
    repaired = ran("meta_reasoning", WORKED | {"dispatch": [*dispatch[:3], finish("0_0")]}, budget=20)
    assert (repaired.trace.submitted, repaired.trace.how) == ("0_0", "stopped")
    assert "1_0 is a note" in repaired.text("dispatch", 3)


def test_finish_before_any_worker_starts_the_default_worker() -> None:
    run = ran("meta_reasoning", {"dispatch": [finish("0_0")], "worker 0_0": ["x"]}, budget=5)
    assert [c.name for c in run.calls][-1] == "worker 0_0"


def test_a_short_instruction_is_asked_for_again_once_and_then_taken_and_flagged() -> None:
    run = ran("meta_reasoning", {"dispatch": [workers((), prompts=["A"])] * 2}, budget=5)
    assert "at least 200 characters" in run.text("dispatch", 1)
    assert run.text("worker 0_0").count("Instruction:\nA\n") == 1
    assert ("short_instruction", "") in flags(run)
    assert run.result.calls == 6


def test_an_instruction_that_is_a_bare_action_letter_is_asked_for_again_whatever_its_length() -> None:
    run = ran("meta_reasoning", {"dispatch": [workers((), prompts=["A"])] * 2}, budget=5, instruction_chars=0)
    assert [c.name for c in run.calls].count("dispatch") == 2
    assert ("short_instruction", "") in flags(run)


def test_the_last_verdict_in_the_part_of_a_candidate_counts() -> None:
    weighed = '<candidate id="0_0">not LIKELY_CORRECT, rather\nVERDICT: HAS_GAPS</candidate>'
    run = ran("meta_reasoning", WORKED | {"assess": ["", weighed]}, budget=12)
    assert run.trace.verdicts == {"0_0": ("HAS_GAPS",)}


def test_recommendations_are_kept_in_the_order_of_evaluate_the_first_of_which_decides() -> None:
    entries = "[{action_id: STOP, memory_id: 0_0}, {action_id: B, memory: [], parallel_workers: 2}]"
    run = ran("meta_reasoning", {"evaluate": [advice(entries)]}, budget=5)
    kept = [e.id for e in run.of(Stored) if e.kind == "recommendation"]
    assert kept == ["STOP", "B"]


@pytest.mark.parametrize(
    ("reply", "title", "body"),
    [
        ("x" * 81, "x" * 80, "x" * 81),
        ("<title>T</title>\nbody\n", "T", "body\n"),
        ("\n\n<title> T  two </title>\nbody", "T two", "body"),
        ("first line\nsecond", "first line second", "first line\nsecond"),
        ("", "(untitled)", ""),
    ],
)
def test_a_worker_without_a_title_is_called_by_the_first_80_characters(
    reply: str, title: str, body: str
) -> None:
    from meta_tui.methods.artifacts import read_worker

    found = read_worker(reply)
    assert (found.title, found.body) == (title, body)


@pytest.mark.parametrize(
    ("arguments", "instructions", "contexts"),
    [
        ({"num_repeats": 3, "subagent_prompts": ["a", "b"]}, ("a", "b", "b"), ((), (), ())),
        (
            {"num_repeats": 1, "subagent_prompts": ["a", "b"], "memory_blocks": [["x"], ["y"]]},
            ("a",),
            (("x",),),
        ),
        ({"num_repeats": 2, "subagent_prompts": ["a"], "memory_blocks": [["x"]]}, ("a", "a"), (("x",), ())),
        ({"num_repeats": 0, "subagent_prompts": ["a"]}, ("a",), ((),)),
        ({"num_repeats": -5, "subagent_prompts": []}, ("",), ((),)),
        ({"num_repeats": "2", "subagent_prompts": "a"}, ("a", "a"), ((), ())),
        ({"subagent_prompts": ["a", "b"]}, ("a", "b"), ((), ())),
        ({}, ("",), ((),)),
        ({"num_repeats": True, "subagent_prompts": [1, "a", None], "memory_blocks": "x"}, ("a",), ((),)),
    ],
)
def test_a_batch_is_repaired_as_the_table_says(arguments: Any, instructions: Any, contexts: Any) -> None:
    from meta_tui.methods.deliberation import batch

    found = batch(arguments)
    assert (found.instructions, found.contexts) == (instructions, contexts)


def test_num_repeats_is_clamped_to_32() -> None:
    from meta_tui.methods.deliberation import batch

    assert len(batch({"num_repeats": 1000, "subagent_prompts": ["a"]}).instructions) == 32


def test_unknown_ids_in_memory_blocks_are_dropped_and_flagged() -> None:
    script = WORKED | {"dispatch": [workers((), (), ()), workers(("9_9", "0_0", "0_0"))]}
    run = ran("meta_reasoning", script, budget=14)
    assert run.trace.workers[-1].context == ("0_0",)
    assert ("unknown_id_in_memory_blocks", "9_9") in flags(run)


def test_a_worker_that_fails_leaves_an_ungradable_artifact_and_is_charged() -> None:
    script = WORKED | {"worker 0_1": [CallFailed("server", "down")]}
    run = ran("meta_reasoning", script, budget=20)
    failed = run.trace.workers[1]
    assert (failed.body, failed.failed, failed.answer, failed.confidence) == (
        "worker failed",
        True,
        None,
        None,
    )
    assert run.result.calls == 19


def test_a_stage_has_six_calls_and_its_last_is_without_tools() -> None:
    """What it says then is its output, tool call or not."""
    greedy = tool("read_memory", ids=["0_0"])
    run = ran("meta_reasoning", {"assess": [greedy] * 6}, budget=5)
    asked = [c for c in run.calls if c.name == "assess"]
    assert len(asked) == 6
    assert asked[-1].request.messages[-1].content == text("amr_last_call")
    assert greedy in run.sent("propose")[1].content
    assert "NOT FOUND: there is no artifact 0_0" in asked[1].request.messages[-1].content


def test_dispatch_at_its_cap_starts_the_default_worker() -> None:
    run = ran("meta_reasoning", {"dispatch": [tool("read_memory", ids=[])] * 6}, budget=5)
    assert [c.name for c in run.calls].count("dispatch") == 6
    assert len(run.trace.workers) == 1


def test_a_tool_call_in_the_last_message_of_a_stage_is_not_carried_out() -> None:
    reads = [tool("read_memory", ids=[])] * 5
    note = tool("write_memory", entries=[{"title": "t", "body": "b"}])
    run = ran("meta_reasoning", {"assess": [*reads, note], "dispatch": [*reads, workers((), ())]}, budget=5)
    assert [a.kind for a in run.trace.artifacts] == ["worker"]
    assert "Instruction:" not in run.text("worker 0_0")


def test_a_stage_other_than_dispatch_cannot_run_workers_or_finish() -> None:
    run = ran("meta_reasoning", {"propose": [workers(()), finish("0_0"), "text"]}, budget=5)
    assert "There is no tool 'run_workers' here" in run.text("propose", 1)
    assert "There is no tool 'finish' here" in run.text("propose", 2)


# Native tool calls.


def test_native_tool_calls_give_the_same_run_as_the_text_form() -> None:
    def as_native(line: Any) -> Any:
        import json

        if isinstance(line, str) and line.startswith("```json"):
            call = json.loads(line.strip("`").removeprefix("json"))
            return native(call["tool"], **call["arguments"])
        return line

    script = {name: [as_native(line) for line in lines] for name, lines in WORKED.items()}
    run = ran("meta_reasoning", script, budget=20, tools="native")
    plain = ran("meta_reasoning", WORKED, budget=20)
    assert run.trace.artifacts == plain.trace.artifacts
    assert (run.result.answer, run.result.calls) == (plain.result.answer, plain.result.calls)
    offered = {c.name: [t["function"]["name"] for t in c.request.params.tools or ()] for c in run.calls}
    assert offered["assess"] == ["read_memory", "write_memory"]
    assert offered["dispatch"] == ["read_memory", "write_memory", "run_workers", "finish"]
    assert offered["worker 0_0"] == []
    answer = run.sent("propose", 2)[-1]
    assert (answer.role, answer.tool_call_id) == ("tool", "call_read_memory")
    assert "tools" not in run.sent("assess")[0].content.lower()


def test_native_every_call_of_one_reply_is_answered() -> None:
    both = Reply("", (*native("read_memory", ids=["0_0"]).tool_calls, *native("write_memory").tool_calls))
    run = ran("meta_reasoning", {"assess": [both, "done"]}, budget=5, tools="native")
    answers = [m for m in run.sent("assess", 1) if m.role == "tool"]
    assert [m.tool_call_id for m in answers] == ["call_read_memory", "call_write_memory"]


def test_native_the_last_call_declares_the_tools_and_forbids_them() -> None:
    run = ran("meta_reasoning", {"assess": [native("read_memory", ids=[])] * 9}, budget=5, tools="native")
    asked = [c.request.params for c in run.calls if c.name == "assess"]
    assert [p.tool_choice for p in asked] == [None] * 5 + ["none"]


def test_native_a_model_without_tool_calls_may_use_the_text_form() -> None:
    run = ran("meta_reasoning", WORKED, budget=20, tools="native")
    assert run.result.reason == "stopped"


def test_arguments_that_are_no_json_are_answered_with_that() -> None:
    broken = Reply("", (native("read_memory").tool_calls[0].__class__("i", "read_memory", "{oops"),))
    run = ran("meta_reasoning", {"assess": [broken, "done"]}, budget=5, tools="native")
    assert run.sent("assess", 1)[-1].content == "Not done: its arguments are no JSON object."


# Settings and ablations.


def test_without_propose_a_cycle_costs_three_and_evaluate_finds_its_own_actions() -> None:
    run = ran("meta_reasoning", WORKED, budget=4, no_propose=True)
    assert [c.name for c in run.calls][:3] == ["assess", "evaluate", "dispatch"]
    assert "No actions have been proposed" in run.text("evaluate")
    assert "costs 3 calls" in run.text("evaluate")
    assert "## Proposed actions" not in run.text("evaluate")


def test_without_evaluate_nobody_sees_the_budget_and_dispatch_gets_the_proposals() -> None:
    run = ran("meta_reasoning", WORKED, budget=7919, no_evaluate=True)
    assert "evaluate" not in {c.name for c in run.calls}
    assert WORKED["propose"][0] in run.text("dispatch")
    assert "nobody has ranked" in run.text("dispatch")
    assert not any("7919" in m.content for c in run.calls for m in c.request.messages)


def test_state_only_stages_have_no_index_and_no_memory_tools() -> None:
    run = ran("meta_reasoning", WORKED, budget=20, state_only=True)
    for name in STAGES:
        assert "Memory index" not in run.text(name, 1)
        assert "read_memory" not in run.sent(name, 1)[0].content
    assert run.trace.workers[3].context == ("0_1",)
    assert run.trace.reads == ()


def test_without_memory_workers_are_shown_nothing_either() -> None:
    run = ran("meta_reasoning", WORKED, budget=20, no_memory=True)
    assert {a.context for a in run.trace.workers} == {()}
    assert all(a.kind == "worker" for a in run.trace.artifacts)


def test_dispatch_sees_the_state_only_where_it_is_set() -> None:
    assert "No work yet" not in ran("meta_reasoning", WORKED, budget=7).text("dispatch")
    assert "No work yet" in ran("meta_reasoning", WORKED, budget=7, dispatch_sees_state=True).text("dispatch")


def test_the_limit_of_rounds_is_the_most_cycles_that_can_begin() -> None:
    """B = 20 and at least 5 calls a cycle: the fifth would begin at 20."""
    run = ran("meta_reasoning", {}, budget=20)
    assert [(e.number, e.limit) for e in run.of(RoundStarted)] == [(n, 4) for n in range(1, 5)]
    run = ran("meta_reasoning", {}, budget=21)
    assert [(e.number, e.limit) for e in run.of(RoundStarted)] == [(n, 5) for n in range(1, 6)]


@pytest.mark.parametrize(
    ("cut", "cycles"),
    [
        ({"no_propose": True}, 5),
        ({"no_evaluate": True}, 5),
        ({"no_propose": True, "no_evaluate": True}, 7),
        ({"state_only": True}, 4),
        ({"no_memory": True}, 4),
    ],
)
def test_an_ablation_without_a_stage_has_room_for_more_cycles(cut: dict[str, bool], cycles: int) -> None:
    """B = 20; a cycle costs a call a stage and one worker: 5, 4 without one stage, 3 without two."""
    run = ran("meta_reasoning", {}, budget=20, **cut)
    assert {e.limit for e in run.of(RoundStarted)} == {cycles}
    assert len(run.of(RoundStarted)) == cycles


@pytest.mark.parametrize(
    "settings", [{"mode": "coding"}, {"budget": 0}, {"most_workers": 33}, {"tools": "x"}]
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UnknownSetting):
        build("meta_reasoning", settings)


def test_the_log_holds_each_body_and_each_reply_once_and_reads_back(tmp_path: Path) -> None:
    run = ran("meta_reasoning", WORKED, tmp_path / "run.jsonl", budget=20)
    back = read(tmp_path / "run.jsonl")
    assert [type(e) for e in back.events] == [type(e) for e in run.events]
    assert len([e for e in back.events if isinstance(e, Replied)]) == 19


def test_advice_is_written_for_people_only(example: Ran) -> None:
    """Assess's stop is one input: in cycle 2 it is stored, and Evaluate decides."""
    assert [(e.id, e.title) for e in stored(example, "advice")] == [("1_1", "STOP")]
    assert advice("[]").startswith("Worth it")
