"""Runs of Meta^n for tests of the app, put together from records by hand, event by event.

`linear` is the story of most tests: a rise, a regression, its repair, a child that the gate refused,
a layer that was screened out altogether, and nothing usable. `large` is as long as one likes.
"""

from meta_tui.chat import CodeResult, Program, Reply, user
from meta_tui.events import (
    CodeFinished,
    CodeStarted,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
    Stored,
    StreamItem,
)
from meta_tui.methods.meta_n.records import (
    ArchiveBest,
    CandidateKept,
    Gate,
    GateTask,
    HeldOut,
    HelperKept,
    LayerKept,
    OmegaCall,
    ScreenedOut,
    Shown,
    Skipped,
    StopKept,
    TaskScore,
    body,
)
from meta_tui.methods.meta_n.traces import mean_of

KEY = "0" * 64
PACK = 'def pack(items: list) -> list:\n    """Fullest first. Serves packing."""\n    return sorted(items)'
PACK_AGAIN = PACK.replace("sorted(items)", "sorted(items, reverse=True)")
KIND = {
    OmegaCall: "omega_call",
    LayerKept: "layer",
    Gate: "gate",
    CandidateKept: "candidate",
    ArchiveBest: "archive_best",
    HeldOut: "held_out",
    Skipped: "skipped",
    StopKept: "stop",
}


def begun(tasks=4, held=0, **settings):
    """The first event."""
    stream = tuple(StreamItem(f"opt:{n}", f"Task {n}.") for n in range(tasks + held))
    found = {"mode": "linear", "score_range": 1.0, "held_out": held, **settings}
    return RunStarted(1, "t", "simulated", "meta_n", found, "m", "opt:0-3", stream=stream)


def kept(record, span="", id_=None):
    """A record as it is stored."""
    name = id_ or getattr(record, "id", "") or getattr(record, "candidate", "") or "x"
    return Stored(KIND[type(record)], name, "", body(record), span=span)


def omega(number, depth, parent, iteration, prompt, layer=None, **more):
    """The events of one use of the operation."""
    span = f"{2 * number}"
    call = OmegaCall(
        id=f"O{number}", depth=depth, parent=parent, iteration=iteration, temperature=0.5, **more
    )
    return [
        SpanStarted("omega", f"Omega, depth {depth}", span=span),
        Requested(0, KEY, (user(prompt),), span=span),
        Replied(0, Reply("a layer"), span=span),
        kept(call, span),
        *([kept(layer, span)] if layer else []),
        SpanFinished(span=span),
    ]


def evaluated(number, candidate, gate=None, skips=(), passed=True):
    """The events of a candidate that is evaluated on its tasks."""
    span = f"{2 * number + 1}"
    found = [SpanStarted("candidate", candidate.id, span=span)]
    found += [kept(gate, span)] if gate else []
    for place, score in enumerate(candidate.scores, 1) if passed else ():
        inner = f"{span}/{place}"
        found += [
            SpanStarted("instance", score.task, span=inner),
            *(kept(one, inner) for one in skips if one.task == score.task),
            Requested(0, KEY, (user(f"solve {score.task}"),), span=inner),
            Replied(0, Reply("```python\ndef solve():\n    return 1\n```"), span=inner),
            CodeStarted(1, KEY, Program("solve()"), span=inner),
            CodeFinished(1, CodeResult("ok", "1"), span=inner),
            SpanFinished(span=inner),
        ]
    return [*found, *([kept(candidate, span)] if passed else []), SpanFinished(span=span)]


def scored(*values, failure="timeout", **more):
    """Scores of tasks in their order; 0 is a failure."""
    return tuple(
        TaskScore(task=f"opt:{n}", score=v, success=bool(v), failure="" if v else failure, **more)
        for n, v in enumerate(values)
    )


def candidate(name, parent, chain, iteration, *values, **more):
    """A candidate with these scores."""
    scores = scored(*values, **more)
    mean = mean_of(values)
    return CandidateKept(id=name, parent=parent, chain=chain, iteration=iteration, mean=mean, scores=scores)


def best(iteration, candidates, improved=False, patience=0):
    """Where the archive stands after an iteration, worked out from the candidates so far."""
    top = max(candidates, key=lambda one: one.mean)
    tasks, scores = {}, {}
    for one in candidates:
        for score in one.scores:
            if score.score is not None and score.score > scores.get(score.task, -1):
                tasks[score.task], scores[score.task] = one.id, score.score
    return ArchiveBest(
        iteration=iteration,
        best=top.id,
        mean=top.mean,
        task_mean=mean_of(scores.values()),
        tasks=tasks,
        scores=scores,
        improved=improved,
        patience=patience,
        size=len(candidates),
    )


def linear(text="", mode="evolutionary"):
    """A rise, a regression, its repair, and children of which nothing came; `text` is put into
    everything that a model writes."""
    one = LayerKept(
        id="L1",
        depth=2,
        rationale=f"Two tasks run out of time: sort first.{text}",
        pre_process=f'additional_context = "Sort first."\n# by size{text}',
        library=(HelperKept(name="pack", source=PACK + text, signature=f"pack(items: list) -> list{text}", doc=f"Fullest first.{text}"),),
        screened=(ScreenedOut(part=f"solver_lib:steal{text}", stage="static", reason=f"line 1: imports os{text}", source=f"import os{text}"),),
        parent="C0",
        call="O1",
    )  # fmt: skip
    two = LayerKept(
        id="L2",
        depth=3,
        rationale="Always anneal.",
        pre_process='additional_context = "Anneal always."',
        library=(HelperKept(name="pack", source=PACK_AGAIN, signature="pack(items: list) -> list"),),
        below="L1",
        parent="C1",
        call="O2",
    )
    three = LayerKept(
        id="L3",
        depth=4,
        rationale="Rollback: disregard the annealing.",
        pre_process='additional_context = "Disregard annealing."',
        below="L2",
        parent="C2",
        call="O3",
    )
    refused = LayerKept(id="L4", depth=3, rationale="Guess.", pre_process="additional_context = '?'", below="L1", parent="C1", call="O4")  # fmt: skip
    out = LayerKept(
        id="L5",
        depth=2,
        screened=(ScreenedOut(part="pre_process", stage="smoke", reason="stopped after 5 s"),),
        parent="C0",
        call="O5",
    )
    c0 = candidate("C0", "", (), 0, 0.4, 0.6, 0.0, 0.0)
    c1 = candidate("C1", "C0", ("L1",), 1, 0.5, 0.6, 0.5, 0.4)
    c2 = candidate("C2", "C1", ("L1", "L2"), 2, 0.2, 0.6, 0.5, 0.3)
    c3 = candidate("C3", "C2", ("L1", "L2", "L3"), 3, 0.5, 0.7, 0.5, 1.0)
    c4 = candidate("C4", "C1", ("L1", "L4"), 4, 0.1, 0.0, 0.0, 0.0)
    gate = Gate(candidate="C4", parent="C1", layer="L4", tasks=(GateTask(task="opt:0", parent=0.5, score=0.1, success=True),), passed=False)  # fmt: skip
    skips = (Skipped(layer="L2", task="opt:3", reason=f"pre-process: NameError{text}"),)
    shown = Shown(failures=2, successes=2, of_failures=2, of_successes=2)
    prompt = "You write code that makes the solver below score higher."
    return [
        begun(4, 2, mode=mode, gate=True),
        *evaluated(0, c0),
        kept(best(0, [c0])),
        RoundStarted(1, 5),
        *omega(1, 2, "C0", 1, f"{prompt} FIRST{text}", one, sampled=shown),
        *evaluated(1, c1),
        kept(best(1, [c0, c1], True)),
        RoundStarted(2, 5),
        *omega(2, 3, "C1", 2, f"{prompt} SECOND", two, sampled=shown),
        *evaluated(2, c2, skips=skips),
        kept(best(2, [c0, c1, c2], False, 1)),
        RoundStarted(3, 5),
        *omega(3, 4, "C2", 3, f"{prompt} THIRD", three, dropped_layers=("L1",), dropped_traces=("opt:1",)),
        *evaluated(3, c3),
        kept(best(3, [c0, c1, c2, c3], True)),
        RoundStarted(4, 5),
        *omega(4, 3, "C1", 4, f"{prompt} FOURTH", refused, sampled=shown),
        *evaluated(4, c4, gate, passed=False),
        kept(best(4, [c0, c1, c2, c3], False, 1)),
        RoundStarted(5, 5),
        *omega(5, 2, "C0", 5, f"{prompt} FIFTH", out, sampled=shown),
        *omega(6, 4, "C2", 5, f"{prompt} SIXTH", None, empty=True),
        kept(best(5, [c0, c1, c2, c3], False, 2)),
        kept(HeldOut(candidate="C3", mean=0.55, scores=scored(0.5, 0.6))),
        kept(StopKept(reason="max_iterations", best="C3", mean=0.675, task_mean=0.675, iterations=5)),
        RunFinished("completed", "max_iterations"),
    ]


def large(candidates=200, tasks=36):
    """A long run: every candidate is bred from one a few places before, chains are at most ten deep."""
    found = [begun(tasks, mode="evolutionary")]
    line = [candidate("C0", "", (), 0, *(0.3 for _ in range(tasks)))]
    found += [*evaluated(0, line[0]), kept(best(0, line))]
    for n in range(1, candidates):
        parent = line[max(0, n - 1 - n % 5)]
        parent = line[0] if parent.depth >= 10 else parent
        layer = LayerKept(
            id=f"L{n}",
            depth=parent.depth + 1,
            rationale=f"Reason number {n}: what was lost is to be won back. " * 3,
            pre_process=f'additional_context = "Hint {n}."\n' * 8,
            library=(HelperKept(name=f"help_{n % 7}", source=PACK, signature=f"help_{n % 7}(items: list) -> list", doc="Serves packing."),),
            below=parent.chain[-1] if parent.chain else "",
            parent=parent.id,
            call=f"O{n}",
        )  # fmt: skip
        values = [round(((n * 37 + t * 11) % 97) / 97, 4) for t in range(tasks)]
        one = candidate(f"C{n}", parent.id, (*parent.chain, layer.id), n, *values)
        line.append(one)
        found += [RoundStarted(n, candidates), *omega(n, layer.depth, parent.id, n, f"prompt {n}", layer)]
        found += [*evaluated(n, one), kept(best(n, line))]
    return [*found, RunFinished("completed", "max_iterations")]


def shown(events):
    """What a screen is given of a run that stands here."""
    from meta_tui.tui.state import EMPTY, apply_all

    effects = apply_all(EMPTY, events).effects
    return lambda: (events, effects)
