"""Hostile text is inert on every screen: nothing a terminal obeys, no markup, no crash."""

import pytest
from tui_hostile import CORPUS, FORBIDDEN, painted

from meta_tui.chat import CodeResult, Program, Reply, user
from meta_tui.events import (
    Answered,
    CodeFinished,
    CodeStarted,
    Failed,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
    Stored,
)
from meta_tui.store import RunSummary
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.widgets.pane import Pane


def events_with(text):
    """A run in which every text is this one."""
    key = "0" * 64
    return [
        RunStarted(1, text, "live", "meta_prompting", {}, text, text, note=text),
        RoundStarted(1, 2),
        Requested(0, key, (user(text),)),
        Replied(0, Reply(text, reasoning=text)),
        SpanStarted("expert", text, span="1"),
        Requested(0, key, (user(text),), span="1"),
        Failed(0, "server", 1, text, 2.0, span="1"),
        Replied(0, Reply(text), span="1"),
        CodeStarted(1, key, Program(text), span="1"),
        CodeFinished(1, CodeResult("error", text, text, 1), span="1"),
        SpanFinished("done", span="1"),
        Rejected(text),
        Stored("note", text, text, text),
        Requested(1, key, (user(text), user(text))),
        Failed(1, "server", 2, text),
        Answered(text),
        RunFinished("answered", text),
    ]


def source_of(events):
    async def source(emit, stop):
        for event in events:
            emit(event)

    return source


@pytest.mark.parametrize("name", CORPUS)
async def test_the_run_screen_shows_hostile_text_inert(name):
    text = CORPUS[name]
    app = MetaApp(lambda: RunScreen(source_of(events_with(text)), title=text, speed=0, fps=0), fps=0)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        await pilot.pause()
        assert app.screen.state.status == "answered"
        for pane in app.screen.query(Pane):
            assert not FORBIDDEN.search("\n".join(pane.rows).replace("\n", ""))
            pane.scroll_top(0)
        await pilot.pause()
        assert not FORBIDDEN.search(painted(app).replace("\n", ""))
        await pilot.click("#meta", offset=(5, 3))
        await pilot.press("0", "l", "dollar_sign", "2", "z", "z", "G", "g")
        await pilot.pause()
        assert app.is_running
        assert app.screen.state.status == "answered"


@pytest.mark.parametrize("name", CORPUS)
async def test_home_shows_hostile_text_inert(name):
    text = CORPUS[name]
    runs = [
        RunSummary(text, text, text, text, text, text, "live", text[:200], text, text, text[:200], note=text)
    ]
    app = MetaApp(lambda: HomeScreen(runs), fps=0)
    async with app.run_test(size=(160, 30)) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert app.screen.runs
        assert not FORBIDDEN.search(painted(app).replace("\n", ""))
        await pilot.click("#runs", offset=(5, 0))
        await pilot.pause()
        assert app.is_running


async def test_markup_is_shown_as_it_is_written():
    text = CORPUS["markup"]
    app = MetaApp(lambda: RunScreen(source_of(events_with(text)), speed=0, fps=0), fps=0)
    async with app.run_test(size=(160, 40)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        await pilot.pause()
        assert text in app.screen.meta.text
        assert "[@click=app.quit]press[/]" in painted(app)
