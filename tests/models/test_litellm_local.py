"""The plumbing with a real model: tokens, usage, grammar, cache. What it says is of no account."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calls import Told, ask
from local_model import NAME

from meta_tui.errors import CallFailed
from meta_tui.models.base import Answer
from meta_tui.models.cached import CachedModel
from meta_tui.models.limits import Budget, Budgeted, Gate, Gated, Ledger
from meta_tui.models.litellm_model import LitellmModel

pytestmark = pytest.mark.local_model

Make = Callable[..., LitellmModel]
PATIENT: dict[str, Any] = {"timeout": 60.0, "deadline": 100.0, "retries": 0}
STEADY: dict[str, Any] = {"model": NAME, "temperature": 0.0, "seed": 1}
PROTOCOL = r'root ::= "Expert " [A-Z] [a-z]{3,8} ":\n\"\"\"\n" [a-z ]{5,30} "\n\"\"\""'


async def test_a_reply_comes_piece_by_piece_and_is_counted(local_url: str, litellm_model: Make) -> None:
    told = Told()
    answer = await litellm_model(local_url, **PATIENT).answer(
        ask("Say hello.", **STEADY, max_tokens=12), told
    )
    assert answer.reply.text == told.text != ""
    assert len(told) > 3
    assert answer.reply.finish_reason in ("length", "stop")
    assert answer.reply.usage is not None
    assert answer.reply.usage.prompt_tokens > 5
    assert 1 <= answer.reply.usage.completion_tokens <= 12
    assert answer.how is not None
    assert (answer.how.source, answer.how.cost, answer.how.sent) == ("live", None, None)


async def test_the_same_request_gives_the_same_reply_on_one_machine(
    local_url: str, litellm_model: Make
) -> None:
    model = litellm_model(local_url, **PATIENT)
    replies = [(await model.answer(ask("Count.", **STEADY, max_tokens=16), Told())).reply for _ in range(2)]
    assert replies[0] == replies[1]


async def test_a_grammar_makes_it_keep_to_a_protocol(local_url: str, litellm_model: Make) -> None:
    call = ask("Ask an expert.", **STEADY, max_tokens=60, extra_body={"grammar": PROTOCOL})
    reply = (await litellm_model(local_url, **PATIENT).answer(call, Told())).reply
    assert reply.text.startswith("Expert ")
    assert reply.text.endswith('\n"""')
    assert reply.finish_reason == "stop"


async def test_a_broken_grammar_is_a_bad_request(local_url: str, litellm_model: Make) -> None:
    call = ask("x", **STEADY, max_tokens=5, extra_body={"grammar": "root ::= ("})
    with pytest.raises(CallFailed) as failed:
        await litellm_model(local_url, **PATIENT).answer(call, Told())
    assert failed.value.kind == "bad_request"


async def test_logprobs_are_carried_one_for_each_token(local_url: str, litellm_model: Make) -> None:
    call = ask("Say hello.", **STEADY, max_tokens=4, logprobs=True, top_logprobs=2)
    reply = (await litellm_model(local_url, **PATIENT).answer(call, Told())).reply
    assert reply.usage is not None
    assert len(reply.logprobs["content"]) == reply.usage.completion_tokens
    assert all(item["logprob"] <= 0 for item in reply.logprobs["content"])


async def test_through_all_layers_the_second_time_nothing_is_asked(
    local_url: str, litellm_model: Make, tmp_path: Path
) -> None:
    ledger = Ledger(Budget(calls=10))
    gated = Gated(litellm_model(local_url, **PATIENT), Gate(concurrency=1, per_minute=60))
    model = Budgeted(CachedModel(gated, tmp_path, local_url), ledger)
    grammar = {"grammar": 'root ::= "Final " [a-z]{3,6}'}
    calls = [ask(text, **STEADY, max_tokens=20, extra_body=grammar) for text in ("One?", "Two?", "One?")]
    first = await asyncio.gather(*(model.answer(call, Told()) for call in calls))
    again: list[Answer] = [await model.answer(call, Told()) for call in calls]
    assert [answer.reply for answer in first] == [answer.reply for answer in again]
    assert [answer.how.source for answer in first if answer.how].count("live") == 2
    assert {answer.how.source for answer in again if answer.how} == {"cache"}
    assert (ledger.totals.calls, ledger.totals.cached, ledger.totals.cost) == (6, 4, None)


async def test_cancelling_frees_the_only_slot_of_the_server(local_url: str, litellm_model: Make) -> None:
    model = litellm_model(local_url, **PATIENT)
    begun = asyncio.Event()
    call = ask("Tell a long story.", **STEADY, max_tokens=2000)
    task = asyncio.ensure_future(model.answer(call, lambda _: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(20):
        await model.answer(ask("Hi.", **STEADY, max_tokens=2), Told())
