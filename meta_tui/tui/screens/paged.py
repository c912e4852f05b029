"""A list on the left and, on the right, a page about what is under the cursor, in several views.

What the screens of calls, artifacts and knowledge have in common: the frame, the views by digit or
one after the other, finding on the page, copying it. It knows nothing of what stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.display import one_line
from meta_tui.tui import handing
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hint, Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

NARROW = 100
"""Cells below which there is no room for both side by side."""

UNREADABLE = (msgspec.MsgspecError, ValueError, LookupError, StopIteration)
"""What reading the notes of a foreign or edited log may raise."""


class PagedScreen(Screen[None]):
    """The frame; a screen says what it is called, what its views are, and fills it.

    Attributes:
        view: index of the view that is shown.
        trouble: why what the run noted cannot be read; it stands above every page.
    """

    HEAD: ClassVar[str]
    VIEWS: ClassVar[tuple[str, ...]]
    HINTS: ClassVar[tuple[Hint, ...]]
    LIST: ClassVar[str]
    HOME: ClassVar[str]
    """Id of the list, and of what has the focus at first and after finding."""

    def __init__(self, title: str = "") -> None:
        super().__init__()
        self._title = title
        self.view = 0
        self.trouble: tuple[Block, ...] = ()

    def compose(self) -> ComposeResult:
        """Status, list, page, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Static(id="views", markup=False)
        with Horizontal(id="body"):
            yield Listing(self.paint_row, id=self.LIST)
            yield Pane(tail=False, id="page")
        yield FindBar()
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Give the focus to where one begins."""
        self.query_one(f"#{self.HOME}").focus()

    def on_resize(self) -> None:
        """Say whether there is little room."""
        self.set_class(self.size.width < NARROW, "-narrow")

    @property
    def listing(self) -> Listing:
        """The list."""
        return self.query_one(f"#{self.LIST}", Listing)

    @property
    def page(self) -> Pane:
        """The page."""
        return self.query_one("#page", Pane)

    def paint_row(self, row: int, width: int) -> list[Part]:
        """A row of the list."""
        raise NotImplementedError

    def show(self) -> None:
        """Fill the frame for what is under the cursor: a call of `put`."""
        raise NotImplementedError

    def put(self, head: str, caption: str, facts: str, blocks: Sequence[Block]) -> None:
        """Write the status, the names of the views and the page."""
        self.query_one("#status", Static).update(Content(f"{self.HEAD}  {one_line(head, 150)}"))
        names = [f"{'▸' if i == self.view else ' '}{i + 1} {name}" for i, name in enumerate(self.VIEWS)]
        self.query_one("#views", Static).update(Content("   ".join(names)))
        self.page.clear()
        self.page.caption(caption, facts)
        self.page.show((*self.trouble, *blocks))

    def unreadable(self, error: Exception) -> None:
        """Say that the notes of the run cannot be read, and leave everything else as it is."""
        words = f"what this run noted cannot be read: {type(error).__name__}: {one_line(str(error), 200)}"
        self.trouble = (Block("failure", (words,)),)
        self.show()

    def on_key(self, event: events.Key) -> None:
        """Digits are views."""
        character = event.character or ""
        if character.isdecimal() and character.isascii() and 1 <= int(character) <= len(self.VIEWS):
            self.view = int(character) - 1
            self.show()

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another row."""
        self.show()

    def action_view(self) -> None:
        """The next view."""
        self.view = (self.view + 1) % len(self.VIEWS)
        self.show()

    def action_find(self) -> None:
        """Ask for words."""
        self.query_one(FindBar).ask()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Mark the words."""
        self.page.find(message.words)
        self.page.next_found()

    def on_find_bar_closed(self) -> None:
        """Back to where one was."""
        self.query_one(f"#{self.HOME}").focus()

    def action_next(self) -> None:
        """The next place found."""
        self.page.next_found()

    def action_previous(self) -> None:
        """The previous place found."""
        self.page.next_found(False)

    def action_copy(self) -> None:
        """Copy the page."""
        handing.copy(self.app, self.page.text)

    def action_save(self) -> None:
        """Write the page to a file."""
        handing.save(self.app, f"{self._title or 'run'}-{self.HEAD.lower()}.txt", self.page.text)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()
