"""A request that a replay made and the log does not hold, beside the nearest recorded one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.display import one_line
from meta_tui.errors import CassetteMiss
from meta_tui.tui import handing, sides
from meta_tui.tui.keymap import bindings
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.pane import Pane

NARROW = 100
"""Cells below which the sides stand above each other."""

NO_REQUEST = "the log holds no request that this one could be compared with"


class MissingScreen(Screen[None]):
    """Recorded on the left, asked now on the right."""

    CSS_PATH = "missing.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"next previous fork copy save help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("n N", "Difference"),
        ("j k", "Scroll"),
        ("tab", "Side"),
        ("f", "Go live"),
        ("y", "Copy"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "The replay asked for something that was not recorded. On the left the recorded request that is "
        "most like it, on the right what was asked now; lines that differ have a sign, and words that differ "
        "are marked. A prompt, a setting or the code of the method is not what it was when the run was made. "
        "f goes live from here: a new run that keeps what came before and asks a model from this request on."
    )

    def __init__(
        self, miss: CassetteMiss, title: str = "", go_live: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._go_live = go_live
        self.miss = miss
        self._title = title
        self._places: list[int] = []

    def compose(self) -> ComposeResult:
        """What is missing, both requests, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Static(id="words", markup=False)
        with Horizontal(id="sides"):
            yield Pane(tail=False, id="recorded")
            yield Pane(tail=False, id="asked")
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Show both, at the first difference."""
        head = f"NOT RECORDED  {one_line(self._title, 150)}"
        self.query_one("#status", Static).update(Content(head))
        self.query_one("#words", Static).update(Content(one_line(str(self.miss), 600)))
        left, right = self.query_one("#recorded", Pane), self.query_one("#asked", Pane)
        left.caption(f"recorded, line {self.miss.line}" if self.miss.line else "recorded")
        right.caption("asked now")
        left.beside, right.beside = right, left
        blocks = _both(self.miss)
        left.show(blocks[0])
        right.show(blocks[1])
        right.level()
        right.focus()
        self.call_after_refresh(self.action_next)

    def on_resize(self) -> None:
        """One above the other where there is little room."""
        self.set_class(self.size.width < NARROW, "-narrow")

    def action_next(self) -> None:
        """To the next line that differs."""
        self._to_difference(True)

    def action_previous(self) -> None:
        """To the previous line that differs."""
        self._to_difference(False)

    def _to_difference(self, forward: bool) -> None:
        right = self.query_one("#asked", Pane)
        if not right.next_look(("added", "notice"), forward):
            self.query_one("#recorded", Pane).next_look(("removed",), forward)

    def _focused(self) -> Pane:
        return self.focused if isinstance(self.focused, Pane) else self.query_one("#asked", Pane)

    def action_fork(self) -> None:
        """Leave, and ask a model from this request on."""
        if self._go_live is None:
            handing.note(self.app, "this run has no log that could be gone on with", warn=True)
        else:
            self.dismiss()
            self._go_live()

    def action_copy(self) -> None:
        """The focused side as it is."""
        recorded = self._focused().id == "recorded"
        handing.copy(self.app, self.miss.recorded if recorded else self.miss.wanted)

    def action_save(self) -> None:
        """Both sides, into a file."""
        text = f"{self.miss}\n\nRECORDED\n{self.miss.recorded}\n\nASKED NOW\n{self.miss.wanted}\n"
        handing.save(self.app, f"{self._title or 'run'}-not-recorded.txt", text)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


def _both(miss: CassetteMiss) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    if miss.recorded:
        return sides.sides(miss.recorded, miss.wanted)
    return (Block("notice", (NO_REQUEST,)),), (Block("reply", (miss.wanted,)),)
