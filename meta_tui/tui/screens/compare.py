"""Two runs side by side, aligned by round: what is the same, what differs, what only one has."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.compare import Row, compare
from meta_tui.display import one_line
from meta_tui.runlog import Recording
from meta_tui.tui import handing, sides, words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.state import EMPTY, Block, RunState, apply_all
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

NARROW = 100
"""Cells below which one side is shown at a time."""

VIEWS = ("text", "words", "lines")
"""Both texts as they are; side by side with the words that differ marked; one column of changes."""

MARKS = {
    "=": ("=", "same", "quiet"),
    "~": ("~", "differs", "wait"),
    "<": ("<", "only in A", "fail"),
    ">": (">", "only in B", "done"),
}
"""Mark -> glyph, word, colour."""


class CompareScreen(Screen[None]):
    """Two recordings, A and B."""

    CSS_PATH = "compare.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"next previous view swap copy help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("n N", "Difference"),
        ("j k", "Step"),
        ("v", "View"),
        ("s", "Swap"),
        ("tab", "Side"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "Two runs, step by step. The list above pairs what happened in the same round: = is the same, "
        "~ differs, < is only in A, > only in B. Below stand both texts of the chosen step; v shows them "
        "side by side with the words marked that differ, then as one column of changed lines."
    )

    def __init__(self, left: Recording, right: Recording) -> None:
        super().__init__()
        self.left, self.right = left, right
        self.rows: list[Row] = []
        self.view = 0

    def compose(self) -> ComposeResult:
        """Totals, steps, both texts, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Listing(self._paint, id="rows")
        with Horizontal(id="sides"):
            yield Pane(tail=False, id="a", classes="-shown")
            yield Pane(tail=False, id="b")
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Compare and show the first difference."""
        self.query_one("#rows", Listing).focus()
        self._fill()

    def on_resize(self) -> None:
        """One side at a time where there is little room."""
        self.set_class(self.size.width < NARROW, "-narrow")
        self._paint_status()

    def _fill(self) -> None:
        self.rows = compare(self.left.events, self.right.events)
        first = next((i for i, row in enumerate(self.rows) if row.mark != "="), 0)
        self.query_one("#rows", Listing).fill(len(self.rows), first)
        self._paint_status()
        self._show()

    def _paint_status(self) -> None:
        differ = sum(row.mark != "=" for row in self.rows)
        head = f"COMPARE  {differ} of {len(self.rows)} steps differ" if differ else "COMPARE  the same"
        text = f"{head} · A {_totals(self.left)} · B {_totals(self.right)}"
        self.query_one("#status", Static).update(Content(one_line(text, max(20, self.size.width - 2))))

    def _paint(self, number: int, width: int) -> list[Part]:
        row = self.rows[number]
        glyph, word, colour = MARKS[row.mark]
        head = f"{glyph} {word:<10}"
        where = f"{'r' + str(row.round) if row.round else '':<4}{one_line(row.who, 30)}: {one_line(row.what, 30)}  "
        text = one_line(row.left if row.left is not None else row.right or "", 200)
        room = max(0, width - cell_len(head) - cell_len(where))
        return [(head, colour), (where, ""), (one_line(text, room) if room else "", "quiet")]

    def _show(self) -> None:
        row = self.rows[self.query_one("#rows", Listing).cursor] if self.rows else None
        a, b = self.query_one("#a", Pane), self.query_one("#b", Pane)
        marked = self.view > 0 and row is not None and row.mark == "~"
        view = VIEWS[self.view] if marked else ""
        a.caption(f"A {_name(self.left)}", _side(row, "<"))
        b.caption(f"B {_name(self.right)}", _said(view) or _side(row, ">"))
        a.beside, b.beside = (b, a) if view == "words" else (None, None)
        for pane, blocks in zip((a, b), _texts(row, view), strict=True):
            pane.clear()
            pane.show(blocks)
        a.level()

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another step."""
        self._show()

    def on_descendant_focus(self) -> None:
        """On a narrow screen the focused side is the one that is shown."""
        if isinstance(self.focused, Pane):
            for pane in self.query("#sides Pane"):
                pane.set_class(pane is self.focused, "-shown")

    def key_tab(self) -> None:
        """From side to side, and back to the list."""
        if not self.has_class("-narrow"):
            self.focus_next()
            return
        a, b = self.query_one("#a", Pane), self.query_one("#b", Pane)
        shown, other = (a, b) if a.has_class("-shown") else (b, a)
        shown.remove_class("-shown")
        other.add_class("-shown")

    def action_next(self) -> None:
        """To the next difference."""
        self._to_difference(1)

    def action_previous(self) -> None:
        """To the previous difference."""
        self._to_difference(-1)

    def _to_difference(self, step: int) -> None:
        listing = self.query_one("#rows", Listing)
        number = listing.cursor + step
        while 0 <= number < len(self.rows):
            if self.rows[number].mark != "=":
                listing.move_to(number)
                return
            number += step
        handing.note(self.app, "no further difference in this direction")

    def action_view(self) -> None:
        """Both texts, the words that differ, the lines that changed."""
        self.view = (self.view + 1) % len(VIEWS)
        self._show()

    def action_swap(self) -> None:
        """A is B and B is A."""
        self.left, self.right = self.right, self.left
        self._fill()

    def action_copy(self) -> None:
        """The focused text."""
        focused = self.focused if isinstance(self.focused, Pane) else self.query_one("#a", Pane)
        handing.copy(self.app, focused.text)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


def _texts(row: Row | None, view: str) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """What stands on both sides."""
    left, right = (row.left, row.right) if row else (None, None)
    if view == "words":
        return sides.sides(left or "", right or "")
    if view == "lines" and len(left or "") + len(right or "") > sides.COMPARED:
        return _text(left), (Block("notice", (sides.TOO_LONG,)),)
    if view == "lines":
        return _text(left), sides.difference(left or "", right or "", around=3)
    return _text(left), _text(right)


def _said(view: str) -> str:
    return {"words": "words that differ", "lines": "what changed from A"}.get(view, "")


def _text(text: str | None) -> tuple[Block, ...]:
    if text is None:
        return (Block("sent", ("not in this run",)),)
    return (Block("reply", (text,)),)


def _side(row: Row | None, only: str) -> str:
    if row is None:
        return ""
    return MARKS[row.mark][1] if row.mark in ("=", "~", only) else "not in this run"


def _name(recording: Recording) -> str:
    return one_line(recording.path.stem if recording.path else "run", 40)


def _totals(recording: Recording) -> str:
    state: RunState = apply_all(EMPTY, recording.events)
    counts = f"{words.count(state.round, 'round')} {words.count(state.calls, 'call')}"
    return f"{words.state_word(state.status)} {counts} {words.cost_fact(state)}"


def recordings(left: Path, right: Path) -> tuple[Recording, Recording]:
    """Both runs, read and checked.

    Raises:
        LogError: one of them cannot be trusted.
    """
    from meta_tui import runlog

    return runlog.read(left), runlog.read(right)
