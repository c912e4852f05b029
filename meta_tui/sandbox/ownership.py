"""Whose class is it, whose function, and which names are whose: the questions behind every guard.

A class of the program is told by its module, read through `type`'s own descriptor, which no class
can answer for. Names are told by their form. Nothing here reads an attribute for a program.
"""

from __future__ import annotations

import abc
import functools
import types
import typing
from typing import Any, Final, NoReturn

from meta_tui.sandbox.classes import HIDDEN, ROOTS, VISIBLE
from meta_tui.sandbox.policy import is_special

PROGRAM: Final = "__main__"
"""Module of every class and function of a program."""

module_of: Final = type.__dict__["__module__"].__get__
names_of: Final = type.__dict__["__dict__"].__get__
order_of: Final = type.__dict__["__mro__"].__get__
"""A class's module, namespace and order of bases, whatever the class says of itself."""

KNOWN: Final[set[type]] = set()
"""Classes whose instances may be looked into (a cache of `is_visible`)."""
FREE: Final[set[type]] = set()
"""Own classes whose instances may be written to by any plain name."""
PURE: Final[set[type]] = set()
"""Own classes without a library class behind them: their objects hold what the program has."""
HARMLESS_BASES: Final = frozenset({object, abc.ABC, typing.Generic})
"""Library classes that a pure class may have behind it."""


class Refused(Exception):
    """Base of what the guards raise; an uncaught one makes the program's status `refused`."""


class RefusedAttribute(Refused, AttributeError):
    """An attribute that the sandbox does not hand out."""


class RefusedImport(Refused, ImportError):
    """A module or a name of one that the sandbox does not have."""


class RefusedAction(Refused, PermissionError):
    """Something that the sandbox does not do, such as opening a file."""


class RefusedType(Refused, TypeError):
    """A class that cannot be made, extended, called or matched in the sandbox."""


KNOWN.update((Refused, RefusedAttribute, RefusedImport, RefusedAction, RefusedType))


def refuse_attribute(name: object) -> NoReturn:
    """Raise for an attribute."""
    raise RefusedAttribute(f"the attribute `{name}` is not available in the sandbox")


def is_own(cls: type) -> bool:
    """Whether the program made this class."""
    module = module_of(cls)
    return type(module) is str and module == PROGRAM


def is_visible(cls: type) -> bool:
    """Whether attributes of instances of this class may be read at all; never those of classes."""
    if cls in HIDDEN or issubclass(cls, type):
        return False
    module = module_of(cls)
    if cls in VISIBLE or (type(module) is str and module.partition(".")[0] in ROOTS):
        KNOWN.add(cls)
        return True
    return False


TABLES: Final[dict[int, Any]] = {}
"""The builtins of the program's namespaces by their identity; no other namespace has one of them."""


def is_own_space(space: dict[str, Any]) -> bool:
    """Whether a global namespace is one in which the program's own code runs."""
    return id(dict.get(space, "__builtins__")) in TABLES


def own_frame(frame: types.FrameType | None) -> types.FrameType:
    """The nearest frame, from this one outwards, that runs the program's own code."""
    while frame is not None:
        if is_own_space(frame.f_globals):
            return frame
        frame = frame.f_back
    raise RuntimeError("no frame of the program")


_Cached: Final = type(functools.lru_cache(len))


def is_own_function(thing: Any) -> bool:
    """Whether the program wrote this function (or wrapped it in a cache): generated ones are not its own."""
    if type(thing) is _Cached:
        thing = thing.__wrapped__
    return type(thing) is types.FunctionType and is_own_space(thing.__globals__)


# Names


def exact(name: Any) -> str:
    """`name` as a plain string: a subclass of str could answer differently each time."""
    if not isinstance(name, str):
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    return str.__str__(name)


def is_hidden(name: Any) -> bool:
    """Whether a key of a namespace is Python's or the guards', so that programs never see it."""
    return type(name) is not str or name[:1] in ("@", ".") or is_special(name)


def checked_name(name: Any) -> str:
    """A name that may become an attribute of an object of the program."""
    plain = exact(name)
    if is_hidden(plain):
        refuse_attribute(plain)
    return plain


def is_defined_by_program(cls: type, name: str) -> bool:
    """Whether the first class in the order of bases that has `name` is an own one, or none has it."""
    for base in order_of(cls):
        if name in names_of(base):
            return is_own(base)
    return True


def has_hook(cls: type) -> bool:
    """Whether the program decides by a `__subclasshook__` what is an instance of this class."""
    return any(is_own(base) and "__subclasshook__" in names_of(base) for base in order_of(cls))


_library_names: Final[dict[type, frozenset[str]]] = {}


def library_names(cls: type) -> frozenset[str]:
    """Private names that library classes among the bases of `cls` define."""
    found = _library_names.get(cls)
    if found is None:
        names = {name for base in order_of(cls) if not is_own(base) for name in names_of(base)}
        private = (name for name in names if name.startswith("_") and not is_special(name))
        found = _library_names[cls] = frozenset(private)
    return found
