"""The pictures of the README, made from a shipped cassette: `python tests/tui/pictures.py`.

They are what the app really shows, at a second of the playback at which there is something to see.
A test makes them anew and compares.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from meta_tui import runlog, store
from meta_tui.tui import exporting

PICTURES = {"run.svg": ("game24-python", (116, 32), 0.93)}
"""File -> cassette, cells of the screen, share of the playback."""

FOLDER = Path(__file__).parent / "pictures"


async def make(name: str) -> str:
    """One picture, as SVG."""
    cassette, size, share = PICTURES[name]
    events = runlog.read(store.find(cassette)).events
    length = 0.0
    async with exporting._shown(events, cassette, size, speed=1) as screen:
        length = screen.tape.length
    return await exporting.picture(events, cassette, size, at=length * share)


if __name__ == "__main__":
    for picture in PICTURES:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / picture).write_text(asyncio.run(make(picture)), encoding="utf-8")
        print(FOLDER.name, picture, file=sys.stderr)
