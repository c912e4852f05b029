"""A log says nothing of where it was written: two interpreters, hash seeds, time zones, languages
and working folders give the same bytes for every shipped cassette and every scripted run, times and
provenance left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import project
from scripted_runs import CASES, record

from meta_tui.store import shipped

SCRIPT = Path(__file__).parents[1] / "again_by_script.py"
NEEDED = ("msgspec", "click", "platformdirs")
OTHERS = ("3.13", "3.12", "3.14")

PLACES: list[dict[str, str]] = [
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "LANG": "tr_TR.UTF-8"},
    {"PYTHONHASHSEED": "random", "TZ": "America/St_Johns", "PYTHONUTF8": "1", "COLUMNS": "40"},
]


def recorded(to: Path) -> list[Path]:
    """All shipped cassettes and a log of every scripted case."""
    logs = sorted(shipped("cassettes").glob("*.jsonl"))
    for case in CASES:
        logs.append(to / f"{case}.jsonl")
        record(case, logs[-1])
    return logs


def digests(python: str, logs: list[Path], cwd: Path, place: dict[str, str]) -> dict[str, str]:
    """What the logs hash to when this interpreter makes them anew in this place."""
    new = cwd / "new"
    done = subprocess.run(
        [python, str(SCRIPT), str(new), *map(str, logs)],
        cwd=cwd,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(project()),
            "META_TUI_HOME": str(cwd / "home"),
            **place,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for log in logs:
        assert bare(new / log.name) == bare(log), log.name
    return dict(line.split() for line in done.stdout.splitlines())


def bare(log: Path) -> list[dict[str, Any]]:
    """The lines without times and provenance."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line]
    return [{k: v for k, v in line.items() if k not in ("at", "how")} for line in lines]


@pytest.mark.timeout(600)
def test_places_and_hash_seeds_leave_no_trace(tmp_path: Path) -> None:
    logs = recorded(tmp_path / "logs")
    assert len(logs) >= 8 + len(CASES)
    found = []
    for number, place in enumerate(PLACES):
        cwd = tmp_path / f"somewhere else {number} ü"
        cwd.mkdir()
        found.append(digests(sys.executable, logs, cwd, place))
    assert len(found[0]) == len(logs)
    assert found[0] == found[1] == found[2]


def other_python(to: Path) -> str:
    """An interpreter of another version with what the core needs; skips where there is none."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in OTHERS:
        if version != own and (found := interpreter(version)) is not None:
            return furnished(found, to)
    pytest.skip(
        f"no interpreter of another version than {own} on this machine (looked for {', '.join(OTHERS)})"
    )


def interpreter(version: str) -> str | None:
    """One on the path, or one that pyenv keeps."""
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    for name in (f"python{version}", *map(str, kept)):
        try:
            done = subprocess.run([name, "-c", "import ssl"], capture_output=True, timeout=60, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return name
    return None


def furnished(python: str, to: Path) -> str:
    """A virtual environment of that interpreter."""
    subprocess.run([python, "-m", "venv", str(to)], check=True, timeout=300)
    own = str(to / "bin" / "python")
    done = subprocess.run(
        [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", *NEEDED],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the packages of the core cannot be installed for {python}: {done.stderr[-300:]}")
    return own


@pytest.mark.timeout(900)
def test_another_interpreter_writes_the_same_bytes(tmp_path: Path) -> None:
    python = other_python(tmp_path / "venv")
    logs = recorded(tmp_path / "logs")
    for name in ("0", "1"):
        (tmp_path / name).mkdir()
    here = digests(sys.executable, logs, tmp_path / "0", PLACES[0])
    there = digests(python, logs, tmp_path / "1", PLACES[1])
    assert here == there
