"""kill -9 at random moments: 90 runs with a counting model, 10 through litellm."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from live_kills import FileBill, ServerBill, Toll, counted, kill_and_resume
from live_runs import Program, logs, start, story
from scripted_server import ScriptedServer, ok, server

__all__ = ["server"]

pytestmark = pytest.mark.timeout(900)


def moments(chance: random.Random, longest: float) -> list[float]:
    """One to three moments; a tenth of the first ones come before the run has a log."""
    count = chance.randint(1, 3)
    found = [chance.uniform(0.0, longest) for _ in range(count)]
    return [chance.uniform(-0.15, -0.02), *found[1:]] if chance.random() < 0.1 else found


def test_ninety_runs_with_a_counting_model(tmp_path: Path) -> None:
    chance, toll = random.Random(90), Toll()
    for number in range(90):
        place = tmp_path / str(number)
        place.mkdir()
        bill, method = place / "bill", ("meta_prompting", "fan_out")[number % 2]

        def go(what: str, place: Path = place, method: str = method, bill: Path = bill) -> Program:
            return start([what, method, str(bill)], place, work=counted)

        kill_and_resume(
            toll,
            lambda: go("solve"),
            lambda _: go("resume"),
            place / "home",
            FileBill(bill),
            moments(chance, 0.25),
        )
    print(toll)
    assert toll.asked_again == []
    assert toll.midway >= 60, "most kills must strike a run that is under way"


def test_ten_runs_through_litellm(server: ScriptedServer, tmp_path: Path) -> None:
    chance, toll = random.Random(10), Toll()
    for number in range(10):
        place = tmp_path / str(number)
        place.mkdir()
        server.default = ok(story(rounds=5), every=0.005)
        server.requests.clear()
        cache = ("--cache", "--no-cache")[number % 2]
        where = ["--base-url", server.url, "--model", "scripted", cache, "--plain"]

        def go(*what: str, place: Path = place, where: list[str] = where) -> Program:
            return start([*what, *where], place)

        kill_and_resume(
            toll,
            lambda: go("solve", "6 * 7?"),
            lambda log: go("resume", log.stem),
            place / "home",
            ServerBill(server),
            moments(chance, 0.9),
        )
        assert len(logs(place / "home")) == 1
    print(toll)
    assert toll.asked_again == []
    assert toll.midway >= 6
