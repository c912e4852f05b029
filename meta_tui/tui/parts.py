"""A mapping of a run's parts that is never changed: one more or another part is a new mapping.

What a new mapping does not change it shares with the one it was made from, so that a state for
each of many thousand events costs a fraction of a copy. It is no general mapping: keys are ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar
from zlib import crc32

V = TypeVar("V")

WIDE = 64
"""Drawers; a change copies one of them and the row of all."""


class Parts(Mapping[str, V]):
    """Id -> part; in an order that depends on the ids alone."""

    __slots__ = ("_count", "_drawers")

    def __init__(self) -> None:
        self._drawers: tuple[dict[str, V], ...] = ({},) * WIDE
        self._count = 0

    def with_(self, id_: str, part: V) -> Parts[V]:
        """The same with this part under this id."""
        number = _drawer(id_)
        old = self._drawers[number]
        drawers = list(self._drawers)
        drawers[number] = {**old, id_: part}
        made: Parts[V] = Parts.__new__(Parts)
        made._drawers = tuple(drawers)
        made._count = self._count + (id_ not in old)
        return made

    def __getitem__(self, id_: str) -> V:
        return self._drawers[_drawer(id_)][id_]

    def __iter__(self) -> Iterator[str]:
        for drawer in self._drawers:
            yield from drawer

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return self._drawers == other._drawers if isinstance(other, Parts) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def _drawer(id_: str) -> int:
    return crc32(id_.encode("utf-8", "surrogatepass")) % WIDE
