"""`diagnose`: what runs with workers covered, selected and remembered.

Computed from the logs alone; artifacts are graded anew where the sample of a run is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from meta_tui.commands.output import json_option, note, print_json
from meta_tui.errors import LogError

if TYPE_CHECKING:
    from meta_tui.evaluation.diagnosing import Diagnosed


@click.command("diagnose")
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--samples",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of samples, to grade artifacts of runs on them.",
)
@click.option("--grader", type=click.Choice(["strict", "paper"]), default="strict", show_default=True)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the plots to this page.")
@json_option
def diagnose_command(
    runs: tuple[str, ...], samples: tuple[Path, ...], grader: str, html: Path | None, as_json: bool
) -> int:
    """Diagnose runs of meta_reasoning, direct_control and rlm: utilisation, artifact graph, coverage,
    selection, frontier, confidence, memory.

    RUNS are logs, folders, run ids, names of demos, evaluation folders, or `last`.
    """
    found = asyncio.run(_diagnosed(runs, samples, grader))
    from meta_tui.evaluation import diagnosing, diagnostics, plots

    groups = diagnosing.grouped(found)
    if html is not None:
        html.write_text(_page(plots.section(groups, [one.run for one in found])), encoding="utf-8")
        note(str(html))
    if as_json:
        each = [{"log": one.path, "label": one.label, **diagnostics.of_run(one.run)} for one in found]
        print_json({"runs": each, "groups": groups})
    else:
        for line in _lines(found, groups):
            click.echo(line)
    return 0 if found else 1


async def _diagnosed(runs: Sequence[str], samples: Sequence[Path], grader: str) -> list[Diagnosed]:
    from meta_tui import runlog, store
    from meta_tui.evaluation import cells, diagnosing
    from meta_tui.sandbox import Sandbox

    found: list[Diagnosed] = []
    find = diagnosing.finder(samples)
    async with Sandbox(warn=note) as sandbox:

        async def execute(program: Any) -> Any:
            return (await sandbox.execute(program))[0]

        folders = [Path(run) for run in runs if (Path(run) / cells.PLAN_FILE).is_file()]
        for folder in folders:
            found += await diagnosing.of_folder(folder, grader, execute)
        rest = [run for run in runs if Path(run) not in folders]
        for path in sorted(store.find_all(rest)) if rest else ():
            try:
                recording = runlog.read(path)
            except LogError as error:
                note(f"{path}: {error}")
                continue
            if recording.started.method not in diagnosing.METHODS:
                note(f"{path}: {recording.started.method} has no workers; left out")
                continue
            found.append(await diagnosing.diagnosed(recording, find(recording.started), grader, execute))
    return found


def _lines(found: Sequence[Diagnosed], groups: Sequence[dict[str, Any]]) -> list[str]:
    from meta_tui.display import clean

    if not found:
        return ["no run with workers was found"]
    lines: list[str] = []
    if len(found) <= 20:
        for one in found:
            lines += _run_lines(one)
    if len(found) > 1:
        lines += ["", *(line for group in groups for line in _group_lines(group))]
    return [clean(line) for line in lines]


def _run_lines(one: Diagnosed) -> list[str]:
    from meta_tui.evaluation import diagnostics

    d = diagnostics.of_run(one.run)
    graph, calls, memory = d["graph"], d["calls"], d["memory"]
    lines = [
        f"{Path(one.path).stem}: {one.label} · {one.model} · {d['status']} ({d['reason']})",
        f"  calls {calls['all']} = {calls['control']} control + {calls['work']} work"
        + (f"; U = {d['utilisation']:.2f} of B = {d['budget']}" if d["utilisation"] is not None else ""),
        f"  graph {graph['nodes']} nodes, {graph['edges']} edges, {graph['roots']} roots, "
        f"depth {graph['depth']}, width {graph['width']}, fan-in {graph['fan_in_mean']:.2f} "
        f"(max {graph['fan_in_max']}), {graph['note_edges']} note edges",
        f"  submitted {d['submitted'] or '-'} ({d['how'] or 'nothing'}); frontier {', '.join(d['frontier']) or '-'}",
    ]
    if d["labelled"]:
        failed = f"; {d['failure']}-bound" if d["failure"] else ""
        lines.append(
            f"  {d['correct']} of {d['labelled']} artifacts correct, first after {_or_dash(d['first_correct'])} "
            f"calls; q_F {_or_dash(d['frontier_quality'])}; gain {_or_dash(d['selection_gain'])}{failed}"
        )
    lines.append(f"  reads {_stages(memory['reads'])}; writes {_stages(memory['writes'])}")
    lines.append(f"  state {', '.join(map(str, d['state_sizes'])) or '-'} characters")
    return lines


def _group_lines(group: dict[str, Any]) -> list[str]:
    type2, gain = group["type2"], group["frontier_gain"]
    where = " · ".join(str(part) for part in (group["label"], group["task"], group["model"]) if part)
    interval = group["score_interval"] or ("-", "-")
    graded = "" if group["graded"] == group["runs"] else f", {group['graded']} of them on known samples"
    return [
        f"{where} · B = {group['budget']}: {group['runs']} runs{graded}",
        f"  score {_or_dash(group['score'])} [{interval[0]}, {interval[1]}] = coverage {_or_dash(group['coverage'])} "
        f"x selection {_or_dash(group['selection'])}; calls {_or_dash(group['calls'])}, U {_or_dash(group['utilisation'])}",
        f"  AUC2 confidence {_or_dash(type2['confidence']['auc'])}, verdict {_or_dash(type2['verdict']['auc'])}; "
        f"FSG {_or_dash(gain['fsg'])} over {gain['runs']} runs; from the frontier {_or_dash(group['from_frontier'])}",
    ]


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _stages(found: dict[str, dict[str, int]]) -> str:
    parts = [f"{stage} {kinds['worker']}+{kinds['note']}" for stage, kinds in found.items()]
    return ", ".join(parts) or "none"


def _page(body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Diagnostics</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem}svg{max-width:100%}</style>"
        f"</head><body><h1>Diagnostics</h1>{body}</body></html>\n"
    )
