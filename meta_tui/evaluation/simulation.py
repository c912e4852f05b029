"""Simulated models for evaluations: right with a given chance, and never taken for a real one.

`SimulatedModel` plays every role of the staged controller and of Direct Control, reading its own prompts as a
model would, and knows the targets of the samples that it is given. What an evaluation with it
shows is that the machinery and the diagnostics work; it says nothing about any method or model.
Its id begins with `simulated`, so every log and every report names it as a simulation.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from meta_tui.chat import Reply, Usage
from meta_tui.errors import UsageError
from meta_tui.evaluation.learner import SimulatedLearner, invented, stated
from meta_tui.events import How
from meta_tui.methods.artifacts import read_worker
from meta_tui.methods.deliberation import recommendations, tagged
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.tasks import Sample, family

HOW = How("written", note="simulated")
PREFIX = "simulated"
NOTE = "SIMULATION: no language model was called; the numbers say nothing about any model or method."
_LISTED = re.compile(r"^(\d+_\d+) (LIKELY_CORRECT|HAS_GAPS)$", re.MULTILINE)
_INSTRUCTION = (
    "Solve the problem again from its beginning and write down every step with its reason. Use the earlier attempts "
    "that you are shown only where you have checked them yourself. A good result states the answer in the form that "
    "the problem asks for and says how it was verified. "
)


class SimulatedModel:
    """Answers as workers and controllers would.

    Args:
        samples: the samples whose targets it knows.
        chance: how often a worker without context is right.
        insight: how often Assess judges an attempt rightly.
        seed: decides every draw, together with the request and its place.
    """

    def __init__(
        self, samples: Sequence[Sample], chance: float = 0.3, insight: float = 0.75, seed: int = 0
    ) -> None:
        self._targets = {family(sample.task).question(sample): sample.target for sample in samples}
        self._chance = chance
        self._insight = insight
        self._seed = seed

    @property
    def id(self) -> str:
        """The model's name in requests, logs and reports."""
        return f"simulated/chance={self._chance:g},insight={self._insight:g},seed={self._seed}"

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply of the role that is asked."""
        place = f"{self._seed} {call.repeat} {call.request.key} {call.strand} {call.draw}"
        text = self._role(call)(call, random.Random(place))
        return Answer(Reply(text, usage=Usage(0, 0)), HOW)

    def _role(self, call: Call) -> Any:
        if call.role == "worker":
            return self._worker
        stages = {
            "assess": self._assess,
            "propose": self._propose,
            "evaluate": self._evaluate,
            "dispatch": self._dispatch,
        }
        return stages.get(call.name, self._control)

    def _target(self, text: str) -> str:
        return next((target for question, target in self._targets.items() if question in text), "")

    def _worker(self, call: Call, chance: random.Random) -> str:
        prompt = call.request.messages[-1].content
        target = self._target(prompt)
        seen = [read_worker(body).answer for body in prompt.split("<memory>\n")[1:]]
        odds = min(0.95, self._chance * (2.5 if target in map(_inside, seen) else 1.0))
        right = chance.random() < odds
        level = chance.choices(("HIGH", "MEDIUM", "LOW"), (5, 3, 2) if right else (4, 3, 3))[0]
        answer = target if right else _wrong(target, chance)
        return f"<title>Attempt {chance.randrange(1000)}</title>\nSimulated work.\nANSWER:\n{answer}\nconfidence: {level}"

    def _assess(self, call: Call, chance: random.Random) -> str:
        prompt = call.request.messages[1].content
        _, _, rest = prompt.partition("## Your previous assessment\n")
        old, _, new = rest.partition("## New attempts\n")
        target = self._target(prompt)
        verdicts, parts = [f"{id} {verdict}" for id, verdict in _LISTED.findall(old)], []
        for id, body in tagged(new, "artifact"):
            right = (read_worker(body.strip()).answer or "").strip() == target
            judged = right if chance.random() < self._insight else not right
            verdict = "LIKELY_CORRECT" if judged else chance.choice(("HAS_GAPS", "FUNDAMENTALLY_FLAWED"))
            parts.append(f'<candidate id="{id}">Simulated. {verdict}</candidate>')
            verdicts += [f"{id} {verdict}"] if verdict != "FUNDAMENTALLY_FLAWED" else []
        state = "\n".join(verdicts)
        return "\n".join(
            [
                *parts,
                f"<overall_assessment>\n{state}\n</overall_assessment>\n<stop_recommended>CONTINUE</stop_recommended>",
            ]
        )

    def _propose(self, call: Call, chance: random.Random) -> str:
        return "<actions>" + _ideas(call.request.messages[1].content) + "</actions>"

    def _evaluate(self, call: Call, chance: random.Random) -> str:
        prompt = call.request.messages[1].content
        likely = [id for id, verdict in _LISTED.findall(prompt) if verdict == "LIKELY_CORRECT"]
        left = re.search(r"Calls remaining: (\d+)", prompt)
        enough = 1 + min(7, int(left.group(1)) // 12 if left else 1)
        if len(likely) >= enough:
            return _yaml(f"[{{action_id: STOP, memory_id: {chance.choice(likely)}}}]")
        memory = ", ".join(likely[:2])
        return _yaml(f"[{{action_id: A, memory: [{memory}], parallel_workers: {chance.choice((2, 3, 4))}}}]")

    def _dispatch(self, call: Call, chance: random.Random) -> str:
        decision = call.request.messages[1].content.partition("## Decision\n")[2]
        found = recommendations(decision)
        likely = [id for id, verdict in _LISTED.findall(decision) if verdict == "LIKELY_CORRECT"]
        if found and found[0].submit:
            return _tool("finish", memory_id=found[0].submit)
        if not found and len(likely) >= 3:
            return _tool("finish", memory_id=chance.choice(likely))
        number = found[0].workers if found else 3
        return _workers(number, list(found[0].memory) if found else likely[:2])

    def _control(self, call: Call, chance: random.Random) -> str:
        history = "\n".join(
            message.content for message in call.request.messages[2:] if message.role == "user"
        )
        found = [
            (id, (read_worker(body.strip()).answer or "").strip()) for id, body in tagged(history, "artifact")
        ]
        counts = Counter(answer for _, answer in found).most_common(1)
        total = re.search(r"Budget: (\d+) model calls", call.request.messages[0].content)
        enough = 2 + min(6, int(total.group(1)) // 16 if total else 1)
        if counts and (counts[0][1] >= enough or "nearly used up" in history):
            return _tool("finish", result=f"Simulated.\nANSWER:\n{counts[0][0]}")
        agreeing = [id for id, answer in found if counts and answer == counts[0][0]]
        return _workers(chance.choice((2, 3, 4)), agreeing[:2] if len(agreeing) > 1 else [])


class SimulatedAnswers:
    """Answers any prompt that holds a question it knows, right with a given chance, and plays no role.

    Args:
        samples: the samples whose targets it knows.
        chance: how often it is right.
        seed: decides every draw, together with the request and its place.
    """

    def __init__(self, samples: Sequence[Sample], chance: float = 0.6, seed: int = 0) -> None:
        self._known = {family(sample.task).question(sample): sample for sample in samples}
        self._chance = chance
        self._seed = seed

    @property
    def id(self) -> str:
        """The model's name in requests, logs and reports."""
        return f"{PREFIX}/answers,chance={self._chance:g},seed={self._seed}"

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """An answer in the form that methods ask for, or a remark where no question is known."""
        asked = "\n".join(message.content for message in call.request.messages)
        chance = random.Random(f"{self._seed} {call.repeat} {call.request.key} {call.strand} {call.draw}")
        sample = next((one for question, one in self._known.items() if question in asked), None)
        text = "Simulated: I find nothing wrong." if sample is None else self._said(sample, chance)
        usage = Usage(len(asked) // 4, max(1, len(text) // 4))
        return Answer(Reply(text, usage=usage, logprobs=invented(call, chance)), HOW)

    def _said(self, sample: Sample, chance: random.Random) -> str:
        right = str(sample.meta.get("witness", sample.target))
        return stated(right if chance.random() < self._chance else _wrong(right, chance))


Simulated = SimulatedModel | SimulatedAnswers | SimulatedLearner


def named(text: str, samples: Sequence[Sample]) -> Simulated:
    """The simulated model that `simulated:KIND,chance=0.3,seed=0` means.

    KIND is `workers` (also where none is given), `answers` or `learner`.

    Raises:
        UsageError: no such kind, or a setting that it lacks; or samples that it cannot play on.
    """
    kind, given = _kind(text.removeprefix(PREFIX).removeprefix(":"))
    makers: dict[str, Callable[..., Simulated]] = {
        "workers": SimulatedModel,
        "answers": SimulatedAnswers,
        "learner": SimulatedLearner,
    }
    if kind not in makers:
        raise UsageError(f"no simulation {kind!r}; there are {', '.join(makers)}")
    if kind == "learner" and not all({"kind", "answer_type"} <= one.meta.keys() for one in samples):
        raise UsageError("simulated:learner plays on theorem questions only; give --task theorem")
    seed = int(given.pop("seed", 0))
    known = {"workers": {"chance", "insight"}, "answers": {"chance"}, "learner": set[str]()}[kind]
    if given.keys() - known or not all(0 <= value <= 1 for value in given.values()):
        raise UsageError(
            f"{text}: {kind} takes {', '.join([*sorted(known), 'seed'])}; a chance is from 0 to 1"
        )
    return makers[kind](samples, **given, seed=seed)


def _kind(text: str) -> tuple[str, dict[str, float]]:
    kind, given = "workers", {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            kind = name
            continue
        try:
            given[name] = float(value)
        except ValueError:
            raise UsageError(f"simulated: {name} must be a number, not {value!r}") from None
    return kind, given


def _inside(answer: str | None) -> str:
    """An answer as it stands in a prompt, without the tag that closes its block."""
    return (answer or "").partition("\nconfidence:")[0].strip()


def _ideas(prompt: str) -> str:
    likely = "\n".join(f"{id} {verdict}" for id, verdict in _LISTED.findall(prompt))
    return f'<action id="A">A fresh attempt, or a check of what stands.\n{likely}\n</action>'


def _wrong(target: str, chance: random.Random) -> str:
    """Something near the target that is not it; a few mistakes are made more often than others."""
    digits = [place for place, char in enumerate(target) if char.isdigit()]
    if target.lower() in ("yes", "no"):
        return "no" if target.lower() == "yes" else "yes"
    if not digits:
        return f"not {target}"
    place = chance.choice(digits[-2:])
    digit = (int(target[place]) + chance.choice((1, 1, 1, 2, 3, 5))) % 10
    return f"{target[:place]}{digit}{target[place + 1 :]}"


def _yaml(entries: str) -> str:
    return f"Simulated. MEDIUM_VALUE\n```yaml\nrecommendations: {entries}\n```"


def _tool(name: str, **arguments: Any) -> str:
    return f"```json\n{json.dumps({'tool': name, 'arguments': arguments})}\n```"


def _workers(number: int, memory: Sequence[str]) -> str:
    blocks = [list(memory) if worker % 2 == 0 else [] for worker in range(number)]
    return _tool(
        "run_workers", num_repeats=number, subagent_prompts=[_INSTRUCTION] * number, memory_blocks=blocks
    )
