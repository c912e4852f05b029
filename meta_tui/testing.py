"""Runs of a test, each bound to a cassette: what the fixture of our pytest plugin gives.

Here a run is prepared, followed or recorded, its differences become a diff, and sockets are closed.
Nothing here knows pytest (`pytest_plugin` does), and nothing prints.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from meta_tui import library, sources
from meta_tui.chat import Params
from meta_tui.errors import CassetteMiss, LogError, RecordError, ReplayError, UsageError
from meta_tui.events import RunStarted
from meta_tui.journal import Emit, Journal, describe
from meta_tui.run import Doors, RunResult
from meta_tui.runlog import Recording, read
from meta_tui.session import PROVIDER_TROUBLE, SCRIPT, SCRIPTED, Plan, Session
from meta_tui.sources import RecordMode

LONGEST = 200
"""Lines of a diff that are shown."""

SENDMSG_ADDRESS = 4
"""Arguments of `sendmsg` where the last is an address."""

PARAMS = ("temperature", "top_p", "max_tokens")
"""Request parameters that are settings too."""


class NetworkClosed(RuntimeError):
    """A test reached for the network although nothing was being recorded."""


@dataclass(slots=True)
class CassetteRun:
    """Runs of one test, in the order in which it asks for them.

    The first one is bound to `path`, the second to `path` with `-2` before its ending, and so on.
    What a test does not say (model, parameters, seed) is taken from the cassette, so a replay
    depends on no setting of the machine; methods are built anew, so a changed prompt is noticed.

    Args:
        path: the cassette of the first run.
        mode: `none`, `once`, `new_episodes` or `all`.
        test: how the test is named on pytest's command line, for messages.
        network: closed but while a run is recorded.
        defaults: arguments of every run of the test that does not give its own.
    """

    path: Path
    mode: RecordMode
    test: str
    network: Network
    defaults: Mapping[str, Any] = field(default_factory=dict)
    used: list[Path] = field(default_factory=list)
    dropped: list[tuple[Path, str]] = field(default_factory=list)

    def __call__(self, question: str, **arguments: Any) -> RunResult:
        """`solve_async` for tests that are no coroutines; see there."""
        return library.in_loop(self.solve_async(question, **arguments))

    async def solve_async(
        self, question: str, *, on_event: Emit | None = None, **arguments: Any
    ) -> RunResult:
        """Solve one question against the test's next cassette.

        Args:
            question: what is asked.
            on_event: told of every event.
            arguments: as for `meta_tui.solve`: model, method, settings, experts, max_calls, ...

        Raises:
            UsageError: no cassette is there and none may be recorded.
            ReplayError: the run is not the recorded one; its notes show a diff.
            LogError: the cassette is damaged, or of a newer version.
        RecordError: a run that was to be recorded failed for want of its provider.
        """
        path = self._next()
        exists = path.exists()
        if self.mode == "none" and not exists:
            raise UsageError(f"there is no cassette {path}; record it: {self._command('once')}")
        follows = exists and self.mode in ("none", "once")
        recording = self._read(path) if follows else None
        planned, live = _prepared(question, {**self.defaults, **arguments}, recording)
        consumers = [on_event] if on_event else []
        try:
            if recording is not None:
                return await self._followed(path, recording, planned, consumers)
            return await self._recorded(path, planned, live, consumers)
        finally:
            await live.aclose()

    def _next(self) -> Path:
        number = len(self.used) + 1
        path = self.path if number == 1 else self.path.with_stem(f"{self.path.stem}-{number}")
        self.used.append(path)
        return path

    def _read(self, path: Path) -> Recording:
        try:
            return read(path)
        except LogError as error:
            error.add_note(f"cassette {path}\nmend it, or record anew: {self._command('all')}")
            raise

    def _command(self, mode: RecordMode) -> str:
        return f"pytest --meta-tui-record={mode} {self.test!r}"

    async def _followed(
        self, path: Path, recording: Recording, planned: Plan, consumers: Sequence[Emit]
    ) -> RunResult:
        try:
            result, _ = await sources.with_cassette(
                path, "none", planned.method, planned.started, Doors(), consumers=consumers
            )
        except ReplayError as error:
            error.add_note(_explained(error, recording, planned.started))
            error.add_note(
                f"cassette {path}\nif this is as it should be, record anew: {self._command('all')}"
            )
            raise
        return result

    async def _recorded(
        self, path: Path, planned: Plan, live: Session, consumers: Sequence[Emit]
    ) -> RunResult:
        """Record beside the cassette and put it in its place at the end, so that a recording that
        goes wrong costs none that is there."""
        beside = path.with_name(f".{path.name}.{os.getpid()}.new")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and self.mode == "new_episodes":
            shutil.copyfile(path, beside)
        try:
            with self.network.opened():
                result, journal = await sources.with_cassette(
                    beside, self.mode, planned.method, planned.started, live.doors(), consumers=consumers
                )
            if result.status == "cancelled" or (
                result.status == "failed" and result.reason in PROVIDER_TROUBLE
            ):
                raise RecordError(f"{path} was not recorded: the run ended {result.status} ({result.reason})")
            beside.replace(path)
        finally:
            for left in (beside, beside.with_name(f".{beside.name}.recording")):
                left.unlink(missing_ok=True)
        self.dropped += [(path, text) for text in _unused(journal)]
        return result


def _prepared(question: str, given: dict[str, Any], recording: Recording | None) -> tuple[Plan, Session]:
    """A run as the test wants it: what it leaves open comes from the recording, and while recording
    from the machine's settings. Method, preset and experts never do, nor is the cache used."""
    named = {"method": "meta_prompting", "preset": "default", "experts": {}, "cache": False, **given}
    if recording is None:
        return library.prepare(question, **named)
    started = recording.started
    model = f"{SCRIPT}-" if started.model == SCRIPTED else started.model
    planned, live = library.prepare(question, **{"model": model, **named})
    asked = Params(**{name: given[name] for name in PARAMS if given.get(name) is not None})
    seed = planned.started.seed if "seed" in given else started.seed
    followed = msgspec.structs.replace(planned.started, params=asked.over(started.params), seed=seed)
    return Plan(planned.method, followed, planned.log), live


def _unused(journal: Journal) -> list[str]:
    recording = journal.recording
    if recording is None:
        return []
    lines = dict(zip(map(id, recording.events), recording.lines, strict=True))
    return [f"line {lines[id(effect)]}, {describe(effect)}" for effect in journal.unused()]


def _explained(error: ReplayError, recording: Recording, now: RunStarted) -> str:
    """The difference as a unified diff; empty where there is nothing to compare."""
    if isinstance(error, CassetteMiss):
        return diff(error.recorded, error.wanted, f"recorded (line {error.line})", "now")
    return diff(_described(recording.started), _described(now), "recorded (line 1)", "now")


def diff(old: str, new: str, before: str, after: str) -> str:
    """A unified diff of two texts, of at most LONGEST lines; empty if they are equal."""
    lines = list(difflib.unified_diff(old.split("\n"), new.split("\n"), before, after, lineterm=""))
    more = len(lines) - LONGEST
    return "\n".join([*lines[:LONGEST], *([f"... {more} more lines"] if more > 0 else [])])


def _described(started: RunStarted) -> str:
    """What a run was asked to be, line by line; texts keep their lines."""
    facts: dict[str, Any] = {"question": started.question, "method": started.method, "model": started.model}
    facts |= {"params": started.params.canonical.decode(), "seed": started.seed, "repeat": started.repeat}
    facts |= {f"setting {name}": value for name, value in sorted(started.settings.items())}
    return "\n".join(_fact(name, value) for name, value in facts.items())


def _fact(name: str, value: Any) -> str:
    if isinstance(value, str) and "\n" in value:
        return "\n".join([f"{name}:", *(f"    {line}" for line in value.split("\n"))])
    return f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


class Network:
    """The sockets of this process, closed between entering and leaving.

    Connections and datagrams by internet protocols are refused, and so are look-ups of names of
    other machines; sockets that are bound here and serve are left alone, and so are other processes.

    Args:
        allowed: hosts that stay open, as they are given to `connect`.
    """

    METHODS = ("connect", "connect_ex", "sendto", "sendmsg")
    LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")
    HERE = frozenset({"", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})
    """Hosts whose look-up reaches nobody: servers look them up to be bound there."""

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        self._allowed = frozenset(allowed)
        self._open = 0
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Network:
        """Close them."""
        for name in self.METHODS:
            if hasattr(socket.socket, name):  # Windows has no sendmsg
                self._replace(socket.socket, name, self._guarded)
        self._replace(socket, "socketpair", self._exempt)
        for name in self.LOOKUPS:
            self._replace(socket, name, self._guarded_lookup)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What was there before is there again."""
        while self._undo:
            self._undo.pop()()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The network is open in here: something is being recorded."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        inherited, old = name not in vars(owner), getattr(owner, name)
        setattr(owner, name, wrap(old))
        self._undo.append(lambda: delattr(owner, name) if inherited else setattr(owner, name, old))

    def _guarded(self, method: Any) -> Any:
        def guarded(sock: socket.socket, *arguments: Any) -> Any:
            connected = method.__name__ == "sendmsg" and len(arguments) < SENDMSG_ADDRESS
            address = None if connected or not arguments else arguments[-1]
            if sock.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
                self._check(address[0])
            return method(sock, *arguments)

        return guarded

    def _guarded_lookup(self, lookup: Any) -> Any:
        def guarded(host: Any, *arguments: Any, **more: Any) -> Any:
            if _text(host) not in self.HERE:
                self._check(host)
            return lookup(host, *arguments, **more)

        return guarded

    def _exempt(self, pair: Any) -> Any:
        """Where there is no such call (Windows), a pair is a connection to this machine, and every
        event loop needs one."""

        def made(*arguments: Any, **more: Any) -> Any:
            with self.opened():
                return pair(*arguments, **more)

        return made

    def _check(self, host: Any) -> None:
        if not self._open and _text(host) not in self._allowed:
            raise NetworkClosed(
                f"the network is closed in this test and it reached for {_text(host)!r}; record with "
                f"--meta-tui-record=once, or allow it: meta_tui_cassette(allow_hosts=[{_text(host)!r}])"
            )


def _text(host: Any) -> str:
    return host.decode("utf-8", "replace") if isinstance(host, bytes) else str(host or "")


__all__ = ["CassetteRun", "Network", "NetworkClosed", "diff"]
