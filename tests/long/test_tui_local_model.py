"""A live solve from the form with a real model on this machine: streaming, usage, stopping."""

import sys
from pathlib import Path

import pytest

for _folder in ("tui", "."):
    sys.path.insert(0, str(Path(__file__).parents[1] / _folder))

from local_model import NAME, local_url  # noqa: E402, F401
from test_tui_flows import shows, until  # noqa: E402

from meta_tui import runlog, store  # noqa: E402
from meta_tui.tui.app import MetaApp  # noqa: E402
from meta_tui.tui.screens.ask import AskScreen  # noqa: E402
from meta_tui.tui.screens.home import HomeScreen  # noqa: E402
from meta_tui.tui.screens.run import RunScreen  # noqa: E402

pytestmark = pytest.mark.local_model


async def asked(pilot, app, url, question):
    await until(pilot, lambda: isinstance(app.screen, HomeScreen), "home")
    await pilot.press("a")
    form = await shows(pilot, AskScreen)
    form.query_one("#question").text = question
    form.query_one("#model").value = NAME
    form.query_one("#base_url").value = url
    form.query_one("#max_calls").value = "3"
    listing = form.query_one("#methods")
    listing.move_to(form._methods.index("standard"))
    await pilot.pause()
    await pilot.press("ctrl+s")
    return await shows(pilot, RunScreen)


async def waited(pilot, holds, what):
    """The library takes seconds to import, and the model to speak."""
    for _ in range(60):
        try:
            await until(pilot, holds, what)
            return
        except AssertionError:
            continue
    raise AssertionError(f"never: {what}")


@pytest.mark.timeout(300)
async def test_a_question_is_answered_live_by_a_local_model(local_url, monkeypatch):  # noqa: F811
    monkeypatch.setenv("META_TUI_MAX_TOKENS", "24")
    app = MetaApp(lambda: HomeScreen([]), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await asked(pilot, app, local_url, "What is two and two?")
        await waited(pilot, lambda: screen.tape.ended, "the end of the run")
        screen.flush()
        state = screen.state
        assert 1 <= state.calls <= 4  # the fourth is refused by the budget
        assert state.tokens > 0
        assert not state.unknown_tokens
        assert state.status in ("answered", "no_answer", "budget")
        assert screen.meta.text.strip()
    recording = runlog.read(screen.log_path)
    assert recording.finished.status == state.status
    assert store.summary(screen.log_path).calls == state.calls


@pytest.mark.timeout(300)
async def test_a_live_run_is_stopped_now_and_its_log_is_whole(local_url, monkeypatch):  # noqa: F811
    monkeypatch.setenv("META_TUI_MAX_TOKENS", "2000")
    app = MetaApp(lambda: HomeScreen([]), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await asked(pilot, app, local_url, "Tell me a very long story about a fish.")
        await waited(pilot, lambda: any(block.text for block in _open(screen)), "the first words")
        await pilot.press("x", "x")
        await waited(pilot, lambda: screen.tape.ended, "the end of the run")
        screen.flush()
        assert screen.state.status == "cancelled"
        assert any(block.kind == "reply" and block.text for block in screen.state.spans[""].blocks)
    recording = runlog.read(screen.log_path)
    assert recording.finished.status == "cancelled"
    assert not recording.torn


def _open(screen):
    root = screen.tape.head.spans.get("")
    return [block for block in root.blocks if block.open] if root else []
