"""Functions that answer requests: experts of the user's own, each with a time limit.

A function stands where a model stands, so what goes in and what comes out is recorded like any
other request and reply, and a replay, which opens no door, never runs one. It is the user's own
code and runs with the user's rights: nothing here is a sandbox (that is what programs are for).

A function runs in a thread of its own. Python cannot end a thread, so one that passes its limit is
left running: it holds its memory and its core until it ends or the process does, its result and
whatever it prints are thrown away, and the process does not wait for it. What must really be ended
is better a command (`models.command`).
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from meta_tui.chat import Reply, Usage
from meta_tui.errors import CallFailed
from meta_tui.events import How
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.prints import KEPT, Kept, heard, left_out
from meta_tui.models.secrets import Cleaner, mend, scrub, secret_values

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FunctionExpert:
    """Answers with what a function makes of the instruction.

    Args:
        function: takes the instruction, gives back text, any JSON value, None, or an awaitable of
            one of these, which runs in a loop of its own.
        seconds: how long it may take.
    """

    function: Callable[[str], Any]
    seconds: float = 30.0

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """What the function gave back, and behind it what it printed.

        Raises:
            CallFailed: it raised, took too long, or gave back what is no text.
        """
        began, printed, instruction = time.monotonic(), Kept(), instruction_of(call)

        def work() -> str:
            with heard(printed):
                value = self.function(instruction)
                return as_text(asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value)

        try:
            async with asyncio.timeout(self.seconds):
                result = await in_thread(work)
        except TimeoutError:
            left = "it is left running, and what it gives back will be thrown away"
            raise CallFailed("timeout", f"nothing came within {self.seconds:g} s; {left}") from None
        except CallFailed as error:
            raise CallFailed(error.kind, _with_prints(error.message, printed.text())) from error
        return answered(_with_prints(_cut(result), printed.text()), began)


@dataclass(frozen=True, slots=True)
class Cast:
    """A model, and who answers in its place where a request is addressed to somebody else.

    Args:
        model: answers whatever nobody else does.
        members: by the name of the model that a request is addressed to.
    """

    model: Any
    members: dict[str, Any]

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply of whom the request is addressed to."""
        member = self.members.get(call.request.params.model, self.model)
        reply: Answer = await member.answer(call, tell)
        return reply


async def in_thread(work: Callable[[], T]) -> T:
    """The result of work in a daemon thread of its own, for which nothing waits at exit.

    Raises:
        CallFailed: the work raised, whatever it was.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: CallFailed | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 - a worker boundary: SystemExit ends no run
            error = CallFailed("unknown", _described(raised))
        with suppress(RuntimeError):  # the loop is gone: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="meta-tui expert", daemon=True).start()
    return await done


def as_text(value: Any) -> str:
    """A result as text: text as it is, None as nothing, other values as JSON.

    Raises:
        TypeError: it is neither.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return str.__str__(value)  # a subclass may do anything, and would do it in the loop
    if isinstance(value, bytes | bytearray):
        return value.decode(errors="replace")
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        kind = type(value).__name__
        raise TypeError(f"it gave back a {kind}, which is no text; let it return str") from error


async def _awaited(value: Any) -> Any:
    return await value


def instruction_of(call: Call) -> str:
    """What the Meta Model wrote for it: the last message."""
    return call.request.messages[-1].content


def answered(text: str, began: float) -> Answer:
    """An answer that cost no tokens and no money; no key of the environment stands in it."""
    cleaner = Cleaner(secret_values())
    safe = cleaner.feed(text) + cleaner.flush() if text else ""
    ms = round((time.monotonic() - began) * 1000)
    return Answer(Reply(safe, usage=Usage()), How(ms=ms, cost=0.0))


def _cut(text: str) -> str:
    return text[:KEPT] + left_out(len(text) - KEPT)


def _with_prints(result: str, printed: str) -> str:
    if not printed.strip():
        return result
    return f"{result}\n\n[It printed this]\n{printed.rstrip()}".lstrip()


def _described(error: BaseException) -> str:
    try:
        words = str.__str__(str(error))[:4000]
    except BaseException:  # noqa: BLE001 - an exception of the user's that cannot even be told
        words = ""
    return scrub(mend(f"{type(error).__name__}: {words}".removesuffix(": ")))
