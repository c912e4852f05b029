"""What a Meta^n run keeps: the shapes of its `Stored` events, and how they are read back.

The run's log is its archive. Every `Stored` of this method has one of the kinds below, and a
canonical-JSON body of the type that stands beside it; `Stored.id` is the record's own name,
`Stored.title` one line for people. Traces are not here: they are the spans with role `instance`
(requests, programs, grade), named by their samples, inside the span of their candidate (role
`candidate`, named by the candidate's id, `C3`). Spans with role `omega` hold the one request that
wrote a layer, and the `omega_call` and `layer` that came of it, so that the exact prompt of any
layer is the request of the span that its `layer` stands in.

    kind          id                  body
    omega_call    O1, O2, ...         OmegaCall: what the operation was shown, and what was left out
    layer         L1, L2, ...         LayerKept: a layer after screening, and what was screened out
    gate          the candidate       Gate: how a child did on a few tasks, and whether it goes on
    candidate     C0, C1, ...         CandidateKept: a chain with its scores; C0 is the base solver
    archive_best  the iteration       ArchiveBest: best chain and best of each task so far
    focus         the candidate       Focus: the one task that a child under the guard may improve
    skipped       the layer           Skipped: a layer contributed nothing to one task, and why
    routed        routed              Routed: where each task goes when the guard was on
    held_out      the candidate       HeldOut: a chain's scores on tasks that nothing was bred on
    stop          the reason          StopKept: why the run ended, and with what

What is not here: no behaviour. Who is bred, gated or kept is decided in `archive` and `method`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar

import msgspec

from meta_tui.chat import Value, canonical_json
from meta_tui.events import Stored

SEED = "C0"
"""The candidate of the base solver (or of the chain that a run began with)."""

PRE_PROCESS = "pre_process"
LIBRARY = "solver_lib"

Stage = Literal["static", "smoke"]


class HelperKept(Value, frozen=True, kw_only=True):
    """A helper of a layer's library.

    Attributes:
        name: the function that it really defines; later layers override by this name only.
        source: its code, which runs in the sandbox and is never shown to the solver.
        signature: `pack_items(items: list, capacity: int) -> list`, shown to the solver.
        doc: its docstring, shown to the solver.
    """

    name: str
    source: str
    signature: str = ""
    doc: str = ""


class ScreenedOut(Value, frozen=True, kw_only=True):
    """A part of a layer that was not taken.

    Attributes:
        part: `pre_process` or `solver_lib:<name as fenced>`.
        stage: `static` (read only) or `smoke` (defined alone in the sandbox).
        reason: why, in words for people.
        source: the part as it was written, at most its first 2,000 characters.
    """

    part: str
    stage: Stage
    reason: str
    source: str = ""


class LayerKept(Value, frozen=True, kw_only=True):
    """A layer after screening.

    Attributes:
        id: `L1`, `L2`, ... in the order of writing.
        depth: 2 for the first layer above the base solver.
        rationale: why it was written, in Omega's words.
        pre_process: code that may set `additional_context`; empty where there is none.
        library: its helpers, by name in the order of the reply.
        screened: what of it was not taken.
        below: id of the layer below; empty for the base solver.
        parent: id of the candidate that it was written for.
        call: id of the `omega_call`; empty for a layer of a chain that a run began with.
    """

    id: str
    depth: int
    rationale: str = ""
    pre_process: str = ""
    library: tuple[HelperKept, ...] = ()
    screened: tuple[ScreenedOut, ...] = ()
    below: str = ""
    parent: str = ""
    call: str = ""


class Shown(Value, frozen=True, kw_only=True):
    """How many traces there were and how many were shown, by whether they succeeded."""

    failures: int = 0
    successes: int = 0
    of_failures: int = 0
    of_successes: int = 0


class OmegaCall(Value, frozen=True, kw_only=True):
    """One use of the operation.

    Attributes:
        depth: of the layer that is asked for.
        parent: candidate whose traces and chain it sees.
        iteration: from 1.
        temperature: of the request.
        model: empty for the solver's own model.
        sampled: traces that were chosen.
        dropped_traces: tasks whose traces the context budget left out.
        dropped_layers: layers whose code it left out, oldest first.
        empty: nothing usable came of it: no layer, no candidate.
    """

    id: str
    depth: int
    parent: str
    iteration: int
    temperature: float | None = None
    model: str = ""
    sampled: Shown = Shown()
    dropped_traces: tuple[str, ...] = ()
    dropped_layers: tuple[str, ...] = ()
    empty: bool = False


class TaskScore(Value, frozen=True, kw_only=True):
    """How a candidate did on one task.

    Attributes:
        task: sample id.
        score: the reported number; None where it was not finite, and then in no mean and no best.
        success: the script ran and its answer was valid.
        failure: failure class; empty for a success.
        helpers: helpers that its script called.
        inherited: candidate whose frozen trace this is (under the guard); empty: solved here.
    """

    task: str
    score: float | None = None
    success: bool = False
    failure: str = ""
    helpers: tuple[str, ...] = ()
    inherited: str = ""


class CandidateKept(Value, frozen=True, kw_only=True):
    """A member of the archive; none is ever removed.

    Attributes:
        id: `C0` is the seed.
        parent: empty for the seed.
        chain: layer ids from M_2 (shallow) to M_n (deep).
        iteration: 0 for the seed.
        mean: of the finite scores; None where there is none.
        scores: one a task, in the order of the stream.
        focus: the one task that was solved for it, under the guard.
    """

    id: str
    parent: str = ""
    chain: tuple[str, ...] = ()
    iteration: int = 0
    mean: float | None = None
    scores: tuple[TaskScore, ...] = ()
    focus: str = ""

    @property
    def depth(self) -> int:
        """1 for the base solver, one more for each layer."""
        return 1 + len(self.chain)


class GateTask(Value, frozen=True, kw_only=True):
    """A gate task: the parent's score, the child's, and whether the child's script was valid."""

    task: str
    parent: float | None = None
    score: float | None = None
    success: bool = False


class Gate(Value, frozen=True, kw_only=True):
    """A cheap look at a child before it is evaluated on everything.

    Attributes:
        candidate: id that the child has (or would have had: ids of refused children are not reused).
        layer: its newest layer.
    """

    candidate: str
    parent: str
    layer: str
    tasks: tuple[GateTask, ...]
    passed: bool


class ArchiveBest(Value, frozen=True, kw_only=True):
    """The archive after an iteration.

    Attributes:
        iteration: 0 after the seed.
        best: candidate with the best mean.
        mean: its mean.
        task_mean: mean over tasks of the best score of each.
        tasks: task -> candidate that holds its best.
        scores: task -> that best score.
        improved: whether either mean rose by more than epsilon times the range.
        patience: iterations in a row that improved nothing.
        size: candidates in the archive.
    """

    iteration: int
    best: str
    mean: float | None = None
    task_mean: float | None = None
    tasks: Mapping[str, str] = {}
    scores: Mapping[str, float | None] = {}
    improved: bool = False
    patience: int = 0
    size: int = 0


class Focus(Value, frozen=True, kw_only=True):
    """The task that a child under the guard may improve.

    Attributes:
        headroom: what it lacks to the top of the scale.
        why: `headroom` (the largest) or `rotation` (ties, and where asking again brought nothing).
    """

    candidate: str
    task: str
    headroom: float
    why: Literal["headroom", "rotation"]


class Skipped(Value, frozen=True, kw_only=True):
    """A layer that contributed nothing to one task: it stands in the span of the instance."""

    layer: str
    task: str
    reason: str


class Routed(Value, frozen=True, kw_only=True):
    """Where each task goes at the end: retained results of tasks, not one chain for all."""

    tasks: Mapping[str, str]
    mean: float | None = None


class HeldOut(Value, frozen=True, kw_only=True):
    """A chain on the held-out tasks; never part of any mean that steers."""

    candidate: str
    mean: float | None = None
    scores: tuple[TaskScore, ...] = ()


StopReason = Literal["converged", "max_iterations", "max_depth", "calls", "applied", "nothing_extendable"]


class StopKept(Value, frozen=True, kw_only=True):
    """Why a run ended.

    Attributes:
        best: candidate whose chain is the result.
        mean: its mean over the tasks.
        task_mean: mean over tasks of the best score of each.
        iterations: that were done.
    """

    reason: StopReason
    best: str
    mean: float | None = None
    task_mean: float | None = None
    iterations: int = 0


Record = (
    OmegaCall | LayerKept | Gate | CandidateKept | ArchiveBest | Focus | Skipped | Routed | HeldOut | StopKept
)

KINDS: Mapping[str, type[msgspec.Struct]] = {
    "omega_call": OmegaCall,
    "layer": LayerKept,
    "gate": Gate,
    "candidate": CandidateKept,
    "archive_best": ArchiveBest,
    "focus": Focus,
    "skipped": Skipped,
    "routed": Routed,
    "held_out": HeldOut,
    "stop": StopKept,
}
"""`Stored.kind` -> type of its body."""

T = TypeVar("T", bound=msgspec.Struct)


def body(record: msgspec.Struct) -> str:
    """The body of a `Stored`: canonical JSON."""
    return canonical_json(record).decode()


def read(stored: Stored, kind: type[T]) -> T:
    """The record in a `Stored`.

    Raises:
        msgspec.ValidationError: it is no such record.
    """
    return msgspec.json.decode(stored.body, type=kind)


def all_of(events: Iterable[object], kind: type[T]) -> list[T]:
    """All records of one type among events, in order."""
    name = next(name for name, known in KINDS.items() if known is kind)
    return [read(event, kind) for event in events if isinstance(event, Stored) and event.kind == name]
