"""Which parts of a run get a pane and which a single row. Pure: from sizes and spans to a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest

from meta_tui.tui.state import SpanView

POOL = 12
"""Panes that exist; more parts than fit are rows."""

LOWEST = 7
"""Rows that a pane needs, borders included."""

WIDE = 96
"""Cells from which the panes stand in two columns."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Span ids by what they get, in the order in which they began."""

    rows: tuple[str, ...]
    panes: tuple[str, ...]
    columns: int = 1


def arrange(spans: Sequence[SpanView], chosen: str | None, width: int, height: int) -> Plan:
    """Panes for the chosen part, those in which something is going on, and the latest; rows for the others.

    Of a stream whose instances go on at once one instance has the panes: that of the chosen part, else
    the first that is under way. Each of its roles has one pane, in a fixed order, for its latest attempt.

    Args:
        spans: the parts that have something to show, in order.
        chosen: the part that a person picked.
        width, height: cells of the area.
    """
    columns = 2 if width >= WIDE else 1
    room = max(1, min(POOL, columns * max(1, height // LOWEST)))
    if len(spans) > room:
        spare = height - min(len(spans) - room, rows_shown(height))
        room = max(1, min(POOL, columns * max(1, spare // LOWEST)))
    roles = _roles(spans, _instance(spans, chosen))
    ranked = nlargest(room, enumerate(spans), key=lambda pair: (_rank(pair[1], chosen, roles), pair[0]))
    kept = {span.id for _, span in ranked}
    others = [span.id for span in spans if span.id in kept and span.id not in roles]
    panes = (*(id_ for id_ in roles if id_ in kept), *others)
    rows = tuple(span.id for span in spans if span.id not in kept)
    return Plan(rows, panes, columns if len(panes) > 1 else 1)


def rows_shown(height: int) -> int:
    """How many rows of an area may go to parts without a pane."""
    return max(1, height // 4)


def _instance(spans: Sequence[SpanView], chosen: str | None) -> str:
    """The instance that has the panes; "" where no instance is under way or chosen."""
    instances = [span for span in spans if span.role == "instance"]
    if chosen:
        return next((span.id for span in instances if f"{chosen}/".startswith(f"{span.id}/")), "")
    return next((span.id for span in instances if span.phase in ("running", "retrying")), "")


def _roles(spans: Sequence[SpanView], instance: str) -> tuple[str, ...]:
    """The latest part of each name in an instance, in the order in which the names first came."""
    if not instance:
        return ()
    inside = f"{instance}/"
    own = [span for span in spans if span.id.startswith(inside)]
    return tuple({span.name: span.id for span in own}.values())


def _rank(span: SpanView, chosen: str | None, roles: Sequence[str]) -> int:
    if span.id == chosen:
        return 3
    if span.id in roles:
        return 2
    return int(span.phase != "done" and any(block.open for block in span.blocks[-3:]))
