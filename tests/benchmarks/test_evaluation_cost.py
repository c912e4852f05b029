"""What an evaluation costs beside its models: CPU a call, and memory with many cells in flight."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from evaluation import bench

CODE = """
import asyncio, json, sys, time
from pathlib import Path
from evaluation import bench
from memory import peak_mb
folder = Path(sys.argv[1])
began = time.process_time()
done = asyncio.run(bench.run(folder, 125, pause=0.05, at_once=200))
spent = time.process_time() - began
text = b"".join(p.read_bytes() for p in (folder / "cells").glob("*.jsonl"))
began = time.process_time()
for line in text.split(b"\\n"):
    line and json.loads(line)
floor = time.process_time() - began
print(json.dumps({"cells": done.done, "calls": done.calls, "cpu": spent, "floor": floor,
                  "rss": peak_mb()}))
"""


def test_a_thousand_cells_two_hundred_at_once_cost_little_beside_their_models(tmp_path: Path) -> None:
    """1,000 cells, 200 in flight: below 500 MB, at most 3 ms CPU of our own for each model call
    (the scripted model's own work, looking up a sample among 500, is in it)."""
    root = Path(bench.__file__).parent.parent
    env = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)],
        capture_output=True,
        text=True,
        env=env,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(found, 1000 * found["cpu"] / found["calls"], "ms CPU a call")
    assert found["cells"] == 1000
    assert found["calls"] == 2000
    assert found["rss"] < 500
    assert found["cpu"] / found["calls"] <= 0.003
