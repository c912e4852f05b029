"""What all tests stand on: a plain environment, a home of their own, and no network.

Nothing here is a fixture that a test asks for; what a room needs stands in its own conftest.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest

UNSET = (
    "NO_COLOR FORCE_COLOR TEXTUAL_THEME TEXTUAL_FPS TEXTUAL_COLOR_SYSTEM COLUMNS LINES PYTHONHASHSEED".split()
)
SET = {"TEXTUAL_ANIMATIONS": "none", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
LOOPBACK = ("127.", "::1", "localhost", "::ffff:127.")

_numbers = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported."""
    for name in (*UNSET, *(n for n in os.environ if n.startswith("META_TUI_"))):
        os.environ.pop(name, None)
    os.environ.update(SET)
    time.tzset()
    _close_network()
    hypothesis.settings.register_profile("project", deadline=None, database=None, derandomize=True)
    hypothesis.settings.load_profile("project")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, cache and settings of a test stand in a folder of its own, made when it is used."""
    home = tmp_path_factory.getbasetemp() / f"home{next(_numbers)}"
    monkeypatch.setenv("META_TUI_HOME", str(home))


def _close_network() -> None:
    """Sockets of this process reach this machine only; names of others are not looked up."""
    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
    lookup = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **more: Any) -> Any:
        _allow(host)
        return lookup(host, *args, **more)

    socket.getaddrinfo = getaddrinfo


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, *args: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _allow(args[-1][0])
        return method(self, *args)

    return guarded


def _allow(host: Any) -> None:
    text = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    if not text.startswith(LOOPBACK):
        raise PermissionError(f"a test reached for {text}; tests stay on this machine")
