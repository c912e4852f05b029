"""Meta^n on the optimisation, grid and symbolic-regression families, with scripts in the real sandbox."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from meta_n_runs import Told, by_role, layer_reply, say, solve

from meta_tui.errors import CallFailed
from meta_tui.events import StreamItem
from meta_tui.methods.meta_n.method import MetaN
from meta_tui.models.base import Call
from meta_tui.session import ContinuousScorer
from meta_tui.tasks import Sample, family
from meta_tui.tasks.grids.answers import grids_in
from meta_tui.tasks.loaders import samples


def graded(sample: Sample, answer: str) -> tuple[str, float, str]:
    """The grade that steers a run."""
    return asyncio.run(ContinuousScorer({sample.id: sample}).score(sample.id, answer))


def test_a_construction_is_worth_its_share_of_the_best_and_an_infeasible_one_is_invalid() -> None:
    trip = samples("opt", 1)[0]
    metric, value, feedback = graded(trip, str(trip.meta["witness"]))
    assert (metric, value) == ("score", 1.0)
    metric, value, feedback = graded(trip, "[0, 1, 2, 3, 4, 5, 6, 7, 8]")
    assert metric == "score"
    assert value == pytest.approx(253 / 402)
    assert graded(trip, "[0, 0]")[:2] == ("invalid", 0.0)
    assert "infeasible" in graded(trip, "[0, 0]")[2]
    assert graded(trip, "none found")[:2] == ("invalid", 0.0)
    assert feedback


def test_a_grid_is_worth_its_right_cells_and_one_of_the_wrong_size_is_invalid() -> None:
    sample = samples("grids", 1)[0]
    (wanted,) = grids_in(sample.target)
    assert graded(sample, sample.target)[:2] == ("score", 1.0)
    wrong = [row[:] for row in wanted]
    wrong[0][0] = (wrong[0][0] + 1) % 10
    cells = sum(map(len, wanted))
    metric, value, feedback = graded(sample, str(wrong))
    assert (metric, value) == ("score", (cells - 1) / cells)
    assert "cells are right" in feedback
    assert graded(sample, "[[1]]")[:2] == ("invalid", 0.0)


def test_a_formula_is_worth_one_less_its_error_and_a_bad_one_is_still_valid() -> None:
    sample = samples("symreg", 1)[0]
    assert graded(sample, sample.target)[:2] == ("score", 1.0)
    assert graded(sample, "1000 * x")[:2] == ("score", 0.0)
    assert graded(sample, "import os")[:2] == ("invalid", 0.0)


def test_who_is_not_known_is_not_graded() -> None:
    with pytest.raises(CallFailed, match="--stream"):
        asyncio.run(ContinuousScorer({}).score("opt:3", "[1]"))


SCRIPTS = {
    "opt": (
        "k = 'sizes' if 'sizes' in data else 'places' if 'places' in data else 'weights'",
        "    return [[i] for i in range(len(data[k]))] if k == 'sizes' else list(range(len(data[k]))) if k == 'places' else []",
    ),
    "grids": ("", "    return data['question']"),
    "symreg": ("", "    return 'x + y' if len(data['points']) == 40 else ''"),
}


def bred(task: str) -> Told:
    """Three samples of a family, whose scripts use the numbers that they are given."""
    kinds = ("bins", "round_trip", "knapsack")
    known = [one for one in samples(task, 25) if task != "opt" or one.meta["kind"] in kinds][:3]
    first, last = SCRIPTS[task]
    code = f"```python\n{first}\ndef solve():\n{last}\n```"

    def solver(call: Call) -> str:
        return code

    settings: dict[str, Any] = MetaN.prepared(known)
    return solve(
        by_role(lambda call: layer_reply(say("go on")), solver),
        items=[StreamItem(one.id, family(one.task).question(one)) for one in known],
        code="sandbox",
        scorer=ContinuousScorer({one.id: one for one in known}),
        iterations=1,
        **settings,
    )


@pytest.mark.parametrize("task", SCRIPTS)
def test_scripts_of_a_family_are_given_its_numbers_run_and_graded(task: str) -> None:
    told = bred(task)
    first, second = told.bodies("candidate")
    assert len(first["scores"]) == 3
    assert [one.get("failure", "") for one in first["scores"]] != ["dependency error"] * 3
    assert all(one["failure"] in ("", "constraint violation") for one in first["scores"] if "failure" in one)
    assert any(one["score"] > 0 for one in first["scores"]) or task == "symreg"
    assert second["chain"] == ["L1"]
    assert "The variable `data` is there already and holds the numbers" in told.prompts("instance")[0]
