"""The figures of streams as inline SVG: accuracy and restarts by batch and pass, how long rules
live, accuracy against tokens.

Pure: from the summaries of `streams` to text that stands in a page by itself. Colours come with a
second sign (dash, shape, word), so that none is needed to read a figure. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from meta_tui.display import clean
from meta_tui.evaluation.streams import HEADS, lines

INKS = ("#005A8C", "#A34700", "#00664A", "#8F3F73", "#7A5400", "#3B3B98", "#5C5C5C", "#B00020")
DASHES = ("", "7 4", "2 3", "9 3 2 3")
LEFT, TOP, WIDE, HIGH = 52.0, 14.0, 600.0, 240.0
MOST_RULES = 60
"""Rules that the lifetime chart shows."""

Summaries = Sequence[dict[str, Any]]


def accuracy_by_batch(streams: Summaries) -> str:
    """Accuracy (with its interval) of every batch; restart shares as hollow squares."""
    return _by("batches", "batch", streams, "Accuracy and restart share by batch")


def accuracy_by_pass(streams: Summaries) -> str:
    """The same for every pass over the stream."""
    return _by("passes", "pass", streams, "Accuracy and restart share by pass")


def rule_lifetimes(stream: dict[str, Any]) -> str:
    """One bar a rule over the batches after which it stands in its role's checklist."""
    found = stream["lifetimes"][:MOST_RULES]
    last = max((b["batch"] for b in stream["batches"]), default=0)
    if not found or not last:
        return "<p>No rule was consolidated.</p>"
    left, row, step = 420.0, 17.0, 460.0 / last
    parts = []
    for i, life in enumerate(found):
        y = TOP + row * i
        ink = INKS[("reasoner", "monitor", "controller").index(life["role"])]
        parts.append(
            f'<text x="{left - 8:g}" y="{y + 11:g}" text-anchor="end">'
            f"{_text(life['role'][:1].upper())}: {_text(_cut(life['rule'], 58))}<title>{_text(life['rule'])}</title></text>"
        )
        parts += [
            f'<rect x="{left + step * (b - 1) + 1:.1f}" y="{y:g}" width="{max(1.0, step - 2):.1f}" height="12" fill="{ink}" opacity="0.8"/>'
            for b in life["batches"]
            if b <= last
        ]
    y = TOP + row * len(found) + 12
    every = max(1, last // 12)
    parts += [
        f'<text x="{left + step * (b - 0.5):.1f}" y="{y:g}" text-anchor="middle">{b}</text>'
        for b in range(1, last + 1, every)
    ]
    return _svg(left + 480, y + 10, parts, f"Lifetime of rules, {stream['label']}")


def accuracy_by_tokens(streams: Summaries) -> str:
    """One circle a stream: accuracy against completion tokens, all roles and the memory included."""
    found = [s for s in streams if s["tokens_total"] and s["accuracy"] is not None]
    if not found:
        return "<p>No stream with known token counts.</p>"
    most = max(s["tokens_total"] for s in found) * 1.1
    parts = [*_axes()]
    parts += [
        f'<text x="{LEFT + WIDE * k / 4:g}" y="{TOP + HIGH + 18:g}" text-anchor="middle">{most * k / 4:,.0f}</text>'
        for k in range(5)
    ]
    for i, one in enumerate(found):
        x, y = LEFT + WIDE * one["tokens_total"] / most, _height(one["accuracy"])
        low, high = (_height(v) for v in one["interval"])
        parts.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="#777" fill="none"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{INKS[i % len(INKS)]}"/>')
        parts.append(f'<text x="{x + 8:.1f}" y="{y - 6:.1f}">{_text(_cut(one["label"], 30))}</text>')
    return _svg(LEFT + WIDE + 160, TOP + HIGH + 26, parts, "Accuracy against completion tokens")


def page(streams: Summaries, title: str = "Streams") -> str:
    """All figures and the table, as one self-contained page."""
    notes = sorted({s["note"] for s in streams if s["note"]})
    body = [
        f"<h1>{_text(title)}</h1>",
        *(f"<p>{_text(note)}</p>" for note in notes),
        "<p>Intervals are 95 % (Wilson). Restarts: share of the Controller's actions. Tokens: completion "
        "tokens of all roles; the line for all of a stream counts the memory's calls as well.</p>",
        _table([line for stream in streams for line in lines(stream)]),
        "<h2>By batch</h2>",
        accuracy_by_batch(streams),
        *(
            ("<h2>By pass</h2>", accuracy_by_pass(streams))
            if any(len(s["passes"]) > 1 for s in streams)
            else ()
        ),
        "<h2>Accuracy against tokens</h2>",
        accuracy_by_tokens(streams),
        "<h2>How long rules live</h2>",
        *(f"<h3>{_text(s['label'])}</h3>{rule_lifetimes(s)}" for s in streams if s["lifetimes"]),
    ]
    return f"{_HEAD.replace('TITLE', _text(title))}{''.join(body)}</body></html>\n"


def section(curves: Summaries, streams: Summaries = ()) -> str:
    """The figures of an evaluation's streams as a piece of a page.

    Args:
        curves: accuracy by batch over all streams of a method (`report.curves`).
        streams: each stream by itself, for passes, tokens and lifetimes of rules.
    """
    if not curves:
        return ""
    drawn = [{**one, "label": f"{one['task']} {one['method']}"} for one in curves]
    pieces = ["<h3>Accuracy and restart share by batch</h3>", accuracy_by_batch(drawn)]
    if any(len(one["passes"]) > 1 for one in streams):
        pieces += ["<h3>By pass</h3>", accuracy_by_pass(streams)]
    if streams:
        pieces += ["<h3>Accuracy against tokens</h3>", accuracy_by_tokens(streams)]
    for one in streams:
        if one["lifetimes"]:
            pieces += [f"<h3>How long rules live: {_text(one['label'])}</h3>", rule_lifetimes(one)]
    return "".join(pieces)


_HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>TITLE</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;margin:1rem 0;font-size:13px}th,td{padding:.25rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td{font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}h2{margin-top:2.2rem}</style></head><body>"""


def _by(part: str, name: str, streams: Summaries, title: str) -> str:
    last = max((point[name] for s in streams for point in s[part]), default=0)
    if not last:
        return "<p>No instance was solved.</p>"
    parts = [*_axes()]
    every = max(1, last // 14)
    parts += [
        f'<text x="{_across(k, last):.1f}" y="{TOP + HIGH + 18:g}" text-anchor="middle">{k}</text>'
        for k in range(1, last + 1, every)
    ]
    for i, stream in enumerate(streams):
        parts += _line(stream[part], name, last, INKS[i % len(INKS)], DASHES[i % len(DASHES)], i)
        y = TOP + 16 * i + 8
        parts.append(
            f'<path d="M{LEFT + WIDE + 14:g} {y:g}h26" stroke="{INKS[i % len(INKS)]}" stroke-width="2" stroke-dasharray="{DASHES[i % len(DASHES)]}"/>'
            f'<text x="{LEFT + WIDE + 46:g}" y="{y + 4:g}">{_text(_cut(stream["label"], 24))}</text>'
        )
    parts.append(
        f'<text x="{LEFT + WIDE:g}" y="{TOP + HIGH + 34:g}" text-anchor="end">{name}; upwards: accuracy in percent (line), restart share (hollow squares)</text>'
    )
    return _svg(LEFT + WIDE + 220, TOP + HIGH + 42, parts, title)


def _line(points: Summaries, name: str, last: int, ink: str, dash: str, shift: int) -> list[str]:
    """A line through the accuracies, their intervals beside each other, and the restart shares."""
    placed = [(_across(p[name], last) + 3 * shift, p) for p in points if p["accuracy"] is not None]
    way = " ".join(f"{x:.1f},{_height(p['accuracy']):.1f}" for x, p in placed)
    parts = [
        f'<polyline points="{way}" stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}" fill="none"/>'
    ]
    for x, p in placed:
        if p["interval"]:
            low, high = (_height(v) for v in p["interval"])
            parts.append(
                f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{ink}" opacity="0.5" fill="none"/>'
            )
        parts.append(f'<circle cx="{x:.1f}" cy="{_height(p["accuracy"]):.1f}" r="3.5" fill="{ink}"/>')
        if p["restart_share"] is not None:
            y = _height(p["restart_share"])
            parts.append(
                f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" stroke="{ink}" fill="#fff"/>'
            )
    return parts


def _axes() -> Iterable[str]:
    yield f'<path d="M{LEFT:g} {TOP:g}V{TOP + HIGH:g}H{LEFT + WIDE:g}" stroke="#999" fill="none"/>'
    for value in (0, 0.25, 0.5, 0.75, 1):
        yield f'<text x="{LEFT - 6:g}" y="{_height(value) + 4:g}" text-anchor="end">{100 * value:g}</text>'


def _height(value: float) -> float:
    return TOP + HIGH * (1 - value)


def _across(number: int, last: int) -> float:
    return LEFT + WIDE * (number - 0.5) / last


def _svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{_text(label)}" font-family="system-ui,sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _table(rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(h)}</th>" for h in HEADS)
    body = "".join("<tr>" + "".join(f"<td>{_text(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(text: str) -> str:
    return escape(clean(text), quote=True)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
