"""What differs between two texts, as blocks: line by line, and word by word within a line. Pure.

`sides` gives two columns in which equal lines stand beside each other; `difference` gives one
column of removed and added lines. Words that differ are marked by a look of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from meta_tui.tui.paper import safe
from meta_tui.tui.state import Block, Marks

LONGEST = 4_000
"""Characters of two lines up to which they are compared word by word."""

ALIKE = 0.3
"""Share of common words below which two lines are different altogether."""

COMPARED = 200_000
"""Characters of two texts up to which they are compared."""

TOO_LONG = "these texts are too long to be compared line by line"

_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Blocks = tuple[Block, ...]
Opcode = tuple[str, int, int, int, int]


def sides(old: str, new: str) -> tuple[Blocks, Blocks]:
    """Both texts, equal lines at the same height, lines of one text alone beside nothing."""
    if len(old) + len(new) > COMPARED:
        said = Block("notice", (TOO_LONG,))
        return (said, Block("reply", (old,))), (said, Block("reply", (new,)))
    a, b = _lines(old), _lines(new)
    left: list[Block] = []
    right: list[Block] = []
    for opcode in _matcher(a, b).get_opcodes():
        for one, other in _rows(a, b, opcode):
            left.append(one or GAP)
            right.append(other or GAP)
    return tuple(left), tuple(right)


def difference(old: str, new: str, around: int = 2) -> Blocks:
    """Removed and added lines with a few equal ones around; empty where the texts are equal."""
    a, b = _lines(old), _lines(new)
    blocks: list[Block] = []
    for group in _matcher(a, b).get_grouped_opcodes(around):
        if a == b:
            break
        blocks.append(Block("round", ("···",)))
        for opcode in group:
            rows = list(_rows(a, b, opcode))
            blocks += [one for one, _ in rows if one]
            blocks += [other for _, other in rows if other and other.kind == "added"]
    return tuple(blocks)


GAP = Block("same", ("",))
"""Beside a line that the other text does not have."""


def _lines(text: str) -> list[str]:
    return safe(text).split("\n")


def _matcher(a: Sequence[str], b: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, a, b)


def _rows(a: Sequence[str], b: Sequence[str], opcode: Opcode) -> Iterator[tuple[Block | None, Block | None]]:
    """Pairs of blocks that stand beside each other."""
    tag, i, j, k, m = opcode
    if tag == "equal":
        same = Block("same", ("\n".join(a[i:j]),))
        yield same, same
        return
    for old, new in zip_longest(a[i:j], b[k:m]):
        gone, come = words(old, new) if old is not None and new is not None else ((), ())
        yield (
            None if old is None else Block("removed", (old,), marks=gone),
            None if new is None else Block("added", (new,), marks=come),
        )


def words(old: str, new: str) -> tuple[Marks, Marks]:
    """Stretches of two lines that differ; none where hardly anything is common."""
    if len(old) + len(new) > LONGEST:
        return _ends(old, new)
    a, b = _WORD.findall(old), _WORD.findall(new)
    found = SequenceMatcher(None, a, b, autojunk=False)
    if found.ratio() < ALIKE:
        return (), ()
    left: list[tuple[int, int]] = []
    right: list[tuple[int, int]] = []
    for tag, i, j, k, m in found.get_opcodes():
        if tag != "equal":
            left += _stretch(a, i, j)
            right += _stretch(b, k, m)
    return tuple(left), tuple(right)


def _stretch(tokens: Sequence[str], first: int, last: int) -> list[tuple[int, int]]:
    start = len("".join(tokens[:first]))
    end = start + len("".join(tokens[first:last]))
    return [(start, end)] if end > start else []


def _ends(old: str, new: str) -> tuple[Marks, Marks]:
    """Long lines: what lies between their common beginning and their common end."""
    most = min(len(old), len(new))
    start = next((i for i in range(most) if old[i] != new[i]), most)
    end = next((i for i in range(most - start) if old[-1 - i] != new[-1 - i]), most - start)
    spans = [(start, len(text) - end) for text in (old, new)]
    left, right = (((a, b),) if b > a else () for a, b in spans)
    return left, right
