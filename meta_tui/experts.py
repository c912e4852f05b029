"""Who stands behind a special expert: `[experts]` of the settings and `experts=` of the library.

Both become the same values: the part that a run's settings name (`Special`), and whoever answers
requests that are addressed to it (a door). Only names come into a log: no function, command,
address or object, so a log replays without them and gives none of them away. What is not here:
what an expert is to a method (`methods.special`) and how functions and commands are run
(`models.local`, `models.command`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec

from meta_tui import plugins
from meta_tui.chat import Limits, Program
from meta_tui.config import is_here
from meta_tui.errors import UsageError
from meta_tui.methods.special import COMMAND, FUNCTION, MODEL, Merge, Special, is_program
from meta_tui.models.base import Model

Given = Callable[[str], Any] | Model | Program | str | Mapping[str, Any]
"""What an expert can be in the library: a function, a model, a program of the sandbox, the name of
a model, or the fields of an `[experts]` table."""

LONGEST_NAME = 200
"""Characters of a name; in a longer one a call is not found."""

SECONDS = 30.0
"""Wall clock of a function or a command that says nothing else."""


@dataclass(frozen=True, slots=True)
class Expert:
    """One special expert with whoever answers for it.

    Attributes:
        special: how the settings of a run name it.
        door: answers the requests addressed to `special.model`; None: whoever answers all others.
        base_url: the OpenAI-compatible server of its model; empty: that of all others.
        paid: its calls count against the budget of the run.
    """

    special: Special
    door: Model | None = None
    base_url: str = ""
    paid: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[experts."Expert Name"]` table.

    Attributes:
        about: what the Meta Model is told about it.
        model: another model, as `--model` names it.
        base_url: address of the OpenAI-compatible server that has this model.
        temperatures: ask at each of these at once and merge the replies.
        merge: `all`, `summary` or `majority`.
        function: `package.module:name` of a Python function, or the name of one that a plug-in brings.
        command: a command and its arguments.
        program: a file with a Python program for the sandbox.
        seconds: how long a function, command or program may take.
        project: the table stands in a project's file that may not run anything.
    """

    about: str = ""
    model: str = ""
    base_url: str = ""
    temperatures: tuple[Annotated[float, msgspec.Meta(ge=0)], ...] = ()
    merge: Merge = "all"
    function: str = ""
    command: tuple[str, ...] = ()
    program: str = ""
    seconds: Annotated[float, msgspec.Meta(gt=0)] = SECONDS
    project: bool = False


def from_tables(tables: Mapping[str, Mapping[str, Any]]) -> tuple[Expert, ...]:
    """The experts of the settings, in their order: of several patterns that match, the first counts.

    Raises:
        UsageError: a name that is no expert's, an unknown field, more than one kind, a function or
            a file that is not to be had, or something to be run from a project's file.
    """
    return tuple(from_table(name, fields) for name, fields in tables.items())


def allowed(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The tables without those that a project's file may not have run."""
    return {
        name: fields for name, fields in tables.items() if not (fields.get("project") and _unasked(fields))
    }


def _unasked(fields: Mapping[str, Any]) -> str:
    """What a table does that a project's file may not have done unasked; empty for nothing."""
    for kind in ("function", "command"):
        if fields.get(kind):
            return f"run a {kind}"
    if not is_here(str(fields.get("base_url", ""))):
        return f"have your questions and your key sent to {fields['base_url']}, by a table"
    program = Path(str(fields.get("program", ""))).expanduser()
    if not program.resolve().is_relative_to(Path.cwd()):
        return f"read {program}, by a program"
    return ""


def from_table(name: str, fields: Mapping[str, Any]) -> Expert:
    """One expert of the settings; see `from_tables`."""
    try:
        entry = msgspec.convert(dict(fields), Entry)
    except (msgspec.ValidationError, TypeError) as error:
        known = ", ".join(field for field in Entry.__struct_fields__ if field != "project")
        raise _bad(name, f"{error}. Its fields are {known}") from error
    kinds = [kind for kind in ("function", "command", "program", "model") if getattr(entry, kind)]
    if len(kinds) > 1:
        raise _bad(name, f"is both a {kinds[0]} and a {kinds[1]}; give one of them")
    if not kinds and not entry.temperatures:
        raise _bad(name, "is nothing yet; give a model, temperatures, a function, a command or a program")
    if entry.project and (unasked := _unasked(fields)):
        raise _bad(
            name,
            f"would {unasked} of this folder's settings file. If you trust this folder, put the table "
            "into your own settings (`meta-tui config show` names the file) or set META_TUI_PROJECT_EXPERTS=1",
        )
    return _made(name, entry)


def given(experts: Mapping[str, Given]) -> tuple[Expert, ...]:
    """The experts that a caller of the library gives, by name or pattern, in their order.

    Raises:
        UsageError: a name that is no expert's, or a value that can be none.
    """
    return tuple(_given(name, value) for name, value in experts.items())


def settings_of(experts: Sequence[Expert]) -> list[dict[str, Any]]:
    """The setting `experts` of a method, as plain JSON values."""
    found: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode([e.special for e in experts]))
    return found


def check_present(settings: Mapping[str, Any], experts: Sequence[Expert]) -> None:
    """See that whoever a recorded run names can be asked, before it goes on.

    Raises:
        UsageError: a function, a command or a model object of the run is not given here.
    """
    here = {expert.special.model for expert in experts}
    for special in settings.get("experts", ()):
        model = special.get("model", "")
        if (is_program(model) or model.startswith(MODEL)) and model not in here:
            raise UsageError(
                f"this run asks {special['name']}, a {model.partition(':')[0]} that is not given here; name it "
                "under [experts] in the settings, or go on in the program that began the run, with "
                'solve(..., cassette=its log, record="new_episodes")'
            )


def _given(name: str, value: Given) -> Expert:
    match value:
        case str():
            return from_table(name, {"model": value})
        case Program():
            return Expert(_special(name, program=value))
        case Mapping():
            function = value.get("function")
            if callable(function):
                rest = {**value, "function": _placeholder(function)}
                return _made(name, _entry(name, rest), function)
            return from_table(name, value)
    if hasattr(value, "answer"):
        return Expert(_special(name, model=f"{MODEL}{name}"), cast(Model, value), paid=True)
    if callable(value):
        return _made(name, Entry(about=_summary(value), function=_placeholder(value)), value)
    raise _bad(name, f"cannot be a {type(value).__name__}; give a function, a model, a program or a name")


def _entry(name: str, fields: Mapping[str, Any]) -> Entry:
    try:
        return msgspec.convert(dict(fields), Entry)
    except (msgspec.ValidationError, TypeError) as error:
        raise _bad(name, str(error)) from error


def _made(name: str, entry: Entry, function: Callable[[str], Any] | None = None) -> Expert:
    from meta_tui.models.command import CommandExpert
    from meta_tui.models.local import FunctionExpert

    if entry.function:
        door = FunctionExpert(function or _imported(name, entry.function), entry.seconds)
        return Expert(_special(name, entry, model=f"{FUNCTION}{name}"), door)
    if entry.command:
        command = CommandExpert(entry.command, entry.seconds)
        return Expert(_special(name, entry, model=f"{COMMAND}{name}"), command)
    if entry.program:
        program = Program(_read(name, entry.program), limits=Limits(seconds=entry.seconds))
        return Expert(_special(name, entry, program=program))
    if is_program(entry.model) or entry.model.startswith(MODEL):
        raise _bad(name, f"{entry.model!r} names no model; give a function or a command by that word")
    return Expert(_special(name, entry, model=entry.model), base_url=entry.base_url)


def _special(name: str, entry: Entry | None = None, **more: Any) -> Special:
    entry = entry or Entry()
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise _bad(name[:LONGEST_NAME], f"a name is one line of at most {LONGEST_NAME} characters")
    try:
        entry.about.encode()
        return Special(
            name=name, about=entry.about, temperatures=entry.temperatures, merge=entry.merge, **more
        )
    except ValueError as error:
        raise _bad(name, str(error)) from error


def _imported(name: str, path: str) -> Callable[[str], Any]:
    module, colon, attribute = path.partition(":")
    if not colon:
        return _of_plugin(name, path)
    if not (module and colon and attribute):
        raise _bad(name, f"function {path!r}: write package.module:name, or the name of a plug-in's")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        hint = ". Install its package, or name its folder in PYTHONPATH" if _missing(error, module) else ""
        raise _bad(name, f"function {path!r} is not to be had: {error!r}{hint}") from error
    if not callable(found):
        raise _bad(name, f"{path!r} is no function")
    return cast(Callable[[str], Any], found)


def _missing(error: BaseException, module: str) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]


def _of_plugin(name: str, plugin: str) -> Callable[[str], Any]:
    offered = plugins.offered("experts", ())
    if plugin not in offered:
        known = f"; plug-ins bring {', '.join(sorted(offered))}" if offered else ""
        raise _bad(name, f"function {plugin!r}: write package.module:name{known}")
    return cast(Callable[[str], Any], plugins.load(offered[plugin], _fault))


def listed() -> tuple[dict[str, str], list[str]]:
    """Functions that plug-ins bring for experts, by name with where they come from, and a sentence
    for each that cannot be used."""
    survey = plugins.survey("experts", (), _fault)
    return {name: plugin.origin for name, (plugin, _) in sorted(survey.good.items())}, survey.problems


def _fault(name: str, made: Any) -> str:
    return "" if callable(made) else "an expert is a function from an instruction to a reply"


def _read(name: str, path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(name, f"cannot read the program {path}: {error}") from error


def _placeholder(function: Any) -> str:
    return getattr(function, "__name__", "") or "function"


def _summary(function: Any) -> str:
    """The first paragraph of the function's docstring: what the Meta Model is told about it."""
    doc = getattr(function, "__doc__", None) or ""
    return " ".join(doc.strip().partition("\n\n")[0].split()) if hasattr(function, "__name__") else ""


def _bad(name: str, what: str) -> UsageError:
    return UsageError(f"experts, {name!r}: {what}")
