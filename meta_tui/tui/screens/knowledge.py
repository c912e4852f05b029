"""What a stream learned: its batches, what each changed, how long rules live, who retrieved them.

Drawn from the history of the run's events (`methods.mc2.history`) and nothing else; live or
recorded. What the runs themselves said stands in the run screen.
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
from meta_tui.events import AnyEvent
from meta_tui.methods.mc2.history import Change, History, history
from meta_tui.methods.mc2.trace import LETTERS, TITLES
from meta_tui.tui import handing, words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

Look = Callable[[], Sequence[AnyEvent]]
"""What is known of the run now."""

NARROW = 100
"""Cells below which the batches stand above the page."""

VIEWS = ("changes", "lifetimes", "retrieved", "instances")


class KnowledgeScreen(Screen[None]):
    """Knowledge of a stream, batch by batch.

    Args:
        look: asked again while the screen is open.
        title: name of the run.
    """

    CSS_PATH = "knowledge.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"view find next previous copy save help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("j k", "Batch"),
        ("v 1-4", "View"),
        ("/", "Find"),
        ("y", "Copy"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "What a stream learned. On the left its batches: + rules added, ~ merged, - dropped, over all roles, "
        "and how many answers were right where the run was told. On the right what the batch did to each "
        "role's checklist, how long each rule stands, which instances retrieved which rule, or the batch's "
        "instances: their actions (a accept, p patch, r restart) and quality."
    )

    def __init__(self, look: Look, title: str = "") -> None:
        super().__init__()
        self._look = look
        self._title = title
        self._seen = -1
        self.view = 0
        self.history = History()
        self.batches: list[int] = []

    def compose(self) -> ComposeResult:
        """Status, list, page, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Static(id="views", markup=False)
        with Horizontal(id="body"):
            yield Listing(self._paint_batch, id="batches")
            yield Pane(tail=False, id="page")
        yield FindBar()
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Show the run as it is now, and go on looking."""
        self.query_one("#batches", Listing).focus()
        self.refresh_history()
        self.set_interval(0.5, self.refresh_history)

    def on_resize(self) -> None:
        """The list goes above the page where there is no room beside it."""
        self.set_class(self.size.width < NARROW, "-narrow")

    def refresh_history(self) -> None:
        """Take what came since the last look."""
        found = self._look()
        if len(found) == self._seen:
            return
        self._seen = len(found)
        self.history = history(found)
        self.batches = sorted({one.batch for one in self.history.instances})
        self.query_one("#batches", Listing).fill(len(self.batches))
        self._show()

    @property
    def shown(self) -> int:
        """The batch under the cursor; 0 where there is none."""
        row = self.query_one("#batches", Listing).cursor
        return self.batches[row] if row < len(self.batches) else 0

    def _show(self) -> None:
        head = f"{self._title} · {words.count(len(self.batches), 'batch', 'batches')} · "
        head += words.count(len(self.history.instances), "instance")
        self.query_one("#status", Static).update(Content(f"KNOWLEDGE  {one_line(head, 150)}"))
        names = [f"{'▸' if i == self.view else ' '}{i + 1} {name}" for i, name in enumerate(VIEWS)]
        self.query_one("#views", Static).update(Content("   ".join(names)))
        pane = self.query_one("#page", Pane)
        pane.clear()
        pane.caption(f"batch {self.shown}: {VIEWS[self.view]}", "")
        pane.show(page(self.history, self.shown, self.view))

    def _paint_batch(self, row: int, width: int) -> list[Part]:
        batch = self.batches[row]
        known = [one for one in self.history.instances if one.batch == batch and one.right is not None]
        right = f"   {sum(one.right is True for one in known)}/{len(known)} right" if known else ""
        return [(f"{batch:>3} ", "quiet"), (f"{counted(self.history, batch)}{right}", "")]

    def on_key(self, event: events.Key) -> None:
        """Digits are views."""
        if event.character and event.character in "1234":
            self.view = int(event.character) - 1
            self._show()

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another batch."""
        self._show()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Mark the words."""
        pane = self.query_one("#page", Pane)
        pane.find(message.words)
        pane.next_found()

    def on_find_bar_closed(self) -> None:
        """Back to the batches."""
        self.query_one("#batches", Listing).focus()

    def action_view(self) -> None:
        """The next view."""
        self.view = (self.view + 1) % len(VIEWS)
        self._show()

    def action_find(self) -> None:
        """Ask for words."""
        self.query_one(FindBar).ask()

    def action_next(self) -> None:
        """The next place found."""
        self.query_one("#page", Pane).next_found()

    def action_previous(self) -> None:
        """The previous place found."""
        self.query_one("#page", Pane).next_found(False)

    def action_copy(self) -> None:
        """Copy the page."""
        handing.copy(self.app, self.query_one("#page", Pane).text)

    def action_save(self) -> None:
        """Write the page to a file."""
        handing.save(self.app, f"{self._title or 'run'}-knowledge.txt", self.query_one("#page", Pane).text)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


def counted(found: History, batch: int) -> str:
    """`+3 ~1 -0`: what a batch did to all checklists together."""
    own = [change for change in found.changes() if change.batch == batch]
    added, merged, dropped = (sum(len(getattr(c, n)) for c in own) for n in ("added", "merged", "dropped"))
    return f"+{added} ~{merged} -{dropped}" if own else "learned nothing yet"


def page(found: History, batch: int, view: int) -> tuple[Block, ...]:
    """The blocks of a view on a batch."""
    return (_changes, _lifetimes, _retrieved, _instances)[view](found, batch)


def _changes(found: History, batch: int) -> tuple[Block, ...]:
    own = [change for change in found.changes() if change.batch == batch]
    return tuple(block for change in own for block in _change(change)) or _nothing("no checklist yet")


def _change(change: Change) -> list[Block]:
    merged = [
        f"{merge.into.text}\n(was: {'; '.join(old.text for old in merge.of)})" for merge in change.merged
    ]
    groups = (
        ("added", "added", [rule.text for rule in change.added]),
        ("stored", "merged", merged),
        ("removed", "dropped", [rule.text for rule in change.dropped]),
        ("stored", "kept", [rule.text for rule in change.kept]),
    )
    counts = ", ".join(f"{len(rules)} {note}" for _, note, rules in groups)
    head = Block("round", (f"{TITLES[change.role]}: {counts}",))
    return [head, *(
        Block(kind, (rule,), f"{TITLES[change.role]}, {note}")  # type: ignore[arg-type]
        for kind, note, rules in groups
        for rule in rules
    )]  # fmt: skip


def _lifetimes(found: History, batch: int) -> tuple[Block, ...]:
    return tuple(
        Block(
            "stored", (life.rule.text,), f"{TITLES[life.role]}, batches {', '.join(map(str, life.batches))}"
        )
        for life in found.lifetimes()
    ) or _nothing("no rule yet")


def _retrieved(found: History, batch: int) -> tuple[Block, ...]:
    by, blocks = found.retrieved_by(), []
    for role, lesson in found.lessons:
        for place, rule in enumerate(lesson.rules, 1):
            id_ = f"{LETTERS[role]}{lesson.batch}.{place}"
            if id_ in by:
                blocks.append(Block("stored", (f"{rule.text}\nby {', '.join(by[id_])}",), id_))
    return tuple(blocks) or _nothing("nothing was retrieved yet")


def _instances(found: History, batch: int) -> tuple[Block, ...]:
    lines = []
    for one in found.instances:
        if one.batch == batch:
            flag = {True: "right", False: "wrong", None: "-"}[one.right]
            actions = "".join(action[0] for action in one.actions) or "-"
            answer = one_line(one.answer or "no answer", 60)
            lines.append(f"{one.sample:<14} {flag:<6} {one.quality or '-'}  {actions:<4} {answer}")
    return (Block("stored", ("\n".join(lines),), f"batch {batch}"),) if lines else _nothing("none yet")


def _nothing(words: str) -> tuple[Block, ...]:
    return (Block("notice", (words,)),)
