"""The language policy: what a program may say, decided before it runs.

It subclasses RestrictedPython's transformer for its refusal of everything that it does not know,
and replaces the rules that keep ordinary programs from running. Attribute reads and writes become
calls of guards (`guards`); everything else stays native Python.

What it does not cover, on purpose: time, memory, recursion and output (the worker's limits and the
app's clock do); what a C function does with what it is given (the modules that are offered are
chosen for that, in `modules`); errors in CPython, numpy or sympy themselves. A policy inside the
process that it guards is never complete. It makes refusals clear and stops nearly everything; the
locked process around it is the boundary.

Guards have names that no source text can spell (`@get`), so no program can bind one, in whatever
way Python may learn to bind names.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any, Final, NoReturn

from RestrictedPython.transformer import (
    INSPECT_ATTRIBUTES,
    RestrictingNodeTransformer,
    copy_locations,
)

VERSION: Final = "1"
"""Changes with the rules; stands in every result's note."""

GET: Final = "@get"
LOOK: Final = "@look"
STORE: Final = "@store"
PATTERN: Final = "@pattern"
ASKED: Final = "@asked"
UPDATE: Final = "@update"
"""Names of the guards in the builtins of a program."""

METHODS: Final = frozenset(
    f"__{name}__"
    for name in (
        "abs add aenter and bool bytes call ceil class_getitem complex contains copy deepcopy del delattr delete "
        "delitem dir divmod enter eq exit float floor floordiv format ge get getattr getattribute getitem gt "
        "hash iadd iand ifloordiv ilshift imatmul imod imul index init init_subclass int invert ior ipow irshift "
        "isub iter itruediv ixor le len length_hint lshift lt matmul missing mod mul ne neg new next or pos "
        "post_init pow radd rand rdivmod repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift "
        "rshift rsub rtruediv rxor set set_name setattr setitem sizeof str sub subclasshook truediv trunc xor"
    ).split()
    if name != "aenter"
)
"""Special methods that a program may define."""

CONSTANTS: Final = frozenset({"__slots__", "__doc__", "__all__", "__version__", "__author__", "__match_args__"})
ASKED_FOR_NAMES: Final = frozenset({"__getattr__", "__getattribute__"})
ASSIGNABLE: Final = (METHODS | CONSTANTS) - ASKED_FOR_NAMES - {"__del__"}
READABLE: Final = METHODS | CONSTANTS | {"__name__", "__debug__"}
"""Special names that may be read or assigned as plain names."""

ATTRIBUTES: Final = (METHODS - {"__set__", "__delete__", "__set_name__", "__subclasshook__", "__del__"}) | frozenset(
    f"__{name}__"
    for name in (
        "abstractmethods annotations args base bases cause class context dataclass_fields dict doc isabstractmethod "
        "match_args members module mro name origin qualname slots subclasses suppress_context traceback version "
        "wrapped"
    ).split()
)
"""Special attributes that may be read; the guard decides from whom."""

STORED: Final = METHODS - ASKED_FOR_NAMES | {"__name__", "__qualname__", "__doc__", "__match_args__", "__cause__"}
"""Special attributes that may be written; the guard decides to whom."""

GUARDED: Final = frozenset(
    {"format", "format_map", "mro", "register", "obj", "dump", "dumps", "tofile", "ctypes", "cffi", "capsule"}
)
"""Plain names that mean something dangerous on some objects, so the full guard looks at them."""

NATIVE: Final = frozenset(
    "append appendleft extend extendleft insert pop popleft clear count reverse rotate sort add discard update "
    "union intersection difference issubset issuperset symmetric_difference keys values items get setdefault "
    "most_common elements split rsplit splitlines strip lstrip rstrip join lower upper title capitalize "
    "startswith endswith find rfind isdigit isalpha isalnum isspace isupper islower zfill ljust rjust center "
    "swapcase casefold partition rpartition encode".split()
)
"""Method names of the basic containers, on nothing else dangerous: read without a guard."""

FIELDS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(fields.split())
    for name, _, fields in (
        line.partition(":")
        for line in (
            "Import:names ImportFrom:module names level alias:name asname FunctionDef:name args body decorator_list "
            "returns type_comment type_params ClassDef:name bases keywords body decorator_list type_params "
            "Lambda:args body arguments:posonlyargs args vararg kwonlyargs kw_defaults kwarg defaults arg:arg "
            "annotation type_comment keyword:arg value Global:names Nonlocal:names Name:id ctx Attribute:value attr "
            "ctx ExceptHandler:type name body comprehension:target iter ifs is_async For:target iter body orelse "
            "type_comment With:items body type_comment AnnAssign:target annotation value simple AugAssign:target op "
            "value Assign:targets value type_comment NamedExpr:target value MatchAs:pattern name MatchStar:name "
            "MatchMapping:keys patterns rest MatchClass:cls patterns kwd_attrs kwd_patterns MatchValue:value "
            "MatchSingleton:value MatchSequence:patterns MatchOr:patterns match_case:pattern guard body "
            "Match:subject cases TypeAlias:name type_params value TypeVar:name bound default_value ParamSpec:name "
            "default_value TypeVarTuple:name default_value Try:body handlers orelse finalbody Constant:value kind "
            "FormattedValue:value conversion format_spec Module:body type_ignores"
        )
        .replace(" ", "\n")
        .split("\n")
    )
}
