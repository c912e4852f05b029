"""`tasks`: the task families, their samples, making more of them, grading answers, checking witnesses."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from meta_tui.commands.graders import GraderName
from meta_tui.commands.output import Progress, json_option, note, print_json, warn
from meta_tui.errors import UsageError

if TYPE_CHECKING:
    from meta_tui.chat import CodeResult, Program
    from meta_tui.tasks import Family, Grade, Sample

Run = Callable[["Program"], Awaitable["CodeResult"]]

EXAMPLES = 10
"""Disagreements of a kind that are shown."""


_out = click.option(
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    help="File to write; standard output by default.",
)


@click.group("tasks")
def group() -> None:
    """Task families: their samples, generators and graders."""


tasks_command = group


@group.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List the task families."""
    from meta_tui import display
    from meta_tui.tasks import listed, listed_graders, loaders

    found, problems = listed()
    graders, more_problems = listed_graders()
    warn([*problems, *more_problems])
    shipped = loaders.shipped()
    rows = [_facts(one.family, one.family.id in shipped, one.origin, graders) for one in found]
    if as_json:
        print_json(rows)
        return 0
    cells = [
        (
            row["id"],
            row["title"],
            str(loaders.COUNT) if row["shipped"] else "-",
            ", ".join(row["graders"]),
            ", ".join(f"{name}={value}" for name, value in row["options"].items()),
            row["from"],
        )
        for row in rows
    ]
    click.echo(display.table(cells, ("task", "title", "shipped", "graders", "options", "from")))
    for name, origin in graders.items():
        note(f"grader {name} for every task, from {origin}")
    for row in rows:
        if row["variants"]:
            note(f"{row['id']} also as {', '.join(row['variants'])}")
    return 0


def _facts(family: Family, shipped: bool, origin: str, graders: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": family.id,
        "title": family.title,
        "shipped": shipped,
        "graders": [*family.graders, *family.code_graders],
        "options": dict(family.options),
        "variants": list(family.variants),
        "extra": family.extra,
        "from": origin,
        "plugin_graders": dict(graders),
    }


@group.command("show", short_help="Show a sample's question, or a task.")
@click.argument("sample")
@click.option("--answer", is_flag=True, help="Show the target and what the generator knows, too.")
@json_option
def show_command(sample: str, answer: bool, as_json: bool) -> int:
    """Show a sample's question: SAMPLE is TASK:INDEX, or TASK for its first one."""
    from meta_tui import display
    from meta_tui.tasks import family, loaders

    found = loaders.sample(sample if ":" in sample else f"{sample}:0")
    question = family(found.task).question(found)
    facts: dict[str, Any] = {"sample": found.id, "question": question}
    if answer:
        facts |= {"target": found.target, "meta": found.meta}
    if as_json:
        print_json(facts)
        return 0
    click.echo(display.clean(question))
    if answer:
        click.echo(display.clean(f"\ntarget: {found.target}"))
        for name, value in found.meta.items():
            click.echo(display.clean(f"{name}: {value}"))
    return 0


@group.command("generate")
@click.argument("task")
@click.option("--n", "count", type=click.IntRange(min=1), default=25, show_default=True, help="Samples.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=2000,
    show_default=True,
    help="Below 1000: train; below 2000: dev; from 2000 on: test.",
)
@click.option("--set", "extra", multiple=True, metavar="NAME=VALUE", help="An option of the generator.")
@_out
@json_option
def generate_command(
    task: str, count: int, seed: int, extra: tuple[str, ...], out: Path, as_json: bool
) -> int:
    """Make samples of a TASK as JSON lines. The same seed gives the same bytes everywhere."""
    return _deliver(_make(task, count, seed, _options(task, extra)), out, as_json, {"seed": seed})


@group.command("convert", short_help="Make a task file of your own copy of a data set.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format",
    "form",
    default="auto",
    show_default=True,
    help="auto, own, mp (the meta-prompting authors' files), gsm8k, math500, theoremqa, mgsm, arc or plain.",
)
@click.option("--task", default="", help="Task id, where neither the lines nor the file's name say it.")
@_out
@json_option
def convert_command(file: Path, form: str, task: str, out: Path, as_json: bool) -> int:
    """Write the samples of FILE, your own copy of a data set, as a task file of ours."""
    from meta_tui.tasks import loaders

    return _deliver(loaders.read(file, form, task), out, as_json, {})


def _deliver(made: list[Sample], out: Path, as_json: bool, facts: dict[str, Any]) -> int:
    """Samples to standard output or into a file, of which the digest is told."""
    from hashlib import sha256

    from meta_tui.tasks import loaders

    text = "".join(map(loaders.encode, made))
    if str(out) == "-":
        if as_json:
            print_json(made)
        else:
            click.echo(text, nl=False)
        return 0
    _write(out, text)
    found = {"path": str(out), "samples": len(made), **facts, "sha256": sha256(text.encode()).hexdigest()}
    if as_json:
        print_json(found)
    else:
        note(f"{len(made)} samples in {out} (SHA-256 {str(found['sha256'])[:16]})")
    return 0


def _make(task: str, count: int, seed: int, options: Mapping[str, Any]) -> list[Sample]:
    import msgspec

    from meta_tui.tasks import family

    generate = family(task).generate
    progress = Progress("samples", count)
    made = []
    for index in range(count):
        made.append(msgspec.structs.replace(generate(index, seed, **options), task=task))
        progress.show(index + 1)
    return made


def _options(task: str, extra: tuple[str, ...]) -> dict[str, Any]:
    """The options of a generator from NAME=VALUE texts; a variant's language is one of them."""
    import msgspec

    from meta_tui.tasks import family

    found = family(task)
    options: dict[str, Any] = {"language": task.partition("_")[2]} if task in found.variants else {}
    for item in extra:
        name, equals, value = item.partition("=")
        if not equals or name not in found.options:
            there = ", ".join(found.options) or "none"
            raise UsageError(f"--set {item}: write NAME=VALUE; options of {task}: {there}")
        try:
            options[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            options[name] = value
        _same_type(item, options[name], found.options[name])
    return options


def _same_type(item: str, value: object, default: object) -> None:
    if type(value) is not type(default) and not (isinstance(default, float) and type(value) is int):
        raise UsageError(f"--set {item}: the value must be like {default!r}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class Answered:
    """A sample and the reply to it, as a file to be graded holds them."""

    sample: Sample
    reply: str
    line: str


_grader = click.option(
    "--grader",
    type=GraderName("both"),
    default="strict",
    show_default=True,
    help="paper: as the published evaluator; strict: as it should be; both: with their disagreements; "
    "or the name of a plug-in's.",
)


@group.command("grade")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_grader
@click.option("--task", default="", help="Task id, where neither the lines nor the file's name say it.")
@json_option
def grade_command(file: Path, grader: str, task: str, as_json: bool) -> int:
    """Grade the answers in FILE.

    FILE has JSON lines with `output` (the whole last reply, final answer marker included) and either
    `sample` (TASK:INDEX) or `input` and `target`, as the published outputs have them.
    """
    answered = _read_answers(file, task)
    names = ("paper", "strict") if grader == "both" else (grader,)
    grades = asyncio.run(_grade_all(answered, names))
    if as_json:
        print_json(_report(answered, names, grades))
    else:
        _show_grades(answered, names, grades)
    return 0


def _read_answers(file: Path, task: str) -> list[Answered]:
    from meta_tui.tasks import Sample, loaders

    task = task or loaders.authors_task(file)
    found: list[Answered] = []
    for place, record in loaders.records(file, loaders.read_text(file)):
        reply = place.text(record, "output")
        if isinstance(record.get("sample"), str):
            sample = loaders.sample(record["sample"])
        else:
            own = record.get("task") or task
            if not own:
                raise place.error("task", "it is missing; give --task")
            known = {name: record[name] for name in loaders.PUZZLE_FIELDS if name in record}
            meta = known | (record["meta"] if isinstance(record.get("meta"), dict) else {})
            sample = Sample(
                input=place.text(record, "input"),
                target=place.text(record, "target"),
                task=own,
                index=len(found),
                meta=meta,
            )
        found.append(Answered(sample, reply, place.where))
    if not found:
        raise UsageError(f"{file}: there are no answers in the file")
    return found


async def _grade_all(answered: list[Answered], names: tuple[str, ...]) -> dict[str, list[Grade]]:
    from meta_tui.tasks import grade

    progress = Progress("answers", len(answered))
    grades: dict[str, list[Grade]] = {name: [] for name in names}
    async with _Running() as run:
        for number, one in enumerate(answered):
            for name in names:
                grades[name].append(await grade(one.sample, one.reply, name, run))
            progress.show(number + 1)
    return grades


class _Running:
    """The sandbox as graders want it; opened only when the first program comes."""

    def __init__(self) -> None:
        self._sandbox: Any = None

    async def __aenter__(self) -> Run:
        return self._run

    async def __aexit__(self, *error: object) -> None:
        if self._sandbox is not None:
            await self._sandbox.aclose()

    async def _run(self, program: Program) -> CodeResult:
        if self._sandbox is None:
            from meta_tui.sandbox import Sandbox

            self._sandbox = Sandbox(pool=1, warn=note)
        result, _ = await self._sandbox.execute(program)
        return result  # type: ignore[no-any-return]


def _report(
    answered: list[Answered], names: tuple[str, ...], grades: Mapping[str, list[Grade]]
) -> dict[str, Any]:
    found: dict[str, Any] = {"answers": len(answered)}
    for name in names:
        found[name] = {
            "correct": sum(grade.verdict == "correct" for grade in grades[name]),
            "mean_score": sum(grade.score for grade in grades[name]) / len(answered),
            "verdicts": dict(sorted(Counter(grade.verdict for grade in grades[name]).items())),
        }
    if len(names) == 2:
        found["disagreements"] = dict(_disagreements(grades))
    found["grades"] = [
        {"sample": one.sample.id, **{name: grades[name][i] for name in names}}
        for i, one in enumerate(answered)
    ]
    return found


def _disagreements(grades: Mapping[str, list[Grade]]) -> Counter[str]:
    """`paper correct, strict incorrect` -> how many."""
    return Counter(
        f"paper {a.verdict}, strict {b.verdict}"
        for a, b in zip(grades["paper"], grades["strict"], strict=True)
        if (a.verdict == "correct") != (b.verdict == "correct")
    )


def _show_grades(answered: list[Answered], names: tuple[str, ...], grades: Mapping[str, list[Grade]]) -> None:
    from meta_tui.evaluation.statistics import wilson

    for name in names:
        verdicts = Counter(grade.verdict for grade in grades[name])
        right, n = verdicts["correct"], len(answered)
        low, high = wilson(right, n)
        others = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        click.echo(f"{name}: {right} of {n} correct ({right / n:.1%}, 95% {low:.1%} to {high:.1%}): {others}")
    if len(names) == 2:
        _show_disagreements(answered, grades)


def _show_disagreements(answered: list[Answered], grades: Mapping[str, list[Grade]]) -> None:
    from meta_tui import display

    counts = _disagreements(grades)
    if not counts:
        click.echo("the graders agree on every answer")
        return
    shown: Counter[str] = Counter()
    rows = []
    for one, a, b in zip(answered, grades["paper"], grades["strict"], strict=True):
        kind = f"paper {a.verdict}, strict {b.verdict}"
        shown[kind] += kind in counts and (a.verdict == "correct") != (b.verdict == "correct")
        if (a.verdict == "correct") != (b.verdict == "correct") and shown[kind] <= EXAMPLES:
            cells = (one.sample.id, kind, display.one_line(b.answer)[:40], display.one_line(b.reason)[:50])
            rows.append(cells)
    click.echo(display.table(rows, ("sample", "verdicts", "read as", "why")))
    click.echo("; ".join(f"{kind}: {count}" for kind, count in counts.most_common()))


@group.command("verify")
@click.argument("what", nargs=-1)
@json_option
def verify_command(what: tuple[str, ...], as_json: bool) -> int:
    """Check again that the strict grader accepts every witness.

    WHAT are task ids or task files; without any, all shipped samples. Exit code 1: some witness is
    not accepted.
    """
    from meta_tui.tasks import loaders

    answered, without = [], 0
    for name in what or loaders.shipped():
        for sample in loaders.samples(name):
            if "witness" in sample.meta:
                answered.append(Answered(sample, _reply(str(sample.meta["witness"])), name))
            else:
                without += 1
    grades = asyncio.run(_grade_all(answered, ("strict",)))["strict"]
    wrong = [(one, g) for one, g in zip(answered, grades, strict=True) if g.verdict != "correct"]
    if as_json:
        rows = [{"sample": one.sample.id, "grade": g} for one, g in wrong]
        print_json({"witnesses": len(answered), "without": without, "wrong": rows})
    else:
        for one, g in wrong:
            click.echo(f"{one.sample.id}: {g.verdict}: {g.reason}")
        click.echo(f"{len(answered) - len(wrong)} of {len(answered)} witnesses accepted")
        if without:
            note(f"{without} samples have no witness")
    return 1 if wrong else 0


def _reply(witness: str) -> str:
    """A witness as the last reply of a run."""
    return f'>> FINAL ANSWER:\n"""\n{witness}\n"""'
