"""`runs`: the list of recorded runs, what one says, where it is, and removing it."""

from __future__ import annotations

import time

import click

from meta_tui.commands.output import has_colour, json_option, note, print_json, write
from meta_tui.errors import UsageError


@click.group("runs", invoke_without_command=True)
@click.option("--rebuild-index", is_flag=True, help="Read all logs again and rebuild the list.")
@json_option
@click.pass_context
def runs_command(ctx: click.Context, rebuild_index: bool, as_json: bool) -> int | None:
    """List, show and remove recorded runs."""
    if rebuild_index:
        from meta_tui import store
        from meta_tui.display import count

        note(f"{count(store.own_runs().rebuild(), 'run')} read")
    if ctx.invoked_subcommand is not None:
        return None
    return _list((), as_json, 50)


@runs_command.command("list")
@click.argument("words", nargs=-1)
@click.option("--limit", default=50, show_default=True, help="Rows at most; 0 shows all.")
@json_option
def list_command(words: tuple[str, ...], as_json: bool, limit: int) -> int:
    """List runs, newest first. WORDS filter: each must stand in the id, method, model, task,
    question or status."""
    return _list(words, as_json, limit)


@runs_command.command("show")
@click.argument("run")
@click.option("--brief", is_flag=True, help="One line for each thing that happened.")
@json_option
def show_command(run: str, brief: bool, as_json: bool) -> int:
    """Show what a run is and all that was said in it.

    Each outcome has the line of the log that it stands on, which `meta-tui fork RUN --at LINE` takes.
    """
    from meta_tui import runlog, store
    from meta_tui.plain import Plain

    path = store.find(run)
    recording = runlog.read(path)
    if as_json:
        print_json(store.summarise(recording, path))
        return 0
    front = Plain(write, colour=has_colour(), brief=brief)
    for event, line in zip(recording.events, recording.lines, strict=True):
        front.line = line
        front.take(event)
    if recording.torn:
        note("the last line was cut off and is left out")
    if recording.finished is None:
        note("unfinished: `meta-tui resume` goes on from here")
    click.echo(str(path))
    return 0


@runs_command.command("path")
@click.argument("run")
@json_option
def path_command(run: str, as_json: bool) -> int:
    """Print the path of a run's log."""
    from meta_tui import store

    path = store.find(run)
    if as_json:
        print_json({"path": str(path)})
    else:
        click.echo(str(path))
    return 0


@runs_command.command("remove")
@click.argument("runs", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def remove_command(runs: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Remove runs of your own. A log is the run: what is removed cannot be replayed."""
    from meta_tui import store
    from meta_tui.display import count

    own = store.home().runs.resolve()
    paths = [store.find(run) for run in runs]
    for path in paths:
        if path.is_dir() or own not in path.resolve().parents:
            raise UsageError(f"{path} is no run of yours in {own}; remove such files yourself")
    if not yes and not click.confirm(f"Remove {count(len(paths), 'run')} for good?", err=True):
        return 1
    for path in paths:
        path.unlink()
    if as_json:
        print_json({"removed": [path.stem for path in paths]})
    else:
        note(f"{len(paths)} removed")
    return 0


def _list(words: tuple[str, ...], as_json: bool, limit: int) -> int:
    from meta_tui import plain, store
    from meta_tui.display import dollars

    rows = [row for row in store.own_runs().summaries() if all(w.lower() in _haystack(row) for w in words)]
    shown = rows[:limit] if limit else rows
    if as_json:
        print_json(shown)
        return 0
    if not rows:
        note("No runs match." if words else "No runs yet. `meta-tui demo` shows a recorded one.")
        return 0
    cells = [
        (
            row.id,
            row.method,
            row.model,
            row.sample or row.task,
            plain.STATUS_WORDS.get(row.status, row.status),
            str(row.rounds),
            str(row.calls),
            dollars(row.cost),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(row.at)) if row.at else "-",
        )
        for row in shown
    ]
    heads = ("run", "method", "model", "task", "result", "rounds", "calls", "cost", "when")
    click.echo(plain.table(cells, heads))
    if len(shown) < len(rows):
        note(f"{len(rows) - len(shown)} more; --limit 0 shows all")
    return 0


def _haystack(row: object) -> str:
    import msgspec

    fields = msgspec.structs.asdict(row)  # type: ignore[arg-type]
    return " ".join(str(value) for key, value in fields.items() if key != "path").lower()
