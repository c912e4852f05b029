"""What stands between a run and too many calls: budget, concurrency, rate, retries.

`Budgeted` and `Gated` are models that hold a model; their `Ledger` and `Gate` may be shared by
many runs. `persist` makes one call again until it works or its time is up. Nothing here knows a
provider or a cache: a cached answer is known by its `how.source`. The order on the way in is
budget, cache, gate, retry (money, time and faults), so a call is charged even if cached
and a retry keeps its place at the gate.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from meta_tui.chat import Reply, Request
from meta_tui.errors import CallFailed, Stopped
from meta_tui.events import FailureKind, How
from meta_tui.models.base import Answer, Attempt, Call, Model, Tell
from meta_tui.models.faults import Fault

T = TypeVar("T")
Clock = Callable[[], float]

RETRIED: frozenset[FailureKind] = frozenset({"rate_limit", "timeout", "server", "cut", "network"})
"""What may work when it is tried again. A filter, a bad request or a bad key will not."""

BYTES_PER_TOKEN = 4.0
"""English text, before a provider has told how it counts."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps of one run or of many: calls, tokens, dollars, seconds. None is no cap."""

    calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """What was used so far, for status lines.

    Attributes:
        calls: all calls, also those that were cached, recorded or failed.
        cached: those of them that the cache answered.
        tokens: prompt and completion tokens, estimated where a provider does not count.
        cost: dollars, None as soon as one call had no known price.
    """

    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Claim:
    """A call that has begun: what it is expected to use until it is settled."""

    prompt_bytes: int
    tokens: int
    dollars: float


class Ledger:
    """Counts what calls use and says stop before the call that would pass a cap.

    What a call will use is not known beforehand. It is expected to use its prompt (counted in
    bytes, at the rate that the provider showed so far) and the longest reply so far, at the mean
    price so far; calls under way count with what they are expected to use.
    """

    def __init__(self, budget: Budget | None = None, clock: Clock = time.monotonic) -> None:
        self.budget = budget or Budget()
        self._clock = clock
        self._begun: float | None = None
        self._calls = self._cached = self._tokens = 0
        self._cost = 0.0
        self._priced_tokens = 0
        self._unpriced = False
        self._prompt_bytes = self._prompt_tokens = 0
        self._longest = 0
        self._claims: dict[int, Claim] = {}

    @property
    def totals(self) -> Totals:
        """A snapshot of what was used so far."""
        return Totals(self._calls, self._cached, self._tokens, None if self._unpriced else self._cost)

    def claim(self, request: Request) -> Claim:
        """Opens a call and counts it.

        Raises:
            Stopped: with kind `budget`, if the call would pass a cap.
        """
        if self._begun is None:
            self._begun = self._clock()
        claim = self._expected(request)
        if reason := self._exceeded(claim):
            raise Stopped("budget", f"{reason}; raise the budget and resume the run")
        self._calls += 1
        self._claims[id(claim)] = claim
        return claim

    def settle(self, claim: Claim, answer: Answer | None) -> None:
        """Closes a call: with its answer, or None if it failed or was cancelled."""
        del self._claims[id(claim)]
        if answer is not None:
            self._charge(claim, answer.reply, answer.how)

    def add(self, request: Request, reply: Reply, how: How | None) -> None:
        """Counts a call that was answered elsewhere (a recorded one) and asks no leave."""
        self._calls += 1
        self._charge(self._expected(request), reply, how)

    def seconds_left(self) -> float | None:
        """Seconds until the cap of time, None if there is none."""
        if self.budget.seconds is None:
            return None
        begun = self._clock() if self._begun is None else self._begun
        return self.budget.seconds - (self._clock() - begun)

    def _charge(self, claim: Claim, reply: Reply, how: How | None) -> None:
        usage = reply.usage
        reply_tokens = usage.completion_tokens if usage else _tokens(len(reply.text.encode()))
        tokens = usage.total if usage else _tokens(claim.prompt_bytes) + reply_tokens
        self._tokens += tokens
        self._longest = max(self._longest, reply_tokens)
        if usage:
            self._prompt_bytes += claim.prompt_bytes
            self._prompt_tokens += usage.prompt_tokens
        source = how.source if how else "imported"
        if source == "cache":
            self._cached += 1
        elif how and source in ("live", "copy-paste"):
            self._pay(tokens, how.cost)

    def _pay(self, tokens: int, cost: float | None) -> None:
        if cost is None:
            self._unpriced = True
            return
        self._cost += cost
        self._priced_tokens += tokens

    def _expected(self, request: Request) -> Claim:
        size = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
        per_byte = self._prompt_tokens / self._prompt_bytes if self._prompt_bytes else 1 / BYTES_PER_TOKEN
        most = request.params.max_tokens
        reply = self._longest if most is None else min(self._longest, most)
        tokens = round(size * per_byte) + reply
        price = self._cost / self._priced_tokens if self._priced_tokens else 0.0
        return Claim(size, tokens, tokens * price)

    def _exceeded(self, claim: Claim) -> str:
        budget, waiting = self.budget, self._claims.values()
        if budget.calls is not None and self._calls >= budget.calls:
            return f"the budget of {budget.calls} call{'' if budget.calls == 1 else 's'} is used up"
        tokens = self._tokens + sum(other.tokens for other in waiting)
        if budget.tokens is not None and _passes(tokens, claim.tokens, budget.tokens):
            return f"{tokens} of {budget.tokens} tokens are used and the next call would pass the cap"
        if budget.dollars is not None and self._unpriced:
            return "a call had no known price, so no cap in dollars can be kept: cap calls or tokens"
        dollars = self._cost + sum(other.dollars for other in waiting)
        if budget.dollars is not None and _passes(dollars, claim.dollars, budget.dollars):
            return f"${dollars:.4f} of ${budget.dollars:g} are spent and the next call would pass the cap"
        left = self.seconds_left()
        return f"the budget of {budget.seconds:g} s is used up" if left is not None and left <= 0 else ""


def _passes(used: float, more: float, cap: float) -> bool:
    return used >= cap or used + more > cap


def _tokens(size: int) -> int:
    return round(size / BYTES_PER_TOKEN)


class Budgeted:
    """A model that asks its ledger before each call; a ledger may serve many runs at once."""

    def __init__(self, model: Model, ledger: Ledger) -> None:
        self.model = model
        self.ledger = ledger

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The answer of the model below.

        Raises:
            Stopped: with kind `budget`, before a call that would pass a cap, and during one that
                outlasts the cap of seconds.
            CallFailed: whatever the model below raises.
        """
        claim = self.ledger.claim(call.request)
        answer = None
        try:
            async with asyncio.timeout(self.ledger.seconds_left()) as scope:
                answer = await self.model.answer(call, tell)
        except TimeoutError:
            if scope.expired():
                seconds = self.ledger.budget.seconds
                message = f"the budget of {seconds:g} s ended during a call; raise it and resume the run"
                raise Stopped("budget", message) from None
            raise
        finally:
            self.ledger.settle(claim, answer)
        return answer


class Gate:
    """At most `concurrency` calls at once and `per_minute` starts in any `minute` (seconds).

    None is no limit. Calls pass in the order in which they come.
    """

    def __init__(
        self, concurrency: int | None = None, per_minute: int | None = None, minute: float = 60.0
    ) -> None:
        self._places = None if concurrency is None else asyncio.Semaphore(concurrency)
        self._per_minute = per_minute
        self._minute = minute
        self._starts: deque[float] = deque(maxlen=per_minute)
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Waits for a place and keeps it."""
        if self._places is None:
            await self._pace()
            yield
            return
        async with self._places:
            await self._pace()
            yield

    async def _pace(self) -> None:
        if self._per_minute is None:
            return
        async with self._turn:
            now = asyncio.get_running_loop().time
            if len(self._starts) == self._per_minute:
                await asyncio.sleep(max(0.0, self._starts[0] + self._minute - now()))
            self._starts.append(now())


class Gated:
    """A model whose calls pass a gate; a gate may serve many runs at once."""

    def __init__(self, model: Model, gate: Gate) -> None:
        self.model = model
        self.gate = gate

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The answer of the model below, once there is a place.

        Raises:
            CallFailed: whatever the model below raises.
        """
        async with self.gate.place():
            return await self.model.answer(call, tell)


def back_off(attempt: int) -> float:
    """Seconds to wait after attempt 1, 2, ...: around 1, 2, 4, up to 30, spread by a quarter."""
    return min(30.0, 2.0 ** (attempt - 1)) * random.uniform(0.75, 1.25)


async def persist(
    attempt: Callable[[], Awaitable[T]],
    tell: Tell,
    *,
    retries: int,
    deadline: float | None,
    pause: Callable[[int], float] = back_off,
) -> tuple[T, int]:
    """Makes an attempt until one works; each that fails and is made again is told.

    Args:
        attempt: makes one attempt; raises `Fault`.
        tell: hears every `Attempt` before its pause.
        retries: attempts after the first.
        deadline: seconds for all attempts and pauses together, None for no end.
        pause: seconds to wait after attempt number n where the server asks for nothing longer.

    Returns:
        What the attempt gave, and how many were made.

    Raises:
        CallFailed: the last fault, or `timeout` when the deadline passed.
    """
    try:
        async with asyncio.timeout(deadline) as scope:
            for number in range(1, retries + 1):
                result = await _try(attempt)
                if not isinstance(result, Fault):
                    return result, number
                wait = max(pause(number), result.wait or 0.0)
                _give_up_if_hopeless(result, wait, scope)
                tell(Attempt(result.kind, result.message, number, wait))
                await asyncio.sleep(wait)
            result = await _try(attempt)
            if isinstance(result, Fault):
                raise CallFailed(result.kind, result.message)
            return result, retries + 1
    except TimeoutError:
        if not scope.expired():
            raise
        message = f"no whole reply within {deadline:g} s; give it longer or ask for less"
        raise CallFailed("timeout", message) from None


async def _try(attempt: Callable[[], Awaitable[T]]) -> T | Fault:
    try:
        return await attempt()
    except Fault as fault:
        return fault


def _give_up_if_hopeless(fault: Fault, wait: float, scope: asyncio.Timeout) -> None:
    if fault.final or fault.kind not in RETRIED:
        raise CallFailed(fault.kind, fault.message)
    end = scope.when()
    if end is not None and asyncio.get_running_loop().time() + wait >= end:
        raise CallFailed(fault.kind, f"{fault.message} (next try only in {wait:.0f} s, after the deadline)")
