"""Every screen as text at three sizes: what one sees, to be read in a diff.

After a wanted change: `WRITE_GOLDENS=1 pytest tests/tui/test_tui_goldens.py`, and look
at what changed.
"""

import os
from pathlib import Path

import msgspec
import pytest
from tui_hostile import painted
from tui_story import EVENTS, RUNS, source_of

from meta_tui.chat import Reply
from meta_tui.errors import CassetteMiss
from meta_tui.runlog import Recording
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.ask import AskScreen
from meta_tui.tui.screens.compare import CompareScreen
from meta_tui.tui.screens.dialogs import Choice, Page, Say
from meta_tui.tui.screens.help import HelpScreen, about
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.screens.missing import MissingScreen
from meta_tui.tui.screens.paste import PasteScreen
from meta_tui.tui.screens.program import ProgramScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.state import EMPTY, apply_all

GOLDENS = Path(__file__).parent / "goldens"
SIZES = [(80, 24), (120, 36), (200, 60)]


MISS = "not recorded: meta, round 2, key 5f5f5f5f5f5f5f5f, draw 0; the nearest recorded request is line 12"
RECORDED = "── user ──\nQuestion: Use 4, 5, 6 and 10 once each to make 24.\nWork step by step.\nBe brief."
ASKED = "── user ──\nTask: Use 4, 5, 6 and 10 once each to make 25.\nWork step by step."


def run(events=EVENTS, **more):
    return RunScreen(source_of(events), title="20260131-174502-3f9c", fps=0, clock=lambda: 0.0, **more)


def other_events():
    return [*EVENTS[:-3], EVENTS[10], *EVENTS[-2:]]


SCREENS = {
    "home": lambda: HomeScreen(RUNS, clock=lambda: 1769881502.0),
    "home-empty": lambda: HomeScreen([]),
    "run-end": lambda: run(speed=0),
    "run-middle": lambda: run(EVENTS[:19], speed=0),
    "run-live": lambda: run(EVENTS[:14], badge="LIVE"),
    "inspect": lambda: InspectScreen(apply_all(EMPTY, EVENTS).effects, 5, "run"),
    "inspect-facts": lambda: _facts(),
    "compare": lambda: CompareScreen(Recording(EVENTS[0], EVENTS), Recording(EVENTS[0], other_events())),
    "compare-words": lambda: _words(),
    "program": lambda: ProgramScreen(apply_all(EMPTY, EVENTS).effects[5], "run"),
    "missing": lambda: MissingScreen(CassetteMiss(MISS, ASKED, RECORDED, 12), "run"),
    "jump": lambda: run(speed=0),
    "ask": lambda: AskScreen(
        _settings(), offered=("meta_prompting", "standard", "zero_shot_cot"), fetch=lambda: RUNS
    ),
    "paste": lambda: PasteScreen("You are Expert Poet.\n\nWrite one line.", 3),
    "choice": lambda: Choice("fork", "Call 3, Expert Python, round 2.", ("Draw again", "Edit this reply")),
    "page": lambda: Page("edit the reply", "Call 3.", "The reply\nas it was.", "go on with it"),
    "say": lambda: Say(
        "this cannot be done", "The run ended by itself (answered); fork it to go on differently"
    ),
    "help": lambda: HelpScreen(*about(run())),
}


def _facts():
    screen = InspectScreen(apply_all(EMPTY, EVENTS).effects, 2, "run")
    screen.view = 2
    return screen


def _words():
    changed = [msgspec.structs.replace(EVENTS[3], reply=Reply("I ask an expert of mine."))]
    events = [*EVENTS[:3], *changed, *EVENTS[4:]]
    screen = CompareScreen(Recording(EVENTS[0], EVENTS), Recording(EVENTS[0], events))
    screen.view = 1
    return screen


def _settings():
    from meta_tui.config import Settings

    return Settings(model="openai/gpt-4o")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
async def test_a_screen_looks_as_it_did(name, size, monkeypatch):
    for variable in list(os.environ):
        if variable.endswith("_API_KEY"):
            monkeypatch.delenv(variable)
    app = MetaApp(SCREENS[name], fps=0, settings=_settings())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        if isinstance(app.screen, RunScreen):
            await app.workers.wait_for_complete()
            app.screen.flush()
            await pilot.pause()
            app.screen.flush()
        await pilot.pause()
        await app.workers.wait_for_complete()
        if name == "jump":
            await pilot.press("ctrl+o")
            await pilot.pause()
        text = "\n".join(row.rstrip() for row in painted(app).split("\n")) + "\n"
    golden = GOLDENS / f"{name}-{size[0]}x{size[1]}.txt"
    if os.environ.get("WRITE_GOLDENS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
