"""X-7 for agentic meta-reasoning: what each role is sent, as text files in `prompts_amr/`.

After a change that is meant, run `UPDATE_PROMPTS=1 python -m pytest
tests/methods/test_meta_reasoning_prompts.py` and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from amr_runs import WORKED, finish, ran, tool, workers

from meta_tui.methods import prompts
from meta_tui.models.scripted import Line

FOLDER = Path(__file__).parent / "prompts_amr"
SHIPPED = Path(prompts.__file__).parent
META, DIRECT = "meta_reasoning", "direct_control"


@dataclass(frozen=True)
class Role:
    """One role: the run in which it speaks, and which call of which span is looked at."""

    name: str
    method: str
    span: str
    script: Mapping[str, Sequence[Line]] = field(default_factory=lambda: WORKED)
    call: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    last: bool = False

    def __str__(self) -> str:
        return self.name


NATIVE = {"tools": "native"}
TWO = {"control": [workers(()), "?", "?"]}
ROLES = (
    *(Role(stage, META, stage, call=1 if stage == "evaluate" else 0, settings={"budget": 20} | NATIVE)
      for stage in ("assess", "propose", "evaluate", "dispatch")),
    Role("assess_with_text_tools", META, "assess", settings={"budget": 20}),
    Role("assess_of_new_attempts", META, "assess", call=1, settings={"budget": 20}, last=True),
    Role("dispatch_with_text_tools", META, "dispatch", settings={"budget": 20}),
    Role("propose_after_a_read", META, "propose", call=2, settings={"budget": 20}, last=True),
    Role("stage_in_its_last_call", META, "assess", {"assess": [tool("read_memory", ids=[])]}, 1,
         {"stage_calls": 2, "budget": 5}, True),
    Role("dispatch_after_a_short_instruction", META, "dispatch",
         {"dispatch": [workers((), prompts=["A"])]}, 1, {"budget": 5}, True),
    Role("dispatch_after_finish_on_a_note", META, "dispatch",
         {"assess": [tool("write_memory", entries=[{"title": "t", "body": "b"}])], "dispatch": [finish("0_0")]},
         1, {"budget": 5}, True),
    Role("evaluate_without_propose", META, "evaluate", settings={"no_propose": True, "budget": 20} | NATIVE),
    Role("dispatch_without_evaluate", META, "dispatch", settings={"no_evaluate": True, "budget": 20} | NATIVE),
    Role("worker", META, "worker 0_0", settings={"budget": 20}),
    Role("worker_with_earlier_attempts", META, "worker 1_2", settings={"budget": 20}),
    Role("direct", DIRECT, "control", TWO, settings={"budget": 20} | NATIVE),
    Role("direct_with_text_tools", DIRECT, "control", TWO, settings={"budget": 20}),
    Role("direct_after_a_batch", DIRECT, "control", TWO, 1, {"budget": 20}),
    Role("direct_without_a_tool_call", DIRECT, "control", TWO, 2, {"budget": 40}, True),
    Role("direct_at_ninety_per_cent", DIRECT, "control", {"control": [workers(*[()] * 8)]}, 1,
         {"budget": 10}, True),
    Role("rlm", "rlm", "control", {"control": ["?"]}, settings={"budget": 20}),
    Role("rlm_without_code", "rlm", "control", {"control": ["?"]}, 1, {"budget": 20}, True),
)  # fmt: skip


def sent(role: Role) -> str:
    """The messages of the call that this role is about, as text."""
    run = ran(role.method, role.script, question="<QUESTION>", **role.settings)
    name = "" if role.span == "control" else role.span
    messages = run.sent(name, role.call)
    return "\n".join(f"## {m.role}\n{m.content}\n" for m in (messages[-1:] if role.last else messages))


@pytest.mark.parametrize("role", ROLES, ids=str)
def test_the_prompt_of_each_role_is_the_reviewed_one(role: Role) -> None:
    path, now = FOLDER / f"{role.name}.txt", sent(role)
    if os.environ.get("UPDATE_PROMPTS"):
        path.write_text(now, encoding="utf-8")
    assert path.exists(), "a new role: UPDATE_PROMPTS=1, then read the file"
    assert now == path.read_text(encoding="utf-8"), "wording changed: UPDATE_PROMPTS=1, then read the diff"


def test_every_reviewed_prompt_has_its_role() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {role.name for role in ROLES}


def test_every_shipped_text_of_these_methods_is_in_some_prompt() -> None:
    """A text that no role is sent would change unseen."""
    everything = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt"))
    for path in SHIPPED.glob("amr_*.txt"):
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if "{" not in line]
        for line in lines:
            assert line.strip() in everything, f"{path.name}: {line[:60]!r}"


@pytest.mark.parametrize(
    ("role", "needed"),
    [
        (
            "assess",
            "analyst|do not summarise|previous assessment|follow each step|every piece of evidence|"
            "really follows|the form|exact ids|LIKELY_CORRECT|HAS_GAPS|FUNDAMENTALLY_FLAWED|<candidate id=|"
            "overall_assessment|were tried and which were not|mistakes are shared|independent|"
            "stop_recommended|CONTINUE|subtle errors|outstanding_questions",
        ),
        (
            "propose",
            "strategist|broadly|risky or costly|<action id=|goal|reason|assumptions|contradicts|new approach|"
            "repair|verification|counterexample|synthesis|stopping|only examples",
        ),
        (
            "evaluate",
            "costs 1 call|costs 4 calls before any worker|HIGH_VALUE|MEDIUM_VALUE|LOW_VALUE|"
            "most open questions|each worker call|variety|recommendations:|action_id|memory:|"
            "parallel_workers|action_id: STOP|memory_id|stake the whole run|not an order|in doubt, continue",
        ),
        (
            "dispatch",
            "translate|one batch|sum of parallel_workers|imperative|200 to 500 characters|"
            "bare action letter|memory_blocks|[] for a fresh attempt|finish with that exact id|"
            "first recommendation decides|cannot be read",
        ),
        (
            "worker_with_earlier_attempts",
            "may be wrong|critically|reasoning|justify|check the result|form|honestly|<title>|answer:|"
            "confidence: high",
        ),
        (
            "direct",
            "exactly the form|run_workers|finish|id|refined|repaired|verified|brought together|examples|"
            "part of the evidence|share one mistake|20 model calls|costs 1|used up",
        ),
        (
            "rlm",
            "variable task|slicing|f-strings|loops|comprehensions|imports|arithmetic|query_batch|"
            "answer to|ready to true|10,000",
        ),
    ],
)
def test_each_prompt_says_what_its_method_requires(role: str, needed: str) -> None:
    """Section 3.4, 3.6 and 3.7 of the specification: the content requirements."""
    prompt = " ".join((FOLDER / f"{role}.txt").read_text(encoding="utf-8").split()).lower()
    missing = [words for words in needed.lower().split("|") if words not in prompt]
    assert not missing


def test_propose_and_dispatch_are_told_nothing_of_a_budget() -> None:
    for role in ("assess", "propose", "worker", "worker_with_earlier_attempts"):
        assert "budget" not in (FOLDER / f"{role}.txt").read_text(encoding="utf-8").lower()


def test_no_placeholder_is_left_in_a_prompt() -> None:
    for path in FOLDER.glob("*.txt"):
        shown = path.read_text(encoding="utf-8")
        names = ("{tools}", "{worker_cost}", "{cycle_cost}", "{chars}", "{id}", "{used}", "{total}", "{left}")
        assert not any(name in shown for name in (*names, "{task}", "{query}", "{answer}", "{head}")), (
            path.name
        )
