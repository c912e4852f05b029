"""A SIMULATION of a solver and of Omega: a solver that does better for each technique in its prompt.

No language model is asked anywhere here, and nothing is really solved: a script returns the number
that it is worth. It shows what the machinery of Meta^n does with models that can be helped by
layers; it is no evidence about any real model. What they reply depends on the request and on a seed
alone, never on time or order.

Each task has a category `k0`, `k1`, ... A script is worth `BASE` plus a little noise, plus `ADVICE`
where the prompt names the category's technique, plus `TOOL` where the chain has the category's
helper (the script really calls it), less `HARM` where the prompt has a directive against the
category. Omega picks the category that lacks most and writes advice and a helper for it; now and
then it over-prescribes, and a deeper layer that is shown the regression takes that back: the harmful
layer listens to what layers above it say.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping

from meta_tui.chat import Reply, Usage
from meta_tui.events import StreamItem
from meta_tui.models.base import Call

MODEL = "SIMULATION:stack"
NOTE = (
    "SIMULATION: a scripted solver that is worth more for each technique in its prompt, and a scripted Omega. "
    "No language model was called; the numbers say nothing about any model."
)
BASE, ADVICE, TOOL, HARM, NOISE = 0.35, 0.3, 0.12, 0.25, 0.02
OVERDOES = 0.3
"""Chance of a layer that does harm as well."""

_TASK = re.compile(r"Task (\d+) of category (k\d+)\.")
_ROW = re.compile(r"^\| t:(\d+) \| (\S+) \|", re.MULTILINE)
_REGRESSED = re.compile(r"^regressed[^:]*: (.*)$", re.MULTILINE)


def stream(count: int, categories: int = 4, filler: int = 0) -> tuple[StreamItem, ...]:
    """Invented tasks `t:0`, `t:1`, ...; `filler` characters make them as long as real ones."""
    more = " It is described at some length." * (filler // 33)
    return tuple(StreamItem(f"t:{n}", f"Task {n} of category k{n % categories}.{more}") for n in range(count))


def facts(count: int, categories: int = 4) -> Mapping[str, Mapping[str, str]]:
    """The setting `tasks` for that stream."""
    return {f"t:{n}": {"category": f"k{n % categories}"} for n in range(count)}


class Worth:
    """The grader: an answer is the number that it is worth."""

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """Between 0 and 1."""
        return "score", min(1.0, max(0.0, float(answer))), f"worth {answer}"


class SimulatedStack:
    """Answers as the solver and as Omega."""

    def __init__(
        self, seed: int = 0, overdoes: float = OVERDOES, categories: int = 4, gives_up: float = 0.5
    ) -> None:
        self._seed = seed
        self._gives_up = gives_up
        self._overdoes = overdoes
        self._categories = categories

    def __call__(self, call: Call) -> Reply:
        """The reply to a call, with invented token counts."""
        chance = random.Random(f"{self._seed}/{call.request.key}/{call.strand}/{call.draw}")
        asked = call.request.messages[0].content
        text = self.layer(asked, chance) if call.role == "omega" else self.script(asked, chance)
        return Reply(text, finish_reason="stop", usage=Usage(len(asked) // 4, len(text) // 4))

    def script(self, asked: str, chance: random.Random) -> str:
        """A script that returns what it is worth."""
        found = _TASK.search(asked)
        assert found is not None
        category = found[2]
        value = BASE + chance.uniform(-NOISE, NOISE)
        value += ADVICE * (f"[use {category}]" in asked) - HARM * (f"[never {category}]" in asked)
        helper = f"tool_{category}"
        worth = f"{helper}({value:.4f})" if f"{helper}(" in asked else f"{value:.4f}"
        return f"```python\ndef solve():\n    return {worth}\n```"

    def layer(self, asked: str, chance: random.Random) -> str:
        """The next layer: repair what is told to have regressed, else help what lacks most."""
        repair = self._regressed(asked)
        injected = asked.partition("# Code that is already injected")[2].partition("# Notes")[0]
        undone = f'additional_context = "[allow {repair}]"' in injected
        if repair and f"[never {repair}]" in injected and not undone:
            return self._written(
                f"Rollback: the layer below harms {repair}; disregard it.", f"[allow {repair}]", ""
            )
        category = self._lacking(asked, injected, chance)
        if category is None:
            return "Nothing that is not in the stack already."
        victim = f"k{(int(category[1:]) + 1) % self._categories}"
        harm = victim if chance.random() < self._overdoes and f"[never {victim}]" not in injected else ""
        return self._written(f"Helps {category}.", f"[use {category}]", harm, self._tool(asked, category))

    def _regressed(self, asked: str) -> str:
        found = _REGRESSED.search(asked)
        tasks = re.findall(r"t:(\d+)", found[1]) if found else []
        most = Counter(int(task) % self._categories for task in tasks).most_common(1)
        return f"k{most[0][0]}" if most else ""

    def _lacking(self, asked: str, injected: str, chance: random.Random) -> str | None:
        rows = [f"k{int(task) % self._categories}" for task, _ in _ROW.findall(asked)]
        missing = [category for category in rows if f"[use {category}]" not in injected]
        if not missing and chance.random() < self._gives_up:
            return None
        others = [f"k{n}" for n in range(self._categories) if f"[use k{n}]" not in injected]
        return (missing or others or [None])[0]

    def _tool(self, asked: str, category: str) -> str:
        if "solver_lib:name_of_the_function" not in asked:
            return ""
        name = f"tool_{category}"
        return (
            f'```solver_lib:{name}\ndef {name}(value: float) -> float:\n    """For tasks of category {category}. '
            f'value: what is found without it."""\n    return round(value + {TOOL}, 4)\n```'
        )

    def _written(self, why: str, said: str, harm: str, tool: str = "") -> str:
        lines = [f'additional_context = "{said}"']
        if harm:
            lines += [
                f'if "[allow {harm}]" not in outer_context:',
                f'    additional_context = additional_context + " [never {harm}]"',
            ]
        code = "\n".join(lines)
        return f"```rationale\n{why}\n```\n```pre_process\n{code}\n```\n{tool}"
