"""An expert that is a Python function, and a critic that is another model.

A scripted model stands in for a live one; with `model="openai/gpt-4o"` the rest stays as it is.
"""

from __future__ import annotations

import meta_tui

CAPITALS = {"Peru": "Lima", "Chile": "Santiago"}


def capital(instruction: str) -> str:
    """Gives the capital of the country whose name is the whole instruction."""
    return CAPITALS[instruction]


SCRIPT = [
    'Expert Atlas:\n"""\nPeru\n"""',
    'Expert Critic:\n"""\nIs Lima the capital of Peru?\n"""',
    '>> FINAL ANSWER:\n"""\nLima\n"""',
]

result = meta_tui.solve(
    "What is the capital of Peru?",
    model=meta_tui.ScriptedModel(SCRIPT),
    experts={"Expert Atlas": capital, "Expert Critic": meta_tui.ScriptedModel(["Yes."])},
    log="capital.jsonl",
)
print(result.answer, result.calls)
print(meta_tui.replay("capital.jsonl").answer)
