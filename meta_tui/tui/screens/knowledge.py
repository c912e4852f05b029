"""What a stream learned: its batches, what each changed, how long rules live, who retrieved them.

Drawn from the history of the run's events (`methods.mc2.history`) and nothing else; live or
recorded. What the runs themselves said stands in the run screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from meta_tui.display import one_line
from meta_tui.events import AnyEvent
from meta_tui.methods.mc2.history import Change, History, Lifetime, history
from meta_tui.methods.mc2.passes import Pass, passes
from meta_tui.methods.mc2.trace import LETTERS, TITLES
from meta_tui.tui import words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.screens.paged import UNREADABLE, PagedScreen
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.listing import Part

Look = Callable[[], Sequence[AnyEvent]]
"""What is known of the run now."""

VIEWS = ("changes", "lifetimes", "retrieved", "instances", "passes")


class KnowledgeScreen(PagedScreen):
    """Knowledge of a stream, batch by batch.

    Args:
        look: asked again while the screen is open.
        title: name of the run.
    """

    CSS_PATH = "knowledge.tcss"
    HEAD, VIEWS, LIST, HOME = "KNOWLEDGE", VIEWS, "batches", "batches"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"view find next previous copy save help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("j k", "Batch"),
        ("v 1-5", "View"),
        ("/", "Find"),
        ("y", "Copy"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "What a stream learned. On the left its batches: + rules added, ~ merged, - dropped, over all roles, "
        "and how many answers were right where the run was told. On the right what the batch did to each "
        "role's checklist, how long each rule stands, which instances retrieved which rule, or the batch's "
        "instances: their actions (a accept, p patch, r restart) and quality; or what each pass over the "
        "stream changed against the one before."
    )

    def __init__(self, look: Look, title: str = "") -> None:
        super().__init__(title)
        self._look = look
        self._seen = -1
        self.history = History()
        self.batches: list[int] = []

    def on_mount(self) -> None:
        """Show the run as it is now, and go on looking."""
        self.refresh_history()
        self.set_interval(0.5, self.refresh_history)

    def refresh_history(self) -> None:
        """Take what came since the last look."""
        found = self._look()
        if len(found) == self._seen:
            return
        self._seen = len(found)
        try:
            self.history = history(found)
        except UNREADABLE as error:
            self.unreadable(error)
            return
        self.batches = sorted({one.batch for one in self.history.instances})
        self.listing.fill(len(self.batches))
        self.show()

    @property
    def shown(self) -> int:
        """The batch under the cursor; 0 where there is none."""
        row = self.listing.cursor
        return self.batches[row] if row < len(self.batches) else 0

    def show(self) -> None:
        """The batch, in the view that is chosen."""
        head = f"{self._title} · {words.count(len(self.batches), 'batch', 'batches')} · "
        head += words.count(len(self.history.instances), "instance")
        caption = f"batch {self.shown}: {VIEWS[self.view]}"
        self.put(head, caption, "", page(self.history, self.shown, self.view))

    def paint_row(self, row: int, width: int) -> list[Part]:
        """A batch: what it did, and how many answers were right."""
        batch = self.batches[row]
        known = [one for one in self.history.instances if one.batch == batch and one.right is not None]
        right = f"   {sum(one.right is True for one in known)}/{len(known)} right" if known else ""
        return [(f"{batch:>3} ", "quiet"), (f"{counted(self.history, batch)}{right}", "")]


def counted(found: History, batch: int) -> str:
    """`+3 ~1 -0`: what a batch did to all checklists together."""
    own = [change for change in found.changes() if change.batch == batch]
    added, merged, dropped = (sum(len(getattr(c, n)) for c in own) for n in ("added", "merged", "dropped"))
    return f"+{added} ~{merged} -{dropped}" if own else "learned nothing yet"


def page(found: History, batch: int, view: int) -> tuple[Block, ...]:
    """The blocks of a view on a batch."""
    return (_changes, _lifetimes, _retrieved, _instances, _passes)[view](found, batch)


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
    last = max((after.batch for _, after in found.checklists), default=0)
    return tuple(
        Block("stored", (life.rule.text,), f"{_bar(life, last)} {TITLES[life.role]}, {_batches(life)}")
        for life in found.lifetimes()
    ) or _nothing("no rule yet")


def _bar(life: Lifetime, last: int) -> str:
    """One cell a batch up to the last: █ where the rule stands after it."""
    first = max(1, last - 39)
    return "".join("█" if batch in life.batches else "·" for batch in range(first, last + 1))


def _batches(life: Lifetime) -> str:
    return words.count(len(life.batches), "batch", "batches") + f": {', '.join(map(str, life.batches))}"


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


def _passes(found: History, batch: int) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for one in passes(found):
        graded = f", {one.right} of {one.graded} right" if one.graded else ""
        blocks.append(
            Block("round", (f"pass {one.number}: {words.count(one.instances, 'instance')}{graded}",))
        )
        facts = [f"{one.settled_at_once} settled at once, {words.count(one.restarts, 'restart')}"]
        facts += [f"{head}: {', '.join(names)}" for head, names in _turned(one) if names]
        blocks.append(Block("output", ("\n".join(facts),)))
        blocks += [block for change in one.changes for block in _change(change)]
    return tuple(blocks) or _nothing("no pass yet")


def _turned(one: Pass) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("now right", one.gained), ("now wrong", one.lost)


def _nothing(words: str) -> tuple[Block, ...]:
    return (Block("notice", (words,)),)
