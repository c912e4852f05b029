"""Hostile text is inert on every screen: nothing a terminal obeys, no markup, no crash, no action.

Each text on each screen, and in a real terminal, is looked at in tests/long.
"""

import tempfile
from functools import cache
from pathlib import Path

import pytest
from evaluation import small
from tui_chains import linear, shown
from tui_hostile import CORPUS, FORBIDDEN, SHORT, events_with, harmful, painted, poisoned
from tui_story import source_of

from meta_tui.errors import CassetteMiss
from meta_tui.evaluation import evaluate
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import Recording
from meta_tui.store import RunSummary
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.artifacts import ArtifactsScreen
from meta_tui.tui.screens.ask import AskScreen
from meta_tui.tui.screens.chain import ChainScreen
from meta_tui.tui.screens.compare import CompareScreen
from meta_tui.tui.screens.dialogs import Choice, Page, Say, Word
from meta_tui.tui.screens.evaluation import EvaluationScreen
from meta_tui.tui.screens.evaluations import EvaluationsScreen, Found, found
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.screens.knowledge import KnowledgeScreen
from meta_tui.tui.screens.missing import MissingScreen
from meta_tui.tui.screens.paste import PasteScreen
from meta_tui.tui.screens.program import ProgramScreen
from meta_tui.tui.screens.reader import ReaderScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.screens.samples import Offer, SamplesScreen
from meta_tui.tui.state import EMPTY, apply_all
from meta_tui.tui.widgets.pane import Pane


def run(text):
    return RunScreen(source_of(events_with(text)), title=text, speed=0, fps=0)


def at_view(screen, view):
    screen.view = view
    return screen


def inspector(text, view):
    return at_view(InspectScreen(apply_all(EMPTY, events_with(text)).effects, 2, text), view)


def compared(text):
    events, other = events_with(text), events_with(text + "x")
    return CompareScreen(Recording(events[0], events), Recording(other[0], other))


def home(text):
    one = RunSummary(
        text, text, text, text, text, text, "live", text[:200], text, text, text[:200], note=text
    )
    return HomeScreen([one])


def asked(text):
    from meta_tui.config import Settings

    return AskScreen(Settings(), text)


def artifacts(text):
    events = poisoned("staged-note-repair", text)
    return ArtifactsScreen(lambda: (events, apply_all(EMPTY, events).effects), text)


def knowledge(text):
    return KnowledgeScreen(lambda: poisoned("mc2-digits", text), text)


def program(text):
    return ProgramScreen(apply_all(EMPTY, events_with(text)).effects[2], text)


def chain(text):
    return ChainScreen(shown(linear(whole(text))), text)


def whole(text):
    """Without half characters, which records and requests never hold."""
    return text.encode("utf-8", "replace").decode()


FOLDERS = tempfile.TemporaryDirectory()


@cache
def evaluated(text, down):
    """The folder of an evaluation of a model of this name that says or fails with this text."""
    folder = Path(tempfile.mkdtemp(dir=FOLDERS.name))
    answers = ScriptedModel(lambda call: f'>> FINAL ANSWER:\n"""\n{text}\n"""')
    doors = Doors(small.down(text) if down else answers)
    planned = small.planned(folder, ("standard", "zero_shot_cot"), small.loaders.samples("words", 2), text)
    small.finished(evaluate.evaluate(evaluate.Bench(folder, {text: doors}), planned))
    return folder


def evaluation(text, view=0):
    text = whole(text)
    return at_view(EvaluationScreen(evaluated(text, view == 4), every=0), view)


def evaluations(text):
    folder = evaluated(whole(text), False)
    return EvaluationsScreen(lambda: [found(folder), Found(Path(text.replace("\0", "")), None, problem=text)])


SCREENS = {
    "run": run,
    "home": home,
    "compare": compared,
    "ask": asked,
    "paste": lambda text: PasteScreen(text, 1),
    "choice": lambda text: Choice(text, text, (text.replace("\n", " "),)),
    "word": lambda text: Word(text, text, text),
    "page": lambda text: Page(text, text, text),
    "say": lambda text: Say(text, text),
    "reader": ReaderScreen,
    "program": program,
    "chain": chain,
    "evaluation": evaluation,
    "evaluations": evaluations,
    "samples": lambda text: SamplesScreen([Offer(text, text, text)]),
    "missing": lambda text: MissingScreen(CassetteMiss(text, text, f"{text}x", 3), text),
    **{f"artifacts-{view}": (lambda text, view=view: at_view(artifacts(text), view)) for view in range(4)},
    **{f"knowledge-{view}": (lambda text, view=view: at_view(knowledge(text), view)) for view in range(4)},
    **{f"chain-{view}": (lambda text, view=view: at_view(chain(text), view)) for view in range(5)},
    **{f"evaluation-{view}": (lambda text, view=view: evaluation(text, view)) for view in range(1, 5)},
    **{f"compare-{view}": (lambda text, view=view: at_view(compared(text), view)) for view in (1, 2)},
    **{f"inspect-{view}": (lambda text, view=view: inspector(text, view)) for view in range(5)},
}


async def assert_inert(name, text, size=(100, 30)):
    app = MetaApp(lambda: SCREENS[name](text), fps=0)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        screen = app.screen
        await app.workers.wait_for_complete()
        await pilot.pause()
        if isinstance(screen, EvaluationScreen):
            assert screen.standing is not None
        if isinstance(screen, RunScreen):
            screen.flush()
            await pilot.pause()
            assert screen.state.status == "answered"
        assert not harmful(app)
        for pane in screen.query(Pane):
            assert not FORBIDDEN.search("\n".join(pane.rows).replace("\n", ""))
            pane.scroll_top(0)
        await pilot.pause()
        assert not harmful(app)
        await pilot.click(offset=(8, 5))
        await pilot.press("tab", "down", "pagedown", "up")
        await pilot.pause()
        assert app.is_running
        assert app.screen is screen


@pytest.mark.parametrize("name", SCREENS)
async def test_hostile_text_is_inert_on_every_screen(name):
    await assert_inert(name, SHORT)


@pytest.mark.parametrize("name", ["wide line", "zalgo", "surrogate", "newlines"])
async def test_long_texts_are_shown(name):
    await assert_inert("run", CORPUS[name])


async def test_markup_is_shown_as_it_is_written():
    text = CORPUS["markup"]
    app = MetaApp(lambda: run(text), fps=0)
    async with app.run_test(size=(160, 40)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        await pilot.pause()
        assert text in app.screen.meta.text
        assert "[@click=app.quit]press[/]" in painted(app)
        for x in range(2, 70, 3):
            await pilot.click("#meta", offset=(x, 3))
        assert app.is_running


async def test_copying_hostile_text_never_breaks_out_of_its_code():
    """What goes to the clipboard is base64, whatever the text is."""
    text = CORPUS["osc 52 clipboard"] + CORPUS["surrogate"]
    app = MetaApp(lambda: inspector(text, 1), fps=0)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert app.is_running
        assert "cm0gLXJmIH4=" in app.clipboard


@pytest.mark.parametrize("body", ["{", '{"answer": "\\ud83d"}', "[]", "null", '{"rules": 3}'])
async def test_notes_that_cannot_be_read_are_said_and_end_nothing(body):
    from msgspec.structs import replace

    from meta_tui.events import Stored

    events = [
        replace(event, body=body) if isinstance(event, Stored) else event
        for event in poisoned("mc2-digits", "words")
    ]
    for screen in (KnowledgeScreen(lambda: events, "run"), ArtifactsScreen(lambda: (events, ()), "run")):
        app = MetaApp(lambda screen=screen: screen, fps=0)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            await pilot.press("v", "j", "v")
            assert app.is_running
            if isinstance(screen, KnowledgeScreen):
                assert "cannot be read" in painted(app)
