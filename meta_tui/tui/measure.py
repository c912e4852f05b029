"""How wide a terminal draws some scripts, asked of the terminal itself, beside what the app counts.

A sample is written at the left edge, and the terminal is asked where its cursor stands. Nothing
stays on the screen. Where both disagree, borders to the right of such text are displaced.
"""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.cells import cell_len

from meta_tui.display import count
from meta_tui.doctor import Check

SAMPLES = {
    "signs": "✓◆●▲■○",
    "lines": "╭─┃╯█▒",
    "Chinese": "漢字",
    "Bengali": "বাংলা ভাষা",
    "Telugu": "తెలుగు భాష",
    "Thai": "ภาษาไทย",
    "emoji": "👍🏽👩‍👩‍👧",
}
"""What is measured; the first two are drawn by the app on every screen."""

WAIT = 0.5
"""Seconds in which a terminal answers."""

_REPORT = re.compile(rb"\x1b\[\d+;(\d+)R")

OWN = ("signs", "lines")
NARROW_AGAIN = "set the terminal's width of ambiguous characters to narrow (one cell)"
ZOOM = "z in the app shows a pane without a right border, so that nothing is displaced"


def check(reading: int | None = None, writing: int | None = None) -> Check | None:
    """The check for `doctor`; None where there is no terminal to ask.

    Args:
        reading, writing: file descriptors of the terminal; None means standard input and output.
    """
    reading = sys.stdin.fileno() if reading is None and sys.stdin.isatty() else reading
    writing = sys.stdout.fileno() if writing is None and sys.stdout.isatty() else writing
    if reading is None or writing is None:
        return None
    return judged(measured(reading, writing))


def judged(found: dict[str, int]) -> Check:
    """What the measured cells mean; an empty `found` means that nothing was answered."""
    if not found:
        return Check("text width", "warn", "the terminal does not say where its cursor is", ZOOM)
    wrong = {name: cells for name, cells in found.items() if cells != cell_len(SAMPLES[name])}
    if not wrong:
        return Check("text width", "ok", f"{count(len(found), 'script')} drawn as wide as counted")
    words = ", ".join(
        f"{name} {count(cells, 'cell')}, counted {cell_len(SAMPLES[name])}" for name, cells in wrong.items()
    )
    fix = NARROW_AGAIN if any(name in wrong for name in OWN) else ZOOM
    return Check("text width", "warn", f"drawn {words}", fix)


def measured(reading: int, writing: int) -> dict[str, int]:
    """Sample -> cells that the terminal draws it with; those that it answered for."""
    found: dict[str, int] = {}
    with _unbuffered(reading):
        for name, sample in SAMPLES.items():
            os.write(writing, f"\r{sample}\x1b[6n".encode())
            column = _column(reading)
            os.write(writing, b"\r\x1b[K")
            if column is None:
                break
            found[name] = column - 1
    return found


def _column(reading: int) -> int | None:
    """The column of the cursor report that comes within the time, from 1."""
    heard, end = b"", time.monotonic() + WAIT
    while (left := end - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        heard += os.read(reading, 1024)
        if report := _REPORT.search(heard):
            return int(report[1])
    return None


@contextmanager
def _unbuffered(reading: int) -> Iterator[None]:
    """Keys and reports come at once and are not shown."""
    import termios
    import tty

    before = termios.tcgetattr(reading)
    try:
        tty.setcbreak(reading, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(reading, termios.TCSANOW, before)
