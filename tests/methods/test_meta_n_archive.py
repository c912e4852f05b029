"""Meta^n, the archive: weights, parents, gate, guard, and what never falls (D-9, D-10, D-12)."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meta_n_runs import Numbers, by_role, layer, layer_reply, number_of, say, scores_of, script, solve, trace

from meta_tui.events import Rejected
from meta_tui.methods.meta_n.archive import (
    Archive,
    Candidate,
    Rotation,
    gate_tasks,
    parents,
    passes,
    weights,
)
from meta_tui.methods.meta_n.traces import finite, mean_of
from meta_tui.models.base import Call


def test_d10_the_worked_weights_come_out() -> None:
    found = weights([0.40, 0.50, 0.45], [2, 0, 1], 0.3)
    assert [round(one, 4) for one in found] == [0.1815, 1.3144, 0.7223]


def test_d10_more_children_weigh_less_and_a_constant_changes_nothing() -> None:
    more, fewer, _ = weights([0.5, 0.5, 0.1], [3, 1, 0], 0.3)
    assert more < fewer
    means = [0.1, 0.7, 0.4, 0.4]
    moved = [mean + 100 for mean in means]
    assert weights(means, [0, 1, 2, 3], 0.3) == weights(moved, [0, 1, 2, 3], 0.3)
    assert weights([0.5], [4], 0.3) == [1e-6], "a pool of one has no rank and nothing to explore"


def member(
    archive: Archive, scores: dict[str, float], parent: Candidate | None = None, depth: int = 1
) -> Any:
    """A candidate with scores, kept."""
    chain = tuple(layer(n) for n in range(2, depth + 1))
    found = Candidate(archive.next_id(), chain, {t: trace(t, s) for t, s in scores.items()}, parent)
    archive.add(found)
    return found


def test_the_pool_leaves_out_what_is_too_deep_or_did_worse_than_its_parent() -> None:
    archive = Archive()
    seed = member(archive, {"a": 0.5, "b": 0.5})
    worse = member(archive, {"a": 0.5, "b": 0.44}, seed, 2)
    hardly = member(archive, {"a": 0.5, "b": 0.451}, seed, 2)
    winner = member(archive, {"a": 0.9, "b": 0.1}, seed, 2)
    deep = member(archive, {"a": 0.95, "b": 0.9}, hardly, 3)
    pool = archive.pool(3, 1.0)
    assert seed in pool
    assert hardly in pool
    assert worse not in pool
    assert deep not in pool, "depth 3 of 3"
    assert winner not in pool, "a holds the best of neither task any more, and b fell"
    assert deep in archive.pool(4, 1.0)
    assert worse in archive.pool(3, 2.0), "5% of a wider range"


def test_a_beam_begins_with_the_best_and_the_winners_of_tasks() -> None:
    archive = Archive()
    seed = member(archive, {"a": 0.5, "b": 0.9})
    best = member(archive, {"a": 0.95, "b": 0.89}, seed, 2)
    pool = archive.pool(10, 1.0)
    chosen = parents(archive, pool, 3, 0.3, random.Random(1))
    assert chosen[:2] == [best, seed]
    assert len(chosen) == 3
    many = [parents(archive, pool, 1, 0.3, random.Random(n))[0] for n in range(60)]
    assert many.count(best) > many.count(seed) > 0


@pytest.mark.parametrize(
    ("tasks", "depth", "wanted"), [(36, 2, 3), (36, 3, 6), (36, 9, 6), (5, 2, 2), (8, 3, 4), (1, 2, 0)]
)
def test_a_gate_has_three_tasks_or_six_from_depth_three_and_at_most_half(
    tasks: int, depth: int, wanted: int
) -> None:
    names = [f"t:{n}" for n in range(tasks)]
    chosen = gate_tasks(names, depth, random.Random(0))
    assert len(chosen) == wanted
    assert chosen == [name for name in names if name in chosen]


def test_a_gate_is_passed_by_one_success_with_at_least_the_parents_score() -> None:
    parent = {"a": trace("a", 0.5), "b": trace("b", 0.5)}
    assert passes(parent, {"a": trace("a", 0.5), "b": trace("b", 0.1)})
    assert not passes(parent, {"a": trace("a", 0.49), "b": trace("b", 0.1)})
    assert not passes(parent, {"a": trace("a", 0.9, success=False)})


def test_success_counts_before_score_and_what_is_not_finite_never_enters() -> None:
    archive = Archive()
    member(archive, {"a": 0.4})
    archive.add(Candidate("C1", (), {"a": trace("a", 0.9, success=False)}))
    assert archive.bests["a"][1] == "C0"
    archive.add(Candidate("C2", (), {"a": trace("a", None, success=True)}))
    assert archive.bests["a"][1] == "C0"
    assert archive.members[2].mean is None
    assert archive.best.id == "C1", "the best mean counts scores, the best of a task success first"


def test_a_score_that_is_not_finite_enters_no_mean() -> None:
    assert mean_of([0.5, float("nan"), None, float("inf"), 0.7]) == 0.6
    assert mean_of([float("nan"), None]) is None
    assert finite(float("-inf")) is None


children = st.lists(st.lists(st.floats(0, 1, width=16), min_size=4, max_size=4), min_size=1, max_size=8)


class Dealt:
    """A solver whose every answer is a random child score, by candidate and task."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows
        self.layers = 0

    def __call__(self, call: Call) -> str:
        if call.role == "omega":
            self.layers += 1
            return layer_reply(say(f"[layer {self.layers}]"))
        said = call.request.messages[0].content
        known = [n for n in range(len(self.rows) + 1) if f"[layer {n}]" in said]
        row = self.rows[(max(known) if known else 0) % len(self.rows)]
        return script(row[number_of(call)])


def check_monotone(told: Any) -> None:
    """The archive never shrinks and the best of no task falls."""
    sizes = [body["size"] for body in told.bodies("archive_best")]
    assert sizes == sorted(sizes)
    last: dict[str, float] = {}
    for body in told.bodies("archive_best"):
        for task, score in body["scores"].items():
            assert score >= last.get(task, 0.0)
        last = body["scores"]
    ids = [body["id"] for body in told.bodies("candidate")]
    assert len(set(ids)) == len(ids)


@settings(max_examples=40, deadline=None)
@given(children, st.booleans(), st.integers(1, 3), st.integers(0, 99))
def test_d9_with_random_child_scores_nothing_that_was_reached_is_lost(
    rows: list[list[float]], gate: bool, beam: int, seed: int
) -> None:
    told = solve(
        Dealt(rows), 4, seed=seed, mode="evolutionary", iterations=6, patience=6, gate=gate, beam=beam
    )
    check_monotone(told)


@settings(max_examples=40, deadline=None)
@given(children, st.integers(0, 99))
def test_d9_under_the_guard_every_other_score_is_its_frozen_best(rows: list[list[float]], seed: int) -> None:
    told = solve(Dealt(rows), 4, seed=seed, mode="evolutionary", guard=True, iterations=8, patience=8)
    check_monotone(told)
    best: dict[str, float] = {}
    for body in told.bodies("candidate"):
        scores, focus = scores_of(body), body.get("focus", "")
        for one in body["scores"]:
            if best and one["task"] != focus:
                assert one["score"] == best[one["task"]], "inherited, to the digit"
                assert one["inherited"]
        if best:
            assert focus
            assert "inherited" not in next(o for o in body["scores"] if o["task"] == focus)
        for one in body["scores"]:
            if one["success"]:
                best[one["task"]] = max(best.get(one["task"], 0.0), scores[one["task"]])
            best.setdefault(one["task"], one["score"])
    solved = sum(call.role == "instance" for call in told.model.calls)
    assert solved == 4 + len(told.bodies("focus")), "one solve a child, no cost for what is inherited"


@given(st.lists(st.sampled_from([0.0, 0.3, 0.5]), min_size=3, max_size=7), st.integers(0, 9))
def test_the_focus_starves_no_task_that_lacks_something(lacks: list[float], seed: int) -> None:
    """With nothing ever gained, each such task is asked for once in every round of them."""
    names = [f"t:{n}" for n in range(len(lacks))]
    headrooms = dict(zip(names, lacks, strict=True))
    rotation = Rotation(names)
    waiting = [name for name in names if headrooms[name] > 0] or names
    asked = []
    for _ in range(2 * len(waiting)):
        task, _, _ = rotation.next(headrooms)
        rotation.tell(task, False)
        asked.append(task)
    assert set(asked[: len(waiting)]) == set(asked[len(waiting) :]) == set(waiting)


def test_the_focus_is_the_task_that_lacks_most_as_long_as_it_gains() -> None:
    rotation = Rotation(["a", "b", "c"])
    assert rotation.next({"a": 0.2, "b": 0.7, "c": 0.1}) == ("b", 0.7, "headroom")
    rotation.tell("b", True)
    assert rotation.next({"a": 0.2, "b": 0.6, "c": 0.1})[0] == "b"
    rotation.tell("b", False)
    assert rotation.next({"a": 0.2, "b": 0.6, "c": 0.1}) == ("a", 0.2, "rotation")


def test_d12_an_empty_layer_is_no_candidate_and_moves_patience() -> None:
    told = solve(
        by_role(lambda call: "I have no idea.", lambda call: script(0.5)), 3, mode="evolutionary", patience=3
    )
    assert len(told.bodies("candidate")) == 1
    assert [body.get("patience", 0) for body in told.bodies("archive_best")] == [0, 1, 2, 3]
    assert [body["parent"] for body in told.bodies("omega_call")] == ["C0"] * 3
    assert all(body["empty"] for body in told.bodies("omega_call"))
    assert told.result.reason == "converged"


def test_d12_a_parent_of_an_empty_layer_has_a_child_more() -> None:
    """With one child more the seed is less likely than a sibling of the same mean."""
    replies = iter([layer_reply(say("x")), "", "", "", ""])
    told = solve(
        by_role(lambda call: next(replies), lambda call: script(0.5)),
        2,
        mode="evolutionary",
        patience=5,
        seed=1,
    )
    asked = [body["parent"] for body in told.bodies("omega_call")]
    assert asked[0] == "C0"
    assert "C1" in asked[1:]
    assert len(told.bodies("candidate")) == 2


def test_under_the_guard_an_empty_layer_means_one_fresh_solve_of_the_focus_task() -> None:
    scores = iter([0.5, 0.5, 0.9])
    told = solve(
        by_role(lambda call: "", lambda call: script(next(scores))),
        2,
        mode="evolutionary",
        guard=True,
        iterations=1,
    )
    first, second = told.bodies("candidate")
    assert second.get("chain", []) == first.get("chain", []) == []
    assert sorted(scores_of(second).values()) == [0.5, 0.9]
    (routed,) = told.bodies("routed")
    assert routed["tasks"][second["focus"]] == "C1"
    assert routed["mean"] == 0.7


def test_a_refused_child_is_gated_cheaply_and_is_no_candidate() -> None:
    told = solve(
        by_role(
            lambda call: layer_reply(say("[worse]")),
            lambda call: script(0.1 if "[worse]" in call.request.messages[0].content else 0.5),
        ),
        12,
        mode="evolutionary",
        gate=True,
        patience=2,
    )
    assert [body["passed"] for body in told.bodies("gate")] == [False, False]
    assert [len(body["tasks"]) for body in told.bodies("gate")] == [3, 3]
    assert len(told.bodies("candidate")) == 1
    assert sum(call.role == "instance" for call in told.model.calls) == 12 + 3 + 3


@pytest.mark.parametrize("mode", ["linear", "evolutionary"])
def test_of_one_task_half_is_none_so_there_is_no_gate(mode: str) -> None:
    told = solve(
        by_role(lambda call: layer_reply(say("x")), lambda call: script(0.5)),
        1,
        mode=mode,
        gate=True,
        patience=1,
    )
    assert not told.bodies("gate")
    assert len(told.bodies("candidate")) == 2


@pytest.mark.parametrize(
    ("guard", "done"), [(False, "no candidate comes of it"), (True, "solves the focus task once more")]
)
def test_where_a_reply_holds_no_layer_the_log_says_what_is_done_instead(guard: bool, done: str) -> None:
    told = solve(
        by_role(lambda call: "no", lambda call: script(0.5)), 2, mode="evolutionary", guard=guard, patience=1
    )
    reasons = [event.reason for event in told.events if isinstance(event, Rejected)]
    assert [reason.partition(": ")[0] for reason in reasons] == ["no part of a layer in the reply"]
    assert reasons[0].endswith(done)


def test_gate_traces_are_used_again() -> None:
    told = solve(
        by_role(lambda call: layer_reply(say("[better]")), lambda call: script(0.5)),
        12,
        mode="evolutionary",
        gate=True,
        iterations=1,
        scorer=Numbers(),
    )
    assert told.bodies("gate")[0]["passed"]
    assert sum(call.role == "instance" for call in told.model.calls) == 24
    order = [one["task"] for one in json.loads(told.stored("candidate")[1].body)["scores"]]
    assert order == [f"t:{n}" for n in range(12)]


def test_omega_sees_the_scripts_of_other_stacks_where_they_beat_the_parent() -> None:
    """C1 is best on t:0 and C2 on t:1; whoever is bred from next is shown what it lacks."""
    rows = [[0.2, 0.2, 0.2, 0.2], [0.9, 0.2, 0.2, 0.2], [0.2, 0.9, 0.2, 0.2]]
    told = solve(Dealt(rows), 4, seed=4, mode="evolutionary", iterations=8, patience=8)
    shown = [prompt for prompt in told.prompts("omega") if "Another stack reached 0.9000" in prompt]
    assert shown
    assert all("return 0.9" in prompt for prompt in shown)
    linear = solve(Dealt(rows), 4, iterations=4, patience=4)
    assert not [prompt for prompt in linear.prompts("omega") if "Another stack" in prompt]
