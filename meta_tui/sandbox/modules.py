"""The modules that programs may import: fresh module objects with chosen public names.

A program never holds a real module, so nothing behind a name is within reach: no submodule that a
library happened to import, no private helper. Names are listed one by one where a module also has
dangerous ones; what is replaced says why. `science` adds numpy, sympy and chess where they are
installed. The importer is the only way in.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, Final

from meta_tui.sandbox import repairs
from meta_tui.sandbox.classes import EXTENSIBLE, EXTENSIBLE_OF, HIDDEN, MATCHABLE, MATCHABLE_OF
from meta_tui.sandbox.ownership import RefusedImport
from meta_tui.sandbox.standins import Module, StandIn, SystemModule, hidden_name, stand_in

OFFERED: Final[dict[str, str]] = {
    "__future__": "annotations division print_function absolute_import unicode_literals generator_stop",
    "abc": "ABC abstractclassmethod abstractmethod abstractproperty abstractstaticmethod",
    "array": "array typecodes",
    "ast": "*",  # without the helpers that read attributes by name: see LEFT_OUT
    "base64": "a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode "
    "b64encode b85decode b85encode decodebytes encodebytes standard_b64decode standard_b64encode "
    "urlsafe_b64decode urlsafe_b64encode",
    "binascii": "Error Incomplete a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 crc_hqx hexlify unhexlify",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "calendar": "APRIL AUGUST Calendar DECEMBER Day FEBRUARY FRIDAY HTMLCalendar IllegalMonthError "
    "IllegalWeekdayError JANUARY JULY JUNE MARCH MAY MONDAY Month NOVEMBER OCTOBER SATURDAY SEPTEMBER SUNDAY "
    "THURSDAY TUESDAY TextCalendar WEDNESDAY calendar day_abbr day_name firstweekday isleap leapdays month "
    "month_abbr month_name monthcalendar monthrange prcal prmonth setfirstweekday timegm weekday weekheader",
    "cmath": "*",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "collections.abc": "Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView "
    "Mapping MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView",
    "colorsys": "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb",
    "contextlib": "AbstractContextManager ContextDecorator ExitStack closing contextmanager nullcontext "
    "redirect_stderr redirect_stdout suppress",
    "copy": "Error copy deepcopy replace",
    "csv": "Dialect DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC Sniffer excel "
    "excel_tab list_dialects reader unix_dialect writer",
    "dataclasses": "FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple field fields is_dataclass replace",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": "Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple BasicContext DefaultContext "
    "DivisionByZero DivisionImpossible DivisionUndefined ExtendedContext FloatOperation Inexact InvalidContext "
    "InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN "
    "ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow getcontext "
    "localcontext setcontext",
    "difflib": "Differ HtmlDiff IS_CHARACTER_JUNK IS_LINE_JUNK Match SequenceMatcher context_diff "
    "get_close_matches ndiff restore unified_diff",
    "enum": "CONFORM CONTINUOUS EJECT Enum EnumCheck Flag FlagBoundary IntEnum IntFlag KEEP NAMED_FLAGS ReprEnum "
    "STRICT StrEnum UNIQUE auto member nonmember property unique verify",
    "fractions": "Fraction",
    "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce total_ordering",
    "graphlib": "CycleError TopologicalSorter",
    "hashlib": "algorithms_available algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac sha1 sha224 sha256 "
    "sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "html": "escape unescape",
    "io": "BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO UnsupportedOperation",
    "itertools": "*",
    "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
    "keyword": "iskeyword issoftkeyword kwlist softkwlist",
    "math": "*",
    "numbers": "Complex Integral Number Rational Real",
    "operator": "abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat "
    "ifloordiv ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter "
    "itruediv ixor le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv "
    "truth xor",
    "pprint": "PrettyPrinter isreadable isrecursive pformat pp pprint saferepr",
    "queue": "Empty Full LifoQueue PriorityQueue Queue SimpleQueue",
    "random": "Random betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits "
    "getstate lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed setstate "
    "shuffle triangular uniform vonmisesvariate weibullvariate",
    "re": "A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern PatternError RegexFlag S U UNICODE VERBOSE X "
    "compile error escape findall finditer fullmatch match purge search split sub subn",
    "secrets": "choice compare_digest randbelow randbits token_bytes token_hex token_urlsafe",
    "statistics": "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean kde "
    "linear_regression mean median median_grouped median_high median_low mode multimode pstdev pvariance "
    "quantiles stdev variance",
    "string": "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable "
    "punctuation whitespace",
    "struct": "Struct calcsize error iter_unpack pack pack_into unpack unpack_from",
    "textwrap": "TextWrapper dedent fill indent shorten wrap",
    "time": "asctime ctime get_clock_info gmtime localtime mktime monotonic monotonic_ns perf_counter "
    "perf_counter_ns process_time process_time_ns sleep strftime strptime struct_time time time_ns timezone tzname",
    "typing": "AbstractSet Annotated Any AnyStr Callable ChainMap ClassVar Collection Concatenate Container "
    "ContextManager Counter DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable IO ItemsView Iterable "
    "Iterator KeysView List Literal LiteralString Mapping MappingView Match MutableMapping MutableSequence "
    "MutableSet NamedTuple Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec Pattern Protocol "
    "ReadOnly Required Reversible Self Sequence Set Sized SupportsAbs SupportsBytes SupportsComplex SupportsFloat "
    "SupportsIndex SupportsInt SupportsRound TYPE_CHECKING Text TextIO Tuple Type TypeAlias TypeGuard TypeIs "
    "TypeVar TypeVarTuple TypedDict Union Unpack ValuesView assert_never assert_type cast final get_args "
    "get_origin is_typeddict overload override runtime_checkable",
    "unicodedata": "bidirectional category combining decimal decomposition digit east_asian_width is_normalized "
    "lookup mirrored name normalize numeric unidata_version",
    "uuid": "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 UUID uuid3 uuid4 uuid5",
    "weakref": "WeakKeyDictionary WeakSet WeakValueDictionary ref",
    "zlib": "adler32 compress crc32 decompress error",
    "zoneinfo": "ZoneInfo ZoneInfoNotFoundError available_timezones",
}
"""Module -> its public names; a star means all of a module that has nothing else."""

LEFT_OUT: Final = frozenset({"ast.iter_fields", "ast.main", "ast.NodeTransformer", "ast.AST"})
"""Exceptions from a star."""

STREAMS: Final = ("stdin", "stdout", "stderr")

QUIET: Final = frozenset({"_strptime", "_datetime", "_pydatetime", "time", "math"})
"""What C functions import behind a program's back, besides what is loaded already."""

Maker = Callable[["Library"], dict[str, Any]]


class Library:
    """The modules of one program; each is made when it is first imported."""

    def __init__(self, made: dict[str, Maker], find: Callable[[str], Maker | None]) -> None:
        self._modules: dict[str, Module] = {}
        self._made = made
        self._find = find
        self.builtins: dict[str, Any] = {}

    def offers(self, name: str) -> bool:
        """Whether a module of this name is there."""
        return name in OFFERED or name in self._made or self._find(name) is not None

    def load(self, name: str) -> Module:
        """The module of this name.

        Raises:
            RefusedImport: it is not offered.
            ImportError: it is offered but not installed.
        """
        if name not in self._modules:
            if not self.offers(name):
                raise RefusedImport(f"the module `{name}` is not available in the sandbox", name=name)
            self._modules[name] = self._make(name)
        return self._modules[name]

    def _make(self, name: str) -> Module:
        kind = SystemModule if name == "sys" else Module
        module = kind(name)
        vars(module).update(self._names(name))
        vars(module).update(__name__=hidden_name(name), __doc__=None)
        for key in ("__loader__", "__package__", "__spec__"):
            vars(module).pop(key, None)
        return module

    def _names(self, name: str) -> dict[str, Any]:
        names: dict[str, Any] = {}
        if name in OFFERED:
            names = chosen(importlib.import_module(name), OFFERED[name])
            EXTENSIBLE.update(names[cls] for cls in EXTENSIBLE_OF.get(name, "").split())
            MATCHABLE.update(names[cls] for cls in MATCHABLE_OF.get(name, "").split())
            repairs.repair()
        maker = self._made.get(name) or self._find(name)
        return presented({**names, **(maker(self) if maker else {})})

    def bring(self, name: str, space: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> Any:
        """The `__import__` of a program."""
        if level:
            raise ImportError("attempted relative import with no known parent package")
        if type(wanted) is list:
            return self._bring_quietly(name)
        module = self.load(name)
        if wanted:
            return self._with_names(module, name, wanted)
        top = name.partition(".")[0]
        self._link(name)
        return self.load(top)

    def _link(self, name: str) -> None:
        while "." in name:
            parent, _, child = name.rpartition(".")
            vars(self.load(parent))[child] = self.load(name)
            name = parent

    def _with_names(self, module: Module, name: str, wanted: Iterable[Any]) -> Module:
        for item in wanted:
            if item == "*" or item in vars(module) or (type(module) is SystemModule and item in STREAMS):
                continue
            if self.offers(f"{name}.{item}"):
                self._link(f"{name}.{item}")
            elif hasattr(sys.modules.get(name), item):
                raise RefusedImport(
                    f"`{item}` of the module `{name}` is not available in the sandbox", name=name
                )
            else:
                raise ImportError(f"cannot import name {item!r} from {name!r} (unknown location)", name=name)
        return module

    def _bring_quietly(self, name: Any) -> None:
        if name not in sys.modules and name not in QUIET and not str(name).startswith("numpy."):
            raise RefusedImport(f"the module `{name}` is not available in the sandbox")
        importlib.import_module(name)


def chosen(module: types.ModuleType, names: str) -> dict[str, Any]:
    """Public names of a real module, none of them a module."""
    listed = _public(module) if names == "*" else names.split()
    found = {name: getattr(module, name) for name in listed if hasattr(module, name)}
    return {name: value for name, value in found.items() if not isinstance(value, types.ModuleType)}


def _public(module: types.ModuleType) -> list[str]:
    return [n for n in dir(module) if not n.startswith("_") and f"{module.__name__}.{n}" not in LEFT_OUT]


def presented(names: dict[str, Any]) -> dict[str, Any]:
    """Names without what a program may never hold: real modules, metaclasses, frames."""
    return {name: _shown(value) for name, value in names.items() if not _is_withheld(value)}


def _shown(value: Any) -> Any:
    return tuple(stand_in(part) for part in value) if type(value) is tuple else value


def _is_withheld(value: Any) -> bool:
    if type(value) in HIDDEN:
        return True
    return isinstance(value, type) and issubclass(value, type) and not isinstance(value, StandIn)
