"""`evaluate`: methods on tasks, models and repeats, as cells that are run logs.

What an evaluation gave is `report`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from meta_tui.commands.output import json_option, note
from meta_tui.commands.report import (
    app_option,
    divided,
    grade_recorded,
    grader_option,
    print_report,
    samples_of,
    show_in_app,
)
from meta_tui.errors import UsageError

if TYPE_CHECKING:
    from meta_tui.config import Settings
    from meta_tui.evaluation.cells import Cell, Plan, Variant
    from meta_tui.evaluation.evaluate import Progress
    from meta_tui.models.base import Model
    from meta_tui.run import Doors, Stop
    from meta_tui.tasks import Sample


class Asked(NamedTuple):
    """A model of an evaluation: its name in logs, its settings, and itself where it is simulated."""

    name: str
    settings: Settings
    model: Model | None


class Work(NamedTuple):
    """What one call of `evaluate` is to run."""

    folder: Path
    mine: Sequence[Cell]
    samples: Sequence[Sample]
    settings: Settings
    asked: Sequence[Asked]
    cell_seconds: float | None
    again: bool
    fresh: bool


@click.command("evaluate")
@click.option(
    "--method", "methods", multiple=True, help="A,B or a method with settings: standard:python=true."
)
@click.option("--task", "tasks", multiple=True, help="Task ids (T,U), a file of samples, or TASK=FILE.")
@click.option(
    "--model",
    "models",
    multiple=True,
    help="M,N as for solve; or simulated:KIND,chance=0.3 (KIND workers, answers or learner): no model is asked.",
)
@click.option("--samples", type=click.IntRange(min=1), help="Samples of each task at most.")
@click.option(
    "--stream",
    type=click.IntRange(min=1),
    help="Run methods on streams of so many samples, carrying on what they learn; each stream is one cell.",
)
@click.option(
    "--knowledge",
    multiple=True,
    metavar="FILE",
    help="Begin with what an earlier run of the method learned (a file or a name).",
)
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
@app_option
@grader_option
@json_option
def evaluate_command(
    methods: tuple[str, ...],
    tasks: tuple[str, ...],
    models: tuple[str, ...],
    samples: int | None,
    stream: int | None,
    knowledge: tuple[str, ...],
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
    app: bool,
    grader: str,
    as_json: bool,
    **flags: Any,
) -> int:
    """Run methods on tasks and report what they are worth, with intervals and paired tests.

    The same command goes on with what an earlier one left; with --again it runs failed cells again,
    and no others. Every cell is an ordinary run log. With --stream, methods that learn across
    problems (mc2, bot, meta_reasoner, ttpi ..) are run on streams of samples instead, and reported by
    batch. A model named simulated:... is asked of nobody: it shows the machinery.
    """
    if cassettes is not None:
        return asyncio.run(grade_recorded(cassettes, divided(tasks), grader, as_json))
    from meta_tui import config
    from meta_tui.chat import Params
    from meta_tui.evaluation import cells

    config.load_env_file()
    settings = config.resolve({**flags, "concurrency": concurrency}).settings
    chosen = _samples(divided(tasks), samples or stream)
    params = Params(temperature=temperature, max_tokens=max_tokens)
    wanted = [cells.variant(m, preset, params) for m in _variants(methods or (settings.method,))]
    asked = _models(models, settings, chosen)
    plan = cells.Plan(
        variants=_told_apart(_learned(_streaming(wanted, stream), knowledge)),
        models=tuple(one.name for one in asked),
        tasks=tuple(dict.fromkeys(sample.task for sample in chosen)),
        repeats=repeats,
        seed=seed,
        samples=cells.samples_digest(chosen),
        stream=stream or 0,
    )
    folder = to or _default_folder(plan)
    cells.open_folder(folder, plan, chosen)
    part, parts = _shard(shard)
    mine = list(cells.shard(cells.cells(plan, chosen), part, parts))
    work = Work(folder, mine, chosen, settings, asked, cell_seconds, again, fresh)
    if app:
        return _shown(folder, grader, work)
    done = asyncio.run(_evaluate(work, note, note, _shower()))
    note(str(folder))
    asyncio.run(print_report(folder, grader, "json" if as_json else "text", None))
    return 1 if done.stopped else 0


async def _evaluate(
    work: Work,
    warn: Callable[[str], None],
    say: Callable[[str], None] | None,
    show: Callable[[Progress], None],
    stop: Stop | None = None,
) -> Progress:
    """Run the cells.

    Args:
        warn: told of a missing layer of the sandbox.
        say: told what a signal does; None where somebody else listens for signals.
        show: told of progress.
    """
    from meta_tui import session
    from meta_tui.evaluation import evaluate
    from meta_tui.run import Stop
    from meta_tui.sandbox import Sandbox

    stop = stop or Stop()
    code = Sandbox(strict=work.settings.sandbox == "strict", warn=warn)
    shared = session.Shared(work.settings, code)
    progress = evaluate.Progress(report=show, spent=lambda: shared.spent)
    try:
        logs = [work.folder / "cells" / f"{cell.name}.jsonl" for cell in work.mine]
        shared.charge(path for path in logs if path.exists())
        bench = _bench(work, shared)
        with nullcontext() if say is None else session.signals(stop, say):
            return await evaluate.evaluate(bench, work.mine, progress, stop)
    finally:
        if say is not None and sys.stderr.isatty():
            click.echo("", err=True)
        await shared.aclose()


def _bench(work: Work, shared: Any) -> Any:
    from meta_tui import session
    from meta_tui.evaluation import evaluate, simulation

    def doors(one: Asked) -> Doors:
        made: Doors = shared.doors(one.settings, one.model)
        streams = any(cell.stream for cell in work.mine)
        return session.with_scorer(made, work.samples) if streams else made

    return evaluate.Bench(
        work.folder,
        {one.name: doors(one) for one in work.asked},
        execute=shared.execute,
        graders=("strict", "paper"),
        concurrency=work.settings.concurrency,
        cell_seconds=work.cell_seconds,
        again=work.again,
        fresh=work.fresh,
        origins={one.name: "written" if one.model else session.origin(one.settings) for one in work.asked},
        notes={one.name: simulation.NOTE for one in work.asked if one.model},
    )


def _models(names: Sequence[str], settings: Settings, samples: Sequence[Sample]) -> list[Asked]:
    """The models that were asked for; simulated ones are made, others only named."""
    import msgspec

    from meta_tui import session
    from meta_tui.evaluation import simulation

    found = []
    for name in _apart(names, simulation.PREFIX) or [settings.model]:
        one = msgspec.structs.replace(settings, model=name)
        if name.partition(":")[0] == simulation.PREFIX:
            model = simulation.named(name, samples)
            found.append(Asked(model.id, msgspec.structs.replace(settings, model=""), model))
        else:
            found.append(Asked(session.check_model(one), one, None))
    return list({one.name: one for one in found}.values())


def _apart(names: Sequence[str], whole: str) -> list[str]:
    """Names, divided at commas; one that begins with `whole` is taken as it is."""
    return [part for name in names for part in ([name] if name.startswith(whole) else divided([name]))]


def _streaming(variants: Sequence[Variant], stream: int | None) -> Sequence[Variant]:
    """The variants, once it is sure that all of them take streams where streams are wanted, and one
    question where they are not."""
    from meta_tui import methods

    able = [name for name in methods.METHODS if getattr(methods.method_class(name), "streams", False)]
    for one in variants if stream else ():
        if one.method not in able:
            raise UsageError(f"{one.method} takes one question; on streams run {', '.join(able)}")
    for one in () if stream else variants:
        if getattr(methods.build(one.method, one.settings), "needs_stream", ""):
            raise UsageError(f"{one.method} needs many tasks in one run; give --stream N")
    return variants


def _learned(variants: Sequence[Variant], names: Sequence[str]) -> list[Variant]:
    """The variants, those of the methods that the knowledge is for beginning with it."""
    import msgspec

    from meta_tui.methods import build, settings_of
    from meta_tui.streamed import find_knowledge

    found, taken = list(variants), dict[str, str]()
    for name in dict.fromkeys(names):
        carried = find_knowledge(name)
        if taken.setdefault(carried.method, name) != name:
            raise UsageError(
                f"{taken[carried.method]} and {name} are both for {carried.method}; give one of them"
            )
        at = [i for i, one in enumerate(found) if one.method == carried.method]
        if not at:
            raise UsageError(f"{name} is for {carried.method}, which is not evaluated; add it with --method")
        for i in at:
            settings = found[i].settings | {"knowledge": carried.knowledge}
            settings = settings_of(build(carried.method, settings))
            label = f"{found[i].label} with {Path(name).stem}"
            found[i] = msgspec.structs.replace(found[i], settings=settings, label=label)
    return found


def _told_apart(variants: Sequence[Variant]) -> tuple[Variant, ...]:
    """The variants, each once: the cells of one that is given twice would count twice."""
    from meta_tui.chat import canonical_json

    labels: dict[bytes, str] = {}
    for one in variants:
        label = labels.setdefault(canonical_json([one.method, one.settings, one.params]), one.label)
        if label != one.label:
            raise UsageError(
                f"{label} and {one.label} are one method with the same settings; give one of them"
            )
    if not labels:
        raise UsageError("which methods? give --method; `meta-tui methods list` lists them")
    return tuple({one.label: one for one in variants}.values())


def _shown(folder: Path, grader: str, work: Work) -> int:
    """The evaluation in the app, which runs it."""
    from meta_tui.tui import say_here

    async def run(stop: Stop) -> None:
        await _evaluate(work, say_here, None, lambda _: None, stop)

    return show_in_app(folder, grader, run)


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


def _variants(methods: Sequence[str]) -> list[str]:
    """`A,B` is two methods; `A:x=1,y=2` is one with settings."""
    return [part for name in methods for part in ([name] if ":" in name else divided([name]))]


def _samples(tasks: Sequence[str], count: int | None) -> list[Sample]:
    if not tasks:
        raise UsageError("which tasks? give --task; `meta-tui tasks list` lists them")
    found: dict[str, Sample] = {}
    for sample in (one for task in tasks for one in samples_of(task, count)):
        if found.setdefault(sample.id, sample) != sample:
            raise UsageError(f"two different samples are named {sample.id}; give each task once")
    if not found:
        raise UsageError("those tasks hold no samples")
    return list(found.values())


def _default_folder(plan: Plan) -> Path:
    from hashlib import sha256

    from meta_tui import store
    from meta_tui.chat import canonical_json

    name = f"{'-'.join(plan.tasks)[:40]}-{sha256(canonical_json(plan)).hexdigest()[:12]}"
    return store.home().root / "evaluations" / name


def _shard(text: str | None) -> tuple[int, int]:
    """Which part of how many, from 0: as given, else as SLURM's array variables say."""
    if text is None:
        return _slurm_shard()
    part, _, parts = text.partition("/")
    if not (_is_count(part) and _is_count(parts) and 1 <= int(part) <= int(parts)):
        raise UsageError(f"--shard {text}: write i/n with i from 1 to n")
    return int(part) - 1, int(parts)


def _slurm_shard() -> tuple[int, int]:
    """The whole outside of an array. Its indices must be evenly spaced: of `--array=1,3,7` no task
    can tell which of the three it is, and cells would be left out."""
    names = ("TASK_ID", "TASK_COUNT", "TASK_MIN", "TASK_STEP")
    number, count, first, step = (os.environ.get(f"SLURM_ARRAY_{name}") for name in names)
    if not (number and count):
        return 0, 1
    given = (number, count, first or "0", step or "1")
    if all(map(_is_count, given)):
        at, parts, least, by = map(int, given)
        part, rest = divmod(at - least, max(1, by))
        if not rest and 0 <= part < parts:
            return part, parts
    raise UsageError(
        f"SLURM's array task {number} of {count} tells no part of the cells; use --array=1-N, or give --shard i/n"
    )


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit()
