"""README and CONTRIBUTING tell the truth: every command in them exists and every example runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from meta_tui.cli import COMMANDS, cli, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

OFFLINE = {"demo", "play", "replay", "methods", "doctor", "cache"}
"""Commands of the README that are run as they stand; the others need a model or other people's data
and are checked for their options."""


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands() -> list[list[str]]:
    lines = [line for block in blocks(README, "sh") for line in block.split("\n")]
    found = [part for line in lines for part in line.split("&&") if part.strip().startswith("meta-tui ")]
    return [shlex.split(part, comments=True)[1:] for part in found]


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_the_readme_opens_with_a_picture_that_exists() -> None:
    picture = re.search(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert picture
    assert (ROOT / picture.group(1)).is_file()


def test_the_readme_has_one_line_that_shows_it_and_one_that_tests_it() -> None:
    lines = [line for line in README.split("\n") if line.startswith("pip install")]
    assert len(lines) == 2
    assert "&& meta-tui demo --plain" in lines[0]
    assert "&& pytest" in lines[1]


@pytest.mark.parametrize(
    "words", [w for w in commands() if w[0] in OFFLINE and w[-1] != "published"], ids=" ".join
)
def test_an_offline_command_of_the_readme_works(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(words)
    assert code == (3 if words[0] == "diff" else 0), capsys.readouterr()


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_of_the_readme_and_its_options_exist(words: list[str], tmp_path: Path) -> None:
    existing = ["." if word.startswith("path/") else word for word in words]
    command: click.Command = cli
    while isinstance(command, click.Group) and existing:
        name = existing.pop(0)
        found = command.get_command(click.Context(command), name)
        assert found is not None, name
        command = found
        if isinstance(command, click.Group) and not existing:
            break
    command.make_context(words[0], existing)


def test_the_readme_names_every_command_group_or_contributing_does() -> None:
    shown = {words[0] for words in commands()}
    known = shown | set(re.findall(r"`([a-z]+)`", (ROOT / "CHANGELOG.md").read_text()))
    assert set(COMMANDS) <= known


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_the_python_examples_run(text: str, tmp_path: Path) -> None:
    for example in blocks(text, "python"):
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [sys.executable, "-c", example],
            capture_output=True,
            text=True,
            env=clean,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_the_method_of_contributing_records_and_replays(tmp_path: Path) -> None:
    """The twenty lines of "add a method", used as its reader would use them."""
    example = blocks(CONTRIBUTING, "python")[0]
    assert len(example.strip().split("\n")) <= 25
    use = example + (
        "\nmodel = meta_tui.ScriptedModel(['a long reply', 'short'])\n"
        "result = meta_tui.solve('q', model=model, method=Shorter(), log='own.jsonl')\n"
        "assert (result.answer, result.calls) == ('short', 2), result\n"
        "assert meta_tui.replay('own.jsonl').answer == 'short'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", use], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr


def test_nothing_in_the_repository_names_a_place_of_one_machine() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout (an unpacked archive has no list of files)")
    here = str(ROOT.parent) + "/"
    found = []
    for name in listed.stdout.split("\n"):
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".jsonl", ".yaml", ".txt", ".svg") and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            if here != "/" and here in text:
                found.append(name)
    assert not found
