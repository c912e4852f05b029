"""The app: which screen is open, in which colours, and what happens when a screen asks for more.

It reads no log and asks no model itself: `start` makes live runs, `origin` recorded ones. It is
also where the terminal is given back whatever happens: a signal, a crash, a full disk.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from meta_tui import config, runlog, store
from meta_tui.config import Settings
from meta_tui.errors import MetaTuiError, UsageError
from meta_tui.events import Replied
from meta_tui.tui import crash, handing, theme
from meta_tui.tui.keymap import KEYS, bindings
from meta_tui.tui.origin import playback, replayed
from meta_tui.tui.safety import SAFE
from meta_tui.tui.screens.ask import AskScreen
from meta_tui.tui.screens.compare import CompareScreen, recordings
from meta_tui.tui.screens.dialogs import Choice, Page, Say, Word
from meta_tui.tui.screens.help import HelpScreen, about
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.paste import PasteScreen
from meta_tui.tui.screens.run import FPS, STAY_OR_LEAVE, STILL_RUNNING, RunScreen
from meta_tui.tui.screens.settings import SettingsScreen
from meta_tui.tui.start import Launcher, Start, line_of

FORK_CHOICES = ("Draw again: ask for another reply at this place", "Edit this reply, then go on")
WHICH_MODEL = (
    "Which model goes on? provider/name as litellm names it, copy-paste to take prompts to a web chat, "
    "or script:FILE. It can be set for good with META_TUI_MODEL."
)


class MetaApp(App[int]):
    """meta-tui in a terminal.

    Args:
        first: makes the first screen.
        fps: paintings a second; 0 for tests.
        settings: the settings in force; None reads them.
    """

    TITLE = "meta-tui"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(("help", "settings", "theme")),
        Binding("ctrl+q", "quit", show=False, priority=True),
    ]

    def __init__(
        self, first: Callable[[], Screen[Any]], *, fps: float = FPS, settings: Settings | None = None
    ) -> None:
        super().__init__()
        self._first = first
        self.fps = fps
        self.launcher = Launcher(ask=self.ask_person)
        self.marked: Path | None = None
        self._prompts = 0
        self._signal = ""
        for own in theme.THEMES.values():
            self.register_theme(own)
        chosen = settings.theme if settings else _theme_in_force()
        self.theme = chosen if chosen in self.available_themes else "meta-dark"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our colours, for themes that do not know them."""
        return theme.DEFAULTS

    def get_line_filters(self) -> list[LineFilter]:
        """The escape filter stands before all others."""
        return [SAFE, *super().get_line_filters()]

    def on_mount(self) -> None:
        """Open the first screen; the app ends with it."""
        self._listen()
        self.push_screen(self._first(), self._end)

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
        self.flow(self._leave_now())

    async def _leave_now(self) -> None:
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
        return [screen for screen in self.screen_stack if isinstance(screen, RunScreen)]

    @property
    def going(self) -> list[RunScreen]:
        """Those whose run is under way."""
        return [screen for screen in self.runs if screen.going]

    async def action_quit(self) -> None:
        """Leave; a live run is not stopped unasked."""
        if self.going:
            self.flow(self._quit())
        else:
            self.exit(0)

    async def _quit(self) -> None:
        choice = await self.push_screen_wait(Choice("still running", STILL_RUNNING, STAY_OR_LEAVE))
        if choice == 1:
            for screen in self.going:
                screen.stop.after_call()
        elif choice == 2:
            await self._leave_now()

    def _fatal_error(self) -> None:
        """An unhandled exception: one sentence for the person, a report without values in a file."""
        error = self._exception or RuntimeError("unknown")
        self._exit_renderables.append(Text(f"meta-tui: {crash.report(error)}"))
        self._close_messages_no_wait()

    # What screens ask for.

    def flow(self, steps: Coroutine[Any, Any, None]) -> None:
        """Run some steps that may ask the person; what goes wrong is said, not thrown."""
        self.run_worker(self._guarded(steps), exit_on_error=False, group="flow")

    async def _guarded(self, steps: Coroutine[Any, Any, None]) -> None:
        try:
            await steps
        except MetaTuiError as error:
            self.push_screen(Say("this cannot be done", str(error)))
        except Exception as error:  # noqa: BLE001 - the worker's boundary: a person must read it
            self.push_screen(Say("something broke", crash.report(error)))

    def action_help(self) -> None:
        """Explain the screen that is open."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(*about(self.screen)))

    def action_settings(self) -> None:
        """Settings and the state of this installation."""
        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen())

    def action_theme(self) -> None:
        """The next of our themes."""
        names = list(theme.THEMES)
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        handing.note(self, f"{self.theme}; keep it with META_TUI_THEME={self.theme}")

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action of the screen that is open, and the themes, for the palette."""
        for name in (*getattr(screen, "ACTIONS", ()), "settings", "theme", "quit"):
            key = KEYS[name]
            target = screen if hasattr(screen, f"action_{name}") else self
            yield SystemCommand(f"{key.hint}  ({key.shown})", key.meaning, _action(target, name))
        for name in theme.THEMES:
            yield SystemCommand(f"Theme {name}", "Colours of the app.", _setter(self, name))

    def on_home_screen_opened(self, message: HomeScreen.Opened) -> None:
        """Play a run."""
        self.open_run(Path(message.run.path))

    def open_run(self, path: Path) -> None:
        """Play a recorded run."""
        self.push_screen(RunScreen(playback(path), title=path.stem, log=path, fps=self.fps))

    def open_live(self, start: Start) -> None:
        """Watch a run that happens now."""
        screen = RunScreen(
            start.source, badge="LIVE", title=start.title, log=start.log, base=start.base, fps=self.fps
        )
        self.push_screen(screen)

    def on_home_screen_asked(self, message: HomeScreen.Asked) -> None:
        """Something that concerns the run under the cursor."""
        path = Path(message.run.path) if message.run else None
        self._ask(message.what, path, None)

    def on_run_screen_asked(self, message: RunScreen.Asked) -> None:
        """Something that concerns the run that is open."""
        self._ask(message.what, message.run.log_path, message.run)

    def _ask(self, what: str, path: Path | None, screen: RunScreen | None) -> None:
        if what == "new":
            self.flow(self._new())
        elif path is None:
            handing.note(self, "choose a run first", warn=True)
        elif what == "fork" and screen is not None:
            self.flow(self._fork(path, screen))
        elif what in _FLOWS:
            self.flow(_FLOWS[what](self, path))

    async def _new(self) -> None:
        wish = await self.push_screen_wait(AskScreen(self.launcher.settings()))
        if wish is not None:
            settings = self.launcher.settings(
                method=wish.method, model=wish.model, base_url=wish.base_url, max_calls=wish.max_calls
            )
            self.open_live(self.launcher.solve(wish.question, settings))

    async def _fork(self, path: Path, screen: RunScreen) -> None:
        effect = screen.effect
        outcome = effect.outcome if effect else None
        if effect is None or not isinstance(outcome, Replied):
            raise UsageError("go to a call that was answered first: h and l step from call to call")
        line = line_of(runlog.read(path), outcome)
        who = effect.name or "the model"
        place = f"Call {effect.number}, {who}, round {effect.round or '-'}. What came before it is kept and costs nothing; what follows is asked anew. The run itself stays as it is."
        choice = await self.push_screen_wait(Choice("fork", place, FORK_CHOICES))
        if choice is None:
            return
        edit = None
        if choice == 1:
            edit = await self.push_screen_wait(
                Page("edit the reply", place, outcome.reply.text, "go on with it")
            )
            if edit is None:
                return
        settings = await self._model_for(path)
        if settings is not None:
            self.open_live(self.launcher.fork(path, line, settings, edit))

    async def _follow_up(self, path: Path) -> None:
        words = "A further question of this run. The Meta Model keeps everything that was said so far."
        question = await self.push_screen_wait(Page("follow up", words, "", "ask"))
        if not question or not question.strip():
            return
        settings = await self._model_for(path)
        if settings is not None:
            started = runlog.read(path).started
            settings = msgspec.structs.replace(settings, method=started.method)
            self.open_live(self.launcher.solve(question.strip(), settings, follows=path))

    async def _resume(self, path: Path) -> None:
        settings = await self._model_for(path)
        if settings is not None:
            self.open_live(self.launcher.resume(path, settings))

    async def _model_for(self, path: Path) -> Settings | None:
        """The settings with a model that can really be asked; None if the person gives none."""
        settings = self.launcher.settings()
        started = runlog.read(path).started
        if settings.model or started.origin in ("live", "copy-paste"):
            return settings if settings.model else msgspec.structs.replace(settings, model=started.model)
        name = await self.push_screen_wait(Word("model", WHICH_MODEL))
        return msgspec.structs.replace(settings, model=name.strip()) if name and name.strip() else None

    async def _replay(self, path: Path) -> None:
        self.push_screen(RunScreen(replayed(path), badge="REPLAY", title=path.stem, log=path, fps=self.fps))

    async def _compare(self, path: Path) -> None:
        parent = runlog.read(path).started.parent
        if self.marked is None and parent is not None:
            self.marked = store.find(parent.run)
        if self.marked is None or self.marked == path:
            self.marked = path
            handing.note(self, f"{path.stem} is marked; d on another run compares the two")
            return
        left, self.marked = self.marked, None
        self.push_screen(CompareScreen(*recordings(left, path)))

    async def _export(self, path: Path) -> None:
        from meta_tui.tui import exporting

        kinds = list(exporting.FORMATS)
        labels = [f"{kind:<10} {exporting.FORMATS[kind]}" for kind in kinds]
        choice = await self.push_screen_wait(Choice("export", f"{path.stem} as", labels))
        if choice is not None:
            target = await exporting.write(path, kinds[choice])
            handing.note(
                self, f"written to {target.path}" + (f". {target.warning}" if target.warning else "")
            )

    async def ask_person(self, prompt: str) -> str:
        """The reply that a person pastes for a prompt.

        Raises:
            EOFError: the person will give none.
        """
        self._prompts += 1
        given: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.push_screen(PasteScreen(prompt, self._prompts), given.set_result)
        reply = await given
        if reply is None:
            raise EOFError
        return reply


Flow = Callable[[MetaApp, Path], Coroutine[Any, Any, None]]

_FLOWS: dict[str, Flow] = {
    "follow_up": MetaApp._follow_up,
    "resume": MetaApp._resume,
    "replay": MetaApp._replay,
    "compare": MetaApp._compare,
    "export": MetaApp._export,
}
"""What is asked -> what is done."""


def _action(target: Any, name: str) -> Callable[[], Any]:
    return lambda: target.call_later(getattr(target, f"action_{name}"))


def _setter(app: MetaApp, name: str) -> Callable[[], None]:
    def choose() -> None:
        app.theme = name

    return choose


def _theme_in_force() -> str:
    try:
        return config.resolve().settings.theme
    except UsageError:
        return "meta-dark"
