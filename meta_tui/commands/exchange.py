"""`import`: bring other people's recorded runs in. Nothing that is imported leaves the machine."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import click

from meta_tui.commands.output import Progress, json_option, note, print_json


@click.group("import")
def import_command() -> None:
    """Import other people's recorded runs."""


@import_command.command("published")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), help="Folder for the run logs.")
@click.option("--method", "methods", multiple=True, help="Only this method, by its authors' name.")
@click.option("--task", "tasks", multiple=True, help="Only this task, by its authors' name.")
@json_option
def published_command(
    path: Path, to: Path | None, methods: tuple[str, ...], tasks: tuple[str, ...], as_json: bool
) -> int:
    """Import the runs that the authors of meta-prompting published.

    PATH is a clone of their repository, or a zip of it. Every run becomes
    <to>/<Method>/<task>/<row>.jsonl and replays byte for byte. Their instruction is registered as
    `suzgun-kalai-2024` for live runs.
    """
    from meta_tui import store
    from meta_tui.exchange import published

    folder = to or store.home().runs / "published"
    files = published.published_files(path, methods, tasks)
    counts, skipped = asyncio.run(_import_all(files, folder))
    named = _register(folder, files)
    if as_json:
        print_json(
            {
                "runs": sum(counts.values()),
                "groups": counts,
                "skipped": skipped,
                "folder": str(folder),
                "instructions": named,
            }
        )
    else:
        click.echo(f"{sum(counts.values()):,} run logs in {folder}")
        for name in named:
            note(f"registered the instruction {name}")
    for line in skipped:
        note(f"skipped: {line}")
    return 2 if skipped else 0


async def _import_all(files: list[Any], folder: Path) -> tuple[dict[str, int], list[str]]:
    from meta_tui.errors import UsageError
    from meta_tui.exchange import published

    counts: Counter[str] = Counter()
    skipped: list[str] = []
    progress = Progress("imported", len(files))
    for done, file in enumerate(files, 1):
        try:
            rows = published.rows(file)
        except UsageError as error:
            skipped.append(str(error))
            continue
        notice, limit = published.bounds(file, [row["message_log"] for row in rows])
        for number, row in enumerate(rows):
            target = folder / file.method / file.task / f"{number}.jsonl"
            try:
                await published.import_run(file, number, row, notice, limit, target)
                counts[f"{file.method}/{file.task}"] += 1
            except UsageError as error:
                skipped.append(str(error))
        progress.show(done)
    return dict(counts), skipped


def _register(folder: Path, files: list[Any]) -> list[str]:
    from meta_tui import store
    from meta_tui.exchange import published

    names = []
    for method in ("MetaPromptingWithPython", "MetaPromptingWithoutPython"):
        logs = [
            log
            for f in files
            if f.method == method
            for log in sorted((folder / method / f.task).glob("*.jsonl"))[:20]
        ]
        instruction = published.instruction(method, logs)
        if instruction is not None:
            store.save_instruction(instruction)
            names.append(instruction.name)
    return names
