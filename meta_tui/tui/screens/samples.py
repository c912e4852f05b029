"""Samples of the tasks that come with meta-tui or with a plug-in, to choose a question from."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from meta_tui.display import one_line
from meta_tui.errors import UsageError
from meta_tui.tui.screens.dialogs import Dialog, text
from meta_tui.tui.widgets.listing import Listing, Part


class Offer(NamedTuple):
    """A sample: its name (`game24:17`), what it asks for in short, and its question in full."""

    name: str
    short: str
    question: str


def offers() -> tuple[list[Offer], list[str]]:
    """Every sample of every shipped task, the first ones of plug-ins' tasks, and a sentence for
    each plug-in that cannot be used.

    Raises:
        UsageError: a task file is damaged.
    """
    from meta_tui.tasks import foreign, loaders

    found = [offer for task in loaders.shipped() for offer in _of_task(task)]
    tasks, problems = foreign()
    for task in tasks:
        try:
            found += _of_task(task)
        except UsageError as error:
            problems.append(str(error))
    return found, problems


def _of_task(task: str) -> list[Offer]:
    from meta_tui.tasks import family, loaders

    asked = family(task).question
    return [
        Offer(f"{one.task}:{one.index}", one_line(one.input, 200), asked(one))
        for one in loaders.samples(task)
    ]


class SamplesScreen(ModalScreen[Offer | None]):
    """A list that is filtered while one types."""

    DEFAULT_CSS = """
    SamplesScreen { align: center middle; }
    SamplesScreen Dialog { width: 100; height: 80%; }
    SamplesScreen Listing { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("down", "down", show=False, priority=True),
        Binding("up", "up", show=False, priority=True),
    ]

    def __init__(self, known: list[Offer]) -> None:
        super().__init__()
        self._known = known
        self.shown = known

    def compose(self) -> ComposeResult:
        """Words above, samples below."""
        line = Input(placeholder="words: a task, a number, part of the question", compact=True)
        line.cursor_blink = False
        with Dialog("choose a sample"):
            yield line
            yield Listing(self._paint)
            yield text("type to filter   up down choose   enter take   esc never mind", "keys")

    def on_mount(self) -> None:
        """All of them at first."""
        self.query_one(Listing).fill(len(self.shown), 0)
        self.query_one(Input).focus()

    def _paint(self, row: int, width: int) -> list[Part]:
        offer = self.shown[row]
        return [(f" {offer.name:<16}", "run"), (offer.short, "")]

    def on_input_changed(self, event: Input.Changed) -> None:
        """Only those with all the words."""
        event.stop()
        words = event.value.lower().split()
        self.shown = [o for o in self._known if all(w in f"{o.name} {o.short}".lower() for w in words)]
        self.query_one(Listing).fill(len(self.shown), 0)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the one under the cursor."""
        event.stop()
        self._take(self.query_one(Listing).cursor)

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """Take that one."""
        message.stop()
        self._take(message.row)

    def _take(self, row: int) -> None:
        if row < len(self.shown):
            self.dismiss(self.shown[row])

    def action_down(self) -> None:
        """The next sample."""
        self.query_one(Listing).action_down()

    def action_up(self) -> None:
        """The sample before."""
        self.query_one(Listing).action_up()

    def action_back(self) -> None:
        """None of them."""
        self.dismiss(None)
