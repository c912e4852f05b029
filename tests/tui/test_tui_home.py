"""Home: the list of runs, and the way from it to a moving playback."""

import pytest
from tui_runs import record

from meta_tui import store
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.widgets.listing import Listing


@pytest.fixture
async def two_runs(own_home):
    """Two runs of one's own."""
    for name in ("20260101-000000-aaaa", "20260102-000000-bbbb"):
        await record(store.home().runs / f"{name}.jsonl")


def home():
    return HomeScreen(fetch=lambda: store.own_runs().summaries())


async def loaded(app, pilot):
    await app.workers.wait_for_complete()
    await pilot.pause()


async def test_runs_are_listed_with_what_became_of_them(two_runs):
    app = MetaApp(home, fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(app, pilot)
        rows = app.screen.query_one("#runs", Listing).rows
        assert len(rows) == 2
        assert rows[0].startswith("20260102-000000-bbbb")
        assert "✓ answered" in rows[0]
        assert "meta_prompting" in rows[0]


async def test_one_key_from_home_to_a_moving_playback(two_runs):
    app = MetaApp(home, fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(app, pilot)
        await pilot.press("enter")
        await loaded(app, pilot)
        assert isinstance(app.screen, RunScreen)
        app.screen.flush()
        hand = app.screen.transport
        assert hand.playing or (hand.time > 0 and hand.at_end)  # a busy machine may see its end only
        assert app.screen.state.started is not None
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, HomeScreen)


async def test_the_cursor_shows_a_preview(two_runs):
    app = MetaApp(home, fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(app, pilot)
        await pilot.press("j")
        await pilot.pause()
        text = "\n".join(app.screen.query_one("#preview").rows)
        assert "Make 24 of 4 5 6 10." in text
        assert "(10 - 4) * 5 - 6" in text


async def test_an_empty_home_says_what_to_do():
    app = MetaApp(home, fps=0)
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(app, pilot)
        assert "meta-tui doctor" in str(app.screen.query_one("#empty").render())


@pytest.mark.parametrize("size", [(40, 10), (20, 5), (80, 24), (200, 60)])
async def test_home_survives_any_size(two_runs, size):
    app = MetaApp(home, fps=0)
    async with app.run_test(size=size) as pilot:
        await loaded(app, pilot)
        await pilot.press("j", "enter")
        await loaded(app, pilot)
        app.screen.flush()
        await pilot.press("dollar_sign", "z", "tab", "z")
        await pilot.pause()
