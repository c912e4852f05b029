"""Diagnostics of runs with workers: what was covered, what was selected, what the memory was for.

Definitions are those of Thinking Before Thinking (arXiv 2609.38147). Pure: from traces of recorded runs (`methods.artifacts`)
and the grades of their artifacts to numbers; no file, no grader, no clock. Who grades an artifact
is the caller's business: `label_with` says what must be graded, `Run` carries the labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from statistics import fmean
from typing import Any, Literal

from meta_tui.chat import Value
from meta_tui.evaluation import statistics
from meta_tui.methods.artifacts import Artifact, Trace, answer_of, depths
from meta_tui.methods.field import normalised

CONFIDENCE = {"LOW": 0, "MEDIUM": 1, "HIGH": 2}
VERDICT = {"FUNDAMENTALLY_FLAWED": 0, "HAS_GAPS": 1, "LIKELY_CORRECT": 2}

Signal = Literal["confidence", "verdict"]
Failure = Literal["", "coverage", "selection"]
ANSWER = "answer"
"""The name under which `label_with` asks for a submission that is no artifact."""


class Run(Value, frozen=True, kw_only=True):
    """A trace with its labels.

    Attributes:
        labels: artifact id -> whether its answer is correct; ids that cannot be graded are absent.
        submission: whether the submitted text is correct, None where it cannot be graded or where
            there is none. It counts as one of the solutions (y* is in V_sol).
        graded: whether its sample is known; otherwise only the graph and the calls count.
    """

    trace: Trace
    labels: dict[str, bool]
    submission: bool | None = None
    graded: bool = True

    @property
    def covered(self) -> bool:
        """C: some solution of the run is correct."""
        return any(self.labels.values()) or self.submission is True

    @property
    def selected(self) -> bool:
        """S: the submission is correct."""
        return self.submission is True

    @property
    def failure(self) -> Failure:
        """Why the run failed: nothing correct was found, or it was not chosen; "" if it did not."""
        if self.selected:
            return ""
        return "selection" if self.covered else "coverage"

    @property
    def first_correct(self) -> int | None:
        """Calls after which some correct artifact was there; None if none ever was."""
        at = [a.available_at for a in self.trace.workers if self.labels.get(a.id)]
        at += [len(self.trace.strip)] if self.selected else []
        return min(at, default=None)


async def label_with(trace: Trace, grade: Callable[[str], Awaitable[bool | None]]) -> Run:
    """A run with its labels, from a grader of answers (None: it cannot say).

    Each distinct answer is graded once.
    """
    known: dict[str, bool | None] = {}

    async def of(answer: str | None) -> bool | None:
        if answer is None:
            return None
        if answer not in known:
            known[answer] = await grade(answer)
        return known[answer]

    found = {a.id: await of(a.answer) for a in trace.workers if not a.failed}
    labels = {id: label for id, label in found.items() if label is not None}
    artifact = submitted_artifact(trace)
    if artifact is not None and artifact.id in labels:
        return Run(trace=trace, labels=labels, submission=labels[artifact.id])
    return Run(trace=trace, labels=labels, submission=await of(trace.answer and answer_of(trace.answer)))


def submitted_artifact(trace: Trace) -> Artifact | None:
    """The artifact that was submitted; for a controller that submits a text of its own the first
    artifact with the same normalised answer, None where there is no such artifact."""
    by_id = {a.id: a for a in trace.workers}
    if trace.submitted:
        return by_id.get(trace.submitted)
    if trace.answer is None:
        return None
    wanted = normalised(answer_of(trace.answer))
    same = (a for a in trace.workers if not a.failed and normalised(a.answer or "") == wanted)
    return next(same, None) if wanted else None


# One run: its graph.


class Topology(Value, frozen=True):
    """Shape of an artifact graph; depths and width count worker artifacts only."""

    nodes: int
    edges: int
    roots: int
    fan_in_mean: float
    fan_in_max: int
    width: int
    depth: int
    note_edges: int


def utilisation(trace: Trace) -> float | None:
    """U = (N_ctrl + N_work) / B; may exceed 1. None where the method has no budget."""
    return len(trace.strip) / trace.budget if trace.budget else None


def topology(trace: Trace) -> Topology:
    """Nodes, edges, roots, fan-in, width and depth of the graph."""
    ids, edges = [a.id for a in trace.workers], trace.edges()
    into = Counter(end for _, end in edges)
    depth = depths(ids, edges)
    levels = Counter(depth.values())
    return Topology(
        nodes=len(ids),
        edges=len(edges),
        roots=sum(into[id] == 0 for id in ids),
        fan_in_mean=len(edges) / len(ids) if ids else 0.0,
        fan_in_max=max(into.values(), default=0),
        width=max(levels.values(), default=0),
        depth=max(depth.values(), default=0),
        note_edges=len(trace.edges("note")),
    )


def descendants(trace: Trace) -> dict[str, int]:
    """For every worker artifact, how many others were made from it, directly or not."""
    after: dict[str, list[str]] = {}
    for start, end in trace.edges():
        after.setdefault(start, []).append(end)
    return {a.id: len(_reached(a.id, after)) for a in trace.workers}


def _reached(start: str, after: dict[str, list[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(after.get(start, ()))
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += after.get(node, ())
    return seen


def frontier(trace: Trace) -> tuple[str, ...]:
    """F(G): the terminal nodes whose depth is the greatest among terminal nodes."""
    ids, edges = [a.id for a in trace.workers], trace.edges()
    used = {start for start, _ in edges}
    depth = depths(ids, edges)
    terminal = [id for id in ids if id not in used]
    deepest = max((depth[id] for id in terminal), default=0)
    return tuple(id for id in terminal if depth[id] == deepest)


def frontier_quality(run: Run) -> float | None:
    """q_F: mean label over the frontier; unlabelled nodes are dropped, None if none is labelled."""
    labels = [run.labels[id] for id in frontier(run.trace) if id in run.labels]
    return fmean(labels) if labels else None


def selection_gain_of(run: Run) -> float | None:
    """l(y*) - q_F of one run; None outside of C or where either is unknown."""
    quality = frontier_quality(run)
    if not run.covered or quality is None or (run.submission is None and run.trace.answer is not None):
        return None
    return float(run.selected) - quality


def on_frontier(trace: Trace) -> bool | None:
    """Whether the submission is a node of the frontier; None for a run that submitted nothing."""
    if trace.answer is None:
        return None
    artifact = submitted_artifact(trace)
    return artifact is not None and artifact.id in frontier(trace)


# One run: its memory.


def memory(trace: Trace) -> dict[str, Any]:
    """Reads and writes by stage and kind, reads per artifact read, share never read, context uses."""
    kinds = {a.id: a.kind for a in trace.artifacts}
    reads = Counter((access.stage, kinds[id]) for access in trace.reads for id in access.ids if id in kinds)
    each = Counter(id for access in trace.reads for id in access.ids if id in kinds)
    uses = Counter(kinds[id] for a in trace.workers for id in a.context if id in kinds)
    return {
        "reads": _by_stage(reads),
        "writes": _by_stage(Counter((a.stage, a.kind) for a in trace.artifacts)),
        "reads_per_read_artifact": {
            kind: _mean([n for id, n in each.items() if kinds[id] == kind]) for kind in KINDS
        },
        "never_read": {kind: _never(kinds, each, kind) for kind in KINDS},
        "context_uses": {kind: uses[kind] for kind in KINDS},
    }


KINDS: tuple[Literal["worker"], Literal["note"]] = ("worker", "note")


def _by_stage(counts: Counter[tuple[str, Any]]) -> dict[str, dict[str, int]]:
    stages = dict.fromkeys(stage for stage, _ in sorted(counts))
    return {stage: {kind: counts[stage, kind] for kind in KINDS} for stage in stages}


def _never(kinds: dict[str, Any], each: Counter[str], kind: str) -> float | None:
    ids = [id for id, k in kinds.items() if k == kind]
    return _share(sum(id not in each for id in ids), len(ids))


# Several runs.


def coverage(runs: Sequence[Run], k: float | None = None) -> float | None:
    """Coverage(k): share of runs in which some correct artifact was available after k calls.

    Args:
        k: calls; None for all of them, which is Pr(C).
    """
    firsts = [run.first_correct for run in runs]
    return _share(sum(f is not None and (k is None or f <= k) for f in firsts), len(runs))


def coverage_curve(runs: Sequence[Run]) -> list[tuple[int, float]]:
    """(k, Coverage(k)) at every k at which the curve steps; non-decreasing."""
    steps = sorted({f for run in runs if (f := run.first_correct) is not None})
    return [(k, coverage(runs, k) or 0.0) for k in steps]


def selection(runs: Sequence[Run]) -> float | None:
    """Pr(S|C): share of the covered runs whose submission is correct."""
    covered = [run for run in runs if run.covered]
    return _share(sum(run.selected for run in covered), len(covered))


def auc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """AUC2: Pr(r(Y+) > r(Y-)) + 0.5 Pr(r(Y+) = r(Y-)); None where a class is empty."""
    if not positive or not negative:
        return None
    ranks = Counter(negative)
    wins = sum(sum(n for r, n in ranks.items() if r < p) + 0.5 * ranks[p] for p in positive)
    return wins / (len(positive) * len(negative))


def type2(runs: Iterable[Run], signal: Signal) -> dict[str, Any]:
    """Type-2 AUC of a signal over the labelled artifacts of all runs together, with its counts."""
    pairs = [(score_of(run.trace, a, signal), run.labels[a.id]) for run in runs for a in _labelled(run)]
    positive = [s for s, label in pairs if label and s is not None]
    negative = [s for s, label in pairs if not label and s is not None]
    value = auc(positive, negative)
    return {
        "auc": None if value is None else round(value, 6),
        "positive": len(positive),
        "negative": len(negative),
        "without_signal": sum(s is None for s, _ in pairs),
    }


def _labelled(run: Run) -> list[Artifact]:
    return [a for a in run.trace.workers if a.id in run.labels]


def score_of(trace: Trace, artifact: Artifact, signal: Signal) -> int | None:
    """The signal as a number from 0 to 2; the first verdict that an artifact received counts."""
    if signal == "confidence":
        return CONFIDENCE.get(artifact.confidence or "")
    return VERDICT.get(trace.verdicts.get(artifact.id, ("",))[0])


def selection_gain(runs: Sequence[Run]) -> dict[str, Any]:
    """FSG: mean of l(y*) - q_F over the covered runs; runs that cannot be compared are counted."""
    covered = [run for run in runs if run.covered]
    gains = [g for run in covered if (g := selection_gain_of(run)) is not None]
    return {"fsg": _mean(gains), "runs": len(gains), "excluded": len(covered) - len(gains)}


def frontier_shares(runs: Sequence[Run]) -> dict[str, float | None]:
    """Share of submissions that lie on the frontier, and of those the share with several nodes on it."""
    where = [(w, len(frontier(run.trace))) for run in runs if (w := on_frontier(run.trace)) is not None]
    sizes = [size for on, size in where if on]
    return {
        "from_frontier": _share(len(sizes), len(where)),
        "frontier_of_several": _share(sum(n > 1 for n in sizes), len(sizes)),
    }


# Summaries.


def of_run(run: Run) -> dict[str, Any]:
    """Everything about one run, as JSON values."""
    trace, shape = run.trace, topology(run.trace)
    below = descendants(trace)
    return {
        "method": trace.method,
        "task": trace.task,
        "sample": trace.sample,
        "status": trace.status,
        "reason": trace.reason,
        "budget": trace.budget,
        "calls": {"control": trace.control, "work": trace.work, "all": len(trace.strip)},
        "utilisation": _rounded(utilisation(trace)),
        "graph": {name: _rounded(getattr(shape, name)) for name in shape.__struct_fields__},
        "descendants_max": max(below.values(), default=0),
        "submitted": (found.id if (found := submitted_artifact(trace)) else ""),
        "how": trace.how,
        "frontier": list(frontier(trace)),
        "on_frontier": on_frontier(trace),
        "labelled": len(run.labels),
        "correct": sum(run.labels.values()),
        "covered": run.covered if run.graded else None,
        "submission": run.submission,
        "failure": run.failure if run.graded else None,
        "first_correct": run.first_correct,
        "frontier_quality": _rounded(frontier_quality(run)),
        "selection_gain": _rounded(selection_gain_of(run)),
        "type2": {signal: type2([run], signal) for signal in ("confidence", "verdict")},
        "memory": memory(trace),
        "state_sizes": list(trace.state_sizes),
        "flags": dict(sorted(Counter(name for name, _ in trace.flags).items())),
    }


def of_runs(runs: Sequence[Run]) -> dict[str, Any]:
    """Everything about the runs of one method on one task at one budget, as JSON values."""
    graded = [r for r in runs if r.graded]
    n = len(graded)
    success, covered = sum(r.selected for r in graded), sum(r.covered for r in graded)
    used = [u for r in runs if (u := utilisation(r.trace)) is not None]
    shapes = [topology(r.trace) for r in runs]
    return {
        "runs": len(runs),
        "graded": n,
        "score": _share(success, n),
        "score_interval": _interval(success, n),
        "coverage": _share(covered, n),
        "coverage_interval": _interval(covered, n),
        "selection": selection(graded),
        "selection_interval": _interval(success, covered),
        "failures": dict(sorted(Counter(r.failure for r in graded if r.failure).items())),
        "coverage_curve": [[k, _rounded(c)] for k, c in coverage_curve(graded)],
        "calls": _mean([len(r.trace.strip) for r in runs]),
        "calls_interval": _mean_interval([len(r.trace.strip) for r in runs]),
        "utilisation": _mean(used),
        "graph": {name: _mean([getattr(s, name) for s in shapes]) for name in Topology.__struct_fields__},
        "type2": {signal: type2(graded, signal) for signal in ("confidence", "verdict")},
        "frontier_gain": selection_gain(graded),
        **frontier_shares(runs),
        "memory": _added([memory(r.trace) for r in runs]),
        "state_size": _mean([max(r.trace.state_sizes) for r in runs if r.trace.state_sizes]),
        "how": dict(sorted(Counter(r.trace.how or "none" for r in runs).items())),
    }


def _added(found: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, int]]]:
    """Reads and writes by stage and kind, summed over runs."""
    sums: dict[str, dict[str, dict[str, int]]] = {"reads": {}, "writes": {}}
    for one in found:
        for what, stages in sums.items():
            for stage, kinds in one[what].items():
                row = stages.setdefault(stage, dict.fromkeys(KINDS, 0))
                for kind, n in kinds.items():
                    row[kind] += n
    return sums


def budget_strip(trace: Trace) -> list[tuple[str, int]]:
    """Who used the budget, in order: (stage, `control` or `worker`, calls in a row)."""
    found: list[tuple[str, int]] = []
    for who in trace.strip:
        if found and found[-1][0] == who:
            found[-1] = (who, found[-1][1] + 1)
        else:
            found.append((who, 1))
    return found


def _mean_interval(values: Sequence[float]) -> list[float | None] | None:
    if len(values) < 2:
        return None
    _, low, high = statistics.t_interval(values)
    return [_rounded(low), _rounded(high)]


def _interval(successes: int, n: int) -> list[float | None] | None:
    if not n:
        return None
    low, high = statistics.wilson(successes, n)
    return [_rounded(low), _rounded(high)]


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 6) if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 6) if values else None


def _rounded(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else round(value, 6)
