"""`knowledge`: what runs learned, shown, exported, and imported for later runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from meta_tui.commands.output import json_option, note, print_json
from meta_tui.errors import LogError, UsageError

if TYPE_CHECKING:
    from meta_tui.chat import CodeResult, Program
    from meta_tui.methods.carried import Carried
    from meta_tui.methods.mc2.history import Change, History
    from meta_tui.runlog import Recording


@click.group("knowledge")
def knowledge_command() -> None:
    """Look at what runs learned, and hand it to later runs (`solve --knowledge`)."""


@knowledge_command.command("show", short_help="What a run learned, batch by batch.")
@click.argument("source", metavar="RUN|FILE")
@json_option
def show_command(source: str, as_json: bool) -> int:
    """Show what a run learned, batch by batch, or what a file of knowledge holds."""
    from meta_tui.methods.mc2.history import history

    carried, recording = _opened(source)
    if as_json:
        shown: dict[str, Any] = {"method": carried.method, "run": carried.run, "knowledge": carried.knowledge}
        if recording is not None and carried.method == "mc2":
            shown["history"] = _facts(history(recording.events))
        print_json(shown)
        return 0
    if recording is not None and carried.method == "mc2":
        _show_history(history(recording.events))
    _show(carried)
    return 0


@knowledge_command.command("export", short_help="Write what a run learned into a file.")
@click.argument("source", metavar="RUN")
@click.option("--to", type=click.Path(dir_okay=False, path_type=Path), help="A file; else standard output.")
@json_option
def export_command(source: str, to: Path | None, as_json: bool) -> int:
    """Write what a run learned as a file for `solve --knowledge` and `knowledge import`."""
    from meta_tui.methods.carried import to_json

    carried, _ = _opened(source)
    if to is None:
        click.echo(to_json(carried), nl=False)
        return 0
    try:
        to.write_bytes(to_json(carried))
    except OSError as error:
        raise UsageError(f"cannot write {to}: {error.strerror or error}") from error
    if as_json:
        print_json({"method": carried.method, "run": carried.run, "path": str(to)})
    else:
        note(f"knowledge of {carried.method} written to {to}")
    return 0


@knowledge_command.command("import", short_help="Keep a file of knowledge under a name.")
@click.argument("source", metavar="RUN|FILE")
@click.option("--name", default="", help="A name for it; else that of the file or run.")
@json_option
def import_command(source: str, name: str, as_json: bool) -> int:
    """Keep a file of knowledge (or what a run learned) under a name, for `solve --knowledge NAME`."""
    from meta_tui import store
    from meta_tui.methods.carried import to_json
    from meta_tui.streamed import NAME

    carried, _ = _opened(source)
    name = name or Path(source).stem
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name; give --name with letters, digits, . _ and -")
    path = store.home().knowledge / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_json(carried))
    if as_json:
        print_json({"name": name, "method": carried.method, "path": str(path)})
    else:
        note(f"kept as {name}: meta-tui solve --method {carried.method} --knowledge {name} ...")
    return 0


@knowledge_command.command("compare", short_help="How what two runs learned differs.")
@click.argument("source", metavar="RUN|FILE")
@click.argument("other", metavar="[RUN|FILE]", required=False)
@json_option
def compare_command(source: str, other: str | None, as_json: bool) -> int:
    """Say what each pass of a run changed, or how what two runs learned differs."""
    import msgspec

    if other is not None:
        return _compare_two(source, other, as_json)
    carried, recording = _opened(source)
    if recording is None or carried.method != "mc2":
        raise UsageError("passes are those of a recorded run of mc2; give two runs or files to compare them")
    from meta_tui.methods.mc2.history import history
    from meta_tui.methods.mc2.passes import passes

    found = passes(history(recording.events))
    if as_json:
        print_json(msgspec.to_builtins(found))
        return 0
    for one in found:
        graded = f", {one.right}/{one.graded} right" if one.graded else ""
        click.echo(
            f"pass {one.number}: batches {one.batches[0]} to {one.batches[-1]}, {one.instances} instances{graded}, "
            f"{one.settled_at_once} settled at once, {one.restarts} restarts"
        )
        for words, samples in (("now right", one.gained), ("now wrong", one.lost)):
            if samples:
                click.echo(f"  {words}: {', '.join(map(_clean, samples))}")
        for change in one.changes:
            _show_change(change)
    return 0


def _compare_two(source: str, other: str, as_json: bool) -> int:
    """How the knowledge of two runs or files differs: 0 where it does not, else 3 as `diff`."""
    import msgspec

    from meta_tui.methods.carried import summary_lines
    from meta_tui.methods.mc2.memory import Memory
    from meta_tui.methods.mc2.passes import between

    left, right = _opened(source)[0], _opened(other)[0]
    if left.method != right.method:
        raise UsageError(f"these are of {left.method} and {right.method}; compare knowledge of one method")
    old, new = summary_lines(left), summary_lines(right)
    same = left.knowledge == right.knowledge
    gone, come = [line for line in old if line not in new], [line for line in new if line not in old]
    changes: tuple[Change, ...] = ()
    if left.method == "mc2":
        memories = [msgspec.convert(one.knowledge, Memory) for one in (left, right)]
        changes = between(*memories)
    if as_json:
        print_json({"same": same, "added": come, "dropped": gone, "changes": msgspec.to_builtins(changes)})
        return 0 if same else 3
    for change in changes:
        _show_change(change)
    for sign, lines in (("+", come), ("-", gone)) if not changes else ():
        for line in lines:
            click.echo(f"  {sign} {_clean(line)}")
    click.echo("the same knowledge" if same else f"{len(come)} more, {len(gone)} fewer")
    return 0 if same else 3


@knowledge_command.command("report", short_help="Compare streams, batch by batch.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--to", type=click.Path(dir_okay=False, path_type=Path), help="A file for the page with plots.")
@click.option("--stream", metavar="TASK[:A-B]", help="The task file that the streams came from.")
@json_option
def report_command(runs: tuple[str, ...], to: Path | None, stream: str | None, as_json: bool) -> int:
    """Compare streams: accuracy, restarts and tokens by batch, graded anew from their logs."""
    import asyncio

    from meta_tui import plain
    from meta_tui.evaluation import plots_mc2, streams

    found = asyncio.run(_summaries(runs, stream))
    if to is not None:
        to.write_text(plots_mc2.page(found), encoding="utf-8")
        note(f"written to {to}")
    if as_json:
        print_json(found)
    else:
        click.echo(plain.table([line for one in found for line in streams.lines(one)], streams.HEADS))
    return 0


async def _summaries(runs: tuple[str, ...], stream: str | None) -> list[dict[str, Any]]:
    """The summaries of these runs; answers that are code are run in the sandbox."""
    from meta_tui import runlog, session, store
    from meta_tui.commands.live import stream_samples
    from meta_tui.evaluation import streams
    from meta_tui.methods.mc2.history import history
    from meta_tui.sandbox import Sandbox

    given, found = stream_samples(stream), []
    async with Sandbox(warn=note) as sandbox:

        async def execute(program: Program) -> CodeResult:
            return (await sandbox.execute(program))[0]

        for path in store.find_all(runs):
            recording = runlog.read(path)
            own = session.as_recorded(recording.started, given)
            samples = {one.id: one for one in own or session.known_samples(recording.started)}
            right = await streams.graded(history(recording.events), samples, execute=execute)
            found.append(streams.summary(path.stem, recording, right))
    return found


def _opened(source: str) -> tuple[Carried, Recording | None]:
    """The knowledge of a run, with its recording, or of a file of knowledge."""
    from meta_tui import runlog, store
    from meta_tui.methods.carried import left_behind
    from meta_tui.streamed import find_knowledge

    if source.endswith(".json") or (store.home().knowledge / f"{Path(source).name}.json").is_file():
        return find_knowledge(source), None
    path = store.find(source)
    try:
        recording = runlog.read(path)
    except LogError:
        return find_knowledge(source), None
    return left_behind(recording, path.stem), recording


def _facts(found: History) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(
        {
            "changes": found.changes(),
            "lifetimes": found.lifetimes(),
            "retrieved_by": found.retrieved_by(),
            "instances": found.instances,
        }
    )
    return plain


def _show_history(found: History) -> None:
    for change in found.changes():
        _show_change(change)
    retrieved = found.retrieved_by()
    if retrieved:
        click.echo("\nRetrieved")
    for role, lesson in found.lessons:
        for place, rule in enumerate(lesson.rules, 1):
            id_ = f"{role[0].upper()}{lesson.batch}.{place}"
            if id_ in retrieved:
                click.echo(f"  {id_} {_clean(rule.text)}\n      by {', '.join(map(_clean, retrieved[id_]))}")
    click.echo("\nLifetimes")
    for life in found.lifetimes():
        click.echo(f"  {life.role}: batches {', '.join(map(str, life.batches))}: {_clean(life.rule.text)}")
    click.echo("")


def _show_change(change: Change) -> None:
    parts = ("added", change.added), ("merged", change.merged), ("dropped", change.dropped)
    click.echo(f"batch {change.batch}, {change.role}: " + ", ".join(f"{len(p)} {n}" for n, p in parts))
    for rule in change.added:
        click.echo(f"  + {_clean(rule.text)}")
    for merge in change.merged:
        click.echo(f"  ~ {_clean(merge.into.text)}")
        for old in merge.of:
            click.echo(f"      was: {_clean(old.text)}")
    for rule in change.dropped:
        click.echo(f"  - {_clean(rule.text)}")


def _show(carried: Carried) -> None:
    from meta_tui.methods.carried import summary_lines

    click.echo(f"{carried.method}" + (f", from {carried.run}" if carried.run else ""))
    for line in summary_lines(carried):
        click.echo(f"  {_clean(line)}")


def _clean(text: str) -> str:
    from meta_tui.display import clean

    return clean(text)
