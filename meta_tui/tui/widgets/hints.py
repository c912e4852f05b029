"""The line at the bottom that names the keys one needs most: seven at most, on 78 cells."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

MOST = 7
WIDEST = 78

Hint = tuple[str, str]
"""Keys and what they do, as people read them."""


def line(hints: Sequence[Hint]) -> str:
    """The hints as text."""
    return "   ".join(f"{keys} {what}" for keys, what in hints)


class Hints(Static):
    """The footer of a screen."""

    def __init__(self, hints: Sequence[Hint]) -> None:
        parts: list[tuple[str, str]] = []
        for keys, what in hints:
            parts += [(keys, "bold $foreground"), (f" {what}   ", "")]
        super().__init__(Content.assemble(*parts), classes="hints", markup=False)
