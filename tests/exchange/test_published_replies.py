"""A-8: on every published Meta Model reply the compat reader takes the branch that was taken then,
and every final answer is the text that the published evaluator would find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from published import META, expected, meta_rows

from meta_tui.protocol import ExpertCalls, FinalAnswer, Malformed, final_answer, read

MARKER = ">> FINAL ANSWER:"
NO_SOLUTION = (
    "there is no|there may be no|it is not possible|it is impossible|no solution|no valid solution|"
    "not possible|i apologize"
).split("|")


@pytest.fixture(scope="module")
def turns() -> list[tuple[str, dict[str, str] | None]]:
    """Every reply and the message that follows it, if any."""
    return list(_turns())


def _turns() -> Iterator[tuple[str, dict[str, str] | None]]:
    for _, _, log in meta_rows():
        for position, message in enumerate(log):
            if message["role"] == "assistant":
                yield message["content"], log[position + 1] if position + 1 < len(log) else None


def branch_taken(following: dict[str, str] | None) -> str:
    """What the published loop did after a reply."""
    if following is None:
        return "end"
    if following["role"] == "assistant":
        return "again"
    text = following["content"]
    return "error" if "s output:" not in text and "logical next steps" not in text else "experts"


def test_the_reader_takes_the_branch_that_was_taken(turns: list[tuple[str, dict[str, str] | None]]) -> None:
    """A call: the experts' outputs follow, or (a failed stage) a second assistant message. An
    answer: the end. Neither: the error text."""
    counts: Counter[tuple[str, str]] = Counter()
    for reply, following in turns:
        counts[type(read(reply, "compat")).__name__, branch_taken(following)] += 1
    assert set(counts) == {
        ("ExpertCalls", "experts"),
        ("ExpertCalls", "again"),
        ("FinalAnswer", "end"),
        ("Malformed", "error"),
    }
    assert counts["FinalAnswer", "end"] > 3800
    assert counts["ExpertCalls", "experts"] > 9000
    assert counts["Malformed", "error"] > 30


def test_lenient_reads_whatever_compat_reads_as_a_call_with_the_same_instruction(
    turns: list[tuple[str, dict[str, str] | None]],
) -> None:
    """Live runs lose no consultation that the published loop made (names may be tidier)."""
    lost = 0
    for reply, _ in turns:
        compat, lenient = read(reply, "compat"), read(reply, "lenient")
        if not isinstance(compat, ExpertCalls) or not compat.calls:
            continue
        told = [c.instruction for c in lenient.calls] if isinstance(lenient, ExpertCalls) else []
        lost += sum(c.instruction not in told for c in compat.calls if c.instruction)
    assert lost <= len(turns) // 1000


def test_an_answer_ends_up_where_the_marker_says(turns: list[tuple[str, dict[str, str] | None]]) -> None:
    """The last marker; no reply that ends a run is without an answer's text."""
    for reply, following in turns:
        if following is not None:
            continue
        found = read(reply, "compat")
        assert isinstance(found, FinalAnswer)
        assert found.text == final_answer(reply)
        assert found.text in reply.rpartition(MARKER)[2]


def test_no_solution_answers_are_as_many_as_were_counted() -> None:
    """By the publishers' rule, for Game of 24; both variants."""
    for method in META:
        wanted = expected()[f"{method}/GameOf24"]["no_solution"]
        count = 0
        for file, _, log in meta_rows():
            if (file.method, file.task) == (method, "GameOf24") and log[-1]["role"] == "assistant":
                answer = final_answer(log[-1]["content"]) or ""
                count += answer.strip().strip("\"'").lower().startswith(tuple(NO_SOLUTION))
        assert count == wanted


def test_malformed_replies_say_why(turns: list[tuple[str, dict[str, str] | None]]) -> None:
    reasons = {f.reason for f in (read(reply, "compat") for reply, _ in turns) if isinstance(f, Malformed)}
    assert reasons == {"neither an expert call nor a final answer"}
