"""Questions of number theory: powers, residues, divisors, congruences, factorials."""

from __future__ import annotations

import random
from math import gcd

from meta_tui.tasks.theorem.templates import Params, Template, balanced

AREA = "number theory"
PRIMES = tuple(n for n in range(3, 500) if all(n % d for d in range(2, n) if d * d <= n))


def _power(rng: random.Random) -> Params:
    modulus = rng.choice([n for n in range(50, 1000) if n % 10])
    base = rng.choice([a for a in range(2, 400) if gcd(a, modulus) == 1])
    return {"base": base, "exponent": rng.randint(300, 5000), "modulus": modulus}


def _residue_draw(rng: random.Random) -> Params:
    prime = rng.choice(PRIMES[10:])
    return {"a": rng.randint(2, prime - 1), "p": prime}


def _residue(p: Params) -> bool:
    prime: int = p["p"]
    return pow(int(p["a"]), (prime - 1) // 2, prime) == 1


def _factored(n: int) -> dict[int, int]:
    found: dict[int, int] = {}
    divisor = 2
    while n > 1:
        while n % divisor == 0:
            found[divisor] = found.get(divisor, 0) + 1
            n //= divisor
        divisor += 1
    return found


def _divisible(rng: random.Random) -> Params:
    n = 1
    while not 2_000 <= n <= 500_000:
        n = 1
        for _ in range(rng.randint(5, 9)):
            n *= rng.choice((2, 2, 2, 3, 3, 5, 7, 11, 13))
    return {"n": n, "d": rng.choice((2, 3))}


def _divisors(p: Params) -> int:
    """Divisors of n that are not multiples of d."""
    count = 1
    for prime, power in _factored(p["n"]).items():
        count *= 1 if prime == p["d"] else power + 1
    return count


def _congruence(rng: random.Random) -> Params:
    modulus = rng.choice([n for n in range(60, 600) if n % 6 == 0 or n % 10 == 0])
    common = rng.choice([d for d in range(2, 31) if modulus % d == 0])
    a = common * rng.randint(2, 40)
    return {"a": a, "b": rng.choice((common * rng.randint(1, 40), rng.randint(1, 300))), "n": modulus}


def _congruence_count(p: Params) -> int:
    common = gcd(p["a"], p["n"])
    return common if p["b"] % common == 0 else 0


def _zeros(p: Params) -> int:
    """Legendre's formula for the prime powers of the base."""
    counts = []
    for prime, power in _factored(p["base"]).items():
        total, n = 0, p["n"]
        while n:
            n //= prime
            total += n
        counts.append(total // power)
    return min(counts)


TEMPLATES = (
    Template(
        "euler_power", AREA, "integer", 2, _power,
        lambda p: f"What is the remainder when {p['base']}^{p['exponent']} is divided by {p['modulus']}?",
        lambda p: pow(p["base"], p["exponent"], p["modulus"]),
    ),
    Template(
        "quadratic_residue", AREA, "bool", 2, lambda rng: balanced(rng, _residue_draw, _residue),
        lambda p: f"Is there an integer x such that x^2 leaves the remainder {p['a']} when divided by the prime {p['p']}?",
        _residue,
    ),
    Template(
        "divisor_count", AREA, "integer", 1, _divisible,
        lambda p: f"How many positive divisors of {p['n']} are not multiples of {p['d']}?",
        _divisors,
    ),
    Template(
        "linear_congruence", AREA, "integer", 2, _congruence,
        lambda p: f"How many integers x with 0 <= x < {p['n']} satisfy {p['a']}x = {p['b']} (mod {p['n']})?",
        _congruence_count, held_out=True,
    ),
    Template(
        "factorial_zeros", AREA, "integer", 2,
        lambda rng: {"n": rng.randint(60, 900), "base": rng.choice((6, 8, 10, 12, 14, 15, 18, 20, 24, 36))},
        lambda p: f"With how many zeros does {p['n']}! end when it is written in base {p['base']}?",
        _zeros,
    ),
)  # fmt: skip
