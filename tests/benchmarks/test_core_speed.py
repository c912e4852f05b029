"""What replaying, reading and parsing cost: ratios of CPU time inside one process, never seconds."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import tracemalloc
from collections import deque
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from published import META, archive
from scripted_runs import FINAL, again, run

from meta_tui.exchange import published
from meta_tui.methods.meta_prompting import MetaPrompting
from meta_tui.models.scripted import ScriptedModel
from meta_tui.protocol import code_blocks, final_answer, read, requested_code
from meta_tui.run import Doors
from meta_tui.runlog import read as read_log
from meta_tui.sources import header, replay


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The run logs of all published meta-prompting runs."""
    folder = tmp_path_factory.mktemp("meta")
    done: list[Path] = []

    async def everything() -> None:
        for file in published.published_files(archive(), META):
            found = published.rows(file)
            notice, limit = published.bounds(file, [row["message_log"] for row in found])
            for number, row in enumerate(found):
                done.append(folder / file.method / file.task / f"{number}.jsonl")
                await published.import_run(file, number, row, notice, limit, done[-1])

    asyncio.run(everything())
    assert len(done) == 3850
    return done


def floor(log: Path) -> None:
    """json.loads on every line and SHA-256 over the distinct text: nobody can do with less."""
    seen = set()
    for line in log.read_bytes().split(b"\n"):
        if line:
            found = json.loads(line)
            if found["e"] == "Message":
                seen.add(found["content"])
            elif found["e"] == "Replied":
                seen.add(found["reply"]["text"])
    for text in seen:
        sha256(text.encode()).hexdigest()


def cpu(work: Callable[[], object], times: int = 3) -> float:
    """The least CPU time of several runs, in seconds."""
    found = []
    for _ in range(times):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def test_replaying_the_published_runs_costs_at_most_four_times_the_floor(
    logs: list[Path], record_property: Callable[[str, object], None]
) -> None:
    async def all_again() -> None:
        for log in logs:
            await replay(read_log(log))

    least = cpu(lambda: deque(map(floor, logs), maxlen=0))
    reading = cpu(lambda: deque(map(read_log, logs), maxlen=0))
    replaying = cpu(lambda: asyncio.run(all_again()))
    record_property("read", reading / least)
    record_property("replay", replaying / least)
    print(f"\nread {reading / least:.2f}, replay {replaying / least:.2f} times the floor of {least:.2f} s")
    assert replaying <= 4 * least


def test_memory_is_flat_over_the_replay(logs: list[Path]) -> None:
    """What is alive after 1,200 runs is what was alive after 400."""

    async def some(count: int) -> None:
        for log in logs[:count]:
            await replay(read_log(log))

    asyncio.run(some(50))
    tracemalloc.start()
    try:
        alive = []
        for _ in range(3):
            asyncio.run(some(400))
            gc.collect()
            alive.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert alive[-1] - alive[0] < 64 * 1024, alive


Q = '"""'
RUN = "Please run this code!"
SHAPES: dict[str, Callable[[int], str]] = {
    "one word": lambda n: "Expert " + "a" * n,
    "one word and a colon": lambda n: "Expert " + "a" * n + ":",
    "words": lambda n: "Expert " + "ab " * (n // 3),
    "experts": lambda n: "Expert " * (n // 7),
    "experts and colons": lambda n: "Expert a: " * (n // 10),
    "one line": lambda n: "x" * n,
    "blanks": lambda n: " " * n,
    "newlines": lambda n: "\n" * n,
    "quotes": lambda n: '"' * n,
    "blocks": lambda n: f"Expert Ada:\n{Q}\nGo.\n{Q}\n" * (n // 24),
    "blocks of nobody": lambda n: f"{Q}x{Q} " * (n // 8),
    "a block without an end": lambda n: f"Expert Ada:\n{Q}\n" + "x" * n,
    "markers": lambda n: ">> FINAL ANSWER:" * (n // 16),
    "a marker and quotes": lambda n: f">> FINAL ANSWER:\n{Q}\n" + '"x' * (n // 2),
    "a marker and blanks": lambda n: ">> FINAL ANSWER:" + " \n" * (n // 2),
    "fences": lambda n: "```\nx\n```\n" * (n // 10) + RUN,
    "fences without an end": lambda n: "```python\n" * (n // 10) + RUN,
    "backticks": lambda n: "`" * n + RUN,
    "indented backticks": lambda n: "  ```" * (n // 5) + RUN,
    "run requests": lambda n: RUN * (n // 21),
    "brackets": lambda n: f"Expert Python {'(' * n}:\n{Q}x{Q}",
    "names with remarks": lambda n: f"Expert Python (a):\n{Q}x{Q}\n" * (n // 28),
}


def parse(text: str) -> None:
    read(text, "compat")
    read(text, "lenient")
    final_answer(text)
    code_blocks(text)
    requested_code(text, RUN)


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_a_reply_is_linear_in_its_length(shape: str) -> None:
    """Four times the text takes at most six and a half times the time; square would be sixteen."""
    short, long = SHAPES[shape](200_000), SHAPES[shape](800_000)
    parse(short)
    once = max(cpu(lambda: parse(short)), 0.0005)
    assert cpu(lambda: parse(long)) <= 6.5 * once


@pytest.mark.parametrize("size", [120, 10_000_000])
@pytest.mark.parametrize("shape", ["one word", "one word and a colon", "one line", "quotes", "blanks"])
def test_long_words_and_lines_are_read_in_no_time(shape: str, size: int) -> None:
    """The published pattern needs a second for a word of 80 letters. Here 10 MB cost less than
    hashing and decoding them some fifty times."""
    text = SHAPES[shape](size)
    least = max(cpu(lambda: (sha256(text.encode()), json.loads(json.dumps(text)))), 0.001)
    assert cpu(lambda: parse(text), 1) <= 50 * least


def test_a_reply_of_ten_megabytes_is_conducted_and_recorded(tmp_path: Path) -> None:
    """The whole run, not the reader alone: it costs a small multiple of encoding the reply."""
    reply = f"Expert Ada:\n{Q}\n" + "x" * 10_000_000 + f"\n{Q}"
    method, log = MetaPrompting(), tmp_path / "run.jsonl"
    started = header(method, "q", model="m")
    least = cpu(lambda: (json.dumps(reply), sha256(reply.encode())))
    spent = cpu(lambda: run(method, started, Doors(ScriptedModel([reply, "x", FINAL])), log), 1)
    replayed = cpu(lambda: again(log), 1)
    assert spent <= 60 * least
    assert replayed <= 60 * least
