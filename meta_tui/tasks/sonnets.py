"""Shakespearean sonnets: fourteen lines, a rhyme scheme, three words (Suzgun & Kalai 2024)."""

from __future__ import annotations

from meta_tui.tasks import Family
from meta_tui.tasks.generating.sonnets import generate
from meta_tui.tasks.grading.sonnets import near, paper, strict

FAMILY = Family(
    id="sonnets",
    title="Shakespearean Sonnets",
    description="Write a sonnet that keeps exactly to the rhyme scheme and holds every one of the words given.",
    generate=generate,
    graders={"paper": paper, "strict": strict, "near": near},
    extra="graders",
)
