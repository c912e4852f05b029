"""`sandbox check` and `sandbox run`: the classes part the programs, and both views say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from published import FOLDER
from sandbox_programs import missing_layers, needs_layers

from meta_tui.cli import main
from meta_tui.errors import UsageError
from meta_tui.sandbox.check import read

Capture = pytest.CaptureFixture[str]
CLASSES = ("exact", "same_error", "recorded_timeout", "differs", "refused", "timeout", "error")

NO_OUTPUT = (
    "(No output was generated. It is possible that you did not include a print statement in your code.)"
)
TOO_LONG = "Execution took too long, aborting..."
PROGRAMS = [
    # (code, what was recorded, the class that this makes)
    ("print(' a ')\nprint('b')\n", "a \nb", "exact"),
    ("x = 1", NO_OUTPUT, "exact"),
    ("while True: pass", TOO_LONG, "exact"),
    ("print('kept')\n1 / 0", "kept", "exact"),
    ("import sys\nsys.exit('why')", "Error in execution: why", "exact"),
    (
        "[][0]",
        'Error in execution: Traceback ...\n  File "x.py"\nIndexError: list index out of range',
        "same_error",
    ),
    ("print(1)", TOO_LONG, "recorded_timeout"),
    ("print(2)", "1", "differs"),
    ("x = 1", "1", "differs"),
    ("import os", "posix", "refused"),
    ("import os", TOO_LONG, "refused"),
    ("while True: pass", "1", "timeout"),
    ("1 / 0", "1", "error"),
    ("[][0]", "Error in execution: KeyError: 1", "error"),
    ("(", "1", "error"),
]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    missing_layers()
    file = tmp_path / "programs.jsonl"
    rows = [{"code": code, "recorded_output": output, "task": "x"} for code, output, _ in PROGRAMS]
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    return file


def report(file: Path, capsys: Capture, *options: str) -> dict[str, Any]:
    assert main(["sandbox", "check", str(file), "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_program_falls_into_exactly_one_class(recorded: Path, capsys: Capture) -> None:
    found = report(recorded, capsys, "--timeout", "1")
    assert set(found) == {"total", "rows", *CLASSES}
    expected = {name: sum(kind == name for _, _, kind in PROGRAMS) for name in CLASSES}
    assert {name: found[name] for name in CLASSES} == expected
    assert found["total"] == sum(found[name] for name in CLASSES) == len(PROGRAMS)


def test_rows_are_those_that_are_neither_exact_nor_the_same_error(recorded: Path, capsys: Capture) -> None:
    found = report(recorded, capsys, "--timeout", "1")
    expected = {n: kind for n, (_, _, kind) in enumerate(PROGRAMS) if kind not in ("exact", "same_error")}
    assert {row["row"]: row["class"] for row in found["rows"]} == expected
    assert all(row["reason"] for row in found["rows"])


def test_the_view_for_people_says_the_same(recorded: Path, capsys: Capture) -> None:
    assert main(["sandbox", "check", str(recorded), "--timeout", "1"]) == 0
    out = capsys.readouterr().out
    assert f"{len(PROGRAMS)} programs: 5 exact, 1 same_error, 1 recorded_timeout" in out
    assert "row 9: refused: refused (line 1): line 1: the module `os`" in out


def test_a_file_that_is_no_recording_is_bad_input_with_its_line(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"code": "1", "recorded_output": ""}\n{"code": 5}\n', encoding="utf-8")
    assert main(["sandbox", "check", str(file)]) == 2
    assert "line 2: give rows with code and recorded_output" in capsys.readouterr().err


def test_the_line_is_counted_with_the_empty_ones() -> None:
    with pytest.raises(UsageError, match="line 3"):
        read(b'{"code": "1", "recorded_output": ""}\n\nno\n')


@pytest.mark.timeout(300)
def test_the_published_programs_give_the_recorded_outputs(capsys: Capture) -> None:
    missing_layers()
    file = FOLDER / "expert_python_even.jsonl"
    if not file.exists():
        pytest.skip("the published programs are not here (../shared/published/expert_python_even.jsonl)")
    pytest.importorskip("sympy")
    found = report(file, capsys, "--timeout", "10")
    assert found["total"] == 398
    assert found["exact"] >= 386, found["rows"]
    assert found["exact"] + found["same_error"] >= 395, found["rows"]
    assert found["refused"] == 0, found["rows"]


# sandbox run


def program(tmp_path: Path, code: str) -> str:
    missing_layers()
    file = tmp_path / "program.py"
    file.write_text(code, encoding="utf-8")
    return str(file)


def test_a_run_as_json_has_all_that_is_known(tmp_path: Path, capsys: Capture) -> None:
    assert main(["sandbox", "run", program(tmp_path, "print('a')\n1 / 0"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["stdout"], found["line"]) == ("error", "a\n", 2)
    assert found["error"].endswith("ZeroDivisionError: division by zero")
    assert isinstance(found["ms"], int)
    assert {"policy", "process"} <= set(found["layers"])
    assert "Python 3." in found["note"]


def test_a_run_for_people_parts_what_was_printed_from_how_it_ended(tmp_path: Path, capsys: Capture) -> None:
    assert main(["sandbox", "run", program(tmp_path, "print('a\\x1b[2J')\nimport os")]) == 0
    shown = capsys.readouterr()
    assert shown.out == "a␛[2J\n"
    assert "line 2: the module `os`" in shown.err
    assert "refused at line 2" in shown.err
    assert "layers: policy" in shown.err


def test_a_run_obeys_its_time_limit(tmp_path: Path, capsys: Capture) -> None:
    assert main(["sandbox", "run", program(tmp_path, "while True: pass"), "--timeout", "0.3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == "timeout"
    assert 300 <= found["ms"] < 2000


def test_a_run_of_plain_python(tmp_path: Path, capsys: Capture) -> None:
    needs_layers("landlock", "seccomp")
    file = program(tmp_path, "import os\nprint(os.sep)")
    assert main(["sandbox", "run", file, "--profile", "os_only", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["stdout"] == "/\n"
    assert "policy" not in found["layers"]


def test_bad_input_of_a_run_is_a_usage_error(tmp_path: Path, capsys: Capture) -> None:
    assert main(["sandbox", "run", str(tmp_path / "nothing.py")]) == 2
    assert main(["sandbox", "run", program(tmp_path, ""), "--timeout", "0"]) == 2
    assert main(["sandbox", "run", program(tmp_path, ""), "--profile", "none"]) == 2
    (tmp_path / "latin.py").write_bytes(b"print('\xe9')")
    assert main(["sandbox", "run", str(tmp_path / "latin.py")]) == 2
    assert "no UTF-8" in capsys.readouterr().err


def test_a_machine_without_the_layers_that_strict_needs_is_trouble_with_the_machine(
    tmp_path: Path, capsys: Capture
) -> None:
    lacking = missing_layers() & {"landlock", "seccomp"}
    code = main(["sandbox", "run", program(tmp_path, "print(1)"), "--sandbox", "strict"])
    assert code == (5 if lacking else 0)
