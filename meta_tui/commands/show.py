"""Commands that show recorded runs: `demo`, `play` and `diff`. They ask nothing of any model."""

from __future__ import annotations

import time
from pathlib import Path

import click

from meta_tui.commands.output import has_colour, is_terminal, json_option, print_json, write
from meta_tui.errors import UsageError
from meta_tui.nearest import did_you_mean

DEMO = "game24-python"
"""The cassette that `meta-tui demo` plays."""

_speed = click.option(
    "--speed", type=click.FloatRange(min=0), help="Times the recorded pace; 0 is as fast as possible."
)
_plain = click.option("--plain", is_flag=True, help="Write lines of text instead of opening the app.")
_brief = click.option("--brief", is_flag=True, help="With --plain: one line for each thing that happened.")


@click.command("demo")
@click.argument("name", required=False)
@click.option("--list", "list_", is_flag=True, help="List the recorded runs that come with meta-tui.")
@_plain
@_brief
@_speed
@json_option
def demo_command(
    name: str | None, list_: bool, plain: bool, brief: bool, speed: float | None, as_json: bool
) -> int:
    """Play a recorded run that comes with meta-tui: no key, no network, no cost."""
    from meta_tui import store

    if list_:
        return _list_cassettes(as_json)
    cassettes = {path.stem: path for path in store.logs_in(store.shipped("cassettes"))}
    if (name or DEMO) not in cassettes:
        near = did_you_mean(name or DEMO, cassettes)
        raise UsageError(f"no demo {name or DEMO!r}{near or '; there are ' + ', '.join(cassettes)}")
    return _show(cassettes[name or DEMO], plain, brief, speed, as_json)


@click.command("play")
@click.argument("run")
@_plain
@_brief
@_speed
@json_option
def play_command(run: str, plain: bool, brief: bool, speed: float | None, as_json: bool) -> int:
    """Show a recorded run (a path, a run id, a demo's name or `last`) as it happened.

    In a terminal the app opens; elsewhere, or with --plain, it is written as text. --json writes
    the events, one a line.
    """
    from meta_tui import store

    return _show(store.find(run), plain, brief, speed, as_json)


@click.command("diff")
@click.argument("left")
@click.argument("right")
@click.option("--all", "all_", is_flag=True, help="Show equal steps too.")
@json_option
def diff_command(left: str, right: str, all_: bool, as_json: bool) -> int:
    """Compare two recorded runs, aligned by round. Exit code 0: the same, 3: they differ."""
    from meta_tui import compare, runlog, store

    runs = [runlog.read(store.find(name)) for name in (left, right)]
    rows = compare.compare(runs[0].events, runs[1].events)
    differ = [row for row in rows if row.mark != "="]
    if as_json:
        print_json({"same": not differ, "differences": len(differ), "rows": rows if all_ else differ})
    else:
        _print_rows(rows if all_ else differ)
        click.echo(f"{len(differ)} of {len(rows)} steps differ" if differ else f"the same: {len(rows)} steps")
    return 3 if differ else 0


def _list_cassettes(as_json: bool) -> int:
    from meta_tui import plain, store

    rows = [store.summary(path) for path in store.logs_in(store.shipped("cassettes"))]
    if as_json:
        print_json(rows)
        return 0
    cells = [
        (r.id, r.method, plain.STATUS_WORDS.get(r.status, r.status), str(r.rounds), str(r.calls))
        for r in rows
    ]
    click.echo(plain.table(cells, ("name", "method", "result", "rounds", "calls")))
    return 0


def _show(path: Path, plain: bool, brief: bool, speed: float | None, as_json: bool) -> int:
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give one run, or `meta-tui replay {path}` for all of them")
    if as_json:
        return _show_json(path)
    if plain or brief or not is_terminal():
        return _show_plain(path, brief, _pace(speed))
    from meta_tui.tui import watch

    return watch(path, speed=1.0 if speed is None else speed)


def _pace(speed: float | None) -> float:
    if speed is not None:
        return speed
    return 1.0 if is_terminal() else 0.0


def _show_json(path: Path) -> int:
    from meta_tui import runlog, sources
    from meta_tui.events import to_json

    sources.play(runlog.read(path), lambda event: click.echo(to_json(event)))
    return 0


def _show_plain(path: Path, brief: bool, speed: float) -> int:
    from meta_tui import runlog, sources
    from meta_tui.plain import Plain
    from meta_tui.playback import beats

    recording = runlog.read(path)
    front = Plain(write, colour=has_colour(), brief=brief)
    if not speed:
        sources.play(recording, front.take)
        return 0
    began = time.monotonic()
    for beat in beats(recording.events):
        time.sleep(max(0.0, beat.at / speed - (time.monotonic() - began)))
        front.take(beat.event)
    sources.check_finished(recording)
    return 0


def _print_rows(rows: list) -> None:  # type: ignore[type-arg]
    import difflib

    from meta_tui.display import clean

    for row in rows:
        where = f"round {row.round} " if row.round else ""
        click.echo(f"{row.mark} {where}{clean(row.who)}: {row.what}")
        if row.mark == "=":
            continue
        left, right = ((row.left or "").split("\n"), (row.right or "").split("\n"))
        for line in list(difflib.unified_diff(left, right, lineterm="", n=1))[2:]:
            click.echo(f"    {clean(line)}")
