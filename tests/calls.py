"""Short ways to ask a model something in tests."""

from __future__ import annotations

from typing import Any

from meta_tui.chat import Params, Request, user
from meta_tui.models.base import Attempt, Call


def ask(
    text: str = "hi you", *, model: str = "scripted", call: dict[str, Any] | None = None, **params: Any
) -> Call:
    """A call with one user message; `call` are fields of `Call`, `params` those of `Params`."""
    return Call(Request((user(text),), Params(model, **params)), **(call or {}))


class Told(list[str | Attempt]):
    """A `Tell` that remembers."""

    def __call__(self, item: str | Attempt) -> None:
        self.append(item)

    @property
    def text(self) -> str:
        """The pieces after the last failed attempt, joined."""
        last = max((n for n, item in enumerate(self) if isinstance(item, Attempt)), default=-1)
        return "".join(item for item in self[last + 1 :] if isinstance(item, str))

    @property
    def attempts(self) -> list[Attempt]:
        """The failed attempts that were made again."""
        return [item for item in self if isinstance(item, Attempt)]
