"""The run-time half of the policy: reading and writing attributes.

`policy` turns attribute reads and writes into calls of these functions. Three questions decide:
whose class is it (the program's own, or a library's), is the name public, and is the result a
thing that a program may hold. Nothing here opens, compiles or imports.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any, Final

from meta_tui.sandbox import formatting
from meta_tui.sandbox.classes import HIDDEN
from meta_tui.sandbox.namespaces import namespace_of
from meta_tui.sandbox.ownership import (
    FREE,
    KNOWN,
    PURE,
    exact,
    is_defined_by_program,
    is_own,
    is_own_function,
    is_visible,
    library_names,
    module_of,
    names_of,
    order_of,
    refuse_attribute,
)
from meta_tui.sandbox.policy import (
    ATTRIBUTES,
    ENUM_NAMES,
    FRAME_ATTRIBUTES,
    GUARDED,
    METHODS,
    STORED,
    is_special,
)
from meta_tui.sandbox.standins import (
    SEALED,
    Module,
    StandIn,
    SystemModule,
    Trace,
    check_memory,
    class_of,
    name_of,
    stand_in,
)

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


def _may_look(owner: Any) -> bool:
    if isinstance(owner, type):
        return owner in KNOWN or is_visible(owner) or isinstance(owner, StandIn)
    return is_visible(type(owner))


def presentable(value: Any, name: str) -> Any:
    """`value`, unless it is something that no program may hold; metaclasses become `type`."""
    kind = type(value)
    if kind in HIDDEN:
        refuse_attribute(name)
    if kind is types.MappingProxyType:
        return types.MappingProxyType(dict(value))
    return stand_in(value)


def look(owner: Any, name: str) -> Any:
    """`owner.name` for any name: special, private or doubtful."""
    if name in FRAME_ATTRIBUTES:
        refuse_attribute(name)
    if is_special(name):
        if name not in ATTRIBUTES:
            refuse_attribute(name)
        return _PARTICULAR[name](owner, name) if name in _PARTICULAR else get(owner, name)
    if name.startswith("_"):
        _check_private(owner, name)
    elif name in _DOUBTFUL:
        return _DOUBTFUL[name](owner, name)
    return get(owner, name)


_NO_MAPPINGS: Final = frozenset({bool, bytes, float, int, list, set, str, tuple, types.NoneType})


def keywords(given: Any) -> dict[str, Any]:
    """The names of `f(**given)`: a copy, none of them special.

    Raises:
        RefusedAttribute: one is.
        TypeError: it is no mapping; for plain values Python says so better.
    """
    if type(given) is not dict:
        if type(given) in _NO_MAPPINGS:
            return given  # type: ignore[no-any-return]
        if not hasattr(given, "keys"):
            raise TypeError(f"argument after ** must be a mapping, not {type(given).__name__}")
        given = dict(given)
    for name in given:
        if isinstance(name, str) and (is_special(exact(name)) or exact(name)[:1] == "@"):
            refuse_attribute(exact(name))
    return given  # type: ignore[no-any-return]


def get_attribute(owner: Any, name: Any, *default: Any) -> Any:
    """The builtin `getattr`."""
    if len(default) > 1:
        raise TypeError(f"getattr expected at most 3 arguments, got {2 + len(default)}")
    plain = exact(name)
    try:
        return look(owner, plain)
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
        allowed = name not in library_names(type(owner)) or is_defined_by_program(type(owner), name)
    else:
        allowed = is_own_function(owner)
    if not allowed:
        refuse_attribute(name)


def _is_owned_by_class(cls: type, name: str) -> bool:
    if any(name in names_of(base) for base in order_of(cls)):
        return is_defined_by_program(cls, name)
    return not any(name in names_of(meta) for meta in order_of(type(cls)))


def _is_owned_behind(owner: super, name: str) -> bool:
    this = super.__dict__["__thisclass__"].__get__(owner)
    order = list(order_of(super.__dict__["__self_class__"].__get__(owner)))
    for base in order[order.index(this) + 1 :]:
        if name in names_of(base):
            return is_own(base)
    return True


# Special names


def _class(owner: Any, name: str) -> Any:
    return class_of(owner)


def _name(owner: Any, name: str) -> Any:
    return name_of(owner) if isinstance(owner, Module) else get(owner, name)


def _dict(owner: Any, name: str) -> Any:
    return namespace_of(owner)


def _parts(owner: Any, name: str) -> Any:
    value = get(owner, name)
    return tuple(stand_in(part) for part in value) if type(value) is tuple else value


def _family(owner: Any, name: str) -> Any:
    if isinstance(owner, type) and not (is_own(owner) or module_of(owner) == "builtins"):
        refuse_attribute(name)
    return _parts(owner, name)


def _children(owner: Any, name: str) -> Any:
    if isinstance(owner, type) and is_own(owner):
        classes: list[type] = type.__subclasses__(owner)
        found = [cls for cls in classes if is_own(cls)]
        return lambda: found
    return _own_attribute(owner, name)


def _own_attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, type) or not is_own(type(owner)):
        refuse_attribute(name)
    return get(owner, name)


def _annotations(owner: Any, name: str) -> Any:
    value = get(owner, name)
    return {key: stand_in(kind) for key, kind in value.items()} if isinstance(value, dict) else value


def _new(owner: Any, name: str) -> Any:
    value = get(owner, name)
    maker = getattr(value, "__self__", None)
    if isinstance(maker, type) and (maker in SEALED or issubclass(maker, type)):
        refuse_attribute(name)
    return value


def _fields(owner: Any, name: str) -> Any:
    if not is_own(owner if isinstance(owner, type) else type(owner)):
        refuse_attribute(name)
    return dict(get(owner, name))


def _wrapped(owner: Any, name: str) -> Any:
    value = _binder(owner, name)
    if isinstance(value, types.FunctionType) and not is_own_function(value):
        refuse_attribute(name)
    return value


def _binder(owner: Any, name: str) -> Any:
    if not (is_own_function(owner) or is_own(type(owner))):
        refuse_attribute(name)
    return get(owner, name)


def _traceback(owner: Any, name: str) -> Any:
    if not isinstance(owner, BaseException):
        refuse_attribute(name)
    trace = BaseException.__dict__["__traceback__"].__get__(owner)
    return None if trace is None else Trace(trace.tb_lineno)


_UNBOUND: Final = object()


def _is_written_by_program(method: Any) -> bool:
    return is_own_function(method) or is_own_function(getattr(method, "__func__", None))


def _changer(owner: Any, name: str) -> Any:
    """`x.__setattr__` or `x.__delattr__`, bound or not, that asks the guard."""
    raw = get(owner, name)
    if _is_written_by_program(raw):
        return raw
    target = getattr(raw, "__self__", _UNBOUND)

    def change(*arguments: Any) -> None:
        whom, what, *rest = arguments if target is _UNBOUND else (target, *arguments)
        plain = exact(what)
        alter(whom, plain)
        raw(*(() if target is not _UNBOUND else (whom,)), plain, *rest)

    return change


def _asker(owner: Any, name: str) -> Any:
    """`x.__getattribute__`, bound or not, that asks the guard."""
    raw = get(owner, name)
    if _is_written_by_program(raw):
        return raw
    target = getattr(raw, "__self__", _UNBOUND)

    def ask(*arguments: Any) -> Any:
        whom, what = arguments if target is _UNBOUND else (target, *arguments)
        plain = exact(what)
        if is_special(plain) or plain in FRAME_ATTRIBUTES or (plain in GUARDED and type(whom) not in PURE):
            return look(whom, plain)
        if plain.startswith("_"):
            _check_private(whom, plain)
        elif not _may_look(whom):
            refuse_attribute(plain)
        return presentable(raw(whom, plain) if target is _UNBOUND else raw(plain), plain)

    return ask


_PARTICULAR: Final[dict[str, Callable[[Any, str], Any]]] = {
    "__annotations__": _annotations,
    "__args__": _parts,
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
    "__name__": _name,
    "__new__": _new,
    "__setattr__": _changer,
    "__subclasses__": _children,
    "__traceback__": _traceback,
    "__wrapped__": _wrapped,
}


# Plain names that are doubtful on some objects

_NATIVE_METHODS: Final = (types.BuiltinMethodType, types.MethodDescriptorType, types.MethodWrapperType)


def _format(owner: Any, name: str) -> Any:
    value = get(owner, name)
    if type(value) in _NATIVE_METHODS and value.__name__ == name:
        return formatting.safe(value)
    return value


def _family_method(owner: Any, name: str) -> Any:
    if isinstance(owner, type) and not any(name in names_of(base) for base in order_of(owner)):
        if name == "mro" and (is_own(owner) or module_of(owner) == "builtins"):
            return lambda: [stand_in(base) for base in order_of(owner)]
        refuse_attribute(name)
    return get(owner, name)


def _registrar(owner: Any, name: str) -> Any:
    if isinstance(owner, type):
        return _family_method(owner, name)
    if type(owner) is super and _is_owned_behind(owner, name):
        return get(owner, name)
    ours = is_own(type(owner)) or module_of(type(owner)).startswith("meta_tui.sandbox.")
    if not (ours or type(owner) in (types.FunctionType, types.MethodType)):
        refuse_attribute(name)
    return get(owner, name)


def _error_object(owner: Any, name: str) -> Any:
    if isinstance(owner, AttributeError):
        refuse_attribute(name)
    return get(owner, name)


def _library_method(owner: Any, name: str) -> Any:
    if type(owner) is super and _is_owned_behind(owner, name):
        return get(owner, name)
    cls = owner if isinstance(owner, type) else type(owner)
    is_offered = isinstance(owner, Module) and name in vars(owner)
    if not is_offered and not (is_own(cls) and is_defined_by_program(cls, name)):
        refuse_attribute(name)
    return get(owner, name)


def _memory(owner: Any, name: str) -> Any:
    return get(check_memory(owner), name)


def _swapper(owner: Any, name: str) -> Any:
    """The bytes of references, in another order, are addresses of a program's making."""
    raw = get(check_memory(owner), name)
    if isinstance(owner, type) and not is_own(owner):
        return lambda array, *rest, **options: raw(check_memory(array), *rest, **options)
    return raw


def _packer(owner: Any, name: str) -> Any:
    raw = get(owner, name)
    if isinstance(owner, Module) or is_own(type(owner)):
        return raw
    return lambda buffer, *rest: raw(check_memory(buffer), *rest)


_DOUBTFUL: Final[dict[str, Callable[[Any, str], Any]]] = {
    **dict.fromkeys(GUARDED, _library_method),
    "byteswap": _swapper,
    "data": _memory,
    "format": _format,
    "format_map": _format,
    "mro": _family_method,
    "obj": _error_object,
    "pack_into": _packer,
    "register": _registrar,
}


# Writing


def store(owner: Any, name: str) -> Any:
    """`owner`, if the program may write its plain attribute `name`."""
    kind = type(owner)
    if kind in FREE:
        return owner
    if isinstance(owner, type):
        allowed = is_own(owner) and (not name.startswith("_") or _is_owned_by_class(owner, name))
    elif is_own(kind):
        allowed = name not in library_names(kind) or is_defined_by_program(kind, name)
    elif kind is SystemModule:
        allowed = name in ("stdout", "stderr", "stdin")
    else:
        allowed = is_own_function(owner) or (not name.startswith("_") and _is_writable(owner, name))
    if not allowed:
        refuse_attribute(name)
    return owner


WRITABLE: Final[dict[str, frozenset[str] | None]] = {
    "decimal.Context": None,
    "mpmath.ctx_mp.MPContext": frozenset({"dps", "pretty", "prec"}),
    "textwrap.TextWrapper": None,
    "numpy.ndarray": frozenset({"shape", "flat", "real", "imag"}),
    "types.SimpleNamespace": None,
}
"""Library classes whose instances may be written to: all plain names, or some."""


def _is_writable(owner: Any, name: str) -> bool:
    if isinstance(owner, BaseException):
        return name != "obj"
    for cls in order_of(type(owner)):
        module = module_of(cls)
        if module in ("chess", "chess.pgn"):
            return True
        if f"{module}.{cls.__name__}" in WRITABLE:
            names = WRITABLE[f"{module}.{cls.__name__}"]
            return names is None or name in names
    return False


def alter(owner: Any, name: str) -> Any:
    """`owner`, if the program may write its attribute `name`, special or not."""
    if not is_special(name):
        return store(owner, name)
    if name not in STORED or not _is_alterable(owner, name):
        refuse_attribute(name)
    return owner


def _is_alterable(owner: Any, name: str) -> bool:
    if isinstance(owner, type):
        return is_own(owner) and name not in ("__name__", "__qualname__")
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


OPERATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
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
