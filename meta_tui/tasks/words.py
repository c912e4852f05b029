"""Word sorting: words into alphabetical order (Suzgun & Kalai 2024, after BIG-Bench Hard)."""

from __future__ import annotations

from meta_tui.tasks import Family
from meta_tui.tasks.generating.words import generate
from meta_tui.tasks.grading.words import paper, strict

FAMILY = Family(
    id="words",
    title="Word Sorting",
    description="Sort the words into alphabetical order, and answer with the sorted words, separated by spaces.",
    generate=generate,
    graders={"paper": paper, "strict": strict},
    options={"sharing": 0.01, "least": 2, "most": 20},
)
