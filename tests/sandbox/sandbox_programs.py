"""Programs that several sandbox tests share: the feature suite, the hostile corpora, where they are."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "shared"
"""Material beside the checkout that is not part of it; tests skip where it is absent."""


@dataclass(frozen=True)
class Feature:
    """A program of the feature suite and what it needs: a library, or `python3.12`."""

    name: str
    code: str
    needs: str = ""

    def missing(self) -> bool:
        """Whether its library is not installed here, or this Python is too old for it."""
        if self.needs.startswith("python3."):
            return sys.version_info[1] < int(self.needs.removeprefix("python3."))
        return bool(self.needs) and importlib.util.find_spec(self.needs) is None


def features() -> list[Feature]:
    """The feature suite."""
    _, *parts = (HERE / "features.txt").read_text(encoding="utf-8").split("\n=== ")
    return [_feature(part) for part in parts]


def _feature(part: str) -> Feature:
    name, _, code = part.partition("\n")
    needs = ""
    if code.startswith("needs: "):
        line, _, code = code.partition("\n")
        needs = line.removeprefix("needs: ")
    return Feature(name, code, needs)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def plain_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The program under plain CPython, alone in a folder, with the hash seed of the sandbox."""
    file = folder / "program.py"
    file.write_text(code, encoding="utf-8")
    env = {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONWARNINGS": "ignore",
    }
    return subprocess.run(
        [sys.executable, "-s", "-P", "-B", file],
        cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, encoding="utf-8",
    )  # fmt: skip
