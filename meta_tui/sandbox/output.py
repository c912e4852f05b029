"""What a program prints: one buffer for both streams, capped, counted, never a file.

The cap keeps an answer small; a program that prints far beyond it is stopped, because what it
prints is lost anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

FLOOD: Final = 64
"""A program that prints this many times its cap is stopped."""


class Buffer:
    """The captured bytes of a program's output."""

    def __init__(self, cap: int, stop: Callable[[str], Any]) -> None:
        self._parts: list[str] = []
        self._cap = cap
        self._kept = 0
        self._seen = 0
        self._stop = stop

    def add(self, text: str) -> None:
        """Keep what fits and count the rest.

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate, as a real stream would raise.
        """
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
        self._seen += size
        room = self._cap - self._kept
        if size <= room:
            self._parts.append(text)
            self._kept += size
        elif room > 0:
            self._parts.append(text[:room].encode("utf-8")[:room].decode("utf-8", "ignore"))
            self._kept = self._cap
        if self._seen > self._cap * FLOOD:
            self._stop(f"the program printed more than {self._cap * FLOOD} bytes and was stopped")

    @property
    def text(self) -> str:
        """What was kept, with a line about what was lost."""
        lost = self._seen - self._cap
        return "".join(self._parts) + (f"\n[output cut: {lost} more bytes]\n" if lost > 0 else "")


class Stream:
    """A text stream that a program writes to: its `sys.stdout` and `sys.stderr`."""

    __slots__ = ("_buffer", "_bytes")

    encoding = "utf-8"
    errors = "strict"
    newlines = None
    closed = False
    line_buffering = False

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer

    def write(self, text: str) -> int:
        """Print `text`; its length."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._buffer.add(str.__str__(text))
        return str.__len__(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Print every line as it is."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Bytes:
        """The stream below, for bytes."""
        return Bytes(self._buffer)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """It stays open."""

    def reconfigure(self, **options: Any) -> None:
        """Nothing to set."""

    def isatty(self) -> bool:
        """Never a terminal."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True

    def readable(self) -> bool:
        """Never."""
        return False

    def seekable(self) -> bool:
        """Never."""
        return False

    def fileno(self) -> int:
        """There is no file."""
        raise OSError("this stream has no file descriptor")


class Bytes:
    """The stream of bytes below a text stream."""

    __slots__ = ("_buffer",)

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer

    def write(self, data: bytes) -> int:
        """Print UTF-8 bytes; their number."""
        self._buffer.add(bytes(data).decode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""
