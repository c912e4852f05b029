"""Meta^n, single rules that a run shows only where they decide something: gains, patience, the range,
children, the guard's answers, what Omega is told of the archive."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from meta_n_runs import InProcess, Told, by_role, layer, layer_reply, number_of, say, script, solve, trace

from meta_tui.events import Answered, SpanStarted
from meta_tui.methods.meta_n.archive import Archive, Candidate, parents
from meta_tui.methods.meta_n.facts import TaskFacts
from meta_tui.methods.meta_n.omega import Evidence, payload
from meta_tui.methods.meta_n.roles import rule_roles
from meta_tui.models.base import Call
from meta_tui.session import steering
from meta_tui.tasks import Grade


def dealt(*rows: Sequence[float], empty: Sequence[int] = ()) -> Any:
    """The n-th layer marks itself; a task's score stands in the row of the newest mark that its
    solver sees (the last row for all that follow). Some calls of Omega give no layer."""
    calls = iter(range(1, 999))

    def reply(call: Call) -> str:
        if call.role == "omega":
            number = next(calls)
            return "" if number in empty else layer_reply(say(f"[{number}]"))
        marks = [int(mark) for mark in re.findall(r"\[(\d+)\]", call.request.messages[0].content)]
        return script(rows[min(max(marks, default=0), len(rows) - 1)][number_of(call)])

    return reply


def gains(told: Told) -> list[bool]:
    """Whether each iteration improved something."""
    return [body.get("improved", False) for body in told.bodies("archive_best")][1:]


@pytest.mark.parametrize("mode", ["linear", "evolutionary"])
def test_a_gain_of_exactly_epsilon_is_none(mode: str) -> None:
    told = solve(dealt([0.5], [0.75], [0.75]), 1, mode=mode, epsilon=0.25, patience=1)
    assert gains(told) == [False]
    told = solve(dealt([0.5], [0.75], [0.75]), 1, mode=mode, epsilon=0.24, patience=1)
    assert gains(told) == [True, False]


@pytest.mark.parametrize("mode", ["linear", "evolutionary"])
def test_a_gain_begins_patience_anew(mode: str) -> None:
    told = solve(dealt([0.1], [0.1], [0.5], [0.5], [0.5]), 1, mode=mode, patience=2)
    assert [body.get("patience", 0) for body in told.bodies("archive_best")] == [0, 1, 0, 1, 2]


@pytest.mark.parametrize("mode", ["evolutionary", "depth1"])
def test_an_iteration_gains_by_the_best_chain_or_by_the_best_of_the_tasks(mode: str) -> None:
    """First the tasks' best rises alone, then the best chain alone, then nothing."""
    rows = [[0.9, 0.1], [0.1, 0.9], [0.8, 0.8], [0.1, 0.1]]
    if mode == "evolutionary":
        told = solve(dealt(*rows), 2, mode=mode, patience=1)
    else:
        values = iter([one for row in rows for one in row])
        told = solve(lambda call: script(next(values)), 2, mode=mode, patience=1)
    assert gains(told) == [True, True, False]


def test_the_range_of_an_open_scale_is_frozen_after_the_first_iteration() -> None:
    """0.1 after the first; were it 20 after the second, the third would be no gain."""
    told = solve(
        dealt([10.0], [10.1], [30.0], [30.05]),
        1,
        mode="evolutionary",
        score_range=0,
        iterations=3,
        patience=3,
    )
    assert gains(told) == [True, True, True]


def test_a_parent_is_bred_from_less_often_the_more_children_it_has() -> None:
    """Two candidates of which the worse has rank 0: it lives on its bonus alone, which shrinks.
    Without counting children it would have a sixth of all calls."""
    told = solve(
        dealt([0.5], [0.48], empty=range(2, 999)), 1, mode="evolutionary", iterations=200, patience=200
    )
    asked = Counter(body["parent"] for body in told.bodies("omega_call"))
    assert sum(asked.values()) == 200
    assert 5 < asked["C1"] < 26


def test_a_parent_has_as_many_children_as_it_is_told_and_a_beam_as_many_parents() -> None:
    told = solve(dealt([0.5, 0.5]), 2, mode="evolutionary", branching=3, iterations=1)
    assert [body["parent"] for body in told.bodies("omega_call")] == ["C0"] * 3
    told = solve(dealt([0.5, 0.5]), 2, mode="evolutionary", beam=2, branching=2, iterations=1)
    assert len(told.bodies("omega_call")) == 4


def test_evolutionary_mode_ends_where_nothing_can_be_extended_or_calls_are_used_up() -> None:
    told = solve(dealt([0.5]), 1, mode="evolutionary", max_depth=1)
    assert (told.result.reason, told.bodies("omega_call")) == ("nothing_extendable", [])
    told = solve(dealt([0.5]), 1, mode="evolutionary", max_depth=2, patience=9)
    assert {body["parent"] for body in told.bodies("omega_call")} == {"C0"}
    told = solve(dealt([0.5]), 1, mode="evolutionary", calls=5, patience=9)
    assert (told.result.reason, told.result.calls) == ("calls", 5)


def test_a_control_that_writes_no_layer_has_no_gate() -> None:
    told = solve(dealt([0.5, 0.5]), 2, mode="depth1", gate=True, iterations=2)
    assert (told.result.status, told.bodies("gate")) == ("completed", [])


def answers(told: Told) -> dict[str, str]:
    """The last answer to each task."""
    names = {event.span: event.name for event in told.events if isinstance(event, SpanStarted)}
    return {names[event.span]: event.text for event in told.events if isinstance(event, Answered)}


def test_the_answers_are_the_best_chains_and_under_the_guard_the_retained_ones() -> None:
    rows = [[0.5, 0.4], [0.9, 0.1], [0.2, 0.3]]
    told = solve(dealt(*rows), 2, patience=2)
    assert told.bodies("stop")[0]["best"] == "C1"
    assert answers(told) == {"t:0": "0.9", "t:1": "0.1"}
    told = solve(dealt(*rows), 2, mode="evolutionary", guard=True, iterations=2)
    retained = told.bodies("archive_best")[-1]["scores"]
    assert {task: float(answer) for task, answer in answers(told).items()} == retained
    assert len(retained) == 2


def test_under_the_guard_an_empty_layer_keeps_the_parents_chain() -> None:
    told = solve(
        dealt([0.5, 0.4], [0.9, 0.9], empty=range(2, 99)),
        2,
        mode="evolutionary",
        guard=True,
        iterations=12,
        patience=12,
        alpha=0,
    )
    chains = {body["id"]: body.get("chain", []) for body in told.bodies("candidate")}
    parents = {body["id"]: body.get("parent", "") for body in told.bodies("candidate")}
    assert chains["C1"] == ["L1"]
    assert "C1" in [parents[name] for name in chains if name > "C1"]
    assert all(chains[name] == chains[parents[name]] for name in chains if name not in ("C0", "C1"))


def test_under_the_guard_no_task_is_starved_while_nothing_gains() -> None:
    told = solve(dealt([0.5, 0.4, 0.3]), 3, mode="evolutionary", guard=True, iterations=6, patience=6)
    focus = [body["task"] for body in told.bodies("focus")]
    assert focus[0] == "t:2", "it lacks most"
    assert set(focus[:3]) == set(focus[3:]) == {"t:0", "t:1", "t:2"}


def test_a_script_that_did_no_better_inspires_nobody() -> None:
    told = solve(dealt([0.5, 0.4]), 2, mode="evolutionary", iterations=8, patience=8)
    assert {body["parent"] for body in told.bodies("omega_call")} > {"C0"}
    assert not [prompt for prompt in told.prompts("omega") if "Another stack" in prompt]


def test_omega_sees_the_archives_best_beside_what_regressed_in_evolutionary_mode_alone() -> None:
    """t:0 falls by 0.04, which is little enough to be bred from; the archive holds 0.5."""
    rows = [[0.5, 0.4], [0.46, 0.9]]
    told = solve(dealt(*rows, rows[1]), 2, mode="evolutionary", iterations=6, patience=6)
    assert [p for p in told.prompts("omega") if "t:0 0.5000 -> 0.4600 (best in the archive 0.5000)" in p]
    told = solve(dealt(*rows, rows[1]), 2, patience=3)
    assert [p for p in told.prompts("omega") if "t:0 0.5000 -> 0.4600" in p]
    assert not [p for p in told.prompts("omega") if "best in the archive" in p]


def test_omega_compares_with_the_stack_below_the_newest_layer_not_with_the_seed() -> None:
    told = solve(dealt([0.1], [0.5], [0.3], [0.3]), 1, patience=3)
    assert "t:0 0.5000 -> 0.3000" in told.prompts("omega")[2]
    assert "t:0 0.1000 -> 0.3000" not in told.prompts("omega")[2]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None, "much"])
def test_what_a_grader_gives_that_is_no_finite_number_is_no_score(value: Any) -> None:
    metric, number, feedback = steering(Grade("correct", score=value))
    assert (metric, number) == ("unscored", 0.0)
    assert "no finite number" in feedback
    assert steering(Grade("wrong", details={"cell_accuracy": float("nan")}))[0] == "unscored"
    assert steering(Grade("correct", score=True))[:2] == ("score", 1.0)


class Unscored:
    """A grader that has no number for the first task."""

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """No number, or the answer itself."""
        return ("unscored", 0.0, "no") if sample == "t:0" else ("score", float(answer), "")


def test_a_task_without_a_score_is_in_no_mean_and_the_best_of_nothing() -> None:
    told = solve(
        by_role(lambda call: layer_reply(say("x")), lambda call: script(0.5)),
        2,
        scorer=Unscored(),
        patience=1,
    )
    assert [body["mean"] for body in told.bodies("candidate")] == [0.5, 0.5]
    assert set(told.bodies("archive_best")[-1]["scores"]) == {"t:1"}
    (one,) = [one for one in told.bodies("candidate")[0]["scores"] if one["task"] == "t:0"]
    assert "score" not in one
    assert not one.get("success", False)


def test_of_a_beam_one_place_is_left_to_chance() -> None:
    """Three winners and a beam of two: the best chain, and one drawn."""
    archive = Archive()
    for name, scores in {"C0": (0.9, 0.1, 0.1), "C1": (0.1, 0.9, 0.1), "C2": (0.8, 0.8, 0.8)}.items():
        archive.add(Candidate(name, (), {f"t:{n}": trace(f"t:{n}", one) for n, one in enumerate(scores)}))
    drawn = set()
    for seed in range(40):
        first, second = parents(archive, archive.members, 2, 0.3, random.Random(seed))
        assert first.id == "C2"
        drawn.add(second.id)
    assert drawn == {"C0", "C1", "C2"}


def test_of_equal_chains_the_earliest_is_the_best() -> None:
    told = solve(dealt([0.5], [0.5]), 1, patience=2)
    assert told.bodies("stop")[0]["best"] == "C0"


def test_an_answer_that_breaks_a_rule_of_its_task_is_no_success() -> None:
    told = solve(lambda call: script("no number"), 1, mode="apply")
    (one,) = told.bodies("candidate")[0]["scores"]
    assert not one.get("success", False)
    assert one["failure"] == "constraint violation", "what the grader said: infeasible"


def test_an_agentic_solver_that_answers_with_its_last_turn_has_not_starved() -> None:
    told = solve(lambda call: script(0.5), 1, base="agentic", turns=2, mode="apply")
    assert told.result.calls == 2
    (one,) = told.bodies("candidate")[0]["scores"]
    assert (one["success"], one["score"], one.get("failure", "")) == (True, 0.5, "")


def test_programs_have_the_limits_of_their_kind_and_scripts_those_of_their_task() -> None:
    code = InProcess()
    tasks = {"t:0": TaskFacts(category="odd", data={"n": 4}, seconds=3.0, memory=1 << 20)}
    told = solve(
        lambda call: script(0.5),
        2,
        code=code,
        mode="apply",
        chain=[layer(2, "additional_context = f'{task.metadata}'")],
        tasks=tasks,
        pre_seconds=2.0,
        script_seconds=7.0,
        script_memory=1 << 21,
    )
    said = [p.limits.seconds for p in code.programs if "task" in (p.inputs or {})]
    assert said == [2.0, 2.0]
    ran = [(p.limits.seconds, p.limits.memory) for p in code.programs if "data" in (p.inputs or {})]
    assert sorted(ran) == [(3.0, 1 << 20), (7.0, 1 << 21)]
    assert "{'category': 'odd', 'data': {'n': 4}}" in told.prompts("instance")[0]


class Wordy:
    """A grader that has much to say."""

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """2,000 characters of feedback."""
        return "score", 0.5, "first" + "x" * 1990 + "last!"


def test_of_a_graders_feedback_omega_sees_the_last_800_characters() -> None:
    told = solve(dealt([0.5]), 1, scorer=Wordy(), patience=1)
    (prompt,) = told.prompts("omega")
    assert "feedback:\n" + "x" * 795 + "last!" in prompt
    assert "first" not in prompt.partition("feedback:")[2].partition("\n# ")[0]


def evidence(depth: int, now: float, before: float, **more: Any) -> Evidence:
    """One task, whose score went from one number to another."""
    chain = more.pop("chain", (layer(2, say("advice")),))
    return Evidence(depth, {"a": trace("a", now, **more)}, {"a": trace("a", before)}, chain)


def test_a_plateau_is_told_from_depth_three_on_where_the_gain_is_at_most_a_hundredth() -> None:
    def is_told(depth: int, now: float, before: float) -> bool:
        return "gained next to nothing" in payload(evidence(depth, now, before), random.Random(0)).prompt

    assert is_told(3, 0.508, 0.5)
    assert not is_told(3, 0.52, 0.5)
    assert not is_told(2, 0.5, 0.5)


def test_the_context_is_65_percent_traces_and_35_percent_code_after_an_overhead_of_2000_tokens() -> None:
    """4,000 tokens leave 8,000 characters: 5,200 of traces and 2,800 of code."""
    for length, is_kept in ((5_000, True), (5_300, False)):
        made = payload(evidence(2, 0.5, 0.5, script="s" * length), random.Random(0), 4_000)
        assert (made.dropped_traces == ()) is is_kept
    for length, is_kept in ((1_300, True), (1_450, False)):
        chain = tuple(layer(n, say("c" * length)) for n in (2, 3))
        made = payload(evidence(4, 0.5, 0.5, chain=chain), random.Random(0), 4_000)
        assert (made.dropped_layers == ()) is is_kept


def test_a_long_task_is_shown_by_its_first_500_characters() -> None:
    given = Evidence(2, {"a": trace("a", 0.5)}, descriptions={"a": "d" * 900})
    prompt = payload(given, random.Random(0)).prompt
    assert max(map(len, re.findall(r"d{20,}", prompt))) == 500


def test_omega_sees_the_whole_code_that_is_injected_already() -> None:
    one = layer(2, say("advice"), 'def h(x):\n    """H."""\n    return x + 41', rationale="why so")
    prompt = payload(evidence(3, 0.5, 0.5, chain=(one,)), random.Random(0)).prompt
    for part in ("rationale: why so", "pre_process:\n" + say("advice"), "solver_lib:h", "return x + 41"):
        assert part in prompt


def test_who_holds_a_best_is_bred_from_though_it_fell_and_a_fallen_mean_alone_shuts_out() -> None:
    """The scale is 1 wide, so 0.05 may be lost; each line says what it lost and what it holds."""
    archive = Archive()

    def add(name: str, scores: dict[str, float], parent: Candidate | None) -> Candidate:
        traces = {task: trace(task, score) for task, score in scores.items()}
        archive.add(Candidate(name, (), traces, parent))
        return archive.members[-1]

    seed = add("C0", {"a": 0.5, "b": 0.5, "c": 0.5}, None)
    add("C1", {"a": 0.9, "b": 0.1, "c": 0.1}, seed)  # lost b and c, holds the best of a
    best = add("C2", {"a": 0.89, "b": 0.89, "c": 0.2}, seed)  # lost c, is the best chain
    add("C3", {"a": 0.1, "b": 0.9, "c": 0.9}, seed)  # takes the bests of b and c
    assert archive.best is best
    assert [one.id for one in archive.pool(10, 1.0)] == ["C0", "C1", "C2", "C3"]
    lone = add("C4", {"a": 0.89, "b": 0.89, "c": 0.2}, best)
    lone.traces = {"a": trace("a", 0.89), "b": trace("b", None), "c": trace("c", 0.2)}
    assert "C4" not in [one.id for one in archive.pool(10, 1.0)], "its mean fell, no task did"


def test_words_of_taking_back_are_a_rollback_only_where_they_name_an_earlier_layer() -> None:
    undoing = layer(2, "", rationale="Ignore the noise in the numbers.")
    assert "rollback" not in rule_roles(undoing)
    assert "rollback" in rule_roles(layer(3, "", rationale="Ignore what depth 2 says on noise."))
