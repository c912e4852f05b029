"""Text from models is made inert before anybody shows it."""

import time
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from meta_tui.display import clean, marked, one_line

ANY_TEXT = st.text(st.characters())


def test_text_without_controls_is_given_back_as_it_is():
    for text in ("4*5*6", "[b]x[/b]\n\ttab", "বাংলা తెలుగు 漢字 🙂 e\u0301", ""):
        assert clean(text) is text


def test_c0_controls_become_their_pictures():
    assert clean("\x1b[31mred\x07\x00\x7f") == "␛[31mred␇␀␡"


def test_c1_bidi_and_surrogates_become_replacement_characters():
    assert (
        clean("a\x9b31m\u202eb\u2066\ud800c\u200f\U000e0041") == "a\ufffd31m\ufffdb\ufffd\ufffdc\ufffd\ufffd"
    )


def test_line_ends():
    """Windows line ends are line ends; a lone carriage return would overwrite, so it is shown."""
    assert clean("a\r\nb\rc\u2028d") == "a\nb␍c␤d"


@given(ANY_TEXT)
def test_nothing_a_terminal_obeys_is_left(text):
    shown = clean(text)
    left = {unicodedata.category(c) for c in shown if c not in "\n\t"}
    assert not left & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(shown) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    shown.encode("utf-8")


@given(ANY_TEXT, st.integers(0, 50))
def test_cleaning_by_pieces_is_cleaning_the_whole(text, cut):
    text = text.replace("\r\n", "\n")
    if not text[:cut].endswith("\r"):
        assert clean(text[:cut]) + clean(text[cut:]) == clean(text)


def test_marked_shows_what_cannot_be_seen():
    assert marked("a\u200bb\u00a0c\td\ufeff") == "a‧b⍽c→d‧"


def test_one_line_joins_cleans_and_cuts():
    assert one_line("  a\n\n b\tc ") == "a b c"
    assert one_line("x" * 200, 10) == "x" * 9 + "…"
    assert one_line("\x1b[2J\u202e") == "␛[2J\ufffd"
    assert one_line("a" + "\n" * 10_000) == "a"


@given(ANY_TEXT, st.integers(1, 30))
def test_one_line_is_one_line_and_fits(text, limit):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_ten_megabytes_on_one_line_take_linear_time():
    """Clean and hostile text alike: the CPU of 10 MB is near ten times that of 1 MB."""

    def cost(text):
        begun = time.process_time()
        clean(text)
        return time.process_time() - begun

    for pattern in ("word ", "\x1b[31m", "\u202e漢", "\r\n"):
        small = min(cost(pattern * (1_000_000 // len(pattern))) for _ in range(3))
        large = cost(pattern * (10_000_000 // len(pattern)))
        assert large < 40 * max(small, 0.005)
