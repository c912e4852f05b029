"""The archive of Meta^n: candidates that are never removed, and who of them is bred from.

Pure but for the chance that is handed in. Means and bests hold finite scores only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from meta_tui.methods.meta_n.layers import Chain
from meta_tui.methods.meta_n.records import CandidateKept
from meta_tui.methods.meta_n.traces import Trace, is_better, mean_of

FLOOR: Final = 1e-6
REGRESSION: Final = 0.05
"""Share of the score range that a candidate may lose against its parent and still be bred from."""
SMALLEST_RANGE: Final = 1e-9
TIE: Final = 1e-9


@dataclass(slots=True, eq=False)
class Candidate:
    """A chain and what became of each task under it.

    Attributes:
        children: layers that were asked for on top of it, empty and refused ones included.
        parent: None for the seed.
        inherited: tasks whose frozen best was taken over -> the candidate that it is from.
    """

    id: str
    chain: Chain
    traces: Mapping[str, Trace]
    parent: Candidate | None = None
    iteration: int = 0
    focus: str = ""
    inherited: Mapping[str, str] = field(default_factory=dict)
    children: int = 0

    @property
    def depth(self) -> int:
        """1 for the base solver."""
        return 1 + len(self.chain)

    @property
    def mean(self) -> float | None:
        """Over the finite scores."""
        return mean_of(trace.score for trace in self.traces.values())

    def kept(self) -> CandidateKept:
        """Its record."""
        return CandidateKept(
            id=self.id,
            parent=self.parent.id if self.parent else "",
            chain=tuple(layer.id for layer in self.chain),
            iteration=self.iteration,
            mean=self.mean,
            scores=tuple(trace.kept(self.inherited.get(task, "")) for task, trace in self.traces.items()),
            focus=self.focus,
        )


def _height(candidate: Candidate) -> float:
    return -math.inf if candidate.mean is None else candidate.mean


class Archive:
    """All candidates, and the frozen best trace of each task."""

    def __init__(self) -> None:
        self.members: list[Candidate] = []
        self.bests: dict[str, tuple[Trace, str]] = {}
        self.numbers = 0

    def __len__(self) -> int:
        return len(self.members)

    def next_id(self) -> str:
        """A name for the next candidate; names of refused ones are not used again."""
        self.numbers += 1
        return f"C{self.numbers - 1}"

    def add(self, candidate: Candidate) -> None:
        """Keep a candidate; a trace becomes its task's best only if it beats the one before."""
        self.members.append(candidate)
        for task, trace in candidate.traces.items():
            old = self.bests.get(task)
            if is_better(trace, old[0] if old else None):
                self.bests[task] = trace, candidate.id

    @property
    def best(self) -> Candidate:
        """The candidate with the best mean; the earliest of equals."""
        return max(self.members, key=_height)

    @property
    def task_mean(self) -> float | None:
        """The mean over tasks of the best score of each."""
        return mean_of(trace.score for trace, _ in self.bests.values())

    def score(self, task: str) -> float | None:
        """The best score of a task."""
        return self.bests[task][0].score if task in self.bests else None

    def span_of_means(self) -> float:
        """Largest minus smallest mean, at least 1e-9: the range of a scale without ends."""
        means = [c.mean for c in self.members if c.mean is not None]
        return max(max(means) - min(means), SMALLEST_RANGE) if means else SMALLEST_RANGE

    def elite(self) -> set[str]:
        """The best candidate, and those that hold the best of a task."""
        return {self.best.id} | {holder for _, holder in self.bests.values()}

    def pool(self, max_depth: int, width: float) -> list[Candidate]:
        """Who may be bred from: not too deep, and the seed, elite, or no worse than its parent."""
        elite = self.elite()
        return [
            c
            for c in self.members
            if c.depth < max_depth and (c.parent is None or c.id in elite or not regressed(c, width))
        ]


def regressed(candidate: Candidate, width: float) -> bool:
    """Whether a candidate lost more than 5% of the range against its parent, on the mean or a task."""
    parent = candidate.parent
    if parent is None:
        return False
    pairs = [(parent.mean, candidate.mean)] + [
        (parent.traces[task].score, trace.score)
        for task, trace in candidate.traces.items()
        if task in parent.traces
    ]
    return any(a is not None and b is not None and a - b > REGRESSION * width + TIE for a, b in pairs)


def weights(means: Sequence[float | None], children: Sequence[int], alpha: float) -> list[float]:
    """How likely each of a pool is bred from: its rank, and more the fewer children it has.

    `rank + alpha * sqrt(ln N / (1 + children))`, at least 1e-6; rank is the share of the others with
    a strictly lower mean.
    """
    heights = [-math.inf if mean is None else mean for mean in means]
    count = len(heights)
    return [
        max(
            FLOOR,
            sum(other < height for other in heights) / max(1, count - 1)
            + alpha * math.sqrt(math.log(count) / (1 + own)),
        )
        for height, own in zip(heights, children, strict=True)
    ]


def parents(
    archive: Archive, pool: Sequence[Candidate], beam: int, alpha: float, chance: random.Random
) -> list[Candidate]:
    """Who is bred from next: the best and the tasks' winners first, the last place by chance."""
    chosen: list[Candidate] = []
    if beam >= 2:
        known = {c.id: c for c in pool}
        holders = [archive.best.id, *(archive.bests[task][1] for task in archive.bests)]
        chosen = [known[id_] for id_ in dict.fromkeys(holders) if id_ in known][: beam - 1]
    while len(chosen) < beam:
        odds = weights([c.mean for c in pool], [c.children for c in pool], alpha)
        chosen.append(chance.choices(pool, odds)[0])
    return chosen


def gate_tasks(tasks: Sequence[str], depth: int, chance: random.Random) -> list[str]:
    """A few tasks to look at first: 3, or 6 from depth 3, and at most half of all, in their order."""
    count = min(6 if depth >= 3 else 3, len(tasks) // 2)
    chosen = set(chance.sample(list(tasks), count))
    return [task for task in tasks if task in chosen]


def passes(parent: Mapping[str, Trace], child: Mapping[str, Trace]) -> bool:
    """Whether a gate task succeeds with at least its parent's score."""
    return any(
        trace.success
        and trace.score is not None
        and ((old := parent[task].score) is None or trace.score >= old)
        for task, trace in child.items()
    )


@dataclass(slots=True)
class Rotation:
    """Which task a child under the guard may improve: the one that lacks most, and in turn where
    several lack as much or asking again brought nothing, so that none is starved."""

    tasks: Sequence[str]
    turn: int = 0
    fruitless: set[str] = field(default_factory=set)

    def next(self, headrooms: Mapping[str, float]) -> tuple[str, float, Literal["headroom", "rotation"]]:
        """The focus task, what it lacks, and why it was taken."""
        order = sorted(self.tasks)
        waiting = [t for t in order if t not in self.fruitless and headrooms[t] > TIE]
        if not waiting:
            self.fruitless.clear()
            waiting = [t for t in order if headrooms[t] > TIE] or order
        most = max(headrooms[task] for task in waiting)
        near = [task for task in waiting if most - headrooms[task] <= TIE]
        chosen = next((task for task in near if order.index(task) >= self.turn), near[0])
        if len(near) == 1 and most >= max(headrooms.values()) - TIE:
            return chosen, most, "headroom"
        self.turn = (order.index(chosen) + 1) % len(order)
        return chosen, most, "rotation"

    def tell(self, task: str, improved: bool) -> None:
        """Note what came of a focus: a task that gained is asked again, else others have their turn."""
        if improved:
            self.fruitless.discard(task)
        else:
            self.fruitless.add(task)
