"""`meta-tui tasks` and `solve --sample` as people and scripts use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from meta_tui.cli import main
from meta_tui.runlog import read
from meta_tui.tasks import FAMILIES, family, loaders

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def run_json(capsys: Capture, *words: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert main(["tasks", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def final(answer: str) -> str:
    return f'>> FINAL ANSWER:\n"""\n{answer}\n"""'


def lines(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_the_list_names_every_family_with_its_graders_and_options(capsys: Capture) -> None:
    found = {row["id"]: row for row in run_json(capsys, "list")}
    assert list(found) == list(FAMILIES)
    assert found["game24"]["graders"] == ["paper", "strict"]
    assert found["puzzles"]["graders"] == ["paper", "strict"]
    assert found["theorem"]["graders"] == ["strict"]
    assert found["mgsm"]["variants"][0] == "mgsm_en"
    assert found["shapes"]["options"] == {"options": 12}
    assert main(["tasks", "list"]) == 0
    assert "Game of 24" in capsys.readouterr().out


def test_show_gives_the_question_and_the_answer_only_if_asked(capsys: Capture) -> None:
    sample = loaders.sample("words:3")
    assert main(["tasks", "show", "words:3"]) == 0
    out = capsys.readouterr().out
    assert out.strip() == family("words").question(sample)
    assert sample.target not in out
    assert main(["tasks", "show", "words:3", "--answer"]) == 0
    assert f"target: {sample.target}" in capsys.readouterr().out
    assert set(run_json(capsys, "show", "words")) == {"sample", "question"}
    assert run_json(capsys, "show", "words", "--answer")["sample"] == "words:0"


def test_generate_writes_the_same_bytes_again_and_says_their_digest(tmp_path: Path, capsys: Capture) -> None:
    found = run_json(capsys, "generate", "arithmetic", "--n", "5", "--seed", "7", "--out", "a.jsonl")
    assert (
        run_json(capsys, "generate", "arithmetic", "--n", "5", "--seed", "7", "--out", "b.jsonl")["sha256"]
        == found["sha256"]
    )
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert [one.index for one in loaders.read(tmp_path / "a.jsonl")] == [0, 1, 2, 3, 4]
    assert main(["tasks", "generate", "arithmetic", "--n", "5", "--seed", "7"]) == 0
    assert capsys.readouterr().out == (tmp_path / "a.jsonl").read_text()


def test_generate_takes_the_options_of_the_family_and_the_language_of_a_variant(capsys: Capture) -> None:
    (one,) = run_json(capsys, "generate", "shapes", "--n", "1", "--set", "options=10")
    assert one["input"].count("\n(") == 10
    (one,) = run_json(capsys, "generate", "mgsm_de", "--n", "1")
    assert one["task"] == "mgsm_de"
    assert "Anzahl" in one["input"]
    (one,) = run_json(capsys, "generate", "theorem", "--n", "1", "--set", "area=probability")
    assert one["meta"]["area"] == "probability"


def test_convert_makes_a_task_file_of_ours_from_a_copy_of_a_data_set(tmp_path: Path, capsys: Capture) -> None:
    path = lines(tmp_path / "test.jsonl", {"question": "How many?", "answer": "All. #### 1,000"})
    found = run_json(capsys, "convert", path, "--out", "own.jsonl")
    assert found["samples"] == 1
    (one,) = loaders.read(tmp_path / "own.jsonl", "own")
    assert (one.task, one.target) == ("mgsm", "1000")
    plain = lines(tmp_path / "plain.jsonl", {"input": "b a", "target": "a b"})
    assert main(["tasks", "convert", plain, "--task", "words"]) == 0
    assert json.loads(capsys.readouterr().out)["task"] == "words"
    assert main(["tasks", "convert", plain, "--format", "gsm8k"]) == 2
    assert "line 1, field 'answer'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "needle"),
    [
        (["generate", "nope"], "no task 'nope'"),
        (["generate", "math"], "no generator"),
        (["generate", "shapes", "--set", "options"], "NAME=VALUE"),
        (["generate", "shapes", "--set", "colour=1"], "options of shapes: options"),
        (["generate", "shapes", "--set", "options=ten"], "like 12"),
        (["generate", "shapes", "--set", "options=11"], "10, 12"),
        (["generate", "words", "--out", "missing/a.jsonl"], "cannot write"),
        (["show", "nope:1"], "no task 'nope'"),
        (["show", "words:x"], "names no sample"),
        (["verify", "nope"], "no task 'nope'"),
        (["verify", "missing.jsonl"], "cannot read"),
    ],
)
def test_bad_input_gets_one_clear_error(words: list[str], needle: str, capsys: Capture) -> None:
    assert main(["tasks", *words]) == 2
    captured = capsys.readouterr()
    assert needle in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_grade_reads_samples_by_name_and_counts_verdicts(tmp_path: Path, capsys: Capture) -> None:
    target = loaders.sample("arithmetic:0").target
    path = lines(
        tmp_path / "answers.jsonl",
        {"sample": "arithmetic:0", "output": final(target)},
        {"sample": "arithmetic:1", "output": final("99999999")},
        {"sample": "arithmetic:2", "output": "no marker"},
    )
    found = run_json(capsys, "grade", path)
    assert found["answers"] == 3
    assert found["strict"]["correct"] == 1
    assert found["strict"]["verdicts"] == {"correct": 1, "incorrect": 1, "no_answer": 1}
    assert [row["sample"] for row in found["grades"]] == ["arithmetic:0", "arithmetic:1", "arithmetic:2"]


def test_both_graders_show_where_they_disagree(tmp_path: Path, capsys: Capture) -> None:
    """The published grader finds 80 inside 280; the strict one does not."""
    row = {"input": "How many are left?", "target": "80", "output": final("There are 280 left.")}
    path = lines(tmp_path / "MGSM_EN.jsonl", row, row | {"output": final("80")})
    found = run_json(capsys, "grade", path, "--grader", "both")
    assert (found["paper"]["correct"], found["strict"]["correct"]) == (2, 1)
    assert found["disagreements"] == {"paper correct, strict incorrect": 1}
    assert main(["tasks", "grade", path, "--grader", "both"]) == 0
    out = capsys.readouterr().out
    assert "paper: 2 of 2 correct" in out
    assert "strict: 1 of 2 correct" in out
    assert "mgsm_en:0" in out
    assert "paper correct, strict incorrect: 1" in out


def test_both_graders_say_so_when_they_agree(tmp_path: Path, capsys: Capture) -> None:
    path = lines(tmp_path / "word_sorting.jsonl", {"input": "b a", "target": "a b", "output": final("a b")})
    assert main(["tasks", "grade", path, "--grader", "both"]) == 0
    assert "agree on every answer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "words", "needle"),
    [
        ({"sample": "words:0"}, [], "'output'"),
        ({"input": "a", "target": "b", "output": "x"}, [], "give --task"),
        ({"input": "a", "output": "x"}, ["--task", "words"], "'target'"),
        ({"sample": "theorem:0", "output": "x"}, ["--grader", "paper"], "no grader 'paper'"),
        ({"sample": "nope:0", "output": "x"}, [], "no task 'nope'"),
    ],
)
def test_answers_that_cannot_be_graded_are_named(
    row: dict[str, Any], words: list[str], needle: str, tmp_path: Path, capsys: Capture
) -> None:
    assert main(["tasks", "grade", lines(tmp_path / "a.jsonl", row), *words]) == 2
    assert needle in capsys.readouterr().err


def test_verify_accepts_shipped_witnesses_and_finds_a_spoilt_one(tmp_path: Path, capsys: Capture) -> None:
    assert run_json(capsys, "verify", "arithmetic", "theorem", "grids") == {
        "witnesses": 75,
        "without": 0,
        "wrong": [],
    }
    rows = [json.loads(loaders.encode(one)) for one in loaders.samples("arithmetic", 3)]
    rows[1]["meta"]["witness"] = "123456789"
    del rows[2]["meta"]["witness"]
    found = run_json(capsys, "verify", lines(tmp_path / "own.jsonl", *rows), code=1)
    assert (found["witnesses"], found["without"]) == (2, 1)
    assert [row["sample"] for row in found["wrong"]] == ["arithmetic:1"]


def test_a_puzzle_is_verified_in_the_sandbox(tmp_path: Path, capsys: Capture) -> None:
    (row,) = [json.loads(loaders.encode(one)) for one in loaders.samples("puzzles", 1)]
    found = run_json(capsys, "verify", lines(tmp_path / "p.jsonl", row))
    assert found["wrong"] == []


def test_solve_asks_a_sample_as_its_family_words_it_and_never_says_the_target(
    tmp_path: Path, capsys: Capture
) -> None:
    sample = loaders.sample("words:5")
    script = lines(tmp_path / "script.jsonl", {"text": final("something else")})
    assert main(["solve", "--sample", "words:5", "--model", f"script:{script}", "--json"]) == 0
    log = Path(json.loads(capsys.readouterr().out)["path"])
    started = read(log).started
    assert (started.task, started.sample) == ("words", "words:5")
    assert started.question == family("words").question(sample)
    text = log.read_text()
    assert sample.target not in text
    assert "witness" not in text


def test_a_sample_brings_its_own_question(tmp_path: Path, capsys: Capture) -> None:
    script = lines(tmp_path / "script.jsonl", {"text": "x"})
    assert main(["solve", "q", "--sample", "words:5", "--model", f"script:{script}"]) == 2
    assert "--sample" in capsys.readouterr().err
