"""The loop of meta-prompting's Algorithm 1, which its baselines share with branch A switched off.

Source: Suzgun & Kalai 2024, section 3 and Algorithm 1; the ROUND headers, the notice and the
tries are those of the published code. What is not here: what an expert is (`meta_prompting`),
how a reply is read (`protocol`), and any prompt text (`prompts`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from meta_tui.chat import Message, system, user
from meta_tui.errors import CallFailed, Stopped
from meta_tui.methods.expert_python import run_requested
from meta_tui.methods.prompts import text
from meta_tui.protocol import FinalAnswer, final_answer
from meta_tui.run import Run, Solution

History = tuple[Message, ...]

Count = Annotated[int, msgspec.Meta(ge=1)]

React = Callable[[Run, History], Awaitable[FinalAnswer | str]]
"""What follows a reply, the last message of the history: the answer, or the text of the next user
message."""

Fit = Callable[[Run, History, History], Awaitable[History]]
"""From the history and its opening, as it was asked in round 1, to the history that is sent next."""


class Rounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the loop.

    Attributes:
        system: the system message (in the `system` placement of meta-prompting: unused).
        error: branch C, the user message after a reply that no parser took.
        rounds: T, the most Meta Model replies.
        notice_round: the round whose last message gets the notice.
        notice: text put directly behind the last message in that round.
        tries: how often a round is begun before the run gives up; a failed try leaves its header.
    """

    system: str = msgspec.field(default_factory=lambda: text("generic_system"))
    error: str = msgspec.field(default_factory=lambda: text("error"))
    rounds: Count = 16
    notice_round: int = 15
    notice: str = msgspec.field(default_factory=lambda: text("last_round"))
    tries: Count = 1

    async def converse(self, run: Run, opening: History, react: React, fit: Fit | None = None) -> Solution:
        """Algorithm 1 from its first request to its answer, in at most `rounds` rounds.

        A run that continues another one puts the last message of the opening behind its history.
        """
        history = (*run.history, opening[-1]) if run.history else opening
        start, asked = len(history), history
        for number in range(1, self.rounds + 1):
            run.round(number, self.rounds)
            if fit is not None and number > 1:
                history = await fit(run, history, asked)
            step = await self._round(run, history, number, react)
            asked = step.history[:start] if number == 1 else asked
            if step.error is not None:
                return Solution(None, step.error.kind, step.history, "failed")
            if isinstance(step.next, FinalAnswer):
                return Solution(step.next.text, "accepted", step.history)
            history = (*step.history, user(step.next))
        return Solution(None, "round_limit", history)

    async def _round(self, run: Run, history: History, number: int, react: React) -> _Step:
        for _ in range(self.tries):
            history = self._headed(history, number)
            try:
                reply = await run.ask(history)
                history = (*history, reply.message)
                return _Step(history, await react(run, history))
            except Stopped:
                raise
            except CallFailed as error:
                failure = error
        return _Step(history, "", failure)

    def _headed(self, history: History, number: int) -> History:
        """The history with the round's header (and notice) on its last message."""
        last = history[-1]
        notice = self.notice if number == self.notice_round else ""
        headed = Message(
            last.role, f"ROUND {number}:\n\n{last.content}{notice}", last.tool_calls, last.tool_call_id
        )
        return (*history[:-1], headed)


@dataclass(frozen=True, slots=True)
class _Step:
    history: History
    next: FinalAnswer | str
    error: CallFailed | None = None


class Baseline(Rounds, frozen=True, kw_only=True):
    """Settings of a method that is the loop without experts: one call where all goes well.

    Attributes:
        label: stands before the question.
        python: the model may have code run, as Expert Python may: a fair comparison, which the
            paper lacks. The output comes back as a user message and the loop goes on.
        python_note: stands behind the system message where `python` is set.
        run_request: what the model writes to have its code run.
        code_seconds: wall clock of a code run, in seconds.
    """

    label: str = "Question: "
    error: str = msgspec.field(default_factory=lambda: text("error_baseline"))
    python: bool = False
    python_note: str = msgspec.field(default_factory=lambda: text("python_note"))
    run_request: str = "Please run this code!"
    code_seconds: float = 5.0

    async def answer(self, run: Run, asked: str) -> Solution:
        """The loop with branch A switched off."""
        note = self.python_note.replace("{run_request}", self.run_request)
        opening = f"{self.system}\n\n{note}" if self.python else self.system
        return await self.converse(run, (system(opening), user(asked)), self.react)

    async def react(self, run: Run, history: History) -> FinalAnswer | str:
        """Run code that is asked for, else take the answer, else send the error text."""
        reply = history[-1].content
        if self.python:
            output = await run_requested(run, reply, self.run_request, self.code_seconds)
            if output is not None:
                return output.strip()
        answer = final_answer(reply)
        if answer is not None:
            return FinalAnswer(answer)
        run.reject("no final answer")
        return self.error
