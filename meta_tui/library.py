"""The library's front door: solve, replay and read runs from Python.

Thin: it joins a session, a method and a source. Functions exist as coroutines (`solve_async`), as
a stream of events (`solve_events`) and, for scripts and notebooks, as plain functions that run a
loop of their own: where a loop is running already, as in a notebook, that is a loop in a thread, and
the running one stands still until the answer is there.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace as _replace_plan
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from meta_tui import config, session, sources, store
from meta_tui.errors import UsageError
from meta_tui.events import AnyEvent
from meta_tui.experts import Expert, Given, given
from meta_tui.journal import Emit
from meta_tui.methods import settings_of
from meta_tui.models.base import Model
from meta_tui.run import Method, RunResult, Stop
from meta_tui.runlog import Recording, read
from meta_tui.sources import RecordMode

T = TypeVar("T")

PATIENCE = 0.1
"""Seconds after which a waiting loop looks whether it was interrupted."""


async def solve_async(
    question: str,
    *,
    model: Model | str = "",
    method: Method | str = "",
    settings: Mapping[str, Any] | None = None,
    log: str | Path | None = None,
    cassette: str | Path | None = None,
    record: RecordMode = "once",
    on_event: Emit | Sequence[Emit] | None = None,
    stop: Stop | None = None,
    experts: Mapping[str, Given] | None = None,
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
        on_event: told of every event as it happens; of several, one that fails is dropped alone.
        stop: ends the run from outside.
        experts: special experts of meta-prompting by name or pattern ("Expert Search"): a function
            from the instruction to text, a model, the name of one, a program of the sandbox, or the
            fields of an `[experts]` table; None: those of the settings files.
        options: settings by name, as in `meta_tui.config.Settings` (max_calls, temperature, ...).

    Returns:
        how the run ended; `answer` is None where there is none.

    Raises:
        UsageError: a setting or a value that does not exist.
        ReplayError: a cassette was followed and the run is not the recorded one.
        RecordError: the log cannot be written.
    """
    planned, live = prepare(
        question, model=model, method=method, settings=settings, experts=experts, **options
    )
    if log is not None:
        planned = _replace_plan(planned, log=Path(log))
    consumers = _consumers(on_event)
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


def prepare(
    question: str,
    *,
    model: Model | str = "",
    method: Method | str = "",
    settings: Mapping[str, Any] | None = None,
    experts: Mapping[str, Given] | None = None,
    **options: Any,
) -> tuple[session.Plan, session.Session]:
    """What `solve_async` is about to run, and the doors that it would use, still closed.

    Raises:
        UsageError: a setting or a value that does not exist.
    """
    if not isinstance(model, str) and not callable(getattr(model, "answer", None)):
        raise UsageError(
            f"model is a name or has `async def answer(call, tell)`; {type(model).__name__} has none"
        )
    named = model if isinstance(model, str) else type(model).__name__
    own = None if isinstance(method, str) else method
    chosen = config.resolve(
        {"model": named or None, "method": method if own is None and method else None, **options},
        given_on="the arguments",
    )
    cast = None if experts is None else given(experts)
    live = session.Session(chosen.settings, model=None if isinstance(model, str) else model, cast=cast)
    planned = session.plan(
        question,
        _runnable(chosen.settings, own),
        method_settings=settings if own is None else None,
        cast=cast if own is None else (),
    )
    if own is not None:
        own = _with_experts(own, cast)
        started = msgspec.structs.replace(planned.started, method=own.id, settings=settings_of(own))
        planned = session.Plan(own, started, planned.log)
    return planned, live


def _with_experts(own: Method, cast: Iterable[Expert] | None) -> Method:
    """A method of the caller's own, told of the experts that were given."""
    if not cast:
        return own
    if not isinstance(own, msgspec.Struct) or not hasattr(own, "experts"):
        raise UsageError(f"method {own.id} has no setting `experts`; leave experts out")
    changed: Any = msgspec.structs.replace(own, experts=tuple(expert.special for expert in cast))
    return changed  # type: ignore[no-any-return]


def _runnable(settings: config.Settings, own: Method | None) -> config.Settings:
    """Settings whose method exists even where the method is the caller's own."""
    return settings if own is None else msgspec.structs.replace(settings, method="standard")


def solve(question: str, **arguments: Any) -> RunResult:
    """`solve_async` in a loop of its own; see there.

    Where a loop is running (a notebook), the run has its loop in a thread, `on_event` is called
    there, and the caller's loop waits: in a program that is asynchronous itself, await
    `solve_async`. Ctrl-C stops the run, which then stands in its log as cancelled.
    """
    return in_loop(solve_async(question, **arguments))


async def solve_events(question: str, **arguments: Any) -> AsyncGenerator[AnyEvent, None]:
    """The events of `solve_async` as they happen: `async for event in solve_events(...)`.

    The run goes on while the loop's body works, and its last event is `RunFinished`. Whoever leaves
    the loop early stops the run, at the latest when the generator is closed (`contextlib.aclosing`
    does it at once); it stands in its log as cancelled and can be resumed.

    Args:
        question: what is asked.
        arguments: as for `solve_async`; an `on_event` is told of every event as well.

    Raises:
        MetaTuiError: what `solve_async` raises, after the events that came before it.
    """
    events: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
    told = [events.put_nowait, *_consumers(arguments.pop("on_event", None))]
    run = asyncio.create_task(solve_async(question, on_event=told, **arguments))
    run.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await run
    finally:
        if not run.done():
            run.cancel()
            await asyncio.wait({run})


def _consumers(on_event: Emit | Sequence[Emit] | None) -> list[Emit]:
    if on_event is None:
        return []
    return [on_event] if callable(on_event) else list(on_event)


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
    return in_loop(replay_async(path, **arguments))


def load(path: str | Path) -> Recording:
    """A recorded run: its first event, its events with their lines, its answer.

    Raises:
        LogError: the log is damaged.
    """
    return read(store.find(str(path)))


def cassettes() -> Iterable[Path]:
    """The recorded runs that come with meta-tui."""
    return store.logs_in(store.shipped("cassettes"))


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work in a loop of its own: here, or in a thread where this one runs a loop."""
    caller = _running_task()
    if caller is None:
        return asyncio.run(work)
    found: Future[T] = Future()
    running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()
    threading.Thread(target=_own_loop, args=(work, found, running), name="meta-tui run", daemon=True).start()
    try:
        return _waited(found, caller[0])
    except (KeyboardInterrupt, asyncio.CancelledError):
        loop, task = running.result()
        if not found.done():
            loop.call_soon_threadsafe(task.cancel)
        wait([found])
        raise


def _running_task() -> tuple[asyncio.Task[Any] | None] | None:
    """The task that runs here, if it is one; None where no loop runs."""
    try:
        return (asyncio.current_task(asyncio.get_running_loop()),)
    except RuntimeError:
        return None


def _own_loop(
    work: Coroutine[Any, Any, T],
    found: Future[T],
    running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]],
) -> None:
    async def here() -> T:
        task = asyncio.current_task()
        assert task is not None
        running.set_result((asyncio.get_running_loop(), task))
        return await work

    try:
        found.set_result(asyncio.run(here()))
    except BaseException as error:  # noqa: BLE001 - a worker boundary: raised by whoever waits
        found.set_exception(error)


def _waited(found: Future[T], caller: asyncio.Task[Any] | None) -> T:
    """The result; under `asyncio.run` Ctrl-C only marks the task that waits here as cancelled."""
    before = caller.cancelling() if caller else 0
    while not wait([found], timeout=PATIENCE).done:
        if caller and caller.cancelling() > before:
            raise asyncio.CancelledError
    return found.result()


__all__: list[str] = ["cassettes", "load", "replay", "replay_async", "solve", "solve_async", "solve_events"]
