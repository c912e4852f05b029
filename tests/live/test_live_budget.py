"""Money and time: what is counted, what is shown, and that a cap stops before it is passed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from live_runs import failures, logs, story
from scripted_server import ScriptedServer, drip, ok

from meta_tui import session
from meta_tui.cli import main
from meta_tui.config import Settings
from meta_tui.events import Replied
from meta_tui.run import RunResult
from meta_tui.runlog import read

PRICED = "openai/gpt-4o-mini"
PER_PROMPT_TOKEN, PER_REPLY_TOKEN = 0.15e-6, 0.60e-6
"""Dollars, as the provider's price list says."""


def solve(server: ScriptedServer, *more: str, model: str = "scripted") -> int:
    return main(["solve", "6 * 7?", "--base-url", server.url, "--model", model, *more])


def solved(
    capsys: pytest.CaptureFixture[str], server: ScriptedServer, *more: str, code: int = 0, **named: str
) -> dict[str, Any]:
    capsys.readouterr()
    assert solve(server, "--json", *more, **named) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def usages(log: Path) -> list[tuple[int, int]]:
    replies = [e.reply for e in read(log).events if isinstance(e, Replied)]
    return [(r.usage.prompt_tokens, r.usage.completion_tokens) for r in replies if r.usage]


def dollars(used: Iterable[tuple[int, int]]) -> float:
    return sum(p * PER_PROMPT_TOKEN + c * PER_REPLY_TOKEN for p, c in used)


def test_an_unknown_price_shows_as_a_dash_and_never_as_nothing(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    assert solve(server, "--plain") == 0
    out = capsys.readouterr().out
    assert "3 calls · " in out
    assert out.rstrip().endswith("tokens · -")
    assert "$" not in out
    assert solved(capsys, server, "--fresh")["cost"] is None


def test_a_known_price_is_what_the_tokens_cost_and_a_cached_call_costs_nothing(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    first = solved(capsys, server, model=PRICED)
    used = usages(logs(home)[0])
    assert len(used) == 3
    assert first["cost"] == pytest.approx(dollars(used))
    assert first["tokens"] == sum(p + c for p, c in used)
    again = solved(capsys, server, model=PRICED)
    assert (again["calls"], again["cached"], again["cost"]) == (3, 3, 0.0)
    assert server.count == 3
    assert solve(server, "--plain", model=PRICED) == 0
    assert "3 calls (3 cached) · " in (out := capsys.readouterr().out)
    assert "- tokens" not in out
    assert out.rstrip().endswith("· $0")


def test_cached_calls_count_fully_against_a_cap_of_calls(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    solved(capsys, server)
    stopped = solved(capsys, server, "--max-calls", "2", code=4)
    assert (stopped["status"], stopped["cached"]) == ("budget", 2)
    assert server.count == 3
    assert main(["replay", stopped["run"]]) == 0


def test_a_cap_of_tokens_stops_before_the_call_that_would_pass_it(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    whole = solved(capsys, server)["tokens"]
    first_two = sum(p + c for p, c in usages(logs(home)[0])[:2])
    stopped = solved(capsys, server, "--fresh", "--max-total-tokens", str(whole - 50), code=4)
    assert (stopped["status"], stopped["tokens"]) == ("budget", first_two)
    assert server.count == 3 + 2
    assert solved(capsys, server, "--fresh", "--max-total-tokens", str(2 * whole))["tokens"] == whole


def test_a_cap_of_dollars_stops_before_the_call_that_would_pass_it(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    whole = solved(capsys, server, model=PRICED)["cost"]
    cap = f"{whole * 0.9:.9f}"
    stopped = solved(capsys, server, "--fresh", "--max-dollars", cap, model=PRICED, code=4)
    assert stopped["cost"] == pytest.approx(dollars(usages(logs(home)[-1])))
    assert stopped["cost"] <= float(cap)
    assert server.count == 3 + 2
    (failed,) = failures(read(Path(stopped["path"])))
    assert "the next call would pass the cap" in failed.message
    # The two calls before it are in the cache by now and cost nothing: the same cap is enough.
    assert solved(capsys, server, "--max-dollars", cap, model=PRICED)["status"] == "answered"


def test_a_cap_of_dollars_cannot_be_kept_without_a_price_and_says_so(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    stopped = solved(capsys, server, "--max-dollars", "5", code=4)
    assert (stopped["status"], stopped["cost"], server.count) == ("budget", None, 1)
    (failed,) = failures(read(Path(stopped["path"])))
    assert "cap calls or tokens" in failed.message


def test_a_cap_of_seconds_ends_a_call_that_outlasts_it_and_the_run_goes_on_later(
    loaded: None, server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = drip(every=0.05)
    stopped = solved(capsys, server, "--max-seconds", "0.8", code=4)
    assert stopped["status"] == "budget"
    (failed,) = failures(read(Path(stopped["path"])))
    assert (failed.kind, failed.retry_in) == ("budget", None)
    assert main(["replay", stopped["run"]]) == 0
    server.default = ok(story())
    where = ["--base-url", server.url, "--model", "scripted", "--json"]
    capsys.readouterr()
    assert main(["resume", stopped["run"], *where]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "42"


def test_what_is_capped_and_what_is_used_stand_beside_every_round(
    server: ScriptedServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.default = ok(story())
    caps = ["--max-calls", "9", "--max-dollars", "5", "--max-total-tokens", "9000", "--max-seconds", "900"]
    assert solve(server, "--plain", *caps, model=PRICED) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("── Round")]
    assert "budget 0/9 calls, 0/9,000 tokens, $0.0000/$5, 900 s left" in heads[0]
    assert "budget 2/9 calls, " in heads[1]


async def in_one_session(settings: Settings, runs: int) -> tuple[list[RunResult], session.Session]:
    live = session.Session(settings)
    try:
        plans = [session.plan(f"Question {number}?", settings) for number in range(runs)]
        results = await asyncio.gather(*(session.solve(plan, live) for plan in plans))
    finally:
        await live.aclose()
    return list(results), live


@pytest.mark.parametrize(("cap", "answered"), [(3, 1), (4, 1), (11, 3), (12, 4)])
async def test_a_cap_over_several_runs_stops_before_the_call_that_would_pass_it(
    cap: int, answered: int, server: ScriptedServer, home: Path
) -> None:
    """Four runs of three calls each share one budget; together they never ask more than the cap."""
    server.default = ok(story())
    settings = Settings(model="scripted", base_url=server.url, max_calls=cap, cache=False, concurrency=2)
    results, live = await in_one_session(settings, 4)
    assert server.count == cap
    assert live.ledger.totals.calls == cap
    statuses = [result.status for result in results]
    assert statuses.count("answered") <= answered
    assert set(statuses) <= {"answered", "budget"}
    assert ("budget" not in statuses) == (cap == 12)


async def test_dollars_are_capped_over_several_runs_too(server: ScriptedServer, home: Path) -> None:
    server.default = ok(story())
    alone, _ = await in_one_session(Settings(model=PRICED, base_url=server.url, cache=False), 1)
    price = dollars(usages(logs(home)[0]))
    assert alone[0].status == "answered"
    cap = 2.5 * price
    settings = Settings(model=PRICED, base_url=server.url, max_dollars=cap, cache=False, concurrency=1)
    results, live = await in_one_session(settings, 4)
    assert live.ledger.totals.cost is not None
    assert 0 < live.ledger.totals.cost <= cap
    assert "budget" in {result.status for result in results}
