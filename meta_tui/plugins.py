"""Plug-ins: what other installed packages offer in our entry-point groups, and loading one of them.

Lazy on purpose: the metadata of the installed packages is read when a name is wanted that is not
meta-tui's own, or when all names are listed; a plug-in is imported when it is wanted itself. A
broken one is a sentence for people, and an error only for who asked for it by name. What a method
or a task must look like is not known here: the room that a group belongs to says it (`Fault`).
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from meta_tui.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["methods", "tasks", "graders", "experts", "models"]
"""What follows `meta_tui.` in the name of an entry-point group."""

OWN = "meta-tui"
"""Where what is no plug-in comes from."""

Fault = Callable[[str, Any], str]
"""From the name and the object of a plug-in to what is wrong with it; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of an installed package.

    Attributes:
        group: what it is.
        name: how it is asked for.
        package: the name of the package that offers it.
        version: that package's version.
        target: `module:object`, as the package gives it.
    """

    group: Group
    name: str
    package: str
    version: str
    target: str

    @property
    def origin(self) -> str:
        """`package version`, as listings show it."""
        return f"{self.package} {self.version}"

    @property
    def title(self) -> str:
        """`method shorter of some-package 1.0`, for messages."""
        return f"{self.group[:-1]} {self.name} of {self.origin}"


@dataclass(frozen=True, slots=True)
class Survey:
    """The plug-ins of a group: those that can be used, with their objects, and a sentence for each
    that cannot."""

    good: dict[str, tuple[Plugin, Any]]
    problems: list[str]


def offered(group: Group, taken: Collection[str]) -> dict[str, Plugin]:
    """The plug-ins of a group by name; none of them is imported.

    Args:
        taken: names that are meta-tui's own, which no plug-in can take.
    """
    return {plugin.name: plugin for plugin in _first(group) if not _unnameable(plugin, taken)}


def load(plugin: Plugin, fault: Fault) -> Any:
    """The object of a plug-in.

    Raises:
        UsageError: it cannot be imported, or is not what its group wants.
    """
    made, problem = _imported(plugin)
    problem = problem or _examined(plugin, made, fault)
    if problem:
        raise UsageError(_sentence(plugin, problem))
    return made


def survey(group: Group, taken: Collection[str], fault: Fault) -> Survey:
    """Import all plug-ins of a group and say which can be used."""
    good: dict[str, tuple[Plugin, Any]] = {}
    problems = []
    first = {plugin.name: plugin for plugin in _first(group)}
    for plugin in _installed(group):
        problem = _unnameable(plugin, taken)
        if first[plugin.name] != plugin:
            problem = f"{first[plugin.name].origin} has that name too"
        try:
            if problem:
                raise UsageError(_sentence(plugin, problem))
            good[plugin.name] = plugin, load(plugin, fault)
        except UsageError as error:
            problems.append(str(error))
    return Survey(good, problems)


def _first(group: Group) -> list[Plugin]:
    """The plug-ins of a group, of those with one name the first package's."""
    seen: dict[str, Plugin] = {}
    for plugin in _installed(group):
        seen.setdefault(plugin.name, plugin)
    return list(seen.values())


@cache
def _entries(group: Group) -> list[tuple[Plugin, EntryPoint]]:
    from importlib.metadata import entry_points

    found = []
    for point in entry_points(group=f"meta_tui.{group}"):
        package = point.dist.name if point.dist else "?"
        version = point.dist.version if point.dist else "?"
        plugin = Plugin(group, _tidy(point.name), _tidy(package), _tidy(version), _tidy(point.value))
        found.append((plugin, point))
    return sorted(found, key=lambda pair: (pair[0].package, pair[0].name))


def _installed(group: Group) -> list[Plugin]:
    return [plugin for plugin, _ in _entries(group)]


def _unnameable(plugin: Plugin, taken: Collection[str]) -> str:
    if not (plugin.name.isascii() and plugin.name.isidentifier()):
        return "a name has letters, digits and _ only"
    return "the name is meta-tui's own" if plugin.name in taken else ""


@cache
def _imported(plugin: Plugin) -> tuple[Any, str]:
    """The object, or what went wrong. What it prints while it is imported is dropped: it would
    stand in the middle of our JSON, or of the app."""
    point = next(point for other, point in _entries(plugin.group) if other == plugin)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return point.load(), ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - other people's code: its failure is a line
        return None, described(error)


def _examined(plugin: Plugin, made: Any, fault: Fault) -> str:
    try:
        return fault(plugin.name, made)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - other people's code may answer a question with an error
        return described(error)


def described(error: BaseException) -> str:
    """What other people's code raised, even if it cannot say so itself."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its own words failed
        return type(error).__name__


def _sentence(plugin: Plugin, problem: str) -> str:
    return f"{plugin.title} cannot be used: {_tidy(problem)}. Mend or uninstall {plugin.package}"


def _tidy(text: str, limit: int = 240) -> str:
    """One line without control characters: other packages' words, shown as they stand."""
    line = "".join(c if c.isprintable() else " " for c in str(text))
    line = " ".join(line.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
