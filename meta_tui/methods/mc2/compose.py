"""The prompt composer: instructions for one problem from what each role knows (Eq. 13).

One call gives the instructions of all roles. A field that is missing, empty or too long is asked
for once more; what is still bad falls back to the instructions as they stood, for that role
alone. The form of each role's reply is never composed: the loop appends it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from meta_tui.chat import canonical_json, user
from meta_tui.methods.asking import EXCERPT, filled, json_object
from meta_tui.methods.mc2.memory import Found, Memory
from meta_tui.methods.mc2.trace import LETTERS, TITLES, Policies, PolicyUpdate, Role
from meta_tui.methods.prompts import text
from meta_tui.run import Run

Retrieved = Mapping[str, Sequence[Found]]


async def composed(
    run: Run,
    question: str,
    policies: Policies,
    memory: Memory,
    retrieved: Retrieved,
    roles: Sequence[Role],
    budget: int,
) -> dict[str, PolicyUpdate]:
    """How each role comes by its instructions for this question.

    Args:
        policies: the instructions as they stand.
        roles: those that are composed.
        budget: most characters of one role's instructions.
    """
    asked = _asked(question, policies, memory, retrieved, roles, budget)
    async with run.span("stage", "Compose") as inner:
        good = await _twice(inner, asked, roles, budget)
    model = run.started.model
    return {
        role: PolicyUpdate(True, role in good, model, policies[role], good.get(role, policies[role]))
        for role in roles
    }


async def _twice(inner: Run, asked: str, roles: Sequence[Role], budget: int) -> dict[str, str]:
    """The fields that passed: those of the first reply, and of the second if the first was not whole."""
    first = await inner.ask([user(asked)])
    good, faults = checked(first.text, roles, budget)
    if not faults:
        return good
    inner.reject(f"{'; '.join(faults)}: {first.text[:EXCERPT]}")
    again = f"{asked}\n\nYour last reply could not be used: {'; '.join(faults)}. {_form(roles)}"
    second = await inner.ask([user(again)])
    better, faults = checked(second.text, roles, budget)
    if faults:
        inner.reject(f"{'; '.join(faults)}: {second.text[:EXCERPT]}")
    return good | better


def checked(reply: str, roles: Sequence[Role], budget: int) -> tuple[dict[str, str], list[str]]:
    """The usable fields of a Composer's reply by role, and what is wrong with the others."""
    found = json_object(reply)
    if found is None:
        return {}, ["the reply is no JSON object"]
    good: dict[str, str] = {}
    faults: list[str] = []
    for role in roles:
        name = f"P_{LETTERS[role]}"
        said = found.get(name)
        if not isinstance(said, str) or not said.strip():
            faults.append(f"{name} is missing")
        elif len(said) > budget:
            faults.append(f"{name} has more than {budget} characters")
        else:
            good[role] = said.strip()
    return good, faults


def _asked(
    question: str,
    policies: Policies,
    memory: Memory,
    retrieved: Retrieved,
    roles: Sequence[Role],
    budget: int,
) -> str:
    blocks = [
        filled(
            text("mc2_compose_role"),
            role=TITLES[role],
            policy=policies[role],
            knowledge="\n".join(rule.line for rule in memory.of(role).rules) or "(empty)",
            retrieved="\n".join(found.rule.line for found in retrieved.get(role, ())) or "(none)",
        )
        for role in roles
    ]
    return filled(
        text("mc2_compose"),
        budget=str(budget),
        roles="\n\n".join(blocks),
        question=question,
        form=_form(roles),
    )


def _form(roles: Sequence[Role]) -> str:
    fields = ", ".join(f'"P_{LETTERS[role]}": "..."' for role in roles)
    return filled(text("mc2_compose_form"), fields=f"{{{fields}}}")


def store_retrieval(run: Run, retrieved: Retrieved) -> None:
    """Keep which rules were retrieved for this instance, and how near they are."""
    body = {
        role: {"ids": [found.id for found in rules], "sims": [round(found.similarity, 6) for found in rules]}
        for role, rules in sorted(retrieved.items())
    }
    ids = [found.id for _, rules in sorted(retrieved.items()) for found in rules]
    run.store("retrieval", "retrieval", f"{len(ids)} rules", canonical_json(body).decode(), ids)


def store_updates(run: Run, updates: Mapping[str, PolicyUpdate]) -> None:
    """Keep how each role came by its instructions; texts stand in the log as the Composer's reply."""
    body = {
        role: {
            "used": update.used,
            "succeeded": update.succeeded,
            "model": update.model,
            "before": _name(update.before),
            "after": _name(update.after),
        }
        for role, update in sorted(updates.items())
    }
    kept = [TITLES[role] for role, update in sorted(updates.items()) if not update.succeeded]
    title = f"previous instructions kept: {', '.join(kept)}" if kept else "composed"
    run.store("policy_update", "policy", title, canonical_json(body).decode())


def _name(policy: str) -> str:
    return sha256(policy.encode("utf-8", "surrogatepass")).hexdigest()[:16]
