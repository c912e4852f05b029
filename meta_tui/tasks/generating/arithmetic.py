"""Multi-step arithmetic: nested sums of small integers, valued by integer code of our own.

The published form (BIG-Bench Hard's multistep_arithmetic_two) is two brackets of four numbers in
an outer bracket; `depth` and `terms` make longer and deeper ones. No `eval`.
"""

from __future__ import annotations

import random

from meta_tui.tasks import Sample
from meta_tui.tasks.generating import chance, make, within

OPERATORS = ("+", "-", "*")


def generate(index: int, seed: int, *, depth: int = 2, terms: int = 4, largest: int = 9) -> Sample:
    """An expression over integers of -largest..largest with + - * and its value.

    Args:
        depth: levels of brackets; each level above the first joins two of the level below.
        terms: numbers in an innermost bracket.

    Raises:
        UsageError: depth, terms or largest is out of range.
    """
    within("depth", depth, 1, 6)
    within("terms", terms, 2, 12)
    within("largest", largest, 1, 999)
    rng = chance("arithmetic", seed, index)
    text, value = _bracket(rng, depth, terms, largest)
    multiplications = text.count("*")
    share = multiplications / (text.count(" ") // 2)
    return make(
        "arithmetic", index, seed, f"{text} =", str(value),
        kind=f"depth {depth}", difficulty="easy" if share < 0.25 else "medium" if share < 0.5 else "hard",
        witness=str(value), multiplications=multiplications, depth=depth, terms=terms,
    )  # fmt: skip


def fold(values: list[int], operators: list[str]) -> int:
    """The value of v0 o0 v1 o1 v2 ...: products first, then from the left."""
    sums, signs = [values[0]], [1]
    for operator, value in zip(operators, values[1:], strict=True):
        if operator == "*":
            sums[-1] *= value
        else:
            sums.append(value)
            signs.append(1 if operator == "+" else -1)
    return sum(sign * part for sign, part in zip(signs, sums, strict=True))


def _bracket(rng: random.Random, depth: int, terms: int, largest: int) -> tuple[str, int]:
    if depth == 1:
        parts = [(str(value), value) for value in (rng.randint(-largest, largest) for _ in range(terms))]
    else:
        parts = [_bracket(rng, depth - 1, terms, largest) for _ in range(2)]
    operators = [rng.choice(OPERATORS) for _ in parts[1:]]
    text = parts[0][0] + "".join(f" {o} {t}" for o, (t, _) in zip(operators, parts[1:], strict=True))
    return f"({text})", fold([value for _, value in parts], operators)
