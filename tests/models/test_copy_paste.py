"""A person with a web chat is a model: prompts go out whole, replies come back as pasted."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import sys
from collections.abc import Iterator

import pytest
from calls import Told, ask

from meta_tui.chat import Message, Params, Request, system, user
from meta_tui.errors import CallFailed
from meta_tui.models.base import Call
from meta_tui.models.copy_paste import CopyPasteModel, Terminal, prompt_of, read_reply, visible


def pasted(text: str) -> CopyPasteModel:
    async def reply(_: str) -> str:
        return text

    return CopyPasteModel(reply)


async def test_the_reply_is_what_was_pasted_and_cost_nothing() -> None:
    told = Told()
    answer = await pasted("  the answer\r\nis 4 ").answer(ask(temperature=0.0), told)
    assert answer.reply.text == "  the answer\r\nis 4 "
    assert told == ["  the answer\r\nis 4 "]
    assert answer.reply.usage is None
    assert answer.how is not None
    assert (answer.how.source, answer.how.cost, answer.how.sent) == ("copy-paste", 0.0, {})


async def test_a_lone_surrogate_is_replaced() -> None:
    assert (await pasted("a\udc80").answer(ask(), Told())).reply.text == "a\ufffd"


async def test_an_input_that_ended_is_a_failed_call() -> None:
    async def nobody(_: str) -> str:
        raise EOFError

    with pytest.raises(CallFailed, match="resume") as failed:
        await CopyPasteModel(nobody).answer(ask(), Told())
    assert failed.value.kind == "cut"


async def test_people_are_asked_one_thing_at_a_time() -> None:
    asked: list[str] = []
    answered = asyncio.Event()

    async def reply(prompt: str) -> str:
        asked.append(prompt)
        await answered.wait()
        return prompt.upper()

    model = CopyPasteModel(reply)
    tasks = [asyncio.ensure_future(model.answer(ask(text), Told())) for text in ("one", "two")]
    for _ in range(5):
        await asyncio.sleep(0)
    assert asked == ["one"]
    answered.set()
    assert [(await task).reply.text for task in tasks] == ["ONE", "TWO"]


def test_a_single_message_is_sent_bare_and_several_under_their_roles() -> None:
    assert prompt_of(Request((user("just this"),))) == "just this"
    several = (system("be brief"), user("hello"), Message("assistant", "hi"), user("more"))
    assert prompt_of(Request(several)) == (
        "[system]\nbe brief\n\n[user]\nhello\n\n[assistant]\nhi\n\n[user]\nmore"
    )


@pytest.mark.parametrize(
    ("lines", "reply"),
    [
        ("one\ntwo\n.\nnext", "one\ntwo"),
        ("one\n\n  two . \n.\n", "one\n\n  two . "),
        ("one\r\ntwo\r\n.\r\n", "one\r\ntwo"),
        ("no full stop", "no full stop"),
        ("no full stop\n", "no full stop"),
        (".\n", ""),
        ("...\n.5\n.\n", "...\n.5"),
    ],
)
def test_a_lone_full_stop_or_the_end_ends_a_reply(lines: str, reply: str) -> None:
    assert read_reply(io.StringIO(lines, newline="").readline) == reply


def test_one_end_of_file_in_the_middle_does_not_end_a_reply() -> None:
    lines = iter(["one\n", "", "two\n", "", ""])
    assert read_reply(lambda: next(lines)) == "one\ntwo"


def test_an_end_with_nothing_before_it_is_no_reply() -> None:
    with pytest.raises(EOFError):
        read_reply(io.StringIO("").readline)


async def test_prompts_are_shown_one_after_the_other_and_replies_read() -> None:
    output, source = io.StringIO(), io.StringIO("first reply\n.\nsecond\nreply\n.\n")
    model = CopyPasteModel(Terminal(output, source).ask)
    assert (await model.answer(ask("what?"), Told())).reply.text == "first reply"
    assert (await model.answer(ask("why?"), Told())).reply.text == "second\nreply"
    shown = output.getvalue()
    assert shown.index("what?") < shown.index("prompt 2") < shown.index("why?")
    assert "\x1b" not in shown
    with pytest.raises(CallFailed):
        await model.answer(ask("more?"), Told())


class Screen(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


async def test_a_terminal_gets_the_prompt_into_its_clipboard_byte_for_byte() -> None:
    screen = Screen()
    prompt = "évil \x1b]52;c;AAAA\x07 \r\n text"
    await Terminal(screen, io.StringIO("x\n.\n")).ask(prompt)
    before, _, code = screen.getvalue().rpartition("\x1b]52;c;")
    assert code.endswith("\x07")
    assert base64.b64decode(code.removesuffix("\x07")).decode() == prompt
    assert "\x1b" not in before
    assert "\x07" not in before


async def test_a_prompt_that_no_clipboard_takes_is_to_be_copied_by_hand() -> None:
    screen = Screen()
    await Terminal(screen, io.StringIO("x\n.\n")).ask("x" * 80_000)
    assert "\x1b" not in screen.getvalue()
    assert "Copy it into a new chat" in screen.getvalue()


def test_control_characters_of_a_prompt_are_made_visible() -> None:
    assert visible("a\tb\nc\x1b[2Jd\u202ee\x9bf\rg") == "a\tb\nc\ufffd[2Jd\ufffde\ufffdf\ufffdg"


@pytest.fixture
def terminal() -> Iterator[tuple[int, io.TextIOWrapper]]:
    """Both ends of a real terminal: the keyboard's file number and the program's standard input."""
    if sys.platform == "win32":
        pytest.skip("needs a pseudo-terminal")
    import pty

    keyboard, program = pty.openpty()
    source = os.fdopen(program, "r")
    yield keyboard, source
    source.close()
    os.close(keyboard)


def type_in(keyboard: int, text: str) -> None:
    rest = text.encode()
    while rest:
        rest = rest[os.write(keyboard, rest[:512]) :]
        os.read(keyboard, 65536)  # its echo


async def test_a_terminal_does_not_cut_long_lines(terminal: tuple[int, io.TextIOWrapper]) -> None:
    import termios

    keyboard, source = terminal
    before = termios.tcgetattr(source.fileno())
    line = "x" * 20_000
    task = asyncio.ensure_future(Terminal(io.StringIO(), source).ask("prompt"))
    await asyncio.sleep(0.05)
    await asyncio.to_thread(type_in, keyboard, f"{line}\nsecond\n.\n")
    assert await asyncio.wait_for(task, 20) == f"{line}\nsecond"
    assert termios.tcgetattr(source.fileno()) == before


async def test_two_ctrl_d_end_a_reply_and_backspace_rubs_out(terminal: tuple[int, io.TextIOWrapper]) -> None:
    keyboard, source = terminal
    task = asyncio.ensure_future(Terminal(io.StringIO(), source).ask("prompt"))
    await asyncio.sleep(0.05)
    await asyncio.to_thread(type_in, keyboard, "onx\x7fe\x04\ntwo\x04\x04")
    assert await asyncio.wait_for(task, 20) == "one\ntwo"


async def test_who_gives_up_gets_the_terminal_back_as_it_was(terminal: tuple[int, io.TextIOWrapper]) -> None:
    import termios

    keyboard, source = terminal
    before = termios.tcgetattr(source.fileno())
    task = asyncio.ensure_future(CopyPasteModel(Terminal(io.StringIO(), source).ask).answer(ask(), Told()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert termios.tcgetattr(source.fileno()) == before
    os.write(keyboard, b".\n")  # lets the reading thread go


async def test_parameters_that_nobody_asked_for_are_not_said_to_be_missing() -> None:
    answer = await pasted("x").answer(Call(Request((user("q"),), Params("some chat"))), Told())
    assert answer.how is not None
    assert answer.how.sent is None
