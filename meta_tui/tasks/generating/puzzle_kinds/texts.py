"""Puzzles about text: letters, brackets, ciphers, words."""

from __future__ import annotations

import random
from itertools import groupby
from string import ascii_lowercase

from meta_tui.tasks.generating.puzzle_kinds import Kind, Puzzle, written
from meta_tui.tasks.generating.vocabulary import EXTRA, WORDS

_LONG = tuple(word for word in EXTRA if 6 <= len(word) <= 9 and len(set(word)) > 3)


def _letters(rng: random.Random, count: int) -> str:
    return "".join(rng.choices(ascii_lowercase, k=count))


def count_letters(rng: random.Random) -> Puzzle:
    """A text of a length with so many of two letters."""
    a, b, other = rng.sample(ascii_lowercase, 3)
    few, many = rng.randint(2, 9), rng.randint(3, 12)
    length = few + many + rng.randint(2, 15)
    return written(
        """
        def sat(s: str, a=<a>, b=<b>, few=<few>, many=<many>, length=<length>):
            return len(s) == length and s.count(a) == few and s.count(b) == many
        """,
        a * few + b * many + other * (length - few - many), a=a, b=b, few=few, many=many, length=length,
    )  # fmt: skip


def string_ends(rng: random.Random) -> Puzzle:
    """A text of a length between a beginning and an end, with no letter twice in a row."""
    start, end = (_spread(rng, rng.randint(3, 6)) for _ in range(2))
    middle = rng.randint(3, 9)
    answer = start
    while len(answer) < len(start) + middle:
        rest = len(start) + middle - len(answer)
        avoid = {answer[-1], end[0] if rest == 1 else ""}
        answer += rng.choice([c for c in ascii_lowercase if c not in avoid])
    return written(
        """
        def sat(s: str, start=<start>, end=<end>, length=<length>):
            return (s.startswith(start) and s.endswith(end) and len(s) == length
                    and all(x != y for x, y in zip(s, s[1:])))
        """,
        answer + end, start=start, end=end, length=len(answer + end),
    )  # fmt: skip


def _spread(rng: random.Random, count: int) -> str:
    return "".join(rng.sample(ascii_lowercase, count))


def reversed_words(rng: random.Random) -> Puzzle:
    """The words that, each read backwards, make a line."""
    words = rng.sample(WORDS[2], rng.randint(3, 6))
    return written(
        """
        def sat(words: List[str], line=<line>):
            return " ".join(word[::-1] for word in words) == line and all(words)
        """,
        words, line=" ".join(word[::-1] for word in words),
    )  # fmt: skip


def cut_text(rng: random.Random) -> Puzzle:
    """The pieces of a text, by the last letter of each."""
    lengths = [rng.randint(2, 5) for _ in range(rng.randint(3, 6))]
    text = _letters(rng, sum(lengths))
    pieces, place = [], 0
    for length in lengths:
        pieces.append(text[place : place + length])
        place += length
    return written(
        """
        def sat(pieces: List[str], text=<text>, lengths=<lengths>):
            return "".join(pieces) == text and [len(piece) for piece in pieces] == lengths
        """,
        pieces, text=text, lengths=lengths,
    )  # fmt: skip


def caesar(rng: random.Random) -> Puzzle:
    """The plain text of a shifted one."""
    plain = " ".join(rng.sample(WORDS[2], rng.randint(2, 4)))
    shift = rng.randint(2, 24)
    code = "".join(c if c == " " else chr((ord(c) - 97 + shift) % 26 + 97) for c in plain)
    return written(
        """
        def sat(plain: str, code=<code>, shift=<shift>):
            return code == "".join(
                c if c == " " else chr((ord(c) - 97 + shift) % 26 + 97) for c in plain
            )
        """,
        plain, code=code, shift=shift,
    )  # fmt: skip


def anagram(rng: random.Random) -> Puzzle:
    """Other orders of a word's letters: no letter stays where it was equal, a given one leads."""
    word = rng.choice(_LONG)
    while True:
        answer = "".join(rng.sample(word, len(word)))
        if answer[0] != word[0] and answer != word[::-1]:
            break
    return written(
        """
        def sat(s: str, word=<word>, first=<first>, last=<last>):
            return sorted(s) == sorted(word) and s[0] == first and s[-1] == last and s != word[::-1]
        """,
        answer, word=word, first=answer[0], last=answer[-1],
    )  # fmt: skip


def bracket_depth(rng: random.Random) -> Puzzle:
    """A balanced text of brackets with a length, a depth and a number of groups."""
    depth, groups = rng.randint(3, 7), rng.randint(2, 5)
    extra = rng.randint(0, 6)
    inner = "(" * depth + ")" * depth
    answer = "(" + "()" * extra + inner[1:] + "()" * (groups - 1)
    return written(
        """
        def sat(s: str, length=<length>, deepest=<deepest>, groups=<groups>):
            depth = most = closed = 0
            for c in s:
                depth += {"(": 1, ")": -1}[c]
                most = max(most, depth)
                closed += depth == 0
                assert depth >= 0
            return (depth, most, closed, len(s)) == (0, deepest, groups, length)
        """,
        answer, length=len(answer), deepest=depth, groups=groups,
    )  # fmt: skip


def run_length(rng: random.Random) -> Puzzle:
    """The text whose runs are written as letter and count."""
    answer = "".join(letter * rng.randint(1, 9) for letter in _letters(rng, rng.randint(5, 10)))
    code = "".join(f"{letter}{len(list(run))}" for letter, run in groupby(answer))
    return written(
        """
        def sat(s: str, code=<code>):
            found, i = "", 0
            while i < len(s):
                j = i
                while j < len(s) and s[j] == s[i]:
                    j += 1
                found, i = found + s[i] + str(j - i), j
            return found == code
        """,
        answer, code=code,
    )  # fmt: skip


def common_letters(rng: random.Random) -> Puzzle:
    """Words of a list in which two given letters stand, in their order."""
    words = rng.sample(WORDS[3], 12)
    first = rng.choice(words)
    a, b = rng.sample(sorted(set(first)), 2)
    found = [word for word in words if a in word and b in word]
    return written(
        """
        def sat(found: List[str], words=<words>, a=<a>, b=<b>):
            return (all((a in word and b in word) == (word in found) for word in words)
                    and all(word in words for word in found)
                    and found == sorted(found, key=words.index))
        """,
        found, words=words, a=a, b=b,
    )  # fmt: skip


TEXTS = (
    Kind("count_letters", 1, "str", count_letters),
    Kind("string_ends", 1, "str", string_ends),
    Kind("reversed_words", 1, "List[str]", reversed_words),
    Kind("cut_text", 1, "List[str]", cut_text),
    Kind("caesar", 2, "str", caesar),
    Kind("anagram", 2, "str", anagram),
    Kind("bracket_depth", 2, "str", bracket_depth),
    Kind("run_length", 2, "str", run_length),
    Kind("common_letters", 1, "List[str]", common_letters),
)
