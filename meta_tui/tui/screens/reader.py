"""One reply as Markdown, for reading; what counts is always the raw text in the pane.

Markdown swallows tags, joins lines and turns stars into emphasis, so it is a second look and
never the first. Links are not followed, and code fences survive being cut anywhere.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Markdown, Static
from textual.widgets._markdown import MarkdownFence

from meta_tui.display import clean
from meta_tui.tui.keymap import bindings

LONGEST = 20_000
"""Characters; Markdown takes seconds for more."""

TOO_LONG = "This reply is too long to be read as Markdown; the pane shows all of it as it is."


class SafeFence(MarkdownFence):
    """A code fence whose highlighting cannot end the app."""

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = True) -> Content:
        """The code with those spans that lie inside it."""
        try:
            shown = super().highlight(code, language, ansi, dark)
        except Exception:  # noqa: BLE001 - any lexer may fail on text that a model wrote
            return Content(code)
        return Content(shown.plain, [s for s in shown.spans if 0 <= s.start < s.end <= len(shown.plain)])


class SafeMarkdown(Markdown):
    """Markdown that opens no link by itself."""

    BLOCKS = {**Markdown.BLOCKS, "fence": SafeFence, "code_block": SafeFence}  # noqa: RUF012 - Textual reads it from the instance


class ReaderScreen(ModalScreen[None]):
    """A reply as Markdown."""

    DEFAULT_CSS = """
    ReaderScreen { align: center middle; }
    ReaderScreen VerticalScroll {
        width: 100; max-width: 100%; height: 90%;
        border: round $run; background: $background; padding: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(("back", "markdown"))

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = clean(text)

    def compose(self) -> ComposeResult:
        """The page."""
        with VerticalScroll() as page:
            page.border_title = Content("read as Markdown")
            page.border_subtitle = Content("m or q closes")
            if len(self._text) > LONGEST:
                yield Static(TOO_LONG, markup=False)
            else:
                yield SafeMarkdown(self._text, open_links=False)

    def action_back(self) -> None:
        """Close."""
        self.dismiss()

    def action_markdown(self) -> None:
        """Close."""
        self.dismiss()
