"""X-7 for MC2 and its baselines: what each role is sent, as text files in `prompts_mc2/`.

A changed wording is a reviewed diff of these files, because it makes recorded runs miss. After a
change that is meant, run `UPDATE_PROMPTS=1 python -m pytest tests/methods/test_mc2_prompts.py` and
read the diff.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mc2_runs import NO, RESTART, YES, by_role, policies, solve, solved, stream

from meta_tui.chat import Reply
from meta_tui.methods import prompts
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line

FOLDER = Path(__file__).parent / "prompts_mc2"
SHIPPED = Path(prompts.__file__).parent
PREFIXES = ("mc2_", "tot_", "mrp_", "small_", "meta_reasoner_", "ttpi_", "bot_")


@dataclass(frozen=True)
class Role:
    """One role: the run in which it speaks, and which call of it is looked at."""

    name: str
    method: str
    reply: Callable[[Call], Line]
    role: str = ""
    span: str = ""
    call: int = 0
    count: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    last: bool = False
    """Only what stands behind the last blank line: the rest stands in another file."""

    def __str__(self) -> str:
        return self.name


def _tried_twice(call: Call) -> Line:
    text = call.request.messages[-1].content
    if call.role == "monitor":
        return NO if "Feedback" in text else YES
    return RESTART if call.role == "controller" and "SECOND" not in text else solved()


def _unreadable(call: Call) -> Line:
    return "?" if call.role in ("reasoner", "monitor", "controller") else by_role(call)


def _half_composed(call: Call) -> Line:
    return policies(P_R="<REASONER>") if call.name == "Compose" else by_role(call)


def _tree(call: Call) -> Line:
    return "Rating: 5" if "Rate it" in call.request.messages[-1].content else f"<THOUGHT {call.draw}>"


def _way(name: str) -> Callable[[Call], Line]:
    return lambda call: f">> FINAL CHOICE: {name}" if call.name == "Select" else f"<REPLY {call.span}>"


def _surest(call: Call) -> Line:
    return Reply("<STEP>", logprobs={"content": [{"token": "a", "logprob": -0.5}]})


def _thinker(call: Call) -> Line:
    template = {"description": "<DISTILLED>", "category": "code", "template": "<TEMPLATE>"}
    replies = {"Distil": "<DISTILLED>", "Template": json.dumps(template)}
    return replies.get(call.name, solved("<ANSWER>"))


ROLES = (
    Role("mc2_reasoner", "mc2", by_role, "reasoner"),
    Role("mc2_reasoner_restarted", "mc2", _tried_twice, "reasoner", call=1),
    Role("mc2_reasoner_again", "mc2", _unreadable, "reasoner", call=1, last=True),
    Role("mc2_monitor", "mc2", by_role, "monitor"),
    Role("mc2_monitor_again", "mc2", _unreadable, "monitor", call=1, last=True),
    Role("mc2_controller", "mc2", by_role, "controller"),
    Role("mc2_controller_again", "mc2", _unreadable, "controller", call=1, last=True),
    *(
        Role(f"mc2_{what.lower()}_{who.lower()}", "mc2", by_role, span=f"{what} {who}", count=2, settings={"batch": 2})
        for what in ("Distil", "Consolidate")
        for who in ("Reasoner", "Monitor", "Controller")
    ),
    Role("mc2_compose", "mc2", by_role, span="Compose", count=2, settings={"batch": 1}),
    Role("mc2_compose_again", "mc2", _half_composed, span="Compose", call=1, count=2, settings={"batch": 1}, last=True),
    Role("cot", "cot", lambda call: solved()),
    Role("tot_thought", "tot", _tree),
    Role("tot_rate", "tot", _tree, call=5),
    Role("tot_last", "tot", _tree, call=10),
    Role("mrp_select", "mrp", _way("CoT"), span="Select"),
    Role("mrp_select_original", "mrp", _way("CoT"), span="Select", settings={"pool": "mrp"}),
    Role("small_analogical", "mrp", _way("analogical"), span="analogical"),
    Role("small_critique", "mrp", _way("self-refine"), span="self-refine", call=1),
    Role("small_revise", "mrp", _way("self-refine"), span="self-refine", call=2),
    Role("small_principle", "mrp", _way("step-back"), span="step-back"),
    Role("small_step_back", "mrp", _way("step-back"), span="step-back", call=1),
    Role("small_perspective", "mrp", _way("SimToM"), span="SimToM", settings={"pool": "mrp"}),
    Role("small_simtom", "mrp", _way("SimToM"), span="SimToM", call=1, settings={"pool": "mrp"}),
    Role("meta_reasoner_step", "meta_reasoner", lambda call: "<STEP>", "reasoner"),
    Role("meta_reasoner_next_step", "meta_reasoner", lambda call: "<STEP>", "reasoner", call=1),
    Role("meta_reasoner_report", "meta_reasoner", lambda call: "<STEP>", span="Report"),
    Role("meta_reasoner_finish", "meta_reasoner", lambda call: "<STEP>", "meta", settings={"steps": 1}),
    Role("ttpi_begin", "ttpi", _surest),
    Role("ttpi_go_on", "ttpi", _surest, call=5),
    Role("ttpi_conclude", "ttpi", _surest, call=5, settings={"steps": 1}),
    Role("bot_distil", "bot", _thinker, span="Distil"),
    Role("bot_coarse", "bot", _thinker, span="Instantiate"),
    Role("bot_instantiate", "bot", _thinker, span="Instantiate", call=1, count=2),
    Role("bot_template", "bot", _thinker, span="Template"),
)  # fmt: skip


def sent(role: Role) -> str:
    """The messages of the call that this role is about, as the file shows them."""
    told = solve(role.method, role.reply, stream(role.count), question="<QUESTION>", **role.settings)
    messages = told.calls(role.role, role.span)[role.call].request.messages
    if role.last:
        return f"## {messages[-1].role}, at its end\n{messages[-1].content.rpartition(chr(10) * 2)[2]}\n"
    return "\n".join(f"## {message.role}\n{message.content}\n" for message in messages)


@pytest.mark.parametrize("role", ROLES, ids=str)
def test_the_prompt_of_each_role_is_the_reviewed_one(role: Role) -> None:
    path, now = FOLDER / f"{role.name}.txt", sent(role)
    if os.environ.get("UPDATE_PROMPTS"):
        path.write_text(now, encoding="utf-8")
    assert path.exists(), "a new role: UPDATE_PROMPTS=1, then read the file"
    assert now == path.read_text(encoding="utf-8"), "wording changed: UPDATE_PROMPTS=1, then read the diff"


def test_every_reviewed_prompt_has_its_role() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {role.name for role in ROLES}


def test_every_shipped_text_is_in_some_prompt() -> None:
    """A text that no role is sent would change unseen."""
    everything = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt"))
    shipped = [p for p in SHIPPED.glob("*.txt") if p.name.startswith(PREFIXES) or p.stem == "cot"]
    assert len(shipped) > 35
    for path in shipped:
        for line in path.read_text(encoding="utf-8").split("\n"):
            assert "{" in line or line.strip() in everything, f"{path.name}: {line[:60]!r}"


@pytest.mark.parametrize(
    ("role", "needed"),
    [
        ("mc2_reasoner", "number every step|step by step|Final Answer:"),
        ("mc2_monitor", "step by step|ERROR_FOUND|ERROR_STEP|ERROR_DESCRIPTION|Do not repair or rewrite"),
        (
            "mc2_controller",
            "1 accept|2 patch|3 restart|JUSTIFICATION|SUGGESTIONS|CORRECTED_REASONING|no answer",
        ),
        (
            "mc2_distil_reasoner",
            "Reasoner|patterns|DO rules|AVOID rules|no answers, no names, no numbers|evidence_ids|at most 6",
        ),
        ("mc2_distil_monitor", "Monitor|error"),
        ("mc2_distil_controller", "Controller|justification"),
        ("mc2_consolidate_reasoner", "Merge|newer lesson decides|Drop a rule|contradicts|At most 12 rules"),
        (
            "mc2_compose",
            "Do not solve|do not state any answer|concrete checks|how it replies|P_R|P_M|P_C|6000 characters",
        ),
        ("cot", "step by step|Final Answer:"),
        ("tot_thought", "one thought|nothing beyond it"),
        ("tot_last", "must end|Final Answer:"),
        ("tot_rate", "from 1 to 10|correct"),
        ("mrp_select", "how hard|could go wrong|1 (unsuitable) to 7|only from the names|>> FINAL CHOICE:"),
        ("small_analogical", "three problems"),
        ("meta_reasoner_report", "PROGRESS:"),
        ("ttpi_go_on", "go on from exactly where it stops"),
        ("bot_distil", "key facts and variables|goal|constraints|general terms"),
        ("bot_coarse", "Prose|Procedure|Program-like"),
        ("bot_template", "description|category|template|scheduling"),
    ],
)
def test_each_prompt_says_what_its_method_requires(role: str, needed: str) -> None:
    """Section 4.1, 4.4 and 4.9 of the specification: the content requirements."""
    prompt = " ".join((FOLDER / f"{role}.txt").read_text(encoding="utf-8").split()).lower()
    for words in needed.lower().split("|"):
        assert words in prompt, words


def test_no_placeholder_is_left_in_a_prompt() -> None:
    names = (
        "question",
        "path",
        "form",
        "role",
        "policy",
        "knowledge",
        "retrieved",
        "draft",
        "limit",
        "budget",
    )
    for path in FOLDER.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in names if f"{{{name}}}" in text], path.name
