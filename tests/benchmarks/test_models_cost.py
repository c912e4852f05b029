"""What the model layers cost: CPU time of this process, measured beside the thing they add to.

The scripted server runs in a process of its own, so its work is not in the figures. Figures are
printed (`pytest -s`) and asserted.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted_server
from calls import Told, ask
from scripted_server import ScriptedServer, failing, ok

from meta_tui.chat import Reply, Usage
from meta_tui.errors import CallFailed
from meta_tui.models.base import Answer, Model
from meta_tui.models.cached import CachedModel
from meta_tui.models.limits import Budget, Budgeted, Gate, Gated, Ledger
from meta_tui.models.litellm_model import LitellmModel, close_connections
from meta_tui.models.scripted import ScriptedModel

HIT_MS = 1.0
OWN_MS = 1.5
LIBRARY_MS = 15.0
"""What the library costs where nothing else runs; a busy machine makes both dearer alike."""

WORDS = "word " * 29 + "end"


@pytest.fixture
def far_server() -> Iterator[str]:
    """The address of a scripted server in another process; it ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, scripted_server.__file__, WORDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.communicate(timeout=20)


def layers(model: Model, directory: Path, url: str | None = None) -> tuple[Budgeted, Ledger]:
    """All layers in their order: budget, cache and single flight, concurrency and rate."""
    gated = Gated(model, Gate(concurrency=8, per_minute=100_000))
    ledger = Ledger(Budget(calls=10**9, tokens=10**12, seconds=10**6))
    return Budgeted(CachedModel(gated, directory, url), ledger), ledger


@pytest.fixture(autouse=True)
def no_old_garbage() -> Iterator[None]:
    """Thousands of modules are loaded: looking through them for garbage would be most of the cost."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def trimmed_mean(values: list[float]) -> float:
    """The mean without the tenth at either end."""
    tenth = len(values) // 10
    return statistics.mean(sorted(values)[tenth : len(values) - tenth])


async def cpu_ms(work: Callable[[int], Awaitable[Any]], numbers: range, rest: float = 0.05) -> float:
    """Milliseconds of CPU for each call, with what it leaves to be done in the background."""
    before = time.process_time()
    for number in numbers:
        await work(number)
    await asyncio.sleep(rest)
    return (time.process_time() - before) * 1000 / len(numbers)


async def test_a_hit_through_all_layers_costs_at_most_a_millisecond(tmp_path: Path) -> None:
    reply = Reply("x" * 2000, finish_reason="stop", usage=Usage(600, 500))
    model, ledger = layers(ScriptedModel(lambda _: reply), tmp_path)
    prompt = "the history of a long conversation " * 500

    async def hit(number: int) -> Answer:
        return await model.answer(ask(f"{prompt}{number}"), Told())

    await cpu_ms(hit, range(200))
    rounds = [await cpu_ms(hit, range(200)) for _ in range(5)]
    assert ledger.totals.cached == 1000
    print(f"\na hit costs {statistics.median(rounds):.3f} ms CPU (rounds {[round(r, 3) for r in rounds]})")
    assert statistics.median(rounds) <= HIT_MS


async def test_our_own_cost_of_a_live_call_is_at_most_a_millisecond_and_a_half(
    far_server: str, tmp_path: Path
) -> None:
    below = LitellmModel(far_server)
    await below.warm()
    import litellm

    gc.freeze()
    model, ledger = layers(below, tmp_path, far_server)

    async def bare(number: int) -> str:
        stream = await litellm.acompletion(
            model="openai/scripted",
            api_base=far_server,
            api_key="none",
            messages=[{"role": "user", "content": f"bare {number}"}],
            stream=True,
            stream_options={"include_usage": True},
            timeout=60,
            num_retries=0,
            max_retries=0,
        )
        return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])

    async def ours(number: int) -> str:
        return (await model.answer(ask(f"ours {number}"), Told())).reply.text

    assert await bare(-1) == await ours(-1) == WORDS
    # One call of each kind in turn, in either order, so that whatever drifts meets both alike.
    costs = []
    for number in range(200):
        pair = [bare, ours] if number % 2 else [ours, bare]
        found = {work: await cpu_ms(work, range(number, number + 1), rest=0.002) for work in pair}
        costs.append((found[bare], found[ours]))
    await close_connections()
    own = trimmed_mean([mine - library for library, mine in costs])
    library = trimmed_mean([library for library, _ in costs])
    print(f"\nour own cost of a live call is {own:.3f} ms CPU beside {library:.2f} ms of the library's")
    assert ledger.totals.cached == 0
    assert own <= OWN_MS * max(1.0, library / LIBRARY_MS)


async def ask_at_once(server: ScriptedServer, directory: Path, runs: int) -> list[Any]:
    """What so many runs get that ask one request at the same address at once."""
    below = LitellmModel(server.url, retries=0)
    await below.warm()
    cached = CachedModel(Gated(below, Gate(concurrency=8)), directory, server.url)
    models = [Budgeted(cached, Ledger()) for _ in range(runs)]
    found = await asyncio.gather(*(m.answer(ask(), Told()) for m in models), return_exceptions=True)
    await close_connections()
    return found


async def test_two_hundred_runs_that_ask_the_same_at_once_send_one_request(tmp_path: Path) -> None:
    with ScriptedServer(ok(WORDS, every=0.01)) as server:
        answers = await ask_at_once(server, tmp_path, 200)
        assert server.count == 1
    assert {answer.reply.text for answer in answers} == {WORDS}
    assert [answer.how.source for answer in answers].count("live") == 1


async def test_two_hundred_runs_whose_one_request_fails_do_not_stampede(tmp_path: Path) -> None:
    with ScriptedServer(failing(500)) as server:
        errors = await ask_at_once(server, tmp_path, 200)
        assert server.count == 1
    assert [(type(error), error.kind) for error in errors] == [(CallFailed, "server")] * 200
