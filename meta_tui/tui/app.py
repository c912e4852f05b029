"""The app: which screen is open, in which colours, and how the terminal is given back.

It is light on purpose, so that something stands on the screen within a blink: the first screen
and everything that a person may ask for (`flows`) are imported when they are needed. Whatever
happens, a signal, a crash, a full disk, the terminal is restored and the person is told.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.display import speaks_unicode
from meta_tui.errors import MetaTuiError, UsageError
from meta_tui.tui import theme
from meta_tui.tui.keymap import KEYS, bindings, check
from meta_tui.tui.safety import LETTERS, SAFE

if TYPE_CHECKING:
    from meta_tui.config import Settings
    from meta_tui.tui.screens.home import HomeScreen
    from meta_tui.tui.screens.run import RunScreen

FAR = any(name in os.environ for name in ("SSH_CONNECTION", "SSH_TTY"))
"""The terminal is on another machine: paint less often, animate nothing."""

FPS = 8 if FAR else 12
"""Paintings a second; each costs what is on the screen, whatever streams in."""


SERVED = ("open", "compare", "replay", "quit")
"""What may be asked for where only playback is served."""

ONLY_PLAYBACK = "this page only plays recorded runs"


class Skeleton(Screen[None]):
    """What stands there until the first screen is made."""

    def compose(self) -> ComposeResult:
        """One line."""
        yield Static(Content("meta-tui"), classes="bar", markup=False)


class MetaApp(App[int]):
    """meta-tui in a terminal.

    Args:
        first: makes the first screen, once something stands on the screen.
        fps: paintings a second; 0 for tests.
        settings: the settings in force; None reads them.
        playback_only: ask no model, write no file, show no setting (for `serve`).
        in_letters: paint in ASCII; None does so where the locale is not UTF-8.
    """

    TITLE = "meta-tui"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(("help", "settings", "theme", "wrap")),
        Binding(KEYS["jump"].keys[0], "jump", show=False, priority=True, id="jump"),
        Binding("ctrl+q", "quit", show=False, priority=True),
    ]

    def __init__(
        self,
        first: Callable[[], Screen[Any]],
        *,
        fps: float = FPS,
        settings: Settings | None = None,
        playback_only: bool = False,
        in_letters: bool | None = None,
    ) -> None:
        super().__init__()
        self._first = first
        self.fps = fps
        if FAR:
            self.animation_level = "none"
        self.playback_only = playback_only
        self.marked: Path | None = None
        self.prompts = 0
        self._in_letters = not speaks_unicode(os.environ) if in_letters is None else in_letters
        self.wrapped = True
        self._signal = ""
        for own in theme.THEMES.values():
            self.register_theme(own)
        look, self._unread = (settings, "") if settings else _look_in_force()
        chosen = look.theme if look else "meta-dark"
        if chosen not in self.available_themes:
            known = ", ".join(sorted(theme.THEMES))
            self._unread = f"there is no theme {chosen!r}; write one of {known}"
            chosen = "meta-dark"
        self.theme = chosen
        self.own_keys: dict[str, list[str]] = look.keys if look else {}

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our colours, for themes that do not know them."""
        return theme.DEFAULTS

    def get_line_filters(self) -> list[LineFilter]:
        """The escape filter stands before all others."""
        return [SAFE, *super().get_line_filters(), *([LETTERS] if self._in_letters else [])]

    def get_default_screen(self) -> Screen[None]:
        """Something to look at while the first screen is made."""
        return Skeleton()

    def on_mount(self) -> None:
        """Paint the skeleton, then open the first screen; the app ends with it."""
        self._listen()
        if self.is_headless:
            self._open_first()  # nobody is looking
        else:
            self.call_after_refresh(self._open_first)

    def _take_keys(self) -> None:
        """Give actions the keys that the user gave them, if every key still means one thing."""
        from meta_tui.tui import handing

        try:
            check(self.own_keys)
        except UsageError as error:
            handing.note(self, f"{error}. The usual keys are in force", warn=True)
            self.own_keys = {}
        self.set_keymap({name: ",".join(keys) for name, keys in self.own_keys.items()})

    def _open_first(self) -> None:
        if self.own_keys:
            self._take_keys()
        if self._unread:
            from meta_tui.tui import handing

            handing.note(self, f"{self._unread}. The usual look is in force", warn=True)
        self.push_screen(self._first(), self._end)
        gc.enable()
        gc.freeze()

    def _end(self, code: int | None) -> None:
        self.exit(code or 0)

    # Leaving.

    def _listen(self) -> None:
        """Signals that would leave the terminal in disorder end the app instead."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            number = getattr(signal, name, None)
            if number is None:
                continue
            try:
                loop.add_signal_handler(number, self._signalled, name)
            except (NotImplementedError, RuntimeError, ValueError):
                continue

    def _signalled(self, name: str) -> None:
        self._signal = name
        self.flow(self.leave_now())

    async def leave_now(self) -> None:
        """End what runs, wait until its log is whole, give the terminal back."""
        for screen in self.going:
            await screen.end()
        logs = ", ".join(screen.run_title for screen in self.runs if screen.badge == "LIVE")
        resume = f" `meta-tui resume` goes on with {logs}." if logs else ""
        words = f"meta-tui: ended by {self._signal}.{resume}" if self._signal else ""
        self.exit(1 if self._signal else 0, 1 if self._signal else 0, Text(words) if words else None)

    @property
    def runs(self) -> list[RunScreen]:
        """The run screens that are open."""
        from meta_tui.tui.screens.run import RunScreen

        return [screen for screen in self.screen_stack if isinstance(screen, RunScreen)]

    @property
    def going(self) -> list[Any]:
        """The screens whose run, or whose evaluation, is under way."""
        return [screen for screen in self.screen_stack if getattr(screen, "going", False)]

    async def action_quit(self) -> None:
        """Leave; a live run is not stopped unasked."""
        if self.going:
            self.ask("quit")
        else:
            self.exit(0)

    def _fatal_error(self) -> None:
        """An unhandled exception: one sentence for the person, a report without values in a file."""
        from meta_tui.tui import crash

        error = self._exception or RuntimeError("unknown")
        self._exit_renderables.append(Text(f"meta-tui: {crash.report(error)}"))
        self._close_messages_no_wait()

    # What is asked for.

    def flow(self, steps: Coroutine[Any, Any, None]) -> None:
        """Run some steps that may ask the person; what goes wrong is said, not thrown."""
        self.run_worker(self._guarded(steps), exit_on_error=False, group="flow")

    async def _guarded(self, steps: Coroutine[Any, Any, None]) -> None:
        from meta_tui.tui import crash
        from meta_tui.tui.screens.dialogs import Say

        try:
            await steps
        except MetaTuiError as error:
            self.push_screen(Say("this cannot be done", str(error)))
        except Exception as error:  # noqa: BLE001 - the worker's boundary: a person must read it
            self.push_screen(Say("something broke", crash.report(error)))

    def ask(self, what: str, path: Path | None = None, screen: RunScreen | None = None) -> None:
        """Do what a person asks for: `what` is the name of a flow."""
        from meta_tui.tui import flows, handing

        if self.playback_only and what not in SERVED:
            handing.note(self, ONLY_PLAYBACK, warn=True)
            return
        self.flow(flows.FLOWS[what](self, path, screen))

    def on_home_screen_opened(self, message: HomeScreen.Opened) -> None:
        """Play a run."""
        self.ask("open", Path(message.run.path))

    def on_home_screen_asked(self, message: HomeScreen.Asked) -> None:
        """Something that concerns the run under the cursor."""
        self.ask(message.what, Path(message.run.path) if message.run else None)

    def on_run_screen_asked(self, message: RunScreen.Asked) -> None:
        """Something that concerns the run that is open."""
        self.ask(message.what, message.run.log_path, message.run)

    def action_help(self) -> None:
        """Explain the screen that is open."""
        from meta_tui.tui.screens.help import HelpScreen, about

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(*about(self.screen), self.own_keys))

    def action_settings(self) -> None:
        """Settings and the state of this installation."""
        from meta_tui.tui import handing
        from meta_tui.tui.screens.settings import SettingsScreen

        if self.playback_only:
            handing.note(self, ONLY_PLAYBACK, warn=True)
        elif not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen())

    def action_command_palette(self) -> None:
        """Find any action by its name."""
        from meta_tui.tui.screens.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def action_wrap(self) -> None:
        """Wrap long lines in all panes, or show each on one row."""
        from meta_tui.tui import handing
        from meta_tui.tui.widgets.pane import Pane

        self.wrapped = not self.wrapped
        for screen in self.screen_stack:
            for pane in screen.query(Pane):
                pane.wrap_lines(self.wrapped)
        words = "wrapped" if self.wrapped else "not wrapped; shift+left and shift+right move them"
        handing.note(self, f"long lines are {words}")

    def action_jump(self) -> None:
        """A letter on all that can have the focus."""
        from meta_tui.tui.screens.jump import JumpScreen, go, targets

        if isinstance(self.screen, JumpScreen):
            self.screen.dismiss(None)
        elif found := targets(self.screen):
            self.push_screen(JumpScreen(found), go)

    def action_theme(self) -> None:
        """The next of our themes."""
        from meta_tui.tui import handing

        names = list(theme.THEMES)
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        handing.note(self, f"{self.theme}; keep it with META_TUI_THEME={self.theme}")

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action of the screen that is open, and the themes, for the palette."""
        for name in (*getattr(screen, "ACTIONS", ()), "jump", "wrap", "settings", "theme", "quit"):
            key = KEYS[name]
            target = screen if hasattr(screen, f"action_{name}") else self
            yield SystemCommand(f"{key.hint}  ({key.shown})", key.meaning, _action(target, name))
        for name in theme.THEMES:
            yield SystemCommand(f"Theme {name}", "Colours of the app.", _setter(self, name))


def _action(target: Any, name: str) -> Callable[[], Any]:
    return lambda: target.call_later(getattr(target, f"action_{name}"))


def _setter(app: MetaApp, name: str) -> Callable[[], None]:
    def choose() -> None:
        app.theme = name

    return choose


def _look_in_force() -> tuple[Settings | None, str]:
    """Theme and keys as they are set, and why they cannot be read; None where nothing is set, so that
    nothing has to be read."""
    from meta_tui.tui.early import may_be_set

    if not may_be_set("theme", "keys"):
        return None, ""
    from meta_tui import config

    try:
        return config.resolve().settings, ""
    except UsageError as error:
        return None, str(error)
