"""The readers of a reply: what they take, that they never raise, and that what is written in the
right form is read back. Expected values come from the specification's rules, by hand."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meta_tui.protocol import (
    ExpertCall,
    ExpertCalls,
    FinalAnswer,
    Malformed,
    ParserName,
    code_blocks,
    final_answer,
    read,
    requested_code,
)

Q = '"""'
BOTH: list[ParserName] = ["compat", "lenient"]
RUN = "Please run this code!"


def calls(reply: str, parser: ParserName) -> list[tuple[str, str]]:
    """(name, instruction) of every call, or nothing."""
    found = read(reply, parser)
    return [(c.name, c.instruction) for c in found.calls] if isinstance(found, ExpertCalls) else []


def block(name: str, instruction: str) -> str:
    return f"{name}:\n{Q}\n{instruction}\n{Q}"


# Branches.


@pytest.mark.parametrize("parser", BOTH)
def test_a_call_an_answer_or_neither(parser: ParserName) -> None:
    assert calls("Well.\n\n" + block("Expert Mathematician", "Add 1 and 2."), parser) == [
        ("Expert Mathematician", "Add 1 and 2.")
    ]
    assert read(f">> FINAL ANSWER:\n{Q}\n3\n{Q}", parser) == FinalAnswer("3")
    assert isinstance(read("It is 3.", parser), Malformed)
    assert isinstance(read("", parser), Malformed)


@pytest.mark.parametrize("parser", BOTH)
@pytest.mark.parametrize("answer_first", [True, False])
def test_a_call_wins_over_an_answer(parser: ParserName, answer_first: bool) -> None:
    """A-2, branch A is looked for first."""
    parts = [block("Expert Poet", "Review it."), f">> FINAL ANSWER:\n{Q}\n3\n{Q}"]
    reply = "\n\n".join(parts[::-1] if answer_first else parts)
    assert calls(reply, parser)[0] == ("Expert Poet", "Review it.")


@pytest.mark.parametrize("parser", BOTH)
def test_all_calls_of_a_reply_in_order(parser: ParserName) -> None:
    """A-4."""
    reply = block("Expert A", "one") + "\n\nand then\n\n" + block("Expert B", "two")
    assert calls(reply, parser) == [("Expert A", "one"), ("Expert B", "two")]
    first = read(reply, parser, first_only=True)
    assert isinstance(first, ExpertCalls)
    assert first.calls == (ExpertCall("Expert A", "one"),)


@pytest.mark.parametrize("parser", BOTH)
def test_an_unclosed_last_block_counts(parser: ParserName) -> None:
    assert calls(f"Expert A:\n{Q}\nhalf a sentence", parser) == [("Expert A", "half a sentence")]


@pytest.mark.parametrize(
    "name",
    ["Expert Chess-Player", "Expert O'Brien", "Expert Ökonom (Prüfung)", "**Expert Poet**", "Expert C++"],
)
def test_names_that_lenient_takes_and_compat_does_not(name: str) -> None:
    """A-9: hyphens, apostrophes, brackets, bold markup."""
    reply = block(name, "Go.")
    assert calls(reply, "lenient") == [(name.strip("*"), "Go.")]
    assert not isinstance(read(reply, "compat"), ExpertCalls)


def test_lenient_takes_blanks_and_bold_around_the_colon() -> None:
    for head in (
        "Expert Poet: ",
        "**Expert Poet:**",
        "**Expert Poet**:",
        "### Expert Poet:",
        "Expert  Poet :",
    ):
        assert calls(f"Now.\n{head}\n{Q}\nGo.\n{Q}", "lenient") == [("Expert Poet", "Go.")], head


@pytest.mark.parametrize(
    "reply",
    [
        f"Expert Poet\n{Q}\nGo.\n{Q}",  # no colon
        f"Expert Poet:\n{Q}\n \n{Q}",  # nothing inside
        "Expert Poet:\nGo.",  # no quotes
        f"the expert poet:\n{Q}\nGo.\n{Q}",  # not written as a name
        f"Expert:\n{Q}\nGo.\n{Q}",  # nobody in particular
        f"NonExpert Poet:\n{Q}\nGo.\n{Q}",
    ],
)
def test_what_is_no_call_for_lenient(reply: str) -> None:
    assert isinstance(read(reply, "lenient"), Malformed)


def test_a_name_without_a_usable_block() -> None:
    """compat: a call with nobody in it, so that the feedback stands alone; lenient: branch C."""
    reply = "Expert Poet:\nPlease go on."
    assert read(reply, "compat") == ExpertCalls(())
    assert isinstance(read(reply, "lenient"), Malformed)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        # the name is the whole last line before the quotes, as long as it holds "Expert "
        (f"Expert A:\nWe ask Expert B\n{Q}x{Q}", [("We ask Expert B", "x")]),
        # one trailing colon is dropped, and it need not be there
        (f"Expert A:\nExpert B::\n{Q}x{Q}", [("Expert B:", "x")]),
        # text before a call without "Expert " in its last line is passed over
        (f"Expert A:\nno name here\n{Q}x{Q}\nExpert B:\n{Q}y{Q}", [("Expert B", "y")]),
        # the pattern may be hit anywhere, also inside a block
        (f"Expert (x):\n{Q}\nExpert A:\nhi\n{Q}", [("Expert (x)", "Expert A:\nhi")]),
        # five words at most
        (f"Expert a b c d e:\n{Q}x{Q}", [("Expert a b c d e", "x")]),
        (f"Expert a b c d e f:\n{Q}x{Q}", []),
    ],
)
def test_compat_reads_as_the_published_loop_did(reply: str, found: list[tuple[str, str]]) -> None:
    assert calls(reply, "compat") == found


def test_expert_python_is_known_by_its_name() -> None:
    """compat: the name alone. lenient: a remark in parentheses does not make it another expert."""
    again = read(block("Expert Python", "Go."), "compat")
    assert isinstance(again, ExpertCalls)
    assert again.calls[0].is_python
    remarked = read(f"Expert A:\n{Q}x{Q}\n" + block("Expert Python (again)", "Go."), "compat")
    assert isinstance(remarked, ExpertCalls)
    assert [c.is_python for c in remarked.calls] == [False, False]
    lenient = read(block("Expert Python (again)", "Go."), "lenient")
    assert isinstance(lenient, ExpertCalls)
    assert lenient.calls == (ExpertCall("Expert Python (again)", "Go.", True),)
    other = read(block("Expert Pythonista", "Go."), "lenient")
    assert isinstance(other, ExpertCalls)
    assert not other.calls[0].is_python


# Final answers.


@pytest.mark.parametrize(
    ("rest", "answer"),
    [
        (f"\n{Q}\n42\n{Q}", "42"),
        (f" {Q}42{Q}", "42"),
        (f"\n\n\n{Q}\n42\n{Q}\nand a remark", "42"),
        (f'\n{Q}\nsay "hi"\n\n```\ncode = "x"\n```\n{Q}', 'say "hi"\n\n```\ncode = "x"\n```'),
        (f'\n{Q}say "hi"{Q}', 'say "hi"'),
        (f"\n{Q}\nunclosed\nto the end", "unclosed\nto the end"),
        (" 42 is it\nand more", "42 is it"),
        ("\n42\nis it\n\nand more", "42\nis it"),
        ("", ""),
        (f"\n{Q}{Q}", ""),
        (f"\n{Q}\n1\n{Q}\n>> FINAL ANSWER:\n{Q}\n2\n{Q}", "2"),
        (f"\n{Q}\n1\n{Q}\n>> FINAL ANSWER:", ""),
    ],
)
def test_the_answer_is_what_stands_behind_the_last_marker(rest: str, answer: str) -> None:
    """A-5: several lines, quotes and code survive; the last marker counts; unclosed runs on."""
    assert final_answer(f"So:\n>> FINAL ANSWER:{rest}") == answer


def test_without_a_marker_there_is_no_answer() -> None:
    assert final_answer(f"FINAL ANSWER:\n{Q}\n42\n{Q}") is None


# Code.


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("no request ```\nx\n```", None),
        (f"```python\nx = 1\n```\n{RUN}", "x = 1"),
        (f"```\nold\n```\n```py\nnew\n```\n{RUN}\n```\nafter\n```", "new"),
        (f"```python\nfirst\n```\n{RUN}\n```\nsecond\n```\n{RUN}", "first"),
        (f"{RUN}\n```\nx\n```", ""),
        (f"nothing to run. {RUN}", ""),
        (f"```python\nunclosed\n{RUN}", "unclosed"),
        (f"  ```python\n  indented\n  ```\n{RUN}", "indented"),
        (f"`inline` and ```not a fence``` {RUN}", ""),
    ],
)
def test_code_is_the_last_block_before_the_first_run_request(reply: str, code: str | None) -> None:
    assert requested_code(reply, RUN) == code


def test_no_run_request_is_never_asked_for() -> None:
    """A setting that is empty switches code off; it is found nowhere."""
    assert requested_code("```\nx\n```", "") is None


# Properties.

_tokens = st.sampled_from(
    [
        Q,
        '"',
        "\n",
        "\n\n",
        "Expert ",
        "Expert Python",
        "Expert Ada",
        ":",
        ":\n",
        " ",
        ">> FINAL ANSWER:",
        "```",
        "```python\n",
        RUN,
        "**",
        "x",
        "Ö",
        "\u2028",
        "\u202e",
        "\x1b[31m",
        "\x00",
        "\r\n",
        "(",
        ")",
        "_",
        "-",
        "ROUND 1:\n\n",
        "🐍",
    ]
)
_noise = st.lists(_tokens | st.text(max_size=5), max_size=40).map("".join)


@given(_noise)
def test_no_reader_ever_raises(reply: str) -> None:
    """X-5."""
    for parser in BOTH:
        found = read(reply, parser)
        assert isinstance(found, ExpertCalls | FinalAnswer | Malformed)
        if isinstance(found, ExpertCalls):
            assert all("Expert " in c.name for c in found.calls)
            assert all("\n" not in c.name for c in found.calls)
    final_answer(reply)
    code_blocks(reply)
    requested_code(reply, RUN)


@given(_noise, st.integers(0, 400))
def test_no_reader_raises_on_a_reply_that_was_cut(reply: str, size: int) -> None:
    for parser in BOTH:
        read((block("Expert Ada", "Go.") + reply)[:size], parser)


PUBLISHED = re.compile(r"Expert ((?:\w+ ?){1,5}):\n")
"""The published pattern, which is exponential: for short texts only."""

_short = st.lists(
    st.sampled_from(
        ["Expert ", "Expert", " ", "  ", ":\n", ":", "\n", "a", "ab", "é", "_", "1", "-", "a b c d e"]
    ),
    max_size=14,
).map("".join)


@given(_short)
def test_the_linear_pattern_hits_where_the_published_one_does(reply: str) -> None:
    """The oracle is the pattern as published, and its way of splitting a reply, written anew."""
    found = PUBLISHED.search(reply)
    assert isinstance(read(reply, "compat"), ExpertCalls) is bool(found)


@given(st.lists(_short | st.just(Q), max_size=8).map("".join))
def test_compat_splits_as_the_published_loop_did(reply: str) -> None:
    expected = []
    if PUBLISHED.search(reply):
        parts = reply.split(Q)
        for index in range(1, len(parts), 2):
            name = parts[index - 1].strip().split("\n")[-1]
            if "Expert " in name:
                name = name[:-1] if name.endswith(":") else name
                expected.append((name, parts[index].strip()))
    assert calls(reply, "compat") == expected


_word = st.text("abcdefghijkLMNÄéñ日本0123456789", min_size=1, max_size=8)
_name = st.lists(_word, min_size=1, max_size=5).map(lambda words: "Expert " + " ".join(words))
_lenient_name = st.text("abcÄé日1-'’().,&+/ ", min_size=1, max_size=30).map(
    lambda t: "Expert " + " ".join(t.split())
)
_instruction = (
    st.text()
    .map(str.strip)
    .filter(lambda t: t and Q not in t and not t.startswith('"') and not t.endswith('"'))
)
_prose = st.text().filter(lambda t: Q not in t and "Expert " not in t and ">> FINAL" not in t)


@given(st.lists(st.tuples(_name, _instruction), min_size=1, max_size=3), _prose)
def test_calls_in_the_right_form_are_read_back(made: list[tuple[str, str]], prose: str) -> None:
    reply = f"{prose}\n\n" + "\n\n".join(block(name, text) for name, text in made)
    assert calls(reply, "compat") == made
    assert calls(reply, "lenient") == made


@given(_lenient_name, _instruction)
def test_any_name_on_one_line_is_read_back_by_lenient(name: str, text: str) -> None:
    assume(name.removeprefix("Expert").strip())
    assert calls(block(name, text), "lenient") == [(name, text)]


@given(st.text().map(str.strip).filter(lambda t: Q not in t and ">> FINAL ANSWER:" not in t), _prose)
def test_an_answer_in_the_right_form_is_read_back(answer: str, prose: str) -> None:
    for parser in BOTH:
        assert read(f"{prose}\n>> FINAL ANSWER:\n{Q}\n{answer}\n{Q}", parser) == FinalAnswer(answer)


@given(st.text().map(str.strip).filter(lambda t: t and "```" not in t and RUN not in t), _prose)
def test_code_in_a_fence_is_read_back(code: str, prose: str) -> None:
    assume("```" not in prose and RUN not in prose)
    assert requested_code(f"{prose}\n```python\n{code}\n```\n{RUN}", RUN) == code
