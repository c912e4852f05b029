"""The frames between the app and a worker: four bytes of length (big endian), then UTF-8 JSON.

One frame each way and a greeting before them. This module only packs and unpacks; who trusts
whom is decided by its users: the app takes a frame of a worker as data from a stranger.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

HEADER: Final = 4


def pack(value: Any) -> bytes:
    """A frame that holds `value` (plain JSON values only)."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
    return len(body).to_bytes(HEADER, "big") + body


def length(header: bytes) -> int:
    """The number of bytes that follow a header."""
    return int.from_bytes(header, "big")


def unpack(body: bytes) -> Any:
    """The value of a frame's body.

    Raises:
        ValueError: it is no UTF-8 or no JSON.
    """
    return json.loads(body.decode("utf-8"))


def read(descriptor: int) -> Any:
    """The next frame of a blocking descriptor.

    Raises:
        EOFError: the other side has gone.
    """
    return unpack(_exactly(descriptor, length(_exactly(descriptor, HEADER))))


def write(descriptor: int, value: Any) -> None:
    """Write one frame to a blocking descriptor."""
    rest = memoryview(pack(value))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _exactly(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(descriptor, min(size, 1 << 16))
        if not part:
            raise EOFError("the app has gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
