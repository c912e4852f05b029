"""Meta^n, what Omega is shown: sampling, context budget, evidence by depth (D-4, D-5, D-6)."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from meta_n_runs import PACK, layer, say, trace

from meta_tui.methods.meta_n.omega import (
    Evidence,
    Inspiration,
    code_part,
    fitted,
    payload,
    representatives,
    skeleton,
)
from meta_tui.methods.meta_n.records import Shown
from meta_tui.methods.meta_n.traces import Trace, failure_class, sampled, shortened
from meta_tui.methods.prompts import text


def traces(failures: int, successes: int) -> list[Trace]:
    """So many of each, failures first."""
    failing = [trace(f"f:{n}", 0.0, summary=f"boom {n}", failure="runtime error") for n in range(failures)]
    return failing + [trace(f"s:{n}", 0.5) for n in range(successes)]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [((30, 30), (15, 5)), ((3, 30), (3, 17)), ((30, 2), (18, 2)), ((0, 30), (0, 20)), ((4, 3), (4, 3))],
)
def test_d4_at_most_twenty_traces_three_quarters_failures_and_empty_places_are_filled(
    given: tuple[int, int], wanted: tuple[int, int]
) -> None:
    chosen, shown = sampled(traces(*given), random.Random(1))
    assert (shown.failures, shown.successes) == wanted
    assert (shown.of_failures, shown.of_successes) == given
    assert sum(not one.success for one in chosen) == wanted[0]
    assert len({one.task for one in chosen}) == sum(wanted) <= 20


def evidence(depth: int, count: int = 6, **more: Any) -> Evidence:
    """Half of the tasks fail, with a traceback of their own; two did better before."""
    found = {
        f"t:{n}": trace(
            f"t:{n}",
            0.0 if n % 2 else n / 10,
            success=not n % 2,
            stderr=f"Traceback: raw trouble {n}" if n % 2 else "",
            summary=f"raw trouble {n}" if n % 2 else "",
            failure="runtime error" if n % 2 else "",
            script=f"def solve():\n    return {n}",
        )
        for n in range(count)
    }
    before = {task: trace(task, 0.3) for task in found} if depth > 2 else {}
    chain = tuple(layer(d, say(f"advice {d}"), rationale=f"why {d}") for d in range(2, depth))
    return Evidence(
        depth,
        found,
        before,
        chain,
        {task: f"wording of {task}" for task in found},
        {task: "odd" if int(task[2:]) % 2 else "even" for task in found},
        dict.fromkeys(found, 1.0),
        **more,
    )


def test_d5_the_oldest_layer_is_left_out_first_and_the_newest_never() -> None:
    chain = tuple(layer(n, say(str(n) * 400)) for n in (2, 3, 4))
    _, dropped = code_part(chain, 10_000)
    assert dropped == ()
    said, dropped = code_part(chain, 1_100)
    assert dropped == ("L1",)
    assert "depth 2" not in said
    assert "depth 3" in said
    assert "1 older layers" in said
    said, dropped = code_part(chain, 0)
    assert dropped == ("L1", "L2")
    assert "depth 4" in said


def test_traces_that_do_not_fit_are_dropped_in_the_same_ratio_and_named() -> None:
    chosen = traces(15, 5)
    given = evidence(2)
    each = max(len(one) for one in fitted(given, chosen, Shown(), 10**9)[0])
    said, shown, dropped = fitted(given, chosen, Shown(), each * 9)
    assert len(said) + len(dropped) == 20
    assert sum(map(len, said)) <= each * 9
    assert abs(shown.failures / (shown.failures + shown.successes) - 0.75) <= 0.15
    assert fitted(given, chosen, Shown(), 0)[0] == []


def test_a_small_context_says_what_it_left_out() -> None:
    made = payload(evidence(2, 40), random.Random(0), max_tokens=2_200)
    assert made.dropped_traces
    assert made.sampled.failures + made.sampled.successes < 20
    assert payload(evidence(2), random.Random(0)).dropped_traces == ()


def test_d6_the_first_layer_sees_raw_traces_and_later_ones_a_summary() -> None:
    first = payload(evidence(2), random.Random(0)).prompt
    later = payload(evidence(3), random.Random(0)).prompt
    assert "Traceback: raw trouble 1" in first
    assert "Traceback: raw trouble 5" in first
    headings = (
        "## Performance by category",
        "## Failure classes",
        "## Effect of the layer below",
        "## Representative traces",
    )
    for heading in headings:
        assert heading in later
        assert heading not in first
    assert len(re.findall(r"^### t:\d", later, re.MULTILINE)) <= 3
    assert later.count("Traceback: raw trouble") == 1, "of the most common failure only"
    assert "- odd: 3 tasks, mean 0.0000, 0 valid; main issue: runtime error (3)" in later
    assert "its rationale: why 2" in later
    assert "regressed (5): t:0 0.3000 -> 0.0000, t:1 0.3000" in later
    assert "improved (1): t:4 0.3000 -> 0.4000" in later


def test_d6_the_template_is_the_same_at_every_depth() -> None:
    """What is left of a prompt when its payload is taken out."""
    names = ("place", "objective", "headroom", "evidence", "code", "notes")
    bare = skeleton(True, **dict.fromkeys(names, "@"))
    parts = bare.split("@")
    for depth in (2, 3, 4, 7):
        prompt = payload(evidence(depth), random.Random(0)).prompt
        position = 0
        for part in parts:
            assert part in prompt[position:]
            position = prompt.index(part, position) + len(part)
        assert prompt.startswith(parts[0])
        assert prompt.endswith(parts[-1])


def test_without_a_library_the_prompt_offers_none() -> None:
    assert "solver_lib" in payload(evidence(2), random.Random(0)).prompt
    assert "solver_lib" not in payload(evidence(2, library=False), random.Random(0)).prompt
    assert "helper" not in skeleton(False).partition("# Rules")[0]


def test_the_table_of_headroom_has_the_ten_tasks_that_lack_most() -> None:
    prompt = payload(evidence(2, 24), random.Random(0)).prompt
    rows = re.findall(r"^\| (t:\d+) \| (\S+) \| 1.0000 \| (\S+) \|$", prompt, re.MULTILINE)
    assert len(rows) == 10
    assert rows[0] == ("t:0", "0.0000", "1.0000")
    gaps = [float(row[2]) for row in rows]
    assert gaps == sorted(gaps, reverse=True)


def test_the_objective_has_mean_spread_and_pass_rate() -> None:
    given = Evidence(2, {"a": trace("a", 0.2), "b": trace("b", 0.6), "c": trace("c", None, False)})
    prompt = payload(given, random.Random(0)).prompt
    assert "Mean score now 0.4000, standard deviation 0.2000; 2 of 3 scripts" in prompt


def test_helper_usage_names_dead_weight() -> None:
    found = {
        f"t:{n}": trace(f"t:{n}", 0.1, script="s", called=("pack_items",) if n else ()) for n in range(3)
    }
    idle = 'def idle(x):\n    """I."""\n    return x'
    given = Evidence(3, found, chain=(layer(2, "", PACK, idle),))
    said = payload(given, random.Random(0)).prompt
    assert "pack_items in 2 of 3, idle in 0 of 3. Dead weight: idle." in said


def test_inspirations_are_the_five_largest_gaps_and_a_plateau_is_told() -> None:
    found = [Inspiration(f"t:{n}", 0.1, 0.1 + n / 10, f"script {n}") for n in range(1, 8)]
    said = payload(evidence(3, inspirations=found), random.Random(0)).prompt
    assert [n for n in range(1, 8) if f"script {n}" in said] == [3, 4, 5, 6, 7]
    assert said.index("script 7") < said.index("script 3")
    assert text("meta_n_plateau") in said, "the layer below lost against its parent"
    better = evidence(3)
    up = {task: trace(task, -1.0) for task in better.traces}
    gained = Evidence(3, better.traces, up, better.chain)
    assert text("meta_n_plateau") not in payload(gained, random.Random(0)).prompt
    assert text("meta_n_plateau") not in payload(evidence(2), random.Random(0)).prompt


def test_representatives_are_a_common_failure_a_regression_and_a_success() -> None:
    chosen = representatives(evidence(3))
    assert [one.task for one in chosen] == ["t:1", "t:0", "t:4"], "t:0 and t:1 lost as much: the first"


@pytest.mark.parametrize(
    ("status", "stderr", "feedback", "wanted"),
    [
        ("turns", "ZeroDivisionError", "", "turn starvation"),
        ("memory", "", "", "environment fault"),
        ("timeout", "IndexError", "", "timeout"),
        ("error", "ZeroDivisionError: division by zero", "", "numeric instability"),
        ("error", "ModuleNotFoundError: No module named 'numpy'", "", "dependency error"),
        ("ok", "", "infeasible: the bin holds 120", "constraint violation"),
        ("error", "IndexError: list index out of range", "", "indexing error"),
        ("syntax", "", "", "syntax error"),
        ("no_code", "", "", "format/parse error"),
        ("ok", "", "the answer holds no JSON list", "format/parse error"),
        ("error", "RuntimeError: hm", "", "runtime error"),
        ("ok", "", "", "unknown"),
        ("error", "TimeoutError then ZeroDivisionError", "", "timeout"),
    ],
)
def test_the_first_failure_class_counts_and_a_structured_reason_outranks_words(
    status: str, stderr: str, feedback: str, wanted: str
) -> None:
    assert failure_class(status, stderr, feedback) == wanted


def test_standard_output_keeps_its_start_and_its_end() -> None:
    kept = shortened("a" * 200 + "b" * 1000 + "c" * 300)
    assert kept.startswith("a" * 200 + "\n[1,000 characters cut]\n")
    assert kept.endswith("c" * 300)
    assert shortened("x" * 500) == "x" * 500


def test_in_an_archive_the_best_known_stands_beside_what_regressed() -> None:
    said = payload(evidence(3, holders={"t:0": 0.75}), random.Random(0)).prompt
    assert "t:0 0.3000 -> 0.0000 (best in the archive 0.7500), t:1 0.3000 -> 0.0000, " in said
