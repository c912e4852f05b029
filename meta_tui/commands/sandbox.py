"""`sandbox`: run programs as Expert Python's are run, and compare them with recorded outputs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from meta_tui.commands.output import Progress, json_option, note, print_json

if TYPE_CHECKING:
    from meta_tui.chat import CodeResult, Limits, Program
    from meta_tui.events import How
    from meta_tui.sandbox.check import Report

_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
_seconds = click.FloatRange(min=0.05, max=3600)
_strict = click.option(
    "--sandbox",
    "sandbox_mode",
    type=click.Choice(["warn", "strict"]),
    default="warn",
    show_default=True,
    help="strict: refuse to run on a machine without Landlock and seccomp.",
)


@click.group("sandbox")
def group() -> None:
    """Run programs in the sandbox that Expert Python's programs run in."""


sandbox_command = group


@group.command("run", short_help="Run a program in a file; show how it ended.")
@_file
@click.option(
    "--timeout", type=_seconds, default=5.0, show_default=True, metavar="S", help="Seconds of wall clock."
)
@click.option(
    "--profile",
    type=click.Choice(["policy", "os_only"]),
    default="policy",
    show_default=True,
    help="policy: as Expert Python; os_only: plain Python in the same locked process.",
)
@_strict
@json_option
def run_command(
    file: Path, timeout: float, profile: Literal["policy", "os_only"], sandbox_mode: str, as_json: bool
) -> int:
    """Run the program in FILE (- is standard input) and show how it ended.

    What it printed goes to stdout, how it ended to stderr. Exit code 0: it was run, whatever it
    did; 5: this machine cannot run it.
    """
    from meta_tui.chat import Limits, Program

    program = Program(_text(file), profile=profile, limits=Limits(seconds=timeout))
    result, how = asyncio.run(_run(program, sandbox_mode == "strict"))
    if as_json:
        print_json(_facts(result, how))
    else:
        _show(result, how)
    return 0


@group.command("check")
@_file
@click.option(
    "--timeout", type=_seconds, default=3.0, show_default=True, metavar="S", help="Seconds of wall clock."
)
@_strict
@json_option
def check_command(file: Path, timeout: float, sandbox_mode: str, as_json: bool) -> int:
    """Run every program in FILE and compare it with its recorded output.

    FILE has JSON lines with `code` and `recorded_output`, worded as in the published runs: what was
    printed, or `Error in execution: ` and the traceback, or one of two fixed notes. The classes:
    exact, same_error (the last line of the traceback is the same), recorded_timeout (it was stopped
    then and ends now), differs, refused, timeout, error.
    """
    from meta_tui.chat import Limits

    report = asyncio.run(_check(_bytes(file), Limits(seconds=timeout), sandbox_mode == "strict"))
    if as_json:
        print_json(report)
    else:
        _show_report(report)
    return 0


async def _run(program: Program, strict: bool) -> tuple[CodeResult, How]:
    from meta_tui.sandbox import Sandbox

    async with Sandbox(pool=1, strict=strict, warn=note) as sandbox:
        return await sandbox.execute(program)


async def _check(data: bytes, limits: Limits, strict: bool) -> Report:
    from meta_tui.methods import expert_python
    from meta_tui.sandbox import Sandbox, check

    rows = check.read(data)
    progress = Progress("programs", len(rows))
    async with Sandbox(strict=strict, warn=note) as sandbox:
        return await check.check(
            rows, sandbox.execute, _published(), expert_python.TOO_LONG, limits, progress.show
        )


def _published() -> Callable[[CodeResult], str]:
    from meta_tui.methods import expert_python

    lead = f"{expert_python.OUTPUT_LINE}\n\n"
    return lambda result: expert_python.report("", result, "published").partition(lead)[2]


def _text(file: Path) -> str:
    from meta_tui.errors import UsageError

    try:
        return _bytes(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no UTF-8 text; give a Python program") from error


def _bytes(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    return file.read_bytes()


def _facts(result: CodeResult, how: How) -> dict[str, Any]:
    return {
        "status": result.status,
        "stdout": result.stdout,
        "error": result.error,
        "line": result.line,
        "ms": how.ms,
        "layers": how.layers,
        "note": how.note,
    }


def _show(result: CodeResult, how: How) -> None:
    from meta_tui.display import clean

    click.echo(clean(result.stdout), nl=False)
    if result.stdout and not result.stdout.endswith("\n"):
        click.echo()
    if result.error:
        note(clean(result.error))
    where = f" at line {result.line}" if result.line else ""
    note(f"{result.status}{where} · {how.ms} ms · {how.note}")
    note(f"layers: {', '.join(how.layers)}")


def _show_report(report: Report) -> None:
    from meta_tui.display import one_line

    for row in report.rows:
        click.echo(f"row {row.row}: {row.kind}: {one_line(row.reason)}")
        click.echo(f"  expected  {one_line(row.expected)}\n  got       {one_line(row.got)}")
    names = ("exact", "same_error", "recorded_timeout", "differs", "refused", "timeout", "error")
    counts = ", ".join(f"{getattr(report, name)} {name}" for name in names if getattr(report, name))
    click.echo(f"{report.total} programs: {counts or 'none'}")
