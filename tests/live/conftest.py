"""Fixtures of the tests that run the whole program: a user's folder, servers, one key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from live_runs import KEY, clean_environment
from local_model import local_url
from scripted_server import server

__all__ = ["local_url", "server"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty user's folder and working folder, no setting from outside, and one key."""
    clean = clean_environment(tmp_path / "home")
    for name in set(os.environ) - set(clean):
        monkeypatch.delenv(name)
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("META_TUI_API_KEY", KEY)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home"


@pytest.fixture(scope="session")
def loaded() -> None:
    """The model library, imported before a test that counts seconds of a whole run."""
    from meta_tui.models.litellm_model import _load

    _load()
