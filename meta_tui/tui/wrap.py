"""Where a line of text breaks so that it fits a number of cells. Pure, and linear in the text.

Breaks stand after white space where there is some, else anywhere between two characters that take
room (never before a combining mark). The rows before the last one do not change when text is
added at the end, so a line that streams in is wrapped again from its last row only.
"""

from __future__ import annotations

from rich.cells import cell_len, get_character_cell_size

LONGEST = 8
"""Most characters of a row for each of its cells: a heap of combining marks is cut there."""


def wrap(text: str, width: int, start: int = 0) -> list[tuple[int, int]]:
    """Rows of a line as (start, end) offsets; an empty line is one empty row.

    Args:
        text: one line, no newline in it.
        width: cells of a row, at least 1.
        start: where to begin; a start of a row.
    """
    rows: list[tuple[int, int]] = []
    size = len(text)
    while size - start > width or cell_len(text[start:]) > width:
        end = _row_end(text, start, width)
        if end >= size:
            break
        rows.append((start, end))
        start = end
    rows.append((start, size))
    return rows


def _row_end(text: str, start: int, width: int) -> int:
    """End of the row that begins at `start` in a line that does not fit."""
    fits = _fitting(text, start, width)
    if fits >= len(text):
        return fits
    if text[fits] == " ":
        return fits + 1
    space = text.rfind(" ", start, fits)
    return space + 1 if space > start else fits


def _fitting(text: str, start: int, width: int) -> int:
    """End of the longest stretch from `start` that takes at most `width` cells (at least one
    character long, with the marks that belong to it)."""
    stretch = text[start : start + width]
    if cell_len(stretch) == len(stretch):
        end = start + len(stretch)
    else:
        end, cells = start, 0
        while end < min(len(text), start + LONGEST * width):
            cells += get_character_cell_size(text[end])
            if cells > width and end > start:
                break
            end += 1
    longest = min(len(text), start + LONGEST * width)
    while end < longest and end > start and get_character_cell_size(text[end]) == 0:
        end += 1
    return min(end, longest)
