"""Diagnostics on toy graphs whose values were worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from meta_tui.evaluation import diagnostics as d
from meta_tui.methods.artifacts import Access, Artifact, Trace

Edges = dict[str, str]


def toy(
    graph: Edges,
    correct: str = "",
    submitted: str = "",
    *,
    wrong: str | None = None,
    notes: str = "",
    confidence: Edges | None = None,
    verdicts: dict[str, tuple[str, ...]] | None = None,
    submission: bool | None = None,
    **more: Any,
) -> d.Run:
    """A run from `{node: contexts}`, all names one letter; nodes are stored in the given order,
    one a call. Labels are 1 for `correct`, 0 for the others (or for `wrong` only)."""
    artifacts = tuple(
        Artifact(
            id=id,
            title=id,
            body=f"body {id}",
            kind="note" if id in notes else "worker",
            context=tuple(contexts),
            confidence=(confidence or {}).get(id),  # type: ignore[arg-type]
            answer=id,
            available_at=number,
        )
        for number, (id, contexts) in enumerate(graph.items(), 1)
    )
    labelled = [id for id in graph if id not in notes and (wrong is None or id in correct + wrong)]
    labels = {id: id in correct for id in labelled}
    trace = Trace(
        artifacts=artifacts,
        submitted=submitted,
        answer=f"body {submitted}" if submitted else None,
        verdicts=verdicts or {},
        strip=("worker",) * len(artifacts),
        **more,
    )
    return d.Run(
        trace=trace, labels=labels, submission=labels.get(submitted) if submission is None else submission
    )


# Ten graphs and more: (edges, labels, submission) and what must follow, worked out by hand.

ALONE = toy({"a": ""}, "a", "a")
CHAIN = toy({"a": "", "b": "a", "c": "b"}, "c", "c")
STAR = toy({"a": "", "b": "a", "c": "a", "d": "a", "e": "a"}, "bcd", "b")
DIAMOND = toy({"a": "", "b": "a", "c": "a", "d": "bc"}, "b", "b")
TWO_ROOTS = toy({"a": "", "b": "", "c": "ab"}, "ab", "c")
ISLANDS = toy({"a": "", "b": "", "c": ""}, "", "b")
SHORTCUT = toy({"a": "", "b": "a", "c": "ab", "d": "a"}, "cd", "d")
NOTES = toy({"a": "", "n": "", "b": "an", "c": "n"}, "b", "b", notes="n")
NOTHING = toy({})
UNSUBMITTED = toy({"a": "", "b": "a"}, "b")
UNLABELLED = toy({"a": "", "b": "a", "c": "a"}, "a", "a", wrong="")
HALF = toy({"a": "", "b": "a", "c": "a"}, "b", "b", wrong="a")
EARLY = toy({"a": "", "b": "a", "c": "b"}, "a", "a")

GRAPHS: dict[str, tuple[d.Run, tuple[Any, ...]]] = {
    # nodes, edges, roots, mean fan-in, max fan-in, width, depth, note edges
    "alone": (ALONE, (1, 0, 1, 0.0, 0, 1, 0, 0)),
    "chain": (CHAIN, (3, 2, 1, 2 / 3, 1, 1, 2, 0)),
    "star": (STAR, (5, 4, 1, 4 / 5, 1, 4, 1, 0)),
    "diamond": (DIAMOND, (4, 4, 1, 1.0, 2, 2, 2, 0)),
    "two_roots": (TWO_ROOTS, (3, 2, 2, 2 / 3, 2, 2, 1, 0)),
    "islands": (ISLANDS, (3, 0, 3, 0.0, 0, 3, 0, 0)),
    "shortcut": (SHORTCUT, (4, 4, 1, 1.0, 2, 2, 2, 0)),
    "notes": (NOTES, (3, 1, 2, 1 / 3, 1, 2, 1, 2)),
    "nothing": (NOTHING, (0, 0, 0, 0.0, 0, 0, 0, 0)),
    "unsubmitted": (UNSUBMITTED, (2, 1, 1, 1 / 2, 1, 1, 1, 0)),
    "early": (EARLY, (3, 2, 1, 2 / 3, 1, 1, 2, 0)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_shape_of_each_toy_graph(name: str) -> None:
    run, expected = GRAPHS[name]
    shape = d.topology(run.trace)
    assert tuple(getattr(shape, field) for field in shape.__struct_fields__) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("run", "frontier", "quality", "gain"),
    [
        (ALONE, "a", 1.0, 0.0),
        (CHAIN, "c", 1.0, 0.0),
        (STAR, "bcde", 0.75, 0.25),
        (DIAMOND, "d", 0.0, 1.0),
        (TWO_ROOTS, "c", 0.0, 0.0),
        (ISLANDS, "abc", 0.0, None),
        (SHORTCUT, "c", 1.0, 0.0),
        (NOTES, "b", 1.0, 0.0),
        (NOTHING, "", None, None),
        (UNSUBMITTED, "b", 1.0, -1.0),
        (UNLABELLED, "bc", None, None),
        (HALF, "bc", 1.0, 0.0),
        (EARLY, "c", 0.0, 1.0),
    ],
)
def test_frontier_its_quality_and_the_gain_of_each_toy_graph(
    run: d.Run, frontier: str, quality: float | None, gain: float | None
) -> None:
    """Ties at the greatest depth all count; shallower terminal nodes (d in SHORTCUT, c in NOTES) do
    not; unlabelled nodes are dropped (HALF) and a frontier without labels excludes the run."""
    assert "".join(d.frontier(run.trace)) == frontier
    assert d.frontier_quality(run) == quality
    assert d.selection_gain_of(run) == gain


@pytest.mark.parametrize(
    ("run", "on"),
    [
        (ALONE, True),
        (DIAMOND, False),
        (SHORTCUT, False),
        (EARLY, False),
        (ISLANDS, True),
        (UNSUBMITTED, None),
    ],
)
def test_submissions_on_and_off_the_frontier(run: d.Run, on: bool | None) -> None:
    assert d.on_frontier(run.trace) is on


def test_of_the_submissions_from_the_frontier_so_many_had_a_choice_there() -> None:
    """STAR (four on the frontier) and CHAIN (one) submit from it; of two the root of a fork does not."""
    off = toy({"a": "", "b": "a", "c": "a"}, "a", "a")
    assert d.frontier_shares([STAR, CHAIN, off]) == {
        "from_frontier": pytest.approx(2 / 3, abs=1e-6),
        "frontier_of_several": 0.5,
    }
    assert d.frontier_shares([off, UNSUBMITTED]) == {"from_frontier": 0.0, "frontier_of_several": None}


def test_descendants_are_counted_once_on_every_way() -> None:
    assert d.descendants(DIAMOND.trace) == {"a": 3, "b": 1, "c": 1, "d": 0}
    assert d.descendants(SHORTCUT.trace) == {"a": 3, "b": 1, "c": 0, "d": 0}


def test_b8_a_frontier_of_four_with_three_correct_gives_a_quarter() -> None:
    assert d.selection_gain([STAR]) == {"fsg": 0.25, "runs": 1, "excluded": 0}


def test_b8_two_runs_and_one_without_any_correct_artifact() -> None:
    """(0.5 + 0) / 2; ISLANDS has none and changes nothing."""
    half = toy({"a": "", "b": "a", "c": "a"}, "b", "b")
    whole = toy({"a": "", "b": "a"}, "b", "b")
    assert d.selection_gain([half, whole])["fsg"] == 0.25
    assert d.selection_gain([half, whole, ISLANDS]) == {"fsg": 0.25, "runs": 2, "excluded": 0}
    assert d.selection_gain([half, whole, UNLABELLED]) == {"fsg": 0.25, "runs": 2, "excluded": 1}


@pytest.mark.parametrize(
    ("positive", "negative", "value"),
    [
        ([2, 2, 1], [1, 0], 11 / 12),
        ([2, 1], [2, 1], 0.5),
        ([2], [2, 0], 0.75),
        ([2], [0, 1], 1.0),
        ([0], [2], 0.0),
        ([], [1], None),
        ([1], [], None),
    ],
)
def test_b9_the_type_2_area(positive: list[float], negative: list[float], value: float | None) -> None:
    assert d.auc(positive, negative) == (None if value is None else pytest.approx(value))


def test_type_2_signals_of_the_worked_example() -> None:
    """Confidence 2 | 2, 0 is 0.75; verdicts 2 | 0, 1 is 1; the first verdict counts."""
    run = toy(
        {"a": "", "b": "", "c": ""},
        "a",
        "a",
        confidence={"a": "HIGH", "b": "HIGH", "c": "LOW"},
        verdicts={
            "a": ("LIKELY_CORRECT", "FUNDAMENTALLY_FLAWED"),
            "b": ("FUNDAMENTALLY_FLAWED", "LIKELY_CORRECT"),
            "c": ("HAS_GAPS",),
        },
    )
    assert d.type2([run], "confidence") == {"auc": 0.75, "positive": 1, "negative": 2, "without_signal": 0}
    assert d.type2([run], "verdict")["auc"] == 1.0


def test_type_2_artifacts_are_pooled_over_runs_and_those_without_a_signal_are_counted() -> None:
    """Y+ {2, 1}, Y- {1}: (1 + 0.5) / 2."""
    one = toy({"a": "", "b": ""}, "a", "a", confidence={"a": "HIGH", "b": "MEDIUM"})
    other = toy({"a": "", "b": ""}, "a", "a", confidence={"a": "MEDIUM"})
    assert d.type2([one, other], "confidence") == {
        "auc": 0.75,
        "positive": 2,
        "negative": 1,
        "without_signal": 1,
    }
    assert d.type2([one], "verdict") == {"auc": None, "positive": 0, "negative": 0, "without_signal": 2}


def test_coverage_selection_and_why_runs_failed() -> None:
    """C: CHAIN, TWO_ROOTS; S: CHAIN. ISLANDS has nothing correct."""
    runs = [CHAIN, TWO_ROOTS, ISLANDS]
    assert d.coverage(runs) == pytest.approx(2 / 3, abs=1e-6)
    assert d.selection(runs) == 0.5
    assert [run.failure for run in runs] == ["", "selection", "coverage"]
    assert d.selection([ISLANDS]) is None


def test_b10_coverage_grows_with_calls_and_ends_at_or_above_the_success_rate() -> None:
    """First correct after 3 calls (CHAIN), 1 (TWO_ROOTS), 2 (STAR), never (ISLANDS)."""
    runs = [CHAIN, TWO_ROOTS, STAR, ISLANDS]
    assert d.coverage_curve(runs) == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert [d.coverage(runs, k) for k in (0, 1, 2, 3, 99)] == [0.0, 0.25, 0.5, 0.75, 0.75]
    assert (d.coverage(runs) or 0) >= sum(run.selected for run in runs) / 4


def test_a_correct_submission_that_is_no_artifact_counts_as_covered() -> None:
    """Direct Control's own text: y* is in V_sol; it was there after all calls."""
    run = toy({"a": "", "b": ""}, "", submission=True)
    assert run.covered
    assert run.selected
    assert run.first_correct == 2


def test_a_submitted_text_is_matched_to_the_first_artifact_with_the_same_answer() -> None:
    def with_answer(answer: str) -> Trace:
        trace = toy({"a": "", "b": "", "c": ""}).trace
        return d.Run(trace=trace, labels={}).trace.__class__(artifacts=trace.artifacts, answer=answer)

    assert (found := d.submitted_artifact(with_answer("because\nANSWER:  B. "))) is not None
    assert found.id == "b"
    assert d.submitted_artifact(with_answer("ANSWER: z")) is None
    numbers = [
        Artifact(id=id, title="", body="x", answer=a) for id, a in (("a", "999"), ("b", "**1,000.0**"))
    ]
    found = d.submitted_artifact(Trace(artifacts=tuple(numbers), answer="so\nANSWER: $1000$"))
    assert found is not None
    assert found.id == "b"
    assert d.submitted_artifact(with_answer("")) is None


async def test_labels_grade_each_answer_once_and_leave_out_what_cannot_be_graded() -> None:
    asked: list[str] = []

    async def grade(answer: str) -> bool | None:
        asked.append(answer)
        return {"a": True, "b": None}.get(answer, False)

    trace = toy({"a": "", "b": "", "c": ""}, submitted="a").trace
    run = await d.label_with(trace, grade)
    assert run.labels == {"a": True, "c": False}
    assert run.submission is True
    assert asked == ["a", "b", "c"]


def test_utilisation_may_exceed_one_and_needs_a_budget() -> None:
    assert d.utilisation(toy({"a": "", "b": "", "c": ""}, budget=2).trace) == 1.5
    assert d.utilisation(ALONE.trace) is None


def test_memory_reads_writes_and_context_uses() -> None:
    """n is read twice (propose, evaluate), a once, b never; contexts are no reads."""
    trace = toy(
        {"a": "", "n": "", "b": "an"},
        notes="n",
        reads=(Access(0, "propose", ("n", "a")), Access(1, "evaluate", ("n",))),
    ).trace
    found = d.memory(trace)
    assert found["reads"] == {"evaluate": {"worker": 0, "note": 1}, "propose": {"worker": 1, "note": 1}}
    assert found["writes"] == {"dispatch": {"worker": 2, "note": 1}}
    assert found["reads_per_read_artifact"] == {"worker": 1.0, "note": 2.0}
    assert found["never_read"] == {"worker": 0.5, "note": 0.0}
    assert found["context_uses"] == {"worker": 1, "note": 1}


def test_the_budget_strip_joins_calls_in_a_row() -> None:
    trace = Trace(strip=("assess", "assess", "propose", "worker", "worker", "assess"))
    assert d.budget_strip(trace) == [("assess", 2), ("propose", 1), ("worker", 2), ("assess", 1)]


def test_summaries_hold_the_same_numbers() -> None:
    one = d.of_run(STAR)
    assert (one["frontier"], one["frontier_quality"], one["selection_gain"]) == (list("bcde"), 0.75, 0.25)
    assert (one["graph"]["depth"], one["covered"], one["failure"]) == (1, True, "")
    many = d.of_runs([CHAIN, TWO_ROOTS, STAR, ISLANDS])
    assert (many["score"], many["coverage"], many["selection"]) == (0.5, 0.75, pytest.approx(2 / 3, abs=1e-6))
    assert many["failures"] == {"coverage": 1, "selection": 1}
    assert many["frontier_gain"] == {"fsg": pytest.approx(0.25 / 3, abs=1e-6), "runs": 3, "excluded": 0}
    assert many["frontier_of_several"] == 0.5
    assert d.of_runs([])["score"] is None
