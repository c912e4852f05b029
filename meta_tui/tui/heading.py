"""The lines above and below the panes as text: status, transport, track. Pure.

What matters most comes first and is never cut: the badge, the state, the round, the calls; the
run's names take the room that is left.
"""

from __future__ import annotations

from rich.cells import cell_len

from meta_tui.display import dollars, one_line
from meta_tui.events import Replied, RoundStarted
from meta_tui.tui import words
from meta_tui.tui.state import EMPTY, RunState
from meta_tui.tui.tape import Transport

LEAST = 8
"""Cells below which names are left out rather than cut."""


def status(state: RunState, title: str, width: int, base: RunState = EMPTY) -> str:
    """`✓ answered   round 4/16   calls 6   code 1   tok -   $0   name   method · model`."""
    facts = [words.state_word(state.status)]
    if state.limit:
        facts.append(f"round {state.round}/{state.limit}")
    facts.append(f"calls {state.calls}" + (f" (◆ {state.cached})" if state.cached else ""))
    if state.code_runs:
        facts.append(f"code {state.code_runs}")
    if base is not EMPTY:
        new = words.count(max(0, state.replies - base.replies), "reply", "replies")
        facts.append(f"new: {new} {new_cost(state, base)}")
    more = [f"tok {words.run_tokens(state)}", words.cost_fact(state)]
    return _fit(facts, [*more, *names(state, title)], width)


def new_cost(state: RunState, base: RunState) -> str:
    """What came on top of a recorded beginning cost: `$0.0021`, `-` where a price is unknown."""
    unknown = state.unpriced > base.unpriced
    return dollars(None if unknown else max(0.0, state.cost - base.cost))


def names(state: RunState, title: str) -> list[str]:
    """The run's name, its method and its model."""
    started = state.started
    found = [title] if title else []
    if started:
        found.append(" · ".join(one_line(word, 40) for word in (started.method, started.model) if word))
    return [one_line(name, 60) for name in found]


def _fit(must: list[str], may: list[str], width: int) -> str:
    text = "   ".join(must)
    for part in may:
        room = width - cell_len(text) - 3
        if cell_len(part) > room:
            if room >= LEAST:
                text += "   " + one_line(part, room)
            break
        text += "   " + part
    return text


def transport(hand: Transport, width: int) -> str:
    """`▶ 2x  5.2 s of 9.8 s  ┃━━•━━┃━◉──•─`."""
    if hand.following:
        head = "● following the end"
    else:
        glyph = "▶ playing" if hand.playing else ("■ at the end" if hand.at_end else "‖ paused")
        head = f"{glyph} {hand.speed:g}x  {words.seconds(hand.time)} of {words.seconds(hand.tape.length)}"
    return f"{head}  {track(hand, width - cell_len(head) - 2)}"


def track(hand: Transport, width: int) -> str:
    """The run as a line: bars are rounds, dots are replies, the heavy part is over."""
    tape = hand.tape
    length = tape.length
    if width < 12 or length <= 0:
        return ""
    scale = (width - 1) / length
    done = width if hand.following else round(hand.time * scale)
    cells = ["━" if i <= done else "─" for i in range(width)]
    for places, mark in ((tape.marks(Replied), "•"), (tape.marks(RoundStarted), "┃")):
        for place in places:
            cells[round(tape.time(place) * scale)] = mark
    if not hand.following:
        cells[min(done, width - 1)] = "◉"
    return "".join(cells)
