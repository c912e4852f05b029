"""Meta-prompting: one model conducts isolated, fresh-eyed experts round by round.

Source: Suzgun & Kalai 2024 (arXiv 2401.12954), section 3, Algorithm 1, and the published code
where the paper is silent. Each expert sees its own instruction and nothing else; Expert Python's
code is run. What is not here: the loop itself (`dialogue`), reading replies (`protocol`), the
wording of prompts (`prompts`), running code (the sandbox, behind the run), experts that are more
than a prompt (`special`), and histories that grow too long (`shorten`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import msgspec

from meta_tui.chat import Message, system, user
from meta_tui.errors import CallFailed
from meta_tui.methods.asking import filled
from meta_tui.methods.dialogue import Count, History, Rounds
from meta_tui.methods.expert_python import Wording, run_requested
from meta_tui.methods.prompts import text
from meta_tui.methods.shorten import shortened
from meta_tui.methods.special import Special, introduction, speaker
from meta_tui.protocol import (
    ExpertCall,
    ExpertCalls,
    FinalAnswer,
    Malformed,
    ParserName,
    final_answer,
    read,
    refers_back,
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
        experts: special experts by name: another model, several temperatures, a function, a
            command, a program; the instruction tells the Meta Model of them.
        several: what becomes of several calls in one reply: made `in_turn`, `at_once`, or only
            the first, of which the Meta Model is told (`one`).
        history_tokens: a history above about so many tokens is summarised; 0: never.
        history_keep: last rounds that stay word for word then.
        nudge: an instruction that points at what its expert cannot see ("the above") is `off`:
            not looked for; `show`: shown to people; `reask`: sent back once to be written in full.
    """

    id: ClassVar[str] = "meta_prompting"
    beyond: ClassVar[frozenset[str]] = frozenset(
        {"experts", "several", "history_tokens", "history_keep", "nudge"}
    )
    """Settings beyond the paper: a log holds them only where they are not at their defaults."""

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
    experts: tuple[Special, ...] = ()
    several: Literal["in_turn", "at_once", "one"] = "in_turn"
    history_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    history_keep: Count = 2
    nudge: Literal["off", "show", "reask"] = "off"

    async def solve(self, run: Run, question: str) -> Solution:
        """Algorithm 1: H_1 = t_init(x), then rounds until an answer or T."""
        return await self.converse(
            run, self.opening(question), self.react, self.fit if self.history_tokens else None
        )

    def opening(self, question: str) -> History:
        """t_init: the first messages for a question."""
        instruction = self.instructed()
        asked = self.label + question + (f"\n\n{self.suffix}" if self.suffix else "")
        if self.placement == "system":
            return (system(instruction), user(asked))
        return (system(self.system), user(instruction + asked))

    def instructed(self) -> str:
        """The fixed instruction; special experts are told of whoever worded it."""
        if not self.instruction or not self.experts:
            return self.instruction or self.own_instruction()
        apart = "\n\n" if self.placement == "user_prefix" else ""
        return f"{self.instruction.rstrip()}\n\n{introduction(self.experts)}{apart}"

    def own_instruction(self) -> str:
        """Our instruction with the paragraphs that the settings ask for."""
        paragraphs = {
            "python": text("meta_python") if self.python else "",
            "special": introduction(self.experts),
            "memory": text("meta_fresh_eyes" if self.fresh_eyes else "meta_shared_history"),
            "verification": text("meta_verification") if self.verification else "",
            "confidence": text("meta_confidence") if self.confidence else "",
        }
        forgetful = ", remembering that they do not know what they said before"
        whole = text("meta_instruction")
        whole = whole.replace("{one}", text("meta_several" if self.several == "at_once" else "meta_one"))
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
                return self.sent_back(run, calls, history) or await self.branch_a(run, calls, history)
            case Malformed(reason):
                run.reject(reason)
                return self.error
            case answer:
                return answer

    async def branch_a(self, run: Run, calls: Sequence[ExpertCall], history: History) -> str:
        """Consult the experts of one reply; t_mid: their outputs in the order of the calls."""
        heard, unheard = (calls[:1], calls[1:]) if self.several == "one" else (calls, ())
        outputs = [
            f'{call.name}\'s output:\n"""\n{output}\n"""'
            for call, output in zip(heard, await self.consult_all(run, heard, history), strict=True)
        ]
        return f"{self.glue.join(outputs)}{self.unheard(run, heard, unheard)}\n\n{self.feedback}"

    async def consult_all(self, run: Run, calls: Sequence[ExpertCall], history: History) -> list[str]:
        """The outputs of the experts, one after the other or all at once."""
        if self.several == "at_once" and len(calls) > 1:
            names = [call.name for call in calls]
            return await run.parallel(
                "expert", names, lambda expert, at: self.consult(expert, calls[at], history)
            )
        outputs = []
        for call in calls:
            async with run.span("expert", call.name) as expert:
                outputs.append(await self.consult(expert, call, history))
        return outputs

    async def consult(self, expert: Run, call: ExpertCall, history: History) -> str:
        """t_exp: one isolated call with fresh eyes, and the code run if Expert Python asks for it."""
        special = speaker(self.experts, call.name)
        reply = await special.answer(expert, call.instruction, self.expert_messages(call, history))
        if self.python and call.is_python and special.is_prompt:
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

    async def fit(self, run: Run, history: History, asked: History) -> History:
        """The history, its older rounds summarised where it outgrew its tokens."""
        return await shortened(run, history, asked, self.history_tokens, self.history_keep)

    def unheard(self, run: Run, heard: Sequence[ExpertCall], unheard: Sequence[ExpertCall]) -> str:
        """Tell people and the Meta Model who was not consulted because one expert a round is."""
        if not unheard:
            return ""
        others = ", ".join(call.name for call in unheard)
        run.store("nudge", heard[0].name, f"one expert a round; not consulted: {others}")
        return "\n\n" + filled(text("one_expert"), first=heard[0].name, others=others)

    def sent_back(self, run: Run, calls: Sequence[ExpertCall], history: History) -> str:
        """Remark instructions that point at what an expert cannot see; the text that asks for them
        anew, unless that was asked just before."""
        if self.nudge == "off" or not self.fresh_eyes:
            return ""
        found = [(call, phrase) for call in calls if (phrase := refers_back(call.instruction))]
        for call, phrase in found:
            run.store(
                "nudge", call.name, f'its instruction says "{phrase}", which it cannot see', call.instruction
            )
        if self.nudge == "show" or not found or _asked_before(history):
            return ""
        return filled(text("nudge"), name=found[0][0].name, phrase=found[0][1])


def _asked_before(history: History) -> bool:
    """Whether the message that the last reply answers sent its calls back already."""
    return text("nudge").partition("{")[0] in history[-2].content
