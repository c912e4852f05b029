"""A Meta^n run as a view of its events, and as lines: pure, the same however one comes to a moment."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from tui_chains import (
    PACK,
    begun,
    best,
    candidate,
    evaluated,
    kept,
    large,
    linear,
    omega,
    scored,
)
from tui_hostile import FORBIDDEN, SHORT

from meta_tui.evaluation import chain_text
from meta_tui.evaluation.chain_text import plain, readable, tenth, told_of
from meta_tui.evaluation.chains import EMPTY, ChainView, Reader, apply_all, record_of
from meta_tui.events import Rejected, RunFinished, Stored
from meta_tui.exchange.story import tell
from meta_tui.methods.meta_n.records import (
    ArchiveBest,
    CandidateKept,
    Focus,
    HelperKept,
    LayerKept,
    body,
)
from meta_tui.plain import Plain

END = apply_all(EMPTY, linear())

HOSTILE = SHORT.encode("utf-8", "replace").decode()
"""Without half characters: records are canonical JSON, which has none."""


def line_of(view: ChainView, name: str, width: int = 80) -> str:
    """A line of the archive table as text."""
    attempt = next(one for one in view.attempts if one.id == name)
    return plain([chain_text.archive_line(view, attempt, width)])


def box_of(view: ChainView, name: str) -> str:
    """What stands in the box of a layer."""
    whose = {one.chain[-1]: one for one in view.candidates.values() if one.chain}
    entries = chain_text.layer_entries(view, view.layers[name], whose.get(name))
    return plain(chain_text.entry_lines(entries))


def test_the_archive_has_a_line_for_each_use_of_the_operation_whatever_came_of_it() -> None:
    assert [one.id for one in END.attempts] == ["C0", "C1", "C2", "C3", "C4", "L5", "O6"]
    states = [chain_text.state_of(END, one)[1] for one in END.attempts]
    assert states == [
        "seed",
        "better",
        "regressed",
        "repaired",
        "gate refused",
        "all screened out",
        "nothing usable",
    ]


def test_a_line_says_layer_depth_mean_difference_parent_tasks_won_and_children() -> None:
    """C1: 0.5 of 0.25; C2: 0.4; it holds no task alone that an earlier one did not reach."""
    assert line_of(END, "C1").split() == "C1 L1 2 0.5000 ✓ better +0.250 C0 2 2".split()
    assert line_of(END, "C2").split() == "C2 L2 3 0.4000 ✗ regressed -0.100 C1 0 2".split()
    assert line_of(END, "C3").endswith("◀ best")
    assert line_of(END, "C4").split() == "C4 L4 3 ■ gate refused C1".split()


def test_columns_that_do_not_fit_are_left_out_and_no_line_is_wider_than_its_room() -> None:
    assert "bred" not in chain_text.archive_head(58)
    assert "bred" in chain_text.archive_head(80)
    for width in (58, 66, 80):
        assert all(len(line_of(END, one.id, width)) <= width for one in END.attempts)


def test_a_rise_that_brings_a_regression_back_is_repaired_and_one_that_does_not_is_only_better() -> None:
    """0.5 -> 0.3 -> 0.4 stays below what was lost; -> 0.5 is what there was."""
    for last, word in ((0.4, "better"), (0.5, "repaired")):
        view = grown(0.5, 0.3, last)
        assert view.verdict(view.candidates["C2"]) == word


def grown(*means: float) -> ChainView:
    """A linear run whose candidates have these means on its one task."""
    events = [begun(1)]
    chain: tuple[str, ...] = ()
    for n, mean in enumerate(means):
        parent = f"C{n - 1}" if n else ""
        if n:
            layer = LayerKept(id=f"L{n}", depth=n + 1, pre_process="x = 1", below=chain[-1] if chain else "", parent=parent, call=f"O{n}")  # fmt: skip
            chain = (*chain, layer.id)
            events += omega(n, n + 1, parent, n, "p", layer)
        events += evaluated(n, candidate(f"C{n}", parent, chain, n, mean))
    return apply_all(EMPTY, events)


def test_a_box_says_strategy_helpers_change_screening_skips_tasks_and_repairs() -> None:
    one, two, three = (box_of(END, name) for name in ("L1", "L2", "L3"))
    assert "strategy  Two tasks run out of time: sort first." in one
    assert "helpers   + pack(items: list) -> list  new  Fullest first." in one
    assert "against   the base solver: all of it is new" in one
    assert "screened  ✗ solver_lib:steal  static: line 1: imports os" in one
    assert "tasks     ✓ 3 better (opt:2 +0.50, opt:3 +0.40, opt:0 +0.10)  ✗ 0 regressed  = 1 same" in one
    assert "failed    0 of 4" in one
    assert "~ pack(items: list) -> list  overrides" in two
    assert "against   L1: ~ pre-process +1 -2 lines · ~ pack" in two
    assert "skipped   ▲ on 1 task  pre-process: NameError  (opt:3)" in two
    assert "✗ 2 regressed (opt:0 -0.30, opt:3 -0.10)" in two
    assert "against   L2: ~ pre-process +1 -1 lines · = pack kept" in three
    assert "repairs   ✓ opt:0, opt:3  lost by L2" in three


def test_how_a_layer_came_about_names_what_was_shown_what_was_left_out_and_the_gate() -> None:
    third, fourth = END.attempts[3], END.attempts[4]
    text = plain(chain_text.entry_lines(chain_text.origin_entries(END, third)))
    assert "written   O3: depth 4 above C2, iteration 3, temperature 0.5" in text
    assert "left out  ▲ traces of opt:1, code of L1: the context was full" in text
    text = plain(chain_text.entry_lines(chain_text.origin_entries(END, fourth)))
    assert "shown     2 of 2 failures, 2 of 2 successes" in text
    assert "gate      ■ refused  opt:0 0.5000 → 0.1000" in text


def test_score_by_depth_marks_the_regression_by_sign_and_word_and_the_end_is_told() -> None:
    lines = plain(chain_text.depth_lines(END, END.candidates["C3"], 80)).split("\n")
    assert lines[0] == "the chain of C3"
    found = [(line.split()[0], line.split()[3], " ".join(line.split()[5:])) for line in lines[1:5]]
    assert found == [
        ("1", "0.2500", ""),
        ("2", "0.5000", "✓ better +0.2500"),
        ("3", "0.4000", "✗ regressed -0.1000"),
        ("4", "0.6750", "✓ repaired +0.2750 ◀ best"),
    ]
    assert "    3           1  0.4000   0.4000   ✗ 1" in lines
    assert "held out (2 tasks, part of no mean above): C3 0.5500" in lines
    assert lines[-1] == "■ max iterations after 5 iterations: C3 0.6750, best of tasks 0.6750"


def test_the_matrix_has_a_row_a_task_in_tenths_which_never_fall() -> None:
    lines = plain(chain_text.task_lines(END, END.candidates["C2"], 80)).split("\n")
    rows = [line.split() for line in lines[2:]]
    assert [row[0] for row in rows] == ["opt:0", "opt:1", "opt:2", "opt:3"], "held-out tasks are no part"
    assert [row[-1] for row in rows] == ["455555", "666777", "055555", "044###"]
    assert rows[0][1:5] == ["0.2000", "✗", "regressed", "-0.30"]
    assert [row[-2] for row in rows] == ["C1", "C3", "C1", "C3"], "who holds the best"


def test_tenths_are_exact_at_their_edges() -> None:
    scores = (None, 0.0, 0.0999, 0.1, 0.3, 0.7, 0.9999, 1.0, 1.5, -1.0)
    assert "".join(tenth(score, (0.0, 1.0)) for score in scores) == "-00137" + "9##0"
    assert tenth(5.0, (5.0, 5.0)) == "0"


def test_many_iterations_are_shown_in_as_many_columns_as_there_are_with_both_ends() -> None:
    bests = [ArchiveBest(iteration=n, best="C0") for n in range(51)]
    found = [one.iteration for one in chain_text.sampled(bests, 10)]
    assert (found[0], found[-1], len(found)) == (0, 50, 10)
    assert found == sorted(set(found))
    assert chain_text.sampled(bests, 80) == bests


def test_under_the_guard_tasks_that_were_not_solved_name_whom_they_are_from() -> None:
    seed = candidate("C0", "", (), 0, 0.4, 0.6)
    focus = Stored("focus", "C1", "", body(Focus(candidate="C1", task="opt:0", headroom=0.6, why="rotation")))
    scores = (*scored(0.5), *scored(0.0, 0.6, inherited="C0")[1:])
    child = CandidateKept(id="C1", parent="C0", iteration=1, mean=0.55, scores=scores, focus="opt:0")
    events = [begun(2, guard=True), *evaluated(0, seed), kept(best(0, [seed])), focus]
    events += [
        *omega(1, 2, "C0", 1, "p", None, empty=True),
        *evaluated(1, child),
        kept(best(1, [seed, child])),
    ]
    view = apply_all(EMPTY, events)
    assert [one.id for one in view.attempts] == ["C0", "C1"], "the child stands in the line of its call"
    assert view.attempts[1].call is not None
    origin = plain(chain_text.entry_lines(chain_text.origin_entries(view, view.attempts[1])))
    assert "focus     opt:0, lacks 0.6 (its turn)" in origin
    facts = plain(chain_text.entry_lines(chain_text.candidate_entries(view, child)))
    assert "guard     only opt:0 was solved; 1 task kept their best result" in facts
    assert "= kept from C0" in plain(chain_text.task_lines(view, child, 80))


def test_layers_that_a_run_began_with_have_lines_of_their_own() -> None:
    layer = LayerKept(id="L1", depth=2, pre_process="x = 1", library=(HelperKept(name="f", source=PACK),))
    seed = candidate("C0", "", ("L1",), 0, 0.5)
    view = apply_all(EMPTY, [begun(1), kept(layer, "1"), *evaluated(1, seed)])
    assert [(one.id, chain_text.state_of(view, one)[1]) for one in view.attempts] == [
        ("L1", "given"),
        ("C0", "seed"),
    ]
    assert view.attempts[0].span == "", "no call wrote it"


def test_what_is_evaluated_now_is_counted_and_nothing_is_once_the_run_is_over() -> None:
    events = [*linear()[:1], *evaluated(0, candidate("C0", "", (), 0, 0.1, 0.2, 0.3, 0.4))]
    layer = LayerKept(id="L1", depth=2, pre_process="x = 1", parent="C0", call="O1")
    child = candidate("C1", "C0", ("L1",), 1, 0.1, 0.2, 0.3, 0.4)
    events += [*omega(1, 2, "C0", 1, "p", layer), *evaluated(1, child)[:13]]
    view = apply_all(EMPTY, events)
    assert chain_text.state_of(view, view.attempts[-1])[1] == "2 of 4 tasks"
    over = apply_all(view, [RunFinished("cancelled")])
    assert chain_text.state_of(over, over.attempts[-1])[1] == "not evaluated"


def test_a_record_that_cannot_be_read_is_counted_and_shown_as_it_stands() -> None:
    broken = Stored("candidate", "C9", "", '{"id": 3}')
    view = apply_all(EMPTY, [*linear(), broken, Stored("layer", "L9", "", "no JSON")])
    assert view.unreadable == 2
    assert record_of(broken) is None
    assert told_of(view, broken) == '{"id": 3}'
    assert readable(broken) == '{"id": 3}'


def test_a_chain_of_candidates_that_goes_in_a_circle_ends() -> None:
    one, two = candidate("C1", "C2", ("L1",), 1, 0.5), candidate("C2", "C1", ("L2",), 1, 0.6)
    first = LayerKept(id="L1", depth=2, pre_process="x", below="L2")
    second = LayerKept(id="L2", depth=3, pre_process="x", below="L1")
    view = apply_all(EMPTY, [begun(1), *map(kept, (first, second, one, two))])
    assert len(view.lineage(two)) == 2
    assert box_of(view, "L1")
    assert chain_text.overview(view)


LONG = large(12, 5)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, len(LONG)), min_size=1, max_size=6))
def test_seeking_anywhere_shows_what_playing_up_to_it_shows(places: list[int]) -> None:
    reader = Reader()
    for place in places:
        reader.to(LONG[:place])
        played = apply_all(EMPTY, LONG[:place])
        assert reader.view == played
        assert len(reader.moments) == len(played.bests)
        assert chain_text.overview(reader.view) == chain_text.overview(played)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0, 1, width=16), min_size=2, max_size=8))
def test_verdicts_follow_from_means_alone(means: list[float]) -> None:
    view = grown(*means)
    for n in range(1, len(means)):
        gap = means[n] - means[n - 1]
        word = view.verdict(view.candidates[f"C{n}"])
        assert (word == "worse") == (gap < -1e-9)
        assert (word in ("better", "repaired")) == (gap > 1e-9)
        if word == "repaired":
            assert means[n - 1] < means[n - 2] <= means[n] + 1e-9


def test_hostile_text_is_harmless_in_every_line() -> None:
    view = apply_all(EMPTY, linear(HOSTILE))
    lines = [line for _, part in chain_text.overview(view) for line in part]
    for name, layer in view.layers.items():
        lines += chain_text.entry_lines(chain_text.layer_entries(view, layer, None))
        assert name
    for one in view.attempts:
        lines += chain_text.entry_lines(chain_text.origin_entries(view, one))
    for line in lines:
        for text, _ in line:
            assert not FORBIDDEN.search(text)
            assert "\n" not in text


def told(brief: bool = False, text: str = "") -> str:
    """The plain output of the run of these tests."""
    parts: list[str] = []
    front = Plain(parts.append, brief=brief)
    for event in linear(text):
        front.take(event)
    return "".join(parts)


def test_the_plain_output_tells_layers_screening_gate_scores_by_depth_and_tasks() -> None:
    text = told()
    for words in (
        "screened  ✗ solver_lib:steal  static: line 1: imports os",
        "gate      ■ refused  opt:0 0.5000 → 0.1000",
        "depth 3 · L2 · C2   0.4000  ✗ regressed -0.1000",
        "repairs   ✓ opt:0, opt:3  lost by L2",
        "scores    opt:0 0.5000 · opt:1 0.7000 · opt:2 0.5000 · opt:3 1.0000",
        "▲ L2 says nothing on opt:3: pre-process: NameError",
        "opt:0: code ran: ok",
        "Archive\n",
        "Score by depth\n",
        "Best of each task\n",
    ):
        assert words in text, words
    assert '{"' not in text, "no record is left as JSON"
    assert not FORBIDDEN.search(told(text=HOSTILE).replace("\n", ""))


def test_the_brief_plain_output_has_a_line_a_record() -> None:
    text = told(brief=True)
    assert "Archive" not in text
    assert "layer L1: strategy" in text
    assert '{"' not in text
    assert all(len(line) <= 140 for line in text.split("\n"))


def test_nobody_says_that_a_reminder_was_sent_where_nothing_is_asked_again() -> None:
    events = [*linear()[:-1], Rejected("no part of a layer in the reply"), linear()[-1]]
    parts: list[str] = []
    front = Plain(parts.append)
    for event in events:
        front.take(event)
    texts = ["".join(parts), *(p.text for p in tell(events, "run").passages)]
    assert any("no part of a layer" in text for text in texts)
    assert not any("reminder" in text for text in texts)


def test_an_export_tells_the_same() -> None:
    passages = [p for p in tell(linear(), "run").passages if p.kind == "stored"]
    assert any("screened  ✗ solver_lib:steal" in p.text for p in passages)
    assert [p.note for p in passages[-3:]] == ["Archive", "Score by depth", "Best of each task"]
    assert not any('{"' in p.text for p in passages)
