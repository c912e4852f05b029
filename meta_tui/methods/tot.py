"""Tree of thoughts: breadth-first over partial reasoning, rated by the same model.

Source: Yao et al. 2023 (arXiv 2305.10601) with the settings of MC2's comparison (arXiv
2604.17399): five candidates a node, the best two kept, depth two, a generic rating.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec

from meta_tui.chat import Params, canonical_json
from meta_tui.events import StreamItem
from meta_tui.methods.asking import ask_text, ask_texts, filled
from meta_tui.methods.cot import solution
from meta_tui.methods.field import final_field
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import each
from meta_tui.run import Run, Solution

Count = Annotated[int, msgspec.Meta(ge=1)]
_RATING = re.compile(r"rating\W{0,9}(10|[1-9])(?!\d|\.\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Node:
    """Partial reasoning: its thoughts so far, their rating, and the answer of the last one."""

    path: str = ""
    score: int = 0
    answer: str | None = None


class ToT(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Grow several thoughts from each kept line of reasoning, rate them, keep the best.

    Attributes:
        candidates: thoughts drawn at each node.
        keep: nodes kept at each level.
        depth: levels; thoughts of the last one must answer.
        stop_score: a kept node with an answer and at least this rating ends the search.
        temperature: at which thoughts are drawn (ratings: the run's own).
    """

    id: ClassVar[str] = "tot"
    streams: ClassVar[bool] = True

    candidates: Count = 5
    keep: Count = 2
    depth: Count = 2
    stop_score: int = 9
    temperature: float = 0.7

    async def solve(self, run: Run, question: str) -> Solution:
        """Every question of the run on its own."""
        return await each(run, question, self.one)

    async def one(self, run: Run, item: StreamItem) -> Solution:
        """Level by level; the best node with an answer wins, else the best node is finished."""
        frontier, seen = [Node()], list[Node]()
        for level in range(1, self.depth + 1):
            run.round(level, self.depth)
            grown = await self.grow(run, item.question, frontier, level)
            ranked = sorted(await self.rate(run, item.question, grown), key=lambda node: -node.score)
            self.store(run, level, ranked)
            frontier, seen = ranked[: self.keep], [*ranked, *seen]
            if any(node.answer is not None and node.score >= self.stop_score for node in frontier):
                break
        answered = [node for node in seen if node.answer is not None]
        if answered:
            return Solution(max(answered, key=lambda node: node.score).answer, "field")
        return await self.finish(run, item.question, frontier[0])

    async def grow(self, run: Run, question: str, frontier: Sequence[Node], level: int) -> list[Node]:
        """The candidates of a level, in generation order."""
        template = text("tot_last" if level == self.depth else "tot_thought")
        parents = [node for node in frontier for _ in range(self.candidates)]
        asked = [filled(template, question=question, path=_shown(node)) for node in parents]
        thoughts = await ask_texts(run, asked, Params(temperature=self.temperature))
        return [
            Node(f"{parent.path}\n\n{thought.strip()}".strip(), 0, final_field(thought))
            for parent, thought in zip(parents, thoughts, strict=True)
            if thought is not None
        ]

    async def rate(self, run: Run, question: str, grown: Sequence[Node]) -> list[Node]:
        """The candidates with their ratings; one that stands in its level already scores 0 unasked."""
        paths = list(dict.fromkeys(node.path for node in grown))
        asked = [filled(text("tot_rate"), question=question, path=path or "(nothing)") for path in paths]
        scores = dict(zip(paths, map(rating, await ask_texts(run, asked)), strict=True))
        return [Node(node.path, scores.pop(node.path, 0), node.answer) for node in grown]

    def store(self, run: Run, level: int, ranked: Sequence[Node]) -> None:
        """Keep the candidates of a level, the best first."""
        for place, node in enumerate(ranked, 1):
            kept = place <= self.keep
            body = canonical_json({"score": node.score, "kept": kept, "answer": node.answer}).decode()
            run.store("candidate", f"{level}.{place}", f"{node.score}/10{', kept' if kept else ''}", body)

    async def finish(self, run: Run, question: str, best: Node) -> Solution:
        """One call that ends the best line of reasoning."""
        reply = await ask_text(run, filled(text("tot_last"), question=question, path=_shown(best)))
        return solution(run, final_field(reply))


def rating(reply: str | None) -> int:
    """The last rating from 1 to 10 in a reply; 0 where there is none."""
    found = _RATING.findall(reply or "")
    return int(found[-1]) if found else 0


def _shown(node: Node) -> str:
    return node.path or "(nothing yet)"
