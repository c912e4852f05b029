"""Comparing programs with the outputs that were recorded for them elsewhere.

Every program falls into exactly one class, by what was recorded and what happens now; how a result
is worded for the comparison is the caller's business, because that is a matter of the method.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from meta_tui.chat import CodeResult, Limits, Program
from meta_tui.errors import UsageError
from meta_tui.events import How

Class = Literal["exact", "same_error", "recorded_timeout", "differs", "refused", "timeout", "error"]
Execute = Callable[[Program], Awaitable[tuple[CodeResult, How]]]
Wording = Callable[[CodeResult], str]
Progress = Callable[[int], None]


class Recorded(msgspec.Struct):
    """A program and the text that was recorded for it; other fields of its row do not matter."""

    code: str
    recorded_output: str


class Row(msgspec.Struct, rename={"kind": "class"}):
    """A program that is neither exact nor ends in the same error. `row` counts from 0."""

    row: int
    kind: Class
    reason: str
    expected: str
    got: str


class Report(msgspec.Struct):
    """How many programs fell into each class; the classes add up to the total."""

    total: int = 0
    exact: int = 0
    same_error: int = 0
    recorded_timeout: int = 0
    differs: int = 0
    refused: int = 0
    timeout: int = 0
    error: int = 0
    rows: list[Row] = msgspec.field(default_factory=list)


def read(data: bytes) -> list[Recorded]:
    """The rows of a JSON-lines file.

    Raises:
        UsageError: a line is no such row; the message has its number.
    """
    decode = msgspec.json.Decoder(Recorded).decode
    rows: list[Recorded] = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            rows.append(decode(line))
        except msgspec.DecodeError as error:
            raise UsageError(f"line {number}: give rows with code and recorded_output ({error})") from error
    return rows


async def check(
    rows: Sequence[Recorded], execute: Execute, word: Wording, late: str, limits: Limits, tell: Progress
) -> Report:
    """Run every program and compare.

    Args:
        rows: the programs.
        execute: runs one; it bounds how many run at once.
        word: the text that a result stands for.
        late: the text that stands for a time-out.
        limits: bounds of each program.
        tell: called with the number of programs that are done.
    """
    done = 0

    async def one(recorded: Recorded) -> CodeResult:
        nonlocal done
        result, _ = await execute(Program(recorded.code, limits=limits))
        done += 1
        tell(done)
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(recorded)) for recorded in rows]
    return _report(rows, [task.result() for task in tasks], word, late)


def _report(rows: Sequence[Recorded], results: Sequence[CodeResult], word: Wording, late: str) -> Report:
    report = Report(total=len(rows))
    for index, (recorded, result) in enumerate(zip(rows, results, strict=True)):
        got = word(result)
        kind = class_of(recorded.recorded_output, got, result, late)
        setattr(report, kind, getattr(report, kind) + 1)
        if kind not in ("exact", "same_error"):
            reason = _reason(kind, result)
            report.rows.append(Row(index, kind, reason, _start(recorded.recorded_output), _start(got)))
    return report


def class_of(expected: str, got: str, result: CodeResult, late: str) -> Class:
    """The class of one program."""
    if got == expected:
        return "exact"
    if result.status == "refused":
        return "refused"
    if result.status == "timeout":
        return "timeout"
    if expected == late:
        return "recorded_timeout"
    if result.status in ("ok", "exit"):
        return "differs"
    return "same_error" if _last_line(expected) == _last_line(got) else "error"


def _reason(kind: Class, result: CodeResult) -> str:
    where = f" (line {result.line})" if result.line else ""
    match kind:
        case "recorded_timeout":
            return "was stopped when it was recorded, and ends now"
        case "differs":
            return "prints something else"
        case _:
            last = result.error.rstrip().rpartition("\n")[2]
            return f"{result.status}{where}: {last}"


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2]


def _start(text: str) -> str:
    return text if len(text) <= 400 else f"{text[:400]}..."
