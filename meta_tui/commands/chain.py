"""`meta-tui chain`: the layers that runs wrote, shown, exported for `solve --chain`, rated, reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from meta_tui.commands.live import model_options
from meta_tui.commands.output import json_option, note, print_json
from meta_tui.errors import LogError, UsageError

if TYPE_CHECKING:
    from meta_tui.methods.meta_n.chains import ChainFile
    from meta_tui.methods.meta_n.records import LayerKept
    from meta_tui.runlog import Recording

candidate_option = click.option(
    "--candidate", default="", help="A candidate of the run; else the best chain."
)


WIDTH = 100
"""Cells of a line of the archive."""


@click.group("chain")
def chain_command() -> None:
    """Look at the layers that a run wrote around its solver, and use them on new tasks."""


@chain_command.command("show")
@click.argument("source", metavar="RUN|FILE")
@candidate_option
@click.option("--archive", is_flag=True, help="All candidates of the run instead of one chain.")
@json_option
def show_command(source: str, candidate: str, archive: bool, as_json: bool) -> int:
    """Show a chain layer by layer: what each says, its helpers, what was screened out and why."""
    chain, recording = _opened(source, candidate)
    if archive:
        return _show_archive(_needed(recording, source), Path(source).stem, as_json)
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(chain))
        return 0
    _show_chain(chain, recording)
    return 0


@chain_command.command("export")
@click.argument("source", metavar="RUN")
@candidate_option
@click.option("--to", type=click.Path(dir_okay=False, path_type=Path), help="A file; else standard output.")
@json_option
def export_command(source: str, candidate: str, to: Path | None, as_json: bool) -> int:
    """Write a chain of a run as a file for `solve --chain`."""
    from meta_tui.display import count
    from meta_tui.methods.meta_n.chains import to_json

    chain, _ = _opened(source, candidate)
    if to is None:
        click.echo(to_json(chain), nl=False)
        return 0
    try:
        to.write_bytes(to_json(chain))
    except OSError as error:
        raise UsageError(f"cannot write {to}: {error.strerror or error}") from error
    if as_json:
        print_json({"candidate": chain.candidate, "layers": len(chain.layers), "path": str(to)})
    else:
        note(f"chain of {count(len(chain.layers), 'layer')} written to {to}: meta-tui solve --chain {to} ...")
    return 0


@chain_command.command("rate")
@click.argument("source", metavar="RUN")
@model_options
@json_option
def rate_command(source: str, fresh: bool, plain: bool, brief: bool, as_json: bool, **flags: Any) -> int:
    """Have a model name the roles of a run's layers, for the agreement of both raters in `chain report`."""
    from meta_tui import runlog, session, store
    from meta_tui.commands import live
    from meta_tui.methods.meta_n.records import LayerKept, all_of

    path = store.find(source)
    layers = [
        layer for layer in all_of(_of_meta_n(runlog.read(path), source).events, LayerKept) if layer.call
    ]
    if not layers:
        raise UsageError(f"{source} wrote no layer that could be rated")
    settings = live._settings({**flags, "method": "meta_n_roles"})
    planned = session.plan(
        f"Roles of the {len(layers)} layers of {path.stem}", settings, method_settings={"layers": layers}
    )

    async def start(running: Any, consumers: list[Any], stop: Any) -> Any:
        return await session.solve(planned, running, consumers, stop)

    return live._run(start, planned.log, settings, fresh, plain, brief, as_json)


@chain_command.command("report")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--ratings", multiple=True, metavar="RUN", help="Runs of `chain rate` on these layers.")
@click.option(
    "--to", type=click.Path(dir_okay=False, path_type=Path), help="A file for the page with figures."
)
@json_option
def report_command(runs: tuple[str, ...], ratings: tuple[str, ...], to: Path | None, as_json: bool) -> int:
    """Report on runs: means by depth, what layers broke, roles, and the share of each channel where
    ablations and the control with the base solver alone are among the runs."""
    from meta_tui import plain, runlog, store
    from meta_tui.evaluation import plots_meta_n, stacks

    rated = [runlog.read(path) for path in store.find_all(ratings)] if ratings else []
    found = [stacks.summary(path.stem, runlog.read(path), rated) for path in store.find_all(runs)]
    if to is not None:
        to.write_text(plots_meta_n.page(found), encoding="utf-8")
        note(f"written to {to}")
    compared = {measure: stacks.ablations(found, measure) for measure in ("best_mean", "task_mean")}
    if as_json:
        print_json({"runs": found, "arms": compared})
        return 0
    click.echo(plain.table([line for one in found for line in stacks.lines(one)], stacks.HEADS))
    for one in found:
        _say_facts(one)
    for measure, made in compared.items():
        for arm, share in made.get("shares", {}).items():
            click.echo(f"{measure}, {arm}: {'-' if share is None else f'{100 * share:.1f} %'} of the lift")
    return 0


def _say_facts(one: dict[str, Any]) -> None:
    from meta_tui.evaluation.stacks import GUARDED, number

    click.echo(
        f"{_clean(one['label'])}: best chain {one['best']} {number(one['best_mean'])}, best of each task "
        f"{number(one['task_mean'])}, base solver {number(one['seed_mean'])}"
    )
    for row in one["held_out"]:
        click.echo(f"  held-out tasks, {row['candidate']}: {number(row['mean'])}")
    if one["guard"]:
        click.echo(f"  {GUARDED}")
    for role, value in one["roles"]["kappa"].items():
        if value is not None:
            click.echo(f"  kappa of both raters, {role}: {value:.2f}")


def find_chain(name: str) -> ChainFile:
    """The chain that a person means: a file, or a run (its best chain).

    Raises:
        UsageError: there is none, or its file is damaged.
    """
    return _opened(name, "")[0]


def _opened(source: str, candidate: str) -> tuple[ChainFile, Recording | None]:
    from meta_tui import runlog, store
    from meta_tui.methods.meta_n.chains import chain_of, from_json

    path = Path(source)
    if path.suffix == ".json" and not path.is_file():
        raise UsageError(f"no file {source!r}; `meta-tui chain export RUN --to FILE` makes one")
    path = path if path.is_file() else store.find(source)
    try:
        recording = runlog.read(path)
    except LogError:
        text = path.read_bytes()
        if text.startswith(b'{"e":'):  # a run, and what is wrong with it has been said
            raise
        return from_json(text, str(path)), None
    return chain_of(_of_meta_n(recording, source).events, path.stem, candidate), recording


def _of_meta_n(recording: Recording, source: str) -> Recording:
    method = recording.started.method
    if method != "meta_n":
        raise UsageError(f"{source} is a run of {method}; layers are written by --method meta_n")
    return recording


def _needed(recording: Recording | None, source: str) -> Recording:
    if recording is None:
        raise UsageError(f"{source} holds one chain; give a run for its archive")
    return recording


def _show_archive(recording: Recording, label: str, as_json: bool) -> int:
    from meta_tui.evaluation import chain_text, stacks
    from meta_tui.evaluation.chains import EMPTY, apply_all

    if as_json:
        found = stacks.summary(label, recording)
        print_json({name: found[name] for name in ("candidates", "iterations", "matrix", "best", "routed")})
        return 0
    view = apply_all(EMPTY, recording.events)
    click.echo(chain_text.plain(chain_text.archive_lines(view, WIDTH)))
    return 0


def _show_chain(chain: ChainFile, recording: Recording | None) -> None:
    from meta_tui.display import count
    from meta_tui.evaluation import chain_text
    from meta_tui.evaluation.chains import EMPTY, Attempt, ChainView, apply_all

    mean = "" if chain.mean is None else f", mean {chain.mean:.4f}"
    size = count(len(chain.layers), "layer")
    click.echo(f"{_clean(chain.candidate or 'chain')}{mean}: base solver and {size}")
    if recording is not None:
        layers, view = chain.layers, apply_all(EMPTY, recording.events)
    else:
        layers = _numbered(chain.layers)
        view = ChainView(attempts=tuple(Attempt(n, layer=layer) for n, layer in enumerate(layers)))
    kept = view.candidates.get(chain.candidate)
    steps = {one.chain[-1]: one for one in view.lineage(kept) if one.chain} if kept else {}
    for layer in layers:
        step = steps.get(layer.id)
        lines = chain_text.entry_lines(chain_text.layer_entries(view, layer, step))
        click.echo("\n" + chain_text.plain([chain_text.layer_head(view, layer, step), *lines]))
        _indented("pre-process", layer.pre_process)


def _numbered(layers: tuple[LayerKept, ...]) -> tuple[LayerKept, ...]:
    """The layers of a file as a run would number them, whatever the file calls them."""
    from msgspec.structs import replace

    return tuple(
        replace(layer, id=f"L{n}", depth=n + 1, below=f"L{n - 1}" if n > 1 else "")
        for n, layer in enumerate(layers, 1)
    )


def _indented(head: str, text: str) -> None:
    if text:
        click.echo(f"  {head}:")
        for line in text.split("\n"):
            click.echo(f"    {_clean(line)}")


def _clean(text: str) -> str:
    from meta_tui.display import clean

    return clean(text)
