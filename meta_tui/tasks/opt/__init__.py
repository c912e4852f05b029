"""Small optimisation: construct something good, and be scored against the best there is.

The score is value over optimum, or optimum over value where less is better; an infeasible
construction scores 0 and is told why. `correct` means optimal. Large instances are scored against
our own heuristics, which a better answer may beat: `details["relative"]` is not clipped.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from meta_tui.errors import UsageError
from meta_tui.tasks import Family, Grade, Sample
from meta_tui.tasks.generating import among, chance, kind_of, make
from meta_tui.tasks.grading.extraction import abstains, strictly
from meta_tui.tasks.opt import graphs, packing
from meta_tui.tasks.opt.problems import Infeasible, Problem

PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in (*graphs.PROBLEMS, *packing.PROBLEMS)}
HELD_OUT = tuple(name for name, problem in PROBLEMS.items() if problem.held_out)
LEVELS = {1: "easy", 2: "medium", 3: "hard"}
EXACT_WHEN_LARGE = ("knapsack", "sheet")

LONGEST = 20_000
"""Characters of an answer that are read, counted from its end."""

MOST_LEVELS = 3
"""Lists in lists in lists: no construction nests deeper."""

_NUMBERS_ONLY = re.compile(r"[\[\]\d\s,-]*")


def generate(index: int, seed: int, *, kind: str = "", large: bool = False) -> Sample:
    """A problem; `meta` has the instance, its optimum (`best`) and an optimal construction.

    Args:
        kind: a name of PROBLEMS; empty for all in turn.
        large: instances too large for exact search, with a heuristic reference.

    Raises:
        UsageError: there is no such kind.
    """
    among("kind", kind, ("", *PROBLEMS))
    rng = chance("opt", seed, index)
    problem = PROBLEMS[kind or kind_of(tuple(PROBLEMS), index, seed, HELD_OUT)]
    instance, construction, best = _instance(rng, problem, large)
    reference = "optimum" if not large or problem.name in EXACT_WHEN_LARGE else "heuristic"
    return make(
        "opt", index, seed, problem.words(instance), str(best),
        kind=problem.name, difficulty=LEVELS[problem.level], witness=json.dumps(construction), goal=problem.goal,
        best=best, reference=reference, held_out=problem.held_out, instance=dict(instance),
    )  # fmt: skip


def _instance(rng: random.Random, problem: Problem, large: bool) -> tuple[Any, Any, int]:
    while True:
        instance = problem.draw(rng, large)
        construction, best = problem.solve(instance)
        if best > 1:
            return instance, construction, best


def evaluate(sample: Sample, construction: Any) -> Grade:
    """The grade of a construction as JSON values, such as a program's `solve(instance)` gives.

    Raises:
        UsageError: the sample has no instance.
    """
    problem = PROBLEMS.get(str(sample.meta.get("kind")))
    if problem is None or "instance" not in sample.meta:
        raise UsageError(f"sample {sample.id} has no instance to check an answer against")
    shown = json.dumps(construction)[:200]
    try:
        value = problem.value(sample.meta["instance"], construction)
    except Infeasible as error:
        return Grade("incorrect", f"infeasible: {error}", shown, 0.0, {"feedback": f"infeasible: {error}"})
    best = int(sample.meta["best"])
    relative = (value / best if problem.goal == "max" else best / value) if value else 0.0
    facts = {"value": value, "relative": relative, "reference": sample.meta.get("reference", "optimum")}
    if relative >= 1:
        return Grade(
            "correct", "", shown, 1.0, {**facts, "feedback": f"value {value}: as good as the best known"}
        )
    told = f"feasible, value {value}: {relative:.1%} of the best known"
    return Grade("incorrect", told, shown, relative, {**facts, "feedback": told})


def _judge(sample: Sample, answer: str) -> Grade:
    construction = _construction(answer)
    if construction is None:
        if abstains(answer):
            return Grade("abstained", "says that there is no answer", answer[:200])
        text = "the answer holds no JSON list"
        return Grade("incorrect", text, answer[:200], 0.0, {"feedback": text})
    return evaluate(sample, construction)


def _construction(answer: str) -> list[Any] | None:
    """The longest JSON list of numbers in the answer, the last of equally long ones."""
    text = answer[-LONGEST:]
    for start, end in sorted(_brackets(text), key=lambda pair: (pair[0] - pair[1], -pair[0])):
        if _NUMBERS_ONLY.fullmatch(text, start, end):
            try:
                return json.loads(text[start:end])  # type: ignore[no-any-return]
            except (json.JSONDecodeError, RecursionError):
                continue
    return None


def _brackets(text: str) -> list[tuple[int, int]]:
    """Where each pair of square brackets begins and ends that holds at most MOST_LEVELS of them."""
    opened: list[tuple[int, int]] = []
    found = []
    for place, character in enumerate(text):
        if character == "[":
            opened.append((place, 1))
        elif character == "]" and opened:
            start, height = opened.pop()
            if height <= MOST_LEVELS:
                found.append((start, place + 1))
            if opened:
                opened[-1] = (opened[-1][0], max(opened[-1][1], height + 1))
    return found


strict = strictly(_judge)
"""The construction of the answer, checked from scratch; `correct` when none better is known."""

FAMILY = Family(
    id="opt",
    title="Small optimisation",
    description="Solve the following optimisation problem as well as you can. Give only the construction that is asked for.",
    generate=generate,
    graders={"strict": strict},
    options={"kind": "", "large": False},
)
