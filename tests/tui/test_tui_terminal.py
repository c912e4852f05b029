"""The app in a real terminal: what it writes, and what it leaves behind, whatever happens."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from tui_hostile import SHORT
from tui_runs import FINAL, record

RESTORED = ("\x1b[?1049l", "\x1b[?1000l", "\x1b[?2004l", "\x1b[?25h")
"""Alternate screen, mouse, bracketed paste off; cursor on."""

BROWSE = "import sys; from meta_tui.tui import browse; sys.exit(browse())"
WATCH = "import sys; from pathlib import Path; from meta_tui.tui import watch; sys.exit(watch(Path(sys.argv[1]), speed=0))"


class Terminal:
    """A child process on a pseudo terminal, and everything that it wrote."""

    def __init__(self, code, *arguments, size=(80, 24), **environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.written = b""

    @property
    def text(self):
        return self.written.decode("utf-8", "replace")

    def read(self, seconds=0.1):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self.master], [], [], left)
            if not ready:
                return
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.written += data

    def until(self, words, seconds=20):
        end = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < end, f"never showed {words!r}: {self.text[-2000:]!r}"
            self.read()

    def press(self, keys):
        os.write(self.master, keys.encode())

    def ended(self, seconds=20):
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, "never ended"
            self.read()
        self.read(0.3)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal():
    opened = []

    def open_one(*args, **more):
        opened.append(Terminal(*args, **more))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def assert_restored(text):
    for code in RESTORED:
        assert code in text, f"{code!r} is missing"
    assert text.rindex("\x1b[?1049l") > text.rindex("\x1b[?1049h")


def test_two_keys_from_the_start_to_a_moving_playback(terminal):
    shell = terminal(BROWSE, size=(120, 36))
    shell.until("game24-python")
    shell.press("\r")
    shell.until("PLAYBACK")
    shell.until("Expert Problem Solver")
    shell.press("\x11")
    assert shell.ended() == 0
    assert_restored(shell.text)


def test_leaving_gives_the_terminal_back(terminal, run_log):
    shell = terminal(WATCH, str(run_log))
    shell.until("answered")
    shell.press("q")
    assert shell.ended() == 0
    assert_restored(shell.text)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_gives_the_terminal_back_and_says_so(terminal, run_log, name):
    shell = terminal(WATCH, str(run_log))
    shell.until("answered")
    shell.process.send_signal(getattr(signal, name))
    assert shell.ended() == 1
    assert_restored(shell.text)
    assert f"ended by {name}" in shell.text


LIVE = """
import asyncio, sys
from pathlib import Path
from meta_tui.methods import build
from meta_tui.models.base import Answer
from meta_tui.chat import Reply
from meta_tui.run import Doors
from meta_tui.sources import header, live
from meta_tui.tui import solve_screen

class Slow:
    async def answer(self, call, tell):
        tell("thinking aloud ")
        await asyncio.sleep(60)
        return Answer(Reply("never"), None)

async def source(emit, stop):
    method = build("standard")
    started = header(method, "q", model="slow")
    return await live(method, started, Doors(Slow()), log=Path(sys.argv[1]), consumers=[emit], stop=stop)

sys.exit(solve_screen(source, title="slow"))
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_in_a_live_run_leaves_a_whole_log(terminal, tmp_path, name):
    from meta_tui import runlog

    log = tmp_path / "live.jsonl"
    shell = terminal(LIVE, str(log))
    shell.until("thinking aloud")
    shell.process.send_signal(getattr(signal, name))
    assert shell.ended() == 1
    assert_restored(shell.text)
    recording = runlog.read(log)
    assert recording.finished.status == "cancelled"
    assert not recording.torn
    assert "resume" in shell.text


def test_leaving_a_live_run_asks_first_and_then_keeps_its_log(terminal, tmp_path):
    from meta_tui import runlog

    log = tmp_path / "live.jsonl"
    shell = terminal(LIVE, str(log))
    shell.until("thinking aloud")
    shell.press("q")
    shell.until("Stop now, and leave")
    shell.press("jj\r")
    assert shell.ended() == 1
    assert_restored(shell.text)
    assert runlog.read(log).finished.status == "cancelled"


SOLVE = "import sys; from meta_tui.cli import main; sys.exit(main(['solve', 'hi', '--model', 'copy-paste', '--method', 'standard']))"


def test_copy_paste_from_the_command_line_happens_in_the_app(terminal, tmp_path):
    shell = terminal(SOLVE, size=(100, 30), META_TUI_HOME=str(tmp_path / "home"))
    shell.until("paste the reply here")
    assert "\x1b]52;c;" in shell.text
    shell.press("\x1b[200~>> FINAL ANSWER:\n42\x1b[201~")
    shell.until("42")
    shell.press("\x13")
    shell.until("✓ answered")
    shell.press("q")
    assert shell.ended() == 0
    assert_restored(shell.text)


CRASH = """
import sys
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.home import HomeScreen

def broken(self):
    secret = "sk-" + "abcdefgh12345678"
    raise RuntimeError("\\x1b]0;owned\\x07 [bold]x[/bold]")

HomeScreen.action_find = broken
app = MetaApp(lambda: HomeScreen([]))
app.run()
sys.exit(app.return_code)
"""


def test_a_crash_gives_the_terminal_back_and_names_a_report(terminal, tmp_path):
    home = tmp_path / "home"
    shell = terminal(CRASH, size=(200, 24), META_TUI_HOME=str(home))
    shell.until("No runs yet")
    shell.press("/")
    assert shell.ended() == 1
    assert_restored(shell.text)
    said = shell.text[shell.text.rindex("\x1b[?1049l") :]
    assert "This is a defect of meta-tui: RuntimeError" in said
    assert "owned\x07" not in said
    assert "[bold]x[/bold]" in said
    [report] = (home / "reports").iterdir()
    assert "RuntimeError" in report.read_text()
    assert "sk-abcdefgh" not in report.read_text()
    assert "\x1b" not in report.read_text()


def test_a_full_disk_ends_the_run_and_says_what_is_kept(terminal, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    code = LIVE.replace("log=Path(sys.argv[1])", "log=None").replace(
        "live(method, started, Doors(Slow()), log=None, consumers=[emit], stop=stop)",
        "full(method, started, emit, stop)",
    )
    code = code.replace(
        "async def source",
        "from meta_tui.journal import Journal\nfrom meta_tui.run import conduct\nfrom meta_tui.runlog import Writer\n\n"
        "async def full(method, started, emit, stop):\n"
        "    journal = Journal(writer=Writer(Path('/dev/full')), consumers=[emit])\n"
        "    return await conduct(method, started, journal, Doors(Slow()), stop=stop)\n\nasync def source",
    )
    shell = terminal(code, str(tmp_path), size=(120, 30))
    shell.until("cannot write the run log")
    shell.press("q")
    assert shell.ended() == 5
    assert_restored(shell.text)


ALLOWED = re.compile(
    r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]"  # CSI that Textual and Rich write
    r"|\x1b\]22;[a-z-]*\x07"  # the pointer's shape
    r"|\x1b[()][AB012]|\x1b[=>78]"
    r"|[\n\r\t]"
)


def assert_harmless(shell):
    """The terminal gets printable text and the app's own CSI codes, and is given back."""
    shell.until("■ at the end")
    shell.press("2zz1gG")
    shell.read(0.5)
    shell.press("q")
    assert shell.ended() == 0
    rest = ALLOWED.sub("", shell.text)
    assert not {c for c in rest if not c.isprintable() and c not in "\u200c\u200d"}
    assert "\x1b[2J" not in shell.text.split("PLAYBACK", 1)[1]
    assert_restored(shell.text)


async def test_no_forbidden_byte_of_a_model_reaches_the_terminal(terminal, tmp_path):
    text = SHORT.encode("utf-8", "replace").decode()
    path = tmp_path / "hostile.jsonl"
    await record(
        path,
        [f'Expert Poet:\n"""\n{text}\n"""', text, FINAL.replace("(10 - 4) * 5 - 6", text)],
        (),
        question=text,
    )
    assert_harmless(terminal(WATCH, str(path)))


@pytest.mark.parametrize(
    "environment",
    [
        {"NO_COLOR": "1"},
        {"TERM": "linux", "COLORTERM": ""},
        {"LANG": "C"},
        {"META_TUI_THEME": "meta-ansi"},
        {"META_TUI_THEME": "meta-light"},
    ],
)
def test_other_terminals(terminal, run_log, environment):
    shell = terminal(WATCH, str(run_log), **environment)
    shell.until("answered")
    shell.press("q")
    assert shell.ended() == 0
    assert_restored(shell.text)


def test_40_by_10(terminal, run_log):
    shell = terminal(WATCH, str(run_log), size=(40, 10))
    shell.until("answered")
    shell.press("zzi")
    shell.read(0.3)
    shell.press("qq")
    assert shell.ended() == 0
