"""Tape and transport: any moment can be sought, and seeking shows what playing shows."""

import random

import pytest
from tui_chains import large

from meta_tui import runlog, store
from meta_tui.events import Delta, Replied, RoundStarted
from meta_tui.playback import PIECE, beats
from meta_tui.tui.state import EMPTY, apply, apply_all
from meta_tui.tui.tape import CHECKPOINT, Tape, Transport

CASSETTES = store.logs_in(store.shipped("cassettes"))


def tape_of(path):
    tape = Tape()
    for event in runlog.read(path).events:
        tape.add(event)
    return tape


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_seeking_to_any_event_gives_the_state_of_the_events_so_far(path):
    tape = tape_of(path)
    expected = [EMPTY]
    for event in tape.events:
        expected.append(apply(expected[-1], event))
    hand = Transport(tape)
    order = list(range(len(expected)))
    random.Random(3).shuffle(order)
    for place in order:
        hand.seek(place)
        assert hand.state == expected[place]


@pytest.mark.parametrize("path", CASSETTES[:5], ids=lambda path: path.stem)
def test_playing_up_to_a_time_and_seeking_there_are_the_same(path):
    tape = tape_of(path)
    played, sought = Transport(tape), Transport(tape)
    for step in range(int(tape.length / 0.05) + 2):
        played.advance(0.05)
        sought.seek(0)
        sought.playing = True
        sought.advance(min((step + 1) * 0.05, tape.length))
        assert played.state.spans.keys() == sought.state.spans.keys()
        assert played.state.seen == sought.state.seen
    assert played.state == apply_all(EMPTY, tape.events)
    assert not played.playing


@pytest.mark.parametrize("path", CASSETTES[:5], ids=lambda path: path.stem)
def test_the_tape_writes_replies_as_the_plain_playback_does(path):
    """Both front ends follow one schedule: at each beat the same characters are there."""
    tape = tape_of(path)
    written: dict[int, int] = {}
    for beat in beats(tape.events):
        if isinstance(beat.event, Delta):
            written[beat.index] = written.get(beat.index, 0) + len(beat.event.text)
            delta = tape.writing(beat.index, beat.at + 1e-9)
            assert delta is not None
            assert abs(len(delta.text) - written[beat.index]) <= PIECE
        else:
            assert tape.time(beat.index + 1) == pytest.approx(beat.at)


def test_steps_and_ends():
    tape = tape_of(store.shipped("cassettes") / "game24-python.jsonl")
    hand = Transport(tape)
    hand.step_call(True)
    assert isinstance(tape.events[hand.place - 1], Replied)
    assert not hand.playing
    hand.step_round(True)
    assert hand.state.round == 2
    hand.step_round(False)
    assert hand.state.round == 1
    assert hand.to_round(4)
    assert hand.state.round == 4
    assert not hand.to_round(40)
    hand.to_end()
    assert hand.at_end
    hand.toggle()
    assert hand.playing
    assert hand.time == 0.0
    hand.to_start()
    assert hand.state.seen == 1


def test_a_live_run_is_followed_held_and_followed_again():
    events = runlog.read(store.shipped("cassettes") / "game24-python.jsonl").events
    tape = Tape()
    hand = Transport(tape, following=True)
    for event in events[:6]:
        tape.add(event)
    assert hand.state.seen == 6
    hand.toggle()
    held = hand.state
    for event in events[6:12]:
        tape.add(event)
    hand.advance(1.0)
    assert hand.state == held
    hand.to_end()
    assert hand.following
    assert hand.state.seen == 12
    for event in events[12:]:
        tape.add(event)
    hand.to_end()
    assert not hand.following
    assert hand.state.status == "answered"


def test_a_source_that_breaks_off_is_told_at_the_end_only():
    events = runlog.read(store.shipped("cassettes") / "game24-python.jsonl").events
    tape = Tape()
    for event in events[:8]:
        tape.add(event)
    tape.break_off("the line was cut")
    hand = Transport(tape)
    hand.to_end()
    assert hand.state.trouble == "the line was cut"
    hand.to_start()
    assert not hand.state.trouble


def test_long_gaps_are_shortened_and_every_round_has_its_mark():
    for path in CASSETTES:
        tape = tape_of(path)
        assert all(slot.at - slot.start <= 2.0 for slot in tape.slots)
        rounds = sum(isinstance(event, RoundStarted) for event in tape.events)
        assert len(tape.marks(RoundStarted)) == rounds


def test_24_hours_of_playback_leave_memory_flat():
    """The tape keeps what the run holds, however long it plays."""
    import tracemalloc

    tape = tape_of(store.shipped("cassettes") / "squares-round-limit.jsonl")
    hand = Transport(tape)
    sizes = []
    tracemalloc.start()
    for hour in range(24):
        for _ in range(120):
            hand.advance(30.0)
            if not hand.playing:
                hand.toggle()
        sizes.append(tracemalloc.get_traced_memory()[0])
        assert hour >= 0
    tracemalloc.stop()
    assert sizes[-1] < sizes[2] + 200_000


def test_a_run_of_many_parts_keeps_few_states_and_any_moment_is_still_exact():
    """Each state holds all parts, so states are kept the further apart the more parts there are."""
    tape = Tape()
    events = large(30, 12)
    for event in events:
        tape.add(event)
    assert len(tape.head.spans) > 400
    assert len(tape._kept) <= 4 + len(events) // CHECKPOINT // 2
    for place in random.Random(5).sample(range(len(events)), 25):
        assert tape.state(place) == apply_all(EMPTY, events[:place])
    assert tape.state(len(events)) == tape.head


def test_a_tape_that_was_written_live_shows_no_piece_of_a_reply_that_never_came():
    tape = Tape()
    for event in large(2, 1)[:4]:
        tape.add(event)
    before = tape.state(len(tape.events))
    tape.add(Delta(0, "half a", span=tape.events[-1].span))
    assert tape.state(len(tape.events)) == before
