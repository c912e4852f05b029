"""The run screen: what it shows of a recorded run, and what its keys do."""

import pytest
from tui_runs import ASK_CHECK, CHECK

from meta_tui import runlog, store
from meta_tui.tui.app import MetaApp
from meta_tui.tui.origin import playback
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.state import EMPTY, apply_all


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def app_for(path, clock, **more):
    return MetaApp(lambda: RunScreen(playback(path), title=path.stem, fps=0, clock=clock, **more), fps=0)


async def settled(app, pilot):
    await app.workers.wait_for_complete()
    app.screen.flush()
    await pilot.pause()


async def test_playback_runs_at_its_pace_to_the_end(run_log, clock):
    app = app_for(run_log, clock)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        assert app.screen.state.seen < len(runlog.read(run_log).events)
        clock.now += 3600
        await settled(app, pilot)
        assert app.screen.state.status == "answered"
        assert app.screen.state.answer == "(10 - 4) * 5 - 6"
        assert not app.screen.transport.playing


async def test_the_end_shows_every_part_of_the_run(run_log, clock):
    app = app_for(run_log, clock, speed=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        state, panes = app.screen.state, app.screen.panes
        assert (state.round, state.calls, state.code_runs) == (4, 6, 1)
        meta = "\n".join(panes[""].rows)
        for words in (
            "ROUND 1 of 16",
            "Expert Python:",
            "▲ round 2: ",
            "ROUND 4 of 16",
            "ANSWER",
            "■ answered",
        ):
            assert words in meta
        python = "\n".join(panes["1"].rows)
        assert "» (10 - 4) * 5 - 6" in python
        assert "▸ ran 3 lines of Python · ok" in python
        assert CHECK in "\n".join(panes["2"].rows)


async def test_pause_holds_the_picture(run_log, clock):
    app = app_for(run_log, clock)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        clock.now += 1.0
        await settled(app, pilot)
        await pilot.press("space")
        before = app.screen.state
        clock.now += 100
        await settled(app, pilot)
        assert app.screen.state is before
        await pilot.press("space")
        clock.now += 100
        await settled(app, pilot)
        assert app.screen.state.status == "answered"


async def test_steps_by_call_and_by_round(run_log, clock):
    app = app_for(run_log, clock)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        for calls in (1, 2, 3):
            await pilot.press("l")
            assert app.screen.state.calls == calls
        await pilot.press("h")
        assert app.screen.state.calls == 2
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert app.screen.state.round == 3
        await pilot.press("left_square_bracket")
        assert app.screen.state.round == 2
        await pilot.press("dollar_sign")
        assert app.screen.state.status == "answered"
        await pilot.press("0")
        assert app.screen.state.seen == 1


async def test_speed_changes_the_pace(run_log, clock):
    app = app_for(run_log, clock)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        await pilot.press("greater_than_sign")
        assert app.screen.transport.speed == 2.0
        clock.now += 0.1
        await settled(app, pilot)
        assert app.screen.transport.time == pytest.approx(0.2)
        await pilot.press("less_than_sign", "less_than_sign")
        assert app.screen.transport.speed == 0.5


async def test_stepping_shows_the_state_of_the_events_so_far(run_log, clock):
    """The picture after a step is the picture of the recorded events up to it, nothing else."""
    events = runlog.read(run_log).events
    app = app_for(run_log, clock)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        await pilot.press("l", "l", "l", "h")
        seen = app.screen.state.seen
        shown = app.screen.state.spans["1"].blocks
        assert shown == apply_all(EMPTY, events[:seen]).spans["1"].blocks


async def test_zoom_gives_one_pane_the_screen(run_log, clock):
    app = app_for(run_log, clock, speed=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        await pilot.press("2", "z")
        await pilot.pause()
        pane = app.screen.panes["1"]
        assert pane.size.width > 110
        assert not app.screen.meta.region.width
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen.meta.region.width
        assert isinstance(app.screen, RunScreen)


async def test_zoom_of_the_meta_model_hides_the_experts_and_gives_everything_back(run_log, clock):
    app = app_for(run_log, clock, speed=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        await pilot.press("dollar_sign", "1")
        await pilot.pause()
        meta, side = app.screen.meta, app.screen.query_one("#side")
        before = meta.region, meta.size, side.region
        await pilot.press("z")
        await pilot.pause()
        assert meta.region.width == 120
        assert not side.region.width
        await pilot.press("z")
        await pilot.pause()
        assert (meta.region, meta.size, side.region) == before


async def test_zoom_of_an_expert_hides_the_rows_of_the_others(run_log, clock):
    app = app_for(run_log, clock, speed=0)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.press("dollar_sign")
        await pilot.pause()
        rows = app.screen.query_one("#rows")
        assert rows.region.height
        await pilot.press("2", "z")
        await pilot.pause()
        assert not rows.region.height
        await pilot.press("z")
        await pilot.pause()
        assert rows.region.height


async def test_words_that_are_nowhere_are_said_to_be_nowhere(run_log, clock):
    app = app_for(run_log, clock, speed=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        await pilot.press("slash", *"zebra", "enter")
        await pilot.pause()
        assert [note.message for note in app._notifications] == [
            "'zebra' is nowhere in the panes at this moment of the run"
        ]


async def test_help_explains_and_closes(run_log, clock):
    app = app_for(run_log, clock)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        await pilot.press("question_mark")
        await pilot.pause()
        text = "\n".join(app.screen.query_one("#help").rows)
        assert "Play or pause" in text
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)


async def test_an_unfinished_log_plays_and_says_so(run_log, clock, tmp_path):
    lines = run_log.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines[:8]))
    app = app_for(cut, clock)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        clock.now += 100
        await settled(app, pilot)
        assert "unfinished: resume it" in "\n".join(app.screen.meta.rows)


async def test_narrow_terminals_stack_the_panes(run_log, clock):
    app = app_for(run_log, clock, speed=0)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(app, pilot)
        await pilot.pause()
        meta, side = app.screen.meta.region, app.screen.query_one("#side").region
        assert meta.width == side.width == 80
        assert side.y >= meta.bottom


async def test_what_an_expert_was_asked_stands_above_its_reply(run_log, clock):
    app = app_for(run_log, clock, speed=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        rows = "\n".join(app.screen.panes["2"].rows)
        assert rows.index("▏ Is (10 - 4)") < rows.index(CHECK)
        assert "Expert Mathematician:" in ASK_CHECK


async def test_a_users_own_keys_replace_the_usual_ones(run_log, clock, tmp_path):
    from meta_tui.config import Settings

    settings = Settings(keys={"call_on": ["f8"]})
    app = MetaApp(
        lambda: RunScreen(playback(run_log), title="run", fps=0, clock=clock), fps=0, settings=settings
    )
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        before = app.screen.transport.place
        await pilot.press("l")
        assert app.screen.transport.place == before
        await pilot.press("f8")
        assert app.screen.transport.place > before
        await pilot.press("question_mark")
        await pilot.pause()
        assert "f8 " in "\n".join(app.screen.query_one("#help").rows)


async def test_keys_that_would_mean_two_things_are_said_and_not_taken(run_log, clock):
    from meta_tui.config import Settings

    settings = Settings(keys={"zoom": ["space"]})
    app = MetaApp(
        lambda: RunScreen(playback(run_log), title="run", fps=0, clock=clock), fps=0, settings=settings
    )
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await settled(app, pilot)
        await pilot.press("space")
        assert not app.screen.transport.playing
        assert any("would mean both" in notice.message for notice in app._notifications)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("theme = ", "config.toml"),
        ('theme = "purple"', "there is no theme 'purple'; write one of meta-ansi, meta-dark, meta-light"),
    ],
)
async def test_settings_that_cannot_be_read_or_followed_are_said_and_the_usual_look_is_in_force(
    run_log, clock, tmp_path, monkeypatch, written, said
):
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text(written, encoding="utf-8")
    app = MetaApp(lambda: RunScreen(playback(run_log), title="run", fps=0, clock=clock), fps=0)
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await settled(app, pilot)
        (notice,) = app._notifications
        assert said in notice.message
        assert "The usual look is in force" in notice.message
        assert app.theme == "meta-dark"


async def test_a_summarised_history_and_a_function_that_refused_are_seen(clock):
    """What was cut stands in the Meta Model's pane, its full text in the pane of the summary."""
    app = app_for(store.find("history-summarised"), clock, speed=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        panes = app.screen.panes
        meta, summary = (" ".join(" ".join(panes[span].rows).split()) for span in ("", "4"))
        assert "4 messages, about 734 tokens, are left out from here on" in meta
        assert "Write the number as 100a + 10b + c" in summary
    app = app_for(store.find("timetable-function"), clock, speed=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(app, pilot)
        refused = "\n".join(app.screen.panes["1"].rows)
        assert "ValueError: ask for one line at a time" in refused
