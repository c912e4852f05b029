"""Home: the recorded runs that come with meta-tui and one's own, to choose from."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from meta_tui import store
from meta_tui.display import one_line
from meta_tui.store import RunSummary
from meta_tui.tui import words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

Column = tuple[str, int, int, Callable[[RunSummary], Part]]
"""Title, cells, terminal width from which it is shown, and what stands in it."""


def load() -> list[RunSummary]:
    """The shipped cassettes, then the user's own runs, newest first."""
    shipped = [store.summary(path) for path in store.logs_in(store.shipped("cassettes"))]
    return [*store.own_runs().summaries(), *shipped]


class HomeScreen(Screen[None]):
    """The run list."""

    CSS_PATH = "home.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = ("help", "quit")
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("enter", "Play"),
        ("j k", "Choose"),
        ("?", "Help"),
        ("ctrl+p", "Commands"),
        ("ctrl+q", "Quit"),
    )
    ABOUT = (
        "Recorded runs: those that come with meta-tui, and your own. Playing one asks nothing of any "
        "model, needs no key and no network and costs nothing."
    )

    class Opened(Message):
        """A run is to be shown."""

        def __init__(self, run: RunSummary) -> None:
            super().__init__()
            self.run = run

    def __init__(
        self,
        runs: Sequence[RunSummary] | None = None,
        *,
        fetch: Callable[[], list[RunSummary]] = load,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.runs: list[RunSummary] = list(runs or [])
        self._given = runs is not None
        self._fetch = fetch
        self._clock = clock

    def compose(self) -> ComposeResult:
        """Title, list, preview, hints."""
        yield Static("meta-tui", id="title", classes="bar", markup=False)
        yield Static("", id="columns", markup=False)
        yield Listing(self._paint, id="runs")
        yield Static("", id="empty", markup=False)
        yield Pane(id="preview")
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Read the runs after the first painting."""
        self.query_one("#preview", Pane).caption("preview")
        self.query_one("#preview", Pane).can_focus = False
        self.query_one("#empty").display = False
        self.query_one("#runs", Listing).focus()
        if self._given:
            self.call_after_refresh(self.fill)
        else:
            self.run_worker(self._read, thread=True, exit_on_error=False)

    def on_screen_resume(self) -> None:
        """Runs may have come while another screen was open."""
        if not self._given and self.runs:
            self.run_worker(self._read, thread=True, exit_on_error=False)

    def on_resize(self) -> None:
        """The preview goes first where there is little room."""
        self.set_class(self.size.height < 20, "-low")
        self._paint_columns()

    def _read(self) -> None:
        runs = self._fetch()
        self.app.call_from_thread(self._take, runs)

    def _take(self, runs: list[RunSummary]) -> None:
        self.runs = runs
        self.fill()

    def fill(self) -> None:
        """Show the runs."""
        self.query_one("#runs", Listing).fill(len(self.runs))
        self.query_one("#empty").display = not self.runs
        self.query_one("#empty", Static).update(EMPTY)
        own = sum(run.origin != "written" for run in self.runs)
        title = f"meta-tui   {len(self.runs):,} runs, {own:,} of them yours or imported"
        self.query_one("#title", Static).update(Content(title))
        self._paint_columns()
        self._preview()

    # Painting.

    def _columns(self) -> list[Column]:
        width = self.size.width
        fixed = [column for column in COLUMNS if width >= column[2]]
        rest = width - 2 - sum(cells + 2 for _, cells, _, _ in fixed)
        question: Column = ("question", max(8, rest), 0, lambda run: (one_line(run.question, 200), ""))
        return [*fixed[:2], question, *fixed[2:]]

    def _paint_columns(self) -> None:
        head = "  ".join(set_cell_size(name, cells) for name, cells, _, _ in self._columns())
        self.query_one("#columns", Static).update(Content(head))

    def _paint(self, row: int, width: int) -> list[Part]:
        run = self.runs[row]
        parts: list[Part] = []
        for _, cells, _, content in self._columns():
            text, look = content(run)
            parts.append((_fit(text, cells) + "  ", look))
        return parts

    def _preview(self) -> None:
        pane = self.query_one("#preview", Pane)
        if not self.runs:
            pane.clear()
            return
        run = self.runs[self.query_one("#runs", Listing).cursor]
        pane.caption(f"{run.id}", run.note[:60])
        pane.follow = False
        pane.show(preview(run))
        pane.scroll_top(0)

    # Messages.

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another run, another preview."""
        self._preview()

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """Open the run."""
        if message.row < len(self.runs):
            self.post_message(self.Opened(self.runs[message.row]))


EMPTY = (
    "No runs yet, and no recorded runs were found beside the program. `meta-tui doctor` says what is missing."
)


def preview(run: RunSummary) -> tuple[Block, ...]:
    """What one sees of a run before it is opened."""
    facts = f"{words.state_word(run.status)} · {run.rounds} rounds · {run.calls} calls · {run.code_runs} code runs"
    blocks = [Block("sent", (facts,)), Block("question", (run.question,))]
    if run.answer is not None:
        blocks.append(Block("answer", (run.answer,)))
    elif run.reason:
        blocks.append(Block("notice", (run.reason,)))
    return tuple(blocks)


def _fit(text: str, cells: int) -> str:
    """Text in exactly so many cells."""
    if cell_len(text) > cells:
        return set_cell_size(text, max(0, cells - 1)) + "…"
    return set_cell_size(text, cells)


COLUMNS: list[Column] = [
    ("run", 24, 0, lambda run: (one_line(run.id, 60), "")),
    ("result", 12, 0, lambda run: (words.state_word(run.status), words.colour(run.status))),
    ("method", 14, 100, lambda run: (one_line(run.method, 40), "quiet")),
    ("model", 14, 140, lambda run: (one_line(run.model, 40), "quiet")),
    ("rounds", 6, 70, lambda run: (str(run.rounds or "-"), "")),
    ("calls", 5, 0, lambda run: (str(run.calls), "")),
    ("code", 4, 110, lambda run: (str(run.code_runs or "-"), "")),
    ("cost", 7, 120, lambda run: (words.cost(run.cost) if run.origin == "live" else "-", "quiet")),
    ("from", 10, 90, lambda run: (run.origin, "quiet")),
]
"""Columns of the run list; the question takes what is left."""


def path_of(run: RunSummary) -> Path:
    """The log of a summary."""
    return Path(run.path)
