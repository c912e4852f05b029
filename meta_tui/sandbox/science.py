"""numpy, sympy and chess for programs, where they are installed.

Names of numpy are listed one by one: no files, no memory maps, no C interfaces. sympy evaluates
texts in many places; all of them lead through two modules, whose `eval`, `exec` and `compile` are
replaced once by ones that obey the policy and see chosen names only. The replacements act on the
worker's copy of the library, which serves one program and ends.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from meta_tui.sandbox import policy, standins
from meta_tui.sandbox.classes import EXTENSIBLE
from meta_tui.sandbox.modules import Library, Maker, chosen
from meta_tui.sandbox.ownership import (
    PROGRAM,
    RefusedAction,
    RefusedAttribute,
    RefusedImport,
    RefusedType,
    checked_name,
    own_frame,
)

NUMPY: Final = """
    False_ ScalarType True_ abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis
    apply_over_axes arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort
    argwhere around array array2string array_equal array_equiv array_repr array_split array_str asanyarray asarray
    asarray_chkfinite ascontiguousarray asfortranarray asin asinh asmatrix astype atan atan2 atanh atleast_1d
    atleast_2d atleast_3d average bartlett base_repr binary_repr bincount bitwise_and bitwise_count bitwise_invert
    bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman block bool bool_ broadcast
    broadcast_arrays broadcast_shapes broadcast_to busday_count busday_offset busdaycalendar byte bytes_ c_ can_cast
    cbrt cdouble ceil character choose clip clongdouble column_stack common_type complex128 complex256 complex64
    complexfloating compress concat concatenate conj conjugate convolve copy copysign copyto corrcoef correlate cos
    cosh count_nonzero cov cross csingle cumprod cumsum cumulative_prod cumulative_sum datetime64 datetime_as_string
    datetime_data deg2rad degrees delete diag diag_indices diag_indices_from diagflat diagonal diff digitize divide
    divmod dot double dsplit dstack dtype e ediff1d einsum einsum_path empty empty_like equal errstate euler_gamma
    exp exp2 expand_dims expm1 extract eye fabs fill_diagonal finfo fix flatiter flatnonzero flexible flip fliplr
    flipud float128 float16 float32 float64 float_ float_power floating floor floor_divide fmax fmin fmod
    format_float_positional format_float_scientific frexp frombuffer fromfunction fromiter frompyfunc fromstring
    full full_like gcd generic geomspace get_printoptions geterr gradient greater greater_equal half hamming hanning
    heaviside histogram histogram2d histogram_bin_edges histogramdd hsplit hstack hypot i0 identity iinfo imag
    in1d index_exp indices inexact inf infty inner insert int16 int32 int64 int8 int_ intc integer interp
    intersect1d intp invert is_busday isclose iscomplex iscomplexobj isdtype isfinite isfortran isin isinf isnan
    isnat isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ kaiser kron lcm ldexp left_shift less
    less_equal lexsort linspace little_endian log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
    logical_or logical_xor logspace long longdouble longlong mask_indices matmul matrix matrix_transpose matvec max
    maximum may_share_memory mean median meshgrid mgrid min min_scalar_type minimum mintypecode mod modf moveaxis
    msort multiply nan nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin
    nanpercentile nanprod nanquantile nanstd nansum nanvar ndarray ndenumerate ndim ndindex nditer negative newaxis
    nextafter nonzero not_equal number object_ ogrid ones ones_like outer packbits pad partition percentile
    permute_dims pi piecewise place poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval
    positive pow power printoptions prod product promote_types ptp put put_along_axis putmask quantile r_ rad2deg
    radians ravel ravel_multi_index real real_if_close reciprocal remainder repeat require reshape resize
    result_type right_shift rint roll rollaxis roots rot90 round row_stack s_ searchsorted select set_printoptions
    setdiff1d seterr setxor1d shape shares_memory short sign signbit signedinteger sin sinc single sinh size sort
    sort_complex spacing split sqrt square squeeze stack std str_ subtract sum swapaxes take take_along_axis tan
    tanh tensordot tile timedelta64 trace transpose trapezoid trapz tri tril tril_indices tril_indices_from
    trim_zeros triu triu_indices triu_indices_from true_divide trunc typecodes typename ubyte ufunc uint uint16
    uint32 uint64 uint8 uintc uintp ulong ulonglong union1d unique unique_all unique_counts unique_inverse
    unique_values unpackbits unravel_index unsignedinteger unstack unwrap ushort vander var vdot vecdot vecmat
    vectorize void vsplit vstack where zeros zeros_like
"""
NUMPY_PARTS: Final = {
    "numpy.fft": "fft ifft rfft irfft hfft ihfft rfftn irfftn rfft2 irfft2 fft2 ifft2 fftn ifftn fftshift ifftshift "
    "fftfreq rfftfreq",
    "numpy.linalg": "matrix_power solve tensorsolve tensorinv inv cholesky eigvals eigvalsh pinv slogdet det svd "
    "svdvals eig eigh lstsq norm qr cond matrix_rank LinAlgError multi_dot trace diagonal cross outer tensordot "
    "matmul matrix_transpose matrix_norm vector_norm vecdot",
    "numpy.polynomial": "Polynomial Chebyshev Legendre Hermite HermiteE Laguerre",
    "numpy.random": "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric get_state gumbel "
    "hypergeometric laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial "
    "noncentral_chisquare noncentral_f normal pareto permutation poisson power rand randint randn random "
    "random_integers random_sample ranf rayleigh sample seed shuffle standard_cauchy standard_exponential "
    "standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull zipf Generator RandomState "
    "SeedSequence MT19937 Philox PCG64 PCG64DXSM SFC64",
}

SYMPY_LEFT_OUT: Final = frozenset(
    "EPath Options cacheit capture doctest epath init_session interactive_traversal memoize_property pager_print "
    "plot plot_backends plot_implicit plot_parametric preview print_gtk public register_handler remove_handler test "
    "textplot threaded timed var vfield vring vsfield xthreaded xfield xring StrPrinter UndefinedFunction lambdify "
    "evalf ManagedProperties setup configure query rs_fun".split()
)
"""Names of sympy that reach files, windows, other namespaces, or code; some return below, made safe."""
SYMPY_PARTS: Final = (
    "abc algebras assumptions calculus combinatorics concrete core discrete functions geometry integrals logic "
    "matrices ntheory physics.units polys series sets simplify solvers stats tensor.array vector".split()
)
SYMPY_CLOSED: Final = (
    "core.backend core.decorators core.cache core.compatibility core.facts core.core logic.utilities logic.algorithms "
    "polys.polyconfig polys.polyutils polys.compatibility polys.monomials stats.sampling assumptions.ask_generated "
    "combinatorics.testutil".split()
)
"""Parts of those that read files, or change sympy itself."""
SYMPY_PARSER: Final = (
    "T auto_number auto_symbol convert_equals_signs convert_xor factorial_notation function_exponentiation "
    "implicit_application implicit_multiplication implicit_multiplication_application lambda_notation parse_expr "
    "rationalize repeated_decimals split_symbols standard_transformations"
)
SYMPY_PRINTING: Final = "latex mathml pprint pretty pretty_print sstr srepr print_latex pycode ccode"
CHESS_LEFT_OUT: Final = frozenset({"Popen", "SquareSet.carry_rippler"})


def _part(name: str, names: str) -> Maker:
    return lambda _: chosen(importlib.import_module(name), names)


def _numpy(library: Library) -> dict[str, Any]:
    numpy = importlib.import_module("numpy")
    names = chosen(numpy, NUMPY) | {
        "frombuffer": _from_buffer,
        "ndarray": standins.seal(numpy.ndarray, Array),
    }
    _guard_index_tricks()
    for part in NUMPY_PARTS:
        names[part.partition(".")[2]] = library.load(part)
    return names | {"__version__": numpy.__version__}


def _guard_index_tricks() -> None:
    """`r_["a, b"]` looks names up in whatever namespace called it."""

    def bmat(*_: Any) -> NoReturn:
        raise RefusedAction("r_ and c_ take no names of variables in the sandbox")

    for name in ("numpy.lib._index_tricks_impl", "numpy.lib.index_tricks"):  # numpy 2 and numpy 1
        tricks: Any = sys.modules.get(name)
        if tricks is not None and hasattr(tricks, "matrixlib"):
            tricks.matrixlib = types.SimpleNamespace(**vars(tricks.matrixlib) | {"bmat": bmat})


class Array(standins.StandIn):
    """Class of the stand-in of numpy.ndarray: arrays over given memory hold no references."""

    def __call__(  # noqa: D102
        self, shape: Any, dtype: Any = float, buffer: Any = None, *rest: Any, **options: Any
    ) -> Any:
        return standins.real_of(self)(shape, _plain_type(dtype, buffer), buffer, *rest, **options)


def _from_buffer(buffer: Any, dtype: Any = float, *rest: Any, **options: Any) -> Any:
    """numpy.frombuffer, but not over an array of objects."""
    numpy = importlib.import_module("numpy")
    return numpy.frombuffer(buffer, _plain_type(dtype, buffer), *rest, **options)


def _plain_type(dtype: Any, buffer: Any) -> Any:
    kind = importlib.import_module("numpy").dtype(dtype)
    standins.check_memory(buffer)
    if buffer is not None and standins.has_references(kind):
        raise RefusedType("memory cannot be seen as references in the sandbox")
    return kind


def _numpy_random(library: Library) -> dict[str, Any]:
    random = importlib.import_module("numpy.random")
    random.seed(0)

    def default_rng(seed: Any = None) -> Any:
        return random.default_rng(0 if seed is None else seed)

    def reseed(seed: Any = None) -> None:
        random.seed(0 if seed is None else seed)

    seeded = {name: standins.seal(getattr(random, name), Seeded) for name in SEEDED}
    names = chosen(random, NUMPY_PARTS["numpy.random"])
    return names | seeded | {"default_rng": default_rng, "seed": reseed}


SEEDED: Final = "MT19937 PCG64 PCG64DXSM Philox RandomState SFC64 SeedSequence".split()


class Seeded(standins.StandIn):
    """Class of the stand-ins of numpy's generators: one without a seed gets a fixed one."""

    def __call__(self, seed: Any = None, *rest: Any, **options: Any) -> Any:  # noqa: D102
        fixed = seed if seed is not None or options.keys() & {"entropy", "key"} else 0
        return standins.real_of(self)(*(() if fixed is None else (fixed,)), *rest, **options)


def _mpmath(library: Library) -> dict[str, Any]:
    mpmath = importlib.import_module("mpmath")
    _guard_mpmath(library)
    left_out = {"cplot", "doctests", "monitor", "plot", "runtests", "splot", "timing"}
    names = chosen(mpmath, "*")
    return {name: value for name, value in names.items() if name not in left_out}


def _guard_mpmath(library: Library) -> None:
    identification: Any = importlib.import_module("mpmath.identification")
    identification.eval = Evaluation(library).eval
    pictures: Any = importlib.import_module("mpmath.visualization")
    for name in ("plot", "cplot", "splot"):
        setattr(pictures.VisualizationMethods, name, _no_pictures)


def _no_pictures(*_: Any, **__: Any) -> NoReturn:
    raise RefusedAction("the sandbox draws no pictures")


def _chess(_: Library) -> dict[str, Any]:
    chess = importlib.import_module("chess")
    names = chosen(chess, "*")
    own = {
        name: v
        for name, v in names.items()
        if getattr(v, "__module__", "chess") in ("chess", "builtins", None)
    }
    return own | {"__version__": chess.__version__}


# sympy


def sympy_part(name: str) -> Maker | None:
    """How a submodule of sympy is made, None if it is not offered."""
    return _sympy_part(name) if _is_offered(name) else None


def _is_offered(name: str) -> bool:
    def below(parts: Iterable[str]) -> bool:
        return any(name == f"sympy.{part}" or name.startswith(f"sympy.{part}.") for part in parts)

    return below(SYMPY_PARTS) and not below(SYMPY_CLOSED)


def _sympy(library: Library) -> dict[str, Any]:
    sympy = importlib.import_module("sympy")
    _guard_sympy(library)
    names = {name: getattr(sympy, name) for name in sympy.__all__ if name not in SYMPY_LEFT_OUT}
    names = {name: value for name, value in names.items() if not isinstance(value, types.ModuleType)}
    EXTENSIBLE.update((sympy.Function, sympy.Expr, sympy.Symbol))
    return names | {"lambdify": _lambdify, "var": _variables, "__version__": sympy.__version__}


def _variables(names: Any, **options: Any) -> Any:
    """sympy.var: the symbols become variables of the program, if their names are names."""
    sympy = importlib.import_module("sympy")
    symbols = sympy.symbols(names, **options)
    space = own_frame(sys._getframe(1)).f_globals
    for symbol in _flat(symbols):
        name = checked_name(symbol.name if isinstance(symbol, sympy.Basic) else symbol.__name__)
        if name.isidentifier():
            space[name] = symbol
    return symbols


def _flat(symbols: Any) -> Iterable[Any]:
    return (
        [s for item in symbols for s in _flat(item)] if isinstance(symbols, (list, tuple, set)) else [symbols]
    )


def _sympy_part(name: str) -> Maker:
    def make(library: Library) -> dict[str, Any]:
        _guard_sympy(library)
        module = importlib.import_module(name)
        _guard_attributes()
        listed = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
        names = {n: getattr(module, n) for n in listed if n not in SYMPY_LEFT_OUT and hasattr(module, n)}
        return {n: value for n, value in names.items() if _is_of_sympy(value)}

    return make


def _is_of_sympy(value: Any) -> bool:
    if isinstance(value, type | types.FunctionType):
        module = value.__module__
        return module == "sympy" or (isinstance(module, str) and _is_offered(module))
    return type(value).__module__.partition(".")[0] == "sympy"


def _lambdify(
    arguments: Any, expression: Any, modules: Any = None, printer: Any = None, **options: Any
) -> Any:
    """sympy.lambdify with sympy's own printers."""
    if printer is not None:
        raise RefusedType("lambdify takes no printer in the sandbox")
    make = importlib.import_module("sympy.utilities.lambdify").lambdify
    return make(arguments, expression, modules, **options)


def _lambdify_part(library: Library) -> dict[str, Any]:
    _guard_sympy(library)
    return {"lambdify": _lambdify}


def _guarded_part(name: str, names: str) -> Maker:
    def make(library: Library) -> dict[str, Any]:
        _guard_sympy(library)
        return chosen(importlib.import_module(name), names)

    return make


def _guard_sympy(library: Library) -> None:
    """Put the policy between sympy and Python's evaluation, once."""
    parser: Any = importlib.import_module("sympy.parsing.sympy_parser")
    if hasattr(parser, "eval"):
        return
    lambdas: Any = importlib.import_module("sympy.utilities.lambdify")
    function: Any = importlib.import_module("sympy.core.function")
    names = Evaluation(library)
    parser.eval, parser.compile = names.eval, names.compile
    lambdas.exec, lambdas.compile, lambdas.eval = names.exec, names.compile, names.eval
    _guard_undefined_functions(function.UndefinedFunction)
    _guard_symbols()
    _guard_attributes()
    _guard_mpmath(library)


def _guard_attributes() -> None:
    """Rings, fields, groups and coordinates make attributes of names that a program chose."""
    for name, module in list(sys.modules.items()):
        if name.startswith("sympy."):
            vars(module)["setattr"] = _set_ordinary


def _set_ordinary(owner: Any, name: Any, value: Any) -> None:
    builtins.setattr(owner, checked_name(name), value)


def _guard_symbols() -> None:
    """Some classes of sympy turn the names of symbols into attributes."""
    module: Any = importlib.import_module("sympy.core.symbol")
    for cls in (module.Symbol, module.Dummy, module.Wild):
        _guard_name(cls, cls.__new__)


def _guard_name(cls: Any, make: Any) -> None:
    def __new__(cls: Any, name: Any = None, *arguments: Any, **assumptions: Any) -> Any:  # noqa: N807
        if isinstance(name, str):
            name = checked_name(name)
        return make(cls, name, *arguments, **assumptions) if name is not None else make(cls, **assumptions)

    cls.__new__ = staticmethod(__new__)


def _guard_undefined_functions(meta: Any) -> None:
    make = meta.__new__

    def __new__(  # noqa: N807
        cls: Any, name: Any, bases: Any = None, __dict__: Any = None, **options: Any
    ) -> Any:
        if bases is not None or __dict__ is not None:
            raise RefusedType("sympy functions take no bases and no namespace in the sandbox")
        for option in options:
            checked_name(option)
        return make(cls, name, **options)

    meta.__new__ = staticmethod(__new__)


IMPORTED_FROM: Final = frozenset(
    "cmath math mpmath numpy numpy.linalg sympy sympy.functions sympy.functions.elementary.piecewise".split()
)
"""What generated code may import into its namespace, and nothing below."""


class Evaluation:
    """eval, exec and compile for sympy: the policy's compiler, and chosen names."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._allowed = frozenset(NUMPY.split()) | frozenset(NUMPY_PARTS["numpy.linalg"].split())

    def compile(self, source: Any, filename: str, mode: str, *_: Any, **__: Any) -> types.CodeType:
        """Compile a text or a tree under the policy."""
        try:
            if isinstance(source, ast.AST):
                return policy.translate_tree(source, filename, mode)
            return policy.translate(source, filename, mode)
        except policy.Refusal as refusal:
            raise RefusedAttribute(str(refusal)) from None

    def eval(self, source: Any, space: Any = None, local: Any = None) -> Any:
        """Evaluate an expression in the chosen part of a namespace."""
        code = source if isinstance(source, types.CodeType) else self.compile(source, "<string>", "eval")
        return builtins.eval(code, self._space(space or {}), self._names(local or {}))

    def exec(self, source: Any, space: Any = None, local: Any = None) -> None:
        """Run generated code, or the imports before it."""
        if isinstance(source, str):
            _check_imports(source)
            builtins.exec(source, space, local)
            return
        builtins.exec(source, self._space(space), local)

    def _space(self, names: Mapping[Any, Any]) -> dict[str, Any]:
        table = {k: v for k, v in self._library.builtins.items() if k[0] in "@_" or k in HARMLESS}
        return self._names(names) | {"__builtins__": table, "__name__": PROGRAM}

    def _names(self, names: Mapping[Any, Any]) -> dict[str, Any]:
        return {name: value for name, value in names.items() if self._is_harmless(name, value)}

    def _is_harmless(self, name: Any, value: Any) -> bool:
        if type(name) is not str or name[:1] == "@" or policy.is_special(name):
            return False
        if isinstance(value, types.ModuleType) or name in SYMPY_LEFT_OUT:
            return False
        module = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
        root = module.partition(".")[0] if isinstance(module, str) else ""
        if root == "numpy":
            return name in self._allowed
        return value is not getattr(builtins, name, None) or name in HARMLESS


HARMLESS: Final = frozenset(
    "abs all any bool complex dict divmod enumerate float frozenset int isinstance len list map max min pow range "
    "reversed round set slice sorted str sum tuple zip Ellipsis False None NotImplemented True".split()
)
"""Builtins that a text for sympy may use."""


def _check_imports(source: str) -> None:
    """Only what sympy itself writes: whole modules, their stars, and names under their own name.

    A printer in a program's hands can add imports of its own: an alias would pass any check of
    names, and a module below the allowed ones holds more than mathematics.

    Raises:
        RefusedImport: it is anything else.
    """
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.ImportFrom):
            harmless = statement.module in IMPORTED_FROM and not any(a.asname for a in statement.names)
            harmless = harmless and not any(
                a.name in ("exec_", "fromfile", "genfromtxt") for a in statement.names
            )
        elif isinstance(statement, ast.Import):
            harmless = all(alias.name in IMPORTED_FROM and not alias.asname for alias in statement.names)
        else:
            harmless = False
        if not harmless:
            raise RefusedImport(f"generated code may not run {source!r}")


MAKERS: Final[dict[str, Maker]] = {
    "chess": _chess,
    "chess.pgn": _part("chess.pgn", "read_game Game StringExporter Headers GameNode ChildNode"),
    "mpmath": _mpmath,
    "numpy": _numpy,
    **{name: _part(name, names) for name, names in NUMPY_PARTS.items()},
    "numpy.random": _numpy_random,
    "sympy": _sympy,
    "sympy.parsing": _guarded_part("sympy.parsing.sympy_parser", "parse_expr"),
    "sympy.parsing.sympy_parser": _guarded_part("sympy.parsing.sympy_parser", SYMPY_PARSER),
    "sympy.printing": _guarded_part("sympy.printing", SYMPY_PRINTING),
    "sympy.utilities": _lambdify_part,
    "sympy.utilities.iterables": _sympy_part("sympy.utilities.iterables"),
    "sympy.utilities.lambdify": _lambdify_part,
}
"""Module -> how its names are made; one that is not installed raises Python's own ImportError."""
