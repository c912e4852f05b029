"""Run: the one door through which a method reaches models, code, time and randomness.

A method is given a `Run` and a question and never anything else, so caching, cassettes, budgets,
retries, streaming, logging and cancelling are written once, outside of it. A `Run` stands in one
span of one strand: `run.span(...)` opens a span inside it, `run.parallel(...)` opens strands.

What this is not: it knows no method, no provider and no file format. It has no clock; a method
that needs chance uses `run.random`, which is the same on every replay.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast
from weakref import WeakSet

from meta_tui.chat import (
    CodeResult,
    Message,
    Params,
    Program,
    Reply,
    Request,
    embed_key,
    request_key,
    score_key,
)
from meta_tui.errors import CallFailed, RecordError, ReplayError, Stopped, StrandBusy
from meta_tui.events import (
    FAILURE_KINDS,
    Answered,
    AnyEvent,
    BudgetChanged,
    CodeFinished,
    CodeStarted,
    Delta,
    Effect,
    Embedded,
    EmbedStarted,
    Failed,
    FailureKind,
    How,
    Rejected,
    Replied,
    Requested,
    Result,
    RoundStarted,
    RunFinished,
    RunStarted,
    Scored,
    ScoreStarted,
    SpanFinished,
    SpanStarted,
    SpanStatus,
    Status,
    Stored,
)
from meta_tui.journal import Journal
from meta_tui.models.base import Attempt, Call, CodeRunner, Embedder, Model, decode_vector, encode_vector
from meta_tui.runlog import run_params

T = TypeVar("T")


class Scorer(Protocol):
    """Whatever grades an answer for a method whose next step depends on the grade."""

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """(metric, value, feedback) of an answer to a sample."""
        ...


@dataclass(slots=True)
class Doors:
    """Whatever performs the effects of a run. A door that is None is closed."""

    model: Model | None = None
    code: CodeRunner | None = None
    embedder: Embedder | None = None
    scorer: Scorer | None = None


class Stop:
    """How a person, a signal or a budget ends a run: it reaches the method at its next effect."""

    def __init__(self) -> None:
        self.kind: str | None = None
        self._now = asyncio.Event()
        self._children: WeakSet[Stop] = WeakSet()

    def child(self) -> Stop:
        """A stop of its own that is also stopped whenever this one is."""
        child = Stop()
        self._children.add(child)
        if self.kind:
            (child.now if self.is_now else child.after_call)(self.kind)
        return child

    @property
    def is_now(self) -> bool:
        """Whether calls under way are to end as well."""
        return self._now.is_set()

    def after_call(self, kind: str = "cancelled") -> None:
        """Let the calls under way finish; the next effect is the last."""
        self.kind = self.kind or kind
        for child in self._children:
            child.after_call(kind)

    def now(self, kind: str = "cancelled") -> None:
        """End the calls under way as well."""
        self.kind = self.kind or kind
        self._now.set()
        for child in self._children:
            child.now(kind)

    async def guard(self, work: Awaitable[T]) -> T:
        """The result of the work, unless the stop comes first.

        Raises:
            Stopped: the stop came first; the work was cancelled.
        """
        task = asyncio.ensure_future(work)
        waiter = asyncio.ensure_future(self._now.wait())
        try:
            await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if task.cancelled():
            raise Stopped(self.kind or "cancelled", "stopped while the call was under way")
        return task.result()


@dataclass(slots=True)
class Solution:
    """What a method hands back.

    Attributes:
        answer: the answer; None where there is none.
        reason: the method's own word for how it ended.
        messages: the history that led there, if the method keeps one.
        status: how the run ended, where an answer (or none) does not say it: `completed` for a
            stream, `failed` for a method that gave up.
    """

    answer: str | None
    reason: str
    messages: tuple[Message, ...] = ()
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `messages` is the method's history; `calls` counts requests."""

    status: Status
    reason: str
    answer: str | None
    calls: int
    tokens: int
    started: RunStarted
    messages: tuple[Message, ...] = ()


Regrade = Callable[[str | None, str], Awaitable[Sequence[Scored]]]
"""From a run's answer and its last reply to grades (without `n`) that stand before its end. They
take no part in the run: the evaluation's own."""


class Method(Protocol):
    """A scaffold: a frozen value of settings that can solve a question through a `Run`."""

    @property
    def id(self) -> str:
        """The method id, as `meta-tui methods` lists it."""
        ...

    async def solve(self, run: Run, question: str) -> Solution:
        """Solve one question.

        Raises:
            CallFailed: an effect failed for good and the method does not go on.
        """
        ...


@dataclass(slots=True)
class _Strand:
    """A sequential thread, and what was spent and kept before it began and by itself. A number of
    the whole run would depend on how far other strands came, and so would not replay."""

    path: str
    busy: bool = False
    calls: int = 0
    tokens: int = 0
    best: str | None = None

    def child(self, index: int) -> _Strand:
        path = f"{self.path}.{index}" if self.path else str(index)
        return _Strand(path, calls=self.calls, tokens=self.tokens)

    def join(self, children: Sequence[_Strand]) -> None:
        """Take over what strands that ended have spent, and the last answer kept, by index."""
        calls, tokens = self.calls, self.tokens
        for child in children:
            self.calls += child.calls - calls
            self.tokens += child.tokens - tokens
            self.best = self.best if child.best is None else child.best


@dataclass(slots=True)
class _Span:
    id: str = ""
    role: str = "meta"
    name: str = ""
    sample: str = ""
    children: int = 0
    effects: int = 0


@dataclass(slots=True)
class _Core:
    """What all parts of one run share."""

    started: RunStarted
    journal: Journal
    doors: Doors
    stop: Stop
    params: Params
    fresh: bool = False
    history: tuple[Message, ...] = ()
    draws: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    chances: dict[str, random.Random] = field(default_factory=dict)
    last_reply: str = ""
    grade: Regrade | None = None


class Run:
    """A method's view of its run, bound to one span of one strand."""

    def __init__(self, core: _Core, span: _Span, strand: _Strand) -> None:
        self._core = core
        self._span = span
        self._strand = strand

    # What a method may know.

    @property
    def random(self) -> random.Random:
        """Chance that is the same on every replay: one sequence for each strand, seeded by the
        run's seed and the strand's path; spans of a strand draw from it in turn."""
        path = self._strand.path
        chances = self._core.chances
        if path not in chances:
            chances[path] = random.Random(f"{self._core.started.seed}/{path}")
        return chances[path]

    @property
    def calls(self) -> int:
        """Model calls so far, recorded and cached ones included: those that were made before this
        strand began, and its own."""
        return self._strand.calls

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages of the run that this one continues; empty for a first question."""
        return self._core.history

    @property
    def started(self) -> RunStarted:
        """The first event of this run: question, sample, stream."""
        return self._core.started

    # Effects: the only places where a method waits.

    async def ask(self, messages: Sequence[Message], params: Params | None = None) -> Reply:
        """One model call.

        Args:
            messages: exactly what is sent.
            params: parameters that differ from the run's own.

        Raises:
            CallFailed: the call failed for good.
            Stopped: the run was cancelled or met its budget.
            StrandBusy: this strand waits for something else.
        """
        with self._busy("ask"):
            result = await self._perform(self._request(messages, params))
        assert isinstance(result, Replied)
        return result.reply

    async def ask_many(
        self, requests: Sequence[Sequence[Message]], params: Params | Sequence[Params] | None = None
    ) -> list[Reply | CallFailed]:
        """Several model calls at once; replies come back in the order of the requests.

        Equal requests are numbered in this order, so each gets a reply of its own. A call that
        failed for good stands as its error at its place.

        Raises:
            Stopped: the run was cancelled or met its budget.
            StrandBusy: this strand waits for something else.
        """
        with self._busy("ask_many"):
            each = [params] * len(requests) if params is None or isinstance(params, Params) else list(params)
            effects = [self._request(messages, own) for messages, own in zip(requests, each, strict=True)]
            for effect in effects:
                self._core.journal.method(effect)
            results = await _settle([self._outcome(effect) for effect in effects])
        return [r.reply if isinstance(r, Replied) else r for r in results]  # type: ignore[misc]

    async def execute(self, program: Program) -> CodeResult:
        """Run a program in the sandbox; how it ends is a value, never an exception."""
        with self._busy("execute"):
            result = await self._perform(
                CodeStarted(self._next(), program.key, program, self._draw(program.key), span=self._span.id)
            )
        assert isinstance(result, CodeFinished)
        return result.result

    async def embed(self, texts: Sequence[str], model: str) -> list[list[float]]:
        """One vector a text, from an embedding model."""
        key = embed_key(model, texts)
        with self._busy("embed"):
            result = await self._perform(
                EmbedStarted(self._next(), key, model, tuple(texts), self._draw(key), span=self._span.id)
            )
        assert isinstance(result, Embedded)
        return [decode_vector(vector) for vector in result.vectors]

    async def score(self, answer: str) -> Scored:
        """The grade of an answer, where the method's next step depends on it.

        In a stream the answer is one to the instance whose span this is in.
        """
        key = score_key(answer)
        with self._busy("score"):
            result = await self._perform(
                ScoreStarted(self._next(), key, answer, self._draw(key), span=self._span.id)
            )
        assert isinstance(result, Scored)
        return result

    # Structure.

    @asynccontextmanager
    async def span(self, role: str, name: str) -> AsyncIterator[Run]:
        """A part of the run with a role and a name; its effects are numbered on their own."""
        inner = self._open(role, name, self._strand)
        async with inner._closing():
            yield inner

    async def parallel(
        self, role: str, names: Sequence[str], work: Callable[[Run, int], Awaitable[T]]
    ) -> list[T]:
        """Run `work(run, index)` for every name at once, each in a strand of its own.

        All spans are opened in order before any work starts, every branch runs to its end, and
        results come back in order. The first error, by index, is raised after that.
        """
        with self._busy("parallel"):
            branches = [self._open(role, name, self._strand.child(i)) for i, name in enumerate(names)]
            try:
                results = await asyncio.gather(
                    *(_in_span(branch, work, i) for i, branch in enumerate(branches)), return_exceptions=True
                )
            finally:
                self._strand.join([branch._strand for branch in branches])
        return _all_or_first_error(results)

    # What a method tells.

    def round(self, number: int, limit: int) -> None:
        """Round `number` (from 1) of at most `limit` begins."""
        self._emit(RoundStarted(number, limit, span=self._span.id))

    def reject(self, reason: str) -> None:
        """No parser took the last reply."""
        self._emit(Rejected(reason, span=self._span.id))

    def store(self, kind: str, id: str, title: str = "", body: str = "", inputs: Sequence[str] = ()) -> None:
        """Keep something that the method's paper keeps: an artifact, a lesson, a layer."""
        self._emit(Stored(kind, id, title, body, tuple(inputs), span=self._span.id))

    def budget(self) -> None:
        """Show the ledger at a point where the method looked at it."""
        self._emit(BudgetChanged(self._strand.calls, self._strand.tokens, span=self._span.id))

    def answered(self, text: str) -> None:
        """The answer of an instance of a stream (a run's own answer is its `Solution`)."""
        self._emit(Answered(text, span=self._span.id))

    def keep(self, answer: str) -> None:
        """The best answer so far: what a run that is stopped by its budget ends with."""
        self._strand.best = answer

    # Inside.

    def _emit(self, event: AnyEvent) -> None:
        self._core.journal.method(event)

    def _next(self) -> int:
        self._span.effects += 1
        return self._span.effects - 1

    def _draw(self, key: str) -> int:
        place = (self._strand.path, key)
        self._core.draws[place] += 1
        return self._core.draws[place] - 1

    def _request(self, messages: Sequence[Message], params: Params | None) -> Requested:
        own = params.over(self._core.params) if params else self._core.params
        key = request_key([message.digest for message in messages], own)
        return Requested(self._next(), key, tuple(messages), own, self._draw(key), span=self._span.id)

    def _open(self, role: str, name: str, strand: _Strand) -> Run:
        self._span.children += 1
        id_ = f"{self._span.id}/{self._span.children}" if self._span.id else str(self._span.children)
        self._emit(SpanStarted(role, name, strand.path, span=id_))
        sample = name if role == "instance" else self._span.sample
        return Run(self._core, _Span(id_, role, name, sample), strand)

    @contextmanager
    def _busy(self, what: str) -> Iterator[None]:
        if self._strand.busy:
            raise StrandBusy(
                f"{what}: this strand already waits for an effect; use ask_many for several requests "
                "at once and parallel for several threads"
            )
        self._strand.busy = True
        try:
            yield
        finally:
            self._strand.busy = False

    @asynccontextmanager
    async def _closing(self) -> AsyncIterator[None]:
        try:
            yield
        except asyncio.CancelledError:
            self._finish("cancelled")
            raise
        except CallFailed as error:
            self._finish(_stop_status(error) or "failed")
            raise
        except (ReplayError, RecordError):
            raise
        except Exception:
            self._finish("failed")
            raise
        self._finish("done")

    def _finish(self, status: SpanStatus) -> None:
        self._emit(SpanFinished(status, span=self._span.id))

    async def _perform(self, effect: Effect) -> Result:
        self._core.journal.method(effect)
        return await self._outcome(effect)

    async def _outcome(self, effect: Effect) -> Result:
        """The last outcome of an effect: recorded, or performed now."""
        core = self._core
        recorded = core.journal.outcomes(effect, self._strand.path)
        if isinstance(effect, Requested):
            self._strand.calls += 1
        result = recorded[-1] if recorded and _final(recorded[-1]) else await self._live(effect)
        match result:
            case Failed(kind="cancelled" | "budget"):
                raise Stopped(result.kind, result.message)
            case Failed():
                raise CallFailed(result.kind, result.message)
            case Replied(reply=reply):
                self._strand.tokens += reply.usage.total if reply.usage else 0
                core.last_reply = core.last_reply if self._span.id else reply.text
        return result

    async def _live(self, effect: Effect) -> Result:
        journal = self._core.journal
        if not journal.live:
            raise journal.missing(effect)
        try:
            if self._core.stop.kind:
                raise Stopped(self._core.stop.kind, "stopped before this call")
            return journal.outcome(await self._core.stop.guard(self._through_door(effect)))
        except CallFailed as error:
            return journal.outcome(_failed(effect, error))
        except asyncio.CancelledError:
            journal.outcome(Failed(effect.n, "cancelled", span=effect.span))
            raise

    async def _through_door(self, effect: Effect) -> Result:
        doors, span = self._core.doors, effect.span
        match effect:
            case Requested():
                answer = await _open_door(doors.model, "model").answer(
                    self._call(effect), self._teller(effect)
                )
                return Replied(effect.n, answer.reply, span=span, how=answer.how)
            case CodeStarted():
                result, how = await _open_door(doors.code, "code").execute(effect.program)
                return CodeFinished(effect.n, result, span=span, how=how)
            case EmbedStarted():
                vectors, how = await _open_door(doors.embedder, "embedding").embed(effect.model, effect.texts)
                return Embedded(effect.n, tuple(map(encode_vector, vectors)), span=span, how=how)
            case ScoreStarted():
                sample = self._span.sample
                metric, value, feedback = await _open_door(doors.scorer, "grading").score(
                    sample, effect.answer
                )
                return Scored(metric, value, feedback, effect.n, span=span, how=How())

    def _call(self, effect: Requested) -> Call:
        return Call(
            Request(effect.messages, effect.params),
            self._strand.path,
            effect.draw,
            self._core.started.repeat,
            effect.span,
            self._span.role,
            self._span.name,
            self._core.fresh,
        )

    def _teller(self, effect: Requested) -> Callable[[str | Attempt], None]:
        journal, n, span = self._core.journal, effect.n, effect.span

        def tell(news: str | Attempt) -> None:
            if isinstance(news, str):
                journal.delta(Delta(n, news, span=span))
            else:
                journal.outcome(
                    Failed(n, news.kind, news.attempt, news.message, round(news.retry_in, 3), span=span)
                )

        return tell


async def conduct(
    method: Method,
    started: RunStarted,
    journal: Journal,
    doors: Doors,
    *,
    stop: Stop | None = None,
    history: Sequence[Message] = (),
    fresh: bool = False,
    grade: Regrade | None = None,
) -> RunResult:
    """Run a method from its first event to its last.

    Args:
        method: what solves the question of `started`.
        started: the first event; when a recording is followed, the recorded one counts.
        journal: where every event passes.
        doors: what performs the effects.
        stop: how the run can be ended from outside.
        history: messages of an earlier run that this one continues.
        fresh: read nothing from the cache.
        grade: grades the answer of a run that ended by itself, for an evaluation.

    Raises:
        ReplayError: the run is not the recorded one.
        RecordError: the log could not be written.
        asyncio.CancelledError: the task was cancelled; the log says so.
    """
    started = journal.start(started, history)
    core = _Core(
        started, journal, doors, stop or Stop(), run_params(started), fresh, tuple(history), grade=grade
    )
    work = _solve(method, Run(core, _Span(sample=started.sample), _Strand("")))
    return await (_to_its_end(work, core.stop) if journal.live else work)


async def _to_its_end(work: Coroutine[None, None, T], stop: Stop) -> T:
    """The result of the work. A cancellation becomes a stop first, so that it meets the method at
    an effect, where it is recorded and can be replayed; then it is raised. A second one cuts."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.now()
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()):
            raise error from None
        raise


async def _solve(method: Method, run: Run) -> RunResult:
    core = run._core
    try:
        solution = await method.solve(run, core.started.question)
    except Stopped as error:
        return _end(run, "budget" if error.kind == "budget" else "cancelled", error.kind, run._strand.best)
    except CallFailed as error:
        return _end(run, "failed", error.kind, run._strand.best)
    except asyncio.CancelledError:
        _end(run, "cancelled", "cancelled", run._strand.best)
        raise
    except (ReplayError, RecordError):
        raise
    except Exception as error:
        result = _end(run, "failed", f"exception {type(error).__name__}", run._strand.best)
        if core.journal.live:
            raise
        return result
    status: Status = "no_answer" if solution.answer is None else "answered"
    if solution.answer is not None:
        run._emit(Answered(solution.answer))
    if core.grade is not None and core.journal.live:
        await _grade(core, core.grade, solution.answer)
    return _finish(run, solution.status or status, solution.reason, solution.answer, solution.messages)


async def _grade(core: _Core, grade: Regrade, answer: str | None) -> None:
    done = {scored.metric for scored in core.journal.grades}
    for scored in await grade(answer, core.last_reply):
        if scored.metric not in done:
            core.journal.outcome(scored)


def _end(run: Run, status: Status, reason: str, answer: str | None) -> RunResult:
    """The end of a run that did not come to its own: the best answer so far is its answer."""
    if answer is not None:
        run._emit(Answered(answer))
    return _finish(run, status, reason, answer)


def _finish(
    run: Run, status: Status, reason: str, answer: str | None, messages: tuple[Message, ...] = ()
) -> RunResult:
    core = run._core
    run._emit(RunFinished(status, reason))
    return RunResult(status, reason, answer, run._strand.calls, run._strand.tokens, core.started, messages)


async def _in_span(run: Run, work: Callable[[Run, int], Awaitable[T]], index: int) -> T:
    async with run._closing():
        return await work(run, index)


async def _settle(work: Sequence[Awaitable[Result]]) -> list[Result | CallFailed]:
    """All results in order; a failed call is its error, anything else is raised at the end."""
    results = await asyncio.gather(*work, return_exceptions=True)
    kept = [None if isinstance(r, CallFailed) and not isinstance(r, Stopped) else r for r in results]
    _all_or_first_error(kept)
    return [r for r in results if isinstance(r, Result | CallFailed)]


def _all_or_first_error(results: Sequence[T | BaseException]) -> list[T]:
    errors = [r for r in results if isinstance(r, BaseException)]
    if errors:
        raise errors[0]
    return [r for r in results if not isinstance(r, BaseException)]


def _failed(effect: Effect, error: CallFailed) -> Failed:
    """The outcome for an error; a kind that the log does not know is kept in the message."""
    if error.kind in FAILURE_KINDS:
        return Failed(effect.n, cast(FailureKind, error.kind), message=error.message, span=effect.span)
    return Failed(effect.n, "unknown", message=str(error), span=effect.span)


def _final(outcome: Result) -> bool:
    return not (isinstance(outcome, Failed) and outcome.retry_in is not None)


def _stop_status(error: CallFailed) -> SpanStatus | None:
    if not isinstance(error, Stopped):
        return None
    return "budget" if error.kind == "budget" else "cancelled"


def _open_door(door: T | None, what: str) -> T:
    if door is None:
        raise CallFailed("unsupported", f"this run has no {what} door")
    return door
