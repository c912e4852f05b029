"""Artifacts of a run as text: tree, graph by depth, memory with its readers, budget.

Pure, and the same for the app and for the plain output. Marks are shapes and words; the names of
colours are only for those who have colours. Whether an artifact is correct is not known here:
shown are the verdicts of Assess. Texts of models come through as they are: whoever shows them
cleans them.
"""

from __future__ import annotations

from meta_tui.evaluation.diagnostics import budget_strip, utilisation
from meta_tui.methods.artifacts import Row, Trace, layers, tree

MARKS: dict[str, tuple[str, str, str]] = {
    "LIKELY_CORRECT": ("●", "likely correct", "done"),
    "HAS_GAPS": ("▲", "has gaps", "wait"),
    "FUNDAMENTALLY_FLAWED": ("■", "flawed", "fail"),
    "": ("○", "not judged", "quiet"),
}
"""Verdict -> shape, word, name of its colour."""

NOTE = ("◇", "note", "hit")
FAILED = ("✗", "failed", "fail")
CELLS: dict[str, str] = {"assess": "A", "propose": "P", "evaluate": "E", "dispatch": "D", "worker": "w"}
"""Role -> the letter of its calls in the budget strip; others are `c` for the controller."""


def mark(row: Row) -> tuple[str, str, str]:
    """Shape, word and colour of an artifact."""
    if row.kind == "note":
        return NOTE
    return FAILED if row.failed else MARKS.get(row.verdict, MARKS[""])


def graph_text(found: Trace) -> str:
    """The graph by depth: one part a layer, with what each artifact was made from."""
    rows = {row.id: row for row in tree(found)}
    context = {a.id: a.context for a in found.artifacts}
    parts = []
    for depth, ids in enumerate(layers(found)):
        parts.append(f"depth {depth}")
        parts += [_graph_line(rows[id], context[id]) for id in ids]
    notes = [row for row in rows.values() if row.kind == "note"]
    if notes:
        parts += ["notes", *(_graph_line(row, context[row.id]) for row in notes)]
    return "\n".join(parts) or "no artifact yet"


def _graph_line(row: Row, context: tuple[str, ...]) -> str:
    shape, word, _ = mark(row)
    made = f"  ← {', '.join(context)}" if context else ""
    submitted = "  ◀ submitted" if row.submitted else ""
    return f"  {shape} {row.id} {word}{made}{submitted}"


def memory_text(found: Trace) -> str:
    """The index as stages see it, and under each line who read it and who was shown it."""
    rows = {row.id: row for row in tree(found)}
    lines = []
    for row in (rows[artifact.id] for artifact in found.artifacts):
        lines.append(f"{row.id}: TITLE: {row.title}")
        lines += [f"    read by {reader}" for reader in row.readers]
        lines += [f"    shown to worker {id}" for id in row.used_by]
    return "\n".join(lines) or "the memory is empty"


def budget_text(found: Trace, width: int = 60) -> str:
    """One letter a call, in order, a bar where the budget ends; then the sums by role."""
    letters = [CELLS.get(who, "c") for who in found.strip]
    letters += ["·"] * (found.budget - len(letters))
    if 0 < found.budget < len(letters):
        letters.insert(found.budget, "|")
    strip = "".join(letters)
    rows = [strip[start : start + width] for start in range(0, len(strip), width)]
    sums: dict[str, int] = {}
    for who, count in budget_strip(found):
        sums[who] = sums.get(who, 0) + count
    used = utilisation(found)
    share = "" if used is None else f", {100 * used:.0f} % of {found.budget}"
    words = [f"{CELLS.get(who, 'c')} {who}: {count}" for who, count in sums.items()]
    return "\n".join([*rows, "", f"{len(found.strip)} calls{share}", *words])


def tree_text(found: Trace) -> str:
    """The artifact tree, one line an artifact."""
    return "\n".join(_tree_line(row) for row in tree(found)) or "no artifact yet"


def _tree_line(row: Row) -> str:
    shape, word, _ = mark(row)
    end = "  ◀ submitted" if row.submitted else ""
    return f"{'  ' * min(row.indent, 8)}{shape} {row.id} {row.title}  {word}{end}"
