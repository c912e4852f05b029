"""Game of 24: four numbers, each used once, make a goal (Suzgun & Kalai 2024, after Yao et al. 2023)."""

from __future__ import annotations

from meta_tui.tasks import Family, Sample
from meta_tui.tasks.generating.game24 import generate
from meta_tui.tasks.grading.game24 import paper, strict


def ask(sample: Sample) -> str:
    """The question with the sample's own goal; where a set has unsolvable samples, every question of
    it says that there may be no solution."""
    goal = sample.meta.get("goal", 24)
    text = FAMILY.description.replace("24", str(goal))
    if sample.meta.get("may_be_unsolvable"):
        text += " If it cannot be done, answer: no solution."
    return f"{text}\n\n{sample.input}"


FAMILY = Family(
    id="game24",
    title="Game of 24",
    description=(
        "Combine the four numbers below, each of them exactly once, with + - * / and brackets so that the "
        "result is 24. Answer with the expression."
    ),
    generate=generate,
    graders={"paper": paper, "strict": strict},
    ask=ask,
    options={"goal": 24, "max_solutions": 30, "unsolvable": 0.0, "stratum": ""},
)
