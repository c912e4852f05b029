"""What a result says, what bounds a program, and what is left when everything has ended."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from sandbox_programs import SYSTEM_LAYERS, missing_layers, needs_layers, run_all, run_one

from meta_tui.chat import CodeResult, Limits, Program
from meta_tui.errors import CallFailed, UsageError
from meta_tui.events import How
from meta_tui.sandbox import Sandbox, doctor, layers
from meta_tui.sandbox.lockdown import LAYERS


@pytest.fixture(autouse=True)
def _programs_run_here() -> None:
    missing_layers()


# How a program ends


def test_what_is_printed_is_the_output_and_nothing_is_an_error() -> None:
    assert run_one("print('a', 1)\nprint()") == CodeResult("ok", "a 1\n\n")


def test_an_exception_keeps_the_output_and_says_the_line() -> None:
    result = run_one("print('before')\n\n1 / 0\n")
    assert (result.status, result.stdout, result.line) == ("error", "before\n", 3)
    assert result.error.endswith("ZeroDivisionError: division by zero")


def test_invalid_python_does_not_run_and_says_the_line() -> None:
    result = run_one("print('before')\nx = = 1\n")
    assert (result.status, result.stdout, result.line) == ("syntax", "", 2)
    assert "SyntaxError: invalid syntax" in result.error


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("exit()", ""),
        ("import sys; sys.exit(3)", ""),
        ("raise SystemExit('why')", "why"),
        ("quit('bye')", "bye"),
    ],
)
def test_leaving_early_is_no_error_and_keeps_the_output(code: str, error: str) -> None:
    assert run_one(f"print('x'); {code}; print('y')") == CodeResult("exit", "x\n", error, 1)


def test_a_refused_construct_runs_nothing_of_the_program() -> None:
    result = run_one("print('before')\nprint((1).__class__.__subclasses__)\nprint(f.__globals__)")
    assert (result.status, result.stdout, result.line) == ("refused", "", 3)
    assert "`__globals__`" in result.error


def test_a_refusal_while_running_keeps_the_output_and_says_the_line() -> None:
    result = run_one("print('before')\nimport os\nprint('after')")
    assert (result.status, result.stdout, result.line) == ("refused", "before\n", 2)
    assert "`os`" in result.error


def test_a_program_that_handles_a_refusal_goes_on() -> None:
    code = "try:\n    import pandas\nexcept ImportError:\n    pandas = None\nprint(pandas)"
    assert run_one(code) == CodeResult("ok", "None\n")


def test_too_much_memory_is_said_to_be_that() -> None:
    result = run_one("x = 'a' * 10**11", limits=Limits(memory=256 << 20))
    assert result.status == "memory"
    assert "memory" in result.error


def test_memory_beyond_the_limit_is_not_given() -> None:
    code = "kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))\n    print(len(kept))"
    result = run_one(code, limits=Limits(memory=128 << 20, seconds=20))
    assert result.status == "memory"
    assert 60 < len(result.stdout.split()) < 128


def test_the_clock_stops_what_does_not_end() -> None:
    (result, how) = run_all([Program("while True: pass", limits=Limits(seconds=0.3))], pool=1)[0]
    assert (result.status, result.stdout) == ("timeout", "")
    assert "0.3 s" in result.error
    assert 300 <= (how.ms or 0) < 1500


def test_a_crash_of_the_interpreter_is_a_result() -> None:
    needs_layers("landlock", "seccomp")
    result = run_one("import os\nos.abort()", profile="os_only")
    assert result.status == "crash"
    assert "SIGABRT" in result.error


# Output


def test_output_is_cut_at_its_cap_and_the_rest_is_counted() -> None:
    result = run_one("print('x' * 5000)", limits=Limits(output=1000))
    assert result.stdout == "x" * 1000 + "\n[output cut: 4001 more bytes]\n"


def test_a_cut_never_splits_a_character() -> None:
    result = run_one("print('é' * 10, end='')", limits=Limits(output=5))
    assert result.stdout.startswith("éé\n[output cut")


def test_a_flood_of_output_stops_the_program() -> None:
    result = run_one("while True: print('x' * 1000)", limits=Limits(seconds=20, output=1000))
    assert result.status == "error"
    assert "64000 bytes" in result.error


def test_both_streams_are_output_in_the_order_of_writing() -> None:
    code = "import sys\nprint('a')\nprint('b', file=sys.stderr)\nsys.stdout.write('c\\n')"
    assert run_one(code).stdout == "a\nb\nc\n"


def test_output_without_a_newline_and_with_control_characters_is_kept_as_it_is() -> None:
    assert run_one(r"print('\x1b[2J\r\x00\u202e', end='')").stdout == "\x1b[2J\r\x00\u202e"


def test_a_lone_surrogate_is_an_error_as_on_a_real_stream() -> None:
    result = run_one(r"print('\ud800')")
    assert result.status == "error"
    assert "surrogates not allowed" in result.error


def test_a_result_is_always_text_that_a_file_can_hold() -> None:
    result = run_one(r"raise ValueError('\ud800' + 'x' * 10**6)")
    result.error.encode("utf-8")
    assert len(result.error) < 20_000


# Input, variables in and out


def test_input_reads_the_given_text_and_then_ends() -> None:
    code = "print(input('? '), [line for line in iter(input, '')])\ninput()"
    result = run_one(code, stdin="one\ntwo\n\n")
    assert result.stdout == "? one ['two']\n"
    assert result.error.endswith("EOFError: EOF when reading a line")


def test_inputs_are_variables_and_the_result_comes_back_as_json() -> None:
    result = run_one("y = {'n': x['n'] + 1, 't': (1, 2)}", inputs={"x": {"n": 41}}, result="y")
    assert (result.status, result.value) == ("ok", {"n": 42, "t": [1, 2]})


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = 1", "without setting `y`"),
        ("y = {1, 2}", "no JSON"),
        ("y = float('nan')", "no JSON"),
        ("y = 'a' * 10**7", "larger"),
    ],
)
def test_a_result_that_cannot_come_back_is_an_error_that_says_why(code: str, reason: str) -> None:
    result = run_one(code, result="y")
    assert (result.status, result.value) == ("error", None)
    assert reason in result.error


@pytest.mark.parametrize("inputs", [[1], "x", {"a": float("nan")}, {"a": {1}}, {"a": object()}])
def test_inputs_that_are_no_json_object_are_a_usage_error(inputs: object) -> None:
    with pytest.raises(UsageError, match="inputs of a program"):
        run_one("print(1)", inputs=inputs)


def test_names_of_the_guards_cannot_come_in_as_variables() -> None:
    assert run_one("print((1).real)", inputs={"@get": 5, "__builtins__": {}}).stdout == "1\n"


# Determinism


def test_two_runs_of_one_program_print_the_same() -> None:
    code = (
        "import random\nprint({'a', 'b', 'c'}, hash('x'), random.random(), random.Random().random(), "
        "random.sample(range(99), 3))\nrandom.seed()\nprint(random.random())"
    )
    first, second = run_all([Program(code), Program(code)])
    assert first[0] == second[0]
    assert first[0].status == "ok"


def test_numpy_draws_the_same_without_a_seed() -> None:
    pytest.importorskip("numpy")
    code = "import numpy as np\nprint(np.random.rand(), np.random.default_rng().random())"
    first, second = run_all([Program(code), Program(code)])
    assert first[0] == second[0]
    assert first[0].status == "ok"


def test_programs_share_nothing() -> None:
    assert run_all([Program("import json\njson.seen = 1"), Program("x = 1"), Program("print(x)")], pool=1)[2][
        0
    ].error.endswith("NameError: name 'x' is not defined")


# Layers


def test_every_layer_is_named_with_what_it_does_or_why_it_does_not_hold() -> None:
    named = layers()
    assert [name for name, _, _ in named] == ["policy", *LAYERS]
    assert all(detail for _, _, detail in named)
    assert named == doctor()


def test_a_result_names_the_layers_that_held_it_and_the_versions() -> None:
    _, how = run_all([Program("1")], pool=1)[0]
    held = [name for name, held, _ in layers() if held]
    assert how.layers == (*held, "process")
    assert how.source == "live"
    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}" in how.note


def test_missing_layers_stand_in_every_result_and_are_told_once() -> None:
    told: list[str] = []
    without = {"landlock", "seccomp"}
    ran = run_all([Program("print(1)"), Program("print(2)")], without=without, warn=told.append)
    for result, how in ran:
        assert result.status == "ok"
        assert not without & set(how.layers)
        assert all(name in how.note for name in without)
    assert len(told) == 1
    assert all(name in told[0] for name in without)


def test_the_doctor_says_that_a_layer_was_switched_off() -> None:
    named = {name: (held, detail) for name, held, detail in doctor(without={"seccomp"})}
    assert named["seccomp"] == (False, "switched off by a test flag")


@pytest.mark.parametrize("missing", ["landlock", "seccomp"])
def test_strict_refuses_to_run_without_landlock_or_seccomp(missing: str) -> None:
    with pytest.raises(CallFailed, match=f"strict mode needs .*{missing}") as raised:
        run_all([Program("print(1)")], strict=True, without={missing})
    assert raised.value.exit_code == 5


@pytest.mark.parametrize("missing", ["landlock", "seccomp"])
def test_plain_python_refuses_to_run_without_landlock_or_seccomp(missing: str) -> None:
    with pytest.raises(CallFailed, match=f"os_only needs .*{missing}"):
        run_all([Program("print(1)", profile="os_only")], without={missing})


def test_strict_runs_where_both_are_there() -> None:
    needs_layers("landlock", "seccomp")
    assert run_all([Program("print(1)")], strict=True)[0][0].stdout == "1\n"


def test_plain_python_may_do_what_the_policy_refuses() -> None:
    needs_layers("landlock", "seccomp")
    code = "import os, threading\nprint(os.path.join('a', 'b'), (1).__class__.__base__.__name__)"
    assert run_one(code, profile="os_only").stdout == "a/b object\n"


# The pool


async def test_a_sandbox_starts_nothing_until_it_is_used() -> None:
    before = _children()
    async with Sandbox(pool=2):
        await asyncio.sleep(0.05)
        assert _children() == before


async def test_a_program_that_loops_does_not_hold_up_the_others() -> None:
    async with Sandbox(pool=2) as sandbox:
        loop = asyncio.create_task(sandbox.execute(Program("while True: pass", limits=Limits(seconds=30))))
        others = await asyncio.gather(*(sandbox.execute(Program(f"print({n})")) for n in range(6)))
        assert [result.stdout for result, _ in others] == [f"{n}\n" for n in range(6)]
        assert not loop.done()
        loop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loop


async def test_cancelling_a_run_ends_its_process() -> None:
    before = _children()
    async with Sandbox(pool=1) as sandbox:
        task = asyncio.create_task(sandbox.execute(Program("while True: pass", limits=Limits(seconds=60))))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await sandbox.execute(Program("print(1)")))[0].stdout == "1\n"
    assert _children() == before


async def test_closing_ends_a_program_that_runs() -> None:
    sandbox = Sandbox(pool=1)
    task = asyncio.create_task(sandbox.execute(Program("while True: pass", limits=Limits(seconds=60))))
    await asyncio.sleep(0.5)
    await sandbox.aclose()
    result, _ = await asyncio.wait_for(task, 10)
    assert result.status in ("memory", "crash")


async def test_nothing_is_left_after_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    children, threads = _children(), threading.active_count()
    async with Sandbox(pool=2) as sandbox:
        await asyncio.gather(
            *(sandbox.execute(Program(code, limits=Limits(seconds=0.3))) for code in _ENDINGS)
        )
    assert _children() == children
    assert threading.active_count() == threads
    assert list(tmp_path.iterdir()) == []


_ENDINGS = ("print(1)", "1/0", "while True: pass", "x = 'a' * 10**12", "import os", "exit()", "(")


async def test_a_sandbox_may_be_used_again_after_closing() -> None:
    sandbox = Sandbox(pool=1)
    for _ in range(2):
        assert (await sandbox.execute(Program("print(1)")))[0].stdout == "1\n"
        await sandbox.aclose()
    await sandbox.aclose()


def test_a_sandbox_may_be_used_from_one_event_loop_after_another() -> None:
    before = _children()
    sandbox = Sandbox(pool=1)

    async def run() -> tuple[CodeResult, How]:
        return await sandbox.execute(Program("print(1)"))

    for _ in range(2):
        assert asyncio.run(run())[0].stdout == "1\n"
    asyncio.run(sandbox.aclose())
    assert _children() == before


async def test_workers_end_with_the_app(tmp_path: Path) -> None:
    """Also when the app is killed and can clean up nothing."""
    script = tmp_path / "app.py"
    script.write_text(
        "import asyncio, os, sys\nfrom meta_tui.sandbox import Sandbox\nfrom meta_tui.chat import Program, Limits\n"
        "async def main():\n"
        "    sandbox = Sandbox(pool=1)\n"
        "    await sandbox.execute(Program('print(1)'))\n"
        "    print('ready', flush=True)\n"
        "    await sandbox.execute(Program('while True: pass', limits=Limits(seconds=100)))\n"
        "asyncio.run(main())\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    app = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}
    )
    assert app.stdout is not None
    assert app.stdout.readline() == b"ready\n"
    await asyncio.sleep(0.5)
    workers = _children_of(app.pid)
    assert workers
    app.kill()
    app.wait()
    app.stdout.close()
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_the_package_loads_nothing_heavy_until_it_is_used() -> None:
    code = (
        "import sys, meta_tui.sandbox\n"
        "heavy = {'RestrictedPython', 'subprocess', 'asyncio', 'ctypes', 'msgspec', 'sympy', 'numpy'} & set(sys.modules)\n"
        "sys.exit(sorted(heavy) and str(heavy) or 0)"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root}, capture_output=True
    )
    assert done.returncode == 0, done.stderr


def test_without_layers_the_environment_of_the_app_is_still_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker starts with an environment of its own, so a key in ours is nowhere in its process."""
    needs_layers("landlock", "seccomp")
    monkeypatch.setenv("SECRET_OF_THE_APP", "sesame")
    result = run_one("import os\nprint(sorted(os.environ))", profile="os_only")
    assert "SECRET" not in result.stdout
    assert "PYTHONHASHSEED" in result.stdout


def test_the_system_layers_are_all_known_by_name() -> None:
    assert set(LAYERS) >= SYSTEM_LAYERS


def _children() -> set[int]:
    return _children_of(os.getpid())


def _children_of(pid: int) -> set[int]:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("children are counted in /proc, which this system lacks")
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text().split()}


FORGED = (
    "import json, os\n"
    "body = json.dumps({'status': 'ok', 'stdout': 'x', 'value': VALUE}).encode()\n"
    "rest = len(body).to_bytes(4, 'big') + body\n"
    "while rest: rest = rest[os.write(3, rest):]\n"
    "os._exit(0)"
)
"""A program that answers in the place of its worker."""


def test_a_value_that_nobody_asked_for_is_not_kept() -> None:
    needs_layers("landlock", "seccomp")
    code = FORGED.replace("VALUE", "[1]")
    assert run_one(code, profile="os_only").value is None
    assert run_one(code, profile="os_only", result="x").value == [1]


def test_an_answer_larger_than_any_honest_one_is_a_crash() -> None:
    """Parsing it would take the app's time and memory, not the worker's."""
    needs_layers("landlock", "seccomp")
    result = run_one(FORGED.replace("VALUE", "[[]] * 1_000_000"), profile="os_only", result="x")
    assert result.status == "crash"


def test_an_honest_answer_of_the_largest_size_arrives_whole() -> None:
    """Every byte printed takes six in the frame, and the value is as long as it may be."""
    code = "print('\\x01' * 65535)\nx = 'y' * ((1 << 20) - 2)"
    result = run_one(code, result="x")
    assert (result.status, len(result.stdout)) == ("ok", 65536)
    assert result.value == "y" * ((1 << 20) - 2)
