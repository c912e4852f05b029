"""Theorem questions: every exact value is worked out a second way, by counting or by simulation of
the definition; yes and no are balanced; answers are graded by type."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import factorial, gcd, isclose, log2
from typing import Any

import pytest

from meta_tui.errors import UsageError
from meta_tui.tasks import Grade, Sample, family, grade
from meta_tui.tasks.theorem import AREAS, HELD_OUT, TEMPLATES, generate
from meta_tui.tasks.theorem.templates import Params

P = dict[str, Any]


@cache
def questions(name: str) -> tuple[Sample, ...]:
    """Questions of one theorem from several seeds, the test split's, small ones among them."""
    found = []
    for seed in range(2000, 2008):
        for index in range(2 * len(TEMPLATES)):
            sample = generate(index, seed)
            if sample.meta["kind"] == name:
                found.append(sample)
    return tuple(found)


def residues(p: P) -> bool:
    return p["a"] in {x * x % p["p"] for x in range(p["p"])}


def power(p: P) -> int:
    value = 1
    for _ in range(p["exponent"]):
        value = value * p["base"] % p["modulus"]
    return value


def divisors(p: P) -> int:
    return sum(p["n"] % d == 0 and d % p["d"] != 0 for d in range(1, p["n"] + 1))


def zeros(p: P) -> int:
    value, count = factorial(p["n"]), 0
    while value % p["base"] == 0:
        value, count = value // p["base"], count + 1
    return count


def necklaces(p: P) -> int | None:
    n, k = p["beads"], p["colours"]
    if k**n > 20_000:
        return None
    seen = set()
    for beads in itertools.product(range(k), repeat=n):
        turned = [beads[i:] + beads[:i] for i in range(n)]
        seen.add(min(turned + ([b[::-1] for b in turned] if p["flips"] else [])))
    return len(seen)


def fixed(p: P) -> int | None:
    if p["n"] > 8:
        return None
    return sum(
        sum(i == x for i, x in enumerate(order)) == p["fixed"]
        for order in itertools.permutations(range(p["n"]))
    )


def surjections(p: P) -> int:
    """Letter by letter: how many ways to have filled so many boxes."""
    ways = {0: 1}
    for _ in range(p["n"]):
        after: dict[int, int] = {}
        for filled, count in ways.items():
            after[filled] = after.get(filled, 0) + count * filled
            after[filled + 1] = after.get(filled + 1, 0) + count * (p["k"] - filled)
        ways = after
    return ways[p["k"]]


def paths(p: P) -> int:
    """Point by point."""
    (right, up), closed = p["goal"], tuple(p["closed"])
    counts: dict[tuple[int, int], int] = {}
    for x, y in itertools.product(range(right + 1), range(up + 1)):
        ways = 1 if (x, y) == (0, 0) else counts.get((x - 1, y), 0) + counts.get((x, y - 1), 0)
        counts[x, y] = 0 if (x, y) == closed else ways
    return counts[right, up]


def bounded(p: P) -> int:
    ways = [1] + [0] * p["total"]
    for _ in range(p["parts"]):
        ways = [sum(ways[t - x] for x in range(min(p["most"], t) + 1)) for t in range(p["total"] + 1)]
    return ways[p["total"]]


def bayes(p: P) -> float:
    """A crowd of people, counted."""
    crowd = 1_000_000.0
    ill = crowd * p["ill"] / 100
    true, false = ill * (p["hit"] / 100) ** p["tests"], (crowd - ill) * (p["false"] / 100) ** p["tests"]
    return true / (true + false)


def ruin(p: P) -> float:
    """Round by round until the game has ended for nearly all."""
    win = p["win"] / 100
    shares = {p["start"]: 1.0}
    ended = 0.0
    for _ in range(3000):
        after: dict[int, float] = {}
        for coins, share in shares.items():
            for now, part in ((coins + 1, share * win), (coins - 1, share * (1 - win))):
                if now == 0:
                    ended += part
                elif now < p["goal"]:
                    after[now] = after.get(now, 0) + part
        shares = after
    return ended


def chain(p: P) -> float:
    works = 1.0
    for _ in range(p["steps"]):
        works = works * (1 - p["leave"] / 100) + (1 - works) * p["enter"] / 100
    return works


def poisson(p: P) -> float:
    """A binomial of very many very rare calls."""
    n = 400_000
    chance = p["rate"] / 10 / n
    term, below = (1 - chance) ** n, 0.0
    for k in range(p["least"]):
        below += term
        term *= (n - k) / (k + 1) * chance / (1 - chance)
    return 1 - below


def collector(p: P) -> float:
    """Expected packets from the distribution of how many kinds are known, packet by packet."""
    known, total = {0: 1.0}, 0.0
    for _ in range(4000):
        open_ = sum(share for have, share in known.items() if have < p["wanted"])
        total += open_
        after: dict[int, float] = {}
        for have, share in known.items():
            if have < p["wanted"]:
                after[have] = after.get(have, 0) + share * have / p["kinds"]
                after[have + 1] = after.get(have + 1, 0) + share * (1 - have / p["kinds"])
        known = after
    return total


def leibniz(rows: list[list[int]]) -> int:
    total = 0
    for order in itertools.permutations(range(len(rows))):
        sign = (-1) ** sum(a > b for a, b in itertools.combinations(order, 2))
        product = sign
        for row, column in enumerate(order):
            product *= rows[row][column]
        total += product
    return total


def eigenvalues(p: P) -> list[int]:
    (a, b), (c, d) = p["rows"]
    return [x for x in range(-200, 201) if (a - x) * (d - x) - b * c == 0]


def rank(p: P) -> int:
    """The largest square part with a determinant other than 0."""
    rows = p["rows"]
    for size in range(4, 0, -1):
        for chosen in itertools.combinations(range(4), size):
            for columns in itertools.combinations(range(5), size):
                if leibniz([[rows[r][c] for c in columns] for r in chosen]):
                    return size
    return 0


def definite(p: P) -> bool:
    numpy = pytest.importorskip("numpy")
    return bool(min(numpy.linalg.eigvalsh(numpy.array(p["rows"], dtype=float))) > 1e-9)


def system(p: P) -> list[int]:
    for candidate in itertools.product(range(-9, 10), repeat=3):
        sums = [sum(a * x for a, x in zip(row, candidate, strict=True)) for row in p["rows"]]
        if sums == p["right"]:
            return list(candidate)
    return []


def is_tree(points: int, edges: tuple[Any, ...]) -> bool:
    groups = {p: p for p in range(1, points + 1)}

    def root(p: int) -> int:
        return p if groups[p] == p else root(groups[p])

    for a, b in edges:
        if root(a) == root(b):
            return False
        groups[root(a)] = root(b)
    return True


def trees(p: P) -> int:
    return sum(is_tree(p["points"], some) for some in itertools.combinations(p["edges"], p["points"] - 1))


def eulerian(p: P) -> bool:
    """Hierholzer: walk until stuck; a closed walk over all edges exists iff each walk closes."""
    left = [tuple(edge) for edge in p["edges"]]
    while left:
        start = now = left[0][0]
        while True:
            edge = next((e for e in left if now in e), None)
            if edge is None:
                break
            left.remove(edge)
            now = edge[0] + edge[1] - now
        if now != start:
            return False
    return True


def colourings(p: P) -> int | None:
    points = p["ring"] + p["hub"]
    if p["colours"] ** points > 60_000:
        return None
    edges = [(i, (i + 1) % p["ring"]) for i in range(p["ring"])]
    edges += [(i, p["ring"]) for i in range(p["ring"])] if p["hub"] else []
    return sum(
        all(c[a] != c[b] for a, b in edges) for c in itertools.product(range(p["colours"]), repeat=points)
    )


def graphical(p: P) -> bool:
    """Havel and Hakimi."""
    degrees = sorted(p["degrees"], reverse=True)
    while degrees and degrees[0]:
        first, rest = degrees[0], degrees[1:]
        if first > len(rest):
            return False
        degrees = sorted([d - 1 for d in rest[:first]] + rest[first:], reverse=True)
        if degrees and degrees[-1] < 0:
            return False
    return True


def walks(p: P) -> int:
    beside: dict[int, list[int]] = {}
    for a, b in p["edges"]:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)

    def count(now: int, left: int) -> int:
        return int(now == p["end"]) if left == 0 else sum(count(n, left - 1) for n in beside[now])

    return count(p["start"], p["length"])


def pick(p: P) -> int:
    (a, b), (c, d), (e, f) = p["corners"]

    def side(px: int, py: int, qx: int, qy: int, x: int, y: int) -> int:
        return (qx - px) * (y - py) - (qy - py) * (x - px)

    count = 0
    for x, y in itertools.product(range(15), repeat=2):
        signs = [side(a, b, c, d, x, y), side(c, d, e, f, x, y), side(e, f, a, b, x, y)]
        count += all(s > 0 for s in signs) or all(s < 0 for s in signs)
    return count


def obtuse(p: P) -> bool:
    """The cosine of each angle."""
    a, b, c = p["sides"]
    cosines = [(b * b + c * c - a * a), (a * a + c * c - b * b), (a * a + b * b - c * c)]
    return min(cosines) < 0


def simpson(p: P) -> float:
    """Parabola by parabola, through three points each."""
    n, width = p["intervals"], (p["high"] - p["low"]) / p["intervals"]

    def f(x: float) -> float:
        return float(sum(c * x ** (len(p["coefficients"]) - 1 - i) for i, c in enumerate(p["coefficients"])))

    xs = [p["low"] + i * width for i in range(n + 1)]
    return sum(width / 3 * (f(xs[i]) + 4 * f(xs[i + 1]) + f(xs[i + 2])) for i in range(0, n, 2))


def capacity(p: P) -> float:
    """The most mutual information over input distributions."""
    flip = p["flip"] / 1000

    def h(x: float) -> float:
        return 0.0 if x in (0, 1) else -x * log2(x) - (1 - x) * log2(1 - x)

    best = max(h(q / 400 * (1 - flip) + (1 - q / 400) * flip) - h(flip) for q in range(401))
    return float(p["uses"] * best)


def newton(p: P) -> float:
    x = float(p["start"])
    for _ in range(p["steps"]):
        x = x - (x**3 - p["a"]) / (3 * x * x)
    return x


SECOND: dict[str, Callable[[P], Any]] = {
    "euler_power": power,
    "quadratic_residue": residues,
    "divisor_count": divisors,
    "linear_congruence": lambda p: sum((p["a"] * x - p["b"]) % p["n"] == 0 for x in range(p["n"])),
    "factorial_zeros": zeros,
    "necklaces": necklaces,
    "partial_derangements": fixed,
    "surjections": surjections,
    "lattice_paths": paths,
    "bounded_sums": bounded,
    "bayes": bayes,
    "gamblers_ruin": ruin,
    "two_state_chain": chain,
    "poisson_tail": poisson,
    "collector": collector,
    "eigenvalues": eigenvalues,
    "determinant": lambda p: leibniz(p["rows"]),
    "rank": rank,
    "positive_definite": definite,
    "linear_system": system,
    "spanning_trees": trees,
    "eulerian": eulerian,
    "colourings": colourings,
    "graphical": graphical,
    "walks": walks,
    "pick": pick,
    "obtuse": obtuse,
    "simpson": simpson,
    "channel_capacity": capacity,
    "newton": newton,
}
"""Theorem -> its value worked out without the theorem; None where that would take too long."""

SMALL: dict[str, list[Params]] = {
    "necklaces": [
        {"beads": n, "colours": k, "flips": flips}
        for n in (4, 5, 6, 7)
        for k in (2, 3)
        for flips in (False, True)
    ],
    "partial_derangements": [{"n": n, "fixed": k} for n in (5, 6, 7) for k in range(n - 2)],
    "colourings": [
        {"ring": n, "colours": k, "hub": hub} for n in (4, 5, 6) for k in (3, 4) for hub in (False, True)
    ],
}
"""Small parameters for those whose questions are often too large to count out."""


def agrees(value: Any, other: Any) -> bool:
    if isinstance(value, Fraction | float):
        return isclose(float(value), float(other), rel_tol=1e-4)
    return bool(value == other)


def test_there_are_thirty_theorems_in_six_areas_and_one_of_each_area_is_held_out() -> None:
    assert len(TEMPLATES) == 30
    assert {template.area for template in TEMPLATES.values()} == set(AREAS)
    assert sorted(TEMPLATES[name].area for name in HELD_OUT) == sorted(AREAS)
    assert set(SECOND) == set(TEMPLATES)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_value_agrees_with_one_worked_out_without_the_theorem(name: str) -> None:
    template = TEMPLATES[name]
    drawn = [sample.meta["params"] for sample in questions(name)[:12]]
    checked = 0
    for params in [*SMALL.get(name, ()), *drawn]:
        other = SECOND[name](dict(params))
        if other is not None:
            assert agrees(template.solve(params), other), params
            checked += 1
    assert checked >= 8


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_target_is_the_value_and_the_question_holds_its_numbers(name: str) -> None:
    for sample in questions(name):
        value = TEMPLATES[name].solve(sample.meta["params"])
        match sample.meta["answer_type"]:
            case "bool":
                assert sample.target == ("yes" if value else "no")
            case "integer":
                assert int(sample.target) == value
            case "list":
                assert json.loads(sample.target) == value
            case "float":
                assert float(sample.target) == pytest.approx(float(value), rel=1e-5)  # type: ignore[arg-type]
        assert sample.meta["area"] == TEMPLATES[name].area


@pytest.mark.parametrize("name", [n for n, t in TEMPLATES.items() if t.answer == "bool"])
def test_yes_and_no_are_balanced(name: str) -> None:
    targets = [
        sample.target
        for seed in range(2000, 2030)
        for sample in (generate(index, seed, area=TEMPLATES[name].area) for index in range(5))
        if sample.meta["kind"] == name
    ]
    assert len(targets) == 30
    assert 7 <= targets.count("yes") <= 23


def test_decimals_cannot_be_guessed_as_a_whole_number() -> None:
    for name, template in TEMPLATES.items():
        if template.answer == "float":
            for sample in questions(name):
                value = float(sample.target)
                assert abs(value - round(value)) > 0.029 * abs(value)


def test_recurring_questions_come_from_five_theorems() -> None:
    kinds = [generate(index, 1, recurring=1.0).meta["kind"] for index in range(60)]
    assert len(set(kinds)) == 5
    mixed = [generate(index, 1, recurring=0.6).meta["kind"] for index in range(100)]
    assert sum(kind in set(kinds) for kind in mixed) >= 50


def test_an_area_can_be_chosen() -> None:
    assert {generate(i, 1, area="probability").meta["area"] for i in range(20)} == {"probability"}


def sample_of(kind: str, target: str, text: str = "What is it?") -> Sample:
    return Sample(input=text, target=target, task="theorem", meta={"answer_type": kind})


def graded(sample: Sample, answer: str) -> Grade:
    return asyncio.run(grade(sample, f'>> FINAL ANSWER:\n"""\n{answer}\n"""'))


@pytest.mark.parametrize(
    ("kind", "target", "answer", "verdict"),
    [
        ("integer", "42", "42", "correct"),
        ("integer", "42", "The answer is 42.", "correct"),
        ("integer", "42", "42.0", "correct"),
        ("integer", "42", "43", "incorrect"),
        ("integer", "1200", "1,200", "correct"),
        ("float", "0.75", "3/4", "correct"),
        ("float", "0.75", "0.7574", "correct"),
        ("float", "0.75", "0.758", "incorrect"),
        ("float", "-10.6667", "-32/3", "correct"),
        ("float", "-10.6667", "10.6667", "incorrect"),
        ("bool", "yes", "Yes.", "correct"),
        ("bool", "True", "true", "correct"),
        ("bool", "no", "It is not.", "correct"),
        ("bool", "no", "yes", "incorrect"),
        ("bool", "no", "yes and no", "ambiguous"),
        ("bool", "no", "perhaps", "incorrect"),
        ("list", "[-1, 5]", "[-1, 5]", "correct"),
        ("list", "[-1, 5]", "(-1, 5)", "correct"),
        ("list", "[-1, 5]", "-1 and 5", "correct"),
        ("list", "[-1, 5]", "[5, -1]", "incorrect"),
        ("list", "[-1, 5]", "[-1]", "incorrect"),
        ("list of integer", "[1, 2]", "[1, 2]", "correct"),
        ("option", "(b)", "(B)", "correct"),
        ("option", "b", "c", "incorrect"),
    ],
)
def test_answers_are_graded_by_type(kind: str, target: str, answer: str, verdict: str) -> None:
    found = graded(sample_of(kind, target), answer)
    assert found.verdict == verdict, found


def test_a_decimal_says_how_far_it_is_off() -> None:
    found = graded(sample_of("float", "2.0"), "2.01")
    assert found.verdict == "correct"
    assert found.details["within_0.001"] is False
    assert found.details["relative_error"] == pytest.approx(0.005)


def test_a_wrong_answer_gets_feedback_that_names_the_area_but_not_the_answer() -> None:
    sample = next(s for s in (generate(i, 1) for i in range(40)) if s.meta["answer_type"] == "integer")
    told = graded(sample, str(int(sample.target) + 12345)).details["feedback"]
    assert sample.meta["area"] in told
    assert sample.target not in told.split()


def test_without_a_marker_there_is_no_answer() -> None:
    assert asyncio.run(grade(sample_of("integer", "4"), "4")).verdict == "no_answer"


@pytest.mark.parametrize(
    ("kind", "target"), [("poem", "4"), ("integer", "many"), ("float", "about 3"), ("float", "1e999999999")]
)
def test_a_sample_that_cannot_be_graded_is_an_error_of_the_file(kind: str, target: str) -> None:
    with pytest.raises(UsageError):
        graded(sample_of(kind, target), "4")


def test_the_family_is_found_by_its_id() -> None:
    assert family("theorem").id == "theorem"


def test_a_modulus_of_an_euler_question_is_coprime_to_its_base() -> None:
    for sample in questions("euler_power"):
        assert gcd(sample.meta["params"]["base"], sample.meta["params"]["modulus"]) == 1
