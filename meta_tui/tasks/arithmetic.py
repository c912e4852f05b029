"""Multi-step arithmetic: the value of a bracketed expression (Suzgun & Kalai 2024, after BIG-Bench Hard)."""

from __future__ import annotations

from meta_tui.tasks import Family
from meta_tui.tasks.generating.arithmetic import generate
from meta_tui.tasks.grading.arithmetic import paper, strict

FAMILY = Family(
    id="arithmetic",
    title="Multi-Step Arithmetic Two",
    description="Work out the value of this expression.",
    generate=generate,
    graders={"paper": paper, "strict": strict},
    options={"depth": 2, "terms": 4, "largest": 9},
)
