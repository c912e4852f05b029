"""Which library classes programs may look into, extend, or match: lists, no behaviour.

A class that a program made itself is not listed here; `guards` knows it by its module.
"""

from __future__ import annotations

import abc
import ast
import builtins
import collections
import collections.abc
import contextlib
import csv
import datetime
import decimal
import enum
import fractions
import io
import json
import numbers
import queue
import random
import types
import typing
import weakref
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
    ast.NodeVisitor,
    collections.ChainMap, collections.Counter, collections.OrderedDict, collections.UserDict,
    collections.UserList, collections.defaultdict, collections.deque,
    *(getattr(collections.abc, name) for name in collections.abc.__all__),
    contextlib.AbstractContextManager, contextlib.ContextDecorator, contextlib.ExitStack,
    csv.Dialect, csv.excel,
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.tzinfo,
    decimal.Decimal, decimal.DecimalException,
    enum.Enum, enum.Flag, enum.IntEnum, enum.IntFlag, enum.StrEnum,
    fractions.Fraction,
    io.BytesIO, io.StringIO,
    json.JSONDecodeError, json.JSONDecoder, json.JSONEncoder,
    numbers.Complex, numbers.Integral, numbers.Number, numbers.Rational, numbers.Real,
    queue.LifoQueue, queue.PriorityQueue, queue.Queue,
    random.Random,
    typing.Generic, typing.NamedTuple, typing.Protocol, typing.TypedDict,
    typing.SupportsAbs, typing.SupportsFloat, typing.SupportsIndex, typing.SupportsInt,
    weakref.ref,
}  # fmt: skip
"""Library classes (and two functions that act as such) that a program may extend."""

MATCHABLE: Final[set[type]] = {
    complex, range, slice,
    *(_EXCEPTIONS - {AttributeError, NameError, ImportError, ModuleNotFoundError, UnboundLocalError}),
    collections.ChainMap, collections.Counter, collections.OrderedDict, collections.UserDict,
    collections.UserList, collections.defaultdict, collections.deque,
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta,
    decimal.Decimal, fractions.Fraction,
}  # fmt: skip
"""Library classes of whose instances a pattern may read plain attributes."""
