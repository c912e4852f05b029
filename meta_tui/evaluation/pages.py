"""Reports to share: Markdown, CSV, and one HTML page with plots that opens from a file.

Pure: from a summary (and rows) to text. The page holds no script that asks anybody for anything,
no font and no image from elsewhere; plots are inline SVG drawn here. Every text is escaped.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain
from typing import Any

from meta_tui.display import clean
from meta_tui.evaluation.report import (
    BUDGET_HEADS,
    CURVE_HEADS,
    HEADS,
    PAIR_HEADS,
    budget_columns,
    columns,
    curve_columns,
    failure_lines,
    money,
    number,
    pair_columns,
    percent,
    repeats_lines,
    simulation_lines,
    states_line,
)
from meta_tui.evaluation.results import Row

LABEL = 64
"""Characters of a label at most."""

INKS = ("#005A8C", "#A34700", "#00664A", "#8F3F73", "#7A5400", "#3B3B98", "#5C5C5C", "#B00020")
"""Colours of methods: dark enough for white paper, told apart without red and green."""


def markdown(summary: dict[str, Any]) -> str:
    """The report as Markdown tables."""
    parts = [
        f"# Evaluation ({summary['grader']} grader)",
        f"{states_line(summary)}. {summary['repeats']} repeat(s).",
        *repeats_lines(summary),
        *simulation_lines(summary),
        _md_table(HEADS, map(columns, summary["table"])),
    ]
    if summary["pairs"]:
        parts += ["## Paired differences", _md_table(PAIR_HEADS, map(pair_columns, summary["pairs"]))]
    if summary["curves"]:
        parts += [
            "## Streams by batch",
            _md_table(CURVE_HEADS, chain(*map(curve_columns, summary["curves"]))),
        ]
    if summary.get("diagnostics"):
        parts += [
            "## Score by allowed calls",
            _md_table(BUDGET_HEADS, map(budget_columns, summary["diagnostics"])),
        ]
    parts += ["## Beside accuracy", _md_table(DETAIL_HEADS, map(detail_columns, summary["table"]))]
    if summary["failures"]:
        parts += ["## Failures", *(f"    {clean(line)}" for line in failure_lines(summary["failures"]))]
    return "\n\n".join(parts) + "\n"


DETAIL_HEADS = (
    "task",
    "method",
    "model",
    "abstained",
    "ambiguous",
    "no answer",
    "no-solution rate",
    "verification rate",
    "error branches",
    "Python share",
    "within 4 calls",
    "within 8 calls",
)


def detail_columns(row: dict[str, Any]) -> tuple[str, ...]:
    """The cells of one line of the table of everything beside accuracy, as text."""
    verdicts = row["verdicts"]
    return (
        row["task"],
        row["method"],
        row["model"],
        str(verdicts.get("abstained", 0)),
        str(verdicts.get("ambiguous", 0)),
        str(verdicts.get("no_answer", 0)),
        percent(row["no_solution_rate"]),
        percent(row["verification_rate"]),
        percent(row["parse_failure_rate"]),
        percent(row["python_share"]),
        percent(row["within_calls"]["4"]),
        percent(row["within_calls"]["8"]),
    )


def _md_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        "| " + " | ".join(clean(c).replace("|", "\\|").replace("\n", " ") for c in line) + " |"
        for line in lines
    )


def csv_rows(rows: Iterable[Row]) -> str:
    """One line a cell: what was run, how it ended, how it is graded, what it cost."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    found = list(rows)
    graders = sorted({name for row in found for name in row.grades})
    writer.writerow(
        ["task", "sample", "method", "model", "repeat", "status", "reason", "answer", *graders]
        + [f"{name}_reason" for name in graders]
        + ["rounds", "calls", "cached", "code_runs", "tokens", "cost", "log"]
    )
    for row in found:
        writer.writerow(
            [row.task, row.sample, row.method, row.model, row.repeat, row.status, row.reason]
            + [_cell(row.answer or "")]
            + [row.grades[name].verdict if name in row.grades else "" for name in graders]
            + [_cell(row.grades[name].reason) if name in row.grades else "" for name in graders]
            + [row.rounds, row.calls, row.cached, row.code_runs]
            + ["" if row.tokens is None else row.tokens, "" if row.cost is None else row.cost, row.log]
        )
    return out.getvalue()


def _cell(text: str) -> str:
    """Text that a spreadsheet takes as text: one that begins like a formula gets a quote."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def html(
    summary: dict[str, Any],
    rows: Sequence[Row],
    title: str = "Evaluation",
    diagnostics: str = "",
    streams: str = "",
) -> str:
    """The report as one self-contained page.

    Args:
        diagnostics: plots of runs with workers as HTML (`plots.section`), empty where there are none.
        streams: plots of streams as HTML (`plots_mc2.section`), likewise.
    """
    inks = {m: INKS[i % len(INKS)] for i, m in enumerate(summary["methods"])}
    body = [
        f"<h1>{_text(title)}</h1>",
        f"<p>{_text(states_line(summary))}; {summary['repeats']} repeat(s), "
        f"{_text(summary['grader'])} grader. Intervals are 95 %; a difference whose corrected p-value is "
        "0.05 or more is called tied.</p>",
        *(f"<p>{_text(line)}</p>" for line in repeats_lines(summary)),
        *(f"<p><strong>{_text(line)}</strong></p>" for line in simulation_lines(summary)),
        _legend(inks),
        "<h2>Accuracy</h2>",
        _bars(summary["table"], inks),
        _html_table(HEADS, map(columns, summary["table"])),
        "<h2>Paired differences</h2>",
        _html_table(PAIR_HEADS, map(pair_columns, summary["pairs"]))
        if summary["pairs"]
        else "<p>One method only.</p>",
        "<h2>Accuracy against calls</h2>",
        _scatter(summary["table"], inks),
        "<h2>Rounds</h2>",
        _rounds(summary, inks),
        "<h2>Experts</h2>",
        _experts(summary["experts"]),
        "<h2>Beside accuracy</h2>",
        _html_table(DETAIL_HEADS, map(detail_columns, summary["table"])),
        _streams(summary, streams),
        _budgets(summary, diagnostics),
        _failures(summary),
        "<h2>Samples</h2>",
        _samples(rows, summary),
    ]
    return f"{_HEAD.replace('TITLE', _text(title))}{''.join(body)}</body></html>\n"


def _streams(summary: dict[str, Any], plots: str) -> str:
    if not summary["curves"]:
        return ""
    table = _html_table(CURVE_HEADS, chain(*map(curve_columns, summary["curves"])))
    return f"<h2>Streams by batch</h2>{plots}{table}"


def _budgets(summary: dict[str, Any], plots: str) -> str:
    groups = summary.get("diagnostics")
    table = (
        f"<h3>Score by allowed calls</h3>{_html_table(BUDGET_HEADS, map(budget_columns, groups))}"
        if groups
        else ""
    )
    return f"<h2>Workers and artifacts</h2>{table}{plots}" if plots else ""


def _failures(summary: dict[str, Any]) -> str:
    lines = failure_lines(summary["failures"])
    return f"<h2>Failures</h2><pre>{_text(chr(10).join(lines))}</pre>" if lines else ""


_HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>TITLE</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1a1a1a;background:#fff}
pre{white-space:pre-wrap;font-size:13px}table{border-collapse:collapse;margin:1rem 0;font-size:13px}th,td{padding:.25rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td{font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}h2{margin-top:2.2rem}
.name{display:inline-block}.key{display:inline-block;width:.8em;height:.8em;margin:0 .35em 0 1em}
@media(prefers-color-scheme:dark){body{background:#fff}}
</style></head><body>"""


def _text(text: str) -> str:
    return escape(clean(text), quote=True)


def _legend(inks: dict[str, str]) -> str:
    keys = [f'<span class="key" style="background:{ink}"></span>{_text(m)}' for m, ink in inks.items()]
    return "<p>" + " ".join(f'<span class="name">{key}</span>' for key in keys) + "</p>"


def _html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(h)}</th>" for h in heads)
    lines = "".join("<tr>" + "".join(f"<td>{_text(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{_text(label)}" font-family="system-ui,sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _bars(table: Sequence[dict[str, Any]], inks: dict[str, str]) -> str:
    """One bar a line of the table, with its interval and its number."""
    labels = _labels(table)
    parts, left, wide = [], 7.2 * max(map(len, labels), default=0) + 16, 560.0
    for i, (row, label) in enumerate(zip(table, labels, strict=True)):
        y, value = 8.0 + 22 * i, row["accuracy"] or 0.0
        ink = inks[row["method"]]
        parts.append(f'<text x="{left - 8:g}" y="{y + 12:g}" text-anchor="end">{_text(label)}</text>')
        parts.append(
            f'<rect x="{left:g}" y="{y:g}" width="{wide * value:.1f}" height="15" fill="{ink}" opacity="0.75"/>'
        )
        if row["interval"]:
            low, high = (left + wide * v for v in row["interval"])
            parts.append(
                f'<path d="M{low:.1f} {y + 7.5:g}H{high:.1f}M{low:.1f} {y + 3:g}v9M{high:.1f} {y + 3:g}v9" stroke="#111" fill="none"/>'
            )
        parts.append(f'<text x="{left + wide + 10:g}" y="{y + 12:g}">{percent(row["accuracy"])}</text>')
    return _svg(left + wide + 80, 16 + 22 * len(table), parts, "Accuracy by task, method and model")


def _labels(table: Sequence[dict[str, Any]]) -> list[str]:
    """What stands before each bar: task and method, the model where there are several; long ones
    are cut in the middle, because variants of a method differ at their ends."""
    several = len({row["model"] for row in table}) > 1
    found = [[row["task"], row["method"], *([row["model"]] if several else [])] for row in table]
    labels = [" · ".join(parts) for parts in found]
    return [one if len(one) <= LABEL else f"{one[:24]}…{one[25 - LABEL :]}" for one in labels]


def _scatter(table: Sequence[dict[str, Any]], inks: dict[str, str]) -> str:
    """Accuracy against mean calls; the size of a circle says how many samples."""
    found = [row for row in table if row["calls"] and row["accuracy"] is not None]
    if not found:
        return "<p>No run has ended yet.</p>"
    most = max(row["calls"] for row in found) * 1.1
    parts = ['<path d="M50 10V270H690" stroke="#999" fill="none"/>']
    parts += [
        f'<text x="44" y="{270 - 260 * v + 4:g}" text-anchor="end">{100 * v:.0f}</text>' for v in (0, 0.5, 1)
    ]
    parts += [
        f'<text x="{50 + 640 * k / 4:g}" y="288" text-anchor="middle">{most * k / 4:.1f}</text>'
        for k in range(5)
    ]
    for row in found:
        x, y = 50 + 640 * row["calls"] / most, 270 - 260 * row["accuracy"]
        title = f"{row['task']} · {row['method']}: {percent(row['accuracy'])} at {number(row['calls'], 1)} calls, {money(row['cost_total'])}"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{inks[row["method"]]}" opacity="0.7"><title>{_text(title)}</title></circle>'
        )
    parts.append(
        '<text x="690" y="304" text-anchor="end">calls a sample (mean); accuracy in percent upwards</text>'
    )
    return _svg(720, 312, parts, "Accuracy against calls")


def _rounds(summary: dict[str, Any], inks: dict[str, str]) -> str:
    """How many runs of each method took how many rounds."""
    counts: dict[str, dict[int, int]] = {method: {} for method in summary["methods"]}
    for row in summary["table"]:
        for key, n in row["rounds_histogram"].items():
            counts[row["method"]][int(key)] = counts[row["method"]].get(int(key), 0) + n
    last = max((k for found in counts.values() for k in found), default=0)
    most = max((n for found in counts.values() for n in found.values()), default=0)
    if not most:
        return "<p>No run has ended yet.</p>"
    parts, step = [], 640 / (last + 1)
    width = step / (len(counts) + 1)
    for j, (method, found) in enumerate(counts.items()):
        for k, n in sorted(found.items()):
            high = 150 * n / most
            parts.append(
                f'<rect x="{40 + step * k + width * j:.1f}" y="{160 - high:.1f}" width="{width:.1f}" height="{high:.1f}" fill="{inks[method]}"><title>{_text(f"{method}: {n} runs of {k} rounds")}</title></rect>'
            )
    parts += [
        f'<text x="{40 + step * (k + 0.4):.1f}" y="176" text-anchor="middle">{k}</text>'
        for k in range(last + 1)
    ]
    return _svg(700, 184, parts, "Histogram of rounds")


def _experts(experts: dict[str, dict[str, float]]) -> str:
    """Shares of expert names, stacked, one bar a method that calls experts."""
    parts: list[str] = []
    found = {method: shares for method, shares in experts.items() if shares}
    if not found:
        return "<p>No method called an expert.</p>"
    for i, (method, shares) in enumerate(found.items()):
        y, x = 10 + 30 * i, 200.0
        parts.append(f'<text x="192" y="{y + 15:g}" text-anchor="end">{_text(method[:30])}</text>')
        for j, (name, share) in enumerate(list(shares.items())[:12]):
            width = 480 * share
            parts.append(
                f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="20" fill="{INKS[j % len(INKS)]}" opacity="0.8"><title>{_text(f"{name}: {percent(share)} %")}</title></rect>'
            )
            x += width
    lines = [(m, n, percent(s)) for m, shares in found.items() for n, s in list(shares.items())[:12]]
    return _svg(700, 20 + 30 * len(found), parts, "Expert shares") + _html_table(
        ("method", "expert", "% of calls"), lines
    )


def _samples(rows: Sequence[Row], summary: dict[str, Any]) -> str:
    """Every cell: verdict, reason, answer, and the place of its log."""
    grader = summary["grader"]
    lines = []
    for row in rows:
        grade = row.grades.get(grader)
        answer = (row.answer or "")[:80]
        lines.append(
            (
                row.sample,
                row.method,
                row.model,
                str(row.repeat),
                grade.verdict if grade else row.status,
                (grade.reason if grade else row.reason)[:80],
                answer,
                row.log,
            )
        )
    return _html_table(("sample", "method", "model", "repeat", "verdict", "reason", "answer", "log"), lines)
