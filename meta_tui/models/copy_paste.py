"""The model that is a person with a web chat: a prompt is shown and copied, a reply pasted back.

`CopyPasteModel` knows no terminal: it is given `ask(prompt) -> reply`, so an app can give a form
of its own. `Terminal` is the plain one. Every prompt is whole and goes into a new chat: nothing
is remembered for the person, and no parameter (temperature, seed) can be promised.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from meta_tui.chat import Message, Reply, Request
from meta_tui.errors import CallFailed
from meta_tui.events import How
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.secrets import mend

Ask = Callable[[str], Awaitable[str]]
"""Shows a prompt and gives back the reply; raises `EOFError` if nobody will answer any more."""

LONGEST_COPY = 100_000
"""Characters of base64 that terminals take into the clipboard at once."""

END = "."

_LINE_END = re.compile(rb"[\n\x04]")


class CopyPasteModel:
    """Asks a person, one prompt at a time."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._turn = asyncio.Lock()

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply that was pasted; nothing was billed for it.

        Raises:
            CallFailed: with kind `cut`, if the input ended without a reply.
        """
        async with self._turn:
            loop = asyncio.get_running_loop()
            begun = loop.time()
            try:
                text = mend(await self._ask(prompt_of(call.request)))
            except EOFError:
                message = "the input ended without a reply; resume the run to paste the rest"
                raise CallFailed("cut", message) from None
        if text:
            tell(text)
        milliseconds = round((loop.time() - begun) * 1000)
        return Answer(Reply(text), How("copy-paste", milliseconds, cost=0.0, sent=_sent(call.request)))


def prompt_of(request: Request) -> str:
    """The messages as one text: bare if there is one, else each under its role."""
    if len(request.messages) == 1:
        return request.messages[0].content
    return "\n\n".join(_part(message) for message in request.messages)


def _part(message: Message) -> str:
    return f"[{message.role}]\n{message.content}"


def _sent(request: Request) -> dict[str, str] | None:
    """A web chat takes no parameter; None says that none was asked for."""
    asked = any(
        getattr(request.params, name) is not None
        for name in request.params.__struct_fields__
        if name != "model"
    )
    return {} if asked else None


class Terminal:
    """Shows prompts on `output`, copies them (OSC 52) and reads replies from `source`.

    A reply ends with a line that holds only a full stop, or with two ends of file (Ctrl-D).
    """

    def __init__(self, output: TextIO, source: TextIO) -> None:
        self._output = output
        self._source = source
        self._number = 0

    async def ask(self, prompt: str) -> str:
        """The reply to a prompt.

        Raises:
            EOFError: the input ended and nothing was pasted.
        """
        self._number += 1
        self._show(prompt)
        with _whole_lines(self._source) as next_line:
            return await _in_thread(lambda: read_reply(next_line))

    def _show(self, prompt: str) -> None:
        copied = self._output.isatty() and len(code := _copy_code(prompt)) <= LONGEST_COPY
        where = "It is in the clipboard: paste" if copied else "Copy"
        self._output.write(
            f"\n--- prompt {self._number}, {len(prompt)} characters ---\n{visible(prompt)}\n---\n"
            f"{where} it into a new chat. Then paste the reply here and end it with a line that\n"
            f"holds only a full stop, or with Ctrl-D twice.\n" + (code if copied else "")
        )
        self._output.flush()


def visible(text: str) -> str:
    """`text` with everything that a terminal would obey, or not show, replaced by U+FFFD."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def read_reply(next_line: Callable[[], str]) -> str:
    """Lines up to a lone full stop or two ends of file in a row, without the last line's end.

    Args:
        next_line: gives the next line with its end, "" at an end of file.

    Raises:
        EOFError: two ends of file and nothing before them.
    """
    lines: list[str] = []
    ended = False
    while True:
        line = next_line()
        if line.rstrip("\r\n") == END or (not line and ended):
            break
        ended = not line
        lines.append(line)
    if not line and not any(lines):
        raise EOFError
    return "".join(lines).removesuffix("\n").removesuffix("\r")


def _copy_code(text: str) -> str:
    return f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\x07"


async def _in_thread(work: Callable[[], str]) -> str:
    """Runs `work` in a daemon thread: one that waits for input must not hold up the program's end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def land(text: str | None) -> None:
        if done.cancelled():
            return
        if text is None:
            done.set_exception(EOFError())
        else:
            done.set_result(text)

    def run() -> None:
        try:
            text: str | None = work()
        except (EOFError, OSError, ValueError):
            text = None
        if not loop.is_closed():
            loop.call_soon_threadsafe(land, text)

    threading.Thread(target=run, name="paste", daemon=True).start()
    return await done


@contextmanager
def _whole_lines(source: TextIO) -> Iterator[Callable[[], str]]:
    """Gives a `next_line`. A terminal drops what passes 4,095 characters of one line unless it is
    told to hand over keys as they come, and pasted replies have such lines."""
    try:
        import termios
    except ImportError:
        yield source.readline
        return
    try:
        handle = source.fileno()
        before = termios.tcgetattr(handle)
    except (OSError, ValueError, termios.error):
        yield source.readline
        return
    now = [*before[:3], before[3] & ~termios.ICANON, *before[4:]]
    termios.tcsetattr(handle, termios.TCSADRAIN, now)
    try:
        yield _Keys(handle).next_line
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


class _Keys:
    """Lines made of what a terminal hands over key by key; Ctrl-D is an end of file."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._rest = b""

    def next_line(self) -> str:
        while True:
            if end := _LINE_END.search(self._rest):
                return self._take(end.start(), end[0] == b"\x04")
            more = os.read(self._handle, 65536)
            if not more:
                raise EOFError
            self._rest = _rubbed(self._rest + more)

    def _take(self, place: int, ended: bool) -> str:
        line, rest = self._rest[:place].decode("utf-8", "replace"), self._rest[place + 1 :]
        if ended and line:
            self._rest = b"\x04" + rest
            return line
        self._rest = rest
        return "" if ended else line + "\n"


def _rubbed(keys: bytes) -> bytes:
    """Applies backspaces, as a terminal in its usual mode would."""
    while (place := keys.find(b"\x7f")) >= 0:
        kept = keys[:place].decode("utf-8", "ignore")
        kept = kept if kept.endswith("\n") else kept[:-1]
        keys = kept.encode() + keys[place + 1 :]
    return keys
