"""Meta-prompting: one model conducts isolated, fresh-eyed experts round by round.

Source: Suzgun & Kalai 2024 (arXiv 2401.12954), section 3, Algorithm 1, and the published code
where the paper is silent. Each expert sees its own instruction and nothing else; Expert Python's
code is run. What is not here: the loop itself (`dialogue`), reading replies (`protocol`), the
wording of prompts (`prompts`), and running code (the sandbox, behind the run).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from meta_tui.chat import Message, system, user
from meta_tui.errors import CallFailed
from meta_tui.methods.dialogue import History, Rounds
from meta_tui.methods.expert_python import Wording, run_requested
from meta_tui.methods.prompts import text
from meta_tui.protocol import (
    ExpertCall,
    ExpertCalls,
    FinalAnswer,
    Malformed,
    ParserName,
    final_answer,
    read,
    requested_code,
)
from meta_tui.run import Run, Solution


class MetaPrompting(Rounds, frozen=True, kw_only=True):
    """One model conducts isolated, fresh-eyed experts; Expert Python's code is run.

    The defaults are those for live runs.

    Attributes:
        placement: the instruction is the system message, or opens the first user message.
        instruction: the fixed instruction of the Meta Model; empty: ours, put together from
            the settings `python`, `verification`, `fresh_eyes` and `confidence`.
        instruction_name: the name of that instruction, for people.
        label: stands before the question.
        suffix: stands after the question, after a blank line; empty for none.
        parser: how replies are read: `lenient` or `compat`.
        first_only: only the first of several calls in one reply is made.
        python: Expert Python exists; without it no code ever runs.
        verification: our instruction asks for verification (an ablation where False).
        fresh_eyes: experts see their instruction only; where False they see the whole history
            (an ablation: no fresh eyes).
        confidence: our instruction asks for a stated confidence in [0, 1], for calibration.
        name_line: an expert's message opens with `You are {name}.`
        step_by_step: an expert's message ends with the step-by-step suffix.
        expert_system: the system message of every expert.
        python_note: stands before Expert Python's message; `{run_request}` is filled in.
        run_request: what Expert Python writes to have its code run.
        code_seconds: wall clock of a code run, in seconds.
        code_wording: how a code run is reported: `ours` or `published`.
        feedback: ends the user message that carries the experts' outputs.
        glue: stands between the outputs of several experts.
    """

    id: ClassVar[str] = "meta_prompting"

    placement: Literal["system", "user_prefix"] = "system"
    instruction: str = ""
    instruction_name: str = "meta-tui"
    label: str = ""
    suffix: str = msgspec.field(default_factory=lambda: text("experts_first"))
    parser: ParserName = "lenient"
    first_only: bool = False
    python: bool = True
    verification: bool = True
    fresh_eyes: bool = True
    confidence: bool = False
    name_line: bool = True
    step_by_step: bool = False
    expert_system: str = msgspec.field(default_factory=lambda: text("expert_system"))
    python_note: str = msgspec.field(default_factory=lambda: text("python_note"))
    run_request: str = "Please run this code!"
    code_seconds: Annotated[float, msgspec.Meta(gt=0)] = 5.0
    code_wording: Wording = "ours"
    feedback: str = msgspec.field(default_factory=lambda: text("feedback"))
    glue: str = "\n\n"

    async def solve(self, run: Run, question: str) -> Solution:
        """Algorithm 1: H_1 = t_init(x), then rounds until an answer or T."""
        return await self.converse(run, self.opening(question), self.react)

    def opening(self, question: str) -> History:
        """t_init: the first messages for a question."""
        instruction = self.instruction or self.own_instruction()
        asked = self.label + question + (f"\n\n{self.suffix}" if self.suffix else "")
        if self.placement == "system":
            return (system(instruction), user(asked))
        return (system(self.system), user(instruction + asked))

    def own_instruction(self) -> str:
        """Our instruction with the paragraphs that the settings ask for."""
        paragraphs = {
            "python": text("meta_python") if self.python else "",
            "memory": text("meta_fresh_eyes" if self.fresh_eyes else "meta_shared_history"),
            "verification": text("meta_verification") if self.verification else "",
            "confidence": text("meta_confidence") if self.confidence else "",
        }
        forgetful = ", remembering that they do not know what they said before"
        whole = text("meta_instruction")
        whole = whole.replace("{and_verification}", " and verification" if self.verification else "")
        whole = whole.replace("{recall}", forgetful if self.fresh_eyes else "")
        for name, paragraph in paragraphs.items():
            whole = whole.replace(f"\n\n{{{name}}}", f"\n\n{paragraph}" if paragraph else "")
        return whole

    async def react(self, run: Run, history: History) -> FinalAnswer | str:
        """Branch A (consult), B (answer) or C (error text) of Algorithm 1."""
        reply = history[-1].content
        match read(reply, self.parser, first_only=self.first_only):
            case ExpertCalls(calls):
                if (premature := final_answer(reply)) is not None:
                    run.keep(premature)
                outputs = [
                    f'{call.name}\'s output:\n"""\n{await self.consult(run, call, history)}\n"""'
                    for call in calls
                ]
                return f"{self.glue.join(outputs)}\n\n{self.feedback}"
            case Malformed(reason):
                run.reject(reason)
                return self.error
            case answer:
                return answer

    async def consult(self, run: Run, call: ExpertCall, history: History) -> str:
        """t_exp: one isolated call with fresh eyes, and the code run if Expert Python asks for it."""
        async with run.span("expert", call.name) as expert:
            reply = (await expert.ask(self.expert_messages(call, history))).text
            if self.python and call.is_python:
                return reply + await self.run_code(expert, reply)
            return reply

    def expert_messages(self, call: ExpertCall, history: History = ()) -> list[Message]:
        """All that an expert sees: who it is and its instruction (and, without fresh eyes, the
        history)."""
        content = f"You are {call.name}.\n\n{call.instruction}" if self.name_line else call.instruction
        if self.step_by_step:
            content = f"{content}\n\n{text('step_by_step')}"
        if self.python and call.is_python:
            note = self.python_note.replace("{run_request}", self.run_request)
            content = f"{note}\n\n{content}"
        shown = () if self.fresh_eyes else history[1:]
        return [system(self.expert_system), *shown, user(content)]

    async def run_code(self, expert: Run, reply: str) -> str:
        """Run the code that the reply asks to have run; the text to put behind the reply."""
        if self.code_wording == "published" and requested_code(reply, self.run_request) == "":
            raise CallFailed("method", "a run request without a code block")
        return (
            await run_requested(expert, reply, self.run_request, self.code_seconds, self.code_wording) or ""
        )
