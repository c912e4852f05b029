"""What may stand in a `case`: Python reads the attributes of a class pattern without a guard.

So the class is checked before it is used: its instances must be what they seem, and the names that
the pattern reads must be plain.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, Final

from meta_tui.sandbox.classes import MATCHABLE
from meta_tui.sandbox.ownership import (
    RefusedType,
    has_hook,
    is_own,
    library_names,
    names_of,
    order_of,
    refuse_attribute,
)
from meta_tui.sandbox.policy import FRAME_ATTRIBUTES, GUARDED, is_special
from meta_tui.sandbox.standins import StandIn, real_of


class Late:
    """A value of a pattern, evaluated when its `case` is tried."""

    __slots__ = ("_checks", "_thunk")

    def __init__(self, thunk: Callable[[], Any], *checks: Any) -> None:
        self._thunk = thunk
        self._checks = checks

    @property
    def value(self) -> Any:
        """The value; a class is refused if the pattern would read what the guards would not."""
        value = self._thunk()
        if not self._checks or not (self._checks[0] or self._checks[1]):
            return value
        return checked_class(value, *self._checks)


SELF_MATCHING: Final = frozenset({bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple})
"""Builtin classes whose one positional pattern is the object itself."""


def checked_class(cls: Any, names: tuple[str, ...], count: int) -> type:
    """The class to match with, if the pattern may read these attributes and so many positional ones.

    Raises:
        RefusedType: instances of this class could be anything.
        RefusedAttribute: a name is not readable.
    """
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if cls in SELF_MATCHING and not names:
        return cls
    if isinstance(cls, StandIn):
        return _node_class(cls, names)
    if not _is_matchable(cls):
        raise RefusedType(f"patterns cannot look into {cls.__name__}")
    for name in (*names, *(_match_args(cls)[:count] if count else ())):
        if is_special(name) or name in FRAME_ATTRIBUTES or name in GUARDED:
            refuse_attribute(name)
        if name.startswith("_") and not (is_own(cls) and name not in library_names(cls)):
            refuse_attribute(name)
    return cls


def _node_class(cls: StandIn, names: tuple[str, ...]) -> type:
    """The node class of `ast` behind its stand-in: nodes have fields and nothing else."""
    real = real_of(cls)
    fields = set(getattr(real, "_fields", ())) if real.__module__ in ("ast", "_ast") else set()
    if not fields or not set(names) <= fields:
        raise RefusedType(f"patterns cannot look into {cls.__name__}")
    return real


def _is_matchable(cls: type) -> bool:
    if not is_own(cls):
        return cls in MATCHABLE
    check = type(cls).__instancecheck__
    return check in (type.__instancecheck__, abc.ABCMeta.__instancecheck__) and not has_hook(cls)


def _match_args(cls: type) -> tuple[str, ...]:
    for base in order_of(cls):
        found = names_of(base).get("__match_args__")
        if found is not None:
            if type(found) is tuple and all(type(name) is str for name in found):
                return found
            raise RefusedType("__match_args__ must be a tuple of strings")
    return ()
