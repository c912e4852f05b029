"""What stands on the lines of a pane: a block of the state as lines of safe text with a gutter.

Pure: from blocks to lines. How wide a pane is, how lines wrap and which colours there are is the
pane's business. Text from models is made inert here, on its way to the eye.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from meta_tui.display import clean
from meta_tui.tui.state import Block

TAB = "    "


class Line(NamedTuple):
    """A line before it is wrapped.

    Attributes:
        text: safe text without a newline.
        look: name of its look (`reply`, `asked`, `notice`, ...).
        lead: what stands before its first row.
        hang: what stands before its other rows; as many cells as `lead`.
    """

    text: str
    look: str
    lead: str = ""
    hang: str = ""


_BAR = "▏ "
_GUTTERS = {"asked": _BAR, "reasoning": _BAR, "output": "» ", "error": "✗ ", "answer": "┃ ", "stored": "  "}
_LEADS = {"sent": "→ ", "notice": "▲ ", "failure": "✗ ", "end": "■ "}


def safe(text: str) -> str:
    """Text for a cell grid: controls made visible, tabs as four spaces."""
    return clean(text).replace("\t", TAB)


def block_lines(block: Block, first: bool) -> list[Line]:
    """The lines of a block, with a blank one before it unless it is the first of its pane."""
    lines = list(_body(block))
    if first or block.kind in _TIGHT or not lines:
        return lines
    return [Line("", "reply"), *lines]


_TIGHT = {"output", "error", "sent", "end"}
"""Kinds that belong to what stands before them."""


def _body(block: Block) -> Iterator[Line]:
    match block.kind:
        case "round":
            yield Line(f"── {block.text} ──", "round")
        case "answer":
            yield Line("ANSWER", "answer-head")
            yield from _guttered(block)
        case "stored":
            yield Line(safe(block.note).replace("\n", " "), "stored-head", "◇ ", "  ")
            yield from _guttered(block)
        case "code":
            yield from _code(block)
        case "sent" | "notice" | "failure" | "end":
            lead = _LEADS[block.kind]
            for number, text in enumerate(safe(block.text).split("\n")):
                yield Line(text, block.kind, "  " if number else lead, "  ")
        case _:
            yield from _guttered(block)


def _guttered(block: Block) -> Iterator[Line]:
    gutter = _GUTTERS.get(block.kind, "")
    for text in safe(block.text).split("\n"):
        yield Line(text, block.kind, gutter, gutter)


def _code(block: Block) -> Iterator[Line]:
    lines = safe(block.text).split("\n")
    count = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
    yield Line(
        f"{'running' if block.open else 'ran'} {count} of Python {_dot(block.note)}", "code-head", "▸ ", "  "
    )
    wide = len(str(len(lines)))
    for number, text in enumerate(lines, 1):
        marked = number == block.mark
        if marked or not block.quiet:
            lead = f"{'▶' if marked else ' '}{number:>{wide}} "
            yield Line(text, "code-mark" if marked else "code", lead, " " * len(lead))


def _dot(note: str) -> str:
    return f"· {note}" if note else ""
