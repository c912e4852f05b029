"""The last line of defence: no control character leaves the app, whatever a widget was given.

Text from models is cleaned when it is put on paper (`paper`); this filter stands behind all
widgets, ours and Textual's, and lets nothing through that a terminal would obey.
"""

from __future__ import annotations

import re

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from meta_tui.display import letters

_BAD = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class SafeFilter(LineFilter):
    """Drops what a terminal would obey. One instance for all: strips are cached by it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments, without forbidden characters."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [Segment(_BAD.sub("", s.text), s.style, s.control) for s in segments]


class LettersFilter(LineFilter):
    """Everything in ASCII, cell by cell, for terminals whose locale is not UTF-8."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments in letters; wide characters become as many as they have cells."""
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [s if s.text.isascii() else Segment(_cells(s.text), s.style, s.control) for s in segments]


def _cells(text: str) -> str:
    return "".join(letters(sign) * get_character_cell_size(sign) for sign in text)


LETTERS = LettersFilter()
SAFE = SafeFilter()
