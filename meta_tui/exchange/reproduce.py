"""The published results, recomputed from the published transcripts.

Reads the authors' outputs file by file, counts what the paper reports of each (rounds, answers,
experts consulted, answers that claim there is none) and grades every row twice: as published and
strictly. `Reproduction` puts this beside the printed figures, tests methods against each other on
the same rows, and says what the transcripts cannot show. It prints nothing and calls no model;
puzzle answers are run by the `execute` that it is given.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any

from meta_tui.errors import UsageError
from meta_tui.evaluation import statistics
from meta_tui.exchange.published import METHOD_IDS, TASK_IDS, PublishedFile, rows, sample
from meta_tui.protocol import MARKER, states_no_solution
from meta_tui.tasks import Execute, Grade, grade

METHODS: dict[str, str] = {
    "Standard": "Std",
    "ZeroShotCoT": "0-CoT",
    "ExpertStatic": "Ex-St",
    "ExpertDynamic": "Ex-Dy",
    "MultiPersona": "MP",
    "MetaPromptingWithoutPython": "Meta",
    "MetaPromptingWithPython": "Meta+Py",
}
"""The authors' method names in the order of Table 1 -> a short name."""

META = ("MetaPromptingWithPython", "MetaPromptingWithoutPython")
ABSTAINING = ("CheckmateInOne", "GameOf24")
"""Tasks for which section 5.1 counts answers that claim that there is none."""

MOST_EXPERTS = 6

TITLES: dict[str, str] = {
    "CheckmateInOne": "Checkmate-in-One",
    "GameOf24": "Game of 24",
    "geometric_shapes": "Geometric Shapes",
    "MGSM": "MGSM, mean of languages",
    "multistep_arithmetic_two": "Multi-Step Arithmetic Two",
    "P3_Test": "Python Puzzles",
    "Sonnets-Standard": "Sonnets",
    "word_sorting": "Word Sorting",
}
"""Rows of Table 1, by the authors' task names; the languages of MGSM are one row."""

_FULL = {"GameOf24": 100, "P3_Test": 1009}
_NONE = (None,) * len(METHODS)

PRINTED: dict[str, tuple[float | None, ...]] = {
    "CheckmateInOne": (36.4, 32.8, 39.6, 33.2, 17.2, 57.2, 57.2),
    "GameOf24": (3, 11, 3, 2, 25, 11, 67),
    "geometric_shapes": (56.8, 69.2, 55.2, 53.6, 57.6, 58.4, 59.2),
    "MGSM": (84.4, 85.5, 83.0, 85.0, 85.7, 85.4, 84.8),
    "multistep_arithmetic_two": (84.0, 83.2, 83.2, 78.8, 91.6, 84.8, 90.0),
    "P3_Test": (31.1, *_NONE[1:]),
    "Sonnets-Standard": (62.0, 71.2, None, 74.0, 73.2, 77.6, 79.6),
    "word_sorting": (80.4, 83.6, 83.2, 85.2, 79.2, 84.0, 99.6),
}
"""Table 1 of Suzgun & Kalai 2024, percent right, in the order of METHODS; None where this version
does not know the printed figure."""

PRINTED_ROUNDS: dict[tuple[str, str], float] = {
    ("MetaPromptingWithPython", "CheckmateInOne"): 3.48,
    ("MetaPromptingWithPython", "multistep_arithmetic_two"): 3.50,
    ("MetaPromptingWithPython", "GameOf24"): 3.5,
    ("MetaPromptingWithPython", "word_sorting"): 3.31,
}
"""Mean rounds as section 5.1 reports them."""

PRINTED_PYTHON_SHARE: dict[tuple[str, str], float] = {
    ("MetaPromptingWithPython", "GameOf24"): 73.9,
    ("MetaPromptingWithPython", "word_sorting"): 36.0,
}
"""Expert Python's share of consultations in percent, as section 5.1 reports it."""

PRINTED_NO_SOLUTION: dict[tuple[str, str], int] = {
    ("Standard", "GameOf24"): 2,
    ("MetaPromptingWithPython", "GameOf24"): 9,
    ("MetaPromptingWithoutPython", "GameOf24"): 15,
    ("MetaPromptingWithPython", "CheckmateInOne"): 10,
    ("MetaPromptingWithoutPython", "CheckmateInOne"): 12,
}
"""Answers that claim there is no solution, of 100 and 250, as section 5.1 reports them."""

CANNOT_FOLLOW = (
    "Expert Python's share (73.9 % in Game of 24, 36.0 % in Word Sorting) and the mean rounds printed for "
    "these two tasks do not follow from the published transcripts; the counts here are what they hold.",
    "Answers without a solution are counted by how they begin; how the printed counts were made is not published.",
    "A puzzle whose program runs close to the limit of 3 s may be graded otherwise on another machine.",
)

_HEADERS = re.compile(r"(?:ROUND \d+:\n\n)+")
_OUTPUT = re.compile(r"(.*)'s output:")


@dataclass(slots=True)
class Counted:
    """One file of runs: what its transcripts hold, and both grades of every row."""

    method: str
    task: str
    rounds: list[int] = field(default_factory=list)
    answered: int = 0
    no_solution: int = 0
    experts: Counter[str] = field(default_factory=Counter)
    paper: list[Grade] = field(default_factory=list)
    strict: list[Grade] = field(default_factory=list)
    questions: list[int] = field(default_factory=list)

    @property
    def key(self) -> str:
        """`<Method>/<task>`, by the authors' names."""
        return f"{self.method}/{self.task}"

    def right(self, grader: str) -> list[bool]:
        """Which rows are right under `paper` or `strict`."""
        return [g.verdict == "correct" for g in (self.paper if grader == "paper" else self.strict)]

    def count(self, grader: str) -> int | None:
        """How many rows are right; None if a row could not be graded."""
        grades = self.paper if grader == "paper" else self.strict
        return None if any(g.verdict == "error" for g in grades) else sum(self.right(grader))

    def as_json(self) -> dict[str, Any]:
        """The facts of the file under stable names."""
        facts: dict[str, Any] = {
            "rows": len(self.rounds),
            "correct_paper": self.count("paper"),
            "correct_strict": self.count("strict"),
            "mean_rounds": round(fmean(self.rounds), 4) if self.rounds else None,
            "answered": self.answered,
        }
        if self.method in META:
            facts["experts"] = dict(self.experts.most_common(MOST_EXPERTS))
            facts["expert_messages"] = self.experts.total()
        if self.task in ABSTAINING:
            facts["no_solution"] = self.no_solution
        return facts


async def count(file: PublishedFile, execute: Execute | None, step: Callable[[int], None]) -> Counted:
    """Count and grade a file.

    Args:
        execute: runs programs; without it puzzles are not graded.
        step: told how many more rows are graded.

    Raises:
        UsageError: the file is damaged.
    """
    counted = Counted(file.method, file.task)
    data = rows(file)
    for row in data:
        count_log(counted, row["message_log"])
    await _grade_rows(counted, data, execute, step)
    return counted


def count_log(counted: Counted, log: Sequence[Mapping[str, str]]) -> None:
    """Add what one transcript holds.

    A round is a Meta Model reply. An expert counts once for each user message between the first and
    the last that has a round header: the first name there.
    """
    counted.rounds.append(sum(message["role"] == "assistant" for message in log))
    for message in log[2:-1]:
        if message["role"] == "user" and (name := _first_expert(message["content"])):
            counted.experts[name] += 1
    last = log[-1]
    if last["role"] == "assistant":
        counted.answered += MARKER in last["content"]
        answer = last["content"].rpartition(MARKER)[2].strip().strip('"')
        counted.no_solution += states_no_solution(answer)


def _first_expert(content: str) -> str:
    headers = _HEADERS.match(content)
    found = _OUTPUT.match(content, headers.end()) if headers else None
    return found.group(1) if found else ""


async def _grade_rows(
    counted: Counted, data: list[dict[str, Any]], execute: Execute | None, step: Callable[[int], None]
) -> None:
    """Both grades of every row, in order. A few rows are graded at a time: answers that run wait for
    each other's end, and a person who has had enough is heard between rows."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def graded(index: int, row: dict[str, Any]) -> tuple[Grade, Grade]:
        async with gate:
            both = await _grade_row(counted.task, index, row, execute)
            step(1)
            await asyncio.sleep(0)
            return both

    both = await asyncio.gather(*(graded(index, row) for index, row in enumerate(data)))
    counted.paper = [paper for paper, _ in both]
    counted.strict = [strict for _, strict in both]
    counted.questions = [hash(row["input"]) for row in data]


AT_ONCE = 4


async def _grade_row(
    task: str, index: int, row: Mapping[str, Any], execute: Execute | None
) -> tuple[Grade, Grade]:
    given = sample(task, index, row)
    reply = row.get("output")
    reply = reply if isinstance(reply, str) else row["message_log"][-1]["content"]
    return await _grade(given, reply, "paper", execute), await _grade(given, reply, "strict", execute)


async def _grade(given: Any, reply: str, grader: str, execute: Execute | None) -> Grade:
    """The grade without what nobody needs of thousands of rows; what cannot be graded has a verdict too."""
    try:
        found = await grade(given, reply, grader, execute)
    except UsageError as error:
        return Grade("error", str(error))
    held = {"holds_target": True} if found.details.get("holds_target") else {}
    return Grade(found.verdict, found.reason if found.verdict == "error" else "", details=held)


@dataclass(frozen=True, slots=True)
class Line:
    """One row of Table 1: for every method the count of rows and of right ones."""

    task: str
    files: dict[str, list[Counted]]

    def percent(self, method: str, grader: str) -> float | None:
        """Percent right, the mean over the files of a method (languages weigh the same)."""
        counts = [(file.count(grader), len(file.rounds)) for file in self.files.get(method, [])]
        shares = [100 * right / n for right, n in counts if right is not None and n]
        return fmean(shares) if shares and len(shares) == len(counts) else None

    def rows(self, method: str) -> int:
        """Rows of a method."""
        return sum(len(file.rounds) for file in self.files.get(method, []))

    def full(self) -> int:
        """Rows that the authors had, for one method and as many languages as are here."""
        languages = max((len(found) for found in self.files.values()), default=1)
        return _FULL.get(self.task, 250) * languages


class Reproduction:
    """The published results, recomputed from counted files.

    Args:
        files: what was counted.
        skipped: files that could not be, each with the reason.
    """

    def __init__(self, files: Iterable[Counted], skipped: Sequence[str] = ()) -> None:
        order = list(METHOD_IDS)
        self.files = sorted(files, key=lambda f: (order.index(f.method), f.task))
        self.skipped = list(skipped)

    @cached_property
    def lines(self) -> list[Line]:
        """Table 1, by task."""
        found: dict[str, dict[str, list[Counted]]] = {}
        for file in self.files:
            found.setdefault(table_row(file.task), {}).setdefault(file.method, []).append(file)
        return [Line(task, found[task]) for task in TITLES if task in found]

    @cached_property
    def comparisons(self) -> list[dict[str, Any]]:
        """Methods against each other on the same rows, in points, under both graders.

        Both meta-prompting variants against every baseline and against each other; `p_holm` is
        adjusted over the comparisons of one task under one grader.
        """
        found: list[dict[str, Any]] = []
        for line in self.lines:
            for grader in ("paper", "strict"):
                some = [c for pair in _pairs() if (c := _compare(line, *pair, grader))]
                for one, adjusted in zip(some, statistics.holm([c["p"] for c in some]), strict=True):
                    found.append(one | {"p_holm": adjusted})
        return found

    @cached_property
    def disagreements(self) -> list[dict[str, Any]]:
        """Per task and method how often the graders part, and the strict verdicts beside right and wrong."""
        return [
            _disagreement(line, method) for line in self.lines for method in METHODS if line.files.get(method)
        ]

    @cached_property
    def section_5_1(self) -> list[dict[str, Any]]:
        """Rounds, Expert Python's share and answers without a solution, beside what is printed."""
        return [_statistics(file) for file in self.files if file.method in META or file.task in ABSTAINING]

    @cached_property
    def cannot(self) -> list[str]:
        """What these transcripts cannot show, and why."""
        return [*self._missing(), *self._partial(), *self._ungraded(), *CANNOT_FOLLOW]

    def _missing(self) -> Iterable[str]:
        for task, title in TITLES.items():
            line = next((one for one in self.lines if one.task == task), Line(task, {}))
            gone = [short for method, short in METHODS.items() if not line.files.get(method)]
            names = "any method" if len(gone) == len(METHODS) else ", ".join(gone)
            if gone:
                yield f"{title}: no transcripts of {names} here{_WHY_GONE.get(task, '')}."

    def _partial(self) -> Iterable[str]:
        partial = [line for line in self.lines if any(0 < line.rows(m) < line.full() for m in METHODS)]
        if partial:
            parts = ", ".join(
                f"{max(map(line.rows, METHODS))} of {line.full()} {TITLES[line.task]}" for line in partial
            )
            yield f"Only part of the published rows is here ({parts}), so percentages need not meet the printed ones."
        unequal = [f.key for f in self.files if TITLES.get(table_row(f.task)) is None]
        if unequal:
            yield f"Not in Table 1: {', '.join(unequal)}."
        if any(None in PRINTED[task] for task in TITLES):
            yield (
                "Printed figures that this version does not know stand as -, and so does the average over "
                "all tasks, which needs them."
            )

    def _ungraded(self) -> Iterable[str]:
        for grader in ("paper", "strict"):
            reasons = Counter(
                (file.task, next(g.reason for g in grades if g.verdict == "error"))
                for file in self.files
                if file.count(grader) is None
                for grades in [file.paper if grader == "paper" else file.strict]
            )
            for (task, reason), number in reasons.items():
                yield f"{task}: {number} files have no {grader} count: {reason}"

    def as_json(self) -> dict[str, Any]:
        """Everything, under stable names; percentages and points to two decimals."""
        return {
            "rows": sum(len(file.rounds) for file in self.files),
            "files": {file.key: file.as_json() for file in self.files},
            "table_1": [_line_json(line) for line in self.lines],
            "section_5_1": self.section_5_1,
            "comparisons": self.comparisons,
            "disagreements": self.disagreements,
            "cannot": self.cannot,
            "skipped": self.skipped,
        }


_WHY_GONE = {
    "Sonnets-Standard": " (ExpertStatic's were never published)",
    "P3_Test": " (the authors' repository has more than some copies of it)",
}


def table_row(task: str) -> str:
    """The row of Table 1 that a task counts for."""
    return "MGSM" if task.startswith("MGSM_") else task


def is_known(file: PublishedFile) -> bool:
    """Whether there are graders for a file's task."""
    return file.task in TASK_IDS


def _pairs() -> list[tuple[str, str]]:
    baselines = [method for method in METHODS if method not in META]
    return [(META[0], META[1]), *((meta, other) for meta in META for other in baselines)]


def _compare(line: Line, one: str, other: str, grader: str) -> dict[str, Any] | None:
    """`one` minus `other` on the rows that both have; None if there are none."""
    first, second = _by_question(line, one, grader), _by_question(line, other, grader)
    shared = [key for key in first if key in second]
    if not shared:
        return None
    cells = Counter((first[key], second[key]) for key in shared)
    only_first, only_second = cells[True, False], cells[False, True]
    difference = statistics.newcombe(cells[True, True], only_first, only_second, cells[False, False])
    return {
        "task": line.task,
        "grader": grader,
        "method": one,
        "against": other,
        "rows": len(shared),
        "points": round(100 * difference.value, 2),
        "low": round(100 * difference.low, 2),
        "high": round(100 * difference.high, 2),
        "only_first": only_first,
        "only_second": only_second,
        "p": statistics.mcnemar(only_first, only_second),
    }


def _by_question(line: Line, method: str, grader: str) -> dict[tuple[str, int, int], bool]:
    """(task, row, question) -> right, of the files that could be graded."""
    return {
        (file.task, row, question): right
        for file in line.files.get(method, [])
        if file.count(grader) is not None
        for row, (question, right) in enumerate(zip(file.questions, file.right(grader), strict=True))
    }


def _disagreement(line: Line, method: str) -> dict[str, Any]:
    files = line.files[method]
    both = [pair for file in files for pair in zip(file.right("paper"), file.right("strict"), strict=True)]
    strict = [grade for file in files for grade in file.strict]
    verdicts = Counter(grade.verdict for grade in strict)
    return {
        "task": line.task,
        "method": method,
        "only_paper": sum(p and not s for p, s in both),
        "only_strict": sum(s and not p for p, s in both),
        "verdicts": {verdict: verdicts[verdict] for verdict in sorted(verdicts)},
        "ambiguous_that_hold_the_target": sum(bool(g.details.get("holds_target")) for g in strict),
    }


def _statistics(file: Counted) -> dict[str, Any]:
    key = (file.method, file.task)
    python = sum(n for name, n in file.experts.items() if name == "Expert Python")
    total = file.experts.total()
    facts: dict[str, Any] = {"method": file.method, "task": file.task, "rows": len(file.rounds)}
    facts |= {"mean_rounds": round(fmean(file.rounds), 2), "printed_mean_rounds": PRINTED_ROUNDS.get(key)}
    if file.method in META:
        facts["python_share"] = round(100 * python / total, 1) if total else None
        facts["printed_python_share"] = PRINTED_PYTHON_SHARE.get(key)
    if file.task in ABSTAINING:
        facts["no_solution"] = file.no_solution
        facts["abstained_strict"] = sum(g.verdict == "abstained" for g in file.strict)
        facts["printed_no_solution"] = PRINTED_NO_SOLUTION.get(key)
    return facts


def _line_json(line: Line) -> dict[str, Any]:
    cells = {}
    for method, printed in zip(METHODS, PRINTED[line.task], strict=True):
        cells[method] = {
            "rows": line.rows(method),
            "printed": printed,
            "paper": _rounded(line.percent(method, "paper")),
            "strict": _rounded(line.percent(method, "strict")),
            "strict_interval": _interval(line, method),
        }
    return {"task": line.task, "title": TITLES[line.task], "published_rows": line.full(), "methods": cells}


def _interval(line: Line, method: str) -> list[float] | None:
    """Wilson's interval in percent, for one file; languages share their problems, so have none."""
    files = line.files.get(method, [])
    right = files[0].count("strict") if len(files) == 1 else None
    if right is None:
        return None
    low, high = statistics.wilson(right, len(files[0].rounds))
    return [round(100 * low, 2), round(100 * high, 2)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
