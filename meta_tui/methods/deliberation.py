"""Reading what the stages of agentic meta-reasoning write: verdicts, actions, recommendations.

Source: Thinking Before Thinking (arXiv 2609.38147). Pure and lenient: every reader gives a value for every text, in
time linear in its length, and says when it had to fall back. What is not here: the prompts that
ask for these forms, and what is done with what was read (`meta_reasoning`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from meta_tui.methods.artifacts import ID
from meta_tui.methods.tools import texts

MOST_WORKERS = 32
STOP = "STOP"

_VERDICT = re.compile(r"\b(LIKELY_CORRECT|HAS_GAPS|FUNDAMENTALLY_FLAWED)\b")
_ATTRIBUTE = re.compile(r"\bid\s{0,3}=\s{0,3}[\"']?([^\"'\s>]{1,40})")
_STOP_LINE = re.compile(r"^[ \t*_`>#-]{0,9}(STOP\b[ \t*_`:(]{0,5}(\d+_\d+)|CONTINUE\b)", re.M)
_ITEM = re.compile(r"^\s*-\s*(?=\S)")
_FIELD = re.compile(r"^\s*(action_id|memory_id|memory|parallel_workers)\s*:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the harness takes from an Assess output; the whole text is the state."""

    verdicts: tuple[tuple[str, str], ...]
    stop: str | None
    """The id that it advises to submit; None for continuing, the default."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One entry of the Evaluate output."""

    action: str
    memory: tuple[str, ...] = ()
    workers: int = 1
    submit: str = ""


def assessment(text: str) -> Assessment:
    """The verdicts (the last one in each candidate part) and the advice to stop."""
    found = [(id, _last_verdict(body)) for id, body in tagged(text, "candidate")]
    verdicts = [(id, verdict) for id, verdict in found if verdict] or _loose_verdicts(text)
    advice = next((body for _, body in tagged(text, "stop_recommended")), text)
    stop = _STOP_LINE.search(advice.lstrip())
    return Assessment(tuple(verdicts), stop.group(2) if stop and stop.group(2) else None)


def _last_verdict(body: str) -> str:
    found = _VERDICT.findall(body)
    return found[-1] if found else ""


def _loose_verdicts(text: str) -> list[tuple[str, str]]:
    """Verdicts without parts: each belongs to the last id before it on its line."""
    found = []
    for line in text.split("\n"):
        start = 0
        for verdict in _VERDICT.finditer(line):
            ids = ID.findall(line[start : verdict.start()])
            found += [(ids[-1], verdict.group(1))] if ids else []
            start = verdict.end()
    return found


def actions(text: str) -> tuple[tuple[str, str], ...]:
    """(letter, text) of every proposed action; without any tag the whole text is action A."""
    found = tuple((id or "?", body.strip()) for id, body in tagged(text, "action"))
    return found or (("A", text),)


def has_actions(text: str) -> bool:
    """Whether any action stands in a tag of its own."""
    return next(tagged(text, "action"), None) is not None


def tagged(text: str, tag: str) -> Iterator[tuple[str, str]]:
    """(id attribute, content) of every `<tag ...>` part; an unclosed part runs to the next one."""
    opening, closing, at = f"<{tag}", f"</{tag}>", 0
    while (start := text.find(opening, at)) >= 0:
        at = start + len(opening)
        if text[at : at + 1] not in (" ", ">", "\t", "\n"):
            continue
        head = text.find(">", at)
        if head < 0:
            return
        end = text.find(closing, head)
        after = text.find(opening + " ", head)
        stop = min((place for place in (end, after) if place >= 0), default=len(text))
        found = _ATTRIBUTE.search(text[at - 1 : min(head, at + 200)])
        yield (found.group(1) if found else "", text[head + 1 : stop])
        if end < 0 and after < 0:
            return
        at = stop


def recommendations(text: str) -> tuple[Recommendation, ...]:
    """The entries of the YAML block, in order; empty where there is none that can be read.

    Read are the few forms that models write: a block list, a flow list, JSON. This is no YAML
    reader: nothing else of the language is understood.
    """
    _, mark, rest = text.rpartition("recommendations:")
    if not mark:
        return _from_json(text)
    body = rest.partition("```")[0]
    flow = _flow(body)
    entries = flow if flow is not None else list(_entries(body))
    return tuple(r for r in map(_recommendation, entries) if r)


def _from_json(text: str) -> tuple[Recommendation, ...]:
    _, mark, rest = text.rpartition('"recommendations"')
    flow = _flow(rest.lstrip(" \t\n:")) if mark else None
    return tuple(r for r in map(_recommendation, flow or []) if r)


def _flow(body: str) -> list[dict[str, Any]] | None:
    """The entries of a list (or of one entry) in brackets; None if it does not begin with one."""
    lead = body.lstrip()
    if lead[:1] not in ("[", "{"):
        return None
    quoted = re.sub(r"([A-Za-z_]\w{0,40})(?=\s{0,9}:)", r'"\1"', re.sub(r"[\"']", "", _balanced(lead)))
    words = re.sub(r"(?<![\"\w])([A-Za-z]\w{0,40}|\d+_\d+)(?![\"\w])", r'"\1"', quoted)
    try:
        decoded = msgspec.json.decode(words)
    except (msgspec.DecodeError, RecursionError):
        return []
    return [
        entry for entry in (decoded if isinstance(decoded, list) else [decoded]) if isinstance(entry, dict)
    ]


def _balanced(text: str) -> str:
    depth = 0
    for place, char in enumerate(text):
        depth += (char in "[{") - (char in "]}")
        if depth == 0:
            return text[: place + 1]
    return text


def _entries(body: str) -> Iterator[dict[str, Any]]:
    entry: dict[str, Any] = {}
    field = ""
    for line in body.split("\n"):
        content = _ITEM.sub("", line[:2000], count=1)
        found = _FIELD.match(content)
        if found is None:
            if field == "memory" and content != line and (id := ID.search(content)):
                entry.setdefault("memory", []).append(id.group())
            continue
        field, value = found.group(1), found.group(2).partition(" #")[0].strip().strip("\"'")
        if (content != line and field in entry) or (
            content != line and entry and field in ("action_id", "memory_id")
        ):
            yield entry
            entry = {}
        entry[field] = ID.findall(value) if field == "memory" else value
    if entry:
        yield entry


def _recommendation(entry: dict[str, Any]) -> Recommendation | None:
    action = entry.get("action_id")
    if not isinstance(action, str) or not action:
        return None
    if action.upper() == STOP:
        submit = entry.get("memory_id")
        return Recommendation(STOP, workers=0, submit=submit if isinstance(submit, str) else "")
    return Recommendation(action, tuple(texts(entry.get("memory"))), whole(entry.get("parallel_workers"), 1))


def whole(value: Any, otherwise: int) -> int:
    """A whole number from what a model gave for one."""
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, int | float) and abs(value) < 1e9:
        return int(value)
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal() and len(value) < 10:
        return int(value)
    return otherwise


@dataclass(frozen=True, slots=True)
class Batch:
    """Workers to run: one instruction and one list of context ids for each."""

    instructions: tuple[str, ...]
    contexts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """An artifact to submit, and how it came to be that one."""

    id: str
    how: str


DEFAULT_BATCH = Batch(("",), ((),))
"""One worker on the plain problem without any attempts."""


def batch(arguments: dict[str, Any], most: int = MOST_WORKERS) -> Batch:
    """The batch that `run_workers` asks for, repaired: missing prompts repeat the last one,
    missing blocks are empty, extras are dropped, the number is clamped to 1..most."""
    prompts = texts(arguments.get("subagent_prompts"))
    number = max(1, min(most, whole(arguments.get("num_repeats"), len(prompts))))
    prompts = (prompts + [prompts[-1] if prompts else ""] * number)[:number]
    blocks = arguments.get("memory_blocks")
    contexts = [tuple(texts(block)) for block in blocks] if isinstance(blocks, list) else []
    contexts = (contexts + [()] * number)[:number]
    return Batch(tuple(prompts), tuple(contexts))


def is_short(instruction: str, letters: Sequence[str], least: int) -> bool:
    """Whether an instruction cannot stand on its own: too short, or a bare action letter."""
    return len(instruction.strip()) < least or instruction.strip() in letters
