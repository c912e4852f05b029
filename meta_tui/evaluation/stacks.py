"""What a Meta^n run adds up to: means by depth, what layers gained and broke, roles, channel shares.

From run logs to one plain summary a run; only `of_folder` reads files, and a rater is asked by
whoever calls. Means over held-out tasks stand apart and enter nothing else. Figures are `plots_meta_n`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from meta_tui import runlog
from meta_tui.errors import LogError, UsageError
from meta_tui.evaluation import cells, statistics
from meta_tui.events import Requested, Stored
from meta_tui.methods.meta_n.layers import merged
from meta_tui.methods.meta_n.rating import Rated
from meta_tui.methods.meta_n.records import (
    ArchiveBest,
    CandidateKept,
    Gate,
    HeldOut,
    LayerKept,
    OmegaCall,
    Routed,
    StopKept,
    all_of,
    read,
)
from meta_tui.methods.meta_n.roles import CODEBOOK, rule_roles
from meta_tui.runlog import Recording

THRESHOLD = 0.01
"""A score that fell by more than this regressed."""

GUARDED = "Per-task results are retained results of different chains, not one chain for all tasks."

Roles = Mapping[str, frozenset[str]]
"""Layer id -> its roles."""


def kind(settings: Mapping[str, Any]) -> str:
    """Which arm of a comparison a run is: `full`, an ablation, or a control."""
    if settings.get("mode") in ("depth1", "object_level", "apply"):
        return str(settings["mode"])
    off = [name for name in ("library", "outer_context") if not settings.get(name, True)]
    return f"no_{'_'.join(off)}" if off else "full"


def summary(label: str, recording: Recording, ratings: Sequence[Recording] = ()) -> dict[str, Any]:
    """All numbers of one run.

    Args:
        label: its name in tables and plots.
        ratings: runs of `meta_n_roles` on its layers.

    Raises:
        UsageError: the log is of another method.
    """
    if recording.started.method != "meta_n":
        raise UsageError(f"{label} is a run of {recording.started.method}; layers are written by meta_n")
    events, started = recording.events, recording.started
    candidates = all_of(events, CandidateKept)
    layers = {layer.id: layer for layer in all_of(events, LayerKept)}
    bests, stops = all_of(events, ArchiveBest), all_of(events, StopKept)
    best = bests[-1].best if bests else ""
    rated = [one for rating in ratings for one in _rated(rating.events)]
    return {
        "label": label,
        "kind": kind(started.settings),
        "mode": started.settings.get("mode", "linear"),
        "guard": bool(started.settings.get("guard", False)),
        "model": started.model,
        "omega_model": started.settings.get("omega_model") or started.model,
        "note": started.note,
        "status": recording.finished.status if recording.finished else "unfinished",
        "reason": stops[-1].reason if stops else "",
        "calls": sum(isinstance(event, Requested) for event in events),
        "tasks": [one.task for one in candidates[0].scores] if candidates else [],
        "candidates": [_candidate(one) for one in candidates],
        "best": best,
        "best_mean": bests[-1].mean if bests else None,
        "task_mean": bests[-1].task_mean if bests else None,
        "seed_mean": candidates[0].mean if candidates else None,
        "by_depth": by_depth(candidates, best),
        "iterations": [_iteration(one) for one in bests],
        "matrix": {
            task: [one.scores.get(task) for one in bests] for task in (bests[0].scores if bests else ())
        },
        "lift": lifts(candidates),
        "regression_share": regression_share(candidates),
        "helper_call_rate": helper_call_rate(candidates, layers),
        "gates": _counted(all_of(events, Gate), "passed"),
        "empty_layers": sum(one.empty for one in all_of(events, OmegaCall)),
        "screened_out": sum(len(layer.screened) for layer in layers.values()),
        "roles": roles(layers.values(), rated, _categories(started.settings)),
        "held_out": [{"candidate": one.candidate, "mean": one.mean} for one in all_of(events, HeldOut)],
        "routed": [{"mean": one.mean, "tasks": dict(one.tasks)} for one in all_of(events, Routed)],
    }


def of_folder(folder: Path) -> list[dict[str, Any]]:
    """The summaries of the streams of an evaluation that wrote layers and have ended, in its order."""
    found = []
    for cell in cells.cells(cells.read_plan(folder), cells.read_samples(folder)):
        if cell.variant.method != "meta_n" or not cell.stream:
            continue
        try:
            recording = runlog.read(folder / "cells" / f"{cell.name}.jsonl")
        except LogError:
            continue
        if recording.finished is not None:
            label = f"{cell.variant.label} · {cell.place} · {cell.model} · repeat {cell.repeat}"
            found.append({"log": f"cells/{cell.name}.jsonl", **summary(label, recording)})
    return found


def _rated(events: Iterable[object]) -> list[Rated]:
    return [read(event, Rated) for event in events if isinstance(event, Stored) and event.kind == "roles"]


def _categories(settings: Mapping[str, Any]) -> list[str]:
    return sorted({str(facts.get("category", "")) for facts in settings.get("tasks", {}).values()} - {""})


def _candidate(one: CandidateKept) -> dict[str, Any]:
    return {
        "id": one.id,
        "parent": one.parent,
        "depth": one.depth,
        "iteration": one.iteration,
        "mean": one.mean,
        "focus": one.focus,
        "chain": list(one.chain),
    }


def _iteration(one: ArchiveBest) -> dict[str, Any]:
    return {
        "iteration": one.iteration,
        "best": one.best,
        "mean": one.mean,
        "task_mean": one.task_mean,
        "improved": one.improved,
    }


def _counted(found: Sequence[Gate], name: str) -> dict[str, int]:
    good = sum(bool(getattr(one, name)) for one in found)
    return {"passed": good, "refused": len(found) - good}


def by_depth(candidates: Sequence[CandidateKept], best: str) -> list[dict[str, Any]]:
    """The prefixes of the best chain (and what was stacked on it) with their means, shallow to deep;
    a prefix that lost against the one below is marked, with the tasks that lost."""
    known = {one.id: one for one in candidates}
    if best not in known:
        return []
    path = [_deepest(candidates, known[best])]
    while path[0].parent:
        path.insert(0, known[path[0].parent])
    found = []
    for place, one in enumerate(path):
        lost = _lost(path[place - 1], one) if place else []
        gain = _difference(path[place - 1].mean, one.mean) if place else None
        found.append(
            {
                "depth": one.depth,
                "candidate": one.id,
                "mean": one.mean,
                "gain": gain,
                "regressed": gain is not None and gain < -THRESHOLD / 10,
                "lost": lost,
                "is_best": one.id == best,
            }
        )
    return found


def _deepest(candidates: Sequence[CandidateKept], best: CandidateKept) -> CandidateKept:
    """Where a linear run went on from its best chain; the best itself where several did."""
    above = [one for one in candidates if one.parent == best.id]
    return _deepest(candidates, above[0]) if len(above) == 1 else best


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _pairs(parent: CandidateKept, child: CandidateKept) -> list[tuple[str, float, float]]:
    """(task, before, after) of the tasks that were really solved for the child."""
    old = {one.task: one.score for one in parent.scores}
    return [
        (one.task, before, one.score)
        for one in child.scores
        if not one.inherited and (before := old.get(one.task)) is not None and one.score is not None
    ]


def _lost(parent: CandidateKept, child: CandidateKept) -> list[str]:
    return [task for task, before, after in _pairs(parent, child) if before - after > THRESHOLD]


def lifts(candidates: Sequence[CandidateKept]) -> dict[str, float]:
    """Mean gain of the mean from depth d to d + 1, by d."""
    known = {one.id: one for one in candidates}
    found: dict[int, list[float]] = {}
    for one in candidates:
        parent = known.get(one.parent)
        if parent is None or one.depth != parent.depth + 1:
            continue
        gain = _difference(parent.mean, one.mean)
        if gain is not None:
            found.setdefault(parent.depth, []).append(gain)
    return {str(depth): round(sum(own) / len(own), 6) for depth, own in sorted(found.items())}


def regression_share(candidates: Sequence[CandidateKept]) -> float | None:
    """Share of (chain, task) pairs whose score fell by more than 0.01 against the parent's."""
    known = {one.id: one for one in candidates}
    pairs = [
        after - before
        for one in candidates
        if one.parent in known
        for _, before, after in _pairs(known[one.parent], one)
    ]
    return round(sum(gap < -THRESHOLD for gap in pairs) / len(pairs), 6) if pairs else None


def helper_call_rate(candidates: Sequence[CandidateKept], layers: Mapping[str, LayerKept]) -> float | None:
    """Of all helpers that were staged before a script, the share that the script called."""
    called = staged = 0
    for one in candidates:
        names = merged([layers[id_] for id_ in one.chain if id_ in layers])
        own = [score for score in one.scores if not score.inherited]
        staged += len(names) * len(own)
        called += sum(len(score.helpers) for score in own)
    return round(called / staged, 6) if staged else None


# Roles


def roles(layers: Iterable[LayerKept], rated: Sequence[Rated], categories: Sequence[str]) -> dict[str, Any]:
    """Roles by both raters: shares by depth (they need not sum to 1), and agreement by role."""
    emitted = [layer for layer in layers if layer.call]
    by_rule = {layer.id: rule_roles(layer, categories) for layer in emitted}
    by_model = {one.layer: frozenset(one.roles) for one in rated if one.layer in by_rule}
    depths = {layer.id: layer.depth for layer in emitted}
    return {
        "layers": [
            {
                "layer": id_,
                "depth": depths[id_],
                "rule": sorted(by_rule[id_]),
                "model": sorted(by_model[id_]) if id_ in by_model else None,
            }
            for id_ in by_rule
        ],
        "rule": shares(by_rule, depths),
        "model": shares(by_model, depths),
        "kappa": agreement(by_rule, by_model),
        "both": len(by_model),
    }


def shares(found: Roles, depths: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """Depth -> role -> share of that depth's layers that have the role."""
    result: dict[str, dict[str, float]] = {}
    for depth in sorted({depths[id_] for id_ in found}):
        own = [found[id_] for id_ in found if depths[id_] == depth]
        result[str(depth)] = {role: round(sum(role in one for one in own) / len(own), 6) for role in CODEBOOK}
    return result


def agreement(first: Roles, second: Roles) -> dict[str, float | None]:
    """Cohen's kappa of two raters for each role, over the layers that both rated; None where it is
    not defined (no such layer, or both always say the same one thing)."""
    both = [id_ for id_ in first if id_ in second]
    result: dict[str, float | None] = {}
    for role in CODEBOOK:
        pairs = [(role in first[id_], role in second[id_]) for id_ in both]
        value = statistics.kappa([a for a, _ in pairs], [b for _, b in pairs]) if pairs else float("nan")
        result[role] = None if isnan(value) else round(value, 6)
    return result


# Ablations


def channel_share(full: float, without: float, depth1: float) -> float | None:
    """(full - without the channel) / (full - depth 1): the share of recursion's lift that goes with
    the channel. A removal share, not a partition: interactions are ignored. None without any lift."""
    lift = full - depth1
    return (full - without) / lift if abs(lift) > 1e-12 else None


def ablations(found: Sequence[Mapping[str, Any]], measure: str = "best_mean") -> dict[str, Any]:
    """Means by arm and the share of each channel, from the summaries of a comparison.

    Args:
        found: summaries of runs on the same tasks; several of an arm are averaged.
        measure: `best_mean` (the best single chain) or `task_mean` (the best of each task).
    """
    arms: dict[str, list[float]] = {}
    guarded = any(one["guard"] and one["kind"] == "full" for one in found)
    for one in found:
        name = one["kind"]
        if guarded and name == "full" and not one["guard"]:
            name = "no_guard"
        if one[measure] is not None:
            arms.setdefault(name, []).append(one[measure])
    means = {name: sum(own) / len(own) for name, own in arms.items()}
    result: dict[str, Any] = {
        "measure": measure,
        "means": means,
        "runs": {n: len(o) for n, o in arms.items()},
    }
    if "full" in means and "depth1" in means:
        result["lift"] = means["full"] - means["depth1"]
        result["shares"] = {
            name: channel_share(means["full"], value, means["depth1"])
            for name, value in means.items()
            if name.startswith("no_")
        }
    return result


HEADS = ("run", "arm", "depth", "candidate", "mean", "gain", "lost tasks")


def lines(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table of one run: the base solver and each layer of the best chain, as text."""
    return [
        (
            found["label"],
            found["kind"],
            str(row["depth"]),
            row["candidate"] + (" (best)" if row["is_best"] else ""),
            number(row["mean"]),
            "" if row["gain"] is None else f"{row['gain']:+.4f}" + (" regressed" if row["regressed"] else ""),
            ", ".join(row["lost"][:5])
            + (f" and {len(row['lost']) - 5} more" if len(row["lost"]) > 5 else ""),
        )
        for row in found["by_depth"]
    ]


def number(value: float | None) -> str:
    """A mean as text."""
    return "-" if value is None else f"{value:.4f}"
