"""Questions of graph theory: spanning trees, circuits, colourings, degrees, walks."""

from __future__ import annotations

import random
from itertools import combinations

from meta_tui.tasks.theorem.linear_algebra import determinant
from meta_tui.tasks.theorem.templates import Params, Template, balanced

AREA = "graph theory"


def _connected(rng: random.Random, points: int, share: float) -> list[list[int]]:
    """Edges of a connected graph on 1..points."""
    tree = [[rng.randint(1, i - 1), i] for i in range(2, points + 1)]
    more = [
        list(p) for p in combinations(range(1, points + 1), 2) if list(p) not in tree and rng.random() < share
    ]
    return sorted(tree + more)


def _graph(rng: random.Random) -> Params:
    points = rng.randint(5, 7)
    return {"points": points, "edges": _connected(rng, points, 0.35)}


def _shown(p: Params) -> str:
    edges = ", ".join(f"{a}-{b}" for a, b in p["edges"])
    return f"the graph with the points 1 to {p['points']} and the edges {edges}"


def _degrees(p: Params) -> list[int]:
    return [sum(point in edge for edge in p["edges"]) for point in range(1, p["points"] + 1)]


def _trees(p: Params) -> int:
    """Kirchhoff: a minor of the Laplacian."""
    degrees = _degrees(p)
    rows = [
        [
            degrees[i - 1] if i == j else -int([min(i, j), max(i, j)] in p["edges"])
            for j in range(2, p["points"] + 1)
        ]
        for i in range(2, p["points"] + 1)
    ]
    return determinant(rows)


def _eulerian(p: Params) -> bool:
    return all(degree % 2 == 0 for degree in _degrees(p))


def _eulerian_draw(rng: random.Random) -> Params:
    points = rng.randint(5, 7)
    return {"points": points, "edges": _connected(rng, points, 0.5)}


def _colourings(p: Params) -> int:
    """Wheel: a hub, and a ring that the other colours colour."""
    ring, k = int(p["ring"]), int(p["colours"])
    return k * _ring(ring, k - 1) if p["hub"] else _ring(ring, k)


def _ring(points: int, colours: int) -> int:
    """Chromatic polynomial of a cycle."""
    last = colours - 1
    return int(last**points) + (last if points % 2 == 0 else -last)


def _colouring_words(p: Params) -> str:
    graph = f"the cycle of {p['ring']} points"
    if p["hub"]:
        graph = f"the wheel made of a cycle of {p['ring']} points and a hub joined to all of them"
    return f"In how many ways can the points of {graph} be coloured with {p['colours']} given colours so that joined points differ?"


def _graphical(p: Params) -> bool:
    """Erdős and Gallai."""
    degrees = sorted(p["degrees"], reverse=True)
    if sum(degrees) % 2:
        return False
    return all(
        sum(degrees[:k]) <= k * (k - 1) + sum(min(d, k) for d in degrees[k:])
        for k in range(1, len(degrees) + 1)
    )


def _graphical_draw(rng: random.Random) -> Params:
    while True:
        count = rng.randint(6, 9)
        degrees = sorted((rng.randint(1, count - 1) for _ in range(count)), reverse=True)
        if sum(degrees) % 2 == 0 or rng.random() < 0.1:
            return {"degrees": degrees}


def _walks(p: Params) -> int:
    counts = {p["start"]: 1}
    for _ in range(p["length"]):
        after: dict[int, int] = {}
        for a, b in [*p["edges"], *([b, a] for a, b in p["edges"])]:
            if a in counts:
                after[b] = after.get(b, 0) + counts[a]
        counts = after
    return counts.get(p["end"], 0)


def _walks_draw(rng: random.Random) -> Params:
    graph = _graph(rng)
    start, end = rng.sample(range(1, graph["points"] + 1), 2)
    return {**graph, "start": start, "end": end, "length": rng.randint(3, 6)}


TEMPLATES = (
    Template("spanning_trees", AREA, "integer", 3, _graph, lambda p: f"How many spanning trees has {_shown(p)}?", _trees),
    Template(
        "eulerian", AREA, "bool", 1, lambda rng: balanced(rng, _eulerian_draw, _eulerian),
        lambda p: f"Is there a closed walk that uses every edge exactly once in {_shown(p)}?",
        _eulerian,
    ),
    Template(
        "colourings", AREA, "integer", 2,
        lambda rng: {"ring": rng.randint(4, 14), "colours": rng.randint(3, 8), "hub": rng.random() < 0.5},
        _colouring_words, _colourings,
    ),
    Template(
        "graphical", AREA, "bool", 2, lambda rng: balanced(rng, _graphical_draw, _graphical),
        lambda p: f"Is there a simple graph whose points have the degrees {', '.join(map(str, p['degrees']))}?",
        _graphical,
    ),
    Template(
        "walks", AREA, "integer", 2, _walks_draw,
        lambda p: f"How many walks of exactly {p['length']} steps lead from {p['start']} to {p['end']} in {_shown(p)}? A walk may use points and edges again.",
        _walks, held_out=True,
    ),
)  # fmt: skip
