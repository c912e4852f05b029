"""Commands that answer requests: experts of the user's own that can really be ended.

Like a function (`models.local`) a command is recorded as a request and its reply and never run by
a replay; it runs with the user's rights. It has a process group of its own, which is killed at its
time limit, at a stop of the run, and when the command itself has ended; only what left that group
by itself stays behind. It is given no terminal and no shell.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from meta_tui.errors import CallFailed
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.local import answered, in_thread, instruction_of
from meta_tui.models.prints import Kept

GRACE = 1.0
"""Seconds after the limit in which a command must be dead and its last words read."""


@dataclass(frozen=True, slots=True)
class CommandExpert:
    """Answers with what a command prints when it is given the instruction as standard input.

    Args:
        command: the program and its arguments; no shell reads them.
        seconds: how long it may take.
    """

    command: tuple[str, ...]
    seconds: float = 30.0

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """Its standard output; where it ends with another exit code than 0, that and its errors.

        Raises:
            CallFailed: it cannot be started, or took too long.
        """
        began = time.monotonic()
        started = Started(self.command)
        try:
            code = await in_thread(lambda: started.run(instruction_of(call), self.seconds))
        finally:
            started.kill()
        if code is None:
            said = " ".join("".join(started.out.kept)[:300].split())
            printed = f"; it had printed: {said}" if said else ""
            raise CallFailed("timeout", f"it did not end within {self.seconds:g} s and was killed{printed}")
        return answered(_with_exit_code(started, code), began)


class Started:
    """A command under way: its process group, and what it prints."""

    def __init__(self, command: Sequence[str]) -> None:
        self.out, self.err = Kept(), Kept()
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, instruction: str, seconds: float) -> int | None:
        """Its exit code, or None if it had to be killed at the limit; blocks."""
        with self._lock:
            if self._stopped:
                return None
            self._process = process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        threads = [
            _thread(_feed, process.stdin, instruction.encode(errors="replace")),
            _thread(_drain, process.stdout, self.out),
            _thread(_drain, process.stderr, self.err),
        ]
        code: int | None = None
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(seconds)
        self.kill()
        process.wait(GRACE)
        for thread in threads:
            thread.join(GRACE)
        return code

    def kill(self) -> None:
        """Kill its process group, with whatever it started and left behind in there."""
        with self._lock:
            self._stopped = True
            process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


def _thread(target: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with suppress(OSError):  # it did not want to read
        pipe.write(data)
    with suppress(OSError):
        pipe.close()


def _drain(pipe: IO[bytes], kept: Kept) -> None:
    with suppress(OSError, ValueError), io.TextIOWrapper(pipe, "utf-8", errors="replace", newline="") as text:
        while piece := text.read(8192):
            kept.write(piece)


def _with_exit_code(started: Started, code: int) -> str:
    out, errors = started.out.text().rstrip(), started.err.text().strip()
    if code == 0:
        return out
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return "\n".join(part for part in (out, f"[It {how}]", errors[-2000:]) if part)
