"""A line in which one types the words to find; it is there only while it is needed."""

from __future__ import annotations

from textual.message import Message
from textual.widgets import Input


class FindBar(Input):
    """Asks for words. `enter` finds, `escape` closes."""

    class Asked(Message):
        """Words were given; empty words end the search."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Closed(Message):
        """The line was left."""

    def __init__(self, prompt: str = "find") -> None:
        super().__init__(placeholder=prompt, classes="find", compact=True)
        self.cursor_blink = False

    def on_mount(self) -> None:
        """Hidden until it is asked for."""
        self.display = False

    def ask(self) -> None:
        """Show the line and wait for words."""
        self.display = True
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Find while one types."""
        event.stop()
        self.post_message(self.Asked(self.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Leave the words standing."""
        event.stop()
        self.display = False
        self.post_message(self.Closed())

    def key_escape(self) -> None:
        """Forget the words."""
        self.value = ""
        self.display = False
        self.post_message(self.Asked(""))
        self.post_message(self.Closed())
