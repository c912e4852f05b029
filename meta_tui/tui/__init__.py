"""The terminal app. Importing this module imports neither Textual nor any model client.

`browse`, `watch` and `solve_screen` run the app until the person leaves it and give back the exit
code of the command that opened it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meta_tui.tui.exporting import Format, Written
    from meta_tui.tui.origin import Source


def browse() -> int:
    """Home: the list of recorded runs."""
    from meta_tui.tui.app import MetaApp
    from meta_tui.tui.screens.home import HomeScreen

    return MetaApp(HomeScreen).run() or 0


def watch(path: Path, *, speed: float = 1.0) -> int:
    """Playback of one log; speed 0 opens it at its end.

    Raises:
        LogError: the log cannot be trusted; nothing is opened.
    """
    from meta_tui import runlog
    from meta_tui.tui.app import MetaApp
    from meta_tui.tui.origin import playback
    from meta_tui.tui.screens.run import RunScreen

    runlog.read(path)
    return MetaApp(lambda: RunScreen(playback(path), title=path.stem, log=path, speed=speed)).run() or 0


def export(path: Path, format: Format, target: Path | None = None) -> Written:
    """Write a run as `html`, `md`, `svg` or `asciicast`; says where, and whether keys were taken out.

    Raises:
        LogError: the log cannot be trusted.
        RecordError: the file cannot be written.
    """
    from meta_tui.tui import exporting

    return asyncio.run(exporting.write(path, format, target))


def solve_screen(source: Source, *, title: str = "") -> int:
    """A run that happens now, on the run screen."""
    from meta_tui.tui.app import MetaApp
    from meta_tui.tui.screens.run import RunScreen

    return MetaApp(lambda: RunScreen(source, badge="LIVE", title=title)).run() or 0
