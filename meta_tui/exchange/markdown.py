"""A run as a Markdown document: everything that was said, in order, to read or to quote.

Texts stand in fences that are longer than any run of backticks inside them, so that nothing a
model wrote becomes markup.
"""

from __future__ import annotations

import re

from meta_tui.exchange.story import Passage, Story

_HEADS = {
    "question": "Question",
    "asked": "asked",
    "reply": "reply",
    "code": "code",
    "output": "output",
    "error": "error",
    "answer": "Answer",
    "stored": "kept",
}


def document(story: Story) -> str:
    """The Markdown text of a story."""
    names = {part.span: part.name for part in story.parts}
    head = [f"# {_plain(story.title)}", ""]
    head += [f"- {name}: {_plain(value)}" for name, value in story.facts]
    body = [_passage(passage, names) for passage in story.passages]
    return "\n".join([*head, "", *body]) + "\n"


def _passage(passage: Passage, names: dict[str, str]) -> str:
    who = names.get(passage.span, passage.span)
    note = f" ({_plain(passage.note)})" if passage.note else ""
    match passage.kind:
        case "round":
            return f"## {_plain(passage.text)}\n"
        case "notice":
            return f"▲ {_plain(passage.text)}\n"
        case "failure":
            return f"✗ {_plain(who)}: {_plain(passage.text)}\n"
        case "end":
            return f"■ {_plain(passage.text)}\n"
        case "question" | "answer":
            return f"## {_HEADS[passage.kind]}\n\n{_fenced(passage.text)}\n"
    return f"### {_plain(who)}: {_HEADS[passage.kind]}{note}\n\n{_fenced(passage.text)}\n"


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _plain(text: str) -> str:
    """One line in which no character is markup."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~-])", r"\\\1", " ".join(text.split()))
