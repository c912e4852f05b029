"""The published meta-prompting runs, read without the project's own import.

They lie beside the checkout and are never committed. Where they are absent, tests that need them
are skipped and say so. Everything here is zipfile and json, so that what the importer says can be
held against something else.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "shared" / "published"
ARCHIVE = FOLDER / "published-even-rows.zip"
META = ("MetaPromptingWithPython", "MetaPromptingWithoutPython")
SUFFIX = "-zero-shot-cot"

Log = list[dict[str, str]]


@dataclass(frozen=True, order=True)
class File:
    """One file of the archive: `task` is the name that expected_even.json uses."""

    method: str
    task: str
    member: str


def archive() -> Path:
    """The zip of published runs; skips the test where it is absent."""
    if not ARCHIVE.exists():
        pytest.skip("the published runs are not here (../shared/published/published-even-rows.zip)")
    return ARCHIVE


@cache
def files() -> tuple[File, ...]:
    """All files of runs, in order."""
    with zipfile.ZipFile(archive()) as data:
        names = [n.split("/") for n in data.namelist() if n.startswith("outputs/") and n.endswith(".jsonl")]
    found = [
        File(method, name.removesuffix(".jsonl").removesuffix(SUFFIX), f"outputs/{method}/{name}")
        for _, method, name in names
    ]
    return tuple(sorted(found))


@cache
def rows(file: File) -> tuple[dict[str, Any], ...]:
    """The rows of a file."""
    with zipfile.ZipFile(archive()) as data:
        lines = data.read(file.member).decode("utf-8").split("\n")
    return tuple(json.loads(line) for line in lines if line.strip())


def expected() -> dict[str, Any]:
    """expected_even.json: what the publishers of this copy counted."""
    archive()
    found: dict[str, Any] = json.loads((FOLDER / "expected_even.json").read_text(encoding="utf-8"))
    return found


def meta_rows() -> Iterator[tuple[File, int, Log]]:
    """Every meta-prompting row: file, row number, message log."""
    for file in files():
        if file.method in META:
            for number, row in enumerate(rows(file)):
                yield file, number, row["message_log"]
