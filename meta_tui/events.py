"""The event union: everything that happens in a run, typed, and its JSON.

A run is the stream of these values. The run log, the terminal app, the plain output, the
evaluation and the tests are equal consumers of it. This module has no behaviour: who emits,
compares or stores an event is decided in `journal` and `runlog`. It imports only `chat`.

Every event carries `span` (the position of the span it happened in: "" is the run, "2" its
second span, "2/1" the first span inside that) and `at` (seconds since the epoch, to the
millisecond). Outcomes also carry `how`. `at` and `how` never take part in a comparison.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from meta_tui.chat import CodeResult, Message, Params, Program, Reply, Value

FORMAT_VERSION = 1

Status = Literal["answered", "completed", "no_answer", "failed", "cancelled", "budget"]
SpanStatus = Literal["done", "failed", "cancelled", "budget"]
Origin = Literal["live", "copy-paste", "imported", "written"]
FailureKind = Literal[
    "auth",
    "rate_limit",
    "timeout",
    "bad_request",
    "unsupported",
    "server",
    "cut",
    "filtered",
    "network",
    "method",
    "cancelled",
    "budget",
    "unknown",
]
"""`method`: the method itself gave the effect up (a published run whose expert stage failed)."""

FAILURE_KINDS: frozenset[str] = frozenset(get_args(FailureKind))

EXIT_CODES: dict[Status, int] = {
    "answered": 0,
    "completed": 0,
    "no_answer": 1,
    "failed": 1,
    "cancelled": 1,
    "budget": 4,
}


class How(Value, frozen=True):
    """How an outcome came about. Never compared, never part of an id.

    Attributes:
        source: where the outcome came from.
        ms: milliseconds from request to outcome.
        attempts: attempts that were made, counted from 1.
        cost: dollars paid now, None where the price is unknown; a cached reply costs 0.
        price: dollars that a cached reply cost when it was asked for.
        sent: parameters as really sent, where they differ from those requested.
        provider_id: the provider's own id of the reply.
        layers: sandbox layers that were in force.
        note: anything else worth a line (a Python version, a policy version).
    """

    source: Literal["live", "cache", "cassette", "edited", "copy-paste", "imported", "written"] = "live"
    ms: int | None = None
    attempts: int = 1
    cost: float | None = None
    price: float | None = None
    sent: Any = None
    provider_id: str = ""
    layers: tuple[str, ...] = ()
    note: str = ""


def paid(how: How | None) -> float | None:
    """Dollars paid now for a reply: 0 where nobody was asked, None where the price is unknown."""
    if how is None:
        return None
    return how.cost or 0.0 if how.source in UNASKED else how.cost


UNASKED = ("cache", "cassette", "edited", "written")
"""Sources of replies for which nobody was asked."""


class Source(Value, frozen=True):
    """Where an imported run came from, in its authors' words.

    `row` counts from 0 in the file read; `digest` is the SHA-256 (64 hex digits) of the
    canonical JSON of the authors' message log.
    """

    method: str
    task: str
    row: int
    digest: str


class Parent(Value, frozen=True):
    """The run that this one was forked from (`line` > 0) or continues (`line` = 0)."""

    run: str
    line: int = 0
    edited: bool = False


class StreamItem(Value, frozen=True):
    """One question of a stream, in order."""

    sample: str
    question: str


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="e",
    tag=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Base of all events; see the module for `span` and `at`."""

    span: str = ""
    at: float | None = None


class Outcome(Event, frozen=True, kw_only=True):
    """An event with an id (digest of the rest of its line) and a provenance."""

    id: str = ""
    how: How | None = None


class RunStarted(Outcome, frozen=True, kw_only=False):
    """First event: what is run on what. `settings` are all of the method's settings.

    `params` are the defaults of every request and hold no model; `history` names the messages
    of an earlier run that this one continues; `stream` holds the questions of a stream.
    """

    format: int
    tool: str
    origin: Origin
    method: str
    settings: dict[str, Any]
    model: str
    question: str
    params: Params = Params()
    note: str = ""
    task: str = ""
    sample: str = ""
    repeat: str = "0"
    seed: int = 0
    source: Source | None = None
    parent: Parent | None = None
    history: tuple[str, ...] = ()
    stream: tuple[StreamItem, ...] = ()


class RunFinished(Event, frozen=True, kw_only=False):
    """Last event. `reason` is the method's own word: accepted, round_limit, forced, converged."""

    status: Status
    reason: str = ""


class SpanStarted(Event, frozen=True, kw_only=False):
    """A part of the run begins. `span` is the new span; its parent is the part before the last /."""

    role: str
    name: str
    strand: str = ""


class SpanFinished(Event, frozen=True, kw_only=False):
    """A part of the run ended."""

    status: SpanStatus = "done"


class RoundStarted(Event, frozen=True, kw_only=False):
    """Round `number` (from 1) of at most `limit` begins."""

    number: int
    limit: int


class Requested(Event, frozen=True, kw_only=False):
    """A model call begins: effect `n` of its span, with the messages exactly as sent."""

    n: int
    key: str
    messages: tuple[Message, ...]
    params: Params = Params()
    draw: int = 0


class Delta(Event, frozen=True, kw_only=False):
    """A piece of a reply that is being written. For eyes only: never logged, never compared."""

    n: int
    text: str


class Replied(Outcome, frozen=True, kw_only=False):
    """The reply to request `n` of this span."""

    n: int
    reply: Reply


class Failed(Outcome, frozen=True, kw_only=False):
    """Effect `n` failed: an attempt if `retry_in` (seconds) is given, else for good."""

    n: int
    kind: FailureKind
    attempt: int = 1
    message: str = ""
    retry_in: float | None = None


class EmbedStarted(Event, frozen=True, kw_only=False):
    """Texts are to be embedded by a model."""

    n: int
    key: str
    model: str
    texts: tuple[str, ...]
    draw: int = 0


class Embedded(Outcome, frozen=True, kw_only=False):
    """The vectors, one a text, each as base64 of little-endian float32."""

    n: int
    vectors: tuple[str, ...]


class CodeStarted(Event, frozen=True, kw_only=False):
    """A program begins in the sandbox."""

    n: int
    key: str
    program: Program
    draw: int = 0


class CodeFinished(Outcome, frozen=True, kw_only=False):
    """The result of program `n` of this span."""

    n: int
    result: CodeResult


class ScoreStarted(Event, frozen=True, kw_only=False):
    """An answer is to be graded because the method's next step depends on the grade."""

    n: int
    key: str
    answer: str
    draw: int = 0


class Scored(Outcome, frozen=True, kw_only=False):
    """A grade. Without `n` it is the evaluation's own and takes no part in the run."""

    metric: str
    value: float
    feedback: str = ""
    n: int | None = None


class Rejected(Event, frozen=True, kw_only=False):
    """A reply that no parser of the method took."""

    reason: str


class Stored(Event, frozen=True, kw_only=False):
    """Something that the method keeps: artifact, note, lesson, layer, candidate, ...

    `body` is text or canonical JSON; `inputs` are ids of what it was made from.
    """

    kind: str
    id: str
    title: str = ""
    body: str = ""
    inputs: tuple[str, ...] = ()


class BudgetChanged(Event, frozen=True, kw_only=False):
    """The ledger at a point where the method looked at it."""

    calls: int
    tokens: int


class Answered(Event, frozen=True, kw_only=False):
    """The answer of the run, or of the instance whose span this is."""

    text: str


Effect = Requested | EmbedStarted | CodeStarted | ScoreStarted
"""What a method waits for; each has `n`, `key` and `draw`."""

Result = Replied | Failed | Embedded | CodeFinished | Scored
"""What ends, or delays, an effect."""

AnyEvent = (
    RunStarted
    | RunFinished
    | SpanStarted
    | SpanFinished
    | RoundStarted
    | Requested
    | Delta
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
)

_encoder = msgspec.json.Encoder()


def parent_span(span: str) -> str:
    """The span around `span`; the run itself is ""."""
    return span.rpartition("/")[0]


def is_outcome(event: AnyEvent) -> bool:
    """Whether the event ends or delays an effect of a method."""
    return isinstance(event, Outcome) and not isinstance(event, RunStarted)


def to_json(event: AnyEvent) -> bytes:
    """One line of JSON for `--json` output: the full event, without a newline."""
    return _encoder.encode(event)


def from_json(line: bytes | str) -> AnyEvent:
    """The event that `to_json` wrote.

    Raises:
        msgspec.ValidationError: an unknown event or field.
    """
    return _decoder.decode(line)


_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
