"""A list of any length with a cursor: only the rows on screen are ever made.

It is given how many rows there are and how to paint one; it keeps nothing of what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from meta_tui.tui.keymap import SCROLLING, bindings
from meta_tui.tui.theme import DEFAULTS

Part = tuple[str, str]
"""Safe text and the name of its look: "" or a colour of ours."""

Paint = Callable[[int, int], Sequence[Part]]
"""(row, width in cells) -> parts of the row."""


class Listing(Widget, can_focus=True):
    """Rows with a cursor; `enter` chooses one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"listing--{name}" for name in DEFAULTS),
        "listing--cursor",
        "listing--cursor-blurred",
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings((*SCROLLING, "open"))

    class Moved(Message):
        """The cursor came to another row."""

        def __init__(self, listing: Listing, row: int) -> None:
            super().__init__()
            self.listing = listing
            self.row = row

        @property
        def control(self) -> Listing:
            """The list, so that handlers can say which one they mean."""
            return self.listing

    class Chosen(Moved):
        """A row was chosen."""

    def __init__(self, paint: Paint, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._paint = paint
        self.count = 0
        self.cursor = 0
        self.top = 0
        self._base = Style()

    def fill(self, count: int, cursor: int | None = None) -> None:
        """There are `count` rows now; paint them anew."""
        self.count = count
        self._place(self.cursor if cursor is None else cursor)
        self.refresh()

    def move_to(self, row: int) -> None:
        """Put the cursor on a row and say so."""
        before = self.cursor
        self._place(row)
        self.refresh()
        if self.cursor != before:
            self.post_message(self.Moved(self, self.cursor))

    @property
    def rows(self) -> list[str]:
        """The rows on screen as text."""
        last = min(self.count, self.top + max(1, self.size.height))
        return [
            "".join(text for text, _ in self._paint(row, self.size.width)) for row in range(self.top, last)
        ]

    def action_down(self) -> None:
        """The cursor one row down."""
        self.move_to(self.cursor + 1)

    def action_up(self) -> None:
        """The cursor one row up."""
        self.move_to(self.cursor - 1)

    def action_page_down(self) -> None:
        """The cursor a page down."""
        self.move_to(self.cursor + max(1, self.size.height - 1))

    def action_page_up(self) -> None:
        """The cursor a page up."""
        self.move_to(self.cursor - max(1, self.size.height - 1))

    def action_half_down(self) -> None:
        """The cursor half a page down."""
        self.move_to(self.cursor + max(1, self.size.height // 2))

    def action_half_up(self) -> None:
        """The cursor half a page up."""
        self.move_to(self.cursor - max(1, self.size.height // 2))

    def action_top(self) -> None:
        """The cursor to the first row."""
        self.move_to(0)

    def action_bottom(self) -> None:
        """The cursor to the last row."""
        self.move_to(self.count - 1)

    def action_open(self) -> None:
        """Choose the row under the cursor."""
        if self.count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click chooses."""
        row = self.top + event.y
        if row < self.count:
            self.move_to(row)
            if event.chain == 2:
                self.action_open()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.move_to(self.cursor + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.move_to(self.cursor - 3)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._place(self.cursor)
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen; what is the same for all of them is worked out once."""
        self._base = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, row, base = self.size.width, self.top + y, self._base
        if row >= self.count:
            return Strip.blank(width, base)
        parts = self._paint(row, width)
        if row == self.cursor:
            name = "cursor" if self.has_focus else "cursor-blurred"
            style = self.get_component_rich_style(f"listing--{name}")
            strip = Strip([Segment(text, style) for text, _ in parts])
            return strip.adjust_cell_length(width, style)
        return Strip([Segment(text, self._look(look)) for text, look in parts]).adjust_cell_length(
            width, base
        )

    def _look(self, name: str) -> Style:
        return self.get_component_rich_style(f"listing--{name}") if name else self._base

    def _place(self, row: int) -> None:
        self.cursor = max(0, min(row, self.count - 1))
        height = max(1, self.size.height)
        if self.cursor < self.top:
            self.top = self.cursor
        elif self.cursor >= self.top + height:
            self.top = self.cursor - height + 1
        self.top = max(0, min(self.top, max(0, self.count - height)))
