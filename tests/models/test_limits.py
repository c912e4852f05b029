"""Budgets stop before the call that would pass them; gates and retries keep their word."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from calls import Told, ask

from meta_tui.chat import Reply, Usage
from meta_tui.errors import CallFailed, Stopped
from meta_tui.events import How
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.faults import Fault
from meta_tui.models.limits import Budget, Budgeted, Gate, Gated, Ledger, Totals, back_off, persist
from meta_tui.models.scripted import ScriptedModel

LIVE = How("live", cost=0.01)
TEN = Usage(4, 6)
"""Tokens of every scripted reply here: 10."""


def priced(how: How | None = LIVE, usage: Usage | None = TEN) -> ScriptedModel:
    return ScriptedModel(lambda _: Reply("a reply", usage=usage), how=how)


async def calls_until_stopped(budget: Budget, model: ScriptedModel, most: int = 20) -> tuple[int, str]:
    budgeted = Budgeted(model, Ledger(budget))
    for number in range(most):
        try:
            await budgeted.answer(ask("word"), Told())
        except Stopped as stopped:
            return number, str(stopped)
    return most, ""


async def test_a_cap_of_calls_stops_before_the_call_that_would_pass_it() -> None:
    model = priced()
    number, message = await calls_until_stopped(Budget(calls=3), model)
    assert (number, message.partition(":")[0]) == (3, "budget")
    assert len(model.calls) == 3


async def test_a_cap_of_tokens_stops_before_the_call_that_would_pass_it() -> None:
    # Four calls of 10 tokens make 40; a fifth would make 50 > 45.
    assert (await calls_until_stopped(Budget(tokens=45), priced()))[0] == 4
    # Exactly 50 may be used.
    assert (await calls_until_stopped(Budget(tokens=50), priced()))[0] == 5


async def test_a_prompt_that_alone_passes_the_cap_is_never_sent() -> None:
    model = priced()
    budgeted = Budgeted(model, Ledger(Budget(tokens=100)))
    with pytest.raises(Stopped):
        await budgeted.answer(ask("word " * 1000), Told())
    assert model.calls == []


async def test_max_tokens_bounds_what_a_reply_is_expected_to_use() -> None:
    ledger = Ledger(Budget(tokens=106))
    budgeted = Budgeted(
        ScriptedModel([Reply("long", usage=Usage(4, 90)), Reply("short", usage=Usage(4, 2))]), ledger
    )
    await budgeted.answer(ask("word"), Told())
    with pytest.raises(Stopped):
        await budgeted.answer(ask("word"), Told())
    await budgeted.answer(ask("word", max_tokens=8), Told())
    assert ledger.totals.tokens == 100


async def test_a_cap_of_dollars_stops_before_the_call_that_would_pass_it() -> None:
    # Two calls of $0.01 make $0.02; a third would make $0.03 > $0.025.
    assert (await calls_until_stopped(Budget(dollars=0.025), priced()))[0] == 2


async def test_nothing_may_be_spent_of_nothing() -> None:
    assert (await calls_until_stopped(Budget(dollars=0), priced()))[0] == 0


async def test_an_unknown_price_makes_a_cap_of_dollars_impossible_and_says_so() -> None:
    number, message = await calls_until_stopped(Budget(dollars=1), priced(How("live")))
    assert number == 1
    assert "no known price" in message
    assert "cap calls or tokens" in message


async def test_a_cap_of_seconds_counts_from_the_first_call() -> None:
    now = [100.0]
    ledger = Ledger(Budget(seconds=10), clock=lambda: now[0])
    now[0] = 500.0
    budgeted = Budgeted(priced(), ledger)
    await budgeted.answer(ask(), Told())
    now[0] = 509.9
    await budgeted.answer(ask(), Told())
    now[0] = 510.0
    with pytest.raises(Stopped, match="10 s"):
        await budgeted.answer(ask(), Told())


class Slow:
    """Answers after some time and counts how many are being answered at once."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.busy = self.busiest = 0
        self.starts: list[float] = []

    async def answer(self, call: Call, tell: Tell) -> Answer:
        self.starts.append(time.monotonic())
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.busy -= 1
        return Answer(Reply(call.request.messages[0].content, usage=TEN), LIVE)


async def test_a_call_that_outlasts_the_cap_of_seconds_is_ended() -> None:
    model = Slow(30)
    with pytest.raises(Stopped) as stopped:
        await Budgeted(model, Ledger(Budget(seconds=0.1))).answer(ask(), Told())
    assert stopped.value.kind == "budget"
    assert model.busy == 0


async def test_calls_under_way_count_so_that_many_at_once_cannot_pass_a_cap() -> None:
    ledger = Ledger(Budget(tokens=45))
    budgeted = Budgeted(Slow(0.02), ledger)
    await budgeted.answer(ask("word"), Told())
    results = await asyncio.gather(
        *(budgeted.answer(ask("word"), Told()) for _ in range(10)), return_exceptions=True
    )
    assert sum(isinstance(result, Answer) for result in results) == 3
    assert ledger.totals.tokens == 40


async def test_one_ledger_serves_many_runs() -> None:
    ledger = Ledger(Budget(calls=3))
    runs = [Budgeted(priced(), ledger) for _ in range(5)]
    results = await asyncio.gather(*(run.answer(ask(), Told()) for run in runs), return_exceptions=True)
    assert sum(isinstance(result, Answer) for result in results) == 3


async def test_a_cached_call_counts_as_a_call_and_its_tokens_but_costs_nothing() -> None:
    ledger = Ledger()
    await Budgeted(priced(), ledger).answer(ask(), Told())
    await Budgeted(priced(How("cache", cost=0.0)), ledger).answer(ask(), Told())
    assert ledger.totals == Totals(calls=2, cached=1, tokens=20, cost=0.01)


async def test_recorded_calls_count_and_cost_nothing() -> None:
    ledger = Ledger(Budget(calls=2))
    ledger.add(ask().request, Reply("old", usage=TEN), How("cassette"))
    ledger.add(ask().request, Reply("old", usage=TEN), None)
    assert ledger.totals == Totals(calls=2, cached=0, tokens=20, cost=0.0)
    with pytest.raises(Stopped):
        await Budgeted(priced(), ledger).answer(ask(), Told())


async def test_an_unknown_price_is_none_and_never_zero() -> None:
    ledger = Ledger()
    assert ledger.totals.cost == 0.0
    await Budgeted(priced(), ledger).answer(ask(), Told())
    await Budgeted(priced(How("live")), ledger).answer(ask(), Told())
    assert ledger.totals.cost is None


async def test_tokens_are_estimated_from_the_text_where_a_provider_does_not_count() -> None:
    ledger = Ledger()
    budgeted = Budgeted(ScriptedModel([Reply("x" * 400)], how=LIVE), ledger)
    await budgeted.answer(ask("y" * 40), Told())
    assert ledger.totals.tokens == 110  # 440 bytes at 4 bytes a token


async def test_a_failed_call_counts_as_a_call_and_frees_what_was_kept_for_it() -> None:
    ledger = Ledger(Budget(tokens=15))
    budgeted = Budgeted(ScriptedModel([CallFailed("server"), Reply("a", usage=TEN)], how=LIVE), ledger)
    with pytest.raises(CallFailed):
        await budgeted.answer(ask("word"), Told())
    await budgeted.answer(ask("word"), Told())
    assert ledger.totals == Totals(calls=2, cached=0, tokens=10, cost=0.01)


async def test_a_gate_lets_so_many_through_at_once_and_in_order() -> None:
    model = Slow(0.02)
    gated = Gated(model, Gate(concurrency=3))
    answers = await asyncio.gather(*(gated.answer(ask(str(n)), Told()) for n in range(10)))
    assert model.busiest == 3
    assert [answer.reply.text for answer in answers] == [str(n) for n in range(10)]


async def test_a_gate_without_limits_holds_nothing_up() -> None:
    model = Slow(0.02)
    gated = Gated(model, Gate())
    await asyncio.gather(*(gated.answer(ask(str(n)), Told()) for n in range(10)))
    assert model.busiest == 10


async def test_a_rate_holds_in_every_window_also_over_many_runs() -> None:
    model = Slow(0.0)
    gate = Gate(per_minute=3, minute=0.2)
    begun = time.monotonic()
    await asyncio.gather(*(Gated(model, gate).answer(ask(str(n)), Told()) for n in range(8)))
    assert time.monotonic() - begun >= 0.4
    # The start is seen a little after the gate has counted it.
    assert all(model.starts[n + 3] - model.starts[n] >= 0.19 for n in range(5))


async def test_who_gives_up_at_the_gate_leaves_its_place_to_others() -> None:
    model = Slow(0.05)
    gated = Gated(model, Gate(concurrency=1))
    first, second, third = (asyncio.ensure_future(gated.answer(ask(str(n)), Told())) for n in range(3))
    await asyncio.sleep(0.01)
    second.cancel()
    assert (await first).reply.text == "0"
    assert (await third).reply.text == "2"


def failing(*faults: Fault) -> Callable[[], object]:
    left = list(faults)

    async def attempt() -> str:
        if left:
            raise left.pop(0)
        return "worked"

    return attempt


async def tried(*faults: Fault, told: Told | None = None, **settings: object) -> tuple[object, int]:
    known = {"retries": 2, "deadline": 5.0, "pause": lambda _: 0.01, **settings}
    return await persist(failing(*faults), told if told is not None else Told(), **known)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["rate_limit", "timeout", "server", "cut", "network"])
async def test_what_may_pass_is_tried_again_and_told(kind: str) -> None:
    told = Told()
    assert await tried(Fault(kind, "oh"), Fault(kind, "no"), told=told) == ("worked", 3)  # type: ignore[arg-type]
    assert [(a.kind, a.message, a.attempt, a.retry_in) for a in told.attempts] == [
        (kind, "oh", 1, 0.01),
        (kind, "no", 2, 0.01),
    ]


@pytest.mark.parametrize("kind", ["auth", "bad_request", "unsupported", "filtered", "unknown"])
async def test_what_cannot_pass_fails_at_once(kind: str) -> None:
    told = Told()
    with pytest.raises(CallFailed) as failed:
        await tried(Fault(kind, "no"), told=told)  # type: ignore[arg-type]
    assert (failed.value.kind, failed.value.message, told) == (kind, "no", [])


async def test_retries_end_with_the_last_fault() -> None:
    with pytest.raises(CallFailed, match="third"):
        await tried(Fault("server", "first"), Fault("cut", "second"), Fault("server", "third"))


async def test_no_retries_means_one_attempt() -> None:
    with pytest.raises(CallFailed, match="only"):
        await tried(Fault("server", "only"), retries=0)


async def test_the_server_may_ask_for_a_longer_pause() -> None:
    told = Told()
    begun = time.monotonic()
    await tried(Fault("rate_limit", "slow down", wait=0.2), told=told)
    assert told.attempts[0].retry_in == 0.2
    assert time.monotonic() - begun >= 0.2


async def test_a_pause_that_would_pass_the_deadline_is_not_begun() -> None:
    begun = time.monotonic()
    with pytest.raises(CallFailed, match="after the deadline") as failed:
        await tried(Fault("rate_limit", "slow down", wait=3600))
    assert failed.value.kind == "rate_limit"
    assert time.monotonic() - begun < 1


async def test_the_deadline_holds_for_all_attempts_together() -> None:
    async def attempt() -> str:
        await asyncio.sleep(30)
        return "never"

    with pytest.raises(CallFailed) as failed:
        await persist(attempt, Told(), retries=5, deadline=0.1)
    assert failed.value.kind == "timeout"
    assert failed.value.__cause__ is None


def test_pauses_grow_and_are_spread() -> None:
    for attempt, middle in ((1, 1), (2, 2), (3, 4), (9, 30)):
        pauses = [back_off(attempt) for _ in range(200)]
        assert middle * 0.75 <= min(pauses) < max(pauses) <= middle * 1.25
