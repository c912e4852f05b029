"""Theorem questions: thirty theorems in six areas, with exact answers.

Made for methods that learn from feedback (MC2) or reason in stages: the area tag is what a memory
can learn on, one theorem of each area is held out of train and dev, and `recurring` draws most
questions from a few theorems so that the same mistakes come again.
"""

from __future__ import annotations

import random
from fractions import Fraction
from functools import partial

from meta_tui.tasks import Family, Sample
from meta_tui.tasks.generating import among, distinct, kind_of, make, within
from meta_tui.tasks.theorem import (
    combinatorics,
    geometry_analysis,
    graph_theory,
    linear_algebra,
    number_theory,
    probability,
)
from meta_tui.tasks.theorem.answers import strict
from meta_tui.tasks.theorem.templates import AREAS, Exact, Params, Template

TEMPLATES: dict[str, Template] = {
    template.name: template
    for module in (
        number_theory,
        combinatorics,
        probability,
        linear_algebra,
        graph_theory,
        geometry_analysis,
    )
    for template in module.TEMPLATES
}
HELD_OUT = tuple(name for name, template in TEMPLATES.items() if template.held_out)
LEVELS = {1: "easy", 2: "medium", 3: "hard"}
FEW = 5
"""Theorems that recur with `recurring`."""


def generate(index: int, seed: int, *, area: str = "", recurring: float = 0.0) -> Sample:
    """A question; `meta` has its area, theorem (`kind`), parameters and answer type.

    Args:
        area: one of AREAS; empty for all.
        recurring: share of questions from five theorems that the seed picks.

    Raises:
        UsageError: an option is out of range.
    """
    among("area", area, ("", *AREAS))
    within("recurring", recurring, 0, 1)
    return distinct("theorem", index, seed, partial(_sample, seed, area, recurring), area, recurring)


def _sample(seed: int, area: str, recurring: float, index: int, rng: random.Random) -> Sample:
    names = [name for name, template in TEMPLATES.items() if area in ("", template.area)]
    name = kind_of(names, index, seed, HELD_OUT)
    if rng.random() < recurring:
        name = rng.choice(_few(names, seed))
    template = TEMPLATES[name]
    params, value = _drawn(rng, template)
    target = shown(value)
    return make(
        "theorem", index, seed, template.words(params), target,
        kind=name, difficulty=LEVELS[template.level], witness=target, area=template.area,
        answer_type=template.answer, held_out=template.held_out, params=dict(params), exact=_exact(value),
    )  # fmt: skip


def _few(names: list[str], seed: int) -> list[str]:
    seen = [name for name in names if name not in HELD_OUT]
    return random.Random(f"theorem:few:{seed}").sample(seen, min(FEW, len(seen)))


def _drawn(rng: random.Random, template: Template) -> tuple[Params, Exact]:
    while True:
        params = template.draw(rng)
        value = template.solve(params)
        if template.answer != "float" or _is_telling(float(value)):  # type: ignore[arg-type]
            return params, value


def _is_telling(value: float) -> bool:
    """Whether a decimal is far enough from a whole number that guessing one does not count."""
    return abs(value) >= 0.001 and abs(value - round(value)) > 0.03 * abs(value)


def shown(value: Exact) -> str:
    """A value as the target states it: decimals to six digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction | float):
        return f"{float(value):.6g}"
    return str(value)


def _exact(value: Exact) -> str:
    return str(value) if isinstance(value, Fraction) else ""


FAMILY = Family(
    id="theorem",
    title="Theorem questions",
    description=(
        "Answer the following question of mathematics. Give only the value: an integer, a decimal number with at "
        "least four significant digits, a list such as [1, 2], or yes or no."
    ),
    generate=generate,
    graders={"strict": strict},
    options={"area": "", "recurring": 0.0},
)
