"""The call inspector: one call of a run, exactly as it was sent and answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.display import one_line
from meta_tui.events import CodeFinished, Replied, Requested
from meta_tui.tui import handing, present, words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.screens.program import ProgramScreen
from meta_tui.tui.state import EffectView, code_facts, reply_facts
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

NARROW = 100
"""Cells below which the list of calls is hidden."""


class InspectScreen(Screen[None]):
    """Calls of a run, one at a time.

    Args:
        effects: the calls so far.
        number: the one to show first, from 1.
        title: name of the run.
        lines: (span, n) -> line of a call's outcome in the log, for `fork --at`.
    """

    CSS_PATH = "inspect.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (
        *"call_back call_on view program copy save find next previous help back".split(),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("h l", "Call"),
        ("v 1-5", "View"),
        ("/", "Find"),
        ("y", "Copy"),
        ("P", "Program"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "One call of the run. Asked: the messages exactly as they were sent, characters that cannot be "
        "seen marked. Answer: what came back. Facts: key, parameters, tokens, time, cost and the line "
        "of the log that `meta-tui fork --at` takes. JSON: the "
        "events as they are recorded. Change: what is new against the call before."
    )

    def __init__(
        self,
        effects: Sequence[EffectView],
        number: int,
        title: str = "",
        lines: Mapping[tuple[str, int], int] | None = None,
    ) -> None:
        super().__init__()
        self.effects = list(effects)
        self.index = max(0, min(number - 1, len(effects) - 1))
        self.view = 0
        self._title = title
        self._lines = lines or {}

    def compose(self) -> ComposeResult:
        """Status, list, page, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Static(id="views", markup=False)
        with Horizontal(id="body"):
            yield Listing(self._paint_call, id="calls")
            yield Pane(tail=False, id="page")
        yield FindBar()
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Show the call."""
        self.query_one("#page", Pane).focus()
        self.query_one("#calls", Listing).fill(len(self.effects), self.index)
        self._show()

    def on_resize(self) -> None:
        """The list goes first."""
        self.set_class(self.size.width < NARROW, "-narrow")

    @property
    def effect(self) -> EffectView:
        """The call that is shown."""
        return self.effects[self.index]

    @property
    def line(self) -> int:
        """The line of the call's outcome in the log; 0 where it is not known."""
        return self._lines.get((self.effect.span, self.effect.n), 0)

    def _show(self) -> None:
        effect = self.effect
        head = f"{self._title} · call {self.index + 1} of {len(self.effects)} · {effect.kind} · "
        head += f"{one_line(effect.name, 40) or 'run'} · round {effect.round or '-'}"
        head += f" · line {self.line}" if self.line else ""
        self.query_one("#status", Static).update(Content(f"INSPECT  {one_line(head, 150)}"))
        names = [f"{'▸' if i == self.view else ' '}{i + 1} {name}" for i, name in enumerate(present.VIEWS)]
        self.query_one("#views", Static).update(Content("   ".join(names)))
        pane = self.query_one("#page", Pane)
        pane.clear()
        pane.caption(present.VIEWS[self.view], _facts(effect))
        pane.show(present.page(self.view, effect, present.previous(self.effects, effect), self.line))

    def _paint_call(self, row: int, width: int) -> list[Part]:
        effect = self.effects[row]
        glyph, _, colour = words.GLYPHS[effect.phase]
        kind = "" if effect.kind == "model" else f" {effect.kind}"
        where = f"r{effect.round}" if effect.round else ""
        return [
            (f"{row + 1:>3} ", "quiet"),
            (f"{glyph} ", colour),
            (f"{where:<4}{one_line(effect.name, 60)}{kind}", ""),
        ]

    def on_key(self, event: events.Key) -> None:
        """Digits are views."""
        if event.character and event.character in "12345":
            self.view = int(event.character) - 1
            self._show()

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another call."""
        self.index = message.row
        self._show()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Mark the words."""
        pane = self.query_one("#page", Pane)
        pane.find(message.words)
        pane.next_found()

    def on_find_bar_closed(self) -> None:
        """Back to the page."""
        self.query_one("#page", Pane).focus()

    def action_call_on(self) -> None:
        """The next call."""
        self._move(1)

    def action_call_back(self) -> None:
        """The previous call."""
        self._move(-1)

    def _move(self, step: int) -> None:
        self.index = max(0, min(self.index + step, len(self.effects) - 1))
        self.query_one("#calls", Listing).fill(len(self.effects), self.index)
        self._show()

    def action_view(self) -> None:
        """The next view."""
        self.view = (self.view + 1) % len(present.VIEWS)
        self._show()

    def action_program(self) -> None:
        """The program with its output, to be run again."""
        if self.effect.kind == "code":
            self.app.push_screen(ProgramScreen(self.effect, self._title))
        else:
            handing.note(self.app, "this call is no program; h and l step to one")

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
        """Copy the last message or the answer as it is."""
        handing.copy(self.app, exact(self.effect, self.view))

    def action_save(self) -> None:
        """Write the events as JSON."""
        name = f"{self._title}-call{self.effect.number}.json"
        handing.save(self.app, name, present.raw_json(self.effect))

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


def exact(effect: EffectView, view: int) -> str:
    """The text of a view as it was sent or came, for copying."""
    started, outcome = effect.started, effect.outcome
    if view == 0 and isinstance(started, Requested):
        return started.messages[-1].content if started.messages else ""
    if view == 1 and isinstance(outcome, Replied):
        return outcome.reply.text
    blocks = present.page(view, effect, None) if view < 4 else ()
    return "\n".join(block.text for block in blocks)


def _facts(effect: EffectView) -> str:
    match effect.outcome:
        case Replied():
            return reply_facts(effect.outcome) or words.state_word(effect.phase)
        case CodeFinished(result=result, how=how):
            return code_facts(result, how)
    return words.state_word(effect.phase)
