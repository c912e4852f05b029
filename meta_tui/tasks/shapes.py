"""Geometric shapes: what an SVG path draws, among options (Suzgun & Kalai 2024, after BIG-Bench Hard)."""

from __future__ import annotations

from meta_tui.tasks import Family
from meta_tui.tasks.generating.shapes import generate
from meta_tui.tasks.grading.shapes import labels, paper, strict

FAMILY = Family(
    id="shapes",
    title="Geometric Shapes",
    description="Name the geometric shape that the SVG path draws. Choose exactly one of the options.",
    generate=generate,
    graders={"paper": paper, "strict": strict, "labels": labels},
    options={"options": 12},
)
