"""What a person does with runs: ask, fork, edit, follow up, resume, replay, compare, paste."""

import json

import pytest
from tui_hostile import painted
from tui_runs import FINAL, REPLIES, record

from meta_tui import runlog, store
from meta_tui.tui.app import MetaApp
from meta_tui.tui.origin import playback
from meta_tui.tui.screens.ask import AskScreen, Wish, command, key_state, lacking
from meta_tui.tui.screens.compare import CompareScreen
from meta_tui.tui.screens.dialogs import Choice, Page, Say
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.screens.paste import PasteScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.screens.samples import SamplesScreen
from meta_tui.tui.screens.settings import SettingsScreen
from meta_tui.tui.widgets.listing import Listing
from meta_tui.tui.widgets.pane import Pane


def script(tmp_path, *replies):
    """A model that says these things; its name for the settings."""
    path = tmp_path / "script.jsonl"
    path.write_text("".join(json.dumps({"text": reply}) + "\n" for reply in replies))
    return f"script:{path}"


async def until(pilot, holds, what):
    """Wait until something holds; the app works in the meantime."""
    for _ in range(2000):
        if holds():
            return
        if isinstance(pilot.app.screen, RunScreen):
            pilot.app.screen.flush()
        await pilot.pause(0.01)
    raise AssertionError(f"never: {what}; open is {pilot.app.screen!r}")


async def shows(pilot, kind):
    await until(pilot, lambda: isinstance(pilot.app.screen, kind), kind.__name__)
    await pilot.pause()
    return pilot.app.screen


@pytest.fixture
async def own_run(own_home):
    """A run of one's own, solved."""
    path = store.home().runs / "20260101-000000-aaaa.jsonl"
    await record(path)
    return path


@pytest.fixture
def app(own_run):
    return MetaApp(lambda: HomeScreen(fetch=lambda: store.own_runs().summaries()), fps=0)


async def open_first(app, pilot):
    await until(pilot, lambda: app.screen.runs, "runs")
    await pilot.press("enter")
    screen = await shows(pilot, RunScreen)
    await until(pilot, lambda: screen.tape.ended, "the end of the tape")
    return screen


async def finished(pilot):
    """The live run that is open came to its end."""
    screen = await shows(pilot, RunScreen)
    await until(pilot, lambda: screen.tape.ended and screen.badge != "PLAYBACK", "end of the run")
    screen.flush()
    return screen


async def test_a_question_is_asked_and_the_run_is_watched_and_recorded(app, tmp_path, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", script(tmp_path, FINAL))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        await pilot.press("a")
        await shows(pilot, AskScreen)
        await pilot.press(*"make 24")
        await pilot.press("ctrl+s")
        screen = await finished(pilot)
        assert screen.badge == "LIVE"
        assert screen.state.answer == "(10 - 4) * 5 - 6"
        assert runlog.read(screen.log_path).started.question == "make 24"


async def test_a_form_without_a_model_says_what_is_missing(app):
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        await pilot.press("a")
        await shows(pilot, AskScreen)
        await pilot.press("x", "ctrl+s")
        await pilot.pause()
        assert isinstance(app.screen, AskScreen)
        assert lacking(app.screen.wish).startswith("Name a model")


async def test_a_reply_is_edited_and_the_fork_goes_on_from_it(app, own_run, tmp_path, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", script(tmp_path, '>> FINAL ANSWER:\n"""\nforked\n"""'))
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await open_first(app, pilot)
        await pilot.press("0", "l", "l", "l", "f")
        choice = await shows(pilot, Choice)
        assert "round 2" in choice._words
        await pilot.press("j", "enter")
        page = await shows(pilot, Page)
        assert page.query_one("TextArea").text == REPLIES[2]
        page.query_one("TextArea").text = "Still no form."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is not screen, "another screen")
        fork = await finished(pilot)
        assert fork.state.answer == "forked"
        log = runlog.read(fork.log_path)
        assert log.started.parent.run == own_run.stem
        assert log.started.parent.edited
        assert fork.base.calls == 3
        assert fork.state.calls == 4
        assert runlog.read(own_run).answer == "(10 - 4) * 5 - 6"


async def test_a_reply_is_drawn_again(app, tmp_path, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", script(tmp_path, '>> FINAL ANSWER:\n"""\nanother\n"""'))
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await open_first(app, pilot)
        await pilot.press("dollar_sign", "1", "f")
        await shows(pilot, Choice)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not screen, "another screen")
        fork = await finished(pilot)
        assert fork.state.answer == "another"
        await pilot.press("d")
        assert await shows(pilot, CompareScreen)


async def test_a_run_that_answered_is_asked_further(app, own_run, tmp_path, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", script(tmp_path, '>> FINAL ANSWER:\n"""\nfurther\n"""'))
    async with app.run_test(size=(120, 36)) as pilot:
        await open_first(app, pilot)
        await pilot.press("u")
        page = await shows(pilot, Page)
        page.query_one("TextArea").text = "And for 25?"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: getattr(app.screen, "badge", "") == "LIVE", "a live run")
        further = await finished(pilot)
        log = runlog.read(further.log_path)
        assert (log.started.question, log.answer) == ("And for 25?", "further")
        assert log.started.parent.run == own_run.stem


async def test_a_cut_run_is_resumed(app, own_run, tmp_path, monkeypatch):
    lines = own_run.read_bytes().splitlines(keepends=True)
    own_run.write_bytes(b"".join(lines[:-3]))
    monkeypatch.setenv("META_TUI_MODEL", script(tmp_path, FINAL))
    async with app.run_test(size=(120, 36)) as pilot:
        await open_first(app, pilot)
        await pilot.press("R")
        await until(pilot, lambda: getattr(app.screen, "badge", "") == "LIVE", "a live run")
        resumed = await finished(pilot)
        assert resumed.state.status == "answered"
        assert runlog.read(own_run).answer == "(10 - 4) * 5 - 6"


async def test_a_finished_run_cannot_be_resumed_and_says_why(app):
    async with app.run_test(size=(120, 36)) as pilot:
        await open_first(app, pilot)
        await pilot.press("R")
        await until(
            pilot, lambda: len(app.screen_stack) > 2 and not isinstance(app.screen, RunScreen), "a dialog"
        )
        await pilot.press(*"script:x", "enter")
        await until(pilot, lambda: _resumed_badly(app), "the reason")


def _resumed_badly(app):
    words = [screen.words for screen in app.screen_stack if isinstance(screen, Say)]
    troubles = [screen.tape.trouble for screen in app.runs]
    return any("fork it" in word for word in (*words, *troubles))


async def test_replay_runs_the_method_again_and_ends_in_the_same_picture(app):
    async with app.run_test(size=(120, 36)) as pilot:
        played = await open_first(app, pilot)
        await pilot.press("dollar_sign", "p")
        await until(pilot, lambda: getattr(app.screen, "badge", "") == "REPLAY", "a replay")
        again = await finished(pilot)
        assert not again.tape.trouble
        assert again.state == played.state


async def test_copy_paste_shows_the_prompt_and_takes_the_reply(app, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", "copy-paste")
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        await pilot.press("a")
        await shows(pilot, AskScreen)
        await pilot.press(*"hi", "ctrl+s")
        paste = await shows(pilot, PasteScreen)
        assert "hi" in paste.query_one("#prompt", Pane).text
        assert "hi" in app.clipboard
        paste.query_one("#reply").text = FINAL
        await pilot.press("ctrl+s")
        screen = await finished(pilot)
        assert screen.state.answer == "(10 - 4) * 5 - 6"


async def test_leaving_the_prompt_stops_the_run_and_keeps_its_log(app, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", "copy-paste")
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        await pilot.press("a")
        await shows(pilot, AskScreen)
        await pilot.press(*"hi", "ctrl+s")
        await shows(pilot, PasteScreen)
        await pilot.press("escape")
        screen = await finished(pilot)
        assert screen.state.status == "failed"
        assert runlog.read(screen.log_path).finished.status == "failed"


async def test_two_runs_are_compared_from_home(app, own_run):
    await record(
        store.home().runs / "20260102-000000-bbbb.jsonl", [*REPLIES[:-1], '>> FINAL ANSWER:\n"""\n7\n"""']
    )
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: len(app.screen.runs) == 2, "runs")
        await pilot.press("d")
        await pilot.pause()
        await pilot.press("j", "d")
        screen = await shows(pilot, CompareScreen)
        assert [row.what for row in screen.rows if row.mark == "~"] == ["reply", "answer"]
        cursor = screen.query_one("#rows", Listing).cursor
        assert screen.rows[cursor].mark == "~"
        assert "7" in screen.query_one("#a", Pane).text
        await pilot.press("n")
        assert screen.rows[screen.query_one("#rows", Listing).cursor].what == "answer"
        await pilot.press("s", "v")
        await pilot.pause()
        assert "7" in screen.query_one("#b", Pane).text


async def test_the_inspector_shows_what_was_sent_and_what_came(app):
    async with app.run_test(size=(120, 36)) as pilot:
        await open_first(app, pilot)
        await pilot.press("dollar_sign", "2", "i")
        screen = await shows(pilot, InspectScreen)
        assert screen.effect.kind == "code"
        assert "1 for a in range(3):" in "\n".join(screen.query_one("#page", Pane).rows)
        await pilot.press("h")
        await pilot.pause()
        assert "You are Expert Python." in screen.query_one("#page", Pane).text
        await pilot.press("2")
        await pilot.pause()
        assert "Please run this code!" in screen.query_one("#page", Pane).text
        await pilot.press("3")
        await pilot.pause()
        assert screen.effect.started.key in screen.query_one("#page", Pane).text
        assert "unknown" in screen.query_one("#page", Pane).text
        await pilot.press("4")
        await pilot.pause()
        assert '"e": "Requested"' in screen.query_one("#page", Pane).text


async def test_saving_writes_a_file_and_names_it(app):
    async with app.run_test(size=(120, 36)) as pilot:
        await open_first(app, pilot)
        await pilot.press("dollar_sign", "i")
        await shows(pilot, InspectScreen)
        await pilot.press("Y")
        await pilot.pause()
        [path] = (store.home().root / "saved").iterdir()
        assert '"e": "Replied"' in path.read_text()


async def test_settings_and_doctor(app):
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        await pilot.press("comma")
        screen = await shows(pilot, SettingsScreen)
        assert "max_calls" in screen.query_one("#settings", Pane).text
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "Python: " in screen.query_one("#doctor", Pane).text


async def test_words_filter_the_list(app):
    await record(store.home().runs / "20260103-000000-cccc.jsonl", question="Which fish sings?")
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: len(app.screen.runs) == 2, "runs")
        await pilot.press("slash", *"fish answ")
        await pilot.pause()
        assert [run.id for run in app.screen.runs] == ["20260103-000000-cccc"]
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.screen.runs) == 2


def test_the_form_says_the_same_as_a_command_line():
    wish = Wish("What's 6 * 7?", "standard", "openai/gpt-4o", "", 3)
    assert command(wish) == (
        "meta-tui solve --method standard --model openai/gpt-4o --max-calls 3 'What'\"'\"'s 6 * 7?'"
    )
    assert "OPENAI_API_KEY" in key_state(wish, ["HOME", "OPENAI_API_KEY"])
    assert "copy-paste" in key_state(wish, ["HOME"])


async def test_a_sample_of_a_task_is_chosen_and_solved(app, tmp_path, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", script(tmp_path, FINAL))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        await pilot.press("a")
        ask = await shows(pilot, AskScreen)
        await pilot.press("ctrl+t")
        await shows(pilot, SamplesScreen)
        await pilot.press(*"game24:3", "enter")
        await until(pilot, lambda: app.screen is ask, "the form")
        await pilot.pause()
        assert ask.wish.sample == "game24:3"
        assert "--sample game24:3" in command(ask.wish)
        await pilot.press("ctrl+s")
        screen = await finished(pilot)
        started = runlog.read(screen.log_path).started
        assert (started.sample, started.task) == ("game24:3", "game24")
        assert "24" in started.question


async def test_a_sample_whose_question_was_changed_is_no_sample(app):
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        await pilot.press("a")
        ask = await shows(pilot, AskScreen)
        await pilot.press("ctrl+t")
        await shows(pilot, SamplesScreen)
        await pilot.press(*"words", "down", "enter")
        await until(pilot, lambda: app.screen is ask, "the form")
        await pilot.press("x")
        await pilot.pause()
        assert ask.wish.sample == ""


async def test_the_palette_offers_every_action_of_the_screen(app):
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await open_first(app, pilot)
        titles = [command.title for command in app.get_system_commands(screen)]
        assert len(titles) >= len(screen.ACTIONS)
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"to end".split()[1], "enter")
        await pilot.pause()
        await until(pilot, lambda: app.screen is screen, "the run again")


async def test_a_palette_command_does_what_its_key_does(app):
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await open_first(app, pilot)
        commands = {command.title: command.callback for command in app.get_system_commands(screen)}
        commands["End  ($)"]()
        await until(pilot, lambda: screen.state.status == "answered", "the end")
        commands["Theme meta-light"]()
        assert app.theme == "meta-light"


async def test_leaving_with_a_live_run_asks(app, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", "copy-paste")
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        await pilot.press("a")
        await shows(pilot, AskScreen)
        await pilot.press(*"hi", "ctrl+s")
        await shows(pilot, PasteScreen)
        await pilot.press("ctrl+q")
        choice = await shows(pilot, Choice)
        assert "resumed later" in choice._words
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: not app.is_running or app._exit, "the end of the app")
    runs = [runlog.read(run) for run in (store.home().runs).glob("*.jsonl")]
    assert "cancelled" in [run.finished.status for run in runs]


async def test_a_shipped_cassette_is_forked(tmp_path, monkeypatch):
    monkeypatch.setenv("META_TUI_MODEL", script(tmp_path, '>> FINAL ANSWER:\n"""\nby another way\n"""'))
    path = store.shipped("cassettes") / "game24-python.jsonl"
    before = path.read_bytes()
    app = MetaApp(lambda: RunScreen(playback(path), title=path.stem, log=path, fps=0, speed=0), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await shows(pilot, RunScreen)
        await until(pilot, lambda: screen.tape.ended, "the end of the tape")
        await pilot.press("0", "right_square_bracket", "right_square_bracket", "l", "f")
        await shows(pilot, Choice)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not screen, "another screen")
        fork = await finished(pilot)
        assert fork.state.answer == "by another way"
        assert fork.base.calls > 0
        assert "new: 1 reply $0" in painted(app)
    assert path.read_bytes() == before


async def test_a_damaged_log_opens_as_its_error(own_home):
    path = store.home().runs / "20260101-000000-aaaa.jsonl"
    await record(path)
    text = path.read_text().replace("6 * 5 = 30", "6 * 5 = 31")
    path.write_text(text)
    app = MetaApp(lambda: HomeScreen(fetch=lambda: store.own_runs().summaries()), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.runs, "runs")
        assert "✗ damaged" in app.screen.query_one("#runs", Listing).rows[0]
        await pilot.press("enter")
        screen = await shows(pilot, RunScreen)
        await until(pilot, lambda: screen.tape.ended, "the error")
        screen.transport.to_end()
        screen.flush()
        await pilot.pause()
        assert "was changed" in " ".join(screen.meta.text.split())


async def test_a_home_that_cannot_be_written_is_said_and_is_no_defect(run_log, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "file"))
    app = MetaApp(lambda: RunScreen(playback(run_log), log=run_log, title="run", speed=0, fps=0), fps=0)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press("Y")
        await pilot.press("e")
        await shows(pilot, Choice)
        await pilot.press("enter")
        said = await shows(pilot, Say)
        assert "cannot write into" in painted(app)
        assert "defect" not in painted(app)
        assert said.is_attached
