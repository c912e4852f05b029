"""Two texts side by side: equal lines at one height, and the words that differ marked."""

from hypothesis import given
from hypothesis import strategies as st

from meta_tui.tui.paper import safe
from meta_tui.tui.sides import COMPARED, difference, sides, words


def shown(blocks):
    return [(block.kind, block.text) for block in blocks]


def marked(text, marks):
    return [text[start:end] for start, end in marks]


def test_equal_lines_stand_beside_each_other():
    left, right = sides("one\ntwo\nthree", "one\nthree")
    assert shown(left) == [("same", "one"), ("removed", "two"), ("same", "three")]
    assert shown(right) == [("same", "one"), ("same", ""), ("same", "three")]


def test_words_that_differ_are_marked_on_both_sides():
    old, new = "the sum is 24 today", "the sum is 25 today"
    left, right = words(old, new)
    assert (marked(old, left), marked(new, right)) == (["24"], ["25"])


def test_a_word_more_is_marked_only_where_it_stands():
    old, new = "a b", "a big b"
    left, right = words(old, new)
    assert left == ()
    assert "".join(marked(new, right)).split() == ["big"]


def test_lines_without_common_words_have_no_marks():
    assert words("alpha", "omega") == ((), ())


def test_long_lines_are_compared_from_their_ends():
    old, new = "x" * 5000 + "A" + "y" * 5000, "x" * 5000 + "BC" + "y" * 5000
    left, right = words(old, new)
    assert (marked(old, left), marked(new, right)) == (["A"], ["BC"])


def test_too_long_texts_are_shown_and_not_compared():
    text = "x\n" * COMPARED
    left, _ = sides(text, text)
    assert left[0].kind == "notice"
    assert left[1].text == text


def test_one_column_shows_what_went_and_what_came():
    assert shown(difference("a\nb\nc", "a\nB\nc", 1)) == [
        ("round", "···"),
        ("same", "a"),
        ("removed", "b"),
        ("added", "B"),
        ("same", "c"),
    ]
    assert difference("same", "same") == ()


@given(st.text(max_size=80), st.text(max_size=80))
def test_both_columns_hold_their_whole_text_at_the_same_heights(old, new):
    left, right = sides(old, new)
    heights = [[block.text.count("\n") for block in side] for side in (left, right)]
    assert heights[0] == heights[1]
    for side, kind, text in ((left, "removed", old), (right, "added", new)):
        other = {"removed": "added", "added": "removed"}[kind]
        assert all(block.kind != other for block in side)
        gaps = [
            block
            for block, partner in zip(side, right if side is left else left, strict=True)
            if not (block.kind == "same" and partner.kind != "same")
        ]
        assert "\n".join(block.text for block in gaps) == safe(text)
