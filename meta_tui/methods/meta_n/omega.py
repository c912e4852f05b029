"""Omega: the one operation that writes every layer, and what it is shown.

One call, one user message, one template, schema and parser at every depth; only the evidence in it
depends on depth: raw traces for the first layer, a structured summary for those above. What a
layer is, and whether it is taken, is decided elsewhere.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from meta_tui.methods.asking import filled
from meta_tui.methods.meta_n.layers import Chain, merged
from meta_tui.methods.meta_n.records import LayerKept, Shown
from meta_tui.methods.meta_n.traces import Change, Trace, change, finite, mean_of, sampled
from meta_tui.methods.prompts import text

MAX_TOKENS: Final = 100_000
OVERHEAD: Final = 2_000
TRACE_SHARE, CODE_SHARE = 0.65, 0.35
CHARACTERS: Final = 4
"""Characters of a token."""
ROWS: Final = 10
LISTED: Final = 5
REPRESENTATIVES: Final = 3
INSPIRATIONS: Final = 5
PLATEAU: Final = 0.01
DESCRIBED: Final = 500
SHOWN_SCRIPT: Final = 6_000


@dataclass(frozen=True, slots=True)
class Inspiration:
    """A script of another candidate that beat the parent on a task."""

    task: str
    before: float
    after: float
    script: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known when a layer is asked for.

    Attributes:
        depth: of the layer, from 2.
        traces: of the candidate below, by task in the order of the stream.
        before: of the stack without its newest layer; empty where there is none.
        chain: layers below.
        descriptions: task -> its wording.
        categories: task -> its category.
        known: task -> the best score that is known or possible.
        holders: task -> the archive's best score, in evolutionary mode.
        inspirations: scripts of others, largest gap first.
        library: whether helpers may be written.
        focus: the one task that is solved anew, under the guard.
    """

    depth: int
    traces: Mapping[str, Trace]
    before: Mapping[str, Trace] = field(default_factory=dict)
    chain: Chain = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, float] = field(default_factory=dict)
    holders: Mapping[str, float] = field(default_factory=dict)
    inspirations: Sequence[Inspiration] = ()
    library: bool = True
    focus: str = ""

    def category(self, task: str) -> str:
        """The category of a task, else `other`."""
        return self.categories.get(task, "") or "other"


@dataclass(frozen=True, slots=True)
class Payload:
    """The prompt, and what was chosen for it and left out of it."""

    prompt: str
    sampled: Shown
    dropped_traces: tuple[str, ...] = ()
    dropped_layers: tuple[str, ...] = ()


def payload(evidence: Evidence, chance: random.Random, max_tokens: int = MAX_TOKENS) -> Payload:
    """The prompt for the next layer."""
    room = max(0, max_tokens - OVERHEAD) * CHARACTERS
    code, dropped_layers = code_part(evidence.chain, math.floor(room * CODE_SHARE))
    if evidence.depth <= 2:
        chosen, shown = sampled(list(evidence.traces.values()), chance)
    else:
        chosen, shown = representatives(evidence), Shown()
    raw, shown, dropped = fitted(evidence, chosen, shown, math.floor(room * TRACE_SHARE))
    parts = {
        "place": place(evidence),
        "objective": objective(evidence),
        "headroom": headroom(evidence),
        "evidence": first_evidence(evidence, raw) if evidence.depth <= 2 else deep_evidence(evidence, raw),
        "code": code,
        "notes": notes(evidence),
    }
    return Payload(skeleton(evidence.library, **parts), shown, dropped, dropped_layers)


def skeleton(library: bool, **parts: str) -> str:
    """The template with its parts; it is the same at every depth."""
    return filled(
        text("meta_n_omega"),
        library=text("meta_n_omega_library") if library else "",
        library_form=text("meta_n_omega_library_form") if library else "",
        **parts,
    )


def place(evidence: Evidence) -> str:
    """Depth and number of tasks."""
    return (
        f"The stack below has depth {evidence.depth - 1}; your layer is depth {evidence.depth}. "
        f"The family has {len(evidence.traces)} tasks."
    )


def objective(evidence: Evidence) -> str:
    """Mean, spread and pass rate now."""
    scores = [
        t.score for t in evidence.traces.values() if finite(t.score) is not None and t.score is not None
    ]
    if not scores:
        return "No task has a score yet."
    passed = sum(trace.success for trace in evidence.traces.values())
    return (
        f"Mean score now {statistics.fmean(scores):.4f}, standard deviation {statistics.pstdev(scores):.4f}; "
        f"{passed} of {len(evidence.traces)} scripts gave a valid answer."
    )


def headroom(evidence: Evidence) -> str:
    """A table of the tasks that lack most."""
    rows = []
    for task, trace in evidence.traces.items():
        best = evidence.known.get(task)
        if best is not None and trace.score is not None:
            rows.append((best - trace.score, task, trace.score, best))
    rows.sort(key=lambda row: (-row[0], row[1]))
    if not rows:
        return "Nothing is known of what could be reached."
    lines = [f"| {t} | {now:.4f} | {best:.4f} | {gap:.4f} |" for gap, t, now, best in rows[:ROWS]]
    return "\n".join(["| task | now | best known | gap |", "|---|---|---|---|", *lines])


def first_evidence(evidence: Evidence, raw: Sequence[str]) -> str:
    """Raw traces, and what the newest layer changed, if there is one."""
    parts = ["## Traces of the solver", *raw] if raw else ["There are no traces."]
    return "\n\n".join([*parts, "## Against the baseline", baseline(evidence)])


def baseline(evidence: Evidence) -> str:
    """Improved, regressed and unchanged tasks, and the net change."""
    if not evidence.before:
        return "There is no layer yet, so there is nothing to compare with."
    found = change(evidence.before, evidence.traces)
    return "\n".join(
        [
            f"improved: {_changes(found.improved, None)}",
            f"regressed: {_changes(found.regressed, None)}",
            f"unchanged: {len(found.unchanged)}",
            f"net change: {found.net:+.4f}",
        ]
    )


def deep_evidence(evidence: Evidence, raw: Sequence[str]) -> str:
    """A summary by category and failure class, what the last layer did, and a few traces."""
    parts = [
        "## Performance by category",
        by_category(evidence),
        "## Failure classes",
        by_failure(evidence),
        "## Effect of the layer below",
        effect(evidence),
        "## Representative traces",
        *(raw or ["There are none."]),
        text("meta_n_omega_deep"),
    ]
    return "\n\n".join(parts)


def by_category(evidence: Evidence) -> str:
    """A line a category: how many, mean, passed, and the most common failure."""
    groups: dict[str, list[Trace]] = {}
    for task, trace in evidence.traces.items():
        groups.setdefault(evidence.category(task), []).append(trace)
    lines = []
    for name, own in sorted(groups.items()):
        failures = Counter(trace.failure for trace in own if trace.failure)
        mean, issue = mean_of(trace.score for trace in own), failures.most_common(1)
        said = f"main issue: {issue[0][0]} ({issue[0][1]})" if issue else "no failure"
        shown = "no score" if mean is None else f"mean {mean:.4f}"
        lines.append(f"- {name}: {len(own)} tasks, {shown}, {sum(t.success for t in own)} valid; {said}")
    return "\n".join(lines)


def by_failure(evidence: Evidence) -> str:
    """A line a failure class, the most common first, with an example."""
    classes: dict[str, list[Trace]] = {}
    for trace in evidence.traces.values():
        if trace.failure:
            classes.setdefault(trace.failure, []).append(trace)
    lines = [
        f"- {name}: {len(own)}, such as {own[0].task}: {(own[0].summary or own[0].feedback or 'no text')[:200]}"
        for name, own in sorted(classes.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return "\n".join(lines) or "No script failed."


def effect(evidence: Evidence) -> str:
    """What the newest layer wanted and what it did."""
    if not evidence.chain or not evidence.before:
        return "Nothing is known of it."
    found = change(evidence.before, evidence.traces)
    return "\n".join(
        [
            f"its rationale: {evidence.chain[-1].rationale or '(none)'}",
            f"improved ({len(found.improved)}): {_changes(found.improved, LISTED)}",
            f"regressed ({len(found.regressed)}): {_changes(found.regressed, LISTED, evidence.holders)}",
            f"net change: {found.net:+.4f}",
        ]
    )


def _changes(
    tasks: Mapping[str, tuple[float, float]], most: int | None, holders: Mapping[str, float] | None = None
) -> str:
    shown = []
    for task, (before, after) in list(tasks.items())[:most]:
        best = (holders or {}).get(task)
        known = f" (best in the archive {best:.4f})" if best is not None else ""
        shown.append(f"{task} {before:.4f} -> {after:.4f}{known}")
    return ", ".join(shown) or "none"


def representatives(evidence: Evidence) -> list[Trace]:
    """At most three: of the most common failure, of the largest regression, of the best success."""
    traces = list(evidence.traces.values())
    chosen: list[Trace] = []
    failures = Counter(trace.failure for trace in traces if trace.failure)
    if failures:
        common = failures.most_common(1)[0][0]
        chosen.append(next(trace for trace in traces if trace.failure == common))
    found: Change = change(evidence.before, evidence.traces)
    chosen += [evidence.traces[task] for task in list(found.regressed)[:1]]
    good = [trace for trace in traces if trace.success and trace.score is not None]
    chosen += sorted(good, key=lambda trace: -(trace.score or 0.0))[:1]
    return list({trace.task: trace for trace in chosen}.values())[:REPRESENTATIVES]


def shown_trace(trace: Trace, evidence: Evidence) -> str:
    """One trace as Omega sees it."""
    score = "none" if trace.score is None else f"{trace.score:.4f}"
    fields = [
        f"### {trace.task} ({evidence.category(trace.task)})",
        f"status: {'success' if trace.success else 'failure'} ({trace.status}), score: {score}"
        + (f", failure class: {trace.failure}" if trace.failure else ""),
        _field("task", evidence.descriptions.get(trace.task, "")[:DESCRIBED]),
        _field("script", _cut(trace.script)),
        _field("stdout", trace.stdout),
        _field("stderr", trace.stderr),
        _field("error", trace.summary),
        _field("feedback", trace.feedback),
    ]
    return "\n".join(one for one in fields if one)


def _field(name: str, value: str) -> str:
    return f"{name}:\n{value}" if value else ""


def _cut(script: str) -> str:
    if len(script) <= SHOWN_SCRIPT:
        return script
    return f"{script[:SHOWN_SCRIPT]}\n[{len(script) - SHOWN_SCRIPT:,} characters cut]"


def fitted(
    evidence: Evidence, chosen: Sequence[Trace], shown: Shown, room: int
) -> tuple[list[str], Shown, tuple[str, ...]]:
    """The traces that fit into so many characters; what is dropped keeps the ratio of failures."""
    left = [(trace, shown_trace(trace, evidence)) for trace in chosen]
    share = sum(not t.success for t in chosen) / len(chosen) if chosen else 0.0
    dropped: list[str] = []
    while left and sum(len(said) for _, said in left) > room:
        failures = [place for place, (trace, _) in enumerate(left) if not trace.success]
        successes = [place for place, (trace, _) in enumerate(left) if trace.success]
        too_many = len(failures) > share * (len(left) - 1) or not successes
        trace, _ = left.pop((failures if failures and too_many else successes)[-1])
        dropped.append(trace.task)
    kept = [trace for trace, _ in left]
    told = Shown(
        failures=sum(not trace.success for trace in kept),
        successes=sum(trace.success for trace in kept),
        of_failures=shown.of_failures or sum(not t.success for t in evidence.traces.values()),
        of_successes=shown.of_successes or sum(t.success for t in evidence.traces.values()),
    )
    return [said for _, said in left], told, tuple(dropped)


def code_part(chain: Chain, room: int) -> tuple[str, tuple[str, ...]]:
    """All layers below with their rationales; the oldest go first where there is no room, the
    newest always stays."""
    if not chain:
        return "None: the solver is asked as it is.", ()
    left = [(layer, shown_layer(layer)) for layer in chain]
    dropped: list[str] = []
    while len(left) > 1 and sum(len(said) for _, said in left) > room:
        dropped.append(left.pop(0)[0].id)
    note = [f"({len(dropped)} older layers are left out here; they are in force.)"] if dropped else []
    return "\n\n".join([*note, *(said for _, said in left)]), tuple(dropped)


def shown_layer(layer: LayerKept) -> str:
    """One layer as Omega sees it."""
    parts = [f"## Layer of depth {layer.depth}", f"rationale: {layer.rationale or '(none)'}"]
    if layer.pre_process:
        parts.append(f"pre_process:\n{layer.pre_process}")
    parts += [f"solver_lib:{one.name}\n{one.source}" for one in layer.library]
    return "\n".join(parts)


def notes(evidence: Evidence) -> str:
    """Helper usage, scripts of others, a plateau, the focus; each where there is something to say."""
    parts = [usage(evidence), inspiration(evidence), plateau(evidence), focus(evidence)]
    return "\n\n".join(part for part in parts if part) or "None."


def usage(evidence: Evidence) -> str:
    """How many scripts called each helper."""
    names = list(merged(evidence.chain))
    scripts = [trace for trace in evidence.traces.values() if trace.script]
    if not names or not scripts:
        return ""
    counts = {name: sum(name in trace.called for trace in scripts) for name in names}
    said = ", ".join(f"{name} in {count} of {len(scripts)}" for name, count in counts.items())
    dead = [name for name, count in counts.items() if not count]
    return f"Helpers called by scripts: {said}." + (f" Dead weight: {', '.join(dead)}." if dead else "")


def inspiration(evidence: Evidence) -> str:
    """Scripts of other candidates that did better on a task."""
    found = sorted(evidence.inspirations, key=lambda one: (one.before - one.after, one.task))[:INSPIRATIONS]
    return "\n\n".join(
        f"Another stack reached {one.after:.4f} instead of {one.before:.4f} on {one.task} with:\n{_cut(one.script)}"
        for one in found
    )


def plateau(evidence: Evidence) -> str:
    """A word of warning where the last layer gained next to nothing."""
    if evidence.depth < 3 or not evidence.before:
        return ""
    now = mean_of(trace.score for trace in evidence.traces.values())
    before = mean_of(trace.score for trace in evidence.before.values())
    if now is None or before is None or now - before > PLATEAU:
        return ""
    return text("meta_n_plateau")


def focus(evidence: Evidence) -> str:
    """Which task is solved anew, under the guard."""
    if not evidence.focus:
        return ""
    score = evidence.traces[evidence.focus].score
    return filled(
        text("meta_n_focus"),
        task=evidence.focus,
        category=evidence.category(evidence.focus),
        score="none" if score is None else f"{score:.4f}",
    )
