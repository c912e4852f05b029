"""What the screens show of a run, as a value, and how an event changes it.

`apply(state, event) -> state` is the only way in: live runs, replay, playback and seeking all go
through it, so they end in the same picture. Everything here is pure and frozen: no I/O, no clock,
no widget, no colour. Text stays as the model wrote it; whoever paints it cleans it (`display`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

from meta_tui.chat import CodeResult
from meta_tui.display import count, dollars
from meta_tui.events import (
    Answered,
    AnyEvent,
    BudgetChanged,
    CodeFinished,
    CodeStarted,
    Delta,
    Embedded,
    EmbedStarted,
    Failed,
    How,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    Scored,
    ScoreStarted,
    SpanFinished,
    SpanStarted,
    Stored,
    paid,
    parent_span,
)
from meta_tui.tui.parts import Parts

BlockKind = Literal[
    "question",
    "round",
    "asked",
    "sent",
    "reasoning",
    "reply",
    "code",
    "output",
    "error",
    "notice",
    "failure",
    "stored",
    "answer",
    "end",
    "added",
    "removed",
    "same",
    "drawn",
]
"""What a stretch of text in a pane is; the widget picks its look by this word."""

Phase = Literal["waiting", "running", "retrying", "done", "failed", "cancelled", "budget"]
"""Where a span or a call stands."""

EffectKind = Literal["model", "code", "embed", "score"]

_replace = msgspec.structs.replace


Marks = tuple[tuple[int, int], ...]
"""(start, end) of stretches of a text."""


class Block(msgspec.Struct, frozen=True):
    """A stretch of one kind of text in a pane.

    Attributes:
        parts: the text in pieces; `text` joins them.
        note: facts about it for a quiet line (tokens, seconds, outcome).
        n: the effect that it belongs to.
        open: it is still being written.
        quiet: the text stands elsewhere in the pane already; one line is enough.
        mark: line of the text to point at, from 1 (an error in code).
        marks: stretches of an added or removed line that differ from its other version.
        looks: (start, end, look) of stretches of a drawn line.
    """

    kind: BlockKind
    parts: tuple[str, ...] = ()
    note: str = ""
    n: int | None = None
    open: bool = False
    quiet: bool = False
    mark: int | None = None
    marks: Marks = ()
    looks: tuple[tuple[int, int, str], ...] = ()

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.parts)


class SpanView(msgspec.Struct, frozen=True):
    """A part of a run as a pane shows it; the run itself is the span "".

    Attributes:
        round: the round in which it began.
        at_round: the round that it is in itself; 0 where it has none.
        facts: of the last call: tokens, seconds, where it came from.
        cached: the last reply came from the cache.
    """

    id: str
    role: str
    name: str
    strand: str = ""
    round: int = 0
    at_round: int = 0
    phase: Phase = "waiting"
    blocks: tuple[Block, ...] = ()
    facts: str = ""
    cached: bool = False


class EffectView(msgspec.Struct, frozen=True):
    """A call, program, embedding or grade: one line of the call list, one page of the inspector.

    Attributes:
        number: place among the effects of the run, from 1.
        span, n: its place in the run.
        event: number of the event that started it (0 is the first event of the run).
        started: the event that started it.
        outcome: the last outcome so far.
        ended: how many events were over when its last outcome had come; 0 while it is under way.
    """

    number: int
    kind: EffectKind
    span: str
    n: int
    name: str
    round: int
    event: int
    started: Requested | CodeStarted | EmbedStarted | ScoreStarted
    outcome: Replied | CodeFinished | Embedded | Scored | Failed | None = None
    phase: Phase = "running"
    attempts: int = 1
    ended: int = 0


NO_PARTS: Parts[SpanView] = Parts()


class RunState(msgspec.Struct, frozen=True):
    """Everything that the run screen shows.

    Attributes:
        status: `waiting` before the first event, `running`, or the status of `RunFinished`.
        tokens: of the calls whose usage is known; `unknown_tokens` says that some is not.
        cost: dollars of the replies whose price is known; `unpriced` counts the others.
        round, limit: of the run itself, or of the part that last began one.
        spans: by id; `in_order` gives them as a tree.
        seen: events applied so far, `Delta`s not counted.
        trouble: why the source of the events broke off, in a person's words.
    """

    started: RunStarted | None = None
    status: str = "waiting"
    reason: str = ""
    answer: str | None = None
    round: int = 0
    limit: int = 0
    calls: int = 0
    code_runs: int = 0
    cached: int = 0
    tokens: int = 0
    unknown_tokens: bool = False
    cost: float = 0.0
    unpriced: int = 0
    live_calls: int = 0
    replies: int = 0
    spans: Parts[SpanView] = NO_PARTS
    effects: tuple[EffectView, ...] = ()
    seen: int = 0
    trouble: str = ""


EMPTY = RunState()


def apply(state: RunState, event: AnyEvent) -> RunState:
    """The state after one more event."""
    if isinstance(event, Delta):
        return _delta(state, event)
    return _replace(_applied(state, event), seen=state.seen + 1)


def apply_all(state: RunState, events: Iterable[AnyEvent]) -> RunState:
    """The state after several more events."""
    for event in events:
        state = apply(state, event)
    return state


def troubled(state: RunState, message: str) -> RunState:
    """The state of a run whose source broke off."""
    return _noted(_replace(state, trouble=message), "", Block("failure", (message,)))


def grow(parts: tuple[str, ...], piece: str) -> tuple[str, ...]:
    """`parts` with a piece more. There are never more than about log2(length) parts, so a text
    that comes in n pieces costs n log n, and earlier states keep their own."""
    grown = [*parts, piece]
    while len(grown) > 1 and len(grown[-2]) <= len(grown[-1]):
        last = grown.pop()
        grown[-1] += last
    return tuple(grown)


def depth(span: str) -> int:
    """How deep a span lies: 0 is the run, 1 a part of it."""
    return span.count("/") + 1 if span else 0


def _applied(state: RunState, event: AnyEvent) -> RunState:
    match event:
        case RunStarted():
            return _begun(state, event)
        case SpanStarted():
            number = _round_of(state, parent_span(event.span))
            return _with_span(
                state, SpanView(event.span, event.role, event.name, event.strand, number, phase="running")
            )
        case SpanFinished():
            phase: Phase = "done" if event.status == "done" else event.status
            return _with_span(state, _replace(_span(state, event.span), phase=phase))
        case RoundStarted():
            return _round(state, event)
        case Requested() | CodeStarted() | EmbedStarted() | ScoreStarted():
            return _effect(state, event)
        case Replied() | Failed() | CodeFinished() | Embedded():
            return _outcome(state, event)
        case Scored():
            return _scored(state, event)
        case Rejected():
            return _noted(state, event.span, _rejected(state, event))
        case Stored():
            title = f"{event.kind} {event.id}" + (f": {event.title}" if event.title else "")
            return _noted(state, event.span, Block("stored", (_kept_text(state, event),), title))
        case Answered():
            answered = state if event.span else _replace(state, answer=event.text)
            return _noted(answered, event.span, Block("answer", (event.text,)))
        case RunFinished():
            return _finished(state, event)
        case BudgetChanged() | Delta():
            return state


def in_order(state: RunState) -> list[SpanView]:
    """The parts of a run as a tree: the same however parallel parts happened to interleave."""
    return sorted(state.spans.values(), key=lambda span: _numbers(span.id))


@lru_cache(1 << 16)
def _numbers(span: str) -> tuple[int, ...]:
    return tuple(int(n) for n in span.split("/") if n.isdigit())


def instance_of(state: RunState, span: SpanView) -> str:
    """The name of the instance of a stream that a part belongs to; "" for an instance itself."""
    around = span.id
    while around := around.rpartition("/")[0]:
        found = state.spans.get(around)
        if found is not None and found.role == "instance":
            return found.name
    return ""


def _round(state: RunState, event: RoundStarted) -> RunState:
    span = _replace(_span(state, event.span), at_round=event.number)
    shown = _with_span(state, span)
    if not event.span or not shown.spans.get("", span).at_round:
        shown = _replace(shown, round=event.number, limit=event.limit)
    return _noted(shown, event.span, Block("round", (f"ROUND {event.number} of {event.limit}",)))


def _round_of(state: RunState, span: str) -> int:
    """The round in which something in a span happens: its own, else that of what is around it."""
    while span:
        view = state.spans.get(span)
        if view and view.at_round:
            return view.at_round
        span = parent_span(span)
    root = state.spans.get("")
    return root.at_round if root else 0


def _begun(state: RunState, event: RunStarted) -> RunState:
    name = "Meta Model" if event.method.startswith("meta_prompting") else "Model"
    blocks = (Block("question", (event.question,)),) if event.question else ()
    root = SpanView("", "meta", name, phase="running", blocks=blocks)
    return _with_span(_replace(state, started=event, status="running"), root)


def _finished(state: RunState, event: RunFinished) -> RunState:
    done = _replace(state, status=event.status, reason=event.reason)
    root = _span(done, "")
    if not root.at_round:  # the rounds were those of parts; the run itself had none
        done = _replace(done, round=0, limit=0)
    phase: Phase = "done" if event.status in ("answered", "completed") else "failed"
    if event.status in ("cancelled", "budget"):
        phase = "cancelled" if event.status == "cancelled" else "budget"
    words = event.status.replace("_", " ") + (f" ({event.reason})" if event.reason else "")
    text = " · ".join([words, *_totals(done)])
    return _with_span(done, _replace(root, phase=phase, blocks=(*root.blocks, Block("end", (text,)))))


def _totals(state: RunState) -> list[str]:
    counts = ((state.round, "round"), (state.calls, "call"), (state.code_runs, "code run"))
    return [count(number, what) for number, what in counts if number]


def _effect(state: RunState, event: Requested | CodeStarted | EmbedStarted | ScoreStarted) -> RunState:
    span = _span(state, event.span)
    view = EffectView(
        len(state.effects) + 1,
        _KINDS[type(event)],
        event.span,
        event.n,
        span.name,
        _round_of(state, event.span),
        state.seen,
        event,
    )
    blocks = (*span.blocks, *_opening(span, event))
    counted = _replace(
        state,
        effects=(*state.effects, view),
        calls=state.calls + isinstance(event, Requested),
        code_runs=state.code_runs + isinstance(event, CodeStarted),
    )
    return _with_span(counted, _replace(span, phase="running", blocks=blocks))


_KINDS: dict[type, EffectKind] = {
    Requested: "model",
    CodeStarted: "code",
    EmbedStarted: "embed",
    ScoreStarted: "score",
}


def _opening(
    span: SpanView, event: Requested | CodeStarted | EmbedStarted | ScoreStarted
) -> tuple[Block, ...]:
    match event:
        case Requested():
            return (*_asked(span, event), Block("reply", (), n=event.n, open=True))
        case CodeStarted(program=program):
            quiet = any(program.code in block.text for block in span.blocks if block.kind == "reply")
            return (Block("code", (program.code,), n=event.n, open=True, quiet=quiet),)
        case EmbedStarted():
            return (Block("sent", (f"{count(len(event.texts), 'text')} to {event.model}",), n=event.n),)
        case ScoreStarted():
            return (Block("sent", ("an answer to the grader",), n=event.n),)


def _asked(span: SpanView, event: Requested) -> tuple[Block, ...]:
    """What was asked: in full where a part of the run begins, else one line."""
    if not event.messages:
        return ()
    last = event.messages[-1].content
    first = not any(block.kind == "reply" for block in span.blocks)
    if first and span.id:
        return (Block("asked", (last,), n=event.n),)
    if first:
        return ()
    return (
        Block("sent", (f"{count(len(event.messages), 'message')}, the last of {len(last):,} characters",)),
    )


def _delta(state: RunState, event: Delta) -> RunState:
    span = state.spans.get(event.span)
    at = _open_block(span, event.n) if span else None
    if span is None or at is None:
        return state
    block = span.blocks[at]
    grown = _replace(block, parts=grow(block.parts, event.text))
    return _with_span(state, _replace(span, blocks=(*span.blocks[:at], grown, *span.blocks[at + 1 :])))


def _open_block(span: SpanView, n: int) -> int | None:
    for index in range(len(span.blocks) - 1, -1, -1):
        if span.blocks[index].open and span.blocks[index].n == n:
            return index
    return None


def _outcome(state: RunState, event: Replied | Failed | CodeFinished | Embedded) -> RunState:
    state = _settled(state, event)
    span = _span(state, event.span)
    at = _open_block(span, event.n)
    before = span.blocks if at is None else span.blocks[:at]
    after = () if at is None else span.blocks[at + 1 :]
    opened = None if at is None else span.blocks[at]
    match event:
        case Replied():
            state = _counted(state, event)
            blocks = _reply_blocks(event)
            span = _replace(
                span, facts=reply_facts(event), cached=_source(event.how) == "cache", phase=_after(span)
            )
        case CodeFinished():
            blocks = _code_blocks(opened, event)
            span = _replace(span, facts=code_facts(event.result, event.how), phase=_after(span))
        case Failed():
            blocks = _failure_blocks(opened, event)
            span = _replace(span, phase="retrying" if event.retry_in is not None else _failed_phase(event))
        case Embedded():
            blocks = ()
    return _with_span(state, _replace(span, blocks=(*before, *blocks, *after)))


def _after(span: SpanView) -> Phase:
    """A span goes on until it is finished; the run itself until it ends."""
    return "running" if span.phase in ("waiting", "running", "retrying") else span.phase


def _failed_phase(event: Failed) -> Phase:
    if event.kind == "cancelled":
        return "cancelled"
    return "budget" if event.kind == "budget" else "failed"


def _reply_blocks(event: Replied) -> tuple[Block, ...]:
    reply = event.reply
    thought = (Block("reasoning", (reply.reasoning,)),) if reply.reasoning else ()
    tools = tuple(Block("sent", (f"tool call {call.name}({call.arguments})",)) for call in reply.tool_calls)
    text = reply.text if reply.text or reply.tool_calls else "(an empty reply)"
    cut = (
        (Block("notice", ("the reply was cut at its longest length",)),)
        if reply.finish_reason == "length"
        else ()
    )
    return (*thought, Block("reply", (text,) if text else (), n=event.n), *tools, *cut)


def _code_blocks(opened: Block | None, event: CodeFinished) -> tuple[Block, ...]:
    result = event.result
    facts = code_facts(result, event.how)
    code = (_replace(opened, open=False, note=facts, mark=result.line),) if opened else ()
    shown: list[Block] = []
    if result.stdout.strip() or not result.error:
        shown.append(Block("output", (result.stdout.rstrip("\n") or "(nothing was printed)",), facts))
    if result.error:
        shown.append(Block("error", (result.error.rstrip("\n"),), facts))
    return (*code, *shown)


def _failure_blocks(opened: Block | None, event: Failed) -> tuple[Block, ...]:
    what = f"{event.kind.replace('_', ' ')}" + (f": {event.message}" if event.message else "")
    if event.retry_in is not None:
        notice = Block("notice", (f"{what}. Attempt {event.attempt}; again in {event.retry_in:g} s",))
        again = (_replace(opened, parts=()),) if opened else ()
        return (notice, *again)
    kept = (_replace(opened, open=False),) if opened and opened.parts else ()
    return (*kept, Block("failure", (what,)))


def _settled(state: RunState, event: Replied | Failed | CodeFinished | Embedded | Scored) -> RunState:
    """The call list with this outcome on its call."""
    effects = state.effects
    for index in range(len(effects) - 1, -1, -1):
        effect = effects[index]
        if effect.n == event.n and effect.span == event.span:
            phase = _call_phase(event)
            done = _replace(
                effect,
                outcome=event,
                phase=phase,
                attempts=_attempts(effect, event),
                ended=0 if phase == "retrying" else state.seen + 1,
            )
            return _replace(state, effects=(*effects[:index], done, *effects[index + 1 :]))
    return state


def _call_phase(event: Replied | Failed | CodeFinished | Embedded | Scored) -> Phase:
    if isinstance(event, CodeFinished):
        return "done" if event.result.status in ("ok", "exit") else "failed"
    if not isinstance(event, Failed):
        return "done"
    return "retrying" if event.retry_in is not None else _failed_phase(event)


def _attempts(effect: EffectView, event: Replied | Failed | CodeFinished | Embedded | Scored) -> int:
    if isinstance(event, Failed):
        return max(effect.attempts, event.attempt + (event.retry_in is not None))
    return max(effect.attempts, event.how.attempts if event.how else 1)


def _counted(state: RunState, event: Replied) -> RunState:
    usage, source = event.reply.usage, _source(event.how)
    live = source == "live"
    cost = paid(event.how)
    return _replace(
        state,
        tokens=state.tokens + (usage.total if usage else 0),
        unknown_tokens=state.unknown_tokens or usage is None,
        cached=state.cached + (source == "cache"),
        live_calls=state.live_calls + live,
        replies=state.replies + 1,
        cost=state.cost + (cost or 0.0),
        unpriced=state.unpriced + (cost is None),
    )


def _scored(state: RunState, event: Scored) -> RunState:
    state = state if event.n is None else _settled(state, event)
    words = f"{event.metric}: {event.value:g}" + (f" ({event.feedback})" if event.feedback else "")
    return _noted(state, event.span, Block("notice" if event.value <= 0 else "sent", (words,)))


def _rejected(state: RunState, event: Rejected) -> Block:
    number = _round_of(state, event.span)
    where = f"round {number}: " if number else ""
    # A reason with a colon says itself what is done instead; Meta^n asks nothing again.
    then = "" if ":" in event.reason or _is_meta_n(state) else "; a reminder follows"
    return Block("notice", (f"{where}{event.reason}{then}",))


def _is_meta_n(state: RunState) -> bool:
    return state.started is not None and state.started.method == "meta_n"


def _kept_text(state: RunState, event: Stored) -> str:
    """What was kept as a person reads it: records of Meta^n are told, all else stands as it is."""
    if not _is_meta_n(state):
        return event.body
    from meta_tui.evaluation.chain_text import readable

    return readable(event)


def _source(how: How | None) -> str:
    return how.source if how else ""


def reply_facts(event: Replied) -> str:
    """What is known about a reply: `◆ cached · 812+164 tokens · 1.2 s`."""
    how, usage = event.how, event.reply.usage
    parts = []
    if how and how.source in _SOURCE_WORDS:
        parts.append(_SOURCE_WORDS[how.source])
    if usage:
        parts.append(f"{usage.prompt_tokens:,}+{usage.completion_tokens:,} tokens")
    if how and how.ms is not None and how.source == "live":
        parts.append(f"{how.ms / 1000:.1f} s")
    if how and how.cost:
        parts.append(dollars(how.cost))
    return " · ".join(parts)


_SOURCE_WORDS = {"cache": "◆ cached", "edited": "edited", "copy-paste": "pasted"}


def code_facts(result: CodeResult, how: How | None) -> str:
    """How a program ended: `ok · 4 ms`, `error, line 7`."""
    where = f", line {result.line}" if result.line else ""
    ms = f" · {how.ms} ms" if how and how.ms is not None else ""
    return f"{result.status}{where}{ms}"


def _span(state: RunState, span: str) -> SpanView:
    return state.spans.get(span) or SpanView(span, "", span or "run")


def _with_span(state: RunState, view: SpanView) -> RunState:
    return _replace(state, spans=state.spans.with_(view.id, view))


def _noted(state: RunState, span: str, block: Block) -> RunState:
    view = _span(state, span)
    return _with_span(state, _replace(view, blocks=(*view.blocks, block)))
