"""The mapping of a run's parts: as a dict is, and never changed."""

import random

from meta_tui.tui.parts import WIDE, Parts


def test_it_holds_what_a_dict_holds_and_earlier_ones_keep_theirs():
    chance, plain, parts = random.Random(3), {}, Parts()
    kept = []
    for number in range(1000):
        key = f"{chance.randrange(WIDE * 5)}/1"
        kept.append((dict(plain), parts))
        plain[key] = number
        parts = parts.with_(key, number)
    for held, earlier in [*kept[::50], (plain, parts)]:
        assert dict(earlier) == held
        assert len(earlier) == len(held)
        assert all(earlier[key] == value for key, value in held.items())
        assert "nowhere" not in earlier
        assert earlier.get("nowhere", 7) == 7


def test_two_are_equal_whatever_came_first():
    one = Parts().with_("1", "a").with_("2", "b").with_("\ud800", "c")
    other = Parts().with_("\ud800", "c").with_("2", "x").with_("1", "a").with_("2", "b")
    assert one == other
    assert one != other.with_("3", "d")
    assert list(one) == list(other)


def test_another_part_copies_a_drawer_and_shares_the_rest():
    parts = Parts()
    for number in range(500):
        parts = parts.with_(str(number), number)
    after = parts.with_("7", 0)
    assert sum(a is not b for a, b in zip(parts._drawers, after._drawers, strict=True)) == 1
