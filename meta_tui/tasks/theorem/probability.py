"""Questions of probability: Bayes, ruin, chains, rare events, collecting."""

from __future__ import annotations

import random
from fractions import Fraction
from math import exp, factorial

from meta_tui.tasks.theorem.templates import Params, Template

AREA = "probability"


def _percent(n: int) -> Fraction:
    return Fraction(n, 100)


def _bayes(p: Params) -> Fraction:
    ill, hit, false = _percent(p["ill"]), _percent(p["hit"]), _percent(p["false"])
    tests: int = p["tests"]
    positive = ill * hit**tests + (1 - ill) * false**tests
    return ill * hit**tests / positive


def _bayes_words(p: Params) -> str:
    result = "A single test is" if p["tests"] == 1 else f"{p['tests']} independent tests are all"
    return (
        f"Of a population {p['ill']}% have a disease. A test is positive for {p['hit']}% of those who have it and "
        f"for {p['false']}% of those who do not. {result} positive for a randomly chosen person. "
        "With what probability does the person have the disease?"
    )


def _ruin(p: Params) -> Fraction:
    up = _percent(p["win"])
    ratio = (1 - up) / up
    if ratio == 1:
        return 1 - Fraction(p["start"], p["goal"])
    start: int = p["start"]
    goal: int = p["goal"]
    return (ratio**start - ratio**goal) / (1 - ratio**goal)


def _ruin_draw(rng: random.Random) -> Params:
    start = rng.randint(2, 7)
    return {
        "start": start,
        "goal": start + rng.randint(2, 8),
        "win": rng.choice((40, 42, 44, 45, 48, 50, 52, 55, 56, 60)),
    }


def _chain(p: Params) -> Fraction:
    """Two states: the distance to the stationary share shrinks by 1 - a - b with each step."""
    a, b = _percent(p["leave"]), _percent(p["enter"])
    limit = b / (a + b)
    steps: int = p["steps"]
    return limit + (1 - limit) * (1 - a - b) ** steps


def _poisson(p: Params) -> float:
    rate: float = p["rate"] / 10
    return 1 - exp(-rate) * sum(rate**k / factorial(k) for k in range(p["least"]))


def _poisson_draw(rng: random.Random) -> Params:
    rate = rng.randint(8, 60)
    return {"rate": rate, "least": rng.randint(max(1, rate // 10 - 1), rate // 10 + 3)}


def _collector(p: Params) -> Fraction:
    n, missing = p["kinds"], p["kinds"] - p["wanted"]
    return sum((Fraction(n, n - have) for have in range(n - missing)), Fraction(0))


def _collector_draw(rng: random.Random) -> Params:
    kinds = rng.randint(6, 30)
    return {"kinds": kinds, "wanted": rng.randint(kinds // 2 + 1, kinds)}


TEMPLATES = (
    Template(
        "bayes", AREA, "float", 1,
        lambda rng: {"ill": rng.randint(1, 20), "hit": rng.randint(70, 98), "false": rng.randint(3, 25), "tests": rng.randint(1, 2)},
        _bayes_words, _bayes,
    ),
    Template(
        "gamblers_ruin", AREA, "float", 2, _ruin_draw,
        lambda p: f"A player starts with {p['start']} coins and in each round wins a coin with probability {p['win']}% and else loses one. The game ends at 0 or at {p['goal']} coins. With what probability does it end at 0?",
        _ruin,
    ),
    Template(
        "two_state_chain", AREA, "float", 2,
        lambda rng: {"leave": rng.randint(5, 60), "enter": rng.randint(5, 60), "steps": rng.randint(2, 8)},
        lambda p: f"A machine that works today is broken tomorrow with probability {p['leave']}%; one that is broken today works tomorrow with probability {p['enter']}%. It works now. With what probability does it work after {p['steps']} days?",
        _chain,
    ),
    Template(
        "poisson_tail", AREA, "float", 2, _poisson_draw,
        lambda p: f"Calls arrive as a Poisson process at {p['rate'] / 10:g} an hour on average. With what probability do at least {p['least']} arrive in one hour?",
        _poisson,
    ),
    Template(
        "collector", AREA, "float", 2, _collector_draw,
        lambda p: f"Each packet holds one of {p['kinds']} pictures, all equally likely. How many packets must be opened on average until {p['wanted']} different pictures are found?",
        _collector, held_out=True,
    ),
)  # fmt: skip
