"""The program screen and the missing-recording screen: run again and compare; look side by side."""

import json

import pytest
from test_tui_flows import script, shows, until
from tui_hostile import painted
from tui_runs import CODE, PRINTED, record

from meta_tui import runlog
from meta_tui.chat import CodeResult
from meta_tui.errors import UsageError
from meta_tui.runlog import read
from meta_tui.tui.app import MetaApp
from meta_tui.tui.origin import playback, replayed
from meta_tui.tui.screens.dialogs import Choice
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.screens.missing import MissingScreen
from meta_tui.tui.screens.program import SAME, ProgramScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.start import line_reached


def app_for(path, **more):
    return MetaApp(
        lambda: RunScreen(playback(path), title=path.stem, log=path, speed=0, fps=0), fps=0, **more
    )


async def opened(app, pilot):
    await app.workers.wait_for_complete()
    app.screen.flush()
    await pilot.pause()
    await pilot.press("P")
    return await shows(pilot, ProgramScreen)


async def test_a_program_is_run_again_and_found_to_be_the_same(run_log):
    app = app_for(run_log)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(app, pilot)
        assert screen.program.code == CODE
        assert "limits: " in painted(app)
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: screen.given is not None, "the result")
        assert screen.given.stdout == PRINTED
        assert screen.differences == []
        assert SAME in screen.query_one("#here").text


async def test_what_differs_from_the_recording_is_said(tmp_path):
    path = tmp_path / "other.jsonl"
    await record(path, results=(CodeResult("ok", "something else\n"),))
    app = app_for(path)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(app, pilot)
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: screen.given is not None, "the result")
        assert screen.differences[0].startswith("output was 'something else', is '0")
        assert "✗ differs" in painted(app)
        assert runlog.read(path).events  # nothing was written into the log


async def test_a_page_that_is_served_runs_nothing(run_log):
    app = app_for(run_log, playback_only=True)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(app, pilot)
        await pilot.press("exclamation_mark")
        await pilot.pause()
        assert not screen._busy
        assert screen.given is None


async def test_the_inspector_opens_the_program_and_names_the_line_of_the_log(run_log):
    lines = run_log.read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "CodeFinished" in json.loads(text).values())
    app = app_for(run_log)
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        await pilot.press("2", "i")
        inspector = await shows(pilot, InspectScreen)
        while inspector.effect.kind != "code":
            await pilot.press("h")
        assert inspector.line == line
        assert f"line {line}" in painted(app)
        await pilot.press("3")
        await pilot.pause()
        assert f"--at {line}" in inspector.query_one("#page").text
        await pilot.press("P")
        assert isinstance(await shows(pilot, ProgramScreen), ProgramScreen)


@pytest.fixture
async def edited_log(tmp_path):
    """A run whose question is another one than that which was sent."""
    path = tmp_path / "run.jsonl"
    await record(path)
    recording = read(path)
    method = {**recording.started.settings, "label": "Task: "}
    lines = path.read_bytes().split(b"\n")
    lines[0] = _first_line(recording.started, method)
    path.write_bytes(b"\n".join(lines))
    return path


def _first_line(started, settings):
    from msgspec.structs import replace

    from meta_tui.events import to_json
    from meta_tui.runlog import seal

    return to_json(seal(replace(started, settings=settings, id="")))


async def test_a_request_that_was_not_recorded_is_shown_beside_the_nearest_one(edited_log):
    app = MetaApp(
        lambda: RunScreen(replayed(edited_log), badge="REPLAY", title="run", log=edited_log, fps=0), fps=0
    )
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.tape.ended, "the end")
        app.screen.flush()
        await pilot.press("i")
        screen = await shows(pilot, MissingScreen)
        assert screen.miss.line > 1
        asked = [block.text for block in screen.query_one("#asked")._blocks if block.kind == "added"]
        gone = [block.text for block in screen.query_one("#recorded")._blocks if block.kind == "removed"]
        assert asked
        assert gone
        assert asked[0].startswith("Task: ")
        await pilot.press("n", "N", "tab")
        assert app.is_running


async def test_lines_stand_at_one_height_on_both_sides_whatever_wraps():
    from meta_tui.errors import CassetteMiss

    recorded = f"{'long ' * 60}end\nsame\nshort\nlast"
    wanted = f"brief\nsame\n{'other ' * 60}end\nlast"
    app = MetaApp(lambda: MissingScreen(CassetteMiss("m", wanted, recorded, 3), "run"), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        for size in ((120, 36), (160, 36), (101, 36)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            left, right = (app.screen.query_one(name).rows for name in ("#recorded", "#asked"))
            assert len(left) == len(right) > 8
            for words in ("same", "last"):
                assert left.index(f"  {words}") == right.index(f"  {words}")
        await pilot.press("w")
        await pilot.pause()
        assert len(app.screen.query_one("#asked").rows) == 4


async def test_a_replay_goes_live_at_the_request_that_was_not_recorded(edited_log, tmp_path, monkeypatch):
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("META_TUI_MODEL", script(tmp_path, '>> FINAL ANSWER:\n"""\nlive\n"""'))
    app = MetaApp(
        lambda: RunScreen(replayed(edited_log), badge="REPLAY", title="run", log=edited_log, fps=0), fps=0
    )
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.tape.ended, "the end")
        app.screen.flush()
        told = len(app.screen.tape.events)
        await pilot.press("i")
        await shows(pilot, MissingScreen)
        await pilot.press("f")
        await shows(pilot, Choice)
        await pilot.press("enter")
        await until(pilot, lambda: getattr(app.screen, "badge", "") == "LIVE", "a live run")
        live = app.screen
        await until(pilot, lambda: live.tape.ended, "its end")
        live.flush()
        assert live.state.answer == "live"
        assert live.base.seen == told
        assert live.base.calls == 0
        parent = read(live.log_path).started.parent
        assert (parent.run, parent.edited) == ("run", False)
        await pilot.pause()
        assert "f Fork" in painted(app), "what has ended is not stopped"
        assert "x Stop" not in painted(app)


def test_a_fork_keeps_all_that_a_replay_came_to(run_log):
    recording = read(run_log)
    events, lines = recording.events, recording.lines
    for count in (1, 3, len(events) - 1):
        assert line_reached(recording, events[:count]) == lines[count]
    with pytest.raises(UsageError, match="nothing left"):
        line_reached(recording, events)
