"""Ctrl-C ends a plain command with 130; lines of the log stand in `runs show`."""

import json
import signal
import subprocess
import sys

from meta_tui import store
from meta_tui.cli import INTERRUPTED, main

MAIN = "import sys; from meta_tui.cli import main; sys.exit(main(sys.argv[1:]))"


def test_ctrl_c_ends_a_plain_command_with_130():
    command = [sys.executable, "-c", MAIN, "play", "game24-python", "--plain", "--speed", "0.01"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == INTERRUPTED == 128 + signal.SIGINT
    assert said.strip() == "meta-tui: stopped"


def test_runs_show_names_the_line_of_each_outcome(capsys):
    path = store.find("game24-python")
    assert main(["runs", "show", "game24-python"]) == 0
    shown = capsys.readouterr().out
    kinds = [json.loads(line)["e"] for line in path.read_text().splitlines()]
    outcomes = [n for n, kind in enumerate(kinds, 1) if kind in ("Replied", "CodeFinished")]
    assert outcomes
    for line in outcomes:
        assert f"line {line}" in shown
    assert main(["play", "game24-python", "--plain"]) == 0
    assert " line 4" not in capsys.readouterr().out
