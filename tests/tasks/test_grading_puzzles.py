"""Puzzle answers are programs: they run in the sandbox, and no trick of theirs proves anything.

Beside each strict verdict stands the published one, which several of these tricks fool.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from meta_tui.chat import CodeResult, Program
from meta_tui.errors import CallFailed, UsageError
from meta_tui.sandbox import Sandbox, layers
from meta_tui.tasks import Grade, Sample, grade
from meta_tui.tasks.grading.puzzles import answer_code, answer_type

ONE = "def sat(x: int):\n    return x == 1"
TEXT = "def sat(s: str, t=10):\n    return s == '0123456789' and t == 10"
LIST = "def sat(xs: List[int], k=3):\n    return sum(xs) == k and len(xs) == 2"
GRID = "def sat(g: List[List[int]]):\n    return g == [[1, 2], [3, 4]]"
HALF = "def sat(x: float):\n    return x * 2 == 4"
TRUTHY = "def sat(x: int):\n    return x"


def block(code: str) -> str:
    return f"Reasons.\n\n>> FINAL ANSWER:\n```python\n{code}\n```"


def quoted(code: str) -> str:
    return f'Reasons.\n\n>> FINAL ANSWER:\n"""\n{code}\n"""'


def returning(value: str) -> str:
    return block(f"def solution():\n    return {value}")


@dataclass(frozen=True)
class Probe:
    says: str
    sat: str
    reply: str
    strict: str
    paper: str


RIGHT, WRONG, NONE = "correct", "incorrect", "no_answer"
PROBES = [
    Probe("a literal", ONE, returning("1"), RIGHT, RIGHT),
    Probe("a computed value", ONE, returning("sum([1])"), RIGHT, RIGHT),
    Probe("in quotes", ONE, quoted("def solution():\n    return 1"), RIGHT, RIGHT),
    Probe("a wrong value", ONE, returning("2"), WRONG, WRONG),
    Probe("bool is no int", ONE, returning("True"), WRONG, RIGHT),
    Probe("int is a float", HALF, returning("2"), RIGHT, RIGHT),
    Probe("a truthy result is not True", TRUTHY, returning("1"), WRONG, WRONG),
    Probe("printing True", ONE, block("print('True')\ndef solution():\n    return 2"), WRONG, RIGHT),
    Probe("raising True", ONE, block("def solution():\n    raise ValueError('True')"), WRONG, RIGHT),
    Probe("its own sat", ONE, block("def solution():\n    return 2\ndef sat(x):\n    return True"), WRONG, RIGHT),
    Probe("leaving early", ONE, block("import sys\nprint('True')\nsys.exit()"), WRONG, RIGHT),
    Probe("prose", ONE, quoted("This makes it return True."), WRONG, RIGHT),
    Probe("every argument", TEXT, returning("'0123456789', 10"), RIGHT, WRONG),
    Probe("other arguments", TEXT, returning("'0123456789', 11"), WRONG, WRONG),
    Probe("a tuple for a list", LIST, returning("(1, 2)"), RIGHT, RIGHT),
    Probe("a changed puzzle", LIST, returning("[1, 1], 2"), WRONG, WRONG),
    Probe("lists of lists", GRID, returning("[(1, 2), [3, 4]]"), RIGHT, WRONG),
    Probe("a flat list", GRID, returning("[1, 2, 3, 4]"), WRONG, WRONG),
    Probe("too long for a page", "def sat(s: str):\n    return len(s) == 3000000", returning("'a' * 3000000"), RIGHT, RIGHT),
    Probe("an endless loop", ONE, block("def solution():\n    while True:\n        pass"), WRONG, WRONG),
    Probe("too much memory", ONE, block("def solution():\n    return len(bytearray(1 << 33)) and 1"), WRONG, WRONG),
    Probe("no function", ONE, quoted("1"), WRONG, WRONG),
    Probe("no marker", ONE, "```python\ndef solution():\n    return 1\n```", NONE, RIGHT),
]  # fmt: skip


def sandboxed() -> None:
    """Skips where this machine cannot contain programs."""
    try:
        held = {name: holds for name, holds, _ in layers()}
    except CallFailed as error:
        pytest.skip(f"no sandbox here: {error}")
    if not (held.get("landlock") and held.get("seccomp")):
        pytest.skip("plain Python runs only behind Landlock and seccomp, which this machine lacks")


async def graded(probes: list[Probe]) -> list[tuple[Grade, Grade]]:
    async with Sandbox(pool=2) as sandbox:

        async def execute(program: Program) -> CodeResult:
            return (await sandbox.execute(program))[0]

        async def both(probe: Probe) -> tuple[Grade, Grade]:
            sample = Sample(input=probe.sat, target="", task="puzzles")
            return (
                await grade(sample, probe.reply, "strict", execute),
                await grade(sample, probe.reply, "paper", execute),
            )

        return await asyncio.gather(*map(both, probes))


def test_only_a_value_that_makes_the_original_sat_true_is_right() -> None:
    sandboxed()
    found = asyncio.run(graded(PROBES))
    strict = {p.says: g.verdict for p, (g, _) in zip(PROBES, found, strict=True)}
    paper = {p.says: g.verdict for p, (_, g) in zip(PROBES, found, strict=True)}
    assert strict == {p.says: p.strict for p in PROBES}
    assert paper == {p.says: p.paper for p in PROBES}


def test_numpy_values_are_their_plain_values() -> None:
    pytest.importorskip("numpy")
    sandboxed()
    code = "import numpy as np\ndef solution():\n    return [np.int64(1), np.int64(2)]"
    (strict, _), *_ = asyncio.run(graded([Probe("numpy", LIST, block(code), RIGHT, RIGHT)]))
    assert strict.verdict == RIGHT


def test_grading_programs_without_a_sandbox_is_refused() -> None:
    sample = Sample(input=ONE, target="", task="puzzles")
    for grader in ("strict", "paper"):
        with pytest.raises(UsageError, match="sandbox"):
            asyncio.run(grade(sample, returning("1"), grader))


def test_docstrings_do_not_end_the_answer() -> None:
    code = 'def solution():\n    """One."""\n    return 1'
    assert answer_code(quoted(code)) == code


def test_the_last_block_of_an_answer_counts() -> None:
    assert answer_code(quoted("First\n```python\na = 1\n```\nthen\n```python\nb = 2\n```")) == "b = 2"


def test_the_type_asked_for_is_the_annotation() -> None:
    assert answer_type(Sample(input=GRID, target="", task="puzzles")) == "List[List[int]]"
    assert answer_type(Sample(input=ONE, target="", task="puzzles", meta={"ans_type": "bool"})) == "bool"
    assert answer_type(Sample(input="no code (", target="", task="puzzles")) == ""
