"""The run-time half of the policy: who may read, write, subclass and match what.

`policy` turns attribute reads and writes into calls of these functions. Three questions decide:
whose class is it (the program's own, or a library's), is the name public, and is the result a
thing that a program may hold. Classes of the program are told by their module, read through
`type`'s own descriptor, which no class can answer for. Nothing here opens, compiles or imports.
"""

from __future__ import annotations

import abc
import builtins
import functools
import operator
import types
import typing
from collections.abc import Callable
from typing import Any, Final, NoReturn

from meta_tui.sandbox import formatting
from meta_tui.sandbox.classes import EXTENSIBLE, HIDDEN, MATCHABLE, ROOTS, VISIBLE
from meta_tui.sandbox.policy import (
    ASKED_FOR_NAMES,
    ATTRIBUTES,
    ENUM_NAMES,
    FRAME_ATTRIBUTES,
    GUARDED,
    METHODS,
    STORED,
    is_special,
)

PROGRAM: Final = "__main__"
"""Module of every class and function of a program."""

_module_of: Final = type.__dict__["__module__"].__get__
_names_of: Final = type.__dict__["__dict__"].__get__
_order_of: Final = type.__dict__["__mro__"].__get__


class Refused(Exception):
    """Base of what the guards raise; an uncaught one makes the program's status `refused`."""


class RefusedAttribute(Refused, AttributeError):
    """An attribute that the sandbox does not hand out."""


class RefusedImport(Refused, ImportError):
    """A module or a name of one that the sandbox does not have."""


class RefusedAction(Refused, PermissionError):
    """Something that the sandbox does not do, such as opening a file."""


class RefusedType(Refused, TypeError):
    """A class that cannot be made, extended or matched in the sandbox."""


def refuse_attribute(name: object) -> NoReturn:
    """Raise for an attribute."""
    raise RefusedAttribute(f"the attribute `{name}` is not available in the sandbox")


# Whose class is it?

KNOWN: set[type] = set()
"""Types whose instances may be looked into (a cache of `is_visible`)."""
FREE: set[type] = set()
"""Own classes whose instances may be written to by any plain name."""


PURE: set[type] = set()
"""Own classes without a library class behind them: their objects hold what the program has."""
HARMLESS_BASES: Final = frozenset({object, abc.ABC, typing.Generic})


def is_own(cls: type) -> bool:
    """Whether the program made this class."""
    module = _module_of(cls)
    return type(module) is str and module == PROGRAM


def is_visible(cls: type) -> bool:
    """Whether attributes of instances of this class may be read at all."""
    if cls in HIDDEN:
        return False
    module = _module_of(cls)
    if issubclass(cls, type):
        return False
    if cls in VISIBLE or (type(module) is str and module.partition(".")[0] in ROOTS):
        KNOWN.add(cls)
        return True
    return False


def _may_look(owner: Any) -> bool:
    if isinstance(owner, type):
        return owner in KNOWN or is_visible(owner) or isinstance(owner, StandIn)
    return is_visible(type(owner))


def exact(name: Any) -> str:
    """`name` as a plain string: a subclass of str could answer differently each time."""
    if not isinstance(name, str):
        raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
    return str.__str__(name)


# Reading

_PECULIAR: Final[frozenset[type]] = HIDDEN | {type, types.MappingProxyType}


def get(owner: Any, name: str) -> Any:
    """`owner.name` for a plain name: the guard that most reads go through."""
    if type(owner) not in KNOWN and not _may_look(owner):
        refuse_attribute(name)
    value = getattr(owner, name)
    if type(value) in _PECULIAR:
        return presentable(value, name)
    return value


def look(owner: Any, name: str) -> Any:
    """`owner.name` for any name: special, private or doubtful."""
    if name in FRAME_ATTRIBUTES:
        refuse_attribute(name)
    if is_special(name):
        return _special(owner, name)
    if name.startswith("_"):
        _check_private(owner, name)
    elif name in _DOUBTFUL:
        return _DOUBTFUL[name](owner, name)
    return get(owner, name)


def presentable(value: Any, name: str) -> Any:
    """`value`, unless it is something that no program may hold; metaclasses become `type`."""
    kind = type(value)
    if kind in HIDDEN:
        refuse_attribute(name)
    if isinstance(value, type):
        return stand_in(value)
    if kind is types.MappingProxyType:
        return types.MappingProxyType(dict(value))
    return value


def get_attribute(owner: Any, name: Any, *default: Any) -> Any:
    """The builtin `getattr`."""
    if len(default) > 1:
        raise TypeError(f"getattr expected at most 3 arguments, got {2 + len(default)}")
    name = exact(name)
    try:
        return look(owner, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def has_attribute(owner: Any, name: Any) -> bool:
    """The builtin `hasattr`."""
    try:
        look(owner, exact(name))
    except AttributeError:
        return False
    return True


# Private names: the program's own only

_RECORD_NAMES: Final = frozenset("_asdict _replace _fields _make _field_defaults".split())


def _check_private(owner: Any, name: str) -> None:
    if name in _RECORD_NAMES or name in ENUM_NAMES:
        return
    if type(owner) is super:
        allowed = _is_owned_behind(owner, name)
    elif isinstance(owner, type):
        allowed = _is_owned_by_class(owner, name)
    elif is_own(type(owner)):
        allowed = name not in library_names(type(owner)) or _is_overridden(type(owner), name)
    else:
        allowed = is_own_function(owner)
    if not allowed:
        refuse_attribute(name)


def _is_owned_by_class(cls: type, name: str) -> bool:
    for base in _order_of(cls):
        if name in _names_of(base):
            return is_own(base)
    return not any(name in _names_of(meta) for meta in _order_of(type(cls)))


def _is_owned_behind(owner: super, name: str) -> bool:
    this = super.__dict__["__thisclass__"].__get__(owner)
    order = list(_order_of(super.__dict__["__self_class__"].__get__(owner)))
    for base in order[order.index(this) + 1 :]:
        if name in _names_of(base):
            return is_own(base)
    return True


def _is_overridden(cls: type, name: str) -> bool:
    for base in _order_of(cls):
        if name in _names_of(base):
            return is_own(base)
    return True


_library_names: dict[type, frozenset[str]] = {}


def library_names(cls: type) -> frozenset[str]:
    """Private names that library classes among the bases of `cls` define."""
    found = _library_names.get(cls)
    if found is None:
        bases = [base for base in _order_of(cls) if not is_own(base)]
        names = {name for base in bases for name in _names_of(base)}
        private = (name for name in names if name.startswith("_") and not is_special(name))
        found = _library_names[cls] = frozenset(private)
    return found


_Cached: Final = type(functools.lru_cache(len))


def is_own_function(thing: Any) -> bool:
    """Whether the program defined this function (or wrapped it in a cache)."""
    if type(thing) is _Cached:
        thing = thing.__wrapped__
    return type(thing) is types.FunctionType and _module_name(thing) == PROGRAM


def _module_name(function: types.FunctionType) -> Any:
    return function.__globals__.get("__name__")


# Special names


def _special(owner: Any, name: str) -> Any:
    if name not in ATTRIBUTES:
        refuse_attribute(name)
    if name in _PARTICULAR:
        return _PARTICULAR[name](owner, name)
    return get(owner, name)


def _class(owner: Any, name: str) -> Any:
    return class_of(owner)


def _dict(owner: Any, name: str) -> Any:
    return namespace_of(owner)


def _bases(owner: Any, name: str) -> Any:
    value = get(owner, name)
    if not isinstance(owner, type):
        return value
    return tuple(stand_in(base) for base in value) if isinstance(value, tuple) else value


def _family(owner: Any, name: str) -> Any:
    if isinstance(owner, type) and not (is_own(owner) or _module_of(owner) == "builtins"):
        refuse_attribute(name)
    return _bases(owner, name)


def _children(owner: Any, name: str) -> Any:
    if isinstance(owner, type) and is_own(owner):
        found = type.__subclasses__(owner)
        return lambda: [cls for cls in found if is_own(cls)]
    return _own_attribute(owner, name)


def _own_attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, type) or not is_own(type(owner)):
        refuse_attribute(name)
    return get(owner, name)


def _annotations(owner: Any, name: str) -> Any:
    value = get(owner, name)
    return dict(value) if isinstance(value, dict) else value


def _new(owner: Any, name: str) -> Any:
    value = get(owner, name)
    if getattr(value, "__self__", None) in SEALED:
        refuse_attribute(name)
    return value


def _fields(owner: Any, name: str) -> Any:
    cls = owner if isinstance(owner, type) else type(owner)
    if not is_own(cls):
        refuse_attribute(name)
    return dict(get(owner, name))


def _wrapped(owner: Any, name: str) -> Any:
    if not (is_own_function(owner) or is_own(type(owner))):
        refuse_attribute(name)
    value = get(owner, name)
    if isinstance(value, types.FunctionType) and not is_own_function(value):
        refuse_attribute(name)
    return value


def _binder(owner: Any, name: str) -> Any:
    if not (is_own_function(owner) or is_own(type(owner))):
        refuse_attribute(name)
    return get(owner, name)


class Trace:
    """What a program sees of a traceback: the line, never a frame."""

    __slots__ = ("tb_lineno", "tb_next")

    def __init__(self, line: int) -> None:
        self.tb_lineno = line
        self.tb_next = None


def _traceback(owner: Any, name: str) -> Any:
    if not isinstance(owner, BaseException):
        refuse_attribute(name)
    trace = BaseException.__dict__["__traceback__"].__get__(owner)
    return None if trace is None else Trace(trace.tb_lineno)


_UNBOUND: Final = object()


def _changer(owner: Any, name: str) -> Any:
    raw = get(owner, name)
    if is_own_function(raw) or is_own_function(getattr(raw, "__func__", None)):
        return raw
    target = getattr(raw, "__self__", _UNBOUND)

    def change(*arguments: Any) -> None:
        whom, what = (arguments[0], arguments[1]) if target is _UNBOUND else (target, arguments[0])
        rest = arguments[2:] if target is _UNBOUND else arguments[1:]
        plain = exact(what)
        alter(whom, plain)
        raw(*((whom, plain, *rest) if target is _UNBOUND else (plain, *rest)))

    return change


def _asker(owner: Any, name: str) -> Any:
    raw = get(owner, name)
    if is_own_function(raw) or is_own_function(getattr(raw, "__func__", None)):
        return raw
    target = getattr(raw, "__self__", _UNBOUND)

    def ask(*arguments: Any) -> Any:
        whom, what = (arguments[0], arguments[1]) if target is _UNBOUND else (target, arguments[0])
        plain = exact(what)
        if is_special(plain) or plain in FRAME_ATTRIBUTES or (plain in GUARDED and not is_own(type(whom))):
            return look(whom, plain)
        if plain.startswith("_"):
            _check_private(whom, plain)
        elif not is_visible(type(whom)):
            refuse_attribute(plain)
        return presentable(raw(whom, plain) if target is _UNBOUND else raw(plain), plain)

    return ask


_PARTICULAR: Final[dict[str, Callable[[Any, str], Any]]] = {
    "__annotations__": _annotations,
    "__args__": _bases,
    "__base__": _family,
    "__bases__": _family,
    "__class__": _class,
    "__dataclass_fields__": _fields,
    "__delattr__": _changer,
    "__dict__": _dict,
    "__get__": _binder,
    "__getattr__": _own_attribute,
    "__getattribute__": _asker,
    "__mro__": _family,
    "__new__": _new,
    "__setattr__": _changer,
    "__subclasses__": _children,
    "__traceback__": _traceback,
    "__wrapped__": _wrapped,
}


# Plain names that are doubtful on some objects


def _format(owner: Any, name: str) -> Any:
    value = get(owner, name)
    if type(value) in _NATIVE_METHODS and getattr(value, "__name__", "") == name:
        return formatting.safe(value, owner)
    return value


def _family_method(owner: Any, name: str) -> Any:
    if isinstance(owner, type) and not any(name in _names_of(base) for base in _order_of(owner)):
        if name == "mro" and (is_own(owner) or _module_of(owner) == "builtins"):
            return lambda: [stand_in(base) for base in _order_of(owner)]
        refuse_attribute(name)
    return get(owner, name)


def _error_object(owner: Any, name: str) -> Any:
    if isinstance(owner, AttributeError):
        refuse_attribute(name)
    return get(owner, name)


def _library_method(owner: Any, name: str) -> Any:
    cls = owner if isinstance(owner, type) else type(owner)
    if not (is_own(cls) and _is_overridden(cls, name)) and name not in _names_of_module(owner):
        refuse_attribute(name)
    return get(owner, name)


def holds_references(thing: Any) -> bool:
    """Whether this is an array whose memory holds references: written as bytes, it would forge objects."""
    kind = getattr(thing, "dtype", None) if _module_of(type(thing)).partition(".")[0] == "numpy" else None
    return kind is not None and has_references(kind)


def has_references(kind: Any) -> bool:
    """Whether elements of this numpy type are references."""
    return bool(kind.hasobject) or kind.kind == "T"


def check_memory(thing: Any) -> Any:
    """`thing`, unless its memory must not be seen as bytes."""
    if holds_references(thing):
        raise RefusedType("the memory of an array of objects is not available in the sandbox")
    return thing


def _memory(owner: Any, name: str) -> Any:
    return get(check_memory(owner), name)


def _packer(owner: Any, name: str) -> Any:
    raw = get(owner, name)
    if type(owner).__name__ != "Struct" or is_own(type(owner)):
        return raw
    return lambda buffer, *rest: raw(check_memory(buffer), *rest)


def _names_of_module(owner: Any) -> dict[str, Any]:
    return vars(owner) if type(owner) is Module else {}


class Module(types.ModuleType):
    """A module as programs see it: the public names that were chosen, and nothing behind them."""


_NATIVE_METHODS: Final = (types.BuiltinMethodType, types.MethodDescriptorType, types.MethodWrapperType)
_DOUBTFUL: Final[dict[str, Callable[[Any, str], Any]]] = {
    "format": _format,
    "format_map": _format,
    "mro": _family_method,
    "register": _family_method,
    "obj": _error_object,
    "data": _memory,
    "pack_into": _packer,
    **dict.fromkeys(
        (
            "capsule",
            "cffi",
            "ctypes",
            "dump",
            "dumps",
            "readinto",
            "readinto1",
            "resize",
            "set_state",
            "tofile",
        ),
        _library_method,
    ),
}


# Classes that stand for others


class StandIn(type):
    """Class of classes that answer `type(x)` for a kind that programs may not construct.

    Their plain attributes are those of the real class, so that `np.ndarray.sum(a)` works.
    """

    real: type

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        raise RefusedType(f"cannot create '{cls.__name__}' instances")

    def __getattr__(cls, name: str) -> Any:
        if is_special(name) or cls.real in HIDDEN or issubclass(cls.real, type):
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return getattr(cls.real, name)

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, cls.real)

    def __subclasscheck__(cls, other: type) -> bool:
        return other is cls

    def __repr__(cls) -> str:
        return f"<class '{cls.__name__}'>"


class Memory(StandIn):
    """Class of the stand-in of `memoryview`."""

    def __call__(cls, thing: Any) -> Any:
        return memoryview(check_memory(thing))


class Type(StandIn):
    """Class of the stand-in of `type`."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        if len(arguments) == 1 and not options:
            return class_of(arguments[0])
        return make_class(*arguments, **options)

    def __subclasscheck__(cls, other: type) -> bool:
        return other is cls or other is Abstract

    def __getitem__(cls, parameter: Any) -> Any:
        return typing.Type[parameter]


def _stand_in(meta: type, real: type, name: str, module: str = "builtins") -> Any:
    return meta(name, (), {"real": real, "__module__": module})


def seal(real: type, meta: type[StandIn]) -> Any:
    """Put a stand-in in the place of a library class; its class `meta` decides what calling it does."""
    if real not in _STAND_INS:
        _STAND_INS[real] = _stand_in(meta, real, real.__name__, _module_of(real))
        SEALED.add(real)
    return _STAND_INS[real]


TYPE: Final = _stand_in(Type, type, "type")
Abstract: Final = _stand_in(StandIn, abc.ABCMeta, "ABCMeta")
MEMORY: Final = _stand_in(Memory, memoryview, "memoryview")
SEALED: set[type] = set()
"""Library classes whose `__new__` is not for programs."""
_STAND_INS: dict[type, Any] = {memoryview: MEMORY} | {
    real: _stand_in(StandIn, real, real.__name__)
    for real in (
        types.FunctionType,
        types.BuiltinFunctionType,
        types.MethodType,
        types.GeneratorType,
        *HIDDEN,
    )
}


def stand_in(cls: Any) -> Any:
    """What a program gets for a class."""
    if isinstance(cls, type) and issubclass(cls, type) and not isinstance(cls, StandIn):
        return TYPE
    return _STAND_INS.get(cls, cls) if isinstance(cls, type) else cls


def class_of(thing: Any) -> Any:
    """The builtin `type` with one argument."""
    kind = type(thing)
    if kind is Module:
        kind = types.ModuleType
    if issubclass(kind, type):
        return TYPE
    if kind not in _STAND_INS and kind not in KNOWN and not is_visible(kind):
        _STAND_INS[kind] = _stand_in(StandIn, kind, kind.__name__)
    return stand_in(kind)


# Writing


def store(owner: Any, name: str) -> Any:
    """`owner`, if the program may write its plain attribute `name`."""
    kind = type(owner)
    if kind in FREE:
        return owner
    if isinstance(owner, type):
        allowed = (is_own(owner) and not name.startswith("_")) or _is_owned_by_class_or_new(owner, name)
    elif is_own(kind):
        allowed = name not in library_names(kind) or _is_overridden(kind, name)
    elif is_own_function(owner):
        allowed = True
    elif kind is SystemModule:
        allowed = name in ("stdout", "stderr", "stdin")
    else:
        allowed = not name.startswith("_") and _is_writable(owner, name)
    if not allowed:
        refuse_attribute(name)
    return owner


def _is_owned_by_class_or_new(cls: type, name: str) -> bool:
    return is_own(cls) and _is_owned_by_class(cls, name)


WRITABLE: Final[dict[str, frozenset[str] | None]] = {
    "decimal.Context": None,
    "mpmath.ctx_mp.MPContext": frozenset({"dps", "pretty", "prec"}),
    "types.SimpleNamespace": None,
    "numpy.ndarray": frozenset({"shape", "flat", "real", "imag"}),
}
"""Library classes whose instances may be written to: all plain names, or some."""


def _is_writable(owner: Any, name: str) -> bool:
    if isinstance(owner, BaseException):
        return name != "obj"
    for cls in _order_of(type(owner)):
        module, label = _module_of(cls), f"{_module_of(cls)}.{cls.__name__}"
        if module in ("chess", "chess.pgn"):
            return True
        if label in WRITABLE:
            names = WRITABLE[label]
            return names is None or name in names
    return False


def alter(owner: Any, name: str) -> Any:
    """`owner`, if the program may write its attribute `name`, special or not."""
    if not is_special(name):
        return store(owner, name)
    if name not in STORED:
        refuse_attribute(name)
    if not _is_alterable(owner, name):
        refuse_attribute(name)
    return owner


def _is_alterable(owner: Any, name: str) -> bool:
    if isinstance(owner, type):
        return is_own(owner)
    if isinstance(owner, BaseException) and name == "__cause__":
        return True
    return name not in METHODS and (is_own(type(owner)) or is_own_function(owner))


def set_attribute(owner: Any, name: Any, value: Any) -> None:
    """The builtin `setattr`."""
    plain = exact(name)
    setattr(alter(owner, plain), plain, value)


def delete_attribute(owner: Any, name: Any) -> None:
    """The builtin `delattr`."""
    plain = exact(name)
    delattr(alter(owner, plain), plain)


class SystemModule(types.ModuleType):
    """The program's `sys`: its streams are the interpreter's."""


class Namespace:
    """types.SimpleNamespace without a way to special names."""

    def __init__(self, **names: Any) -> None:
        vars(self).update((checked_name(name), value) for name, value in names.items())

    def __repr__(self) -> str:
        return f"namespace({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


Namespace.__module__, Namespace.__name__, Namespace.__qualname__ = (
    "types",
    "SimpleNamespace",
    "SimpleNamespace",
)


def checked_name(name: Any) -> str:
    """A name that may become an attribute of an object of the program."""
    plain = exact(name)
    if is_hidden(plain):
        refuse_attribute(plain)
    return plain


def is_hidden(name: Any) -> bool:
    """Whether a key of a namespace is Python's or the guards', so that programs never see it."""
    return type(name) is not str or name[:1] in ("@", ".") or is_special(name)


class Names(dict[str, Any]):
    """`vars(x)`: a copy whose changes are written through, special names excepted."""

    __slots__ = ("_target",)

    def __init__(self, target: dict[str, Any]) -> None:
        super().__init__({name: value for name, value in target.items() if not is_hidden(name)})
        self._target = target

    def __setitem__(self, name: str, value: Any) -> None:
        plain = checked_name(name)
        self._target[plain] = value
        super().__setitem__(plain, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del self._target[name]

    def update(self, *others: Any, **names: Any) -> None:
        """As dict.update."""
        for name, value in dict(*others, **names).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As dict.setdefault."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """As dict.pop."""
        value = super().pop(name, *default)
        self._target.pop(name, None)
        return value

    def popitem(self) -> tuple[str, Any]:
        """As dict.popitem."""
        name, value = super().popitem()
        self._target.pop(name, None)
        return name, value

    def clear(self) -> None:
        """As dict.clear."""
        for name in list(self):
            self.pop(name)

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memory: Any) -> dict[str, Any]:
        import copy

        return copy.deepcopy(dict(self), memory)


def namespace_of(owner: Any) -> Any:
    """`vars(owner)`: the names of an object of the program, written through; of a class, a copy."""
    if isinstance(owner, type):
        if not is_own(owner):
            refuse_attribute("__dict__")
        hidden = {"__dict__", "__weakref__"}
        return {name: value for name, value in _names_of(owner).items() if name not in hidden}
    if type(owner) is Module:
        return dict(vars(owner))
    if not (is_own(type(owner)) or is_own_function(owner) or isinstance(owner, (BaseException, Namespace))):
        refuse_attribute("__dict__")
    target = object.__getattribute__(owner, "__dict__")
    return Names(target) if type(target) is dict else refuse_attribute("__dict__")


# Classes

_build_class: Final = builtins.__build_class__


def check_base(base: Any) -> Any:
    """A base class, if a program may extend it."""
    origin = base if isinstance(base, type) else getattr(base, "__origin__", base)
    if base is TYPE or base is Abstract:
        raise RefusedType("the sandbox does not run own metaclasses")
    if isinstance(base, type) or type(base).__module__ in ("typing", "types", "builtins"):
        try:
            if (isinstance(origin, type) and is_own(origin)) or origin in EXTENSIBLE:
                return base
        except TypeError:
            pass
    raise RefusedType(f"the sandbox does not extend {getattr(base, '__name__', repr(type(base).__name__))}")


def check_metaclass(meta: Any) -> Any:
    """The real metaclass of a class statement."""
    if meta is Abstract:
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
    body = {checked_member(key): value for key, value in names.items()}
    for name_asked in ASKED_FOR_NAMES & body.keys():
        body[name_asked] = ASKED_WRAPPERS[name_asked](body[name_asked])
    body["__module__"] = PROGRAM
    bases = tuple(check_base(base) for base in tuple(bases))
    options = {checked_name(key): value for key, value in options.items() if key != "metaclass"}
    return enrol(types.new_class(exact(name), bases, options, lambda space: space.update(body)))


def checked_member(name: Any) -> str:
    """A name that may stand in the body of a class."""
    plain = exact(name)
    if is_special(plain) and plain not in METHODS and plain not in ("__slots__", "__doc__", "__match_args__"):
        if plain not in ("__module__", "__qualname__"):
            refuse_attribute(plain)
    return plain


def enrol(cls: Any) -> Any:
    """Take a new class of the program into the books: its slots fixed, its writes decided."""
    if not isinstance(cls, type):
        return cls
    slots = _names_of(cls).get("__slots__")
    if slots is not None:
        names = (slots,) if isinstance(slots, str) else tuple(slots)
        fixed = tuple(exact(name) for name in names)
        if any(is_special(name) and name not in ("__dict__", "__weakref__") for name in fixed):
            raise RefusedType("__slots__ names something that is kept for Python")
        if not isinstance(slots, dict):
            type.__setattr__(cls, "__slots__", fixed)
    if not library_names(cls):
        FREE.add(cls)
    if all(is_own(base) or base in HARMLESS_BASES for base in _order_of(cls)):
        PURE.add(cls)
    KNOWN.add(cls)
    return cls


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


def _bound(function: Any, owner: Any) -> Any:
    binder = getattr(type(function), "__get__", None)
    return function if binder is None else binder(function, owner, type(owner))


ASKED_WRAPPERS: Final = {"__getattr__": asked_getattr, "__getattribute__": asked_getattribute}


# Patterns


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
        if self._checks and (self._checks[0] or self._checks[1]):
            check_pattern(value, *self._checks)
        return value


SELF_MATCHING: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Builtin classes whose one positional pattern is the object itself."""


def check_pattern(cls: Any, names: tuple[str, ...], count: int) -> None:
    """Whether a class pattern may read these attributes and so many positional ones.

    Raises:
        RefusedType: instances of this class could be anything, or a name is not readable.
    """
    if cls in SELF_MATCHING and not names:
        return
    if not isinstance(cls, type) or not _is_matchable(cls):
        raise RefusedType(f"patterns cannot look into {getattr(cls, '__name__', cls)!s}")
    positional = _match_args(cls)[:count] if count else ()
    for name in (*names, *positional):
        if is_special(name) or name in FRAME_ATTRIBUTES or name in GUARDED:
            refuse_attribute(name)
        if name.startswith("_") and not (is_own(cls) and name not in library_names(cls)):
            refuse_attribute(name)


def _is_matchable(cls: type) -> bool:
    if not is_own(cls):
        return cls in MATCHABLE
    if type(cls).__name__ == "_ProtocolMeta":
        return False
    return not any(is_own(base) and "__subclasshook__" in _names_of(base) for base in _order_of(cls))


def _match_args(cls: type) -> tuple[str, ...]:
    for base in _order_of(cls):
        found = _names_of(base).get("__match_args__")
        if found is not None:
            if type(found) is tuple and all(type(name) is str for name in found):
                return found
            raise RefusedType("__match_args__ must be a tuple of strings")
    return ()


KNOWN.update((Module, SystemModule, Trace, Names))


OPERATIONS: Final = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "BitAnd": operator.iand,
    "MatMult": operator.imatmul,
}


def update(operation: str, old: Any, value: Any) -> Any:
    """The in-place operation of an augmented assignment to an attribute."""
    return OPERATIONS[operation](old, value)
