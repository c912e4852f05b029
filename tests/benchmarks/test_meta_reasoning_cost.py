"""What a large run of agentic meta-reasoning costs of our own: B = 1,200 and 300 artifacts or more.

Figures are printed (`pytest -s`).
"""

from __future__ import annotations

import time
from pathlib import Path

from amr_runs import Ran, ran, worked, workers

from meta_tui.events import Replied, Requested
from meta_tui.methods.artifacts import trace, tree
from meta_tui.models.base import Call

MOST_MS = 3.0
"""CPU of our own per call, method, engine and log together."""


def answer(call: Call) -> str:
    """Two workers a cycle, every other one with a context; texts of a usual length."""
    if call.role == "worker":
        return worked(f"Attempt {call.name}", f"step of {call.name} " * 60, call.name[-1], "HIGH")
    return workers((), ("0_0",)) if call.name == "dispatch" else f"word {call.span} " * 150


def large(log: Path, budget: int) -> tuple[Ran, float]:
    """A run and the CPU seconds that it took."""
    began = time.process_time()
    run = ran("meta_reasoning", answer, log, budget=budget)
    return run, time.process_time() - began


def test_a_call_costs_at_most_three_milliseconds_of_our_own(tmp_path: Path) -> None:
    run, seconds = large(tmp_path / "run.jsonl", 1200)
    assert run.result.calls == 1200
    assert len(run.trace.workers) == 400
    print(f"{1000 * seconds / 1200:.3f} ms of CPU a call")
    assert 1000 * seconds / 1200 <= MOST_MS


def test_the_log_is_linear_in_its_distinct_text(tmp_path: Path) -> None:
    """Bytes a character of distinct text do not grow when the run gets four times as long."""
    ratios = []
    for budget in (300, 1200):
        log = tmp_path / f"{budget}.jsonl"
        run, _ = large(log, budget)
        distinct = {m.content for e in run.of(Requested) for m in e.messages}
        distinct |= {e.reply.text for e in run.of(Replied)}
        ratios.append(log.stat().st_size / sum(map(len, distinct)))
    print(f"{ratios[0]:.3f} and {ratios[1]:.3f} bytes of log a character of distinct text")
    assert ratios[1] <= ratios[0] * 1.05


def test_the_tree_of_a_large_run_is_drawn_in_the_time_of_a_frame(tmp_path: Path) -> None:
    run, _ = large(tmp_path / "run.jsonl", 1200)
    began = time.process_time()
    rows = tree(trace(run.events))
    milliseconds = 1000 * (time.process_time() - began)
    print(f"{milliseconds:.1f} ms for a trace and a tree of {len(rows)} artifacts")
    assert len(rows) == 400
    assert milliseconds < 83
