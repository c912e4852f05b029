"""Commands about what an evaluation gave: `report`, `compare`, `merge`, and grades of recorded runs.

Every number is recomputed from logs; no model is asked. Running one is `evaluate`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from meta_tui.commands.graders import GraderName
from meta_tui.commands.output import is_terminal, json_option, note, print_json
from meta_tui.errors import UsageError

if TYPE_CHECKING:
    from meta_tui.evaluation.cells import Plan
    from meta_tui.evaluation.results import Row
    from meta_tui.run import Stop
    from meta_tui.tasks import Sample

grader_option = click.option(
    "--grader",
    type=GraderName(),
    default="strict",
    show_default=True,
    help="Whose verdict counts: strict, paper, or the name of a plug-in's.",
)


app_option = click.option("--app", is_flag=True, help="Show it in the app, also while it is running.")


@click.command("report")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "md", "csv", "html", "json"]),
    default="text",
    show_default=True,
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@app_option
@grader_option
@json_option
def report_command(folder: Path, form: str, out: Path | None, app: bool, grader: str, as_json: bool) -> int:
    """Report on an evaluation; every number is recomputed from its logs.

    With --app the app shows it: table, plots, paired comparison, and how it is getting on where it
    is running, in this process or in others.
    """
    if app:
        return show_in_app(folder, grader)
    return asyncio.run(print_report(folder, grader, "json" if as_json else form, out))


@click.command("compare")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("a")
@click.argument("b")
@grader_option
@json_option
def compare_command(folder: Path, a: str, b: str, grader: str, as_json: bool) -> int:
    """Who won which sample of an evaluation: method A or method B, with the logs of both."""
    from meta_tui import display
    from meta_tui.evaluation import report

    rows = asyncio.run(_rows(folder, (grader,)))
    known = {row.method for row in rows}
    for name in (a, b):
        if name not in known:
            raise UsageError(f"no method {name!r} in {folder}; there are {', '.join(sorted(known))}")
    found = report.duels(rows, a, b, grader)
    if as_json:
        print_json({"a": a, "b": b, "samples": found})
        return 0
    lines = [
        (d["sample"], d["model"], d["repeat"], d["won"], d["log_a"], d["log_b"])
        for d in found
        if d["won"] != "both"
    ]
    click.echo(
        display.table(
            [tuple(map(str, line)) for line in lines], ("sample", "model", "repeat", "won by", a, b)
        )
    )
    tally = {word: sum(d["won"] == word for d in found) for word in ("a", "b", "both", "neither")}
    click.echo(
        f"{a} alone {tally['a']}, {b} alone {tally['b']}, both {tally['both']}, neither {tally['neither']}"
    )
    return 0


@click.command("merge")
@click.argument(
    "folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--to", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder of the union."
)
@json_option
def merge_command(folders: tuple[Path, ...], to: Path, as_json: bool) -> int:
    """Put the shards of one evaluation together; what does not fit is refused."""
    from meta_tui.evaluation import merge

    count = merge.merge(folders, to)
    if as_json:
        print_json({"cells": count, "folder": str(to)})
    else:
        click.echo(f"{count} cells in {to}")
    return 0


def divided(names: Sequence[str]) -> list[str]:
    """Names that may be given one by one or with commas."""
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


def samples_of(task: str, count: int | None) -> list[Sample]:
    """The samples of a task id, or those of a file: `FILE` or `TASK=FILE`."""
    from meta_tui.tasks import loaders

    name, equals, file = task.partition("=")
    if equals:
        return loaders.own(Path(file), name)[:count]
    if Path(task).is_file():
        return loaders.own(Path(task))[:count]
    return loaders.samples(task, count or loaders.COUNT)


def show_in_app(folder: Path, grader: str, work: Callable[[Stop], Awaitable[None]] | None = None) -> int:
    """The evaluation in the app, which runs it where there is something to run."""
    from meta_tui.tui import evaluation_screen

    if not is_terminal():
        raise UsageError("--app needs a terminal; leave it out for text")
    return evaluation_screen(folder, grader=grader, work=work)


async def _rows(folder: Path, graders: Sequence[str]) -> list[Row]:
    from meta_tui.evaluation import results
    from meta_tui.sandbox import Sandbox

    async with Sandbox(warn=note) as sandbox:

        async def execute(program: Any) -> Any:
            return (await sandbox.execute(program))[0]

        return [row async for row in results.rows(folder, graders, execute)]


async def print_report(folder: Path, grader: str, form: str, out: Path | None) -> int:
    """Write the report of an evaluation to a file or to standard output; gives the exit code."""
    from meta_tui.evaluation import cells, pages, report

    rows = await _rows(folder, (grader,) if form != "csv" else tuple({"strict": 0, "paper": 0, grader: 0}))
    plan = cells.read_plan(folder)
    summary = report.summary(plan, rows, grader)
    plots = await _plots(folder, plan, summary, form)
    named = summary["methods"] if len(summary["methods"]) <= 4 else [f"{len(summary['methods'])} variants"]
    title = f"{', '.join(plan.tasks)}: {', '.join(named)}"
    makers: dict[str, Callable[[], str]] = {
        "text": lambda: _text(summary),
        "md": lambda: pages.markdown(summary),
        "csv": lambda: pages.csv_rows(rows),
        "html": lambda: pages.html(summary, rows, title, *plots),
        "json": lambda: _json(summary),
    }
    text = makers[form]()
    if out is None:
        click.echo(text.rstrip("\n"))
    else:
        out.write_text(text, encoding="utf-8", newline="\n")
        note(str(out))
    return 0


async def _plots(folder: Path, plan: Plan, summary: dict[str, Any], form: str) -> tuple[str, str]:
    """Diagnostics, streams and layers, added to the summary, and their plots for the page."""
    from meta_tui.evaluation import diagnosing, plots, plots_mc2, plots_meta_n, stacks

    grader, page = summary["grader"], form == "html"
    runs = await diagnosing.of_folder(folder, grader) if form != "csv" else []
    summary |= {"diagnostics": diagnosing.grouped(runs)} if runs else {}
    alone = await _streams(folder, grader) if plan.stream and form in ("html", "json") else []
    summary |= {"streams": alone} if alone else {}
    layered = stacks.of_folder(folder) if plan.stream and form in ("html", "json") else []
    summary |= {"layers": layered} if layered else {}
    if not page:
        return "", ""
    workers = plots.section(summary.get("diagnostics", ()), [one.run for one in runs])
    return workers, plots_mc2.section(summary["curves"], alone) + plots_meta_n.section(layered)


async def _streams(folder: Path, grader: Any) -> list[dict[str, Any]]:
    from meta_tui.evaluation import streams
    from meta_tui.sandbox import Sandbox

    async with Sandbox(warn=note) as sandbox:

        async def execute(program: Any) -> Any:
            return (await sandbox.execute(program))[0]

        return await streams.of_folder(folder, grader, execute)


def _json(summary: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(summary), indent=1).decode() + "\n"


def _text(summary: dict[str, Any]) -> str:
    from itertools import chain

    from meta_tui import display
    from meta_tui.evaluation import report

    parts = [f"{report.states_line(summary)}; {summary['grader']} grader"]
    parts += report.repeats_lines(summary) + report.simulation_lines(summary)
    parts.append(display.table(map(report.columns, summary["table"]), report.HEADS))
    if summary["pairs"]:
        parts.append(display.table(map(report.pair_columns, summary["pairs"]), report.PAIR_HEADS))
    if summary["curves"]:
        lines = chain(*map(report.curve_columns, summary["curves"]))
        parts.append(display.table(lines, report.CURVE_HEADS))
    if summary.get("diagnostics"):
        budgets = map(report.budget_columns, summary["diagnostics"])
        parts.append(display.table(budgets, report.BUDGET_HEADS))
    if summary["failures"]:
        parts.append("\n".join(map(display.clean, report.failure_lines(summary["failures"]))))
    return "\n\n".join(parts) + "\n"


async def grade_recorded(folder: Path, tasks: Sequence[str], grader: str, as_json: bool) -> int:
    """Grade recorded runs whose first line names their samples; others are counted by reason."""
    from meta_tui import store
    from meta_tui.evaluation import recorded
    from meta_tui.sandbox import Sandbox

    files = [task for task in tasks if "=" in task or Path(task).is_file()]
    given = [sample for task in files for sample in samples_of(task, None)]
    wanted = [task for task in tasks if task not in files] + [one.task for one in given]
    async with Sandbox(warn=note) as sandbox:

        async def execute(program: Any) -> Any:
            return (await sandbox.execute(program))[0]

        logs = list(store.logs_in(folder)) if folder.is_dir() else [folder]
        found = await recorded.graded(logs, recorded.Known(given, wanted), grader, execute)
    if as_json:
        print_json({"runs": len({row.log for row in found.rows}), "left_out": found.left, "rows": found.rows})
    else:
        for line in _graded_lines(found, folder, grader):
            click.echo(line)
    return 0 if found.rows else 1


def _graded_lines(found: Any, folder: Path, grader: str) -> list[str]:
    from meta_tui import display

    left = [f"{count} {'run' if count == 1 else 'runs'} {why}" for why, count in found.left.most_common()]
    if not found.rows:
        return [
            f"nothing to grade in {folder}: {'; '.join(left) or 'it holds no runs'}",
            "A run is graded if it names its sample: record one with `meta-tui solve --sample game24:17`, "
            "`solve --stream theorem:0-11` or `evaluate`. For samples of a file of your own give --task FILE.",
        ]
    cells = [
        (r.sample, r.method, r.grades[grader].verdict if grader in r.grades else r.status, r.log)
        for r in found.rows
    ]
    correct, runs = sum(row.correct(grader) for row in found.rows), len({row.log for row in found.rows})
    lines = [display.table(cells, ("sample", "method", "verdict", "log"))]
    lines.append(f"{correct} of {len(found.rows)} answers of {runs} runs correct ({grader} grader)")
    return lines + ([f"left out: {'; '.join(left)}"] if left else [])
