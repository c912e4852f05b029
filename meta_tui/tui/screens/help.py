"""Help: what the screen is for and what its keys mean, made from the table of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen, Screen

from meta_tui.tui.keymap import KEYS, bindings
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.pane import Pane

READING = (
    ("tab  1-9", "Focus the next pane, or a pane by its number."),
    ("j k  g G", "Scroll by a line; to the first and the last line."),
    ("ctrl+d ctrl+u", "Scroll by half a page."),
    ("ctrl+o", "Jump: a letter on all that can have the focus; press it."),
    ("w", "Wrap long lines, or show each on one row; shift+left, shift+right move them."),
    ("c", "The next theme."),
    ("ctrl+p", "Find any action by its name."),
    ("ctrl+q", "Leave meta-tui."),
)
"""Keys that every screen has."""


class HelpScreen(ModalScreen[None]):
    """The keys of the screen below."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen Pane { width: 84; max-width: 100%; height: 80%; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(("back", "help"))

    def __init__(
        self, about: str, actions: tuple[str, ...], own: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        super().__init__()
        self._own = own or {}
        self._about = about
        self._actions = actions

    def compose(self) -> ComposeResult:
        """One pane."""
        yield Pane(tail=False, id="help")

    def on_mount(self) -> None:
        """Write the page."""
        pane = self.query_one(Pane)
        pane.caption("help", "q closes")
        pane.show(page(self._about, self._actions, self._own))
        pane.focus()

    def action_back(self) -> None:
        """Close."""
        self.dismiss()

    def action_help(self) -> None:
        """Close."""
        self.dismiss()


def page(about: str, actions: tuple[str, ...], keys: Mapping[str, Sequence[str]]) -> tuple[Block, ...]:
    """The text of a help page; `keys` are the user's own."""
    shown = {name: " ".join(keys.get(name, ())) or KEYS[name].shown for name in actions}
    own = "\n".join(f"{shown[name]:<14} {KEYS[name].meaning}" for name in actions)
    reading = "\n".join(f"{keys:<14} {meaning}" for keys, meaning in READING)
    return (
        Block("question", (about,)),
        Block("round", ("this screen",)),
        Block("reply", (own,)),
        Block("round", ("everywhere",)),
        Block("reply", (reading,)),
    )


def about(screen: Screen[object]) -> tuple[str, tuple[str, ...]]:
    """What a screen says of itself."""
    return getattr(screen, "ABOUT", "This screen has no page of its own."), tuple(
        getattr(screen, "ACTIONS", ())
    )
