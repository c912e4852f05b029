"""What a Meta^n run knows of its tasks beside their wording: category, data, limits.

It stands in the run's settings, so that a log is complete without the task files. A sample's
target, witness and hidden test points never come here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meta_tui.chat import Limits, Value
from meta_tui.tasks import Sample
from meta_tui.tasks.grids.answers import grids_in

OTHER = "other"


class TaskFacts(Value, frozen=True, kw_only=True):
    """What is known of one task.

    Attributes:
        category: kind of the task, for summaries; visible to layers as `task.metadata["category"]`.
        data: the numbers of its question as JSON, so that no script has to read prose.
        seconds: most a script may take; 0: the method's own limit.
        memory: most bytes that it may use; 0: the method's own limit.
    """

    category: str = OTHER
    data: Any = None
    seconds: float = 0.0
    memory: int = 0

    def limits(self, base: Limits) -> Limits:
        """The limits of a script for this task."""
        return Limits(self.seconds or base.seconds, self.memory or base.memory, base.output)


def facts_of(samples: Iterable[Sample]) -> dict[str, TaskFacts]:
    """The facts of samples of the families that are known here, by sample id."""
    return {one.id: _facts(one) for one in samples}


def _facts(sample: Sample) -> TaskFacts:
    limits = {name: sample.meta[name] for name in ("seconds", "memory") if name in sample.meta}
    match sample.task:
        case "opt":
            instance = {k: v for k, v in sample.meta.get("instance", {}).items() if k != "large"}
            return TaskFacts(category=str(sample.meta.get("kind", OTHER)), data=instance, **limits)
        case "symreg":
            return TaskFacts(category="symreg", data={"points": sample.meta.get("train", [])}, **limits)
        case "grids":
            grids = grids_in(sample.input)
            pairs = [list(pair) for pair in zip(grids[:-1:2], grids[1::2], strict=False)]
            return TaskFacts(
                category="grids", data={"examples": pairs, "question": grids[-1] if grids else []}, **limits
            )
    return TaskFacts(category=sample.task or OTHER, **limits)
