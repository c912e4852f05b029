"""Commands that look after an installation: `cache`, `config` and `doctor`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from meta_tui.commands.output import json_option, note, print_json
from meta_tui.display import count


@click.group("cache")
def cache_command() -> None:
    """Look at, check and clear the reply cache. It may be deleted at any time."""


@cache_command.command("stats")
@json_option
def cache_stats(as_json: bool) -> int:
    """What the cache holds."""
    from meta_tui import store
    from meta_tui.models import cached

    folder = store.home().cache
    stats = cached.stats(folder)
    if as_json:
        print_json({"folder": str(folder), **_fields(stats)})
        return 0
    paid = f", ${stats.paid:.4f} paid for them" + (
        f" ({stats.unpriced} without a price)" if stats.unpriced else ""
    )
    click.echo(
        f"{count(stats.entries, 'reply', 'replies')}, {stats.size / 1e6:.1f} MB{paid if stats.entries else ''}"
    )
    for model, number in stats.models:
        click.echo(f"  {number:,} {model}")
    click.echo(str(folder))
    return 0


@cache_command.command("check")
@click.option("--fix", is_flag=True, help="Remove what is damaged.")
@json_option
def cache_check(fix: bool, as_json: bool) -> int:
    """Read every entry of the cache; exit code 1 if something is wrong."""
    from meta_tui import store
    from meta_tui.models import cached

    found = cached.check(store.home().cache, fix)
    if as_json:
        print_json({**_fields(found), "fixed": fix})
    else:
        for problem in found.problems:
            note(problem)
        click.echo(
            f"{count(found.entries, 'reply', 'replies')} can be read, {count(len(found.problems), 'problem')}"
        )
    return 1 if found.problems and not fix else 0


@cache_command.command("clear")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def cache_clear(yes: bool, as_json: bool) -> int:
    """Remove the cache. Recorded runs stay; live runs ask again for what they need."""
    from meta_tui import store
    from meta_tui.models import cached

    folder = store.home().cache
    if not yes and not click.confirm(f"Remove all cached replies in {folder}?", err=True):
        return 1
    freed = cached.clear(folder)
    if as_json:
        print_json({"freed": freed})
    else:
        click.echo(f"{freed / 1e6:.1f} MB freed")
    return 0


@click.group("config")
def config_command() -> None:
    """Show the settings in force."""


@config_command.command("show", short_help="Every setting and where it comes from.")
@json_option
def config_show(as_json: bool) -> int:
    """Every setting, its value and where it comes from: flag > environment > project file > user
    file. Keys are not shown; `meta-tui doctor` says which are set."""
    from meta_tui import config, plain, store

    resolved = config.resolve()
    values = msgspec.structs.asdict(resolved.settings)
    if as_json:
        print_json({name: {"value": v, "origin": resolved.origins[name]} for name, v in values.items()})
        return 0
    rows = [(n, "" if v is None else str(v), resolved.origins[n]) for n, v in values.items()]
    click.echo(plain.table(rows, ("setting", "value", "from")))
    note(f"user file: {store.home().config}   project file: {Path(config.PROJECT_FILE).resolve()}")
    return 0


@click.command("doctor")
@click.option("--network", is_flag=True, help="Also ask the model that is set for one word.")
@json_option
def doctor_command(network: bool, as_json: bool) -> int:
    """Check this installation: Python, terminal, folders, keys, cache, cassettes, sandbox.

    Exit code 1 if a check fails. Values of keys are never shown.
    """
    from meta_tui import doctor
    from meta_tui.tui import measure

    checks = doctor.checks()
    width = measure.check()
    if width is not None:
        at = next(number for number, check in enumerate(checks, 1) if check.name == "terminal")
        checks.insert(at, width)
    if network:
        checks.append(asyncio.run(doctor.reach()))
    failed = any(check.state == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": checks})
    else:
        for check in checks:
            fix = f"  → {check.fix}" if check.fix and check.state != "ok" else ""
            click.echo(f"{doctor.GLYPHS[check.state]} {check.name}: {check.found}{fix}")
    return 1 if failed else 0


def _fields(value: object) -> dict[str, object]:
    import dataclasses

    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}  # type: ignore[arg-type]
