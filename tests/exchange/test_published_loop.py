"""The published loop, written anew from its rules, and the import of what it writes.

The published files hold few of the odd cases: failures at any place, several calls in a reply,
names with remarks, code without a fence. This loop makes them all, thousands of times; the import
must give every history back to the byte. No line of it is shared with the package.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from meta_tui.exchange.published import bounds, import_run, published_files, rows
from meta_tui.runlog import read
from meta_tui.sources import message_log, replay

Log = list[dict[str, str]]
CALL = re.compile(r"Expert (\w+(?: \w+){0,4} ?):\n")
NUDGE = "This is the last round; so, please present your final answer."
SYSTEM = 'You help. Say it like this:\n\n>> FINAL ANSWER:\n"""\n[answer]\n"""'
FEEDBACK = "What follows from this?\n\nReview it."
ERROR = "The format is wrong. Say it like this: >> FINAL ANSWER:"
RUN = "Please run this code!"


class CallFails(Exception):
    """A model or a stage failed."""


class Published:
    """One run of the published loop with a model that says and fails at random."""

    def __init__(
        self, chance: random.Random, meta: bool, python: bool, nudge: int, limit: int, faults: float
    ):
        self.chance = chance
        self.meta, self.python = meta, python
        self.nudge, self.limit = nudge, limit
        self.faults = faults

    def run(self, first: str) -> Log:
        log = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": first}]
        counter = tries = 0
        while counter < self.limit and tries < 8:
            try:
                if self.round(log, counter):
                    return log
                counter, tries = counter + 1, 0
            except CallFails:
                tries += 1
        return log

    def round(self, log: Log, counter: int) -> bool:
        notice = NUDGE if counter + 1 == self.nudge else ""
        log[-1]["content"] = f"ROUND {counter + 1}:\n\n{log[-1]['content']}{notice}"
        self.may_fail()
        reply = self.reply()
        log.append({"role": "assistant", "content": reply})
        if self.meta and CALL.search(reply):
            log.append({"role": "user", "content": f"{self.consult(reply)}\n\n{FEEDBACK}"})
            return False
        if ">> FINAL ANSWER:" in reply:
            return True
        log.append({"role": "user", "content": ERROR})
        return False

    def consult(self, reply: str) -> str:
        parts = reply.split('"""')
        outputs = ""
        for index in range(1, len(parts), 2):
            name = parts[index - 1].strip().split("\n")[-1]
            if "Expert " not in name:
                continue
            name = name[:-1] if name.endswith(":") else name
            self.may_fail()
            output = self.expert()
            if self.python and name == "Expert Python" and RUN in output:
                output += self.execute(output)
            outputs += f'{name}\'s output:\n"""\n{output}\n"""'
        return outputs

    def execute(self, output: str) -> str:
        fences = re.findall(r"```python\n(.*?)```", output.partition(RUN)[0], re.DOTALL)
        if not fences:
            raise CallFails
        result = self.chance.choice(
            [
                "42",
                "a\n\nb\n```\nc",
                "Error in execution: Traceback (most recent call last):\nZeroDivisionError",
                "(No output was generated. It is possible that you did not include a print statement in your code.)",
                "Execution took too long, aborting...",
            ]
        )
        return (
            f"Here is the Python code used to solve the problem:\n\n{fences[-1].strip()}\n\n"
            f"Here is the output of the code when executed:\n\n{result}"
        )

    def may_fail(self) -> None:
        if self.chance.random() < self.faults:
            raise CallFails

    def reply(self) -> str:
        pick = self.chance.choice
        blocks = [self.block() for _ in range(self.chance.choice([0, 0, 1, 1, 1, 1, 2, 3]))]
        lead = pick(["", "I think.\n\n", "Let me see:\n\n", "\n", "Grüße “x”\n"])
        end = pick(["", "", "\n\nThen I decide.", ' "', "\n"])
        answer = pick(["", "", "", '\n>> FINAL ANSWER:\n"""\n42\n"""'])
        unclosed = pick(["", "", "", '\n\nExpert Ada:\n"""\nhalf'])
        return lead + "\n\n".join(blocks) + end + answer + unclosed

    def block(self) -> str:
        pick = self.chance.choice
        name = pick(
            ["Expert Ada"] * 3
            + ["Expert Python"] * (3 if self.python else 1)
            + [
                "Expert Python (again)",
                "Expert Chess-Player",
                "Here is Expert Poet",
                "nobody",
                "Expert a b c d e f",
            ]
        )
        colon = pick([":\n", ":\n", ":\n", ":\n\n", "\n", ": \n"])
        text = pick(["Go.", "\n\nGo.\n\nAnd on.  ", "", " ", "Expert Bob:\nis mentioned", "x" * 300])
        return f'{name}{colon}"""\n{text}\n"""'

    def expert(self) -> str:
        pick = self.chance.choice
        texts = [
            "done",
            "",
            " spaces ",
            'a docstring """inside""" it',
            'line\n"""\n\nline',
            "Expert Ada's output: no",
        ]
        if self.python:
            code = "```python\nprint(6 * 7)\n```\n"
            texts += [code + RUN] * 4 + [
                f"```python\nx\n```\n{code}{RUN}\n{code}",
                RUN,
                code,
                f"{code}{RUN}\n",
            ]
        return pick(texts)


def first_message(method: str, given: str) -> str:
    """The first user message of a method in the authors' form."""
    match method:
        case "Standard":
            return f"Question: Describe.\n\n{given}"
        case "ZeroShotCoT":
            return f"Question: Describe.\n\n{given}\n\nStep by step."
        case "ExpertDynamic":
            return f"You are a baker.\nYou know.\n\nNow answer this:\n\nQuestion: Describe.\n\n{given}"
        case "ExpertStatic" | "MultiPersona":
            return f"A preamble.\n\nOf two parts.\n\nQuestion: Describe.\n\n{given}"
    return f"An instruction.\n\nQuestion: Describe.\n\n{given}\n\nList the experts."


def made(method: str, count: int, nudge: int, limit: int, faults: float, seed: int) -> list[dict[str, Any]]:
    """Rows of one file."""
    found = []
    for number in range(count):
        chance = random.Random(f"{method} {seed} {number}")
        meta, python = method.startswith("Meta"), method == "MetaPromptingWithPython"
        given = f"Input {number}\nof two lines."
        log = Published(chance, meta, python, nudge, limit, faults).run(first_message(method, given))
        found.append({"input": given, "target": "42", "message_log": log, "output": log[-1]["content"]})
    return found


def imported(folder: Path, to: Path) -> list[tuple[Log, Path]]:
    """Every row and its run log."""
    done = []

    async def everything() -> None:
        for file in published_files(folder):
            found = rows(file)
            notice, limit = bounds(file, [row["message_log"] for row in found])
            for number, row in enumerate(found):
                log = to / file.method / file.task / f"{number}.jsonl"
                await import_run(file, number, row, notice, limit, log)
                done.append((row["message_log"], log))

    asyncio.run(everything())
    return done


FAULTS = (0.0, 0.1, 0.5, 0.75)
METHODS = (
    "MetaPromptingWithPython",
    "MetaPromptingWithoutPython",
    "Standard",
    "ZeroShotCoT",
    "ExpertStatic",
    "ExpertDynamic",
    "MultiPersona",
)


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("method", METHODS)
def test_every_history_that_the_published_loop_can_write_is_given_back(
    method: str, faults: float, tmp_path: Path
) -> None:
    """Nudge in round 4, limit 6: the import finds both in the file, as in the published files."""
    folder = tmp_path / "clone" / "outputs" / method
    folder.mkdir(parents=True)
    found = made(method, 60, nudge=4, limit=6, faults=faults, seed=1)
    (folder / "Task.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
    runs = imported(tmp_path / "clone", tmp_path / "logs")
    assert len(runs) == 60

    async def check() -> None:
        for log, path in runs:
            result = await replay(read(path))
            assert message_log(result.messages) == log

    asyncio.run(check())


def test_the_loop_makes_the_cases_that_the_import_must_cope_with() -> None:
    """A generator that made only plain runs would prove nothing."""
    logs: list[Log] = [
        row["message_log"]
        for faults in FAULTS
        for row in made("MetaPromptingWithPython", 60, 4, 6, faults, 1)
    ]
    ends = [log[-1] for log in logs]
    pairs = [(a["role"], b["role"]) for log in logs for a, b in pairwise(log)]
    assert pairs.count(("assistant", "assistant")) > 20
    assert any(m["content"].startswith("ROUND 1:\n\n" * 3) for log in logs for m in log)
    assert any(m["content"].endswith(NUDGE * 2) for log in logs for m in log)
    assert any(re.match(r"(ROUND \d:\n\n){8}", end["content"]) for end in ends)
    assert any(end["role"] == "assistant" and end["content"].startswith("ROUND") for end in ends)
    assert any(end["role"] == "user" and not end["content"].startswith("ROUND") for end in ends)
    assert any("Execution took too long" in m["content"] for log in logs for m in log)
