"""Plain shows what the app shows: the tree, the memory with its readers, the budget strip."""

from __future__ import annotations

from pathlib import Path

from meta_tui.evaluation.drawing import budget_text, memory_text, tree_text
from meta_tui.methods.artifacts import Trace, trace
from meta_tui.plain import Plain
from meta_tui.runlog import read

SHIPPED = Path(__file__).parents[2] / "cassettes"


def plain(name: str, brief: bool = False) -> str:
    written: list[str] = []
    shown = Plain(written.append, brief=brief)
    for event in read(SHIPPED / f"{name}.jsonl").events:
        shown.take(event)
    return "".join(written)


def test_plain_ends_with_the_tree_the_memory_and_the_budget() -> None:
    text = plain("staged-note-repair")
    found = trace(read(SHIPPED / "staged-note-repair.jsonl").events)
    for made in (tree_text(found), memory_text(found), budget_text(found)):
        assert all(f"  {line}" in text for line in made.split("\n") if line)
    assert "  ▲ 0_0 Choose Ann's team, then exchange  has gaps\n" in text
    assert "◀ submitted" in text
    assert "read ← 1_0\n" in text


def test_plain_of_a_run_without_workers_has_none_of_it() -> None:
    text = plain("game24-python")
    assert "Artifacts" not in text
    assert "Budget" not in text


def test_an_empty_trace_is_said_in_words() -> None:
    assert tree_text(Trace()) == "no artifact yet"
    assert memory_text(Trace()) == "the memory is empty"
    assert "0 calls" in budget_text(Trace())
