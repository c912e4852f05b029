"""Formulas over x and y: how they are read, valued, simplified and written. Never `eval`.

The grammar: numbers, x, y, pi, e, + - * /, powers with a whole exponent up to 9, and the functions
of FUNCTIONS. Whatever else a text holds is refused by name. Values that are no finite number of
fair size are refused too, so that no formula costs more than its length.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable

Point = tuple[float, float]

HIGHEST_POWER = 9
LONGEST = 2000
"""Characters of a formula."""

DEEPEST = 60
"""Levels of a formula; deeper ones are refused before they are followed."""


_LEFT_SIDE = re.compile(r"^[A-Za-z]\w{0,30}\s*(?:\(\s*x\s*,\s*y\s*\)\s*)?=(?!=)")


class NotAFormula(Exception):
    """A text is no formula of the grammar; the message says why."""


class NoValue(Exception):
    """A formula has no finite value at a point."""


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "exp": math.exp,
    "tanh": math.tanh,
    "square": lambda v: v * v,
    "log": math.log,
    "sqrt": math.sqrt,
    "abs": abs,
}
CONSTANTS = {"pi": math.pi, "e": math.e}


def read(text: str) -> ast.expr:
    """The tree of a formula; `^` is a power, and a leading `f(x, y) =` or `z =` is left out.

    Raises:
        NotAFormula: the text is something else.
    """
    formula = _LEFT_SIDE.sub("", text.strip()).strip().replace("^", "**")
    if not formula or len(formula) > LONGEST:
        raise NotAFormula("no formula" if not formula else f"longer than {LONGEST} characters")
    try:
        tree = ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotAFormula(f"cannot be read: {type(error).__name__}") from error
    _check(tree, 0)
    return tree


def _check(node: ast.expr, depth: int) -> None:
    if depth > DEEPEST:
        raise NotAFormula(f"deeper than {DEEPEST} levels")
    for child in parts(node):
        _check(child, depth + 1)


def parts(node: ast.expr) -> list[ast.expr]:
    """The formulas that an allowed node joins.

    Raises:
        NotAFormula: the node is not of the grammar.
    """
    match node:
        case ast.Constant(value=bool()):
            raise NotAFormula("truth values have no place in a formula")
        case ast.Constant(value=int() | float()):
            return []
        case ast.Name(id=name) if name in ("x", "y") or name in CONSTANTS:
            return []
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return [operand]
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), left=left, right=right):
            return [left, right]
        case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=int(power))):
            if type(power) is bool or not 0 <= power <= HIGHEST_POWER:
                raise NotAFormula(f"powers run from 0 to {HIGHEST_POWER}")
            return [left]
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return [argument]
        case ast.Name(id=name):
            raise NotAFormula(f"there is no {name!r}; there are x, y, {', '.join(CONSTANTS)}")
        case ast.Call(func=ast.Name(id=name)):
            raise NotAFormula(
                f"{name!r} is no function of one argument here; there are {', '.join(FUNCTIONS)}"
            )
    raise NotAFormula(f"{type(node).__name__} has no place in a formula")


def value(tree: ast.expr, point: Point) -> float:
    """The value of a formula at (x, y).

    Raises:
        NoValue: it is infinite, undefined or no real number.
    """
    try:
        found = _value(tree, point)
    except (ArithmeticError, ValueError) as error:
        raise NoValue(f"no value at {point}: {error}") from error
    if not math.isfinite(found):
        raise NoValue(f"no finite value at {point}")
    return found


def _value(node: ast.expr, point: Point) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return point["xy".index(name)] if name in ("x", "y") else CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand):
            inner = _value(operand, point)
            return -inner if isinstance(op, ast.USub) else inner
        case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=int(power))):
            return _value(left, point) ** power
        case ast.BinOp(op=op, left=left, right=right):
            return _joined(op, _value(left, point), _value(right, point))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return FUNCTIONS[name](_value(argument, point))
    raise NotAFormula(f"{type(node).__name__} has no place in a formula")


def _joined(op: ast.operator, left: float, right: float) -> float:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
    return left / right


def size(tree: ast.expr) -> int:
    """Nodes of a formula: numbers, names, operations and functions."""
    return 1 + sum(size(child) for child in parts(tree))


def uses(tree: ast.expr) -> set[str]:
    """The variables of a formula."""
    if isinstance(tree, ast.Name):
        return {tree.id} & {"x", "y"}
    return set().union(*map(uses, parts(tree)))


def simplified(tree: ast.expr) -> ast.expr:
    """The formula without parts that are plainly constant: x - x, 0 * x, 1 * x, sums of numbers."""
    match tree:
        case ast.BinOp(op=op, left=left, right=right):
            return _plain(ast.BinOp(left=simplified(left), op=op, right=simplified(right)))
        case ast.UnaryOp(op=op, operand=operand):
            return _folded(ast.UnaryOp(op=op, operand=simplified(operand)))
        case ast.Call(func=func, args=[argument]):
            return _folded(ast.Call(func=func, args=[simplified(argument)], keywords=[]))
    return tree


def _plain(node: ast.BinOp) -> ast.expr:
    left, right = ast.dump(node.left), ast.dump(node.right)
    zero, one = (ast.dump(ast.Constant(n)) for n in (0, 1))
    match node.op:
        case ast.Sub() if left == right:
            return ast.Constant(0)
        case ast.Mult() if zero in (left, right):
            return ast.Constant(0)
        case ast.Add() | ast.Sub() if right == zero:
            return node.left
        case ast.Add() if left == zero:
            return node.right
        case ast.Mult() if right == one:
            return node.left
        case ast.Mult() if left == one:
            return node.right
    return _folded(node)


def _folded(node: ast.expr) -> ast.expr:
    """A node without variables as a whole number, where it is one."""
    if not uses(node):
        try:
            found = value(node, (0.0, 0.0))
        except NoValue:
            return node
        if found.is_integer() and abs(found) < 1000:
            return ast.Constant(int(found))
    return node


def written(tree: ast.expr) -> str:
    """The formula as text."""
    return ast.unparse(tree)
