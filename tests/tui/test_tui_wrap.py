"""Where lines break: nothing is lost, everything fits, and a line that grows keeps its rows."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from meta_tui.tui.wrap import wrap

TEXT = st.text(st.sampled_from("ab cd  e漢字\u0301é🙂ภা.-"), max_size=80)
WIDTH = st.integers(2, 20)


def rows(text, width):
    return [text[start:end] for start, end in wrap(text, width)]


def test_breaks_stand_after_spaces():
    assert rows("the quick brown fox", 10) == ["the quick ", "brown fox"]


def test_a_long_word_is_cut():
    assert rows("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]


def test_wide_characters_take_two_cells():
    assert rows("漢字漢字漢", 4) == ["漢字", "漢字", "漢"]


def test_an_empty_line_is_one_empty_row():
    assert wrap("", 10) == [(0, 0)]


@given(TEXT, WIDTH)
def test_nothing_is_lost_and_every_row_fits(text, width):
    found = rows(text, width)
    assert "".join(found) == text
    assert all(cell_len(row.rstrip(" ")) <= width for row in found)


@given(TEXT, TEXT, WIDTH)
def test_rows_before_the_last_do_not_change_when_text_is_added(text, more, width):
    before = wrap(text, width)
    again = wrap(text + more, width, before[-1][0])
    assert before[:-1] + again == wrap(text + more, width)


def test_a_line_that_fits_is_not_broken_although_it_has_more_characters_than_cells():
    assert rows("e\u0301 " * 5, 12) == ["e\u0301 " * 5]


def test_a_heap_of_marks_is_cut():
    """A row never holds more than a few characters for each of its cells."""
    assert max(end - start for start, end in wrap("Z" + "\u0301" * 10_000, 10)) <= 80
