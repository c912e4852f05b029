"""Where the files that ship with meta-tui stand. Nothing of the user's is known here (`store`)."""

from __future__ import annotations

from pathlib import Path


def shipped(kind: str) -> Path:
    """The folder `cassettes` or `tasks` that comes with meta-tui: of the checkout, else of the
    installed package (an editable install would otherwise show a stale copy)."""
    package = Path(__file__).parent
    checkout = package.parent / kind
    if (package.parent / "pyproject.toml").exists() and checkout.is_dir():
        return checkout
    return package / "_data" / kind
