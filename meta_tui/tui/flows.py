"""What a person asks for, step by step: open, ask, fork, follow up, resume, replay, compare, export.

Each flow may open dialogs and wait for them; an error that it raises is shown by the app. Flows
decide nothing about runs: `start` makes live ones, `origin` recorded ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec

from meta_tui import runlog, store
from meta_tui.config import Settings
from meta_tui.errors import UsageError
from meta_tui.events import Replied
from meta_tui.tui import handing
from meta_tui.tui.app import MetaApp
from meta_tui.tui.origin import playback, replayed
from meta_tui.tui.screens.ask import AskScreen
from meta_tui.tui.screens.compare import CompareScreen, recordings
from meta_tui.tui.screens.dialogs import Choice, Page, Word
from meta_tui.tui.screens.paste import PasteScreen
from meta_tui.tui.screens.run import STAY_OR_LEAVE, STILL_RUNNING, RunScreen
from meta_tui.tui.start import Launcher, Start, line_of, line_reached

Flow = Callable[[MetaApp, Path | None, RunScreen | None], Coroutine[Any, Any, None]]

FORK_CHOICES = ("Draw again: ask for another reply at this place", "Edit this reply, then go on")
LIVE_CHOICES = ("Go live: ask a model from this request on", "Stay with what was recorded")
FROM_HERE = "The replay asked for something that was not recorded."
WHICH_MODEL = (
    "Which model goes on? provider/name as litellm names it, copy-paste to take prompts to a web chat, "
    "or script:FILE. It can be set for good with META_TUI_MODEL."
)
KEPT = "What came before it is kept and costs nothing; what follows is asked anew. The run itself stays as it is."


def launcher(app: MetaApp) -> Launcher:
    """Makes live runs; prompts of copy-paste runs are shown by this app."""

    async def ask(prompt: str) -> str:
        return await ask_person(app, prompt)

    return Launcher(ask, lambda words: handing.note(app, words, warn=True))


async def open_run(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Play a recorded run."""
    path = chosen(path)
    app.push_screen(RunScreen(playback(path), title=path.stem, log=path, fps=app.fps))


async def new(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Ask a new question."""
    make = launcher(app)
    wish = await app.push_screen_wait(AskScreen(make.settings()))
    if wish is not None:
        settings = make.settings(
            method=wish.method, model=wish.model, base_url=wish.base_url, max_calls=wish.max_calls
        )
        watch_live(app, make.solve(wish.question, settings, sample=wish.sample))


async def fork(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Go on differently from the call that is meant.

    Raises:
        UsageError: no call was answered yet, or no model.
    """
    path = chosen(path)
    effect = screen.answered if screen else None
    if effect is None or not isinstance(effect.outcome, Replied):
        raise UsageError("go to a call that was answered first: h and l step from call to call")
    line = line_of(runlog.read(path), effect.outcome)
    place = f"Call {effect.number}, {effect.name or 'the model'}, round {effect.round or '-'}. {KEPT}"
    choice = await app.push_screen_wait(Choice("fork", place, FORK_CHOICES))
    if choice is None:
        return
    edit = None
    if choice == 1:
        page = Page("edit the reply", place, effect.outcome.reply.text, "go on with it")
        edit = await app.push_screen_wait(page)
        if edit is None:
            return
    settings = await model_for(app, path)
    if settings is not None:
        watch_live(app, launcher(app).fork(path, line, settings, edit))


async def go_live(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Ask a model from the request on that a replay did not find.

    Raises:
        UsageError: no model.
    """
    path = chosen(path)
    line = line_reached(runlog.read(path), screen.tape.events if screen else ())
    choice = await app.push_screen_wait(Choice("go live from here", f"{FROM_HERE} {KEPT}", LIVE_CHOICES))
    settings = await model_for(app, path) if choice == 0 else None
    if settings is not None:
        watch_live(app, launcher(app).fork(path, line, settings))


async def follow_up(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """A further question of a run."""
    path = chosen(path)
    words = "A further question of this run. Everything that was said so far is kept."
    question = await app.push_screen_wait(Page("follow up", words, "", "ask"))
    if not question or not question.strip():
        return
    settings = await model_for(app, path)
    if settings is not None:
        settings = msgspec.structs.replace(settings, method=runlog.read(path).started.method)
        watch_live(app, launcher(app).solve(question.strip(), settings, follows=path))


async def resume(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Go on with a run that did not end by itself."""
    path = chosen(path)
    settings = await model_for(app, path)
    if settings is not None:
        watch_live(app, launcher(app).resume(path, settings))


async def replay(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Run the recorded method again against its log."""
    path = chosen(path)
    app.push_screen(RunScreen(replayed(path), badge="REPLAY", title=path.stem, log=path, fps=app.fps))


async def compare(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Mark a run, or compare it with the marked one; a fork is compared with its parent."""
    path = chosen(path)
    parent = runlog.read(path).started.parent
    if app.marked is None and parent is not None:
        app.marked = store.find(parent.run)
    if app.marked is None or app.marked == path:
        app.marked = path
        handing.note(app, f"{path.stem} is marked; d on another run compares the two")
        return
    left, app.marked = app.marked, None
    app.push_screen(CompareScreen(*recordings(left, path)))


async def export(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Write a run to share it."""
    from meta_tui.tui import exporting

    path = chosen(path)
    kinds = list(exporting.FORMATS)
    labels = [f"{kind:<10} {exporting.FORMATS[kind]}" for kind in kinds]
    choice = await app.push_screen_wait(Choice("export", f"{path.stem} as", labels))
    if choice is not None:
        target = await exporting.write(path, kinds[choice])
        handing.note(app, f"written to {target.path}" + (f". {target.warning}" if target.warning else ""))


async def quit_(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Leave although a run is under way, if that is what the person wants."""
    choice = await app.push_screen_wait(Choice("still running", STILL_RUNNING, STAY_OR_LEAVE))
    if choice == 1:
        for going in app.going:
            going.stop.after_call()
    elif choice == 2:
        await app.leave_now()


async def evaluations(app: MetaApp, path: Path | None, screen: RunScreen | None) -> None:
    """Choose an evaluation to look at."""
    from meta_tui.tui.screens.evaluations import EvaluationsScreen

    app.push_screen(EvaluationsScreen())


FLOWS: dict[str, Flow] = {
    "open": open_run,
    "new": new,
    "fork": fork,
    "go_live": go_live,
    "follow_up": follow_up,
    "resume": resume,
    "replay": replay,
    "compare": compare,
    "export": export,
    "evaluations": evaluations,
    "quit": quit_,
}
"""What is asked -> what is done."""


def chosen(path: Path | None) -> Path:
    """The run that is meant.

    Raises:
        UsageError: none is.
    """
    if path is None:
        raise UsageError("choose a run first; this one has no log")
    return path


def watch_live(app: MetaApp, start: Start) -> None:
    """Watch a run that happens now."""
    screen = RunScreen(
        start.source, badge="LIVE", title=start.title, log=start.log, base=start.base, fps=app.fps
    )
    app.push_screen(screen)


async def model_for(app: MetaApp, path: Path) -> Settings | None:
    """The settings with a model that can really be asked; None if the person gives none."""
    settings = launcher(app).settings()
    started = runlog.read(path).started
    if settings.model:
        return settings
    if started.origin in ("live", "copy-paste"):
        return msgspec.structs.replace(settings, model=started.model)
    name = await app.push_screen_wait(Word("model", WHICH_MODEL))
    return msgspec.structs.replace(settings, model=name.strip()) if name and name.strip() else None


async def ask_person(app: MetaApp, prompt: str) -> str:
    """The reply that a person pastes for a prompt.

    Raises:
        EOFError: the person will give none.
    """
    app.prompts += 1
    given: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
    screen = PasteScreen(prompt, app.prompts)
    app.push_screen(screen, lambda reply: None if given.done() else given.set_result(reply))
    try:
        reply = await given
    except asyncio.CancelledError:
        if app.screen is screen:
            screen.dismiss(None)
        raise
    if reply is None:
        raise EOFError
    return reply
