"""Lines of coloured stretches as blocks of a pane, and boxes with a head around facts. Pure.

What stands in a box is wrapped here, to the cells that it is given; the pane leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from meta_tui.evaluation.chain_text import LABEL, Entry, Line
from meta_tui.tui.paper import safe
from meta_tui.tui.state import Block
from meta_tui.tui.wrap import wrap

LOOKS = {
    "done": "added",
    "fail": "failure",
    "wait": "notice",
    "hit": "stored-head",
    "quiet": "sent",
    "run": "code-head",
    "head": "question",
}
"""The name of a colour -> the look of a pane that has it."""

LEAST = 24
"""Cells below which nothing is put into a box."""


def drawn(lines: Iterable[Line]) -> tuple[Block, ...]:
    """Each line as a block of a pane."""
    return tuple(_block(line) for line in lines)


def _block(line: Line) -> Block:
    texts, looks, at = [], [], 0
    for text, look in line:
        shown = safe(text).replace("\n", " ")
        if look and shown:
            looks.append((at, at + len(shown), LOOKS[look]))
        texts.append(shown)
        at += len(shown)
    return Block("drawn", ("".join(texts),), looks=tuple(looks))


def box(head: Line, entries: Sequence[Entry], width: int) -> list[Line]:
    """A head and facts with a border around, `width` cells wide."""
    room = max(LEAST, width) - 4
    title = _cut(head, room - 2)
    rule = "─" * (room - 1 - cells(title))
    found: list[Line] = [(("╭─ ", "quiet"), *title, (f" {rule}╮", "quiet"))]
    for entry in entries:
        for number, row in enumerate(wrapped(entry.line, room - LABEL)):
            label = "" if number else entry.label
            gap = " " * max(0, room - LABEL - cells(row))
            found.append((("│ ", "quiet"), (f"{label:<{LABEL}}", "quiet"), *row, (f"{gap} │", "quiet")))
    return [*found, ((f"╰{'─' * (room + 2)}╯", "quiet"),)]


def cells(line: Line) -> int:
    """How many cells a line takes."""
    return sum(cell_len(text) for text, _ in line)


def wrapped(line: Line, width: int) -> Iterator[Line]:
    """Rows of a line, each at most `width` cells; every stretch keeps its look."""
    text = "".join(part for part, _ in line)
    for start, end in wrap(text, max(1, width)):
        yield _slice(line, start, start + len(text[start:end].rstrip()))


def _slice(line: Line, start: int, end: int) -> Line:
    found, at = [], 0
    for text, look in line:
        piece = text[max(0, start - at) : max(0, end - at)]
        if piece:
            found.append((piece, look))
        at += len(text)
    return tuple(found)


def _cut(line: Line, room: int) -> Line:
    """A line that fits, whatever it takes."""
    found: list[tuple[str, str]] = []
    for text, look in line:
        left = room - cells(tuple(found))
        found.append((text if cell_len(text) <= left else set_cell_size(text, max(0, left)), look))
    return tuple(found)
