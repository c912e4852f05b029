"""Self-consistency: several independent chains of thought, and the answer that most of them give.

Source: Wang et al. 2023 (arXiv 2203.11171), in the protocol of MC2 (arXiv 2604.17399).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar

import msgspec

from meta_tui.chat import Params, canonical_json
from meta_tui.events import StreamItem
from meta_tui.methods.asking import ask_texts
from meta_tui.methods.cot import solution
from meta_tui.methods.field import final_field, normalised
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import each
from meta_tui.run import Run, Solution


class CoTSC(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sample several chains of thought and take the majority's answer.

    Attributes:
        samples: chains drawn.
        temperature: at which they are drawn, whatever the run's own; must be above 0.
        suffix: stands behind the question.
    """

    id: ClassVar[str] = "cot_sc"
    streams: ClassVar[bool] = True

    samples: Annotated[int, msgspec.Meta(ge=1)] = 5
    temperature: float = 0.7
    suffix: str = msgspec.field(default_factory=lambda: text("cot"))

    async def solve(self, run: Run, question: str) -> Solution:
        """Every question of the run on its own; refused where all chains would be the same."""
        if self.temperature <= 0:
            run.reject("samples at temperature 0 are all the same; give --set temperature=0.7")
            return Solution(None, "temperature_zero", status="failed")
        return await each(run, question, self.one)

    async def one(self, run: Run, item: StreamItem) -> Solution:
        """Draws 0 to 4 of one prompt, then the vote."""
        asked = f"{item.question}\n\n{self.suffix}"
        replies = await ask_texts(run, [asked] * self.samples, Params(temperature=self.temperature))
        votes = [None if reply is None else final_field(reply) for reply in replies]
        answer = majority(votes)
        run.store("vote", "vote", f"{answer}", canonical_json({"votes": [v or "" for v in votes]}).decode())
        return solution(run, answer)


def majority(votes: Sequence[str | None]) -> str | None:
    """The answer that most votes give once normalised, as its first vote words it.

    Votes that are None count for nothing; of equally frequent answers the one that came first.
    """
    given = [vote for vote in votes if vote is not None]
    counts = Counter(map(normalised, given))
    return max(given, key=lambda vote: counts[normalised(vote)], default=None)
