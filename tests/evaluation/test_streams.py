"""Streams in numbers: a SIMULATED learner (no model) is taught by `full` and not by `rmc`, and the
report shows it; and every number of the summary on a stream that is worked out by hand."""

from __future__ import annotations

import asyncio
import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from mc2_runs import RESTART, by_role, policies, solve, solved, stream

from meta_tui.chat import Reply, Usage
from meta_tui.cli import main
from meta_tui.errors import UsageError
from meta_tui.evaluation import plots_mc2
from meta_tui.evaluation.learner import NOTE, SimulatedLearner, items
from meta_tui.evaluation.statistics import wilson
from meta_tui.evaluation.streams import graded, guide_alignment, lines, summary
from meta_tui.events import StreamItem
from meta_tui.methods import build
from meta_tui.methods.embedding import cosine, hashed
from meta_tui.methods.mc2.history import alike, change, history
from meta_tui.methods.mc2.memory import Known
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import Recording, read
from meta_tui.session import TaskScorer
from meta_tui.sources import header, live
from meta_tui.tasks import Sample
from meta_tui.tasks.loaders import encode
from meta_tui.tasks.theorem import generate

SAMPLES = [generate(n, 11, recurring=0.8) for n in range(120)]
KNOWN = {one.id: one for one in SAMPLES}


@cache
def simulation(variant: str, folder: Path) -> tuple[Recording, dict[str, Any]]:
    """120 theorem questions with recurring failure modes, ten batches, one variant."""
    method, log = build("mc2", {"variant": variant}), folder / f"simulation-{variant}.jsonl"
    started = header(method, "q", model="simulation", stream=items(SAMPLES), note=NOTE)
    doors = Doors(ScriptedModel(SimulatedLearner(SAMPLES, seed=1)), scorer=TaskScorer(KNOWN))
    asyncio.run(live(method, started, doors, log=log, clock=None))
    recording = read(log)
    right = asyncio.run(graded(history(recording.events), KNOWN))
    return recording, summary(f"simulation {variant}", recording, right)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams")


def _pooled(found: dict[str, Any], batches: range) -> tuple[int, int]:
    rows = [b for b in found["batches"] if b["batch"] in batches]
    return sum(b["correct"] for b in rows), sum(b["n"] for b in rows)


def test_the_simulated_learner_is_taught_by_full_and_not_by_rmc(folder: Path) -> None:
    """SIMULATION: the first batch against the last five, with Wilson intervals at 95 %: apart for full,
    overlapping for rmc."""
    _, full = simulation("full", folder)
    _, rmc = simulation("rmc", folder)
    early, late = _pooled(full, range(1, 2)), _pooled(full, range(6, 11))
    assert wilson(*early)[1] < wilson(*late)[0], (early, late)
    early, late = _pooled(rmc, range(1, 2)), _pooled(rmc, range(6, 11))
    assert wilson(*early)[1] > wilson(*late)[0], (early, late)
    assert full["accuracy"] - rmc["accuracy"] > 0.2


def test_fewer_attempts_of_the_taught_learner_are_restarted(folder: Path) -> None:
    _, full = simulation("full", folder)
    _, rmc = simulation("rmc", folder)
    assert full["batches"][-1]["restart_share"] < full["batches"][0]["restart_share"]
    assert full["restart_share"] < rmc["restart_share"]
    assert full["first_try_rate"] > rmc["first_try_rate"]


def test_the_report_shows_intervals_restarts_and_tokens_and_says_simulation(folder: Path) -> None:
    found = [simulation(v, folder)[1] for v in ("full", "rmc")]
    page = plots_mc2.page(found, "Simulated streams")
    assert NOTE in page
    assert page.count("<svg") == 2 + 1
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)
    for stream_ in found:
        rows = lines(stream_)
        assert len(rows) == 11
        assert all(re.fullmatch(r"\[\d+\.\d, \d+\.\d\]", row[4]) for row in rows)
        assert all(row[5] != "-" and row[8] != "-" for row in rows)
        for row in rows:
            assert row[4] in page
    assert "http" not in page.replace("http-equiv", "")


def test_grades_are_made_anew_and_a_sample_that_is_not_known_is_said(folder: Path) -> None:
    recording, _ = simulation("full", folder)
    with pytest.raises(UsageError, match="give the stream's file with --stream"):
        asyncio.run(graded(history(recording.events), {}))


def _counted(call: Call) -> Line:
    """Question 2 is restarted once, question 3 three times; every reply has 10 tokens."""
    asked, text = call.request.messages[-1].content, str(by_role(call))
    if call.role == "controller" and "number 3?" in asked:
        text = RESTART
    if call.role == "controller" and "number 2?" in asked and "SECOND" not in asked:
        text = RESTART
    if call.role == "reasoner":
        text = solved().replace("given", "SECOND") if "Feedback" in asked else solved()
    return Reply(text, usage=Usage(1, 10))


def test_every_number_of_a_small_stream(tmp_path: Path) -> None:
    """Worked out by hand: 4 questions in 2 batches; T = 1, 1 | 2, 3; right are 0 and 2."""
    log = tmp_path / "run.jsonl"
    solve("mc2", _counted, stream(4), batch=2, log=log)
    recording = read(log)
    found = history(recording.events)
    right = {one.span: one.sample in ("t:0", "t:2") for one in found.instances}
    numbers = summary("small", recording, right)
    first, second = numbers["batches"]
    assert (first["n"], first["correct"], first["accuracy"], first["restart_share"]) == (2, 1, 0.5, 0.0)
    assert (first["calls"], first["tokens"], first["first_try_rate"]) == (6, 60, 1.0)
    assert second["actions"] == 5
    assert second["restart_share"] == 0.8
    assert second["first_try_rate"] == 0.0
    assert (second["calls"], second["tokens"]) == (1 + 6 + 1 + 9, 170)
    assert (first["learning_tokens"], second["learning_tokens"]) == (60, 60)
    assert (numbers["calls_total"], numbers["tokens_total"]) == (6 + 17 + 12, 350)
    assert numbers["validity"]["by_grade"] == {
        "A": {"n": 2, "accuracy": 0.5},
        "B": {"n": 1, "accuracy": 1.0},
        "C": {"n": 1, "accuracy": 0.0},
    }
    assert [len(p) and p["n"] for p in numbers["passes"]] == [4]
    assert [i.retrieved for i in found.instances] == [
        (),
        (),
        ("C1.1", "M1.1", "R1.1"),
        ("C1.1", "M1.1", "R1.1"),
    ]
    assert found.retrieved_by()["R1.1"] == ("t:2", "t:3")


def test_a_guide_that_speaks_of_its_question_is_aligned_with_it(tmp_path: Path) -> None:
    """Each guide repeats its question, which does not count, and names its subject, which does."""
    subjects = {"draw a circle": "circle", "read a timetable": "timetable"}
    asked = tuple(StreamItem(f"t:{n}", words) for n, words in enumerate(("number 0", "number 1", *subjects)))

    def reply(call: Call) -> Line:
        if call.name != "Compose":
            return by_role(call)
        question = next(words for words in subjects if words in call.request.messages[-1].content)
        return policies(P_R=f"{question}: check each {subjects[question]}", P_M="m", P_C="c")

    log = tmp_path / "run.jsonl"
    solve("mc2", reply, asked, batch=2, log=log)
    guides = {words: hashed(f": check each {subject}") for words, subject in subjects.items()}
    one, other = subjects
    assert guide_alignment(read(log)) == [
        round(cosine(hashed(one), guides[one]) - cosine(hashed(one), guides[other]), 6),
        round(cosine(hashed(other), guides[other]) - cosine(hashed(other), guides[one]), 6),
    ]
    assert min(guide_alignment(read(log))) > 0


def test_what_a_batch_did_to_a_checklist() -> None:
    """Added, merged (a rewording of what left), dropped, kept."""
    a, b, c = Known("check the sum of all terms"), Known("draw a picture"), Known("name every unit")
    new_a, d = Known("check the sum of all the terms twice"), Known("count the edges", "avoid")
    found = change("reasoner", 2, (a, b, c), (c, new_a, d))
    assert found.added == (d,)
    assert [(m.into, m.of) for m in found.merged] == [(new_a, (a,))]
    assert found.dropped == (b,)
    assert found.kept == (c,)
    assert not alike("draw a picture", "count the edges")


def test_lifetimes_are_the_batches_after_which_a_rule_stands(tmp_path: Path) -> None:
    texts = iter(["one", "one", "two", "one"] * 3)

    def reply(call: Call) -> Line:
        if call.name == "Consolidate Reasoner":
            return f'{{"rules": [{{"text": "rule {next(texts)}", "kind": "do"}}]}}'
        return by_role(call)

    told = solve("mc2", reply, stream(4), batch=1)
    lives = [life for life in history(told.events).lifetimes() if life.role == "reasoner"]
    assert [(life.rule.text, life.batches) for life in lives] == [("rule one", (1, 2, 4)), ("rule two", (3,))]
    assert "rule two" in plots_mc2.rule_lifetimes(
        {
            "label": "x",
            "batches": [{"batch": n} for n in range(1, 5)],
            "lifetimes": [
                {"role": life.role, "rule": life.rule.text, "kind": "do", "batches": list(life.batches)}
                for life in lives
            ],
        }
    )


def test_plots_of_nothing_say_so() -> None:
    empty = {"batches": [], "passes": [], "lifetimes": [], "tokens_total": None, "accuracy": None}
    assert "<svg" not in plots_mc2.accuracy_by_batch([empty]) + plots_mc2.accuracy_by_tokens([empty])
    assert "<svg" not in plots_mc2.rule_lifetimes(empty)


def test_a_hostile_rule_is_text_in_a_plot() -> None:
    bad = '<script>alert("x")</script>\x1b[31m'
    life = {"role": "monitor", "rule": bad, "kind": "do", "batches": [1]}
    plot = plots_mc2.rule_lifetimes({"label": bad, "batches": [{"batch": 1}], "lifetimes": [life]})
    assert "<script" not in plot
    ElementTree.fromstring(plot)


def test_the_command_reports_on_streams(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording, _ = simulation("full", folder)
    file = tmp_path / "own.jsonl"
    file.write_text("".join(encode(one) for one in SAMPLES), encoding="utf-8")
    page = tmp_path / "page.html"
    words = ["knowledge", "report", str(recording.path), "--stream", f"{file}:0-119", "--to", str(page)]
    assert main(words) == 0
    assert "simulation-full" in capsys.readouterr().out
    assert NOTE in page.read_text(encoding="utf-8")
    assert main([*words[:3], "--json", "--stream", f"{file}:0-119"]) == 0
    (numbers,) = msgspec.json.decode(capsys.readouterr().out)
    assert numbers["n"] == 120


def test_samples_of_another_method_are_counted_in_batches_of_the_same_size(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    solve("cot", lambda call: solved(), stream(25), log=log)
    recording = read(log)
    found = history(recording.events)
    numbers = summary("cot", recording, {one.span: True for one in found.instances})
    assert [(b["batch"], b["n"]) for b in numbers["batches"]] == [(1, 10), (2, 10), (3, 5)]
    assert numbers["restart_share"] is None
    assert isinstance(SAMPLES[0], Sample)
