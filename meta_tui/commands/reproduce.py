"""`reproduce`: the published results recomputed from the published transcripts, offline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from meta_tui.commands.output import Progress, json_option, note, print_json

if TYPE_CHECKING:
    from meta_tui.chat import CodeResult, Program
    from meta_tui.exchange.published import PublishedFile
    from meta_tui.exchange.reproduce import Line, Reproduction


@click.command("reproduce")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--method", "methods", multiple=True, help="Only this method, by its authors' name.")
@click.option("--task", "tasks", multiple=True, help="Only this task, by its authors' name.")
@json_option
def reproduce_command(path: Path, methods: tuple[str, ...], tasks: tuple[str, ...], as_json: bool) -> int:
    """Recompute the published results of meta-prompting from its transcripts.

    PATH is a clone of the authors' repository, or a zip of it. Every row is graded as published and
    strictly; Table 1 and the statistics of section 5.1 are set beside the printed figures, methods
    are compared on the same rows, and what the transcripts cannot show is said. Nothing is asked of
    a model. Puzzle answers are programs; they run in the sandbox, which takes some minutes.
    """
    from meta_tui.exchange import published

    files = published.published_files(path, methods, tasks)
    found = asyncio.run(_count_all(files))
    if as_json:
        print_json(found.as_json())
    else:
        for line in text(found):
            click.echo(line)
    for reason in found.skipped:
        note(f"skipped: {reason}")
    return 2 if found.skipped else 0


async def _count_all(files: list[PublishedFile]) -> Reproduction:
    from meta_tui.errors import UsageError
    from meta_tui.exchange.published import size
    from meta_tui.exchange.reproduce import Reproduction, count, is_known
    from meta_tui.sandbox import Sandbox

    known = [file for file in files if is_known(file)]
    for file in files:
        if not is_known(file):
            note(f"{file.method}/{file.name}: no graders for this task; left out")
    progress = _Rows(sum(map(size, known)))
    counted, skipped = [], []
    async with Sandbox(warn=note) as sandbox:

        async def execute(program: Program) -> CodeResult:
            return (await sandbox.execute(program))[0]

        for file in known:
            try:
                counted.append(await count(file, execute, progress.add))
            except UsageError as error:
                skipped.append(str(error))
    return Reproduction(counted, skipped)


class _Rows:
    """Progress by rows."""

    def __init__(self, total: int) -> None:
        self._shown, self._done, self._total = Progress("graded", total), 0, total

    def add(self, number: int) -> None:
        """So many more rows are graded."""
        self._done = min(self._total, self._done + number)
        self._shown.show(self._done)


# As text


def text(found: Reproduction) -> Iterator[str]:
    """The reproduction as lines for people."""
    yield from _table(found)
    yield from _section_5_1(found)
    yield from _comparisons(found)
    yield from _disagreements(found)
    yield ""
    yield "What cannot be reproduced from these transcripts"
    for reason in found.cannot:
        yield f"  - {reason}"


def _table(found: Reproduction) -> Iterator[str]:
    from meta_tui.exchange.reproduce import METHODS, PRINTED, TITLES

    yield "Table 1, percent right"
    yield f"{'':28}{'':9}" + "".join(f"{short:>9}" for short in METHODS.values())
    for line in found.lines:
        size = max(map(line.rows, METHODS))
        part = f"{size:,} rows" if size >= line.full() else f"{size:,} of {line.full():,} rows"
        printed = _cells(PRINTED[line.task])
        yield f"{TITLES[line.task]:28}{'printed':9}{printed}"
        yield f"  {part:26}{'paper':9}{_graded(line, 'paper')}"
        yield f"{'':28}{'strict':9}{_graded(line, 'strict')}"


def _graded(line: Line, grader: str) -> str:
    from meta_tui.exchange.reproduce import METHODS

    return _cells(line.percent(method, grader) for method in METHODS)


def _cells(values: Any) -> str:
    return "".join(f"{'-' if value is None else f'{value:.1f}':>9}" for value in values)


def _section_5_1(found: Reproduction) -> Iterator[str]:
    from meta_tui.exchange.reproduce import METHODS

    yield ""
    yield "Section 5.1: mean rounds, Expert Python's share in percent, answers that claim there is none"
    yield f"{'':28}{'':9}{'rounds':>9}{'printed':>9}{'Python':>9}{'printed':>9}{'none':>9}{'strict':>9}{'printed':>9}"
    for row in found.section_5_1:
        values = [row["mean_rounds"], row["printed_mean_rounds"], row.get("python_share")]
        values += [row.get("printed_python_share"), row.get("no_solution"), row.get("abstained_strict")]
        values += [row.get("printed_no_solution")]
        cells = "".join(f"{'-' if value is None else value:>9}" for value in values)
        yield f"{row['task']:28}{METHODS[row['method']]:9}{cells}"


def _comparisons(found: Reproduction) -> Iterator[str]:
    from meta_tui.exchange.reproduce import META, METHODS, TITLES

    yield ""
    yield "Differences on the same rows, in points [95 %], exact McNemar p (Holm over the task's comparisons)"
    yield f"{'':28}{'':18}{'paper':46}strict"
    by_place = {(c["task"], c["method"], c["against"], c["grader"]): c for c in found.comparisons}
    for task, method, other in dict.fromkeys(
        (c["task"], c["method"], c["against"]) for c in found.comparisons
    ):
        both = [by_place.get((task, method, other, grader)) for grader in ("paper", "strict")]
        pair = f"{METHODS[method]} - {METHODS[other]}"
        if method == META[0] or other == "Standard":
            yield f"{TITLES[task]:28}{pair:18}{_difference(both[0]):46}{_difference(both[1])}"
    if any(c["task"] == "MGSM" for c in found.comparisons):
        yield "  MGSM: the languages share their problems, so its rows are not independent and p is too small."
        yield "  Ambiguous answers count as not right; below stands how many of them hold the target."


def _difference(one: dict[str, Any] | None) -> str:
    if one is None:
        return "-"
    tied = "" if one["low"] > 0 or one["high"] < 0 else " tied"
    return f"{one['points']:+.1f} [{one['low']:+.1f}, {one['high']:+.1f}] {_p(one['p'])} ({_p(one['p_holm'])}){tied}"


def _p(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


def _disagreements(found: Reproduction) -> Iterator[str]:
    from meta_tui.exchange.reproduce import METHODS, TITLES

    yield ""
    yield "Where the graders part: right only as published, right only strictly; other strict verdicts"
    for row in found.disagreements:
        others = {v: n for v, n in row["verdicts"].items() if v not in ("correct", "incorrect")}
        rest = ", ".join(f"{verdict} {number}" for verdict, number in others.items())
        held = row["ambiguous_that_hold_the_target"]
        rest += f" ({held} of them hold the target)" if held else ""
        counts = f"{row['only_paper']:>5}{row['only_strict']:>5}"
        yield f"{TITLES[row['task']]:28}{METHODS[row['method']]:9}{counts}   {rest}"
