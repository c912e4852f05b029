"""Special experts: experts that are more than a prompt, each one value that answers an instruction.

Source: Suzgun & Kalai 2024 (arXiv 2401.12954), section 7, names other models and tools as experts
as future work; the forms here are our choice. A special expert is another model, one model at
several temperatures, a function, a command, or a program of the sandbox. Whatever it is, it is
reached through the run's doors: a function or a command answers a request that is addressed to it
by name, so it is recorded, replayed, resumed and shown like any other reply. What is not here: who
stands behind a name (`meta_tui.experts`) and how a function is run (`models.local`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from meta_tui.chat import Message, Params, Program, Reply, user
from meta_tui.errors import CallFailed, Stopped
from meta_tui.methods.asking import filled
from meta_tui.methods.expert_python import SHOWN, outcome
from meta_tui.methods.field import final_field, normalised
from meta_tui.methods.prompts import text
from meta_tui.run import Run

Merge = Literal["all", "summary", "majority"]

FUNCTION, COMMAND, MODEL = "function:", "command:", "model:"
"""What begins the name of a model that is really a function, a command, or a model object of the
caller's."""

REASON = 1_000
"""Characters of a failure that the Meta Model is shown."""


def is_program(model: str) -> bool:
    """Whether requests to this model are answered by a program of the user's, not by a model."""
    return model.startswith((FUNCTION, COMMAND))


class Special(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One special expert, as the settings of a run name it.

    Attributes:
        name: whom it is, `Expert Search`; `*` stands for any words, case does not count.
        about: what the Meta Model is told about it.
        model: whom its requests are addressed to; empty: the run's own model.
        temperatures: it is asked at each of these at once.
        merge: how those replies become one: `all`, `summary` (one more call), `majority`.
        program: is run in the sandbox with the instruction as standard input.
    """

    name: str
    about: str = ""
    model: str = ""
    temperatures: tuple[Annotated[float, msgspec.Meta(ge=0)], ...] = ()
    merge: Merge = "all"
    program: Program | None = None

    def __post_init__(self) -> None:
        if not re.match(r"expert\s+\S", self.name, re.IGNORECASE):
            raise ValueError(f"the name of an expert begins with Expert: write 'Expert {self.name}'")
        if (self.program is not None) + is_program(self.model) + bool(self.temperatures) > 1:
            raise ValueError(f"{self.name}: a program, a function or a command has no temperatures")

    @property
    def is_prompt(self) -> bool:
        """Whether a model speaks for it, so that it is given a persona and may write code."""
        return self.program is None and not is_program(self.model)

    def matches(self, name: str) -> bool:
        """Whether it answers for the expert of that name."""
        return _matches(_folded(self.name), _folded(name))

    def told(self) -> str:
        """The line that tells the Meta Model about it."""
        return f"- {self.name}: {self.about.strip() or self._kind()}"

    async def answer(self, expert: Run, instruction: str, messages: Sequence[Message]) -> str:
        """Its reply to an instruction, through the doors of the run.

        Args:
            expert: the run, in the span of this expert.
            instruction: what the Meta Model wrote; a function, command or program gets just this.
            messages: what a model is sent for it.

        Raises:
            CallFailed: the model behind it failed for good. A function, command or program that
                fails has answered: what went wrong is its reply.
        """
        if self.program is not None:
            return await self._run_program(expert, self.program, instruction)
        if is_program(self.model):
            return await self._call(expert, instruction)
        own = Params(model=self.model) if self.model else None
        if not self.temperatures:
            return (await expert.ask(messages, own)).text
        return await self._several(expert, instruction, messages)

    def _kind(self) -> str:
        if not self.is_prompt:
            return "a program that is given your instruction as it stands and gives back what it finds."
        return "several replies to one instruction." if self.temperatures else "another language model."

    async def _run_program(self, expert: Run, program: Program, instruction: str) -> str:
        return outcome(await expert.execute(msgspec.structs.replace(program, stdin=instruction)))

    async def _call(self, expert: Run, instruction: str) -> str:
        try:
            reply = await expert.ask([user(instruction)], Params(model=self.model))
        except Stopped:
            raise
        except CallFailed as error:
            reason = (error.message or error.kind)[:REASON].rstrip()
            return f"[There is no result. Change the instruction, or go on without this expert.]\n{reason}"
        return _shown(reply.text) or "[It ended without a word.]"

    async def _several(self, expert: Run, instruction: str, messages: Sequence[Message]) -> str:
        each = [Params(model=self.model, temperature=degree) for degree in self.temperatures]
        results = await expert.ask_many([messages] * len(each), each)
        replies = [
            (degree, r.text)
            for degree, r in zip(self.temperatures, results, strict=True)
            if isinstance(r, Reply)
        ]
        if not replies:
            raise next(r for r in results if isinstance(r, CallFailed))
        merged, how = await self._merged(expert, instruction, replies)
        came = "" if len(replies) == len(each) else f"; {len(each) - len(replies)} of {len(each)} failed"
        expert.store("merged", self.merge, how + came, merged)
        return merged

    async def _merged(
        self, expert: Run, instruction: str, replies: Sequence[tuple[float, str]]
    ) -> tuple[str, str]:
        """The one reply, and in words how it was made."""
        texts = [reply for _, reply in replies]
        if self.merge == "majority":
            return majority(texts)
        listed = "\n\n".join(
            f"[Reply {n} of {len(replies)}, temperature {degree:g}]\n{reply}"
            for n, (degree, reply) in enumerate(replies, 1)
        )
        if self.merge == "all":
            return listed, f"all {len(replies)} replies"
        asked = filled(text("experts_summary"), instruction=instruction, replies=listed)
        own = Params(model=self.model) if self.model else None
        return (await expert.ask([user(asked)], own)).text, f"a summary of {len(replies)} replies"


def speaker(experts: Sequence[Special], name: str) -> Special:
    """Who answers for the expert of that name: the first special one that matches, else a prompt."""
    return next((special for special in experts if special.matches(name)), PROMPT)


PROMPT = Special(name="Expert *")
"""An expert as the paper has it: the run's own model and nothing else."""


def introduction(experts: Sequence[Special]) -> str:
    """The paragraph of the instruction that tells the Meta Model which special experts exist."""
    if not experts:
        return ""
    wild = text("meta_special_any") if any("*" in special.name for special in experts) else ""
    lines = "\n".join(special.told() for special in experts)
    return f"{text('meta_special')}{wild}\n\n{lines}"


def majority(texts: Sequence[str]) -> tuple[str, str]:
    """The first reply whose answer most replies share, and how many do.

    The answer of a reply is its final-answer field, else its last line; compared once normalised.
    Of equally frequent answers the one that came first.
    """
    votes = [normalised(final_field(reply) or _last_line(reply)) for reply in texts]
    winner = max(votes, key=votes.count)
    return texts[votes.index(winner)], f"{votes.count(winner)} of {len(votes)} replies agree"


def _last_line(reply: str) -> str:
    return reply.rstrip().rpartition("\n")[2]


def _shown(reply: str) -> str:
    if len(reply) <= SHOWN:
        return reply.rstrip()
    return f"{reply[:SHOWN]}\n[... {len(reply) - SHOWN:,} more characters came and are left out]"


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _matches(pattern: str, name: str) -> bool:
    """Whether the pieces between the stars stand in the name in order; linear, never backtracking."""
    first, *rest = pattern.split("*")
    if not rest:
        return name == first
    if not name.startswith(first):
        return False
    place = len(first)
    for piece in rest[:-1]:
        found = name.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return len(name) - place >= len(rest[-1]) and name.endswith(rest[-1])
