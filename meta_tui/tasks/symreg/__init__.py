"""Symbolic regression: find the formula behind forty points.

Points lie in a square around the origin, the test points in a larger one, so that a formula is
worth more than a fit. Formulas that a plane nearly fits, that hardly vary, grow too large or have
idle parts are not asked. A formula belongs to one split, however it is written, and formulas with
a held-out function are in no train or dev sample.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from hashlib import sha256
from itertools import combinations

from meta_tui.tasks import SPLITS, Family, Sample
from meta_tui.tasks.generating import chance, make, split_of, within
from meta_tui.tasks.symreg.answers import Row, nmse, strict
from meta_tui.tasks.symreg.expressions import NoValue, parts, read, simplified, size, uses, value, written

INNER = ("sin", "cos", "exp", "tanh", "square")
HELD_OUT = ("tanh",)
OPERATORS = (ast.Add, ast.Sub, ast.Mult)
POINTS = 40
TRAIN_REACH = 2.0
TEST_REACH = 4.0
"""Train points lie in [-TRAIN_REACH, TRAIN_REACH] squared, test points in [-TEST_REACH, ...]."""

LEAST_VARIANCE = 0.05
LEAST_NMSE = 0.05
"""A plane must not fit better than this."""

LARGEST = 200.0
PROBES = ((0.7, -1.3), (-0.4, 0.9), (1.1, 1.7), (-1.9, -0.6), (0.3, 1.4))
LEVELS = ((7, "easy"), (10, "medium"))


def generate(index: int, seed: int, *, depth: int = 3, noise: float = 0.0) -> Sample:
    """Forty points of a formula; `meta` has the formula, train and test points.

    Args:
        depth: levels of the formula, 2 to 5.
        noise: standard deviation of noise on the train values, as a share of theirs.

    Raises:
        UsageError: an option is out of range.
    """
    within("depth", depth, 2, 5)
    within("noise", noise, 0, 1)
    rng = chance("symreg", seed, index)
    tree, train, test = _drawn(rng, depth, _functions(seed), split_of(seed))
    if noise:
        spread = _variance(train) ** 0.5
        train = [(x, y, float(f"{z + rng.gauss(0, noise * spread):.8g}")) for x, y, z in train]
    formula, nodes = written(tree), size(tree)
    return make(
        "symreg", index, seed, _worded(train), formula,
        kind=_kind(formula), difficulty=next((name for most, name in LEVELS if nodes <= most), "hard"),
        witness=formula, nodes=nodes, held_out=any(name in formula for name in HELD_OUT),
        train=[list(row) for row in train], test=[list(row) for row in test],
    )  # fmt: skip


def _functions(seed: int) -> list[str]:
    return [name for name in INNER if split_of(seed) == "test" or name not in HELD_OUT]


def _kind(formula: str) -> str:
    """The functions of a formula by name."""
    return "+".join(name for name in INNER if name in formula) or "polynomial"


def _drawn(
    rng: random.Random, depth: int, functions: list[str], split: str
) -> tuple[ast.expr, list[Row], list[Row]]:
    while True:
        tree = simplified(_tree(rng, depth, functions))
        if uses(tree) != {"x", "y"} or size(tree) < 4:
            continue
        tree = read(written(tree))
        if not is_lean(tree) or split_of_formula(tree) != split:
            continue
        try:
            train, test = _rows(rng, tree, TRAIN_REACH), _rows(rng, tree, TEST_REACH)
        except NoValue:
            continue
        if all(map(_is_fair, (train, test))) and plane_nmse(train) >= LEAST_NMSE:
            return tree, train, test


def is_lean(tree: ast.expr) -> bool:
    """Whether no part is constant or does the same as a part of itself: no cos(3), y + y - y."""
    return _values_within(tree) is not None


def _values_within(tree: ast.expr) -> set[tuple[str, ...]] | None:
    """What the formula and its parts give at some points; None where a part is idle."""
    inner: set[tuple[str, ...]] = set()
    for part in parts(tree):
        found = _values_within(part)
        if found is None:
            return None
        inner |= found
    here = fingerprint(tree)
    idle = parts(tree) and (here in inner or len(set(here)) == 1)
    return None if idle else inner | {here}


def fingerprint(tree: ast.expr) -> tuple[str, ...]:
    """The formula's values at five points, to four digits: the same for y + x and x + y."""
    found = []
    for point in PROBES:
        try:
            found.append(f"{value(tree, point):.4g}")
        except NoValue:
            found.append("none")
    return tuple(found)


def split_of_formula(tree: ast.expr) -> str:
    """The one split that a formula may be asked in."""
    digest = sha256(" ".join(fingerprint(tree)).encode()).digest()
    return SPLITS[digest[0] % len(SPLITS)]


def _tree(rng: random.Random, depth: int, functions: list[str]) -> ast.expr:
    if depth == 0 or (depth < 2 and rng.random() < 0.3):
        return rng.choice((_name("x"), _name("y"), _name("x"), _name("y"), ast.Constant(rng.randint(1, 5))))
    if rng.random() < 0.4:
        inner = _tree(rng, depth - 1, functions)
        return ast.Call(func=_name(rng.choice(functions)), args=[inner], keywords=[])
    left, right = _tree(rng, depth - 1, functions), _tree(rng, depth - 1, functions)
    return ast.BinOp(left=left, op=rng.choice(OPERATORS)(), right=right)


def _name(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


def _rows(rng: random.Random, tree: ast.expr, reach: float) -> list[Row]:
    """Points with three decimals and the formula's values there, to eight digits."""
    rows = []
    for _ in range(POINTS):
        x, y = (round(rng.uniform(-reach, reach), 3) for _ in range(2))
        rows.append((x, y, float(f"{value(tree, (x, y)):.8g}")))
    return rows


def _is_fair(rows: list[Row]) -> bool:
    return max(abs(z) for _, _, z in rows) <= LARGEST and _variance(rows) >= LEAST_VARIANCE


def _variance(rows: Sequence[Row]) -> float:
    mean = sum(z for _, _, z in rows) / len(rows)
    return sum((z - mean) ** 2 for _, _, z in rows) / len(rows)


def plane_nmse(rows: Sequence[Row]) -> float:
    """NMSE of the plane a + b x + c y that fits best (normal equations, Cramer's rule)."""
    columns = [[1.0] * len(rows), [x for x, _, _ in rows], [y for _, y, _ in rows]]
    wanted = [z for _, _, z in rows]
    gram = [[_dot(a, b) for b in columns] for a in columns]
    right = [_dot(a, wanted) for a in columns]
    whole = _determinant(gram)
    weights = []
    for k in range(3):
        swapped = [[*row[:k], r, *row[k + 1 :]] for row, r in zip(gram, right, strict=True)]
        weights.append(_determinant(swapped) / whole)
    return nmse([weights[0] + weights[1] * x + weights[2] * y for x, y, _ in rows], wanted)


def _dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _determinant(m: list[list[float]]) -> float:
    total = 0.0
    for column, (i, j) in enumerate(reversed(list(combinations(range(3), 2)))):
        minor = m[1][i] * m[2][j] - m[1][j] * m[2][i]
        total += (-minor if column == 1 else minor) * m[0][column]
    return total


def _worded(rows: list[Row]) -> str:
    lines = [f"{x:g}, {y:g}, {z:g}" if abs(z) < 1e-5 else f"{x:g}, {y:g}, {z}" for x, y, z in rows]
    return "x, y, value\n" + "\n".join(lines)


FAMILY = Family(
    id="symreg",
    title="Symbolic regression",
    description=(
        "Find a formula in x and y for the following values. It may use numbers, x, y, + - * / and the functions "
        "sin, cos, exp, tanh and square (one argument each); it will be judged at points further out. Give only the "
        "formula, on one line."
    ),
    generate=generate,
    graders={"strict": strict},
    options={"depth": 3, "noise": 0.0},
)
