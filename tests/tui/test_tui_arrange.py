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
