"""The app's side: a pool of locked workers, one program each, the wall clock and the kill.

Workers are started ahead of time and wait, locked, for one program. The app forks nothing, starts
no thread and sets no alarm: it waits for an answer or for the clock, then kills the worker's whole
group. An answer is data from a stranger: its size is capped, its fields are checked, and anything
odd is the status `crash`. A program's failure is a result; only a machine that cannot run programs
raises.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from meta_tui.chat import CodeResult, CodeStatus, Limits, Program
from meta_tui.errors import CallFailed, UsageError
from meta_tui.events import How
from meta_tui.sandbox import wire

START_SECONDS: Final = 60.0
"""A worker that is not ready by then will not be."""
REFILL_SECONDS: Final = 0.02
"""While a warm worker is left, the next is started when the program that was given out is likely done."""
REAP_SECONDS: Final = 60.0
"""A killed process is gone long before; the system may be slow to free much memory."""
STATUSES: Final[frozenset[str]] = frozenset(get_args(CodeStatus))
BOUNDARY: Final = ("landlock", "seccomp")
"""The layers without which `strict` and the profile `os_only` refuse to run."""
SCIENCE: Final = ("sympy", "numpy")
"""Libraries with workers of their own that have loaded them; the first that a program mentions counts."""
ROOT: Final = str(Path(__file__).resolve().parents[2])

Kind = str
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Held:
    """One layer as a worker reports it."""

    name: str
    held: bool
    detail: str


@dataclass(slots=True, eq=False)
class Worker:
    """A child process, its socket and what it said when it was ready."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    folder: Path
    layers: tuple[Held, ...] = ()
    python: str = ""
    policy: str = ""
    asked: bool = False
    """A program was given to it, and whoever gave it ends the worker."""

    def take(self, greeting: Any) -> None:
        """Keep what the worker said of itself.

        Raises:
            CallFailed: it could not lock itself down or load its libraries.
        """
        if not isinstance(greeting, dict) or "layers" not in greeting:
            reason = greeting.get("failed", "") if isinstance(greeting, dict) else ""
            raise CallFailed("unsupported", f"the sandbox could not start; see `meta-tui doctor`\n{reason}")
        self.layers = tuple(Held(str(n), bool(h), str(d)) for n, h, d in greeting["layers"])
        self.python, self.policy = str(greeting["python"]), str(greeting["policy"])

    def kill(self) -> None:
        """End the worker and everything that it may have started; its socket ends by that."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def release(self) -> None:
        """Close our end and remove the folder, if the worker did not; it has ended before."""
        self.channel.close()
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def spawn(kind: Kind, without: Collection[str]) -> Worker:
    """Start a worker; it is ready when its greeting has come.

    Raises:
        CallFailed: this system cannot start one.
    """
    if os.name != "posix":
        raise CallFailed("unsupported", "the sandbox needs Linux or macOS; run without Expert Python")
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    folder = Path(tempfile.mkdtemp(prefix="meta-tui-"))
    try:
        process = subprocess.Popen(
            [sys.executable, "-S", "-s", "-P", "-c", _bootstrap(kind, without)],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_environment(),
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        folder.rmdir()
        raise CallFailed("unsupported", f"the sandbox could not start a process: {error}") from error
    finally:
        theirs.close()
    return Worker(process, ours, folder)


def _bootstrap(kind: Kind, without: Collection[str]) -> str:
    """The worker's program. It gets our search path instead of running the site module again."""
    paths = [path for path in sys.path if path] + [ROOT]
    return (
        f"import sys; sys.path[:] = {paths!r}; from meta_tui.sandbox.worker import main; "
        f"main({kind!r}, {sorted(without)!r})"
    )


def _environment() -> dict[str, str]:
    single = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    fixed = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
    return fixed | dict.fromkeys(single, "1")


@dataclass(slots=True, eq=False)
class Pool:
    """Workers of one event loop: the warm ones by kind, all that live, and what is being cleaned up."""

    loop: asyncio.AbstractEventLoop
    slots: asyncio.Semaphore
    warm: dict[Kind, list[asyncio.Task[Worker]]] = field(default_factory=dict)
    alive: set[Worker] = field(default_factory=set)
    ends: set[asyncio.Task[None]] = field(default_factory=set)
    closed: bool = False
    empty: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a closed pool's last worker is gone."""


class Sandbox:
    """Runs programs in locked, one-shot workers. A `CodeRunner`.

    Args:
        pool: workers kept warm for ordinary programs (and one each for those with sympy and with
            numpy, once there was one).
        strict: refuse to run on a machine without Landlock and seccomp.
        without: layers to leave out, for tests; every result says that they are missing.
        warn: told once, in words for a person, when layers are missing.

    Use it as an async context manager, or call `aclose`. It may be used from one event loop after
    another: a new loop gets new workers.
    """

    def __init__(
        self, pool: int = 2, strict: bool = False, *, without: Collection[str] = (), warn: Warn | None = None
    ) -> None:
        self.size = max(1, pool)
        self.strict = strict
        self.without = frozenset(without)
        self._warn = warn
        self._pool: Pool | None = None

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def execute(self, program: Program) -> tuple[CodeResult, How]:
        """Run a program; whatever it does is its result.

        Raises:
            UsageError: its inputs are no JSON object.
            CallFailed: `unsupported`: this machine cannot run it, or lacks a layer that `strict` or
                the profile needs.
        """
        pool, request = self._pool_here(), _request(program)
        async with pool.slots:
            worker = await self._ready(pool, kind_of(program))
            try:
                self._check(worker, program)
                worker.asked = True
                started = time.monotonic()
                result = await self._ask(worker, request, program)
                ms = round((time.monotonic() - started) * 1000)
            finally:
                self._end(pool, worker)
            return result, self._how(worker, program, ms)

    async def aclose(self) -> None:
        """End every worker and wait until they are gone; the sandbox may be used again."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        if pool.loop is not asyncio.get_running_loop():
            _abandon(pool)
            return
        pool.closed = True
        for task in [task for tasks in pool.warm.values() for task in tasks]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, CallFailed):
                self._end(pool, await task)
        for worker in list(pool.alive):
            worker.kill()
            if not worker.asked:
                self._end(pool, worker)
        if pool.alive:
            await pool.empty.wait()

    async def layers(self) -> tuple[Held, ...]:
        """The layers of a worker here and now."""
        pool = self._pool_here()
        worker = await self._ready(pool, "plain")
        await self._end(pool, worker)
        return worker.layers

    # The pool

    def _pool_here(self) -> Pool:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool.loop is not loop:
            if self._pool is not None:
                _abandon(self._pool)
            self._pool = Pool(loop, asyncio.Semaphore(max(self.size, _processors())))
        return self._pool

    async def _ready(self, pool: Pool, kind: Kind) -> Worker:
        if pool.closed:
            raise CallFailed("cancelled", "the sandbox was closed before the program ran")
        self._refill(pool, kind)
        tasks = pool.warm[kind]
        task = next((task for task in tasks if task.done()), tasks[0])
        tasks.remove(task)
        if tasks:
            pool.loop.call_later(REFILL_SECONDS, self._refill, pool, kind)
        else:
            self._refill(pool, kind)
        return await task

    def _refill(self, pool: Pool, kind: Kind) -> None:
        tasks = pool.warm.setdefault(kind, [])
        while not pool.closed and len(tasks) < (self.size if kind == "plain" else 1):
            tasks.append(pool.loop.create_task(self._start(pool, kind)))

    async def _start(self, pool: Pool, kind: Kind) -> Worker:
        worker = spawn(kind, self.without)
        pool.alive.add(worker)
        try:
            async with asyncio.timeout(START_SECONDS):
                worker.take(wire.unpack(await _frame(worker.channel, 1 << 20)))
        except (TimeoutError, _Broken, OSError, ValueError) as error:
            self._end(pool, worker)
            message = "the sandbox worker did not start; see `meta-tui doctor`"
            raise CallFailed("unsupported", message) from error
        except BaseException:
            worker.kill()  # stays among those alive, which closing waits for: no new task here
            raise
        return worker

    def _end(self, pool: Pool, worker: Worker) -> asyncio.Task[None]:
        worker.kill()
        task = pool.loop.create_task(_reaped(pool, worker))
        pool.ends.add(task)
        task.add_done_callback(pool.ends.discard)
        return task

    # One program

    def _check(self, worker: Worker, program: Program) -> None:
        missing = [layer.name for layer in worker.layers if not layer.held]
        lacking = [name for name in BOUNDARY if name in missing]
        if lacking and (self.strict or program.profile == "os_only"):
            why = "strict mode" if self.strict else "the profile os_only"
            raise CallFailed("unsupported", f"{why} needs {' and '.join(lacking)}, which this machine lacks")
        if missing and self._warn is not None:
            warn, self._warn = self._warn, None
            warn(f"the sandbox runs without {', '.join(missing)}; `meta-tui doctor` says why")

    async def _ask(self, worker: Worker, request: bytes, program: Program) -> CodeResult:
        limits = program.limits
        try:
            async with asyncio.timeout(limits.seconds):
                await asyncio.get_running_loop().sock_sendall(worker.channel, request)
                body = await _frame(worker.channel, _most(program))
        except TimeoutError:
            return CodeResult("timeout", error=f"stopped after {_seconds(limits)}")
        except (_Broken, OSError):
            return await self._broken(worker, limits)
        result = result_of(body, limits)
        return result if program.result else msgspec.structs.replace(result, value=None)

    async def _broken(self, worker: Worker, limits: Limits) -> CodeResult:
        code = await _exit_code(worker.process, patience=0.1)
        if code is None:
            return CodeResult("crash", error="the process of the program closed its channel or sent too much")
        if code == -signal.SIGXCPU:
            return CodeResult("timeout", error=f"stopped after {_seconds(limits)} of processor time")
        if code == -signal.SIGKILL:
            return CodeResult("memory", error="the system ended the program, probably because memory ran out")
        return CodeResult("crash", error=f"the process of the program ended abruptly ({_ending(code)})")

    def _how(self, worker: Worker, program: Program, ms: int) -> How:
        held = [layer.name for layer in worker.layers if layer.held]
        layers = (["policy"] if program.profile == "policy" else []) + held + ["process"]
        note = f"Python {worker.python}, policy {worker.policy}"
        missing = [layer.name for layer in worker.layers if not layer.held]
        if missing:
            note += f", without {', '.join(missing)}"
        return How(source="live", ms=ms, layers=tuple(layers), note=note)


def kind_of(program: Program) -> Kind:
    """Which workers a program is for."""
    return next((name for name in SCIENCE if name in program.code), "plain")


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _request(program: Program) -> bytes:
    if not (program.inputs is None or isinstance(program.inputs, dict)):
        raise UsageError("the inputs of a program are no JSON object; give names and values")
    try:
        return wire.pack(_fields(program))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the inputs of a program are no JSON: {error}; give plain values") from error


def _fields(program: Program) -> dict[str, Any]:
    limits = program.limits
    return {
        "code": program.code,
        "stdin": program.stdin,
        "inputs": program.inputs,
        "result": program.result,
        "profile": program.profile,
        "seconds": limits.seconds,
        "memory": limits.memory,
        "output": limits.output,
    }


def _seconds(limits: Limits) -> str:
    return f"{limits.seconds:g} s"


class _Broken(Exception):
    """The worker went away, or sent what is no frame."""


def _most(program: Program) -> int:
    """Bytes of the largest honest answer: six of JSON for one that is printed, and the value asked for."""
    return 6 * program.limits.output + (1 << 18) + (5 << 18 if program.result else 0)


async def _frame(channel: socket.socket, most: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = bytearray()
    need = wire.HEADER
    while len(data) < need:
        part = await loop.sock_recv(channel, 1 << 16)
        if not part:
            raise _Broken
        data += part
        if need == wire.HEADER and len(data) >= need:
            need += wire.length(bytes(data[: wire.HEADER]))
            if need > most:
                raise _Broken
    if len(data) > need:
        raise _Broken
    return bytes(data[wire.HEADER :])


def result_of(body: bytes, limits: Limits) -> CodeResult:
    """The result in an answer, every field checked: the answer is data from a stranger."""
    try:
        answer = wire.unpack(body)
        status = answer["status"]
        line = answer.get("line")
        if status not in STATUSES or not (line is None or (type(line) is int and 0 < line < 1 << 31)):
            raise ValueError(status)
        stdout, error = _text(answer["stdout"]), _text(answer.get("error", ""))
        return CodeResult(
            status, _cut(stdout, limits.output + 100), error[: 1 << 16], line, _value(answer.get("value"))
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return CodeResult("crash", error="the process of the program gave no proper answer")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _cut(text: str, size: int) -> str:
    """As much of a text as fits into so many bytes."""
    return text if len(text) * 4 <= size else text.encode()[:size].decode("utf-8", "ignore")


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("no JSON number")
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {_text(name): _value(item) for name, item in value.items()}
    return value


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


async def _reaped(pool: Pool, worker: Worker) -> None:
    await _exit_code(worker.process, patience=REAP_SECONDS)
    worker.release()
    pool.alive.discard(worker)
    if pool.closed and not pool.alive:
        pool.empty.set()


async def _exit_code(process: subprocess.Popen[bytes], patience: float) -> int | None:
    delay = 0.0005
    until = time.monotonic() + patience
    while process.poll() is None and time.monotonic() < until:
        await asyncio.sleep(delay)
        delay = min(delay * 1.5, 0.05)
    return process.returncode


def _abandon(pool: Pool) -> None:
    for worker in list(pool.alive):
        worker.kill()
        worker.process.wait()
        worker.release()
    pool.alive.clear()


def doctor(without: Collection[str] = ()) -> list[tuple[str, bool, str]]:
    """Each layer here: its name, whether it holds, a word about how or why not. Blocks for a moment.

    Raises:
        CallFailed: no worker starts on this machine.
    """
    worker = spawn("plain", without)
    try:
        worker.channel.setblocking(True)
        worker.channel.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(START_SECONDS), 0)
        )
        worker.take(wire.read(worker.channel.fileno()))
    except (OSError, EOFError, ValueError) as error:
        raise CallFailed("unsupported", "the sandbox worker did not start") from error
    finally:
        worker.kill()
        worker.process.wait()
        worker.release()
    held = [(layer.name, layer.held, layer.detail) for layer in worker.layers]
    return [("policy", True, f"version {worker.policy} on Python {worker.python}"), *held]
