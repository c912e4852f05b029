"""What a method carries from one run to a later one: knowledge, a buffer, a bandit.

It is folded from what the run stored in its log, so a log is all that is needed to export it, and
handed to a later run as the setting `knowledge`, so that run's log is complete as well. Reading
and writing the file is left to whoever has one; what is learned is the method's own affair.
"""

from __future__ import annotations

from typing import Any

import msgspec

from meta_tui.chat import Value
from meta_tui.errors import UsageError
from meta_tui.events import Stored
from meta_tui.methods import METHODS, build, method_class
from meta_tui.runlog import Recording

VERSION = 1


class Carried(Value, frozen=True, kw_only=True):
    """What a run left behind, for a later one.

    Attributes:
        format: version of this file.
        method: id of the method that can use it.
        run: the run that it comes from, for people.
        knowledge: the value of the method's setting `knowledge`.
    """

    format: int = VERSION
    method: str
    run: str = ""
    knowledge: dict[str, Any]


def carries(method: str) -> bool:
    """Whether a method carries anything from run to run."""
    return hasattr(method_class(method), "carried")


def left_behind(recording: Recording, run: str = "") -> Carried:
    """What a run left behind, also if it is not finished: the state after its last whole batch.

    Raises:
        UsageError: its method carries nothing on.
    """
    started = recording.started
    if not carries(started.method):
        able = ", ".join(name for name in METHODS if carries(name))
        raise UsageError(f"{started.method} carries nothing from run to run; {able} do")
    method: Any = build(started.method, started.settings)
    kept = [event for event in recording.events if isinstance(event, Stored)]
    plain = msgspec.json.decode(msgspec.json.encode(method.carried(kept)))
    return Carried(method=started.method, run=run, knowledge=plain)


def to_json(carried: Carried) -> bytes:
    """The file of it: indented JSON that diffs well."""
    plain = msgspec.to_builtins(carried, order="sorted")
    return msgspec.json.format(msgspec.json.encode({"format": VERSION, **plain}), indent=1) + b"\n"


def from_json(text: bytes, name: str) -> Carried:
    """What a file holds, checked as far as the method's settings go.

    Args:
        name: the file, for messages.

    Raises:
        UsageError: it is damaged, newer, or of an unknown method.
        UnknownSetting: its knowledge is not what the method takes.
    """
    try:
        found = msgspec.json.decode(text, type=Carried)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{name} holds no knowledge: {error}. `meta-tui knowledge export RUN` makes one"
        ) from error
    if found.format > VERSION:
        raise UsageError(f"{name} has format {found.format}, this version reads {VERSION}; update meta-tui")
    if not carries(found.method):
        raise UsageError(f"{name} is for {found.method}, which carries nothing from run to run")
    build(found.method, {"knowledge": found.knowledge})
    return found


def as_setting(carried: Carried, method: str) -> dict[str, Any]:
    """The setting that hands it to a method.

    Raises:
        UsageError: it comes from another method.
    """
    if carried.method != method:
        raise UsageError(
            f"this knowledge is for {carried.method}, not for {method}; give --method {carried.method}"
        )
    return {"knowledge": carried.knowledge}


def summary_lines(carried: Carried) -> list[str]:
    """What it holds, one line a rule, template or arm, for people."""
    method: Any = build(carried.method, {"knowledge": carried.knowledge})
    lines: list[str] = method.knowledge.lines()
    return lines
