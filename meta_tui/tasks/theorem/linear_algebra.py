"""Questions of linear algebra: eigenvalues, determinants, rank, definiteness, linear systems."""

from __future__ import annotations

import random
from fractions import Fraction

from meta_tui.tasks.theorem.templates import Params, Template, balanced, matrix

AREA = "linear algebra"
Rows = list[list[int]]


def _product(a: Rows, b: Rows) -> Rows:
    return [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a
    ]


def _eigen_draw(rng: random.Random) -> Params:
    """P D P^-1 with P of determinant 1, so that all is whole."""
    while True:
        values = sorted(rng.sample(range(-9, 15), 2))
        a, b = rng.randint(-4, 4), rng.randint(-4, 4)
        change, back = [[1 + a * b, a], [b, 1]], [[1, -a], [-b, 1 + a * b]]
        rows = _product(_product(change, [[values[0], 0], [0, values[1]]]), back)
        if rows[0][1] and rows[1][0]:
            return {"rows": rows}


def _eigen(p: Params) -> list[int]:
    (a, b), (c, d) = p["rows"]
    root = round(((a + d) ** 2 - 4 * (a * d - b * c)) ** 0.5)
    return [(a + d - root) // 2, (a + d + root) // 2]


def determinant(rows: list[list[int]]) -> int:
    """Exact, by fraction-free elimination (Bareiss)."""
    work, sign, before = [list(row) for row in rows], 1, 1
    for k in range(len(work) - 1):
        pivot = next((i for i in range(k, len(work)) if work[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            work[k], work[pivot], sign = work[pivot], work[k], -sign
        for i in range(k + 1, len(work)):
            for j in range(k + 1, len(work)):
                work[i][j] = (work[i][j] * work[k][k] - work[i][k] * work[k][j]) // before
        before = work[k][k]
    return sign * work[-1][-1]


def _square(rng: random.Random, size: int, most: int) -> Rows:
    return [[rng.randint(-most, most) for _ in range(size)] for _ in range(size)]


def _rank(p: Params) -> int:
    work = [[Fraction(x) for x in row] for row in p["rows"]]
    rank = 0
    for column in range(len(work[0])):
        pivot = next((i for i in range(rank, len(work)) if work[i][column]), None)
        if pivot is None:
            continue
        work[rank], work[pivot] = work[pivot], work[rank]
        for i in range(rank + 1, len(work)):
            times = work[i][column] / work[rank][column]
            work[i] = [x - times * y for x, y in zip(work[i], work[rank], strict=True)]
        rank += 1
    return rank


def _rank_draw(rng: random.Random) -> Params:
    rank = rng.randint(2, 4)
    left = [[rng.randint(-3, 3) for _ in range(rank)] for _ in range(4)]
    right = [[rng.randint(-3, 3) for _ in range(5)] for _ in range(rank)]
    return {"rows": _product(left, right)}


def _definite_draw(rng: random.Random) -> Params:
    a, b, c = (rng.randint(1, 9) for _ in range(3))
    d, e, f = (rng.randint(-5, 5) for _ in range(3))
    return {"rows": [[a, d, e], [d, b, f], [e, f, c]]}


def _definite(p: Params) -> bool:
    """Sylvester: all leading minors are positive."""
    return all(determinant([row[:k] for row in p["rows"][:k]]) > 0 for k in (1, 2, 3))


def _system_draw(rng: random.Random) -> Params:
    while True:
        rows, answer = _square(rng, 3, 7), [rng.randint(-9, 9) for _ in range(3)]
        if determinant(rows) and len(set(answer)) == 3:
            return {
                "rows": rows,
                "right": [sum(a * x for a, x in zip(row, answer, strict=True)) for row in rows],
            }


def _system(p: Params) -> list[int]:
    """Cramer's rule; the systems have whole solutions."""
    whole = determinant(p["rows"])
    answer = []
    for column in range(3):
        swapped = [
            [*row[:column], b, *row[column + 1 :]] for row, b in zip(p["rows"], p["right"], strict=True)
        ]
        answer.append(determinant(swapped) // whole)
    return answer


def _system_words(p: Params) -> str:
    def side(row: list[int]) -> str:
        return " + ".join(f"({a}){name}" for a, name in zip(row, "xyz", strict=True))

    lines = "; ".join(f"{side(row)} = {b}" for row, b in zip(p["rows"], p["right"], strict=True))
    return f"Solve the system {lines}. Give [x, y, z]."


TEMPLATES = (
    Template(
        "eigenvalues", AREA, "list", 2, _eigen_draw,
        lambda p: f"What are the eigenvalues of the matrix {matrix(p['rows'])}? Give them as a list, the smaller first.",
        _eigen,
    ),
    Template(
        "determinant", AREA, "integer", 2, lambda rng: {"rows": _square(rng, rng.choice((3, 4)), 7)},
        lambda p: f"What is the determinant of the matrix {matrix(p['rows'])}?",
        lambda p: determinant(p["rows"]),
    ),
    Template(
        "rank", AREA, "integer", 2, _rank_draw,
        lambda p: f"What is the rank of the matrix {matrix(p['rows'])}?",
        _rank, held_out=True,
    ),
    Template(
        "positive_definite", AREA, "bool", 2, lambda rng: balanced(rng, _definite_draw, _definite),
        lambda p: f"Is the symmetric matrix {matrix(p['rows'])} positive definite?",
        _definite,
    ),
    Template("linear_system", AREA, "list", 1, _system_draw, _system_words, _system),
)  # fmt: skip
