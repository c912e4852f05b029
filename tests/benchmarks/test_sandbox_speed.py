"""What the sandbox costs: each figure is a ratio inside one run, because machines differ.

Figures are printed (`pytest -s`) and asserted on medians of many repetitions; a figure that misses
on a machine that others use at the same time is measured again before it counts.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import pytest
from sandbox_programs import missing_layers

from meta_tui.chat import CodeResult, Limits, Program
from meta_tui.sandbox import Sandbox

TRIES = 4
WARM = 0.6
KILL_MS = 50
SLOWER = {
    "a table of dynamic programming": 1.3,
    "thousands of calls of eval": 2.5,
    "a loop full of attributes": 10.0,
}

PROGRAMS = {
    "a table of dynamic programming": """
def work():
    a, b = "abcde" * 140, "badce" * 140
    dp = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                dp[i][j] = dp[i - 1][j - 1] + 1
            else:
                dp[i][j] = max(dp[i - 1][j], dp[i][j - 1])
    return dp[-1][-1]
""",
    "thousands of calls of eval": """
from itertools import product

def work():
    numbers = list(product(range(1, 10), repeat=4))[:5000]
    found = 0
    for n in range(4):
        for a, b, c, d in numbers:
            try:
                found += eval(f"({a} + {b}) * {c} / ({d} - 3) + {n}") == 24
            except ZeroDivisionError:
                pass
    return found
""",
    "a loop full of attributes": """
class Particle:
    def __init__(self, x, y):
        self.x, self.y, self._speed = x, y, 1
        self.trail = []

    def step(self, other):
        self.x += self._speed
        self.y = self.x - other.y
        self.trail.append(self.x)
        return self.length

    @property
    def length(self):
        return self.x * self.x + self.y * self.y

def work():
    particles = [Particle(n, n) for n in range(50)]
    total = 0
    for _ in range(2000):
        for particle in particles:
            total += particle.step(particles[0]) + particle.y
            particle.y -= 1
    return total
""",
}
TIMED = """
import time

start = time.process_time()
work()
print(time.process_time() - start)
"""


async def again(measure: Callable[[], Awaitable[float]], limit: float, what: str) -> float:
    """The figure; a miss is measured again a few times, and the best counts."""
    best = float("inf")
    for _ in range(TRIES):
        best = min(best, await measure())
        if best <= limit:
            break
        await asyncio.sleep(1)
    print(f"\n{what}: {best:.3g} (at most {limit:g})")
    return best


@pytest.fixture(autouse=True)
def _programs_run_here() -> None:
    missing_layers()


@pytest.mark.timeout(300)
async def test_a_warm_worker_answers_sooner_than_a_bare_python_starts() -> None:
    async def ratio() -> float:
        warm, bare = [], []
        for _ in range(25):
            await asyncio.sleep(0.2)  # the pool is full again
            warm.append(await _seconds_of(sandbox))
            bare.append(_seconds_of_bare_python())
        return statistics.median(warm) / statistics.median(bare)

    async with Sandbox(pool=2) as sandbox:
        await sandbox.execute(Program("print(1)"))
        assert (
            await again(ratio, WARM, "print(1) through the warm pool, to python -I -S -c 'print(1)'") <= WARM
        )


async def _seconds_of(sandbox: Sandbox) -> float:
    start = time.perf_counter()
    result, _ = await sandbox.execute(Program("print(1)"))
    assert result == CodeResult("ok", "1\n")
    return time.perf_counter() - start


def _seconds_of_bare_python() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "print(1)"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


@pytest.mark.timeout(300)
async def test_of_forty_at_once_one_that_loops_holds_nobody_up() -> None:
    limit = Limits(seconds=5)

    async def last_of_the_others() -> float:
        async with Sandbox(pool=2) as sandbox:
            start = time.perf_counter()
            loop = asyncio.create_task(sandbox.execute(Program("while True: pass", limits=limit)))
            others = [sandbox.execute(Program(f"print({n})", limits=limit)) for n in range(39)]
            results = [result for result, _ in await asyncio.gather(*others)]
            took = time.perf_counter() - start
            assert [result.stdout for result in results] == [f"{n}\n" for n in range(39)]
            assert (await loop)[0].status == "timeout"
            return took

    assert await again(last_of_the_others, limit.seconds, "seconds until 39 of 40 are done") < limit.seconds


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "sum(range(10**13))",
        "import re\nre.match(r'(a+)+$', 'a' * 40 + '!')",
        "9**9**9**9",
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
    ],
    ids=["pure Python", "a loop in C", "a regular expression", "a big integer", "swallowed exceptions"],
)
@pytest.mark.timeout(300)
async def test_the_kill_comes_at_the_limit(code: str) -> None:
    limits = Limits(seconds=0.5)

    async def ninth_of_ten() -> float:
        late = []
        for _ in range(10):
            result, how = await sandbox.execute(Program(code, limits=limits))
            assert result.status == "timeout"
            late.append((how.ms or 0) - 500)
        return float(sorted(late)[8])

    async with Sandbox(pool=1) as sandbox:
        assert await again(ninth_of_ten, KILL_MS, "milliseconds after the limit, 9 of 10") <= KILL_MS


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.timeout(300)
async def test_the_policy_slows_programs_down_by_no_more_than(name: str) -> None:
    limits = Limits(seconds=30)

    async def ratio() -> float:
        ratios = []
        for _ in range(5):
            guarded = await _time_of(sandbox, name, limits)
            ratios.append(guarded / _plain_time_of(name))
        return statistics.median(ratios)

    async with Sandbox(pool=1) as sandbox:
        assert await again(ratio, SLOWER[name], f"{name}, to plain Python") <= SLOWER[name]


async def _time_of(sandbox: Sandbox, name: str, limits: Limits) -> float:
    result, _ = await sandbox.execute(Program(PROGRAMS[name] + TIMED, limits=limits))
    assert result.status == "ok", result.error
    return float(result.stdout)


def _plain_time_of(name: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[name] + TIMED], capture_output=True, text=True, check=True
    )
    return float(done.stdout)
