"""Sonnets: three common words, and a plain witness that holds them in fourteen rhyming lines.

The witness is no poetry. It shows that the three words fit the form: lines of ten syllables that
rhyme ABAB CDCD EFEF GG perfectly, whatever the pronunciation. No dictionary is needed here: the
word lists stand by syllables and by rhyme.
"""

from __future__ import annotations

import random
from functools import cache

from meta_tui.tasks import Sample
from meta_tui.tasks.generating import chance, make
from meta_tui.tasks.generating.vocabulary import RHYMES, WORDS

SCHEME = "ABAB CDCD EFEF GG"

PLAIN = (
    "the river and the garden and the",
    "we walked beside the water and the",
    "and in the quiet morning came the",
    "I never saw the meaning of the",
    "they carry to the village all the",
    "and no one in the city knew of",
    "so let the evening answer to the",
    "a letter for the winter and the",
    "beneath the open window was the",
    "and all my days I wonder at the",
    "the people of the valley praise the",
    "I hold it in my memory as",
    "it wanders over meadows to the",
    "and nothing but an echo is so",
)
"""Beginnings of nine syllables; a rhyme word of one syllable follows."""

HOLDING = {
    1: "I call it {} and think again of",
    2: "I call it {} and think about",
    3: "I call it {} and think of",
    4: "I call it {} and of",
}
"""Syllables of the word -> a beginning of nine syllables with a place for it."""


def generate(index: int, seed: int) -> Sample:
    """A scheme and three words that a sonnet must hold."""
    rng = chance("sonnets", seed, index)
    words = _triple(rng)
    quoted = [f'"{word}"' for word in words]
    question = (
        f"Write a sonnet that rhymes {SCHEME} throughout and holds these words exactly as they are written: "
        f"{quoted[0]}, {quoted[1]} and {quoted[2]}."
    )
    syllables = sum(_syllables()[word] for word in words)
    return make(
        "sonnets", index, seed, question, f"{SCHEME}, {' '.join(words)}",
        kind="three words", difficulty="easy" if syllables <= 5 else "medium" if syllables <= 7 else "hard",
        witness=_sonnet(rng, words), words=words,
    )  # fmt: skip


def _triple(rng: random.Random) -> list[str]:
    """Three words of different stems: no two begin with the same three letters."""
    while True:
        words = rng.sample(sorted(_syllables()), 3)
        if len({word[:3] for word in words}) == 3:
            return words


@cache
def _syllables() -> dict[str, int]:
    return {word: count for count, words in WORDS.items() for word in words}


def _sonnet(rng: random.Random, words: list[str]) -> str:
    rhymes = [rng.sample(group, 2) for group in rng.sample(RHYMES, 7)]
    letters = SCHEME.replace(" ", "")
    used = dict.fromkeys(letters, 0)
    begins = rng.sample(PLAIN, len(letters))
    for place, word in zip(rng.sample(range(len(letters)), 3), words, strict=True):
        begins[place] = HOLDING[_syllables()[word]].format(word)
    lines = []
    for letter, begin in zip(letters, begins, strict=True):
        lines.append(f"{begin[0].upper()}{begin[1:]} {rhymes['ABCDEFG'.index(letter)][used[letter]]}")
        used[letter] += 1
    return "\n".join(lines)
