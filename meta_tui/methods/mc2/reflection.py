"""Reflections: how an instance went, by rule and without a model (MC2, appendix on reflections).

Only the flag (right or not) of a grade enters here; what the right answer is stays outside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from meta_tui.chat import Value
from meta_tui.methods.mc2.trace import LETTERS, Role, Trace, TraceStatus

Quality = Literal["A", "B", "C"]
RoleGrade = Literal["good", "ok", "poor"]
MonitorRule = Literal["paper", "patch_aware"]

MOST = 20
MOST_FAILED = 12
_NUMBER = re.compile(r"(\d{1,18})")


class Grades(Value, frozen=True):
    """The grade of the run and of each role."""

    quality: Quality
    reasoner: RoleGrade
    monitor: RoleGrade
    controller: RoleGrade

    def of(self, role: Role) -> RoleGrade:
        """The grade of a role."""
        found: RoleGrade = getattr(self, role)
        return found


class Reflection(Value, frozen=True):
    """One instance in retrospect.

    Attributes:
        instance: its sample.
        success: its answer was right (label-free: the loop settled it).
        trajectories: role -> its own trajectory, one line an iteration.
    """

    instance: str
    success: bool
    status: TraceStatus
    iterations: int
    grades: Grades
    trajectories: dict[str, str]

    def shown(self, role: Role) -> str:
        """What the Distiller of a role is shown: nothing of another role."""
        outcome = "success" if self.success else "failure"
        grade = f"{LETTERS[role]}_{self.grades.of(role)}"
        head = f"[{self.instance}] outcome {outcome}, quality {self.grades.quality}, {grade}"
        return f"{head}\n{self.trajectories[role]}"


def grades(
    status: TraceStatus,
    iterations: int,
    errors_found: Sequence[bool | None],
    restarts: int,
    rule: MonitorRule = "paper",
) -> Grades:
    """The grades of a run.

    Args:
        iterations: T.
        errors_found: the Monitor's flag of each iteration; None where there is no Monitor.
        restarts: how many actions were restarts.
        rule: `patch_aware` calls a Monitor good whose report led to a patch.
    """
    settled = status in ("accepted", "corrected")
    quality: Quality = "C" if not settled else "A" if iterations == 1 else "B"
    reported = sum(flag is True for flag in errors_found)
    return Grades(
        quality,
        _role(settled and iterations <= 2, not settled and reported > iterations / 2),
        _monitor(status, errors_found[-1] if errors_found else None, rule),
        _role(settled and iterations <= 3, not settled and restarts > iterations / 2),
    )


def _role(good: bool, poor: bool) -> RoleGrade:
    return "good" if good else "poor" if poor else "ok"


def _monitor(status: TraceStatus, last: bool | None, rule: MonitorRule) -> RoleGrade:
    if status == "max_iter" or last is None:
        return "ok"
    right = last if rule == "patch_aware" and status == "corrected" else not last
    return "good" if right else "poor"


def reflect(
    instance: str, trace: Trace, success: bool, rule: MonitorRule, whole_texts: bool = False
) -> Reflection:
    """An instance in retrospect.

    Args:
        success: the flag; for a run without labels, whether the loop settled it.
        whole_texts: the Reasoner's trajectory holds its steps, not only its answers.
    """
    audits = [record.monitor for record in trace.records]
    controls = [record.controller for record in trace.records]
    found = grades(
        trace.status,
        len(trace.records),
        [audit.error_found if audit else None for audit in audits],
        sum(control is not None and control.action == "restart" for control in controls),
        rule,
    )
    return Reflection(
        instance, success, trace.status, len(trace.records), found, _trajectories(trace, whole_texts)
    )


def _trajectories(trace: Trace, whole_texts: bool) -> dict[str, str]:
    lines: dict[str, list[str]] = {"reasoner": [], "monitor": [], "controller": []}
    for record in trace.records:
        n, reasoned = record.iteration, record.reasoner
        said = reasoned.full_text.strip() if whole_texts else reasoned.final_answer or "no answer"
        lines["reasoner"].append(f"{n}. {said}")
        if (audit := record.monitor) is not None:
            flag = "YES" if audit.error_found else "NO"
            found = (
                f", step {audit.error_location or 'unnamed'}: {audit.description}"
                if audit.error_found
                else ""
            )
            lines["monitor"].append(f"{n}. {flag}{found}")
        if (control := record.controller) is not None:
            lines["controller"].append(f"{n}. {control.action}: {control.justification}")
    return {role: "\n".join(said) for role, said in lines.items()}


def chosen(reflections: Sequence[Reflection]) -> tuple[list[Reflection], list[Reflection]]:
    """S+ and S-: those that a lesson is distilled from (Eq. 9, reconstructed).

    S+ are right at the first try, S- are wrong or never settled. Above 20 all of S- up to 12 stay
    and S+ fills up. Both are ordered by instance, never by their place in the stream.
    """
    ordered = sorted(reflections, key=lambda reflection: natural(reflection.instance))
    worked = [r for r in ordered if r.success and r.grades.quality == "A"]
    failed = [r for r in ordered if not r.success or r.grades.quality == "C"]
    if len(worked) + len(failed) > MOST:
        failed = failed[:MOST_FAILED]
        worked = worked[: MOST - len(failed)]
    return worked, failed


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that orders names with their numbers: `theorem:9` before `theorem:10`."""
    parts = _NUMBER.split(name)
    return tuple(
        (1, int(part), "") if part.isdecimal() and part.isascii() else (0, 0, part) for part in parts
    )
