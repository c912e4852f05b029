"""Streams as cells of an evaluation: named by all that matters, resumed, graded instance by instance."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evaluation import small
from meta_tui import sources
from meta_tui.cli import main
from meta_tui.evaluation import cells, evaluate, report, results, simulation, streams
from meta_tui.methods.carried import left_behind
from meta_tui.run import Doors, Stop
from meta_tui.runlog import read
from meta_tui.session import with_scorer
from meta_tui.tasks import loaders
from meta_tui.tasks.loaders import encode
from meta_tui.tasks.theorem import generate

THEOREMS = [generate(n, 11, recurring=0.8) for n in range(24)]
METHODS = ("mc2:batch=4", "bot", "ttpi", "meta_reasoner")


def rows_of(folder: Path) -> list[results.Row]:
    async def all_rows() -> list[results.Row]:
        return [row async for row in results.rows(folder)]

    return asyncio.run(all_rows())


def cell(**changes: Any) -> cells.Cell:
    base = cells.Cell(
        variant=cells.variant("mc2:batch=4"),
        model="m",
        sample=THEOREMS[0],
        repeat=0,
        seed=0,
        stream=tuple(THEOREMS[:4]),
    )
    return msgspec.structs.replace(base, **changes)


def test_a_stream_is_named_by_all_that_can_change_its_run() -> None:
    """Method, settings (with imported knowledge), model, stream (questions and order), repeat, seed."""
    kept = {"knowledge": {"batch": 1, "roles": {}}}
    variant = cell().variant
    others = [
        cell(variant=cells.variant("bot")),
        cell(variant=cells.variant("mc2:batch=2")),
        cell(variant=msgspec.structs.replace(variant, settings=variant.settings | kept)),
        cell(model="n"),
        cell(repeat=1),
        cell(seed=1),
        cell(stream=tuple(THEOREMS[:3])),
        cell(stream=(THEOREMS[1], THEOREMS[0], *THEOREMS[2:4])),
        cell(stream=()),
    ]
    assert len({one.digest for one in [cell(), *others]}) == 10
    assert cell().digest == cell().digest
    assert cell().name.startswith("theorem-0-3-")
    assert cell().place == "theorem:0-3"


def test_cells_of_single_samples_keep_the_names_that_they_had() -> None:
    """Evaluations that were begun before there were streams go on."""
    one = cells.Cell(variant=cells.variant("standard"), model="m", sample=THEOREMS[0], repeat=0, seed=0)
    said = msgspec.json.decode(msgspec.json.encode(one.variant.settings))
    from hashlib import sha256

    from meta_tui.chat import canonical_json
    from meta_tui.tasks import family

    matter = {
        "method": "standard",
        "settings": said,
        "params": {"temperature": 0.0},
        "model": "m",
        "question": family("theorem").question(THEOREMS[0]),
        "sample": "theorem:0",
        "repeat": 0,
        "seed": 0,
    }
    assert one.digest == sha256(canonical_json(matter)).hexdigest()


def test_streams_are_cut_by_task_and_length() -> None:
    samples = [*THEOREMS[:5], *loaders.samples("words", 3)]
    plan = cells.Plan(
        variants=(cells.variant("cot"),),
        models=("m",),
        tasks=("theorem", "words"),
        samples=cells.samples_digest(samples),
        stream=2,
    )
    found = [one.place for one in cells.cells(plan, samples)]
    assert found == ["theorem:0-1", "theorem:2-3", "theorem:4-4", "words:0-1", "words:2-2"]


def test_every_method_that_learns_gives_one_log_a_stream_and_a_row_an_instance(tmp_path: Path) -> None:
    done = small.run(
        tmp_path, METHODS, model="simulated:answers,chance=0.7", stream=12, samples=THEOREMS, concurrency=2
    )
    assert (done.done, done.failed, done.total) == (8, 0, 8)
    logs = sorted((tmp_path / "cells").glob("*.jsonl"))
    assert len(logs) == 8
    for path in logs:
        recording = read(path)
        assert len(recording.started.stream) == 12
        assert recording.finished is not None
        assert recording.finished.status == "completed"
        asyncio.run(sources.replay(recording))
    rows = rows_of(tmp_path)
    assert len(rows) == 4 * 24
    for row in rows:
        assert row.status == "answered"
        assert row.stream in ("theorem:0-11", "theorem:12-23")
        assert row.calls > 0
        assert row.batch > 0
        recording = read(tmp_path / row.log)
        assert row.answer in [e.text for e in recording.events if type(e).__name__ == "Answered"]
    for label in METHODS:
        own = [row for row in rows if row.method == label]
        assert 6 <= sum(row.correct("strict") for row in own) <= 23


def test_calls_that_learn_are_in_the_totals_but_not_in_the_instances(tmp_path: Path) -> None:
    small.run(tmp_path, ("mc2:batch=4",), model="simulated:learner", stream=12, samples=THEOREMS[:12])
    rows = rows_of(tmp_path)
    (log,) = (tmp_path / "cells").glob("*.jsonl")
    calls = sum(type(e).__name__ == "Requested" for e in read(log).events)
    summary = report.summary(cells.read_plan(tmp_path), rows, "strict")
    assert sum(row.calls for row in rows) < calls
    assert summary["table"][0]["calls_total"] == calls
    assert rows[0].shared == pytest.approx((calls - sum(row.calls for row in rows)) / 12)


def test_the_curve_by_batch_is_what_the_streams_own_summary_says(tmp_path: Path) -> None:
    small.run(tmp_path, ("mc2:batch=6", "cot"), model="simulated:learner", stream=24, samples=THEOREMS)
    summary = report.summary(cells.read_plan(tmp_path), rows_of(tmp_path), "strict")
    alone = asyncio.run(streams.of_folder(tmp_path))
    assert [curve["method"] for curve in summary["curves"]] == ["mc2:batch=6", "cot"]
    for curve, stream in zip(summary["curves"], alone, strict=True):
        for mine, its in zip(curve["batches"], stream["batches"], strict=True):
            for name in ("batch", "n", "correct", "accuracy", "restart_share"):
                assert mine[name] == its[name]
            if mine["n"] >= report.SMALLEST:
                assert mine["interval"] == its["interval"]


def test_with_repeats_the_interval_of_a_batch_is_by_sample(tmp_path: Path) -> None:
    """Two repeats that agree are no more evidence than one: the interval is as wide as without them."""
    rows = [
        msgspec.convert(
            {
                "method": "cot", "model": "m", "task": "theorem", "sample": f"theorem:{n}", "repeat": repeat,
                "log": "x", "status": "answered", "stream": "theorem:0-9", "batch": 1, "calls": 1,
                "grades": {"strict": {"verdict": "correct" if n < 5 else "incorrect"}},
            },
            results.Row,
        )
        for n in range(10)
        for repeat in range(2)
    ]  # fmt: skip
    plan = cells.Plan(
        variants=(cells.variant("cot"),), models=("m",), tasks=("theorem",), repeats=2, samples="x", stream=10
    )
    (curve,) = report.curves(plan, rows, "strict")
    low, high = curve["batches"][0]["interval"]
    assert (curve["streams"], curve["batches"][0]["accuracy"]) == (2, 0.5)
    assert 0.15 <= low <= 0.25
    assert 0.75 <= high <= 0.85


async def test_a_stopped_stream_goes_on_and_equals_one_that_was_not_stopped(tmp_path: Path) -> None:
    """Stopped again and again in mid-stream; what was answered before is not asked again."""
    model = simulation.named("simulated:learner,seed=1", THEOREMS)
    asked: list[str] = []

    class Counting:
        """Counts, and stops the evaluation now and then."""

        stop: Stop | None = None
        left = 0

        async def answer(self, call: Any, tell: Any) -> Any:
            """The learner's reply."""
            asked.append(f"{call.request.key} {call.strand} {call.draw}")
            self.left -= 1
            if self.left == 0 and self.stop is not None:
                self.stop.now()
            await asyncio.sleep(0)
            return await model.answer(call, tell)

    counting = Counting()
    doors = {model.id: with_scorer(Doors(counting), THEOREMS)}
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for where in (whole, cut):
        small.planned(where, ("mc2:batch=6",), THEOREMS, model.id, 24)
    found = small.planned(whole, ("mc2:batch=6",), THEOREMS, model.id, 24)
    await evaluate.evaluate(evaluate.Bench(whole, doors), found)
    once = sorted(asked)
    asked.clear()
    for count in (7, 20, 31):
        counting.stop, counting.left = Stop(), count
        stopped = await evaluate.evaluate(evaluate.Bench(cut, doors), found, stop=counting.stop)
        assert stopped.stopped
    rows = await asyncio.to_thread(rows_of, cut)
    states = {row.status for row in rows}
    assert states & {"missing", "cancelled", "unfinished"}
    assert "answered" in states
    counting.stop = None
    done = await evaluate.evaluate(evaluate.Bench(cut, doors), found)
    assert done.done == 1
    assert await asyncio.to_thread(rows_of, whole) == await asyncio.to_thread(rows_of, cut)
    recordings = [read(next((where / "cells").glob("*.jsonl"))) for where in (whole, cut)]
    learned = [left_behind(recording).knowledge for recording in recordings]
    assert learned[0] == learned[1]
    await sources.replay(recordings[1])
    assert len(asked) - len(once) <= 3 * 6  # calls that were under way when it was stopped


def test_a_method_of_single_questions_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "evaluate --method standard --task theorem --stream 4 --model simulated:answers".split()
    assert main(arguments) == 2
    assert "standard takes one question; on streams run mc2" in capsys.readouterr().err


def test_a_method_that_needs_a_stream_is_refused_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "evaluate --method meta_n --task opt --samples 2 --model simulated:answers".split()
    assert main(arguments) == 2
    assert "meta_n needs many tasks in one run; give --stream N" in capsys.readouterr().err


def test_imported_knowledge_is_part_of_a_variant_and_of_its_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "digits.json"
    assert main(["knowledge", "export", "mc2-digits", "--to", str(kept)]) == 0
    arguments = "--task theorem --stream 4 --model simulated:learner".split()
    for name, more in (("plain", []), ("taught", ["--knowledge", str(kept)])):
        to = tmp_path / name
        assert main(["evaluate", "--method", "mc2", *arguments, *more, "--to", str(to)]) == 0
    plain, taught = (cells.read_plan(tmp_path / name).variants[0] for name in ("plain", "taught"))
    assert (plain.label, taught.label) == ("mc2", "mc2 with digits")
    assert plain.settings.get("knowledge") is None
    assert taught.settings["knowledge"]
    names = [next((tmp_path / n / "cells").glob("*.jsonl")).name for n in ("plain", "taught")]
    assert names[0] != names[1]
    capsys.readouterr()
    assert main(["evaluate", "--method", "cot", *arguments, "--knowledge", str(kept)]) == 2
    assert "is for mc2, which is not evaluated" in capsys.readouterr().err
    other = tmp_path / "other.json"
    other.write_bytes(kept.read_bytes())
    both = ["--knowledge", str(kept), "--knowledge", str(other)]
    assert main(["evaluate", "--method", "mc2", *arguments, *both, "--to", str(tmp_path / "both")]) == 2
    assert "are both for mc2" in capsys.readouterr().err


def test_one_command_shows_that_a_taught_learner_rises_and_an_untaught_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIMULATION: recurring failure modes; accuracy rises over batches for `full`, not for `rmc`."""
    file, to = tmp_path / "recurring.jsonl", tmp_path / "e"
    file.write_text("".join(encode(generate(n, 11, recurring=0.8)) for n in range(120)))
    arguments = ["--task", str(file), "--stream", "120", "--model", "simulated:learner,seed=1"]
    arguments = ["evaluate", "--method", "mc2", "--method", "mc2:variant=rmc", *arguments, "--to", str(to)]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["simulated"] == ["simulated/learner,seed=1"]
    full, rmc = found["curves"]
    assert full["batches"][0]["interval"][1] < full["batches"][7]["interval"][0]
    late = [sum(b["correct"] for b in curve["batches"][5:]) for curve in (full, rmc)]
    assert late[0] > late[1] + 10
    for curve in (full, rmc):
        assert all(b["restart_share"] is not None and b["tokens"] for b in curve["batches"])
    assert found["streams"][0]["batches"][0]["learning_tokens"]
    for form, words in (("text", "restarts"), ("md", "## Streams by batch"), ("html", "Streams by batch")):
        assert main(["report", str(to), "--format", form]) == 0
        page = capsys.readouterr().out
        assert words in page
        assert "is a simulation" in page
        assert "[0.0, 24.2]" in page  # Wilson of 0 of 12
    assert page.count("<svg") >= 4
