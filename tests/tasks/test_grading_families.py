"""The paper's families: what they ask, what they offer, and that their options are their knobs."""

from __future__ import annotations

import inspect

import pytest

from meta_tui.tasks import family

FAMILIES = ("game24", "checkmate", "shapes", "arithmetic", "words", "puzzles", "mgsm", "sonnets")


@pytest.mark.parametrize("task", FAMILIES)
def test_options_are_the_knobs_of_the_generator_with_their_defaults(task: str) -> None:
    parameters = inspect.signature(family(task).generate).parameters.values()
    knobs = {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    assert dict(family(task).options) == knobs


@pytest.mark.parametrize("task", FAMILIES)
def test_every_family_has_both_graders(task: str) -> None:
    found = family(task)
    assert {"paper", "strict"} <= {*found.graders, *found.code_graders}
    assert bool(found.code_graders) is (task == "puzzles")


def test_mgsm_serves_eleven_languages() -> None:
    assert len(family("mgsm").variants) == 11
    assert family("mgsm_bn") is family("mgsm")


def test_the_question_of_game_24_names_the_goal_of_the_sample() -> None:
    found = family("game24")
    assert "is 24." in found.question(found.generate(0, 1))
    assert "is 10." in found.question(found.generate(0, 1, goal=10))


def test_where_some_samples_have_no_solution_every_question_allows_for_it() -> None:
    found = family("game24")
    mixed = [found.generate(index, 1, unsolvable=0.5) for index in range(4)]
    assert {sample.target for sample in mixed} == {"24", "no solution"}
    assert all("no solution" in found.question(sample) for sample in mixed)
    assert "no solution" not in found.question(found.generate(0, 1))


@pytest.mark.parametrize("task", FAMILIES)
def test_a_question_holds_the_input_and_no_witness(task: str) -> None:
    pytest.importorskip("chess", reason="the extra `graders` is not installed")
    sample = family(task).generate(3, 1)
    question = family(task).question(sample)
    assert sample.input in question
    assert "witness" not in question
