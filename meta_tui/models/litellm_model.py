"""Hosted and local models through litellm: the only module that imports it, and only in a call.

Replies always stream. litellm's own retries, look-ups, prints and parameter dropping are off: we
retry ourselves where it can be seen (`limits.persist`), we send only what the model takes and say
what that was, and none of its exceptions gets out (`faults`). Keys come from the environment and
stay out of every text. Importing it takes seconds, so that happens in a daemon thread.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from meta_tui.chat import Message, Params, canonical_json
from meta_tui.errors import CallFailed, UsageError
from meta_tui.events import How
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.faults import Fault, fault_of
from meta_tui.models.heard import Heard
from meta_tui.models.limits import back_off, persist
from meta_tui.models.secrets import secret_values
from meta_tui.nearest import did_you_mean

T = TypeVar("T")

TIMEOUT = 120.0
DEADLINE = 600.0
RETRIES = 4

DROPPABLE = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed")
"""What a model may refuse without changing what was asked; it is left out, and `How.sent` says so."""

KEYS_OF_A_SERVER = ("META_TUI_API_KEY", "OPENAI_API_KEY")
"""Where the key of an OpenAI-compatible server is looked for; most local ones need none."""

_REPORTED = ("max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "seed")
_HOUSEKEEPING = {"stream", "stream_options", "fake_stream", "max_retries"}
_NO_RETRIES = {"num_retries": 0, "max_retries": 0}


class Door(NamedTuple):
    """Where a model is reached: the library's provider, the name there, an address of its own."""

    provider: str
    name: str
    base_url: str | None
    priced: bool

    @property
    def model(self) -> str:
        """The model as the library wants it named."""
        return f"{self.provider}/{self.name}"


@dataclass(frozen=True)
class Sending:
    """How requests with one set of parameters go out; `mapped` is in the provider's words."""

    door: Door
    arguments: Mapping[str, Any]
    mapped: Mapping[str, Any]


class LitellmModel:
    """Answers calls with any model that litellm knows, or any server that speaks OpenAI's API.

    Args:
        base_url: address of an OpenAI-compatible server (Ollama, vLLM, llama.cpp); the model is
            then named as the server names it.
        timeout: seconds of silence, before the first piece or between two, that end an attempt.
        deadline: seconds for a whole call with all its attempts and pauses, None for no end.
        retries: attempts after the first.
        pause: seconds to wait after attempt number n.

    Raises:
        UsageError: the address holds a key.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        timeout: float = TIMEOUT,
        deadline: float | None = DEADLINE,
        retries: int = RETRIES,
        pause: Callable[[int], float] = back_off,
    ) -> None:
        self.base_url = _without_key(base_url)
        self._timeout = timeout
        self._persist = functools.partial(persist, retries=retries, deadline=deadline, pause=pause)
        self._sendings: dict[str, Sending] = {}

    async def warm(self) -> None:
        """Imports litellm (seconds of work, in a thread), so that the first call need not."""
        await _library()

    async def aclose(self) -> None:
        """Closes the connections that are kept open for the running loop."""
        await close_connections()

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The reply of the model; pieces and failed attempts are told as they come.

        After an `Attempt` the reply begins anew: pieces told before it are void.

        Raises:
            CallFailed: after the last attempt, or at once where another one cannot help.
        """
        library = await _library()
        begun = time.monotonic()
        sending = self._sending(library, call.request.params)
        secrets = secret_values()

        async def attempt() -> Heard:
            heard = Heard(secrets)
            await self._stream(library, sending, call.request.messages, heard, tell)
            return heard

        heard, attempts = await self._persist(attempt, tell)
        sent = _really_sent(sending, heard.body, call.request.params)
        cost = _cost(library, sending.door, heard.billed)
        how = How("live", _ms(begun), attempts, cost=cost, sent=sent, provider_id=heard.provider_id)
        return Answer(heard.reply(), how)

    def _sending(self, library: Any, params: Params) -> Sending:
        """What goes out beside the messages; worked out once for each set of parameters."""
        found = self._sendings.get(params.id)
        if found is None:
            door = _door(library, params.model, self.base_url)
            kept = _accepted(library, door, _given(params))
            found = self._sendings[params.id] = Sending(door, kept, _mapped(door, kept))
        return found

    async def _stream(
        self, library: Any, sending: Sending, messages: Sequence[Message], heard: Heard, tell: Tell
    ) -> None:
        door = sending.door
        call = library.acompletion(
            **_address(door),
            **sending.arguments,
            **_NO_RETRIES,
            messages=[_wire(message) for message in messages],
            stream=True,
            stream_options={"include_usage": True},
            timeout=self._timeout,
        )
        stream = await _guarded(call, door)
        async with aclosing(stream), aclosing(_chunks(stream, door)) as chunks:
            async for chunk in chunks:
                if piece := heard.take(chunk):
                    tell(piece)
        if piece := heard.end(stream):
            tell(piece)


class LitellmEmbedder:
    """Turns texts into vectors with any embedding model that litellm knows or a server offers.

    Args: as those of `LitellmModel`.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        timeout: float = TIMEOUT,
        deadline: float | None = DEADLINE,
        retries: int = RETRIES,
        pause: Callable[[int], float] = back_off,
    ) -> None:
        self.base_url = _without_key(base_url)
        self._timeout = timeout
        self._persist = functools.partial(persist, retries=retries, deadline=deadline, pause=pause)

    async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
        """One vector of floats a text, in order. Attempts that fail are counted, not told.

        Raises:
            CallFailed: it failed for good.
        """
        library = await _library()
        begun = time.monotonic()
        door = _door(library, model, self.base_url)

        async def attempt() -> tuple[list[list[float]], Any]:
            call = library.aembedding(
                **_address(door), **_NO_RETRIES, input=list(texts), timeout=self._timeout
            )
            return _vectors(await _guarded(call, door), len(texts))

        (vectors, usage), attempts = await self._persist(attempt, lambda _: None)
        return vectors, How("live", _ms(begun), attempts, cost=_cost(library, door, usage))


async def close_connections() -> None:
    """Closes litellm's connections of the running loop; does nothing where it was never imported."""
    library = sys.modules.get("litellm")
    if library is not None and _load.cache_info().currsize:
        await library.close_litellm_async_clients()
        library.in_memory_llm_clients_cache.flush_cache()


async def _library() -> Any:
    """litellm, imported at the first use."""
    return _load() if _load.cache_info().currsize else await _in_daemon(_load)


@functools.cache
def _load() -> Any:
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    import litellm

    litellm.suppress_debug_info = True
    litellm.disable_token_counter = True
    litellm.drop_params = False
    litellm.DEFAULT_MAX_RETRIES = 0  # its embedding call takes a 0 for "not given"
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize  # a reply may repeat itself
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
    return litellm


async def _in_daemon(work: Callable[[], T]) -> T:
    """Runs `work` in a daemon thread: who quits early does not wait for the import to end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def land(give: Callable[[], None]) -> None:
        if not done.done():
            give()

    def run() -> None:
        try:
            give = functools.partial(done.set_result, work())
        except ImportError as error:
            give = functools.partial(done.set_exception, error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(land, give)

    threading.Thread(target=run, name="import", daemon=True).start()
    return await done


async def _guarded(awaitable: Awaitable[T], door: Door) -> T:
    """The library's boundary: whatever it raises becomes a fault."""
    try:
        return await awaitable
    except Exception as error:  # noqa: BLE001 - its exceptions have no common base
        fault = _fault(error, door)
    raise fault


async def _chunks(stream: AsyncIterator[Any], door: Door) -> AsyncGenerator[Any, None]:
    """The same boundary for a stream. Whoever takes the chunks may raise what he likes."""
    while True:
        try:
            chunk = await anext(stream)
        except StopAsyncIteration:
            return
        except Exception as error:  # noqa: BLE001 - its exceptions have no common base
            fault = _fault(error, door)
            break
        yield chunk
    raise fault


def _fault(error: Exception, door: Door) -> Fault:
    fault = fault_of(error)
    if hint := _hint(fault, door):
        fault.message = f"{fault.message} ({hint}{_near(error, door)})"
    return fault


def _near(error: Exception, door: Door) -> str:
    """`; did you mean 'gpt-4o'?` where a provider does not know a model, and the library none of that name."""
    if door.base_url is not None or getattr(error, "status_code", None) != 404:
        return ""
    import litellm  # it is loaded: the error is its own

    known = litellm.models_by_provider.get(door.provider, ())
    return "" if door.name in known else did_you_mean(door.name, known)


def _hint(fault: Fault, door: Door) -> str:
    match fault.kind:
        case "auth":
            return _key_hint(door)
        case "network":
            return f"is the server at {door.base_url} running?" if door.base_url else "is the network up?"
        case "bad_request":
            return f"asked of the model {door.name!r}"
    return ""


def _key_hint(door: Door) -> str:
    if door.base_url:
        names = list(KEYS_OF_A_SERVER)
    else:
        names = _load().validate_environment(door.model)["missing_keys"]
    named = f"set {' or '.join(names)}" if names else "check the key"
    return f"{named} in the environment or in a .env file"


def _without_key(base_url: str | None) -> str | None:
    if base_url and "@" in urlsplit(base_url).netloc:
        names = " or ".join(KEYS_OF_A_SERVER)
        raise UsageError(f"an address must not hold a key; put it into {names} in the environment")
    return base_url


TO_SIMULATE = "Give it to `meta-tui evaluate`, or give a model that answers"


def _door(library: Any, model: str, base_url: str | None) -> Door:
    """Where `model` is reached.

    Raises:
        CallFailed: `bad_request`, if no provider is known for the name.
    """
    prefix, slash, name = model.partition("/")
    if slash and name and prefix in library.provider_list:
        return Door(prefix, name, base_url, True)
    if base_url and model:
        return Door("openai", model, base_url, False)
    try:
        name, provider, _, _ = library.get_llm_provider(model)
    except Exception:  # noqa: BLE001 - the library's boundary
        name, provider = model, ""
    if not provider and model.startswith("simulated:"):
        raise CallFailed(
            "bad_request", f"{model} is a simulation: it knows samples of tasks only. {TO_SIMULATE}"
        )
    if not provider:
        near = did_you_mean(model, ["copy-paste", *library.model_cost]) or ";"
        message = (
            f"no provider is known for {model!r}{near} write provider/model, or give the server's base URL"
        )
        raise CallFailed("bad_request", message)
    return Door(provider, name, None, True)


def _address(door: Door) -> dict[str, Any]:
    if door.base_url is None:
        return {"model": door.model}
    address = {"model": door.model, "api_base": door.base_url}
    if door.provider == "openai":
        keys = (os.environ.get(name) for name in KEYS_OF_A_SERVER)
        address["api_key"] = next((key for key in keys if key), "none")
    return address


def _given(params: Params) -> dict[str, Any]:
    names = (name for name in params.__struct_fields__ if name != "model")
    given = {name: getattr(params, name) for name in names if getattr(params, name) is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def _accepted(library: Any, door: Door, asked: dict[str, Any]) -> dict[str, Any]:
    """`asked` without what the model refuses and a request may lose.

    Raises:
        CallFailed: `unsupported`, if it refuses what a request may not lose.
    """
    effort = {"reasoning_effort": asked["reasoning_effort"]} if "reasoning_effort" in asked else {}
    refused = {
        name
        for name, value in asked.items()
        if name != "extra_body" and not _takes(library, door, {**effort, name: value})
    }
    if lost := sorted(refused.difference(DROPPABLE)):
        message = f"{door.name} takes no {' and no '.join(lost)}; leave it out or choose another model"
        raise CallFailed("unsupported", message)
    if door.provider == "anthropic" and {"temperature", "top_p"} <= asked.keys() - refused:
        refused.add("top_p")  # the API refuses the pair, the library lets it pass
    return {name: value for name, value in asked.items() if name not in refused}


def _takes(library: Any, door: Door, arguments: dict[str, Any]) -> bool:
    supported = library.get_supported_openai_params(door.name, door.provider)
    if supported is not None and not arguments.keys() <= set(supported):
        return False
    try:
        _translated(door, arguments)
    except Exception as error:  # noqa: BLE001 - the library's boundary
        return type(error).__name__ != "UnsupportedParamsError"
    return True


def _mapped(door: Door, arguments: dict[str, Any]) -> dict[str, Any]:
    """The parameters in the provider's words; in ours where the library cannot say."""
    try:
        mapped = _translated(door, arguments)
    except Exception:  # noqa: BLE001 - the call itself will complain
        return arguments
    extra = mapped.pop("extra_body", None)
    words = {name: value for name, value in mapped.items() if name not in _HOUSEKEEPING}
    return {**words, "extra_body": extra} if extra else words


def _translated(door: Door, arguments: dict[str, Any]) -> dict[str, Any]:
    from litellm.utils import get_optional_params

    mapped: dict[str, Any] = get_optional_params(
        model=door.name, custom_llm_provider=door.provider, **arguments
    )
    return mapped


def _really_sent(sending: Sending, body: Mapping[str, Any], params: Params) -> Any:
    """The parameters as sent, or None where they are those that were asked for."""
    added = {name: body[name] for name in _REPORTED if body.get(name) is not None}
    sent = {**sending.mapped, **added}
    return None if canonical_json(sent) == canonical_json(_given(params)) else sent


def _wire(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _cost(library: Any, door: Door, usage: Any) -> float | None:
    """Dollars by the library's table; None for a server of one's own and for an unknown model."""
    if usage is None or not door.priced:
        return None
    billed = getattr(usage, "cost", None)
    if isinstance(billed, int | float):
        return float(billed)
    try:
        parts = library.cost_per_token(model=door.name, custom_llm_provider=door.provider, usage_object=usage)
    except Exception:  # noqa: BLE001 - whatever it raises, the price is unknown
        return None
    return float(sum(parts))


def _vectors(response: Any, number: int) -> tuple[list[list[float]], Any]:
    """The vectors and what was used for them.

    Raises:
        Fault: not one vector of numbers a text came back.
    """
    try:
        rows = sorted(response.data, key=lambda row: row["index"])
        vectors = [[float(x) for x in row["embedding"]] for row in rows]
    except (KeyError, TypeError, ValueError):
        raise Fault("server", "what came back are no vectors; is it an embedding model?") from None
    if len(vectors) != number:
        raise Fault("server", f"{number} texts were sent and {len(vectors)} vectors came back")
    return vectors, getattr(response, "usage", None)


def _ms(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
