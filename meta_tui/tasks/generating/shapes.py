"""Geometric shapes: an SVG path of M, L and A commands, and options of which exactly one is true.

The published set names rectangles "trapezoid" and circles "ellipse"; here those are drawn as what
they are called, and an option that would also be true of the drawing is left out. Coordinates have
two decimals; what rounding could make doubtful (thin angles, nearly equal sides) is never drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations
from math import cos, hypot, pi, radians, sin

from meta_tui.tasks import Sample
from meta_tui.tasks.generating import among, chance, kind_of, make

Point = tuple[float, float]

BASE = (
    "circle", "heptagon", "hexagon", "kite", "line", "octagon", "pentagon", "rectangle", "sector", "triangle",
)  # fmt: skip
WIDE = (*BASE, "trapezoid", "ellipse")
ALSO_TRUE = {"circle": "ellipse", "rectangle": "trapezoid"}
"""Drawing -> an option that is true of it as well, and so cannot stand beside it."""

SMALLEST_SIDE = 4.0
LEAST_TURN = radians(8)


def generate(index: int, seed: int, *, options: int = 12) -> Sample:
    """A path and its options; all shapes in turn.

    Args:
        options: 10 for the shapes of BIG-Bench Hard, 12 to draw trapezoids and ellipses too (then
            10 to 12 options are shown).

    Raises:
        UsageError: options is neither.
    """
    shapes = BASE if among("options", options, (10, 12)) == 10 else WIDE
    rng = chance("shapes", seed, index)
    shape = kind_of(shapes, index, seed)
    shown = _shown(rng, shape, shapes)
    path = DRAW[shape](rng)
    letter = f"({chr(65 + shown.index(shape))})"
    lines = [f"({chr(65 + i)}) {name}" for i, name in enumerate(shown)]
    question = f'Which shape does this SVG path draw: <path d="{path}"/>\nOptions:\n' + "\n".join(lines)
    commands = sum(path.count(command) for command in "MLA")
    return make(
        "shapes", index, seed, question, letter,
        kind=shape, difficulty=_difficulty(shape, path), witness=letter, commands=commands,
    )  # fmt: skip


def _shown(rng: random.Random, shape: str, shapes: tuple[str, ...]) -> list[str]:
    """The options. The doubtful ones are left out for other drawings too, so that a missing
    option does not give the answer away."""
    shown = [name for name in shapes if name != ALSO_TRUE.get(shape)]
    for doubtful in ALSO_TRUE.values():
        if doubtful in shown and doubtful != shape and rng.random() < 0.5:
            shown.remove(doubtful)
    return shown


def _difficulty(shape: str, path: str) -> str:
    if shape in ("line", "triangle") or (shape in ("sector", "circle") and path.count("M") == 1):
        return "easy"
    return "hard" if path.count("M") > 2 or shape in ("trapezoid", "kite", "ellipse") else "medium"


def _line(rng: random.Random) -> str:
    while True:
        a, b = _spot(rng), _spot(rng)
        if _distance(a, b) >= 20:
            return f"M {_xy(a)} L {_xy(b)}"


def _polygon(sides: int) -> Callable[[random.Random], str]:
    def draw(rng: random.Random) -> str:
        while True:
            points = _star(rng, sides)
            if _is_clean(points):
                return _outline(rng, points)

    return draw


def _star(rng: random.Random, sides: int) -> list[Point]:
    """Points around a centre, at growing angles that leave no gap of half a turn: they cannot cross."""
    while True:
        angles = sorted(rng.uniform(0, 2 * pi) for _ in range(sides))
        gaps = [b - a for a, b in zip(angles, [*angles[1:], angles[0] + 2 * pi], strict=True)]
        if max(gaps) < 0.9 * pi and min(gaps) > pi / 30:
            break
    return [_about((50, 50), rng.uniform(15, 45), angle) for angle in angles]


def _is_clean(points: list[Point]) -> bool:
    """Sides long enough, and no three corners near one line."""
    if min(_distance(a, b) for a, b in _sides(points)) < SMALLEST_SIDE:
        return False
    return all(_is_bent(a, b, c) for a, b, c in combinations(points, 3))


def _is_bent(a: Point, b: Point, c: Point) -> bool:
    area = abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]))
    return all(
        area > sin(LEAST_TURN) * _distance(x, y) * _distance(x, z)
        for x, y, z in ((a, b, c), (b, a, c), (c, a, b))
    )


def _rectangle(rng: random.Random) -> str:
    short = rng.uniform(10, 35)
    long = short * rng.uniform(1.2, min(4.0, 60 / short))
    corners = [(-long / 2, -short / 2), (long / 2, -short / 2), (long / 2, short / 2), (-long / 2, short / 2)]
    return _outline(rng, _placed(rng, corners))


def _trapezoid(rng: random.Random) -> str:
    long, height = rng.uniform(30, 55), rng.uniform(12, 30)
    short = long * rng.uniform(0.3, 0.8)
    shift = rng.uniform(-0.2, 1.2) * (long - short)
    corners = [(0, 0), (long, 0), (shift + short, height), (shift, height)]
    middle = long / 2
    return _outline(rng, _placed(rng, [(x - middle, y - height / 2) for x, y in corners]))


def _kite(rng: random.Random) -> str:
    while True:
        half, top, bottom = rng.uniform(8, 25), rng.uniform(6, 20), rng.uniform(15, 45)
        if hypot(half, bottom) >= 1.25 * hypot(half, top):
            corners = [(0, -top), (half, 0), (0, bottom), (-half, 0)]
            middle = (bottom - top) / 2
            return _outline(rng, _placed(rng, [(x, y - middle) for x, y in corners]))


def _sector(rng: random.Random) -> str:
    radius = rng.uniform(12, 30)
    sweep = rng.choice([rng.uniform(35, 150), rng.uniform(210, 320)])
    centre, start = (rng.uniform(32, 68), rng.uniform(32, 68)), rng.uniform(0, 360)
    ends = [_about(centre, radius, radians(start)), _about(centre, radius, radians(start + sweep))]
    clockwise = rng.random() < 0.5
    if not clockwise:
        ends.reverse()
    rotation = rng.uniform(0, 360)
    arc = f"A {radius:.2f},{radius:.2f} {rotation:.2f} {int(sweep > 180)},{int(clockwise)} {_xy(ends[1])}"
    steps = [(ends[0], f"L {_xy(ends[0])}"), (ends[1], arc), (centre, f"L {_xy(centre)}")]
    return _closed(rng, steps, rng.randrange(3))


def _circle(rng: random.Random) -> str:
    radius = rng.uniform(8, 35)
    return _oval(rng, radius, radius)


def _ellipse(rng: random.Random) -> str:
    radius = rng.uniform(15, 38)
    return _oval(rng, radius, radius * rng.uniform(0.3, 0.8))


def _oval(rng: random.Random, across: float, along: float) -> str:
    angle = rng.uniform(0, 360)
    centre = (rng.uniform(42, 58), rng.uniform(42, 58))
    a = _about(centre, across, radians(angle))
    b = _about(centre, across, radians(angle) + pi)
    flags = f"A {across:.2f},{along:.2f} {angle:.2f} 1,{rng.randrange(2)}"
    return f"M {_xy(a)} {flags} {_xy(b)} {flags} {_xy(a)}"


def _outline(rng: random.Random, points: list[Point]) -> str:
    """The closed path of a polygon from any corner, either way round."""
    turned = points if rng.random() < 0.5 else points[::-1]
    return _closed(rng, [(point, f"L {_xy(point)}") for point in turned], rng.randrange(len(points)))


def _closed(rng: random.Random, steps: list[tuple[Point, str]], start: int) -> str:
    """The steps in order from `start`'s point back to it; at times the pen is lifted on the way."""
    order = steps[start + 1 :] + steps[: start + 1]
    lifting = rng.choice([0.0, 0.4])
    parts = [f"M {_xy(steps[start][0])}"]
    for place, (point, command) in enumerate(order):
        parts.append(command)
        if place + 1 < len(order) and rng.random() < lifting:
            parts.append(f"M {_xy(point)}")
    return " ".join(parts)


def _placed(rng: random.Random, corners: list[Point]) -> list[Point]:
    """Corners around the origin, turned and moved into the picture."""
    angle, x, y = rng.uniform(0, 2 * pi), rng.uniform(44, 56), rng.uniform(44, 56)
    return [
        (x + px * cos(angle) - py * sin(angle), y + px * sin(angle) + py * cos(angle)) for px, py in corners
    ]


def _about(centre: Point, radius: float, angle: float) -> Point:
    return centre[0] + radius * cos(angle), centre[1] + radius * sin(angle)


def _spot(rng: random.Random) -> Point:
    return rng.uniform(2, 98), rng.uniform(2, 98)


def _sides(points: list[Point]) -> list[tuple[Point, Point]]:
    return list(zip(points, [*points[1:], points[0]], strict=True))


def _distance(a: Point, b: Point) -> float:
    return hypot(a[0] - b[0], a[1] - b[1])


def _xy(point: Point) -> str:
    return f"{point[0]:.2f},{point[1]:.2f}"


DRAW: dict[str, Callable[[random.Random], str]] = {
    "line": _line,
    "triangle": _polygon(3),
    "pentagon": _polygon(5),
    "hexagon": _polygon(6),
    "heptagon": _polygon(7),
    "octagon": _polygon(8),
    "rectangle": _rectangle,
    "trapezoid": _trapezoid,
    "kite": _kite,
    "sector": _sector,
    "circle": _circle,
    "ellipse": _ellipse,
}
"""Shape -> how it is drawn."""
