"""An evaluation with simulated workers: both controllers and the ablations at three budgets.

What is tested is the machinery and the diagnostics; the model is a simulation and says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from meta_tui.cli import cli
from meta_tui.evaluation import cells, diagnosing, evaluate
from meta_tui.evaluation.simulation import SimulatedModel
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.sources import replay
from meta_tui.tasks import loaders

BUDGETS = (25, 50, 100)
ABLATIONS = ("no_propose", "no_evaluate", "state_only", "no_memory")
LABELS = ("direct_control", "meta_reasoning", *(f"meta_reasoning {name}" for name in ABLATIONS))


def variants() -> list[str]:
    plain = [f"{m}:tools=text,budget={b}" for b in BUDGETS for m in ("direct_control", "meta_reasoning")]
    cut = [f"meta_reasoning:tools=text,budget={b},{a}=true" for b in BUDGETS for a in ABLATIONS]
    return [*plain, *cut]


def evaluated(
    folder: Path, count: int, chance: float = 0.2, tasks: Sequence[str] = ("theorem", "grids")
) -> None:
    samples = [sample for task in tasks for sample in loaders.samples(task, count)]
    model = SimulatedModel(samples, chance)
    plan = cells.Plan(
        variants=tuple(cells.variant(v) for v in variants()),
        models=(model.id,),
        tasks=tuple(tasks),
        samples=cells.samples_digest(samples),
    )
    cells.open_folder(folder, plan, samples)
    bench = evaluate.Bench(folder, {model.id: Doors(model)})
    done = asyncio.run(evaluate.evaluate(bench, list(cells.cells(plan, samples))))
    assert (done.done, done.failed) == (len(variants()) * len(samples), 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evaluation") / "e"
    evaluated(made, 5)
    return made


@pytest.fixture(scope="module")
def groups(folder: Path) -> list[dict[str, Any]]:
    return diagnosing.grouped(asyncio.run(diagnosing.of_folder(folder)))


def test_every_controller_and_ablation_has_a_score_with_an_interval_at_every_budget(
    groups: list[dict[str, Any]],
) -> None:
    places = {(g["label"], g["task"], g["budget"]) for g in groups}
    assert places == {(label, task, b) for label in LABELS for task in ("theorem", "grids") for b in BUDGETS}
    for group in groups:
        low, high = group["score_interval"]
        assert (group["runs"], group["graded"]) == (5, 5)
        assert 0 <= low <= group["score"] <= high <= 1
        assert group["calls_interval"] is not None
        assert group["score"] == pytest.approx((group["coverage"] or 0) * (group["selection"] or 0), abs=1e-5)
        assert group["utilisation"] == pytest.approx(group["calls"] / group["budget"], abs=1e-5)
        curve = [share for _, share in group["coverage_curve"]]
        assert curve == sorted(curve)
        assert (curve or [0])[-1] == group["coverage"] >= group["score"]


def test_ablations_show_in_what_they_take_away(groups: list[dict[str, Any]]) -> None:
    """Without memory no worker is shown an attempt; Direct Control has no verdicts."""
    for group in groups:
        if group["label"] == "meta_reasoning no_memory":
            assert group["graph"]["edges"] == 0
        if group["label"] == "direct_control":
            assert group["type2"]["verdict"]["auc"] is None
    assert any(g["graph"]["edges"] for g in groups if g["label"] == "meta_reasoning")


def test_a_larger_budget_is_used_for_more_calls(groups: list[dict[str, Any]]) -> None:
    for task in ("theorem", "grids"):
        calls = [g["calls"] for g in groups if g["label"] == "meta_reasoning" and g["task"] == task]
        assert calls == sorted(calls)


def test_the_simulation_is_named_in_its_id_and_in_every_report(folder: Path) -> None:
    name = "simulated/chance=0.2,insight=0.75,seed=0"
    for form in ("text", "md", "csv", "html", "json"):
        out = folder.parent / f"report.{form}"
        arguments = ["report", str(folder), "--format", form, "--out", str(out)]
        result = CliRunner().invoke(cli, arguments, standalone_mode=False)
        assert result.exception is None
        assert name in out.read_text(encoding="utf-8")
    assert "simulated" in CliRunner().invoke(cli, ["diagnose", str(folder)]).output
    assert read(next((folder / "cells").glob("*.jsonl"))).started.model == name


def test_the_report_draws_calls_and_score_against_allowance_for_all_of_them(folder: Path) -> None:
    out = folder.parent / "page.html"
    CliRunner().invoke(cli, ["report", str(folder), "--format", "html", "--out", str(out)])
    page = out.read_text(encoding="utf-8")
    for head in ("Calls used against allowance", "Score against allowance", "Coverage(k)"):
        assert f"<h3>{head}: grids</h3>" in page
        assert f"<h3>{head}: theorem</h3>" in page
    assert "<h3>Funnel</h3>" in page
    for task in ("grids", "theorem"):
        plot = page.partition(f"<h3>Score against allowance: {task}</h3>")[2].partition("</svg>")[0]
        assert all(f">{label}</text>" in plot for label in LABELS)
        assert plot.count("<circle") == len(LABELS) * len(BUDGETS)
    out = folder.parent / "report.json"
    CliRunner().invoke(cli, ["report", str(folder), "--format", "json", "--out", str(out)])
    assert len(json.loads(out.read_text())["diagnostics"]) == 36


def test_cells_replay_exactly_and_a_second_evaluation_is_the_same(folder: Path, tmp_path: Path) -> None:
    for log in sorted((folder / "cells").glob("*.jsonl"))[::12]:
        asyncio.run(replay(read(log)))
    evaluated(tmp_path / "again", 5)
    one = diagnosing.grouped(asyncio.run(diagnosing.of_folder(folder)))
    assert one == diagnosing.grouped(asyncio.run(diagnosing.of_folder(tmp_path / "again")))


@pytest.mark.parametrize(("chance", "covered"), [(0.0, False), (1.0, True)])
def test_workers_that_are_never_or_always_right_cover_nothing_or_all(
    chance: float, covered: bool, tmp_path: Path
) -> None:
    """With 1.0 the odds are capped at 0.95, and two workers or more are asked."""
    evaluated(tmp_path / "e", 1, chance, ("theorem",))
    runs = [one.run for one in asyncio.run(diagnosing.of_folder(tmp_path / "e"))]
    assert {run.covered for run in runs} == {covered}
