"""Jump mode: a letter on everything that can have the focus; pressing it goes there.

In lists the rows on screen have letters of their own. It lies over the screen below and changes
nothing there until a letter is pressed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from meta_tui.tui.widgets.listing import Listing

LETTERS = "asdfghjklqwertyuiopzxcvbnmASDFGHJKLQWERTYUIOPZXCVBNM"
"""In the order in which they are given out: those under the fingers first."""


class Target(NamedTuple):
    """A place to go to.

    Attributes:
        widget: what gets the focus.
        at: where its letter stands.
        row: the row of a list; None for the widget itself.
    """

    widget: Widget
    at: Offset
    row: int | None = None


def targets(screen: Screen[object]) -> list[Target]:
    """Widgets in the order of focus, then rows of lists from the top; as many as there are letters."""
    chain = [widget for widget in screen.focus_chain if widget.region.area]
    found = [Target(widget, widget.region.offset) for widget in chain]
    rows = [target for widget in chain if isinstance(widget, Listing) for target in _rows(widget)]
    return [*found, *rows][: len(LETTERS)]


def _rows(listing: Listing) -> Iterator[Target]:
    place = listing.content_region
    for y in range(min(listing.count - listing.top, place.height)):
        yield Target(listing, Offset(place.right - 3, place.y + y), listing.top + y)


class JumpScreen(ModalScreen[Target | None]):
    """Letters over the screen below; gives the target whose letter was pressed, or None."""

    DEFAULT_CSS = """
    JumpScreen Static {
        position: absolute; width: 3; height: 1;
        background: $run; color: $background; text-style: bold;
    }
    JumpScreen Static:ansi { background: ansi_default; color: ansi_default; text-style: reverse bold; }
    """

    def __init__(self, found: list[Target]) -> None:
        super().__init__()
        self.found = dict(zip(LETTERS, found, strict=False))

    def compose(self) -> ComposeResult:
        """A letter for each target."""
        for letter, target in self.found.items():
            shown = Static(Content(f" {letter} "), markup=False)
            shown.styles.offset = (target.at.x, target.at.y)
            yield shown

    def on_key(self, event: events.Key) -> None:
        """A letter goes to its target, any other key goes nowhere."""
        event.stop()
        event.prevent_default()
        self.dismiss(self.found.get(event.character or ""))

    def on_click(self) -> None:
        """Never mind."""
        self.dismiss(None)


def go(target: Target | None) -> None:
    """Put the focus, and the cursor of a list, where a person wants them."""
    if target is None or not target.widget.is_attached:
        return
    target.widget.focus()
    if target.row is not None and isinstance(target.widget, Listing):
        target.widget.move_to(target.row)
