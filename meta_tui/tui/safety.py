"""The last line of defence: no control character leaves the app, whatever a widget was given.

Text from models is cleaned when it is put on paper (`paper`); this filter stands behind all
widgets, ours and Textual's, and lets nothing through that a terminal would obey.
"""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_BAD = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class SafeFilter(LineFilter):
    """Drops what a terminal would obey. One instance for all: strips are cached by it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments, without forbidden characters."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [Segment(_BAD.sub("", s.text), s.style, s.control) for s in segments]


SAFE = SafeFilter()
