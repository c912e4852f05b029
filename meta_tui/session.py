"""From names and settings to a live run: which model, which layers around it, which log.

This is where concrete doors are picked for the command line, the app and the library alike. The
layers stand in the order in which a call passes them: budget, cache, gate, retry (inside the
model). Nothing is imported that a run does not use.
"""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec

from meta_tui import experts, methods, plugins, sources, store
from meta_tui.chat import CodeResult, Message, Params, Program, Request
from meta_tui.config import Settings
from meta_tui.errors import CallFailed, UsageError
from meta_tui.events import How, Origin, Parent, Replied, Requested, RunStarted, StreamItem
from meta_tui.experts import Expert
from meta_tui.journal import Emit
from meta_tui.methods.carried import Carried, as_setting
from meta_tui.methods.special import is_program
from meta_tui.models.base import Answer, Call, Model, Tell
from meta_tui.protocol import MARKER, QUOTES
from meta_tui.run import Doors, Method, RunResult, Stop
from meta_tui.runlog import Recording, read
from meta_tui.tasks import Execute, Grade, GraderName, Sample, family, grade

COPY_PASTE = "copy-paste"
SCRIPT = "script:"
SCRIPTED = "scripted"
"""How requests and logs name a model that answered from a script."""
OWN_MODELS = ("script", SCRIPTED)
"""Names that no plug-in can take."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that can begin: the method, its first event, its history and its log. `samples` are
    those of its stream, whose targets the log does not hold."""

    method: Method
    started: RunStarted
    log: Path
    history: tuple[Message, ...] = ()
    samples: tuple[Sample, ...] = ()

    @property
    def run(self) -> str:
        """The run id."""
        return self.log.stem


def plan(
    question: str,
    settings: Settings,
    *,
    method_settings: Mapping[str, Any] | None = None,
    instruction: str = "",
    repeat: str = "0",
    sample: str = "",
    continues: Recording | None = None,
    params: Params | None = None,
    note: str = "",
    stream: Sequence[Sample] = (),
    knowledge: Carried | None = None,
    cast: Sequence[Expert] | None = None,
) -> Plan:
    """The run of a question, or of a stream of samples, under these settings.

    Args:
        method_settings: settings of the method that win over preset and instruction.
        instruction: a named instruction of the user's.
        continues: a run whose history this one goes on from.
        params: request parameters that win over settings and preset.
        note: words for people that stand in the log's first line.
        stream: samples in order; the question may then be left empty.
        knowledge: what an earlier run of the method left behind.
        cast: special experts; None: those of the settings, where the method has any.

    Raises:
        UsageError: no question, no model, an unknown method, preset, setting or instruction; a
            stream for a method that takes one question; experts for a method that has none.
    """
    question = question if question.strip() or not stream else stream_title(stream)
    if not question.strip():
        raise UsageError("there is no question; give it as an argument, with --file, or on standard input")
    if settings.preset not in methods.PRESETS:
        raise UsageError(f"no preset {settings.preset!r}; there are {', '.join(methods.PRESETS)}")
    preset = methods.PRESETS[settings.preset]
    chosen = preset.settings_of(settings.method)
    if instruction:
        chosen |= _instruction(settings.method, instruction)
    if knowledge is not None:
        chosen |= as_setting(knowledge, settings.method)
    chosen |= _experts(settings, cast)
    if hasattr(methods.method_class(settings.method), "prepared"):
        chosen |= methods.method_class(settings.method).prepared(stream or _one_sample(sample))
    method = methods.build(settings.method, chosen | dict(method_settings or {}))
    if stream and not getattr(method, "streams", False):
        raise UsageError(
            f"{settings.method} takes one question; for a stream give --method meta_n, mc2, cot or bot"
        )
    if not stream and (why := getattr(method, "needs_stream", "")):
        raise UsageError(why)
    history = history_of(continues) if continues else ()
    run = store.new_run_id()
    started = sources.header(
        method,
        question,
        model=model_name(settings),
        params=_params(settings, preset.params, params or Params()),
        origin=origin(settings),
        note=note,
        repeat=repeat,
        sample=sample,
        task=sample.partition(":")[0] or _one_task(stream),
        seed=settings.seed,
        history=tuple(message.id for message in history),
        parent=Parent(continues.path.stem) if continues and continues.path else None,
        stream=tuple(StreamItem(one.id, family(one.task).question(one)) for one in stream),
    )
    return Plan(method, started, store.home().runs / f"{run}.jsonl", history, tuple(stream))


def _one_sample(name: str) -> list[Sample]:
    from meta_tui.tasks.loaders import sample

    return [sample(name)] if name else []


def stream_title(stream: Sequence[Sample]) -> str:
    """What stands in the place of the question of a stream."""
    return f"A stream of {len(stream)} questions, {stream[0].id} to {stream[-1].id}"


def _one_task(stream: Sequence[Sample]) -> str:
    tasks = {sample.task for sample in stream}
    return tasks.pop() if len(tasks) == 1 else ""


def known_samples(started: RunStarted) -> tuple[Sample, ...]:
    """The samples of a stream that are found again by their names, with the questions that were asked.

    Samples of a file of one's own are not: whoever resumes such a run gives the file again.
    """
    from meta_tui.tasks.loaders import samples

    asked = {item.sample: item.question for item in started.stream}
    most: dict[str, int] = {}
    for name in asked:
        task, _, index = name.rpartition(":")
        if index.isdecimal():
            most[task] = max(most.get(task, 0), int(index) + 1)
    found: list[Sample] = []
    for task, count in most.items():
        try:
            found += [one for one in samples(task, count) if one.id in asked]
        except UsageError:
            continue
    return tuple(one for one in found if family(one.task).question(one) == asked[one.id])


def as_recorded(started: RunStarted, samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """Samples of a file under the names that a stream's log has for their questions: logs that are
    older than names with the file's digest have plain ones."""
    by_question = {family(one.task).question(one): one for one in samples}
    found = [
        (item.sample, by_question[item.question]) for item in started.stream if item.question in by_question
    ]
    plain = [(name, one, msgspec.structs.replace(one, source="")) for name, one in found]
    return tuple(old if name == old.id else one for name, one, old in plain)


@dataclass(frozen=True, slots=True)
class TaskScorer:
    """Grades the answers of a stream's instances: 1 for a correct one, else 0, and no word more,
    so that nothing of a target comes into a log.

    Args:
        samples: by their names.
        execute: runs programs, for families whose answers are code.
        grader: which grader of the family.
    """

    samples: Mapping[str, Sample]
    execute: Execute | None = None
    grader: GraderName = "strict"

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """(grader, 1 or 0, "").

        Raises:
            CallFailed: no such sample is known here.
        """
        if sample not in self.samples:
            raise CallFailed(
                "unsupported",
                f"the right answer of {sample or 'this question'} is not known here; give the stream's file "
                "again with --stream, or run without labels (--set label_source=none)",
            )
        made = await grade(self.samples[sample], _as_reply(answer), self.grader, self.execute)
        return self.grader, float(made.verdict == "correct"), ""


@dataclass(frozen=True, slots=True)
class ContinuousScorer:
    """Grades on a continuous scale, with a word of feedback, for methods that climb: the grader's
    score in [0, 1], and for a grid of the right size the share of right cells. The metric is
    `score`, `invalid` for an answer that breaks a rule of its task, or `unscored`.

    Args:
        samples: by their names.
        execute: runs programs, for families whose answers are code.
        grader: which grader of the family.
    """

    samples: Mapping[str, Sample]
    execute: Execute | None = None
    grader: GraderName = "strict"

    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        """(`score` or `invalid`, a number from 0 to 1, what a task's checker says).

        Raises:
            CallFailed: no such sample is known here.
        """
        if sample not in self.samples:
            raise CallFailed(
                "unsupported",
                f"the right answer of {sample or 'this question'} is not known here; give the stream's file "
                "again with --stream",
            )
        made = await grade(self.samples[sample], _as_reply(answer), self.grader, self.execute)
        return steering(made)


def steering(made: Grade) -> tuple[str, float, str]:
    """A grade on the continuous scale: (`score`, `invalid` or `unscored`, the number, feedback). A
    plug-in's grader may give what is no finite number; that is in no mean."""
    cells = made.details.get("cell_accuracy")
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in (made.score, cells or 0)):
        return "unscored", 0.0, f"the grader gave {str(made.score)[:40]}, which is no finite number"
    value = float(made.score) if cells is None else max(float(made.score), float(cells))
    valid = made.verdict == "correct" or value > 0 or bool({"value", "nmse"} & set(made.details))
    return ("score" if valid else "invalid"), value, str(made.details.get("feedback", ""))


def _as_reply(answer: str) -> str:
    return f"{MARKER}\n{QUOTES}\n{answer}\n{QUOTES}"


def with_scorer(doors: Doors, samples: Iterable[Sample], method: str = "") -> Doors:
    """The doors, with one that grades answers to these samples as the method wants it."""
    known = {sample.id: sample for sample in samples}
    code = doors.code

    async def execute(program: Program) -> CodeResult:
        assert code is not None
        return (await code.execute(program))[0]

    continuous = bool(method) and getattr(methods.method_class(method), "graded", "") == "continuous"
    kind = ContinuousScorer if continuous else TaskScorer
    return Doors(doors.model, code, doors.embedder, kind(known, execute if code else None))


def history_of(recording: Recording) -> tuple[Message, ...]:
    """The Meta Model's messages up to its last reply, for a follow-up question.

    Raises:
        UsageError: the run has no reply yet.
    """
    asked = [e for e in recording.events if isinstance(e, Requested) and not e.span]
    replies = {e.n: e for e in recording.events if isinstance(e, Replied) and not e.span}
    for request in reversed(asked):
        if request.n in replies:
            return (*request.messages, replies[request.n].reply.message)
    raise UsageError("that run has no reply that a question could follow; ask it anew")


def model_name(settings: Settings) -> str:
    """The model as requests and logs name it.

    Raises:
        UsageError: no model is set.
    """
    if not settings.model:
        raise UsageError(
            "no model is set; give --model provider/name (or --base-url and --model for a server of your "
            "own, or --model copy-paste to paste replies from a web chat), or set META_TUI_MODEL"
        )
    if settings.model == SCRIPTED and not settings.base_url:
        raise UsageError("a scripted run has no model that could go on; give --model")
    return SCRIPTED if settings.model.startswith(SCRIPT) else settings.model


def check_model(settings: Settings) -> str:
    """The model's name, after a look at what can be looked at before anything is written.

    Raises:
        UsageError: no model is set, or its script cannot be read.
    """
    if settings.model.startswith(SCRIPT):
        from meta_tui.models.scripted import read_script

        read_script(Path(settings.model.removeprefix(SCRIPT)))
    return model_name(settings)


def origin(settings: Settings) -> Origin:
    """Where the replies of a run under these settings come from."""
    if settings.model == COPY_PASTE:
        return "copy-paste"
    return "written" if settings.model.startswith(SCRIPT) else "live"


def _params(settings: Settings, preset: Params, own: Params) -> Params:
    given = Params(temperature=settings.temperature, top_p=settings.top_p, max_tokens=settings.max_tokens)
    base = preset if preset != Params() or settings.model == COPY_PASTE else Params(temperature=0.0)
    return own.over(given.over(base))


def _instruction(method: str, name: str) -> dict[str, Any]:
    fields = set(methods.method_class(method).__struct_fields__)
    if "instruction" not in fields:
        raise UsageError(f"method {method} takes no instruction; leave --instruction out")
    return {**store.load_instruction(name).settings, "instruction_name": name}


def _experts(settings: Settings, cast: Sequence[Expert] | None) -> dict[str, Any]:
    """The setting that names the special experts, where the method has it and there are any."""
    has_experts = "experts" in methods.method_class(settings.method).__struct_fields__
    if cast and not has_experts:
        raise UsageError(f"method {settings.method} consults no experts; leave experts out")
    found = experts.from_tables(settings.experts) if cast is None and has_experts else cast
    return {"experts": experts.settings_of(found)} if found else {}


def listed_models() -> tuple[dict[str, str], list[str]]:
    """Kinds of models that plug-ins offer, by name with where they come from, and a sentence for
    each that cannot be used. `--model name:which` asks for one."""
    survey = plugins.survey("models", OWN_MODELS, _model_fault)
    return {name: plugin.origin for name, (plugin, _) in sorted(survey.good.items())}, survey.problems


def _model_fault(name: str, made: Any) -> str:
    return "" if callable(made) else "a model is a function (name, settings) -> an object with `answer`"


@dataclass(slots=True)
class Session:
    """Doors that are shared by the runs of one process: one cache, one gate, one ledger.

    Args:
        settings: the settings in force.
        model: a model of one's own instead of the one that the settings name.
        ask: shows a prompt and returns the pasted reply, for `copy-paste`.
        fresh: read nothing from the cache.
        warn: told once, in words for a person, when the sandbox lacks a layer.
        cast: special experts; None: those of the settings.
    """

    settings: Settings
    model: Model | None = None
    ask: Any = None
    fresh: bool = False
    warn: Callable[[str], None] | None = None
    cast: Sequence[Expert] | None = None
    ledger: Any = field(init=False)
    _closers: list[Any] = field(default_factory=list)
    _doors: Doors | None = None

    def __post_init__(self) -> None:
        from meta_tui.models.limits import Budget, Ledger

        chosen = self.settings
        self.ledger = Ledger(
            Budget(chosen.max_calls, chosen.max_tokens_total, chosen.max_dollars, chosen.max_seconds)
        )

    def doors(self) -> Doors:
        """The doors of a run under these settings, made once."""
        if self._doors is None:
            from meta_tui.sandbox import Sandbox

            code = Sandbox(strict=self.settings.sandbox == "strict", warn=self.warn)
            self._closers.append(code)
            self._doors = Doors(self._model(), code, self._embedder())
        return self._doors

    async def aclose(self) -> None:
        """Close connections, files and workers."""
        for closer in reversed(self._closers):
            await closer.aclose()
        self._closers.clear()
        self._doors = None

    def budget_line(self) -> str:
        """`budget 3/10 calls, $0.0120/$0.5`; empty where nothing is capped."""
        caps, used = self.ledger.budget, self.ledger.totals
        parts = (
            [f"{used.calls}/{caps.calls} call{'' if caps.calls == 1 else 's'}"]
            if caps.calls is not None
            else []
        )
        parts += [f"{used.tokens:,}/{caps.tokens:,} tokens"] if caps.tokens is not None else []
        spent = "-" if used.cost is None else f"${used.cost:.4f}"
        parts += [f"{spent}/${caps.dollars:g}"] if caps.dollars is not None else []
        left = self.ledger.seconds_left()
        parts += [f"{max(0.0, left):.0f} s left"] if left is not None else []
        return f"budget {', '.join(parts)}" if parts else ""

    def charge(self, recording: Recording) -> None:
        """Count the calls of a recording that is about to be followed: budgets see all of a run."""
        asked = {(e.span, e.n): e for e in recording.events if isinstance(e, Requested)}
        for event in recording.events:
            if isinstance(event, Replied):
                request = asked[event.span, event.n]
                if is_program(request.params.model):
                    continue
                self.ledger.add(Request(request.messages, request.params), event.reply, event.how)

    def check(self, method_settings: Mapping[str, Any]) -> None:
        """See that whoever a run is going to ask can be asked.

        Raises:
            UsageError: it names a function, a command or a model object that is not given here.
        """
        if self.model is None and not self.settings.model.startswith(SCRIPT):
            experts.check_present(method_settings, self._experts())

    def _experts(self) -> Sequence[Expert]:
        """Who may be asked; a method that consults nobody has nothing of the settings imported."""
        if self.cast is not None:
            return self.cast
        has_experts = "experts" in methods.method_class(self.settings.method).__struct_fields__
        return experts.from_tables(experts.allowed(self.settings.experts)) if has_experts else ()

    def _model(self) -> Model:
        from meta_tui.models.limits import Budgeted

        everybody = Budgeted(self.model or self._named(), self.ledger)
        members = {e.special.model: door for e in self._experts() if (door := self._door(e))}
        if not members:
            return everybody
        from meta_tui.models.local import Cast

        return Cast(everybody, members)

    def _door(self, expert: Expert) -> Model | None:
        """Whoever answers for a special expert, if it is not the model that answers all others."""
        from meta_tui.models.limits import Budgeted

        if expert.door is None and not expert.base_url:
            return None
        door = expert.door or self._layered(self._provider(expert.base_url), expert.base_url)
        return Budgeted(door, self.ledger) if expert.paid or expert.base_url else door

    def _named(self) -> Model:
        name = self.settings.model
        if name == COPY_PASTE:
            return self._copy_paste()
        if name.startswith(SCRIPT):
            from meta_tui.models.scripted import read_script

            return read_script(Path(name.removeprefix(SCRIPT)))
        return self._layered(self._of_plugin() or self._provider())

    def _copy_paste(self) -> Model:
        from meta_tui.models.copy_paste import CopyPasteModel

        if self.ask is None:
            raise UsageError("copy-paste needs a terminal to show prompts and take replies")
        return CopyPasteModel(self.ask)

    def _of_plugin(self) -> Model | None:
        """The model of a plug-in, which is named `plugin:name`; names of litellm and of servers
        that have a colon are none."""
        prefix, colon, name = self.settings.model.partition(":")
        offered = plugins.offered("models", OWN_MODELS) if colon and not self.settings.base_url else {}
        if prefix not in offered:
            return None
        make = plugins.load(offered[prefix], _model_fault)
        try:
            made: Model = make(name, self.settings)
        except (Exception, SystemExit) as error:
            raise UsageError(f"{offered[prefix].title} made no model {name!r}: {error!r}") from error
        if hasattr(made, "aclose"):
            self._closers.append(made)
        return made

    def _provider(self, base_url: str = "") -> Model:
        from meta_tui.models.litellm_model import LitellmModel

        chosen = self.settings
        if chosen.project_address and not base_url:
            raise UsageError(
                f"this folder's settings file would have your questions and your key sent to {chosen.base_url}. "
                "If you trust it, give --base-url or set META_TUI_PROJECT_EXPERTS=1"
            )
        live = LitellmModel(
            base_url or chosen.base_url or None,
            timeout=chosen.timeout,
            deadline=chosen.deadline,
            retries=chosen.retries,
        )
        self._closers.append(live)
        return live

    def _layered(self, live: Model, base_url: str = "") -> Model:
        """A live model behind the gate and the cache."""
        from meta_tui.models.limits import Gate, Gated

        chosen = self.settings
        gated: Model = Gated(live, Gate(chosen.concurrency, chosen.per_minute))
        if not chosen.cache:
            return gated
        from meta_tui.models.cached import CachedModel

        cached = CachedModel(gated, store.home().cache, base_url or chosen.base_url or None)
        self._closers.append(_Closing(cached))
        return cached

    def _embedder(self) -> Any:
        from meta_tui.models.wordllama_embedder import LocalFirst

        if self.settings.model in ("", COPY_PASTE) or self.settings.model.startswith(SCRIPT):
            return LocalFirst(None)
        from meta_tui.models.litellm_model import LitellmEmbedder

        base_url = None if self.settings.project_address else self.settings.base_url or None
        live = LitellmEmbedder(base_url)
        if not self.settings.cache:
            return LocalFirst(live)
        from meta_tui.models.cached import CachedEmbedder

        kept = CachedEmbedder(live, store.home().cache, base_url, fresh=self.fresh)
        self._closers.append(_Closing(kept))
        return LocalFirst(kept)


class Shared:
    """Doors for many runs of one process, maybe of several models: one ledger, one sandbox.

    Args:
        settings: the settings in force; their caps hold for all runs together.
        code: the sandbox that all runs and graders use.
    """

    def __init__(self, settings: Settings, code: Any) -> None:
        self._first = Session(settings)
        self._sessions: list[Session] = [self._first]
        self._code = code

    @property
    def spent(self) -> float | None:
        """Dollars that all runs spent now; None where a price is unknown."""
        cost: float | None = self._first.ledger.totals.cost
        return cost

    def doors(self, settings: Settings, model: Model | None = None) -> Doors:
        """The doors of one model; `model` takes the place of the one that the settings name."""
        session = Session(settings, model=model, fresh=False)
        session.ledger = self._first.ledger
        self._sessions.append(session)
        made = session.doors()
        return Doors(made.model, self._code, made.embedder, made.scorer)

    async def execute(self, program: Program) -> CodeResult:
        """Run a program for a grader."""
        result, _ = await self._code.execute(program)
        return cast(CodeResult, result)

    def charge(self, logs: Iterable[Path]) -> None:
        """Count what existing logs used, if there is a cap that they could pass."""
        if any(
            v is not None
            for v in (
                self._first.ledger.budget.calls,
                self._first.ledger.budget.tokens,
                self._first.ledger.budget.dollars,
            )
        ):
            for path in logs:
                self._first.charge(read(path))

    async def aclose(self) -> None:
        """Close everything."""
        for session in self._sessions:
            await session.aclose()
        await self._code.aclose()


@dataclass(frozen=True, slots=True)
class _Closing:
    """A closer that awaits nothing, closed like those that do."""

    target: Any

    async def aclose(self) -> None:
        self.target.close()


@dataclass(frozen=True, slots=True)
class Renamed:
    """A model that is asked under another name than the log has: a fork of a run whose model is
    not to be had is continued by this one. `how.sent` says so.

    Args:
        model: answers.
        name: its own name.
        instead_of: the name in the log; requests to others (a special expert) pass as they are.
    """

    model: Model
    name: str
    instead_of: str

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply of the model below to the request under its own name."""
        if call.request.params.model != self.instead_of:
            return await self.model.answer(call, tell)
        params = msgspec.structs.replace(call.request.params, model=self.name)
        asked = Call(
            Request(call.request.messages, params),
            call.strand,
            call.draw,
            call.repeat,
            call.span,
            call.role,
            call.name,
            call.fresh,
        )
        answer = await self.model.answer(asked, tell)
        sent = {**((answer.how and answer.how.sent) or {}), "model": self.name}
        return Answer(answer.reply, msgspec.structs.replace(answer.how or How(), sent=sent))


async def solve(
    planned: Plan, session: Session, consumers: Iterable[Emit] = (), stop: Stop | None = None
) -> RunResult:
    """Run a plan and record it.

    Raises:
        RecordError: the log cannot be written.
        UsageError: an expert of the run is not to be had here.
    """
    session.check(planned.started.settings)
    doors = session.doors()
    return await sources.live(
        planned.method,
        planned.started,
        with_scorer(doors, planned.samples, planned.method.id) if planned.samples else doors,
        log=planned.log,
        consumers=consumers,
        stop=stop,
        history=planned.history,
        fresh=session.fresh,
    )


async def resume(
    path: Path,
    session: Session,
    consumers: Iterable[Emit] = (),
    stop: Stop | None = None,
    samples: Sequence[Sample] = (),
) -> RunResult:
    """Go on with a run that did not end by itself; recorded calls count against the budget.

    Args:
        samples: those of its stream, where they are not found again by their names.

    Raises:
        UsageError: there is nothing to resume, or an expert of the run is not to be had here.
    """
    recorded = read(path)
    session.check(recorded.started.settings)
    recording = sources.resumable(recorded, path)
    session.charge(recording)
    doors = session.doors()
    name = model_name(session.settings)
    if doors.model is not None and name != recording.started.model:
        doors = Doors(
            Renamed(doors.model, name, recording.started.model), doors.code, doors.embedder, doors.scorer
        )
    if recording.started.stream:
        given = as_recorded(recording.started, samples) if samples else known_samples(recording.started)
        doors = with_scorer(doors, given, recording.started.method)
    return await sources.resume(path, doors, consumers=consumers, stop=stop, fresh=session.fresh)


@contextmanager
def signals(stop: Stop, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Ctrl-C stops after the call under way, a second one now; SIGTERM and SIGHUP stop now."""
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def interrupted() -> None:
        seen.append(1)
        if len(seen) > 1:
            stop.now()
        else:
            stop.after_call()
            if say is not None:
                say("stopping after this call; Ctrl-C again stops now")

    handled = []
    for number, handler in (
        (signal.SIGINT, interrupted),
        (signal.SIGTERM, stop.now),
        (signal.SIGHUP, stop.now),
    ):
        try:
            loop.add_signal_handler(number, handler)
            handled.append(number)
        except (NotImplementedError, RuntimeError, ValueError):
            continue
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def exit_code(result: RunResult) -> int:
    """0 has an answer, 1 failed or none, 4 stopped by a budget, 5 trouble with the provider."""
    from meta_tui.events import EXIT_CODES

    if result.status == "failed" and result.reason in PROVIDER_TROUBLE:
        return 5
    return EXIT_CODES[result.status]


PROVIDER_TROUBLE: Sequence[str] = ("auth", "rate_limit", "timeout", "server", "cut", "network")
"""Failures that are nobody's fault here."""
