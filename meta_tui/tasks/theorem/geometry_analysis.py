"""Questions of geometry and analysis: lattice triangles, angles, Simpson, capacity, Newton."""

from __future__ import annotations

import random
from fractions import Fraction
from math import gcd, log2

from meta_tui.tasks.theorem.templates import Params, Template, balanced

AREA = "geometry and analysis"


def _pick_draw(rng: random.Random) -> Params:
    while True:
        corners = [[rng.randint(0, 14), rng.randint(0, 14)] for _ in range(3)]
        if abs(_doubled(corners)) >= 30:
            return {"corners": corners}


def _doubled(corners: list[list[int]]) -> int:
    (a, b), (c, d), (e, f) = corners
    return (c - a) * (f - b) - (e - a) * (d - b)


def _pick(p: Params) -> int:
    """Pick: area = inside + border / 2 - 1."""
    corners = p["corners"]
    border = sum(gcd(corners[i][0] - corners[i - 1][0], corners[i][1] - corners[i - 1][1]) for i in range(3))
    return (abs(_doubled(corners)) - border + 2) // 2


def _obtuse(p: Params) -> bool:
    a, b, c = sorted(p["sides"])
    return bool(a * a + b * b < c * c)


def _obtuse_draw(rng: random.Random) -> Params:
    """Sides near a right angle, so that a look is not enough."""
    while True:
        a, b = rng.randint(8, 60), rng.randint(8, 60)
        c = round((a * a + b * b) ** 0.5) + rng.choice((-1, 0, 1))
        if max(a, b) <= c < a + b and a * a + b * b != c * c:
            return {"sides": rng.sample([a, b, c], 3)}


def _poly(coefficients: list[int], x: Fraction) -> Fraction:
    total = Fraction(0)
    for c in coefficients:
        total = total * x + c
    return total


def _simpson(p: Params) -> Fraction:
    low, n = Fraction(p["low"]), int(p["intervals"])
    width = (Fraction(p["high"]) - low) / n
    values = [_poly(p["coefficients"], low + i * width) for i in range(n + 1)]
    return width / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]))


def _simpson_draw(rng: random.Random) -> Params:
    while True:
        low = rng.randint(-3, 2)
        found: Params = {
            "coefficients": [rng.choice((-2, -1, 1, 2)), *(rng.randint(-4, 4) for _ in range(4))],
            "low": low,
            "high": low + rng.randint(2, 5),
            "intervals": rng.choice((2, 4)),
        }
        if abs(_simpson(found)) > 1:
            return found


def _shown(coefficients: list[int]) -> str:
    return " + ".join(f"({c})x^{len(coefficients) - 1 - i}" for i, c in enumerate(coefficients))


def _capacity(p: Params) -> float:
    flip: float = p["flip"] / 1000
    return int(p["uses"]) * (1 + flip * log2(flip) + (1 - flip) * log2(1 - flip))


def _newton(p: Params) -> Fraction:
    x = Fraction(p["start"])
    for _ in range(p["steps"]):
        x -= (x**3 - p["a"]) / (3 * x**2)
    return x


TEMPLATES = (
    Template(
        "pick", AREA, "integer", 2, _pick_draw,
        lambda p: f"How many points with whole coordinates lie strictly inside the triangle with the corners {', '.join(str(tuple(c)) for c in p['corners'])}?",
        _pick,
    ),
    Template(
        "obtuse", AREA, "bool", 1, lambda rng: balanced(rng, _obtuse_draw, _obtuse),
        lambda p: f"Has the triangle with the sides {p['sides'][0]}, {p['sides'][1]} and {p['sides'][2]} an obtuse angle?",
        _obtuse,
    ),
    Template(
        "simpson", AREA, "float", 2, _simpson_draw,
        lambda p: f"Which value does Simpson's rule with {p['intervals']} equal intervals give for the integral of {_shown(p['coefficients'])} from {p['low']} to {p['high']}?",
        _simpson,
    ),
    Template(
        "channel_capacity", AREA, "float", 2,
        lambda rng: {"flip": rng.randint(15, 250), "uses": rng.randint(2, 40)},
        lambda p: f"A binary symmetric channel flips each bit with probability {p['flip'] / 1000:g}. How many bits can at best be sent reliably per {p['uses']} uses of it, in the limit of long codes?",
        _capacity,
    ),
    Template(
        "newton", AREA, "float", 2,
        lambda rng: {"a": rng.randint(3, 120), "start": rng.randint(1, 6), "steps": rng.randint(1, 2)},
        lambda p: f"Newton's method for x^3 = {p['a']} starts at x = {p['start']}. Which value has x after {p['steps']} step{'s' if p['steps'] > 1 else ''}?",
        _newton, held_out=True,
    ),
)  # fmt: skip
