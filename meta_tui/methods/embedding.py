"""Vectors of texts: an offline hashing embedder, and the choice between it and a model.

`hashed` is pure, needs no network and gives the same numbers on every machine: an effect it is
not, only its name stands in a method's settings. Any other name is an embedding model that is
asked through the run, cached and recorded like every call. What this is not: it keeps no index
and knows no method.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha1
from itertools import pairwise
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meta_tui.run import Run

HASHING = "hashing"
"""The embedder that asks nobody."""

BUCKETS = 512
_TOKEN = re.compile(r"[a-z0-9]+")

Vector = list[float]


def hashed(text: str) -> Vector:
    """512 floats of length 1 (all 0 for a text without a token).

    Tokens are lower-cased `[a-z0-9]+`; each token and each pair of neighbours is hashed with
    SHA-1 into a signed bucket.
    """
    vector = [0.0] * BUCKETS
    tokens = _TOKEN.findall(text.lower())
    for gram in (*tokens, *(f"{a} {b}" for a, b in pairwise(tokens))):
        bucket, sign = _place(gram)
        vector[bucket] += sign
    return normalised(vector)


@lru_cache(maxsize=1 << 16)
def _place(gram: str) -> tuple[int, int]:
    """The bucket of a gram, from the first four bytes of its digest, and its sign, from the fifth."""
    digest = sha1(gram.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big") % BUCKETS, 1 if digest[4] % 2 else -1


def normalised(vector: Sequence[float]) -> Vector:
    """The vector at length 1; a zero vector stays what it is."""
    length = math.sqrt(sum(map(mul, vector, vector)))
    return [value / length for value in vector] if length else list(vector)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Cosine of two vectors in [-1, 1], to nine digits; 0 where one of them is zero or their lengths
    differ. Rounded, so that the order of a sum decides no tie."""
    lengths = math.sqrt(sum(map(mul, a, a)) * sum(map(mul, b, b)))
    return round(sum(map(mul, a, b)) / lengths, 9) if lengths and len(a) == len(b) else 0.0


def reduced(vector: Sequence[float], size: int) -> Vector:
    """A vector of `size` floats of length 1: every dimension is added to a signed bucket that its
    number decides."""
    small = [0.0] * size
    for number, value in enumerate(vector):
        bucket, sign = _place(f"dimension {number}")
        small[bucket % size] += sign * value
    return normalised(small)


async def embed(run: Run, texts: Sequence[str], embedder: str) -> list[Vector]:
    """One vector a text, in order.

    Args:
        embedder: `hashing`, or the name of an embedding model.

    Raises:
        CallFailed: the model could not be asked.
    """
    if embedder == HASHING:
        return [hashed(text) for text in texts]
    return await run.embed(texts, embedder) if texts else []
