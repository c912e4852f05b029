"""The shipped runs of Meta^n show what they promise: a regression that a deeper layer repairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_written_cassettes import told
from written import SHIPPED

from meta_tui.cli import main
from meta_tui.evaluation.stacks import summary
from meta_tui.methods.meta_n.records import (
    ArchiveBest,
    CandidateKept,
    Gate,
    HeldOut,
    LayerKept,
    OmegaCall,
    Skipped,
    all_of,
)
from meta_tui.runlog import read

NAMES = ("layers-linear", "layers-evolution")


def scores(candidate: CandidateKept) -> dict[str, float]:
    return {one.task: one.score or 0.0 for one in candidate.scores}


@pytest.mark.parametrize("name", NAMES)
def test_the_first_line_says_how_it_was_made(name: str) -> None:
    started = read(SHIPPED / f"{name}.jsonl").started
    assert (started.origin, started.model) == ("written", "scripted")
    assert "no language model was called" in started.note
    assert "really run" in started.note


@pytest.mark.parametrize("name", NAMES)
def test_a_regression_is_repaired_by_a_deeper_layer(name: str) -> None:
    _, gained, lost, repaired = all_of(told(name).events, CandidateKept)[:4]
    assert lost.parent == gained.id
    assert repaired.parent == lost.id
    assert (lost.mean or 0) < (gained.mean or 0) < (repaired.mean or 0)
    fallen = [task for task, score in scores(gained).items() if scores(lost)[task] < score - 0.01]
    assert len(fallen) >= 2
    assert all(scores(repaired)[task] >= scores(gained)[task] for task in fallen)
    layers = all_of(told(name).events, LayerKept)
    assert layers[2].depth == 4
    assert "below" in layers[2].rationale or "depth 3" in layers[2].rationale


def test_linear_three_scripts_run_into_their_limit_and_a_helper_is_screened_out() -> None:
    lost = all_of(told("layers-linear").events, CandidateKept)[2]
    assert [one.failure for one in lost.scores].count("timeout") == 3
    (out,) = all_of(told("layers-linear").events, LayerKept)[1].screened
    assert (out.part, out.stage) == ("solver_lib:save", "static")
    assert "pickle" in out.reason
    first = all_of(told("layers-linear").events, CandidateKept)[0]
    assert [one.failure for one in first.scores].count("dependency error") == 3


def test_linear_held_out_tasks_stand_apart() -> None:
    found = all_of(told("layers-linear").events, HeldOut)
    assert [one.candidate for one in found] == ["C0", "C3"]
    assert (found[0].mean or 0) < (found[1].mean or 0)
    for one in all_of(told("layers-linear").events, CandidateKept):
        assert {"opt:16", "opt:23"}.isdisjoint(scores(one))


def test_evolution_the_regressed_chain_is_bred_from_because_it_holds_a_best() -> None:
    events = told("layers-evolution").events
    assert [one.parent for one in all_of(events, OmegaCall)] == ["C0", "C1", "C2", "C3", "C1"]
    assert [one.passed for one in all_of(events, Gate)] == [True, True, True, False]
    best = all_of(events, ArchiveBest)
    assert best[2].best == "C1"
    assert best[2].tasks["opt:12"] == "C2"
    assert best[-1].best == "C3"
    assert all_of(events, OmegaCall)[-1].empty


@pytest.mark.parametrize("name", NAMES)
def test_no_layer_failed_on_a_task(name: str) -> None:
    assert all_of(told(name).events, Skipped) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_best_scores_of_tasks_only_brighten(name: str) -> None:
    rows = summary(name, read(SHIPPED / f"{name}.jsonl"))["matrix"]
    assert len(rows) == 6
    assert all(row == sorted(row) for row in rows.values())


def test_the_repaired_chain_is_exported_and_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["chain", "export", "layers-linear", "--to", str(tmp_path / "chain.json")]) == 0
    kept = json.loads((tmp_path / "chain.json").read_text())
    assert [layer["depth"] for layer in kept["layers"]] == [2, 3, 4]
    capsys.readouterr()
    assert main(["chain", "show", str(tmp_path / "chain.json")]) == 0
    shown = capsys.readouterr().out
    assert "depth 4 · L3\n" in shown
    assert "+ best_subset, uncrossed · = pack_items, nearest_trip kept" in shown
    assert "✗ solver_lib:save  static: line 1: imports pickle" in shown
