"""Meta^n with a SIMULATED Omega and solver: both modes converge, and channels have their shares.

Nothing here says anything about a language model; see `simulated_stack`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from meta_n_runs import Told, means, solve
from scripted_runs import again
from simulated_stack import ADVICE, BASE, MODEL, NOTE, TOOL, SimulatedStack, Worth, facts, stream

from meta_tui.evaluation import plots_meta_n, stacks
from meta_tui.evaluation.stacks import channel_share
from meta_tui.models.scripted import ScriptedModel
from meta_tui.runlog import read

TOP = BASE + ADVICE + TOOL
"""What a script is worth when everything helps."""


def simulated(log: Path | None = None, seed: int = 0, overdoes: float = 0.3, **settings: Any) -> Told:
    """One simulated run on twelve tasks of four categories."""
    return solve(
        [],
        items=stream(12),
        model=ScriptedModel(SimulatedStack(seed, overdoes)),
        name=MODEL,
        note=NOTE,
        log=log,
        seed=seed,
        scorer=Worth(),
        tasks=facts(12),
        **settings,
    )


@pytest.mark.parametrize("seed", range(4))
def test_linear_mode_converges_near_the_top(seed: int) -> None:
    told = simulated(seed=seed, patience=3)
    assert told.result.reason == "converged"
    (stop,) = told.bodies("stop")
    assert stop["mean"] >= TOP - 0.08 > means(told)[0] + 0.3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "more", [{}, {"gate": True}, {"beam": 2, "branching": 2}], ids=["plain", "gate", "beam"]
)
def test_evolutionary_mode_converges_near_the_top(seed: int, more: dict[str, Any]) -> None:
    told = simulated(seed=seed, mode="evolutionary", **more)
    assert told.result.reason == "converged"
    (stop,) = told.bodies("stop")
    assert stop["task_mean"] >= TOP - 0.03
    assert stop["mean"] >= BASE + ADVICE


@pytest.mark.parametrize("seed", range(4))
def test_the_guard_converges_and_loses_nothing_on_the_way(seed: int) -> None:
    told = simulated(seed=seed, mode="evolutionary", guard=True, patience=12)
    assert told.result.reason == "converged"
    reached = [body["task_mean"] for body in told.bodies("archive_best")]
    assert reached == sorted(reached)
    assert told.bodies("routed")[0]["mean"] == reached[-1] >= BASE + ADVICE
    assert sum("patience" not in body for body in told.bodies("archive_best")) > 5


def test_a_regression_is_repaired_by_a_deeper_layer() -> None:
    """A layer overdoes it, the one above takes that back: the harmful one hears it."""
    told = simulated(seed=1, overdoes=1.0, patience=4, max_depth=8)
    found = means(told)
    texts = [body.get("rationale", "") for body in told.bodies("layer")]
    place = next(k for k, text in enumerate(texts) if text.startswith("Rollback"))
    assert found[place + 1] > found[place] + 0.02, "the rollback gains"


def test_the_shares_of_the_channels_follow_the_stated_formula(tmp_path: Path) -> None:
    """(full - without) / (full - depth 1), from logs alone, over three seeds."""
    arms: dict[str, dict[str, Any]] = {
        "full": {},
        "no_library": {"library": False},
        "no_outer_context": {"outer_context": False},
        "depth1": {"mode": "depth1", "calls": 120},
    }
    found = []
    for arm, settings in arms.items():
        for seed in range(3):
            log = tmp_path / f"{arm}-{seed}.jsonl"
            simulated(log, seed, 0.9, **{"patience": 4, **settings})
            found.append(stacks.summary(log.stem, read(log)))
    assert {one["kind"] for one in found} == set(arms)
    made = stacks.ablations(found)
    mean = {arm: sum(o["best_mean"] for o in found if o["kind"] == arm) / 3 for arm in arms}
    assert made["means"] == pytest.approx(mean)
    for arm in ("no_library", "no_outer_context"):
        by_hand = (mean["full"] - mean[arm]) / (mean["full"] - mean["depth1"])
        assert made["shares"][arm] == pytest.approx(by_hand)
        assert 0.05 < made["shares"][arm] < 1
    page = plots_meta_n.page(found)
    assert "SIMULATION" in page
    assert "share of recursion" in page.lower()


def test_the_papers_shares_come_out_of_the_formula() -> None:
    share = channel_share(0.845, 0.751, 0.714)
    assert share is not None
    assert round(share, 2) == 0.72
    library = channel_share(0.845, 0.825, 0.714)
    assert library is not None
    assert round(library, 2) == 0.15
    assert channel_share(0.5, 0.4, 0.5) is None


def test_a_simulated_run_says_so_and_replays(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    told = simulated(log, patience=2)
    started = read(log).started
    assert started.model.startswith("SIMULATION")
    assert started.note.startswith("SIMULATION")
    assert again(log).calls == told.result.calls
