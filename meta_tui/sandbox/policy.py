"""The language policy: what a program may say, decided before it runs.

It subclasses RestrictedPython's transformer for its refusal of everything that it does not know,
and replaces the rules that keep ordinary programs from running. Attribute reads and writes become
calls of guards (`guards`); everything else stays native Python.

What it does not cover, on purpose: time, memory, recursion and output (the worker's limits and the
app's clock do); what a C function does with what it is given (the modules that are offered are
chosen for that, in `modules`); errors in CPython, numpy or sympy themselves; names in a dictionary
that a library keeps and passes on as keywords itself (`partial.keywords`). A policy inside the
process that it guards is never complete: every round of attack on this one has found ways around
it, most of them where a library hands a program something of its own (a memo, a class, a real
dictionary). It makes refusals clear and stops nearly everything; the locked process around it is
the boundary.

Guards have names that no source text can spell (`@get`), so no program can bind one, in whatever
way Python may learn to bind names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any, Final

from RestrictedPython.transformer import (
    INSPECT_ATTRIBUTES,
    RestrictingNodeTransformer,
    copy_locations,
)

VERSION: Final = "2"
"""Changes with the rules; stands in every result's note."""

GET: Final = "@get"
LOOK: Final = "@look"
STORE: Final = "@store"
ALTER: Final = "@alter"
PATTERN: Final = "@pattern"
ASKED: Final = "@asked"
UPDATE: Final = "@update"
TYPE: Final = "@type"
PURE: Final = "@pure"
SELF: Final = "@self"
NAMES: Final = "@names"
BODY: Final = "@body"
"""Names of the guards in the builtins of a program; ASKED is followed by a name of ASKED_FOR_NAMES.
SELF is a variable of a method: whether the class of its first parameter is pure."""

METHODS: Final = frozenset(
    f"__{name}__"
    for name in (
        "abs add and bool bytes call ceil class_getitem complex contains copy deepcopy del delattr delete "
        "delitem dir divmod enter eq exit float floor floordiv format ge get getattr getattribute getitem gt "
        "hash iadd iand ifloordiv ilshift imatmul imod imul index init init_subclass int invert ior ipow irshift "
        "isub iter itruediv ixor le len length_hint lshift lt matmul missing mod mul ne neg new next or pos "
        "post_init pow radd rand rdivmod repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift "
        "rshift rsub rtruediv rxor set set_name setattr setitem sizeof str sub subclasshook truediv trunc xor"
    ).split()
)
"""Special methods that a program may define."""

CONSTANTS: Final = frozenset(
    {"__slots__", "__doc__", "__all__", "__version__", "__author__", "__match_args__"}
)
ASKED_FOR_NAMES: Final = frozenset({"__getattr__", "__getattribute__", "__subclasshook__"})
"""Methods that answer for special names, or are asked about any class: by `def` only, and wrapped."""
ASSIGNABLE: Final = (METHODS | CONSTANTS) - ASKED_FOR_NAMES - {"__del__"}
ENUM_NAMES: Final = frozenset("_value_ _name_ _missing_ _generate_next_value_ _ignore_ _order_".split())
READABLE: Final = METHODS | CONSTANTS | {"__name__", "__debug__"}
"""Special names that may be assigned and read as plain names."""

HIDDEN_METHODS: Final = frozenset({"__set__", "__delete__", "__set_name__", "__subclasshook__", "__del__"})
ATTRIBUTES: Final = (METHODS - HIDDEN_METHODS) | frozenset(
    f"__{name}__"
    for name in (
        "abstractmethods annotations args base bases cause class context dataclass_fields dict doc isabstractmethod "
        "match_args members module mro name notes origin qualname slots subclasses suppress_context traceback version "
        "wrapped"
    ).split()
)
"""Special attributes that may be read; the guard decides from whom."""

STORED: Final = (METHODS - ASKED_FOR_NAMES) | {"__name__", "__qualname__", "__doc__", "__cause__"}
"""Special attributes that may be written; the guard decides to whom."""

FRAME_ATTRIBUTES: Final[frozenset[str]] = INSPECT_ATTRIBUTES
"""Attributes that lead to frames and code objects: never read."""

GUARDED: Final = frozenset(
    "byteswap capsule cffi copy_with ctypes data dump dumps format format_map mro obj pack_into readinto readinto1 register resize "
    "set_state tofile".split()
)
"""Plain names that mean something dangerous on some objects, so the full guard looks at them."""

NATIVE: Final = frozenset(
    "append appendleft extend extendleft insert pop popleft clear count reverse rotate sort add discard update "
    "union intersection difference issubset issuperset symmetric_difference keys values items get setdefault "
    "most_common elements split rsplit splitlines strip lstrip rstrip join lower upper title capitalize "
    "startswith endswith find rfind isdigit isalpha isalnum isspace isupper islower zfill ljust rjust center "
    "swapcase casefold partition rpartition encode".split()
)
"""Method names of the basic containers, dangerous on nothing: read without a guard."""

_NODES: Final = """
    AnnAssign: target annotation value simple
    Assign: targets value type_comment
    Attribute: value attr ctx
    AugAssign: target op value
    ClassDef: name bases keywords body decorator_list type_params
    Constant: value kind
    ExceptHandler: type name body
    For: target iter body orelse type_comment
    FormattedValue: value conversion format_spec
    FunctionDef: name args body decorator_list returns type_comment type_params
    Global: names
    Import: names
    ImportFrom: module names level
    Lambda: args body
    Match: subject cases
    MatchAs: pattern name
    MatchClass: cls patterns kwd_attrs kwd_patterns
    MatchMapping: keys patterns rest
    MatchOr: patterns
    MatchSequence: patterns
    MatchSingleton: value
    MatchStar: name
    MatchValue: value
    Module: body type_ignores
    Name: id ctx
    NamedExpr: target value
    Nonlocal: names
    ParamSpec: name default_value
    Try: body handlers orelse finalbody
    TypeAlias: name type_params value
    TypeVar: name bound default_value
    TypeVarTuple: name default_value
    With: items body type_comment
    alias: name asname
    arg: arg annotation type_comment
    arguments: posonlyargs args vararg kwonlyargs kw_defaults kwarg defaults
    comprehension: target iter ifs is_async
    keyword: arg value
    match_case: pattern guard body
"""
FIELDS: Final = {
    name.strip(): frozenset(fields.split())
    for name, _, fields in (line.partition(":") for line in _NODES.strip().splitlines())
}
"""Fields of the nodes that hold names or flags; another one, set, is a syntax not known here."""

SPOKEN: Final = {
    "AsyncFunctionDef": "async def",
    "AsyncFor": "async for",
    "AsyncWith": "async with",
    "Await": "await",
    "TryStar": "except*",
}
"""How a refused construct is called in a message; others have the name of their node."""


class Refusal(Exception):
    """A program says something that the policy does not allow; nothing of it has run."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line


def is_special(name: str) -> bool:
    """Whether a name has the form that Python keeps for itself (`__x__`)."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def is_reserved(name: str) -> bool:
    """Whether a variable may not have this name: Python's own form, or that of a guard (`_x_`)."""
    if is_special(name):
        return name not in ASSIGNABLE
    return len(name) > 2 and name[0] == "_" == name[-1] and name.strip("_") != "" and name not in ENUM_NAMES


def translate(source: str, filename: str, mode: str = "exec") -> CodeType:
    """Compile a program under the policy.

    Raises:
        Refusal: a construct that is not allowed or not known, with its line.
        SyntaxError, ValueError, MemoryError, RecursionError: as `compile` does.
    """
    tree = ast.parse(source, filename, mode)
    return translate_tree(tree, filename, mode)


def translate_tree(tree: ast.AST, filename: str, mode: str) -> CodeType:
    """Compile a tree that was parsed elsewhere; raises as `translate` does."""
    policy = Policy()
    guarded = policy.visit(tree)
    if policy.refusals:
        raise Refusal(*policy.refusals[0])
    code: CodeType = compile(guarded, filename, mode, dont_inherit=True)
    return code


class Scope:
    """A scope of a program: which variables nothing else can change while an expression reads them.

    Attributes:
        own: variables of this scope that no other scope binds.
        first: the first parameter of a method, if nothing binds it again.
        used: whether the answer about the class of `first` was used.
    """

    __slots__ = ("first", "own", "used")

    def __init__(self, own: frozenset[str] = frozenset(), first: str | None = None) -> None:
        self.own = own
        self.first = first
        self.used = False


class Policy(RestrictingNodeTransformer):  # type: ignore[misc,unused-ignore]
    """Rewrites a tree; `refusals` holds (message, line) of everything that is not allowed."""

    _numbers = iter(range(1 << 62))

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[tuple[str, int | None]] = []
        self._classes: list[str] = []
        self._held: list[list[ast.stmt]] = []
        self._scopes = [Scope()]
        self._in_class = False

    def error(self, node: ast.AST, info: str) -> None:
        """Note a refusal at the line of `node`."""
        self.refusals.append((info, getattr(node, "lineno", None)))

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse a construct by its name."""
        name = type(node).__name__
        self.error(node, f"the sandbox does not run `{SPOKEN.get(name, name)}`")

    def visit(self, node: ast.AST) -> Any:
        """Visit a node unless it has a field that this policy has never heard of."""
        known = FIELDS.get(type(node).__name__)
        if known is not None:
            for field in node._fields:
                if field not in known and getattr(node, field, None):
                    self.error(node, f"the sandbox does not know `{field}` of `{type(node).__name__}`")
                    return node
        visited = super().visit(node)
        return node if visited is None else visited  # a refused node stays, for those around it

    def _inside(self, node: ast.AST) -> Any:
        return self.node_contents_visit(node)

    # Names: every place that binds or reads one

    def _bind(self, node: ast.AST, *names: str | None) -> None:
        for name in names:
            if name is not None and is_reserved(name):
                self.error(node, f"the name `{name}` is kept for Python")

    def visit_Name(self, node: ast.Name) -> Any:
        """Special names only where they are harmless."""
        if not isinstance(node.ctx, ast.Load):
            self._bind(node, node.id)
        elif node.id not in READABLE and is_reserved(node.id):
            self.error(node, f"the name `{node.id}` is kept for Python")
        return self._inside(node)

    def visit_Global(self, node: ast.Global) -> Any:
        """Names of a `global` statement."""
        self._bind(node, *node.names)
        return self._inside(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        """Names of a `nonlocal` statement."""
        self._bind(node, *node.names)
        return self._inside(node)

    def visit_arg(self, node: ast.arg) -> Any:
        """A parameter, whatever its kind."""
        self._bind(node, node.arg)
        return self._inside(node)

    def visit_keyword(self, node: ast.keyword) -> Any:
        """A keyword argument: libraries take special names for more than they look."""
        self._bind(node.value, node.arg)
        node = self._inside(node)
        if node.arg is None:
            node.value = self._call(node.value, NAMES, node.value)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        """The name of a caught exception."""
        self._bind(node, node.name)
        return self._inside(node)

    def visit_alias(self, node: ast.alias) -> Any:
        """An imported name and its new name; which module and what of it decides the importer."""
        self._bind(node, node.asname, node.name if node.asname is None else None)
        return self._inside(node)

    def visit_Import(self, node: ast.Import) -> Any:
        """`import`."""
        return self._inside(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """`from ... import`, with a star too."""
        return self._inside(node)

    # Attributes. Objects of the program's own pure classes hold nothing that it does not have
    # already, so they are read natively: `o.x` becomes `o.x if @type(o) in @pure else @get(o, "x")`.
    # This is for local variables only, which nothing can change between the question and the read
    # (a finaliser could change a global one). A method asks once for its first parameter.

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """A read becomes a guard's call; a write asks the guard for its object."""
        reading = isinstance(node.ctx, ast.Load)
        self._check_attribute(node, node.attr, reading)
        node.attr = name = self._mangled(node.attr)
        node = self._inside(node)
        if reading and name in NATIVE:
            return node
        owner = node.value
        if reading:
            guarded = self._call(node, self._reader(name), owner, ast.Constant(name))
            return self._either(owner, node, guarded) if self._may_be_pure(owner, name) else guarded
        place = self._call(node, self._writer(name), owner, ast.Constant(name))
        node.value = self._either(owner, owner, place) if self._may_be_pure(owner, name) else place
        return node

    def _may_be_pure(self, owner: ast.expr, name: str) -> bool:
        if not isinstance(owner, ast.Name) or is_special(name):
            return False
        return owner.id in self._scopes[-1].own or any(scope.first == owner.id for scope in self._scopes)

    def _either(self, owner: Any, native: ast.expr, guarded: ast.expr) -> ast.IfExp:
        choice = ast.IfExp(self._is_pure(owner), native, guarded)
        copy_locations(choice, owner)
        return choice

    def _is_pure(self, owner: ast.Name) -> ast.expr:
        scope = self._scopes[-1]
        if scope.first == owner.id:
            scope.used = True
            test: ast.expr = ast.Name(SELF, ast.Load())
        else:
            kind = ast.Call(ast.Name(TYPE, ast.Load()), [ast.Name(owner.id, ast.Load())], [])
            test = ast.Compare(kind, [ast.In()], [ast.Name(PURE, ast.Load())])
        copy_locations(test, owner)
        return test

    def _check_attribute(self, node: ast.AST, name: str, reading: bool) -> None:
        allowed = ATTRIBUTES if reading else STORED
        if name in FRAME_ATTRIBUTES or (is_special(name) and name not in allowed):
            self.error(node, f"the attribute `{name}` is not available in the sandbox")

    def _reader(self, name: str) -> str:
        return LOOK if name.startswith("_") or name in GUARDED else GET

    def _writer(self, name: str) -> str:
        return ALTER if is_special(name) else STORE

    def _mangled(self, name: str) -> str:
        if not name.startswith("__") or name.endswith("__") or not self._classes:
            return name
        owner = self._classes[-1].lstrip("_")
        return f"_{owner}{name}" if owner else name

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`o.x += v`: read, then v, then the operation, then the write, as Python orders them."""
        if not isinstance(node.target, ast.Attribute):
            return self._inside(node)
        target = node.target
        self._check_attribute(target, target.attr, reading=True)
        self._check_attribute(target, target.attr, reading=False)
        target.attr = self._mangled(target.attr)
        owner = target.value = self.visit(target.value)
        if not self._may_be_pure(owner, target.attr):
            return self._guarded_update(node, target, self.visit(node.value))
        native = ast.AugAssign(target, node.op, self.visit(_copied(node.value)))
        choice = ast.If(
            self._is_pure(owner), [native], self._guarded_update(node, target, self.visit(node.value))
        )
        copy_locations(choice, node)
        return choice

    def _guarded_update(self, node: ast.AugAssign, target: ast.Attribute, value: ast.expr) -> list[ast.stmt]:
        held, name = f"@held{next(self._numbers)}", ast.Constant(target.attr)
        owner = ast.NamedExpr(ast.Name(held, ast.Store()), target.value)
        old = self._call(node, self._reader(target.attr), owner, name)
        new = self._call(node, UPDATE, ast.Constant(type(node.op).__name__), old, value)
        place = self._call(node, self._writer(target.attr), ast.Name(held, ast.Load()), name)
        store = ast.Assign([ast.Attribute(place, target.attr, ast.Store())], new)
        forget = ast.Delete([ast.Name(held, ast.Del())])
        for statement in (store, forget):
            copy_locations(statement, node)
        return [store, forget]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Annotated assignment."""
        return self._inside(node)

    def _call(self, at: Any, guard: str, *arguments: ast.expr) -> ast.Call:
        call = ast.Call(ast.Name(guard, ast.Load()), list(arguments), [])
        copy_locations(call, at)
        return call

    # Functions and classes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A function; one that answers for attributes is never asked for special names."""
        if node.name in ASKED_FOR_NAMES:
            node.decorator_list.insert(0, ast.Name(f"{ASKED}{node.name}", ast.Load()))
            ast.copy_location(node.decorator_list[0], node)
        elif is_special(node.name) and node.name not in METHODS:
            self.error(node, f"the method `{node.name}` cannot be defined in the sandbox")
        elif not is_special(node.name):
            self._bind(node, node.name)
        self._visit_fields(node, "decorator_list", "args", "returns", "type_params")
        scope = Scope(_own_names(node), _first_parameter(node) if self._in_class else None)
        self._visit_body(node, scope, in_class=False)
        if scope.used:
            self._ask_once(node, scope)
        return node

    def _ask_once(self, node: ast.FunctionDef, scope: Scope) -> None:
        name = ast.Name(scope.first or "", ast.Load())
        copy_locations(name, node)
        self._scopes.append(Scope())
        ask = ast.Assign([ast.Name(SELF, ast.Store())], self._is_pure(name))
        self._scopes.pop()
        copy_locations(ask, node.body[0])
        node.body.insert(1 if ast.get_docstring(node, clean=False) is not None else 0, ask)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """A lambda; its parameters are checked one by one."""
        node.args = self.visit(node.args)
        own = frozenset(parameter.arg for parameter in _parameters(node.args))
        return self._alone(node, Scope(own), "body")

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """A class; bases and metaclass are the business of the class guard at run time."""
        self._bind(node, node.name)
        self._visit_fields(node, "decorator_list", "bases", "keywords")
        self._classes.append(node.name)
        self._visit_fields(node, "type_params")
        self._visit_body(node, Scope(), in_class=True)
        self._classes.pop()
        last = ast.Expr(self._call(node.body[-1], BODY))
        copy_locations(last, node.body[-1])
        node.body.append(last)
        return node

    def _visit_fields(self, node: ast.AST, *fields: str) -> None:
        for field in fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                setattr(node, field, [self.visit(child) for child in value])
            elif value is not None:
                setattr(node, field, self.visit(value))

    def _visit_body(self, node: ast.FunctionDef | ast.ClassDef, scope: Scope, in_class: bool) -> None:
        outside, self._in_class = self._in_class, in_class
        self._scopes.append(scope)
        node.body = [new for child in node.body for new in _as_list(self.visit(child))]
        self._scopes.pop()
        self._in_class = outside

    def _alone(self, node: ast.AST, scope: Scope, *fields: str) -> Any:
        """Visit fields that are a scope of their own."""
        self._scopes.append(scope)
        self._visit_fields(node, *fields)
        self._scopes.pop()
        return node

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        """A comprehension: its own scope."""
        return self._alone(node, Scope(_targets(node.generators)), "elt", "generators")

    visit_SetComp = visit_ListComp
    visit_GeneratorExp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        """A dict comprehension: its own scope."""
        return self._alone(node, Scope(_targets(node.generators)), "key", "value", "generators")

    def visit_TypeAlias(self, node: Any) -> Any:
        """`type X = ...` of Python 3.12."""
        return self._inside(node)

    def visit_TypeVar(self, node: Any) -> Any:
        """A type parameter of Python 3.12."""
        self._bind(node, node.name)
        return self._inside(node)

    visit_ParamSpec = visit_TypeVar
    visit_TypeVarTuple = visit_TypeVar

    # Statements that the base class rewrites for guards which are not needed here

    def visit_Call(self, node: ast.Call) -> Any:
        """A call, with stars too."""
        return self._inside(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Items are public."""
        return self._inside(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Unpacking is native."""
        return self._inside(node)

    def visit_For(self, node: ast.For) -> Any:
        """Iteration is native."""
        return self._inside(node)

    def visit_With(self, node: ast.With) -> Any:
        """Context managers are native."""
        return self._inside(node)

    def visit_Module(self, node: ast.Module) -> Any:
        """The program."""
        return self._inside(node)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        """One `for` of a comprehension."""
        if node.is_async:
            self.error(node.target, "the sandbox does not run `async for`")
        return self._inside(node)

    # Pattern matching reads attributes without a guard, so what stands in a pattern is evaluated
    # by a guard: `case a.B(x=1)` becomes `case @held.value(x=1)`, with @held made before `match`

    def visit_Match(self, node: ast.Match) -> Any:
        """`match`, behind the guards of its patterns."""
        self._held.append([])
        node = self._inside(node)
        return [*self._held.pop(), node]

    def visit_match_case(self, node: ast.match_case) -> Any:
        """One `case`."""
        return self._inside(node)

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> Any:
        """None, True or False."""
        return self._inside(node)

    def visit_MatchSequence(self, node: ast.MatchSequence) -> Any:
        """A sequence of patterns."""
        return self._inside(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> Any:
        """Alternatives."""
        return self._inside(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        """A capture."""
        self._bind(node, node.name)
        return self._inside(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        """The rest of a sequence."""
        self._bind(node, node.name)
        return self._inside(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        """A value: a literal, or a dotted name that is read when its turn comes."""
        node.value = (
            self._late(node.value) if isinstance(node.value, ast.Attribute) else self.visit(node.value)
        )
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        """Keys (as values), patterns and the rest of a mapping."""
        self._bind(node, node.rest)
        node.keys = [self._late(k) if isinstance(k, ast.Attribute) else self.visit(k) for k in node.keys]
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        """A class and the attributes that the pattern reads of its instances."""
        for name in node.kwd_attrs:
            if is_special(name) or name in FRAME_ATTRIBUTES or name in GUARDED:
                self.error(node, f"the attribute `{name}` cannot stand in a pattern")
        names = [self._mangled(name) for name in node.kwd_attrs]
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        if not isinstance(node.cls, ast.Name) or names or node.patterns:
            asked = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
            node.cls = self._late(node.cls, asked, ast.Constant(len(node.patterns)))
        else:
            node.cls = self.visit(node.cls)
        return node

    def _late(self, value: ast.expr, *checks: ast.expr) -> ast.Attribute:
        held = f"@held{next(self._numbers)}"
        no_arguments = ast.arguments([], [], None, [], [], None, [])
        thunk = self._alone(ast.Lambda(no_arguments, value), Scope(), "body")
        guard = self._call(value, PATTERN, thunk, *checks)
        statement = ast.Assign([ast.Name(held, ast.Store())], guard)
        copy_locations(statement, value)
        self._held[-1].append(statement)
        late = ast.Attribute(ast.Name(held, ast.Load()), "value", ast.Load())
        copy_locations(late, value)
        return late


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    stars = [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars]


def _first_parameter(node: ast.FunctionDef) -> str | None:
    """The first parameter, unless something inside the function binds it again."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    if not parameters or any(parameters[0].arg == name for name in _bound_names(ast.walk(node))):
        return None
    return parameters[0].arg


def _own_names(node: ast.FunctionDef) -> frozenset[str]:
    """Variables of a function that neither the module nor another function can bind."""
    bound = {*_bound_names(_walk_scope(node)), *(parameter.arg for parameter in _parameters(node.args))}
    shared = (
        n for child in ast.walk(node) if isinstance(child, ast.Global | ast.Nonlocal) for n in child.names
    )
    return frozenset(bound - set(shared))


def _targets(generators: list[ast.comprehension]) -> frozenset[str]:
    return frozenset(_bound_names(child for part in generators for child in ast.walk(part.target)))


_SCOPES: Final = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def _walk_scope(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's own scope; of a scope inside it only the node itself."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        child = waiting.pop()
        yield child
        if not isinstance(child, _SCOPES):
            waiting.extend(ast.iter_child_nodes(child))


def _bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif not isinstance(node, ast.arg | ast.keyword | ast.Attribute):
            name = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(name, str):
                yield name


def _copied(node: ast.expr) -> ast.expr:
    from copy import deepcopy

    return deepcopy(node)


def _as_list(result: Any) -> list[Any]:
    return result if isinstance(result, list) else [] if result is None else [result]
