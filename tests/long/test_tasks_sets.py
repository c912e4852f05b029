"""Whole sets of 250: fast enough, sound to the last sample, and the same bytes on every interpreter."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from meta_tui.chat import CodeResult, Program
from meta_tui.tasks import FAMILIES, Grade, Sample, family, grade
from meta_tui.tasks.generating import game24
from meta_tui.tasks.generating.puzzles import KINDS
from meta_tui.tasks.grids.answers import grids_in, written
from meta_tui.tasks.grids.search import solve

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "tasks_by_script.py"
MADE = [task for task in FAMILIES if task != "math"]
NEEDED = ("msgspec", "chess")
OTHERS = ("3.12", "3.13")
SECONDS = 60.0


def made(python: str, count: int, seed: int, tasks: list[str], **more: str) -> dict[str, tuple[str, float]]:
    """Task -> (digest of its set, CPU seconds), by this interpreter."""
    done = subprocess.run(
        [python, str(SCRIPT), str(count), str(seed), *tasks],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **more},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return {task: (digest, float(seconds)) for task, digest, seconds in rows}


@pytest.mark.timeout(1200)
def test_250_samples_of_every_family_take_less_than_a_minute_of_cpu() -> None:
    found = made(sys.executable, 250, 2001, MADE)
    print()
    for task, (_, seconds) in found.items():
        print(f"{task}: 250 samples in {seconds:.2f} s CPU")
    assert set(found) == set(MADE)
    assert max(seconds for _, seconds in found.values()) <= SECONDS


def other_pythons() -> list[str]:
    """Interpreters of OTHERS that pyenv keeps or the path has."""
    kept = [sorted((Path.home() / ".pyenv" / "versions").glob(f"{v}.*/bin/python{v}")) for v in OTHERS]
    found = []
    for version, paths in zip(OTHERS, kept, strict=True):
        for name in (*map(str, paths), f"python{version}"):
            try:
                done = subprocess.run(
                    [name, "-c", "import ssl"], capture_output=True, timeout=60, check=False
                )
            except OSError:
                continue
            if done.returncode == 0:
                found.append(name)
                break
    return found


@pytest.mark.timeout(1800)
def test_every_interpreter_makes_the_same_bytes(tmp_path: Path) -> None:
    pythons = other_pythons()
    if not pythons:
        pytest.skip(f"no other interpreter on this machine (looked for {', '.join(OTHERS)})")
    here = {
        task: digest for task, (digest, _) in made(sys.executable, 30, 1, MADE, PYTHONHASHSEED="0").items()
    }
    for number, python in enumerate(pythons):
        own = furnished(python, tmp_path / f"venv{number}")
        there = made(own, 30, 1, MADE, PYTHONHASHSEED=str(number + 1))
        assert {task: digest for task, (digest, _) in there.items()} == here, python


def furnished(python: str, to: Path) -> str:
    """A virtual environment of that interpreter with what generators need."""
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
        pytest.skip(f"packages cannot be installed for {python}: {done.stderr[-300:]}")
    return own


def test_of_1820_multisets_1362_are_solvable_and_16_only_through_fractions() -> None:
    found = [game24.solutions(numbers) for numbers in game24.multisets()]
    assert len(found) == 1820
    assert sum(bool(some) for some in found) == 1362
    assert sum(bool(some) and all(node.fraction for node in some) for some in found) == 16


def final(answer: str) -> str:
    return f'>> FINAL ANSWER:\n"""\n{answer}\n"""'


@pytest.mark.timeout(600)
@pytest.mark.parametrize("task", [task for task in MADE if task not in ("puzzles", "checkmate")])
def test_every_witness_of_a_set_of_250_is_correct(task: str) -> None:
    for index, seed in itertools.product(range(250), (1, 1001, 2001)):
        sample = family(task).generate(index, seed)
        found = asyncio.run(grade(sample, final(str(sample.meta["witness"]))))
        assert found.verdict == "correct", (sample, found)


@pytest.mark.timeout(900)
def test_every_witness_of_250_mates_is_correct_and_no_position_comes_twice() -> None:
    pytest.importorskip("chess")
    samples = [family("checkmate").generate(index, 1) for index in range(250)]
    assert len({sample.meta["fen"].split()[0] for sample in samples}) == 250
    for sample in samples:
        for grader in ("paper", "strict"):
            found = asyncio.run(grade(sample, final(sample.target), grader))
            assert found.verdict == "correct", (sample, found)


async def puzzles_graded(answers: list[tuple[Sample, str]]) -> list[Grade]:
    from meta_tui.sandbox import Sandbox

    async with Sandbox() as sandbox:

        async def execute(program: Program) -> CodeResult:
            return (await sandbox.execute(program))[0]

        return [await grade(sample, final(answer), "strict", execute) for sample, answer in answers]


@pytest.mark.timeout(1200)
def test_every_witness_of_250_puzzles_is_correct_and_nothing_trivial_is() -> None:
    samples = [family("puzzles").generate(index, 1) for index in range(250)]
    right = asyncio.run(puzzles_graded([(sample, str(sample.meta["witness"])) for sample in samples]))
    if {found.verdict for found in right} == {"error"}:
        pytest.skip(f"this machine cannot run programs in the sandbox: {right[0].reason}")
    assert [found.verdict for found in right] == ["correct"] * 250
    wrong = asyncio.run(puzzles_graded([(sample, trivial(sample)) for sample in samples[: len(KINDS)]]))
    assert {found.verdict for found in wrong} == {"incorrect"}


def trivial(sample: Sample) -> str:
    empty = {"str": "''", "int": "0", "float": "0.0"}.get(sample.meta["ans_type"], "[]")
    return f"```python\ndef solution():\n    return {empty}\n```"


@pytest.mark.timeout(900)
def test_the_reference_solver_solves_every_grid_of_a_set_with_the_least_depth() -> None:
    for index in range(250):
        sample = family("grids").generate(index, 2001)
        found = [tuple(map(tuple, one)) for one in grids_in(sample.input)]
        solved = solve(list(zip(found[0:8:2], found[1:8:2], strict=True)), found[8])
        assert solved is not None
        assert (len(solved[0]), written(solved[1])) == (sample.meta["depth"], sample.target)
