"""Arithmetic expressions read into trees, never evaluated as code.

Two dialects. `exact` is what the game means: whole numbers, `+ - * /`, brackets, values as
fractions. `loose` follows Python's own integers and floats over constants and more operators, as
the published evaluator does through `eval`; powers and shifts are bounded here, since a model's
text must not cost minutes.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

MOST_CHARACTERS = 400
MOST_LOOSE_CHARACTERS = 10_000
MOST_BITS = 4096

# Numbers and operators only: anything else has no value, and would make the parser warn.
_NUMERIC = re.compile(
    r"(?:0[xob][0-9a-f_]++|(?:\d[\d_]*+(?:\.[\d_]*+)?|\.\d[\d_]*+)(?:e[+-]?\d++)?j?|[-+*/%^&|<>~()\s])*+",
    re.IGNORECASE,
)

Loose = int | float | complex

_LOOSE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_EXACT: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class NotAnExpression(ValueError):
    """The text is no expression of the dialect, or has no value."""


def loose(text: str) -> Loose:
    """The value by Python's own rules for numbers.

    Raises:
        NotAnExpression: anything but constants and operators, or an error while computing.
    """
    if len(text) > MOST_LOOSE_CHARACTERS or not _NUMERIC.fullmatch(text):
        raise NotAnExpression("no arithmetic expression")
    try:
        return _loose(_parsed(text.lstrip(" \t")))
    except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise NotAnExpression(str(error)) from error


def exact(text: str) -> tuple[Fraction, list[int]]:
    """(value, the whole numbers that it uses, from left to right).

    Raises:
        NotAnExpression: the text is longer than 400 characters, is no expression over `+ - * /`,
            or divides by zero.
    """
    if len(text) > MOST_CHARACTERS:
        raise NotAnExpression(f"longer than {MOST_CHARACTERS} characters")
    leaves: list[int] = []
    try:
        return _exact(_parsed(text.strip()), leaves), leaves
    except ZeroDivisionError as error:
        raise NotAnExpression("divides by zero") from error


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotAnExpression("no arithmetic expression") from error


def _loose(node: ast.expr) -> Loose:
    match node:
        case ast.Constant(value=bool() | int() | float() | complex() as value):
            return value
        case ast.UnaryOp(op=ast.UAdd(), operand=inside):
            return +_loose(inside)
        case ast.UnaryOp(op=ast.USub(), operand=inside):
            return -_loose(inside)
        case ast.UnaryOp(op=ast.Invert(), operand=inside):
            return ~_whole(_loose(inside))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_loose(left), _loose(right))
        case ast.BinOp(left=left, op=ast.LShift() | ast.RShift() as op, right=right):
            return _shift(_loose(left), _loose(right), isinstance(op, ast.LShift))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _LOOSE:
            return _bounded(_LOOSE[type(op)](_loose(left), _loose(right)))
    raise NotAnExpression(f"{type(node).__name__} has no place in a sum")


def _bounded(value: Loose) -> Loose:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise NotAnExpression("the number is too large")
    return value


def _power(base: Loose, exponent: Loose) -> Loose:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > MOST_BITS:
        raise NotAnExpression("the power is too large")
    result: Loose = base**exponent
    return result


def _shift(value: Loose, by: Loose, left: bool) -> int:
    number, places = _whole(value), _whole(by)
    if not 0 <= places <= MOST_BITS:
        raise NotAnExpression("the shift is too large")
    return number << places if left else number >> places


def _whole(value: Loose) -> int:
    if not isinstance(value, int):
        raise NotAnExpression("needs a whole number")
    return value


def _exact(node: ast.expr, leaves: list[int]) -> Fraction:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            leaves.append(value)
            return Fraction(value)
        case ast.UnaryOp(op=ast.USub(), operand=inside):
            return -_exact(inside, leaves)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _EXACT:
            return _EXACT[type(op)](_exact(left, leaves), _exact(right, leaves))
    raise NotAnExpression(f"{type(node).__name__} has no place in the game")
