"""What people see of an evaluation on the command line: why cells failed and how they are run again,
what recorded runs are worth, whose samples are whose, and models that are only simulated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation import small
from meta_tui import store
from meta_tui.cli import main
from meta_tui.errors import UsageError
from meta_tui.evaluation import recorded, simulation, textplots
from meta_tui.runlog import read
from meta_tui.tasks import loaders


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code
    return capsys.readouterr().out


def script(path: Path, *lines: dict[str, str]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"script:{path}"


ANSWER = {"text": '>> FINAL ANSWER:\n"""\nno idea\n"""'}


# Why cells failed.


def test_failed_cells_are_grouped_by_reason_with_their_logs_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small.failing(tmp_path / "e", "503 from the server")
    text = printed(capsys, "report", str(tmp_path / "e"))
    assert "3 cells failed or stopped:" in text
    assert "     3  failed: server: 503 from the server" in text
    assert "and 2 more" in text
    assert "with --again runs the failed cells again, and no others" in text
    found = json.loads(printed(capsys, "report", str(tmp_path / "e"), "--json"))["failures"]
    (entry,) = found
    assert (entry["status"], entry["reason"], entry["cells"]) == ("failed", "server: 503 from the server", 3)
    for log in entry["logs"]:
        assert (tmp_path / "e" / log).is_file()
    for form in ("md", "html"):
        assert "503 from the server" in printed(capsys, "report", str(tmp_path / "e"), "--format", form)


def test_only_failed_cells_are_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second of three cells fails; --again runs one cell, and then none is left that failed."""
    to = str(tmp_path / "e")
    model = script(tmp_path / "s", ANSWER, {"fail": "server", "text": "down"}, ANSWER)
    asked = ["evaluate", "--method", "standard", "--task", "words", "--samples", "3", "--concurrency", "1"]
    out = printed(capsys, *asked, "--model", model, "--to", to)
    assert "1 cell failed or stopped:" in out
    again = script(tmp_path / "s", ANSWER)
    assert main([*asked, "--model", again, "--to", to]) == 0
    assert "1 cell failed" in capsys.readouterr().out
    assert main([*asked, "--model", again, "--to", to, "--again"]) == 0
    out = capsys.readouterr().out
    assert "3 cells: 3 answered" in out
    assert "failed" not in out


def test_hostile_words_of_a_failure_are_shown_as_symbols(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small.failing(tmp_path / "e", "\x1b[2J\x1b]0;title\x07 <script>alert(1)</script>")
    for form in ("text", "md", "html"):
        out = printed(capsys, "report", str(tmp_path / "e"), "--format", form)
        assert "\x1b" not in out
        assert "\x07" not in out
    assert "<script>" not in out


def test_the_progress_says_pace_cost_and_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = script(tmp_path / "s", ANSWER, {"fail": "server", "text": "down"})
    asked = ["evaluate", "--method", "standard", "--task", "words", "--samples", "2", "--model", model]
    assert main([*asked, "--to", str(tmp_path / "e")]) == 0
    line = [one for one in capsys.readouterr().err.split("\n") if one.startswith("2/2 cells")][-1]
    assert "a minute" in line
    assert "1 failed" in line
    assert "2 calls" in line
    assert "$" in line or "cost -" in line


# Recorded runs.


def test_the_shipped_runs_that_name_samples_are_graded_offline(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(
        capsys, "evaluate", "--cassettes", str(store.shipped("cassettes")), "--task", "game24,words"
    )
    assert [line.split()[:3] for line in out.split("\n")[1:4]] == [
        ["game24:3", "meta_prompting", "correct"],
        ["game24:3", "standard", "incorrect"],
        ["words:2", "zero_shot_cot", "correct"],
    ]
    assert "2 of 3 answers of 3 runs correct (strict grader)" in out
    assert "name no sample" in out


def test_a_shipped_stream_is_graded_instance_by_instance(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "evaluate", "--cassettes", str(store.find("mc2-digits")), "--json"))
    assert found["runs"] == 1
    verdicts = [row["grades"]["strict"]["verdict"] for row in found["rows"]]
    assert (len(verdicts), verdicts.count("correct")) == (12, 10)


def test_where_no_run_names_a_sample_it_is_said_how_one_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, "evaluate", "--cassettes", str(store.find("rival-cot")), code=1)
    assert "nothing to grade" in out
    assert "1 run name no sample" in out
    assert "solve --sample game24:17" in out
    out = printed(capsys, "evaluate", "--cassettes", str(tmp_path), code=1)
    assert "it holds no runs" in out


async def test_a_run_that_asked_something_else_than_its_sample_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    log = store.find("sample-words-cot").read_bytes()
    other = read(store.find("sample-words-cot")).started
    import msgspec

    from meta_tui.runlog import seal

    first = seal(msgspec.structs.replace(other, id="", sample="words:3"))
    path.write_bytes(msgspec.json.Encoder(order="deterministic").encode(first) + log[log.index(b"\n") :])
    found = await recorded.graded([path], recorded.Known(), "strict")
    assert found.rows == []
    assert dict(found.left) == {recorded.OTHER_QUESTION: 1}


# Whose samples are whose.


def own_file(tmp_path: Path, name: str = "mine.jsonl", answer: str = "a b") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps({"input": "Sort: b a", "target": answer, "task": "words"}) + "\n")
    return path


def test_samples_of_a_file_of_ones_own_have_names_of_their_own(tmp_path: Path) -> None:
    one, other = own_file(tmp_path), own_file(tmp_path, "other.jsonl", "b a")
    (tmp_path / "deep").mkdir()
    copy = own_file(tmp_path / "deep")
    names = [loaders.own(path)[0].id for path in (one, other, copy)]
    assert names[0] == names[2] != names[1]
    assert names[0].startswith("words@")
    assert names[0].endswith(":0")
    assert len(names[0]) == len("words@12345678:0")
    assert loaders.samples("words")[0].id == "words:0"


def test_a_copy_of_a_shipped_file_holds_our_samples(tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((store.shipped("tasks") / "words.jsonl").read_bytes())
    assert [one.id for one in loaders.own(copy)] == [one.id for one in loaders.samples("words")]


def test_an_evaluation_of_ones_own_file_and_of_ours_keeps_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["evaluate", "--method", "standard", "--model", "simulated:answers,chance=1", "--samples", "1"]
    file, to = own_file(tmp_path), tmp_path / "e"
    found = json.loads(
        printed(capsys, *asked, "--task", "words", "--task", str(file), "--to", str(to), "--json")
    )
    assert found["cells"] == {"total": 2, "answered": 2}
    logs = [read(path).started for path in sorted((to / "cells").glob("*.jsonl"))]
    assert {started.sample for started in logs} == {"words:0", loaders.own(file)[0].id}
    graded = json.loads(
        printed(capsys, "evaluate", "--cassettes", str(to / "cells"), "--task", str(file), "--json")
    )
    assert {row["sample"] for row in graded["rows"]} == {"words:0", loaders.own(file)[0].id}
    out = json.loads(printed(capsys, "evaluate", "--cassettes", str(to / "cells"), "--json"))
    assert [row["sample"] for row in out["rows"]] == ["words:0"]
    assert out["left_out"] == {recorded.NOT_FOUND: 1}


# What is evaluated, and which part of it.

WORDS = ("evaluate", "--task", "words", "--model", "simulated:answers", "--samples", "2")


@pytest.mark.parametrize(
    "twice",
    [("--method", "standard,standard"), ("--task", "words,words"), ("--model", "simulated:answers")],
)
def test_what_is_given_twice_is_counted_once(
    twice: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once = () if twice[0] == "--method" else ("--method", "standard")
    found = json.loads(printed(capsys, *WORDS, *once, *twice, "--to", str(tmp_path / "e"), "--json"))
    assert found["cells"] == {"total": 2, "answered": 2}
    assert [row["n"] for row in found["table"]] == [2]
    assert found["pairs"] == []


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (("standard", "standard:python=false"), "one method with the same settings"),
        ((",",), "which methods?"),
    ],
)
def test_methods_that_cannot_be_compared_are_refused(
    methods: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [part for method in methods for part in ("--method", method)]
    assert main([*WORDS, *asked, "--to", str(tmp_path / "e")]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "count", "first", "step", "cells"),
    [("0", "2", "0", "1", 1), ("6", "2", "2", "4", 1), ("5", "1", "5", "1", 2), ("1", "2", "", "", 1)],
)
def test_a_task_of_an_array_of_slurm_runs_its_part(
    number: str,
    count: str,
    first: str,
    step: str,
    cells: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in (("ID", number), ("COUNT", count), ("MIN", first), ("STEP", step)):
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", value)
    printed(capsys, *WORDS, "--method", "standard", "--to", str(tmp_path / "e"))
    assert len(list((tmp_path / "e" / "cells").glob("*.jsonl"))) == cells


@pytest.mark.parametrize(
    ("number", "count", "first", "step"),
    [
        ("7", "3", "1", "1"),
        ("4", "3", "0", "3"),
        ("x", "3", "0", "1"),
        ("1", "0", "1", "1"),
        ("0", "2", "1", "1"),
    ],
)
def test_a_task_of_an_array_that_tells_no_part_is_refused(
    number: str,
    count: str,
    first: str,
    step: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of `--array=1,3,7` the last task would have run nothing, and nobody its cells."""
    for name, value in (("ID", number), ("COUNT", count), ("MIN", first), ("STEP", step)):
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", value)
    assert main([*WORDS, "--method", "standard", "--to", str(tmp_path / "e")]) == 2
    assert "--shard i/n" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["3/2", "0/2", "²/²", "1", "/", "1/2/3", "-1/2"])
def test_a_shard_is_a_part_of_a_number_of_parts(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--method", "standard", "--shard", text, "--to", str(tmp_path / "e")]) == 2
    assert "write i/n" in capsys.readouterr().err


# Simulations.


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("simulated", "simulated/chance=0.3,insight=0.75,seed=0"),
        ("simulated:workers,chance=0.2,insight=0.9,seed=3", "simulated/chance=0.2,insight=0.9,seed=3"),
        ("simulated:answers,chance=0.5", "simulated/answers,chance=0.5,seed=0"),
        ("simulated:learner,seed=2", "simulated/learner,seed=2"),
    ],
)
def test_a_simulation_is_named_by_its_kind_and_settings(text: str, id_: str) -> None:
    assert simulation.named(text, loaders.samples("theorem")).id == id_


@pytest.mark.parametrize(
    ("text", "task", "words"),
    [
        ("simulated:oracle", "words", "no simulation 'oracle'; there are workers, answers, learner"),
        ("simulated:answers,insight=1", "words", "answers takes chance, seed"),
        ("simulated:answers,chance=2", "words", "from 0 to 1"),
        ("simulated:answers,chance=much", "words", "chance must be a number"),
        ("simulated:learner", "words", "plays on theorem questions only"),
    ],
)
def test_a_simulation_that_cannot_be_is_refused_with_what_can(text: str, task: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        simulation.named(text, loaders.samples(task))


def test_one_command_gives_the_curves_of_both_controllers_and_an_ablation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Simulated workers at two budgets: a score with an interval for each, in every form of the report."""
    asked = ["evaluate", "--task", "theorem,grids", "--samples", "3", "--to", str(tmp_path / "e")]
    for method in ("meta_reasoning", "direct_control"):
        for budget in (25, 50):
            asked += ["--method", f"{method}:tools=text,budget={budget}"]
    asked += ["--method", "meta_reasoning:tools=text,budget=25,no_propose=true"]
    asked += ["--model", "simulated:workers,chance=0.3"]
    out = printed(capsys, *asked)
    assert "allowed" in out
    assert "is a simulation" in out
    found = json.loads(printed(capsys, "report", str(tmp_path / "e"), "--json"))["diagnostics"]
    assert len(found) == 2 * 5
    for group in found:
        low, high = group["score_interval"]
        assert 0 <= low <= group["score"] <= high <= 1
    page = printed(capsys, "report", str(tmp_path / "e"), "--format", "html")
    assert "Score against allowance" in page
    assert "Score by allowed calls" in page
    started = read(next((tmp_path / "e" / "cells").glob("*.jsonl"))).started
    assert started.origin == "written"
    assert started.note.startswith("SIMULATION")


@pytest.mark.parametrize("task", ["game24", "arithmetic", "words", "grids", "opt", "symreg", "theorem"])
def test_a_simulation_that_is_always_right_is_right_in_every_form_of_answer(
    task: str, tmp_path: Path
) -> None:
    small.run(tmp_path, ("standard",), (task,), 2, "simulated:answers,chance=1")
    graded_ = recorded.graded((tmp_path / "cells").glob("*.jsonl"), recorded.Known(), "strict")
    assert [row.correct("strict") for row in small.finished(graded_).rows] == [True, True]


# Layers of the sandbox.

WITHOUT_LANDLOCK = """
import os, sys
from meta_tui.cli import main
from meta_tui.sandbox import lockdown, syscalls
lockdown._prctl(lockdown.PR_SET_NO_NEW_PRIVS, 1)
for _ in range(16):
    try:
        rules = lockdown._syscall(syscalls.LANDLOCK_CREATE_RULESET, (1 << 11).to_bytes(8, "little"), 8, 0)
        lockdown._syscall(syscalls.LANDLOCK_RESTRICT_SELF, rules, 0)
        os.close(rules)
    except OSError:
        break
sys.exit(main(sys.argv[1:]))
"""
PYTHON = [
    {"text": 'Expert Python:\n"""\nPrint 42.\n"""'},
    {"text": "```python\nprint(42)\n```\nPlease run this code!"},
    ANSWER,
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Landlock is Linux's")
@pytest.mark.parametrize("command", ["evaluate", "replay"])
def test_a_missing_layer_is_said_once_by_commands_that_run_programs(command: str, tmp_path: Path) -> None:
    model = script(tmp_path / "s", *PYTHON, *PYTHON)
    asked = {
        "evaluate": f"evaluate --method meta_prompting --task words --samples 2 --concurrency 1 --model {model}",
        "replay": "replay --rerun-code game24-python",
    }
    to = ["--to", str(tmp_path / "e")] if command == "evaluate" else []
    words = [sys.executable, "-c", WITHOUT_LANDLOCK, *asked[command].split(), *to]
    home = {**os.environ, "META_TUI_HOME": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=home)
    assert done.stderr.count("the sandbox runs without landlock") == 1, done.stderr


# Plots as text.


def test_a_value_and_its_interval_stand_where_they_belong() -> None:
    """A scale of 21 cells: one cell is 5 points."""
    lines = textplots.rows(
        [("a", 0.5, (0.25, 0.75), "50"), ("b", 1.0, None, "100"), ("c", None, None, "-")], 29
    )
    bars = [line[3:24] for line in lines]
    assert bars[0] == "     ├────●────┤     "
    assert bars[1].rstrip() == " " * 20 + "●"
    assert bars[2].strip() == ""
    assert lines[3] == "   0····25···50···75·100"
    assert textplots.rows([], 40) == []


def test_lines_fit_their_width_and_long_names_are_cut() -> None:
    points = [("x" * 80, 0.3, (0.1, 0.6), "30.0  n 10")]
    for width in (60, 80, 120):
        assert all(len(line) <= width for line in textplots.rows(points, width))
    assert "…" in textplots.rows(points, 60)[0]
