"""A scripted model can have an attempt fail before a reply, as a provider would."""

from __future__ import annotations

import pytest

from meta_tui.chat import Message, Request
from meta_tui.errors import CallFailed
from meta_tui.models.base import Attempt, Call
from meta_tui.models.scripted import ScriptedModel

CALL = Call(Request((Message("user", "?"),)))
FIRST = Attempt("rate_limit", "wait", 1, 1.0)
SECOND = Attempt("server", "again", 2, 2.0)


async def test_attempts_are_told_in_order_and_the_same_call_gets_the_next_line() -> None:
    told: list[str | Attempt] = []
    model = ScriptedModel([FIRST, SECOND, "yes", "no"])
    answer = await model.answer(CALL, told.append)
    assert (told, answer.reply.text) == ([FIRST, SECOND], "yes")
    assert answer.how is not None
    assert answer.how.attempts == 3
    assert len(model.calls) == 1


async def test_a_reply_without_failed_attempts_counts_one() -> None:
    model = ScriptedModel([FIRST, "yes", "no"])
    await model.answer(CALL, lambda news: None)
    answer = await model.answer(CALL, lambda news: None)
    assert answer.how is not None
    assert (answer.reply.text, answer.how.attempts) == ("no", 1)


async def test_a_call_can_fail_for_good_after_attempts() -> None:
    told: list[str | Attempt] = []
    model = ScriptedModel([FIRST, CallFailed("timeout", "too slow")])
    with pytest.raises(CallFailed, match="timeout: too slow"):
        await model.answer(CALL, told.append)
    assert told == [FIRST]


async def test_nothing_is_said_of_how_where_nothing_is_to_be_said() -> None:
    answer = await ScriptedModel([FIRST, "yes"], how=None).answer(CALL, lambda news: None)
    assert answer.how is None
