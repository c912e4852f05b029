"""C-1: the grades of a run by rule, over every combination; and what a lesson is distilled from."""

from __future__ import annotations

import itertools

import pytest

from meta_tui.methods.mc2.reflection import Grades, Reflection, chosen, grades, natural, reflect
from meta_tui.methods.mc2.trace import Audit, Control, Reasoned, Record, Trace

STATUSES = ("accepted", "corrected", "max_iter")
FLAGS = (True, False, None)


def _expected(
    status: str, t: int, flags: tuple[bool | None, ...], restarts: int, rule: str
) -> tuple[str, str, str, str]:
    """Section 4.3 of the specification, written out a second time as a table of sentences."""
    settled = status != "max_iter"
    quality = {(True, True): "A", (True, False): "B"}.get((settled, t == 1), "C")
    reasoner = "good" if settled and t <= 2 else "ok"
    controller = "good" if settled and t <= 3 else "ok"
    if not settled and flags.count(True) > t / 2:
        reasoner = "poor"
    if not settled and restarts > t / 2:
        controller = "poor"
    monitor = "ok"
    if settled and flags[-1] is not None:
        says_wrong = flags[-1]
        if rule == "patch_aware" and status == "corrected":
            says_wrong = not says_wrong
        monitor = "poor" if says_wrong else "good"
    return quality, reasoner, monitor, controller


@pytest.mark.parametrize("rule", ["paper", "patch_aware"])
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("t", [1, 2, 3])
def test_c1_every_combination_is_graded_as_the_rule_says(status: str, t: int, rule: str) -> None:
    for flags in itertools.product(FLAGS, repeat=t):
        for restarts in range(t + 1):
            found = grades(status, t, flags, restarts, rule)  # type: ignore[arg-type]
            assert (found.quality, found.reasoner, found.monitor, found.controller) == _expected(
                status, t, flags, restarts, rule
            )


def test_c1_quality_a_means_one_iteration() -> None:
    for status, t in itertools.product(STATUSES, (1, 2, 3)):
        if grades(status, t, [None] * t, 0).quality == "A":  # type: ignore[arg-type]
            assert (t, status != "max_iter") == (1, True)


@pytest.mark.parametrize(
    ("status", "t", "flags", "restarts", "expected"),
    [
        ("accepted", 2, [True, False], 1, Grades("B", "good", "good", "good")),
        ("accepted", 1, [False], 0, Grades("A", "good", "good", "good")),
        ("max_iter", 3, [True, True, False], 3, Grades("C", "poor", "ok", "poor")),
        ("corrected", 1, [True], 0, Grades("A", "good", "poor", "good")),
        ("accepted", 3, [True, True, True], 2, Grades("B", "ok", "poor", "good")),
        ("max_iter", 3, [True, False, False], 3, Grades("C", "ok", "ok", "poor")),
    ],
)
def test_the_examples_of_the_text_have_their_grades(
    status: str, t: int, flags: list[bool], restarts: int, expected: Grades
) -> None:
    """Section 4.7 of the specification, and the quirk of 4.3: a Monitor whose report led to a patch is poor."""
    assert grades(status, t, flags, restarts) == expected  # type: ignore[arg-type]


def test_a_patch_aware_monitor_is_good_where_its_report_led_to_a_patch() -> None:
    assert grades("corrected", 1, [True], 0, "patch_aware").monitor == "good"
    assert grades("corrected", 1, [False], 0, "patch_aware").monitor == "poor"
    assert grades("accepted", 1, [True], 0, "patch_aware").monitor == "poor"


def _reflection(name: str, success: bool, quality: str = "A") -> Reflection:
    status = "max_iter" if quality == "C" else "accepted"
    return Reflection(
        name,
        success,
        status,  # type: ignore[arg-type]
        1,
        Grades(quality, "good", "good", "good"),  # type: ignore[arg-type]
        {"reasoner": "", "monitor": "", "controller": ""},
    )


def test_the_filter_takes_first_tries_that_worked_and_all_that_failed_or_never_settled() -> None:
    reflections = [
        _reflection("a:1", True),
        _reflection("a:2", True, "B"),
        _reflection("a:3", False),
        _reflection("a:4", True, "C"),
        _reflection("a:5", False, "B"),
    ]
    worked, failed = chosen(reflections)
    assert [r.instance for r in worked] == ["a:1"]
    assert [r.instance for r in failed] == ["a:3", "a:4", "a:5"]


def test_above_twenty_reflections_twelve_failures_stay_and_successes_fill_up() -> None:
    some = [_reflection(f"a:{n}", n >= 15) for n in range(30)]
    worked, failed = chosen(some)
    assert [r.instance for r in failed] == [f"a:{n}" for n in range(12)]
    assert [r.instance for r in worked] == [f"a:{n}" for n in range(15, 23)]
    few = [_reflection(f"a:{n}", n >= 3) for n in range(30)]
    worked, failed = chosen(few)
    assert (len(failed), len(worked)) == (3, 17)


def test_twenty_reflections_are_all_kept() -> None:
    worked, failed = chosen([_reflection(f"a:{n}", n >= 15) for n in range(20)])
    assert (len(failed), len(worked)) == (15, 5)


def test_instances_are_ordered_by_their_number_whatever_their_place_in_the_stream() -> None:
    names = ["t:10", "t:9", "s:11", "t:100"]
    assert sorted(names, key=natural) == ["s:11", "t:9", "t:10", "t:100"]
    worked, _ = chosen([_reflection(name, True) for name in names])
    assert [r.instance for r in worked] == ["s:11", "t:9", "t:10", "t:100"]


def test_c5_what_a_role_is_shown_holds_nothing_of_another_role() -> None:
    record = Record(
        1,
        Reasoned("ANSWER", "STEPS"),
        Audit(True, "4", "DESCRIPTION", "EXPLANATION", "AUDIT"),
        Control("restart", "JUSTIFICATION", "SUGGESTIONS", "", None, "DECISION"),
    )
    found = reflect("t:1", Trace((record,), "max_iter", "ANSWER"), False, "paper")
    own = {
        "reasoner": {"ANSWER"},
        "monitor": {"DESCRIPTION", "YES", "step 4"},
        "controller": {"restart", "JUSTIFICATION"},
    }
    for role, words in own.items():
        shown = found.shown(role)  # type: ignore[arg-type]
        others = set().union(*(w for name, w in own.items() if name != role))
        assert all(word in shown for word in words), role
        assert not [word for word in others if word in shown], role
        assert "[t:1] outcome failure, quality C" in shown
    assert "R_ok" not in found.shown("monitor")
    assert "STEPS" not in found.shown("reasoner")
    whole = reflect("t:1", Trace((record,), "max_iter", "ANSWER"), False, "paper", whole_texts=True)
    assert "STEPS" in whole.shown("reasoner")
