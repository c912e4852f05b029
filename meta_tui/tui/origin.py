"""Where the run screen gets its events: anything that emits them and may be asked to stop.

A live run, a replay and a playback are sources alike. This module makes those that need no
provider; live ones are made from `session` by whoever starts a run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from meta_tui import runlog, sources
from meta_tui.events import AnyEvent
from meta_tui.run import Stop

Emit = Callable[[AnyEvent], None]

Source = Callable[[Emit, Stop], Awaitable[Any]]
"""`await source(emit, stop)`: emits every event, returns or raises when there are no more."""


def playback(path: Path) -> Source:
    """A recorded run: all its events at once; the screen's transport gives them their pace."""

    async def source(emit: Emit, stop: Stop) -> None:
        sources.play(runlog.read(path), emit)

    return source


def replayed(path: Path) -> Source:
    """The recorded method, run again against its log."""

    async def source(emit: Emit, stop: Stop) -> Any:
        return await sources.replay(runlog.read(path), consumers=[emit])

    return source
