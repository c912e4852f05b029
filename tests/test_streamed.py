"""Streams from Python: answers by sample, grades that stay outside, knowledge that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mc2_runs import by_role, solved

import meta_tui
from meta_tui.errors import UsageError
from meta_tui.events import Scored
from meta_tui.methods.carried import Carried, to_json
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.runlog import read
from meta_tui.streamed import StreamResult, solve_stream
from meta_tui.tasks.loaders import samples

GOLD = "SENTINEL-7391"


def numbered(call: Call) -> Line:
    """The Reasoner answers a question with its last word, everybody else as usual."""
    if call.role != "reasoner":
        return by_role(call)
    question = call.request.messages[-1].content.partition("question ")[2]
    return solved(question.split()[0].rstrip("?"))


def run_of(questions: Any, log: Path, **more: Any) -> tuple[StreamResult, ScriptedModel]:
    model = ScriptedModel(numbered)
    return solve_stream(questions, model=model, log=log, **more), model


def test_answers_come_by_sample_and_what_was_learned_begins_a_later_stream(tmp_path: Path) -> None:
    questions = [f"What about question {n}?" for n in range(4)]
    first, model = run_of(questions, tmp_path / "1.jsonl", settings={"batch": 2})
    assert first.run.status == "completed"
    assert first.answers == {f"own:{n}": str(n) for n in range(4)}
    assert sum(call.name == "Compose" for call in model.calls) == 2
    assert isinstance(first.knowledge, Carried)
    second, model = run_of(questions[:1], tmp_path / "2.jsonl", knowledge=first.knowledge)
    assert sum(call.name == "Compose" for call in model.calls) == 1
    assert "check everything twice" in str([c.request.messages for c in model.calls])
    assert second.answers == {"own:0": "0"}
    assert meta_tui.replay(second.log).status == "completed"


def test_right_answers_grade_and_reach_no_prompt_and_no_log(tmp_path: Path) -> None:
    questions = [("What about question 5?", "5.0"), ("What about question 6?", GOLD)]
    found, model = run_of(questions, tmp_path / "1.jsonl", settings={"batch": 1})
    events = read(found.log).events
    assert [e.value for e in events if isinstance(e, Scored)] == [1.0, 0.0]
    assert GOLD not in str([c.request.messages for c in model.calls])
    assert GOLD not in found.log.read_text()


def test_without_right_answers_a_stream_is_label_free_and_says_so(tmp_path: Path) -> None:
    found, _ = run_of(["What about question 5?"], tmp_path / "1.jsonl")
    recording = read(found.log)
    assert recording.started.settings["label_source"] == "none"
    assert not [e for e in recording.events if isinstance(e, Scored)]


def test_samples_of_a_task_are_graded_by_its_grader(tmp_path: Path) -> None:
    chosen = samples("theorem", 2)
    right = {chosen[0].input[:60]: chosen[0].target}

    def reply(call: Call) -> Line:
        if call.role != "reasoner":
            return by_role(call)
        asked = call.request.messages[-1].content
        return solved(next((gold for text, gold in right.items() if text in asked), "no such thing"))

    found = solve_stream(chosen, model=ScriptedModel(reply), log=tmp_path / "1.jsonl", settings={"batch": 1})
    assert list(found.answers) == ["theorem:0", "theorem:1"]
    assert [e.value for e in read(found.log).events if isinstance(e, Scored)] == [1.0, 0.0]


@pytest.mark.parametrize("method", ["cot", "bot", "meta_reasoner"])
def test_other_methods_take_streams_too_and_leave_behind_what_they_carry(method: str, tmp_path: Path) -> None:
    model = ScriptedModel(lambda call: solved("4"))
    found = solve_stream(["a?", "b?"], model=model, method=method, log=tmp_path / "1.jsonl")
    assert found.answers == {"own:0": "4", "own:1": "4"}
    assert (found.knowledge is not None) == (method != "cot")


def test_an_instance_without_an_answer_is_none(tmp_path: Path) -> None:
    found = solve_stream(["a?"], model=ScriptedModel(lambda c: "?"), method="cot", log=tmp_path / "1.jsonl")
    assert found.answers == {"own:0": None}


def test_knowledge_comes_from_a_file_too_and_not_from_another_method(tmp_path: Path) -> None:
    found, _ = run_of(["What about question 5?"], tmp_path / "1.jsonl")
    file = tmp_path / "known.json"
    assert found.knowledge is not None
    file.write_bytes(to_json(found.knowledge))
    again, model = run_of(["What about question 6?"], tmp_path / "2.jsonl", knowledge=file)
    assert sum(call.name == "Compose" for call in model.calls) == 1
    with pytest.raises(UsageError, match="not for bot"):
        run_of(["q"], tmp_path / "3.jsonl", method="bot", knowledge=file)
    with pytest.raises(UsageError, match="no file or name"):
        run_of(["q"], tmp_path / "3.jsonl", knowledge="nowhere")
    assert again.run.status == "completed"


@pytest.mark.parametrize(
    ("questions", "method", "says"),
    [
        ([], "mc2", "at least one"),
        (["q"], "meta_prompting", "takes one question"),
        (["q", samples("theorem", 1)[0]], "mc2", "not both"),
    ],
)
def test_what_is_no_stream_is_refused_with_what_to_do(
    questions: list[Any], method: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says):
        run_of(questions, tmp_path / "1.jsonl", method=method)


async def test_it_can_be_awaited_and_called_inside_a_running_loop(tmp_path: Path) -> None:
    model = ScriptedModel(lambda call: solved("4"))
    one = await meta_tui.solve_stream_async(["a?"], model=model, method="cot", log=tmp_path / "1.jsonl")
    two = meta_tui.solve_stream(["a?"], model=model, method="cot", log=tmp_path / "2.jsonl")
    assert one.answers == two.answers == {"own:0": "4"}
