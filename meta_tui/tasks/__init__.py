"""Task families: their samples, generators and graders, by id.

A family is a module that exports `FAMILY`. Everything in this room is pure: no model, no file,
no clock; a grader whose answers are code is handed an `execute` callable and runs nothing itself.
Reading and writing task files is `loaders`. What a sample's witness says never reaches a model.
Other installed packages may offer families (entry-point group `meta_tui.tasks`) and graders that
serve every task (`meta_tui.graders`); they are looked for where a name is not ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal, get_args

import msgspec

from meta_tui import plugins
from meta_tui.chat import CodeResult, Program, Value
from meta_tui.errors import UsageError
from meta_tui.nearest import did_you_mean

GraderName = Literal["paper", "strict"]
OWN_GRADERS: tuple[str, ...] = get_args(GraderName)
Verdict = Literal["correct", "incorrect", "abstained", "ambiguous", "no_answer", "error"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
Execute = Callable[[Program], Awaitable[CodeResult]]
"""Runs a program in the sandbox."""

SPLITS = ("train", "dev", "test")


class Sample(Value, frozen=True, kw_only=True):
    """One problem of a task.

    Attributes:
        input: the problem itself, without the task's description.
        target: the expected answer, as text.
        task: task id (`game24`, `mgsm_bn`).
        index: its place in its file or generation, from 0.
        meta: kind, difficulty, split, witness and whatever the graders need; never shown.
        source: first hex digits of the digest of the file of one's own that it comes from; empty
            for samples of ours.
    """

    input: str
    target: str
    task: str = ""
    index: int = 0
    meta: dict[str, Any] = msgspec.field(default_factory=dict)
    source: str = ""

    @property
    def id(self) -> str:
        """`<task>:<index>`, for a sample of one's own file `<task>@<source>:<index>`."""
        return f"{self.task}@{self.source}:{self.index}" if self.source else f"{self.task}:{self.index}"


class Grade(Value, frozen=True):
    """What a grader makes of an answer. Accuracy counts only `correct`.

    Attributes:
        score: in [0, 1]; 1 for a correct answer of a family without partial scores.
        reason: why, in a few words, for people.
        answer: what was read as the answer.
        details: sub-verdicts and notes by name.
    """

    verdict: Verdict
    reason: str = ""
    answer: str = ""
    score: float = 0.0
    details: dict[str, Any] = msgspec.field(default_factory=dict)


Grader = Callable[[Sample, str], Grade]
"""From a sample and the whole last reply (marker included) to a grade."""

CodeGrader = Callable[[Sample, str, Execute], Awaitable[Grade]]
"""The same where the answer is code that must be run."""


@dataclass(frozen=True, slots=True)
class Family:
    """A task family.

    Attributes:
        id: task id.
        title: its name for people.
        description: stands before every input in the question, as the paper's task description.
        generate: sample number `index` of a seed; independent of how many are made.
        graders: by name, `paper` and `strict` where both exist.
        code_graders: those of them that run the answer's code.
        ask: the question of a sample; by default description, blank line, input.
        variants: further task ids that this family serves (`mgsm_bn`), each with its own title.
        extra: the optional dependency that generating or grading needs (`graders`), if any.
        options: knobs of the generator with their defaults (difficulty, goal, language).
    """

    id: str
    title: str
    description: str
    generate: Callable[..., Sample]
    graders: Mapping[str, Grader] = field(default_factory=dict)
    code_graders: Mapping[str, CodeGrader] = field(default_factory=dict)
    ask: Callable[[Sample], str] | None = None
    variants: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def question(self, sample: Sample) -> str:
        """The text that a method is asked."""
        if self.ask is not None:
            return self.ask(sample)
        return f"{self.description}\n\n{sample.input}" if self.description else sample.input


FAMILIES: dict[str, str] = {
    "game24": "meta_tui.tasks.game24",
    "checkmate": "meta_tui.tasks.checkmate",
    "shapes": "meta_tui.tasks.shapes",
    "arithmetic": "meta_tui.tasks.arithmetic",
    "words": "meta_tui.tasks.words",
    "puzzles": "meta_tui.tasks.puzzles",
    "mgsm": "meta_tui.tasks.mgsm",
    "sonnets": "meta_tui.tasks.sonnets",
    "theorem": "meta_tui.tasks.theorem",
    "grids": "meta_tui.tasks.grids",
    "opt": "meta_tui.tasks.opt",
    "symreg": "meta_tui.tasks.symreg",
    "math": "meta_tui.tasks.math",
}
"""Task id -> module. `math` has no generator: it grades users' own copies of a data set."""


def family(task: str) -> Family:
    """The family of a task id; `mgsm_bn` belongs to `mgsm`.

    Raises:
        UsageError: there is no such task; the message lists those that exist.
    """
    base = task if task in FAMILIES else task.partition("_")[0]
    found = own_family(base) if base in FAMILIES else None
    if found is not None and (task == base or task in found.variants):
        return found
    foreign = _foreign_family(task)
    if foreign is not None:
        return foreign
    if found is None:
        known = [*FAMILIES, *sorted(plugins.offered("tasks", FAMILIES))]
        near = did_you_mean(task, known)
        raise UsageError(f"no task {task!r}{near or '; there are ' + ', '.join(known)}")
    raise UsageError(f"no task {task!r}; {base} has {', '.join(found.variants) or 'no variants'}")


def own_family(task: str) -> Family:
    """The family of one of FAMILIES."""
    found: Family = import_module(FAMILIES[task]).FAMILY
    return found


def _foreign_family(task: str) -> Family | None:
    """The plug-in of that name or with that variant."""
    for name, plugin in plugins.offered("tasks", FAMILIES).items():
        if task == name or task.startswith(f"{name}_"):
            found: Family = plugins.load(plugin, _family_fault)
            if task == name or task in found.variants:
                return _watched(found, plugin)
    return None


def _family_fault(name: str, made: Any) -> str:
    """What keeps the object of an entry point from being a family; empty if nothing does."""
    if not isinstance(made, Family):
        return "a task is a meta_tui.tasks.Family"
    if made.id != name:
        return f"its id is {made.id!r}; id and entry point must have one name"
    wrong = [one for one in made.variants if not one.startswith(f"{name}_")]
    if wrong:
        return f"its variant {wrong[0]!r} must begin with {name}_"
    if "strict" not in {*made.graders, *made.code_graders}:
        return "it has no grader named strict"
    return ""


def _watched(found: Family, plugin: plugins.Plugin) -> Family:
    """The family with a generator whose failure is a sentence for people."""

    def generate(index: int, seed: int, **options: Any) -> Sample:
        try:
            made = found.generate(index, seed, **options)
        except UsageError:
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(f"{plugin.title} made no sample {index}: {error!r}") from error
        if not isinstance(made, Sample):
            raise UsageError(f"{plugin.title} made a {type(made).__name__}, not a meta_tui.tasks.Sample")
        return made

    return replace(found, generate=generate)


@dataclass(frozen=True, slots=True)
class Listed:
    """A family as listings show it; `origin` is `meta-tui` or `package version`."""

    family: Family
    origin: str


def listed() -> tuple[list[Listed], list[str]]:
    """All families, ours first, and a sentence for each plug-in that cannot be used."""
    survey = plugins.survey("tasks", FAMILIES, _family_fault)
    found = [Listed(own_family(task), plugins.OWN) for task in FAMILIES]
    for _, (plugin, made) in sorted(survey.good.items()):
        found.append(Listed(_watched(made, plugin), plugin.origin))
    return found, survey.problems


def foreign() -> tuple[list[str], list[str]]:
    """Tasks of other packages, and a sentence for each plug-in that cannot be used."""
    survey = plugins.survey("tasks", FAMILIES, _family_fault)
    return sorted(survey.good), survey.problems


def listed_graders() -> tuple[dict[str, str], list[str]]:
    """Graders of plug-ins that serve every task, by name with where they come from, and a sentence
    for each that cannot be used."""
    survey = plugins.survey("graders", OWN_GRADERS, _grader_fault)
    return {name: plugin.origin for name, (plugin, _) in sorted(survey.good.items())}, survey.problems


def is_grader(name: str) -> bool:
    """Whether some task has a grader of that name."""
    if name in OWN_GRADERS or name in plugins.offered("graders", OWN_GRADERS):
        return True
    families: Iterable[Listed] = listed()[0]
    return any(name in {*one.family.graders, *one.family.code_graders} for one in families)


def _grader_fault(name: str, made: Any) -> str:
    if not callable(made):
        return "a grader is a function (sample, reply) -> Grade, or async (sample, reply, execute) -> Grade"
    return ""


def _with_foreign(found: Family, grader: str) -> Family:
    """The family with the grader of a plug-in, if there is one of that name."""
    offered = plugins.offered("graders", OWN_GRADERS)
    if grader not in offered:
        return found
    made = plugins.load(offered[grader], _grader_fault)
    if inspect.iscoroutinefunction(made):
        return replace(found, code_graders={**found.code_graders, grader: made})
    return replace(found, graders={**found.graders, grader: made})


async def grade(sample: Sample, reply: str, grader: str = "strict", execute: Execute | None = None) -> Grade:
    """The grade of a reply (the whole last message of a run, marker included).

    Args:
        grader: `strict`, `paper`, or the name of a family's or a plug-in's own.
        execute: runs programs, for families whose answers are code.

    Raises:
        UsageError: the family lacks that grader, or needs `execute` and has none.
    """
    found = family(sample.task)
    if grader not in {*found.graders, *found.code_graders, *OWN_GRADERS}:
        found = _with_foreign(found, grader)
    if grader in found.graders:
        judge = found.graders[grader]
        return await _guarded(sample, _now(judge, sample, reply))
    if grader not in found.code_graders:
        known = ", ".join([*found.graders, *found.code_graders])
        raise UsageError(f"task {sample.task} has no grader {grader!r}; it has {known}")
    if execute is None:
        raise UsageError(f"answers of {sample.task} are code; grading them needs the sandbox")
    return await _guarded(sample, found.code_graders[grader](sample, reply, execute))


async def _now(judge: Grader, sample: Sample, reply: str) -> Grade:
    return judge(sample, reply)


async def _guarded(sample: Sample, work: Awaitable[Grade]) -> Grade:
    """A grade, whatever a grader makes of a damaged sample: one bad row must not end a report."""
    try:
        made = await work
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary of grading
        return Grade("error", f"{sample.id} cannot be graded: {type(error).__name__}: {error}")
    if isinstance(made, Grade) and made.verdict in VERDICTS:
        return made
    return Grade("error", f"{sample.id}: the grader gave {str(made)[:80]!r} and no Grade")


def decode(line: bytes | str) -> Sample:
    """A sample from a JSON line of our own task files."""
    return msgspec.json.decode(line, type=Sample)
