"""The sources of a stream: a live run, a replay, a resumed or forked run, a playback.

Each gives events to consumers, and no consumer can tell them apart. This module joins a method,
a journal and doors; it picks no provider (the command line does) and shows nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec

from meta_tui import __version__
from meta_tui.chat import CodeResult, Message, Params
from meta_tui.errors import Difference, LogError, RecordError, Unfinished, UnknownSetting, UsageError
from meta_tui.events import (
    FORMAT_VERSION,
    Answered,
    AnyEvent,
    CodeFinished,
    CodeStarted,
    Failed,
    How,
    Origin,
    Parent,
    Replied,
    RunFinished,
    RunStarted,
    Scored,
    SpanFinished,
    is_outcome,
)
from meta_tui.journal import Clock, Emit, Journal
from meta_tui.methods import build, settings_of
from meta_tui.models.base import CodeRunner
from meta_tui.run import Doors, Method, Regrade, RunResult, Stop, conduct
from meta_tui.runlog import Recording, Writer, parse, read, seal

RecordMode = Literal["none", "once", "new_episodes", "all"]
_replace = msgspec.structs.replace
_encode = msgspec.json.Encoder(order="deterministic").encode
_canonical_texts = msgspec.json.Encoder(order="sorted").encode


def header(
    method: Method,
    question: str,
    *,
    model: str,
    params: Params | None = None,
    origin: Origin = "live",
    **more: Any,
) -> RunStarted:
    """The first event of a run of this method on this question."""
    return RunStarted(
        FORMAT_VERSION,
        f"meta-tui {__version__}",
        origin,
        method.id,
        settings_of(method),
        model,
        question,
        params or Params(),
        **more,
    )


async def live(
    method: Method,
    started: RunStarted,
    doors: Doors,
    *,
    log: Path | None = None,
    consumers: Iterable[Emit] = (),
    stop: Stop | None = None,
    history: Sequence[Message] = (),
    fresh: bool = False,
    grade: Regrade | None = None,
    clock: Clock | None = time.time,
) -> RunResult:
    """Run a method now and record it.

    Raises:
        RecordError: the log exists already or cannot be written.
    """
    writer = Writer(log, exclusive=True) if log else None
    try:
        journal = Journal(writer=writer, consumers=consumers, clock=clock)
        return await conduct(
            method, started, journal, doors, stop=stop, history=history, fresh=fresh, grade=grade
        )
    finally:
        if writer:
            writer.close()


async def replay(
    recording: Recording, *, consumers: Iterable[Emit] = (), method: Method | None = None
) -> RunResult:
    """Run the recorded method again against its log: exact, or an error that says where not.

    Args:
        recording: the log that was read.
        consumers: told of every event.
        method: the recorded method, where its id is not registered.

    Raises:
        ReplayError: one of its kinds, at the first place that differs.
        UnknownSetting: the log names a method or a setting that this version lacks.
    """
    started = recording.started
    journal = Journal(recording, live=False, consumers=consumers)
    result = await conduct(method or _method(started), started, journal, Doors(), history=recording.history)
    journal.check_reached()
    _check_source(started, result)
    return result


async def resume(
    path: Path,
    doors: Doors,
    *,
    consumers: Iterable[Emit] = (),
    stop: Stop | None = None,
    fresh: bool = False,
    grade: Regrade | None = None,
    clock: Clock | None = time.time,
) -> RunResult:
    """Follow a log to its end and go on from there; nothing that was paid for is asked again.

    Raises:
        UsageError: the run ended by itself, so there is nothing to resume.
    """
    recording = resumable(read(path), path)
    with Writer(path, after=recording) as writer:
        journal = Journal(recording, writer=writer, consumers=consumers, clock=clock)
        return await conduct(
            _method(recording.started),
            recording.started,
            journal,
            doors,
            stop=stop,
            history=recording.history,
            fresh=fresh,
            grade=grade,
        )


def resumable(recording: Recording, path: Path) -> Recording:
    """The recording without its failed end; the file is replaced if that cut anything.

    A failure that the method took and went on from stays: only what a stopped or failed run
    wrote because it ended is cut, or it would fail again for ever. A log that was killed has a
    failed end if the run was being stopped; its other failures may be such as the method takes.

    Raises:
        UsageError: the run answered, completed or reached its own limit.
    """
    finished = recording.finished
    if finished is None and not any(map(_is_stop, recording.events)):
        return recording
    if finished is not None and finished.status in ("answered", "completed", "no_answer"):
        raise UsageError(f"{path.name} ended by itself ({finished.status}); fork it to go on differently")
    if not path.exists():
        raise UsageError(f"{path} is gone")
    _rewrite(path, _without_failed_end(recording))
    return read(path)


def _is_stop(event: AnyEvent) -> bool:
    return isinstance(event, Failed) and event.kind in ("cancelled", "budget")


def _without_failed_end(recording: Recording) -> list[bytes]:
    assert recording.path is not None
    raw = recording.path.read_bytes()[: recording.size].split(b"\n")
    dropped = set()
    later: set[str] = set()
    spans = recording.shelf.spans
    for event, line in reversed(list(zip(recording.events, recording.lines, strict=True))):
        strand = spans[event.span]
        if _is_failed_end(event, not later.isdisjoint(_line_of_descent(strand))):
            dropped.add(line)
        elif not is_outcome(event):
            later.add(strand)
    return [line for number, line in enumerate(raw, 1) if line and number not in dropped]


def _line_of_descent(strand: str) -> list[str]:
    """A strand and those that wait for it: an error that ends it reaches each of them in turn."""
    parts = strand.split(".") if strand else []
    return [".".join(parts[:count]) for count in range(len(parts) + 1)]


def _is_failed_end(event: AnyEvent, went_on: bool) -> bool:
    match event:
        case RunFinished() | Scored(n=None):
            return True
        case Answered() | Failed(retry_in=None):
            return not went_on
        case SpanFinished():
            return event.status != "done" and not went_on
    return False


def _rewrite(path: Path, lines: Sequence[bytes]) -> None:
    """Replace a file in one step: the old one stays whole until the new one is."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(b"".join(line + b"\n" for line in lines))
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise RecordError(f"cannot replace {path}: {error.strerror}") from error


def fork(
    recording: Recording,
    parent: str,
    line: int,
    new: Path,
    run: str,
    *,
    edit: str | None = None,
    origin: Origin = "live",
    clock: Clock | None = time.time,
) -> Path:
    """Write a new log that holds what was recorded before a line, to be resumed.

    Args:
        recording: the run to fork.
        parent: its run id.
        line: recorded outcomes on this line and after it do not count.
        new: the new log.
        run: the new run's id.
        edit: `line` is a reply, and this text takes its place.
        origin: where the replies after the line will come from.
        clock: says when the fork began.

    Raises:
        RecordError: the new log cannot be written.
        UsageError: the line is outside of the log, or is no reply although `edit` is given; or
            the new log exists.
    """
    assert recording.path is not None
    if new.exists():
        raise UsageError(f"{new} exists; give the fork a name of its own")
    events = dict(zip(recording.lines, recording.events, strict=True))
    if not 1 < line <= max(recording.lines):
        raise UsageError(f"the log has lines 2 to {max(recording.lines)}; there is no line {line} to fork at")
    raw = recording.path.read_bytes().split(b"\n")
    started = seal(
        _replace(
            recording.started,
            id="",
            source=None,  # it will not give the authors' history back
            repeat=f"fork:{run}",
            parent=Parent(parent, line, edit is not None),
            origin=origin,
            note=f"fork of {parent} at line {line}"
            + (", whose reply was edited" if edit is not None else ""),
            at=None if clock is None else round(clock(), 3),
        )
    )
    lines = [_encode(started), *raw[1 : line - 1]]
    if edit is not None:
        target = events.get(line)
        if not isinstance(target, Replied):
            replies = ", ".join(str(n) for n, event in events.items() if isinstance(event, Replied))
            raise UsageError(f"line {line} is no reply; replies stand on lines {replies}")
        reply = _replace(target.reply, text=edit, usage=None, logprobs=None, reasoning=None, tool_calls=())
        lines.append(_encode(seal(_replace(target, id="", reply=reply, how=How("edited")))))
    parse(b"".join(line + b"\n" for line in lines))
    _rewrite(new, lines)
    return new


async def with_cassette(
    path: Path,
    mode: RecordMode,
    method: Method,
    started: RunStarted,
    doors: Doors,
    *,
    consumers: Iterable[Emit] = (),
    stop: Stop | None = None,
    history: Sequence[Message] = (),
) -> tuple[RunResult, Journal]:
    """Run against a cassette in one of VCR's record modes; the journal knows what went unused.

    `none` replays; `once` replays if the file exists, else records; `new_episodes` takes recorded
    outcomes by address and asks for the rest, then replaces the file; `all` records anew. A file
    that is to be replaced stays until the run has ended.

    Raises:
        UsageError: mode `none` and no such file.
        ReplayError: the run is not the recorded one (`none`, `once`).
    """
    exists = _exists(path)
    if mode == "none" and not exists:
        raise UsageError(f"no cassette {path}; record it once with mode once")
    follow = exists and mode != "all"
    if follow and mode != "new_episodes":
        recording = read(path)
        journal = Journal(recording, live=False, consumers=consumers)
        _check_same_run(recording.started, started)
        result = await conduct(method, started, journal, Doors(), stop=stop, history=recording.history)
        journal.check_reached()
        return result, journal
    target = path.with_name(f".{path.name}.recording") if exists else path
    old = read(path) if follow else None
    with Writer(target) as writer:
        journal = Journal(old, writer=writer, compare=False, rewrite=True, consumers=consumers)
        result = await conduct(method, started, journal, doors, stop=stop, history=history)
    os.replace(target, path)  # noqa: PTH105 - one step, see _rewrite
    return result, journal


def _exists(path: Path) -> bool:
    return path.exists()


def _check_same_run(recorded: RunStarted, started: RunStarted) -> None:
    for name in ("method", "model", "question", "params", "repeat", "seed", "stream"):
        old, new = getattr(recorded, name), getattr(started, name)
        if old != new:
            raise Difference(f"line 1: {name} was recorded as {old!r:.80}, now {new!r:.80}")
    for name, old in sorted(recorded.settings.items()):
        new = started.settings.get(name)
        if old != new:
            raise Difference(f"line 1: setting {name!r} was recorded as {old!r:.80}, now {new!r:.80}")


def _method(started: RunStarted) -> Method:
    try:
        return build(started.method, started.settings)
    except UnknownSetting as error:
        raise UnknownSetting(str(error), 1) from error


def _check_source(started: RunStarted, result: RunResult) -> None:
    if started.source is None:
        return
    digest = message_log_digest(message_log(result.messages))
    if digest != started.source.digest:
        raise Difference(
            f"the message log of {started.source.method}/{started.source.task} row {started.source.row} "
            f"has the digest {digest[:16]}, its source {started.source.digest[:16]}"
        )


def message_log(messages: Sequence[Message]) -> list[dict[str, str]]:
    """A history as the authors of meta-prompting publish it: a list of {role, content}."""
    return [{"role": message.role, "content": message.content} for message in messages]


def message_log_digest(log: Sequence[Mapping[str, Any]]) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON of a message log, whose values are texts."""
    return sha256(_canonical_texts(list(log))).hexdigest()


async def rerun_code(recording: Recording, runner: CodeRunner) -> list[str]:
    """Run every recorded program again and compare; one line for each result that differs.

    Compared are status, output, value and the last line of the error: a traceback's other lines
    depend on the Python version. Results that ended by a time-out are not run again.
    """
    differences = []
    programs = {(e.span, e.n): e.program for e in recording.events if isinstance(e, CodeStarted)}
    for event, line in zip(recording.events, recording.lines, strict=True):
        if not isinstance(event, CodeFinished) or event.result.status == "timeout":
            continue
        result, _ = await runner.execute(programs[event.span, event.n])
        differences += [f"line {line}: {words}" for words in code_differences(event.result, result)]
    return differences


def code_differences(old: CodeResult, new: CodeResult) -> list[str]:
    """What two results of one program differ in, compared as `rerun_code` does."""
    facts = _code_facts(old, new)
    return [f"{name} was {a!r:.200}, is {b!r:.200}" for name, a, b in facts if a != b]


def _code_facts(old: CodeResult, new: CodeResult) -> list[tuple[str, Any, Any]]:
    def last(error: str) -> str:
        return error.strip().rpartition("\n")[2]

    return [
        ("status", old.status, new.status),
        ("output", old.stdout.strip(), new.stdout.strip()),
        ("error", last(old.error), last(new.error)),
        ("value", old.value, new.value),
    ]


def play(recording: Recording, emit: Emit) -> None:
    """Playback at full speed: every recorded event in order.

    Raises:
        Unfinished: after the last event, if the run did not end.
    """
    for event in recording.events:
        emit(event)
    check_finished(recording)


def check_finished(recording: Recording) -> None:
    """See that the recorded run ended.

    Raises:
        Unfinished: it did not.
    """
    if recording.finished is None:
        raise Unfinished("the log ends here; unfinished: resume it")


def check_log(path: Path) -> Recording:
    """Read a log and see that its method and settings exist.

    Raises:
        LogError: one of its kinds.
    """
    recording = read(path)
    _method(recording.started)
    return recording


__all__ = [
    "LogError",
    "RecordMode",
    "check_finished",
    "check_log",
    "code_differences",
    "fork",
    "header",
    "live",
    "message_log",
    "message_log_digest",
    "play",
    "replay",
    "rerun_code",
    "resumable",
    "resume",
    "with_cassette",
]
