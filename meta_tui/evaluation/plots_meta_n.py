"""The figures of Meta^n as inline SVG: means by depth with regressions marked, the archive by
iteration, roles by depth, and the best score of each task, which must only brighten.

Pure: from the summaries of `stacks` to text that stands in a page by itself. A shade always comes
with its number and a regression with a word and a shape, so that no colour is needed to read a
figure. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from meta_tui.display import clean
from meta_tui.evaluation.stacks import GUARDED, HEADS, ablations, lines, number
from meta_tui.methods.meta_n.roles import CODEBOOK

INK, LOST, SECOND = "#005A8C", "#A34700", "#00664A"
LEFT, TOP, WIDE, HIGH = 52.0, 16.0, 600.0, 230.0
CELL, ROW = 34.0, 20.0
MOST_TASKS, MOST_COLUMNS = 60, 60

Summary = Mapping[str, Any]


def means_by_depth(one: Summary) -> str:
    """Mean of each depth along the best chain; where a layer lost, a square and the word."""
    points = [(row["depth"], row["mean"], row) for row in one["by_depth"] if row["mean"] is not None]
    if not points:
        return "<p>No candidate was evaluated.</p>"
    scale = Scale([mean for _, mean, _ in points])
    last = max(depth for depth, _, _ in points)
    placed = [(_across(depth, last), scale.height(mean), row) for depth, mean, row in points]
    parts = [*scale.axis(), _way([(x, y) for x, y, _ in placed], INK)]
    for x, y, row in placed:
        parts.append(f'<text x="{x:.1f}" y="{TOP + HIGH + 18:g}" text-anchor="middle">{row["depth"]}</text>')
        parts.append(
            f'<text x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{number(row["mean"])}'
            f"{' best' if row['is_best'] else ''}</text>"
        )
        if row["regressed"]:
            parts.append(
                f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{LOST}"/>'
                f'<text x="{x:.1f}" y="{y + 20:.1f}" text-anchor="middle" fill="{LOST}">regressed</text>'
            )
        else:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{INK}"/>')
    return _svg(LEFT + WIDE + 40, TOP + HIGH + 30, parts, f"Mean by depth, {one['label']}")


def archive_by_iteration(one: Summary) -> str:
    """The best chain's mean (line) and the mean over tasks of each task's best (dashed)."""
    rows = one["iterations"]
    series = (("mean", "best chain", INK, ""), ("task_mean", "best of each task", SECOND, "6 4"))
    values = [row[name] for row in rows for name, _, _, _ in series if row[name] is not None]
    if not values:
        return "<p>No iteration was evaluated.</p>"
    scale, last = Scale(values), max(row["iteration"] for row in rows) + 1
    parts = list(scale.axis())
    for place, (name, words, ink, dash) in enumerate(series):
        way = [
            (_across(r["iteration"] + 1, last), scale.height(r[name])) for r in rows if r[name] is not None
        ]
        parts.append(_way(way, ink, dash))
        y = TOP + 16 * place + 8
        parts.append(_way([(LEFT + WIDE + 14, y), (LEFT + WIDE + 40, y)], ink, dash))
        parts.append(f'<text x="{LEFT + WIDE + 46:g}" y="{y + 4:g}">{words}</text>')
    every = max(1, last // 14)
    parts += [
        f'<text x="{_across(k + 1, last):.1f}" y="{TOP + HIGH + 18:g}" text-anchor="middle">{k}</text>'
        for k in range(0, last, every)
    ]
    return _svg(LEFT + WIDE + 180, TOP + HIGH + 30, parts, f"Archive by iteration, {one['label']}")


def roles_by_depth(shares: Mapping[str, Mapping[str, float]], label: str) -> str:
    """Depth by role: the share of a depth's layers that have the role."""
    if not shares:
        return "<p>No layer was rated.</p>"
    depths = list(shares)
    rows = [(role, [shares[depth][role] for depth in depths]) for role in CODEBOOK]
    return _heat(rows, [f"depth {depth}" for depth in depths], label, percent=True)


def best_of_tasks(one: Summary) -> str:
    """Task by iteration: the best score of each task, which must only brighten."""
    rows = list(one["matrix"].items())[:MOST_TASKS]
    if not rows:
        return "<p>No task was solved.</p>"
    count = len(rows[0][1])
    step = max(1, -(-count // MOST_COLUMNS))
    columns = [*range(0, count - 1, step), count - 1]
    picked = [(task, [scores[k] for k in columns]) for task, scores in rows]
    names = [str(one["iterations"][k]["iteration"]) for k in columns]
    return _heat(picked, names, f"Best score of each task by iteration, {one['label']}")


def page(found: Sequence[Summary], title: str = "Layers") -> str:
    """All figures and tables, as one self-contained page."""
    notes = sorted({one["note"] for one in found if one["note"]})
    guarded = [f"<p>{_text(GUARDED)}</p>"] if any(one["guard"] for one in found) else []
    body = [
        f"<h1>{_text(title)}</h1>",
        *(f"<p>{_text(note)}</p>" for note in notes),
        *guarded,
        _table(HEADS, [line for one in found for line in lines(one)]),
        section(found),
    ]
    return f"{_HEAD.replace('TITLE', _text(title))}{''.join(body)}</body></html>\n"


def section(found: Sequence[Summary]) -> str:
    """The figures as a piece of a page: those of each run, then the comparison of the arms."""
    return "".join([*(_run(one) for one in found), _comparison(found)])


def _run(one: Summary) -> str:
    return "".join(
        [
            f"<h2>{_text(one['label'])}</h2>",
            _facts(one),
            "<h3>Mean by depth along the best chain</h3>",
            means_by_depth(one),
            "<h3>Best chain and best of each task</h3>",
            archive_by_iteration(one),
            "<h3>Roles by depth, rater by rules</h3>",
            roles_by_depth(one["roles"]["rule"], f"Roles by depth, {one['label']}"),
            _second_rater(one),
            "<h3>Best score of each task</h3>",
            best_of_tasks(one),
        ]
    )


def _facts(one: Summary) -> str:
    apart = ", ".join(f"{row['candidate']} {number(row['mean'])}" for row in one["held_out"])
    facts = [
        ("arm", one["kind"] + (", guarded" if one["guard"] else "")),
        ("ended", f"{one['status']} ({one['reason']})"),
        ("best chain", f"{one['best']} {number(one['best_mean'])}"),
        ("best of each task", number(one["task_mean"])),
        ("base solver", number(one["seed_mean"])),
        ("held-out tasks, reported apart", apart or "none"),
        ("mean lift from depth to depth", ", ".join(f"{d}: {v:+.4f}" for d, v in one["lift"].items()) or "-"),
        ("(chain, task) pairs that regressed", _percent(one["regression_share"])),
        ("staged helpers that were called", _percent(one["helper_call_rate"])),
        ("gate", f"{one['gates']['passed']} passed, {one['gates']['refused']} refused"),
        ("empty layers, parts screened out", f"{one['empty_layers']}, {one['screened_out']}"),
        ("models", f"solver {one['model']}, layers {one['omega_model']}"),
        ("calls", f"{one['calls']:,}"),
    ]
    return _table(("", ""), facts)


def _second_rater(one: Summary) -> str:
    if not one["roles"]["both"]:
        return "<p>No model rated these layers: `meta-tui chain rate` asks one.</p>"
    rows = [(role, "-" if k is None else f"{k:.2f}") for role, k in one["roles"]["kappa"].items()]
    return "".join(
        [
            "<h3>Roles by depth, rater by model</h3>",
            roles_by_depth(one["roles"]["model"], f"Roles by depth as a model names them, {one['label']}"),
            f"<p>Cohen's kappa of both raters by role, over {one['roles']['both']} layers:</p>",
            _table(("role", "kappa"), rows),
        ]
    )


def _comparison(found: Sequence[Summary]) -> str:
    """Means by arm and channel shares, where there is something to compare."""
    if len({one["kind"] for one in found}) < 2:
        return ""
    parts = ["<h2>Arms</h2>"]
    for measure, words in (("best_mean", "best single chain"), ("task_mean", "best of each task")):
        made = ablations(found, measure)
        shares = made.get("shares", {})
        rows = [
            (arm, number(mean), str(made["runs"][arm]), _percent(shares.get(arm)))
            for arm, mean in made["means"].items()
        ]
        parts.append(_table((f"arm ({words})", "mean", "runs", "share of recursion's lift"), rows))
    parts.append(
        "<p>Share: (full - without the channel) / (full - depth 1). What goes when a channel is removed; "
        "interactions are ignored, so shares need not add up.</p>"
    )
    return "".join(parts)


class Scale:
    """From scores to heights: from 0 (or the least) to 1 (or the greatest)."""

    def __init__(self, values: Sequence[float]) -> None:
        self.low, self.high = min(0.0, *values), max(values)
        self.high = 1.0 if self.low >= 0 and self.high <= 1 else self.high
        self.high = self.high if self.high > self.low else self.low + 1

    def height(self, value: float) -> float:
        """Where a value stands, from the top."""
        return TOP + HIGH * (1 - (value - self.low) / (self.high - self.low))

    def axis(self) -> Iterable[str]:
        """The frame and five numbers."""
        yield f'<path d="M{LEFT:g} {TOP:g}V{TOP + HIGH:g}H{LEFT + WIDE:g}" stroke="#999" fill="none"/>'
        for k in range(5):
            value = self.low + (self.high - self.low) * k / 4
            y = self.height(value) + 4
            yield f'<text x="{LEFT - 6:g}" y="{y:g}" text-anchor="end">{value:.3g}</text>'


def _across(place: int, last: int) -> float:
    return LEFT + WIDE * (place - 0.5) / last


def _way(points: Sequence[tuple[float, float]], ink: str, dash: str = "") -> str:
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{way}" stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}" fill="none"/>'


def _heat(
    rows: Sequence[tuple[str, Sequence[float | None]]],
    names: Sequence[str],
    label: str,
    percent: bool = False,
) -> str:
    """Cells whose lightness is their number: dark for nothing, bright for the most."""
    left = 170.0
    known = [value for _, values in rows for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    parts = []
    for k, name in enumerate(names):
        x = left + CELL * (k + 0.5)
        parts.append(f'<text x="{x:.1f}" y="{TOP:g}" text-anchor="middle" font-size="9">{_text(name)}</text>')
    for i, (name, values) in enumerate(rows):
        y = TOP + 6 + ROW * i
        parts.append(
            f'<text x="{left - 6:g}" y="{y + 14:g}" text-anchor="end">{_text(_cut(name, 26))}</text>'
        )
        for k, value in enumerate(values):
            parts.append(_cell(left + CELL * k, y, value, low, high, percent))
    return _svg(left + CELL * len(names) + 10, TOP + 10 + ROW * len(rows), parts, label)


def _cell(x: float, y: float, value: float | None, low: float, high: float, percent: bool) -> str:
    if value is None:
        return f'<rect x="{x:.1f}" y="{y:g}" width="{CELL - 1:g}" height="{ROW - 1:g}" fill="#fff" stroke="#999"/>'
    bright = 0.0 if high <= low else (value - low) / (high - low)
    light = round(25 + 67 * bright)
    ink = "#1a1a1a" if light > 55 else "#fff"
    shown = f"{100 * value:.0f}" if percent else f"{value:.2f}"
    return (
        f'<rect x="{x:.1f}" y="{y:g}" width="{CELL - 1:g}" height="{ROW - 1:g}" fill="hsl(205 60% {light}%)"/>'
        f'<text x="{x + CELL / 2:.1f}" y="{y + 13:g}" text-anchor="middle" font-size="9" fill="{ink}">{shown}</text>'
    )


def _svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{_text(label)}" font-family="system-ui,sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(h)}</th>" for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{_text(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _text(text: str) -> str:
    return escape(clean(text), quote=True)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


_HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>TITLE</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;margin:1rem 0;font-size:13px}th,td{padding:.25rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td{font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}h2{margin-top:2.2rem}</style></head><body>"""
