"""The prompt texts that the methods ship, one file a text, all worded by this project.

A changed text changes requests, so it makes recorded runs miss: tests keep a snapshot of every
text, and a change is a reviewed diff. Texts that people import (`meta-tui import published`) live
in their own store, never here.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def text(name: str) -> str:
    """The prompt text `name`, without the newline that ends its file."""
    return files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")
