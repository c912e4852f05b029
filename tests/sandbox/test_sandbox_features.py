"""Programs in the manner of models print the same in the sandbox as under plain CPython."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from sandbox_programs import Feature, features, missing_layers, plain_python, run_all, run_one

from meta_tui.chat import CodeResult, Limits, Program

NAMES = [feature.name for feature in features()]


@cache
def sandboxed() -> dict[str, CodeResult]:
    """What every program that this machine can run printed in the sandbox."""
    missing_layers()
    chosen = [feature for feature in features() if not feature.missing()]
    results = run_all([Program(feature.code, limits=Limits(seconds=30)) for feature in chosen])
    return {feature.name: result for feature, (result, _) in zip(chosen, results, strict=True)}


def test_the_suite_has_at_least_the_agreed_size() -> None:
    assert len(features()) >= 72


@pytest.mark.parametrize("feature", features(), ids=NAMES)
def test_a_program_prints_what_it_prints_under_plain_python(feature: Feature, tmp_path: Path) -> None:
    if feature.missing():
        pytest.skip(f"needs {feature.needs}")
    plain, result = plain_python(feature.code, tmp_path), sandboxed()[feature.name]
    assert result.stdout == plain.stdout, result.error
    assert _last_line(result.error) == _last_line(plain.stderr)


def test_the_traceback_of_a_failing_program_is_the_one_of_plain_python(tmp_path: Path) -> None:
    code = "def f(x):\n    return 1 / x\n\ndef g():\n    try:\n        f(0)\n    except ZeroDivisionError as e:\n        raise KeyError('k') from e\n\ng()\n"
    plain = plain_python(code, tmp_path).stderr.rstrip("\n")
    assert run_one(code).error == plain.replace(str(tmp_path / "program.py"), "program.py")


@pytest.mark.parametrize(
    ("code", "construct", "line"),
    [
        ("x = 1\nasync def f(): pass", "`async def`", 2),
        ("async def f():\n    await g()", "`async def`", 1),
        ("try:\n    pass\nexcept* ValueError:\n    pass", "`except*`", 1),
        ("class M(type): pass\n", "metaclass", 1),
        ("import os", "`os`", 1),
        ("\n\nfrom os import path", "`os`", 3),
        ("import threading", "`threading`", 1),
        ("import logging", "`logging`", 1),
        ("import argparse", "`argparse`", 1),
        ("import unittest", "`unittest`", 1),
        ("\nopen('x')", "files", 2),
        ("def f(a=1): pass\nprint(f.__defaults__)", "`__defaults__`", 2),
    ],
)
def test_what_is_refused_by_decision_is_refused_with_its_name_and_line(
    code: str, construct: str, line: int
) -> None:
    result = run_one(code)
    assert (result.status, result.line) == ("refused", line)
    assert construct in result.error
    assert f"line {line}" in result.error


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2]
