"""What a run of Meta^n adds up to: worked out by hand, and drawn."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from meta_n_runs import PACK, layer, layer_reply, number_of, say, script, solve
from scripted_runs import again

from meta_tui.errors import UsageError
from meta_tui.evaluation import plots_meta_n, stacks
from meta_tui.methods import build
from meta_tui.methods.meta_n.records import LayerKept, all_of
from meta_tui.methods.meta_n.roles import (
    CODEBOOK,
    ENVIRONMENT,
    OTHER,
    PRIMITIVE,
    PROMPTING,
    ROLLBACK,
    ROUTING,
    SPECIALISED,
    VERIFICATION,
    read_roles,
    rule_roles,
)
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import Recording, read
from meta_tui.sources import header, live
from meta_tui.store import find

VALUES = {0: (0.2, 0.4), 1: (0.6, 0.4), 2: (0.5, 0.1), 3: (0.7, 0.9)}
"""Newest layer -> scores of the tasks t:0 and t:1."""


def voices() -> Any:
    """Three layers: the second is worse than the first; the helper is called on the task t:0 only."""
    count = iter(range(1, 9))

    def reply(call: Call) -> Line:
        if call.role == "omega":
            number = next(count)
            return (
                layer_reply(say(f"[{number}]"), pack_items=PACK)
                if number == 1
                else layer_reply(say(f"[{number}]"))
            )
        said = call.request.messages[0].content
        newest = max([n for n in (1, 2, 3) if f"[{n}]" in said], default=0)
        value = VALUES[newest][number_of(call)]
        if "pack_items(" in said and number_of(call) == 0:
            return f"```python\ndef solve():\n    pack_items([1], 2)\n    return {value}\n```"
        return script(value)

    return reply


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    log = tmp_path_factory.mktemp("stacks") / "run.jsonl"
    solve(voices(), 2, log=log, patience=2, max_depth=4)
    return read(log)


def test_means_lifts_and_regressions_are_those_worked_out_by_hand(recording: Recording) -> None:
    """Means 0.3, 0.5, 0.3, 0.8: gains 0.2, -0.2, 0.5; of six (chain, task) pairs two fell."""
    found = stacks.summary("run", recording)
    rows = found["by_depth"]
    assert [row["mean"] for row in rows] == pytest.approx([0.3, 0.5, 0.3, 0.8])
    assert [row["gain"] for row in rows[1:]] == pytest.approx([0.2, -0.2, 0.5])
    assert [row["regressed"] for row in rows] == [False, False, True, False]
    assert rows[2]["lost"] == ["t:0", "t:1"]
    assert [row["is_best"] for row in rows] == [False, False, False, True]
    assert found["lift"] == pytest.approx({"1": 0.2, "2": -0.2, "3": 0.5})
    assert found["regression_share"] == pytest.approx(2 / 6)
    assert found["helper_call_rate"] == pytest.approx(3 / 6), "one helper, six scripts, three call it"
    assert found["matrix"] == {"t:0": [0.2, 0.6, 0.6, 0.7], "t:1": [0.4, 0.4, 0.4, 0.9]}
    assert (found["best"], found["task_mean"], found["kind"]) == ("C3", pytest.approx(0.8), "full")


def test_a_run_that_grew_on_past_its_best_shows_the_regression_too(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    solve(voices(), 2, log=log, patience=1)
    found = stacks.summary("run", read(log))
    assert found["best"] == "C1"
    assert [row["candidate"] for row in found["by_depth"]] == ["C0", "C1", "C2"]
    assert found["by_depth"][2]["regressed"]


def test_a_log_of_another_method_is_refused() -> None:
    with pytest.raises(UsageError, match="mc2"):
        stacks.summary("x", read(find("mc2-digits")))


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        (layer(2, say("Do not import third-party packages.")), {ENVIRONMENT, PROMPTING}),
        (layer(2, "", PACK), {PRIMITIVE}),
        (layer(2, "", PACK.replace("First-fit", "For the knapsack: first-fit")), {SPECIALISED}),
        (
            layer(2, 'if "grid" in task.description:\n    additional_context = "look"'),
            {ROUTING, PROMPTING},
        ),
        (layer(2, say("Verify the answer before you give it.")), {VERIFICATION, PROMPTING}),
        (
            layer(3, say("Go on."), rationale="Disregard what the layer of depth 2 says."),
            {ROLLBACK, PROMPTING},
        ),
        (layer(2, "import json\nx = json.dumps(1)"), {OTHER}),
    ],
)
def test_the_rater_by_rules_names_what_a_layer_is_for(given: LayerKept, roles: set[str]) -> None:
    assert rule_roles(given, ["knapsack", "other", ""]) == roles


def test_a_models_roles_are_read_or_not() -> None:
    assert read_roles('Here: {"roles": ["rollback", "invented"]}') == {ROLLBACK}
    assert read_roles('{"roles": []}') == {OTHER}
    assert read_roles('{"roles": ["invented"]}') is None
    assert read_roles("rollback") is None


def test_shares_need_not_add_up_and_kappa_is_cohens() -> None:
    """Four layers; on rollback both say (yes, yes), (yes, no), (no, no), (no, no): kappa 0.5."""
    first = {"L1": {ROLLBACK}, "L2": {ROLLBACK, PROMPTING}, "L3": {PROMPTING}, "L4": {PROMPTING}}
    second = {"L1": {ROLLBACK}, "L2": {PROMPTING}, "L3": {PROMPTING}, "L4": {PROMPTING}}
    one = {id_: frozenset(roles) for id_, roles in first.items()}
    two = {id_: frozenset(roles) for id_, roles in second.items()}
    found = stacks.agreement(one, two)
    assert found[ROLLBACK] == 0.5
    assert found[PROMPTING] == 1.0
    assert found[VERIFICATION] is None, "both always say no"
    assert stacks.agreement(one, {})[ROLLBACK] is None
    shares = stacks.shares(one, {"L1": 2, "L2": 2, "L3": 3, "L4": 3})
    assert shares["2"][ROLLBACK] == 1.0
    assert shares["2"][PROMPTING] == 0.5
    assert set(shares["3"]) == set(CODEBOOK)


def test_a_model_rates_layers_in_a_run_of_its_own(recording: Recording, tmp_path: Path) -> None:
    log = tmp_path / "ratings.jsonl"
    layers = all_of(recording.events, LayerKept)
    method = build("meta_n_roles", {"layers": layers})
    replies = {
        "L1": '{"roles": ["prompt engineering", "tactical primitive"]}',
        "L2": "hm",
        "L3": '{"roles": []}',
    }
    model = ScriptedModel(lambda call: replies[call.name])
    result = asyncio.run(live(method, header(method, "q", model="m"), Doors(model), log=log, clock=None))
    assert (result.status, result.reason, result.calls) == ("answered", "rated", 4)
    assert again(log).calls == 4
    found = stacks.summary("run", recording, [read(log)])
    rated = {row["layer"]: row["model"] for row in found["roles"]["layers"]}
    assert rated == {"L1": [PROMPTING, PRIMITIVE], "L2": [OTHER], "L3": [OTHER]}
    assert found["roles"]["both"] == 3
    assert found["roles"]["kappa"][PRIMITIVE] == 1.0


def test_the_page_draws_the_four_figures_and_hides_nothing_in_colour(recording: Recording) -> None:
    page = plots_meta_n.page([stacks.summary("run <b>", recording)])
    for label in (
        "Mean by depth",
        "Archive by iteration",
        "Roles by depth",
        "Best score of each task by iteration",
    ):
        assert f'aria-label="{label}, run &lt;b&gt;"' in page
    assert "regressed</text>" in page
    assert "<b>" not in page.replace("<body>", "")
    assert page.count("http") == page.count("http-equiv"), "nothing is loaded from elsewhere"


def test_a_guarded_run_says_what_is_protected(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    solve(voices(), 2, log=log, mode="evolutionary", guard=True, iterations=2)
    found = stacks.summary("run", read(log))
    assert found["guard"]
    assert found["routed"][0]["tasks"]
    assert stacks.GUARDED in plots_meta_n.page([found])


def test_arms_are_told_apart_and_averaged() -> None:
    def one(kind: str, mean: float, guard: bool = False) -> dict[str, Any]:
        return {"kind": kind, "best_mean": mean, "task_mean": mean, "guard": guard}

    found = [one("full", 0.8), one("full", 0.9), one("no_library", 0.8), one("depth1", 0.65)]
    made = stacks.ablations(found)
    assert made["means"] == pytest.approx({"full": 0.85, "no_library": 0.8, "depth1": 0.65})
    assert made["lift"] == pytest.approx(0.2)
    assert made["shares"] == pytest.approx({"no_library": 0.25})
    guarded = stacks.ablations([one("full", 0.8, True), one("full", 0.7), one("depth1", 0.5)])
    assert guarded["shares"] == pytest.approx({"no_guard": (0.8 - 0.7) / 0.3})
    assert "shares" not in stacks.ablations([one("full", 0.8)])


def test_kinds_follow_from_settings() -> None:
    assert stacks.kind({}) == "full"
    assert stacks.kind({"library": False}) == "no_library"
    assert stacks.kind({"outer_context": False, "library": False}) == "no_library_outer_context"
    assert stacks.kind({"mode": "object_level"}) == "object_level"
