"""Runs programs that a model wrote: nearly all of them, and contains the rest.

Two layers. The language policy (`policy`, `guards`, `modules`, `vocabulary`) decides what a program
may say and reach; it gives clear refusals. The process (`runner` in the app, `worker` and
`lockdown` in the child) is the boundary. This package imports neither until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meta_tui.sandbox.runner import Held, Sandbox, doctor

__all__ = ["Held", "Sandbox", "doctor", "layers"]


def layers() -> list[tuple[str, bool, str]]:
    """What holds on this machine; the same as `doctor`."""
    from meta_tui.sandbox.runner import doctor

    return doctor()


def __getattr__(name: str) -> Any:
    if name in __all__:
        from meta_tui.sandbox import runner

        return getattr(runner, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
