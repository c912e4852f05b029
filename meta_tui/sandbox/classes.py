"""Which library classes programs may look into, extend, or match: lists, no behaviour.

A class that a program made itself is not listed here; `guards` knows it by its module.
"""

from __future__ import annotations

import abc
import builtins
import io
import types
import typing
from typing import Any, Final

HIDDEN: Final[frozenset[type]] = frozenset(
    {
        types.AsyncGeneratorType,
        types.CellType,
        types.CodeType,
        types.CoroutineType,
        types.FrameType,
        types.GetSetDescriptorType,
        types.ModuleType,
        types.TracebackType,
    }
)
"""Builtin classes whose objects a program may neither hold nor look into."""

ROOTS: Final[frozenset[str]] = frozenset(
    "__main__ builtins _abc _ast _bisect _blake2 _collections _collections_abc _csv _datetime _decimal _functools "
    "_hashlib _json _md5 _operator _pydecimal _pydatetime _queue _random _sha1 _sha2 _sha256 _sha3 _sha512 _sre "
    "_statistics _struct _weakref abc array ast bisect calendar chess collections contextlib copy csv dataclasses "
    "datetime decimal difflib enum fractions functools graphlib hashlib heapq itertools json math mpmath numbers "
    "numpy operator pprint queue random re statistics string struct sympy textwrap time types typing uuid weakref "
    "zlib zoneinfo".split()
)
"""Top-level modules whose classes' instances a program may look into."""

VISIBLE: Final[frozenset[type]] = frozenset({io.StringIO, io.BytesIO})
"""Single classes of other modules that are as good."""

_EXCEPTIONS: Final = {
    v for v in vars(builtins).values() if isinstance(v, type) and issubclass(v, BaseException)
}

EXTENSIBLE: Final[set[Any]] = {
    object, bool, bytearray, bytes, complex, dict, float, frozenset, int, list, property, set, str, tuple,
    *_EXCEPTIONS,
    abc.ABC,
    io.BytesIO, io.StringIO,
    typing.Generic, typing.Protocol,
    typing.SupportsAbs, typing.SupportsFloat, typing.SupportsIndex, typing.SupportsInt,
}  # fmt: skip
"""Library classes that a program may extend; `EXTENSIBLE_OF` joins when their module is loaded."""

EXTENSIBLE_OF: Final[dict[str, str]] = {
    "ast": "NodeVisitor",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "collections.abc": "Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView "
    "Mapping MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView",
    "contextlib": "AbstractContextManager ContextDecorator ExitStack",
    "csv": "Dialect excel",
    "datetime": "date datetime time timedelta tzinfo",
    "decimal": "Decimal DecimalException",
    "enum": "Enum Flag IntEnum IntFlag StrEnum",
    "fractions": "Fraction",
    "json": "JSONDecodeError JSONDecoder JSONEncoder",
    "numbers": "Complex Integral Number Rational Real",
    "queue": "LifoQueue PriorityQueue Queue",
    "random": "Random",
    "weakref": "ref",
}

MATCHABLE: Final[set[type]] = {
    complex, range, slice,
    *(_EXCEPTIONS - {AttributeError, NameError, ImportError, ModuleNotFoundError, UnboundLocalError}),
}  # fmt: skip
"""Library classes of whose instances a pattern may read plain attributes; `MATCHABLE_OF` joins later."""

MATCHABLE_OF: Final[dict[str, str]] = {
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "datetime": "date datetime time timedelta",
    "decimal": "Decimal",
    "fractions": "Fraction",
}
