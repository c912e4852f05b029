"""What every command does alike: results to stdout, messages to stderr, JSON on request."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
import msgspec

from meta_tui.display import letters

F = TypeVar("F", bound=Callable[..., Any])


class Letters(io.TextIOWrapper):
    """A text stream whose signs are ASCII letters."""

    def write(self, text: str, /) -> int:
        """Write the text in letters."""
        return super().write(letters(text))


def json_option(function: F) -> F:
    """`--json`: the same facts as JSON on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(function)


def print_json(value: Any) -> None:
    """A value as indented JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=1))


def note(text: str) -> None:
    """A message to the person, on stderr."""
    click.echo(text, err=True)


def warn(problems: Iterable[str]) -> None:
    """One line on stderr for each plug-in that cannot be used."""
    for problem in problems:
        note(f"▲ {problem}")


def is_terminal() -> bool:
    """Whether stdout is a terminal that understands more than plain text."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def has_colour() -> bool:
    """Whether colour may be used (NO_COLOR is respected)."""
    return is_terminal() and "NO_COLOR" not in os.environ


def write(text: str) -> None:
    """Text to stdout at once, without a newline of its own."""
    click.echo(text, nl=False)
    sys.stdout.flush()


class Progress:
    """A counter on stderr that overwrites itself; silent where stderr is no terminal."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._shown = what, total, -1
        self._on = sys.stderr.isatty() and total > 50

    def show(self, done: int) -> None:
        """`done` of the total are done."""
        step = done * 200 // max(1, self._total)
        if self._on and step != self._shown:
            self._shown = step
            end = "\n" if done == self._total else ""
            click.echo(f"\r{self._what} {done:,} of {self._total:,}{end}", err=True, nl=False)
