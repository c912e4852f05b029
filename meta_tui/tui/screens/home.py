"""Home: the recorded runs that come with meta-tui and one's own, to choose from."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
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
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

Column = tuple[str, int, int, Callable[[RunSummary], Part]]
"""Title, cells, terminal width from which it is shown, and what stands in it."""


FIRST = "game24-python"
"""The cassette that shows most in least time."""


def load() -> list[RunSummary]:
    """The shipped cassettes, then the user's own runs, newest first."""
    shipped = [store.summary(path) for path in store.logs_in(store.shipped("cassettes"))]
    shipped.sort(key=lambda run: (run.id != FIRST, run.method != "meta_prompting", run.id))
    return [*store.own_runs().summaries(), *shipped]


class HomeScreen(Screen[None]):
    """The run list."""

    CSS_PATH = "home.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (
        *"new find compare follow_up resume replay export evaluations back help".split(),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("enter", "Play"),
        ("a", "Ask"),
        ("d", "Compare"),
        ("/", "Filter"),
        (",", "Settings"),
        ("?", "Help"),
        ("ctrl+q", "Quit"),
    )
    ABOUT = (
        "Recorded runs: those that come with meta-tui, and your own. Playing one asks nothing of any "
        "model, needs no key and no network and costs nothing. Asking a new question does."
    )

    class Opened(Message):
        """A run is to be shown."""

        def __init__(self, run: RunSummary) -> None:
            super().__init__()
            self.run = run

    class Asked(Message):
        """Something is wanted that the app does: `what` is an action's name."""

        def __init__(self, what: str, run: RunSummary | None) -> None:
            super().__init__()
            self.what = what
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
        self._all = self.runs
        self._words = ""
        self._given = runs is not None
        self._fetch = fetch
        self._clock = clock

    def compose(self) -> ComposeResult:
        """Title, list, preview, hints."""
        yield Static("meta-tui", id="title", classes="bar", markup=False)
        yield Static("", id="columns", markup=False)
        yield Listing(self._paint, id="runs")
        yield Static("", id="empty", markup=False)
        yield Pane(tail=False, id="preview")
        yield FindBar("only runs with these words: a name, a method, a task, a state ..")
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
        self._all = runs
        self._choose()

    def _choose(self) -> None:
        """Keep the runs that have all the words, with the cursor on the same run."""
        here = self.run
        self.runs = [run for run in self._all if matches(run, self._words)]
        at = next((i for i, run in enumerate(self.runs) if here and run.path == here.path), 0)
        self.query_one("#runs", Listing).cursor = at
        self.fill()

    @property
    def run(self) -> RunSummary | None:
        """The run under the cursor."""
        cursor = self.query_one("#runs", Listing).cursor
        return self.runs[cursor] if cursor < len(self.runs) else None

    def fill(self) -> None:
        """Show the runs."""
        self.query_one("#runs", Listing).fill(len(self.runs))
        self.query_one("#empty").display = not self.runs
        self.set_class(not self.runs, "-nothing")
        self.query_one("#empty", Static).update(NOTHING_FOUND if self._words else EMPTY)
        title = f"meta-tui   {words.count(len(self.runs), 'run')}"
        title += f" of {len(self._all):,} with {one_line(self._words, 40)}" if self._words else ""
        self.query_one("#title", Static).update(Content(title))
        self._paint_columns()
        self._preview()

    # Painting.

    def _columns(self) -> list[Column]:
        width = self.size.width
        fixed = [column for column in COLUMNS if width >= column[2]]
        rest = width - 2 - sum(cells + 2 for _, cells, _, _ in fixed)
        question: Column = ("question", max(8, rest), 0, _question)
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
        pane.caption(one_line(run.id, 60), one_line(run.note, max(20, self.size.width - 40)))
        pane.show(preview(run))
        pane.scroll_top(0)

    # Messages.

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another run, another preview."""
        self._preview()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Only runs with these words."""
        self._words = message.words
        self._choose()

    def on_find_bar_closed(self) -> None:
        """Back to the list."""
        self.query_one("#runs", Listing).focus()

    def action_find(self) -> None:
        """Ask for words."""
        self.query_one(FindBar).ask()

    def action_new(self) -> None:
        """Ask a new question."""
        self.post_message(self.Asked("new", None))

    def action_compare(self) -> None:
        """Mark a run, or compare it with the marked one."""
        self.post_message(self.Asked("compare", self.run))

    def action_follow_up(self) -> None:
        """A further question of a run."""
        self.post_message(self.Asked("follow_up", self.run))

    def action_resume(self) -> None:
        """Go on with a run."""
        self.post_message(self.Asked("resume", self.run))

    def action_replay(self) -> None:
        """Run the recorded method again."""
        self.post_message(self.Asked("replay", self.run))

    def action_export(self) -> None:
        """Write a run to share it."""
        self.post_message(self.Asked("export", self.run))

    def action_evaluations(self) -> None:
        """Choose an evaluation."""
        self.post_message(self.Asked("evaluations", None))

    def action_back(self) -> None:
        """Home is where one is; leaving is ctrl+q."""
        if self._words:
            self.query_one(FindBar).key_escape()

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """Open the run."""
        if message.row < len(self.runs):
            self.post_message(self.Opened(self.runs[message.row]))


NOTHING_FOUND = "No run has all these words. esc shows all runs again."
EMPTY = (
    "No runs yet. a asks a new question.\n\nThe recorded runs that come with meta-tui were not found: "
    "`meta-tui doctor` says what is missing."
)


def matches(run: RunSummary, words: str) -> bool:
    """Whether every word stands somewhere in what is known of a run; case does not matter."""
    known = (
        run.id,
        run.method,
        run.model,
        run.task,
        run.sample,
        run.origin,
        run.status,
        run.question,
        run.note,
    )
    text = " ".join(known).lower()
    return all(word in text for word in words.lower().split())


def preview(run: RunSummary) -> tuple[Block, ...]:
    """What one sees of a run before it is opened."""
    counts = ((run.rounds, "round"), (run.calls, "call"), (run.code_runs, "code run"))
    facts = " · ".join([words.state_word(run.status), *(words.count(n, what) for n, what in counts if n)])
    blocks = [Block("sent", (facts,)), Block("question", (run.question,))]
    if run.answer is not None:
        blocks.append(Block("answer", (run.answer,)))
    elif run.reason:
        blocks.append(Block("notice", (run.reason,)))
    return tuple(blocks)


def _question(run: RunSummary) -> Part:
    about = f"{run.sample or run.task}: " if run.sample or run.task else ""
    return one_line(about + run.question, 200), ""


def _fit(text: str, cells: int) -> str:
    """Text in exactly so many cells."""
    if cell_len(text) > cells:
        return set_cell_size(text, max(0, cells - 1)) + "…"
    return set_cell_size(text, cells)


COLUMNS: list[Column] = [
    ("run", 24, 0, lambda run: (one_line(run.id, 60), "")),
    ("result", 12, 0, lambda run: (words.state_word(run.status), words.colour(run.status))),
    ("method", 14, 100, lambda run: (one_line(run.method, 40), "quiet")),
    ("model", 14, 160, lambda run: (one_line(run.model, 40), "quiet")),
    ("rounds", 6, 70, lambda run: (str(run.rounds or "-"), "")),
    ("calls", 5, 0, lambda run: (str(run.calls), "")),
    ("code", 4, 130, lambda run: (str(run.code_runs or "-"), "")),
    ("cost", 7, 140, lambda run: (words.cost(run.cost), "quiet")),
    ("from", 10, 90, lambda run: (run.origin, "quiet")),
]
"""Columns of the run list; the question takes what is left."""
