"""Handing text to a person: to the terminal's clipboard, or into a file in their own folder.

The clipboard is reached by an escape code that terminals may drop silently, so what is said is
what was done ("sent"), and there is always a file as the other way.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from textual.app import App

from meta_tui.errors import MetaTuiError, RecordError, UsageError

LONGEST = 75_000
"""Bytes that terminals take into the clipboard at once."""


def copy(app: App[Any], text: str) -> None:
    """Send a text to the terminal's clipboard and say so."""
    data = text.encode("utf-8", "replace")
    if len(data) > LONGEST:
        note(app, f"{len(data):,} bytes are too much for a clipboard; Y writes a file", warn=True)
        return
    app.copy_to_clipboard(data.decode())
    note(app, f"{len(text):,} characters sent to the terminal's clipboard; Y writes a file instead")


def save(app: App[Any], name: str, text: str) -> Path | None:
    """Write a text into the user's folder and say where; None if it was not written."""
    if getattr(app, "playback_only", False):
        note(app, "this page writes no files", warn=True)
        return None
    try:
        path = new_file(name)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        note(app, f"cannot write: {error.strerror or error}", warn=True)
        return None
    except MetaTuiError as error:
        note(app, str(error), warn=True)
        return None
    note(app, f"written to {path}")
    return path


def new_file(name: str) -> Path:
    """A path in the user's folder that does not exist yet; `name` is made harmless.

    Raises:
        RecordError: the folder cannot be made.
        UsageError: there are too many of that name.
    """
    from meta_tui import store

    folder = store.home().root / "saved"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"cannot write into {folder}: {error.strerror or error}") from error
    stem, dot, suffix = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.").rpartition(".")
    for number in range(1, 10_000):
        path = folder / f"{stem or 'text'}{f'-{number}' if number > 1 else ''}{dot}{suffix}"
        if not path.exists():
            return path
    raise UsageError(f"{folder} holds ten thousand files of that name; remove some")


def note(app: App[Any], words: str, *, warn: bool = False) -> None:
    """A short message that goes away by itself; never parsed as markup."""
    app.notify(words, severity="warning" if warn else "information", markup=False, timeout=6)
