"""Copy-paste solving: one prompt to be taken to a web chat, and a field for its reply."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from meta_tui.tui import handing
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.pane import Pane


class PasteScreen(ModalScreen[str | None]):
    """A prompt and the field for its reply; gives the reply, or None to stop the run."""

    DEFAULT_CSS = """
    PasteScreen { align: center middle; }
    PasteScreen #box { width: 94%; height: 94%; background: $background; }
    PasteScreen #prompt { height: 1fr; }
    PasteScreen #reply { height: 1fr; border: round $line; background: $background; }
    PasteScreen #reply:focus { border: round $run; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+j,ctrl+enter", "done", show=False, priority=True),
        Binding("escape", "stop", show=False),
        Binding("ctrl+y", "copy", show=False, priority=True),
    ]

    def __init__(self, prompt: str, number: int) -> None:
        super().__init__()
        self._prompt = prompt
        self._number = number

    def compose(self) -> ComposeResult:
        """The prompt above, the reply below."""
        with Vertical(id="box"):
            yield Pane(tail=False, id="prompt")
            yield TextArea(id="reply", soft_wrap=True)
            yield Static(id="said", markup=False)
            yield Hints(
                (("ctrl+s", "Hand in the reply"), ("ctrl+y", "Copy the prompt"), ("esc", "Stop the run"))
            )

    def on_mount(self) -> None:
        """The prompt is on the clipboard before anything is asked."""
        pane = self.query_one("#prompt", Pane)
        pane.caption(f"prompt {self._number}: paste it into a new chat", f"{len(self._prompt):,} characters")
        pane.show((Block("reply", (self._prompt,)),))
        field = self.query_one("#reply", TextArea)
        field.cursor_blink = False
        field.border_title = Content("paste the reply here")
        field.focus()
        self.action_copy()

    def action_copy(self) -> None:
        """Send the prompt to the terminal's clipboard."""
        handing.copy(self.app, self._prompt)

    def action_done(self) -> None:
        """Hand in the reply."""
        text = self.query_one("#reply", TextArea).text
        if text.strip():
            self.dismiss(text)
        else:
            handing.note(self.app, "paste the reply first, or esc to stop the run", warn=True)

    def action_stop(self) -> None:
        """Stop the run; it can be resumed."""
        self.dismiss(None)
