"""Calls against recorded HTTP: what is on the wire, and that old recordings are still understood.

The recordings in cassettes/http/ came from the scripted server of these tests; no provider's text
is in them. They match on method, path and JSON body, and keep no header but content-type. To make
them anew: `pytest --record-mode=rewrite --disable-socket=no tests/models/test_litellm_wire.py`
(each test starts the server only when it records).
"""

from __future__ import annotations

import json
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

FOLDER = Path(__file__).parents[2] / "cassettes" / "http"
NOWHERE = "http://127.0.0.1:9/v1"
"""Where nobody listens: a replayed call must not care."""

Make = Callable[..., LitellmModel]
Wire = Callable[..., str]
pytestmark = [pytest.mark.vcr, pytest.mark.block_network(allowed_hosts=["127.0.0.1"])]


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


def pytest_recording_configure(config: pytest.Config, vcr: Any) -> None:
    def json_body(one: Any, other: Any) -> None:
        assert json.loads(one.body or b"null") == json.loads(other.body or b"null")

    vcr.register_matcher("json_body", json_body)


@pytest.fixture(autouse=True)
def through_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    """One transport for recording and replay, whatever the library prefers."""
    import litellm

    monkeypatch.setattr(litellm, "disable_aiohttp_transport", True)


@pytest.fixture
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    """Gives an address: of a scripted server while recording, of nobody while replaying."""
    mode = request.config.getoption("--record-mode")
    if mode in (None, "none"):
        yield lambda *_: NOWHERE
        return
    with ScriptedServer() as server:

        def play(*behaviours: Behaviour) -> str:
            server.play(*behaviours)
            return server.url

        yield play
