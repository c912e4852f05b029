"""Writing a run into a file to share: a page, a text, a picture, a recording of the screen.

Page and text are made by `exchange`, which knows no terminal; picture and screen recording are
made by the app itself, because they show what one sees. Whatever looks like a key is taken out
and said.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Literal, get_args

import msgspec
from rich.console import Console

from meta_tui import runlog
from meta_tui.chat import Message
from meta_tui.errors import RecordError
from meta_tui.events import AnyEvent
from meta_tui.exchange import html, markdown, story
from meta_tui.models.secrets import HIDDEN, scrub, secret_values
from meta_tui.tui import handing
from meta_tui.tui.screens.run import RunScreen

Format = Literal["html", "md", "svg", "asciicast"]

FORMATS: dict[Format, str] = {
    "html": "one page with panes, search and a scrubber; opens from a file",
    "md": "a text to read or to quote",
    "svg": "a picture of the screen at the end",
    "asciicast": "a recording of the screen, for asciinema players",
}
"""Format -> what it is."""

SUFFIXES: dict[Format, str] = {"html": "html", "md": "md", "svg": "svg", "asciicast": "cast"}
FRAMES = 10
"""Frames a second of a screen recording."""

_WEB_FONTS = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written, and what a person should know about it."""

    path: Path
    warning: str = ""


async def write(
    path: Path, format: Format, target: Path | None = None, *, size: tuple[int, int] = (120, 36)
) -> Written:
    """Write a run in a format, into the user's folder unless a target is given.

    Args:
        path: the run log.
        format: one of `FORMATS`.
        target: the file; None makes one in the user's folder.
        size: cells of the screen, for `svg` and `asciicast`.

    Raises:
        LogError: the log cannot be trusted.
        RecordError: the file cannot be written.
    """
    assert format in get_args(Format)
    recording = runlog.read(path)
    told = story.tell(recording.events, path.stem)
    match format:
        case "html":
            content = html.page(told)
        case "md":
            content = markdown.document(told)
        case "svg":
            content = await picture(recording.events, path.stem, size)
        case "asciicast":
            content = await cast(recording.events, path.stem, size)
    place = target or handing.new_file(f"{path.stem}.{SUFFIXES[format]}")
    try:
        place.write_text(content, encoding="utf-8", errors="replace")
    except OSError as error:
        raise RecordError(f"cannot write {place}: {error.strerror or error}") from error
    return Written(place, _warning(told.hidden))


def _warning(hidden: int) -> str:
    if not hidden:
        return ""
    return f"{hidden} text{'s that look' if hidden > 1 else ' that looks'} like a key stood in the run and {'were' if hidden > 1 else 'was'} replaced by {HIDDEN}; look through the file before you share it"


async def picture(events: list[AnyEvent], title: str, size: tuple[int, int], at: float | None = None) -> str:
    """The screen at the end of a run, or at a second of its playback, as SVG that asks for nothing
    from outside."""
    async with _shown(events, title, size, speed=0 if at is None else 1) as screen:
        if at is not None:
            screen.transport.time = at
            screen.flush()
            await _painted(screen)
        svg = screen.app.export_screenshot(title=title)
    return _WEB_FONTS.sub("", svg)


async def cast(events: list[AnyEvent], title: str, size: tuple[int, int]) -> str:
    """A playback as a recording in the asciicast format, version 2."""
    head = {
        "version": 2,
        "width": size[0],
        "height": size[1],
        "title": title,
        "env": {"TERM": "xterm-256color"},
    }
    lines = [json.dumps(head)]
    async with _shown(events, title, size, speed=1) as screen:
        before: list[str] = []
        for frame in range(int(screen.tape.length * FRAMES) + 2):
            screen.transport.time = frame / FRAMES
            screen.flush()
            await screen.app.animator.wait_for_idle()
            await _painted(screen)
            now = _lines(screen)
            if now != before:
                lines.append(
                    json.dumps([round(frame / FRAMES, 3), "o", _changed(before, now)], ensure_ascii=False)
                )
                before = now
    return "\n".join(lines) + "\n"


def scrubbed(events: list[AnyEvent]) -> list[AnyEvent]:
    """The events with whatever looks like a key taken out of every text."""
    values = secret_values()
    return [_scrub_value(event, values) for event in events]


def _scrub_value(value: object, secrets: tuple[str, ...]) -> AnyEvent:
    return _scrub(value, secrets)  # type: ignore[return-value]


def _scrub(value: object, secrets: tuple[str, ...]) -> object:
    match value:
        case str():
            return scrub(value, secrets)
        case dict():
            return {key: _scrub(item, secrets) for key, item in value.items()}
        case tuple():
            return tuple(_scrub(item, secrets) for item in value)
        case list():
            return [_scrub(item, secrets) for item in value]
        case Message() | msgspec.Struct():
            fields = {name: _scrub(getattr(value, name), secrets) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **fields)
    return value


@asynccontextmanager
async def _shown(
    events: list[AnyEvent], title: str, size: tuple[int, int], *, speed: float
) -> AsyncIterator[RunScreen]:
    """The run screen without a terminal, standing still."""
    from meta_tui.config import Settings
    from meta_tui.tui.app import MetaApp

    safe = scrubbed(events)

    async def source(emit: object, stop: object) -> None:
        for event in safe:
            screen.feed(event)

    screen = RunScreen(source, title=title, speed=speed, fps=0, clock=lambda: 0.0)
    app = MetaApp(lambda: screen, fps=0, settings=Settings(), in_letters=False)
    async with app.run_test(size=size) as pilot:
        await app.workers.wait_for_complete()
        screen.flush()
        await pilot.pause()
        yield screen


async def _painted(screen: RunScreen) -> None:
    """Wait until the layout has settled."""
    from textual.pilot import Pilot

    await Pilot(screen.app).pause()


def _lines(screen: RunScreen) -> list[str]:
    """The rows of the screen as ANSI text."""
    console = Console(file=StringIO(), color_system="truecolor", force_terminal=True, width=screen.size.width)
    filters = [f for f in screen.app.get_line_filters() if f.enabled]
    background = screen.background_colors[1]
    rows = []
    for strip in screen._compositor.render_strips():
        for line_filter in filters:
            strip = strip.apply_filter(line_filter, background)
        rows.append(strip.render(console))
    return rows


def _changed(before: list[str], now: list[str]) -> str:
    """Terminal output that turns one screen into the next."""
    if not before:
        return "\x1b[2J\x1b[?25l" + "".join(f"\x1b[{y};1H{row}" for y, row in enumerate(now, 1))
    pairs = enumerate(zip(before, now, strict=False), 1)
    return "".join(f"\x1b[{y};1H{new}" for y, (old, new) in pairs if new != old)
