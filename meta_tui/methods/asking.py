"""Asking and reading: one reply, and where no parser takes it one re-ask that names the form.

Also the readers that several methods share: labelled lines and a JSON object inside a reply. The
readers are pure, linear, and never raise on what a model says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from meta_tui.chat import Message, Params, Reply, user
from meta_tui.errors import CallFailed
from meta_tui.run import Run

T = TypeVar("T")

EXCERPT = 300
_LABEL = re.compile(
    r"[\s>#*_-]{0,9}([A-Za-z][A-Za-z _]{1,40}?)[*_]{0,3}\s{0,3}:[*_]{0,3}[ \t]{0,9}(.*)", re.DOTALL
)


async def ask_read(
    run: Run, messages: Sequence[Message], read: Callable[[str], T | None], expected: str
) -> tuple[T | None, Reply]:
    """Ask, read, and ask once more with the expected form behind the last message if need be.

    Returns:
        what was read (None: neither reply could be) and the last reply.
    """
    reply = await run.ask(messages)
    found = read(reply.text)
    if found is not None:
        return found, reply
    run.reject(f"not in the expected form: {reply.text[:EXCERPT]}")
    last = messages[-1]
    reply = await run.ask([*messages[:-1], Message(last.role, f"{last.content}\n\n{expected}")])
    found = read(reply.text)
    if found is None:
        run.reject(f"not in the expected form either: {reply.text[:EXCERPT]}")
    return found, reply


async def ask_text(run: Run, content: str, params: Params | None = None) -> str:
    """The text of the reply to one user message."""
    return (await run.ask([user(content)], params)).text


async def ask_texts(run: Run, contents: Sequence[str], params: Params | None = None) -> list[str | None]:
    """The replies to several user messages at once; None for a call that failed.

    Raises:
        CallFailed: all of them failed; the first failure.
    """
    results = await run.ask_many([[user(content)] for content in contents], params)
    if results and all(isinstance(result, CallFailed) for result in results):
        raise next(result for result in results if isinstance(result, CallFailed))
    return [result.text if isinstance(result, Reply) else None for result in results]


def filled(template: str, /, **values: str) -> str:
    """A prompt text with `{name}` replaced in one pass: text from models is never a format string."""
    return re.sub(r"\{([a-z_]+)\}", lambda found: values.get(found.group(1), found.group(0)), template)


def labelled(text: str, labels: Sequence[str]) -> dict[str, str]:
    """The values of labelled lines, `LABEL: value`, up to the next label; the last of each counts."""
    known = {label.replace("_", " ").lower(): label for label in labels}
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        label = _label(line, known)
        if label is not None:
            current = found[label[0]] = [label[1]]
        elif current is not None:
            current.append(line)
    return {label: "\n".join(lines).strip().strip("*").strip() for label, lines in found.items()}


def _label(line: str, known: dict[str, str]) -> tuple[str, str] | None:
    match = _LABEL.match(line)
    if match is None:
        return None
    label = known.get(match.group(1).replace("_", " ").strip().lower())
    return None if label is None else (label, match.group(2))


def before_labels(text: str, labels: Sequence[str]) -> str:
    """What stands before the first labelled line."""
    known = {label.replace("_", " ").lower(): label for label in labels}
    kept: list[str] = []
    for line in text.split("\n"):
        if _label(line, known) is not None:
            break
        kept.append(line)
    return "\n".join(kept).strip()


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a reply holds: all of it, or from its first `{` to its last `}`."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        found = msgspec.json.decode(text[start : end + 1])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return found if isinstance(found, dict) else None
