"""States as glyph and word, and small facts as short text. Pure; the app's tone of voice.

Never a colour alone: whoever cannot see colours reads the word, whoever cannot see the glyph too.
"""

from __future__ import annotations

import time

from meta_tui.display import count, dollars
from meta_tui.store import RunSummary
from meta_tui.tui.state import RunState

__all__ = [
    "GLYPHS",
    "colour",
    "cost",
    "cost_fact",
    "count",
    "run_cost",
    "run_tokens",
    "seconds",
    "state_word",
    "when",
]

cost = dollars
"""`$0.0410`, `-` where a price is unknown."""

GLYPHS: dict[str, tuple[str, str, str]] = {
    "waiting": ("○", "waiting", "quiet"),
    "running": ("●", "running", "run"),
    "retrying": ("▲", "waiting to retry", "wait"),
    "done": ("✓", "done", "done"),
    "failed": ("✗", "failed", "fail"),
    "cancelled": ("■", "cancelled", "wait"),
    "budget": ("■", "budget met", "wait"),
    "answered": ("✓", "answered", "done"),
    "completed": ("✓", "completed", "done"),
    "no_answer": ("✗", "no answer", "fail"),
    "unfinished": ("▲", "unfinished", "wait"),
    "damaged": ("✗", "damaged", "fail"),
    "cached": ("◆", "cached", "hit"),
}
"""State -> glyph, word, name of its colour."""


def state_word(state: str) -> str:
    """`✓ answered`."""
    glyph, word, _ = GLYPHS.get(state, ("?", state, "quiet"))
    return f"{glyph} {word}"


def colour(state: str) -> str:
    """The name of the colour of a state."""
    return GLYPHS.get(state, ("", "", "quiet"))[2]


def run_cost(state: RunState) -> str:
    """What a run cost so far: `$0` where nobody was asked, `-` where a price is unknown."""
    return dollars(None if state.unpriced else state.cost)


def cost_fact(state: RunState) -> str:
    """The same among other facts: `$0.0410`, `cost -`."""
    known = run_cost(state)
    return known if known.startswith("$") else f"cost {known}"


def run_tokens(state: RunState) -> str:
    """Tokens so far, `-` where no call told its own, `≥` where some did not."""
    if state.unknown_tokens:
        return f"≥{state.tokens:,}" if state.tokens else "-"
    return f"{state.tokens:,}"


def when(run: RunSummary, now: float) -> str:
    """When a run began: a time today, else a date; empty for a log without times."""
    if run.at is None:
        return ""
    began, today = time.localtime(run.at), time.localtime(now)
    same_day = began[:3] == today[:3]
    return time.strftime("%H:%M" if same_day else "%Y-%m-%d", began)


def seconds(value: float) -> str:
    """`7.5 s`, or `2:05` from a minute on."""
    return f"{value:.1f} s" if value < 60 else f"{int(value) // 60}:{int(value) % 60:02d}"
