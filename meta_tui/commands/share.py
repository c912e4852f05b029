"""Commands that show runs to others: `export` into a file, `serve` to a browser on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from meta_tui.commands.output import json_option, note, print_json
from meta_tui.errors import UsageError


@click.command("export")
@click.argument("run")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["html", "md", "svg", "asciicast"]),
    default="html",
    show_default=True,
    help="A page, a text, a picture of the screen, or a recording of it.",
)
@click.option(
    "--to", type=click.Path(dir_okay=False, path_type=Path), help="The file; default: in your folder."
)
@json_option
def export_command(run: str, format_: str, to: Path | None, as_json: bool) -> int:
    """Write a run into one file to share: what was said, asking nothing of any network.

    What looks like a key is replaced, and said; look through the file before you give it away.
    """
    from meta_tui import store, tui

    written = tui.export(store.find(run), format_, to)  # type: ignore[arg-type]
    if written.warning:
        note(written.warning)
    if as_json:
        print_json({"path": str(written.path), "format": format_, "warning": written.warning})
    else:
        click.echo(written.path)
    return 0


@click.command("serve")
@click.argument("run", required=False)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8765, show_default=True, help="Port on this machine."
)
def serve_command(run: str | None, port: int) -> int:
    """Show recorded runs in a browser on this machine (needs the extra `web`).

    Playback only: what is served asks no model, writes no file and shows no setting. Ctrl-C ends it.
    """
    from meta_tui import store

    path = store.find(run) if run else None
    try:
        from meta_tui.tui import web
    except ImportError as error:
        raise UsageError(f"serve needs the extra: pip install 'meta-tui[web]' ({error})") from error
    web.serve(path, port, lambda address: click.echo(f"{address}\nCtrl-C ends it."))
    return 0
