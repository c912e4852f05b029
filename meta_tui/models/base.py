"""The seam between a run and whatever answers it: the `Model` protocol and its two values.

Layers (cache, limits, retries) are models that hold a model. Nothing here knows a provider, a
file or a method. The engine gives a `Call`, the model gives an `Answer` or raises `CallFailed`;
on the way it may `tell` pieces of text (`str`) and attempts that failed and will be made again
(`Attempt`).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from meta_tui.chat import CodeResult, Program, Reply, Request
from meta_tui.events import FailureKind, How


@dataclass(frozen=True, slots=True)
class Call:
    """A request at its address in a run.

    Attributes:
        request: what is asked; `request.key` is its key.
        strand: path of the sequential thread that asks ("" is the run itself).
        draw: how many requests with this key the strand issued before this one.
        repeat: the run's repeat ("0", "1", ..., or "fork:<run>").
        span: position of the span, for messages to people only.
        role: role of the span (`meta`, `expert`, ...), for messages to people only.
        name: name of the span (`Expert Python`), for messages to people only.
        fresh: read nothing from the cache; the stored reply is replaced.
    """

    request: Request
    strand: str = ""
    draw: int = 0
    repeat: str = "0"
    span: str = ""
    role: str = ""
    name: str = ""
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply and how it came about (None: nothing is known, as for imported runs)."""

    reply: Reply
    how: How | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that failed and will be made again in `retry_in` seconds."""

    kind: FailureKind
    message: str
    attempt: int
    retry_in: float


Tell = Callable[[str | Attempt], None]
"""Called with every piece of text as it comes and with every failed attempt."""


class Model(Protocol):
    """Whatever answers requests."""

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply to a call.

        Raises:
            CallFailed: it failed for good; `kind` says how.
        """
        ...


class Embedder(Protocol):
    """Whatever turns texts into vectors."""

    async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
        """One vector of floats a text, in order.

        Raises:
            CallFailed: it failed for good.
        """
        ...


class CodeRunner(Protocol):
    """Whatever runs a program. A failure of the program is a result, never an exception."""

    async def execute(self, program: Program) -> tuple[CodeResult, How | None]:
        """The result of the program, and the layers that held it in `how.layers`."""
        ...


def encode_vector(vector: Sequence[float]) -> str:
    """Base64 of little-endian float32."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def decode_vector(text: str) -> list[float]:
    """The floats of a base64 vector."""
    data = base64.b64decode(text)
    return list(struct.unpack(f"<{len(data) // 4}f", data))
