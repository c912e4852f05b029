"""What an evaluation adds up to: one plain summary, from which every table and page is drawn.

`summary` is pure: from rows to JSON values, in a fixed order, with no time and no absolute path in
it, so that the same logs give the same bytes anywhere. Definitions are those of the method papers
and of the published evaluator; `statistics` holds the arithmetic. Pages and plots are `pages`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from meta_tui.evaluation import statistics
from meta_tui.evaluation.cells import Plan
from meta_tui.evaluation.results import Row
from meta_tui.protocol import states_no_solution

BUDGETS = (1, 2, 4, 8, 16, 32)
"""Calls within which an answer must stand to count, for comparison at equal budget."""

SMALLEST = 5
"""Below this many samples no interval is shown."""

LONGEST = 240
"""Characters of a reason that tell it from others."""

ENDED = ("answered", "completed", "no_answer", "failed", "budget")


def summary(plan: Plan, rows: Sequence[Row], grader: str) -> dict[str, Any]:
    """All numbers of an evaluation under one grader."""
    methods = [variant.label for variant in plan.variants]
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.task, row.method, row.model].append(row)
    table = [
        {"task": task, "method": method, "model": model, **_cell_numbers(groups[task, method, model], grader)}
        for task in plan.tasks
        for model in plan.models
        for method in methods
        if groups[task, method, model]
    ]
    return {
        "grader": grader,
        "methods": methods,
        "models": list(plan.models),
        "tasks": list(plan.tasks),
        "repeats": plan.repeats,
        "stream": plan.stream,
        "samples": plan.samples,
        "cells": _states(rows),
        "table": table,
        "macro": _macro(table, methods, plan.models),
        "pairs": _pairs(plan, groups, grader),
        "curves": curves(plan, rows, grader),
        "failures": failures(rows),
        "simulated": [model for model in plan.models if model.startswith("simulated")],
        "experts": {method: _experts(r for r in rows if r.method == method) for method in methods},
    }


def curves(plan: Plan, rows: Sequence[Row], grader: str) -> list[dict[str, Any]]:
    """Accuracy batch by batch of every method that was run on streams, over all streams and repeats."""
    groups: dict[tuple[str, str, str], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.stream and row.batch and row.status in ENDED:
            groups[row.task, row.method, row.model][row.batch].append(row)
    return [
        {
            "task": task,
            "method": method,
            "model": model,
            "streams": len({(row.stream, row.repeat) for own in batches.values() for row in own}),
            "batches": [
                {"batch": batch, **_batch_numbers(own, grader)} for batch, own in sorted(batches.items())
            ],
        }
        for (task, method, model), batches in groups.items()
    ]


def _batch_numbers(rows: list[Row], grader: str) -> dict[str, Any]:
    """The numbers of one batch; with repeats the interval is a bootstrap over samples."""
    correct, actions = (
        sum(row.correct(grader) for row in rows),
        Counter(a for row in rows for a in row.actions),
    )
    return {
        "n": len(rows),
        "correct": correct,
        "accuracy": _share(correct, len(rows)),
        "interval": _interval_of(rows, grader),
        "restart_share": _share(actions["restart"], actions.total()),
        "calls": _mean([row.calls for row in rows]),
        "tokens": _known_mean([row.tokens for row in rows]),
    }


def _interval_of(rows: list[Row], grader: str) -> list[float] | None:
    """Wilson's interval; with repeats a bootstrap over samples, which keep their repeats together.

    Where all samples came out alike in all their runs there is nothing to resample: then they count
    once each, as without repeats.
    """
    samples: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        samples[row.sample].append(float(row.correct(grader)))
    total, n = sum(map(sum, samples.values())), len(samples)
    if len(rows) == n or total in (0, len(rows)):
        return _interval(n if total and total == len(rows) else int(total), n)
    if n < SMALLEST:
        return None
    _, low, high = statistics.cluster_bootstrap(list(samples.values()))
    return [_round(low), _round(high)]


def failures(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Why cells failed or were stopped: one entry a reason, the most frequent first, with the logs."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.trouble or row.status in ("failed", "damaged"):
            groups[row.status, row.trouble[:LONGEST] or row.reason].append(row.log)
    return [
        {"status": status, "reason": reason, "cells": len(set(logs)), "logs": sorted(set(logs))}
        for (status, reason), logs in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    ]


def failure_lines(found: Sequence[dict[str, Any]], shown: int = 10) -> list[str]:
    """The reasons as lines for people, and what to do about them."""
    if not found:
        return []
    total = sum(entry["cells"] for entry in found)
    lines = [f"{total} {'cell' if total == 1 else 'cells'} failed or stopped:"]
    for entry in found[:shown]:
        more = f" and {entry['cells'] - 1} more" if entry["cells"] > 1 else ""
        lines.append(f"  {entry['cells']:>4}  {entry['status']}: {entry['reason']}")
        lines.append(f"        {entry['logs'][0]}{more}")
    lines += [f"  .. and {len(found) - shown} further reasons"] if len(found) > shown else []
    states = {entry["status"] for entry in found}
    if "failed" in states:
        lines.append(
            "The same `meta-tui evaluate` command with --again runs the failed cells again, and no others."
        )
    if states - {"failed"}:
        lines.append(
            "The same `meta-tui evaluate` command goes on with those that were stopped or are damaged."
        )
    return lines


def _states(rows: Sequence[Row]) -> dict[str, int]:
    return {"total": len(rows), **dict(sorted(Counter(row.status for row in rows).items()))}


def _cell_numbers(rows: list[Row], grader: str) -> dict[str, Any]:
    ended = [row for row in rows if row.status in ENDED]
    verdicts = Counter(row.grades[grader].verdict for row in ended if grader in row.grades)
    n, correct = len(ended), verdicts["correct"]
    replies = sum(row.replies for row in ended)
    return {
        "n": n,
        "missing": len(rows) - n,
        "correct": correct,
        "accuracy": _share(correct, n),
        "interval": _interval_of(ended, grader),
        "if_ambiguous": [_share(correct, n), _share(correct + verdicts["ambiguous"], n)],
        "verdicts": dict(sorted(verdicts.items())),
        "score": _mean([row.grades[grader].score for row in ended if grader in row.grades]),
        "rounds": _mean([row.rounds for row in ended]),
        "rounds_histogram": {str(k): v for k, v in sorted(Counter(row.rounds for row in ended).items())},
        "calls": _mean([_calls(row) for row in ended]),
        "calls_total": round(sum(_calls(row) for row in ended)),
        "tokens_total": _known_sum([_plus(row.tokens, row.shared_tokens) for row in ended]),
        "cost_total": _known_sum([_cost(row) for row in ended]),
        "cost_per_correct": _per_correct([_cost(row) for row in ended], correct),
        "calls_per_correct": round(sum(map(_calls, ended)) / correct, 4) if correct else None,
        "code_runs": _mean([row.code_runs for row in ended]),
        "python_share": _python_share(ended),
        "parse_failure_rate": _share(sum(row.rejected for row in ended), replies),
        "no_solution_rate": _share(sum(states_no_solution(row.answer or "") for row in ended), n),
        "verification_rate": _share(sum(row.verified for row in ended), n),
        "within_calls": {str(b): _share(_within(ended, grader, b), n) for b in BUDGETS},
        "by_repeat": _by_repeat(ended, grader),
        "calibration": _calibration(ended, grader),
    }


def _calls(row: Row) -> float:
    """Calls of a row, with its share of what its stream spent on learning."""
    return row.calls + row.shared


def _cost(row: Row) -> float | None:
    return _plus(row.cost, row.shared_cost)


def _plus(own: float | None, shared: float | None) -> float | None:
    return None if own is None or shared is None else own + shared if shared else own


def _within(rows: Iterable[Row], grader: str, calls: int) -> int:
    return sum(row.correct(grader) and row.calls <= calls for row in rows)


def _by_repeat(rows: list[Row], grader: str) -> dict[str, Any] | None:
    repeats: dict[int, list[bool]] = defaultdict(list)
    samples: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        repeats[row.repeat].append(row.correct(grader))
        samples[row.sample].append(row.correct(grader))
    if len(repeats) < 2:
        return None
    means = [sum(found) / len(found) for _, found in sorted(repeats.items())]
    mean, low, high = statistics.t_interval(means)
    most = min(len(found) for found in samples.values())
    return {
        "accuracies": [_round(m) for m in means],
        "mean": _round(mean),
        "interval": [_round(low), _round(high)],
        "pass_at": {
            str(k): _mean([statistics.pass_at_k(len(f), sum(f), k) for f in samples.values()])
            for k in range(1, most + 1)
        },
    }


def _calibration(rows: list[Row], grader: str) -> dict[str, Any] | None:
    stated = [(row.confidence, row.correct(grader)) for row in rows if row.confidence is not None]
    if not stated:
        return None
    return statistics.calibration([c for c, _ in stated], [right for _, right in stated])


def _macro(
    table: list[dict[str, Any]], methods: Sequence[str], models: Sequence[str]
) -> list[dict[str, Any]]:
    """Unweighted mean over task families; the languages of one set are averaged first."""
    found = []
    for model in models:
        for method in methods:
            families: dict[str, list[float]] = defaultdict(list)
            for row in table:
                if row["method"] == method and row["model"] == model and row["accuracy"] is not None:
                    families[row["task"].partition("_")[0]].append(row["accuracy"])
            means = [sum(values) / len(values) for values in families.values()]
            found.append({"method": method, "model": model, "families": len(means), "accuracy": _mean(means)})
    return found


def _pairs(plan: Plan, groups: dict[tuple[str, str, str], list[Row]], grader: str) -> list[dict[str, Any]]:
    pairs = []
    for task in plan.tasks:
        for model in plan.models:
            for first, second in combinations([v.label for v in plan.variants], 2):
                pair = _pair(groups[task, first, model], groups[task, second, model], grader)
                if pair is not None:
                    pairs.append({"task": task, "model": model, "a": first, "b": second, **pair})
    for pair, adjusted in zip(pairs, statistics.holm([p["p"] for p in pairs]), strict=True):
        pair["p_holm"] = _significant(adjusted)
        pair["verdict"] = _verdict(pair)
    return pairs


def _pair(first: list[Row], second: list[Row], grader: str) -> dict[str, Any] | None:
    """Two methods on the same samples: discordance, paired interval, exact McNemar test.

    With repeats the test is on the first repeat and the interval is a bootstrap over samples:
    repeats of one sample are never pooled as if they were independent.
    """
    left, right = _outcomes(first, grader), _outcomes(second, grader)
    both = sorted(left.keys() & right.keys())
    once = [(left[key], right[key]) for key in both if key[1] == 0]
    if not once:
        return None
    counts = Counter(once)
    a, b, c, d = counts[True, True], counts[True, False], counts[False, True], counts[False, False]
    difference, low, high = statistics.newcombe(a, b, c, d)
    if any(key[1] for key in both):
        clusters: dict[str, list[float]] = defaultdict(list)
        for key in both:
            clusters[key[0]].append(float(left[key]) - float(right[key]))
        found = statistics.cluster_bootstrap(list(clusters.values()))
        if found.low < found.high or found.value != difference:  # else nothing to resample
            difference, low, high = found
    return {
        "n": len(once),
        "both": a,
        "only_a": b,
        "only_b": c,
        "neither": d,
        "difference": _round(difference),
        "interval": [_round(low), _round(high)] if len(once) >= SMALLEST else None,
        "p": _significant(statistics.mcnemar(b, c)),
        "extra_cost_per_extra_correct": _incremental(_among(first, both), _among(second, both), grader),
    }


def duels(rows: Sequence[Row], a: str, b: str, grader: str) -> list[dict[str, Any]]:
    """Two methods on the same samples, one entry a pair of cells: who won, and the logs of both."""
    by_place = {(row.method, row.model, row.sample, row.repeat): row for row in rows}
    words = {(True, True): "both", (True, False): "a", (False, True): "b", (False, False): "neither"}
    found = []
    for row in rows:
        if row.method != a:
            continue
        other = by_place.get((b, row.model, row.sample, row.repeat))
        if other is None or "missing" in (row.status, other.status):
            continue
        won = words[row.correct(grader), other.correct(grader)]
        found.append(
            {
                "sample": row.sample,
                "model": row.model,
                "repeat": row.repeat,
                "won": won,
                "answer_a": row.answer,
                "answer_b": other.answer,
                "log_a": row.log,
                "log_b": other.log,
            }
        )
    return found


def _outcomes(rows: list[Row], grader: str) -> dict[tuple[str, int], bool]:
    return {(row.sample, row.repeat): row.correct(grader) for row in rows if row.status in ENDED}


def _verdict(pair: dict[str, Any]) -> str:
    """Who is ahead after Holm's correction; "tied" is said aloud."""
    if pair["interval"] is None:
        return "n too small"
    if pair["p_holm"] >= 0.05:
        return "tied"
    return str(pair["a"] if pair["difference"] > 0 else pair["b"])


def _among(rows: list[Row], both: Sequence[tuple[str, int]]) -> list[Row]:
    """The rows of runs that both methods have."""
    wanted = set(both)
    return [row for row in rows if (row.sample, row.repeat) in wanted]


def _incremental(first: list[Row], second: list[Row], grader: str) -> float | None:
    costs = [_known_sum([_cost(row) for row in rows if row.status in ENDED]) for rows in (first, second)]
    right = [sum(row.correct(grader) for row in rows) for rows in (first, second)]
    if costs[0] is None or costs[1] is None or right[0] == right[1]:
        return None
    return _round((costs[0] - costs[1]) / (right[0] - right[1]))


def _experts(rows: Iterable[Row]) -> dict[str, float]:
    """Share of each expert name in all expert calls, the most called first."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update({name: n for name, n in row.experts.items() if name.startswith("Expert ")})
    total = sum(counts.values())
    return {name: round(n / total, 4) for name, n in sorted(counts.items(), key=lambda p: (-p[1], p[0]))}


def _python_share(rows: list[Row]) -> float | None:
    calls = Counter({"python": 0, "all": 0})
    for row in rows:
        for name, n in row.experts.items():
            calls["all"] += n
            calls["python"] += n * name.startswith("Expert Python")
    return _share(calls["python"], calls["all"])


def _interval(correct: int, n: int) -> list[float] | None:
    if n < SMALLEST:
        return None
    low, high = statistics.wilson(correct, n)
    return [_round(low), _round(high)]


def _share(part: float, whole: float) -> float | None:
    return _round(part / whole) if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return _round(sum(values) / len(values)) if values else None


def _known_sum(values: Sequence[float | None]) -> float | None:
    """The sum, or None as soon as one value is unknown: unknown is never 0."""
    known = [value for value in values if value is not None]
    return _round(sum(known)) if values and len(known) == len(values) else None


def _known_mean(values: Sequence[float | None]) -> float | None:
    total = _known_sum(values)
    return None if total is None else _round(total / len(values))


def _per_correct(costs: Sequence[float | None], correct: int) -> float | None:
    total = _known_sum(costs)
    return None if total is None or not correct else _round(total / correct)


def _round(value: float) -> float:
    """Six decimals: sums of floats must not show the order in which they were added."""
    return value if not math.isfinite(value) else round(value, 6)


def _significant(value: float) -> float:
    """Six significant digits, for p-values: small ones must not become 0."""
    return float(f"{value:.6g}")


def columns(row: dict[str, Any]) -> tuple[str, ...]:
    """The cells of one line of the accuracy table, as text."""
    return (
        row["task"],
        row["method"],
        row["model"],
        percent(row["accuracy"]),
        interval_text(row["interval"]),
        f"{row['correct']}/{row['n']}",
        number(row["rounds"], 2),
        number(row["calls"], 2),
        number(row["tokens_total"], 0),
        money(row["cost_total"]),
        money(row["cost_per_correct"]),
    )


HEADS = (
    "task",
    "method",
    "model",
    "accuracy",
    "95 % interval",
    "correct",
    "rounds",
    "calls",
    "tokens",
    "cost",
    "cost/correct",
)


def pair_columns(pair: dict[str, Any]) -> tuple[str, ...]:
    """The cells of one line of the table of paired differences, as text."""
    interval = pair["interval"]
    return (
        pair["task"],
        pair["model"],
        f"{pair['a']} - {pair['b']}",
        f"{100 * pair['difference']:+.1f}",
        f"[{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]" if interval else "n too small",
        f"{pair['only_a']} : {pair['only_b']}",
        f"{pair['p']:.3g}",
        f"{pair['p_holm']:.3g}",
        pair["verdict"],
    )


PAIR_HEADS = ("task", "model", "difference", "points", "95 % interval", "won", "p", "p (Holm)", "verdict")


def states_line(summary: dict[str, Any]) -> str:
    """`100 cells: 97 answered, 3 failed`; of streams the instances are counted."""
    unit = "instances of streams" if summary["stream"] else "cells"
    states = ", ".join(f"{n} {state}" for state, n in summary["cells"].items() if state != "total")
    return f"{summary['cells']['total']} {unit}: {states}"


def curve_columns(curve: dict[str, Any]) -> list[tuple[str, ...]]:
    """The lines of the table of accuracy by batch, as text."""
    return [
        (
            curve["task"],
            curve["method"],
            curve["model"],
            str(batch["batch"]),
            percent(batch["accuracy"]),
            interval_text(batch["interval"]),
            f"{batch['correct']}/{batch['n']}",
            percent(batch["restart_share"]),
            number(batch["calls"], 1),
            number(batch["tokens"], 0),
        )
        for batch in curve["batches"]
    ]


CURVE_HEADS = (
    "task",
    "method",
    "model",
    "batch",
    "accuracy",
    "95 % interval",
    "correct",
    "restarts",
    "calls",
    "tokens",
)


def budget_columns(group: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table of score by allowed calls, as text."""
    return (
        group["task"],
        group["label"],
        group["model"],
        str(group["budget"]),
        percent(group["score"]),
        interval_text(group["score_interval"]),
        f"{round((group['score'] or 0) * group['graded'])}/{group['graded']}",
        number(group["calls"], 1),
        percent(group["coverage"]),
        percent(group["selection"]),
    )


BUDGET_HEADS = (
    "task",
    "method",
    "model",
    "allowed",
    "score",
    "95 % interval",
    "correct",
    "calls",
    "coverage",
    "selection",
)

SIMULATED = (
    "{} is a simulation: no language model was called. Its numbers show the machinery and say nothing "
    "about any model or method."
)


def repeats_lines(summary: dict[str, Any]) -> list[str]:
    """What intervals and tests mean where samples were run several times."""
    if summary["repeats"] < 2:
        return []
    return [
        f"{summary['repeats']} repeats: intervals are bootstraps over samples, which keep their repeats "
        "together; who won and p are of the first repeat."
    ]


def simulation_lines(summary: dict[str, Any]) -> list[str]:
    """A warning for each simulated model."""
    return [SIMULATED.format(model) for model in summary["simulated"]]


def interval_text(interval: Sequence[float] | None) -> str:
    """`[57.3, 75.4]`."""
    return f"[{percent(interval[0])}, {percent(interval[1])}]" if interval else "n too small"


def percent(value: float | None) -> str:
    """A share as a percentage, "-" where there is none."""
    return "-" if value is None else f"{100 * value:.1f}"


def number(value: float | None, digits: int) -> str:
    """A number, "-" where it is unknown."""
    return "-" if value is None else f"{value:,.{digits}f}"


def money(value: float | None) -> str:
    """Dollars, "-" where a price is unknown."""
    return "-" if value is None else f"${value:.4f}"
