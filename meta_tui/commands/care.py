"""Commands that look after an installation: `cache`, `config` and `doctor`."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import click
import msgspec

from meta_tui.commands.output import json_option, note, print_json


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
    click.echo(f"{stats.entries:,} replies, {stats.size / 1e6:.1f} MB{paid if stats.entries else ''}")
    for model, count in stats.models:
        click.echo(f"  {count:,} {model}")
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
        click.echo(f"{found.entries:,} replies can be read, {len(found.problems)} problems")
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


@config_command.command("show")
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


class Check(msgspec.Struct, frozen=True):
    """One line of the doctor's report. Only `fail` changes the exit code."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    fix: str = ""


@click.command("doctor")
@click.option("--network", is_flag=True, help="Also ask the model that is set for one word.")
@json_option
def doctor_command(network: bool, as_json: bool) -> int:
    """Check this installation: Python, terminal, folders, keys, cache, cassettes, sandbox.

    Exit code 1 if a check fails. Values of keys are never shown.
    """
    checks = [check for group in _CHECKS for check in group()]
    if network:
        checks.append(asyncio.run(_reach()))
    failed = any(check.state == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": checks})
    else:
        glyphs = {"ok": "✓", "warn": "▲", "fail": "✗"}
        for check in checks:
            fix = f"  → {check.fix}" if check.fix and check.state != "ok" else ""
            click.echo(f"{glyphs[check.state]} {check.name}: {check.found}{fix}")
    return 1 if failed else 0


def _python() -> Iterator[Check]:
    from meta_tui import __version__

    yield Check("meta-tui", "ok", __version__)
    yield Check("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}")


def _terminal() -> Iterator[Check]:
    term, size = os.environ.get("TERM", ""), shutil.get_terminal_size()
    usable = sys.stdout.isatty() and term not in ("", "dumb")
    found = f"TERM={term or '-'}, {size.columns}x{size.lines}, encoding {sys.stdout.encoding}"
    yield Check(
        "terminal", "ok" if usable else "warn", found, "the app needs a terminal; --plain works anywhere"
    )


def _folders() -> Iterator[Check]:
    from meta_tui import store

    place = store.home()
    yield _writable("user's folder", place.root)
    rows = len(store.own_runs().summaries())
    yield Check("runs", "ok", f"{rows:,} in {place.runs}")


def _writable(name: str, folder: Path) -> Check:
    probe = folder / f".write-test-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_text("x")
        probe.unlink()
    except OSError as error:
        return Check(name, "fail", f"{folder}: {error.strerror}", "set META_TUI_HOME to a folder of yours")
    free = shutil.disk_usage(folder).free
    return Check(
        name, "ok" if free > 50e6 else "warn", f"{folder}, {free / 1e9:.1f} GB free", "free some space"
    )


def _settings() -> Iterator[Check]:
    from meta_tui import config
    from meta_tui.errors import UsageError

    try:
        model = config.resolve().settings.model
    except UsageError as error:
        yield Check("settings", "fail", str(error), "mend or remove that file or variable")
        return
    yield Check("model", "ok" if model else "warn", model or "none set", "set META_TUI_MODEL or give --model")


def _keys() -> Iterator[Check]:
    from meta_tui import config

    config.load_env_file()
    names = sorted(n for n in os.environ if n.upper().endswith("_API_KEY") and os.environ[n])
    found = f"set: {', '.join(names)}" if names else "none set"
    yield Check(
        "keys", "ok" if names else "warn", found, "not needed to play and replay, nor for a local server"
    )


def _cache() -> Iterator[Check]:
    from meta_tui import store
    from meta_tui.errors import UsageError
    from meta_tui.models import cached

    try:
        stats = cached.stats(store.home().cache)
    except UsageError as error:
        yield Check("cache", "fail", str(error), "`meta-tui cache clear`")
        return
    yield Check("cache", "ok", f"{stats.entries:,} replies, {stats.size / 1e6:.1f} MB")


def _cassettes() -> Iterator[Check]:
    from meta_tui import sources, store
    from meta_tui.errors import MetaTuiError

    logs = store.logs_in(store.shipped("cassettes")) if store.shipped("cassettes").is_dir() else []
    bad = []
    for path in logs:
        try:
            asyncio.run(sources.replay(sources.check_log(path)))
        except MetaTuiError as error:
            bad.append(f"{path.name}: {error}")
    if bad or not logs:
        yield Check("cassettes", "fail", "; ".join(bad) or "none found", "install meta-tui again")
    else:
        yield Check("cassettes", "ok", f"{len(logs)} replay exactly")


def _sandbox() -> Iterator[Check]:
    from meta_tui import sandbox

    for name, held, detail in sandbox.doctor():
        yield Check(f"sandbox {name}", "ok" if held else "warn", detail, "the other layers still hold")


_CHECKS: tuple[Callable[[], Iterator[Check]], ...] = (
    _python,
    _terminal,
    _folders,
    _settings,
    _keys,
    _cache,
    _cassettes,
    _sandbox,
)


async def _reach() -> Check:
    from meta_tui import config, session
    from meta_tui.chat import Params, Request, user
    from meta_tui.errors import MetaTuiError
    from meta_tui.models.base import Call

    settings = msgspec.structs.replace(config.resolve().settings, cache=False, retries=0)
    live = session.Session(settings)
    began = time.monotonic()
    try:
        name = session.model_name(settings)
        model = live.doors().model
        assert model is not None
        await model.answer(
            Call(Request((user("Say: ready"),), Params(model=name, max_tokens=16))), lambda _: None
        )
    except MetaTuiError as error:
        return Check("model answers", "fail", str(error), "check the name, the key and the address")
    finally:
        await live.aclose()
    return Check("model answers", "ok", f"{name} in {time.monotonic() - began:.1f} s")


def _fields(value: object) -> dict[str, object]:
    import dataclasses

    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}  # type: ignore[arg-type]
