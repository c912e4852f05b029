"""Word problems in eleven languages: a chain of one to six steps from one number to another.

One seed and index is the same problem in every language, so differences between languages are
paired. Numbers are written with ASCII digits and without separators; every division is exact and
every step positive; the answer never stands in the question. The sentences are in `mgsm_sentences`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial

from meta_tui.tasks import Sample
from meta_tui.tasks.generating import among, distinct, make, within
from meta_tui.tasks.generating.mgsm_sentences import NOUNS, SENTENCES

LANGUAGES = tuple(SENTENCES)
SHARES = (10, 20, 25, 50, 75)
LARGEST = 99_999
STARTS = ((4, 20), (10, 60), (20, 90), (40, 900))
"""Equally likely ranges of the first number; with them the answers' quartiles come near the
published 16, 48 and 166."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: its name in SENTENCES, its number, and what is there after it."""

    name: str
    number: int
    value: int


def generate(index: int, seed: int, *, language: str = "en", least: int = 1, most: int = 6) -> Sample:
    """A word problem; the target is a positive integer.

    Args:
        language: one of LANGUAGES; the task id is `mgsm` for English, else `mgsm_<language>`.
        least, most: steps after the first number.

    Raises:
        UsageError: an option is out of range.
    """
    among("language", language, LANGUAGES)
    within("least", least, 1, 12)
    within("most", most, least, 12)
    return distinct("mgsm", index, seed, partial(_sample, seed, language, least, most), language, least, most)


def _sample(seed: int, language: str, least: int, most: int, index: int, rng: random.Random) -> Sample:
    noun = rng.randrange(len(NOUNS["en"]))
    count = rng.randint(least, most)
    start, steps = _chain(rng, count)
    target = str(steps[-1].value)
    return make(
        "mgsm" if language == "en" else f"mgsm_{language}", index, seed,
        _worded(language, noun, start, steps), target,
        kind=f"{count} steps", difficulty="easy" if count <= 2 else "medium" if count <= 4 else "hard",
        witness=target, language=language, steps=[[step.name, step.number, step.value] for step in steps],
    )  # fmt: skip


def _chain(rng: random.Random, count: int) -> tuple[int, list[Step]]:
    while True:
        start = rng.randint(*rng.choice(STARTS))
        steps: list[Step] = []
        while len(steps) < count:
            now = steps[-1] if steps else Step("start", start, start)
            options = [name for name in STEPS if name != now.name]
            step = _step(rng, rng.choice(options), now.value)
            if step is None:
                break
            steps.append(step)
        if len(steps) == count and _is_plain(start, steps):
            return start, steps


def _is_plain(start: int, steps: list[Step]) -> bool:
    return steps[-1].value not in {start, *(step.number for step in steps)}


def _step(rng: random.Random, name: str, value: int) -> Step | None:
    """A step from `value`; None where no such step is exact, positive and of a fair size."""
    if name == "add":
        number = rng.randint(2, max(9, value))
        return Step(name, number, value + number)
    if name == "take":
        number = rng.randint(2, max(2, value - 1))
        return Step(name, number, value - number) if number < value else None
    if name == "times":
        number = rng.randint(2, 12 if value < 50 else 5)
        return Step(name, number, value * number) if value * number <= LARGEST else None
    if name == "share":
        divisors = [d for d in range(2, 13) if value % d == 0 and value // d > 1]
        number = rng.choice(divisors) if divisors else 0
        return Step(name, number, value // number) if number else None
    shares = [share for share in SHARES if value * share % 100 == 0]
    number = rng.choice(shares) if shares else 0
    return Step(name, number, value - value * number // 100) if number else None


STEPS = ("add", "take", "times", "share", "percent")


def _worded(language: str, noun: int, start: int, steps: list[Step]) -> str:
    words, name = SENTENCES[language], NOUNS[language][noun]
    lines = [words["start"].format(noun=name, n=start)]
    lines += [words[step.name].format(n=step.number) for step in steps]
    return words["joint"].join([*lines, words["ask"].format(noun=name)])
