"""Shakespearean sonnets: fourteen lines, the rhyme scheme, three given words.

`paper` follows the published evaluator, which never looks at the words, skips what the dictionary
lacks, lets plain non-rhymes pass and enforces ten or eleven syllables. `strict` gives a verdict on
the lines, on every rhyming pair and on the words, and only reports the metre. Rhymes are judged by
American pronunciation through `pronunciation`; where its libraries are missing the verdict is
`error`, unless lines or words are wrong already. What rhymes is a policy: `perfect`, or `near` with
consonance and shared vowels before kindred consonants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import Literal

from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.extraction import incorrect, paper_answer, paper_grade, strictly
from meta_tui.tasks.grading.pronunciation import (
    MISSING,
    VOICELESS,
    Phones,
    dictionary,
    is_vowel,
    known,
    pronunciations,
    sounds,
    syllable_range,
)

Policy = Literal["perfect", "near"]
Rhyme = Literal["perfect", "near", "none", "same word", "unverified"]

LINES = 14
SYLLABLES = range(10, 12)

_PAPER_STRIPPED = ",.!?;: \"'[]()/"
_PAPER_CONSONANTS = frozenset("B D F G K L M N P S T V W Y Z".split())
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*['’]?")


# As published


def paper(sample: Sample, reply: str) -> Grade:
    """The published verdict: lines, rhymes where it is sure of an error, syllables."""
    answer = paper_answer(reply)
    scheme = sample.target.lower().partition(", ")[0].replace(" ", "")
    try:
        reason = _paper_fault(answer, scheme)
    except ImportError:
        return Grade("error", MISSING)
    return paper_grade(not reason, answer, reason)


def _paper_fault(poem: str, scheme: str) -> str:
    lines = [line for line in map(_untagged, poem.splitlines()) if len(line) > 3]
    if len(lines) != len(scheme):
        return f"{len(lines)} lines"
    endings = [line.replace("-", " ").split() for line in lines]
    if not all(endings):
        return "a line of hyphens"
    last = [words[-1].strip(_PAPER_STRIPPED) for words in endings]
    if faults := _paper_rhyme_faults(last, scheme):
        return f"does not rhyme: {', '.join(sorted(faults))}"
    uneven = [line for line in lines if not _paper_metre(line)]
    return f"no ten or eleven syllables: {uneven[0]}" if uneven else ""


def _untagged(line: str) -> str:
    """A line without the letter of its rhyme in brackets at its end."""
    line = line.strip()
    tagged = (
        len(line) > 2 and line[-3] == "(" and line[-1] == ")" and line[-2].isascii() and line[-2].isalpha()
    )
    return line[:-3].strip() if tagged else line


def _paper_rhyme_faults(last: Sequence[str], scheme: str) -> set[str]:
    """The words that the published rule is sure of: they rhyme with nothing of their own group and
    with enough of other groups. Words outside the dictionary take no part."""
    letters = sorted(set(scheme))
    groups = [
        {w for w, letter in zip(last, scheme, strict=True) if letter == a and known(w)} for a in letters
    ]
    doubts: dict[str, str] = {}
    for number, group in enumerate(groups):
        if len(group) < 2:
            continue
        others = set().union(*(g for n, g in enumerate(groups) if n != number))
        for word in group:
            doubts[word] = _paper_doubt(word, group, others)
    errors = {word for word, doubt in doubts.items() if doubt == "error"}
    suspicious = {word for word, doubt in doubts.items() if doubt == "suspicious"}
    return errors | suspicious if len(errors) + len(suspicious) >= 3 else errors


def _paper_doubt(word: str, group: set[str], others: set[str]) -> str:
    if any(_paper_rhymes(word, other) for other in group - {word}):
        return ""
    kinds = [_paper_rhymes(word, other) for other in others - {word}]
    perfect, slant = kinds.count("perfect"), kinds.count("slant")
    if perfect >= 2 or (perfect == 1 and slant >= 2) or (perfect == 0 and slant >= 3):
        return "error"
    return "suspicious" if perfect else ""


@lru_cache(maxsize=50_000)
def _paper_rhymes(word: str, other: str) -> str:
    mine, theirs = pronunciations(word), pronunciations(other)
    if {_tail(p) for p in mine} & {_tail(p) for p in theirs}:
        return "perfect"
    keys = {_paper_slant(p) for p in mine} & {_paper_slant(p) for p in theirs}
    return "slant" if keys - {""} else ""


def _paper_slant(phones: Phones) -> str:
    """The key of a slant rhyme: only consonants written with one letter count, every phone with an
    R is R, and an ending in anything else shows as `?`. Without a consonant there is no key."""
    signs = ["R" if "R" in p else p if p in _PAPER_CONSONANTS else "?" for p in _tail(phones)]
    consonants = "".join(sign for sign in signs if sign != "?")
    return consonants + ("?" if signs[-1] == "?" else "") if consonants else ""


def _tail(phones: Phones) -> Phones:
    """From the last vowel with primary or secondary stress; everything where there is none."""
    for start in range(len(phones) - 1, -1, -1):
        if phones[start][-1] in "12":
            return phones[start:]
    return phones


def _paper_metre(line: str) -> bool:
    words = (piece.lower().strip(_PAPER_STRIPPED) for piece in re.split(r"[ -]+", line))
    ranges = [syllable_range(word) for word in words if word]
    least, most = sum(low for low, _ in ranges), sum(high for _, high in ranges)
    return any(least <= count <= most for count in SYLLABLES)


# Strict


@dataclass(frozen=True, slots=True)
class Pair:
    """Two line ends that must rhyme (line numbers from 1), and how they do."""

    lines: tuple[int, int]
    words: tuple[str, str]
    rhyme: Rhyme

    def holds(self, policy: Policy) -> bool:
        """Whether the pair rhymes under a policy."""
        return self.rhyme == "perfect" or (policy == "near" and self.rhyme == "near")

    def __str__(self) -> str:
        return "/".join(self.words)


def _judge_by(policy: Policy, sample: Sample, answer: str) -> Grade:
    scheme, wanted = _asked(sample.target)
    lines = poem_lines(answer)
    missing = [word for word in wanted if not holds_word(answer, word)]
    details: dict[str, object] = {"lines": len(lines), "missing_words": missing, "policy": policy}
    faults = [] if len(lines) == len(scheme) else [f"{len(lines)} lines instead of {len(scheme)}"]
    faults += [f"missing: {', '.join(missing)}"] if missing else []
    if len(lines) != len(scheme):
        return incorrect(answer, "; ".join(faults), **details)
    try:
        pairs = rhyme_pairs([last_word(line) for line in lines], scheme)
    except ImportError:
        return incorrect(answer, "; ".join(faults), **details) if faults else Grade("error", MISSING, answer)
    details |= {"rhymes": {str(pair): pair.rhyme for pair in pairs}, "metre": _metre(lines)}
    return _verdict(answer, policy, pairs, faults, details)


def _verdict(
    answer: str, policy: Policy, pairs: list[Pair], faults: list[str], details: dict[str, object]
) -> Grade:
    bad = [pair for pair in pairs if not pair.holds(policy)]
    sure = [pair for pair in bad if pair.rhyme != "unverified"]
    faults = faults + ([f"no rhyme: {', '.join(map(str, sure))}"] if sure else [])
    if faults:
        return incorrect(answer, "; ".join(faults), **details)
    if bad:
        reason = f"cannot verify the rhyme of {', '.join(map(str, bad))}"
        return Grade("ambiguous", reason, answer, 0.0, details)
    return Grade("correct", "", answer, 1.0, details)


def _asked(target: str) -> tuple[str, list[str]]:
    scheme, _, words = target.partition(",")
    return scheme.replace(" ", "").upper(), words.replace(",", " ").split()


def poem_lines(answer: str) -> list[str]:
    """The lines that hold a word, without rhyme letters in brackets at their ends."""
    return [line for line in map(_untagged, answer.splitlines()) if _WORD.search(line)]


def holds_word(poem: str, word: str) -> bool:
    """Whether a poem holds a word as a whole word, in any case; 's or a hyphen may follow."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)(?!['’](?!s\b)\w)", poem, re.IGNORECASE) is not None


def last_word(line: str) -> str:
    """The last word of a line, lower case, with its inner apostrophes."""
    found = _WORD.findall(line.replace("-", " ").replace("’", "'"))
    return found[-1].casefold().removesuffix("'") if found else ""


def rhyme_pairs(last: Sequence[str], scheme: str) -> list[Pair]:
    """Every pair of lines with the same letter of the scheme.

    Raises:
        ImportError: there is no dictionary.
    """
    dictionary()
    alike = [(i, j) for i, j in combinations(range(len(scheme)), 2) if scheme[i] == scheme[j]]
    return [Pair((i + 1, j + 1), (last[i], last[j]), rhyme(last[i], last[j])) for i, j in alike]


@lru_cache(maxsize=50_000)
def rhyme(one: str, other: str) -> Rhyme:
    """How two words rhyme, over all their pronunciations.

    A word does not rhyme with itself. Where the dictionary lacks one of them, equal spelling from
    the last vowel on decides, or nothing does.
    """
    if one == other:
        return "same word"
    mine, theirs = sounds(one), sounds(other)
    if not mine or not theirs:
        return "perfect" if _spelt_alike(one, other) else "unverified"
    if any(_perfect(a, b) for a, b in product(mine, theirs)):
        return "perfect"
    return "near" if any(_near(a, b) for a, b in product(mine, theirs)) else "none"


def _perfect(one: Phones, other: Phones) -> bool:
    return any(a == b for a, b in product(_keys(one), _keys(other)))


@lru_cache(maxsize=50_000)
def _keys(phones: Phones) -> tuple[Phones, ...]:
    """What a pronunciation rhymes on: from its last stressed vowel, and where two syllables follow
    that, from its last vowel too, which verse may promote (testament/spent, melody/see)."""
    tail = _tail(phones)
    keys = [_merged(tail)]
    vowels = [place for place, phone in enumerate(tail) if is_vowel(phone)]
    if len(vowels) >= 3:
        last = tail[vowels[-1] :]
        keys += [_merged((vowel + "1", *last[1:])) for vowel in _promoted(last[0][:-1])]
    return tuple(dict.fromkeys(keys))


def _promoted(vowel: str) -> tuple[str, ...]:
    """The full vowels that a reduced one can stand for."""
    return ("AH", "EH", "IH", "AE") if vowel in ("AH", "IH") else (vowel,)


def _merged(tail: Phones) -> Phones:
    """Without stress; vowels that American English does not keep apart are one."""
    merged: list[str] = []
    for place, phone in enumerate(tail):
        following = tail[place + 1] if place + 1 < len(tail) else ""
        merged.append(_merged_vowel(phone, following, merged) if is_vowel(phone) else phone)
    return tuple(merged)


def _merged_vowel(phone: str, following: str, before: list[str]) -> str:
    vowel, stress = phone[:-1], phone[-1]
    if vowel == "ER" and before[-1:] in (["AY"], ["AW"]):
        return "R"  # higher/desire/fire, power/hour
    if following == "R" and vowel in ("IY", "IH"):
        return "IH"
    if following == "R" and vowel in ("AO", "UH", "UW", "OW"):
        return "AO"
    return "AH" if before and stress == "0" and vowel in ("IH", "EH", "UH") else vowel


_KINDRED = tuple(
    map(
        frozenset,
        (("M", "N", "NG"), ("S", "Z"), ("T", "D"), ("F", "V"), ("TH", "DH"), ("K", "G"), ("P", "B")),
    )
)


def _near(one: Phones, other: Phones) -> bool:
    """Consonance (love/move), the same vowels before kindred consonants (time/line), or a rhyme
    but for the ending -s or -d of one (heart/hearts)."""
    return any(_near_keys(a, b) for a, b in product(_keys(one), _keys(other)))


def _near_keys(one: Phones, other: Phones) -> bool:
    mine, theirs = _consonants(one), _consonants(other)
    if mine and mine == theirs:
        return True
    if len(one) == len(other):
        return all(a == b or _kindred(a, b) for a, b in zip(one, other, strict=True))
    short, long = sorted((one, other), key=len)
    return long[:-1] == short and long[-1] in (("S", "T") if short[-1] in VOICELESS else ("Z", "D"))


def _consonants(key: Phones) -> Phones:
    return tuple(phone for phone in key if phone not in _VOWELS)


def _kindred(one: str, other: str) -> bool:
    return any(one in group and other in group for group in _KINDRED)


_VOWELS = frozenset("AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW".split())
_SPELT_TAIL = re.compile(r"[aeiouy]+[^aeiouy]*(?:e|es|ed)?$")


def _spelt_alike(one: str, other: str) -> bool:
    mine, theirs = _SPELT_TAIL.search(one), _SPELT_TAIL.search(other)
    return bool(mine and theirs and mine.group() == theirs.group() and len(mine.group()) > 1)


def _metre(lines: Iterable[str]) -> str:
    """How many lines can be read with ten or eleven syllables; for information only."""
    lines = list(lines)
    try:
        return f"{sum(map(_paper_metre, lines))} of {len(lines)} lines"
    except ImportError:
        return "not counted"


def _judge(sample: Sample, answer: str) -> Grade:
    return _judge_by("perfect", sample, answer)


def _judge_near(sample: Sample, answer: str) -> Grade:
    return _judge_by("near", sample, answer)


strict = strictly(_judge)
"""Fourteen lines, perfect rhymes by the scheme, the three words."""

near = strictly(_judge_near)
"""The same with near rhymes allowed."""
