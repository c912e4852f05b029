"""What is said and kept when something of ours breaks: one sentence on screen, the rest in a file.

The report holds the traceback without local variables: those may hold keys or whole prompts.
"""

from __future__ import annotations

import time
import traceback
from pathlib import Path

from meta_tui import __version__, store
from meta_tui.display import clean, one_line
from meta_tui.models.secrets import scrub


def report(error: BaseException) -> str:
    """Write a report and give the sentence that names it."""
    what = (
        f"{type(error).__name__}: {one_line(scrub(str(error)), 200)}" if str(error) else type(error).__name__
    )
    path = _write(error)
    where = f"The report is {path}." if path else "No report could be written."
    return f"This is a defect of meta-tui: {what}. {where} The log of the run is whole."


def _write(error: BaseException) -> Path | None:
    folder = store.home().root / "reports"
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{type(error).__name__}.txt"
    trace = "".join(traceback.format_exception(error))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(
            clean(scrub(f"meta-tui {__version__}\n\n{trace}")), encoding="utf-8", errors="replace"
        )
    except OSError:
        return None
    return path
