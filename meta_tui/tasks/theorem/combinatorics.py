"""Questions of combinatorics: necklaces, fixed points, surjections, lattice paths, bounded sums."""

from __future__ import annotations

import random
from math import comb, factorial, gcd

from meta_tui.tasks.theorem.templates import Params, Template

AREA = "combinatorics"


def _sign(j: int) -> int:
    return -1 if j % 2 else 1


def _necklaces(p: Params) -> int:
    """Burnside over the rotations, and over the reflections where turning over is allowed."""
    n: int = p["beads"]
    k: int = p["colours"]
    rotations: int = sum(k ** gcd(n, turn) for turn in range(n))
    if not p["flips"]:
        return rotations // n
    if n % 2:
        return (rotations + n * int(k ** ((n + 1) // 2))) // (2 * n)
    return (rotations + n // 2 * (k + 1) * int(k ** (n // 2))) // (2 * n)


def _necklace_words(p: Params) -> str:
    same = "rotation or turning over" if p["flips"] else "rotation"
    return (
        f"How many different necklaces of {p['beads']} beads, each in one of {p['colours']} colours, are there "
        f"if necklaces that differ only by {same} count as the same?"
    )


def _fixed(p: Params) -> int:
    rest = p["n"] - p["fixed"]
    derangements = sum(_sign(j) * factorial(rest) // factorial(j) for j in range(rest + 1))
    return comb(p["n"], p["fixed"]) * derangements


def _fixed_draw(rng: random.Random) -> Params:
    n = rng.randint(5, 14)
    return {"n": n, "fixed": rng.randint(0, n - 3)}


def _surjections(p: Params) -> int:
    n, k = p["n"], p["k"]
    return sum(_sign(j) * comb(k, j) * (k - j) ** n for j in range(k + 1))


def _surjections_draw(rng: random.Random) -> Params:
    n = rng.randint(5, 14)
    return {"n": n, "k": rng.randint(3, min(n - 1, 8))}


def _paths(p: Params) -> int:
    (x, y), (a, b) = p["goal"], p["closed"]
    return comb(x + y, x) - comb(a + b, a) * comb(x + y - a - b, x - a)


def _paths_draw(rng: random.Random) -> Params:
    x, y = rng.randint(4, 11), rng.randint(4, 11)
    return {"goal": [x, y], "closed": [rng.randint(1, x - 1), rng.randint(1, y - 1)]}


def _bounded(p: Params) -> int:
    k, total, most = p["parts"], p["total"], p["most"]
    return sum(
        _sign(j) * comb(k, j) * comb(total - j * (most + 1) + k - 1, k - 1)
        for j in range(k + 1)
        if total - j * (most + 1) >= 0
    )


def _bounded_draw(rng: random.Random) -> Params:
    parts, most = rng.randint(3, 7), rng.randint(4, 12)
    return {"parts": parts, "most": most, "total": rng.randint(most + 1, parts * most - 2)}


TEMPLATES = (
    Template(
        "necklaces", AREA, "integer", 3,
        lambda rng: {"beads": rng.randint(4, 14), "colours": rng.randint(2, 6), "flips": rng.random() < 0.5},
        _necklace_words, _necklaces,
    ),
    Template(
        "partial_derangements", AREA, "integer", 2, _fixed_draw,
        lambda p: f"How many permutations of {p['n']} objects leave exactly {p['fixed']} of them in place?",
        _fixed,
    ),
    Template(
        "surjections", AREA, "integer", 2, _surjections_draw,
        lambda p: f"In how many ways can {p['n']} different letters be put into {p['k']} different boxes so that no box stays empty?",
        _surjections, held_out=True,
    ),
    Template(
        "lattice_paths", AREA, "integer", 1, _paths_draw,
        lambda p: f"How many shortest paths along the unit grid lead from (0, 0) to {tuple(p['goal'])} without passing through {tuple(p['closed'])}?",
        _paths,
    ),
    Template(
        "bounded_sums", AREA, "integer", 3, _bounded_draw,
        lambda p: f"How many solutions in integers from 0 to {p['most']} has the equation {' + '.join(f'x{i + 1}' for i in range(p['parts']))} = {p['total']}?",
        _bounded,
    ),
)  # fmt: skip
