"""What a candidate of Meta^n costs of our own, and how busy it keeps the sandbox.

A SIMULATED Omega and solver; figures are printed (`pytest -s`). 200 candidates on 36 tasks in the
real sandbox, killed and resumed, are `tests/long/test_meta_n_size.py`.
"""

from __future__ import annotations

import asyncio
import resource
import time
from pathlib import Path

import pytest
from meta_n_runs import InProcess, Told, solve
from simulated_stack import MODEL, NOTE, SimulatedStack, Worth, facts, stream

from meta_tui.chat import Program
from meta_tui.events import CodeFinished, CodeStarted, Stored
from meta_tui.models.scripted import ScriptedModel
from meta_tui.sandbox import Sandbox

TASKS = 36
MOST_MS = 4.0
"""CPU of our own per task of a candidate: prompts, traces, archive, log."""


def bred(candidates: int, log: Path | None, code: object = None) -> Told:
    """A simulated run with so many candidates."""
    return solve(
        [],
        items=stream(TASKS, 9, 800),
        model=ScriptedModel(SimulatedStack(1, categories=9, gives_up=0.0)),
        name=MODEL,
        note=NOTE,
        log=log,
        scorer=Worth(),
        code=code or InProcess(),
        tasks=facts(TASKS, 9),
        mode="evolutionary",
        iterations=candidates - 1,
        patience=candidates,
        max_depth=5,
    )


def test_a_task_of_a_candidate_costs_little_of_our_own_and_no_more_when_the_archive_is_large(
    tmp_path: Path,
) -> None:
    """Programs run in this process here and count too."""
    each = {}
    for candidates in (15, 60):
        began = time.process_time()
        bred(candidates, tmp_path / f"{candidates}.jsonl")
        each[candidates] = 1000 * (time.process_time() - began) / (candidates * TASKS)
    print(f"{each[15]:.2f} and {each[60]:.2f} ms of CPU a task with 15 and 60 candidates")
    assert each[60] <= MOST_MS
    assert each[60] <= 1.6 * each[15]


def test_the_log_grows_by_the_same_amount_with_every_candidate(tmp_path: Path) -> None:
    sizes = {}
    for candidates in (20, 60):
        bred(candidates, tmp_path / "run.jsonl")
        sizes[candidates] = (tmp_path / "run.jsonl").stat().st_size / candidates
        (tmp_path / "run.jsonl").unlink()
    print(f"{sizes[20] / 1e3:.0f} and {sizes[60] / 1e3:.0f} kB of log a candidate")
    assert sizes[60] <= 1.25 * sizes[20]


@pytest.mark.timeout(300)
def test_the_sandbox_is_kept_as_busy_as_by_its_programs_alone() -> None:
    """The same programs, run by the sandbox alone as fast as it can, use no more processor time a
    second than the run did (a quarter is allowed for what else this machine does)."""
    before, began = _children(), time.monotonic()
    told = bred(3, None, "sandbox")
    busy = (_children() - before) / (time.monotonic() - began)
    programs = [event.program for event in told.events if isinstance(event, CodeStarted)]
    assert len(programs) == sum(isinstance(event, CodeFinished) for event in told.events) >= 3 * TASKS
    before, began = _children(), time.monotonic()
    asyncio.run(_alone(programs))
    alone = (_children() - before) / (time.monotonic() - began)
    print(f"{busy:.2f} processors in use by the run's programs, {alone:.2f} by the same ones alone")
    assert busy >= 0.75 * alone
    assert len([e for e in told.events if isinstance(e, Stored) and e.kind == "candidate"]) == 3


async def _alone(programs: list[Program]) -> None:
    async with Sandbox() as sandbox:
        await asyncio.gather(*(sandbox.execute(program) for program in programs))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
