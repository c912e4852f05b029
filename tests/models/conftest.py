"""Fixtures of the model tests: the servers, and models that do not wait long for them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from local_model import local_url
from scripted_server import server

from meta_tui.models.litellm_model import LitellmEmbedder, LitellmModel, close_connections

__all__ = ["local_url", "server"]

QUICK: dict[str, Any] = {"timeout": 0.6, "deadline": 5.0, "retries": 2, "pause": lambda _: 0.02}
KEY = "sk-local-4f9Qz81LmWc7Tn2v"


@pytest.fixture(autouse=True)
def only_our_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The one key in the environment; the machine's own are out of it."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("META_TUI_API_KEY", KEY)
    return KEY


@pytest.fixture
async def litellm_model() -> AsyncIterator[Callable[..., LitellmModel]]:
    """Makes models with short patience; their connections are closed in the end."""
    yield lambda url=None, **settings: LitellmModel(url, **{**QUICK, **settings})
    await close_connections()


@pytest.fixture
async def embedder() -> AsyncIterator[Callable[..., LitellmEmbedder]]:
    """Makes embedders with short patience."""
    yield lambda url=None, **settings: LitellmEmbedder(url, **{**QUICK, **settings})
    await close_connections()


def pytest_recording_configure(config: pytest.Config, vcr: Any) -> None:
    """Recordings are told apart by what was asked, not by the order of asking."""

    def json_body(one: Any, other: Any) -> None:
        assert json.loads(one.body or b"null") == json.loads(other.body or b"null")

    vcr.register_matcher("json_body", json_body)
