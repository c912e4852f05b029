"""The terminal app. Importing this module imports neither Textual nor any model client.

`browse`, `watch` and `solve_screen` run the app until the person leaves it and give back the exit
code of the command that opened it.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.screen import Screen

    from meta_tui.run import Stop
    from meta_tui.tui.exporting import Format, Written
    from meta_tui.tui.origin import Source


def browse() -> int:
    """Home: the list of recorded runs."""

    def first() -> Screen[Any]:
        from meta_tui.tui.screens.home import HomeScreen

        return HomeScreen()

    return _run(first)


def watch(path: Path, *, speed: float = 1.0) -> int:
    """Playback of one log; speed 0 opens it at its end.

    Raises:
        LogError: the log cannot be trusted; nothing is opened.
    """
    from meta_tui import runlog

    runlog.read(path)

    def first() -> Screen[Any]:
        from meta_tui.tui.origin import playback
        from meta_tui.tui.screens.run import RunScreen

        return RunScreen(playback(path), title=path.stem, log=path, speed=speed)

    return _run(first)


def solve_screen(source: Source, *, title: str = "", log: Path | None = None) -> int:
    """A run that happens now, on the run screen; gives back the exit code of the run.

    Args:
        source: `await source(emit, stop)` performs the run.
        title: its name, for people.
        log: where it is recorded, for fork, follow-up, resume and export.
    """

    def first() -> Screen[Any]:
        from meta_tui.tui.screens.run import RunScreen

        return RunScreen(source, badge="LIVE", title=title, log=log)

    return _run(first)


def evaluation_screen(
    folder: Path, *, grader: str = "strict", work: Callable[[Stop], Awaitable[None]] | None = None
) -> int:
    """An evaluation: table, plots, paired comparison, progress.

    Args:
        work: `await work(stop)` runs it in this process; None only looks at its folder.

    Raises:
        UsageError: the folder holds no evaluation; nothing is opened.
    """
    from meta_tui.evaluation.watching import Watch

    Watch(folder, grader)

    def first() -> Screen[Any]:
        from meta_tui.tui.screens.evaluation import EvaluationScreen

        return EvaluationScreen(folder, grader=grader, work=work)

    return _run(first)


async def paste_here(prompt: str) -> str:
    """Show a prompt in the app that is running and give back the pasted reply; for the `ask` of a
    copy-paste session whose source `solve_screen` runs.

    Raises:
        EOFError: the person will give none.
    """
    from textual._context import active_app

    from meta_tui.tui import flows
    from meta_tui.tui.app import MetaApp

    app = active_app.get()
    assert isinstance(app, MetaApp)
    return await flows.ask_person(app, prompt)


def say_here(words: str) -> None:
    """A short message in the app that is running."""
    from textual._context import active_app

    from meta_tui.tui import handing

    handing.note(active_app.get(), words, warn=True)


def export(path: Path, format: Format, target: Path | None = None) -> Written:
    """Write a run as `html`, `md`, `svg` or `asciicast`; says where, and whether keys were taken out.

    Raises:
        LogError: the log cannot be trusted.
        RecordError: the file cannot be written.
    """
    from meta_tui.tui import exporting

    return asyncio.run(exporting.write(path, format, target))


def _run(first: Callable[[], Screen[Any]]) -> int:
    """Run the app; nothing is collected as garbage until it stands there."""
    gc.disable()
    from meta_tui.tui.app import MetaApp

    app = MetaApp(first)
    code = app.run()
    return app.return_code or code or 0
