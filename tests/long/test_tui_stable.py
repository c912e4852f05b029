"""Tests of the app pass twenty times in a row, however busy the machine is."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ["goldens", "run_screen", "home", "pane", "snapshots"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(20))
def test_again(number):
    files = [str(ROOT / "tests" / "tui" / f"test_tui_{name}.py") for name in FILES]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "3", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
