"""What a program of the recursive-language-model baseline may say, and how its queries are cut out.

Source: Recursive Language Models (arXiv 2512.24601). The language is far narrower than the sandbox's policy: straight lines of
assignments, texts and queries, so that every bit of work that needs a loop goes through a model.
Pure: from source to steps or to a refusal with its name and line. Running a step is the sandbox's
business and asking a model the method's (`rlm`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

QUERY = "query"
QUERY_BATCH = "query_batch"
CALLABLE = frozenset({"print", "len", "str", QUERY, QUERY_BATCH})
METHODS = frozenset(
    name for name in dir(str) if not name.startswith("_") and name not in ("format", "format_map", "encode")
)
"""Methods of texts; `encode` gives no text, and format strings reach attributes."""

LARGEST = 20_000
"""Characters of one program."""

ASKED = "asked{}"
"""Variables in which a query's text waits for its reply; programs cannot bind such names."""

_REFUSED: dict[type[ast.AST], str] = {
    ast.For: "loop",
    ast.While: "loop",
    ast.AsyncFor: "loop",
    ast.ListComp: "comprehension",
    ast.SetComp: "comprehension",
    ast.DictComp: "comprehension",
    ast.GeneratorExp: "comprehension",
    ast.FunctionDef: "function",
    ast.AsyncFunctionDef: "function",
    ast.Lambda: "lambda",
    ast.ClassDef: "class",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Try: "try",
    ast.TryStar: "try",
    ast.With: "with",
    ast.AsyncWith: "with",
    ast.Match: "match",
    ast.If: "if statement: use a conditional expression",
    ast.Set: "set",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a program is not run: the rule's name and the line, from 1."""

    reason: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason} is not allowed"


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of a program, and the query that follows it.

    Attributes:
        source: statements to run; the last one sets `asked` where there is a query.
        asked: the variable that holds the query's text or texts; "" for the last piece. The reply
            is put into the same variable before the next step.
        batch: whether several texts are asked at once.
        names: every variable that is bound once this step has run.
    """

    source: str
    asked: str = ""
    batch: bool = False
    names: tuple[str, ...] = ()


def steps(source: str, bound: tuple[str, ...] = ()) -> list[Step] | Refusal:
    """The steps of a program, or the first thing in it that is refused.

    Args:
        source: the program.
        bound: variables that exist before it.
    """
    if len(source) > LARGEST:
        return Refusal(f"a program of more than {LARGEST} characters", 1)
    try:
        module = ast.parse(source)
        refusal = next(_refusals(module), None)
        return refusal if refusal else _cut(module, bound)
    except SyntaxError as error:
        return Refusal(f"a syntax error ({error.msg})", error.lineno or 1)
    except (ValueError, RecursionError, MemoryError):
        return Refusal("a program that is nested too deep or holds null characters", 1)


def _refusals(module: ast.Module) -> Iterator[Refusal]:
    called = {id(n.func) for n in ast.walk(module) if isinstance(n, ast.Call)}
    for node in _in_order(module):
        reason = _reason(node, called)
        if reason:
            yield Refusal(reason, getattr(node, "lineno", 1))


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        yield from _in_order(child)


def _reason(node: ast.AST, called: set[int]) -> str:
    """The name of the rule that a node breaks; "" if it breaks none."""
    match node:
        case ast.Name(id=name):
            return _name(name, node.ctx, id(node) in called)
        case ast.Attribute():
            return _attribute(node, id(node) in called)
        case ast.Call():
            return _call(node)
        case ast.BinOp():
            return _sum(node.op, node.left, node.right)
        case ast.AugAssign():
            return _sum(node.op, node.value) or (
                "" if isinstance(node.target, ast.Name) else "this assignment"
            )
        case ast.Compare(ops=ops):
            return next((r for op in ops if (r := _comparison(op))), "")
        case ast.UnaryOp(op=op):
            return _sign(op, node.operand)
        case ast.FormattedValue(format_spec=spec):
            return "a format specification" if spec is not None else ""
        case ast.Constant(value=value):
            kind = type(value)
            return "" if kind in (str, int, float, bool, type(None)) else f"a literal of type {kind.__name__}"
        case ast.IfExp(test=_, body=body, orelse=orelse):
            return _unconditional([body, orelse])
        case ast.BoolOp(values=values):
            return _unconditional(values[1:])
        case _ if isinstance(node, _ALLOWED):
            return ""
    return _REFUSED.get(type(node), type(node).__name__)


_ALLOWED = (
    ast.Module, ast.Assign, ast.Expr, ast.Tuple, ast.List, ast.Dict, ast.Subscript, ast.Slice, ast.JoinedStr,
    ast.keyword, ast.Starred, ast.Pass, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop,
)  # fmt: skip


def _name(name: str, context: ast.expr_context, is_called: bool) -> str:
    if name.startswith("_"):
        return "a name that begins with an underscore"
    if name in CALLABLE and not (is_called and isinstance(context, ast.Load)):
        return f"{name} other than as a call"
    if name.startswith("asked") and name[5:].isdigit():
        return f"the name {name}"
    return ""


def _attribute(node: ast.Attribute, is_called: bool) -> str:
    if node.attr.startswith("_"):
        return "an attribute that begins with an underscore"
    if not is_called:
        return f"the attribute {node.attr} other than as a method call"
    return "" if node.attr in METHODS else f"the method {node.attr}"


def _call(node: ast.Call) -> str:
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return "an unpacked argument"
    if isinstance(node.func, ast.Name):
        if node.func.id not in CALLABLE:
            return f"a call of {node.func.id}"
        if node.func.id in (QUERY, QUERY_BATCH) and (len(node.args) != 1 or node.keywords):
            return f"{node.func.id} with anything but one argument"
        return ""
    return "" if isinstance(node.func, ast.Attribute) else "a call of an expression"


def _sum(op: ast.operator, *sides: ast.expr) -> str:
    if not isinstance(op, ast.Add):
        return "arithmetic"
    numbers = (isinstance(s, ast.Constant) and isinstance(s.value, int | float) for s in sides)
    return "arithmetic" if any(numbers) else ""


def _comparison(op: ast.cmpop) -> str:
    if isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
        return ""
    return "is" if isinstance(op, ast.Is | ast.IsNot) else "an ordering comparison"


def _sign(op: ast.unaryop, operand: ast.expr) -> str:
    if isinstance(op, ast.Not):
        return ""
    number = isinstance(operand, ast.Constant) and isinstance(operand.value, int | float)
    return "" if isinstance(op, ast.USub) and number else "arithmetic"


def _unconditional(branches: list[ast.expr]) -> str:
    """A query must not hang on a condition: queries are asked before their line is run."""
    asks = any(_is_query(node) for branch in branches for node in ast.walk(branch))
    return "a query inside a condition" if asks else ""


def _is_query(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in (QUERY, QUERY_BATCH)
    )


def _cut(module: ast.Module, bound: tuple[str, ...]) -> list[Step]:
    """Cut behind every query, innermost first, in the order in which Python would evaluate them."""
    found: list[Step] = []
    names = dict.fromkeys(bound)
    pending: list[ast.stmt] = []
    for statement in module.body:
        lifter = _Lifter(len(found))
        changed = lifter.visit(statement)
        for asked, call in lifter.lifted:
            pending.append(_assigned(asked, call.args[0]))
            names[asked] = None
            batch = isinstance(call.func, ast.Name) and call.func.id == QUERY_BATCH
            found.append(Step(_source(pending), asked, batch, tuple(names)))
            pending = []
        pending.append(changed)
        names |= dict.fromkeys(_bound_by(statement))
    return [*found, Step(_source(pending), names=tuple(n for n in names if not n.startswith("asked")))]


class _Lifter(ast.NodeTransformer):
    """Replaces every query by the variable that will hold its reply."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.lifted: list[tuple[str, ast.Call]] = []

    def visit_Call(self, node: ast.Call) -> ast.expr:
        inner = self.generic_visit(node)
        assert isinstance(inner, ast.Call)
        if not _is_query(inner):
            return inner
        asked = ASKED.format(self._number + len(self.lifted))
        self.lifted.append((asked, inner))
        return ast.copy_location(ast.Name(asked, ast.Load()), inner)


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=1)


def _source(statements: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(list(statements), [])))


def _bound_by(statement: ast.stmt) -> list[str]:
    stores = (n for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return [node.id for node in stores]
