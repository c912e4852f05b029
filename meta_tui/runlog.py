"""The run log: a run as a JSON-lines file, written as it goes and checked when it is read.

A cassette is a run log that somebody keeps; the format is one and the same. On disk each
distinct message stands once, and a request names the messages that are new in it, so a log is
linear in its distinct text. Reading gives back full events, derives every id and key again and
refuses what does not fit, with the line and a named error.

What this is not: it does not decide whether a run may go on, it does not compare (that is
`journal`), and it never repairs a file. A torn last line is dropped with a note, because that is
what a kill leaves behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TypeVar, cast

import msgspec

from meta_tui.chat import ID_LENGTH, Message, Params, ToolCall, Value, embed_key, request_key, score_key
from meta_tui.errors import (
    BadLine,
    DuplicateAddress,
    FutureVersion,
    KeepTooLarge,
    KeyMismatch,
    LogError,
    MessageMismatch,
    NotARunLog,
    OutcomeMismatch,
    OutcomeWithoutRequest,
    RecordError,
    SpanNeverStarted,
    UnknownId,
    UsageError,
)
from meta_tui.events import (
    FORMAT_VERSION,
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
    Outcome,
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
    Stored,
    parent_span,
)

Address = tuple[str, str, int]
"""(key, strand, draw): unique in a log; the look-up of replay, resume, fork and cassette."""

_Sealed = TypeVar("_Sealed", bound=Outcome)


class _Line(Value, frozen=True, tag_field="e", tag=True, kw_only=True):
    pass


class _MessageLine(_Line, frozen=True, tag="Message", kw_only=False):
    id: str
    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


class _ParamsLine(_Line, frozen=True, tag="Params", kw_only=False):
    id: str
    params: Params


class _RequestLine(_Line, frozen=True, tag="Requested", kw_only=False):
    n: int
    key: str
    draw: int = 0
    keep: int = 0
    new: tuple[str, ...] = ()
    params: str = ""
    span: str = ""
    at: float | None = None


_Stored = (
    RunStarted
    | RunFinished
    | SpanStarted
    | SpanFinished
    | RoundStarted
    | Replied
    | Failed
    | EmbedStarted
    | Embedded
    | CodeStarted
    | CodeFinished
    | ScoreStarted
    | Scored
    | Rejected
    | Stored
    | BudgetChanged
    | Answered
    | _MessageLine
    | _ParamsLine
    | _RequestLine
)

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(_Stored).decode
_replace = msgspec.structs.replace


class _Version(msgspec.Struct):
    e: str = ""
    format: int = 0


def digest(event: Outcome) -> str:
    """The id of a first line or an outcome: the first 16 hex digits of the SHA-256 of its line
    without `id`, `at` and `how`."""
    bare = _replace(event, id="", at=None, how=None)
    return sha256(_encode(bare)).hexdigest()[:ID_LENGTH]


def seal(event: _Sealed) -> _Sealed:
    """The event with its id, and as a reader of its line will see it.

    A door may give 1 for 1.0 or a number that JSON lacks: whoever goes on with the event must not
    know more than the log does.

    Raises:
        UsageError: a lone surrogate, or a value that has no place in this event.
    """
    try:
        stored = cast(_Sealed, _decode(_encode(event)))
    except (UnicodeEncodeError, msgspec.ValidationError, TypeError, RecursionError) as error:
        raise UsageError(f"{type(event).__name__} cannot be stored: {error}") from error
    return _replace(stored, id=digest(stored))


@dataclass(slots=True)
class Shelf:
    """What earlier lines of a log define: messages, parameter sets, the last request of a span.

    Writer and reader keep the same shelf, so what one leaves out the other can put back.
    """

    params: Params = field(default_factory=Params)
    messages: dict[str, Message] = field(default_factory=dict)
    param_sets: dict[str, Params] = field(default_factory=dict)
    last: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    spans: dict[str, str] = field(default_factory=lambda: {"": ""})
    """Span -> strand."""

    def begin(self, started: RunStarted) -> None:
        """Take the run's default parameters."""
        self.params = run_params(started)


def run_params(started: RunStarted) -> Params:
    """The parameters that every request of this run has unless it says otherwise."""
    return _replace(started.params, model=started.model)


@dataclass(slots=True)
class Recording:
    """A run log that was read and found sound.

    Attributes:
        started: the first event.
        events: all events in file order, the first one included.
        lines: for every event its line in the file, from 1.
        outcomes: address -> the outcomes of that effect in order.
        torn: the last line was incomplete and was left out.
        shelf: what the lines define, for a writer that goes on.
        size: bytes of the file that hold whole lines.
    """

    started: RunStarted
    events: list[AnyEvent] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    outcomes: dict[Address, list[Result]] = field(default_factory=dict)
    torn: bool = False
    shelf: Shelf = field(default_factory=Shelf)
    size: int = 0
    ends_with_newline: bool = True
    path: Path | None = None

    @property
    def finished(self) -> RunFinished | None:
        """The last event of a finished run."""
        for event in reversed(self.events):
            if isinstance(event, RunFinished):
                return event
        return None

    @property
    def answer(self) -> str | None:
        """The answer of the run, if it gave one."""
        for event in reversed(self.events):
            if isinstance(event, Answered) and not event.span:
                return event.text
        return None

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages of the run that this one continues."""
        return tuple(self.shelf.messages[id_] for id_ in self.started.history)


class Writer:
    """Appends events to a run log, flushed event by event.

    Args:
        path: the file; its folder is made.
        after: the recording that the file holds already; None starts a new file.
        exclusive: refuse to write over an existing file.

    Raises:
        RecordError: the file cannot be opened or written.
    """

    def __init__(self, path: Path, after: Recording | None = None, *, exclusive: bool = False) -> None:
        self.path = path
        self.shelf = after.shelf if after else Shelf()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, _flags(after is not None, exclusive), 0o644)
            if after is not None:
                os.truncate(path, after.size)
                if not after.ends_with_newline:
                    os.write(self._fd, b"\n")
        except OSError as error:
            raise RecordError(_cannot_write(path, error)) from error

    def write(self, event: AnyEvent, history: Iterable[Message] = ()) -> None:
        """Append one event (and the messages that it needs and that do not stand there yet).

        Raises:
            RecordError: the disk is full or the file is gone; what was written stays.
        """
        if isinstance(event, Delta):
            return
        self._append([*self._lines(event), *(line for m in history for line in self._message(m))])

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lines(self, event: AnyEvent) -> list[bytes]:
        match event:
            case Requested():
                return self._request(event)
            case RunStarted():
                self.shelf.begin(event)
            case Replied(reply=reply):
                self.shelf.messages[reply.message.id] = reply.message
            case SpanStarted():
                self.shelf.spans[event.span] = event.strand
        return [_encode(event)]

    def _request(self, event: Requested) -> list[bytes]:
        before = self.shelf.last.get(event.span, ())
        keep = common_prefix(before, event.messages)
        new = event.messages[keep:]
        self.shelf.last[event.span] = event.messages
        lines = [line for message in new for line in self._message(message)]
        same = event.params is self.shelf.params or event.params.id == self.shelf.params.id
        params_id = "" if same else event.params.id
        if params_id and params_id not in self.shelf.param_sets:
            self.shelf.param_sets[params_id] = event.params
            lines.append(_encode(_ParamsLine(params_id, event.params)))
        ids = tuple(message.id for message in new)
        line = _RequestLine(event.n, event.key, event.draw, keep, ids, params_id, event.span, event.at)
        return [*lines, _encode(line)]

    def _message(self, message: Message) -> list[bytes]:
        if message.id in self.shelf.messages:
            return []
        self.shelf.messages[message.id] = message
        line = _MessageLine(
            message.id, message.role, message.content, message.tool_calls, message.tool_call_id
        )
        return [_encode(line)]

    def _append(self, lines: Sequence[bytes]) -> None:
        data = memoryview(b"\n".join(lines) + b"\n") if lines else memoryview(b"")
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            self.close()  # half a line may stand there: nothing may follow it
            raise RecordError(_cannot_write(self.path, error)) from error


def _flags(append: bool, exclusive: bool) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    if exclusive:
        return flags | os.O_EXCL
    return flags if append else flags | os.O_TRUNC


def _cannot_write(path: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"cannot write the run log {path}: {reason}. What was written is kept; free space or choose another folder, then `meta-tui resume` it"


def common_prefix(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages two histories share from the start."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if old is not new and old.digest != new.digest:
            break
        count += 1
    return count


def read(path: Path) -> Recording:
    """Read and check a run log.

    Raises:
        LogError: one of its named kinds, with the line.
        NotARunLog: no complete first line, or no file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NotARunLog(f"cannot read {path}: {error.strerror or error}") from error
    try:
        recording = parse(data)
    except LogError as error:
        error.path = str(path)
        raise
    recording.path = path
    return recording


def last_event(path: Path) -> object:
    """The event on the last whole line of a log, without reading or checking the rest.

    For asking many logs whether they ended; what counts is still `read`.

    Raises:
        NotARunLog: no such file, or no whole line.
        BadLine: the line is no event.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            tail = file.read()
    except OSError as error:
        raise NotARunLog(f"cannot read {path}: {error.strerror or error}") from error
    line = tail.rstrip(b"\n").rpartition(b"\n")[2]
    if not line:
        raise NotARunLog(f"{path} is empty")
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadLine(str(error)) from error


_TAIL = 4096
"""Bytes at the end of a log that are looked at: a RunFinished is far shorter."""


def parse(data: bytes) -> Recording:
    """The recording that these bytes of a run log hold; see `read`."""
    lines = data.split(b"\n")
    tail = lines.pop()
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        reader.take(number, line)
    recording = reader.recording(len(lines) + 1, tail)
    recording.ends_with_newline = not tail or recording.torn
    recording.size = len(data) - (len(tail) if recording.torn else 0)
    return recording


class _Reader:
    """Turns lines into events and checks each against what stands before it."""

    def __init__(self) -> None:
        self._recording: Recording | None = None
        self._shelf = Shelf()
        self._open: dict[tuple[str, int], Effect] = {}
        self._closed: set[tuple[str, int]] = set()
        self._addresses: set[Address] = set()

    def recording(self, number: int, tail: bytes) -> Recording:
        """The recording, after the last line, which a kill may have torn."""
        torn = False
        if tail:
            try:
                msgspec.json.decode(tail)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                torn = True
            else:
                self.take(number, tail)
        if self._recording is None:
            raise NotARunLog("no complete first line: not a run log, or cut before anything was recorded")
        self._recording.torn = torn
        for id_ in self._recording.started.history:
            if id_ not in self._shelf.messages:
                raise UnknownId(f"the history names message {id_}, which no line defines", 1)
        return self._recording

    def take(self, number: int, line: bytes) -> None:
        """Check one whole line and add its event."""
        try:
            stored = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _unreadable(line, error, number) from error
        try:
            self._add(number, stored)
        except LogError as error:
            raise type(error)(str(error), number) from None
        except UsageError as error:
            raise BadLine(str(error), number) from error

    def _add(self, number: int, line: _Stored) -> None:
        if self._recording is None:
            self._begin(line)
        elif isinstance(line, RunStarted):
            raise BadLine("a second RunStarted; one file holds one run")
        match line:
            case _MessageLine():
                self._message(line)
                return
            case _ParamsLine():
                self._param_set(line)
                return
            case _RequestLine():
                event: AnyEvent = self._request(line)
            case _:
                event = line
                self._check(event)
        assert self._recording is not None
        self._recording.events.append(event)
        self._recording.lines.append(number)

    def _begin(self, line: object) -> None:
        if not isinstance(line, RunStarted):
            raise NotARunLog("the first line is no RunStarted: this is not a run log")
        if line.format > FORMAT_VERSION:
            raise _future(line.format)
        self._shelf.begin(line)
        self._recording = Recording(line, shelf=self._shelf)

    def _message(self, line: _MessageLine) -> None:
        message = Message(line.role, line.content, line.tool_calls, line.tool_call_id)
        if message.id != line.id:
            raise MessageMismatch(f"message {line.id} was changed: its text has the id {message.id}")
        self._shelf.messages[line.id] = message

    def _param_set(self, line: _ParamsLine) -> None:
        if line.params.id != line.id:
            raise MessageMismatch(f"parameters {line.id} were changed: they have the id {line.params.id}")
        self._shelf.param_sets[line.id] = line.params

    def _request(self, line: _RequestLine) -> Requested:
        before = self._shelf.last.get(line.span, ())
        if line.keep > len(before) or line.keep < 0:
            raise KeepTooLarge(f"keeps {line.keep} messages of a request that had {len(before)}")
        messages = before[: line.keep] + tuple(self._known(id_) for id_ in line.new)
        params = self._known_params(line.params) if line.params else self._shelf.params
        self._shelf.last[line.span] = messages
        event = Requested(line.n, line.key, messages, params, line.draw, span=line.span, at=line.at)
        self._effect(event, request_key([m.digest for m in messages], params))
        return event

    def _known(self, id_: str) -> Message:
        try:
            return self._shelf.messages[id_]
        except KeyError:
            raise UnknownId(f"names message {id_}, which no earlier line defines") from None

    def _known_params(self, id_: str) -> Params:
        try:
            return self._shelf.param_sets[id_]
        except KeyError:
            raise UnknownId(f"names parameters {id_}, which no earlier line defines") from None

    def _check(self, event: AnyEvent) -> None:
        if isinstance(event, Outcome):
            self._sealed(event)
            return
        match event:
            case SpanStarted():
                self._span(event)
            case CodeStarted():
                self._effect(event, event.program.key)
            case EmbedStarted():
                self._effect(event, embed_key(event.model, event.texts))
            case ScoreStarted():
                self._effect(event, score_key(event.answer))
            case _:
                self._in_span(event.span)

    def _sealed(self, event: Outcome) -> None:
        found = digest(event)
        if event.id != found:
            raise OutcomeMismatch(f"{type(event).__name__} {event.id} was changed: it has the id {found}")
        match event:
            case RunStarted() | Scored(n=None):
                self._in_span(event.span)
            case Replied() | Failed() | Embedded() | CodeFinished() | Scored():
                self._outcome(event)

    def _span(self, event: SpanStarted) -> None:
        self._in_span(parent_span(event.span))
        if event.span in self._shelf.spans:
            raise DuplicateAddress(f"span {event.span} starts twice")
        self._shelf.spans[event.span] = event.strand

    def _in_span(self, span: str) -> None:
        if span not in self._shelf.spans:
            raise SpanNeverStarted(f"stands in span {span}, which no earlier line starts")

    def _effect(self, event: Effect, key: str) -> None:
        self._in_span(event.span)
        if event.key != key:
            raise KeyMismatch(
                f"key {event.key[:ID_LENGTH]} is not the key of what is asked, {key[:ID_LENGTH]}"
            )
        address = (key, self._shelf.spans[event.span], event.draw)
        if address in self._addresses or (event.span, event.n) in self._open:
            raise DuplicateAddress("the same request at the same place stands twice")
        self._addresses.add(address)
        self._open[event.span, event.n] = event

    def _outcome(self, event: Result) -> None:
        self._in_span(event.span)
        place = (event.span, -1 if event.n is None else event.n)
        effect = self._open.get(place)
        if effect is None or not _fits(effect, event):
            raise OutcomeWithoutRequest(f"{type(event).__name__} {event.n} answers nothing that was asked")
        if place in self._closed:
            raise DuplicateAddress(f"effect {event.n} has a second outcome")
        if not (isinstance(event, Failed) and event.retry_in is not None):
            self._closed.add(place)
        if isinstance(event, Replied):
            self._shelf.messages[event.reply.message.id] = event.reply.message
        assert self._recording is not None
        address = (effect.key, self._shelf.spans[event.span], effect.draw)
        self._recording.outcomes.setdefault(address, []).append(event)


def _fits(effect: Effect, outcome: Result) -> bool:
    match outcome:
        case Replied():
            return isinstance(effect, Requested)
        case Embedded():
            return isinstance(effect, EmbedStarted)
        case CodeFinished():
            return isinstance(effect, CodeStarted)
        case Scored():
            return isinstance(effect, ScoreStarted)
    return True


def _unreadable(line: bytes, error: Exception, number: int) -> LogError:
    try:
        version = msgspec.json.decode(line, type=_Version)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        version = _Version()
    if version.e == "RunStarted" and version.format > FORMAT_VERSION:
        return _future(version.format, number)
    if number == 1:
        return NotARunLog(f"not a run log: {error}", number)
    return BadLine(str(error), number)


def _future(version: int, line: int = 0) -> FutureVersion:
    return FutureVersion(
        f"written in log format {version}; this version reads up to {FORMAT_VERSION}. Install a newer meta-tui",
        line,
    )
