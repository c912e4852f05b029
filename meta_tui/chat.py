"""Values of a conversation: messages, requests, replies, programs, and their digests.

Frozen values and pure functions. Nothing here talks to a model, reads a file or knows what a
method is. The keys defined here decide what replays: two requests with one key are the same
request, so whatever can change an output is in the key and nothing else is (same
request, same place, same bytes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

import msgspec

from meta_tui.errors import UsageError

KEY_VERSION = 1
ID_LENGTH = 16
"""Hex digits of a message or outcome id; keys and digests have 64."""

_encode = msgspec.json.Encoder(order="sorted").encode


class Value(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of the small values that stand inside events: frozen, strict, defaults left out."""


class ToolCall(Value, frozen=True):
    """A native tool call as a provider returned it; `arguments` is its JSON text, unparsed."""

    id: str
    name: str
    arguments: str


class Message(Value, frozen=True, dict=True):
    """One message of a conversation, exactly as it is sent."""

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    @cached_property
    def digest(self) -> str:
        """SHA-256 (64 hex digits) of the canonical JSON of this message.

        Raises:
            UsageError: the text holds a lone surrogate, which no file can store.
        """
        try:
            return sha256(_encode(self)).hexdigest()  # only texts: sorted JSON is canonical JSON
        except UnicodeEncodeError as error:
            raise _surrogate() from error

    @property
    def id(self) -> str:
        """The first 16 hex digits of the digest: the name of this message in a run log."""
        return self.digest[:ID_LENGTH]


def system(content: str) -> Message:
    """A system message."""
    return Message("system", content)


def user(content: str) -> Message:
    """A user message."""
    return Message("user", content)


class Usage(Value, frozen=True):
    """Tokens of one call, as the provider counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


class Reply(Value, frozen=True, dict=True):
    """What a model returned for one request. `usage` is None where the provider gave none."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    logprobs: Any = None
    reasoning: str | None = None

    @cached_property
    def message(self) -> Message:
        """The assistant message that this reply adds to a history."""
        return Message("assistant", self.text, self.tool_calls)

    @property
    def shown(self) -> str:
        """The text and below it its tool calls, one a line: what people read and compare."""
        calls = [f"tool call {call.name}({call.arguments})" for call in self.tool_calls]
        return "\n".join([self.text] * bool(self.text) + calls)


class Params(Value, frozen=True, dict=True):
    """Everything beside the messages that can change an output. Absent (None) is not a default.

    Timeouts, retries, streaming, addresses and keys are deliberately not here: they cannot
    change what a model says, so they are in no key (llm-layer rule R2).
    """

    model: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: str | tuple[str, ...] | None = None
    response_format: Any = None
    tools: Any = None
    tool_choice: Any = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    reasoning_effort: str | None = None
    extra_body: Any = None

    def over(self, base: Params) -> Params:
        """These parameters, with `base` filling in what is absent here."""
        own = {name: getattr(self, name) for name in self.__struct_fields__}
        return msgspec.structs.replace(base, **{k: v for k, v in own.items() if v not in (None, "")})

    @cached_property
    def canonical(self) -> bytes:
        """Canonical JSON of the parameters that are present."""
        return canonical_json(self)

    @cached_property
    def id(self) -> str:
        """The name of this parameter set in a run log (16 hex digits)."""
        return sha256(self.canonical).hexdigest()[:ID_LENGTH]


class Request(Value, frozen=True, dict=True):
    """One model call to be made: the messages as sent and the parameters."""

    messages: tuple[Message, ...]
    params: Params = Params()

    @cached_property
    def key(self) -> str:
        """SHA-256 (64 hex digits) of what can change the output of this request."""
        return request_key([message.digest for message in self.messages], self.params)


class Limits(Value, frozen=True):
    """Bounds of one program: seconds of wall clock, bytes of memory, bytes of output kept."""

    seconds: float = 5.0
    memory: int = 1 << 30
    output: int = 64 * 1024


class Program(Value, frozen=True, dict=True):
    """Code to be run in the sandbox.

    Attributes:
        code: Python source.
        stdin: text that `input()` reads.
        inputs: JSON object; each key is a variable of the program.
        result: name of the variable whose JSON value is handed back, if any.
        profile: `policy` is RestrictedPython in a locked child; `os_only` is plain Python in
            the same child.
    """

    code: str
    stdin: str = ""
    inputs: Any = None
    result: str | None = None
    profile: Literal["policy", "os_only"] = "policy"
    limits: Limits = Limits()

    @cached_property
    def key(self) -> str:
        """SHA-256 (64 hex digits) of the canonical program."""
        return sha256(canonical_json(self)).hexdigest()


CodeStatus = Literal["ok", "exit", "error", "refused", "syntax", "timeout", "memory", "crash"]


class CodeResult(Value, frozen=True):
    """What running a program gave; a failure of the program is a result, never an exception.

    Attributes:
        status: how it ended.
        stdout: what was printed, always text, capped at `Limits.output`.
        error: the traceback or the reason, empty for `ok`.
        line: line of the program that the error points at, from 1.
        value: JSON value of the variable named by `Program.result`.
    """

    status: CodeStatus
    stdout: str = ""
    error: str = ""
    line: int | None = None
    value: Any = None


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys, no spaces, absent fields dropped, 1.0 written as 1.

    Text is never normalised. Two values that mean the same give the same bytes on every machine.

    Raises:
        UsageError: NaN or infinity, a key that is no text, a lone surrogate, or values in values
            a thousand deep.
    """
    try:
        return _encode(_plain(msgspec.to_builtins(value, order="deterministic")))
    except UnicodeEncodeError as error:
        raise _surrogate() from error
    except RecursionError as error:
        raise UsageError("values are nested too deep for a request; flatten them") from error


def _surrogate() -> UsageError:
    return UsageError("text holds a lone surrogate; replace it before sending it")


def request_key(digests: Sequence[str], params: Params) -> str:
    """The key of a request from its messages' digests (64 hex digits each), so that a history
    that grows is hashed once. SHA-256 of the canonical JSON of {messages, params, v}."""
    body = '{"messages":["' + '","'.join(digests) + '"],"params":' if digests else '{"messages":[],"params":'
    return sha256(body.encode() + params.canonical + b',"v":%d}' % KEY_VERSION).hexdigest()


def embed_key(model: str, texts: Sequence[str]) -> str:
    """The key of an embedding: SHA-256 of the canonical JSON of {model, texts}."""
    return sha256(canonical_json({"model": model, "texts": list(texts)})).hexdigest()


def score_key(answer: str) -> str:
    """The key of a grade that steers a method: SHA-256 of the canonical JSON of {answer}."""
    return sha256(canonical_json({"answer": answer})).hexdigest()


def _plain(value: Any) -> Any:
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return _number(value)
        case Mapping():
            return {_name(k): _plain(v) for k, v in value.items() if v is not None}
        case list() | tuple():
            return [_plain(item) for item in value]
    raise UsageError(f"{type(value).__name__} has no place in a request; use plain JSON values")


def _number(value: float) -> float | int:
    if not math.isfinite(value):
        raise UsageError(f"{value} has no place in a request; use a finite number")
    return int(value) if value.is_integer() else value


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise UsageError(f"key {key!r} of a request is no text; use text keys only")
    return key
