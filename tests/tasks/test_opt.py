"""Small optimisation: optima agree with brute force, constructions are checked from scratch, and
scores are fair."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from functools import cache
from math import hypot
from typing import Any

import pytest

from meta_tui.errors import UsageError
from meta_tui.tasks import Grade, Sample, grade
from meta_tui.tasks.opt import PROBLEMS, evaluate, generate


@cache
def samples(kind: str, large: bool = False) -> tuple[Sample, ...]:
    return tuple(generate(index, 2031, kind=kind, large=large) for index in range(3 if large else 12))


def best_set(instance: dict[str, Any]) -> int:
    edges = {frozenset(edge) for edge in instance["edges"]}
    points = range(instance["points"])
    for size in range(instance["points"], 0, -1):
        for chosen in itertools.combinations(points, size):
            if not any(frozenset(pair) in edges for pair in itertools.combinations(chosen, 2)):
                return size
    return 0


def best_trip(instance: dict[str, Any]) -> int:
    places = instance["places"]
    way = [[round(hypot(a - c, b - d)) for c, d in places] for a, b in places]
    rest = range(1, len(places))
    return min(
        sum(way[a][b] for a, b in itertools.pairwise((0, *order, 0)))
        for order in itertools.permutations(rest)
    )


def best_colours(instance: dict[str, Any]) -> int:
    for most in range(1, 9):
        for colours in itertools.product(range(most), repeat=instance["points"]):
            if all(colours[a] != colours[b] for a, b in instance["edges"]):
                return most
    return 9


def best_knapsack(instance: dict[str, Any]) -> int:
    items = list(zip(instance["weights"], instance["values"], strict=True))
    best = 0
    for chosen in itertools.product((0, 1), repeat=len(items)):
        if sum(w for (w, _), c in zip(items, chosen, strict=True) if c) <= instance["capacity"]:
            best = max(best, sum(v for (_, v), c in zip(items, chosen, strict=True) if c))
    return best


def best_bins(instance: dict[str, Any]) -> int:
    """Subsets: the fewest bins for each, by the bin that holds its first item."""
    sizes = instance["sizes"]
    everything = (1 << len(sizes)) - 1
    weight = [0] * (everything + 1)
    for mask in range(1, everything + 1):
        low = (mask & -mask).bit_length() - 1
        weight[mask] = weight[mask & (mask - 1)] + sizes[low]
    fewest = [0] + [99] * everything
    for mask in range(1, everything + 1):
        low = mask & -mask
        rest = mask ^ low
        part = rest
        while True:
            if weight[part | low] <= instance["capacity"]:
                fewest[mask] = min(fewest[mask], fewest[rest ^ part] + 1)
            if part == 0:
                break
            part = (part - 1) & rest
    return fewest[everything]


def best_sheet(instance: dict[str, Any]) -> int:
    """Every cut at every place, part by part."""

    @cache
    def best(w: int, h: int) -> int:
        found = max([v for pw, ph, v in instance["pieces"] if pw <= w and ph <= h], default=0)
        cuts = [best(c, h) + best(w - c, h) for c in range(1, w // 2 + 1)]
        cuts += [best(w, c) + best(w, h - c) for c in range(1, h // 2 + 1)]
        return max([found, *cuts])

    for w, h in itertools.product(range(1, instance["width"] + 1), range(1, instance["height"] + 1)):
        best(w, h)
    return best(instance["width"], instance["height"])


def best_workshop(instance: dict[str, Any]) -> int:
    """Every order of all steps, each started as early as it goes."""
    jobs = instance["jobs"]
    best = 10**6
    for order in set(itertools.permutations([0, 0, 0, 1, 1, 1, 2, 2, 2])):
        done, free, step = [0] * 3, [0] * 3, [0] * 3
        for job in order:
            machine, length = jobs[job][step[job]]
            end = max(done[job], free[machine]) + length
            done[job] = free[machine] = end
            step[job] += 1
        best = min(best, max(done))
    return best


BRUTE = {
    "independent_set": best_set,
    "round_trip": best_trip,
    "colouring": best_colours,
    "knapsack": best_knapsack,
    "bins": best_bins,
    "sheet": best_sheet,
    "workshop": best_workshop,
}


def small(kind: str, rng: random.Random) -> dict[str, Any]:
    """An instance that brute force can do."""
    if kind in ("independent_set", "colouring"):
        points = rng.randint(5, 8)
        edges = [list(p) for p in itertools.combinations(range(points), 2) if rng.random() < 0.45]
        return {"points": points, "edges": edges, "large": False}
    if kind == "round_trip":
        return {"places": [[rng.randint(0, 99), rng.randint(0, 99)] for _ in range(7)], "large": False}
    if kind == "knapsack":
        weights = [rng.randint(5, 60) for _ in range(9)]
        return {
            "weights": weights,
            "values": [w + rng.randint(0, 20) for w in weights],
            "capacity": 120,
            "large": False,
        }
    if kind == "bins":
        return {"sizes": [rng.randint(12, 62) for _ in range(9)], "capacity": 100, "large": False}
    if kind == "sheet":
        pieces = [[rng.randint(3, 9), rng.randint(3, 9), rng.randint(3, 30)] for _ in range(5)]
        return {"width": 22, "height": 15, "pieces": pieces, "large": False}
    jobs = [[[m, rng.randint(1, 9)] for m in rng.sample(range(3), 3)] for _ in range(3)]
    return {"jobs": jobs, "large": False}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_optimum_is_that_of_brute_force(kind: str) -> None:
    rng = random.Random(3)
    for _ in range(12 if kind != "workshop" else 4):
        instance = small(kind, rng)
        construction, best = PROBLEMS[kind].solve(instance)
        assert best == BRUTE[kind](instance), instance
        assert PROBLEMS[kind].value(instance, construction) == best


def test_bins_are_filled_to_the_brim_where_first_fit_needs_one_more() -> None:
    """First fit by size gives 50+40, 40+30+20, 20; two bins hold all: 50+30+20 and 40+40+20."""
    instance = {"sizes": [50, 40, 40, 30, 20, 20], "capacity": 100, "large": False}
    assert PROBLEMS["bins"].solve(instance)[1] == 2
    assert PROBLEMS["bins"].solve(instance | {"large": True})[1] == 3


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_witness_reaches_the_target(kind: str) -> None:
    for sample in samples(kind):
        found = evaluate(sample, json.loads(sample.meta["witness"]))
        assert (found.verdict, found.score, str(found.details["value"])) == ("correct", 1.0, sample.target)
        assert sample.meta["reference"] == "optimum"


@pytest.mark.parametrize("kind", PROBLEMS)
def test_random_feasible_constructions_are_never_better_than_the_optimum(kind: str) -> None:
    rng = random.Random(9)
    for sample in samples(kind):
        for _ in range(40):
            found = evaluate(sample, guess(kind, sample.meta["instance"], rng))
            assert found.details.get("relative", 0) <= 1


def guess(kind: str, instance: dict[str, Any], rng: random.Random) -> Any:
    if kind == "independent_set":
        return rng.sample(range(instance["points"]), rng.randint(1, 6))
    if kind == "round_trip":
        return rng.sample(range(len(instance["places"])), len(instance["places"]))
    if kind == "colouring":
        return [rng.randrange(12) for _ in range(instance["points"])]
    if kind == "knapsack":
        return rng.sample(range(len(instance["weights"])), 4)
    if kind == "bins":
        return [[item] for item in range(len(instance["sizes"]))]
    if kind == "sheet":
        return [[rng.randrange(8), rng.randint(0, 20), rng.randint(0, 20)] for _ in range(2)]
    return [[rng.randint(0, 40), rng.randint(40, 80), rng.randint(80, 120)] for _ in instance["jobs"]]


GRAPH = {"points": 4, "edges": [[0, 1], [1, 2], [2, 3]], "large": False}
SHEET = {"width": 10, "height": 10, "pieces": [[5, 5, 3], [10, 4, 9]], "large": False}
SHOP = {"jobs": [[[0, 2], [1, 3], [2, 1]]] * 2, "large": False}


def of(kind: str, instance: dict[str, Any], best: int) -> Sample:
    goal = PROBLEMS[kind].goal
    return Sample(
        input="",
        target=str(best),
        task="opt",
        meta={"kind": kind, "instance": instance, "best": best, "goal": goal},
    )


@pytest.mark.parametrize(
    ("kind", "instance", "construction", "reason"),
    [
        ("independent_set", GRAPH, [0, 1], "0 and 1 are joined"),
        ("independent_set", GRAPH, [0, 4], "no point 4"),
        ("independent_set", GRAPH, [0, 0], "twice"),
        ("independent_set", GRAPH, ["a"], "list of integers"),
        ("independent_set", GRAPH, [True], "list of integers"),
        ("round_trip", {"places": [[0, 0], [3, 4], [6, 0]]}, [0, 1], "1 of 3 places are missing"),
        ("round_trip", {"places": [[0, 0], [3, 4], [6, 0]]}, [0, 1, 1], "twice"),
        ("colouring", GRAPH, [0, 0, 1, 0], "0 and 1 have one colour"),
        ("colouring", GRAPH, [0, 1, 0], "3 colours"),
        ("knapsack", {"weights": [5, 6], "values": [1, 1], "capacity": 10}, [0, 1], "weigh 11"),
        ("bins", {"sizes": [60, 50], "capacity": 100}, [[0, 1]], "holds 110"),
        ("bins", {"sizes": [60, 50], "capacity": 100}, [[0]], "missing"),
        ("bins", {"sizes": [60, 50], "capacity": 100}, [0, 1], "list of integers"),
        ("sheet", SHEET, [[0, 6, 0]], "leaves the sheet"),
        ("sheet", SHEET, [[0, 0, 0], [0, 2, 2]], "overlap"),
        ("sheet", SHEET, [[7, 0, 0]], "no [piece, x, y]"),
        ("workshop", SHOP, [[0, 2, 5], [0, 5, 8]], "two jobs at once"),
        ("workshop", SHOP, [[0, 1, 5], [2, 5, 8]], "before its last step ends"),
        ("workshop", SHOP, [[0, 2, 5]], "list of 2 lists"),
    ],
)
def test_an_infeasible_construction_scores_nothing_and_is_told_why(
    kind: str, instance: dict[str, Any], construction: Any, reason: str
) -> None:
    found = evaluate(of(kind, instance, 2), construction)
    assert (found.verdict, found.score) == ("incorrect", 0.0)
    assert reason in found.details["feedback"]


def test_pieces_that_no_straight_cuts_set_free_are_infeasible() -> None:
    """The pinwheel: four pieces around a middle one."""
    instance = {"width": 3, "height": 3, "pieces": [[2, 1, 2], [1, 2, 2], [1, 1, 1]], "large": False}
    wheel = [[0, 0, 0], [1, 2, 0], [0, 1, 2], [1, 0, 1], [2, 1, 1]]
    assert "straight cuts" in evaluate(of("sheet", instance, 8), wheel).reason
    assert (
        evaluate(of("sheet", instance, 8), [[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 2, 0]]).details["value"] == 8
    )


def test_scores_are_shares_of_the_optimum_either_way_round() -> None:
    assert evaluate(of("independent_set", GRAPH, 2), [0]).score == 0.5
    assert evaluate(of("independent_set", GRAPH, 2), [0, 2]).verdict == "correct"
    assert evaluate(of("colouring", GRAPH, 2), [0, 1, 2, 3]).score == 0.5
    assert evaluate(of("independent_set", GRAPH, 2), []).score == 0


def test_a_round_trip_may_name_its_start_again() -> None:
    places = {"places": [[0, 0], [3, 4], [6, 0]]}
    assert evaluate(of("round_trip", places, 16), [0, 1, 2, 0]).details["value"] == 16


def graded(sample: Sample, answer: str) -> Grade:
    return asyncio.run(grade(sample, f'>> FINAL ANSWER:\n"""\n{answer}\n"""'))


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("[0, 2]", 1.0),
        ("The set is [0, 2], of size 2.", 1.0),
        ("```json\n[0,\n 2]\n```", 1.0),
        ("[1] then I improved it to [1, 3]", 1.0),
        ("size 99: [0]", 0.5),
        ("none", 0.0),
        ("[" * 20_000, 0.0),
        ("[" * 9_000 + "]" * 9_000, 0.0),
        ("[0, 2", 0.0),
    ],
    ids=range(9),
)
def test_the_construction_is_found_in_the_answer_and_claims_are_not_read(answer: str, score: float) -> None:
    assert graded(of("independent_set", GRAPH, 2), answer).score == score


@pytest.mark.parametrize("kind", PROBLEMS)
def test_large_instances_are_scored_relative_to_a_reference(kind: str) -> None:
    for sample in samples(kind, large=True):
        assert evaluate(sample, json.loads(sample.meta["witness"])).verdict == "correct"
        exact = kind in ("knapsack", "sheet")
        assert sample.meta["reference"] == ("optimum" if exact else "heuristic")


def test_better_than_the_reference_is_told_unclipped() -> None:
    found = evaluate(of("independent_set", GRAPH, 1), [0, 2])
    assert (found.score, found.details["relative"]) == (1.0, 2.0)


def test_a_sample_without_an_instance_is_an_error() -> None:
    with pytest.raises(UsageError, match="no instance"):
        graded(Sample(input="", target="2", task="opt"), "[1]")
