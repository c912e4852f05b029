"""Functions and commands as experts: whatever they do ends, within their time, as a result."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calls import ask

from meta_tui.errors import CallFailed
from meta_tui.models.base import Answer, Model
from meta_tui.models.command import CommandExpert
from meta_tui.models.local import Cast, FunctionExpert
from meta_tui.models.scripted import ScriptedModel

KEPT = 64 * 1024


def heard(expert: Model, instruction: str = "do it") -> Answer:
    """The answer, in a loop of its own."""
    return asyncio.run(expert.answer(ask(instruction), lambda news: None))


def said(function: Callable[[str], Any], seconds: float = 5.0) -> str:
    return heard(FunctionExpert(function, seconds)).reply.text


def failure(expert: Model) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        heard(expert)
    return caught.value


def shell(script: str, seconds: float = 10.0) -> CommandExpert:
    return CommandExpert(("sh", "-c", script), seconds)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def gone(pid: int) -> bool:
    """Whether a process ended (a zombie that nobody waited for has ended too)."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_function_gets_the_instruction_and_its_text_is_the_reply() -> None:
    answer = heard(FunctionExpert(str.upper), "rhyme with sea")
    assert answer.reply.text == "RHYME WITH SEA"
    assert answer.reply.usage is not None
    assert answer.reply.usage.total == 0
    assert answer.how is not None
    assert (answer.how.source, answer.how.cost) == ("live", 0.0)


def test_a_coroutine_function_is_awaited_in_a_loop_of_its_own() -> None:
    async def slow(text: str) -> str:
        await asyncio.sleep(0.01)
        return f"{text}!"

    assert said(slow) == "do it!"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (7, "7"),
        ({"a": [1, 2.5, None]}, '{"a":[1,2.5,null]}'),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        ("half \ud800 a pair", "half \ufffd a pair"),
    ],
    ids=["none", "number", "json", "bytes", "surrogate"],
)
def test_a_value_that_is_no_text_becomes_one(value: Any, text: str) -> None:
    assert said(lambda _: value) == text


@pytest.mark.parametrize("value", [object(), {1, "a", object()}, open, (n for n in range(3))], ids=str)
def test_a_value_that_cannot_be_text_says_so(value: Any) -> None:
    error = failure(FunctionExpert(lambda _: value))
    assert "let it return str" in error.message


def test_five_megabytes_are_cut_and_counted() -> None:
    text = said(lambda _: "x" * 5_000_000)
    assert text == "x" * KEPT + f"\n[... {5_000_000 - KEPT:,} more characters came and are left out]"


@pytest.mark.parametrize(
    "raised", [ValueError("no such page"), SystemExit(3), KeyboardInterrupt(), StopIteration()]
)
def test_whatever_a_function_raises_is_a_failed_call(raised: BaseException) -> None:
    def fail(_: str) -> None:
        print("before it failed")
        raise raised

    error = failure(FunctionExpert(fail))
    assert error.kind == "unknown"
    assert error.message.startswith(type(raised).__name__)
    assert "before it failed" in error.message


def test_an_error_that_cannot_even_be_told_is_a_failed_call_at_once() -> None:
    class Untold(Exception):
        def __str__(self) -> str:
            raise SystemExit

    def fail(_: str) -> None:
        raise Untold

    began = time.monotonic()
    assert failure(FunctionExpert(fail, seconds=10)).message == "Untold"
    assert time.monotonic() - began < 5


def test_a_text_of_a_class_of_its_own_is_taken_as_plain_text() -> None:
    class Odd(str):
        __slots__ = ()

        def __len__(self) -> int:
            raise SystemExit

        def __getitem__(self, at: Any) -> str:
            raise KeyboardInterrupt

    assert said(lambda _: Odd("fine")) == "fine"


def test_a_function_that_closes_its_output_closes_it_for_nobody_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def closes(_: str) -> str:
        print("last words")
        sys.stdout.close()
        return "done"

    assert said(closes) == "done\n\n[It printed this]\nlast words"
    print("still here")
    assert capsys.readouterr().out == "still here\n"


def test_a_function_cannot_stop_the_run_by_raising_our_own_errors() -> None:
    from meta_tui.errors import Stopped

    def fail(_: str) -> None:
        raise Stopped("budget", "haha")

    assert type(failure(FunctionExpert(fail))) is CallFailed


def test_a_function_that_hangs_is_left_alone_at_its_limit_and_holds_up_nothing() -> None:
    free = threading.Event()
    began = time.monotonic()
    error = failure(FunctionExpert(lambda _: free.wait(60), seconds=0.2))
    assert error.kind == "timeout"
    assert "left running" in error.message
    assert time.monotonic() - began < 3
    free.set()


def test_a_process_ends_although_a_function_hangs(tmp_path: Path) -> None:
    code = (
        "import meta_tui, time\n"
        'script = [\'Expert Slow:\\n"""\\nx\\n"""\', \'>> FINAL ANSWER: 1\']\n'
        "experts = {'Expert Slow': {'function': lambda _: time.sleep(600), 'seconds': 0.2}}\n"
        "print(meta_tui.solve('q', model=meta_tui.ScriptedModel(script), experts=experts, log='r.jsonl').answer)"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "1"
    assert time.monotonic() - began < 20


def test_what_a_function_prints_is_in_its_reply_and_nowhere_else(capsys: pytest.CaptureFixture[str]) -> None:
    def talk(text: str) -> str:
        print("to out", text)
        print("to err", file=sys.stderr)
        return "found"

    assert said(talk) == "found\n\n[It printed this]\nto out do it\nto err"
    assert said(lambda _: print("only this")) == "[It printed this]\nonly this"
    print("mine")
    out = capsys.readouterr()
    assert (out.out, out.err) == ("mine\n", "")


def test_other_threads_print_as_before_while_a_function_runs(capsys: pytest.CaptureFixture[str]) -> None:
    inside, outside = threading.Event(), threading.Event()

    def talk(_: str) -> None:
        inside.set()
        outside.wait(10)
        print("captured")

    async def both() -> str:
        asked = asyncio.ensure_future(FunctionExpert(talk).answer(ask(), lambda news: None))
        while not inside.is_set():
            await asyncio.sleep(0.001)
        print("shown")
        outside.set()
        return (await asked).reply.text

    real = sys.stdout
    assert asyncio.run(both()) == "[It printed this]\ncaptured"
    assert capsys.readouterr().out == "shown\n"
    assert sys.stdout is real


def test_a_function_left_running_still_does_not_print_into_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    free, printed = threading.Event(), threading.Event()

    def late(_: str) -> None:
        free.wait(10)
        print("too late")
        printed.set()

    failure(FunctionExpert(late, seconds=0.1))
    free.set()
    assert printed.wait(10)
    assert capsys.readouterr().out == ""


def test_keys_of_the_environment_do_not_come_into_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_API_KEY", "abcdefgh12345678")
    assert said(lambda _: "used abcdefgh12345678") == "used [secret]"
    error = failure(FunctionExpert(lambda _: {}["abcdefgh12345678"]))
    assert "abcdefgh" not in error.message


def test_a_command_reads_the_instruction_and_its_output_is_the_reply() -> None:
    assert heard(CommandExpert(("cat",)), "two\nlines é").reply.text == "two\nlines é"
    assert heard(shell("wc -c"), "x" * 1_000_000).reply.text.strip() == "1000000"
    assert heard(shell("exec <&-; echo did not read"), "x" * 1_000_000).reply.text == "did not read"


def test_no_shell_reads_the_arguments_of_a_command() -> None:
    assert heard(CommandExpert(("echo", "$HOME; echo no", "*"))).reply.text == "$HOME; echo no *"


def test_an_exit_code_and_errors_are_in_the_reply() -> None:
    assert (
        heard(shell("echo some; echo why >&2; exit 3")).reply.text == "some\n[It ended with exit code 3]\nwhy"
    )
    assert heard(shell("kill -9 $$")).reply.text == "[It was ended by signal 9]"
    assert heard(shell("echo fine; echo chatter >&2")).reply.text == "fine"


def test_a_command_that_cannot_be_started_says_so() -> None:
    error = failure(CommandExpert(("no-such-command-anywhere",)))
    assert "no-such-command-anywhere" in error.message


def test_a_command_that_prints_without_end_costs_no_memory_and_is_killed() -> None:
    began = time.monotonic()
    error = failure(CommandExpert(("yes",), seconds=0.5))
    assert error.kind == "timeout"
    assert "it had printed: y y y" in error.message
    assert len(error.message) < 500
    assert time.monotonic() - began < 5


def test_the_limit_kills_a_command_and_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    error = failure(shell(f"sleep 300 & echo $! >> {pids}; echo $$ >> {pids}; wait", seconds=0.5))
    assert "was killed" in error.message
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_what_a_command_leaves_in_the_background_ends_with_it(tmp_path: Path) -> None:
    """The child holds the pipe open: neither the reply nor the end may wait for it."""
    pids = tmp_path / "pids"
    began = time.monotonic()
    assert heard(shell(f"sleep 300 & echo $! >> {pids}; echo done")).reply.text == "done"
    assert time.monotonic() - began < 5
    assert gone(int(pids.read_text()))


def test_a_stop_kills_the_command_that_is_under_way(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async def stopped() -> None:
        asked = asyncio.ensure_future(shell(f"echo $$ > {pids}; sleep 300").answer(ask(), lambda news: None))
        while not (pids.exists() and pids.read_text().strip()):
            await asyncio.sleep(0.01)
        asked.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asked

    asyncio.run(stopped())
    assert gone(int(pids.read_text()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
def test_no_thread_and_no_open_file_stays_behind_a_command() -> None:
    heard(shell("echo warm"))
    threads, files = threading.active_count(), open_files()
    for _ in range(20):
        heard(shell("cat; echo x >&2"))
    assert threading.active_count() <= threads + 1
    assert open_files() <= files + 1


def test_a_request_goes_to_whom_it_is_addressed() -> None:
    everybody, search = ScriptedModel(["a"]), ScriptedModel(["b"])
    cast = Cast(everybody, {"function:Expert Search": search})
    assert heard(cast).reply.text == "a"
    other = ask("x", model="function:Expert Search")
    assert asyncio.run(cast.answer(other, lambda news: None)).reply.text == "b"
    assert (len(everybody.calls), len(search.calls)) == (1, 1)
