"""Buffer of thoughts: what is retrieved, what is kept, and the coarse path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mc2_runs import solve, solved, stream
from scripted_runs import again

from meta_tui.events import Rejected
from meta_tui.methods.bot import CATEGORIES, Template, is_new, read_template
from meta_tui.methods.carried import as_setting, left_behind
from meta_tui.methods.embedding import cosine, hashed
from meta_tui.models.base import Call
from meta_tui.runlog import read

COUNTING = "counting problems with inclusion and exclusion"


def template(description: str = COUNTING, category: str = "mathematics") -> str:
    return json.dumps({"description": description, "category": category, "template": "THE GENERAL WAY"})


def thinker(description: str = COUNTING, distilled: str = COUNTING, made: str = "") -> object:
    def reply(call: Call) -> str:
        return {"Distil": distilled, "Instantiate": solved(), "Template": made or template(description)}[
            call.name
        ]

    return reply


def test_an_empty_buffer_takes_the_coarse_path_in_three_calls() -> None:
    told = solve("bot", thinker())  # type: ignore[arg-type]
    assert (told.result.answer, told.result.calls) == ("7", 3)
    assert "No template fits" in told.prompts(name="Instantiate")[0]
    for words in ("Prose", "Procedure", "Program-like"):
        assert words in told.prompts(name="Instantiate")[0]
    assert [e.id for e in told.stored("template")] == ["T1"]


def test_the_same_template_twice_grows_the_buffer_once_and_is_used() -> None:
    told = solve("bot", thinker(), stream(2))  # type: ignore[arg-type]
    assert [e.id for e in told.stored("template")] == ["T1"]
    assert "THE GENERAL WAY" in told.prompts(name="Instantiate")[1]
    assert [e.inputs for e in told.stored("retrieval")] == [(), ("T1",)]


def test_another_kind_of_problem_is_new_and_grows_the_buffer() -> None:
    answers = iter([COUNTING, "reading a timetable of trains"])

    def reply(call: Call) -> str:
        if call.name == "Distil":
            reply.last = next(answers)  # type: ignore[attr-defined]
        return thinker(reply.last, reply.last)(call)  # type: ignore[attr-defined, operator, no-any-return]

    told = solve("bot", reply, stream(2))
    assert [e.title for e in told.stored("template")] == [COUNTING, "reading a timetable of trains"]
    assert all("coarse" in e.title for e in told.stored("retrieval"))


def test_the_threshold_decides_what_is_new() -> None:
    vector = hashed(COUNTING)
    assert is_new(vector, [], 0.6)
    assert not is_new(vector, [vector], 0.6)
    assert is_new(hashed("trains"), [vector], 0.6)


def test_a_likeness_at_the_threshold_is_not_new_neither_on_the_way_in_nor_out() -> None:
    """Both words share one of two tokens and no pair: cosine 1/3 of (a, b, a b) and (a, c, a c)."""
    one, other = hashed("red circle"), hashed("red square")
    assert cosine(one, other) == pytest.approx(1 / 3)
    assert not is_new(one, [other], cosine(one, other))
    told = solve("bot", thinker("red square", "red circle"), stream(2), threshold=cosine(one, other))  # type: ignore[arg-type]
    assert [e.inputs for e in told.stored("retrieval")] == [(), ("T1",)]


@pytest.mark.parametrize("made", ["no json", "{}", template(category="magic"), template(description=" ")])
def test_a_template_that_cannot_be_read_is_not_added(made: str) -> None:
    told = solve("bot", thinker(made=made))  # type: ignore[arg-type]
    assert told.result.answer == "7"
    assert not told.stored("template")
    assert any(isinstance(e, Rejected) for e in told.events)
    assert read_template(made) is None


def test_the_six_categories_are_read_in_any_case() -> None:
    assert len(CATEGORIES) == 6
    assert read_template(template(category="Mathematics")) == Template(
        COUNTING, "mathematics", "THE GENERAL WAY"
    )


def test_updates_after_success_alone_ask_for_the_grade() -> None:
    told = solve("bot", thinker(), stream(2), update_on="success", golds={"t:0": "8", "t:1": "7"})  # type: ignore[arg-type]
    assert len(told.calls(name="Template")) == 1
    assert told.result.calls == 5
    told = solve("bot", thinker(), update_on="success")  # type: ignore[arg-type]
    assert told.result.calls == 2


def test_no_answer_leaves_no_template() -> None:
    told = solve("bot", lambda call: "hm")
    assert (told.result.status, told.result.calls) == ("no_answer", 2)


def test_the_buffer_is_in_the_log_and_begins_a_later_run(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    solve("bot", thinker(), stream(2), log=log)  # type: ignore[arg-type]
    assert again(log).status == "completed"
    carried = left_behind(read(log))
    assert [t["description"] for t in carried.knowledge["templates"]] == [COUNTING]
    told = solve("bot", thinker(), **as_setting(carried, "bot"))  # type: ignore[arg-type]
    assert "THE GENERAL WAY" in told.prompts(name="Instantiate")[0]
    assert not told.stored("template")
