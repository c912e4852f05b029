"""What a pass over a stream changed against the one before, and two memories against each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mc2_runs import RESTART, by_role, solve, solved, stream

from meta_tui.cli import main
from meta_tui.methods.carried import left_behind, to_json
from meta_tui.methods.mc2.history import history
from meta_tui.methods.mc2.memory import Known, Memory, RoleMemory
from meta_tui.methods.mc2.passes import between, passes
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line
from meta_tui.runlog import read


def learner(call: Call) -> Line:
    """Wrong on question 1 until it is instructed; then wrong on question 0. Question 2 is restarted
    in every attempt. Checklists of the batches are w, x, y, z."""
    asked, instructed = call.request.messages[-1].content, "be the " in call.request.messages[0].content
    if call.role == "reasoner":
        wrong = "number 0?" if instructed else "number 1?"
        return solved("wrong" if wrong in asked else "7")
    if call.role == "controller" and "number 2?" in asked:
        return RESTART
    if call.role == "controller":
        return "ACTION: 1\nJUSTIFICATION: yes"
    if call.name == "Consolidate Reasoner":
        learner.seen = getattr(learner, "seen", 0) + 1  # type: ignore[attr-defined]
        return json.dumps({"rules": [{"text": "wxyz"[(learner.seen - 1) % 4]}, {"text": "always"}]})  # type: ignore[attr-defined]
    return by_role(call)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    learner.seen = 0  # type: ignore[attr-defined]
    path = tmp_path / "run.jsonl"
    told = solve("mc2", learner, stream(4), batch=2, passes=2, log=path)
    assert told.result.status == "completed"
    return path


def json_of(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_each_pass_says_what_it_gained_lost_and_changed(log: Path) -> None:
    """Pass 1: right are 0, 2, 3 (2 by its last answer, never settled); pass 2: 1, 2, 3."""
    first, second = passes(history(read(log).events))
    assert (first.batches, first.instances, first.right, first.graded) == ((1, 2), 4, 3, 4)
    assert (second.batches, second.instances, second.right, second.graded) == ((3, 4), 4, 3, 4)
    assert (first.gained, first.lost) == ((), ())
    assert (second.gained, second.lost) == (("t:1",), ("t:0",))
    assert (first.settled_at_once, first.restarts) == (3, 3)
    reasoner = [next(c for c in one.changes if c.role == "reasoner") for one in (first, second)]
    assert [rule.text for rule in reasoner[0].added] == ["x", "always"]
    assert [rule.text for rule in reasoner[1].added] == ["z"]
    assert [rule.text for rule in reasoner[1].dropped] == ["x"]
    assert [rule.text for rule in reasoner[1].kept] == ["always"]


def test_a_pass_that_is_not_whole_counts_what_is_there(log: Path) -> None:
    events = read(log).events
    last = max(n for n, e in enumerate(events) if getattr(e, "kind", "") == "mro_iter")
    assert [one.instances for one in passes(history(events[: last + 1]))] == [4, 4]
    assert passes(history(events[:2])) == ()


def test_two_memories_differ_by_role() -> None:
    """A new wording of a rule that left is its merge."""
    old = Memory(1, {"reasoner": RoleMemory((Known("check the sum of all terms"), Known("draw")))})
    new = Memory(2, {"reasoner": RoleMemory((Known("check the sum of all the terms twice"),)),
                     "monitor": RoleMemory((Known("count"),))})  # fmt: skip
    reasoner, monitor = between(old, new)
    assert (reasoner.added, [m.of for m in reasoner.merged]) == ((), [(Known("check the sum of all terms"),)])
    assert reasoner.dropped == (Known("draw"),)
    assert (monitor.role, monitor.added) == ("monitor", (Known("count"),))


def test_the_command_compares_passes_and_two_sources(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["knowledge", "compare", str(log)]) == 0
    text = capsys.readouterr().out
    assert "pass 2: batches 3 to 4, 4 instances, 3/4 right" in text
    assert "now right: t:1" in text
    assert "now wrong: t:0" in text
    assert [one["number"] for one in json_of(capsys, "knowledge", "compare", str(log))] == [1, 2]
    file = tmp_path / "k.json"
    file.write_bytes(to_json(left_behind(read(log))))
    assert json_of(capsys, "knowledge", "compare", str(log), str(file))["same"] is True
    learner.seen = 0  # type: ignore[attr-defined]
    other = tmp_path / "other.jsonl"
    solve("mc2", learner, stream(4), batch=2, log=other)
    found = json_of(capsys, "knowledge", "compare", str(other), str(log), code=3)
    assert found["added"] == ["reasoner: DO z"]
    assert found["dropped"] == ["reasoner: DO x"]


def test_what_has_no_passes_and_what_is_of_two_methods_is_refused(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = tmp_path / "bot.jsonl"
    solve("bot", lambda call: solved(), stream(1), log=bot)
    for words, says in (([str(bot)], "passes are those of"), ([str(log), str(bot)], "one method")):
        assert main(["knowledge", "compare", *words]) == 2
        assert says in capsys.readouterr().err
    assert main(["knowledge", "compare", str(bot), str(bot)]) == 0
