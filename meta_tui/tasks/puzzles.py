"""Python programming puzzles: code whose value makes a function true (Suzgun & Kalai 2024, after Schuster et al. 2021)."""

from __future__ import annotations

from meta_tui.tasks import Family
from meta_tui.tasks.generating.puzzles import generate
from meta_tui.tasks.grading.puzzles import paper, strict

FAMILY = Family(
    id="puzzles",
    title="Python Programming Puzzles",
    description=(
        "Below is a Python function `sat`. Write a Python function `solution()` without parameters that returns a "
        "value for the first parameter of `sat` with which `sat` returns True; further parameters keep their "
        "defaults. Answer with the code of `solution` alone, in one Python code block."
    ),
    generate=generate,
    code_graders={"paper": paper, "strict": strict},
    options={"level": 0},
)
