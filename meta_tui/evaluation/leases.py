"""Lease files: who is working on a cell, for shards that share a disk.

A lease is a file that appears in one step (a hard link) beside the cell's log and touched while work goes on.
One whose maker is gone (dead on this host, or silent for longer than `STALE` seconds) may be taken
over. It protects against double work, not against malice.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STALE = 120.0
"""Seconds without a sign of life after which a lease from another host may be taken."""

HEARTBEAT = 20.0
"""Seconds between signs of life."""


@contextmanager
def lease(path: Path) -> Iterator[bool]:
    """Hold the lease at `path`; gives False where somebody else holds it."""
    held = _take(path)
    try:
        yield held
    finally:
        if held:
            path.unlink(missing_ok=True)


def held(path: Path) -> bool:
    """Whether somebody, here or on another host, is working under the lease at `path`."""
    return path.exists() and not _stale(path)


def touch(path: Path) -> None:
    """A sign of life."""
    with contextlib.suppress(OSError):
        os.utime(path)


def _take(path: Path) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    if _make(path):
        return True
    if not _stale(path):
        return False
    gone = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.rename(gone)  # one of several takers succeeds
    except OSError:
        return False
    gone.unlink(missing_ok=True)
    return _make(path)


def _make(path: Path) -> bool:
    """The lease with its maker's name in it, in one step: a kill leaves a whole one or none."""
    own = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    own.write_text(f"{socket.gethostname()} {os.getpid()}\n")
    try:
        path.hardlink_to(own)
    except FileExistsError:
        return False
    finally:
        own.unlink(missing_ok=True)
    return True


def _stale(path: Path) -> bool:
    try:
        host, _, pid = path.read_text().strip().rpartition(" ")
        age = time.time() - path.stat().st_mtime
    except (OSError, UnicodeDecodeError):
        return False
    if host == socket.gethostname() and pid.isdigit() and int(pid) != os.getpid():
        return not _alive(int(pid))
    return age > STALE


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
