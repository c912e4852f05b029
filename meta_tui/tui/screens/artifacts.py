"""The artifacts of a run with workers: tree, graph, memory index, budget; live or recorded.

Drawn from the trace of the run's events (`methods.artifacts`) and nothing else; a worker opens in
the inspector with its exact prompt. Marks are shapes and words, never a colour alone. Whether an
artifact is correct is not known here: shown are the verdicts of Assess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.display import one_line
from meta_tui.evaluation.drawing import budget_text, graph_text, mark, memory_text
from meta_tui.events import AnyEvent
from meta_tui.methods.artifacts import Artifact, Row, Trace, layers, trace, tree, worker_name
from meta_tui.tui import handing, words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.state import Block, EffectView
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

Look = Callable[[], tuple[Sequence[AnyEvent], Sequence[EffectView]]]
"""The events and the calls of the run as they are shown now."""

VIEWS = ("Artifact", "Graph", "Memory", "Budget")
GRAPH = VIEWS.index("Graph")
HEADS = (
    "layers by depth; ← what a worker was shown",
    "the index as stages see it, and who read what",
    "one letter a call, · is left",
)
"""What stands above the text of each view but the first."""

NARROW = 100
"""Cells below which list and page stand above each other."""


class ArtifactsScreen(Screen[None]):
    """Artifacts of a run, one at a time, and how they hang together.

    Args:
        look: what is known of the run now; asked again while the screen is open.
        title: name of the run.
    """

    CSS_PATH = "artifacts.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"open view find next previous copy save help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("v 1-4", "View"),
        ("enter", "Prompt"),
        ("/", "Find"),
        ("y", "Copy"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "What workers and stages left behind. On the left the artifact tree: each stands under the first "
        "artifact that its worker was shown; ● likely correct, ▲ has gaps, ■ flawed, ○ not judged by Assess, "
        "◇ a note, ◀ the one that was submitted. On the right the artifact, the graph by depth, the memory "
        "index with who read what, or the budget, one letter a call. Enter opens a worker's exact prompt."
    )

    def __init__(self, look: Look, title: str = "") -> None:
        super().__init__()
        self._look = look
        self._title = title
        self._seen = -1
        self.view = 0
        self.trace = Trace()
        self.rows: list[Row] = []
        self.listed: list[Row | str] = []
        self.effects: Sequence[EffectView] = ()

    def compose(self) -> ComposeResult:
        """Status, list, page, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Static(id="views", markup=False)
        with Horizontal(id="body"):
            yield Listing(self._paint_row, id="tree")
            yield Pane(tail=False, id="page")
        yield FindBar()
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Show the run as it is now, and go on looking."""
        self.query_one("#tree", Listing).focus()
        self.refresh_trace()
        self.set_interval(0.5, self.refresh_trace)

    def on_resize(self) -> None:
        """The list goes above the page where there is no room beside it."""
        self.set_class(self.size.width < NARROW, "-narrow")

    def refresh_trace(self) -> None:
        """Take what came since the last look."""
        events_, effects = self._look()
        if len(events_) == self._seen:
            return
        self._seen = len(events_)
        self.trace, self.effects = trace(events_), effects
        self.rows = tree(self.trace)
        self._show()

    @property
    def artifact(self) -> Artifact | None:
        """The artifact under the cursor."""
        row = self.query_one("#tree", Listing).cursor
        one = self.listed[row] if row < len(self.listed) else ""
        return None if isinstance(one, str) else next(a for a in self.trace.artifacts if a.id == one.id)

    def _list(self) -> None:
        """The tree, which becomes layers by depth in the view of the graph."""
        self.listed = layered(self.trace, self.rows) if self.view == GRAPH else [*self.rows]
        self.query_one("#tree", Listing).fill(len(self.listed))

    def _show(self) -> None:
        self._list()
        found = self.trace
        head = f"{self._title} · {words.count(len(found.workers), 'artifact')} · "
        head += words.count(len(found.strip), "call")
        head += f" of {found.budget}" if found.budget else ""
        self.query_one("#status", Static).update(Content(f"ARTIFACTS  {one_line(head, 150)}"))
        names = [f"{'▸' if i == self.view else ' '}{i + 1} {name}" for i, name in enumerate(VIEWS)]
        self.query_one("#views", Static).update(Content("   ".join(names)))
        pane = self.query_one("#page", Pane)
        pane.clear()
        pane.caption(VIEWS[self.view], "")
        pane.show(self._page())

    def _page(self) -> tuple[Block, ...]:
        if self.view == 0:
            return self._artifact_page()
        made = (graph_text, memory_text, budget_text)[self.view - 1](self.trace)
        return (Block("stored", (made,), HEADS[self.view - 1]),)

    def _artifact_page(self) -> tuple[Block, ...]:
        artifact = self.artifact
        if artifact is None:
            return (Block("notice", ("no artifact yet",)),)
        verdicts = ", ".join(self.trace.verdicts.get(artifact.id, ())) or "none"
        facts = [f"verdicts: {verdicts}"]
        facts.append(
            f"confidence: {artifact.confidence or '-'}   available after call {artifact.available_at}"
        )
        facts.append(f"shown to its worker: {', '.join(artifact.context) or 'nothing'}")
        asked = (Block("asked", (artifact.instruction,)),) if artifact.instruction else ()
        head = f"{artifact.id}  {artifact.title}"
        return (Block("stored", ("\n".join(facts),), head), *asked, Block("reply", (artifact.body,)))

    def _paint_row(self, row: int, width: int) -> list[Part]:
        if row >= len(self.listed):
            return []
        one = self.listed[row]
        if isinstance(one, str):
            return [(one, "quiet")]
        shape, word, colour = mark(one)
        lead = "  " * (1 if self.view == GRAPH else min(one.indent, 8))
        tail = f"  {word}{' ◀ submitted' if one.submitted else ''}"
        room = width - len(lead) - len(shape) - len(one.id) - len(tail) - 2
        return [
            (f"{lead}{shape} ", colour),
            (f"{one.id} {one_line(one.title, max(4, room))}", ""),
            (tail, "quiet"),
        ]

    def on_key(self, event: events.Key) -> None:
        """Digits are views."""
        if event.character and event.character in "1234":
            self.view = int(event.character) - 1
            self._show()

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another artifact."""
        self._show()

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """A worker's prompt."""
        self.action_open()

    def action_open(self) -> None:
        """The call of the worker that left this artifact, exactly as it was sent."""
        artifact = self.artifact
        name = worker_name(artifact.id) if artifact else ""
        call = next((effect for effect in self.effects if effect.name == name), None)
        if call is None:
            handing.note(self.app, "no worker's call stands behind this line")
            return
        self.app.push_screen(InspectScreen(self.effects, call.number, self._title))

    def action_view(self) -> None:
        """The next view."""
        self.view = (self.view + 1) % len(VIEWS)
        self._show()

    def action_find(self) -> None:
        """Ask for words."""
        self.query_one(FindBar).ask()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Mark the words."""
        pane = self.query_one("#page", Pane)
        pane.find(message.words)
        pane.next_found()

    def on_find_bar_closed(self) -> None:
        """Back to the tree."""
        self.query_one("#tree", Listing).focus()

    def action_next(self) -> None:
        """The next place found."""
        self.query_one("#page", Pane).next_found()

    def action_previous(self) -> None:
        """The previous place found."""
        self.query_one("#page", Pane).next_found(False)

    def action_copy(self) -> None:
        """Copy the artifact's body as it is, or the view's text."""
        artifact = self.artifact
        body = artifact.body if artifact and self.view == 0 else self.query_one("#page", Pane).text
        handing.copy(self.app, body)

    def action_save(self) -> None:
        """Write the view's text to a file."""
        handing.save(self.app, f"{self._title or 'run'}-artifacts.txt", self.query_one("#page", Pane).text)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


def layered(found: Trace, rows: Sequence[Row]) -> list[Row | str]:
    """The artifacts by depth under a heading each, then the notes."""
    by_id = {row.id: row for row in rows}
    listed: list[Row | str] = []
    for depth, ids in enumerate(layers(found)):
        listed += [f"depth {depth}", *(by_id[id] for id in ids)]
    notes = [row for row in rows if row.kind == "note"]
    return [*listed, "notes", *notes] if notes else listed
