"""A live run under load in a real terminal: CPU share, delay of the loop, key to screen.

1,000 chunks a second over 4 panes at 200x60. The share and the delay are counted in CPU time, so
that other processes cannot spoil them. Key to screen is a clock's figure: what a program that only
echoes needs on the same machine at the same time is taken off, and the best of three runs counts.
"""

import json
import sys
import time
from pathlib import Path

import pytest

TUI = Path(__file__).parents[1] / "tui"
sys.path.insert(0, str(TUI))

from test_tui_terminal import Terminal  # noqa: E402

CPU, LAG, KEY = 0.40, 25.0, 100.0
ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


def measured(tmp_path, number):
    out = tmp_path / f"figures{number}.json"
    program = f"import sys; sys.path.insert(0, {str(TUI)!r}); sys.argv[0] = 'x'; import tui_stream; tui_stream.main()"
    echo = Terminal(ECHO)
    shell = Terminal(program, str(out), "8", "1000", "4", size=(200, 60))
    try:
        shell.until("LIVE")
        shell.read(1.0)
        delays, echoes = [], []
        for _ in range(12):
            delays.append(pressed(shell, "2", "> 2 "))
            delays.append(pressed(shell, "1", "> 1 "))
            shell.read(0.05)
            echoes.append(pressed(echo, "x\n", "x"))
        shell.until("answered")
        shell.press("q")
        shell.ended()
    finally:
        shell.close()
        echo.close()
    figures = json.loads(out.read_text())
    key, base = high(delays), high(echoes)
    return {**figures, "key95": key - base, "key95 by the clock": key, "echo95": base}


def high(values):
    return sorted(values)[int(len(values) * 0.95)]


def pressed(shell, key, words):
    """Milliseconds from a key to the words that it brings."""
    shell.written = b""
    began = time.monotonic()
    shell.press(key)
    while words not in shell.text:
        assert time.monotonic() - began < 10
        shell.read(0.002)
    return (time.monotonic() - began) * 1000


def test_a_live_run_leaves_the_machine_and_the_person_in_peace(tmp_path):
    best = {}
    for number in range(3):
        figures = measured(tmp_path, number)
        print(figures)
        best = {name: min(value, best.get(name, value)) for name, value in figures.items()}
        if best["cpu"] <= CPU and best["own95"] <= LAG and best["key95"] <= KEY:
            break
    assert best["cpu"] <= CPU
    assert best["own95"] <= LAG
    assert best["key95"] <= KEY


if __name__ == "__main__":
    pytest.main([__file__, "-s"])
