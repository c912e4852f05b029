"""The reducer: what each event does to the picture of a run."""

import asyncio
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tui_runs import CODE, PYTHON, record

from meta_tui import runlog, store
from meta_tui.chat import CodeResult, Program, Reply, Usage, user
from meta_tui.events import (
    CodeFinished,
    CodeStarted,
    Delta,
    Failed,
    How,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
)
from meta_tui.tui.state import EMPTY, apply, apply_all, grow, in_order

KEY = "0" * 64
BEGUN = [RunStarted(1, "t", "live", "meta_prompting", {}, "m", "q"), Requested(0, KEY, (user("q"),))]


def kinds(state, span=""):
    return [block.kind for block in state.spans[span].blocks]


def test_a_reply_that_streams_in_ends_as_the_reply():
    streamed = apply_all(EMPTY, [*BEGUN, Delta(0, "Hel"), Delta(0, "lo")])
    [*_, block] = streamed.spans[""].blocks
    assert (block.text, block.open) == ("Hello", True)
    done = apply(streamed, Replied(0, Reply("Hello")))
    assert done.spans[""].blocks == apply_all(EMPTY, [*BEGUN, Replied(0, Reply("Hello"))]).spans[""].blocks


def test_deltas_of_nothing_open_change_nothing():
    begun = apply_all(EMPTY, BEGUN)
    assert apply(begun, Delta(7, "x")) is begun
    assert apply(begun, Delta(0, "x", span="9")) is begun


def test_an_attempt_that_failed_leaves_a_notice_and_starts_the_reply_anew():
    state = apply_all(EMPTY, [*BEGUN, Delta(0, "half"), Failed(0, "rate_limit", 1, "slow down", 8.0)])
    assert kinds(state) == ["question", "notice", "reply"]
    assert state.spans[""].blocks[-1].text == ""
    assert state.spans[""].phase == "retrying"
    assert "again in 8 s" in state.spans[""].blocks[1].text
    assert state.effects[0].attempts == 2


def test_a_call_that_failed_for_good_keeps_what_was_written():
    state = apply_all(EMPTY, [*BEGUN, Delta(0, "half"), Failed(0, "timeout", 3, "no answer")])
    assert kinds(state) == ["question", "reply", "failure"]
    assert (state.effects[0].phase, state.effects[0].attempts) == ("failed", 3)


def test_counters():
    usage = Usage(10, 5)
    state = apply_all(
        EMPTY,
        [
            *BEGUN,
            Replied(0, Reply("a", usage=usage), how=How("live", 5, cost=0.01)),
            Requested(1, KEY, (user("q"),)),
            Replied(1, Reply("b", usage=usage), how=How("cache", 1)),
        ],
    )
    assert (state.calls, state.cached, state.tokens, state.live_calls) == (2, 1, 30, 1)
    assert state.cost == pytest.approx(0.01)
    assert not state.unpriced


def test_unknown_prices_and_tokens_are_unknown_and_not_zero():
    state = apply_all(EMPTY, [*BEGUN, Replied(0, Reply("a"), how=How("live", 5))])
    assert state.unpriced
    assert state.unknown_tokens


def test_code_that_stands_in_the_reply_is_not_shown_twice():
    events = [
        *BEGUN,
        SpanStarted("expert", "Expert Python", span="1"),
        Requested(0, KEY, (user("do"),), span="1"),
        Replied(0, Reply(PYTHON), span="1"),
        CodeStarted(1, KEY, Program(CODE), span="1"),
        CodeFinished(1, CodeResult("error", "", "ZeroDivisionError", 2), span="1"),
        SpanFinished(span="1"),
    ]
    state = apply_all(EMPTY, events)
    assert kinds(state, "1") == ["asked", "reply", "code", "error"]
    code = state.spans["1"].blocks[2]
    assert (code.quiet, code.mark, code.note) == (True, 2, "error, line 2")
    assert state.spans["1"].phase == "done"


def test_ends():
    for status, phase in (
        ("answered", "done"),
        ("no_answer", "failed"),
        ("budget", "budget"),
        ("cancelled", "cancelled"),
    ):
        state = apply_all(EMPTY, [*BEGUN, RoundStarted(1, 9), RunFinished(status, "why")])
        assert (state.status, state.spans[""].phase) == (status, phase)
        assert "(why) · 1 round · 1 call" in state.spans[""].blocks[-1].text


@given(st.lists(st.text(max_size=9)))
def test_grown_parts_are_few_and_join_to_the_text(pieces):
    parts = ()
    for piece in pieces:
        parts = grow(parts, piece)
    assert "".join(parts) == "".join(pieces)
    assert len(parts) <= 2 + len("".join(pieces)).bit_length()


def test_earlier_states_are_not_touched():
    states = [EMPTY]
    events = [*BEGUN, Delta(0, "a"), Delta(0, "b"), Replied(0, Reply("ab")), RunFinished("answered")]
    kept = []
    for event in events:
        kept.append(pickle.dumps(repr(states[-1])))
        states.append(apply(states[-1], event))
    assert kept == [pickle.dumps(repr(state)) for state in states[:-1]]


@pytest.mark.parametrize("path", store.logs_in(store.shipped("cassettes")), ids=lambda path: path.stem)
def test_playback_and_replay_end_in_the_same_picture(path):
    from meta_tui import sources

    recording = runlog.read(path)
    told = []
    asyncio.run(sources.replay(recording, consumers=[told.append]))
    assert picture(apply_all(EMPTY, told)) == picture(apply_all(EMPTY, recording.events))


def picture(state):
    """What the run screen shows: parallel parts may have interleaved in another way."""
    import msgspec

    effects = sorted((e.span, e.n, e.phase, e.attempts, e.round) for e in state.effects)
    return in_order(state), effects, msgspec.structs.replace(state, spans={}, effects=())


async def test_a_live_run_ends_in_the_picture_of_its_log(tmp_path):
    """Deltas included: what streamed by leaves no trace."""
    told = []
    await record(tmp_path / "run.jsonl", consumers=[told.append])
    assert any(isinstance(event, Delta) for event in told)
    live = apply_all(EMPTY, told)
    assert live == apply_all(EMPTY, runlog.read(tmp_path / "run.jsonl").events)
