"""The five baselines of the meta-prompting paper: one call each (expert_dynamic: two).

Source: Suzgun & Kalai 2024, section 4.3 and appendix; ExpertPrompting (Xu et al. 2023, arXiv
2305.14688) for the two expert methods; Solo Performance Prompting (Wang et al. 2023, arXiv
2307.05300) for multipersona. All share the loop of `dialogue` with branch A switched off, so a
reply without a final answer gets the error text, up to the round limit.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from meta_tui.chat import Params, system, user
from meta_tui.methods.dialogue import Baseline
from meta_tui.methods.prompts import text
from meta_tui.run import Run, Solution


class Standard(Baseline, frozen=True, kw_only=True):
    """The question and nothing else (paper: standard prompting)."""

    id: ClassVar[str] = "standard"

    async def solve(self, run: Run, question: str) -> Solution:
        """One call."""
        return await self.answer(run, self.label + question)


class ZeroShotCoT(Baseline, frozen=True, kw_only=True):
    """The question and the step-by-step suffix (Kojima et al. 2022)."""

    id: ClassVar[str] = "zero_shot_cot"

    suffix: str = msgspec.field(default_factory=lambda: text("step_by_step"))

    async def solve(self, run: Run, question: str) -> Solution:
        """One call."""
        asked = f"{self.label}{question}\n\n{self.suffix}"
        return await self.answer(run, asked)


class ExpertStatic(Baseline, frozen=True, kw_only=True):
    """A generic expert preamble, then the question (ExpertPrompting, fixed identity)."""

    id: ClassVar[str] = "expert_static"

    preamble: str = msgspec.field(default_factory=lambda: text("expert_static"))

    async def solve(self, run: Run, question: str) -> Solution:
        """One call."""
        asked = f"{self.preamble}\n\n{self.label}{question}"
        return await self.answer(run, asked)


class ExpertDynamic(Baseline, frozen=True, kw_only=True):
    """An identity written for this question, then the question (ExpertPrompting, dynamic).

    Attributes:
        identity_prompt: asks for the identity; `{question}` is filled in.
        identity_system: the system message of that call.
        link: stands between identity and question.
        identity_input: what the identity is written for; empty: the question. The published
            runs give only the input, without the task description.
        preamble: used instead of an empty identity (as `expert_static`).
    """

    id: ClassVar[str] = "expert_dynamic"

    identity_prompt: str = msgspec.field(default_factory=lambda: text("expert_identity"))
    identity_system: str = msgspec.field(default_factory=lambda: text("expert_system"))
    link: str = msgspec.field(default_factory=lambda: text("expert_link"))
    identity_input: str = ""
    preamble: str = msgspec.field(default_factory=lambda: text("expert_static"))

    async def solve(self, run: Run, question: str) -> Solution:
        """Two calls: who should answer, then the answer."""
        identity = await self.identity(run, self.identity_input or question)
        opening = f"{identity}\n\n{self.link}" if identity.strip() else self.preamble
        asked = f"{opening}\n\n{self.label}{question}"
        return await self.answer(run, asked)

    async def identity(self, run: Run, asked: str) -> str:
        """The description of the expert; empty if the model gave none, which is noted."""
        async with run.span("identity", "Identity") as inner:
            prompt = self.identity_prompt.replace("{question}", asked)
            reply = await inner.ask([system(self.identity_system), user(prompt)], Params())
            if not reply.text.strip():
                inner.reject("empty identity: the static preamble is used")
        return reply.text


class MultiPersona(Baseline, frozen=True, kw_only=True):
    """One model plays several personas in a single reply (Solo Performance Prompting)."""

    id: ClassVar[str] = "multipersona"

    preamble: str = msgspec.field(default_factory=lambda: text("multipersona"))

    async def solve(self, run: Run, question: str) -> Solution:
        """One call."""
        asked = f"{self.preamble}\n\n{self.label}{question}"
        return await self.answer(run, asked)
