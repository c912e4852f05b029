"""Which parts get a pane: what goes on, what was chosen, what came last; nobody is lost."""

from hypothesis import given
from hypothesis import strategies as st

from meta_tui.tui.arrange import LOWEST, POOL, arrange
from meta_tui.tui.state import Block, SpanView


def span(id, open=False):
    return SpanView(str(id), "expert", f"Expert {id}", blocks=(Block("reply", ("x",), open=open),))


def test_few_parts_all_have_panes():
    plan = arrange([span(1), span(2)], None, 60, 30)
    assert (plan.rows, plan.panes, plan.columns) == ((), ("1", "2"), 1)


def test_the_latest_have_panes_when_there_is_no_room():
    plan = arrange([span(n) for n in range(1, 8)], None, 60, 30)
    assert plan.panes == ("5", "6", "7")
    assert plan.rows == ("1", "2", "3", "4")


def test_what_goes_on_and_what_was_chosen_come_first():
    spans = [span(1), span(2, open=True), *(span(n) for n in range(3, 9))]
    plan = arrange(spans, "1", 60, 30)
    assert {"1", "2"} <= set(plan.panes)


def test_wide_areas_have_two_columns():
    assert arrange([span(1), span(2)], None, 120, 30).columns == 2
    assert arrange([span(1)], None, 120, 30).columns == 1


@given(st.integers(0, 40), st.integers(1, 250), st.integers(1, 80), st.integers(0, 45))
def test_every_part_is_there_exactly_once_and_in_order(count, width, height, chosen):
    spans = [span(n) for n in range(count)]
    plan = arrange(spans, str(chosen), width, height)
    assert sorted(map(int, (*plan.rows, *plan.panes))) == list(range(count))
    assert list(plan.panes) == sorted(plan.panes, key=int)
    assert len(plan.panes) <= POOL
    if plan.panes and count > len(plan.panes) > plan.columns:
        assert len(plan.panes) / plan.columns * LOWEST <= height + LOWEST


def part(id, role, name, phase="done"):
    return SpanView(id, role, name, phase=phase)


def seats(*rounds):
    """The three roles of instance 1 in so many attempts, and of instance 2 in one."""
    names = ("Reasoner", "Monitor", "Controller")
    one = [
        part(f"1/{3 * r + n + 1}", name.lower(), name)
        for r in range(rounds[0])
        for n, name in enumerate(names)
    ]
    two = [part(f"2/{n + 1}", name.lower(), name) for n, name in enumerate(names)]
    return [part("1", "instance", "t:1", rounds[1]), *one, part("2", "instance", "t:2", "running"), *two]


def test_of_instances_that_go_on_at_once_the_first_has_a_pane_for_each_role():
    assert arrange(seats(1, "running"), None, 60, 30).panes == ("1/1", "1/2", "1/3")
    assert arrange(seats(1, "done"), None, 60, 30).panes == ("2/1", "2/2", "2/3")


def test_a_role_keeps_its_place_and_shows_its_latest_attempt():
    """The second attempt has a Reasoner so far: it stands first, before the Monitor of the first."""
    spans = [span for span in seats(2, "running") if span.id not in ("1/5", "1/6")]
    assert arrange(spans, None, 60, 30).panes == ("1/4", "1/2", "1/3")


def test_the_instance_of_a_chosen_part_has_the_panes():
    assert set(arrange(seats(1, "running"), "2", 60, 37).panes) == {"2", "2/1", "2/2", "2/3"}
    assert "2/2" in arrange(seats(1, "running"), "2/2", 60, 14).panes


def test_nobody_is_lost_where_an_instance_has_the_panes():
    spans = seats(3, "running")
    plan = arrange(spans, None, 60, 30)
    assert sorted((*plan.rows, *plan.panes)) == sorted(span.id for span in spans)
