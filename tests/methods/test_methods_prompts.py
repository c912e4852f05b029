"""X-7: what each role is sent, as text files in `prompts/` beside this file.

A changed wording is a reviewed diff of these files, because it makes recorded runs miss. After a
change that is meant, run `UPDATE_PROMPTS=1 python -m pytest tests/methods/test_methods_prompts.py`
and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import FINAL, PROGRAM, Programs, call_text, run

from meta_tui.chat import CodeResult, Message
from meta_tui.methods import METHODS, build, prompts
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.sources import header

FOLDER = Path(__file__).parent / "prompts"
SHIPPED = Path(prompts.__file__).parent
QUESTION = "<QUESTION>"
PYTHON = call_text("Expert Python", "<INSTRUCTION>")


@dataclass(frozen=True)
class Role:
    """One role: the run in which it speaks, and which call of it is looked at."""

    name: str
    method: str
    script: Sequence[str] = (FINAL,)
    call: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    results: Sequence[CodeResult] = ()
    last: bool = False
    """Only the last message: the others stand in another file."""

    def __str__(self) -> str:
        return self.name


META = "meta_prompting"
EXPERT = (call_text("Expert Ada", "<INSTRUCTION>"), "<REPLY>", FINAL)
SPECIAL = [
    {"name": "Expert Search", "about": "<ABOUT>", "model": "function:Expert Search"},
    {"name": "Expert Shell", "model": "command:Expert Shell"},
    {"name": "Expert P*", "model": "other/model"},
    {"name": "Expert Poet", "temperatures": [0, 1]},
]
SEVERAL = f"{EXPERT[0]}\n\n{call_text('Expert Bob', '<OTHER>')}"
BACK = call_text("Expert Ada", "Check the solution above.")
ROLES = (
    Role("meta", META),
    Role("meta_without_python", META, settings={"python": False}),
    Role("meta_without_verification", META, settings={"verification": False}),
    Role("meta_without_fresh_eyes", META, settings={"fresh_eyes": False}),
    Role("meta_with_confidence", META, settings={"confidence": True}),
    Role("meta_with_special_experts", META, settings={"experts": SPECIAL}),
    Role("meta_with_several_at_once", META, settings={"several": "at_once"}),
    Role(
        "meta_after_several_where_one_is_heard",
        META,
        (SEVERAL, "<REPLY>", FINAL),
        2,
        {"several": "one"},
        last=True,
    ),
    Role("meta_nudged", META, (BACK, FINAL), 1, {"nudge": "reask"}, last=True),
    Role(
        "meta_after_a_summary",
        META,
        (EXPERT[0], "<REPLY>", EXPERT[0], "<REPLY>", "<SUMMARY>", FINAL),
        5,
        {"history_tokens": 1, "history_keep": 1, "feedback": "<FEEDBACK>"},
    ),
    Role(
        "history_summary",
        META,
        (EXPERT[0], "<REPLY>", EXPERT[0], "<REPLY>", "<SUMMARY>", FINAL),
        4,
        {"history_tokens": 1, "history_keep": 1, "feedback": "<FEEDBACK>"},
    ),
    Role(
        "experts_summary",
        META,
        (EXPERT[0], "<ONE>", "<TWO>", "<SUMMARY>", FINAL),
        3,
        {"experts": [{"name": "Expert Ada", "temperatures": [0, 1], "merge": "summary"}]},
    ),
    Role(
        "function",
        META,
        EXPERT,
        1,
        {"experts": [{"name": "Expert Ada", "model": "function:Expert Ada"}]},
    ),
    Role("meta_user_prefix", META, settings={"placement": "user_prefix"}),
    Role("meta_after_an_expert", META, EXPERT, 2, last=True),
    Role("meta_after_a_malformed_reply", META, ("?", FINAL), 1, last=True),
    Role("meta_in_the_last_round", META, ("?", FINAL), 1, {"notice_round": 2}, last=True),
    Role("expert", META, EXPERT, 1),
    Role("expert_step_by_step", META, EXPERT, 1, {"step_by_step": True}),
    Role("expert_python", META, (PYTHON, "<REPLY>", FINAL), 1),
    *(
        Role(
            f"meta_after_code_{name}",
            META,
            (PYTHON, PROGRAM, FINAL),
            2,
            {"feedback": "<FEEDBACK>"},
            [r],
            True,
        )
        for name, r in {
            "that_printed": CodeResult("ok", "<OUTPUT>\n"),
            "that_printed_nothing": CodeResult("ok"),
            "that_failed": CodeResult("error", "<OUTPUT>\n", "<ERROR>"),
            "that_is_no_python": CodeResult("syntax", "", "<ERROR>"),
            "that_was_refused": CodeResult("refused", "", "<ERROR>"),
            "that_timed_out": CodeResult("timeout", "<OUTPUT>\n"),
            "that_took_too_much_memory": CodeResult("memory"),
            "that_crashed": CodeResult("crash"),
        }.items()
    ),
    Role(
        "meta_after_no_code",
        META,
        (PYTHON, "Please run this code!", FINAL),
        2,
        {"feedback": "<FEEDBACK>"},
        last=True,
    ),
    Role("standard", "standard"),
    Role("standard_with_python", "standard", settings={"python": True}),
    Role("standard_after_a_malformed_reply", "standard", ("?", FINAL), 1, last=True),
    Role("zero_shot_cot", "zero_shot_cot"),
    Role("expert_static", "expert_static"),
    Role("expert_dynamic_identity", "expert_dynamic", ("<IDENTITY>", FINAL)),
    Role("expert_dynamic", "expert_dynamic", ("<IDENTITY>", FINAL), 1),
    Role("expert_dynamic_without_identity", "expert_dynamic", ("", FINAL), 1),
    Role("multipersona", "multipersona"),
)


def sent(role: Role) -> tuple[Message, ...]:
    """The messages of the call that this role is about."""
    method = build(role.method, role.settings)
    model = ScriptedModel(role.script)
    run(method, header(method, QUESTION, model="m"), Doors(model, Programs(role.results)), None)
    messages = model.calls[role.call].request.messages
    return messages[-1:] if role.last else messages


def shown(messages: Sequence[Message]) -> str:
    return "\n".join(f"## {message.role}\n{message.content}\n" for message in messages)


TEXTS = (
    "error error_baseline experts_summary history_summary nudge one_expert meta_one meta_several meta_special "
    "meta_special_any expert_identity expert_link expert_static expert_system experts_first feedback "
    "generic_system last_round meta_confidence meta_fresh_eyes meta_instruction meta_python "
    "meta_shared_history meta_verification multipersona python_note step_by_step"
).split()
"""The texts of this family; other methods keep their own."""


@pytest.mark.parametrize("role", ROLES, ids=str)
def test_the_prompt_of_each_role_is_the_reviewed_one(role: Role) -> None:
    path, now = FOLDER / f"{role.name}.txt", shown(sent(role))
    if os.environ.get("UPDATE_PROMPTS"):
        path.write_text(now, encoding="utf-8")
    assert path.exists(), "a new role: UPDATE_PROMPTS=1, then read the file"
    assert now == path.read_text(encoding="utf-8"), "wording changed: UPDATE_PROMPTS=1, then read the diff"


def test_every_reviewed_prompt_has_its_role_and_every_method_a_prompt() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {role.name for role in ROLES}
    baselines = {"standard", "zero_shot_cot", "expert_static", "expert_dynamic", "multipersona", META}
    assert {role.method for role in ROLES} == baselines
    assert baselines <= set(METHODS)


def test_every_shipped_text_of_these_methods_is_in_some_prompt() -> None:
    """A text that no role is sent would change unseen."""
    everything = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt"))
    for path in (SHIPPED / f"{name}.txt" for name in TEXTS):
        pieces = [piece for piece in path.read_text(encoding="utf-8").split("\n\n") if "{" not in piece]
        for piece in pieces:
            assert piece.strip() in everything, f"{path.name}: {piece[:60]!r}"


@pytest.mark.parametrize(
    ("role", "needed"),
    [
        (
            "meta",
            "Meta-Expert|Expert Python|triple quotes|persona|no memory|one expert at a time|verification|"
            "new expert|two experts|15 rounds|>> FINAL ANSWER:|exactly one answer",
        ),
        ("meta_after_an_expert", "next steps|accurate|directly|constraint|review it yourself"),
        ("meta_after_a_malformed_reply", ">> FINAL ANSWER:"),
        ("meta_in_the_last_round", "last round|answer now"),
        ("expert_python", "python|print|run this code"),
        ("standard", "question: |>> FINAL ANSWER:"),
        ("zero_shot_cot", "step by step"),
        ("expert_static", "information|instructions|>> FINAL ANSWER:|exactly one"),
        ("expert_dynamic_identity", "second person|<QUESTION>"),
        ("multipersona", "participants|profile|criticise|revise|>> FINAL ANSWER:|acrostic|24"),
    ],
)
def test_each_prompt_says_what_its_method_requires(role: str, needed: str) -> None:
    """Section 2.1, 2.2, 2.4 and 2.7 of the specification: the content requirements."""
    prompt = " ".join((FOLDER / f"{role}.txt").read_text(encoding="utf-8").split()).lower()
    for words in needed.lower().split("|"):
        assert words in prompt, words


def test_the_instruction_without_python_does_not_speak_of_it() -> None:
    assert "Python" not in (FOLDER / "meta_without_python.txt").read_text(encoding="utf-8")


def test_no_placeholder_is_left_in_a_prompt() -> None:
    for path in FOLDER.glob("*.txt"):
        assert "{" not in path.read_text(encoding="utf-8"), path.name
