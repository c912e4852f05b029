"""Four small ways of reasoning that `mrp` chooses from, one to five calls each.

Analogical prompting (Yasunaga et al. 2024, arXiv 2310.01714), self-refine (Madaan et al. 2023,
arXiv 2303.17651), step-back (Zheng et al. 2024, arXiv 2310.06117) and SimToM (Wilf et al. 2023,
arXiv 2311.10227), each as a function from a question to its last reply. They are no methods of
their own: nobody can choose them without `mrp`.
"""

from __future__ import annotations

from meta_tui.methods.asking import ask_text, filled
from meta_tui.methods.prompts import text
from meta_tui.run import Run

REFINEMENTS = 2
NO_CHANGES = "NO FURTHER CHANGES"


async def analogical(run: Run, question: str) -> str:
    """Recall three related problems, then solve: one call."""
    return await ask_text(run, filled(text("small_analogical"), question=question))


async def self_refine(run: Run, question: str) -> str:
    """Draft, then at most two rounds of criticism and revision."""
    draft = await ask_text(run, f"{question}\n\n{text('cot')}")
    for _ in range(REFINEMENTS):
        critique = await ask_text(run, filled(text("small_critique"), question=question, draft=draft))
        if NO_CHANGES in critique:
            break
        draft = await ask_text(
            run, filled(text("small_revise"), question=question, draft=draft, critique=critique)
        )
    return draft


async def step_back(run: Run, question: str) -> str:
    """State the general principle, then solve: two calls."""
    principle = await ask_text(run, filled(text("small_principle"), question=question))
    return await ask_text(run, filled(text("small_step_back"), question=question, principle=principle))


async def simtom(run: Run, question: str) -> str:
    """Filter the facts known to each party, then answer: two calls."""
    facts = await ask_text(run, filled(text("small_perspective"), question=question))
    return await ask_text(run, filled(text("small_simtom"), question=question, facts=facts))
