"""Symbolic regression: formulas are read without being run, nothing degenerate is asked, and the
score is what the definition says."""

from __future__ import annotations

import asyncio
import math
from functools import cache

import pytest

from meta_tui.errors import UsageError
from meta_tui.tasks import Grade, Sample, grade
from meta_tui.tasks.symreg import (
    HELD_OUT,
    LARGEST,
    LEAST_NMSE,
    generate,
    is_lean,
    plane_nmse,
    split_of_formula,
)
from meta_tui.tasks.symreg.answers import nmse
from meta_tui.tasks.symreg.expressions import NotAFormula, NoValue, read, simplified, size, value, written


@cache
def samples(seed: int = 2041) -> tuple[Sample, ...]:
    return tuple(generate(index, seed) for index in range(60))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y", 5.0),
        ("x^2 - y", 1.0),
        ("2*x**3", 16.0),
        ("-x / y", -2 / 3),
        ("square(x) * exp(0)", 4.0),
        ("sin(pi/2) + cos(0)", 2.0),
        ("z = x * y", 6.0),
        ("f(x, y) = x - y", -1.0),
        ("tanh(0) + sqrt(4) + log(e) + abs(-1)", 4.0),
    ],
)
def test_a_formula_is_valued(text: str, expected: float) -> None:
    assert value(read(text), (2.0, 3.0)) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x +",
        "a + 1",
        "__import__('os')",
        "x.real",
        "x[0]",
        "[x, y]",
        "lambda: x",
        "x if y else 1",
        "x and y",
        "x == y",
        "'x'",
        "True",
        "x ** y",
        "x ** 10000",
        "x ** -1",
        "2 ** x",
        "exp(x, y)",
        "exp(x=1)",
        "open(x)",
        "1j",
        "x // y",
        "x % y",
        "~x",
        "(x := 3)",
        "x" * 3000,
        "(" * 100 + "x" + ")" * 100 + "+" * 100,
        "-" * 200 + "x",
        "x; y",
        "\x00",
    ],
    ids=lambda text: repr(text)[:20],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(NotAFormula):
        read(text)


@pytest.mark.parametrize("text", ["1/(x-2)", "log(0-x)", "exp(exp(exp(x)))", "sqrt(0-x)", "1e308*10*x"])
def test_a_formula_without_a_finite_value_says_so(text: str) -> None:
    with pytest.raises(NoValue):
        value(read(text), (2.0, 3.0))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x - x", "0"),
        ("exp(x - x)", "1"),
        ("x * 1 + 0", "x"),
        ("0 * sin(x) + y", "y"),
        ("1 * y", "y"),
        ("x + (2 + 3)", "x + 5"),
        ("x - y", "x - y"),
    ],
)
def test_plainly_constant_parts_are_simplified_away(before: str, after: str) -> None:
    assert written(simplified(read(before))) == after


@pytest.mark.parametrize(
    ("text", "lean"),
    [
        ("sin(x) + y", True),
        ("cos(3) * x", False),
        ("y + y - y", False),
        ("x + x", True),
        ("square(square(1) * x)", False),
    ],
)
def test_idle_parts_are_noticed(text: str, lean: bool) -> None:
    assert is_lean(read(text)) is lean


def test_no_degenerate_formula_is_asked() -> None:
    for sample in samples():
        rows = [*sample.meta["train"], *sample.meta["test"]]
        values = [z for _, _, z in sample.meta["train"]]
        mean = sum(values) / len(values)
        assert max(abs(z) for _, _, z in rows) <= LARGEST
        assert sum((z - mean) ** 2 for z in values) / len(values) >= 0.05
        assert plane_nmse(sample.meta["train"]) >= LEAST_NMSE
        assert is_lean(read(sample.target))
        assert "x" in sample.target
        assert "y" in sample.target


def test_the_best_plane_agrees_with_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    for sample in samples()[:10]:
        rows = numpy.array(sample.meta["train"])
        columns = numpy.column_stack([numpy.ones(len(rows)), rows[:, :2]])
        weights, *_ = numpy.linalg.lstsq(columns, rows[:, 2], rcond=None)
        expected = ((columns @ weights - rows[:, 2]) ** 2).mean() / rows[:, 2].var()
        assert plane_nmse(sample.meta["train"]) == pytest.approx(expected, rel=1e-6)


def test_points_lie_where_they_should_and_hold_the_formula() -> None:
    for sample in samples():
        tree = read(sample.target)
        for name, reach in (("train", 2.0), ("test", 4.0)):
            rows = sample.meta[name]
            assert len(rows) == 40
            assert max(max(abs(x), abs(y)) for x, y, _ in rows) <= reach
            assert all(value(tree, (x, y)) == pytest.approx(z, rel=1e-6, abs=1e-9) for x, y, z in rows)
        assert max(max(abs(x), abs(y)) for x, y, _ in sample.meta["test"]) > 2


def test_test_points_stand_in_no_question() -> None:
    for sample in samples():
        lines = set(sample.input.split("\n"))
        assert not lines & {f"{x:g}, {y:g}, {z}" for x, y, z in sample.meta["test"]}
        assert sample.input.count("\n") == 40


def test_a_formula_belongs_to_one_split_however_it_is_written() -> None:
    assert split_of_formula(read("x + y * y")) == split_of_formula(read("square(y) + x"))
    for seed, split in ((41, "train"), (1041, "dev"), (2041, "test")):
        assert {split_of_formula(read(sample.target)) for sample in samples(seed)} == {split}
    assert not any(name in sample.target for sample in samples(41) for name in HELD_OUT)


def test_noise_is_in_the_examples_only() -> None:
    plain, noisy = generate(3, 1), generate(3, 1, noise=0.2)
    assert plain.target == noisy.target
    assert plain.meta["test"] == noisy.meta["test"]
    assert plain.meta["train"] != noisy.meta["train"]


def test_nmse_by_hand() -> None:
    """Wanted 0, 2: variance 1. Predicted 1, 2: mean squared error 1/2."""
    assert nmse([1.0, 2.0], [0.0, 2.0]) == pytest.approx(0.5)


ROWS = [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 1.0, 3.0]]
SAMPLE = Sample(input="", target="x + 2*y", task="symreg", meta={"train": ROWS, "test": ROWS})


def graded(answer: str, sample: Sample = SAMPLE) -> Grade:
    return asyncio.run(grade(sample, f'>> FINAL ANSWER:\n"""\n{answer}\n"""'))


@pytest.mark.parametrize(
    "answer",
    ["x + 2*y", "z = x + 2*y", "`x + 2*y`", "```python\nx + 2*y\n```", "It is:\nx + y + y", "$x + 2*y$"],
)
def test_a_right_formula_is_correct_however_it_is_written(answer: str) -> None:
    found = graded(answer)
    assert (found.verdict, found.score) == ("correct", 1.0)


def test_a_near_formula_scores_one_minus_its_error() -> None:
    """x + 2y + 1 is off by 1 everywhere; the variance of 0, 1, 2, 3 is 1.25."""
    found = graded("x + 2*y + 1")
    assert found.verdict == "incorrect"
    assert found.score == pytest.approx(1 - 1 / 1.25)
    assert found.details["nodes"] == size(read("x + 2*y + 1")) == 7


def test_a_bad_formula_scores_nothing_and_never_less() -> None:
    assert graded("100 * x").score == 0
    assert graded("1 / x").score == 0
    assert "no value" in graded("1 / x").details["feedback"]


def test_an_answer_that_is_no_formula_is_told_so() -> None:
    found = graded("a * x")
    assert (found.verdict, found.score) == ("incorrect", 0.0)
    assert "'a'" in found.details["feedback"]


def test_a_sample_without_test_points_is_an_error() -> None:
    with pytest.raises(UsageError, match="no test points"):
        graded("x", Sample(input="", target="x", task="symreg"))


def test_values_are_finite_numbers() -> None:
    assert all(math.isfinite(z) for sample in samples() for _, _, z in sample.meta["test"])
