"""What stands on the lines of a pane: a block of the state as lines of safe text with a gutter.

Pure: from blocks to lines. How wide a pane is, how lines wrap and which colours there are is the
pane's business. Text from models is made inert here, on its way to the eye.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from meta_tui.display import clean
from meta_tui.tui.state import Block

TAB = "    "


Span = tuple[int, int, str]
"""(start, end, look) of a stretch of a line."""


class Line(NamedTuple):
    """A line before it is wrapped.

    Attributes:
        text: safe text without a newline.
        look: name of its look (`reply`, `asked`, `notice`, ...).
        lead: what stands before its first row.
        hang: what stands before its other rows; as many cells as `lead`.
        spans: stretches of the text with a look of their own.
    """

    text: str
    look: str
    lead: str = ""
    hang: str = ""
    spans: tuple[Span, ...] = ()


HIGHLIGHTED = 20_000
"""Characters of code up to which it is coloured."""

_BAR = "▏ "
_SIGNS = {"added": "+ ", "removed": "- ", "same": "  "}
_GUTTERS = {
    "asked": _BAR,
    "reasoning": _BAR,
    "output": "» ",
    "error": "✗ ",
    "answer": "┃ ",
    "stored": "  ",
    **_SIGNS,
}
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


_TIGHT = {"output", "error", "sent", "end", "added", "removed", "same", "drawn"}
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
        case "drawn":
            yield Line(safe(block.text).replace("\n", " "), "reply", spans=block.looks)
        case "reply" if not block.open and "```" in "".join(block.parts[:1])[:HIGHLIGHTED]:
            yield from _fenced(safe(block.text))
        case _:
            yield from _guttered(block)


def _guttered(block: Block) -> Iterator[Line]:
    gutter = _GUTTERS.get(block.kind, "")
    spans = tuple((start, end, f"{block.kind}-word") for start, end in block.marks)
    for text in safe(block.text).split("\n"):
        yield Line(text, block.kind, gutter, gutter, spans)


def _code(block: Block) -> Iterator[Line]:
    lines = safe(block.text).split("\n")
    count = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
    yield Line(
        f"{'running' if block.open else 'ran'} {count} of Python {_dot(block.note)}", "code-head", "▸ ", "  "
    )
    wide = len(str(len(lines)))
    colours = [] if block.quiet else highlight(lines)
    for number, text in enumerate(lines, 1):
        marked = number == block.mark
        if marked or not block.quiet:
            lead = f"{'▶' if marked else ' '}{number:>{wide}} "
            spans = colours[number - 1] if colours and not marked else ()
            yield Line(text, "code-mark" if marked else "code", lead, " " * len(lead), spans)


def _dot(note: str) -> str:
    return f"· {note}" if note else ""


def _fenced(text: str) -> Iterator[Line]:
    """A reply with its Python fences coloured; every character of it is still there."""
    fence: list[str] | None = None
    for line in text.split("\n"):
        if not line.lstrip().startswith("```"):
            if fence is None:
                yield Line(line, "reply")
            else:
                fence.append(line)
            continue
        if fence is None:
            yield Line(line, "sent")
            fence = [] if "py" in line else None
        else:
            yield from _coloured(fence)
            yield Line(line, "sent")
            fence = None
    yield from _coloured(fence or [])


def _coloured(lines: list[str]) -> Iterator[Line]:
    for line, spans in zip(lines, highlight(lines) or [()] * len(lines), strict=True):
        yield Line(line, "code", spans=spans)


def highlight(lines: list[str]) -> list[tuple[Span, ...]]:
    """Looks of the tokens of Python lines; empty where the code is too long or cannot be read."""
    code = "\n".join(lines)
    return [] if len(code) > HIGHLIGHTED else _tokens(code, len(lines))


@lru_cache(128)
def _tokens(code: str, count: int) -> list[tuple[Span, ...]]:
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

    found: list[list[Span]] = [[]]
    column = 0
    for token, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(code):
        look = next((look for name, look in _TOKENS if name in str(token)), "")
        for index, part in enumerate(value.split("\n")):
            if index:
                found.append([])
                column = 0
            if look and part:
                found[-1].append((column, column + len(part), look))
            column += len(part)
    return [tuple(spans) for spans in found] if len(found) == count else []


_TOKENS = (
    ("Comment", "code-comment"),
    ("String", "code-string"),
    ("Number", "code-number"),
    ("Keyword", "code-keyword"),
    ("Operator.Word", "code-keyword"),
    ("Name.Builtin", "code-name"),
    ("Name.Function", "code-name"),
    ("Name.Class", "code-name"),
)
