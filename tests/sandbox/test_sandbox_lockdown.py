"""Each layer of the system stops what it is for, alone, and the filter is what it should be."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from sandbox_programs import needs_layers

from meta_tui.sandbox import lockdown, syscalls
from meta_tui.sandbox.lockdown import LAYERS, readable

ROOT = str(Path(__file__).resolve().parents[2])


def alone(layer: str, code: str, folder: Path) -> str:
    """What a plain Python process prints that has applied one layer only."""
    needs_layers(layer)
    others = set(LAYERS) - {layer}
    script = (
        f"import sys, os, socket, _thread, resource, signal, time\nfrom meta_tui.sandbox import lockdown\n"
        f"layers = lockdown.lock({sorted(others)!r})\n"
        f"assert [name for name, held, _ in layers if held] == [{layer!r}], layers\n"
        f"try:\n{textwrap.indent(code, '    ')}\n    print('DONE')\n"
        "except OSError as error:\n    print('REFUSED', error)\nexcept RuntimeError as error:\n    print('REFUSED', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder, env={**os.environ, "PYTHONPATH": ROOT}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.stdout + done.stderr


READ = "print(open('secret').read())"
WRITE = "open('made', 'w').write('x')"
REMOVE = "os.unlink('secret')"
CONNECT = "s = socket.socket(); s.settimeout(2); s.connect(('127.0.0.1', 9))"
UNIX = "socket.socket(socket.AF_UNIX)"
FORK = "os.fork()"
EXEC = "os.execv('/bin/true', ['true'])"
THREAD = "_thread.start_new_thread(print, ())"
SIGNAL = "os.kill(os.getppid(), 0)"
NEW_FILE_SIZE = "open('made', 'wb').write(bytes(10 << 20))"
FILES = "kept = [os.dup(0) for _ in range(1000)]"


@pytest.mark.parametrize(
    ("layer", "code"),
    [
        ("landlock", READ), ("landlock", WRITE), ("landlock", REMOVE), ("landlock", EXEC),
        ("seccomp", WRITE), ("seccomp", REMOVE), ("seccomp", UNIX), ("seccomp", "socket.socket()"),
        ("seccomp", FORK), ("seccomp", EXEC), ("seccomp", THREAD), ("seccomp", SIGNAL),
        ("audit", READ), ("audit", WRITE), ("audit", REMOVE), ("audit", "socket.socket()"), ("audit", FORK),
        ("audit", EXEC), ("audit", SIGNAL), ("audit", "import ctypes; ctypes.CDLL(None)"),
        ("rlimits", NEW_FILE_SIZE), ("rlimits", FILES),
    ],
)  # fmt: skip
def test_a_layer_alone_refuses(layer: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sesame")
    said = alone(layer, code, tmp_path)
    assert "REFUSED" in said, said
    assert "DONE" not in said
    assert "sesame" not in said


def test_a_network_namespace_alone_reaches_nobody(tmp_path: Path) -> None:
    assert "Network is unreachable" in alone("network", CONNECT, tmp_path)


def test_a_process_without_capabilities_may_not_change_its_limits_or_its_user(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only the superuser has capabilities to lose")
    assert "REFUSED" in alone("capabilities", "os.setuid(12345)", tmp_path)


def test_libraries_stay_readable_and_importable_behind_all_layers(tmp_path: Path) -> None:
    script = (
        "from meta_tui.sandbox import lockdown\nlockdown.lock()\n"
        "import statistics, decimal, sqlite3, unicodedata\nprint(statistics.mean([1, 3]))"
    )
    env = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout == "2\n", done.stderr


def test_no_home_and_no_checkout_is_readable() -> None:
    for path in readable():
        assert not str(Path.home()).startswith(path), path
        assert not ROOT.startswith(path), path


def test_the_filter_knows_both_architectures_and_refuses_newer_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    for machine, numbers in ((0, (59, 322)), (1, (221, 281))):
        monkeypatch.setattr(lockdown, "LINUX", True)
        monkeypatch.setattr(lockdown, "MACHINE", machine)
        assert syscalls.REFUSED["execve"][machine] == numbers[0]
        assert syscalls.REFUSED["execveat"][machine] == numbers[1]
        assert lockdown._filter()[4:6] == [(0x25, 0, 1, syscalls.LAST), (0x06, 0, 0, lockdown.ENOSYS)]


def test_every_jump_of_the_filter_lands_inside_it() -> None:
    if lockdown.MACHINE is None:
        pytest.skip("no system call table for this machine")
    program = lockdown._filter()
    for index, (_, yes, no, _) in enumerate(program):
        assert index + 1 + max(yes, no) < len(program) or program[index][0] == lockdown.BPF_RETURN
    assert program[-1] == (lockdown.BPF_RETURN, 0, 0, lockdown.ALLOW)
    assert len(program) < 4096


def test_no_call_is_listed_twice() -> None:
    for machine in (0, 1):
        listed = [n[machine] for n in syscalls.REFUSED.values() if n[machine] is not None]
        assert len(listed) == len(set(listed))
        assert max(listed) <= syscalls.LAST


def test_a_layer_that_this_machine_lacks_is_reported_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockdown, "LINUX", False)
    held = {
        layer.name: layer
        for layer in (lockdown._apply(n, LAYERS[n], ()) for n in ("landlock", "seccomp", "network"))
    }
    assert [layer.held for layer in held.values()] == [False, False, False]
    assert "Landlock" in held["landlock"].detail
    assert "system call table" in held["seccomp"].detail
