"""The pages of the call inspector: an effect of a run as blocks, exactly as sent and answered.

Pure. Characters that print nothing are marked here, because on these pages one looks for what
cannot be seen. What is not known is called unknown, never zero.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from meta_tui.chat import CodeResult, Message, Params
from meta_tui.display import marked
from meta_tui.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    Embedded,
    EmbedStarted,
    Failed,
    Replied,
    Requested,
    Scored,
    ScoreStarted,
)
from meta_tui.tui import words
from meta_tui.tui.sides import COMPARED, difference
from meta_tui.tui.state import Block, EffectView, code_facts

VIEWS = ("Asked", "Answer", "Facts", "JSON", "Change")
"""Names of the pages, in order."""

UNKNOWN = "unknown"


def page(view: int, effect: EffectView, before: EffectView | None, line: int = 0) -> tuple[Block, ...]:
    """A page of an effect.

    Args:
        view: index into `VIEWS`.
        effect: the call, program, embedding or grade.
        before: the model call that this one is compared with.
        line: line of its outcome in the log; 0 where it is not known.
    """
    match view:
        case 0:
            return asked(effect)
        case 1:
            return answer(effect)
        case 2:
            return (Block("reply", (facts(effect, line),)),)
        case 3:
            return tuple(json_blocks(effect))
        case _:
            return change(effect, before)


def previous(effects: Sequence[EffectView], effect: EffectView) -> EffectView | None:
    """The model call before this one: of the same span if there is one, else of the run."""
    earlier = [e for e in effects if e.number < effect.number and e.kind == "model"]
    same = [e for e in earlier if e.span == effect.span]
    return (same or earlier)[-1] if earlier else None


def asked(effect: EffectView) -> tuple[Block, ...]:
    """What was sent: messages with role rules between, a program, texts."""
    match effect.started:
        case Requested(messages=messages):
            return tuple(block for message in messages for block in _message(message))
        case CodeStarted(program=program):
            outcome = effect.outcome
            line = outcome.result.line if isinstance(outcome, CodeFinished) else None
            note = code_facts(outcome.result, outcome.how) if isinstance(outcome, CodeFinished) else ""
            stdin = (Block("round", ("input",)), Block("reply", (program.stdin,))) if program.stdin else ()
            open_ = outcome is None
            return (Block("code", (program.code,), note, open=open_, mark=line), *stdin)
        case EmbedStarted(texts=texts):
            return tuple(Block("asked", (marked(text),)) for text in texts)
        case ScoreStarted(answer=text):
            return (Block("reply", (marked(text),)),)


def _message(message: Message) -> tuple[Block, ...]:
    tools = tuple(Block("sent", (f"tool call {c.name}({c.arguments})",)) for c in message.tool_calls)
    return (Block("round", (message.role,)), Block("reply", (marked(message.content),)), *tools)


def answer(effect: EffectView) -> tuple[Block, ...]:
    """What came back."""
    match effect.outcome:
        case Replied(reply=reply):
            thought = (Block("reasoning", (marked(reply.reasoning),)),) if reply.reasoning else ()
            text = marked(reply.text) or "(an empty reply)"
            tools = tuple(Block("sent", (f"tool call {c.name}({c.arguments})",)) for c in reply.tool_calls)
            return (*thought, Block("reply", (text,)), *tools)
        case CodeFinished(result=result):
            return result_blocks(result)
        case Failed(kind=kind, message=message):
            return (Block("failure", (f"{kind}: {message}" if message else kind,)),)
        case Scored(metric=metric, value=value, feedback=feedback):
            return (Block("reply", (f"{metric}: {value:g}\n{feedback}",)),)
        case Embedded(vectors=vectors):
            return (Block("sent", (f"{len(vectors)} vectors",)),)
    return (Block("sent", ("no answer yet",)),)


def result_blocks(result: CodeResult) -> tuple[Block, ...]:
    """What a program gave: output, error, value."""
    blocks = [Block("output", (marked(result.stdout) or "(nothing was printed)",))]
    if result.error:
        blocks.append(Block("error", (marked(result.error),)))
    if result.value is not None:
        blocks += [Block("round", ("result",)), Block("reply", (_pretty(msgspec.json.encode(result.value)),))]
    return tuple(blocks)


def facts(effect: EffectView, line: int = 0) -> str:
    """Everything known beside the texts, one `name  value` a line; `line` is the outcome's in the log."""
    fork = (
        [("line", f"{line} of the log; `meta-tui fork RUN --at {line}` goes on from there")] if line else []
    )
    rows = [*_place(effect), *fork, *_sent(effect), *_came(effect)]
    return "\n".join(f"{name:<14}{value}" for name, value in rows)


def _place(effect: EffectView) -> list[tuple[str, str]]:
    started = effect.started
    return [
        ("what", f"{effect.kind} {effect.number}, by {effect.name or 'the run'}"),
        ("round", str(effect.round or "-")),
        ("place", f"span {effect.span or 'run'}, effect {effect.n}"),
        ("key", started.key),
        ("draw", str(started.draw)),
        ("state", words.state_word(effect.phase)),
    ]


def _sent(effect: EffectView) -> list[tuple[str, str]]:
    match effect.started:
        case Requested(params=params, messages=messages):
            return [("messages", str(len(messages))), *_params(params)]
        case CodeStarted(program=program):
            limits = program.limits
            return [
                ("profile", program.profile),
                (
                    "limits",
                    f"{limits.seconds:g} s · {limits.memory >> 20:,} MiB · {limits.output:,} bytes of output",
                ),
            ]
        case EmbedStarted(model=model):
            return [("model", model)]
    return []


def _params(params: Params) -> list[tuple[str, str]]:
    given = msgspec.to_builtins(params)
    return [(name, value if isinstance(value, str) else str(value)) for name, value in given.items()]


def _came(effect: EffectView) -> list[tuple[str, str]]:
    outcome = effect.outcome
    if outcome is None:
        return []
    how = outcome.how
    rows = [
        ("from", how.source if how else UNKNOWN),
        ("took", f"{how.ms:,} ms" if how and how.ms is not None else UNKNOWN),
        ("attempts", str(effect.attempts)),
    ]
    if isinstance(outcome, Replied):
        usage = outcome.reply.usage
        rows += [
            ("finish", outcome.reply.finish_reason or UNKNOWN),
            ("prompt tokens", f"{usage.prompt_tokens:,}" if usage else UNKNOWN),
            ("reply tokens", f"{usage.completion_tokens:,}" if usage else UNKNOWN),
            ("cost", f"${how.cost:.6f}" if how and how.cost is not None else UNKNOWN),
        ]
    if how:
        rows += [("provider id", how.provider_id)] if how.provider_id else []
        rows += [("really sent", str(how.sent))] if how.sent is not None else []
        rows += [("layers", ", ".join(how.layers))] if how.layers else []
        rows += [("note", how.note)] if how.note else []
    return [*rows, ("outcome id", outcome.id)]


def json_blocks(effect: EffectView) -> list[Block]:
    """The events as JSON."""
    events = [effect.started, *([effect.outcome] if effect.outcome else [])]
    return [Block("reply", (_json(event),)) for event in events]


def raw_json(effect: EffectView) -> str:
    """The events as JSON text, for a file."""
    return "\n".join(block.text for block in json_blocks(effect)) + "\n"


def _json(event: AnyEvent) -> str:
    try:
        return _pretty(msgspec.json.encode(event))
    except UnicodeEncodeError:  # a lone surrogate: no log holds one, a model may still send one
        return json.dumps(msgspec.to_builtins(event), indent=2)


def _pretty(encoded: bytes) -> str:
    return msgspec.json.format(encoded, indent=2).decode()


def change(effect: EffectView, before: EffectView | None) -> tuple[Block, ...]:
    """What this request has that the one before did not, line by line."""
    if not isinstance(effect.started, Requested):
        return (Block("sent", ("only model calls are compared",)),)
    if before is None or not isinstance(before.started, Requested):
        return (Block("sent", ("this is the first call",)),)
    old, new = _flat(before.started), _flat(effect.started)
    head = Block("sent", (f"compared with call {before.number}, {before.name or 'the run'}",))
    if len(old) + len(new) > COMPARED:
        return (head, Block("notice", ("these requests are too long to be compared line by line",)))
    return (head, *(difference(old, new) or (Block("sent", ("the same messages",)),)))


def _flat(request: Requested) -> str:
    return "\n".join(f"── {message.role} ──\n{marked(message.content)}" for message in request.messages)
