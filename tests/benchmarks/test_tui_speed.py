"""What the app costs, in CPU time of its own process: start, a long text, a flood, a long list."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

TUI = Path(__file__).parents[1] / "tui"
sys.path.insert(0, str(TUI))

from memory import peak_mb  # noqa: E402
from test_tui_terminal import BROWSE, Terminal  # noqa: E402
from tui_runs import record  # noqa: E402

from meta_tui import store  # noqa: E402
from meta_tui.chat import Reply, user  # noqa: E402
from meta_tui.events import Delta, Replied, Requested, RunFinished, RunStarted, SpanStarted  # noqa: E402
from meta_tui.tui.app import MetaApp  # noqa: E402
from meta_tui.tui.screens.home import HomeScreen  # noqa: E402
from meta_tui.tui.screens.run import RunScreen  # noqa: E402
from meta_tui.tui.widgets.listing import Listing  # noqa: E402

KEY = "0" * 64
LINE = "The quick brown fox jumps over the lazy dog and keeps running through the forest until night.\n"

BARE = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("meta-tui")

Bare().run()
"""


def cpu_of(pid):
    """CPU seconds of all threads of a process so far; the kernel's ticks are too coarse for a start."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def cpu_until(code, words):
    """CPU seconds of a process until it shows some words."""
    shell = Terminal(code, size=(120, 36))
    try:
        shell.until(words)
        return cpu_of(shell.process.pid)
    finally:
        shell.close()


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="needs /proc to count another process's CPU"
)
def test_the_first_frame_costs_hardly_more_than_a_bare_app():
    bare = min(cpu_until(BARE, "meta-tui") for _ in range(4))
    ours = min(cpu_until(BROWSE, "meta-tui") for _ in range(4))
    print(f"bare {bare:.3f} s, ours {ours:.3f} s")
    assert ours <= 1.5 * bare


LONG = """
import asyncio, json, sys, time
sys.path[:0] = sys.argv[1:4]
from test_tui_speed import LINE, long_run
print(json.dumps(asyncio.run(long_run())))
"""


async def long_run():
    """CPU seconds from 5 MB of text to its picture, and the memory of the whole process in MB."""
    text = LINE * (5_000_000 // len(LINE))

    async def source(emit, stop):
        emit(RunStarted(1, "t", "live", "meta_prompting", {}, "m", "q"))
        emit(Requested(0, KEY, (user("q"),)))
        emit(Replied(0, Reply(text)))
        emit(RunFinished("answered", "done"))

    app = MetaApp(lambda: RunScreen(source, speed=0, fps=0), fps=0)
    began = time.process_time()
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        await pilot.pause()
        cpu = time.process_time() - began
        assert len(app.screen.meta.rows) > 50_000
    return {"cpu": cpu, "rss": peak_mb()}


def test_five_megabytes_open_quickly_and_in_little_memory():
    arguments = [sys.executable, "-c", LONG, str(Path(__file__).parent), str(TUI), str(TUI.parent)]
    figures = json.loads(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)
    print(figures)
    assert figures["cpu"] <= 1.5
    assert figures["rss"] <= 120


async def test_twenty_thousand_chunks_and_their_painting():
    """A flood over four panes at 120x36, painted 12 times for every thousand chunks."""
    spans = ["", "1", "2", "3"]
    sent = []

    async def source(emit, stop):
        emit(RunStarted(1, "t", "live", "meta_prompting", {}, "m", "q"))
        for span in spans[1:]:
            emit(SpanStarted("expert", f"Expert {span}", span=span))
        for span in spans:
            emit(Requested(0, KEY, (user("q"),), span=span))
        sent.append(emit)

    app = MetaApp(lambda: RunScreen(source, badge="LIVE", fps=0), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        await pilot.pause()
        [emit] = sent
        began = time.process_time()
        for number in range(20_000):
            emit(Delta(0, "word and\n" if number % 15 == 0 else "words ", span=spans[number % 4]))
            if number % 83 == 0:  # 1,000 chunks a second, 12 paintings a second
                app.screen.tick()
                await pilot.pause()
        spent = time.process_time() - began
    print(f"{spent:.2f} s")
    assert spent <= 3.0


async def test_ten_thousand_runs_are_listed_from_the_index():
    runs = store.home().runs
    await record(runs / "first.jsonl")
    line = (runs / "first.jsonl").read_bytes().split(b"\n", 1)[0] + b"\n"
    for number in range(10_000):
        (runs / f"{number:05}.jsonl").write_bytes(line)
    store.own_runs().summaries()
    app = MetaApp(lambda: HomeScreen([]), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        began = time.process_time()
        app.screen._take(store.own_runs().summaries())
        await pilot.pause()
        spent = time.process_time() - began
        assert app.screen.query_one("#runs", Listing).count == 10_001
    print(f"{spent:.2f} s")
    assert spent <= 0.3
