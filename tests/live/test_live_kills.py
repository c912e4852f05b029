"""kill -9 at a few random moments; `tests/long` has the hundred."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from live_kills import FileBill, ServerBill, Toll, counted, kill_and_resume
from live_runs import start, story
from scripted_server import ScriptedServer, ok

METHODS = ("meta_prompting", "fan_out")


@pytest.mark.parametrize("number", range(6))
def test_a_killed_run_is_resumed_to_its_answer_and_asks_for_nothing_it_holds(
    number: int, tmp_path: Path
) -> None:
    chance, toll = random.Random(number), Toll()
    bill, method = tmp_path / "bill", METHODS[number % 2]
    kill_and_resume(
        toll,
        lambda: start(["solve", method, str(bill)], tmp_path, work=counted),
        lambda _: start(["resume", method, str(bill)], tmp_path, work=counted),
        tmp_path / "home",
        FileBill(bill),
        [chance.uniform(0.0, 0.2) for _ in range(2)],
    )
    print(toll)
    assert toll.asked_again == []


@pytest.mark.parametrize("cache", ["--cache", "--no-cache"])
def test_so_is_one_that_asks_through_litellm(cache: str, server: ScriptedServer, tmp_path: Path) -> None:
    chance, toll = random.Random(cache), Toll()
    server.default = ok(story(rounds=5), every=0.005)
    where = ["--base-url", server.url, "--model", "scripted", cache]
    kill_and_resume(
        toll,
        lambda: start(["solve", "6 * 7?", *where, "--plain"], tmp_path),
        lambda log: start(["resume", log.stem, *where, "--plain"], tmp_path),
        tmp_path / "home",
        ServerBill(server),
        [chance.uniform(0.2, 0.8)],
    )
    print(toll)
    assert toll.asked_again == []
