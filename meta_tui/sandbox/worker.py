"""The child process: import, lock down, say ready, read one program, answer, end.

It runs as `python -S -s -P -c ...` with a socket as standard input and nothing else of the app. It
has locked itself down before it reads the program; what it answers is data to the app. Only the
app's clock bounds it from outside.
"""

from __future__ import annotations

import contextlib
import os
import sys
import types
from typing import Any, Final, NoReturn

from meta_tui.sandbox import wire

CHANNEL: Final = 3
"""Where the socket stands while the program runs; 0 to 2 lead nowhere."""

PRELOADED: Final[dict[str, str]] = {"numpy": "numpy", "sympy": "sympy"}
"""Kind of worker -> what it loads before it waits; the other kind is `plain`."""


def main(kind: str, without: list[str]) -> NoReturn:
    """Serve one program on standard input's socket."""
    channel = _move_channel()
    try:
        with contextlib.suppress(OSError):
            os.rmdir(os.getcwd())  # noqa: PTH106, PTH109 - nothing can be made in a folder that is gone
        from meta_tui.sandbox import lockdown, policy, program  # noqa: F401 - nothing is read from disk later

        _preload(kind)
        used = lockdown.address_space()
        layers = lockdown.lock(without)
    except BaseException:  # noqa: BLE001 - the worker boundary: the app is told why
        wire.write(channel, {"failed": _trouble()})
        os._exit(1)
    wire.write(
        channel,
        {"layers": layers, "python": "{}.{}.{}".format(*sys.version_info[:3]), "policy": policy.VERSION},
    )
    try:
        request = wire.read(channel)
    except (EOFError, OSError, ValueError):
        os._exit(0)
    _serve(channel, request, used)


def _serve(channel: int, request: dict[str, Any], used: int) -> NoReturn:
    def finish(answer: dict[str, Any]) -> NoReturn:
        wire.write(channel, answer)
        os._exit(0)

    from meta_tui.sandbox import lockdown, program

    lockdown.limit(request["seconds"], request["memory"], used)
    try:
        program.run(request, finish)
    except BaseException:  # noqa: BLE001 - the worker boundary: our own fault is told, not hidden
        finish({"status": "crash", "stdout": "", "error": _trouble()})
    os._exit(0)


def _trouble() -> str:
    import traceback

    return traceback.format_exc()[-2000:]


def _move_channel() -> int:
    os.dup2(0, CHANNEL, inheritable=False)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > CHANNEL:
        os.close(null)
    return CHANNEL


def _preload(kind: str) -> None:
    if kind in PRELOADED:
        import importlib

        with contextlib.suppress(ImportError):
            importlib.import_module(PRELOADED[kind])
    sys.modules["__main__"] = types.ModuleType("__main__")
