"""The call inspector: one call of a run, exactly as it was sent and answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import BindingType

from meta_tui.display import one_line
from meta_tui.events import CodeFinished, Replied, Requested
from meta_tui.tui import handing, present, words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.screens.paged import PagedScreen
from meta_tui.tui.screens.program import ProgramScreen
from meta_tui.tui.state import EffectView, code_facts, reply_facts
from meta_tui.tui.widgets.listing import Listing, Part


class InspectScreen(PagedScreen):
    """Calls of a run, one at a time.

    Args:
        effects: the calls so far.
        number: the one to show first, from 1.
        title: name of the run.
        lines: (span, n) -> line of a call's outcome in the log, for `fork --at`.
    """

    CSS_PATH = "inspect.tcss"
    HEAD, VIEWS, LIST, HOME = "INSPECT", present.VIEWS, "calls", "page"
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
        super().__init__(title)
        self.effects = list(effects)
        self.index = max(0, min(number - 1, len(effects) - 1))
        self._lines = lines or {}

    def on_mount(self) -> None:
        """Show the call."""
        self.listing.fill(len(self.effects), self.index)
        self.show()

    @property
    def effect(self) -> EffectView:
        """The call that is shown."""
        return self.effects[self.index]

    @property
    def line(self) -> int:
        """The line of the call's outcome in the log; 0 where it is not known."""
        return self._lines.get((self.effect.span, self.effect.n), 0)

    def show(self) -> None:
        """The call, in the view that is chosen."""
        effect = self.effect
        head = f"{self._title} · call {self.index + 1} of {len(self.effects)} · {effect.kind} · "
        head += f"{one_line(effect.name, 40) or 'run'} · round {effect.round or '-'}"
        head += f" · line {self.line}" if self.line else ""
        before = present.previous(self.effects, effect)
        page = present.page(self.view, effect, before, self.line)
        self.put(head, self.VIEWS[self.view], _facts(effect), page)

    def paint_row(self, row: int, width: int) -> list[Part]:
        """Number, state, round and name of a call."""
        effect = self.effects[row]
        glyph, _, colour = words.GLYPHS[effect.phase]
        kind = "" if effect.kind == "model" else f" {effect.kind}"
        where = f"r{effect.round}" if effect.round else ""
        return [
            (f"{row + 1:>3} ", "quiet"),
            (f"{glyph} ", colour),
            (f"{where:<4}{one_line(effect.name, 60)}{kind}", ""),
        ]

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another call."""
        self.index = message.row

    def action_call_on(self) -> None:
        """The next call."""
        self._move(1)

    def action_call_back(self) -> None:
        """The previous call."""
        self._move(-1)

    def _move(self, step: int) -> None:
        self.index = max(0, min(self.index + step, len(self.effects) - 1))
        self.listing.fill(len(self.effects), self.index)
        self.show()

    def action_program(self) -> None:
        """The program with its output, to be run again."""
        if self.effect.kind == "code":
            self.app.push_screen(ProgramScreen(self.effect, self._title))
        else:
            handing.note(self.app, "this call is no program; h and l step to one")

    def action_copy(self) -> None:
        """Copy the last message or the answer as it is."""
        handing.copy(self.app, exact(self.effect, self.view))

    def action_save(self) -> None:
        """Write the events as JSON."""
        name = f"{self._title}-call{self.effect.number}.json"
        handing.save(self.app, name, present.raw_json(self.effect))


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
