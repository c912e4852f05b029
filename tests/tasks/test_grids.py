"""Grid transformations: what each primitive does, least depth, one answer, and how grids are graded."""

from __future__ import annotations

import asyncio
import itertools
from functools import cache

import pytest

from meta_tui.tasks import Grade, Sample, grade
from meta_tui.tasks.grids import HELD_OUT, generate
from meta_tui.tasks.grids.answers import grids_in, worded, written
from meta_tui.tasks.grids.search import solve
from meta_tui.tasks.grids.transforms import LARGEST, PRIMITIVES, Grid, apply, run


def grid(text: str) -> Grid:
    return tuple(tuple(map(int, row)) for row in text.split())


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("rotate", "12 34 56", "531 642"),
        ("flip_sideways", "12 34", "21 43"),
        ("flip_over", "12 34", "34 12"),
        ("transpose", "12 34 56", "135 246"),
        ("crop", "000 012 003", "12 03"),
        ("gravity", "101 020 000", "000 000 121"),
        ("largest_object", "110 003 220", "110 000 000"),
        ("smallest_object", "110 003 220", "000 003 000"),
        ("fill_holes", "111 101 111", "111 111 111"),
        ("fill_holes", "111 101 101", "111 101 101"),
        ("outline", "1111 1111 1111", "1111 1001 1111"),
        ("join", "1001 0000 1000", "1111 1000 1000"),
        ("join", "102", "102"),
        ("mirror", "12 30", "1221 3003"),
        ("double", "10", "1100 1100"),
        ("recolour", "11 20", "11 10"),
        ("drop_colour", "11 20", "00 20"),
        ("sort_rows", "110 000 100", "000 100 110"),
        ("tile", "12", "1212 1212"),
        ("denoise", "110 000 003", "110 000 000"),
        ("invert", "10 22", "02 00"),
    ],
)
def test_a_primitive_does_what_its_name_says(name: str, before: str, after: str) -> None:
    assert PRIMITIVES[name](grid(before)) == grid(after)


def test_there_are_nineteen_primitives() -> None:
    assert len(PRIMITIVES) == 19
    assert set(HELD_OUT) < set(PRIMITIVES)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_an_empty_grid_and_a_full_one_go_through_every_primitive(name: str) -> None:
    for text in ("000 000", "777 777", "5"):
        after = PRIMITIVES[name](grid(text))
        assert len({len(row) for row in after}) == 1


def test_grids_do_not_grow_without_end() -> None:
    assert apply("tile", ((1,) * (LARGEST // 2 + 1),)) is None
    assert run(("tile",) * 6, grid("12 34")) is None


@cache
def made(depth: int, count: int) -> tuple[Sample, ...]:
    return tuple(generate(index, 2021, depth=depth) for index in range(count))


def parts(sample: Sample) -> tuple[list[tuple[Grid, Grid]], Grid]:
    """Pairs and question, read from the text of a sample."""
    found = [tuple(map(tuple, one)) for one in grids_in(sample.input)]
    pairs = list(zip(found[0:8:2], found[1:8:2], strict=True))
    return pairs, found[8]


@pytest.mark.parametrize(("depth", "count"), [(1, 20), (2, 8), (3, 2)])
def test_the_depth_is_the_least_and_the_answer_the_only_one(depth: int, count: int) -> None:
    """Every program of up to the depth is run here as it stands."""
    for sample in made(depth, count):
        pairs, question = parts(sample)
        answers = set()
        for length in range(depth + 1):
            for program in itertools.product(PRIMITIVES, repeat=length):
                if all(run(program, a) == b for a, b in pairs):
                    assert length == depth, (program, sample.meta["program"])
                    answers.add(run(program, question))
        assert {written(answer) for answer in answers if answer} == {sample.target}


def test_examples_change_something_and_not_always_to_the_same() -> None:
    for sample in (*made(1, 20), *made(2, 8)):
        pairs, _ = parts(sample)
        assert all(a != b for a, b in pairs)
        assert len({b for _, b in pairs}) == len(pairs) == 4
        assert all(any(map(any, b)) for _, b in pairs)


@pytest.mark.parametrize(("depth", "count"), [(1, 20), (2, 8)])
def test_the_reference_solver_finds_the_target(depth: int, count: int) -> None:
    for sample in made(depth, count):
        pairs, question = parts(sample)
        found = solve(pairs, question)
        assert found is not None
        assert (len(found[0]), written(found[1])) == (depth, sample.target)


def sample_of(target: str) -> Sample:
    return Sample(input=worded([([[1]], [[2]])], [[1]]), target=target, task="grids")


def graded(answer: str, target: str = "1 2\n3 4") -> Grade:
    return asyncio.run(grade(sample_of(target), f'>> FINAL ANSWER:\n"""\n{answer}\n"""'))


@pytest.mark.parametrize(
    "answer",
    [
        "1 2\n3 4",
        "12\n34",
        "[[1, 2], [3, 4]]",
        "[[1, 2],\n [3, 4]]",
        "[\n[1, 2],\n[3, 4]\n]",
        "| 1 | 2 |\n| 3 | 4 |",
        "The grid is:\n\n1 2\n3 4\n\nbecause it turns.",
        "9 9\n9 9\n\n1 2\n3 4",
        "First attempt:\n9 9\n9 9\nSecond attempt:\n1 2\n3 4",
    ],
)
def test_a_right_grid_is_read_however_it_is_written(answer: str) -> None:
    assert graded(answer).verdict == "correct"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("1 2\n3 5", "75% of the cells are right"),
        ("1 2 0\n3 4 0", "2 x 3"),
        ("1 2\n3", "differ in length"),
        ("no idea about this", "no grid"),
        ("9 9\n9 9\n\n8 8\n8 8\n\n1 2\n3 4", "cells are right"),
    ],
)
def test_a_wrong_grid_is_told_what_is_wrong_but_not_what_is_right(answer: str, told: str) -> None:
    found = graded(answer)
    assert found.verdict == "incorrect"
    assert found.score == 0
    assert told in found.details["feedback"]
    assert "3 4" not in found.details["feedback"]


def test_a_third_attempt_does_not_count() -> None:
    assert graded("9 9\n9 9\n\n8 8\n8 8\n\n1 2\n3 4").verdict == "incorrect"
    assert graded("8 8\n8 8\n\n1 2\n3 4\n\n9 9\n9 9").details["right"] == 2
