"""The calls of a run along its time: a row for each part, a bar for each call. Pure.

The seconds are those of the playback, so a bar stands above the place of the transport's line at
which it happened. Which rows there are follows from the whole run as far as it is known; which
bars, from the moment that is shown. Kinds of bars differ by shape, colours only help.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rich.cells import set_cell_size

from meta_tui.display import one_line
from meta_tui.events import Replied
from meta_tui.tui.state import EffectView

LABEL = 14
"""Cells of a row's name."""

OTHERS = "others"
"""Name of the row that takes the parts for which there is no row of their own."""

STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000, 86400)
"""Seconds between two marks of the scale."""

MANY = 500
"""Calls up to which each new one is drawn at once."""

APART = 8
"""Cells that two marks of the scale need at least."""

BARS = {
    "call": ("█", "call", "run"),
    "hit": ("▒", "cached", "hit"),
    "code": ("▓", "program", "done"),
    "other": ("▪", "grade", "quiet"),
    "open": ("·", "under way", "wait"),
    "failed": ("✗", "failed", "fail"),
}
"""Kind of a bar -> glyph, word, colour."""

Part = tuple[str, str]
"""Text and the name of its colour."""


class Bar(NamedTuple):
    """A call: from when to when, in seconds of the playback, and its kind."""

    start: float
    end: float
    kind: str


def moment(effects: Sequence[EffectView], length: float, width: int) -> tuple[object, ...]:
    """What a strip is made of, to tell whether it is to be made anew: of few calls everything, of
    many only what moves a bar by a cell, since making it costs as much as there are calls."""
    if len(effects) <= MANY or length <= 0:
        return effects, length
    return round(math.log(len(effects)) * width), round(math.log(length) * width)


def names(effects: Iterable[EffectView], most: int) -> list[str]:
    """Names of the rows in the order in which their parts first called; `most` of them at most."""
    found = list(dict.fromkeys(effect.name for effect in effects))
    return found if len(found) <= most else [*found[: most - 1], OTHERS]


def bar(effect: EffectView, time: Callable[[int], float], now: float) -> Bar:
    """The bar of a call.

    Args:
        effect: the call as far as it is known at `now`.
        time: when a number of events are over.
        now: the second that is shown.
    """
    start = min(time(effect.event + 1), now)
    return Bar(start, time(effect.ended) if effect.ended else now, kind(effect))


def kind(effect: EffectView) -> str:
    """A key of `BARS`."""
    if not effect.ended:
        return "open"
    if effect.phase not in ("done", "running"):
        return "failed"
    if effect.kind == "code":
        return "code"
    if effect.kind != "model":
        return "other"
    outcome = effect.outcome
    cached = isinstance(outcome, Replied) and outcome.how is not None and outcome.how.source == "cache"
    return "hit" if cached else "call"


def strip(
    effects: Sequence[EffectView],
    rows: Sequence[str],
    time: Callable[[int], float],
    now: float,
    length: float,
    width: int,
) -> list[list[Part]]:
    """The scale, then a line for each row, each of at most `width` cells."""
    room = max(1, width - LABEL)
    known = set(rows)
    bars: dict[str, list[Bar]] = {name: [] for name in rows}
    for effect in effects:
        bars[effect.name if effect.name in known else OTHERS].append(bar(effect, time, now))
    lines = [[(set_cell_size("calls", LABEL), "quiet"), (scale(length, room), "quiet")]]
    for name in rows:
        lines.append([(label(name), ""), *drawn(bars[name], length, room)])
    return lines


def label(name: str) -> str:
    """The name of a row, without the word that every expert's begins with."""
    short = name.removeprefix("Expert ")
    return set_cell_size(one_line(short or "run", LABEL - 2), LABEL)


def scale(length: float, room: int) -> str:
    """`0s      2s      4s`."""
    step = next((step for step in STEPS if step * room >= APART * length), STEPS[-1])
    text = ""
    mark = 0.0
    while length > 0 and mark <= length:
        at = round(mark / length * (room - 1))
        words = f"{mark:g}s"
        if at + len(words) > room:
            break
        text = text.ljust(at) + words
        mark = round(mark + step, 6)
    return text


def legend() -> str:
    """What the shapes mean."""
    return "   ".join(f"{glyph} {word}" for glyph, word, _ in BARS.values())


def drawn(bars: Sequence[Bar], length: float, room: int) -> list[Part]:
    """A row: later bars lie over earlier ones; every call has at least one cell."""
    cells = [""] * room
    share = (room - 1) / length if length > 0 else 0.0
    for one in bars:
        first = round(one.start * share)
        last = max(first, round(one.end * share) - 1)
        whole = "call" if one.kind == "failed" else one.kind
        cells[first : last + 1] = [whole] * (last + 1 - first)
        cells[last] = one.kind
    return _joined(cells)


def _joined(cells: Sequence[str]) -> list[Part]:
    parts: list[Part] = []
    for cell in cells:
        glyph, _, colour = BARS[cell] if cell else (" ", "", "")
        if parts and parts[-1][1] == colour and (colour or not cell):
            parts[-1] = (parts[-1][0] + glyph, colour)
        else:
            parts.append((glyph, colour))
    return parts
