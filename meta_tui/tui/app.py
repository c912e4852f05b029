"""The app: which screen is open, in which colours. It asks no model and reads no log itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from meta_tui.tui import theme
from meta_tui.tui.keymap import bindings
from meta_tui.tui.origin import playback
from meta_tui.tui.safety import SAFE
from meta_tui.tui.screens.help import HelpScreen, about
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.run import FPS, RunScreen


class MetaApp(App[int]):
    """meta-tui in a terminal.

    Args:
        first: makes the first screen.
        fps: paintings a second; 0 for tests.
    """

    TITLE = "meta-tui"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(("help",)),
        Binding("ctrl+q", "quit", show=False, priority=True),
    ]

    def __init__(self, first: Callable[[], Screen[None]], *, fps: float = FPS) -> None:
        super().__init__()
        self._first = first
        self.fps = fps
        for own in theme.THEMES.values():
            self.register_theme(own)
        self.theme = "meta-dark"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our colours, for themes that do not know them."""
        return theme.DEFAULTS

    def get_line_filters(self) -> list[LineFilter]:
        """The escape filter stands before all others."""
        return [SAFE, *super().get_line_filters()]

    def on_mount(self) -> None:
        """Open the first screen; the app ends with it."""
        self.push_screen(self._first(), lambda _: self.exit(0))

    def action_help(self) -> None:
        """Explain the screen that is open."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(*about(self.screen)))

    def on_home_screen_opened(self, message: HomeScreen.Opened) -> None:
        """Play a run."""
        path = Path(message.run.path)
        self.push_screen(RunScreen(playback(path), title=message.run.id, fps=self.fps))
