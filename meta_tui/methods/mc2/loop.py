"""MRO, the inner loop: the Reasoner solves, the Monitor audits, the Controller decides.

At most three iterations; accept and patch end it, a restart hands the Monitor's description and
the Controller's suggestions to a fresh attempt (MC2, section on the inner loop). What this is not:
it knows no memory; whoever calls it says which instructions hold in an iteration.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from meta_tui.chat import Message, canonical_json, system, user
from meta_tui.methods.asking import ask_read, filled
from meta_tui.methods.field import final_field
from meta_tui.methods.mc2.trace import (
    TITLES,
    Audit,
    Control,
    Policies,
    PolicyUpdate,
    Reasoned,
    Record,
    Role,
    Trace,
    decided,
    read_audit,
    read_control,
)
from meta_tui.methods.prompts import text
from meta_tui.run import Run

Feedback = Literal["last", "all"]
Updates = dict[str, PolicyUpdate]
PoliciesAt = Callable[[Run, int], Awaitable[tuple[Policies, Updates]]]
"""The instructions that hold in an iteration (from 1), and how each role came by them."""

_replace = msgspec.structs.replace
NOTHING = "(the Reasoner gave no text)"


async def reason_once(run: Run, question: str, policies_at: PoliciesAt) -> Trace:
    """One Reasoner call: the variants without the inner loop."""
    policies, updates = await policies_at(run, 1)
    reasoned = await _reason(run, question, policies, "", updates)
    record = Record(1, reasoned)
    _keep(run, record)
    return Trace((record,), "accepted", reasoned.final_answer)


async def mro(run: Run, question: str, policies_at: PoliciesAt, limit: int, feedback: Feedback) -> Trace:
    """The full loop on one question, in at most `limit` iterations."""
    records: list[Record] = []
    for number in range(1, limit + 1):
        run.round(number, limit)
        policies, updates = await policies_at(run, number)
        reasoned = await _reason(run, question, policies, _feedback(records, feedback), updates)
        audit = await _audit(run, question, policies, reasoned, updates)
        control = await _control(run, question, policies, reasoned, audit, updates)
        records.append(Record(number, reasoned, audit, control))
        _keep(run, records[-1])
        if control.action == "accept":
            return Trace(tuple(records), "accepted", reasoned.final_answer)
        if control.action == "patch":
            return Trace(tuple(records), "corrected", control.final_answer)
    return Trace(tuple(records), "max_iter", records[-1].reasoner.final_answer)


async def _reason(run: Run, question: str, policies: Policies, feedback: str, updates: Updates) -> Reasoned:
    asked = filled(text("mc2_reasoner_input"), question=question)
    if feedback:
        asked = f"{asked}\n\n{filled(text('mc2_reasoner_feedback'), feedback=feedback)}"
    async with run.span("reasoner", "Reasoner") as inner:
        answer, reply = await ask_read(
            inner, _messages("reasoner", policies, asked), final_field, text("mc2_reasoner_again")
        )
    return Reasoned(answer, reply.text, updates.get("reasoner"))


async def _audit(run: Run, question: str, policies: Policies, reasoned: Reasoned, updates: Updates) -> Audit:
    asked = filled(
        text("mc2_monitor_input"), question=question, solution=reasoned.full_text.strip() or NOTHING
    )
    async with run.span("monitor", "Monitor") as inner:
        audit, reply = await ask_read(
            inner, _messages("monitor", policies, asked), read_audit, text("mc2_monitor_again")
        )
    found = audit or Audit(False, full_text=reply.text, parse_failed=True)
    return _replace(found, policy_update=updates.get("monitor"))


async def _control(
    run: Run, question: str, policies: Policies, reasoned: Reasoned, audit: Audit, updates: Updates
) -> Control:
    asked = filled(
        text("mc2_controller_input"),
        question=question,
        solution=reasoned.full_text.strip() or NOTHING,
        audit=audit.full_text.strip() or "(the Monitor gave no text)",
    )
    async with run.span("controller", "Controller") as inner:
        said, reply = await ask_read(
            inner, _messages("controller", policies, asked), read_control, text("mc2_controller_again")
        )
    taken = decided(said, reasoned.final_answer, reply.text)
    return _replace(taken, policy_update=updates.get("controller"))


def _messages(role: Role, policies: Policies, asked: str) -> Sequence[Message]:
    """The role's instructions, behind them the form of its reply, which nobody composes."""
    return (system(f"{policies[role]}\n\n{text(f'mc2_{role}_format')}"), user(asked))


def _feedback(records: Sequence[Record], which: Feedback) -> str:
    """What a restarted attempt is told: of the last iteration, or of all; never an old solution."""
    shown = records[-1:] if which == "last" else records
    return "\n\n".join(filter(None, map(_told, shown)))


def _told(record: Record) -> str:
    parts = []
    if record.monitor is not None and record.monitor.description:
        parts.append(f"{TITLES['monitor']}: {record.monitor.description}")
    if record.controller is not None and record.controller.suggestions:
        parts.append(f"{TITLES['controller']}: {record.controller.suggestions}")
    return "\n".join(parts)


def _keep(run: Run, record: Record) -> None:
    """Keep an iteration without its full texts, which stand in the log as replies."""
    audit, control = record.monitor, record.controller
    body = {
        "iteration": record.iteration,
        "answer": record.reasoner.final_answer,
        "error_found": audit and audit.error_found,
        "error_location": audit and audit.error_location,
        "parse_failed": True if audit and audit.parse_failed else None,
        "action": control.action if control else None,
        "final_answer": control and control.final_answer,
        "flags": list(control.flags) if control and control.flags else None,
    }
    title = f"iteration {record.iteration}: {control.action if control else 'answered'}"
    run.store("mro_iter", str(record.iteration), title, canonical_json(body).decode())
