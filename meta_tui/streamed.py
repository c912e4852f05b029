"""Streams from Python: many questions in one run whose method carries what it learns.

Beside `library`, which solves one question. A stream is one run with one log: it is stopped, resumed,
replayed and looked at like any other, and what it learned is handed to a later one. What this is not:
an evaluation, which compares methods on many runs (`evaluation`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from meta_tui import config, library, session, sources, store
from meta_tui.errors import UsageError
from meta_tui.events import Answered, AnyEvent, SpanStarted, StreamItem
from meta_tui.journal import Emit
from meta_tui.methods import method_class
from meta_tui.methods.carried import Carried, carries, from_json, left_behind
from meta_tui.methods.field import same_answer
from meta_tui.models.base import Model
from meta_tui.run import Doors, RunResult, Stop
from meta_tui.runlog import read
from meta_tui.tasks import Sample

OWN = "own"
"""The task in the names of questions that somebody brings: `own:0`, `own:1`, ..."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""What a name of imported knowledge looks like."""

Question = str | tuple[str, str]
"""A question, alone or with its right answer."""


@dataclass(frozen=True, slots=True)
class StreamResult:
    """How a stream ended.

    Attributes:
        run: as for one question; `run.answer` is None.
        answers: name of a sample -> its answer, None where there is none; of several passes the last.
        knowledge: what the run left behind for a later one; None where its method carries nothing.
        log: the run's log.
    """

    run: RunResult
    answers: dict[str, str | None]
    knowledge: Carried | None
    log: Path


async def solve_stream_async(
    questions: Sequence[Question] | Sequence[Sample],
    *,
    model: Model | str = "",
    method: str = "mc2",
    settings: Mapping[str, Any] | None = None,
    knowledge: Carried | str | Path | None = None,
    log: str | Path | None = None,
    on_event: Emit | None = None,
    stop: Stop | None = None,
    **options: Any,
) -> StreamResult:
    """Solve the questions of a stream in one run, in their order, and record it.

    Args:
        questions: texts, pairs of a text and its right answer, or samples of a task. Right answers
            decide whether an attempt was right, and nothing else: they reach no prompt and no log.
            Without them a method that asks for grades goes by its own verdict (`label_source=none`).
        model: a name as for `meta-tui solve --model`, or any object with `answer(call, tell)`.
        method: the id of a method that takes streams.
        settings: settings of the method that differ from its defaults.
        knowledge: what an earlier run left behind: `StreamResult.knowledge`, a file, or a name that
            was imported.
        log: where the run log goes; default: the user's folder.
        on_event: told of every event as it happens.
        stop: ends the run from outside; `meta-tui resume` goes on with it.
        options: settings by name, as in `meta_tui.config.Settings` (max_calls, temperature, ...).

    Raises:
        UsageError: no question, a setting or value that does not exist, a method that takes one
            question only, knowledge of another method.
        RecordError: the log cannot be written.
    """
    if not questions:
        raise UsageError("there is no question; a stream has at least one")
    if not getattr(method_class(method), "streams", False):
        raise UsageError(f"{method} takes one question; for a stream give method mc2, cot or bot")
    named = model if isinstance(model, str) else type(model).__name__
    chosen = config.resolve(
        {"model": named or None, "method": method, **options}, given_on="the arguments"
    ).settings
    live = session.Session(chosen, model=None if isinstance(model, str) else model)
    given = knowledge if isinstance(knowledge, Carried | None) else find_knowledge(str(knowledge))
    planned = _planned(questions, chosen, dict(settings or {}), given)
    planned = replace(planned, log=Path(log)) if log is not None else planned
    try:
        found = _Answers(planned.started.stream)
        consumers = [found.take, *([on_event] if on_event else [])]
        result = await _solved(planned, live, _golds(questions), consumers, stop)
    finally:
        await live.aclose()
    left = left_behind(read(planned.log), planned.log.stem) if carries(method) else None
    return StreamResult(result, found.answers, left, planned.log)


def solve_stream(questions: Sequence[Question] | Sequence[Sample], **arguments: Any) -> StreamResult:
    """`solve_stream_async` in a loop of its own, as `library.solve` has one; see there."""
    return library.in_loop(solve_stream_async(questions, **arguments))


def find_knowledge(name: str) -> Carried:
    """The knowledge that a person means: a file, or a name that was imported.

    Raises:
        UsageError: there is none of that name, or its file is damaged.
    """
    folder = store.home().knowledge
    kept = folder / f"{name}.json"
    path = kept if NAME.fullmatch(name) and kept.is_file() else Path(name)
    try:
        return from_json(path.read_bytes(), str(path))
    except OSError as error:
        names = sorted(p.stem for p in folder.glob("*.json")) if folder.is_dir() else []
        known = f"there are {', '.join(names)}" if names else "`meta-tui knowledge export RUN` makes one"
        raise UsageError(f"no file or name {name!r} of knowledge; {known}") from error


def _planned(
    questions: Sequence[Question] | Sequence[Sample],
    settings: config.Settings,
    own: dict[str, Any],
    knowledge: Carried | None,
) -> session.Plan:
    samples = [one for one in questions if isinstance(one, Sample)]
    if len(samples) == len(questions):
        return session.plan("", settings, method_settings=own, stream=samples, knowledge=knowledge)
    if samples:
        raise UsageError("a stream holds samples of tasks or questions of your own, not both")
    items = tuple(StreamItem(f"{OWN}:{n}", _text(one)) for n, one in enumerate(questions))  # type: ignore[arg-type]
    if not _golds(questions) and "label_source" in method_class(settings.method).__struct_fields__:
        own = {"label_source": "none", **own}
    title = f"A stream of {len(items)} questions"
    planned = session.plan(title, settings, method_settings=own, knowledge=knowledge)
    return replace(planned, started=msgspec.structs.replace(planned.started, stream=items))


def _text(question: Question) -> str:
    return question if isinstance(question, str) else question[0]


def _golds(questions: Sequence[Question] | Sequence[Sample]) -> dict[str, str]:
    return {f"{OWN}:{n}": one[1] for n, one in enumerate(questions) if isinstance(one, tuple)}


async def _solved(
    planned: session.Plan,
    live: session.Session,
    golds: Mapping[str, str],
    consumers: Sequence[Emit],
    stop: Stop | None,
) -> RunResult:
    if planned.samples:
        return await session.solve(planned, live, consumers, stop)
    doors: Doors = replace(live.doors(), scorer=_Golds(golds))
    return await sources.live(
        planned.method,
        planned.started,
        doors,
        log=planned.log,
        consumers=consumers,
        stop=stop,
        fresh=live.fresh,
    )


@dataclass(frozen=True, slots=True)
class _Golds:
    """Grades answers by comparing them with the right ones; says right or wrong and no word more."""

    golds: Mapping[str, str]

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """(`same`, 1 or 0, "")."""
        return "same", float(sample in self.golds and same_answer(self.golds[sample], answer)), ""


class _Answers:
    """Notes the answer of every instance."""

    def __init__(self, items: Sequence[StreamItem]) -> None:
        self.answers: dict[str, str | None] = {item.sample: None for item in items}
        self._instances: dict[str, str] = {}

    def take(self, event: AnyEvent) -> None:
        """Read one event."""
        match event:
            case SpanStarted(role="instance"):
                self._instances[event.span] = event.name
                self.answers[event.name] = None
            case Answered() if event.span in self._instances:
                self.answers[self._instances[event.span]] = event.text
