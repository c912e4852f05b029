"""Commands about many runs: `evaluate`, `report`, `compare` and `merge`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from meta_tui.commands.graders import GraderName
from meta_tui.commands.output import json_option, note, print_json
from meta_tui.errors import UsageError

if TYPE_CHECKING:
    from meta_tui.config import Settings
    from meta_tui.evaluation.cells import Cell, Plan
    from meta_tui.evaluation.evaluate import Progress
    from meta_tui.evaluation.results import Row
    from meta_tui.tasks import Sample

F = TypeVar("F", bound=Callable[..., Any])

_grader = click.option(
    "--grader",
    type=GraderName(),
    default="strict",
    show_default=True,
    help="Whose verdict counts: strict, paper, or the name of a plug-in's.",
)


@click.command("evaluate")
@click.option(
    "--method", "methods", multiple=True, help="A,B or a method with settings: standard:python=true."
)
@click.option("--task", "tasks", multiple=True, help="Task ids (T,U), a file of samples, or TASK=FILE.")
@click.option("--model", "models", multiple=True, help="M,N as for solve.")
@click.option("--samples", type=click.IntRange(min=1), help="Samples of each task at most.")
@click.option(
    "--repeats", type=click.IntRange(min=1), default=1, show_default=True, help="Runs of every sample."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the methods' own chance.")
@click.option("--preset", default="default", show_default=True, help="default or published.")
@click.option("--temperature", type=click.FloatRange(min=0))
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens of one reply at most.")
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), help="Folder of the evaluation.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Cells at once.")
@click.option("--cell-seconds", type=click.FloatRange(min=0), help="Seconds of a cell from its start.")
@click.option("--shard", help="i/n: only every n-th cell, i from 1. SLURM array variables are read too.")
@click.option("--again", is_flag=True, help="Run failed cells again.")
@click.option("--fresh", is_flag=True, help="Read nothing from the cache.")
@click.option("--base-url", help="Address of an OpenAI-compatible server.")
@click.option("--max-calls", type=click.IntRange(min=1), help="Calls of all cells together.")
@click.option(
    "--max-total-tokens", "max_tokens_total", type=click.IntRange(min=1), help="Tokens of all cells."
)
@click.option("--max-dollars", type=click.FloatRange(min=0), help="Dollars of all cells together.")
@click.option(
    "--cassettes", type=click.Path(exists=True, path_type=Path), help="Grade these recorded runs instead."
)
@_grader
@json_option
def evaluate_command(
    methods: tuple[str, ...],
    tasks: tuple[str, ...],
    models: tuple[str, ...],
    samples: int | None,
    repeats: int,
    seed: int,
    preset: str,
    temperature: float | None,
    max_tokens: int | None,
    to: Path | None,
    concurrency: int | None,
    cell_seconds: float | None,
    shard: str | None,
    again: bool,
    fresh: bool,
    cassettes: Path | None,
    grader: str,
    as_json: bool,
    **flags: Any,
) -> int:
    """Run methods on tasks and report what they are worth, with intervals and paired tests.

    The same command goes on with what an earlier one left. Every cell is an ordinary run log.
    """
    if cassettes is not None:
        return asyncio.run(_grade_cassettes(cassettes, _split(tasks), grader, as_json))
    from meta_tui import config
    from meta_tui.chat import Params
    from meta_tui.evaluation import cells

    config.load_env_file()
    settings = config.resolve({**flags, "concurrency": concurrency}).settings
    chosen = _samples(_split(tasks), samples, seed)
    params = Params(temperature=temperature, max_tokens=max_tokens)
    plan = cells.Plan(
        variants=tuple(cells.variant(m, preset, params) for m in _variants(methods or (settings.method,))),
        models=tuple(_names(models, settings)),
        tasks=tuple(dict.fromkeys(sample.task for sample in chosen)),
        repeats=repeats,
        seed=seed,
        samples=cells.samples_digest(chosen),
    )
    folder = to or _default_folder(plan)
    cells.open_folder(folder, plan, chosen)
    part, parts = _shard(shard)
    mine = list(cells.shard(cells.cells(plan, chosen), part, parts))
    done = asyncio.run(_evaluate(folder, mine, settings, _split(models), cell_seconds, again, fresh))
    note(str(folder))
    asyncio.run(_report(folder, grader, "json" if as_json else "text", None))
    return 1 if done.stopped else 0


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
@_grader
@json_option
def report_command(folder: Path, form: str, out: Path | None, grader: str, as_json: bool) -> int:
    """Report on an evaluation; every number is recomputed from its logs."""
    return asyncio.run(_report(folder, grader, "json" if as_json else form, out))


@click.command("compare")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("a")
@click.argument("b")
@_grader
@json_option
def compare_command(folder: Path, a: str, b: str, grader: str, as_json: bool) -> int:
    """Who won which sample of an evaluation: method A or method B, with the logs of both."""
    from meta_tui import display

    rows = asyncio.run(_rows(folder, (grader,)))
    known = {row.method for row in rows}
    for name in (a, b):
        if name not in known:
            raise UsageError(f"no method {name!r} in {folder}; there are {', '.join(sorted(known))}")
    found = _duels(rows, a, b, grader)
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


async def _evaluate(
    folder: Path,
    mine: Sequence[Cell],
    settings: Settings,
    models: Sequence[str],
    cell_seconds: float | None,
    again: bool,
    fresh: bool,
) -> Progress:
    from meta_tui import session
    from meta_tui.evaluation import evaluate
    from meta_tui.run import Stop
    from meta_tui.sandbox import Sandbox

    stop = Stop()
    code = Sandbox(strict=settings.sandbox == "strict", warn=note)
    shared = session.Shared(settings, code)
    progress = evaluate.Progress(report=_shower())
    try:
        shared.charge(path for cell in mine if (path := folder / "cells" / f"{cell.name}.jsonl").exists())
        doors = {name: shared.doors(model) for name, model in _by_name(models, settings)}
        bench = evaluate.Bench(
            folder,
            doors,
            execute=shared.execute,
            graders=("strict", "paper"),
            concurrency=settings.concurrency,
            cell_seconds=cell_seconds,
            again=again,
            fresh=fresh,
        )
        with session.signals(stop, note):
            return await evaluate.evaluate(bench, mine, progress, stop)
    finally:
        if sys.stderr.isatty():
            click.echo("", err=True)
        await shared.aclose()


def _by_name(models: Sequence[str], settings: Settings) -> list[tuple[str, Settings]]:
    import msgspec

    from meta_tui import session

    each = [msgspec.structs.replace(settings, model=model) for model in (models or [settings.model])]
    return [(session.check_model(one), one) for one in each]


def _names(models: tuple[str, ...], settings: Settings) -> list[str]:
    return [name for name, _ in _by_name(_split(models), settings)]


def _shower() -> Callable[[Progress], None]:
    """Progress on stderr: a line that overwrites itself, or one every ten per cent."""
    last = [0.0, -1]

    def show(progress: Progress) -> None:
        now, tenth = time.monotonic(), progress.done * 10 // max(1, progress.total)
        if sys.stderr.isatty():
            if now - last[0] >= 0.2 or progress.done == progress.total:
                last[0] = now
                click.echo(f"\r\x1b[2K{progress.line()}", err=True, nl=False)
        elif tenth != last[1]:
            last[1] = tenth
            click.echo(progress.line(), err=True)

    return show


def _split(names: Sequence[str]) -> list[str]:
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


def _variants(methods: Sequence[str]) -> list[str]:
    """`A,B` is two methods; `A:x=1,y=2` is one with settings."""
    return [part for name in methods for part in ([name] if ":" in name else _split([name]))]


def _samples(tasks: Sequence[str], count: int | None, seed: int) -> list[Sample]:
    if not tasks:
        raise UsageError("which tasks? give --task; `meta-tui tasks list` lists them")
    found = [sample for task in tasks for sample in _of_task(task, count)]
    if not found:
        raise UsageError("those tasks hold no samples")
    return found


def _of_task(task: str, count: int | None) -> list[Sample]:
    """The shipped samples of a task id, or those of a file: `FILE` or `TASK=FILE`."""
    from meta_tui.tasks import loaders

    name, equals, file = task.partition("=")
    if equals:
        return loaders.read(Path(file), task=name)[:count]
    if Path(task).is_file():
        return loaders.read(Path(task))[:count]
    return loaders.samples(task, count or loaders.COUNT)


def _default_folder(plan: Plan) -> Path:
    from hashlib import sha256

    from meta_tui import store
    from meta_tui.chat import canonical_json

    name = f"{'-'.join(plan.tasks)[:40]}-{sha256(canonical_json(plan)).hexdigest()[:12]}"
    return store.home().root / "evaluations" / name


def _shard(text: str | None) -> tuple[int, int]:
    if text is None:
        number, count = os.environ.get("SLURM_ARRAY_TASK_ID"), os.environ.get("SLURM_ARRAY_TASK_COUNT")
        first = os.environ.get("SLURM_ARRAY_TASK_MIN", "0")
        if not (number and count):
            return 0, 1
        return int(number) - int(first), int(count)
    part, slash, parts = text.partition("/")
    if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise UsageError(f"--shard {text}: write i/n with i from 1 to n")
    return int(part) - 1, int(parts)


async def _rows(folder: Path, graders: Sequence[str]) -> list[Row]:
    from meta_tui.evaluation import results
    from meta_tui.sandbox import Sandbox

    async with Sandbox(warn=note) as sandbox:

        async def execute(program: Any) -> Any:
            return (await sandbox.execute(program))[0]

        return [row async for row in results.rows(folder, graders, execute)]


async def _report(folder: Path, grader: str, form: str, out: Path | None) -> int:
    from meta_tui.evaluation import cells, diagnosing, pages, plots, report

    rows = await _rows(folder, (grader,) if form != "csv" else tuple({"strict": 0, "paper": 0, grader: 0}))
    plan = cells.read_plan(folder)
    summary = report.summary(plan, rows, grader)
    runs = await diagnosing.of_folder(folder, grader) if form in ("html", "json") else []
    summary |= {"diagnostics": diagnosing.grouped(runs)} if runs else {}
    makers: dict[str, Callable[[], str]] = {
        "text": lambda: _text(summary),
        "md": lambda: pages.markdown(summary),
        "csv": lambda: pages.csv_rows(rows),
        "html": lambda: pages.html(
            summary,
            rows,
            f"{', '.join(plan.tasks)}: {', '.join(summary['methods'])}",
            plots.section(summary.get("diagnostics", ()), [one.run for one in runs]),
        ),
        "json": lambda: _json(summary),
    }
    text = makers[form]()
    if out is None:
        click.echo(text.rstrip("\n"))
    else:
        out.write_text(text, encoding="utf-8", newline="\n")
        note(str(out))
    return 0


def _json(summary: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(summary), indent=1).decode() + "\n"


def _text(summary: dict[str, Any]) -> str:
    from meta_tui import display
    from meta_tui.evaluation import report

    cells = ", ".join(f"{n} {state}" for state, n in summary["cells"].items() if state != "total")
    parts = [f"{summary['cells']['total']} cells: {cells}; {summary['grader']} grader"]
    parts.append(display.table(map(report.columns, summary["table"]), report.HEADS))
    if summary["pairs"]:
        parts.append(display.table(map(report.pair_columns, summary["pairs"]), report.PAIR_HEADS))
    return "\n\n".join(parts) + "\n"


def _duels(rows: Sequence[Row], a: str, b: str, grader: str) -> list[dict[str, Any]]:
    by_place = {(row.method, row.model, row.sample, row.repeat): row for row in rows}
    words = {(True, True): "both", (True, False): "a", (False, True): "b", (False, False): "neither"}
    found = []
    for row in rows:
        if row.method != a:
            continue
        other = by_place.get((b, row.model, row.sample, row.repeat))
        if other is None or "missing" in (row.status, other.status):
            continue
        won = words[row.correct(grader), other.correct(grader)]
        found.append(
            {
                "sample": row.sample,
                "model": row.model,
                "repeat": row.repeat,
                "won": won,
                "answer_a": row.answer,
                "answer_b": other.answer,
                "log_a": row.log,
                "log_b": other.log,
            }
        )
    return found


async def _grade_cassettes(folder: Path, tasks: Sequence[str], grader: str, as_json: bool) -> int:
    """Grade recorded runs whose first line names their sample; others are counted and left."""
    from meta_tui import display, runlog, store
    from meta_tui.errors import LogError
    from meta_tui.evaluation import results
    from meta_tui.sandbox import Sandbox
    from meta_tui.tasks import loaders

    known: dict[str, Sample] = {}
    for task in tasks or loaders.shipped():
        known |= {sample.id: sample for sample in loaders.samples(task)}
    rows, left = [], 0
    async with Sandbox(warn=note) as sandbox:

        async def execute(program: Any) -> Any:
            return (await sandbox.execute(program))[0]

        for path in store.logs_in(folder) if folder.is_dir() else [folder]:
            try:
                recording = runlog.read(path)
            except LogError as error:
                note(f"{path}: {error}")
                left += 1
                continue
            started = recording.started
            if started.sample not in known:
                left += 1
                continue
            place: dict[str, Any] = {
                "method": started.method,
                "model": started.model,
                "task": started.task,
                "sample": started.sample,
            }
            place |= {"repeat": 0, "log": str(path)}
            rows.append(await results.graded_row(recording, known[started.sample], place, (grader,), execute))
    if as_json:
        print_json({"runs": len(rows), "left_out": left, "rows": rows})
    else:
        cells = [
            (r.sample, r.method, r.grades[grader].verdict if grader in r.grades else r.status, r.log)
            for r in rows
        ]
        click.echo(display.table(cells, ("sample", "method", "verdict", "log")))
        correct = sum(row.correct(grader) for row in rows)
        click.echo(
            f"{correct} of {len(rows)} correct; {left} runs name no sample of these tasks and are left out"
        )
    return 0
