"""`meta-tui diagnose`: from logs to numbers and plots, with and without known samples."""

from __future__ import annotations

import asyncio
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from amr_runs import WORKED, by_name, finish, ran, tool, worked, workers
from click.testing import CliRunner

from meta_tui.cli import cli
from meta_tui.evaluation import diagnosing, diagnostics, plots
from meta_tui.events import RunStarted
from meta_tui.methods import build
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.sources import header, live
from meta_tui.tasks import family, loaders


def diagnosed(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(cli, ["diagnose", *arguments, "--json"], standalone_mode=False)
    assert result.exception is None, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def on_sample(log: Path, method: str = "meta_reasoning", **script: object) -> RunStarted:
    """A run on sample theorem:0 whose first worker is right and whose second is wrong."""
    sample = loaders.samples("theorem", 1)[0]
    question = family("theorem").question(sample)
    told = {
        "assess": [
            "",
            '<candidate id="0_0">LIKELY_CORRECT</candidate><candidate id="0_1">HAS_GAPS</candidate>',
        ],
        "dispatch": [workers((), ()), finish("0_0")],
        "control": [workers((), ()), tool("finish", result=f"So.\nANSWER: {sample.target}")],
        "worker 0_0": [worked("Right", "so", sample.target, "MEDIUM")],
        "worker 0_1": [worked("Wrong", "so", "999983", "MEDIUM")],
        **script,
    }
    built = build(method, {"budget": 12, "tools": "text"})
    started = header(built, question, model="m", task="theorem", sample="theorem:0")
    asyncio.run(live(built, started, Doors(ScriptedModel(by_name(told))), log=log, clock=None))  # type: ignore[arg-type]
    return started


def test_a_run_on_a_known_sample_is_labelled(tmp_path: Path) -> None:
    """Two workers after calls 5 and 6; the first is right: gain 1 - 1/2, confidence tied, verdict 1."""
    on_sample(tmp_path / "run.jsonl")
    (run,) = diagnosed(str(tmp_path))["runs"]  # type: ignore[misc]
    assert (run["submission"], run["covered"], run["failure"], run["first_correct"]) == (True, True, "", 5)
    assert (run["frontier"], run["frontier_quality"], run["selection_gain"]) == (["0_0", "0_1"], 0.5, 0.5)
    assert run["type2"]["confidence"]["auc"] == 0.5
    assert run["type2"]["verdict"]["auc"] == 1.0
    assert run["calls"] == {"control": 8, "work": 2, "all": 10}


def test_direct_control_submits_a_text_that_is_matched_to_its_artifact(tmp_path: Path) -> None:
    on_sample(tmp_path / "run.jsonl", "direct_control")
    (run,) = diagnosed(str(tmp_path))["runs"]  # type: ignore[misc]
    assert (run["submitted"], run["submission"], run["selection_gain"]) == ("0_0", True, 0.5)
    assert run["type2"]["verdict"] == {"auc": None, "positive": 0, "negative": 0, "without_signal": 2}
    assert len(run["state_sizes"]) == 2


def test_a_run_on_no_known_sample_has_a_graph_and_no_labels(tmp_path: Path) -> None:
    ran("meta_reasoning", WORKED, tmp_path / "run.jsonl", budget=20)
    found = diagnosed(str(tmp_path))
    (run,) = found["runs"]  # type: ignore[misc]
    assert (run["covered"], run["failure"], run["labelled"]) == (None, None, 0)
    assert run["utilisation"] == 0.95
    assert run["graph"]["edges"] == 3
    (group,) = found["groups"]  # type: ignore[misc]
    assert (group["runs"], group["graded"], group["score"]) == (1, 0, None)


def test_a_log_whose_question_is_not_its_samples_is_not_graded(tmp_path: Path) -> None:
    started = on_sample(tmp_path / "run.jsonl")
    find = diagnosing.finder()
    assert find(started) is not None
    assert find(started.__class__(1, "t", "live", "m", {}, "m", "other", sample="theorem:0")) is None
    assert find(started.__class__(1, "t", "live", "m", {}, "m", "other", sample="nonsense")) is None


def test_labels_of_settings_name_what_is_not_the_default(tmp_path: Path) -> None:
    ran("meta_reasoning", WORKED, tmp_path / "run.jsonl", budget=20, no_propose=True, stage_calls=4)
    started = read(tmp_path / "run.jsonl").started
    assert diagnosing.label_of(started) == "meta_reasoning no_propose stage_calls=4"


def test_runs_without_workers_are_left_out_and_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["diagnose", "baseline-standard"], standalone_mode=False)
    assert result.return_value == 1
    assert "has no workers" in result.stderr


def test_the_text_says_the_same_numbers(tmp_path: Path) -> None:
    on_sample(tmp_path / "run.jsonl")
    result = CliRunner().invoke(cli, ["diagnose", str(tmp_path / "run.jsonl")], standalone_mode=False)
    assert "calls 10 = 8 control + 2 work; U = 0.83 of B = 12" in result.output
    assert "1 of 2 artifacts correct, first after 5 calls; q_F 0.5; gain 0.5" in result.output


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("runs")
    on_sample(folder / "a.jsonl")
    on_sample(folder / "b.jsonl", "direct_control")
    ran("meta_reasoning", WORKED, folder / "c.jsonl", budget=20, question='<script>"&\x1b[31m')
    result = CliRunner().invoke(
        cli, ["diagnose", str(folder), "--html", str(folder / "p.html")], standalone_mode=False
    )
    assert result.return_value == 0
    return (folder / "p.html").read_text(encoding="utf-8")


def test_every_plot_is_well_formed_and_asks_nobody_for_anything(page: str) -> None:
    plots_ = page.split("<svg")[1:]
    assert len(plots_) > 10
    for plot in plots_:
        ElementTree.fromstring("<svg" + plot.partition("</svg>")[0] + "</svg>")
    for word in ("<script", "http:", "https:", "\x1b", "url("):
        assert word not in page


def test_the_graph_marks_kind_label_and_submission_by_shape_too() -> None:
    trace = ran("meta_reasoning", WORKED, budget=20).trace
    labels = {"0_0": True, "0_1": False, "1_1": True, "1_2": False}
    drawn = plots.graph(diagnostics.Run(trace=trace, labels=labels, submission=True))
    assert drawn.count('r="16"') == 1
    assert drawn.count("<rect") == 2
    assert drawn.count('r="10"') == 2
    assert drawn.count("l12 12l-12 12") == 1
    assert drawn.count('fill="#fff"') == 1
    assert "1_1: Repaired (worker, correct)" in drawn


def test_plots_of_nothing_are_plots_of_nothing() -> None:
    empty = diagnostics.Run(trace=diagnostics.Trace(), labels={})
    for drawn in (plots.graph(empty), plots.strip(empty), plots.coverage_curves({}), plots.funnel([])):
        ElementTree.fromstring(drawn)
    assert plots.section([]) == ""
