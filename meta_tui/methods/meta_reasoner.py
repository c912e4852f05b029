"""Meta-Reasoner: reasoning step by step, steered by a bandit that reads progress reports.

Source: Sui et al. 2025 (arXiv 2502.19918), of which the abstract was read; arms, features, reward
and rounds are our choices. What the bandit learned is carried over a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

import msgspec

from meta_tui.chat import Value, canonical_json
from meta_tui.events import Stored, StreamItem
from meta_tui.methods.asking import ask_text, filled
from meta_tui.methods.bandit import Bandit, best, pulled
from meta_tui.methods.cot import solution
from meta_tui.methods.embedding import HASHING, Vector, embed, reduced
from meta_tui.methods.field import final_field
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import each
from meta_tui.run import Run, Solution

ARMS: Mapping[str, str] = {
    "continue": "Go on from where the reasoning stands.",
    "verify": "Check the last steps for mistakes before anything new; correct what is wrong.",
    "decompose": "Split what is left into smaller questions and answer the first of them.",
    "backtrack": "Return to the last step that is certain and take another way from there.",
    "simplify": "Look at a smaller or simpler case of the problem and carry over what it shows.",
    "switch approach": "Leave this approach; begin another one and say what makes it different.",
    "restart": "Begin the problem again from its statement, with what was learned so far in mind.",
}
"""Strategy -> the guidance that it gives the next step."""

FEATURES = 32
_PROGRESS = re.compile(
    r"PROGRESS\W{0,9}?(0(?:\.\d{1,9})?|1(?:\.0{1,9})?|\.\d{1,9})(?![\d%]|\.\d)", re.IGNORECASE
)


class Pull(Value, frozen=True):
    """A pull of an arm: the report that it was chosen after, as features, and what it brought."""

    arm: str
    features: tuple[float, ...]
    reward: float


class MetaReasoner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reason step by step; after each a report, from which a bandit picks the next strategy.

    Attributes:
        steps: reasoning steps at most.
        exploration: c of LinUCB.
        embedder: `hashing` (offline), or the name of an embedding model.
        knowledge: the bandit of an earlier run (`meta-tui knowledge export`).
    """

    id: ClassVar[str] = "meta_reasoner"
    streams: ClassVar[bool] = True

    steps: Annotated[int, msgspec.Meta(ge=1)] = 8
    exploration: float = 1.0
    embedder: str = HASHING
    knowledge: Bandit | None = None

    def carried(self, kept: Iterable[Stored]) -> Bandit:
        """The bandit that a run with these settings left behind, from the pulls that it stored."""
        bandit = self.knowledge or Bandit()
        for one in kept:
            if one.kind == "pull":
                pull = msgspec.json.decode(one.body, type=Pull)
                bandit = pulled(bandit, pull.arm, pull.features, pull.reward)
        return bandit

    async def solve(self, run: Run, question: str) -> Solution:
        """One question after the other; the bandit goes with them."""
        bandit = self.knowledge or Bandit()

        async def one(instance: Run, item: StreamItem) -> Solution:
            nonlocal bandit
            found, bandit = await self.one(instance, item, bandit)
            return found

        return await each(run, question, one, in_turn=True)

    async def one(self, run: Run, item: StreamItem, bandit: Bandit) -> tuple[Solution, Bandit]:
        """Step, report, choose, until a step answers; then or at the limit one conclusion."""
        path, arm, context = "", "continue", list[float]()
        for number in range(1, self.steps + 1):
            run.round(number, self.steps)
            step = await self.step(run, item.question, path, arm)
            report = await self.report(run, item.question, path, step)
            reward = progress(report)
            if context:
                bandit = pulled(bandit, arm, context, reward)
                pull = canonical_json(Pull(arm, tuple(context), reward)).decode()
                run.store("pull", str(number), f"{arm}: {reward:g}", pull)
            path = f"{path}\n\n{step.strip()}".strip()
            if (answer := final_field(step)) is not None:
                return Solution(answer, "field"), bandit
            context = await self.features(run, report)
            arm = best(bandit, tuple(ARMS), context, self.exploration)
        asked = filled(text("meta_reasoner_finish"), question=item.question, path=path or "(nothing)")
        return solution(run, final_field(await ask_text(run, asked))), bandit

    async def step(self, run: Run, question: str, path: str, arm: str) -> str:
        """One reasoning step under the guidance of an arm."""
        asked = filled(
            text("meta_reasoner_step"), question=question, path=path or "(nothing yet)", guidance=ARMS[arm]
        )
        async with run.span("reasoner", f"Reasoner: {arm}") as inner:
            return await ask_text(inner, asked)

    async def report(self, run: Run, question: str, path: str, step: str) -> str:
        """A compact report on the newest step, with the progress that it made."""
        asked = filled(
            text("meta_reasoner_report"), question=question, path=path or "(nothing yet)", step=step
        )
        async with run.span("stage", "Report") as inner:
            return await ask_text(inner, asked)

    async def features(self, run: Run, report: str) -> Vector:
        """The report as 32 numbers of length 1."""
        (vector,) = await embed(run, [report], self.embedder)
        return [round(value, 9) for value in reduced(vector, FEATURES)]


def progress(report: str) -> float:
    """The progress in [0, 1] that a report states last; 0 where it states none."""
    found = _PROGRESS.findall(report)
    return float(found[-1]) if found else 0.0
