"""What one instance leaves behind: the trace of its iterations, and the readers of its replies.

The schema is the paper's (MC2, appendix on traces). Values and pure functions; no model is asked
here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from meta_tui.chat import Value
from meta_tui.methods.asking import before_labels, labelled
from meta_tui.methods.field import same_answer, unwrapped

Role = Literal["reasoner", "monitor", "controller"]
Action = Literal["accept", "patch", "restart"]
TraceStatus = Literal["accepted", "corrected", "max_iter"]

ROLES: tuple[Role, ...] = ("reasoner", "monitor", "controller")
TITLES: Mapping[str, str] = {"reasoner": "Reasoner", "monitor": "Monitor", "controller": "Controller"}
LETTERS: Mapping[str, str] = {"reasoner": "R", "monitor": "M", "controller": "C"}

Policies = Mapping[str, str]
"""Role -> its instructions, without the form of its reply."""

MONITOR_LABELS = ("ERROR_FOUND", "ERROR_STEP", "ERROR_DESCRIPTION")
CONTROLLER_LABELS = ("ACTION", "JUSTIFICATION", "SUGGESTIONS", "CORRECTED_REASONING", "FINAL_ANSWER")
_ACTIONS: Mapping[str, Action] = {"1": "accept", "2": "patch", "3": "restart"}
_ACTION = re.compile(r"\W{0,9}(?:action\W{0,3})?(1|2|3|accept|patch|restart)(?![\w])", re.IGNORECASE)
_YES_NO = re.compile(r"\W{0,9}(yes|no)(?![\w])", re.IGNORECASE)


class PolicyUpdate(Value, frozen=True):
    """How a role came by its instructions for this iteration.

    `used`: they were to be composed; `succeeded`: the composed ones passed the checks, else
    `after` is `before`.
    """

    used: bool
    succeeded: bool
    model: str
    before: str
    after: str


class Reasoned(Value, frozen=True):
    """What the Reasoner gave; `final_answer` is None where it stated none."""

    final_answer: str | None
    full_text: str
    policy_update: PolicyUpdate | None = None


class Audit(Value, frozen=True):
    """What the Monitor found; `parse_failed`: nothing that could be read, taken as NO."""

    error_found: bool
    error_location: str | None = None
    description: str = ""
    explanation: str = ""
    full_text: str = ""
    parse_failed: bool = False
    policy_update: PolicyUpdate | None = None


class Control(Value, frozen=True):
    """What the Controller decided, after the rules of `decided`; `flags` name those that applied."""

    action: Action
    justification: str = ""
    suggestions: str = ""
    corrected_reasoning: str = ""
    final_answer: str | None = None
    full_text: str = ""
    flags: tuple[str, ...] = ()
    policy_update: PolicyUpdate | None = None


class Record(Value, frozen=True):
    """One iteration, counted from 1. Variants without the inner loop have no Monitor and Controller."""

    iteration: int
    reasoner: Reasoned
    monitor: Audit | None = None
    controller: Control | None = None


class Trace(Value, frozen=True):
    """All iterations of one instance, how it ended, and its answer."""

    records: tuple[Record, ...]
    status: TraceStatus
    answer: str | None


def read_audit(reply: str) -> Audit | None:
    """A Monitor's reply; None without a readable ERROR_FOUND line."""
    found = labelled(reply, MONITOR_LABELS)
    flag = _YES_NO.match(found.get("ERROR_FOUND", ""))
    if flag is None:
        return None
    return Audit(
        flag.group(1).lower() == "yes",
        _unless_none(found.get("ERROR_STEP", "")),
        _unless_none(found.get("ERROR_DESCRIPTION", "")) or "",
        before_labels(reply, MONITOR_LABELS),
        reply,
    )


def read_control(reply: str) -> Control | None:
    """A Controller's reply as it stands; None without a readable ACTION line."""
    found = labelled(reply, CONTROLLER_LABELS)
    action = _ACTION.match(found.get("ACTION", ""))
    if action is None:
        return None
    word = action.group(1).lower()
    return Control(
        _ACTIONS.get(word, word),  # type: ignore[arg-type]
        found.get("JUSTIFICATION", ""),
        found.get("SUGGESTIONS", ""),
        found.get("CORRECTED_REASONING", ""),
        _answer(found.get("FINAL_ANSWER", "")),
        reply,
    )


def decided(said: Control | None, answer: str | None, full_text: str = "") -> Control:
    """The action that is taken for what the Controller said (None: it could not be read).

    An accept needs an answer of the Reasoner's, whose own words win; a patch needs a corrected
    answer, else the Reasoner's is taken if there is one; everything else is a restart.
    """
    if said is None:
        return Control("restart", full_text=full_text, flags=("parse_failed",))
    if said.action == "patch" and said.final_answer is None:
        taken: Action = "accept" if answer is not None else "restart"
        return _changed(said, taken, answer, "patch_without_answer")
    if said.action == "accept" and answer is None:
        return _changed(said, "restart", None, "accept_without_answer")
    if said.action == "accept":
        differs = said.final_answer is not None and not same_answer(said.final_answer, answer or "")
        return _changed(said, "accept", answer, *(("stated_answer_differs",) if differs else ()))
    return said if said.action == "patch" else _changed(said, "restart", None)


def _changed(said: Control, action: Action, answer: str | None, *flags: str) -> Control:
    return Control(
        action,
        said.justification,
        said.suggestions,
        said.corrected_reasoning,
        answer,
        said.full_text,
        (*said.flags, *flags),
    )


def _answer(text: str) -> str | None:
    return unwrapped(text.partition("\n")[0]) or None if _unless_none(text) else None


def _unless_none(text: str) -> str | None:
    line = text.strip()
    return None if not line or line.strip(" .*").upper() in ("NONE", "N/A", "-") else line
