"""Programs that several sandbox tests share: the feature suite and the hostile corpora, and running them.

The feature suite and an own corpus stand in tests/sandbox. Another corpus may lie beside the
checkout; tests that need it skip where it does not.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from meta_tui.chat import CodeResult, Limits, Program
from meta_tui.errors import CallFailed
from meta_tui.events import How
from meta_tui.sandbox import Sandbox, layers

HERE = Path(__file__).resolve().parent
OWN = HERE / "sandbox" / "hostile.jsonl"
SHARED = HERE.parents[1] / "shared" / "hostile_snippets.jsonl"
MARKER = "ESCAPED"
"""What an attack prints when it got through."""
TRACES = (Path(tempfile.gettempdir()), Path("/tmp"), Path("/dev/shm"), Path.cwd())
"""Where an attack that writes a file `hostile_*` would leave it."""
SYSTEM_LAYERS = frozenset({"network", "no_new_privs", "capabilities", "landlock", "seccomp", "audit"})
"""All layers but the limits: what is left without them is the policy and the app's clock."""

Ran = tuple[CodeResult, How]


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


@cache
def features() -> tuple[Feature, ...]:
    """The feature suite."""
    _, *parts = (HERE / "sandbox" / "features.txt").read_text(encoding="utf-8").split("\n=== ")
    return tuple(_feature(part) for part in parts)


def _feature(part: str) -> Feature:
    name, _, code = part.partition("\n")
    needs = ""
    if code.startswith("needs: "):
        line, _, code = code.partition("\n")
        needs = line.removeprefix("needs: ")
    return Feature(name, code, needs)


@dataclass(frozen=True)
class Attack:
    """A snippet of a hostile corpus: it must be `blocked` or `contained`."""

    id: str
    category: str
    must: str
    code: str

    def missing(self) -> bool:
        """Whether it needs a library that is not installed here."""
        names = ("numpy", "sympy", "chess", "mpmath")
        return any(name in self.code and importlib.util.find_spec(name) is None for name in names)


@cache
def attacks(path: Path) -> tuple[Attack, ...]:
    """The snippets of a corpus that this machine can try; skips the test where the file is absent."""
    if not path.exists():
        pytest.skip(f"the corpus is not here: ../shared/{path.name}")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    found = (Attack(row["id"], row["category"], row["must"], row["code"]) for row in rows)
    return tuple(attack for attack in found if not attack.missing())


def run_all(programs: Iterable[Program], **options: Any) -> list[Ran]:
    """The results of programs, run in one sandbox with these options."""

    async def run() -> list[Ran]:
        async with Sandbox(**options) as sandbox:
            return list(await asyncio.gather(*(sandbox.execute(program) for program in programs)))

    return asyncio.run(run())


def run_one(code: str, **options: Any) -> CodeResult:
    """The result of one program; options are those of Program, and `sandbox` for the Sandbox's."""
    chosen = options.pop("sandbox", {"pool": 1})
    return run_all([Program(code, **options)], **chosen)[0][0]


def got_through(chosen: Sequence[Attack], results: Sequence[Ran]) -> list[str]:
    """Ids of the attacks whose marker was printed, and the files that attacks left."""
    through = [a.id for a, (result, _) in zip(chosen, results, strict=True) if MARKER in result.stdout]
    left = [str(path) for folder in TRACES if folder.is_dir() for path in folder.glob("hostile_*")]
    return through + left


def broke_a_limit(chosen: Sequence[Attack], results: Sequence[Ran], limits: Limits) -> list[str]:
    """Ids of the attacks that ran longer or printed more than they may."""
    late = 1000 * (limits.seconds + 1.0)
    return [
        attack.id
        for attack, (result, how) in zip(chosen, results, strict=True)
        if (how.ms or 0) > late or len(result.stdout.encode()) > limits.output + 200
    ]


@cache
def missing_layers() -> frozenset[str]:
    """Names of the layers that this machine truly lacks; skips the test where no program runs at all."""
    try:
        return frozenset(name for name, held, _ in layers() if not held)
    except CallFailed as error:
        pytest.skip(f"this machine cannot run programs in the sandbox: {error}")


def needs_layers(*names: str) -> None:
    """Skip the test on a machine that lacks one of these layers."""
    lacking = missing_layers() & set(names)
    if lacking:
        pytest.skip(f"this machine lacks the layers {', '.join(sorted(lacking))}")


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
