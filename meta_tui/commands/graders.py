"""The `--grader` option's value: ours, or the name of a grader that a plug-in brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Type = click.ParamType[str]
else:
    _Type = click.ParamType  # not generic in every version of click that will do


class GraderName(_Type):
    """`strict`, `paper`, or a plug-in's grader; plug-ins are looked for only where it is none of ours.

    Args:
        more: further words that the command takes.
    """

    name = "grader"

    def __init__(self, *more: str) -> None:
        self._known = ("strict", "paper", *more)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it stands, if there is such a grader."""
        if value not in self._known:
            from meta_tui import tasks

            if not tasks.is_grader(value):
                there = ", ".join((*self._known, *tasks.listed_graders()[0]))
                self.fail(f"there is no grader {value!r}; there are {there}", param, ctx)
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As a choice shows it, and open."""
        return f"[{'|'.join(self._known)}|NAME]"
