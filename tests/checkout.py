"""Where the checkout stands that the tests belong to; nothing else."""

from __future__ import annotations

from pathlib import Path


def project() -> Path:
    """The root of the checkout."""
    return Path(__file__).parents[1]
