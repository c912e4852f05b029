"""`solve --stream`, `resume --stream` and `knowledge` from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mc2_runs import ACCEPT, KNOWLEDGE, LESSON, NO, policies, solved

from meta_tui import store
from meta_tui.cli import main
from meta_tui.events import Scored
from meta_tui.runlog import read

EVERYTHING = "\n".join([solved("2"), NO, ACCEPT.format(answer="2")])


@pytest.fixture
def script(tmp_path: Path) -> str:
    """Replies by the name of who asks."""
    lines = [{"text": text, "name": name} for name, text in (
        ("Compose", policies()),
        *((f"Distil {who}", LESSON) for who in ("Reasoner", "Monitor", "Controller")),
        *((f"Consolidate {who}", KNOWLEDGE) for who in ("Reasoner", "Monitor", "Controller")),
    ) for _ in range(20)]  # fmt: skip
    lines += [{"text": EVERYTHING}] * 200
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return f"script:{path}"


def json_of(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code = main([*words, "--json"])
    out = capsys.readouterr()
    assert code == 0, out
    return json.loads(out.out)


def test_a_stream_of_a_task_is_one_run_graded_by_the_tasks_grader(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json_of(
        capsys, "solve", "--stream", "theorem:10-13", "--method", "mc2", "--set", "batch=2", "--model", script
    )
    assert (found["status"], found["reason"], found["answer"]) == ("completed", "stream", None)
    recording = read(Path(found["path"]))
    assert [item.sample for item in recording.started.stream] == [f"theorem:{n}" for n in range(10, 14)]
    assert recording.started.question == "A stream of 4 questions, theorem:10 to theorem:13"
    assert recording.started.task == "theorem"
    scores = [e.value for e in recording.events if isinstance(e, Scored)]
    assert scores == [0.0, 0.0, 1.0, 0.0]  # the rank of theorem:12 is 2
    assert main(["replay", found["run"]]) == 0


def test_knowledge_is_shown_exported_imported_and_used(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = json_of(
        capsys, "solve", "--stream", "theorem:0-3", "--method", "mc2", "--set", "batch=2", "--model", script
    )["run"]
    shown = json_of(capsys, "knowledge", "show", run)
    assert shown["knowledge"]["roles"]["reasoner"]["rules"] == [{"text": "check everything twice"}]
    assert shown["history"]["retrieved_by"]["R1.1"] == ["theorem:2", "theorem:3"]
    assert main(["knowledge", "show", run]) == 0
    text = capsys.readouterr().out
    assert "batch 1, reasoner: 1 added, 0 merged, 0 dropped" in text
    assert "R1.1 check twice" in text
    file = tmp_path / "knowledge.json"
    assert main(["knowledge", "export", run, "--to", str(file)]) == 0
    assert main(["knowledge", "export", run]) == 0
    assert capsys.readouterr().out == file.read_text(encoding="utf-8")
    assert main(["knowledge", "import", str(file), "--name", "mine"]) == 0
    for name in (str(file), "mine"):
        found = json_of(capsys, "solve", "Q?", "--method", "mc2", "--knowledge", name, "--model", script)
        started = read(Path(found["path"])).started
        assert started.settings["knowledge"]["batch"] == 2
    assert main(["knowledge", "show", "mine"]) == 0
    assert "reasoner: DO check everything twice" in capsys.readouterr().out


def test_a_stopped_stream_is_resumed_with_its_samples_found_again(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["solve", "--stream", "theorem:0-3", "--method", "mc2", "--set", "batch=2", "--model", script]
    assert main([*words, "--max-calls", "14", "--json"]) == 4
    run = json.loads(capsys.readouterr().out)["run"]
    found = json_of(capsys, "resume", run, "--model", script)
    assert found["status"] == "completed"
    assert main(["replay", run]) == 0


def test_a_stream_of_a_file_of_ones_own_is_resumed_with_the_file(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from meta_tui.tasks.loaders import encode
    from meta_tui.tasks.theorem import generate

    file = tmp_path / "own.jsonl"
    file.write_text("".join(encode(generate(n, 5)) for n in range(4)), encoding="utf-8")
    words = ["solve", "--stream", f"{file}:0-3", "--method", "mc2", "--set", "batch=2", "--model", script]
    assert main([*words, "--max-calls", "14", "--json"]) == 4
    run = json.loads(capsys.readouterr().out)["run"]
    assert main(["resume", run, "--model", script, "--plain"]) != 0
    assert "give the stream's file again with --stream" in "".join(capsys.readouterr())
    found = json_of(capsys, "resume", run, "--model", script, "--stream", str(file))
    assert found["status"] == "completed"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["solve", "--stream", "theorem:0-3"], "meta_prompting takes one question"),
        (["solve", "q", "--stream", "theorem:0-3", "--method", "cot"], "brings its own questions"),
        (["solve", "--stream", "theorem:3-1", "--method", "cot"], "smaller number first"),
        (["solve", "--stream", "magic:0-1", "--method", "cot"], "no task 'magic'"),
        (
            ["solve", "q", "--method", "mc2", "--knowledge", "nothing"],
            "`meta-tui knowledge export RUN` makes one",
        ),
        (["knowledge", "show", "game24-python"], "carries nothing from run to run"),
    ],
)
def test_what_cannot_be_is_said_with_what_to_do(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--model", "x/y", "--plain"] if words[0] == "solve" else []
    assert main([*words, *more]) == 2
    assert message in capsys.readouterr().err


def test_knowledge_of_another_method_or_damaged_is_refused(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.json"
    file.write_text('{"format": 1, "method": "bot", "knowledge": {"templates": []}}', encoding="utf-8")
    assert (
        main(["solve", "q", "--method", "mc2", "--knowledge", str(file), "--model", script, "--plain"]) == 2
    )
    assert "this knowledge is for bot, not for mc2; give --method bot" in capsys.readouterr().err
    for text in (
        "{",
        '{"format": 1, "method": "bot", "knowledge": {"template": []}}',
        '{"format": 9, "method": "bot", "knowledge": {}}',
    ):
        file.write_text(text, encoding="utf-8")
        assert main(["knowledge", "show", str(file)]) == 2
    assert main(["knowledge", "import", "last", "--name", "../x"]) == 2
    assert not store.home().knowledge.exists()
