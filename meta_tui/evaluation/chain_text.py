"""A Meta^n run as lines: layers, how they came about, archive, score by depth, best of each task.

Pure, and the same for the app, the plain output and exports. A line is stretches of text, each with
the name of its look (a colour of the app's; nobody needs it, because every mark is a sign and a word).
Text of models is made safe here, since it stands between signs of ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from meta_tui.display import clean, count, one_line
from meta_tui.evaluation.chains import EMPTY, THRESHOLD, TIE, Attempt, ChainView, record_of
from meta_tui.events import Stored
from meta_tui.methods.meta_n.records import (
    ArchiveBest,
    CandidateKept,
    Focus,
    Gate,
    GateTask,
    HelperKept,
    LayerKept,
    OmegaCall,
    Record,
    Routed,
    Skipped,
    StopKept,
    TaskScore,
)

Part = tuple[str, str]
"""Safe text, and the name of its look; "" is plain."""

Line = tuple[Part, ...]


class Entry(NamedTuple):
    """A fact of a box: what it is about, and its text, which may be long."""

    label: str
    line: Line


MARKS: Final[Mapping[str, tuple[str, str, str]]] = {
    "better": ("✓", "better", "done"),
    "worse": ("✗", "regressed", "fail"),
    "same": ("=", "same", "quiet"),
    "repaired": ("✓", "repaired", "done"),
    "": ("○", "first", "quiet"),
}
"""Verdict -> sign, word, look."""

SHOWN: Final = 5
"""Tasks that a line names before it counts the others."""

LABEL: Final = 10
"""Cells of the column of labels."""


def plain(lines: Iterable[Line]) -> str:
    """Lines as text."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def number(value: float | None) -> str:
    """A score, `-` where it is not finite."""
    return "-" if value is None else f"{value:.4f}"


def signed(value: float) -> str:
    """A difference."""
    return f"{value:+.4f}"


# A layer.


def layer_head(view: ChainView, layer: LayerKept | None, kept: CandidateKept | None) -> Line:
    """`depth 3 · L2 · C2   0.4800  ✗ regressed -0.0300`; without a layer it is the base solver."""
    names = ["depth 1", "base solver"] if layer is None else [f"depth {layer.depth}", _name(layer.id)]
    if layer is None and kept is not None and kept.chain:  # the layer itself is not known here
        names = [f"depth {kept.depth}", _name(kept.chain[-1])]
    names += [_name(kept.id)] if kept is not None else []
    return ((" · ".join(names), "head"), *(_score(view, kept) if kept is not None else ()))


def _score(view: ChainView, kept: CandidateKept) -> Line:
    parent = view.candidates.get(kept.parent)
    score: Line = ((f"   {number(kept.mean)}", ""),)
    if parent is None or parent.mean is None or kept.mean is None:
        return score
    sign, word, look = MARKS[view.verdict(kept)]
    return (*score, (f"  {sign} {word} {signed(kept.mean - parent.mean)}", look))


def layer_entries(view: ChainView, layer: LayerKept, kept: CandidateKept | None) -> list[Entry]:
    """What a layer is: strategy, what it says, helpers, what changed, what was left out, what it did."""
    found = [Entry("strategy", ((_flow(layer.rationale) or "none given", ""),))]
    lines = len(layer.pre_process.splitlines())
    says = f"pre-process code, {count(lines, 'line')}" if lines else "nothing"
    found.append(Entry("says", ((says, "" if lines else "quiet"),)))
    found += _helpers(view, layer)
    if not layer.below or layer.below in view.layers:
        found.append(Entry("against", _against(view, layer)))
    found += [
        Entry(
            "screened",
            ((f"✗ {_name(out.part)}", "fail"), (f"  {out.stage}: {one_line(out.reason, 200)}", "")),
        )
        for out in layer.screened
    ]
    found += _skips(view, layer.id)
    return found + (candidate_entries(view, kept) if kept is not None else [])


def candidate_entries(view: ChainView, kept: CandidateKept) -> list[Entry]:
    """How a candidate did: against its parent task by task, and why tasks failed."""
    found = []
    if kept.parent in view.candidates:
        better, worse = view.moved(kept)
        same = len(kept.scores) - len(better) - len(worse)
        found.append(
            Entry(
                "tasks",
                (
                    (f"✓ {len(better)} better", "done" if better else "quiet"),
                    (f"{_gaps(better)}  ", ""),
                    (f"✗ {len(worse)} regressed", "fail" if worse else "quiet"),
                    (f"{_gaps(worse)}  ", ""),
                    (f"= {same} same", "quiet"),
                ),
            )
        )
        if back := view.repaired(kept):
            below = view.candidates[kept.parent]
            lost = _name(below.chain[-1]) if below.chain else _name(below.id)
            found.append(Entry("repairs", ((f"✓ {_some(back)}", "done"), (f"  lost by {lost}", "quiet"))))
    failed = Counter(one.failure for one in kept.scores if not one.success)
    if kept.scores:
        words = ", ".join(f"{_name(kind) or 'unknown'} {n}" for kind, n in failed.most_common())
        share = f"{sum(failed.values())} of {len(kept.scores)}"
        found.append(Entry("failed", ((f"{share}{': ' + words if words else ''}", ""),)))
    if kept.focus:
        taken = sum(bool(one.inherited) for one in kept.scores)
        kept_words = f"only {_name(kept.focus)} was solved; {count(taken, 'task')} kept their best result"
        found.append(Entry("guard", ((kept_words, ""),)))
    return found


def _helpers(view: ChainView, layer: LayerKept) -> list[Entry]:
    below = below_of(view, layer)
    found = []
    for place, one in enumerate(layer.library):
        sign, word = ("~", "  overrides") if one.name in below else ("+", "  new")
        if layer.below and layer.below not in view.layers:
            sign, word = "·", ""
        doc = f"  {one_line(one.doc, 100)}" if one.doc else ""
        signature = one_line(one.signature or one.name, 120)
        line: Line = ((f"{sign} {signature}", ""), (word, "hit"), (doc, "quiet"))
        found.append(Entry("" if place else "helpers", line))
    return found or [Entry("helpers", (("none", "quiet"),))]


def below_of(view: ChainView, layer: LayerKept) -> dict[str, HelperKept]:
    """The helpers that reach a layer from below, by name; deeper layers override shallower ones."""
    line: list[LayerKept] = []
    under, seen = view.layers.get(layer.below), {layer.id}
    while under is not None and under.id not in seen:
        seen.add(under.id)
        line.append(under)
        under = view.layers.get(under.below)
    return {one.name: one for known in reversed(line) for one in known.library}


def _against(view: ChainView, layer: LayerKept) -> Line:
    under = view.layers.get(layer.below)
    if under is None:
        return (("the base solver: all of it is new", "quiet"),)
    below = below_of(view, layer)
    names = {one.name for one in layer.library}
    words = [f"{_name(under.id)}: {_said_again(under.pre_process, layer.pre_process)}"]
    words += [f"+ {_some(n)}" for n in [[n for n in names_of(layer) if n not in below]] if n]
    words += [f"~ {_some(n)}" for n in [[n for n in names_of(layer) if n in below]] if n]
    words += [f"= {_some(n)} kept" for n in [[n for n in below if n not in names]] if n]
    return ((" · ".join(words), ""),)


def names_of(layer: LayerKept) -> list[str]:
    """The helpers of a layer."""
    return [one.name for one in layer.library]


def _said_again(old: str, new: str) -> str:
    if old == new:
        return "= same pre-process" if new else "neither says anything"
    if not old or not new:
        return "+ pre-process" if new else "- says nothing"
    added, removed = changed_lines(old, new)
    return f"~ pre-process +{added} -{removed} lines"


@lru_cache(512)
def changed_lines(old: str, new: str) -> tuple[int, int]:
    """How many lines are new and how many are gone."""
    a, b = old.splitlines(), new.splitlines()
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    return sum(j2 - j1 for _, _, _, j1, j2 in changed), sum(i2 - i1 for _, i1, i2, _, _ in changed)


def _skips(view: ChainView, layer: str) -> list[Entry]:
    reasons = view.skipped.get(layer, {})
    return [
        Entry(
            "skipped",
            (
                (f"▲ on {count(len(tasks), 'task')}", "wait"),
                (f"  {one_line(reason, 160)}  ({_some(tasks)})", ""),
            ),
        )
        for reason, tasks in list(reasons.items())[:SHOWN]
    ]


# How it came about.


def origin_entries(view: ChainView, attempt: Attempt) -> list[Entry]:
    """What the operation was shown for a layer, and what the gate said."""
    found = call_entries(attempt.call) if attempt.call else []
    if attempt.given:
        found.append(Entry("written", (("elsewhere: the run began with this layer", ""),)))
    if attempt.focus is not None:
        found.append(Entry("focus", focus_line(attempt.focus)))
    if attempt.gate is not None:
        found += gate_entries(attempt.gate)
    sign, word, look = state_of(view, attempt)
    return [*found, Entry("now", ((f"{sign} {word}", look),))]


def call_entries(call: OmegaCall) -> list[Entry]:
    """One use of the operation: where, how, and what it saw."""
    how = f", temperature {call.temperature:g}" if call.temperature is not None else ""
    how += f", by {_name(call.model)}" if call.model else ""
    saw = call.sampled
    shown = f"{saw.failures} of {saw.of_failures} failures, {saw.successes} of {saw.of_successes} successes"
    where = (
        f"{_name(call.id)}: depth {call.depth} above {_name(call.parent)}, iteration {call.iteration}{how}"
    )
    found = [Entry("written", ((where, ""),)), Entry("shown", ((shown, ""),))]
    if call.dropped_traces or call.dropped_layers:
        left = [f"traces of {_some(call.dropped_traces)}"] if call.dropped_traces else []
        left += [f"code of {_some(call.dropped_layers)}"] if call.dropped_layers else []
        found.append(Entry("left out", ((f"▲ {', '.join(left)}: the context was full", "wait"),)))
    if call.empty:
        found.append(Entry("", (("○ nothing usable came of it", "quiet"),)))
    return found


def focus_line(focus: Focus) -> Line:
    """The task that a child under the guard may improve."""
    why = "the largest headroom" if focus.why == "headroom" else "its turn"
    return ((f"{_name(focus.task)}, lacks {focus.headroom:g} ({why})", ""),)


def gate_entries(gate: Gate) -> list[Entry]:
    """The decision of the gate and what it stands on."""
    sign, word, look = ("✓", "passed", "done") if gate.passed else ("■", "refused", "wait")
    tasks = "; ".join(_gate_task(one) for one in gate.tasks)
    return [Entry("gate", ((f"{sign} {word}", look), (f"  {tasks}", "")))]


def _gate_task(one: GateTask) -> str:
    valid = "" if one.success else ", not valid"
    return f"{_name(one.task)} {number(one.parent)} → {number(one.score)}{valid}"


def state_of(view: ChainView, attempt: Attempt) -> tuple[str, str, str]:
    """Sign, word and look of what became of a line of the archive."""
    kept = attempt.candidate
    if kept is not None:
        return MARKS[view.verdict(kept)] if kept.parent in view.candidates else ("○", "seed", "quiet")
    if attempt.refused:
        return "■", "gate refused", "wait"
    if attempt.given:
        return "◇", "given", "hit"
    if attempt.empty:
        return ("○", "all screened out" if attempt.layer else "nothing usable", "quiet")
    if attempt.number == len(view.attempts) - 1 and not view.ended:
        if view.under is not None:
            tasks = 1 if attempt.focus else len(view.tasks)
            return "●", f"{view.under[2]} of {tasks} tasks", "run"
        return "●", "written", "run"
    return "○", "not evaluated", "quiet"


# The archive.

_COLUMNS = (("id", 5), ("layer", 6), ("depth", 6), ("mean", 8), ("against parent", 19), ("parent", 7))
_MORE = (("best of", 8), ("bred", 5))
"""Columns that need room: tasks whose best it holds, and how often it was bred from."""

_BEST = "◀ best"


def columns(width: int) -> list[tuple[str, int]]:
    """The columns of the archive table that fit."""
    shown = list(_COLUMNS)
    for column in _MORE:
        if sum(cells for _, cells in shown) + column[1] + len(_BEST) <= width:
            shown.append(column)
    return shown


def archive_head(width: int) -> str:
    """The heads of the archive table."""
    return "".join(f"{name:<{cells}}" for name, cells in columns(width))


def archive_line(view: ChainView, attempt: Attempt, width: int) -> Line:
    """A line of the archive table."""
    kept, call, layer = attempt.candidate, attempt.call, attempt.layer
    depth = kept.depth if kept else layer.depth if layer else call.depth if call else 0
    sign, word, look = state_of(view, attempt)
    parent = view.candidates.get(attempt.parent)
    if kept is not None and parent is not None and parent.mean is not None and kept.mean is not None:
        word += f" {kept.mean - parent.mean:+.3f}"
    newest = layer.id if layer else ""
    cells = {
        "id": (attempt.id, ""),
        "layer": (newest, "quiet"),
        "depth": (str(depth or ""), ""),
        "mean": (number(kept.mean) if kept else "", ""),
        "against parent": (f"{sign} {word}", look),
        "parent": (attempt.parent, "quiet"),
        "best of": (str(view.wins.get(kept.id, 0)) if kept else "", ""),
        "bred": (str(view.children.get(kept.id, 0)) if kept else "", ""),
    }
    line = [_cell(*cells[name], room) for name, room in columns(width)]
    return (*line, *(((_BEST, "done"),) if _is_best(view, attempt) else ()))


def _is_best(view: ChainView, attempt: Attempt) -> bool:
    return attempt.candidate is not None and view.best is not None and view.best.best == attempt.candidate.id


def _cell(text: str, look: str, room: int) -> Part:
    return f"{one_line(text, room - 1):<{room}}", look


def archive_lines(view: ChainView, width: int = 80) -> list[Line]:
    """The whole table with its heads."""
    return [
        ((archive_head(width).rstrip(), "quiet"),),
        *(archive_line(view, a, width) for a in view.attempts),
    ]


def strip(view: ChainView, kept: CandidateKept, width: int) -> str:
    """`C0 0.4400 ─▶ L1 0.5100 ✓ ─▶ L2 0.4800 ✗`: a chain with its means, its end always in sight."""
    steps = []
    for one in view.lineage(kept):
        name = one.chain[-1] if one.chain and one.parent else one.id
        sign = MARKS[view.verdict(one)][0] if one.parent else ""
        steps.append(f"{_name(name)} {number(one.mean)} {sign}".rstrip())
    shown = steps[-1]
    for step in reversed(steps[:-1]):
        longer = f"{step} ─▶ {shown}"
        if len(longer) > width - 5:
            return f"… ─▶ {shown}"[: max(0, width)]
        shown = longer
    return shown


# Scores.


def depth_lines(view: ChainView, kept: CandidateKept | None, width: int) -> list[Line]:
    """Score by depth along a chain with its regressions, over the archive, and by iteration."""
    if kept is None:
        return [(("no candidate is evaluated yet", "quiet"),)]
    found: list[Line] = [((f"the chain of {_name(kept.id)}", "head"),)]
    found += [_depth_line(view, one, width) for one in view.lineage(kept)]
    found += [(), (("the archive by depth", "head"),), *_by_depth(view)]
    found += [(), (("by iteration", "head"),), *_by_iteration(view)]
    for apart in view.held_out:
        words = (
            f"held out ({count(len(apart.scores), 'task')}, part of no mean above): {_name(apart.candidate)} "
        )
        found += [((words + number(apart.mean), "hit"),)]
    if view.routed is not None:
        found += [((f"retained results of tasks, not one chain for all: {number(view.routed.mean)}", "hit"),)]
    return found + ([stop_line(view.stop)] if view.stop else [])


def _depth_line(view: ChainView, kept: CandidateKept, width: int) -> Line:
    end = _BEST if width >= 70 else _BEST[:1]
    room = max(4, min(40, width - 45 - len(end)))
    low, high = view.scale
    share = 0.0 if kept.mean is None or high - low < TIE else (kept.mean - low) / (high - low)
    filled = round(max(0.0, min(1.0, share)) * room)
    name = _name(kept.chain[-1]) if kept.chain else "base"
    bar = "█" * filled + "·" * (room - filled)
    sign, word, look = MARKS[view.verdict(kept)] if kept.parent in view.candidates else ("", "", "")
    gap = ""
    if look:
        parent = view.candidates[kept.parent].mean
        gap = signed(kept.mean - parent) if kept.mean is not None and parent is not None else ""
    best = view.best is not None and view.best.best == kept.id
    return (
        (f"{kept.depth:>3}  {name:<5}{_name(kept.id):<5}{number(kept.mean)}  ", ""),
        (bar, look if look in ("fail", "done") else "run"),
        (f"  {sign} {word} {gap}".rstrip(), look),
        (f"  {end}" if best else "", "done"),
    )


def _by_depth(view: ChainView) -> list[Line]:
    groups: dict[int, list[CandidateKept]] = {}
    for kept in view.candidates.values():
        groups.setdefault(kept.depth, []).append(kept)
    found: list[Line] = [(("depth  candidates  best     mean     regressed", "quiet"),)]
    for depth in sorted(groups):
        own = groups[depth]
        means = [one.mean for one in own if one.mean is not None]
        fell = sum(view.step(one) == "worse" for one in own)
        best, mean = (max(means), sum(means) / len(means)) if means else (None, None)
        line = f"{depth:>5}  {len(own):>10}  {number(best):<9}{number(mean):<9}"
        found.append(((line, ""), (f"✗ {fell}" if fell else "0", "fail" if fell else "quiet")))
    return found


def _by_iteration(view: ChainView) -> list[Line]:
    found: list[Line] = [(("      best chain   best of tasks  archive", "quiet"),)]
    for best in view.bests:
        words = f"{best.iteration:>4}  {_name(best.best):<5}{number(best.mean):<8}"
        words += f"{number(best.task_mean):<15}{best.size:<9}"
        found.append(((words, ""), _outcome(best)))
    return found


def _outcome(best: ArchiveBest) -> Part:
    if best.improved:
        return "✓ improved", "done"
    return ("", "") if best.iteration == 0 else (f"= patience {best.patience}", "quiet")


def iteration_line(best: ArchiveBest) -> Line:
    """Where the archive stands after an iteration."""
    words = f"{best.iteration:>3}  best chain {_name(best.best):<5}{number(best.mean)}"
    words += f"  best of tasks {number(best.task_mean)}  {count(best.size, 'candidate')}"
    text, look = _outcome(best)
    return ((words, ""), (f"  {text}" if text else "", look))


def stop_line(stop: StopKept) -> Line:
    """Why the run ended, and with what."""
    words = f"■ {stop.reason.replace('_', ' ')} after {count(stop.iterations, 'iteration')}: "
    words += f"{_name(stop.best)} {number(stop.mean)}, best of tasks {number(stop.task_mean)}"
    return ((words, ""),)


# Tasks.

FULL = "#"
"""The top of the scale, in a matrix of tenths."""


def tenth(score: float | None, scale: tuple[float, float]) -> str:
    """A score as one sign: `-` unknown, `0` to `9` tenths of the scale, `#` its top."""
    if score is None:
        return "-"
    low, high = scale
    share = 0.0 if high - low < TIE else (score - low) / (high - low)
    return FULL if share >= 1 - TIE else str(max(0, min(9, int(share * 10 + TIE))))


def _shade(cell: str) -> str:
    return {"-": "quiet", FULL: "done"}.get(cell) or (
        "quiet" if cell in "012" else "wait" if cell in "3456" else "run"
    )


def task_lines(view: ChainView, kept: CandidateKept | None, width: int) -> list[Line]:
    """A line a task: how a candidate did against its parent, and the best so far by iteration."""
    names = {task: one_line(task, 16) for task in view.tasks}
    wide = max((len(name) for name in names.values()), default=4)
    wide = max(wide, len("task")) + 2
    cells = max(1, width - wide - 36)
    moments = sampled(view.bests, cells)
    own = _name(kept.id) if kept else "-"
    span = f"{moments[0].iteration}-{moments[-1].iteration}" if moments else ""
    head = f"{'task':<{wide}}{own:<8}{'against parent':<19}{'best':<6}by   {span}"
    legend = "best by iteration: tenths of the scale, # top, - unknown"
    found: list[Line] = [((legend, "quiet"),), ((head, "quiet"),)]
    for task, name in names.items():
        found.append(((f"{name:<{wide}}", ""), *_task(view, kept, task), *_row(view, moments, task)))
    return found


def sampled(bests: Sequence[ArchiveBest], most: int) -> list[ArchiveBest]:
    """At most so many moments, evenly apart, the first and the last among them. What a best was in
    between never falls, so a column stands for all up to it."""
    if len(bests) <= most:
        return list(bests)
    last = len(bests) - 1
    return [bests[round(i * last / max(1, most - 1))] for i in range(most)] if most > 1 else [bests[-1]]


def _task(view: ChainView, kept: CandidateKept | None, task: str) -> Line:
    own = view.scores.get(kept.id, {}).get(task) if kept else None
    before = view.scores.get(kept.parent, {}).get(task) if kept else None
    best = view.best
    holder = best.tasks.get(task, "-") if best else "-"
    top = best.scores.get(task) if best else None
    return (
        (f"{number(own.score if own else None):<8}", ""),
        _against_parent(own, before),
        (f"{'-' if top is None else f'{top:.2f}':<6}{_name(holder):<5}", ""),
    )


def _against_parent(own: TaskScore | None, before: TaskScore | None) -> Part:
    if own is not None and own.inherited:
        return _cell(f"= kept from {own.inherited}", "quiet", 19)
    if own is None or before is None or own.score is None or before.score is None:
        return _cell("", "", 19)
    gap = own.score - before.score
    verdict = "same" if abs(gap) <= THRESHOLD else "better" if gap > 0 else "worse"
    sign, word, look = MARKS[verdict]
    return _cell(f"{sign} {word}" + (f" {gap:+.2f}" if verdict != "same" else ""), look, 19)


def _row(view: ChainView, moments: Sequence[ArchiveBest], task: str) -> Line:
    """Neighbours of one look are one stretch: a row is painted in a few pieces."""
    parts: list[Part] = []
    for best in moments:
        cell = tenth(best.scores.get(task), view.scale)
        look = _shade(cell)
        if parts and parts[-1][1] == look:
            parts[-1] = (parts[-1][0] + cell, look)
        else:
            parts.append((cell, look))
    return tuple(parts)


# Records one by one, for those who read a run as it comes.


def told(view: ChainView, record: Record) -> list[Line]:
    """A record as lines: the view holds the run up to it, or nothing."""
    match record:
        case OmegaCall():
            return entry_lines(call_entries(record))
        case LayerKept():
            return entry_lines(layer_entries(view, record, None))
        case Gate():
            return entry_lines(gate_entries(record))
        case CandidateKept():
            return [
                layer_head(view, view.layers.get(record.chain[-1]) if record.chain else None, record),
                *entry_lines([*candidate_entries(view, record), _scores(record)]),
            ]
        case ArchiveBest():
            return [iteration_line(record)]
        case Focus():
            return [focus_line(record)]
        case Skipped():
            return [
                (
                    (f"▲ {_name(record.layer)} says nothing on {_name(record.task)}: ", "wait"),
                    (one_line(record.reason, 300), ""),
                )
            ]
        case Routed():
            return [((f"{_name(task)} → {_name(holder)}", ""),) for task, holder in record.tasks.items()]
        case StopKept():
            return [stop_line(record)]
    words = (
        f"{_name(record.candidate)} on {count(len(record.scores), 'held-out task')}: {number(record.mean)}"
    )
    return [((words, ""),)]


def _scores(kept: CandidateKept) -> Entry:
    words = " · ".join(f"{_name(one.task)} {number(one.score)}" for one in kept.scores)
    return Entry("scores", ((words, ""),))


def readable(event: Stored) -> str:
    """What a record says, where nothing else of the run is known."""
    return told_of(EMPTY, event)


def told_of(view: ChainView, event: Stored) -> str:
    """What a record says as text; its body where it cannot be read."""
    record = record_of(event)
    return event.body if record is None else plain(told(view, record))


def entry_lines(entries: Iterable[Entry]) -> list[Line]:
    """Facts as lines with their labels in front."""
    return [((f"{entry.label:<{LABEL}}", "quiet"), *entry.line) for entry in entries]


def overview(view: ChainView, width: int = 100) -> list[tuple[str, list[Line]]]:
    """What stands at the end of a run that is read as text: archive, score by depth, tasks."""
    best = view.candidates.get(view.best.best) if view.best else None
    if not view.attempts:
        return []
    return [
        ("Archive", archive_lines(view, width)),
        ("Score by depth", depth_lines(view, best, width)),
        ("Best of each task", task_lines(view, best, width)),
    ]


def _name(text: str) -> str:
    return one_line(text, 60)


def _flow(text: str) -> str:
    """A paragraph as one flowing line; what no eye reads to its end is cut."""
    return one_line(clean(text), 2000)


def _some(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    known = list(names)
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return ", ".join(_name(name) for name in known[:SHOWN]) + more


def _gaps(gaps: Mapping[str, float]) -> str:
    if not gaps:
        return ""
    more = f" and {len(gaps) - SHOWN} more" if len(gaps) > SHOWN else ""
    return (
        " (" + ", ".join(f"{_name(task)} {gap:+.2f}" for task, gap in list(gaps.items())[:SHOWN]) + more + ")"
    )
