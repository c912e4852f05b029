"""What functions and commands print: kept up to a limit, and apart from what the process shows.

A function that prints must not write into the app or the plain output. While one runs, the
standard streams are stood in for by ones that ask which thread writes; all other threads print as
before. What goes past `sys.stdout` (its buffer, a subprocess of the function) is not caught.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

KEPT = 64 * 1024
"""Characters of a result that are kept; the rest is counted and left out."""


class Kept:
    """Text as it comes: its beginning is kept, the rest is counted."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self._room = KEPT
        self._left_out = 0

    def write(self, text: str) -> int:
        """Take a piece.

        Raises:
            TypeError: it is no text.
        """
        if not isinstance(text, str):
            raise TypeError(f"write() takes str, not {type(text).__name__}")
        piece = text[: self._room]
        if piece:
            self.kept.append(piece)
        self._room -= len(piece)
        self._left_out += len(text) - len(piece)
        return len(text)

    def text(self) -> str:
        """What was kept, and how much was not."""
        return "".join(self.kept) + left_out(self._left_out)


def left_out(count: int) -> str:
    """Words for what was not kept."""
    return f"\n[... {count:,} more characters came and are left out]" if count > 0 else ""


_sink: ContextVar[Kept | None] = ContextVar("_sink", default=None)
_guard = threading.Lock()
_running = 0


@dataclass(eq=False)
class _Apart:
    """Standard output (or error) with what functions print taken out of it."""

    name: str
    real: Any = field(init=False)

    def __post_init__(self) -> None:
        self.real = getattr(sys, self.name)

    def write(self, text: str) -> Any:
        return (_sink.get() or self.real).write(text)

    def close(self) -> None:
        """A function that closes what it prints to must not close it for everybody."""
        if _sink.get() is None and self.real is not None:
            self.real.close()

    def flush(self) -> None:
        if _sink.get() is None and self.real is not None:
            self.real.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@contextmanager
def heard(kept: Kept) -> Iterator[None]:
    """Whatever this thread prints goes into `kept`; other threads print as before."""
    token = _sink.set(kept)
    _listen(1)
    try:
        yield
    finally:
        _listen(-1)
        _sink.reset(token)


def _listen(change: int) -> None:
    """Stand before the standard streams while at least one function runs.

    Somebody else (an app, a test's capture) may have put another stream there meanwhile, so every
    function looks anew.
    """
    global _running
    with _guard:
        _running += change
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if change > 0 and not isinstance(stream, _Apart):
                setattr(sys, name, _Apart(name))
            elif _running == 0 and isinstance(stream, _Apart):
                setattr(sys, name, stream.real)
