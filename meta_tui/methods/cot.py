"""Chain of thought, as a baseline of the MC2 comparison: one call, one final-answer field.

Source: Wei et al. 2022 (arXiv 2201.11903), in the protocol of MC2 (arXiv 2604.17399). Not the
zero-shot baseline of the meta-prompting paper, which has another answer form and a loop
(`baselines`).
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from meta_tui.events import StreamItem
from meta_tui.methods.asking import ask_text
from meta_tui.methods.field import final_field
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import each
from meta_tui.run import Run, Solution


class CoT(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reason step by step, then state the answer in its field: one call.

    Attributes:
        suffix: stands behind the question.
    """

    id: ClassVar[str] = "cot"
    streams: ClassVar[bool] = True

    suffix: str = msgspec.field(default_factory=lambda: text("cot"))

    async def solve(self, run: Run, question: str) -> Solution:
        """Every question of the run on its own."""
        return await each(run, question, self.one)

    async def one(self, run: Run, item: StreamItem) -> Solution:
        """One call; a reply without the field is a failure."""
        reply = await ask_text(run, f"{item.question}\n\n{self.suffix}")
        return solution(run, final_field(reply))


def solution(run: Run, answer: str | None) -> Solution:
    """The answer of a field, or a failure that says that there was none."""
    if answer is None:
        run.reject("no final-answer field")
        return Solution(None, "no_field")
    return Solution(answer, "field")
