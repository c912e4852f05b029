"""Writing a run into a file to share: a page, a text, a picture, a recording of the screen.

Page and text are made by `exchange`, which knows no terminal; picture and screen recording are
made by the app itself, because they show what one sees. Whatever looks like a key is taken out
and said.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FORMATS: dict[str, str] = {}
"""Format -> what it is."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written, and what a person should know about it."""

    path: Path
    warning: str = ""


async def write(path: Path, format: str, target: Path | None = None) -> Written:
    """Write a run in a format, into the user's folder unless a target is given."""
    raise NotImplementedError
