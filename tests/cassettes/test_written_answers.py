"""What the shipped cassettes claim is true: every answer is worked out here in another way."""

from __future__ import annotations

import asyncio
import json
import math
import re
from calendar import SUNDAY, Calendar
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, permutations, product

import pytest
from written import CASSETTES, SHIPPED, asked, sample, story

from meta_tui.methods.artifacts import answer_of
from meta_tui.runlog import read
from meta_tui.tasks import grade


def answer(name: str) -> str:
    """The answer that a cassette gives."""
    text = read(SHIPPED / f"{name}.jsonl").answer
    assert text is not None
    return text


def said(name: str, who: str, nth: int = 0) -> str:
    """What somebody says in a story."""
    return [part.text for part in story(name)[1] if part.who == who][nth]


def is_square(n: int) -> bool:
    return math.isqrt(n) ** 2 == n


# Game of 24.


def _values(numbers: tuple[Fraction, ...], whole: bool = False) -> Iterator[Fraction]:
    """The value of every expression that uses all the numbers, by splitting them in two."""
    if len(numbers) == 1:
        yield numbers[0]
    for size in range(1, len(numbers)):
        for left in combinations(range(len(numbers)), size):
            one = tuple(n for i, n in enumerate(numbers) if i in left)
            other = tuple(n for i, n in enumerate(numbers) if i not in left)
            for a, b in product(_values(one, whole), _values(other, whole)):
                yield from (a + b, a - b, a * b)
                if b and not (whole and (a / b).denominator > 1):
                    yield a / b


def test_game24_the_answer_uses_the_four_numbers_and_makes_24() -> None:
    text = answer("game24-python")
    assert sorted(re.findall(r"\d+", text), key=int) == ["2", "3", "5", "12"]
    assert text == "12 / (3 - 5 / 2)"
    assert Fraction(12) / (Fraction(3) - Fraction(5, 2)) == 24


def test_game24_can_be_solved_and_only_with_a_fraction_on_the_way() -> None:
    numbers = tuple(map(Fraction, (2, 3, 5, 12)))
    assert Fraction(24) in _values(numbers)
    assert Fraction(24) not in _values(numbers, whole=True)


def test_game24_the_near_misses_of_the_search_by_hand_are_right() -> None:
    assert (12 + 5 + 2 * 3, 12 + 3 * 5 - 2, 12 + 2 * 5 + 3, 3 * 12 - 2 * 5) == (23, 25, 25, 26)


# Checkmate.


def test_checkmate_is_the_only_mate_and_the_table_of_checks_is_complete() -> None:
    chess = pytest.importorskip("chess", reason="the rules of chess: pip install meta-tui[graders]")
    board = chess.Board()
    moves = story("checkmate-second-opinion")[0].split("\n\n")[1]
    for move in re.sub(r"\d+\.", "", moves).split():
        board.push_san(move)
    answers = {}
    for move in [m for m in board.legal_moves if board.gives_check(m)]:
        name = board.san(move)
        board.push(move)
        answers[name.rstrip("+#")] = sorted(board.san(reply) for reply in board.legal_moves)
        board.pop()
    assert [name for name, replies in answers.items() if not replies] == ["Qxg5"]
    rows = re.findall(
        r"^\| ([QB]\S+) \| ([^|:]+)", said("checkmate-second-opinion", "Expert Chess Player"), re.M
    )
    claimed = {move.rstrip("+"): sorted(re.findall(r"[A-Zabh]\S*\d", replies)) for move, replies in rows}
    assert claimed == answers
    assert answer("checkmate-second-opinion") == "Qxg5#"


def test_checkmate_the_position_that_the_arbiter_gets_is_the_right_one() -> None:
    chess = pytest.importorskip("chess", reason="the rules of chess: pip install meta-tui[graders]")
    board = chess.Board()
    question = story("checkmate-second-opinion")[0]
    for move in re.sub(r"\d+\.", "", question.split("\n\n")[1]).split():
        board.push_san(move)
    asked = said("checkmate-second-opinion", "Meta Model", 1)
    claimed = {
        (square, colour == "White", kind)
        for colour, men in re.findall(r"^(White|Black): (.+)\.$", asked, re.M)
        for kind, squares in re.findall(
            r"(king|queen|rook|bishop|knight|pawn)s? ((?:[a-h]\d(?:, | and )?)+)", men
        )
        for square in re.findall(r"[a-h]\d", squares)
    }
    pieces = board.piece_map().items()
    assert claimed == {(chess.square_name(s), p.color, chess.piece_name(p.piece_type)) for s, p in pieces}


# The sonnet.

RHYMES = {
    "ten again": "A",
    "page age": "B",
    "wall fall": "C",
    "sow grow": "D",
    "prune moon": "E",
    "birds words": "F",
    "late gate": "G",
}
"""The sounds in which the lines end, judged by ear."""


def _lines(poem: str) -> list[list[str]]:
    return [re.findall(r"[a-z']+", line.lower()) for line in poem.split("\n") if line.strip()]


def test_sonnet_has_the_scheme_and_the_words() -> None:
    poem = answer("sonnet-repaired")
    sounds = {word: sound for pair, sound in RHYMES.items() for word in pair.split()}
    assert "".join(sounds[line[-1]] for line in _lines(poem)) == "ABABCDCDEFEFGG"
    words = {word for line in _lines(poem) for word in line}
    assert {"lantern", "orchard", "clock"} <= words
    assert [len(stanza.split("\n")) for stanza in poem.split("\n\n")] == [4, 4, 4, 2]


def test_sonnet_rhymes_and_scans_by_the_dictionary() -> None:
    pronouncing = pytest.importorskip("pronouncing", reason="a dictionary of sounds: pip install pronouncing")
    for pair in RHYMES:
        first, second = pair.split()
        assert second in pronouncing.rhymes(first)
    assert "door" not in pronouncing.rhymes("late")
    for poem in (answer("sonnet-repaired"), said("sonnet-repaired", "Expert Poet")):
        for line in _lines(poem):
            assert sum(_syllables(pronouncing.phones_for_word, word) for word in line) == 10, line


def _syllables(phones: Callable[[str], list[str]], word: str) -> int:
    found = phones(word) or phones(word.removesuffix("'s"))
    return sum(char.isdigit() for char in found[0])


def test_sonnet_the_editor_changed_only_what_was_named() -> None:
    draft, repaired = _lines(said("sonnet-repaired", "Expert Poet")), _lines(answer("sonnet-repaired"))
    changed = [n for n, (a, b) in enumerate(zip(draft, repaired, strict=True), 1) if a != b]
    assert changed == [5, 6, 14]
    assert draft[5][1:] == repaired[5][1:]
    assert draft[13][:-1] == repaired[13][:-1]


# Words, seats, shapes, tilings, squares, bakery, race, shop.


def test_words_the_answer_is_the_list_in_order() -> None:
    given = story("words-sorted")[0].split("\n\n")[1].split()
    assert answer("words-sorted").split() == sorted(given)
    assert (len(given), given.index("thistle"), given.count("thistle")) == (13, 2, 2)
    assert given[11] == "thistle"


def test_seats_240_by_placing_the_pairs_one_after_the_other() -> None:
    """Count by choosing two seats for each pair that are no neighbours, times 2 for each pair."""
    seats = frozenset(range(6))

    def ways(free: frozenset[int], pairs: int) -> int:
        if not pairs:
            return 1
        return sum(ways(free - {a, b}, pairs - 1) for a, b in combinations(sorted(free), 2) if b - a > 1)

    assert answer("seats-corrected") == str(ways(seats, 3) * 2**3) == "240"


def test_shapes_the_corners_make_a_kite_and_nothing_more_special() -> None:
    path = re.findall(r"(\d+),(\d+)", story("shapes-malformed-reply")[0].split('"')[1])
    p, q, r, s = (complex(int(x), int(y)) for x, y in path)
    assert abs(p - q) == abs(p - s)
    assert abs(r - q) == abs(r - s)
    assert abs(p - q) != abs(r - q)
    opposite = (((q - p), (s - r)), ((r - q), (p - s)))
    assert all((one * other.conjugate()).imag != 0 for one, other in opposite), "no sides are parallel"
    assert answer("shapes-malformed-reply") == "(D) kite"


def test_tilings_counted_column_by_column() -> None:
    """The other way round than in the story: whole columns of 7, as transfer between edges."""

    def fillings(edge: int, row: int = 0, after: int = 0) -> Iterator[int]:
        if row == 7:
            yield after
        elif edge >> row & 1:
            yield from fillings(edge, row + 1, after)
        else:
            yield from fillings(edge, row + 1, after | 1 << row)
            if row < 6 and not edge >> (row + 1) & 1:
                yield from fillings(edge, row + 2, after)

    ways = {0: 1}
    for _ in range(10):
        following: dict[int, int] = {}
        for edge, count in ways.items():
            for after in fillings(edge):
                following[after] = following.get(after, 0) + count
        ways = following
    assert answer("tilings-code-timeout") == str(ways[0])


def test_squares_the_numbers_found_too_late_are_right_and_the_rejected_ones_are_not() -> None:
    assert all(is_square(a + b) for a, b in combinations((2, 359, 482, 3362), 2))
    assert all(is_square(a + b) for a, b in combinations((6, 19, 30), 2))
    assert not any(
        all(is_square(n + d) for n in (6, 19, 30)) for d in range(1, 100_000) if d not in (6, 19, 30)
    )
    assert [a + b for a, b in combinations((1, 24, 120, 3480), 2) if not is_square(a + b)] == [3504]


def test_squares_the_table_of_partners_is_complete() -> None:
    text = said("squares-round-limit", "Expert Searcher")
    rows = re.findall(r"^\| (\d+) \| \d+[^|]* \| ([\d, ]+)", text, re.M)
    claimed = {int(x): [int(y) for y in ys.split(",")] for x, ys in rows}
    true = {
        x: [y for y in range(2, x * x) if y != x and is_square(x * x + y * y - 2)] for x in range(5, 24, 2)
    }
    assert claimed == true
    assert not any(is_square(x * x + y * y - 2) for x in range(2, 24, 2) for y in range(2, x * x) if y != x)


def test_squares_the_partners_with_2_are_complete() -> None:
    partners = [y for y in range(3, 400) if y != 19 and is_square(19 * 19 + y * y - 4)]
    assert partners == [22, 58, 178]
    assert [pair for pair in combinations(partners, 2) if is_square(pair[0] ** 2 + pair[1] ** 2 - 4)] == [
        (22, 58)
    ]


def test_bakery_counted_one_concha_at_a_time() -> None:
    unsold = [concha for concha in range(18 * 24) if concha % 3 == 2]
    boxes = [unsold[start : start + 10] for start in range(0, len(unsold), 10)]
    assert answer("bakery-spanish") == str(sum(85 for box in boxes if len(box) == 10)) == "1190"


def test_race_has_one_order_with_one_false_statement() -> None:
    fitting = []
    for order in permutations(["Ada", "Boris", "Chen", "Dalia"]):
        place = {name: n for n, name in enumerate(order)}
        true = (
            order[0] in ("Ada", "Boris"),
            place["Chen"] == place["Boris"] + 1,
            abs(place["Ada"] - place["Chen"]) == 1,
            place["Ada"] == 2,
        )
        if sum(true) == 3:
            fitting.append((", ".join(order), true.index(False)))
    assert fitting == [(answer("race-several-experts"), 1)]


def test_race_the_table_of_the_second_expert_is_right() -> None:
    text = said("race-several-experts", "Expert Puzzle Setter")
    rows = re.findall(r"^\| (\w+, \w+, \w+, \w+) \| (\w+) \| (\w+) \| (\w+) \| (\d)", text, re.M)
    assert len(rows) == 6
    for order, *claims, wrong in rows:
        place = {name: n for n, name in enumerate(order.split(", "))}
        true = (
            0 in (place["Ada"], place["Boris"]),
            place["Chen"] == place["Boris"] + 1,
            abs(place["Ada"] - place["Chen"]) == 1,
        )
        assert claims == ["right" if t else "wrong" for t in true]
        assert int(wrong) == true.count(False)


def test_shop_is_open_on_25_days() -> None:
    """November 2025 is such a month."""
    days = [(day, week) for day, week in Calendar().itermonthdays2(2025, 11) if day]
    assert (len(days), days[0][1]) == (30, 5)
    assert [day for day, week in days if week == SUNDAY] == [2, 9, 16, 23, 30]
    assert answer("baseline-standard") == str(sum(week != SUNDAY for _, week in days)) == "25"


# Agentic meta-reasoning, Direct Control, RLM.


def test_multiples_of_seven_or_eleven_but_not_both() -> None:
    assert sum((n % 7 == 0) != (n % 11 == 0) for n in range(1, 1000)) == 208
    assert sum(n % 7 == 0 or n % 11 == 0 for n in range(1, 1000)) == 220
    assert answer_of(answer("staged-early-stop")) == answer_of(answer("direct-two-agree")) == "208"


def test_multiples_of_seven_among_the_values_of_a_quadratic() -> None:
    fits = [n for n in range(1, 51) if (n * n + n + 1) % 7 == 0]
    assert [(n * n + n + 1) % 7 for n in range(7)] == [1, 3, 0, 6, 0, 3, 1]
    assert (sum(n for n in fits if n % 7 == 2), sum(n for n in fits if n % 7 == 4)) == (161, 175)
    assert sum(fits) == 336
    assert answer_of(answer("staged-native")) == answer_of(answer("direct-native")) == "336"


def test_remainders_the_attempts_are_wrong_as_the_story_says_and_the_answer_is_the_smallest() -> None:
    def fits(n: int) -> bool:
        return all(n % k == 1 for k in range(2, 7)) and n % 7 == 0

    assert min(n for n in range(1, 1000) if fits(n)) == 301
    assert fits(721)
    assert [91 % k for k in range(2, 8)] == [1, 1, 3, 1, 1, 0]
    assert answer_of(answer("staged-forced")) == answer_of(answer("direct-forced")) == "301"


def test_teams_that_keep_two_players_apart() -> None:
    splits = {
        frozenset((frozenset(team), frozenset(range(8)) - frozenset(team)))
        for team in combinations(range(8), 4)
    }
    apart = [split for split in splits if not any({0, 1} <= team for team in split)]
    assert (len(splits), len(apart)) == (35, 20)
    assert answer_of(answer("staged-note-repair")) == answer_of(answer("direct-repair")) == "20"


def test_orchard_the_south_has_most_apples() -> None:
    lines = story("rlm-orchard")[0].split("\n")[1:]
    sums = {line.split(":")[0]: sum(map(int, re.findall(r"\d+", line))) for line in lines}
    assert sums == {"north": 60, "east": 62, "south": 63, "west": 61}
    assert answer("rlm-orchard") == max(sums, key=lambda name: sums[name]) == "south"


def test_three_of_the_five_numbers_have_the_sum_of_digits_twenty() -> None:
    numbers = story("rlm-digits-forced")[0].split("\n")[1:]
    sums = [sum(map(int, number)) for number in numbers]
    assert sums == [20, 20, 17, 20, 22]
    fitting = [number for number, total in zip(numbers, sums, strict=True) if total == 20]
    assert answer("rlm-digits-forced") == ", ".join(fitting)


def test_the_shop_in_elm_street_sold_one_piece_more() -> None:
    shops = story("rlm-two-depths")[0].split("\n\n")[1:]
    sums = {shop.split(":")[0]: sum(map(int, re.findall(r"\d+", shop))) for shop in shops}
    assert sums == {"Elm Street": 36, "Oak Street": 35}
    assert answer("rlm-two-depths") == "Elm Street"


# The timetable, and the digits.

TRAINS = {
    ("Alder", "Birch"): ["14:12 14:41", "14:32 15:01", "14:52 15:21", "15:12 15:41"],
    ("Birch", "Cedar"): ["14:25 15:00", "14:45 15:20", "14:58 15:31", "15:15 15:50", "15:28 16:01"],
}


def timetable(instruction: str) -> str:
    """The function of the story: the next three trains of a line, as JSON."""
    found = re.fullmatch(r"(\w+) to (\w+) after (\d\d:\d\d)", instruction)
    if not found:
        raise ValueError("ask for one line at a time, as FROM to TO after HH:MM")
    line = [train.split() for train in TRAINS[found.group(1), found.group(2)]]
    return json.dumps([t for t in line if t[0] >= found.group(3)][:3], separators=(",", ":"))


def test_timetable_the_story_has_what_such_a_function_gives() -> None:
    with pytest.raises(ValueError, match="one line at a time"):
        timetable("When do trains go from Alder to Birch and on to Cedar after 14:05?")
    assert said("timetable-function", "Expert Timetable", 0) == timetable("Alder to Birch after 14:05")
    assert said("timetable-function", "Expert Timetable", 1) == timetable("Birch to Cedar after 14:41")


def test_timetable_no_connection_arrives_earlier() -> None:
    def minutes(clock: str) -> int:
        return int(clock[:2]) * 60 + int(clock[3:])

    legs = [[tuple(map(minutes, t.split())) for t in trains] for trains in TRAINS.values()]
    ways = [(b[1], a[0], b[0]) for a, b in product(*legs) if a[0] >= minutes("14:05") and b[0] - a[1] >= 6]
    assert min(ways) == (minutes("15:31"), minutes("14:12"), minutes("14:58"))
    assert answer("timetable-function").endswith("arrival in Cedar at 15:31.")


def test_history_the_digits_by_trying_all_numbers() -> None:
    def fits(n: int) -> bool:
        return sum(map(int, str(n))) == 12 and int(str(n)[::-1]) - n == 198 and n % 8 == 0

    assert answer("history-summarised") == str(*[n for n in range(100, 1000) if fits(n)])


# Runs on samples of the shipped tasks.


def test_a_run_that_names_a_sample_asks_its_question_and_is_graded_as_its_story_says() -> None:
    verdicts = {}
    for cassette in CASSETTES:
        if cassette.sample:
            recording = read(SHIPPED / f"{cassette.name}.jsonl")
            assert recording.started.sample == cassette.sample
            assert recording.started.question == asked(cassette.sample)
            reply = f'>> FINAL ANSWER:\n"""\n{recording.answer}\n"""'
            verdicts[cassette.name] = asyncio.run(grade(sample(cassette.sample), reply)).verdict
    assert verdicts == {
        "sample-game24-experts": "correct",
        "sample-game24-standard": "incorrect",
        "sample-words-cot": "correct",
    }


def test_the_expression_of_the_sample_is_among_those_that_make_24() -> None:
    assert sorted(re.findall(r"\d+", answer("sample-game24-experts")), key=int) == ["4", "9", "10", "11"]
    assert (10 * (11 - 9)) + 4 == 24
    assert Fraction(24) in _values(tuple(map(Fraction, (4, 9, 10, 11))))
