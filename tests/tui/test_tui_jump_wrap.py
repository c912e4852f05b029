"""Jump mode puts a letter on everything that can have the focus; long lines wrap or do not."""

import pytest
from tui_hostile import painted
from tui_story import EVENTS, RUNS, source_of

from meta_tui.chat import Reply
from meta_tui.events import Replied, Requested, RunFinished, RunStarted
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.ask import AskScreen
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.jump import JumpScreen, targets
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.widgets.listing import Listing

LONG = "head " + "word " * 100 + "tail"


@pytest.fixture
def run_app():
    return MetaApp(lambda: RunScreen(source_of(), title="run", speed=0, fps=0, clock=lambda: 0.0), fps=0)


async def settled(app, pilot):
    await app.workers.wait_for_complete()
    app.screen.flush()
    await pilot.pause()


async def test_a_letter_gives_the_focus_to_its_pane(run_app):
    async with run_app.run_test(size=(120, 36)) as pilot:
        await settled(run_app, pilot)
        screen = run_app.screen
        await pilot.press("ctrl+o")
        await pilot.pause()
        jump = run_app.screen
        assert isinstance(jump, JumpScreen)
        letters = {target.widget: letter for letter, target in jump.found.items()}
        await pilot.press(letters[screen.panes["2"]])
        await pilot.pause()
        assert run_app.screen is screen
        assert screen.focused is screen.panes["2"]


async def test_every_letter_stands_on_its_target(run_app):
    async with run_app.run_test(size=(120, 36)) as pilot:
        await settled(run_app, pilot)
        await pilot.press("ctrl+o")
        await pilot.pause()
        rows = painted(run_app).split("\n")
        for letter, target in run_app.screen.found.items():
            assert rows[target.at.y][target.at.x : target.at.x + 3] == f" {letter} "


@pytest.mark.parametrize("key", ["escape", "ctrl+o", "0"])
async def test_other_keys_leave_everything_as_it_was(run_app, key):
    async with run_app.run_test(size=(120, 36)) as pilot:
        await settled(run_app, pilot)
        screen, focused, place = run_app.screen, run_app.screen.focused, run_app.screen.transport.place
        await pilot.press("ctrl+o", key)
        await pilot.pause()
        assert run_app.screen is screen
        assert screen.focused is focused
        assert screen.transport.place == place


async def test_rows_of_a_list_have_letters():
    app = MetaApp(lambda: HomeScreen(RUNS), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+o")
        await pilot.pause()
        letter = next(key for key, target in app.screen.found.items() if target.row == 2)
        await pilot.press(letter)
        await pilot.pause()
        assert app.screen.query_one("#runs", Listing).cursor == 2


async def test_it_works_while_one_writes():
    from meta_tui.config import Settings

    app = MetaApp(lambda: AskScreen(Settings()), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        screen = app.screen
        await pilot.press("ctrl+o")
        await pilot.pause()
        letter = next(key for key, target in app.screen.found.items() if target.widget.id == "model")
        await pilot.press(letter)
        await pilot.pause()
        assert screen.focused.id == "model"
        assert screen.query_one("#question").text == ""


async def test_there_are_never_more_targets_than_letters():
    app = MetaApp(lambda: HomeScreen(RUNS * 50), fps=0)
    async with app.run_test(size=(120, 100)) as pilot:
        await pilot.pause()
        assert len(targets(app.screen)) == 52


def long_run():
    key = "0" * 64
    from meta_tui.chat import user

    events = [
        RunStarted(1, "t", "live", "standard", {}, "m", "q"),
        Requested(0, key, (user("q"),)),
        Replied(0, Reply(f"{LONG}\nsecond line")),
        RunFinished("answered", "done"),
    ]
    return RunScreen(source_of(events), title="run", speed=0, fps=0, clock=lambda: 0.0)


async def test_unwrapped_lines_take_one_row_and_can_be_moved():
    app = MetaApp(long_run, fps=0)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        wrapped = len(app.screen.meta.rows)
        await pilot.press("w")
        await pilot.pause()
        pane = app.screen.meta
        assert len(pane.rows) < wrapped
        assert sum("head" in row for row in pane.rows) == 1
        assert "›" in painted(app)
        assert "tail" not in painted(app)
        for _ in range(40):
            await pilot.press("shift+right")
        await pilot.pause()
        assert "tail" in painted(app)
        assert "head" not in painted(app)
        await pilot.press("w")
        await pilot.pause()
        assert len(pane.rows) == wrapped
        assert pane.shift == 0


async def test_panes_that_come_later_are_as_the_others():
    app = MetaApp(long_run, fps=0)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("w", "i")
        await pilot.pause()
        await pilot.press("2")
        await pilot.pause()
        assert sum("head" in row for row in app.screen.query_one("#page").rows) == 1


async def test_an_unwrapped_reply_grows_on_its_row():
    from meta_tui.events import Delta

    app = MetaApp(lambda: RunScreen(source_of(EVENTS[:3]), badge="LIVE", fps=0), fps=0)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("w")
        for piece in ("a" * 100, "b" * 100, "\nnext"):
            app.screen.feed(Delta(0, piece))
            app.screen.flush()
        await pilot.pause()
        rows = [row for row in app.screen.meta.rows if row.startswith("aaa") or row == "next"]
        assert rows == ["a" * 100 + "b" * 100, "next"]
