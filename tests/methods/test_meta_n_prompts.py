"""X-7 for Meta^n: what each role is sent, as text files in `prompts_meta_n/`.

A changed wording is a reviewed diff of these files, because it makes recorded runs miss. After a
change that is meant, run `UPDATE_PROMPTS=1 python -m pytest tests/methods/test_meta_n_prompts.py`
and read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from meta_n_runs import PACK, Told, layer, layer_reply, number_of, say, script, solve
from scripted_runs import run

from meta_tui.methods import build, prompts
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors
from meta_tui.sources import header

FOLDER = Path(__file__).parent / "prompts_meta_n"
SHIPPED = Path(prompts.__file__).parent


def told(call: Call) -> Line:
    """Task 1 fails; a layer helps the others a little."""
    said = call.request.messages[0].content
    if call.role == "omega":
        deep = "## Layer of depth" in said
        return layer_reply(say("Check twice."), "Deeper." if deep else "Checks.", pack_items=PACK)
    if number_of(call) == 1:
        return "```python\ndef solve():\n    return 1 / 0\n```"
    helped = "Check twice." in said
    return script(0.6 if helped else 0.5)


def runs() -> dict[str, str]:
    """Every prompt by the name of its file."""
    linear = solve(told, 3, patience=2, max_depth=3)
    guard = solve(told, 2, mode="evolutionary", guard=True, iterations=1)
    bare = solve(told, 2, iterations=1, library=False)
    flat = solve(told, 2, patience=2, max_depth=4)
    agentic = solve(told, 1, base="agentic", turns=2, mode="apply", tasks=FACTS)
    control = solve(told, 1, mode="object_level", iterations=1)
    chained = solve(told, 1, mode="apply", chain=[layer(2, say("Check twice."), PACK)])
    return {
        "omega_first": linear.prompts("omega")[0],
        "omega_deep": linear.prompts("omega")[1],
        "omega_on_a_plateau": flat.prompts("omega")[2].partition("# Notes")[2].partition("# What")[0].strip(),
        "omega_guard": guard.prompts("omega")[0],
        "omega_without_library": bare.prompts("omega")[0],
        "solver": linear.prompts("instance")[0],
        "solver_with_layers": chained.prompts("instance")[0],
        "solver_agentic": agentic.prompts("instance")[0],
        "solver_agentic_second_turn": _last(agentic),
        "rater": rater(),
        "object_level": control.prompts("instance")[1],
    }


FACTS: dict[str, Any] = {"t:0": {"category": "bins", "data": {"sizes": [3, 4], "capacity": 5}}}


def rater() -> str:
    """What a model that names the roles of a layer is sent."""
    method = build("meta_n_roles", {"layers": [layer(2, say("Check twice."), PACK)]})
    model = ScriptedModel(['{"roles": ["verification"]}'])
    run(method, header(method, "q", model="m"), Doors(model), None)
    return model.calls[0].request.messages[0].content


def _last(told: Told) -> str:
    return told.model.calls[-1].request.messages[-1].content


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return runs()


NAMES = (
    "omega_first",
    "omega_deep",
    "omega_on_a_plateau",
    "omega_guard",
    "omega_without_library",
    "solver",
    "solver_with_layers",
    "solver_agentic",
    "solver_agentic_second_turn",
    "rater",
    "object_level",
)


@pytest.mark.parametrize("name", NAMES)
def test_x7_a_prompt_is_the_reviewed_one(name: str, found: dict[str, str]) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_PROMPTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(found[name] + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == found[name] + "\n"


def test_every_role_has_a_snapshot(found: dict[str, str]) -> None:
    assert set(found) == set(NAMES) == {path.stem for path in FOLDER.glob("*.txt")}


def test_every_text_of_the_method_stands_in_a_snapshot(found: dict[str, str]) -> None:
    """The first line of each shipped text, up to its first blank to fill in."""
    everything = "\n".join(found.values())
    for path in SHIPPED.glob("meta_n_*.txt"):
        first = next(line for line in path.read_text(encoding="utf-8").splitlines() if line)
        first = first.partition("{")[0]
        assert first in everything, path.name
