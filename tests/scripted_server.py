"""A real HTTP server on 127.0.0.1 that speaks the OpenAI chat completions API as it is told to.

It is no mock of our code: requests arrive over a socket, answers leave byte by byte, and a
`Behaviour` decides about each of them: a reply, an error, silence, a stream that stops half way.
What arrived is kept in `requests`. It lives in a daemon thread of the test process, so it ends
with it; `python scripted_server.py TEXT` says that text until its standard input closes.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

Behaviour = Callable[["Exchange"], Awaitable[None]]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Exchange:
    """One request and the means to answer it."""

    seen: Seen
    writer: asyncio.StreamWriter
    number: int

    @property
    def body(self) -> dict[str, Any]:
        return self.seen.body or {}

    @property
    def streaming(self) -> bool:
        return bool(self.body.get("stream"))

    async def send(self, content: bytes, kind: str, status: int = 200, **headers: str) -> None:
        names = {"content-type": kind, "content-length": str(len(content)), **headers}
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in names.items())
        self.writer.write(f"HTTP/1.1 {status} Scripted\r\n{head}\r\n".encode() + content)
        await self.writer.drain()

    async def json(self, value: Any, status: int = 200, **headers: str) -> None:
        await self.send(json.dumps(value).encode(), "application/json", status, **headers)

    async def error(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        detail = {"message": message, "type": "scripted", "param": None, "code": code}
        await self.json({"error": detail}, status, **headers)

    async def open_stream(self) -> None:
        self.writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await self.writer.drain()

    async def piece(self, content: bytes) -> None:
        self.writer.write(b"%x\r\n%s\r\n" % (len(content), content))
        await self.writer.drain()

    async def event(self, value: Any) -> None:
        await self.piece(b"data: " + json.dumps(value).encode() + b"\n\n")

    async def close_stream(self) -> None:
        await self.piece(b"data: [DONE]\n\n")
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def abort(self) -> None:
        self.writer.transport.abort()

    def usage(self, text: str) -> dict[str, Any]:
        prompt = sum(len(str(m.get("content") or "").split()) for m in self.body.get("messages", ()))
        completion = len(text.split())
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    def envelope(self, choices: list[Any], kind: str) -> dict[str, Any]:
        return {
            "id": f"scripted-{self.number}",
            "object": kind,
            "created": 1,
            "model": self.body.get("model", ""),
            "choices": choices,
        }

    def chunk(self, delta: dict[str, Any], finish: str | None = None, logprobs: Any = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
        return self.envelope([choice], "chat.completion.chunk")


def pieces_of(text: str) -> list[str]:
    """The pieces that a stream gives: words with the blank that follows them, joining to `text`."""
    return [part + " " for part in text.split(" ")[:-1]] + [text.split(" ")[-1]] if text else []


def ok(
    text: str | Callable[[dict[str, Any]], str] = "hello there",
    *,
    finish: str = "stop",
    tool_calls: Sequence[dict[str, Any]] = (),
    reasoning: str = "",
    logprobs: Any = None,
    usage: bool = True,
    every: float = 0.0,
) -> Behaviour:
    """A whole reply; `text` may be worked out from the request's body. `every` seconds a piece."""

    async def behave(exchange: Exchange) -> None:
        said = text(exchange.body) if callable(text) else text
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if tool_calls:
            message["tool_calls"] = list(tool_calls)
        if reasoning:
            message["reasoning_content"] = reasoning
        if not exchange.streaming:
            choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": logprobs}
            whole = exchange.envelope([choice], "chat.completion")
            await exchange.json({**whole, "usage": exchange.usage(said)} if usage else whole)
            return
        await exchange.open_stream()
        await exchange.event(exchange.chunk({"role": "assistant", "content": ""}))
        if reasoning:
            await exchange.event(exchange.chunk({"reasoning_content": reasoning}))
        for number, piece in enumerate(pieces_of(said)):
            await asyncio.sleep(every)
            await exchange.event(exchange.chunk({"content": piece}, None, None if number else logprobs))
        for index, tool_call in enumerate(tool_calls):
            await _stream_tool_call(exchange, index, tool_call)
        await exchange.event(exchange.chunk({}, finish))
        if usage and (exchange.body.get("stream_options") or {}).get("include_usage"):
            last = exchange.envelope([], "chat.completion.chunk")
            await exchange.event({**last, "usage": exchange.usage(said)})
        await exchange.close_stream()

    return behave


async def _stream_tool_call(exchange: Exchange, index: int, tool_call: dict[str, Any]) -> None:
    function = tool_call["function"]
    first = {
        "index": index,
        "id": tool_call["id"],
        "type": "function",
        "function": {"name": function["name"], "arguments": ""},
    }
    await exchange.event(exchange.chunk({"tool_calls": [first]}))
    half = len(function["arguments"]) // 2
    for part in (function["arguments"][:half], function["arguments"][half:]):
        more = {"index": index, "function": {"arguments": part}}
        await exchange.event(exchange.chunk({"tool_calls": [more]}))


def empty() -> Behaviour:
    """A whole reply without text."""
    return ok("")


def rate_limited(after: float | str | None = 1) -> Behaviour:
    """429, with Retry-After in seconds (or as the text given) unless None."""

    async def behave(exchange: Exchange) -> None:
        headers = {} if after is None else {"retry_after": str(after)}
        await exchange.error(429, "slow down", "rate_limit_exceeded", **headers)

    return behave


def failing(status: int = 500, message: str = "the server broke", code: str | None = None) -> Behaviour:
    """Any error status with an OpenAI error body."""

    async def behave(exchange: Exchange) -> None:
        await exchange.error(status, message, code)

    return behave


def silent(seconds: float = 30.0) -> Behaviour:
    """Nothing at all for `seconds`, then the connection goes."""

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(seconds)
        exchange.abort()

    return behave


def drip(every: float = 0.05, pieces: int = 10_000) -> Behaviour:
    """A stream that never stalls for long and hardly ever ends."""
    return ok("drip " * pieces, every=every)


def stalled(text: str = "one two three") -> Behaviour:
    """A stream that stops talking and stays open."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        for piece in pieces_of(text):
            await exchange.event(exchange.chunk({"content": piece}))
        await asyncio.sleep(30)
        exchange.abort()

    return behave


def cut(text: str = "one two three") -> Behaviour:
    """A stream whose connection breaks before its end."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        for piece in pieces_of(text):
            await exchange.event(exchange.chunk({"content": piece}))
        await asyncio.sleep(0.05)
        exchange.abort()

    return behave


def unfinished(text: str = "one two three") -> Behaviour:
    """A stream that closes cleanly without ever giving a finish reason."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        for piece in pieces_of(text):
            await exchange.event(exchange.chunk({"content": piece}))
        await exchange.close_stream()

    return behave


def nothing() -> Behaviour:
    """A stream that closes cleanly before anything came."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.close_stream()

    return behave


def one_piece(text: str = "hello there") -> Behaviour:
    """A whole reply in one piece of JSON although a stream was asked for."""

    async def behave(exchange: Exchange) -> None:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        await exchange.json(exchange.envelope([choice], "chat.completion"))

    return behave


def error_in_stream(message: str = "the model fell over", text: str = "one two three") -> Behaviour:
    """A stream that ends in an error event."""

    async def behave(exchange: Exchange) -> None:
        await exchange.open_stream()
        for piece in pieces_of(text):
            await exchange.event(exchange.chunk({"content": piece}))
        await exchange.event({"error": {"message": message, "type": "server_error", "code": 500}})
        await exchange.close_stream()

    return behave


def filtered(text: str = "I was about to") -> Behaviour:
    """A reply that the provider's content filter stopped."""
    return ok(text, finish="content_filter")


def refused_by_filter() -> Behaviour:
    """A request that the provider's content filter refused."""
    return failing(400, "The response was filtered due to the content policy", "content_filter")


def malformed() -> Behaviour:
    """Status 200 and something that only begins like JSON."""

    async def behave(exchange: Exchange) -> None:
        if not exchange.streaming:
            await exchange.send(b'{"id": "x", "choices": [{"mess', "application/json")
            return
        await exchange.open_stream()
        await exchange.piece(b'data: {"id": "x", "choices": [{"del\n\n')
        await exchange.close_stream()

    return behave


def html(status: int = 200) -> Behaviour:
    """A web page, as captive portals and wrong addresses give it."""

    async def behave(exchange: Exchange) -> None:
        await exchange.send(b"<!doctype html><html><body>Log in</body></html>", "text/html", status)

    return behave


def echo_key(status: int = 401) -> Behaviour:
    """An error that repeats the key it was given."""

    async def behave(exchange: Exchange) -> None:
        key = exchange.seen.headers.get("authorization", "").removeprefix("Bearer ")
        await exchange.error(status, f"Incorrect API key provided: {key}. Look it up.", "invalid_api_key")

    return behave


def say_key() -> Behaviour:
    """A whole reply that repeats the key, in pieces of five characters."""

    async def behave(exchange: Exchange) -> None:
        key = exchange.seen.headers.get("authorization", "").removeprefix("Bearer ")
        text = f"your key is {key} indeed"
        await exchange.open_stream()
        for start in range(0, len(text), 5):
            await exchange.event(exchange.chunk({"content": text[start : start + 5]}))
        await exchange.event(exchange.chunk({}, "stop"))
        await exchange.close_stream()

    return behave


@dataclass
class ScriptedServer:
    """Plays `script` request by request, then `default` for ever. Use it as a context manager."""

    default: Behaviour = field(default_factory=ok)
    script: list[Behaviour] = field(default_factory=list)
    requests: list[Seen] = field(default_factory=list)
    busy: int = 0
    busiest: int = 0
    dropped: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def count(self) -> int:
        """Chat completions asked for so far."""
        return sum(seen.path.endswith("/chat/completions") for seen in self.requests)

    def play(self, *behaviours: Behaviour) -> None:
        """Adds behaviours for the next requests."""
        self.script.extend(behaviours)

    def __enter__(self) -> ScriptedServer:
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._main(ready))
        self._loop.close()

    async def _main(self, ready: threading.Event) -> None:
        self._end = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._end.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (seen := await _read(reader)) is not None:
                await self._behave(seen, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.dropped += 1
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _behave(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        self.requests.append(seen)
        exchange = Exchange(seen, writer, len(self.requests))
        if seen.path.endswith("/models"):
            await exchange.json({"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            return
        behaviour = self.script.pop(0) if self.script else self.default
        if seen.path.endswith("/embeddings") and behaviour is self.default:
            behaviour = vectors
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            await behaviour(exchange)
        finally:
            self.busy -= 1


async def vectors(exchange: Exchange) -> None:
    """One vector of three numbers for each text: its length, its words, its place."""
    texts = exchange.body["input"]
    rows = [
        {"object": "embedding", "index": place, "embedding": [len(text), len(text.split()), place]}
        for place, text in enumerate([texts] if isinstance(texts, str) else texts)
    ]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    await exchange.json({"object": "list", "data": rows, "model": exchange.body["model"], "usage": usage})


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    content = await reader.readexactly(int(headers.get("content-length", 0)))
    return Seen(method, path, headers, json.loads(content) if content else None)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A scripted server of one's own."""
    with ScriptedServer() as running:
        yield running


if __name__ == "__main__":
    with ScriptedServer(ok(" ".join(sys.argv[1:]) or "hello there")) as lone:
        print(lone.url, flush=True)
        sys.stdin.read()
