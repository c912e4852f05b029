"""Every shipped run on the run screen: any size, any moment, and the same end by any way."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from tui_hostile import painted

from meta_tui import store
from meta_tui.tui.app import MetaApp
from meta_tui.tui.origin import playback, replayed
from meta_tui.tui.screens.run import RunScreen

CASSETTES = store.logs_in(store.shipped("cassettes"))
names = pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)


async def opened(app, pilot):
    await app.workers.wait_for_complete()
    for _ in range(3):
        app.screen.flush()
        await pilot.pause()
    return app.screen


async def end_of(source, path, badge):
    screen = RunScreen(source(path), badge=badge, title=path.stem, log=path, speed=0, fps=0)
    app = MetaApp(lambda: screen, fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(app, pilot)
        screen.transport.to_end()
        screen.flush()
        await pilot.pause()
        rows = {span: pane.rows for span, pane in screen.panes.items()}
        status = painted(app).split("\n")[0].replace(badge, "").strip()
    return rows, " ".join(status.split())


@names
async def test_playback_and_replay_end_in_the_same_screen(path):
    assert await end_of(playback, path, "PLAYBACK") == await end_of(replayed, path, "REPLAY")


@names
@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)])
async def test_seeking_about_shows_the_same_screen_as_going_there_straight(path, size):
    chance = random.Random(7)
    screen = RunScreen(playback(path), title=path.stem, fps=0, clock=lambda: 0.0)
    app = MetaApp(lambda: screen, fps=0)
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot)
        last = len(screen.tape.events)
        places = [chance.randint(1, last) for _ in range(6)]
        pictures = {}
        for place in [*places, *reversed(places)]:
            for key in chance.choices(("h", "l", "left_square_bracket", "right_square_bracket"), k=2):
                await pilot.press(key)
            screen.transport.seek(place)
            screen.flush()
            await pilot.pause()
            screen.flush()
            await pilot.pause()
            picture = painted(app)
            assert pictures.setdefault(place, picture) == picture, place
