"""Checkmate in one: the move that mates after a game in SAN (Suzgun & Kalai 2024, after BIG-Bench)."""

from __future__ import annotations

from meta_tui.tasks import Family
from meta_tui.tasks.generating.checkmate import generate
from meta_tui.tasks.grading.checkmate import paper, strict

FAMILY = Family(
    id="checkmate",
    title="Checkmate in One",
    description="The moves below are a game of chess in standard algebraic notation. Find the next move, which is checkmate.",
    generate=generate,
    graders={"paper": paper, "strict": strict},
    extra="graders",
    options={"mates": 1, "shortest": 8, "longest": 100},
)
