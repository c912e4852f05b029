"""One program of Expert Python: its code, what it gave, within which limits, and running it again.

Running again asks no model: the recorded program goes into the sandbox of this machine, and what
it gives now stands below what was recorded.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui import sources
from meta_tui.chat import CodeResult, Program
from meta_tui.display import one_line
from meta_tui.errors import MetaTuiError
from meta_tui.events import CodeFinished, CodeStarted
from meta_tui.tui import crash, handing, present
from meta_tui.tui.keymap import bindings
from meta_tui.tui.state import Block, EffectView, code_facts
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.pane import Pane

NARROW = 100
"""Cells below which code and output stand above each other."""

NOT_YET = "! runs this program again in the sandbox of this machine and compares; no model is asked."
SAME = "the same as recorded: status, output, value and error"


class ProgramScreen(Screen[None]):
    """Code on the left; on the right what was recorded, and what it gives here.

    Args:
        effect: a program of a run.
        title: name of the run.
    """

    CSS_PATH = "program.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"rerun find next previous copy save help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("!", "Run again"),
        ("tab", "Pane"),
        ("/", "Find"),
        ("y", "Copy"),
        ("Y", "Save"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "A program that a model wrote. On the left its code, ▶ at the line of an error; on the right what "
        "was recorded when it ran: output, error, result. ! runs it again in the sandbox of this machine "
        "and shows what it gives now; that costs nothing and leaves the recorded run as it is."
    )

    def __init__(self, effect: EffectView, title: str = "") -> None:
        super().__init__()
        assert isinstance(effect.started, CodeStarted)
        self.effect = effect
        self.program: Program = effect.started.program
        self.given: CodeResult | None = None
        self.differences: list[str] = []
        self._title = title
        self._busy = False

    def compose(self) -> ComposeResult:
        """Status, code, both outputs, limits, hints."""
        yield Static(id="status", classes="bar", markup=False)
        with Horizontal(id="body"):
            yield Pane(tail=False, id="code")
            with Vertical(id="outputs"):
                yield Pane(tail=False, id="recorded")
                yield Pane(tail=False, id="here")
        yield FindBar()
        yield Static(id="limits", markup=False)
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Show what was recorded."""
        effect = self.effect
        head = f"{self._title} · effect {effect.number} · {effect.name} · round {effect.round or '-'}"
        self.query_one("#status", Static).update(Content(f"PROGRAM  {one_line(head, 150)}"))
        self.query_one("#limits", Static).update(Content(limits(self.program)))
        code, recorded, here = (self.query_one(f"#{name}", Pane) for name in ("code", "recorded", "here"))
        code.caption("code", _outcome(effect))
        code.show(present.asked(effect))
        recorded.caption("recorded")
        recorded.show(present.answer(effect))
        here.caption("here")
        here.show((Block("asked", (NOT_YET,)),))
        code.focus()

    def on_resize(self) -> None:
        """One above the other where there is little room."""
        self.set_class(self.size.width < NARROW, "-narrow")

    def action_rerun(self) -> None:
        """Run the recorded program again, once at a time."""
        if getattr(self.app, "playback_only", False):
            handing.note(self.app, "this page runs no programs", warn=True)
        elif not self._busy:
            self._busy = True
            self.query_one("#here", Pane).caption("here", "● running")
            self.run_worker(self._rerun(), exit_on_error=False, group="rerun")

    async def _rerun(self) -> None:
        try:
            self.given = await rerun(self.program)
        except MetaTuiError as error:
            self._tell((Block("failure", (str(error),)),), "✗ not run")
        except Exception as error:  # noqa: BLE001 - the worker's boundary: a person must read it
            self._tell((Block("failure", (crash.report(error),)),), "✗ not run")
        else:
            self._compare(self.given)
        self._busy = False

    def _compare(self, given: CodeResult) -> None:
        outcome = self.effect.outcome
        shown = present.result_blocks(given)
        if not isinstance(outcome, CodeFinished):
            self._tell(shown, code_facts(given, None))
            return
        self.differences = sources.code_differences(outcome.result, given)
        said = [Block("failure", (line,)) for line in self.differences] or [Block("sent", (SAME,))]
        same = "✗ differs" if self.differences else "✓ the same"
        self._tell((*said, *shown), f"{same} · {code_facts(given, None)}")

    def _tell(self, blocks: tuple[Block, ...], facts: str) -> None:
        pane = self.query_one("#here", Pane)
        pane.clear()
        pane.caption("here", facts)
        pane.show(blocks)

    def action_find(self) -> None:
        """Ask for words."""
        self.query_one(FindBar).ask()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Mark the words in every pane."""
        for pane in self.query(Pane):
            pane.find(message.words)

    def on_find_bar_closed(self) -> None:
        """Back to the code, at the first place found."""
        self.query_one("#code", Pane).focus()
        self.action_next()

    def action_next(self) -> None:
        """The next place found."""
        self._to_found(True)

    def action_previous(self) -> None:
        """The previous place found."""
        self._to_found(False)

    def _to_found(self, forward: bool) -> None:
        order = sorted(self.query(Pane), key=lambda pane: pane is not self.focused)
        found = next((pane for pane in order if pane.next_found(forward)), None)
        if found is not None:
            found.focus()

    def action_copy(self) -> None:
        """The program, or the output that is focused, as it is."""
        outcome = self.effect.outcome
        focused = self.focused.id if self.focused else ""
        if focused == "recorded" and isinstance(outcome, CodeFinished):
            handing.copy(self.app, outcome.result.stdout)
        elif focused == "here" and self.given is not None:
            handing.copy(self.app, self.given.stdout)
        else:
            handing.copy(self.app, self.program.code)

    def action_save(self) -> None:
        """Write the program to a file."""
        handing.save(self.app, f"{self._title or 'run'}-{self.effect.number}.py.txt", self.program.code)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


async def rerun(program: Program) -> CodeResult:
    """Run a program in the sandbox of this machine.

    Raises:
        CallFailed: no program can be run here.
        UsageError: `strict` is set and a layer is missing.
    """
    from meta_tui import config
    from meta_tui.sandbox import Sandbox

    strict = config.resolve().settings.sandbox == "strict"
    async with Sandbox(pool=1, strict=strict) as sandbox:
        result, _ = await sandbox.execute(program)
    return result


def limits(program: Program) -> str:
    """`limits: 5 s · 1,024 MiB · 65,536 bytes of output · profile policy`."""
    bounds = program.limits
    return (
        f"limits: {bounds.seconds:g} s · {bounds.memory >> 20:,} MiB · {bounds.output:,} bytes of output · "
        f"profile {program.profile}"
    )


def _outcome(effect: EffectView) -> str:
    outcome = effect.outcome
    return code_facts(outcome.result, outcome.how) if isinstance(outcome, CodeFinished) else "● running"
