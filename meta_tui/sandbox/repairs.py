"""Changes to the worker's copy of the standard library: where a library would act for a program.

Some library code turns texts of a program into attributes, reads files by name, or draws seeds from
the system. It is repaired at its source, because a program can reach it in more ways than one. The
process runs one program and ends, so nothing has to be put back.
"""

from __future__ import annotations

import opcode
import sys
import types
from collections.abc import Callable
from typing import Any, Final

from meta_tui.sandbox.building import check_base
from meta_tui.sandbox.classes import MATCHABLE
from meta_tui.sandbox.ownership import (
    PROGRAM,
    checked_name,
    has_hook,
    is_hidden,
    is_own,
    module_of,
    order_of,
    refuse_attribute,
)

SEED: Final = 0


def repair() -> None:
    """Repair what is loaded and not repaired yet; call it after every import and before the program."""
    for name, change in REPAIRS.items():
        if name in sys.modules and name not in _repaired:
            _repaired.add(name)
            change(sys.modules[name])


_repaired: Final[set[str]] = set()


def _repair_linecache(linecache: Any) -> None:
    """No traceback and no warning reads a source file."""
    linecache.updatecache = lambda *_: []


def fix_seeds(random: Any) -> None:
    """A random generator without a seed gets a fixed one."""
    original = random.Random.seed

    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        original(self, SEED if a is None else a, version)

    random.Random.seed = seed
    random.seed = random._inst.seed
    random.seed()


def _repair_enum(enum: Any) -> None:
    """`Enum("X", names)` makes attributes of its names, and a class with any base."""
    original = enum.EnumType._create_

    def create(cls: Any, class_name: Any, names: Any, **options: Any) -> Any:
        if options.get("type") is not None:
            check_base(options["type"])
        options["module"] = PROGRAM
        return original(cls, checked_name(class_name), _members(names), **options)

    enum.EnumType._create_ = create


def _members(names: Any) -> Any:
    if isinstance(names, str):
        names = str.__str__(names).replace(",", " ").split()
    items = list(dict(names).items()) if isinstance(names, dict) else list(names)
    return [_member(item) for item in items]


def _member(item: Any) -> Any:
    if isinstance(item, str):
        return checked_name(item)
    name, value = item
    return checked_name(name), value


def _repair_copy(copy: Any) -> None:
    """Copying reads and writes the state of objects, and shows it to programs: `__deepcopy__` gets the
    memo, which keeps every original alive, and answers what a copy is.

    So a state is copied name by name, never as the dictionary that the object has; the result is
    checked; what is kept alive is out of reach; our own objects are not copied.
    """
    original, methods = copy._reconstruct, copy._deepcopy_dispatch[types.MethodType]

    def reconstruct(
        x: Any, memo: Any, func: Any, args: Any, state: Any = None, *rest: Any, **options: Any
    ) -> Any:
        if _is_internal(x):
            return x
        again = _as_it_is if memo is None else lambda part: copy.deepcopy(part, memo)
        made = func(*[part if isinstance(part, type) else again(part) for part in args])
        if memo is not None:
            memo[id(x)] = made
        if state is not None:
            _set_state(made, _copied_state(state, again))
        return original(x, memo, lambda: made, (), None, *rest, **options)

    def keep_alive(x: Any, memo: Any) -> None:
        kept = memo.get(id(memo))
        if type(kept) is not Kept:
            kept = memo[id(memo)] = Kept()
        kept.add(x)

    def method(x: Any, memo: Any) -> Any:
        return x if _is_internal(x.__self__) else methods(x, memo)

    copy._reconstruct, copy._keep_alive = reconstruct, keep_alive
    copy._deepcopy_dispatch[types.MethodType] = method


class Kept:
    """What a copy in progress keeps alive; a program that is handed the memo cannot look inside."""

    __slots__ = ("_things",)

    def __init__(self) -> None:
        self._things: list[Any] = []

    def add(self, thing: Any) -> None:
        """Keep one more."""
        self._things.append(thing)


def _is_internal(thing: Any) -> bool:
    return str(module_of(type(thing))).startswith("meta_tui.")


def _as_it_is(part: Any) -> Any:
    return part


def _copied_state(state: Any, again: Callable[[Any], Any]) -> Any:
    if isinstance(state, tuple):
        return tuple([_copied_part(part, again) for part in state])
    return _copied_part(state, again)


def _copied_part(part: Any, again: Callable[[Any], Any]) -> Any:
    if not isinstance(part, dict):
        return _checked_part(again(part))
    return _checked_part({name: again(value) for name, value in part.items()})


def _checked_part(part: Any) -> Any:
    """A fresh dictionary without special names; something else than a dictionary as it is."""
    if not isinstance(part, dict):
        return part
    fresh = dict(part)
    for name in fresh:
        if name != "__notes__" and is_hidden(name):
            refuse_attribute(name)
    return fresh


def _set_state(made: Any, state: Any) -> None:
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    whole, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if whole:
        made.__dict__.update(whole)
    for name, value in (slots or {}).items():
        setattr(made, name, value)


def _repair_abc(abc: Any) -> None:
    """A pattern reads attributes of whatever counts as an instance of its class.

    A `__subclasshook__` of another class, further down, can make anything count as one. So where a
    pattern asks, an instance is one by inheritance only, unless the class itself has a hook; then
    `patterns` lets nothing be read. The instruction tells who asks.
    """
    ask, matching = abc.ABCMeta.__instancecheck__, opcode.opmap["MATCH_CLASS"]

    def __instancecheck__(cls: Any, instance: Any) -> Any:  # noqa: N807
        if cls in MATCHABLE or (is_own(cls) and not has_hook(cls)):
            frame = sys._getframe(1)
            if frame.f_code.co_code[frame.f_lasti] == matching:
                return bool(cls in order_of(type(instance)))
        return bool(ask(cls, instance))

    abc.ABCMeta.__instancecheck__ = __instancecheck__


REPAIRS: Final[dict[str, Callable[[Any], None]]] = {
    "abc": _repair_abc,
    "copy": _repair_copy,
    "enum": _repair_enum,
    "linecache": _repair_linecache,
    "random": fix_seeds,
}
