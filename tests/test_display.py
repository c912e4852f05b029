"""Text from models is made inert before anybody shows it."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta_tui.display import clean, count, dollars, letters, marked, one_line, speaks_unicode

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


def test_signs_become_letters_character_by_character():
    assert letters("✓ answered · ◆ cached ─╭│") == "v answered . + cached -+|"
    assert letters("漢é") == "??"
    assert letters("plain") is letters("plain")


def test_states_can_be_told_apart_in_letters():
    from meta_tui.tui.words import GLYPHS

    signs = {glyph for glyph, _, _ in GLYPHS.values()}
    assert len({letters(sign) for sign in signs}) == len(signs)
    assert "?" not in {letters(sign) for sign in signs}


@given(ANY_TEXT)
def test_letters_are_ascii_and_as_many(text):
    assert letters(text).isascii()
    assert len(letters(text)) == len(text)


@pytest.mark.parametrize(
    ("environ", "unicode"),
    [
        ({}, True),
        ({"LANG": "en_GB.UTF-8"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ({"LC_CTYPE": "C.UTF-8"}, True),
        ({"LC_ALL": "", "LANG": "C.utf8"}, True),
    ],
)
def test_the_locale_says_whether_there_are_signs(environ, unicode):
    assert speaks_unicode(environ) == unicode


def test_an_unknown_price_is_never_zero():
    assert dollars(None) == "-"
    assert dollars(0.0) == "$0"
    assert dollars(0.041) == "$0.0410"
    assert dollars(1234.5) == "$1,234.50"


def test_one_is_not_several():
    assert (count(1, "call"), count(2, "call"), count(0, "reply", "replies")) == (
        "1 call",
        "2 calls",
        "0 replies",
    )
