"""The builtins of a program, and the modules that are made here rather than copied.

Most builtins are Python's own. Replaced are those that compile text, look into namespaces or reach
outside; each keeps the signature and the errors that programs expect.
"""

from __future__ import annotations

import ast
import builtins
import collections
import dataclasses
import functools
import gc
import operator
import re
import struct
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, Final, NoReturn

from meta_tui.sandbox import guards, policy
from meta_tui.sandbox.guards import Names, Refused, RefusedAction
from meta_tui.sandbox.modules import Library
from meta_tui.sandbox.output import Bytes, Stream

PLAIN: Final = (
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float "
    "format frozenset hash hex id input int isinstance issubclass iter len list map max min next object "
    "oct ord pow print property range repr reversed round set slice sorted staticmethod str sum super tuple zip "
    "Ellipsis False None NotImplemented True"
).split()
"""Builtins that are Python's own; exceptions too are."""

needs_policy: Final = re.compile(r"[_\\]|\.\s*[A-Za-z]|async|await|[^\x00-\x7f]").search
"""An expression without any of this reads no attribute and names nothing of Python's own, so that the
policy would not change it; Game of 24 tries thousands of those."""

STRING: Final = "<string>"


class RefusedCode(Refused, SyntaxError):
    """A text given to eval or exec that the policy refuses."""


class Code:
    """What `compile` hands out: it can be run, not looked into."""

    __slots__ = ("_code", "_mode")

    def __init__(self, code: CodeType, mode: str) -> None:
        self._code = code
        self._mode = mode

    def __repr__(self) -> str:
        return f"<code object {self._mode}>"


class DefaultBuiltins(dict[str, Any]):
    """What stands under `__builtins__` in a namespace that eval or exec was given."""


class Globals(Names):
    """What `globals()` hands out."""

    __slots__ = ()


class Interpreter:
    """eval, exec, compile and the namespaces of one program."""

    def __init__(self, filename: str, library: Library) -> None:
        guards.KNOWN.update((Globals, Stream, Bytes, Code, AttributeGetter, MethodCaller, NoWarnings))
        self.filenames = {filename, STRING}
        self.builtins = library.builtins = self._table(library)
        self.space: dict[str, Any] = self.new_space()
        self._tables = {id(self.builtins)}
        self._copies: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._codes: dict[tuple[str, str], CodeType] = {}

    def new_space(self) -> dict[str, Any]:
        """An empty global namespace."""
        return {"__name__": guards.PROGRAM, "__doc__": None, "__builtins__": self.builtins}

    def _table(self, library: Library) -> dict[str, Any]:
        table = {name: getattr(builtins, name) for name in PLAIN}
        table |= {
            k: v for k, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, BaseException)
        }
        return table | {
            policy.GET: guards.get,
            policy.LOOK: guards.look,
            policy.STORE: guards.store,
            policy.ALTER: guards.alter,
            policy.PATTERN: guards.Late,
            policy.UPDATE: guards.update,
            policy.TYPE: type,
            policy.PURE: guards.PURE,
            **{f"{policy.ASKED}{name}": wrap for name, wrap in guards.ASKED_WRAPPERS.items()},
            "__build_class__": guards.build_class,
            "__debug__": True,
            "__import__": library.bring,
            "compile": self.compile,
            "delattr": guards.delete_attribute,
            "dir": self.dir,
            "eval": self.eval,
            "exec": self.exec,
            "exit": leave,
            "getattr": guards.get_attribute,
            "globals": self.globals,
            "hasattr": guards.has_attribute,
            "locals": self.locals,
            "memoryview": guards.MEMORY,
            "open": refuse_open,
            "quit": leave,
            "setattr": guards.set_attribute,
            "type": guards.TYPE,
            "vars": self.vars,
        }

    # Compiling

    def code(self, source: Any, mode: str, filename: str = STRING) -> CodeType:
        """Compile a text that the program made.

        Raises:
            RefusedCode: the policy refuses it.
        """
        if type(source) is Code:
            return source._code
        if isinstance(source, (bytes, bytearray)):
            source = bytes(source).decode("utf-8")
        if not isinstance(source, str):
            raise TypeError(f"{mode}() arg 1 must be a string, bytes or code object")
        text = str.__str__(source)
        key = (text, mode)
        if key not in self._codes:
            self._codes[key] = self._translate(text, mode, filename)
        return self._codes[key]

    def _translate(self, text: str, mode: str, filename: str) -> CodeType:
        if mode == "eval":
            text = text.lstrip(" \t")
            if not needs_policy(text):
                return builtins.compile(text, filename, mode, dont_inherit=True)
        try:
            return policy.translate(text, filename, mode)
        except policy.Refusal as refusal:
            raise RefusedCode(str(refusal)) from None

    def compile(self, source: Any, filename: Any = STRING, mode: str = "exec", *_: Any, **__: Any) -> Code:
        """The builtin `compile`, for text."""
        if mode not in ("eval", "exec"):
            raise RefusedAction("the sandbox compiles in the modes 'exec' and 'eval' only")
        name = guards.exact(filename) if isinstance(filename, str) else STRING
        name = f"<{name.strip('<>')}>"
        self.filenames.add(name)
        return Code(self.code(source, mode, name), mode)

    # Running

    def eval(self, source: Any, globals: Any = None, locals: Any = None, /) -> Any:
        """The builtin `eval`."""
        return self._run(builtins.eval, self.code(source, "eval"), globals, locals)

    def exec(self, source: Any, globals: Any = None, locals: Any = None, /) -> None:
        """The builtin `exec`."""
        self._run(builtins.exec, self.code(source, "exec"), globals, locals)

    def _run(self, run: Callable[..., Any], code: CodeType, given: Any, local: Any) -> Any:
        if given is None and local is None:
            return self._run_here(run, code)
        if type(given) is Globals:
            return self._run_with(run, code, given._target, None if type(local) is Globals else local)
        if given is None:
            return self._run_with(run, code, self.caller().f_globals, local)
        if not isinstance(given, dict):
            raise TypeError(f"{run.__name__}() globals must be a dict, not {type(given).__name__}")
        space = self._copy_in(given)
        try:
            return self._run_with(run, code, space, local)
        finally:
            self._copy_out(space, given)

    def _run_here(self, run: Callable[..., Any], code: CodeType) -> Any:
        frame = self.caller()
        if frame.f_locals is frame.f_globals:
            return self._run_with(run, code, frame.f_globals, None)
        names = visible(frame.f_locals)
        try:
            return run(code, self._sealed(frame.f_globals), names)
        finally:
            if not frame.f_code.co_flags & 1:
                frame.f_locals.update(names)

    def _run_with(self, run: Callable[..., Any], code: CodeType, space: dict[str, Any], local: Any) -> Any:
        if local is None:
            return run(code, self._sealed(space))
        names = visible(local)
        try:
            return run(code, self._sealed(space), names)
        finally:
            for name, value in names.items():
                local[name] = value

    def _sealed(self, space: dict[str, Any]) -> dict[str, Any]:
        if id(space.get("__builtins__")) not in self._tables:
            raise RefusedAction("this namespace cannot be run in")
        return space

    def _copy_in(self, given: dict[Any, Any]) -> dict[str, Any]:
        known, space = self._copies.get(id(given), (None, {}))
        if known is not given:
            space = self.new_space()
            self._copies[id(given)] = (given, space)
        for name in visible(space).keys() - given.keys():
            del space[name]
        space.update(visible(given))
        space["__builtins__"] = self._builtins_for(given)
        return space

    def _builtins_for(self, given: dict[Any, Any]) -> dict[str, Any]:
        asked = dict.get(given, "__builtins__", self.builtins)
        if asked is self.builtins or isinstance(asked, DefaultBuiltins):
            return self.builtins
        names = vars(asked) if isinstance(asked, types.ModuleType) else asked
        table = {name: value for name, value in self.builtins.items() if name[0] in "@_"}
        table.update(visible(names) if isinstance(names, Mapping) else {})
        self._tables.add(id(table))
        self._copies[id(table)] = (table, {})
        return table

    def _copy_out(self, space: dict[str, Any], given: dict[Any, Any]) -> None:
        result = visible(space)
        for name in visible(given).keys() - result.keys():
            dict.__delitem__(given, name)
        dict.update(given, result)
        dict.setdefault(given, "__builtins__", DefaultBuiltins())

    def caller(self) -> FrameType:
        """The nearest frame that runs the program's own code."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if id(frame.f_globals.get("__builtins__")) in self._tables:
                return frame
            frame = frame.f_back
        raise RuntimeError("no frame of the program")

    # Namespaces

    def globals(self) -> Globals:
        """The builtin `globals`: a copy whose changes are written through."""
        view = Globals(self.caller().f_globals)
        dict.update(view, __name__=guards.PROGRAM, __doc__=None)
        return view

    def locals(self) -> dict[str, Any]:
        """The builtin `locals`: a copy."""
        frame = self.caller()
        return self.globals() if frame.f_locals is frame.f_globals else visible(frame.f_locals)

    def vars(self, *owner: Any) -> Any:
        """The builtin `vars`."""
        if not owner:
            return self.locals()
        try:
            return guards.namespace_of(*owner)
        except AttributeError as error:
            if isinstance(error, Refused):
                raise
            raise TypeError("vars() argument must have __dict__ attribute") from None

    def dir(self, *owner: Any) -> list[str]:
        """The builtin `dir`, without what cannot be read."""
        if not owner:
            return sorted(self.locals())
        return [
            name for name in builtins.dir(*owner) if not policy.is_special(name) or name in policy.ATTRIBUTES
        ]


def visible(names: Mapping[Any, Any]) -> dict[str, Any]:
    """The names of a namespace that a program may hold: plain text, nothing of Python or the guards."""
    return {name: value for name, value in dict(names).items() if not guards.is_hidden(name) or name in SAFE}


SAFE: Final = policy.METHODS - policy.ASKED_FOR_NAMES | {"__slots__", "__doc__", "__all__", "__version__"}


def leave(code: Any = None) -> NoReturn:
    """`exit` and `quit`."""
    raise SystemExit(code)


def refuse_open(*_: Any, **__: Any) -> NoReturn:
    """`open`."""
    raise RefusedAction("the sandbox has no files; keep data in variables or io.StringIO")


# Modules that are made here


def made_modules(filename: str) -> dict[str, Callable[[Library], dict[str, Any]]]:
    """Module -> the names that are made here, for this program."""
    return {
        "abc": lambda _: {"ABCMeta": guards.Abstract},
        "ast": lambda _: {"parse": parse},
        "collections": lambda _: {"namedtuple": namedtuple},
        "dataclasses": lambda _: {"dataclass": dataclass},
        "functools": lambda _: {
            "wraps": wraps,
            "update_wrapper": update_wrapper,
            "singledispatch": singledispatch,
        },
        "gc": lambda _: {name: getattr(gc, name) for name in ("collect", "disable", "enable", "isenabled")},
        "operator": lambda _: {"attrgetter": AttributeGetter, "methodcaller": MethodCaller},
        "struct": lambda _: {"pack_into": pack_into},
        "sys": lambda _: system_names(filename),
        "traceback": lambda _: traceback_names(filename),
        "types": lambda _: types_names(),
        "typing": lambda _: {"get_args": get_args, "get_origin": get_origin},
        "warnings": lambda _: warnings_names(filename),
        "timeit": lambda _: timeit_names(),
    }


def pack_into(format: Any, buffer: Any, offset: int, *values: Any) -> None:
    """struct.pack_into, but not into an array of objects."""
    struct.pack_into(format, guards.check_memory(buffer), offset, *values)


def parse(source: Any, filename: str = "<unknown>", mode: str = "exec", **_: Any) -> ast.AST:
    """ast.parse of a text."""
    return ast.parse(source, guards.exact(filename), mode)


def namedtuple(typename: Any, field_names: Any, *, rename: bool = False, defaults: Any = None) -> Any:
    """collections.namedtuple whose class is the program's own."""
    cls = collections.namedtuple(
        typename, field_names, rename=rename, defaults=defaults, module=guards.PROGRAM
    )
    return guards.enrol(cls)


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """dataclasses.dataclass on own classes whose fields have ordinary names."""
    if cls is None:
        return lambda cls: dataclass(cls, **options)
    if not isinstance(cls, type) or not guards.is_own(cls):
        raise guards.RefusedType("dataclass() takes a class of the program")
    for name in vars(cls).get("__annotations__", {}):
        if type(name) is not str or not name.isidentifier() or policy.is_special(name):
            raise guards.RefusedType("a field needs an ordinary name")
    return guards.enrol(dataclasses.dataclass(**options)(cls))


def get_origin(thing: Any) -> Any:
    """typing.get_origin, which may come to `type`."""
    return guards.stand_in(typing.get_origin(thing))


def get_args(thing: Any) -> tuple[Any, ...]:
    """typing.get_args, which may come to `type`."""
    return tuple(guards.stand_in(part) for part in typing.get_args(thing))


_COPIED: Final = ("__module__", "__name__", "__qualname__", "__doc__")


def update_wrapper(wrapper: Any, wrapped: Any, *_: Any, **__: Any) -> Any:
    """functools.update_wrapper between functions and objects of the program."""
    for name in _COPIED:
        if name != "__module__" and hasattr(wrapped, name):
            guards.set_attribute(wrapper, name, getattr(wrapped, name))
    if guards.is_own_function(wrapped) or guards.is_own(type(wrapped)):
        source = dict(getattr(wrapped, "__dict__", {}))
        source.pop("__wrapped__", None)
        for name, value in source.items():
            guards.set_attribute(wrapper, name, value)
    if guards.is_own_function(wrapper) or guards.is_own(type(wrapper)):
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
        self._names = tuple(guards.exact(name) for name in names)

    def __call__(self, owner: Any, /) -> Any:
        found = tuple(functools.reduce(guards.look, name.split("."), owner) for name in self._names)
        return found[0] if len(found) == 1 else found


class MethodCaller:
    """operator.methodcaller through the guard."""

    __slots__ = ("_arguments", "_name", "_options")

    def __init__(self, name: Any, /, *arguments: Any, **options: Any) -> None:
        self._name = guards.exact(name)
        self._arguments = arguments
        self._options = options

    def __call__(self, owner: Any, /) -> Any:
        return guards.look(owner, self._name)(*self._arguments, **self._options)


DEEPEST: Final = 20_000


def set_recursion_limit(limit: int) -> None:
    """sys.setrecursionlimit, up to what the stack of a process holds."""
    sys.setrecursionlimit(max(50, min(operator.index(limit), DEEPEST)))


def system_names(filename: str) -> dict[str, Any]:
    """The program's `sys`."""
    names = (
        "api_version byteorder float_info float_repr_style getrecursionlimit getrefcount getsizeof "
        "hash_info hexversion implementation int_info intern maxsize maxunicode version version_info "
        "get_int_max_str_digits set_int_max_str_digits stdin stdout stderr"
    ).split()
    return {
        **{name: getattr(sys, name) for name in names if hasattr(sys, name)},
        "argv": [filename],
        "exc_info": exception_info,
        "executable": "",
        "exit": leave,
        "flags": None,
        "modules": {},
        "path": [],
        "platform": sys.platform,
        "setrecursionlimit": set_recursion_limit,
    }


def exception_info() -> tuple[Any, Any, Any]:
    """sys.exc_info without frames."""
    kind, value, trace = sys.exc_info()
    return kind, value, None if trace is None else guards.Trace(trace.tb_lineno)


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
        "SimpleNamespace": guards.Namespace,
        "MappingProxyType": types.MappingProxyType,
        "NoneType": types.NoneType,
        "NotImplementedType": types.NotImplementedType,
        "EllipsisType": types.EllipsisType,
        "GenericAlias": types.GenericAlias,
        "UnionType": types.UnionType,
        **{name: guards.stand_in(stand_ins[index]) for name, index in named.items()},
        "ModuleType": guards.stand_in(types.ModuleType),
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
        print(f"{filename}:{line}: {kind.__name__}: {message}", file=sys.stderr)

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
    import time

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
        "format_exception_only": traceback.format_exception_only,
        "print_exc": print_exc,
        "print_exception": print_exception,
        "print_tb": lambda *_, **__: None,
        "print_stack": lambda *_, **__: None,
        "format_tb": lambda *_, **__: [],
        "extract_tb": lambda *_, **__: [],
    }


def traceback_lines(error: BaseException | None, filenames: set[str]) -> list[str]:
    """The lines of a traceback, with the program's own frames only."""
    if error is None:
        return ["NoneType: None\n"]
    found = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    chain: list[Any] = [found]
    while chain:
        item = chain.pop()
        if item is not None:
            item.stack = traceback.StackSummary.from_list([f for f in item.stack if f.filename in filenames])
            chain += [item.__cause__, item.__context__, *(getattr(item, "exceptions", None) or ())]
    return list(found.format())
