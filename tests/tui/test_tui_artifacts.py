"""The artifacts screen: tree, graph, memory with its readers, budget, and a worker's exact prompt."""

from pathlib import Path

import pytest

from meta_tui.evaluation.drawing import budget_text, graph_text, memory_text
from meta_tui.methods.artifacts import trace
from meta_tui.runlog import read
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.artifacts import ArtifactsScreen
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.state import EMPTY, apply
from meta_tui.tui.widgets.listing import Listing
from meta_tui.tui.widgets.pane import Pane

SHIPPED = Path(__file__).parents[2] / "cassettes"


def shown(name, count=None):
    """The look of a recorded run, at its end or after some events."""
    events = read(SHIPPED / f"{name}.jsonl").events[:count]
    state = EMPTY
    for event in events:
        state = apply(state, event)
    return lambda: (events, state.effects)


def test_the_graph_lists_layers_by_depth_with_contexts_notes_and_the_submission():
    found = trace(shown("staged-note-repair")()[0])
    assert graph_text(found).split("\n") == [
        "depth 0",
        "  ▲ 0_0 has gaps",
        "  ■ 0_1 flawed",
        "depth 1",
        "  ● 1_1 likely correct  ← 0_0, 1_0  ◀ submitted",
        "notes",
        "  ◇ 1_0 note",
    ]


def test_the_memory_says_what_was_read_by_whom_and_shown_to_which_worker():
    found = trace(shown("staged-note-repair")()[0])
    lines = memory_text(found).split("\n")
    note = lines.index("1_0: TITLE: Unnamed teams: each split once")
    assert lines[note + 1 : note + 3] == ["    read by propose of cycle 1", "    shown to worker 1_1"]


def test_the_budget_has_one_letter_a_call_and_a_bar_where_it_ends():
    """B = 10: two cycles of four stages, two workers and one, which is one call too many."""
    text = budget_text(trace(shown("staged-forced")()[0]))
    assert text.startswith("APEDwwAPED|w\n")
    assert "11 calls, 110 % of 10" in text
    assert "w worker: 3" in text


def test_the_budget_shows_what_is_left():
    text = budget_text(trace(shown("direct-two-agree")()[0]))
    assert text.startswith("cwwc········\n")


@pytest.fixture
def app():
    return MetaApp(lambda: ArtifactsScreen(shown("staged-note-repair"), "staged-note-repair"), fps=0)


async def test_the_tree_shows_marks_and_enter_opens_the_exact_prompt_of_a_worker(app):
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, ArtifactsScreen)
        rows = screen.query_one("#tree", Listing).rows
        assert rows[0].startswith("▲ 0_0 Choose Ann's team")
        assert rows[1].startswith("  ● 1_1 The team with Ann")
        assert rows[1].endswith("◀ submitted")
        await pilot.press("j", "enter")
        await pilot.pause()
        inspector = app.screen
        assert isinstance(inspector, InspectScreen)
        assert inspector.effect.name == "worker 1_1"
        assert "Repair the earlier attempt." in inspector.query_one("#page", Pane).text
        assert "<memory>" in inspector.query_one("#page", Pane).text


async def test_views_go_round_by_key_and_digit(app):
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        page = app.screen.query_one("#page", Pane)
        assert "20 ways" in page.text
        await pilot.press("v")
        assert "depth 1" in page.text
        await pilot.press("3")
        assert "read by propose" in page.text
        await pilot.press("4")
        assert "APEDwwAAPPEDwAPED" in page.text


async def test_a_small_terminal_and_a_run_that_has_just_begun(app):
    start = MetaApp(lambda: ArtifactsScreen(shown("staged-note-repair", 4), "x"), fps=0)
    async with start.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert "no artifact yet" in start.screen.query_one("#page", Pane).text
        await pilot.press("enter", "2", "3", "4", "q")


async def test_new_events_are_taken_while_the_screen_is_open():
    events, effects = shown("staged-note-repair")()
    seen = [4]
    app = MetaApp(lambda: ArtifactsScreen(lambda: (events[: seen[0]], effects), "x"), fps=0)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        assert app.screen.rows == []
        seen[0] = len(events)
        app.screen.refresh_trace()
        await pilot.pause()
        assert len(app.screen.rows) == 4


async def test_the_run_screen_opens_it_with_t_and_says_so_where_there_is_nothing():
    def source_of(name):
        events = read(SHIPPED / f"{name}.jsonl").events

        async def source(feed, stop):
            for event in events:
                feed(event)

        return source

    for name, opens in (("staged-forced", True), ("baseline-standard", False)):
        app = MetaApp(lambda name=name: RunScreen(source_of(name), title=name, speed=0, fps=0), fps=0)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            app.screen.flush()
            await pilot.press("t")
            await pilot.pause()
            assert isinstance(app.screen, ArtifactsScreen) == opens
            if opens:
                assert [row.id for row in app.screen.rows] == ["0_0", "1_0", "0_1"]


async def test_a_reply_of_tool_calls_alone_is_shown_as_those_calls():
    """A provider's native calls mostly come without any text."""

    async def source(feed, stop):
        for event in read(SHIPPED / "staged-native.jsonl").events:
            feed(event)

    screen = RunScreen(source, title="staged-native", speed=0, fps=0)
    app = MetaApp(lambda: screen, fps=0)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        screen.flush()
        screen.transport.to_end()
        screen.flush()
        await pilot.pause()
        said = "\n".join(pane.text for pane in screen.panes.values())
        assert 'tool call finish({"memory_id":"1_1"})' in said
        assert "(an empty reply)" not in said


async def test_in_the_graph_the_tree_becomes_layers_by_depth_and_enter_still_opens_a_prompt(app):
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press("2")
        rows = app.screen.query_one("#tree", Listing).rows
        heads = [row.strip() for row in rows if row.strip().startswith(("depth", "notes"))]
        assert heads == ["depth 0", "depth 1", "notes"]
        await pilot.press("enter")
        assert isinstance(app.screen, ArtifactsScreen)  # a heading has no prompt
        await pilot.press("j", "enter")
        await pilot.pause()
        assert isinstance(app.screen, InspectScreen)
        await pilot.press("q", "1")
        assert app.screen.query_one("#tree", Listing).rows[0].startswith("▲ 0_0")


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_the_mark_of_the_submission_is_never_cut_off(width):
    app = MetaApp(lambda: ArtifactsScreen(shown("staged-note-repair"), "staged-note-repair"), fps=0)
    async with app.run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        assert any(row.endswith("◀ submitted") for row in app.screen.query_one("#tree", Listing).rows)
