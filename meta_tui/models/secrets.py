"""Keeping keys out of everything that is shown or stored, and replies storable.

`scrub` takes the values of the environment's key-like variables and the usual shapes of keys out
of the text of an error. `Cleaner` does the first half, and only that, to a reply that arrives in
pieces: what a model says is not judged by patterns. It also joins surrogate pairs that a provider
cut in two and replaces lone ones, which no file can hold. Nothing here finds or reads a key for
use; that is the model library's business.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

HIDDEN = "[secret]"

_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PAT)(?:_|\d|$)", re.IGNORECASE)
_SHORTEST = 8
_PATTERNS = (
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|pplx|nvapi|hf|ghp|gho|glpat|github_pat|r8)[-_][\w-]{12,}"),
    re.compile(r"\bAIza[\w-]{20,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{12,}"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+"),
    re.compile(r"(?<=bearer )[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
    re.compile(r"(?<=[?&]key=)[^&\s\"']{8,}", re.IGNORECASE),
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def secret_values(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The values of variables whose names look like those of keys, longest first.

    Values of fewer than 8 characters or without a letter are no keys: `TOKEN_LIMIT=100000000`.
    """
    found = os.environ if environ is None else environ
    values = {value for name, value in found.items() if _NAME.search(name) and _could_be_key(value)}
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def scrub(text: str, values: Sequence[str] | None = None) -> str:
    """`text` without any key: neither a known value, however it is escaped, nor a usual shape."""
    for value in secret_values() if values is None else values:
        for form in {value, quote(value, safe=""), json.dumps(value)[1:-1]}:
            text = text.replace(form, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(HIDDEN, text)
    return text


def mend(text: str) -> str:
    """`text` with surrogate pairs joined and every lone surrogate replaced by U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Cleaner:
    """Cleans a text that comes in pieces; a piece that may be half a secret is held back."""

    def __init__(self, values: Sequence[str] = ()) -> None:
        self._values = values
        self._firsts = frozenset(value[0] for value in values)
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown of the text so far and was not given back yet."""
        if not self._held and piece.isascii() and self._firsts.isdisjoint(piece):
            return piece
        text = self._held + piece
        start = self._unsure(text)
        self._held, text = text[start:], text[:start]
        return self._clean(text)

    def flush(self) -> str:
        """The rest, when no more pieces come."""
        text, self._held = self._held, ""
        return self._clean(text)

    def _clean(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, HIDDEN)
        return mend(text)

    def _unsure(self, text: str) -> int:
        """Where the part begins that the next piece may turn into a secret or a pair."""
        start = len(text) - 1 if "\ud800" <= text[-1:] <= "\udbff" else len(text)
        for value in self._values:
            start = min(start, _begins(text, value))
        return start


def _begins(text: str, value: str) -> int:
    """Where an unfinished `value` begins at the end of `text`; its length if nowhere."""
    place = text.find(value[0], max(0, len(text) - len(value) + 1))
    while place >= 0:
        if value.startswith(text[place:]):
            return place
        place = text.find(value[0], place + 1)
    return len(text)


def _could_be_key(value: str) -> bool:
    return len(value) >= _SHORTEST and any(character.isalpha() for character in value)
