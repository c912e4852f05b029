"""Meta Reasoning Prompting: one call chooses among ways of reasoning, the chosen one solves.

Source: Gao et al. 2024 (arXiv 2406.11698) and MC2's comparison (arXiv 2604.17399); which seven
ways the authors had is known in part only, so there are two pools.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, Literal

import msgspec

from meta_tui.chat import canonical_json
from meta_tui.events import StreamItem
from meta_tui.methods import small
from meta_tui.methods.asking import ask_text, filled
from meta_tui.methods.baselines import MultiPersona
from meta_tui.methods.cot import CoT, solution
from meta_tui.methods.cot_sc import CoTSC
from meta_tui.methods.field import final_field
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import each
from meta_tui.methods.tot import ToT
from meta_tui.run import Run, Solution

PoolName = Literal["mc2", "mrp"]

CARDS: Mapping[str, str] = {
    "CoT": "one chain of steps to the answer; good for plain problems with a clear path",
    "CoT-SC": "several independent chains and a vote; good where single chains slip often",
    "ToT": "several partial lines of reasoning, rated and pruned; good for search with dead ends",
    "analogical": "recall related problems, transfer their solution; good for known kinds of problems",
    "self-refine": "draft, criticise, revise; good for texts and answers with many requirements",
    "SPP": "several personas discuss; good where knowledge of several fields must come together",
    "step-back": "find the general principle first; good for science and law-like rules",
    "SimToM": "work out who knows what, then answer; good for questions about people's beliefs",
}
"""Way of reasoning -> what it does and what it is good for."""

POOLS: Mapping[PoolName, tuple[str, ...]] = {
    "mc2": ("CoT", "CoT-SC", "ToT", "analogical", "self-refine", "SPP", "step-back"),
    "mrp": ("CoT", "ToT", "analogical", "self-refine", "SPP", "step-back", "SimToM"),
}

_CHOICE = re.compile(r">>\s{0,3}FINAL CHOICE:\s{0,3}(.{1,80})", re.IGNORECASE)
_GRADE = re.compile(
    r"[\s>*#-]{0,9}GRADE\s{1,3}(.{1,40}?)[*\s]{0,3}:[*\s]{0,5}([1-7])(?!\d|\.\d)", re.IGNORECASE
)


class MRP(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Choose a way of reasoning for the problem in one call, then solve it that way.

    Attributes:
        pool: the ways to choose from: those of MC2's comparison, or the original list.
    """

    id: ClassVar[str] = "mrp"
    streams: ClassVar[bool] = True

    pool: PoolName = "mc2"

    async def solve(self, run: Run, question: str) -> Solution:
        """Every question of the run on its own."""
        return await each(run, question, self.one)

    async def one(self, run: Run, item: StreamItem) -> Solution:
        """k = argmax_i s_i, then y = LM(p_k, x)."""
        name = await self.choose(run, item.question)
        async with run.span("way", name) as inner:
            return await solve_with(inner, item, name)

    async def choose(self, run: Run, question: str) -> str:
        """The way that the selection call names; an invalid choice falls back to the best grade."""
        names = POOLS[self.pool]
        cards = "\n".join(f"- {name}: {CARDS[name]}" for name in names)
        async with run.span("stage", "Select") as inner:
            reply = await ask_text(inner, filled(text("mrp_select"), cards=cards, question=question))
            name, reason, grades = read_choice(reply, names)
            if reason:
                inner.reject(reason)
        run.store("choice", "choice", name, canonical_json({"grades": grades}).decode())
        return name


def read_choice(reply: str, names: Sequence[str]) -> tuple[str, str, dict[str, int]]:
    """The chosen name, why it is a fallback (empty: it is not), and the grades by name."""
    known = {_flat(name): name for name in names}
    grades: dict[str, int] = {}
    for line in reply.split("\n"):
        found = _GRADE.match(line)
        if found and _flat(found.group(1)) in known:
            grades[known[_flat(found.group(1))]] = int(found.group(2))
    stated = _CHOICE.findall(reply)
    if stated and _flat(stated[-1]) in known:
        return known[_flat(stated[-1])], "", grades
    if grades:
        best = max(names, key=lambda name: grades.get(name, 0))
        return best, "no valid choice: the best grade decides", grades
    return names[0], f"no valid choice and no grade: {names[0]} is used", grades


def _flat(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


async def solve_with(run: Run, item: StreamItem, name: str) -> Solution:
    """Solve a question in the way of that name, with its own settings."""
    methods: Mapping[str, CoT | CoTSC | ToT] = {"CoT": CoT(), "CoT-SC": CoTSC(), "ToT": ToT()}
    if name in methods:
        return await methods[name].one(run, item)
    if name == "SPP":
        return await MultiPersona().solve(run, item.question)
    return solution(run, final_field(await _SMALL[name](run, item.question)))


_SMALL: Mapping[str, Callable[[Run, str], Awaitable[str]]] = {
    "analogical": small.analogical,
    "self-refine": small.self_refine,
    "step-back": small.step_back,
    "SimToM": small.simtom,
}
