"""Meta-Reasoner: steps, reports, a bandit that is carried over the stream."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from mc2_runs import solve, solved, stream
from scripted_runs import again

from meta_tui.methods.bandit import Arm, Bandit, best, bound, pulled
from meta_tui.methods.carried import as_setting, left_behind
from meta_tui.methods.meta_reasoner import ARMS, progress
from meta_tui.models.base import Call
from meta_tui.runlog import read


def test_the_bound_of_an_arm_by_hand() -> None:
    """A = I + x x' with x = (1, 0): A^-1 = diag(1/2, 1); b = (0.8, 0); theta = (0.4, 0)."""
    bandit = pulled(Bandit(), "verify", (1.0, 0.0), 0.8)
    arm = bandit.of("verify")
    assert arm.inverse == ((0.5, 0.0), (0.0, 1.0))
    assert arm.b == (0.8, 0.0)
    assert bound(arm, (1.0, 0.0), 1.0) == round(0.4 + math.sqrt(0.5), 9)
    assert bound(arm, (0.0, 1.0), 1.0) == 1.0
    assert bound(arm, (1.0, 0.0), 0.5) == round(0.4 + 0.5 * math.sqrt(0.5), 9)
    assert bound(Arm(), (3.0, 4.0), 2.0) == 10.0


def test_two_pulls_by_hand() -> None:
    """A = I + (1,0)(1,0)' + (1,1)(1,1)' = [[3,1],[1,2]], inverse [[2,-1],[-1,3]]/5."""
    bandit = pulled(pulled(Bandit(), "a", (1.0, 0.0), 1.0), "a", (1.0, 1.0), 0.5)
    arm = bandit.of("a")
    flat = [value for row in arm.inverse for value in row]
    assert flat == pytest.approx([0.4, -0.2, -0.2, 0.6])
    assert arm.b == (1.5, 0.5)
    assert arm.pulls == 2


def test_the_first_of_equal_arms_is_taken_and_a_bad_one_is_left() -> None:
    names = ("one", "two", "three")
    assert best(Bandit(), names, (1.0, 0.0), 1.0) == "one"
    assert best(pulled(Bandit(), "one", (1.0, 0.0), 0.0), names, (1.0, 0.0), 1.0) == "two"
    good = pulled(Bandit(), "three", (1.0, 0.0), 1.0)
    assert best(good, names, (1.0, 0.0), 0.1) == "three"


def steps(count: int) -> list[str]:
    """Steps with reports; the last one answers."""
    script = []
    for n in range(1, count + 1):
        script += ["a step" if n < count else solved(), f"Report {n}.\nPROGRESS: 0.{n}"]
    return script


def test_a_step_and_a_report_each_until_a_step_answers() -> None:
    told = solve("meta_reasoner", steps(3))
    assert (told.result.answer, told.result.calls) == ("7", 6)
    pulls = told.bodies("pull")
    assert [p["reward"] for p in pulls] == [0.2, 0.3]
    assert pulls[0]["arm"] == "continue"
    assert all(len(p["features"]) == 32 for p in pulls)


def test_the_chosen_strategy_guides_the_next_step() -> None:
    told = solve("meta_reasoner", steps(3))
    prompts = told.prompts("reasoner")
    for prompt, pull in zip(prompts[1:], told.bodies("pull"), strict=True):
        assert ARMS[pull["arm"]] in prompt


def test_eight_steps_without_an_answer_end_in_one_conclusion() -> None:
    told = solve("meta_reasoner", ["a step", "PROGRESS: 0"] * 8 + [solved()])
    assert (told.result.answer, told.result.calls) == ("7", 17)


def test_the_bandit_goes_with_the_stream_and_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    told = solve("meta_reasoner", steps(3) * 4, stream(4), log=log)
    assert told.result.status == "completed"
    carried = left_behind(read(log))
    assert sum(arm["pulls"] for arm in carried.knowledge["arms"].values()) == 8
    assert again(log).status == "completed"
    both = solve("meta_reasoner", steps(3) * 6, stream(6))
    later = solve("meta_reasoner", steps(3) * 2, stream(2, 4), **as_setting(carried, "meta_reasoner"))
    assert later.bodies("pull") == both.bodies("pull")[8:]


@pytest.mark.parametrize(
    ("report", "value"),
    [
        ("PROGRESS: 0.6", 0.6),
        ("PROGRESS: 1", 1.0),
        ("PROGRESS: 1.", 1.0),
        ("PROGRESS: 0.2\nPROGRESS: **.75**", 0.75),
        ("PROGRESS: 7", 0.0),
        ("PROGRESS: 1.5", 0.0),
        ("PROGRESS: 60%", 0.0),
        ("", 0.0),
    ],
)
def test_progress_is_a_number_from_0_to_1(report: str, value: float) -> None:
    assert progress(report) == value


def test_a_call_is_never_made_for_an_unknown_role() -> None:
    def reply(call: Call) -> str:
        assert call.role in ("reasoner", "stage", "meta")
        return solved()

    assert solve("meta_reasoner", reply).result.calls == 2
