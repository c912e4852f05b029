"""Prompt intervention while reasoning: at each step boundary several openings, the surest goes on.

Source: the prompt-intervention framework of arXiv 2508.02511 in MC2's form (arXiv 2604.17399,
there called TTPI), read through summaries. It needs log-probabilities: without
them it refuses to run. The depth score of the original needs a model's inner layers and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from meta_tui.chat import Message, Params, Reply, canonical_json, user
from meta_tui.errors import CallFailed
from meta_tui.events import StreamItem
from meta_tui.methods.asking import filled
from meta_tui.methods.cot import solution
from meta_tui.methods.field import final_field
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import each
from meta_tui.run import Run, Solution

UNAVAILABLE = "LOGPROBS_UNAVAILABLE"
BOUNDARY = "\n\n"

TRIGGERS: Mapping[str, str] = {
    "natural": "",
    "progression": "Moving on, the next thing to settle is",
    "summary": "So far this gives:",
    "verification": "Before going on, let me check that",
    "conclusion": "That settles it, hence",
    "exploration": "There may be another way:",
    "backtrack": "On second thought, going back to",
}
"""Behaviour -> the words that open its step."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible next step: its behaviour, its whole text, and the log-probabilities of the tokens
    that were generated (the opening excluded)."""

    behaviour: str
    step: str
    logprobs: tuple[float, ...]
    entropy: float = 0.0

    @property
    def perplexity(self) -> float:
        """See `perplexity`."""
        return perplexity(self.logprobs)


class TTPI(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Step by step: try several openings of the next step and keep the one with the least perplexity.

    Attributes:
        behaviours: how a step may open; the natural continuation is always tried.
        when: `always`: at every boundary (MC2); `entropy`: where the natural step begins unsurely.
        threshold: of that entropy, in nats.
        steps: steps at most, then one concluding call.
        alternatives: log-probabilities asked for at each token.
        prefill: the partial text is sent as the assistant's own beginning; where a provider
            cannot go on from one, it is sent with the request to go on (the default).
    """

    id: ClassVar[str] = "ttpi"
    streams: ClassVar[bool] = True

    behaviours: tuple[Literal["progression", "summary", "verification", "conclusion", "exploration", "backtrack"], ...] = (
        "progression",
        "summary",
        "verification",
        "conclusion",
    )  # fmt: skip
    when: Literal["always", "entropy"] = "always"
    threshold: float = 1.0
    steps: Annotated[int, msgspec.Meta(ge=1)] = 16
    alternatives: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5
    prefill: bool = False

    async def solve(self, run: Run, question: str) -> Solution:
        """Every question of the run on its own; refused without log-probabilities."""
        return await each(run, question, self.one)

    async def one(self, run: Run, item: StreamItem) -> Solution:
        """Steps until one holds the answer field, or the limit; then one concluding call."""
        path = ""
        for number in range(1, self.steps + 1):
            run.round(number, self.steps)
            candidates = await self.candidates(run, item.question, path)
            if candidates is None and not path:
                return _refused(run)
            if candidates is None:
                break
            chosen = surest(candidates)
            _store(run, number, candidates, chosen)
            path = f"{path}{BOUNDARY}{chosen.step.strip()}".strip()
            if (answer := final_field(chosen.step)) is not None:
                return Solution(answer, "field")
        reply = await run.ask(self.messages(item.question, path, "", "ttpi_conclude"))
        return solution(run, final_field(reply.text))

    async def candidates(self, run: Run, question: str, path: str) -> list[Candidate] | None:
        """The candidates of the next step in their order; None without log-probabilities."""
        others = list(self.behaviours)
        if self.when == "always":
            return await self.draw(run, question, path, ["natural", *others])
        natural = await self.draw(run, question, path, ["natural"])
        if natural is None or natural[0].entropy <= self.threshold:
            return natural
        return [*natural, *(await self.draw(run, question, path, others) or [])]

    async def draw(
        self, run: Run, question: str, path: str, behaviours: Sequence[str]
    ) -> list[Candidate] | None:
        """One call a behaviour; None where no reply brings log-probabilities."""
        asked = [self.messages(question, path, TRIGGERS[behaviour]) for behaviour in behaviours]
        params = Params(logprobs=True, top_logprobs=self.alternatives, stop=BOUNDARY)
        replies = await run.ask_many(asked, params)
        errors = [reply for reply in replies if isinstance(reply, CallFailed)]
        if len(errors) == len(replies) and errors:
            if errors[0].kind == "unsupported":
                return None
            raise errors[0]
        found = [
            candidate(behaviour, reply)
            for behaviour, reply in zip(behaviours, replies, strict=True)
            if isinstance(reply, Reply) and tokens(reply)
        ]
        return found or None

    def messages(self, question: str, path: str, opening: str, template: str = "ttpi_go_on") -> list[Message]:
        """What is sent: the question, and the partial text that is to be gone on with."""
        begun = f"{path}{BOUNDARY}{opening}".strip() if opening else path
        asked = user(filled(text("ttpi_begin"), question=question))
        if not begun:
            return [asked]
        if self.prefill and template == "ttpi_go_on":
            return [asked, Message("assistant", begun)]
        return [user(f"{asked.content}\n\n{filled(text(template), path=begun)}")]


def candidate(behaviour: str, reply: Reply) -> Candidate:
    """A candidate from a reply that brings log-probabilities."""
    said = tokens(reply)
    opening = TRIGGERS[behaviour]
    step = f"{opening} {reply.text.lstrip()}" if opening else reply.text
    numbers = tuple(token["logprob"] for token in said)
    return Candidate(behaviour, step, numbers, entropy(_alternatives(said[0])))


def tokens(reply: Reply) -> list[dict[str, Any]]:
    """The tokens of a reply that carry a log-probability (OpenAI's shape); empty without any."""
    content = reply.logprobs.get("content") if isinstance(reply.logprobs, dict) else None
    found = content if isinstance(content, list | tuple) else ()
    return [t for t in found if isinstance(t, dict) and _is_number(t.get("logprob"))]


def _alternatives(token: dict[str, Any]) -> list[float]:
    listed = token.get("top_logprobs")
    found = listed if isinstance(listed, list | tuple) else ()
    return [t["logprob"] for t in found if isinstance(t, dict) and _is_number(t.get("logprob"))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def perplexity(logprobs: Sequence[float]) -> float:
    """exp(-(1/n) sum log p); infinite for no tokens."""
    if not logprobs:
        return math.inf
    return math.exp(min(700.0, -sum(logprobs) / len(logprobs)))


def entropy(logprobs: Sequence[float]) -> float:
    """-sum p log p in nats over the alternatives, renormalised to 1; 0 without any."""
    weights = [math.exp(min(0.0, value)) for value in logprobs]
    total = sum(weights)
    shares = [weight / total for weight in weights] if total else []
    return -sum(share * math.log(share) for share in shares if share > 0)


def surest(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the least perplexity; of equal ones the first."""
    return min(candidates, key=lambda found: found.perplexity)


def _store(run: Run, number: int, candidates: Sequence[Candidate], chosen: Candidate) -> None:
    body = {c.behaviour: round(c.perplexity, 6) for c in candidates}
    run.store("candidate", str(number), f"{chosen.behaviour} goes on", canonical_json(body).decode())


def _refused(run: Run) -> Solution:
    run.reject(
        f"{UNAVAILABLE}: this model gives no log-probabilities, and ttpi chooses by them; "
        "choose another model or another method"
    )
    return Solution(None, UNAVAILABLE, status="failed")
