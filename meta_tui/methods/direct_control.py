"""Direct Control: the baseline of agentic meta-reasoning in which one conversation decides all.

Source: Thinking Before Thinking (arXiv 2609.38147), its baseline. The workers, what they are shown and the budget are those of the staged
controller; there are no stages and no memory to read, results come back in full. One decision is
one call over the whole history, which only grows.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from meta_tui.chat import Message, Reply, system, user
from meta_tui.methods import deliberation, tools
from meta_tui.methods.artifacts import Memory, full
from meta_tui.methods.deliberation import MOST_WORKERS
from meta_tui.methods.prompts import text
from meta_tui.methods.tools import Transport, Use
from meta_tui.methods.workers import run_batch
from meta_tui.run import Run, Solution

Count = Annotated[int, msgspec.Meta(ge=1)]
TOOLS = (tools.RUN, tools.FINISH_TEXT)


class DirectControl(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One growing conversation runs workers and finishes, without stages.

    Attributes:
        budget: B, model calls of the controller and its workers together; looked at before every
            decision, so that a batch that was begun is finished.
        tools: `native` tool calls of the provider, or `text`: a fenced JSON block.
        most_workers: most workers of one batch.
        reasks: messages in a row without a tool call that are answered by a reminder; the next one
            is taken as the result.
        report_each: per cent of the budget after which the controller is told what is left.
        finish_at: per cent of the budget after which it is told, once, to finish.
        control: its system prompt; the budget is put behind it.
    """

    id: ClassVar[str] = "direct_control"

    budget: Count = 50
    tools: Transport = "native"
    most_workers: Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)] = MOST_WORKERS
    reasks: Annotated[int, msgspec.Meta(ge=0)] = 1
    report_each: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    finish_at: Annotated[int, msgspec.Meta(ge=1, le=100)] = 90
    control: str = msgspec.field(default_factory=lambda: text("amr_direct"))

    async def solve(self, run: Run, question: str) -> Solution:
        """Decide, do, hear the result; until `finish` or until the budget is used up."""
        memory, news, start = Memory(), BudgetNews(self.budget, self.report_each, self.finish_at), run.calls
        messages = [system(self.prompt()), user(question)]
        decisions = silent = 0
        while (spent := run.calls - start) < self.budget:
            messages += news.due(spent)
            run.budget()
            reply = await run.ask(messages, tools.params(TOOLS, self.tools))
            messages.append(reply.message)
            used = tools.uses(reply)
            silent = 0 if used else silent + 1
            if silent > self.reasks:
                return self.taken_as_result(run, memory, reply)
            if not used:
                run.reject("no tool call")
                messages.append(user(text("amr_again_direct")))
            for number, use in enumerate(used):
                if (result := finished(use)) is not None:
                    return self.submit(run, result)
                told = await self.carried_out(
                    run, question, memory, use, decisions, run.calls - start, first=number == 0
                )
                messages.append(tools.result(use, told))
            decisions += 1
        return self.forced(run, memory)

    def prompt(self) -> str:
        """The system prompt with tools and budget."""
        budget = text("amr_direct_budget").replace("{total}", str(self.budget))
        return f"{tools.described(self.control, TOOLS, self.tools)}\n\n{budget}"

    async def carried_out(
        self, run: Run, question: str, memory: Memory, use: Use, decision: int, spent: int, *, first: bool
    ) -> str:
        """Run a batch; what the controller hears of it: new ids and full bodies."""
        if use.error or use.name != tools.RUN.name:
            return (
                f"Not done: {use.error or f'there is no tool {use.name[:40]!r}; use run_workers or finish'}."
            )
        if not first:
            return "Not done: there is one batch for each of your messages."
        batch = deliberation.batch(use.arguments, self.most_workers)
        new = await run_batch(run, question, memory, batch, decision, spent, "control")
        return "\n\n".join(map(full, new))

    def taken_as_result(self, run: Run, memory: Memory, reply: Reply) -> Solution:
        """A message without a tool call, after a reminder: the result, unless it says nothing."""
        run.reject("no tool call again: taken as the result")
        return self.submit(run, reply.text) if reply.text.strip() else self.forced(run, memory, "stopped")

    def submit(self, run: Run, result: str) -> Solution:
        """The controller's own text; which artifact it matches, diagnostics find out."""
        run.budget()
        run.store("submit", "", "stopped")
        return Solution(result, "stopped")

    def forced(self, run: Run, memory: Memory, how: str = "forced") -> Solution:
        """The output of the latest worker, if there is one."""
        run.budget()
        if memory.latest is None:
            return Solution(None, "no_answer")
        run.store("submit", memory.latest.id, how)
        return Solution(memory.latest.body, how)


def finished(use: Use) -> str | None:
    """The result that a `finish` call submits; None for any other call."""
    result = use.arguments.get("result")
    return result if use.name == tools.FINISH_TEXT.name and isinstance(result, str) else None


class BudgetNews:
    """What a controller is told of its budget, each thing once.

    Args:
        total: calls in all.
        each: per cent after which it is told what is left.
        finish_at: per cent after which it is told to finish.
    """

    def __init__(self, total: int, each: int, finish_at: int) -> None:
        self._total = total
        self._each = each
        self._finish_at = finish_at
        self._told = 0
        self._demanded = False

    def due(self, used: int) -> list[Message]:
        """The messages that are due at this point; steps that were jumped over are told as one."""
        per_cent = 100 * used // self._total
        found = []
        if per_cent // self._each > self._told:
            self._told = per_cent // self._each
            found.append(user(self._line(used)))
        if per_cent >= self._finish_at and not self._demanded:
            self._demanded = True
            found.append(user(text("amr_finish_now")))
        return found

    def _line(self, used: int) -> str:
        line = text("amr_budget_line").replace("{used}", str(used)).replace("{total}", str(self._total))
        return line.replace("{left}", str(self._total - used))
