"""Recomputing the published results: on a small made-up copy, and on the published runs themselves."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import published
import pytest

from meta_tui import cli

Row = dict[str, Any]


def final(answer: str) -> str:
    return f'>> FINAL ANSWER:\n"""\n{answer}\n"""'


def row(question: str, target: str, *replies: str, between: tuple[str, ...] = ()) -> Row:
    """A run: replies of the model, and the user messages between them."""
    log = [{"role": "system", "content": "Answer."}, {"role": "user", "content": f"ROUND 1:\n\n{question}"}]
    for number, reply in enumerate(replies):
        log.append({"role": "assistant", "content": reply})
        if number < len(between):
            log.append({"role": "user", "content": between[number]})
    return {"input": question, "target": target, "message_log": log, "output": log[-1]["content"]}


def expert(number: int, name: str, text: str = "Fine.") -> str:
    return f'ROUND {number}:\n\n{name}\'s output:\n"""\n{text}\n"""\n\nWhat next?'


GAMES = ("1 2 3 4", "1 1 4 6", "2 3 4 6")
STANDARD = [
    row(GAMES[0], "24", final("1*2*3*4 = 24")),
    row(GAMES[1], "24", final("6*4//1*1")),
    row(GAMES[2], "24", final("There is no solution.")),
]
META = [
    row(GAMES[0], "24", "Expert Python:\n...", final("24 = 1*2*3*4"), between=(expert(2, "Expert Python"),)),
    row(
        GAMES[1],
        "24",
        "a",
        "b",
        "c",
        final("(6-1-1)*4 = 16"),
        between=(
            expert(2, "Expert Solver"),
            "ROUND 3:\n\nPlease answer.",
            "ROUND 4:\n\nROUND 4:\n\n" + expert(4, "x")[10:],
        ),
    ),
    row(GAMES[2], "24", "d", between=("It ended here, without a header.",)),
]


def copy(tmp_path: Path, **files: list[Row] | str) -> Path:
    """A folder in the authors' layout; the keyword is Method__task."""
    for key, rows in files.items():
        method, _, task = key.partition("__")
        place = tmp_path / "clone" / "outputs" / method / f"{task}.jsonl"
        place.parent.mkdir(parents=True, exist_ok=True)
        text = rows if isinstance(rows, str) else "".join(json.dumps(one) + "\n" for one in rows)
        place.write_text(text, encoding="utf-8")
    return tmp_path / "clone"


def reproduce(path: Path, capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> Any:
    assert cli.main(["reproduce", str(path), "--json", *options]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def games(tmp_path: Path) -> Path:
    return copy(
        tmp_path,
        **{"Standard__GameOf24-zero-shot-cot": STANDARD, "MetaPromptingWithPython__GameOf24": META},
    )


def test_a_file_is_counted_under_both_graders(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = reproduce(games, capsys)["files"]
    assert files["Standard/GameOf24"] == {
        "rows": 3,
        "correct_paper": 2,
        "correct_strict": 1,
        "mean_rounds": 1.0,
        "answered": 3,
        "no_solution": 1,
    }


def test_experts_are_the_first_name_of_each_message_with_a_round_header(
    games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reproduce(games, capsys)["files"]["MetaPromptingWithPython/GameOf24"]
    assert found["experts"] == {"Expert Python": 1, "Expert Solver": 1, "x": 1}
    assert found["expert_messages"] == 3


def test_a_run_that_ends_with_the_user_has_rounds_but_no_answer(
    games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reproduce(games, capsys)["files"]["MetaPromptingWithPython/GameOf24"]
    assert found["rows"] == 3
    assert found["answered"] == 2
    assert found["mean_rounds"] == round(7 / 3, 4)


def test_methods_are_compared_on_the_same_rows(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paper: Standard has 2 right, Meta+Python none (24 = ... is read left of the sign)."""
    comparisons = reproduce(games, capsys)["comparisons"]
    paper = next(c for c in comparisons if c["grader"] == "paper")
    assert (paper["method"], paper["against"]) == ("MetaPromptingWithPython", "Standard")
    assert (paper["rows"], paper["only_first"], paper["only_second"]) == (3, 0, 2)
    assert paper["points"] == round(-200 / 3, 2)
    assert paper["p"] == 0.5
    assert paper["low"] < paper["points"] < paper["high"]
    strict = next(c for c in comparisons if c["grader"] == "strict")
    assert (strict["only_first"], strict["only_second"]) == (0, 0)
    assert strict["p"] == 1.0


def test_rows_are_paired_by_their_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = [row("5 6 7 8", "24", final("0"))]
    path = copy(tmp_path, Standard__GameOf24=STANDARD[:1], MetaPromptingWithPython__GameOf24=other)
    assert reproduce(path, capsys)["comparisons"] == []


def test_printed_figures_stand_beside_the_recomputed(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = reproduce(games, capsys)["table_1"]
    assert line["published_rows"] == 100
    cell = line["methods"]["Standard"]
    assert (cell["printed"], cell["paper"], cell["strict"]) == (3, 66.67, 33.33)
    assert line["methods"]["ZeroShotCoT"] == {
        "rows": 0,
        "printed": 11,
        "paper": None,
        "strict": None,
        "strict_interval": None,
    }


def test_what_cannot_be_shown_is_said(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "\n".join(reproduce(games, capsys)["cannot"])
    assert "3 of 100 Game of 24" in said
    assert "Game of 24: no transcripts of 0-CoT, Ex-St, Ex-Dy, MP, Meta here" in said
    assert "Sonnets: no transcripts of any method here" in said
    assert "73.9 %" in said


def test_languages_weigh_the_same_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = row("q", "5", final("5")), row("r", "5", final("6"))
    path = copy(tmp_path, Standard__MGSM_DE=[right], Standard__MGSM_FR=[right, wrong, wrong, wrong])
    found = reproduce(path, capsys)
    (line,) = found["table_1"]
    assert line["methods"]["Standard"]["paper"] == (100 + 25) / 2
    assert set(found["files"]) == {"Standard/MGSM_DE", "Standard/MGSM_FR"}


def test_a_zip_gives_the_same_as_its_folder(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / "copy.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for place in sorted(games.rglob("*.jsonl")):
            archive.write(place, f"clone/{place.relative_to(games).as_posix()}")
    assert reproduce(packed, capsys) == reproduce(games, capsys)


def test_a_damaged_file_is_skipped_with_its_line_and_the_rest_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copy(tmp_path, Standard__GameOf24=STANDARD, ZeroShotCoT__GameOf24='{"input": "1 2 3 4"}\n')
    assert cli.main(["reproduce", str(path), "--json"]) == 2
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert list(found["files"]) == ["Standard/GameOf24"]
    assert "ZeroShotCoT/GameOf24.jsonl, line 1" in found["skipped"][0]
    assert "skipped: ZeroShotCoT/GameOf24.jsonl, line 1" in captured.err


def test_a_task_without_graders_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copy(tmp_path, Standard__GameOf24=STANDARD, Standard__Riddles=STANDARD)
    assert cli.main(["reproduce", str(path), "--json"]) == 0
    captured = capsys.readouterr()
    assert list(json.loads(captured.out)["files"]) == ["Standard/GameOf24"]
    assert "Riddles" in captured.err


def test_only_what_is_asked_for_is_counted(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(reproduce(games, capsys, "--method", "Standard")["files"]) == ["Standard/GameOf24"]


def test_the_text_shows_printed_paper_and_strict(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", str(games)]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = [line.split() for line in lines[:5]]
    assert table[1] == ["Std", "0-CoT", "Ex-St", "Ex-Dy", "MP", "Meta", "Meta+Py"]
    assert table[2][-8:] == ["printed", "3.0", "11.0", "3.0", "2.0", "25.0", "11.0", "67.0"]
    assert table[3][-8:] == ["paper", "66.7", "-", "-", "-", "-", "-", "0.0"]
    assert table[4] == ["strict", "33.3", "-", "-", "-", "-", "-", "33.3"]


def test_nothing_there_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", str(tmp_path)]) == 2
    assert "outputs/<Method>/<task>.jsonl" in capsys.readouterr().err


QUICK = (
    "GameOf24",
    "CheckmateInOne",
    "geometric_shapes",
    "word_sorting",
    "multistep_arithmetic_two",
    "MGSM_BN",
)


def test_published_files_give_the_published_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """Six tasks of all methods; all 112 files are held in tests/long/test_reproduce_all."""
    pytest.importorskip("chess", reason="the extra `graders` is not installed")
    expected = {key: facts for key, facts in published.expected().items() if key.split("/")[1] in QUICK}
    options = [part for task in QUICK for part in ("--task", task)]
    files = reproduce(published.archive(), capsys, *options)["files"]
    assert {
        key: {n: v for n, v in facts.items() if n != "correct_strict"} for key, facts in files.items()
    } == expected
