"""What a Meta^n run of 200 candidates on 36 tasks costs the app, in CPU time of this process."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from memory import peak_mb
from tui_chains import KEY, large, shown

from meta_tui.chat import Reply, user
from meta_tui.evaluation.chains import Reader
from meta_tui.events import Replied, Requested, SpanStarted
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.chain import ChainScreen
from meta_tui.tui.screens.run import RunScreen

FPS = 12


async def test_every_key_on_two_hundred_candidates_costs_hardly_more_than_on_twenty() -> None:
    """Moving, every view, every iteration: only what is on screen is made."""
    costs = {}
    for candidates in (20, 200):
        events = large(candidates, 36)
        app = MetaApp(lambda events=events: ChainScreen(shown(events), "large"), fps=0)
        async with app.run_test(size=(200, 60)) as pilot:
            await pilot.pause()
            began = time.process_time()
            for key in ("G", "g", "pagedown", "j", "2", "3", "4", "5", "1", "left_square_bracket"):
                await pilot.press(key, key)
            await pilot.pause()
            costs[candidates] = (time.process_time() - began) / 20
    print({n: f"{1000 * cost:.1f} ms a key" for n, cost in costs.items()})
    assert costs[200] <= 2.5 * costs[20]
    assert costs[200] <= 0.1


def test_a_long_run_is_read_at_once_and_a_live_one_by_what_is_new() -> None:
    events = large()
    reader = Reader()
    began = time.process_time()
    reader.to(events[:-300])
    whole = time.process_time() - began
    began = time.process_time()
    for end in range(300, 0, -10):
        reader.to(events[: len(events) - end])
    step = (time.process_time() - began) / 30
    print(f"{len(events):,} events in {whole:.3f} s, 10 new ones in {1000 * step:.2f} ms")
    assert len(reader.moments) >= 198
    assert whole <= 0.5
    assert step <= 0.02 * whole + 0.001


async def test_the_run_screen_of_a_long_live_run_stays_within_its_share_of_a_core() -> None:
    """Painting twelve times a second while calls come and go takes at most 40 % of a core."""
    feed = []
    events = large()

    async def source(emit, stop):
        for event in events[:-1]:
            emit(event)
        feed.append(emit)

    before = peak_mb()
    app = MetaApp(lambda: RunScreen(source, badge="LIVE", fps=0), fps=0)
    async with app.run_test(size=(200, 60)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        await pilot.pause()
        [emit] = feed
        began = time.process_time()
        for number in range(60):
            span = f"999/{number}"
            for event in (
                SpanStarted("instance", "opt:1", span=span),
                Requested(0, KEY, (user("q"),), span=span),
                Replied(0, Reply("x"), span=span),
            ):
                emit(event)
            app.screen.tick()
            await pilot.pause()
        frame = (time.process_time() - began) / 60
    print(f"{1000 * frame:.1f} ms a frame, {100 * FPS * frame:.0f} % of a core, {peak_mb() - before:.0f} MB")
    assert FPS * frame <= 0.40
    assert peak_mb() - before <= 120
