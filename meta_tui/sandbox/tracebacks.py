"""Tracebacks of a program: its own frames only, as Python would print them.

The machinery is loaded when a traceback is wanted, which most programs never do.
"""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType
from typing import Any, Final

from meta_tui.sandbox import repairs

FRAMES: Final = 1100
"""Frames that are looked at: more than Python's own limit of recursion, fewer than take long."""

_sources: Final[dict[str, str]] = {}


def keep_source(filename: str, source: str) -> None:
    """Remember the text of a program, whose lines tracebacks show."""
    _sources[filename] = source


def traceback_lines(error: BaseException | None, filenames: Collection[str]) -> list[str]:
    """The lines of a traceback, with the program's own frames only."""
    if error is None:
        return ["NoneType: None\n"]
    traceback = _machinery()
    found = traceback.TracebackException(type(error), error, error.__traceback__, limit=FRAMES, compact=True)
    chain: list[Any] = [found]
    while chain:
        item = chain.pop()
        if item is not None:
            item.stack = traceback.StackSummary.from_list([f for f in item.stack if f.filename in filenames])
            chain += [item.__cause__, item.__context__, *(getattr(item, "exceptions", None) or ())]
    return list(found.format())


def last_lines(error: BaseException) -> str:
    """What Python says of an exception, without its traceback."""
    return "".join(_machinery().format_exception_only(error)).rstrip("\n")


def _machinery() -> Any:
    import linecache
    import traceback

    repairs.repair()
    for cache in ("cache", "_interactive_cache"):  # the second holds our own start, on Python 3.13
        getattr(linecache, cache, {}).clear()
    for filename, source in _sources.items():
        lines = [f"{line}\n" for line in source.splitlines()]
        linecache.cache[filename] = (len(source), None, lines, filename)
    return traceback


def line_in(error: BaseException, filename: str) -> int | None:
    """The line of a file where an exception came from, None if it never was there."""
    line: int | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
