"""What an emitted layer is for: a fixed codebook, and a rater by rules.

Roles are no partition: a layer may have several. The second rater is a model with the same
codebook (`rating`); how far the two agree is `evaluation.stacks`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from meta_tui.methods.asking import json_object
from meta_tui.methods.meta_n.records import LayerKept

ENVIRONMENT: Final = "environment constraint"
PRIMITIVE: Final = "tactical primitive"
PROMPTING: Final = "prompt engineering"
ROUTING: Final = "task routing"
SPECIALISED: Final = "specialised library"
VERIFICATION: Final = "verification"
ROLLBACK: Final = "rollback"
OTHER: Final = "other"

CODEBOOK: Mapping[str, str] = {
    ENVIRONMENT: "it says what the place where scripts run has or lacks: packages, imports, time, memory, form",
    PRIMITIVE: "it gives a general helper function",
    PROMPTING: "it gives the solver text: advice, a plan, a warning",
    ROUTING: "it treats tasks differently by what they are like",
    SPECIALISED: "it gives a helper for one category of tasks, by its name or its contract",
    VERIFICATION: "it has answers checked before they are given",
    ROLLBACK: "it takes back or bypasses what an earlier layer said or did",
    OTHER: "none of these",
}

_ENVIRONMENT = re.compile(
    r"\b(?:imports?|packages?|modules?|install\w*|available|unavailable|standard library|time ?limit|memory)\b",
    re.IGNORECASE,
)
_CHECKING = re.compile(
    r"\b(?:verif\w+|validat\w+|check\w*|assert\w*|feasib\w+|sanity|double-check)\b", re.IGNORECASE
)
_UNDO = re.compile(
    r"\b(?:disregard|ignore|roll(?:ed|s|ing)? ?back|rollback|revert\w*|undo|overrid\w+|bypass\w*|supersed\w+|"
    r"take back|withdraw\w*|drop the|no longer)\b",
    re.IGNORECASE,
)
_EARLIER = re.compile(
    r"\b(?:depth \d+|earlier|previous|layers? below|last layer|prior layer)\b", re.IGNORECASE
)
_ROUTE = re.compile(
    r"\b(?:if|elif|match)\b[^\n]*\btask\.(?:description|metadata)|task\.(?:description|metadata)[^\n]*\bif\b"
)
_SAYS = re.compile(r"\badditional_context\s*(?:\+?=)")


def rule_roles(layer: LayerKept, categories: Iterable[str] = ()) -> frozenset[str]:
    """The roles of a layer by its words and its parts.

    Args:
        categories: of the tasks; a helper whose name or docstring names one is specialised.
    """
    words = "\n".join([layer.rationale, layer.pre_process, *(one.doc for one in layer.library)])
    found = {
        PROMPTING: bool(_SAYS.search(layer.pre_process)),
        ENVIRONMENT: bool(_ENVIRONMENT.search(f"{layer.rationale}\n{_texts(layer.pre_process)}")),
        ROUTING: bool(_ROUTE.search(layer.pre_process)),
        VERIFICATION: bool(_CHECKING.search(words)),
        ROLLBACK: bool(_UNDO.search(words) and _EARLIER.search(words)),
    }
    roles = {role for role, is_so in found.items() if is_so}
    for one in layer.library:
        named = f"{one.name} {one.doc}".replace("_", " ").lower()
        special = any(_names(category, named) for category in categories)
        roles.add(SPECIALISED if special else PRIMITIVE)
    return frozenset(roles or {OTHER})


def _texts(code: str) -> str:
    """The texts inside code, where advice on packages stands (`import json` itself is no advice)."""
    return "\n".join(re.findall(r"\"[^\"\n]*\"|'[^'\n]*'", code))


def _names(category: str, words: str) -> bool:
    name = category.replace("_", " ").lower().strip()
    return bool(name) and name != "other" and re.search(rf"\b{re.escape(name)}\b", words) is not None


def read_roles(reply: str) -> frozenset[str] | None:
    """The roles in a model's reply, `{"roles": [...]}`; None where it is no such thing. What is not
    in the codebook does not count; an empty list is `other`."""
    found = json_object(reply)
    roles = found.get("roles") if found else None
    if not isinstance(roles, list):
        return None
    known = {role for role in roles if isinstance(role, str) and role in CODEBOOK}
    return frozenset(known or {OTHER}) if known or not roles else None
