"""What one pass over a stream changed against the pass before, or one memory against another.

Pure, from a history (`history`) or from two memories to values; nothing here reads a log or draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meta_tui.methods.mc2.history import Change, History, Instance, change
from meta_tui.methods.mc2.memory import Known, Memory
from meta_tui.methods.mc2.trace import ROLES, Role


@dataclass(frozen=True, slots=True)
class Pass:
    """One time through the stream.

    Attributes:
        batches: numbers of its batches.
        right: answers that the run was told were right, of `graded` of them.
        settled_at_once: instances that were accepted or patched in their first iteration.
        changes: what it did to each checklist, from its first batch to its last.
        gained, lost: samples that were wrong in the pass before and are right now, and the reverse.
    """

    number: int
    batches: tuple[int, ...]
    instances: int
    right: int
    graded: int
    settled_at_once: int
    restarts: int
    changes: tuple[Change, ...]
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def passes(found: History) -> tuple[Pass, ...]:
    """The passes of a run, in order; the last one may not be whole."""
    starts = range(0, len(found.instances), found.length)
    parts = [found.instances[at : at + found.length] for at in starts]
    made: list[Pass] = []
    last: Sequence[Instance] = ()
    for number, part in enumerate(parts, 1):
        made.append(_pass(found, number, part, last))
        last = part
    return tuple(made)


def _pass(found: History, number: int, part: Sequence[Instance], last: Sequence[Instance]) -> Pass:
    batches = tuple(dict.fromkeys(one.batch for one in part))
    before = {one.sample: one.right for one in last}
    start = _standing(found, batches[0] - 1)
    end = _standing(found, batches[-1])
    return Pass(
        number,
        batches,
        len(part),
        sum(one.right is True for one in part),
        sum(one.right is not None for one in part),
        sum(one.actions[:1] in (("accept",), ("patch",)) for one in part),
        sum(one.actions.count("restart") for one in part),
        tuple(change(role, batches[-1], start.get(role, ()), end[role]) for role in ROLES if role in end),
        tuple(one.sample for one in part if one.right is True and before.get(one.sample) is False),
        tuple(one.sample for one in part if one.right is False and before.get(one.sample) is True),
    )


def _standing(found: History, batch: int) -> dict[Role, tuple[Known, ...]]:
    """The checklists as they stood after a batch."""
    return {role: after.rules for role, after in found.checklists if after.batch <= batch}


def between(before: Memory, after: Memory) -> tuple[Change, ...]:
    """What became of the checklists of one memory in another."""
    roles = [role for role in ROLES if before.of(role).rules or after.of(role).rules]
    return tuple(change(role, after.batch, before.of(role).rules, after.of(role).rules) for role in roles)
