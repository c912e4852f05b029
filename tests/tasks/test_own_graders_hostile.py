"""The graders of the families for later methods take any text in time that grows with its length,
and give a verdict, never an exception."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meta_tui.tasks import Sample, family, grade

TASKS = ("theorem", "grids", "opt", "symreg")
SAMPLES = {task: [family(task).generate(index, 2001) for index in range(8)] for task in TASKS} | {
    "math": [Sample(input="", target="\\frac{1}{2}", task="math")]
}
PIECES = st.sampled_from(
    [
        *(
            ">> FINAL ANSWER:",
            '"""',
            "```",
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            "[1, 2]",
            "1 2\n3 4",
            "\n",
            " ",
            ",",
        ),
        *(
            "0",
            "1e999",
            "-",
            "½",
            "yes",
            "no",
            "x",
            "y",
            "exp(",
            "**",
            "^",
            "=",
            "\\boxed{",
            "\\frac",
            "\x00",
            "\ud83d",
        ),
        *("1/0", "9" * 400, "lambda", "__import__", "🎲", "\u202e", "no answer"),
    ]
)
LONG = {
    "opening brackets": "[" * 100_000,
    "pairs in pairs": "[" * 50_000 + "]" * 50_000,
    "digits": "1 " * 50_000,
    "one number": "9" * 100_000,
    "spaces": " " * 100_000 + "x",
    "minuses": "-" * 100_000,
    "boxes": "\\boxed{" * 14_000,
    "fractions": "\\frac1" * 16_000,
    "rows": "1 2 3\n" * 16_000,
    "lists": "[1,2]" * 20_000,
    "powers": "9**9**9**9",
    "exponentials": "exp(" * 60 + "x" + ")" * 60,
}


def graded(sample: Sample, answer: str) -> str:
    return asyncio.run(grade(sample, f'>> FINAL ANSWER:\n"""\n{answer}\n"""')).verdict


@pytest.mark.parametrize("task", SAMPLES)
@pytest.mark.parametrize("name", LONG)
def test_a_hundred_thousand_characters_are_graded_in_seconds(task: str, name: str) -> None:
    for sample in SAMPLES[task][:3]:
        began = time.process_time()
        assert graded(sample, LONG[name]) != "correct"
        assert time.process_time() - began < 15


@given(st.lists(PIECES, max_size=12).map("".join))
@settings(max_examples=150)
def test_any_text_gets_a_verdict(text: str) -> None:
    for task, samples in SAMPLES.items():
        for sample in samples[:4]:
            found = asyncio.run(grade(sample, text))
            assert 0 <= found.score <= 1, task
            found = asyncio.run(grade(sample, f">> FINAL ANSWER: {text}"))
            assert 0 <= found.score <= 1, task


@pytest.mark.parametrize(
    ("target", "answer", "verdict"),
    [
        ("\\frac{1}{2}", "\\boxed{0.5}", "correct"),
        ("\\frac{1}{2}", "so it is $\\dfrac12$", "ambiguous"),
        ("\\frac{1}{2}", "$\\dfrac12$", "correct"),
        ("\\text{odd}", "\\boxed{odd}", "correct"),
        ("odd", "\\text{odd}", "correct"),
        ("90^\\circ", "90", "correct"),
        ("1000", "1,000", "correct"),
        ("x = 5", "\\boxed{5}", "correct"),
        ("\\left( 3, \\frac{\\pi}{2} \\right)", "\\boxed{(3,\\frac{\\pi}{2})}", "correct"),
        ("8", "\\boxed{7}", "incorrect"),
        ("8", "\\boxed{7} then \\boxed{8}", "correct"),
        ("\\sqrt{12}", "\\boxed{2\\sqrt{3}}", "ambiguous"),
        ("8", "There is no answer.", "abstained"),
    ],
)
def test_competition_answers_are_compared_as_numbers_and_as_written(
    target: str, answer: str, verdict: str
) -> None:
    assert graded(Sample(input="", target=target, task="math"), answer) == verdict
