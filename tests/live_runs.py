"""The whole program under test: `meta-tui` as a process that is watched, stopped and killed.

`start` gives a process that was forked from one which had imported everything (a fork server of
the standard library), so the import of litellm is paid for once and not for every kill. Where the
start of the program is what matters, tests run `python -m meta_tui` instead. The rest are the
replies of a story, and what of it was asked, paid for and recorded. Nothing here stands in for
our own code.
"""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from meta_tui.chat import Message
from meta_tui.events import Failed, Replied, Requested
from meta_tui.runlog import Recording, read

KEY = "sk-live-9QmZ27xKc4VtW8bn3LpR"
"""What must never be seen again once it was set."""

PATIENCE = 60.0
"""Seconds that a test waits for what should come at once, on a machine that does other things."""


def story(rounds: int = 2) -> Callable[[Mapping[str, Any]], str]:
    """Replies of a run of meta-prompting by what is asked: an expert a round, the answer at last."""

    def reply(body: Mapping[str, Any]) -> str:
        asked = body["messages"][-1]["content"]
        number = int((re.findall(r"ROUND (\d+)", asked) or ["0"])[-1])
        if not number:
            step = re.findall(r"Step (\d+)", asked)
            return f"Part {step[0] if step else 0} of it is 42."
        if number >= rounds:
            return '>> FINAL ANSWER:\n"""\n42\n"""'
        return f'Expert Calculator:\n"""\nStep {number}: what is 6 times 7?\n"""'

    return reply


def wire(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Messages as they go out."""
    return [{"role": message.role, "content": message.content} for message in messages]


def paid(path: Path) -> Counter[str]:
    """The requests (their messages as JSON) whose replies stand in a log."""
    recording = read(path)
    asked = {(e.span, e.n): e for e in recording.events if isinstance(e, Requested)}
    replies = (e for e in recording.events if isinstance(e, Replied))
    return Counter(json.dumps(wire(asked[e.span, e.n].messages)) for e in replies)


def asked(requests: Iterable[Any]) -> Counter[str]:
    """The same of the requests that a server saw."""
    return Counter(
        json.dumps(seen.body["messages"]) for seen in requests if seen.path.endswith("/chat/completions")
    )


def failures(recording: Recording) -> list[Failed]:
    """The failed attempts and calls of a run, in order."""
    return [event for event in recording.events if isinstance(event, Failed)]


def logs(home: Path) -> list[Path]:
    """The runs in a user's folder, oldest first."""
    return sorted((home / "runs").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


def holding(secret: str, *folders: Path) -> list[Path]:
    """The files under the folders that hold a text, whatever kind of files they are."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path for path in files if secret.encode() in path.read_bytes()]


@dataclass
class Program:
    """A command line that runs on its own."""

    process: BaseProcess
    out: Path
    err: Path

    def wait_for(self, text: str, path: Path | None = None) -> str:
        """What it wrote (to stdout, or to `path`) once `text` stands in it."""
        watched = path or self.out
        end = time.monotonic() + PATIENCE
        while text not in (shown := _text(watched)):
            assert time.monotonic() < end, f"{text!r} never came; {shown!r}; {_text(self.err)!r}"
            assert self.process.exitcode is None, f"it ended before {text!r}: {shown}{_text(self.err)}"
            time.sleep(0.005)
        return shown

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.process.kill()
        self.process.join(PATIENCE)

    def end(self) -> int:
        """Its exit code, once it has ended; negative: a signal ended it."""
        self.process.join(PATIENCE)
        if self.process.exitcode is None:
            self.kill()
            raise AssertionError(f"it never ended: {_text(self.out)}{_text(self.err)}")
        return self.process.exitcode

    @property
    def output(self) -> str:
        """All that it wrote."""
        return _text(self.out) + _text(self.err)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


IMPORTED = ("cli", "commands.live", "plain", "session", "sandbox", "models.cached", "models.litellm_model")

_COUNT = iter(range(1_000_000))


def start(
    arguments: Iterable[str],
    place: Path,
    *,
    work: Callable[[list[str]], int] | None = None,
    out: Path | None = None,
    environ: Mapping[str, str] | None = None,
    file_size: int | None = None,
) -> Program:
    """Start `meta-tui ARGUMENTS` with `place/home` as the user's folder.

    Args:
        work: what is run with the arguments instead of the command line; an importable function.
        out: where stdout and stdin go instead of a file; a terminal.
        environ: more environment.
        file_size: bytes that a file may have: a disk that is full.
    """
    number = next(_COUNT)
    files = (out or place / f"out{number}", place / f"err{number}")
    env = {**clean_environment(place / "home"), **(environ or {})}
    process = _fork_server().Process(
        target=_child, args=(list(arguments), str(place), [str(f) for f in files], env, file_size, work)
    )
    process.start()
    return Program(process, *files)


def _fork_server() -> ForkServerContext:
    """Where processes come from: one that imported all that a run may need, and nothing else ran."""
    os.environ.update(LITELLM_OFFLINE_MODE="true", LITELLM_MODE="PRODUCTION")  # as our own import does
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["litellm", "diskcache", *(f"meta_tui.{name}" for name in IMPORTED)])
    return context


GATE = """
import os, sys, time
from importlib.machinery import PathFinder
class Gate:
    def find_spec(self, name, path=None, target=None):
        if name != "litellm":
            return None
        spec = PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        def wait(module):
            open({began!r}, "w").close()
            while not os.path.exists({go!r}):
                time.sleep(0.01)
            load(module)
        spec.loader.exec_module = wait
        return spec
sys.meta_path.insert(0, Gate())
from meta_tui.cli import main
sys.exit(main({arguments!r}))
"""
"""Waits where other modules can still be imported: finding one holds the lock of all imports."""


def waiting_import(arguments: Iterable[str], began: Path, go: Path) -> list[str]:
    """A command for `meta-tui ARGUMENTS` whose import of litellm makes `began` and waits for `go`."""
    return [
        sys.executable,
        "-c",
        GATE.format(began=str(began), go=str(go), arguments=list(arguments)),
    ]


def start_before_the_import(
    arguments: Iterable[str], home: Path, began: Path, go: Path
) -> subprocess.Popen[bytes]:
    """Start the command of `waiting_import` with pipes for its output."""
    return subprocess.Popen(
        waiting_import(arguments, began, go),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(home),
    )


class Terminal:
    """A program in a terminal of 30 lines of 100 columns. Use it as a context manager."""

    def __init__(self, command: Iterable[str], home: Path) -> None:
        self._handle, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        env = {**clean_environment(home), "TERM": "xterm-256color"}
        self.program = subprocess.Popen(
            list(command), stdin=other, stdout=other, stderr=other, env=env, start_new_session=True
        )
        os.close(other)
        self.shown = b""

    def read_until(self, text: str, since: int = 0) -> int:
        """Wait for a text after a place; the place behind it."""
        end = time.monotonic() + PATIENCE
        while (place := self.shown.find(text.encode(), since)) < 0:
            assert time.monotonic() < end, f"{text!r} never came: {self.shown[-2000:]!r}"
            if select.select([self._handle], [], [], 0.1)[0]:
                self._read(text)
        return place + len(text.encode())

    def _read(self, waiting_for: str) -> None:
        try:
            self.shown += os.read(self._handle, 65536)
        except OSError as error:  # Linux: the other end is closed
            message = f"it ended before {waiting_for!r} came: {self.shown[-2000:]!r}"
            raise AssertionError(message) from error

    def type(self, text: str) -> None:
        """Type or paste a text."""
        data = text.encode()
        while data:
            data = data[os.write(self._handle, data[:1024]) :]

    def end(self) -> int:
        """Its exit code, once it has ended; what it still writes is read."""
        end = time.monotonic() + PATIENCE
        while self.program.poll() is None:
            assert time.monotonic() < end, f"it never ended: {self.shown[-2000:]!r}"
            if select.select([self._handle], [], [], 0.05)[0]:
                with suppress(OSError):  # Linux: the other end is closed
                    self.shown += os.read(self._handle, 65536)
        return self.program.returncode

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait()
        os.close(self._handle)


def clean_environment(home: Path) -> dict[str, str]:
    """An environment without any setting or key but ours."""
    drop = re.compile(r"META_TUI_|.*(_KEY|_TOKEN|_BASE|_BASE_URL)$|NO_COLOR|COV_")
    kept = {name: value for name, value in os.environ.items() if not drop.match(name)}
    return {**kept, "META_TUI_HOME": str(home), "META_TUI_API_KEY": KEY}


def _child(
    arguments: list[str],
    place: str,
    files: list[str],
    environ: dict[str, str],
    file_size: int | None,
    work: Callable[[list[str]], int] | None,
) -> None:
    for handle, path in zip((1, 2), files, strict=True):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOCTTY), handle)
    if os.isatty(1):
        os.dup2(1, 0)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(place)
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))
    from meta_tui.cli import main

    raise SystemExit((work or main)(arguments))
