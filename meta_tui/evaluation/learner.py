"""A SIMULATION of a model that errs on a failure mode until a rule that names it is in its prompt.

No language model is asked anywhere here. It knows the right answers of the samples that it is
given and uses them only to decide whether it "errs"; every word of it is invented. It shows what
the machinery of MC2 does with a model that can be taught; it is no evidence about any real model.
What it replies depends on the request and on a seed alone, never on time or order.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from meta_tui.chat import Reply, Usage
from meta_tui.events import How, StreamItem
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.protocol import MARKER, QUOTES
from meta_tui.tasks import Sample, family

NOTE = (
    "SIMULATION: a scripted learner that errs on a failure mode until a rule that names it is in its "
    "prompt. No language model was called; the numbers say nothing about any model."
)
SLIP, REMAINS, NOTICED, FALSE_ALARM = 0.85, 0.05, 0.5, 0.05
"""Chance to err on a mode unnamed and named, and of the Monitor to notice or to cry wolf."""

HOW = How("written", note="simulated")

_ENDS = (
    "\n\nThe Reasoner's solution:",
    "\n\nFeedback on an earlier attempt",
    "\n\nReply with one JSON object",
)
_RULE = re.compile(r"^- (?:DO|AVOID): (.*?)(?: \(when .*\))?$", re.MULTILINE)
_FAILED = re.compile(r"^\[(\S+)\] outcome failure", re.MULTILINE)


def items(samples: Sequence[Sample]) -> tuple[StreamItem, ...]:
    """The samples as a stream."""
    return tuple(StreamItem(one.id, family(one.task).question(one)) for one in samples)


def mode(sample: Sample) -> str:
    """The failure mode of a sample: its theorem."""
    return f"slips with {str(sample.meta['kind']).replace('_', ' ')}"


class SimulatedLearner:
    """Answers every role of MC2 (and any single prompt) as the module says.

    Args:
        samples: theorem questions (`kind` and `answer_type` in their meta) whose targets it knows.
        seed: decides, with the request and its place, every draw.
    """

    def __init__(self, samples: Sequence[Sample], seed: int = 0) -> None:
        self._by_question = {family(one.task).question(one): one for one in samples}
        self._by_name = {one.id: one for one in samples}
        self._seed = seed

    @property
    def id(self) -> str:
        """The model's name in requests, logs and reports."""
        return f"simulated/learner,seed={self._seed}"

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply to a call, for runs; nothing is told beforehand."""
        return Answer(self(call), HOW)

    def __call__(self, call: Call) -> Reply:
        """The reply to a call, with invented token counts."""
        text = self._text(call)
        sent = sum(len(message.content) for message in call.request.messages)
        usage = Usage(sent // 4, max(1, len(text) // 4))
        chance = random.Random(f"{self._seed}/{call.request.key}/{call.draw}/tokens")
        return Reply(text, finish_reason="stop", usage=usage, logprobs=invented(call, chance))

    def _text(self, call: Call) -> str:
        asked = call.request.messages[-1].content
        chance = random.Random(f"{self._seed}/{call.request.key}/{call.draw}")
        roles: dict[str, Callable[[str, Call, random.Random], str]] = {
            "reasoner": self._reason,
            "monitor": self._audit,
            "controller": self._control,
        }
        if call.role in roles:
            return roles[call.role](asked, call, chance)
        if call.name.startswith("Distil"):
            return self._distil(asked, call.name.endswith("Reasoner"))
        if call.name.startswith("Consolidate"):
            return self._consolidate(asked)
        return self._compose(asked) if call.name == "Compose" else self._single(asked, chance)

    def _single(self, asked: str, chance: random.Random) -> str:
        """A prompt of another method: nothing that it learns is a rule that names a mode."""
        sample = next((one for question, one in self._by_question.items() if question in asked), None)
        if sample is None:
            return "I note what is asked for and which conditions it has."
        return stated(wrong(sample) if chance.random() < SLIP else sample.target)

    def _sample(self, asked: str) -> Sample:
        question = asked.rpartition("Problem:\n")[2]
        for end in _ENDS:
            question = question.partition(end)[0]
        return self._by_question[question]

    def _reason(self, asked: str, call: Call, chance: random.Random) -> str:
        sample = self._sample(asked)
        named = mode(sample) in call.request.messages[0].content
        errs = chance.random() < (REMAINS if named else SLIP)
        return f"1. I work on it.\n2. Hence the answer.\nFinal Answer: {wrong(sample) if errs else sample.target}"

    def _audit(self, asked: str, call: Call, chance: random.Random) -> str:
        sample = self._sample(asked)
        errs = f"Final Answer: {sample.target}" not in asked
        if chance.random() < (NOTICED if errs else FALSE_ALARM):
            return "I doubt it.\nERROR_FOUND: YES\nERROR_STEP: 2\nERROR_DESCRIPTION: step 2 does not follow"
        return "I agree.\nERROR_FOUND: NO\nERROR_STEP: NONE\nERROR_DESCRIPTION: NONE"

    def _control(self, asked: str, call: Call, chance: random.Random) -> str:
        if "ERROR_FOUND: YES" in asked:
            return "ACTION: 3\nJUSTIFICATION: the audit convinces\nSUGGESTIONS: work through step 2 again"
        return "ACTION: 1\nJUSTIFICATION: nothing speaks against it"

    def _distil(self, asked: str, reasoner: bool) -> str:
        failed = [self._by_name[name] for name in _FAILED.findall(asked)]
        modes = Counter(mode(sample) for sample in failed)
        avoid = [
            {"rule": f"Guard against {name}", "when": "the problem is of this kind", "evidence_ids": []}
            for name, _ in sorted(modes.items(), key=lambda entry: (-entry[1], entry[0]))
        ]
        return json.dumps({"do": [], "avoid": avoid if reasoner else []})

    def _consolidate(self, asked: str) -> str:
        rules = list(dict.fromkeys(_RULE.findall(asked)))
        return json.dumps({"rules": [{"text": rule, "kind": "avoid"} for rule in rules[-12:]]})

    def _compose(self, asked: str) -> str:
        rules = "\n".join(dict.fromkeys(_RULE.findall(asked.partition("\n\nMonitor, ")[0])))
        fields = {"P_R": f"You are the Reasoner.\n{rules}"}
        if '"P_M"' in asked:
            fields |= {"P_M": "You are the Monitor.", "P_C": "You are the Controller."}
        return json.dumps(fields)


def invented(call: Call, chance: random.Random) -> dict[str, Any] | None:
    """Log-probabilities for methods that ask for them; as all else here they mean nothing."""
    if not call.request.params.logprobs:
        return None
    return {"content": [{"token": "simulated", "logprob": -round(chance.uniform(0.05, 1.5), 3)}]}


def stated(answer: str) -> str:
    """An answer in both forms that methods ask for; the field stands last, since the marker looks like it."""
    return f"Simulated work.\n{MARKER}\n{QUOTES}\n{answer}\n{QUOTES}\n\nFinal Answer: {answer}"


def wrong(sample: Sample) -> str:
    """An answer of the right type that is not the right one."""
    match sample.meta["answer_type"]:
        case "bool":
            return "no" if sample.target == "yes" else "yes"
        case "list":
            return "[987, 654]"
        case "float":
            return f"{float(sample.target) * 2 + 1.5:.6g}"
    return str(int(sample.target) + 1)
