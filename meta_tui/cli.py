"""The command line: which commands there are, and how an error becomes an exit code.

Commands stand in `meta_tui.commands`; they are the only room that picks concrete classes.
Exit codes: 0 has an answer or is exact, 1 the run failed or gave no answer, 2 bad input, 3 a
replay that misses or differs, 4 stopped by a budget, 5 trouble with a provider or the machine, 130
a command that Ctrl-C ended (a live run that Ctrl-C stops ends its log properly, and with 1).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from meta_tui import __version__
from meta_tui.errors import LogError, MetaTuiError

INTERRUPTED = 130
"""128 and the number of SIGINT, as shells have it."""

COMMANDS: dict[str, tuple[str, str]] = {
    "solve": ("meta_tui.commands.live", "Solve a question with a live model, and record it."),
    "resume": ("meta_tui.commands.live", "Go on with a run that was stopped, failed or killed."),
    "fork": ("meta_tui.commands.live", "Go on differently from a line of a recorded run."),
    "demo": ("meta_tui.commands.show", "Play a recorded run that comes with meta-tui."),
    "play": ("meta_tui.commands.show", "Show a recorded run as it happened."),
    "replay": ("meta_tui.commands.replay", "Run recorded runs again against their logs: exact or not."),
    "runs": ("meta_tui.commands.runs", "List, show and remove recorded runs."),
    "diff": ("meta_tui.commands.show", "Compare two recorded runs, round by round."),
    "evaluate": ("meta_tui.commands.evaluate", "Run methods on tasks: intervals, paired tests, costs."),
    "report": ("meta_tui.commands.report", "Report on an evaluation, recomputed from its logs."),
    "diagnose": ("meta_tui.commands.diagnose", "What runs with workers covered, selected and remembered."),
    "compare": ("meta_tui.commands.report", "Who won which sample of an evaluation."),
    "merge": ("meta_tui.commands.report", "Put the shards of an evaluation together."),
    "tasks": ("meta_tui.commands.tasks", "Look at task families, make samples, grade answers."),
    "export": ("meta_tui.commands.share", "Write a run into a file to share: page, text, picture."),
    "serve": ("meta_tui.commands.share", "Show recorded runs in a browser on this machine."),
    "import": ("meta_tui.commands.exchange", "Import other people's recorded runs."),
    "reproduce": ("meta_tui.commands.reproduce", "Recompute the published results from their transcripts."),
    "knowledge": ("meta_tui.commands.knowledge", "Show, export and import what runs learned."),
    "chain": ("meta_tui.commands.chain", "Show, export, rate and report the layers that runs wrote."),
    "methods": ("meta_tui.commands.methods", "List the methods, show their settings."),
    "sandbox": ("meta_tui.commands.sandbox", "Run programs as Expert Python's are run."),
    "cache": ("meta_tui.commands.care", "Look at, check and clear the reply cache."),
    "config": ("meta_tui.commands.care", "Show the settings in force and where they come from."),
    "doctor": ("meta_tui.commands.care", "Check this installation."),
    "completion": ("meta_tui.commands.methods", "Print the completion script for a shell."),
}
"""Command -> (module that holds it, one line of help)."""


class ReaderGone(Exception):
    """Whoever read our output has closed the pipe (`meta-tui runs | head`): not a failure."""


@contextmanager
def _closed_pipe() -> Iterator[None]:
    """Name a closed pipe before click sees it, which would make exit code 1 of it."""
    try:
        yield
    except BrokenPipeError:
        raise ReaderGone from None


class Lazy(click.Group):
    """A group that imports a command's module when the command is used."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the arguments; `--help` and `--version` print here."""
        with _closed_pipe():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _closed_pipe():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; a name that does not exist is met with a near one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from meta_tui.nearest import did_you_mean

            ctx.fail(f"no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help lines, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in COMMANDS.items()])


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Without a command, and in a terminal, the app opens.",
)
@click.version_option(__version__, prog_name="meta-tui")
@click.pass_context
def cli(ctx: click.Context) -> int | None:
    """Run, watch, replay and compare scaffolds in which a language model conducts many calls to
    itself. Everything recorded plays and replays offline, without a key and at no cost."""
    if ctx.invoked_subcommand is not None:
        return None
    from meta_tui.commands.output import is_terminal

    if not is_terminal():
        click.echo(ctx.get_help())
        return 0
    from meta_tui.tui import browse

    return browse()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (without the program's name); gives back the exit code."""
    _fit_streams()
    try:
        result = cli.main(list(argv) if argv is not None else None, "meta-tui", standalone_mode=False)
    except MetaTuiError as error:
        place = f"{error.path}: " if isinstance(error, LogError) and error.path else ""
        click.echo(f"meta-tui: {place}{error}", err=True)
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort as left:
        click.echo("meta-tui: stopped", err=True)
        return INTERRUPTED if isinstance(left.__context__, KeyboardInterrupt) else 1
    except click.ClickException as error:
        error.show()
        return 2
    except ReaderGone:
        _silence_stdout()
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"meta-tui: {place}{error.strerror or error}; choose another place", err=True)
        return 5
    except KeyboardInterrupt:
        click.echo("meta-tui: stopped", err=True)
        return INTERRUPTED
    return result if isinstance(result, int) else 0


def _fit_streams() -> None:
    """Write letters instead of signs where the terminal's locale, or the encoding, has no signs."""
    import os

    from meta_tui.display import speaks_unicode

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="replace")
        if stream.isatty() and not speaks_unicode(os.environ):
            _in_letters(name, stream)


def _in_letters(name: str, stream: io.TextIOWrapper) -> None:
    from meta_tui.commands.output import Letters  # which loads more than `--help` wants to wait for

    if not isinstance(stream, Letters):
        setattr(sys, name, Letters(stream.buffer, encoding="utf-8", line_buffering=True))


def _silence_stdout() -> None:
    """The reader of our output went away; do not complain about it at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run() -> None:
    """Entry point of the installed script."""
    sys.exit(main())
