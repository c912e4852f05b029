"""The plain front end: the facts of a run as lines, and nothing that a terminal would obey."""

from __future__ import annotations

import msgspec
import pytest

from meta_tui.chat import CodeResult, Message, Params, Program, Reply, ToolCall, Usage
from meta_tui.events import (
    Answered,
    AnyEvent,
    CodeFinished,
    CodeStarted,
    Delta,
    Failed,
    How,
    Parent,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
    Stored,
)
from meta_tui.plain import Plain, Tally, table


def shown(*events: AnyEvent, brief: bool = False, colour: bool = False) -> str:
    parts: list[str] = []
    front = Plain(parts.append, brief=brief, colour=colour)
    for event in events:
        front.take(event)
    return "".join(parts)


def started(question: str = "q?") -> RunStarted:
    return RunStarted(1, "t", "live", "meta_prompting", {}, "m", question)


def asked(n: int = 0, span: str = "") -> Requested:
    return Requested(n, "k", (Message("user", "q"),), Params(), span=span)


def test_a_run_is_told_in_order_with_rounds_experts_code_and_answer() -> None:
    program = Program("print(1)")
    text = shown(
        started(),
        RoundStarted(1, 16),
        asked(),
        Replied(0, Reply("I consult.", usage=Usage(10, 5)), how=How(ms=1500, cost=0.01)),
        SpanStarted("expert", "Expert Python", span="1"),
        asked(span="1"),
        Replied(0, Reply("code", usage=Usage(3, 2)), span="1", how=How("cache", cost=0.0)),
        CodeStarted(1, "k", program, span="1"),
        CodeFinished(1, CodeResult("ok", "1\n"), span="1", how=How(ms=4)),
        SpanFinished(span="1"),
        Answered("1"),
        RunFinished("answered", "accepted"),
    )
    assert text.split("\n") == [
        "meta_prompting · m · live",
        "Question",
        "  q?",
        "── Round 1 of 16 ──",
        "Meta Model",
        "  I consult.",
        "  1.5 s · 10+5 tokens",
        "Expert Python",
        "  code",
        "  ◆ cached · 3+2 tokens",
        "  code ran: ok, 4 ms",
        "  1",
        "Answer",
        "  1",
        "✓ answered (accepted) · 1 round · 2 calls (1 cached) · 1 code run · 20 tokens · $0.0100",
        "",
    ]


def test_tokens_are_written_as_they_come_and_not_again_when_the_reply_is_whole() -> None:
    parts: list[str] = []
    front = Plain(parts.append)
    front.take(asked())
    front.take(Delta(0, "one "))
    assert "".join(parts).endswith("  one ")
    front.take(Delta(0, "two\nthr"))
    front.take(Delta(0, "ee"))
    front.take(Replied(0, Reply("one two\nthree")))
    assert "".join(parts) == "Meta Model\n  one two\n  three\n"


def test_two_streams_at_once_do_not_run_into_each_other() -> None:
    text = shown(
        SpanStarted("worker", "A", span="1"),
        SpanStarted("worker", "B", span="2"),
        Delta(0, "aaa", span="1"),
        Delta(0, "bbb", span="2"),
        Delta(0, "AAA", span="1"),
        Replied(0, Reply("bbb"), span="2"),
        Replied(0, Reply("aaaAAA"), span="1"),
    )
    assert text == "A\n  aaaAAA\nB\n  bbb\n"


def test_a_follow_up_says_which_run_it_follows() -> None:
    after = msgspec.structs.replace(started(), parent=Parent("20260101-000000-abcdef"))
    assert "\nfollows 20260101-000000-abcdef\nQuestion\n" in shown(after)


def test_a_flag_says_what_was_wrong_and_not_only_that_something_was() -> None:
    text = shown(Stored("flag", "", "refused", "line 1: arithmetic is not allowed"))
    assert text == "flag\n  refused: line 1: arithmetic is not allowed\n"


def test_a_failed_attempt_does_not_run_into_the_text_before_it() -> None:
    text = shown(
        asked(),
        Delta(0, "half a"),
        Failed(0, "cut", 1, "gone", 1.0),
        Delta(0, "whole"),
        Replied(0, Reply("whole")),
    )
    assert text == "Meta Model\n  half a\n▲ Meta Model: cut: gone; retry 1 in 1 s\nMeta Model\n  whole\n"


def test_a_retry_shows_its_reason_and_its_wait_and_a_rejected_reply_its_reminder() -> None:
    text = shown(
        asked(),
        Failed(0, "rate_limit", 1, "slow down", 8.0),
        Rejected("no call"),
        Failed(0, "auth", message="key?"),
    )
    assert "▲ Meta Model: rate_limit: slow down; retry 1 in 8 s" in text
    assert "▲ no call: reminder sent" in text
    assert "✗ Meta Model: auth: key?" in text


def test_brief_gives_one_line_for_each_thing() -> None:
    text = shown(
        started("a\nb"), asked(), Replied(0, Reply("x" * 300 + "\nmore")), Answered("1\n2"), brief=True
    )
    assert [line[:12] for line in text.split("\n")] == [
        "meta_prompti",
        "Question: a…",
        "Meta Model: ",
        "Answer: 1…",
        "",
    ]


def test_colour_is_only_ours() -> None:
    assert "\x1b[" in shown(started(), colour=True)
    assert "\x1b" not in shown(started("\x1b[31mred"), Replied(0, Reply("\x1b]52;c;aGk=\x07")), colour=False)


HOSTILE = [
    "[bold]x[/bold] [@click=app.quit]y[/]",
    "\x1b[2J\x1b[31mred",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "a\u202eb\u2066c",
    "\x9b31m\x90q\x9c",
    "nul\x00bell\x07back\x08\x7f",
    "\ud83d lone",
    "\r overwrite",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_inert_wherever_it_stands(text: str) -> None:
    out = shown(
        started(text),
        SpanStarted("expert", text, span="1"),
        Delta(0, text, span="1"),
        Replied(0, Reply(text), span="1"),
        Failed(1, "server", message=text),
        CodeFinished(2, CodeResult("error", text, text)),
        Answered(text),
        RunFinished("failed", text),
    )
    allowed = set("\n\t")
    bad = {c for c in out if (ord(c) < 32 or 0x7F <= ord(c) < 0xA0) and c not in allowed}
    assert not bad
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(out)
    out.encode("utf-8")


def test_a_line_of_ten_megabytes_is_written_once() -> None:
    text = "x" * 10_000_000
    assert len(shown(Replied(0, Reply(text)))) < len(text) + 100


def test_an_unknown_price_shows_as_a_dash_never_as_zero() -> None:
    tally = Tally()
    for event in (asked(), Replied(0, Reply("a", usage=Usage(1, 1)), how=How(cost=None))):
        tally.take(event)
    assert tally.cost_text == "-"
    cached = Tally()
    cached.take(Replied(0, Reply("a"), how=How("cache", cost=0.0)))
    assert cached.cost_text == "$0"


def test_a_table_aligns_its_columns_and_flattens_what_would_break_it() -> None:
    assert table([("a", "b\nc"), ("long", "\x1b[1m")], ("x", "y")) == "x     y\na     b c\nlong  ␛[1m"


def test_native_tool_calls_are_told_whether_or_not_the_reply_was_heard_as_it_came() -> None:
    call = ToolCall("c1", "read_memory", '{"ids":["\x1b[31m0_0"]}')
    line = '  tool call read_memory({"ids":["␛[31m0_0"]})\n'
    assert shown(started(), asked(), Replied(0, Reply("I look.", (call,)))).endswith(f"  I look.\n{line}")
    assert shown(started(), asked(), Replied(0, Reply("", (call,)))).endswith(f"Meta Model\n{line}")
    heard = shown(started(), asked(), Delta(0, "I look."), Replied(0, Reply("I look.", (call,))))
    assert heard.endswith(f"  I look.\n{line}")
    assert heard.count("I look.") == 1
