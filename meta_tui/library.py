"""The library's front door: solve, replay and read runs from Python.

Thin: it joins a session, a method and a source. Functions exist as coroutines and, for scripts,
as plain functions of the same name that run a loop of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import replace as _replace_plan
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from meta_tui import config, session, sources, store
from meta_tui.errors import UsageError
from meta_tui.journal import Emit
from meta_tui.methods import settings_of
from meta_tui.models.base import Model
from meta_tui.run import Method, RunResult, Stop
from meta_tui.runlog import Recording, read
from meta_tui.sources import RecordMode

T = TypeVar("T")


async def solve_async(
    question: str,
    *,
    model: Model | str = "",
    method: Method | str = "",
    settings: Mapping[str, Any] | None = None,
    log: str | Path | None = None,
    cassette: str | Path | None = None,
    record: RecordMode = "once",
    on_event: Emit | None = None,
    stop: Stop | None = None,
    **options: Any,
) -> RunResult:
    """Solve one question and record it.

    Args:
        question: what is asked.
        model: a name as for `meta-tui solve --model`, or any object with `answer(call, tell)`.
        method: a method id, or a method of your own.
        settings: settings of the method that differ from its defaults.
        log: where the run log goes; default: the user's folder.
        cassette: a run log to follow instead, by `record`: none, once, new_episodes or all.
        on_event: told of every event as it happens.
        stop: ends the run from outside.
        options: settings by name, as in `meta_tui.config.Settings` (max_calls, temperature, ...).

    Returns:
        how the run ended; `answer` is None where there is none.

    Raises:
        UsageError: a setting or a value that does not exist.
        ReplayError: a cassette was followed and the run is not the recorded one.
        RecordError: the log cannot be written.
    """
    named = model if isinstance(model, str) else type(model).__name__
    own = None if isinstance(method, str) else method
    chosen = config.resolve(
        {"model": named or None, "method": method if own is None and method else None, **options}
    )
    live = session.Session(chosen.settings, model=None if isinstance(model, str) else model)
    planned = session.plan(
        question, _runnable(chosen.settings, own), method_settings=settings if own is None else None
    )
    if own is not None:
        started = msgspec.structs.replace(planned.started, method=own.id, settings=settings_of(own))
        planned = session.Plan(own, started, planned.log)
    if log is not None:
        planned = _replace_plan(planned, log=Path(log))
    consumers = [on_event] if on_event else []
    try:
        if cassette is None:
            return await session.solve(planned, live, consumers, stop)
        result, _ = await sources.with_cassette(
            Path(cassette),
            record,
            planned.method,
            planned.started,
            live.doors(),
            consumers=consumers,
            stop=stop,
        )
        return result
    finally:
        await live.aclose()


def _runnable(settings: config.Settings, own: Method | None) -> config.Settings:
    """Settings whose method exists even where the method is the caller's own."""
    return settings if own is None else msgspec.structs.replace(settings, method="standard")


def solve(question: str, **arguments: Any) -> RunResult:
    """`solve_async` in a loop of its own; see there."""
    return _run(solve_async(question, **arguments))


async def replay_async(
    path: str | Path, *, on_event: Emit | None = None, method: Method | None = None
) -> RunResult:
    """Run a recorded run again against its log; nothing is asked of anybody.

    Args:
        path: a log, a run id, a demo's name, or `last`.
        on_event: told of every event.
        method: the method that was recorded, where it is not one of meta-tui's own.

    Raises:
        LogError: the log is damaged.
        ReplayError: the run is not the recorded one; the message says where.
    """
    recording = read(store.find(str(path)))
    return await sources.replay(recording, consumers=[on_event] if on_event else [], method=method)


def replay(path: str | Path, **arguments: Any) -> RunResult:
    """`replay_async` in a loop of its own; see there."""
    return _run(replay_async(path, **arguments))


def load(path: str | Path) -> Recording:
    """A recorded run: its first event, its events with their lines, its answer.

    Raises:
        LogError: the log is damaged.
    """
    return read(store.find(str(path)))


def cassettes() -> Iterable[Path]:
    """The recorded runs that come with meta-tui."""
    return store.logs_in(store.shipped("cassettes"))


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise UsageError("a loop is running here; await the function whose name ends in _async")


__all__: list[str] = ["cassettes", "load", "replay", "replay_async", "solve", "solve_async"]
