"""Puzzles about numbers, sets and graphs."""

from __future__ import annotations

import random
from itertools import combinations, pairwise

from meta_tui.tasks.generating.puzzle_kinds import Kind, Puzzle, written

PRIMES = tuple(n for n in range(11, 1000) if all(n % d for d in range(2, 32) if d < n))


def int_inverse(rng: random.Random) -> Puzzle:
    """The number that a line of operations takes to another."""
    answer = rng.randint(100, 99_999) * rng.choice((1, -1))
    times, plus = rng.randint(3, 97), rng.randint(10, 9_999)
    return written(
        """
        def sat(n: int, times=<times>, plus=<plus>, target=<target>):
            return times * n + plus == target
        """,
        answer, times=times, plus=plus, target=times * answer + plus,
    )  # fmt: skip


def half_way(rng: random.Random) -> Puzzle:
    """A number with a fraction, between two others at a given share of the way."""
    low, step = rng.randint(-500, 500), rng.randint(3, 400)
    share = rng.choice((0.25, 0.5, 0.75, 0.125))
    high = low + 2 * step + 1
    return written(
        """
        def sat(x: float, low=<low>, high=<high>, share=<share>):
            return abs((x - low) - share * (high - low)) < 1e-9
        """,
        low + share * (high - low), low=low, high=high, share=share,
    )  # fmt: skip


def digits_sum(rng: random.Random) -> Puzzle:
    """A number with so many digits, their sum, and a divisor."""
    answer = rng.randint(10_000, 99_999_999)
    divisor = rng.choice((7, 11, 13, 17))
    answer -= answer % divisor
    total = sum(map(int, str(answer)))
    return written(
        """
        def sat(n: int, digits=<digits>, total=<total>, divisor=<divisor>):
            return n > 0 and len(str(n)) == digits and sum(map(int, str(n))) == total and n % divisor == 0
        """,
        answer, digits=len(str(answer)), total=total, divisor=divisor,
    )  # fmt: skip


def list_mean_median(rng: random.Random) -> Puzzle:
    """Different numbers with a mean and a median."""
    length, mean = rng.choice((5, 7, 9)), rng.randint(10, 80)
    median = mean + rng.choice((-1, 1)) * rng.randint(2, 8)
    half = length // 2
    low = [median - 1 - i for i in range(half)]
    high = [median + 1 + i for i in range(half)]
    slack = mean * length - sum(low) - median - sum(high)
    if slack > 0:
        high[-1] += slack
    else:
        low[-1] += slack
    return written(
        """
        def sat(nums: List[int], length=<length>, mean=<mean>, median=<median>):
            assert len(nums) == length == len(set(nums))
            return sum(nums) == mean * length and sorted(nums)[length // 2] == median
        """,
        sorted([*low, median, *high]), length=length, mean=mean, median=median,
    )  # fmt: skip


def subset_sum(rng: random.Random) -> Puzzle:
    """Places in a list whose numbers make a sum."""
    nums = [rng.randint(20, 999) for _ in range(rng.randint(8, 14))]
    places = sorted(rng.sample(range(len(nums)), rng.randint(3, len(nums) - 3)))
    return written(
        """
        def sat(places: List[int], nums=<nums>, target=<target>):
            assert all(0 <= i < len(nums) for i in places) and len(set(places)) == len(places)
            return sum(nums[i] for i in places) == target
        """,
        places, nums=nums, target=sum(nums[i] for i in places),
    )  # fmt: skip


def factor(rng: random.Random) -> Puzzle:
    """A proper divisor."""
    p, q = rng.sample(PRIMES, 2)
    return written(
        """
        def sat(d: int, n=<n>):
            return 1 < d < n and n % d == 0
        """,
        p, n=p * q,
    )  # fmt: skip


def crt(rng: random.Random) -> Puzzle:
    """A number with given remainders."""
    moduli = sorted(rng.sample((7, 11, 13, 17, 19, 23), 3))
    remainders = [rng.randrange(2, m) for m in moduli]
    answer = next(
        n for n in range(2, 20_000) if all(n % m == r for m, r in zip(moduli, remainders, strict=True))
    )
    return written(
        """
        def sat(n: int, moduli=<moduli>, remainders=<remainders>):
            return n > 0 and all(n % m == r for m, r in zip(moduli, remainders))
        """,
        answer, moduli=moduli, remainders=remainders,
    )  # fmt: skip


def cubic_root(rng: random.Random) -> Puzzle:
    """A whole root of a cubic."""
    root, a, b = rng.randint(12, 400), rng.randint(2, 60), rng.randint(2, 900)
    return written(
        """
        def sat(x: int, a=<a>, b=<b>, c=<c>):
            return x ** 3 + a * x ** 2 + b * x == c
        """,
        root, a=a, b=b, c=root**3 + a * root**2 + b * root,
    )  # fmt: skip


def four_squares(rng: random.Random) -> Puzzle:
    """A number as the sum of squares of growing numbers."""
    parts = sorted(rng.sample(range(1, 40), rng.choice((3, 4))))
    return written(
        """
        def sat(parts: List[int], total=<total>, count=<count>):
            assert len(parts) == count and all(0 < x < y for x, y in zip(parts, parts[1:]))
            return sum(x * x for x in parts) == total
        """,
        parts, total=sum(x * x for x in parts), count=len(parts),
    )  # fmt: skip


def coins(rng: random.Random) -> Puzzle:
    """How many of each coin, with no more coins than the fewest that do."""
    values = [1, *sorted(rng.sample(range(3, 40), 3))]
    total = rng.randint(60, 300)
    best: list[tuple[int, ...]] = [(0,) * len(values)]
    for amount in range(1, total + 1):
        options = [(i, best[amount - v]) for i, v in enumerate(values) if v <= amount]
        i, counts = min(options, key=lambda option: (sum(option[1]), option[0]))
        best.append((*counts[:i], counts[i] + 1, *counts[i + 1 :]))
    return written(
        """
        def sat(counts: List[int], values=<values>, total=<total>, most=<most>):
            assert len(counts) == len(values) and min(counts) >= 0
            return sum(c * v for c, v in zip(counts, values)) == total and sum(counts) <= most
        """,
        list(best[total]), values=values, total=total, most=sum(best[total]),
    )  # fmt: skip


def clique(rng: random.Random) -> Puzzle:
    """Points of a graph that are all joined to each other."""
    points, size = rng.randint(8, 12), rng.choice((4, 5))
    hidden = sorted(rng.sample(range(points), size))
    pairs = list(combinations(range(points), 2))
    edges = [list(p) for p in pairs if set(p) <= set(hidden) or rng.random() < 0.25]
    return written(
        """
        def sat(nodes: List[int], size=<size>, edges=<edges>):
            assert len(set(nodes)) == len(nodes) == size
            return all([min(a, b), max(a, b)] in edges for a in nodes for b in nodes if a != b)
        """,
        hidden, size=size, edges=edges,
    )  # fmt: skip


def colouring(rng: random.Random) -> Puzzle:
    """Colours for the points of a graph so that joined points differ."""
    points, colours = rng.randint(7, 11), rng.choice((3, 4))
    answer = [i if i < colours else rng.randrange(colours) for i in range(points)]
    pairs = [p for p in combinations(range(points), 2) if answer[p[0]] != answer[p[1]]]
    must = [p for p in pairs if p[1] < colours]
    edges = sorted({*must, *rng.sample(pairs, len(pairs) // 2)})
    return written(
        """
        def sat(colours: List[int], points=<points>, most=<most>, edges=<edges>):
            assert len(colours) == points and all(0 <= c < most for c in colours)
            return all(colours[a] != colours[b] for a, b in edges)
        """,
        answer, points=points, most=colours, edges=[list(e) for e in edges],
    )  # fmt: skip


def growing_places(rng: random.Random) -> Puzzle:
    """Places of a growing run inside a list, as long as the longest."""
    nums = rng.sample(range(10, 100), rng.randint(9, 13))
    best: list[list[int]] = []
    for i, n in enumerate(nums):
        before = max((run for run in best if nums[run[-1]] < n), key=len, default=[])
        best.append([*before, i])
    answer = max(best, key=len)
    return written(
        """
        def sat(places: List[int], nums=<nums>, length=<length>):
            assert len(places) == length and all(0 <= i < len(nums) for i in places)
            return all(i < j and nums[i] < nums[j] for i, j in zip(places, places[1:]))
        """,
        answer, nums=nums, length=len(answer),
    )  # fmt: skip


def expr_target(rng: random.Random) -> Puzzle:
    """Signs between numbers that, from left to right, make a target."""
    nums = [rng.randint(2, 12) for _ in range(rng.randint(5, 7))]
    signs = [rng.choice("+-*") for _ in nums[1:]]
    value = nums[0]
    for sign, n in zip(signs, nums[1:], strict=True):
        value = value + n if sign == "+" else value - n if sign == "-" else value * n
    return written(
        """
        def sat(signs: List[str], nums=<nums>, target=<target>):
            assert len(signs) == len(nums) - 1
            value = nums[0]
            for sign, n in zip(signs, nums[1:]):
                value = {"+": value + n, "-": value - n, "*": value * n}[sign]
            return value == target
        """,
        signs, nums=nums, target=value,
    )  # fmt: skip


def interval_cover(rng: random.Random) -> Puzzle:
    """The fewest intervals that cover a stretch."""
    length, needed = rng.randint(40, 90), rng.randint(3, 5)
    cuts = [0, *sorted(rng.sample(range(4, length - 3), needed - 1)), length]
    spans = [[max(0, a - rng.randint(0, 3)), b] for a, b in pairwise(cuts)]
    spans += [[a, a + rng.randint(3, length // needed)] for a in rng.sample(range(1, length - 5), 6)]
    rng.shuffle(spans)
    answer = _cover(spans, length)
    return written(
        """
        def sat(chosen: List[int], spans=<spans>, length=<length>, most=<most>):
            assert len(chosen) <= most and all(0 <= i < len(spans) for i in chosen)
            return all(any(spans[i][0] <= x and x + 1 <= spans[i][1] for i in chosen) for x in range(length))
        """,
        answer, spans=spans, length=length, most=len(answer),
    )  # fmt: skip


def _cover(spans: list[list[int]], length: int) -> list[int]:
    """The greedy cover, which is a smallest one."""
    chosen, reached = [], 0
    while reached < length:
        best = max((i for i, s in enumerate(spans) if s[0] <= reached), key=lambda i: spans[i][1])
        chosen.append(best)
        reached = spans[best][1]
    return chosen


def cryptarithm(rng: random.Random) -> Puzzle:
    """Digits for letters so that a sum of words holds."""
    while True:
        a, b = rng.randint(1_000, 9_999), rng.randint(1_000, 9_999)
        digits = sorted(set(f"{a}{b}{a + b}"))
        if len(digits) >= 5:
            break
    letters = dict(zip(digits, rng.sample("ABCDEFGHKLMNOPRSTUWY", len(digits)), strict=True))
    words = ["".join(letters[d] for d in str(n)) for n in (a, b, a + b)]
    order = "".join(sorted(letters.values()))
    answer = [int(next(d for d, letter in letters.items() if letter == c)) for c in order]
    return written(
        """
        def sat(digits: List[int], letters=<letters>, words=<words>):
            assert len(digits) == len(letters) == len(set(digits)) and all(0 <= d <= 9 for d in digits)
            value = dict(zip(letters, digits))
            assert all(value[word[0]] > 0 for word in words)
            a, b, total = (int("".join(str(value[c]) for c in word)) for word in words)
            return a + b == total
        """,
        answer, letters=order, words=words,
    )  # fmt: skip


NUMBERS = (
    Kind("int_inverse", 1, "int", int_inverse),
    Kind("half_way", 1, "float", half_way),
    Kind("digits_sum", 1, "int", digits_sum),
    Kind("list_mean_median", 1, "List[int]", list_mean_median),
    Kind("subset_sum", 2, "List[int]", subset_sum),
    Kind("factor", 2, "int", factor),
    Kind("crt", 2, "int", crt),
    Kind("cubic_root", 2, "int", cubic_root),
    Kind("four_squares", 2, "List[int]", four_squares),
    Kind("coins", 2, "List[int]", coins),
    Kind("clique", 2, "List[int]", clique),
    Kind("colouring", 2, "List[int]", colouring),
    Kind("growing_places", 2, "List[int]", growing_places),
    Kind("expr_target", 3, "List[str]", expr_target),
    Kind("interval_cover", 3, "List[int]", interval_cover),
    Kind("cryptarithm", 3, "List[int]", cryptarithm),
)
