"""The knowledge of a stream on a screen: batches, changes, lifetimes, who retrieved what."""

from __future__ import annotations

from pathlib import Path

import pytest

from meta_tui import runlog, store
from meta_tui.methods.mc2.history import History, history
from meta_tui.tui.app import MetaApp
from meta_tui.tui.origin import playback
from meta_tui.tui.screens.knowledge import KnowledgeScreen, counted, page
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.widgets.listing import Listing
from meta_tui.tui.widgets.pane import Pane

LOG = Path(store.shipped("cassettes")) / "mc2-digits.jsonl"


@pytest.mark.parametrize("size", [(120, 30), (60, 24)])
async def test_the_shipped_stream_is_shown_batch_by_batch(size: tuple[int, int]) -> None:
    events = runlog.read(LOG).events
    screen = KnowledgeScreen(lambda: events, "mc2-digits")
    async with MetaApp(lambda: screen).run_test(size=size) as pilot:
        await pilot.pause()
        assert "+4 ~0 -0   2/4 right" in screen.query_one("#batches", Listing).rows[0]
        text = screen.query_one("#page", Pane).text
        assert "Carry every decimal with at least six digits" in text
        heads = [line for line in text.split("\n") if line.startswith("── ")]
        assert heads == [
            f"── {role}: {n} added, 0 merged, 0 dropped, 0 kept ──"
            for role, n in (("Reasoner", 2), ("Monitor", 1), ("Controller", 1))
        ]
        await pilot.press("j", "j")
        await pilot.pause()
        assert screen.shown == 3
        await pilot.press("4")
        await pilot.pause()
        assert "theorem:18" in screen.query_one("#page", Pane).text
        await pilot.press("3")
        await pilot.pause()
        assert "by theorem:2, theorem:4" in screen.query_one("#page", Pane).text.replace("\n", " ")


async def test_a_stream_that_is_still_running_is_followed() -> None:
    events = runlog.read(LOG).events
    shown = [events[:40]]
    screen = KnowledgeScreen(lambda: shown[-1], "live")
    async with MetaApp(lambda: screen).run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        before = len(screen.batches)
        shown.append(events)
        screen.refresh_history()
        assert (before, len(screen.batches)) == (1, 3)


def test_a_batch_is_counted_over_all_roles() -> None:
    found = history(runlog.read(LOG).events)
    assert [counted(found, batch) for batch in (1, 2, 3)] == ["+4 ~0 -0", "+3 ~0 -1", "+1 ~1 -0"]
    assert counted(History(), 1) == "learned nothing yet"
    for view in range(5):
        assert page(History(), 0, view)[0].kind == "notice"


async def test_a_stream_opens_its_knowledge_from_the_run_screen():
    """The key that shows artifacts of workers shows, for a stream, what it learned."""
    app = MetaApp(lambda: RunScreen(playback(store.find("mc2-digits")), speed=0, fps=0), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, KnowledgeScreen)
        assert app.screen.batches


async def test_how_long_rules_live_is_drawn_and_passes_say_what_they_changed() -> None:
    events = runlog.read(LOG).events
    app = MetaApp(lambda: KnowledgeScreen(lambda: events, "mc2-digits"), fps=0)
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("2")
        heads = [row for row in app.screen.query_one("#page", Pane).text.split("\n") if "Reasoner, " in row]
        assert [head.removeprefix("◇ ") for head in heads] == [
            "███ Reasoner, 3 batches: 1, 2, 3",
            "█·· Reasoner, 1 batch: 1",
            "·██ Reasoner, 2 batches: 2, 3",
        ]
        await pilot.press("5")
        text = app.screen.query_one("#page", Pane).text
        assert "── pass 1: 12 instances, 10 of 12 right ──" in text
        assert "11 settled at once, 1 restart" in text
        assert "── Reasoner: 2 added, 0 merged, 0 dropped, 0 kept ──" in text
