"""The line at the bottom that names the keys one needs most: seven at most, on 78 cells."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from meta_tui.tui.keymap import KEYS

MOST = 7
WIDEST = 78

Hint = tuple[str, str]
"""Keys and what they do, as people read them."""


def line(hints: Sequence[Hint]) -> str:
    """The hints as text."""
    return "   ".join(f"{keys} {what}" for keys, what in hints)


REFUSED = frozenset(KEYS[name].shown for name in ("new", "fork", "rerun", "save", "settings"))
"""Keys of what a page that only plays does not do."""


class Hints(Static):
    """The footer of a screen; without what has no room, and where only playback is served what is refused."""

    def __init__(self, hints: Sequence[Hint]) -> None:
        super().__init__(_content(hints), classes="hints", markup=False)
        self._hints = hints

    def say(self, hints: Sequence[Hint]) -> None:
        """Other hints, if they are others."""
        if hints is not self._hints:
            self._hints = hints
            self.on_resize()

    def on_resize(self) -> None:
        """Leave out what this app refuses, and what has no room."""
        served = getattr(self.app, "playback_only", False)
        found = [hint for hint in self._hints if not (served and hint[0] in REFUSED)]
        self.update(_content(fitted(found, self.size.width)), layout=False)


def fitted(hints: Sequence[Hint], width: int) -> list[Hint]:
    """Those that fit: the last two, help and the way out, stay longest."""
    found = list(hints)
    while len(found) > 2 and cell_len(line(found)) > width:
        del found[-3]
    return found


def _content(hints: Sequence[Hint]) -> Content:
    parts: list[tuple[str, str]] = []
    for keys, what in hints:
        parts += [(keys, "bold $foreground"), (f" {what}   ", "")]
    return Content.assemble(*parts)
