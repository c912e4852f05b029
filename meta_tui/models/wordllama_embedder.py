"""Vectors of texts from a small model that a package carries: offline, without a key or a server.

`wordllama` (MIT, 19 MB, static vectors of 256 numbers) brings its weights and its tokenizer; nothing
is ever downloaded here. It is the one import of that package, an optional extra, and asked for by
name (`embedder=wordllama`). What it gives is recorded like any reply, so a replay needs no package.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from meta_tui.errors import CallFailed
from meta_tui.events import How
from meta_tui.models.base import Embedder

NAME = "wordllama"
"""The embedder that this module is, as settings name it."""

MISSING = 'embedder wordllama is not installed; pip install "meta-tui[embeddings]", or take embedder hashing'


class LocalFirst:
    """Embeds with the local model where that is asked for by name, else with another embedder.

    Args:
        other: asked for every other model; None where there is none.
    """

    def __init__(self, other: Embedder | None) -> None:
        self._other = other

    async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
        """One vector of floats a text, in order.

        Raises:
            CallFailed: the package is missing, or the other embedder failed.
        """
        if model == NAME:
            return await asyncio.to_thread(_embedded, tuple(texts))
        if self._other is None:
            raise CallFailed(
                "unsupported",
                f"nobody is here to ask for embedding model {model}; give --model, or embedder hashing or wordllama",
            )
        return await self._other.embed(model, texts)


def _embedded(texts: Sequence[str]) -> tuple[list[list[float]], How]:
    begun = time.monotonic()
    vectors = [[float(value) for value in row] for row in _model().embed(list(texts))]
    whole = [row if all(map(math.isfinite, row)) else [0.0] * len(row) for row in vectors]
    return whole, How("live", round(1000 * (time.monotonic() - begun)), cost=0.0, note="local")


@cache
def _model() -> Any:
    """The model, loaded at the first use from the package's own files: this release looks for its
    tokenizer in a folder that it does not have unless it is told where its files are."""
    spec = find_spec(NAME)
    if spec is None or not spec.submodule_search_locations:
        raise CallFailed("unsupported", MISSING)
    folder = Path(next(iter(spec.submodule_search_locations)))
    loader: Any = _imported().WordLlama
    try:
        return loader.load(cache_dir=folder, disable_download=True)
    except FileNotFoundError as error:
        raise CallFailed("unsupported", f"this wordllama lacks its model's files: {error}") from error


def _imported() -> Any:
    """The package. Its import tells the root logger to print; a handler that is there keeps it from that."""
    root, silent = logging.getLogger(), logging.NullHandler()
    root.addHandler(silent)
    try:
        return import_module(NAME)
    finally:
        root.removeHandler(silent)
