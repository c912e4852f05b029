"""Problems on graphs: independent set, round trip, colouring."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from math import hypot
from typing import Any

from meta_tui.tasks.opt.problems import Infeasible, Instance, Problem, every_one, integers, once_each

Edges = list[list[int]]


def _edges(rng: random.Random, points: int, share: float) -> Edges:
    return [list(pair) for pair in combinations(range(points), 2) if rng.random() < share]


def _listed(edges: Edges) -> str:
    return ", ".join(f"{a}-{b}" for a, b in edges)


def _masks(instance: Instance) -> list[int]:
    """The neighbours of each point as bits."""
    masks = [0] * instance["points"]
    for a, b in instance["edges"]:
        masks[a] |= 1 << b
        masks[b] |= 1 << a
    return masks


def _bits(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _set_draw(rng: random.Random, large: bool) -> Instance:
    points = rng.randint(90, 120) if large else rng.randint(24, 40)
    return {"points": points, "edges": _edges(rng, points, 0.08 if large else 0.15), "large": large}


def _set_solve(instance: Instance) -> tuple[list[int], int]:
    masks = _masks(instance)
    everything = (1 << instance["points"]) - 1
    best = _greedy(masks, everything)
    if not instance["large"]:
        best = _exact(masks, everything, 0, best)
    return _bits(best), best.bit_count()


def _greedy(masks: list[int], left: int) -> int:
    """The point with the fewest neighbours left, again and again."""
    chosen = 0
    while left:
        point = min(_bits(left), key=lambda p: (masks[p] & left).bit_count())
        chosen |= 1 << point
        left &= ~(masks[point] | 1 << point)
    return chosen


def _exact(masks: list[int], left: int, chosen: int, best: int) -> int:
    """Branch on the point with the most neighbours left; points with one or none are taken."""
    if chosen.bit_count() + left.bit_count() <= best.bit_count():
        return best
    while left:
        points = _bits(left)
        degrees = {p: (masks[p] & left).bit_count() for p in points}
        low = min(points, key=lambda p: degrees[p])
        if degrees[low] > 1:
            break
        chosen |= 1 << low
        left &= ~(masks[low] | 1 << low)
    if not left:
        return chosen if chosen.bit_count() > best.bit_count() else best
    high = max(points, key=lambda p: degrees[p])
    best = _exact(masks, left & ~(masks[high] | 1 << high), chosen | 1 << high, best)
    return _exact(masks, left & ~(1 << high), chosen, best)


def _set_value(instance: Instance, construction: Any) -> int:
    points = integers(construction, "the set")
    once_each(points, instance["points"], "point")
    inside = set(points)
    for a, b in instance["edges"]:
        if a in inside and b in inside:
            raise Infeasible(f"the points {a} and {b} are joined")
    return len(points)


def _tour_draw(rng: random.Random, large: bool) -> Instance:
    count = rng.randint(35, 45) if large else rng.randint(9, 12)
    places: Edges = []
    while len(places) < count:
        place = [rng.randint(0, 99), rng.randint(0, 99)]
        if place not in places:
            places.append(place)
    return {"places": places, "large": large}


def _distances(instance: Instance) -> list[list[int]]:
    places = instance["places"]
    return [[round(hypot(a - c, b - d)) for c, d in places] for a, b in places]


def _tour_solve(instance: Instance) -> tuple[list[int], int]:
    way = _distances(instance)
    tour = _two_opt(way) if instance["large"] else _held_karp(way)
    return tour, _length(way, tour)


def _length(way: list[list[int]], tour: list[int]) -> int:
    return sum(way[a][b] for a, b in pairwise([*tour, tour[0]]))


def _held_karp(way: list[list[int]]) -> list[int]:
    """Exact: the shortest way from 0 through a set of places to each of them."""
    count = len(way) - 1
    best: list[dict[int, tuple[int, int]]] = [{} for _ in range(1 << count)]
    for last in range(count):
        best[1 << last][last] = (way[0][last + 1], -1)
    for visited in range(1, 1 << count):
        for last, (cost, _) in best[visited].items():
            for after in range(count):
                if not visited >> after & 1:
                    total = cost + way[last + 1][after + 1]
                    held = best[visited | 1 << after].get(after)
                    if held is None or total < held[0]:
                        best[visited | 1 << after][after] = (total, last)
    everything = (1 << count) - 1
    last = min(best[everything], key=lambda p: best[everything][p][0] + way[p + 1][0])
    tour, visited = [], everything
    while last >= 0:
        tour.append(last + 1)
        visited, last = visited & ~(1 << last), best[visited][last][1]
    return [0, *tour[::-1]]


def _two_opt(way: list[list[int]]) -> list[int]:
    """Nearest neighbour from every place, each improved by turning parts around; the best."""
    return min(
        (_improved(way, _nearest(way, start)) for start in range(0, len(way), 5)),
        key=lambda t: _length(way, t),
    )


def _nearest(way: list[list[int]], start: int) -> list[int]:
    tour, left = [start], set(range(len(way))) - {start}
    while left:
        tour.append(min(sorted(left), key=lambda p: way[tour[-1]][p]))
        left.remove(tour[-1])
    return tour


def _improved(way: list[list[int]], tour: list[int]) -> list[int]:
    better = True
    while better:
        better = False
        for i, j in combinations(range(len(tour)), 2):
            before, after = tour[i - 1], tour[(j + 1) % len(tour)]
            if before == tour[j]:
                continue
            old = way[before][tour[i]] + way[tour[j]][after]
            if way[before][tour[j]] + way[tour[i]][after] < old:
                tour[i : j + 1] = tour[i : j + 1][::-1]
                better = True
    return tour


def _tour_value(instance: Instance, construction: Any) -> int:
    tour = integers(construction, "the tour")
    if len(tour) == len(instance["places"]) + 1 and tour[0] == tour[-1]:
        tour = tour[:-1]
    every_one(tour, len(instance["places"]), "place")
    return _length(_distances(instance), tour)


def _colour_draw(rng: random.Random, large: bool) -> Instance:
    points = rng.randint(60, 80) if large else rng.randint(14, 20)
    return {"points": points, "edges": _edges(rng, points, 0.3), "large": large}


def _colour_solve(instance: Instance) -> tuple[list[int], int]:
    masks = _masks(instance)
    best = _dsatur(masks)
    if not instance["large"]:
        while (fewer := _with_colours(masks, max(best), [-1] * len(masks))) is not None:
            best = fewer
    return best, max(best) + 1


def _dsatur(masks: list[int]) -> list[int]:
    colours = [-1] * len(masks)
    for _ in masks:
        point = _next_point(masks, colours)
        colours[point] = min(set(range(len(masks))) - _around(masks, colours, point))
    return colours


def _next_point(masks: list[int], colours: list[int]) -> int:
    """The open point that sees the most colours, then the one with the most neighbours."""
    free = [p for p in range(len(masks)) if colours[p] < 0]
    return max(free, key=lambda p: (len(_around(masks, colours, p)), masks[p].bit_count(), -p))


def _around(masks: list[int], colours: list[int], point: int) -> set[int]:
    return {colours[n] for n in _bits(masks[point]) if colours[n] >= 0}


def _with_colours(masks: list[int], most: int, colours: list[int]) -> list[int] | None:
    """A colouring with `most` colours, by exhaustive search; a new colour is opened only once."""
    if -1 not in colours:
        return colours
    point = _next_point(masks, colours)
    taken = _around(masks, colours, point)
    for colour in range(min(most, max(colours) + 2)):
        if colour not in taken:
            tried = [*colours[:point], colour, *colours[point + 1 :]]
            if (found := _with_colours(masks, most, tried)) is not None:
                return found
    return None


def _colour_value(instance: Instance, construction: Any) -> int:
    colours = integers(construction, "the colours")
    if len(colours) != instance["points"]:
        raise Infeasible(f"{len(colours)} colours are given for {instance['points']} points")
    for a, b in instance["edges"]:
        if colours[a] == colours[b]:
            raise Infeasible(f"the joined points {a} and {b} have one colour")
    return len(set(colours))


PROBLEMS = (
    Problem(
        "independent_set", "max", 2, _set_draw,
        lambda i: f"A graph has the points 0 to {i['points'] - 1} and the edges {_listed(i['edges'])}. Choose as many points as you can so that no two chosen points are joined. Answer with a JSON list of the chosen points.",
        _set_solve, _set_value,
    ),
    Problem(
        "round_trip", "min", 2, _tour_draw,
        lambda i: f"The places 0 to {len(i['places']) - 1} have the coordinates {', '.join(str(tuple(p)) for p in i['places'])}. Distances are straight lines, each rounded to a whole number. Find a short round trip through all places. Answer with a JSON list of all places in the order of the trip.",
        _tour_solve, _tour_value,
    ),
    Problem(
        "colouring", "min", 2, _colour_draw,
        lambda i: f"A graph has the points 0 to {i['points'] - 1} and the edges {_listed(i['edges'])}. Colour its points with as few colours as you can so that joined points differ. Answer with a JSON list of the colours (integers) of point 0, 1, 2 and so on.",
        _colour_solve, _colour_value, held_out=True,
    ),
)  # fmt: skip
