"""meta-tui: run, watch, replay and compare scaffolds of language-model calls.

The public names, resolved when they are first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "meta_tui.library": (
        "cassettes",
        "load",
        "replay",
        "replay_async",
        "solve",
        "solve_async",
        "solve_events",
    ),
    "meta_tui.streamed": ("StreamResult", "solve_stream", "solve_stream_async"),
    "meta_tui.chat": (
        "CodeResult",
        "Limits",
        "Message",
        "Params",
        "Program",
        "Reply",
        "Usage",
        "system",
        "user",
    ),
    "meta_tui.run": ("Method", "Run", "RunResult", "Solution", "Stop"),
    "meta_tui.models.scripted": ("ScriptedModel",),
    "meta_tui.errors": ("CallFailed", "CassetteMiss", "MetaTuiError", "ReplayError"),
    "meta_tui.methods": ("METHODS", "register"),
    "meta_tui.methods.meta_prompting": ("MetaPrompting",),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [
    "METHODS",
    "CallFailed",
    "CassetteMiss",
    "CodeResult",
    "Limits",
    "Message",
    "MetaPrompting",
    "MetaTuiError",
    "Method",
    "Params",
    "Program",
    "ReplayError",
    "Reply",
    "Run",
    "RunResult",
    "ScriptedModel",
    "Solution",
    "Stop",
    "StreamResult",
    "Usage",
    "__version__",
    "cassettes",
    "load",
    "register",
    "replay",
    "replay_async",
    "solve",
    "solve_async",
    "solve_events",
    "solve_stream",
    "solve_stream_async",
    "system",
    "user",
]

if TYPE_CHECKING:
    from meta_tui.chat import CodeResult, Limits, Message, Params, Program, Reply, Usage, system, user
    from meta_tui.errors import CallFailed, CassetteMiss, MetaTuiError, ReplayError
    from meta_tui.library import cassettes, load, replay, replay_async, solve, solve_async, solve_events
    from meta_tui.methods import METHODS, register
    from meta_tui.methods.meta_prompting import MetaPrompting
    from meta_tui.models.scripted import ScriptedModel
    from meta_tui.run import Method, Run, RunResult, Solution, Stop
    from meta_tui.streamed import StreamResult, solve_stream, solve_stream_async


def __getattr__(name: str) -> Any:
    """A public name, from the module that holds it."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'meta_tui' has no attribute {name!r}")
