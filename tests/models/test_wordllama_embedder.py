"""The embedding model that a package carries: offline, silent, and recorded like any other."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from mc2_runs import Golds, by_role, stream
from scripted_runs import again, run

from meta_tui.cli import main
from meta_tui.errors import CallFailed
from meta_tui.events import EmbedStarted, How
from meta_tui.methods import build
from meta_tui.methods.embedding import cosine
from meta_tui.models import wordllama_embedder
from meta_tui.models.scripted import ScriptedModel
from meta_tui.models.wordllama_embedder import NAME, LocalFirst
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.sources import header

needs_package = pytest.mark.skipif(
    find_spec(NAME) is None, reason='needs an embedding model: pip install "meta-tui[embeddings]"'
)


def embedded(*texts: str) -> list[list[float]]:
    return asyncio.run(LocalFirst(None).embed(NAME, texts))[0]


class Elsewhere:
    """Another embedder."""

    async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
        return [[1.0]] * len(texts), How("written")


@needs_package
def test_a_text_is_256_numbers_and_likeness_is_one_of_meaning() -> None:
    one, other, far = embedded("buy a new car", "purchase an automobile", "the proof uses induction")
    assert {len(one), len(other), len(far)} == {256}
    assert cosine(one, other) > cosine(one, far) + 0.2


@needs_package
def test_a_text_without_a_word_is_zero_and_no_not_a_number() -> None:
    (empty,) = embedded("")
    assert set(empty) <= {0.0}


@needs_package
def test_it_loads_with_the_network_cut_and_leaves_the_root_logger_as_it_was() -> None:
    program = (
        "import asyncio, logging, socket\n"
        "def no(*a, **k): raise AssertionError('no network')\n"
        "socket.getaddrinfo = socket.socket.connect = no\n"
        "from meta_tui.models.wordllama_embedder import LocalFirst\n"
        "vectors, how = asyncio.run(LocalFirst(None).embed('wordllama', ['a b', 'c']))\n"
        "logging.getLogger().info('heard')\n"
        "print(len(vectors), how.note, logging.getLogger().handlers, logging.getLogger().level)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"2 local [] {logging.WARNING}\n", done.stderr
    assert done.stderr == ""


@needs_package
def test_a_stream_with_it_has_its_vectors_in_its_log_and_replays_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "run.jsonl"
    method = build("mc2", {"batch": 2, "embedder": NAME})
    started = header(method, "q", model="m", stream=stream(4))
    doors = Doors(ScriptedModel(by_role), embedder=LocalFirst(None), scorer=Golds())
    assert run(method, started, doors, log).status == "completed"
    assert {e.model for e in read(log).events if isinstance(e, EmbedStarted)} == {NAME}
    assert read(log).started.settings["embedder"] == NAME
    monkeypatch.setattr(wordllama_embedder, "find_spec", lambda name: None)
    assert again(log).status == "completed"


@needs_package
def test_a_run_with_a_scripted_model_can_have_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"text": "1. so\nFinal Answer: 4"}) + "\n")
    words = ["solve", "Q?", "--method", "bot", "--set", f"embedder={NAME}", "--model", f"script:{script}"]
    script.write_text(script.read_text() * 3)
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "4"


def test_other_models_are_asked_of_the_other_embedder_and_nobody_is_a_named_failure() -> None:
    assert asyncio.run(LocalFirst(Elsewhere()).embed("x/y", ["a"]))[0] == [[1.0]]
    with pytest.raises(CallFailed, match="embedder hashing or wordllama"):
        asyncio.run(LocalFirst(None).embed("x/y", ["a"]))


def test_a_missing_package_is_a_failure_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama_embedder, "find_spec", lambda name: None)
    monkeypatch.setattr(wordllama_embedder, "_model", wordllama_embedder._model.__wrapped__)
    with pytest.raises(CallFailed, match=r"pip install .meta-tui\[embeddings\]"):
        embedded("a")
