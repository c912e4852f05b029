"""`vars(x)` and `x.__dict__` for programs: what they show, and how changes get through.

An object's real dictionary takes any key, also special names that libraries obey; so programs get a
copy that checks every key and writes it through.
"""

from __future__ import annotations

from typing import Any, Final

from meta_tui.sandbox.ownership import (
    KNOWN,
    checked_name,
    exact,
    is_hidden,
    is_own,
    is_own_function,
    names_of,
    refuse_attribute,
)
from meta_tui.sandbox.policy import METHODS, is_special
from meta_tui.sandbox.standins import Module, SimpleNamespace

MEMBERS: Final = METHODS | {"__slots__", "__doc__", "__match_args__", "__module__", "__qualname__"}
"""Special names that the namespace of a class of a program may have; libraries put more there, and trust it."""


class Names(dict[str, Any]):
    """A copy of a namespace whose changes are written through, hidden names excepted."""

    __slots__ = ("_target",)

    def __init__(self, target: dict[str, Any]) -> None:
        super().__init__({name: value for name, value in target.items() if not is_hidden(name)})
        self._target = target

    def __setitem__(self, name: str, value: Any) -> None:
        plain = checked_name(name)
        self._target[plain] = value
        super().__setitem__(plain, value)

    def __delitem__(self, name: str) -> None:
        plain = checked_name(name)
        super().__delitem__(plain)
        del self._target[plain]

    def update(self, *others: Any, **names: Any) -> None:
        """As dict.update."""
        for name, value in dict(*others, **names).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As dict.setdefault."""
        plain = checked_name(name)
        if plain not in self:
            self[plain] = default
        return self[plain]

    def pop(self, name: str, *default: Any) -> Any:
        """As dict.pop."""
        if isinstance(name, str) and exact(name) in self:
            value = self[exact(name)]
            del self[exact(name)]
            return value
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        """As dict.popitem."""
        name, value = super().popitem()
        self._target.pop(name, None)
        return name, value

    def clear(self) -> None:
        """As dict.clear."""
        for name in list(self):
            del self[name]

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memory: Any) -> dict[str, Any]:
        import copy

        return copy.deepcopy(dict(self), memory)


def namespace_of(owner: Any) -> dict[str, Any]:
    """`vars(owner)`: the names of an object of the program, written through; of a class, a copy.

    Raises:
        RefusedAttribute: it is no object of the program.
        AttributeError: it has no namespace.
    """
    if isinstance(owner, type):
        return _members(owner)
    if isinstance(owner, Module):
        return {name: value for name, value in vars(owner).items() if not is_hidden(name)}
    if not (
        is_own(type(owner)) or is_own_function(owner) or isinstance(owner, BaseException | SimpleNamespace)
    ):
        refuse_attribute("__dict__")
    target = object.__getattribute__(owner, "__dict__")
    return Names(target) if type(target) is dict else refuse_attribute("__dict__")


def _members(cls: type) -> dict[str, Any]:
    if not is_own(cls):
        refuse_attribute("__dict__")
    return {name: value for name, value in names_of(cls).items() if not is_special(name) or name in MEMBERS}


KNOWN.add(Names)
