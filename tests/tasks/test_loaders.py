"""Task files: every format is read as its publishers describe it, and every error names the file,
the line and the field. All data here are made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meta_tui import places
from meta_tui.errors import UsageError
from meta_tui.tasks import Sample, family
from meta_tui.tasks.loaders import (
    AUTHORS,
    COUNT,
    FORMATS,
    SEED,
    authors_task,
    encode,
    own,
    read,
    recognised,
    sample,
    samples,
    shipped,
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, *rows: Any) -> Path:
        path = tmp_path / name
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write_file


def test_our_own_lines_read_back_as_they_were_written(tmp_path: Path) -> None:
    made = [family("words").generate(index, 1) for index in range(3)]
    path = tmp_path / "words.jsonl"
    path.write_text("".join(map(encode, made)), encoding="utf-8")
    assert read(path) == made


def test_the_authors_files_are_told_by_their_names(write: Write) -> None:
    row = {"input": "1 2 3 4", "target": "24"}
    (found,) = read(write("GameOf24.jsonl", row))
    assert (found.task, found.index, found.input, found.target) == ("game24", 0, "1 2 3 4", "24")
    assert read(write("MGSM_BN.jsonl", row))[0].task == "mgsm_bn"
    assert authors_task(Path("word_sorting-zero-shot-cot.jsonl")) == "words"
    assert authors_task(Path("own.jsonl")) == ""
    assert len(AUTHORS) == 18


def test_a_puzzle_keeps_the_fields_that_its_graders_need(write: Write) -> None:
    row = {
        "input": "def sat(n: int):\n    return n == 3",
        "target": "",
        "ans_type": "int",
        "name": "A:0",
        "other": 1,
    }
    (found,) = read(write("P3_Test.jsonl", row))
    assert (found.task, found.meta) == ("puzzles", {"ans_type": "int", "name": "A:0"})


def test_plain_pairs_take_the_task_that_is_given(write: Write) -> None:
    path = write("mine.jsonl", {"input": "2+2", "target": "4", "note": "extra"})
    assert read(path)[0].task == ""
    assert read(path, task="arithmetic")[0] == Sample(input="2+2", target="4", task="arithmetic")


def test_gsm8k_has_its_gold_after_four_hashes_and_loses_its_commas(write: Write) -> None:
    row = {"question": "How many?", "answer": "He has 3.\nThen more.\n#### 2,125"}
    (found,) = read(write("test.jsonl", row))
    assert (found.task, found.input, found.target) == ("mgsm", "How many?", "2125")
    assert found.meta["solution"].startswith("He has 3.")


def test_math_500_keeps_subject_and_level(write: Write) -> None:
    row = {
        "problem": "Find $x$.",
        "solution": "...",
        "answer": "\\frac{1}{2}",
        "subject": "Algebra",
        "level": 2,
        "unique_id": "a/1",
    }
    (found,) = read(write("math.jsonl", row))
    assert (found.task, found.target, found.meta["level"]) == ("math", "\\frac{1}{2}", 2)


@pytest.mark.parametrize(
    ("answer", "kind", "target", "found_kind"),
    [
        (True, "bool", "yes", "bool"),
        (3, "integer", "3", "integer"),
        (0.5, "float", "0.5", "float"),
        ([1, 2.5], "list of float", "[1, 2.5]", "list of float"),
        ("(b)", "option", "(b)", "option"),
        (7, None, "7", "integer"),
    ],
)
def test_theoremqa_answers_keep_their_type(
    write: Write, answer: Any, kind: str | None, target: str, found_kind: str
) -> None:
    row = {"Question": "What?", "Answer": answer, "Picture": None} | ({"Answer_type": kind} if kind else {})
    (found,) = read(write("theoremqa.jsonl", row))
    assert (found.task, found.target, found.meta["answer_type"]) == ("theorem", target, found_kind)


def test_theoremqa_as_one_json_list_leaves_out_questions_with_pictures(write: Write) -> None:
    rows = [
        {"Question": "Seen?", "Answer": 1, "Answer_type": "integer", "Picture": "bytes"},
        {"Question": "Read?", "Answer": 2, "Answer_type": "integer", "Picture": ""},
    ]
    found = read(write("theoremqa.json", json.dumps(rows, indent=1)))
    assert [(one.input, one.index) for one in found] == [("Read?", 1)]


def test_mgsm_lines_are_question_tab_answer_and_the_name_says_the_language(write: Write) -> None:
    found = read(write("mgsm_th.tsv", "มีกี่อัน\t1,080", "", "Tab\tinside\t5"))
    assert [(one.task, one.input, one.target, one.index) for one in found] == [
        ("mgsm_th", "มีกี่อัน", "1080", 0),
        ("mgsm_th", "Tab\tinside", "5", 1),
    ]


ARC = {
    "train": [{"input": [[1, 0]], "output": [[0, 1]]}, {"input": [[2, 0]], "output": [[0, 2]]}],
    "test": [{"input": [[3, 0]], "output": [[0, 3]]}, {"input": [[4, 0]], "output": [[0, 4]]}],
}


@pytest.mark.parametrize("indent", [None, 1])
def test_each_test_grid_of_an_arc_task_is_a_sample(write: Write, indent: int | None) -> None:
    found = read(write("0a1b.json", json.dumps(ARC, indent=indent)))
    assert [(one.task, one.target, one.meta) for one in found] == [
        ("grids", "0 3", {"arc": "0a1b", "test": 0}),
        ("grids", "0 4", {"arc": "0a1b", "test": 1}),
    ]
    assert "Example 2, input:\n2 0\noutput:\n0 2" in found[0].input
    assert found[0].input.endswith("Question, input:\n3 0\noutput:")


def test_an_object_of_arc_tasks_by_name_is_read_too(write: Write) -> None:
    found = read(write("challenges.json", json.dumps({"aa": ARC, "bb": ARC}, indent=1)))
    assert [one.meta["arc"] for one in found] == ["aa", "aa", "bb", "bb"]
    assert [one.index for one in found] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "rows", "needles"),
    [
        (
            "GameOf24.jsonl",
            [{"input": "1 2 3 4", "target": "24"}, {"input": "1 2"}],
            ["line 2", "'target'", "missing"],
        ),
        ("GameOf24.jsonl", [{"input": 5, "target": "24"}], ["line 1", "'input'", "text", "a number"]),
        ("GameOf24.jsonl", ['{"input": "a", "target": "b"}', "", "{oops"], ["line 3", "no JSON"]),
        ("a.jsonl", [{"input": "a", "target": "b"}, ["x"]], ["line 2", "must be an object"]),
        ("a.jsonl", [], ["no records"]),
        ("a.jsonl", [{"colour": "red"}], ["cannot tell the format", "'colour'", "--format"]),
        ("a.jsonl", [{"question": "q", "answer": "just 5"}], ["line 1", "'answer'", "####"]),
        ("a.jsonl", [{"question": "q", "answer": "#### five"}], ["line 1", "'answer'", "no number"]),
        ("a.jsonl", [{"Question": "q", "Answer": None}], ["line 1", "'Answer'"]),
        ("a.json", ['[{"Question": "q", "Answer": {}}]'], ["record 1", "'Answer'"]),
        ("mgsm_de.tsv", ["Frage\t5", "Frage 6"], ["line 2", "'answer'", "tab"]),
        ("mgsm_de.tsv", ["Frage\tviele"], ["line 1", "'answer'", "no number"]),
        ("mgsm_xx.tsv", ["Frage\t5"], ["mgsm_xx"]),
        ("a.jsonl", [{"input": "a", "target": "b", "task": "nope"}], ["line 1", "'task'", "nope"]),
        ("a.jsonl", [{"input": "a", "target": "b", "task": "words", "colour": 1}], ["line 1", "colour"]),
        ("a.jsonl", [{"input": "a", "target": "b", "task": "words", "index": "x"}], ["line 1", "index"]),
        (
            "b.json",
            [json.dumps({"train": [{"input": [[1]], "output": [[12]]}], "test": []})],
            ["'output'", "grid"],
        ),
        (
            "b.json",
            [json.dumps({"train": [], "test": [{"input": [[1], [2, 3]], "output": [[1]]}]})],
            ["task b", "'input'"],
        ),
        ("b.json", [json.dumps({"train": [], "test": [{"input": [[1]]}]})], ["'output'"]),
        ("b.json", [json.dumps({"one": {"train": [], "test": []}, "two": 5})], ["task two", "'train'"]),
        (
            "b.json",
            [json.dumps({"one": {"train": [], "test": []}, "two": {"train": 3}})],
            ["task two", "'test'"],
        ),
        ("a.jsonl", [{"question": "q", "answer": "#### nan"}], ["line 1", "'answer'", "no number"]),
        ("a.jsonl", [{"question": "q", "answer": "#### 1_000"}], ["line 1", "'answer'", "no number"]),
        ("a.jsonl", [{"question": "q", "answer": "#### 1e999999999"}], ["line 1", "'answer'", "no number"]),
        ("mgsm_de.tsv", ["Frage\t" + "9" * 61], ["line 1", "'answer'", "no number"]),
        ("a.jsonl", [{"input": "a", "target": "b", "task": "words", "index": -1}], ["line 1", "'index'"]),
        (
            "a.jsonl",
            [{"input": word, "target": word, "task": "words"} for word in "ab"],
            ["line 2", "'index'"],
        ),
    ],
)
def test_an_error_names_file_line_and_field(
    write: Write, name: str, rows: list[Any], needles: list[str]
) -> None:
    path = write(name, *rows)
    with pytest.raises(UsageError) as caught:
        read(path)
    assert all(needle in str(caught.value) for needle in [name, *needles]), caught.value


def test_a_file_that_does_not_say_its_task_is_told_how_to(write: Write) -> None:
    with pytest.raises(UsageError, match=r"write TASK=.*pairs\.jsonl"):
        own(write("pairs.jsonl", {"input": "b a", "target": "a b"}))


def test_a_file_that_is_no_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes(b'{"input": "a", "target": "b"}\n{"input": "\xe4", "target": "b"}\n')
    with pytest.raises(UsageError, match=r"old\.jsonl, line 2: no UTF-8"):
        read(path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"input": "a", "target": "b"}\r\n')
    assert read(path)[0].input == "a"


def test_a_missing_file_a_folder_an_unknown_format_and_an_unknown_task_are_refused(
    tmp_path: Path, write: Write
) -> None:
    path = write("a.jsonl", {"input": "a", "target": "b"})
    for attempt, needle in (
        (lambda: read(tmp_path / "none.jsonl"), "cannot read"),
        (lambda: read(tmp_path), "cannot read"),
        (lambda: read(path, "xml"), "no format 'xml'"),
        (lambda: read(path, task="nope"), "no task 'nope'"),
        (lambda: read(path, "mp"), "give --task"),
        (lambda: read(path, "own"), "'task'"),
    ):
        with pytest.raises(UsageError, match=needle):
            attempt()


def test_a_given_format_wins_over_the_name(write: Write) -> None:
    path = write("mgsm_de.tsv", {"input": "a", "target": "b"})
    assert recognised(path, path.read_text()) == "mgsm"
    assert read(path, "plain")[0].input == "a"
    assert set(FORMATS) == {"own", "mp", "gsm8k", "math500", "theoremqa", "mgsm", "arc", "plain"}


def test_every_family_with_a_generator_has_a_shipped_file_that_is_what_the_generator_makes() -> None:
    """Twelve files of 25; a generator that changed without its file (or VERSION) fails here."""
    assert len(shipped()) == 12
    for task in shipped():
        lines = (
            (places.shipped("tasks") / f"{task}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        )
        assert len(lines) == COUNT
        for index in (0, 7, COUNT - 1) if task != "checkmate" else (0,):
            assert lines[index] == encode(family(task).generate(index, SEED)), (task, index)


def test_samples_go_on_behind_the_shipped_ones() -> None:
    found = samples("arithmetic", 30)
    assert [one.index for one in found] == list(range(30))
    assert found[29] == family("arithmetic").generate(29, SEED)
    assert samples("arithmetic", 3) == found[:3]


def test_a_variant_is_made_in_its_language_and_keeps_its_own_name() -> None:
    bengali, english = samples("mgsm_bn", 3), samples("mgsm", 3)
    assert [one.target for one in bengali] == [one.target for one in english]
    assert bengali[0].id == "mgsm_bn:0"
    assert samples("mgsm_en", 1)[0].id == "mgsm_en:0"


def test_a_sample_is_found_by_its_name() -> None:
    assert sample("game24:17").id == "game24:17"
    assert sample("words:40") == family("words").generate(40, SEED)


@pytest.mark.parametrize("name", ["game24", "game24:", ":3", "game24:x", "game24:-1", "nope:1", "game24:³"])
def test_what_names_no_sample_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        sample(name)


def test_samples_of_a_file_are_all_of_its_samples(write: Write) -> None:
    path = write("GameOf24.jsonl", *[{"input": f"1 2 3 {n}", "target": "24"} for n in range(1, 9)])
    assert len(samples(str(path))) == 8
    assert sample(f"{path}:2").input == "1 2 3 3"
