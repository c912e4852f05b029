"""Recursive language model: the task is a variable, and a model writes small programs over it.

Source: Recursive Language Models (arXiv 2512.24601). In every turn
the model writes code in a very small language (`rlm_policy`); its queries go to sub-models, at the
greatest depth as plain calls; it submits by setting an answer and a flag. Code runs in the
sandbox, one step between two queries at a time, with the variables carried over as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import msgspec

from meta_tui.chat import Limits, Program, system, user
from meta_tui.errors import CallFailed, Stopped
from meta_tui.methods.direct_control import BudgetNews, Count
from meta_tui.methods.prompts import text
from meta_tui.methods.rlm_policy import QUERY, QUERY_BATCH, Refusal, Step, steps
from meta_tui.protocol import code_blocks
from meta_tui.run import Run, Solution

KEPT = "kept_variables"
"""Variable of a step's program that hands the others back."""

FAILED_QUERY = "(this query failed)"


class RLM(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The task sits in a variable; the model writes tiny programs that query sub-models.

    Attributes:
        budget: B, model calls of all depths together; looked at before every turn and query.
        depth: greatest recursion depth; a query there is a plain model call.
        shown: characters of printed output that come back.
        head: characters of the task that the first message shows.
        batch: most queries of one batch.
        reasks: replies in a row without code that are answered by a reminder; the next one is taken
            as the answer.
        code_seconds: wall clock of one step, in seconds.
        report_each, finish_at: per cent of the budget after which the model is told what is left,
            and to finish.
        task, answer, ready: the names of the three variables that programs know.
        instruction: the system message of the model that writes the programs.
    """

    id: ClassVar[str] = "rlm"

    budget: Count = 50
    depth: Count = 1
    shown: Count = 10_000
    head: Annotated[int, msgspec.Meta(ge=0)] = 500
    batch: Count = 32
    reasks: Annotated[int, msgspec.Meta(ge=0)] = 1
    code_seconds: Annotated[float, msgspec.Meta(gt=0)] = 5.0
    report_each: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    finish_at: Annotated[int, msgspec.Meta(ge=1, le=100)] = 90
    task: str = "task"
    answer: str = "answer"
    ready: str = "ready"
    instruction: str = msgspec.field(default_factory=lambda: text("amr_rlm"))

    async def solve(self, run: Run, question: str) -> Solution:
        """Turns until the answer is ready or the budget is used up."""
        answer, reason = await self.turns(run, question, 0, run.calls)
        run.store("submit", "", reason) if answer is not None else None
        return Solution(answer, reason if answer is not None else "no_answer")

    async def turns(self, run: Run, question: str, depth: int, start: int) -> tuple[str | None, str]:
        """One recursive model: reply, run the code, show what it printed; (answer, how it ended)."""
        space, silent = Space(self, question), 0
        news = BudgetNews(self.budget, self.report_each, self.finish_at)
        messages = [system(self.prompt()), user(self.opening(question))]
        while (spent := run.calls - start) < self.budget:
            messages += news.due(spent)
            run.budget()
            reply = await run.ask(messages)
            messages.append(reply.message)
            blocks = code_blocks(reply.text)
            silent = 0 if blocks else silent + 1
            if silent > self.reasks:
                return (reply.text if reply.text.strip() else space.answer), "stopped"
            if blocks:
                said = await self.ran(run, space, blocks[0], depth, start)
                if space.is_ready:
                    return space.answer, "stopped"
            else:
                run.reject("no code")
                said = self.named(text("amr_again_rlm"))
            messages.append(user(said))
            if depth == 0 and space.answer is not None:
                run.keep(space.answer)
        return space.answer, "forced"

    def prompt(self) -> str:
        """The system prompt with the names filled in."""
        return self.named(self.instruction)

    def opening(self, question: str) -> str:
        """The first message: how long the task is and how it begins."""
        filled = self.named(text("amr_rlm_opening")).replace("{length}", str(len(question)))
        return filled.replace("{head}", question[: self.head])

    def named(self, words: str) -> str:
        """A prompt text with the names of variables and functions filled in."""
        names = {"query": QUERY, "query_batch": QUERY_BATCH, "shown": f"{self.shown:,}"}
        names |= {"task": self.task, "answer": self.answer, "ready": self.ready}
        for name, value in names.items():
            words = words.replace(f"{{{name}}}", value)
        return words

    async def ran(self, run: Run, space: Space, code: str, depth: int, start: int) -> str:
        """Run one program step by step; what comes back to the model."""
        cut = steps(code, tuple(space.variables))
        if isinstance(cut, Refusal):
            run.store("flag", "", "refused", str(cut))
            return f"Not run: {cut}."
        printed: list[str] = []
        for step in cut:
            result = await run.execute(space.program(step))
            printed.append(result.stdout)
            if result.status != "ok":
                space.forget()
                return self.cut("".join(printed) + f"\nStopped: {result.status}. {result.error.strip()}")
            space.take(result.value)
            if step.asked:
                space.variables[step.asked] = await self.asked(run, space, step, depth, start)
        space.forget()
        return self.cut("".join(printed)) or "(nothing was printed)"

    def cut(self, printed: str) -> str:
        """Printed text as the model is shown it."""
        if len(printed) <= self.shown:
            return printed
        return f"{printed[: self.shown]}\n[{len(printed) - self.shown:,} more characters are left out]"

    async def asked(self, run: Run, space: Space, step: Step, depth: int, start: int) -> Any:
        """The reply to a query, or the replies to a batch, in order."""
        value = space.variables[step.asked]
        given = value if step.batch and isinstance(value, list) else [value]
        wanted = [item if isinstance(item, str) else str(item) for item in given][: self.batch]

        async def one(inner: Run, index: int) -> str:
            return await self.query(inner, wanted[index], depth + 1, start)

        first = space.queries
        space.queries += len(wanted)
        names = [f"query {first + number}" for number in range(1, len(wanted) + 1)]
        replies = await run.parallel("query", names, one) if wanted else []
        return replies if step.batch else replies[0]

    async def query(self, run: Run, wanted: str, depth: int, start: int) -> str:
        """One sub-model: a plain call at the greatest depth, else a recursive model of its own."""
        try:
            if depth >= self.depth:
                return (await run.ask([user(wanted)])).text
            answer, _ = await self.turns(run, wanted, depth, start)
            return answer or ""
        except Stopped:
            raise
        except CallFailed:
            return FAILED_QUERY


@dataclass(slots=True)
class Space:
    """The variables of one recursive model between its steps."""

    method: RLM
    question: str
    variables: dict[str, Any] = field(default_factory=dict)
    queries: int = 0

    def __post_init__(self) -> None:
        self.variables = {self.method.task: self.question, self.method.ready: False}

    @property
    def answer(self) -> str | None:
        """The answer as it is set now, as text."""
        value = self.variables.get(self.method.answer)
        return value if value is None or isinstance(value, str) else str(value)

    @property
    def is_ready(self) -> bool:
        """Whether the answer is submitted."""
        return self.variables.get(self.method.ready) is True and self.answer is not None

    def program(self, step: Step) -> Program:
        """A step as a program that hands all variables back."""
        kept = ", ".join(f'"{name}": {name}' for name in step.names)
        return Program(
            f"{step.source}\n{KEPT} = {{{kept}}}",
            inputs=dict(self.variables),
            result=KEPT,
            limits=Limits(seconds=self.method.code_seconds),
        )

    def take(self, value: Any) -> None:
        """The variables after a step."""
        self.variables = dict(value) if isinstance(value, dict) else self.variables

    def forget(self) -> None:
        """Drop the variables that queries waited in."""
        for name in [n for n in self.variables if n.startswith("asked") and n[5:].isdigit()]:
            del self.variables[name]
