"""Plots of runs with workers as inline SVG: curves, artifact graphs, funnels, memory.

Pure: from the summaries of `diagnostics` to text that a page can hold. No script, no font, nothing
from elsewhere; every text is escaped, and what a colour says is also said by shape or by words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from math import log10
from typing import Any

from meta_tui.chat import Value
from meta_tui.display import clean
from meta_tui.evaluation.diagnostics import Run, budget_strip, submitted_artifact
from meta_tui.methods.artifacts import Artifact, depths

INKS = ("#005A8C", "#A34700", "#00664A", "#8F3F73", "#7A5400", "#3B3B98", "#5C5C5C", "#B00020")
DASHES = ("", "6 3", "2 3", "9 3 2 3", "1 4", "12 4", "4 4 1 4", "3 6")
RIGHT, WRONG, UNKNOWN = "#00664A", "#B00020", "#5C5C5C"
STAGE_INKS = {
    "assess": INKS[0],
    "propose": INKS[3],
    "evaluate": INKS[4],
    "dispatch": INKS[5],
    "control": INKS[6],
    "worker": INKS[1],
}

LONGEST = 60
"""Characters of a name before a bar."""

LEFT, TOP, WIDE, HIGH = 56.0, 12.0, 560.0, 240.0


class Point(Value, frozen=True):
    """One point of a curve with its interval, where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


Series = Mapping[str, Sequence[Point]]


def used_against_allowance(series: Series) -> str:
    """Calls used against allowance, with the diagonal of full use."""
    top = max((p.x for ps in series.values() for p in ps), default=1.0)
    most = max([top, *(p.high or p.y for ps in series.values() for p in ps)])
    frame = _Frame(top * 1.05, most * 1.05)
    diagonal = f'<path d="M{frame.x(0):.1f} {frame.y(0):.1f}L{frame.x(top):.1f} {frame.y(top):.1f}" stroke="#999" stroke-dasharray="3 3" fill="none"/>'
    words = ("calls allowed", "calls used (mean)")
    return frame.drawn([diagonal, *_curves(frame, series)], words, series)


def score_against_allowance(series: Series) -> str:
    """Score against allowance, with intervals."""
    frame = _Frame(max((p.x for ps in series.values() for p in ps), default=1.0) * 1.05, 1.0)
    return frame.drawn(_curves(frame, series), ("calls allowed", "score"), series)


def coverage_curves(series: Series) -> str:
    """Coverage(k) as steps."""
    frame = _Frame(max((p.x for ps in series.values() for p in ps), default=1.0) * 1.05, 1.0)
    return frame.drawn(_curves(frame, series, steps=True), ("calls k", "Coverage(k)"), series)


def state_sizes(series: Series) -> str:
    """Size of the state (or of the history) over cycles, on a logarithmic axis."""
    logs = {name: [Point(p.x, log10(max(p.y, 1.0))) for p in ps] for name, ps in series.items()}
    points = [p for ps in logs.values() for p in ps]
    frame = _Frame(
        max((p.x for p in points), default=1.0) or 1.0,
        max((p.y for p in points), default=1.0) * 1.05,
        lambda v: f"{10**v:,.0f}",
    )
    return frame.drawn(_curves(frame, logs), ("cycle or decision", "characters (log)"), series)


class _Frame:
    """Axes from zero to a greatest x and y."""

    def __init__(self, x: float, y: float, label: Callable[[float], str] | None = None) -> None:
        self._x = x or 1.0
        self._y = y or 1.0
        self._label = label or (lambda value: f"{value:g}")

    def x(self, value: float) -> float:
        return LEFT + WIDE * value / self._x

    def y(self, value: float) -> float:
        return TOP + HIGH - HIGH * value / self._y

    def drawn(self, parts: Iterable[str], words: tuple[str, str], series: Series) -> str:
        """Axes, ticks, curves and a legend."""
        axes = f'<path d="M{LEFT:g} {TOP:g}V{TOP + HIGH:g}H{LEFT + WIDE:g}" stroke="#999" fill="none"/>'
        ticks = []
        for k in range(5):
            x, y = self._x * k / 4, self._y * k / 4
            ticks.append(_label(self.x(x), TOP + HIGH + 16, f"{x:.3g}", "middle"))
            ticks.append(_label(LEFT - 6, self.y(y) + 4, self._label(float(f"{y:.3g}")), "end"))
        names = [_label(LEFT + WIDE, TOP + HIGH + 34, words[0], "end"), _label(LEFT + 6, TOP + 10, words[1])]
        legend = [_key(i, name) for i, name in enumerate(series)]
        height = TOP + HIGH + 44 + 18 * len(legend)
        return svg(
            LEFT + WIDE + 20, height, [axes, *ticks, *names, *parts, *legend], f"{words[1]} by {words[0]}"
        )


def _key(number: int, name: str) -> str:
    y = TOP + HIGH + 50 + 18 * number
    line = f'<path d="M{LEFT:g} {y - 4:g}h28" stroke="{_ink(number)}" stroke-width="2" stroke-dasharray="{_dash(number)}"/>'
    return line + _label(LEFT + 36, y, name)


def _curves(frame: _Frame, series: Series, steps: bool = False) -> list[str]:
    parts = []
    for number, points in enumerate(series.values()):
        ordered = sorted(points, key=lambda p: p.x)
        ink, path = _ink(number), _path(frame, ordered, steps)
        parts.append(
            f'<path d="{path}" stroke="{ink}" stroke-width="2" stroke-dasharray="{_dash(number)}" fill="none"/>'
        )
        for p in ordered:
            parts.append(f'<circle cx="{frame.x(p.x):.1f}" cy="{frame.y(p.y):.1f}" r="3" fill="{ink}"/>')
            if p.low is not None and p.high is not None:
                x = frame.x(p.x) + 3 * number
                parts.append(
                    f'<path d="M{x:.1f} {frame.y(p.low):.1f}V{frame.y(p.high):.1f}" stroke="{ink}" opacity="0.6"/>'
                )
    return parts


def _path(frame: _Frame, points: Sequence[Point], steps: bool) -> str:
    if not points:
        return ""
    if not steps:
        return "M" + "L".join(f"{frame.x(p.x):.1f} {frame.y(p.y):.1f}" for p in points)
    start = f"M{frame.x(0):.1f} {frame.y(0):.1f}"
    return start + "".join(f"H{frame.x(p.x):.1f}V{frame.y(p.y):.1f}" for p in points)


def bars(rows: Sequence[tuple[str, float | None, str]], label: str, most: float = 1.0) -> str:
    """One bar a row (name, value from -most to most, words); "-" where there is none."""
    parts, left, wide = [], _room(name for name, _, _ in rows), 420.0
    zero = left + (wide / 2 if any((v or 0) < 0 for _, v, _ in rows) else 0)
    scale = (left + wide - zero) / (most or 1.0)
    for number, (name, value, words) in enumerate(rows):
        y = 8.0 + 22 * number
        parts.append(_label(left - 8, y + 12, name[:LONGEST], "end"))
        if value is not None:
            x = min(zero, zero + scale * value)
            parts.append(
                f'<rect x="{x:.1f}" y="{y:g}" width="{abs(scale * value):.1f}" height="15" fill="{_ink(number)}" opacity="0.75"/>'
            )
        parts.append(_label(left + wide + 8, y + 12, words))
    parts.append(f'<path d="M{zero:g} 4v{22 * len(rows) + 4:g}" stroke="#999"/>')
    return svg(left + wide + 180, 16 + 22 * len(rows), parts, label)


def _room(names: Iterable[str]) -> float:
    """Width for names that end where bars begin."""
    return 7.2 * min(LONGEST, max(map(len, names), default=0)) + 16


def funnel(rows: Sequence[tuple[str, int, int, int]]) -> str:
    """For each (name, runs, covered, submitted correct) three bars that get shorter."""
    parts, left = [], _room(name for name, *_ in rows)
    most = max((n for _, n, _, _ in rows), default=1) or 1
    for number, (name, n, covered, correct) in enumerate(rows):
        y = 8.0 + 52 * number
        parts.append(_label(left - 8, y + 26, name[:LONGEST], "end"))
        for step, (word, count) in enumerate(
            (("runs", n), ("covered", covered), ("submitted correct", correct))
        ):
            parts.append(
                f'<rect x="{left:.1f}" y="{y + 15 * step:g}" width="{380 * count / most:.1f}" height="13" '
                f'fill="{_ink(number)}" opacity="{0.35 + 0.25 * step:g}"/>'
            )
            parts.append(_label(left + 8 + 380 * count / most, y + 15 * step + 11, f"{count} {word}"))
    return svg(left + 580, 16 + 52 * len(rows), parts, "From runs to covered to submitted correct")


def memory_bars(found: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    """Reads and writes by stage, split by worker and note (notes are hollow)."""
    lines = [
        (f"{what} by {stage}", kinds) for what, stages in found.items() for stage, kinds in stages.items()
    ]
    most = max((sum(kinds.values()) for _, kinds in lines), default=1) or 1
    parts = []
    for number, (name, kinds) in enumerate(lines):
        y, x = 8.0 + 22 * number, 200.0
        parts.append(_label(192, y + 12, name, "end"))
        for kind, fill in (("worker", INKS[0]), ("note", "none")):
            wide = 420 * kinds.get(kind, 0) / most
            parts.append(
                f'<rect x="{x:.1f}" y="{y:g}" width="{wide:.1f}" height="14" fill="{fill}" stroke="{INKS[0]}"/>'
            )
            x += wide
        parts.append(_label(x + 8, y + 12, f"{kinds.get('worker', 0)} worker, {kinds.get('note', 0)} note"))
    return svg(820, 16 + 22 * len(lines), parts, "Reads and writes of the memory by stage")


def graph(run: Run) -> str:
    """The artifact graph of one run, layers by depth from left to right.

    Correct artifacts are circles, wrong ones squares, those without a label diamonds; notes are
    hollow and stand below, joined by dashes; the submitted node has a ring.
    """
    trace = run.trace
    places = _places(trace.artifacts, depths((a.id for a in trace.workers), trace.edges()))
    joins = [_join(places[a], places[b], False) for a, b in trace.edges()]
    joins += [_join(places[a], places[b], True) for a, b in trace.edges("note")]
    chosen = submitted_artifact(trace)
    nodes = [_node(a, places[a.id], run.labels.get(a.id), a is chosen) for a in trace.artifacts]
    width = max((x for x, _ in places.values()), default=60.0) + 120
    height = max((y for _, y in places.values()), default=30.0) + 40
    return svg(width, height, [*joins, *nodes], "Artifact graph of one run")


def _places(artifacts: Sequence[Artifact], depth: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    counts: dict[int, int] = {}
    found = {}
    for artifact in artifacts:
        if artifact.kind == "worker":
            level = depth[artifact.id]
            found[artifact.id] = (40 + 130.0 * level, 30 + 44.0 * counts.get(level, 0))
            counts[level] = counts.get(level, 0) + 1
    below = 30 + 44.0 * max(counts.values(), default=0) + 20
    notes = [a for a in artifacts if a.kind == "note"]
    return found | {a.id: (40 + 90.0 * number, below) for number, a in enumerate(notes)}


def _join(start: tuple[float, float], end: tuple[float, float], note: bool) -> str:
    dash = ' stroke-dasharray="3 3"' if note else ""
    return f'<path d="M{start[0]:g} {start[1]:g}L{end[0]:g} {end[1]:g}" stroke="#999" fill="none"{dash}/>'


def _node(artifact: Artifact, place: tuple[float, float], label: bool | None, chosen: bool) -> str:
    x, y = place
    word = {True: "correct", False: "wrong", None: "not graded"}[label]
    ink = {True: RIGHT, False: WRONG, None: UNKNOWN}[label]
    title = f"<title>{_text(f'{artifact.id}: {artifact.title} ({artifact.kind}, {word})')}</title>"
    if artifact.kind == "note":
        shape = f'<circle cx="{x:g}" cy="{y:g}" r="9" fill="#fff" stroke="{UNKNOWN}"/>'
    elif label is True:
        shape = f'<circle cx="{x:g}" cy="{y:g}" r="10" fill="{ink}"/>'
    elif label is False:
        shape = f'<rect x="{x - 9:g}" y="{y - 9:g}" width="18" height="18" fill="{ink}"/>'
    else:
        shape = f'<path d="M{x:g} {y - 12:g}l12 12l-12 12l-12 -12z" fill="{ink}"/>'
    ring = (
        f'<circle cx="{x:g}" cy="{y:g}" r="16" fill="none" stroke="#111" stroke-width="2"/>' if chosen else ""
    )
    return f"<g>{title}{shape}{ring}{_label(x + 18, y + 4, artifact.id)}</g>"


def strip(run: Run) -> str:
    """One cell a call, coloured by role, with the words beside it."""
    parts, x = [], 8.0
    calls = max(1, len(run.trace.strip), run.trace.budget)
    cell = min(14.0, 800 / calls)
    for who, count in budget_strip(run.trace):
        ink = STAGE_INKS.get(who, UNKNOWN)
        for _ in range(count):
            parts.append(
                f'<rect x="{x:.2f}" y="8" width="{cell * 0.9:.2f}" height="16" fill="{ink}"><title>{_text(who)}</title></rect>'
            )
            x += cell
    if run.trace.budget:
        end = 8 + cell * run.trace.budget
        parts.append(f'<path d="M{end:.2f} 4v24" stroke="#111"/>')
    for number, who in enumerate(dict.fromkeys(run.trace.strip)):
        ink = STAGE_INKS.get(who, UNKNOWN)
        parts.append(f'<rect x="{8 + 110 * number:g}" y="34" width="10" height="10" fill="{ink}"/>')
        parts.append(_label(22 + 110 * number, 44, who))
    return svg(830, 52, parts, "Calls of one run by role")


def section(groups: Sequence[Mapping[str, Any]], runs: Sequence[Run] = ()) -> str:
    """All plots of an evaluation's diagnostics as one piece of HTML.

    Args:
        groups: summaries of `diagnostics.of_runs`, each with `label` and `budget`.
        runs: a few runs whose graphs and strips are drawn.
    """
    if not groups:
        return ""
    at = [(_named(g, groups), g) for g in groups]
    pieces = [
        *_curves_of_each(groups),
        ("Type-2 AUC", bars(_auc_rows(at), "Type-2 AUC of confidence and verdict")),
        (
            "Frontier selection gain",
            bars([(n, v := g["frontier_gain"]["fsg"], _number(v)) for n, g in at], "Frontier selection gain"),
        ),
        ("Funnel", funnel([(n, g["graded"], _count(g, "coverage"), _count(g, "score")) for n, g in at])),
        *((f"Memory: {n}", memory_bars(g["memory"])) for n, g in at if any(g["memory"]["reads"].values())),
    ]
    sizes = {
        f"{r.trace.method} {r.trace.sample}": [Point(n, size) for n, size in enumerate(r.trace.state_sizes)]
        for r in runs[:8]
    }
    pieces += [("State and history size", state_sizes(sizes))] if sizes else []
    for run in runs[:8]:
        name = f"{run.trace.method} {run.trace.sample}".strip()
        pieces += [(f"Artifacts: {name}", graph(run)), (f"Budget: {name}", strip(run))]
    return "".join(f"<h3>{_text(head)}</h3>{plot}" for head, plot in pieces)


def _curves_of_each(groups: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The curves against calls, for each task and model apart: points of two tasks make no line."""
    places: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for group in groups:
        places.setdefault((group.get("task", ""), group.get("model", "")), []).append(group)
    pieces = []
    for (task, model), own in places.items():
        where = [task] if len({t for t, _ in places}) > 1 else []
        where += [model] if len({m for _, m in places}) > 1 else []
        end = f": {', '.join(where)}" if where else ""
        covered = {
            f"{g['label']} B={g['budget']}": [Point(k, c) for k, c in g["coverage_curve"]] for g in own
        }
        pieces += [
            (f"Calls used against allowance{end}", used_against_allowance(_by_budget(own, "calls"))),
            (f"Score against allowance{end}", score_against_allowance(_by_budget(own, "score"))),
            (f"Coverage(k){end}", coverage_curves(covered)),
        ]
    return pieces


def _named(group: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> str:
    """Label and budget of a group, with task and model where there are several."""
    parts = [name for name in ("task", "model") if len({g.get(name) for g in groups}) > 1]
    return " ".join([group["label"], f"B={group['budget']}", *(str(group.get(name)) for name in parts)])


def _by_budget(groups: Sequence[Mapping[str, Any]], name: str) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for group in groups:
        value, interval = group[name], group.get(f"{name}_interval") or (None, None)
        if value is not None:
            found.setdefault(group["label"], []).append(Point(group["budget"], value, *interval))
    return found


def _auc_rows(at: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, float | None, str]]:
    return [
        (f"{name} {signal}", value := group["type2"][signal]["auc"], _number(value))
        for name, group in at
        for signal in ("confidence", "verdict")
    ]


def _count(group: Mapping[str, Any], name: str) -> int:
    share: float = group[name] or 0.0
    return round(share * int(group["graded"]))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """An SVG element with a spoken label."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{_text(label)}" font-family="system-ui,sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _label(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_text(words)}</text>'


def _text(words: str) -> str:
    return escape(clean(words), quote=True)


def _ink(number: int) -> str:
    return INKS[number % len(INKS)]


def _dash(number: int) -> str:
    return DASHES[number % len(DASHES)]
