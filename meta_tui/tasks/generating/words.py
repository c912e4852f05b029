"""Word sorting: lower-case words whose order no collation disputes.

No apostrophes, hyphens, ampersands, capitals or doubles, and no word that another continues by a
mere ending. `sharing` says how often a word is chosen because it begins as an earlier one does.
"""

from __future__ import annotations

import random
from collections import defaultdict
from functools import cache
from itertools import pairwise

from meta_tui.tasks import Sample
from meta_tui.tasks.generating import chance, make, within
from meta_tui.tasks.generating.vocabulary import EXTRA, WORDS

LENGTHS = ((2, 6), (7, 11), (12, 16), (17, 20))
"""Equally likely bands of the number of words: the published set's quartiles are 7, 12 and 17."""


def generate(index: int, seed: int, *, sharing: float = 0.01, least: int = 2, most: int = 20) -> Sample:
    """Words in a chance order; the target is the same words in alphabetical order.

    Args:
        sharing: chance that a further word shares three letters or more with an earlier one.
        least, most: number of words.

    Raises:
        UsageError: an option is out of range.
    """
    within("sharing", sharing, 0, 1)
    within("least", least, 2, 100)
    within("most", most, least, 100)
    rng = chance("words", seed, index)
    chosen = _choose(rng, _length(rng, least, most), sharing)
    while chosen == sorted(chosen):
        rng.shuffle(chosen)
    target = " ".join(sorted(chosen))
    shared = longest_shared(chosen)
    return make(
        "words", index, seed, "Put these words into alphabetical order: " + " ".join(chosen), target,
        kind=f"shared {min(shared, 4)}", difficulty=_difficulty(len(chosen), shared), witness=target,
        words=len(chosen), shared_prefix=shared,
    )  # fmt: skip


def longest_shared(words: list[str]) -> int:
    """The most letters with which two of the words both begin."""
    ordered = sorted(words)
    return max(_shared(a, b) for a, b in pairwise(ordered))


def _length(rng: random.Random, least: int, most: int) -> int:
    if (least, most) != (2, 20):
        return rng.randint(least, most)
    return rng.randint(*rng.choice(LENGTHS))


def _choose(rng: random.Random, count: int, sharing: float) -> list[str]:
    words, beginnings = _lists()
    chosen: list[str] = []
    while len(chosen) < count:
        alike = bool(chosen) and rng.random() < sharing
        pool = beginnings.get(rng.choice(chosen)[:3], words) if alike else words
        word = rng.choice(pool)
        if not any(word.startswith(other) or other.startswith(word) for other in chosen):
            chosen.append(word)
    return chosen


@cache
def _lists() -> tuple[list[str], dict[str, list[str]]]:
    words = sorted(word for some in WORDS.values() for word in some)
    beginnings = defaultdict(list)
    for word in (*words, *EXTRA):
        beginnings[word[:3]].append(word)
    return words, dict(beginnings)


def _shared(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _difficulty(count: int, shared: int) -> str:
    if count <= 6:
        return "easy"
    return "hard" if count >= 15 or (count >= 10 and shared >= 3) else "medium"
