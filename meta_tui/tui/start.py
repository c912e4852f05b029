"""Starting runs from the app: solve, follow up, fork, resume, as sources for the run screen.

`session` picks the model and the layers around it; this module only says what is to be run and
where it is written. Nothing of a provider is imported before the first call of a live run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from meta_tui import config, runlog, session, sources, store
from meta_tui.config import Settings
from meta_tui.errors import LogError, UsageError
from meta_tui.events import AnyEvent, CodeFinished, Embedded, Failed, Replied, to_json
from meta_tui.models.copy_paste import Ask
from meta_tui.run import RunResult, Stop
from meta_tui.runlog import Recording
from meta_tui.tui.origin import Emit, Source
from meta_tui.tui.state import EMPTY, RunState, apply_all


@dataclass(frozen=True, slots=True)
class Start:
    """A live run that can begin.

    Attributes:
        source: where its events come from.
        log: where it is recorded.
        title: its name, for people.
        base: what its log holds already; what comes on top of it is new and may cost.
    """

    source: Source
    log: Path
    title: str
    base: RunState = EMPTY


@dataclass(slots=True)
class Launcher:
    """Makes live runs under the settings in force.

    Args:
        ask: shows a prompt and gives the pasted reply, for `copy-paste`.
        warn: told what a person should know, such as a missing sandbox layer.
    """

    ask: Ask | None = None
    warn: Callable[[str], None] | None = None

    def settings(self, **flags: Any) -> Settings:
        """The settings in force, with what a person chose on a screen.

        Raises:
            UsageError: a value of the wrong kind.
        """
        config.load_env_file()
        return config.resolve(
            {name: value for name, value in flags.items() if value not in ("", None)}
        ).settings

    def solve(
        self, question: str, settings: Settings, *, sample: str = "", follows: Path | None = None
    ) -> Start:
        """A new run of a question, or a follow-up of a run that answered.

        Raises:
            UsageError: no question, no model or no script that can be read.
        """
        session.check_model(settings)
        continues = runlog.read(follows) if follows else None
        planned = session.plan(question, settings, sample=sample, continues=continues)

        async def work(live: session.Session, emit: Emit, stop: Stop) -> RunResult:
            return await session.solve(planned, live, [emit], stop)

        return Start(self._source(settings, work), planned.log, planned.run)

    def fork(self, path: Path, line: int, settings: Settings, edit: str | None = None) -> Start:
        """A new run that holds another's beginning and goes on differently from a line of its log.

        Raises:
            UsageError: no model, or no such line.
        """
        settings = self._with_model_of(path, settings)
        session.check_model(settings)
        new = store.new_run_id()
        log = store.home().runs / f"{new}.jsonl"
        sources.fork(runlog.read(path), path.stem, line, log, new, edit=edit, origin=session.origin(settings))
        return Start(
            self._source(settings, _resuming(log)), log, f"{new}, fork of {path.stem}", recorded(log)
        )

    def resume(self, path: Path, settings: Settings) -> Start:
        """The rest of a run that did not end by itself.

        Raises:
            UsageError: it did.
        """
        settings = self._with_model_of(path, settings)
        sources.check_log(path)
        return Start(self._source(settings, _resuming(path)), path, path.stem, recorded(path))

    def _with_model_of(self, path: Path, settings: Settings) -> Settings:
        if settings.model:
            return settings
        return msgspec.structs.replace(settings, model=runlog.read(path).started.model)

    def _source(
        self,
        settings: Settings,
        work: Callable[[session.Session, Emit, Stop], Awaitable[RunResult]],
    ) -> Source:
        async def source(emit: Emit, stop: Stop) -> RunResult:
            live = session.Session(settings, ask=self.ask, warn=self.warn)
            try:
                return await work(live, emit, stop)
            finally:
                await live.aclose()

        return source


def _resuming(log: Path) -> Callable[[session.Session, Emit, Stop], Awaitable[RunResult]]:
    async def work(live: session.Session, emit: Emit, stop: Stop) -> RunResult:
        return await session.resume(log, live, [emit], stop)

    return work


def recorded(log: Path) -> RunState:
    """The state at the end of a log."""
    return apply_all(EMPTY, runlog.read(log).events)


def lines_of(path: Path) -> dict[tuple[str, int], int]:
    """(span, n) -> line of the last outcome of a call, as `fork --at` takes it; empty where the log
    cannot be read (yet)."""
    try:
        recording = runlog.read(path)
    except (LogError, OSError):
        return {}
    pairs = zip(recording.events, recording.lines, strict=True)
    return {(event.span, event.n): line for event, line in pairs if isinstance(event, OUTCOMES)}


OUTCOMES = (Replied, CodeFinished, Embedded, Failed)
"""What a fork may begin at."""


def line_of(recording: Recording, reply: Replied) -> int:
    """The line of a reply in its log.

    Raises:
        UsageError: the log does not hold it.
    """
    for event, line in zip(recording.events, recording.lines, strict=True):
        if isinstance(event, Replied) and (event.span, event.n, event.id) == (reply.span, reply.n, reply.id):
            return line
    raise UsageError("that reply is not in the log yet; wait until it is written")


def line_reached(recording: Recording, told: Iterable[AnyEvent]) -> int:
    """The first line of a log that a replay did not come to, given the events that it told.

    Raises:
        UsageError: it came to all of them.
    """
    left = Counter(to_json(event) for event in told)
    for event, line in zip(recording.events, recording.lines, strict=True):
        text = to_json(event)
        if not left[text]:
            return line
        left[text] -= 1
    raise UsageError("the replay came to the end of its log: there is nothing left to ask")
