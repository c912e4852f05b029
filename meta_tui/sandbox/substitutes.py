"""Modules and parts of modules that programs import and that are made here rather than copied.

Each keeps the signatures and results of the original for what programs do with it. Why it is not the
original: it reads attributes by name, evaluates texts, hands out frames or the real `type`, or
reaches into the process.
"""

from __future__ import annotations

import ast
import collections
import functools
import gc
import operator
import struct
import sys
import time
import types
import typing
from collections.abc import Callable
from typing import Any, Final
from unicodedata import normalize

from meta_tui.sandbox import building, guards
from meta_tui.sandbox.interpreter import STRING, leave
from meta_tui.sandbox.modules import Maker
from meta_tui.sandbox.output import Bytes, Stream
from meta_tui.sandbox.ownership import (
    KNOWN,
    PROGRAM,
    RefusedAction,
    RefusedType,
    checked_name,
    exact,
    is_own,
    is_own_function,
    names_of,
    order_of,
)
from meta_tui.sandbox.policy import is_special
from meta_tui.sandbox.standins import ABSTRACT, SimpleNamespace, StandIn, Trace, check_memory, seal, stand_in
from meta_tui.sandbox.tracebacks import last_lines, traceback_lines


def sealed_nodes() -> dict[str, Any]:
    """The node classes of `ast`, to be asked about and not to be made: their constructors set any
    attribute, special ones too, and numpy obeys those."""
    found = {name: value for name, value in vars(ast).items() if isinstance(value, type)}
    return {name: seal(cls, StandIn) for name, cls in found.items() if issubclass(cls, ast.AST)}


def made_modules(filename: str, below: int) -> dict[str, Maker]:
    """Module -> the names that are made here, for a program that runs at a depth of `below` frames."""
    return {
        "abc": lambda _: {"ABCMeta": ABSTRACT},
        "ast": lambda _: {"parse": parse, **sealed_nodes()},
        "collections": lambda library: {"namedtuple": namedtuple, "abc": library.load("collections.abc")},
        "dataclasses": lambda _: {"dataclass": dataclass},
        "functools": lambda _: {
            "wraps": wraps,
            "update_wrapper": update_wrapper,
            "singledispatch": singledispatch,
            "singledispatchmethod": SingleDispatchMethod,
        },
        "gc": lambda _: {name: getattr(gc, name) for name in ("collect", "disable", "enable", "isenabled")},
        "operator": lambda _: {"attrgetter": AttributeGetter, "methodcaller": MethodCaller},
        "struct": lambda _: {"pack_into": pack_into},
        "sys": lambda _: system_names(filename, below),
        "traceback": lambda _: traceback_names(filename),
        "types": lambda _: types_names(),
        "typing": lambda _: {"get_args": get_args, "get_origin": get_origin},
        "warnings": lambda _: warnings_names(filename),
        "timeit": lambda _: timeit_names(),
    }


def pack_into(format: Any, buffer: Any, offset: int, *values: Any) -> None:
    """struct.pack_into, but not into an array of objects."""
    struct.pack_into(format, check_memory(buffer), offset, *values)


def parse(source: Any, filename: str = "<unknown>", mode: str = "exec", **_: Any) -> ast.AST:
    """ast.parse of a text."""
    return ast.parse(source, exact(filename), mode)


def namedtuple(typename: Any, field_names: Any, *, rename: bool = False, defaults: Any = None) -> Any:
    """collections.namedtuple whose class is the program's own."""
    make: Any = collections.namedtuple
    cls = make(checked_name(typename), field_names, rename=rename, defaults=defaults, module=PROGRAM)
    return building.enrol(cls)


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """dataclasses.dataclass on own classes whose fields have ordinary names."""
    if cls is None:
        return lambda cls: dataclass(cls, **options)
    if not isinstance(cls, type) or not is_own(cls):
        raise RefusedType("dataclass() takes a class of the program")
    import dataclasses

    for name in names_of(cls).get("__annotations__", {}):
        _check_field(name)
    for base in order_of(cls)[1:]:
        for inherited in names_of(base).get("__dataclass_fields__", {}).values():
            _check_field(inherited.name if type(inherited) is dataclasses.Field else None)
    return building.enrol(dataclasses.dataclass(**options)(cls))


def _check_field(name: Any) -> None:
    if type(name) is not str or not name.isidentifier() or is_special(normalize("NFKC", name)):
        raise RefusedType("a field needs an ordinary name")


def get_origin(thing: Any) -> Any:
    """typing.get_origin, which may come to `type`."""
    return stand_in(typing.get_origin(thing))


def get_args(thing: Any) -> tuple[Any, ...]:
    """typing.get_args, which may come to `type`."""
    return tuple(stand_in(part) for part in typing.get_args(thing))


_COPIED: Final = ("__module__", "__name__", "__qualname__", "__doc__")


def update_wrapper(wrapper: Any, wrapped: Any, *_: Any, **__: Any) -> Any:
    """functools.update_wrapper between functions and objects of the program."""
    for name in _COPIED:
        if name != "__module__" and hasattr(wrapped, name):
            guards.set_attribute(wrapper, name, getattr(wrapped, name))
    if is_own_function(wrapped) or is_own(type(wrapped)):
        source = dict(getattr(wrapped, "__dict__", {}))
        source.pop("__wrapped__", None)
        for name, value in source.items():
            guards.set_attribute(wrapper, name, value)
    if is_own_function(wrapper) or is_own(type(wrapper)):
        wrapper.__wrapped__ = wrapped
    return wrapper


def wraps(wrapped: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
    """functools.wraps."""
    return lambda wrapper: update_wrapper(wrapper, wrapped)


def singledispatch(function: Any) -> Any:
    """functools.singledispatch by explicit classes or plain annotations; texts are not evaluated."""
    table: dict[type, Any] = {object: function}

    def dispatch(cls: type) -> Any:
        return next(table[base] for base in cls.__mro__ if base in table)

    def register(cls: Any, implementation: Any = None) -> Any:
        if not isinstance(cls, type):
            return register(_annotated(cls), cls)
        if implementation is None:
            return lambda implementation: register(cls, implementation)
        table[cls] = implementation
        return implementation

    def wrapper(*arguments: Any, **names: Any) -> Any:
        if not arguments:
            raise TypeError(f"{function.__name__} requires at least 1 positional argument")
        return dispatch(type(arguments[0]))(*arguments, **names)

    wrapper.register = register  # type: ignore[attr-defined]
    wrapper.dispatch = dispatch  # type: ignore[attr-defined]
    wrapper.__name__, wrapper.__doc__ = function.__name__, function.__doc__
    return wrapper


class SingleDispatchMethod:
    """functools.singledispatchmethod over the dispatch above."""

    def __init__(self, function: Any) -> None:
        self._dispatcher = singledispatch(function)
        self.register = self._dispatcher.register

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        def method(*arguments: Any, **names: Any) -> Any:
            function = self._dispatcher.dispatch(type(arguments[0]))
            return function.__get__(owner, cls)(*arguments, **names)

        return method


def _annotated(function: Any) -> type:
    for annotation in function.__annotations__.values():
        if isinstance(annotation, type):
            return annotation
    raise TypeError("register() needs a class or a function with an annotated first parameter")


class AttributeGetter:
    """operator.attrgetter through the guard."""

    __slots__ = ("_names",)

    def __init__(self, *names: Any) -> None:
        if not names:
            raise TypeError("attrgetter expected 1 argument, got 0")
        self._names = tuple(exact(name) for name in names)

    def __call__(self, owner: Any, /) -> Any:  # noqa: D102
        found = tuple(functools.reduce(guards.look, name.split("."), owner) for name in self._names)
        return found[0] if len(found) == 1 else found


class MethodCaller:
    """operator.methodcaller through the guard."""

    __slots__ = ("_arguments", "_name", "_options")

    def __init__(self, name: Any, /, *arguments: Any, **options: Any) -> None:
        self._name = exact(name)
        self._arguments = arguments
        self._options = options

    def __call__(self, owner: Any, /) -> Any:  # noqa: D102
        return guards.look(owner, self._name)(*self._arguments, **self._options)


DEEPEST: Final = 100_000
"""Frames that the stack of a worker holds."""


def system_names(filename: str, below: int) -> dict[str, Any]:
    """The program's `sys`."""
    names = (
        "api_version byteorder float_info float_repr_style getrefcount getsizeof hash_info hexversion "
        "int_info intern maxsize maxunicode version version_info get_int_max_str_digits "
        "set_int_max_str_digits"
    ).split()

    def set_recursion_limit(limit: int) -> None:
        sys.setrecursionlimit(below + max(50, min(operator.index(limit), DEEPEST)))

    return {
        **{name: getattr(sys, name) for name in names if hasattr(sys, name)},
        "argv": [filename],
        "exc_info": exception_info,
        "executable": "",
        "exit": leave,
        "flags": None,
        "implementation": SimpleNamespace(**vars(sys.implementation)),
        "getrecursionlimit": lambda: sys.getrecursionlimit() - below,
        "modules": {},
        "path": [],
        "platform": sys.platform,
        "setrecursionlimit": set_recursion_limit,
    }


def exception_info() -> tuple[Any, Any, Any]:
    """sys.exc_info without frames."""
    kind, value, trace = sys.exc_info()
    return kind, value, None if trace is None else Trace(trace.tb_lineno)


def types_names() -> dict[str, Any]:
    """The program's `types`."""
    stand_ins = (types.FunctionType, types.MethodType, types.GeneratorType, types.BuiltinFunctionType)
    named = {
        "FunctionType": 0,
        "LambdaType": 0,
        "MethodType": 1,
        "GeneratorType": 2,
        "BuiltinFunctionType": 3,
    }
    return {
        "SimpleNamespace": SimpleNamespace,
        "MappingProxyType": types.MappingProxyType,
        "NoneType": types.NoneType,
        "NotImplementedType": types.NotImplementedType,
        "EllipsisType": types.EllipsisType,
        "GenericAlias": stand_in(types.GenericAlias),  # an alias answers for what it is of
        "UnionType": types.UnionType,
        **{name: stand_in(stand_ins[index]) for name, index in named.items()},
        "ModuleType": stand_in(types.ModuleType),
    }


class NoWarnings:
    """warnings.catch_warnings: there is nothing to catch."""

    def __init__(self, **_: Any) -> None:
        self._list: list[Any] = []

    def __enter__(self) -> list[Any]:
        return self._list

    def __exit__(self, *_: Any) -> None:
        return None


def warnings_names(filename: str) -> dict[str, Any]:
    """The program's `warnings`: warnings are printed, filters do nothing."""

    def warn(message: Any, category: Any = None, *_: Any, **__: Any) -> None:
        kind = type(message) if isinstance(message, Warning) else category or UserWarning
        line = sys._getframe(1).f_lineno
        sys.stderr.write(f"{filename}:{line}: {kind.__name__}: {message}\n")

    def ignore(*_: Any, **__: Any) -> None:
        return None

    return {
        "warn": warn,
        "filterwarnings": ignore,
        "simplefilter": ignore,
        "resetwarnings": ignore,
        "catch_warnings": NoWarnings,
    }


def timeit_names() -> dict[str, Any]:
    """The program's `timeit`, for callables."""

    def timeit(stmt: Any, setup: Any = None, timer: Any = time.perf_counter, number: int = 1000000) -> float:
        if not callable(stmt) or not (setup is None or callable(setup)):
            raise RefusedAction("timeit takes a function in the sandbox, not a text")
        if setup is not None:
            setup()
        start = timer()
        for _ in range(number):
            stmt()
        return float(timer() - start)

    return {"timeit": timeit, "default_timer": time.perf_counter}


def traceback_names(filename: str) -> dict[str, Any]:
    """The program's `traceback`: texts only."""

    def format_exception(error: Any = None, value: Any = None, *_: Any, **__: Any) -> list[str]:
        found = value if isinstance(value, BaseException) else error
        return traceback_lines(
            found if isinstance(found, BaseException) else sys.exc_info()[1], {filename, STRING}
        )

    def format_exc(*_: Any, **__: Any) -> str:
        error = sys.exc_info()[1]
        return "".join(format_exception(error)) if error else "NoneType: None\n"

    def print_exc(limit: Any = None, file: Any = None, **_: Any) -> None:
        print(format_exc(), end="", file=file or sys.stderr)

    def print_exception(error: Any = None, value: Any = None, *_: Any, file: Any = None, **__: Any) -> None:
        print("".join(format_exception(error, value)), end="", file=file or sys.stderr)

    return {
        "format_exc": format_exc,
        "format_exception": format_exception,
        "format_exception_only": lambda kind, error=None, **_: [
            last_lines(kind if error is None else error) + "\n"
        ],
        "print_exc": print_exc,
        "print_exception": print_exception,
        "print_tb": lambda *_, **__: None,
        "print_stack": lambda *_, **__: None,
        "format_tb": lambda *_, **__: [],
        "extract_tb": lambda *_, **__: [],
    }


KNOWN.update((AttributeGetter, Bytes, MethodCaller, NoWarnings, SingleDispatchMethod, Stream))
