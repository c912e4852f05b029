"""What became of one task under one chain, why it failed, and which of many traces are shown.

Pure: a trace is made in `solving`, shown in `omega`. Texts are cut when they are kept, so that an
archive grows by a bounded amount with each candidate.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from meta_tui.methods.meta_n.records import Shown, TaskScore

HEAD, TAIL = 200, 300
"""Characters of standard output that are kept from its start and its end."""
LAST: Final = 800
"""Characters of standard error and of feedback that are kept from their end."""
SCRIPT: Final = 20_000

NO_CODE = "no_code"
TURNS = "turns"

TURN_STARVATION = "turn starvation"
UNKNOWN = "unknown"

_STRUCTURED: Mapping[str, str] = {
    TURNS: TURN_STARVATION,
    "crash": "environment fault",
    "memory": "environment fault",
    "timeout": "timeout",
    "syntax": "syntax error",
    NO_CODE: "format/parse error",
}
"""Termination reasons that say by themselves what went wrong: they outrank words in a text."""

_WORDS: Sequence[tuple[str, str]] = (
    (TURN_STARVATION, r"ran out of turns|turn limit"),
    ("environment fault", r"no space left|permission denied|out of memory|MemoryError|sandbox could not"),
    ("timeout", r"timed? ?out|TimeoutError|stopped after"),
    ("numeric instability", r"overflow|ZeroDivision|division by zero|math domain|\bnan\b|\binf\b|singular"),
    ("dependency error", r"ImportError|ModuleNotFound|No module named|the module `|cannot import"),
    ("constraint violation", r"infeasible|violat|constraint|leaves the|more than \d|twice|missing"),
    ("indexing error", r"IndexError|KeyError|out of range"),
    ("syntax error", r"SyntaxError|IndentationError|does not parse"),
    ("format/parse error", r"no JSON|no grid|no list|no formula|JSONDecode|pars(?:e|ing)|format|must be a"),
    ("runtime error", r"Error|Exception|Traceback|refused"),
)
_PATTERNS = [(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _WORDS]


@dataclass(frozen=True, slots=True)
class Trace:
    """One task under one chain.

    Attributes:
        task: sample id.
        depth: of the chain, 1 for the base solver.
        status: how the script ended (`chat.CodeStatus`), `no_code` or `turns`.
        success: the script ran and its answer was valid.
        score: the reported number; 0 where there was nothing to report on; None if not finite.
        summary: the last line of the error.
        available: helpers that were staged.
        answer: what was graded.
        solved_by: candidate that it comes from.
    """

    task: str
    depth: int
    script: str = ""
    stdout: str = ""
    stderr: str = ""
    status: str = NO_CODE
    success: bool = False
    score: float | None = 0.0
    summary: str = ""
    feedback: str = ""
    failure: str = ""
    available: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    answer: str = ""
    solved_by: str = ""

    def kept(self, inherited: str = "") -> TaskScore:
        """The line of a candidate's record."""
        return TaskScore(
            task=self.task,
            score=self.score,
            success=self.success,
            failure=self.failure,
            helpers=self.called,
            inherited=inherited,
        )


def finite(value: float | None) -> float | None:
    """A score that may enter means and bests."""
    return value if value is not None and math.isfinite(value) else None


def mean_of(scores: Iterable[float | None]) -> float | None:
    """The mean of the finite scores; None where there is none."""
    known = [score for score in scores if finite(score) is not None and score is not None]
    return sum(known) / len(known) if known else None


def is_better(new: Trace, old: Trace | None) -> bool:
    """Whether a trace beats another, by (success, score); what is not finite beats nothing."""
    if new.score is None:
        return False
    return old is None or old.score is None or (new.success, new.score) > (old.success, old.score)


def failure_class(status: str, stderr: str, feedback: str) -> str:
    """Why an attempt failed: a structured reason first, then the first class whose words occur."""
    if status in _STRUCTURED:
        return _STRUCTURED[status]
    text = f"{stderr}\n{feedback}"
    if not text.strip():
        return UNKNOWN
    return next((name for name, pattern in _PATTERNS if pattern.search(text)), "runtime error")


def shortened(text: str) -> str:
    """Standard output as it is kept: the first 200 and the last 300 characters."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n[{len(text) - HEAD - TAIL:,} characters cut]\n{text[-TAIL:]}"


def sampled(
    traces: Sequence[Trace], chance: random.Random, most: int = 20, share: float = 0.75
) -> tuple[list[Trace], Shown]:
    """At most `most` traces: failures up to their share, successes for the rest; what one class
    leaves empty the other fills. Failures come first; within a class the order of the tasks stays."""
    failures = [trace for trace in traces if not trace.success]
    successes = [trace for trace in traces if trace.success]
    wanted = min(len(failures), round(most * share))
    filling = min(len(successes), most - wanted)
    wanted = min(len(failures), most - filling)
    chosen = _some(failures, wanted, chance) + _some(successes, filling, chance)
    return chosen, Shown(
        failures=wanted, successes=filling, of_failures=len(failures), of_successes=len(successes)
    )


def _some(traces: list[Trace], count: int, chance: random.Random) -> list[Trace]:
    places = sorted(chance.sample(range(len(traces)), count))
    return [traces[place] for place in places]


@dataclass(frozen=True, slots=True)
class Change:
    """What a layer did to the scores: task -> (before, after)."""

    improved: Mapping[str, tuple[float, float]]
    regressed: Mapping[str, tuple[float, float]]
    unchanged: tuple[str, ...]

    @property
    def net(self) -> float:
        """Sum of the differences."""
        return sum(b - a for a, b in (*self.improved.values(), *self.regressed.values()))


def change(before: Mapping[str, Trace], after: Mapping[str, Trace], threshold: float = 0.01) -> Change:
    """Tasks that did better, worse and about as well, those that changed most first."""
    better, worse, same = dict[str, tuple[float, float]](), dict[str, tuple[float, float]](), list[str]()
    for task, trace in after.items():
        old = before.get(task)
        if old is None or old.score is None or trace.score is None:
            continue
        gap = trace.score - old.score
        if abs(gap) <= threshold:
            same.append(task)
        else:
            (better if gap > 0 else worse)[task] = (old.score, trace.score)
    return Change(_largest_first(better), _largest_first(worse), tuple(same))


def _largest_first(found: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    return dict(sorted(found.items(), key=lambda item: (-abs(item[1][1] - item[1][0]), item[0])))
