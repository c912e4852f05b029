"""Calls against recorded HTTP: what is on the wire, and that old recordings are still understood.

The recordings in cassettes/http/ came from the scripted server of these tests; no provider's text
is in them. They match on method, path and JSON body (see conftest) and keep no header but
content-type. `pytest --record-mode=rewrite tests/models/test_litellm_wire.py` makes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from calls import Told, ask
from scripted_server import Behaviour, ScriptedServer, empty, ok, rate_limited

from meta_tui.chat import ToolCall, Usage
from meta_tui.errors import CallFailed
from meta_tui.models.litellm_model import LitellmModel
from meta_tui.models.secrets import scrub

FOLDER = Path(__file__).parents[2] / "cassettes" / "http" / "test_litellm_wire"
NOWHERE = "http://127.0.0.1:9/v1"
"""Where nobody listens: a replayed call must not care."""

Make = Callable[..., LitellmModel]
Wire = Callable[..., str]
pytestmark = [pytest.mark.vcr, pytest.mark.block_network]


def without_headers(message: Any) -> Any:
    """The request or response with no header but content-type, and no address of ours."""
    if isinstance(message, dict):
        headers = {k: v for k, v in message["headers"].items() if k.lower() == "content-type"}
        return {**message, "headers": headers}
    for name in list(message.headers):
        if name.lower() != "content-type":
            del message.headers[name]
    message.uri = re.sub(r"^http://[^/]+", "http://recorded", message.uri)
    return message


@pytest.fixture(scope="module")
def vcr_config() -> dict[str, Any]:
    return {
        "match_on": ["method", "path", "json_body"],
        "decode_compressed_response": True,
        "before_record_request": without_headers,
        "before_record_response": without_headers,
    }


@pytest.fixture(scope="module")
def vcr_cassette_dir() -> str:
    return str(FOLDER)


@pytest.fixture(autouse=True)
async def through_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    """One transport for recording and replay, whatever the library prefers."""
    await LitellmModel().warm()
    import litellm

    monkeypatch.setattr(litellm, "disable_aiohttp_transport", True)


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> bool:
    """Whether the recordings are being made anew."""
    return request.config.getoption("--record-mode") not in (None, "none")


@pytest.fixture
def wire(recording: bool) -> Iterator[Wire]:
    """Gives an address: of a scripted server while recording, of nobody while replaying."""
    if not recording:
        yield lambda *_: NOWHERE
        return
    with ScriptedServer() as server:

        def play(*behaviours: Behaviour) -> str:
            server.play(*behaviours)
            return server.url

        yield play


def played(vcr: Any, number: int) -> bool:
    """Whether the recording holds so many requests and all of them were needed."""
    return len(vcr.requests) == number and (bool(vcr.all_played) or vcr.dirty)


async def test_a_streamed_reply_is_understood(wire: Wire, litellm_model: Make, vcr: Any) -> None:
    url = wire(ok("one two", tool_calls=[CALL], reasoning="hm", finish="tool_calls"))
    call = ask("say it", model="recorded", temperature=0.0, max_tokens=20, seed=7)
    told = Told()
    answer = await litellm_model(url).answer(call, told)
    reply = answer.reply
    assert (reply.text, told, reply.reasoning) == ("one two", ["one ", "two"], "hm")
    assert reply.tool_calls == (ToolCall("c1", "look", '{"at": 1}'),)
    assert reply.usage == Usage(prompt_tokens=2, completion_tokens=2)
    assert played(vcr, 1)


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


async def test_a_rate_limit_is_waited_out(wire: Wire, litellm_model: Make, vcr: Any) -> None:
    told = Told()
    answer = await litellm_model(wire(rate_limited(0), ok("now"))).answer(ask("once", model="recorded"), told)
    assert answer.reply.text == "now"
    assert [(attempt.kind, attempt.retry_in) for attempt in told.attempts] == [("rate_limit", 0.02)]
    assert played(vcr, 2)


async def test_an_empty_reply_is_understood(wire: Wire, litellm_model: Make, vcr: Any) -> None:
    answer = await litellm_model(wire(empty())).answer(ask("nothing", model="recorded"), Told())
    assert (answer.reply.text, answer.reply.finish_reason) == ("", "stop")
    assert played(vcr, 1)


async def test_two_prompts_in_another_order_get_their_own_replies(
    wire: Wire, litellm_model: Make, vcr: Any, recording: bool
) -> None:
    model = litellm_model(wire(ok("of one"), ok("of two")))
    order = ("one", "two") if recording else ("two", "one")
    replies = {text: (await model.answer(ask(text, model="recorded"), Told())).reply.text for text in order}
    assert replies == {"one": "of one", "two": "of two"}
    assert played(vcr, 2)


async def test_a_request_that_was_not_recorded_is_no_reply(
    wire: Wire, litellm_model: Make, recording: bool
) -> None:
    if recording:
        pytest.skip("nothing to record")
    with pytest.raises(CallFailed):
        await litellm_model(wire(), retries=0).answer(ask("never asked", model="recorded"), Told())


def test_recordings_hold_no_key_no_other_header_and_no_address() -> None:
    files = sorted(FOLDER.rglob("*.yaml"))
    assert len(files) == 4
    for path in files:
        text = path.read_text()
        assert scrub(text) == text
        assert "127.0.0.1" not in text
        assert path.stat().st_size < 8_000
        headers = re.findall(r"^      ([A-Za-z-]+):$", text, re.MULTILINE)
        assert {name.lower() for name in headers} <= {"content-type"}
