"""The width test of `doctor`: the terminal is asked, its answers are compared, nothing stays."""

import os
import pty
import re
import threading

import pytest
from rich.cells import cell_len
from test_tui_terminal import BROWSE, Terminal, assert_restored

from meta_tui.tui.measure import NARROW_AGAIN, SAMPLES, ZOOM, check, judged, measured


class Screen(threading.Thread):
    """A terminal at the other end: it draws by its own idea of widths, and reports its cursor."""

    def __init__(self, width):
        super().__init__(daemon=True)
        self.master, self.slave = pty.openpty()
        self.width, self.written = width, b""

    def run(self):
        asked = 0
        while asked < len(SAMPLES):
            self.written += os.read(self.master, 4096)
            for found in re.findall(r"\r([^\r\x1b]+)\x1b\[6n", self.written.decode())[asked:]:
                asked += 1
                os.write(self.master, f"\x1b[1;{self.width(found) + 1}R".encode())


def test_a_terminal_that_agrees_passes():
    screen = Screen(cell_len)
    screen.start()
    found = check(screen.slave, screen.slave)
    assert (found.state, found.found) == ("ok", f"{len(SAMPLES)} scripts drawn as wide as counted")


def test_a_terminal_that_draws_bengali_wider_is_told_of():
    screen = Screen(lambda text: cell_len(text) + (2 if text == SAMPLES["Bengali"] else 0))
    screen.start()
    found = check(screen.slave, screen.slave)
    cells = cell_len(SAMPLES["Bengali"])
    assert found.state == "warn"
    assert found.found == f"drawn Bengali {cells + 2} cells, counted {cells}"
    assert found.fix == ZOOM


def test_signs_of_two_cells_have_their_own_remedy():
    assert judged({"signs": 12, "Thai": cell_len(SAMPLES["Thai"])}).fix == NARROW_AGAIN


def test_a_terminal_that_does_not_answer_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr("meta_tui.tui.measure.WAIT", 0.05)
    _master, slave = pty.openpty()
    assert measured(slave, slave) == {}
    assert judged({}).state == "warn"


def test_without_a_terminal_nothing_is_asked():
    assert check() is None


@pytest.mark.timeout(60)
def test_doctor_asks_and_leaves_nothing_on_the_screen():
    shell = Terminal("import sys; from meta_tui.cli import main; sys.exit(main(['doctor']))", size=(120, 36))
    try:
        asked = 0
        for _ in range(400):
            shell.read(0.1)
            found = re.findall(r"\r([^\r\x1b]+)\x1b\[6n", shell.text)
            for sample in found[asked:]:
                shell.press(f"\x1b[1;{cell_len(sample) + 1}R")
            asked = len(found)
            if "text width" in shell.text:
                break
        assert f"text width: {len(SAMPLES)} scripts" in shell.text
        assert shell.text.count("\x1b[K") == len(SAMPLES)
        assert shell.ended() in (0, 1)
    finally:
        shell.close()


def test_the_settings_of_the_app_measure_too_and_the_app_comes_back():
    """This terminal answers nothing, which is said; keys work afterwards."""
    shell = Terminal(BROWSE, size=(120, 60))
    try:
        shell.until("game24-python")
        shell.press(",")
        shell.until("text width")
        shell.until("where its cursor")
        shell.press("q")
        shell.read(0.5)
        shell.press("\x11")
        assert shell.ended() == 0
        assert_restored(shell.text)
    finally:
        shell.close()
