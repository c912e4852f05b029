"""What a program holds in the place of things that it may not hold: classes, modules, tracebacks.

`type(f)` of a function, `memoryview`, the class of a class: programs compare them, print them and
test instances with them, all of which a stand-in does. What a stand-in does not do is make one.
"""

from __future__ import annotations

import abc
import types
import typing
from typing import Any, Final

from meta_tui.sandbox.classes import HIDDEN
from meta_tui.sandbox.ownership import (
    KNOWN,
    RefusedType,
    checked_name,
    is_own,
    is_visible,
    module_of,
)
from meta_tui.sandbox.policy import is_special


class Module(types.ModuleType):
    """A module as programs see it: the public names that were chosen, and nothing behind them.

    Its real name is one that no loaded module has, because Python looks for submodules by it.
    """

    def __getattr__(self, name: str) -> Any:
        message = f"module '{name_of(self)}' has no attribute '{name}'"
        raise AttributeError(message, name=name, obj=self)

    def __repr__(self) -> str:
        return f"<module '{name_of(self)}'>"


_PREFIX: Final = "sandbox:"


def hidden_name(name: str) -> str:
    """The real name of the stand-in of a module."""
    return f"{_PREFIX}{name}"


def name_of(module: Module) -> str:
    """The name of a module as programs know it."""
    return module.__name__.removeprefix(_PREFIX)


def _stream(name: str) -> Any:
    import sys

    return property(lambda _: getattr(sys, name), lambda _, value: setattr(sys, name, value))


class SystemModule(Module):
    """The program's `sys`: its streams are those that print and input use."""

    stdin = _stream("stdin")
    stdout = _stream("stdout")
    stderr = _stream("stderr")


class Trace:
    """What a program sees of a traceback: the line, never a frame."""

    __slots__ = ("tb_lineno", "tb_next")

    def __init__(self, line: int) -> None:
        self.tb_lineno = line
        self.tb_next = None


class SimpleNamespace:
    """types.SimpleNamespace without a way to special names."""

    __module__ = "types"
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, **names: Any) -> None:
        if not isinstance(self, SimpleNamespace):
            raise TypeError("a namespace is made by types.SimpleNamespace()")
        vars(self).update((checked_name(name), value) for name, value in names.items())

    def __repr__(self) -> str:
        return f"namespace({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented


# Memory


def has_references(kind: Any) -> bool:
    """Whether elements of this numpy type are references."""
    return bool(kind.hasobject) or kind.kind == "T"


def check_memory(thing: Any) -> Any:
    """`thing`, unless it is an array of references: written as bytes, those would forge objects.

    Raises:
        RefusedType: it is one.
    """
    kind = getattr(thing, "dtype", None) if module_of(type(thing)).partition(".")[0] == "numpy" else None
    behind = type(thing) is memoryview and "O" in thing.format
    if behind or (kind is not None and has_references(kind)):
        raise RefusedType("the memory of an array of objects is not available in the sandbox")
    return thing


# Classes


class StandIn(type):
    """Class of classes that answer `type(x)` for a kind that programs may not construct.

    Their plain attributes are those of the real class, so that `np.ndarray.sum(a)` works.
    """

    def __call__(cls, *arguments: Any, **options: Any) -> Any:  # noqa: D102
        raise RefusedType(f"cannot create '{cls.__name__}' instances")

    def __getattr__(cls, name: str) -> Any:
        if is_special(name) or not is_visible(real_of(cls)):
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return getattr(real_of(cls), name)

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, real_of(cls))

    def __subclasscheck__(cls, other: type) -> bool:
        return other is cls

    def __repr__(cls) -> str:
        return f"<class '{cls.__name__}'>"


class Memory(StandIn):
    """Class of the stand-in of `memoryview`."""

    def __call__(cls, thing: Any) -> Any:  # noqa: D102
        return memoryview(check_memory(thing))


class Type(StandIn):
    """Class of the stand-in of `type`."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:  # noqa: D102
        if len(arguments) == 1 and not options:
            return class_of(arguments[0])
        from meta_tui.sandbox.building import make_class

        return make_class(*arguments, **options)

    def __subclasscheck__(cls, other: type) -> bool:
        return other is cls or other is ABSTRACT

    def __getitem__(cls, parameter: Any) -> Any:
        return typing.Type[parameter]  # noqa: UP006 - type[...] would hand out the real one


_reals: Final[dict[Any, type]] = {}


def real_of(cls: Any) -> type:
    """The class that a stand-in stands for; a table knows it, because libraries read attributes."""
    return _reals[cls]


def _make(meta: type[StandIn], real: type, module: str = "builtins") -> Any:
    made = meta(real.__name__, (), {"__module__": module})
    _reals[made] = real
    return made


_CLASSES: Final = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.GeneratorType)
_ALIAS: Final[type] = typing._BaseGenericAlias  # type: ignore[attr-defined]
_ALIASES: Final[tuple[type, ...]] = (
    types.GenericAlias,
    *(cls for cls in vars(typing).values() if isinstance(cls, type) and issubclass(cls, _ALIAS)),
)
"""Classes whose objects forward every name to what they are an alias of."""
TYPE: Final = _make(Type, type)
ABSTRACT: Final = _make(StandIn, abc.ABCMeta)
MEMORY: Final = _make(Memory, memoryview)
SEALED: Final[set[type]] = {memoryview, *_ALIASES}
"""Library classes whose `__new__` is not for programs."""
_stand_ins: Final[dict[type, Any]] = {memoryview: MEMORY}
_stand_ins.update((real, _make(StandIn, real)) for real in (*_CLASSES, *_ALIASES, *HIDDEN))


def seal(real: type, meta: type[StandIn]) -> Any:
    """Put a stand-in in the place of a library class; its class `meta` decides what calling it does."""
    if real not in _stand_ins:
        _stand_ins[real] = _make(meta, real, module_of(real))
        SEALED.add(real)
    return _stand_ins[real]


def stand_in(cls: Any) -> Any:
    """What a program gets for a class; anything else as it is."""
    if not isinstance(cls, type) or isinstance(cls, StandIn):
        return cls
    return TYPE if issubclass(cls, type) else _stand_ins.get(cls, cls)


def class_of(thing: Any) -> Any:
    """The builtin `type` with one argument."""
    return shown(type(thing))


def shown(kind: type) -> Any:
    """What a program sees of a class that Python hands it."""
    if issubclass(kind, Module):
        kind = types.ModuleType
    if kind not in _stand_ins and not issubclass(kind, type) and _is_internal(kind):
        _stand_ins[kind] = _make(StandIn, kind, module_of(kind))
    return stand_in(kind)


def _is_internal(kind: type) -> bool:
    """Whether a program may hold objects of this class but not make any: ours, and private ones."""
    if is_own(kind):
        return False
    return kind.__name__.startswith("_") or module_of(kind).startswith("meta_tui.") or not is_visible(kind)


KNOWN.update((Module, SystemModule, Trace))
