"""`replay`: run recorded runs again against their logs and say which are exact.

No model is asked and no connection made. A damaged log counts as not exact and the others go on.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from meta_tui.commands.output import Progress, json_option, note, print_json
from meta_tui.errors import Difference, LogError, MetaTuiError, ReplayError

if TYPE_CHECKING:
    from meta_tui.events import RunStarted
    from meta_tui.models.base import CodeRunner


class Group(msgspec.Struct):
    """How the runs of one method and task fared."""

    runs: int = 0
    exact: int = 0
    first_difference: str | None = None


class Report(msgspec.Struct):
    """The whole report; `damaged` and `different` decide the exit code."""

    runs: int = 0
    exact: int = 0
    groups: dict[str, Group] = msgspec.field(default_factory=dict)
    damaged: int = 0
    different: int = 0


@click.command("replay")
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--messages",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the regenerated message logs to this folder as <Method>/<task>.jsonl, in row order.",
)
@click.option("--rerun-code", is_flag=True, help="Run the recorded programs again and compare their results.")
@json_option
def replay_command(paths: tuple[str, ...], messages: Path | None, rerun_code: bool, as_json: bool) -> int:
    """Run recorded runs again against their logs: exact, or the first event that differs.

    PATHS are logs, folders, run ids, names of demos, or `last`. Exit code 0: all exact, 2: only
    damaged logs, 3: a run is not the recorded one.
    """
    from meta_tui import store

    logs = sorted(store.find_all(paths), key=natural)
    report = asyncio.run(_replay_all(logs, messages, rerun_code))
    if as_json:
        shown = {"runs": report.runs, "exact": report.exact, "groups": report.groups}
        print_json(shown)
    else:
        _print(report)
    if report.different:
        return 3
    return 2 if report.damaged else 0


def natural(path: Path) -> list[Any]:
    """A sort key that puts row 9 before row 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.as_posix())]


async def _replay_all(logs: list[Path], messages: Path | None, rerun_code: bool) -> Report:
    report, rows = Report(), _Rows(messages)
    progress = Progress("replayed", len(logs))
    async with AsyncExitStack() as stack:
        runner = await stack.enter_async_context(_sandbox()) if rerun_code else None
        await _replay_each(logs, report, rows, progress, runner)
    rows.write()
    return report


def _sandbox() -> Any:
    from meta_tui.sandbox import Sandbox

    return Sandbox(warn=note)


async def _replay_each(
    logs: list[Path], report: Report, rows: _Rows, progress: Progress, runner: CodeRunner | None
) -> None:
    for done, path in enumerate(logs, 1):
        group, difference, log = await _replay_one(path, report, runner)
        _count(report, group, path, difference)
        rows.add(group, log)
        progress.show(done)


async def _replay_one(
    path: Path, report: Report, runner: CodeRunner | None
) -> tuple[str, MetaTuiError | None, Any]:
    from meta_tui import runlog, sources

    group = "-/-"
    try:
        recording = runlog.read(path)
        group = group_of(recording.started)
        result = await sources.replay(recording)
        if runner is not None and (differences := await sources.rerun_code(recording, runner)):
            raise Difference(f"code run again: {differences[0]}")
    except ReplayError as error:
        report.different += 1
        return group, error, None
    except LogError as error:
        report.damaged += 1
        return group if group != "-/-" else _group_of_damaged(path), error, None
    return group, None, (recording.started.source, sources.message_log(result.messages))


def _count(report: Report, name: str, path: Path, difference: MetaTuiError | None) -> None:
    group = report.groups.setdefault(name, Group())
    report.runs += 1
    group.runs += 1
    if difference is None:
        report.exact += 1
        group.exact += 1
    elif group.first_difference is None:
        group.first_difference = f"{path}: {type(difference).__name__}: {difference}"


def group_of(started: RunStarted) -> str:
    """`<Method>/<task>` in the authors' words for an imported run, else `<method>/<task or ->`."""
    if started.source is not None:
        return f"{started.source.method}/{started.source.task}"
    return f"{started.method}/{started.task or '-'}"


def _group_of_damaged(path: Path) -> str:
    """The group of a log that cannot be read, from its first line if that much is whole."""
    from meta_tui.events import RunStarted, from_json

    try:
        with path.open("rb") as file:
            started = from_json(file.readline())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return "-/-"
    return group_of(started) if isinstance(started, RunStarted) else "-/-"


class _Rows:
    """Regenerated message logs, written group by group in row order."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._groups: dict[str, list[tuple[int, bytes]]] = {}

    def add(self, group: str, found: tuple[Any, list[dict[str, str]]] | None) -> None:
        """Keep one message log; a run that is not exact has none (`null` keeps its place)."""
        if self._folder is None:
            return
        rows = self._groups.setdefault(group, [])
        source, log = found if found else (None, None)
        rows.append((source.row if source else len(rows), json.dumps(log, ensure_ascii=False).encode()))

    def write(self) -> None:
        """Write all groups."""
        for group, rows in self._groups.items():
            assert self._folder is not None
            path = self._folder / f"{group}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(line + b"\n" for line in _ordered(rows)))


def _ordered(rows: Iterable[tuple[int, bytes]]) -> Iterable[bytes]:
    return (line for _, line in sorted(rows, key=lambda row: row[0]))


def _print(report: Report) -> None:
    for name, group in sorted(report.groups.items()):
        mark = "✓" if group.exact == group.runs else "✗"
        click.echo(f"{mark} {name}: {group.exact:,} of {group.runs:,} exact")
        if group.first_difference:
            note(f"    {group.first_difference}")
    verb = "run is" if report.runs == 1 else "runs are"
    click.echo(f"{report.exact:,} of {report.runs:,} {verb} exact")
