"""A live run that streams into several panes, and what it costs; run as a program on a terminal.

Usage: python tui_stream.py OUT SECONDS CHUNKS_A_SECOND PANES
Writes JSON to OUT: `cpu` seconds a second, `lag95` delay of the loop in ms as a clock sees it,
`own95` the same in CPU time of this process, which other processes cannot make longer.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from meta_tui.chat import Reply, user
from meta_tui.events import (
    Delta,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
)
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.run import RunScreen

WORDS = "the quick brown fox jumps over the lazy dog and then (10 - 4) * 5 - 6 = 24 ".split(" ")
KEY = "0" * 64


def chunks():
    number = 0
    while True:
        number += 1
        yield WORDS[number % len(WORDS)] + ("\n" if number % 19 == 0 else " ")


def source_of(out, seconds, rate, panes):
    async def source(emit, stop):
        emit(RunStarted(1, "t", "live", "meta_prompting", {}, "m", "A question."))
        emit(RoundStarted(1, 15))
        spans = ["", *(str(n) for n in range(1, panes))]
        for span in spans[1:]:
            emit(SpanStarted("expert", f"Expert {span}", span=span))
        for span in spans:
            emit(Requested(0, KEY, (user("go"),), span=span))
        lags, own = [], []
        sampler = asyncio.ensure_future(sample(lags, own))
        texts = dict.fromkeys(spans, "")
        words = chunks()
        await asyncio.sleep(0.5)
        lags.clear()
        own.clear()
        cpu, began, sent = time.process_time(), time.monotonic(), 0
        while (now := time.monotonic() - began) < seconds:
            while sent < now * rate:
                span, text = spans[sent % panes], next(words)
                texts[span] += text
                emit(Delta(0, text, span=span))
                sent += 1
            await asyncio.sleep(0.002)
        spent = (time.process_time() - cpu) / (time.monotonic() - began)
        sampler.cancel()
        figures = {"cpu": spent, "lag95": high(lags), "own95": high(own), "chunks": sent}
        Path(out).write_text(json.dumps(figures))
        for span in spans:
            emit(Replied(0, Reply(texts[span]), span=span))
        for span in spans[1:]:
            emit(SpanFinished(span=span))
        emit(RunFinished("answered", "done"))

    return source


async def sample(lags, own):
    while True:
        before, spent = time.monotonic(), time.process_time()
        await asyncio.sleep(0.01)
        lags.append(time.monotonic() - before - 0.01)
        own.append(time.process_time() - spent)


def high(values):
    """The 95th percentile in milliseconds."""
    return sorted(values)[int(len(values) * 0.95)] * 1000


def main():
    out, seconds, rate, panes = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    MetaApp(lambda: RunScreen(source_of(out, seconds, rate, panes), badge="LIVE")).run()


if __name__ == "__main__":
    main()
