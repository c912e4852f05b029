"""Making classes: the `class` statement, `type` with three arguments, and what a new class may be.

A class of the program may extend its own classes and the listed ones of libraries; its metaclass is
`type` or ABCMeta. Its methods that answer for attributes are never asked for special names, because
libraries trust those.
"""

from __future__ import annotations

import abc
import builtins
import sys
import types
import typing
from collections.abc import MutableMapping
from typing import Any, Final

from meta_tui.sandbox.classes import EXTENSIBLE
from meta_tui.sandbox.namespaces import MEMBERS
from meta_tui.sandbox.ownership import (
    FREE,
    HARMLESS_BASES,
    KNOWN,
    PROGRAM,
    PURE,
    RefusedType,
    checked_name,
    exact,
    is_own,
    library_names,
    order_of,
    refuse_attribute,
)
from meta_tui.sandbox.policy import ASKED_FOR_NAMES, is_special
from meta_tui.sandbox.standins import ABSTRACT, TYPE, shown

_build_class: Final = builtins.__build_class__
_ACT_AS_CLASSES: Final[tuple[Any, ...]] = (typing.NamedTuple, typing.TypedDict)
_ALIASES: Final = ("typing", "types")


def check_base(base: Any) -> Any:
    """A base class, if a program may extend it.

    Raises:
        RefusedType: it may not.
    """
    if base is TYPE or base is ABSTRACT:
        raise RefusedType("the sandbox does not run own metaclasses")
    origin = base.__origin__ if type(base).__module__ in _ALIASES and hasattr(base, "__origin__") else base
    if isinstance(origin, type) and (is_own(origin) or origin in EXTENSIBLE):
        return base
    if any(origin is function for function in _ACT_AS_CLASSES):
        return base
    raise RefusedType(f"the sandbox does not extend {getattr(base, '__name__', type(base).__name__)}")


def check_metaclass(meta: Any) -> type:
    """The real metaclass of a class statement.

    Raises:
        RefusedType: it is an own one.
    """
    if meta is ABSTRACT:
        return abc.ABCMeta
    if meta is TYPE:
        return type
    raise RefusedType("the sandbox does not run own metaclasses; only ABCMeta is there")


def build_class(function: Any, name: str, *bases: Any, **options: Any) -> Any:
    """The `class` statement."""
    for base in bases:
        check_base(base)
    if "metaclass" in options:
        options["metaclass"] = check_metaclass(options["metaclass"])
    for option in options:
        checked_name(option)
    return enrol(_build_class(function, name, *bases, **options))


def make_class(name: Any, bases: Any, names: Any, **options: Any) -> Any:
    """The builtin `type` with three arguments."""
    if not (isinstance(bases, tuple) and isinstance(names, dict)):
        raise TypeError("type() takes a name, a tuple of bases and a dict")
    if "metaclass" in options:
        raise RefusedType("the sandbox does not run own metaclasses")
    body = {_checked_member(key): value for key, value in names.items()}
    for asked in ASKED_FOR_NAMES & body.keys():
        body[asked] = ASKED_WRAPPERS[asked](body[asked])
    _check_slots(body)
    body["__module__"] = PROGRAM
    checked = tuple(check_base(base) for base in tuple(bases))
    choices = {checked_name(key): value for key, value in options.items()}
    return enrol(types.new_class(checked_name(name), checked, choices, lambda space: space.update(body)))


def _checked_member(name: Any) -> str:
    plain = exact(name)
    if is_special(plain) and plain not in MEMBERS:
        refuse_attribute(plain)
    return plain


def enrol(cls: Any) -> Any:
    """Take a new class of the program into the books: its writes decided."""
    if not isinstance(cls, type):
        return cls
    if not library_names(cls):
        FREE.add(cls)
    if all(is_own(base) or base in HARMLESS_BASES for base in order_of(cls)):
        PURE.add(cls)
    KNOWN.add(cls)
    return cls


def close_body() -> None:
    """The last statement of every class body: what matters is decided before there is a class.

    A class that is refused when it is made has been seen by `__init_subclass__` already.
    """
    _check_slots(sys._getframe(1).f_locals)


def _check_slots(names: MutableMapping[str, Any]) -> None:
    slots = names.get("__slots__")
    if slots is None:
        return
    listed = [exact(name) for name in ((slots,) if isinstance(slots, str) else tuple(slots))]
    if any(is_special(name) and name not in ("__dict__", "__weakref__") for name in listed):
        raise RefusedType("__slots__ names something that is kept for Python")
    names["__slots__"] = tuple(listed)


# Being asked for attributes


def asked_getattr(function: Any) -> Any:
    """Wrap a `__getattr__` so that it never answers for a special name."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807
        if is_special(name):
            raise AttributeError(name)
        return _bound(function, self)(name)

    return __getattr__


def asked_getattribute(function: Any) -> Any:
    """Wrap a `__getattribute__` so that special names are found in the usual way."""

    def __getattribute__(self: Any, name: str) -> Any:  # noqa: N807
        if is_special(name):
            return object.__getattribute__(self, name)
        return _bound(function, self)(name)

    return __getattribute__


def asked_subclasshook(function: Any) -> Any:
    """Wrap a `__subclasshook__`, which Python asks about any class, those that no program may hold too."""

    def __subclasshook__(cls: Any, other: Any) -> Any:  # noqa: N807
        binder = getattr(type(function), "__get__", None)
        hook = function if binder is None else binder(function, None, cls)
        return hook(shown(other))

    return classmethod(__subclasshook__)


def _bound(function: Any, owner: Any) -> Any:
    binder = getattr(type(function), "__get__", None)
    return function if binder is None else binder(function, owner, type(owner))


ASKED_WRAPPERS: Final = {
    "__getattr__": asked_getattr,
    "__getattribute__": asked_getattribute,
    "__subclasshook__": asked_subclasshook,
}
