"""Small questions to the person: choose one, give a word, write a text, read a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static, TextArea

from meta_tui.display import clean
from meta_tui.tui.keymap import bindings
from meta_tui.tui.widgets.listing import Listing, Part


class Dialog(Vertical):
    """The frame of a question."""

    DEFAULT_CSS = """
    Dialog {
        width: 84; max-width: 100%; height: auto; max-height: 100%;
        border: round $run; background: $background; padding: 0 1;
    }
    Dialog > .text { width: 100%; height: auto; padding: 0 0 1 0; }
    Dialog > .keys { width: 100%; height: auto; color: $quiet; padding: 1 0 0 0; }
    Dialog TextArea { height: 12; border: tall $line; background: $background; }
    Dialog TextArea:focus { border: tall $run; }
    Dialog Input { border: tall $line; background: $background; }
    """

    def __init__(self, title: str, *children: Static | Listing | Input | TextArea) -> None:
        super().__init__(*children)
        self.border_title = Content(clean(title) or "?")


def text(words: str, classes: str = "text") -> Static:
    """Words of ours or a model's, never parsed."""
    return Static(Content(clean(words)), classes=classes, markup=False)


class Choice(ModalScreen[int | None]):
    """One of a few; gives its number, or None."""

    DEFAULT_CSS = "Choice { align: center middle; } Choice Listing { height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = bindings(("back",))

    def __init__(self, title: str, words: str, options: Sequence[str]) -> None:
        super().__init__()
        self._title, self._words, self.options = title, words, list(options)

    def compose(self) -> ComposeResult:
        """The question and its answers."""
        listing = Listing(self._paint)
        listing.styles.height = len(self.options)
        with Dialog(self._title):
            yield text(self._words)
            yield listing
            yield text("enter choose   esc neither", "keys")

    def on_mount(self) -> None:
        """The first answer is under the cursor."""
        listing = self.query_one(Listing)
        listing.fill(len(self.options), 0)
        listing.focus()

    def _paint(self, row: int, width: int) -> list[Part]:
        return [(f" {clean(self.options[row])} ", "")]

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """That one."""
        message.stop()
        self.dismiss(message.row)

    def action_back(self) -> None:
        """None of them."""
        self.dismiss(None)


class Word(ModalScreen[str | None]):
    """A short text on one line; gives it, or None."""

    DEFAULT_CSS = "Word { align: center middle; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", show=False)]

    def __init__(self, title: str, words: str, value: str = "") -> None:
        super().__init__()
        self._title, self._words, self._value = title, words, value

    def compose(self) -> ComposeResult:
        """The question and a line."""
        line = Input(self._value)
        line.cursor_blink = False
        with Dialog(self._title):
            yield text(self._words)
            yield line
            yield text("enter done   esc never mind", "keys")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Done."""
        self.dismiss(event.value)

    def action_back(self) -> None:
        """Never mind."""
        self.dismiss(None)


class Page(ModalScreen[str | None]):
    """A longer text to be written or changed; gives it, or None. Pasting keeps every line."""

    DEFAULT_CSS = "Page { align: center middle; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("ctrl+j,ctrl+enter,ctrl+s", "done", show=False, priority=True),
    ]

    def __init__(self, title: str, words: str, value: str = "", done: str = "done") -> None:
        super().__init__()
        self._title, self._words, self._value, self._done = title, words, value, done

    def compose(self) -> ComposeResult:
        """The question and a field."""
        field = TextArea(self._value, soft_wrap=True)
        field.cursor_blink = False
        with Dialog(self._title):
            yield text(self._words)
            yield field
            yield text(f"ctrl+s {self._done}   esc never mind", "keys")

    def on_mount(self) -> None:
        """Write at once."""
        self.query_one(TextArea).focus()

    def action_done(self) -> None:
        """Done."""
        self.dismiss(self.query_one(TextArea).text)

    def action_back(self) -> None:
        """Never mind."""
        self.dismiss(None)


class Say(ModalScreen[None]):
    """Something that a person must know before going on."""

    DEFAULT_CSS = "Say { align: center middle; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q,space", "back", show=False)]

    def __init__(self, title: str, words: str) -> None:
        super().__init__()
        self._title, self.words = title, words

    def compose(self) -> ComposeResult:
        """The words."""
        with Dialog(self._title):
            yield text(self.words)
            yield text("enter closes", "keys")

    def action_back(self) -> None:
        """Close."""
        self.dismiss()
