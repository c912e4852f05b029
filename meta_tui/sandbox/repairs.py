"""Changes to the worker's copy of the standard library: where a library would act for a program.

Some library code turns texts of a program into attributes, reads files by name, or draws seeds from
the system. It is repaired at its source, because a program can reach it in more ways than one. The
process runs one program and ends, so nothing has to be put back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from meta_tui.sandbox.building import check_base
from meta_tui.sandbox.ownership import PROGRAM, checked_name, is_hidden, refuse_attribute

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
    """Copying writes the state that an object reports; special names have no place in it."""
    original = copy._reconstruct

    def reconstruct(
        x: Any, memo: Any, func: Any, args: Any, state: Any = None, *rest: Any, **options: Any
    ) -> Any:
        for part in state if isinstance(state, tuple) and len(state) == 2 else (state,):
            for name in part if isinstance(part, dict) else ():
                if name != "__notes__" and is_hidden(name):
                    refuse_attribute(name)
        return original(x, memo, func, args, state, *rest, **options)

    copy._reconstruct = reconstruct


REPAIRS: Final[dict[str, Callable[[Any], None]]] = {
    "copy": _repair_copy,
    "enum": _repair_enum,
    "linecache": _repair_linecache,
    "random": fix_seeds,
}
