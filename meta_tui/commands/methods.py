"""`methods`: which methods there are and what can be set; `completion`: shell completion."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click

from meta_tui.commands.output import json_option, print_json, warn
from meta_tui.errors import UsageError


@click.group("methods", invoke_without_command=True)
@json_option
@click.pass_context
def methods_command(ctx: click.Context, as_json: bool) -> int | None:
    """List the methods, show their settings."""
    return _list(as_json) if ctx.invoked_subcommand is None else None


@methods_command.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List the methods."""
    return _list(as_json)


@methods_command.command("show", short_help="What a method does, and its settings.")
@click.argument("method")
@click.option("--preset", help="Show the settings of this preset.")
@json_option
def show_command(method: str, preset: str | None, as_json: bool) -> int:
    """Show a method: what it does, and every setting with its meaning and value."""
    from meta_tui import methods

    if preset is not None and preset not in methods.PRESETS:
        raise UsageError(f"no preset {preset!r}; there are {', '.join(methods.PRESETS)}")
    cls = methods.method_class(method)
    origin = methods.origin_of(method)
    chosen = methods.PRESETS[preset].settings_of(method) if preset else {}
    settings = methods.all_settings(methods.build(method, chosen))
    if as_json:
        facts = {"id": method, "summary": _summary(cls), "from": origin}
        print_json({**facts, "settings": settings, "meaning": _meanings(cls)})
        return 0
    click.echo(f"{method}\n  {_summary(cls)}\n  {_source(cls)}\n  From: {origin}\n\nSettings")
    meanings = _meanings(cls)
    for name, value in settings.items():
        click.echo(f"  {name} = {_short(value)}")
        if name in meanings:
            click.echo(f"      {meanings[name]}")
    return 0


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion_command(shell: str, as_json: bool) -> int:
    """Print the completion script for a shell: `eval "$(meta-tui completion bash)"`."""
    from click.shell_completion import get_completion_class

    from meta_tui.cli import cli

    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"no completion for {shell}")
    script = found(cli, {}, "meta-tui", "_META_TUI_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script)
    return 0


def _list(as_json: bool) -> int:
    from meta_tui import display, methods, plain

    listed, problems = methods.listed()
    rows = [(one.id, display.clean(_summary(one.cls)), one.origin) for one in listed]
    if as_json:
        print_json([{"id": name, "summary": summary, "from": origin} for name, summary, origin in rows])
    else:
        click.echo(plain.table(rows, ("method", "what it does", "from")))
    warn(problems)
    return 0


def _summary(cls: Any) -> str:
    return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


def _source(cls: Any) -> str:
    doc = inspect.getdoc(inspect.getmodule(cls)) or ""
    found = re.search(r"Source: (.*?)\.(?= |\n|$)(?! \d)", doc.replace("\n", " "))
    return f"Source: {found.group(1)}" if found else ""


def _meanings(cls: Any) -> dict[str, str]:
    """Setting -> its line under `Attributes:` in the docstring of the class or a base."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        block = (inspect.getdoc(base) or "").partition("Attributes:\n")[2]
        for names, text in re.findall(r"^ {4}(\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", block, re.MULTILINE):
            found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


def _short(value: Any, limit: int = 90) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
