"""Plots of an evaluation as text: values with their intervals on one scale, for terminals.

Pure: from the summary of `report` to lines of a given width. Shapes say everything; no colour is
needed. Texts of people and models come through as they are: whoever shows them cleans them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meta_tui.evaluation.report import interval_text, number, percent

Point = tuple[str, float | None, Sequence[float] | None, str]
"""Label, value in [0, 1], interval, words at the end of the line."""

LEAST = 20
"""Cells of the scale at least."""


def rows(points: Sequence[Point], width: int) -> list[str]:
    """One line a point: label, `├──●──┤` on a scale from 0 to 100, words; the scale stands below.

    Without an interval there is only the mark; without a value, nothing.
    """
    if not points:
        return []
    words = max(len(point[3]) for point in points)
    label = min(max(len(point[0]) for point in points), max(8, width - words - LEAST - 4))
    scale = max(LEAST, width - label - words - 4)
    lines = [f"{_cut(p[0], label):<{label}}  {_bar(p[1], p[2], scale)}  {p[3]}".rstrip() for p in points]
    return [*lines, f"{'':<{label}}  {_scale(scale)}"]


def _bar(value: float | None, interval: Sequence[float] | None, width: int) -> str:
    cells = [" "] * width
    if interval:
        low, high = _at(interval[0], width), _at(interval[1], width)
        cells[low : high + 1] = "─" * (high + 1 - low)
        cells[low], cells[high] = "├", "┤"
    if value is not None:
        cells[_at(value, width)] = "●"
    return "".join(cells)


def _scale(width: int) -> str:
    cells = ["·"] * width
    for mark in (0, 25, 50, 75, 100):
        text = str(mark)
        start = min(_at(mark / 100, width), width - len(text))
        cells[start : start + len(text)] = text
    return "".join(cells)


def _at(value: float, width: int) -> int:
    return min(width - 1, max(0, round(value * (width - 1))))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def accuracy(summary: dict[str, Any], width: int) -> list[str]:
    """Accuracy of every method on every task, with its interval."""
    several = len(summary["models"]) > 1
    return rows(
        [
            (
                " ".join([row["task"], row["method"], *([row["model"]] if several else [])]),
                row["accuracy"],
                row["interval"],
                f"{percent(row['accuracy']):>5}  n {row['n']}",
            )
            for row in summary["table"]
        ],
        width,
    )


def effort(summary: dict[str, Any], width: int) -> list[str]:
    """Mean calls of a sample, one bar a line."""
    found = [row for row in summary["table"] if row["calls"]]
    if not found:
        return []
    labels = [f"{row['task']} {row['method']}" for row in found]
    label = min(max(map(len, labels)), max(8, width - 40))
    most, room = max(row["calls"] for row in found), max(LEAST, width - label - 12)
    return [
        f"{_cut(name, label):<{label}}  {'█' * max(1, round(room * row['calls'] / most))} {number(row['calls'], 2)}"
        for name, row in zip(labels, found, strict=True)
    ]


def batches(curve: dict[str, Any], width: int) -> list[str]:
    """Accuracy of one method on streams, batch by batch."""
    points = [
        (
            f"batch {one['batch']}",
            one["accuracy"],
            one["interval"],
            f"{percent(one['accuracy']):>5}  restarts {percent(one['restart_share'])}",
        )
        for one in curve["batches"]
    ]
    return rows(points, width)


def budgets(groups: Sequence[dict[str, Any]], width: int) -> list[str]:
    """Score of methods with workers against the calls that they were allowed."""
    points = [
        (
            f"{group['task']} {group['label']} B={group['budget']}",
            group["score"],
            group["score_interval"],
            f"{percent(group['score']):>5}  calls {number(group['calls'], 1)}",
        )
        for group in groups
    ]
    return rows(points, width)


def all_of(summary: dict[str, Any], width: int) -> str:
    """Every plot that the evaluation has, under its head."""
    parts = [("Accuracy in percent, with 95 % intervals", accuracy(summary, width))]
    parts += [
        (f"{curve['task']} {curve['method']}: accuracy by batch", batches(curve, width))
        for curve in summary["curves"]
    ]
    if summary.get("diagnostics"):
        parts.append(("Score by allowed calls", budgets(summary["diagnostics"], width)))
    parts.append(("Calls a sample (mean)", effort(summary, width)))
    return "\n\n".join("\n".join([head, "", *lines]) for head, lines in parts if lines)


def details(row: dict[str, Any]) -> str:
    """Everything beside accuracy of one line of the table."""
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in row["verdicts"].items()) or "none yet"
    histogram = ", ".join(f"{n} x {rounds}" for rounds, n in row["rounds_histogram"].items()) or "-"
    within = ", ".join(f"{calls}: {percent(share)}" for calls, share in row["within_calls"].items())
    lines = [
        f"{row['task']} · {row['method']} · {row['model']}",
        f"correct {row['correct']} of {row['n']}, {row['missing']} still missing; {percent(row['accuracy'])} % "
        f"{interval_text(row['interval'])}",
        f"verdicts: {verdicts}",
        f"score {number(row['score'], 3)}; if ambiguous answers count: {percent(row['if_ambiguous'][0])} to {percent(row['if_ambiguous'][1])}",
        f"rounds {number(row['rounds'], 2)} ({histogram}); calls {number(row['calls'], 2)}; programs {number(row['code_runs'], 2)}",
        f"correct within calls: {within}",
        f"no solution {percent(row['no_solution_rate'])}, verified {percent(row['verification_rate'])}, "
        f"error branches {percent(row['parse_failure_rate'])}, Python share {percent(row['python_share'])}",
    ]
    if row["by_repeat"]:
        again = row["by_repeat"]
        each = ", ".join(map(percent, again["accuracies"]))
        lines.append(
            f"repeats {each}; mean {percent(again['mean'])} {interval_text(again['interval'])} (t-interval)"
        )
    return "\n".join(lines)
