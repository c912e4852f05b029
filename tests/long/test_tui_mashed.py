"""Keys in any order, on every screen: whatever a cat on the keyboard does, nothing may break.

A seed says which keys; each screen gets five hundred, and where they end the app it is opened anew.
"""

import random
import sys
from pathlib import Path

import pytest
from textual.worker import WorkerState

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from test_tui_hostile import SCREENS

from meta_tui import store
from meta_tui.tui.app import MetaApp
from meta_tui.tui.keymap import KEYS
from meta_tui.tui.origin import playback
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.screens.settings import SettingsScreen

PRESSES = 500
AGAIN = 40
"""Keys after which the app is opened anew, so that many of them meet the screen itself."""

SIZES = ((80, 24), (40, 10), (200, 60), (120, 36), (3, 2), (60, 20))
USUAL = [word for key in KEYS.values() for word in key.keys if word != "ctrl+q"]
OTHERS = [*"123456789", "tab", "shift+tab", "backspace", "delete", "ctrl+a", "ctrl+j", "é", "漢", "ctrl+x"]


def played():
    path = store.find("game24-python")
    return RunScreen(playback(path), title=path.stem, log=path, fps=30)


MASHED = {
    "home": HomeScreen,
    "settings": SettingsScreen,
    "playback": played,
    **{
        name: (lambda make=make: make("some words\nof a run"))
        for name, make in SCREENS.items()
        if "-" not in name
    },
    **{name: (lambda make=make: make("some words")) for name, make in SCREENS.items() if name.endswith("-0")},
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MASHED)
async def test_any_keys_break_nothing(name, monkeypatch, tmp_path):
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    chance = random.Random(f"keys on {name}")
    pressed = 0
    while pressed < PRESSES:
        pressed += await mash(MASHED[name], chance, min(AGAIN, PRESSES - pressed))


async def mash(make, chance, most):
    """Press keys until there were so many or the app ended; gives how many."""
    app, keys = MetaApp(make, fps=0), []
    async with app.run_test(size=chance.choice(SIZES)) as pilot:
        while len(keys) < most and app.is_running and app._exit is False:
            keys.append(chance.choice(USUAL if chance.random() < 0.8 else OTHERS))
            await pilot.press(keys[-1])
            if chance.random() < 0.05:
                await pilot.resize_terminal(*chance.choice(SIZES))
            broken = [one for one in app.workers if one.state is WorkerState.ERROR]
            assert not broken, (keys, broken)
            assert not list(Path.cwd().rglob("reports/*")), keys
        app.exit()
    assert app._exception is None, keys
    return len(keys)
