"""What a person may have meant by a name that does not exist: words for the end of a message.

It knows no commands, methods or models; whoever refuses a name gives those that exist.
"""

from __future__ import annotations

from collections.abc import Iterable

ALIKE = 0.6
"""Share of common letters from which two names are near."""

MOST = 2
"""Names that are offered at most."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'solve'?`, or nothing where no known name is near this one."""
    import difflib

    near = difflib.get_close_matches(word.lower(), list(known), n=MOST, cutoff=ALIKE)
    return f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
