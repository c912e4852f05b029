"""A few pictures of our own widgets: colours and borders, which text goldens do not show.

Words are held by `test_tui_goldens`. After a wanted change: `pytest tests/tui/test_tui_snapshots.py
--snapshot-update`, and look at the pictures.
"""

import pytest
from tui_story import EVENTS, RUNS, source_of

from meta_tui.config import Settings
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.run import RunScreen


def run(theme):
    screen = RunScreen(source_of(EVENTS), title="run", speed=0, fps=0, clock=lambda: 0.0)
    return MetaApp(lambda: screen, fps=0, settings=Settings(theme=theme))


async def settle(pilot):
    await pilot.app.workers.wait_for_complete()
    pilot.app.screen.flush()
    await pilot.pause()
    pilot.app.screen.flush()
    await pilot.pause()


@pytest.mark.parametrize("theme", ["meta-dark", "meta-light", "meta-ansi"])
def test_a_finished_run(snap_compare, theme):
    assert snap_compare(run(theme), terminal_size=(120, 36), run_before=settle)


def test_a_narrow_terminal(snap_compare):
    assert snap_compare(run("meta-dark"), terminal_size=(80, 24), run_before=settle)


def test_the_run_list(snap_compare):
    app = MetaApp(lambda: HomeScreen(RUNS, clock=lambda: 1769881502.0), fps=0, settings=Settings())
    assert snap_compare(app, terminal_size=(120, 36), press=["j"])
