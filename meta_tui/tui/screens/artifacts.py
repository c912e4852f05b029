"""The artifacts of a run with workers: tree, graph, memory index, budget; live or recorded.

Drawn from the trace of the run's events (`methods.artifacts`) and nothing else; a worker opens in
the inspector with its exact prompt. Marks are shapes and words, never a colour alone. Whether an
artifact is correct is not known here: shown are the verdicts of Assess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from meta_tui.display import one_line
from meta_tui.evaluation.drawing import budget_text, graph_text, mark, memory_text
from meta_tui.events import AnyEvent
from meta_tui.methods.artifacts import Artifact, Row, Trace, layers, trace, tree, worker_name
from meta_tui.tui import handing, words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.screens.paged import UNREADABLE, PagedScreen
from meta_tui.tui.state import Block, EffectView
from meta_tui.tui.widgets.listing import Listing, Part

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


class ArtifactsScreen(PagedScreen):
    """Artifacts of a run, one at a time, and how they hang together.

    Args:
        look: what is known of the run now; asked again while the screen is open.
        title: name of the run.
    """

    CSS_PATH = "artifacts.tcss"
    HEAD, VIEWS, LIST, HOME = "ARTIFACTS", VIEWS, "tree", "tree"
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
        super().__init__(title)
        self._look = look
        self._seen = -1
        self.trace = Trace()
        self.rows: list[Row] = []
        self.listed: list[Row | str] = []
        self.effects: Sequence[EffectView] = ()

    def on_mount(self) -> None:
        """Show the run as it is now, and go on looking."""
        self.refresh_trace()
        self.set_interval(0.5, self.refresh_trace)

    def refresh_trace(self) -> None:
        """Take what came since the last look."""
        events_, effects = self._look()
        if len(events_) == self._seen:
            return
        self._seen = len(events_)
        try:
            found = trace(events_)
            self.trace, self.rows, self.effects = found, tree(found), effects
        except UNREADABLE as error:
            self.unreadable(error)
        else:
            self.show()

    @property
    def artifact(self) -> Artifact | None:
        """The artifact under the cursor."""
        row = self.listing.cursor
        one = self.listed[row] if row < len(self.listed) else ""
        return None if isinstance(one, str) else next(a for a in self.trace.artifacts if a.id == one.id)

    def _list(self) -> None:
        """The tree, which becomes layers by depth in the view of the graph."""
        self.listed = layered(self.trace, self.rows) if self.view == GRAPH else [*self.rows]
        self.listing.fill(len(self.listed))

    def show(self) -> None:
        """The artifact, or the view of all of them."""
        self._list()
        found = self.trace
        head = f"{self._title} · {words.count(len(found.workers), 'artifact')} · "
        head += words.count(len(found.strip), "call")
        head += f" of {found.budget}" if found.budget else ""
        self.put(head, VIEWS[self.view], "", self._page())

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

    def paint_row(self, row: int, width: int) -> list[Part]:
        """An artifact with its mark, or the head of a layer."""
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

    def action_copy(self) -> None:
        """Copy the artifact's body as it is, or the view's text."""
        artifact = self.artifact
        body = artifact.body if artifact and self.view == 0 else self.page.text
        handing.copy(self.app, body)


def layered(found: Trace, rows: Sequence[Row]) -> list[Row | str]:
    """The artifacts by depth under a heading each, then the notes."""
    by_id = {row.id: row for row in rows}
    listed: list[Row | str] = []
    for depth, ids in enumerate(layers(found)):
        listed += [f"depth {depth}", *(by_id[id] for id in ids)]
    notes = [row for row in rows if row.kind == "note"]
    return [*listed, "notes", *notes] if notes else listed
