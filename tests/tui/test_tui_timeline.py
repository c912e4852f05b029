"""The timeline: a row for each part, a bar for each call, over the seconds of the playback."""

import pytest
from tui_story import EVENTS, source_of

from meta_tui import runlog, store
from meta_tui.tui import timeline
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.state import EMPTY, apply_all
from meta_tui.tui.tape import Tape, Transport

CASSETTES = store.logs_in(store.shipped("cassettes"))


def drawn(bars, length=10.0, room=11):
    return "".join(text for text, _ in timeline.drawn(bars, length, room))


def test_a_bar_begins_and_ends_where_its_call_did():
    """One cell a second: from 2 to 5 are the cells 2, 3 and 4."""
    assert drawn([timeline.Bar(2, 5, "call")]) == "  ███      "
    assert drawn([timeline.Bar(0, 2, "hit"), timeline.Bar(6, 8, "code")]) == "▒▒    ▓▓   "


def test_a_call_that_took_no_time_still_has_a_cell():
    assert drawn([timeline.Bar(4, 4, "hit")]) == "    ▒      "


def test_a_failed_call_ends_in_a_cross():
    assert drawn([timeline.Bar(1, 4, "failed")]) == " ██✗       "


def test_the_scale_names_seconds_that_do_not_touch():
    text = timeline.scale(10.0, 51)
    assert text.split() == ["0s", "2s", "4s", "6s", "8s", "10s"][: len(text.split())]
    assert text.index("4s") == 20
    assert timeline.scale(0.0, 20) == ""


def test_parts_that_have_no_row_share_one():
    effects = [effect for name in "abcd" for effect in _named(name)]
    assert timeline.names(effects, 4) == ["a", "b", "c", "d"]
    assert timeline.names(effects, 3) == ["a", "b", timeline.OTHERS]


def _named(name):
    from msgspec.structs import replace

    return [replace(apply_all(EMPTY, EVENTS).effects[0], name=name)]


def test_kinds_follow_from_the_outcome():
    kinds = [timeline.kind(effect) for effect in apply_all(EMPTY, EVENTS).effects]
    assert kinds == ["call", "hit", "call", "call", "call", "code", "call"]
    under_way = apply_all(EMPTY, EVENTS[:6]).effects
    assert timeline.kind(under_way[-1]) == "open"


def test_a_call_that_is_tried_again_is_still_under_way():
    retrying = apply_all(EMPTY, EVENTS[:18]).effects[-1]
    assert retrying.phase == "retrying"
    assert timeline.kind(retrying) == "open"


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_no_bar_ends_after_the_second_that_is_shown(path):
    tape = Tape()
    for event in runlog.read(path).events:
        tape.add(event)
    hand = Transport(tape)
    for place in range(1, len(tape.events) + 1, 5):
        hand.seek(place)
        for effect in hand.state.effects:
            bar = timeline.bar(effect, tape.time, hand.time)
            assert 0 <= bar.start <= bar.end <= hand.time + 1e-9


@pytest.mark.parametrize(("size", "rows"), [((80, 24), 0), ((120, 36), 4), ((200, 60), 4)])
async def test_it_is_shown_where_there_is_room_and_on_request(size, rows):
    screen = RunScreen(source_of(), title="run", speed=0, fps=0, clock=lambda: 0.0)
    app = MetaApp(lambda: screen, fps=0)
    async with app.run_test(size=size) as pilot:
        await app.workers.wait_for_complete()
        screen.flush()
        await pilot.pause()
        shown = screen.query_one("#timeline")
        assert shown.size.height == rows
        await pilot.press("T")
        await pilot.pause()
        screen.flush()
        await pilot.pause()
        assert shown.size.height == (0 if rows else 4)
