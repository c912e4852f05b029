"""Text that a model might write to harm a terminal, an app or a reader, and how to look for it."""

import json
import re

from msgspec.structs import replace

from meta_tui.chat import CodeResult, Program, Reply, user
from meta_tui.events import (
    Answered,
    CodeFinished,
    CodeStarted,
    Failed,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
    Stored,
)

CORPUS = {
    "ansi": "\x1b[31mred\x1b[0m \x1b[2J\x1b[H \x1b[?1049l",
    "osc title": "\x1b]0;owned\x07",
    "osc 8 link": "\x1b]8;;http://127.0.0.1/\x1b\\click\x1b]8;;\x1b\\",
    "osc 52 clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "c1": "\x9b31mred \x9d0;owned\x9c \x90q\x9c",
    "bidi": "a\u202eb\u2066c\u2069 \u200f\u061c",
    "nul and bell": "a\x00b\x07c\x08\x7f",
    "carriage return": "safe\rEVIL\r\nnext",
    "separators": "one\u2028two\u2029three\x85four",
    "markup": "[bold red]x[/bold red] [/] [@click=app.quit]press[/] [link=http://127.0.0.1/]l[/link]",
    "open markup": "[/ [[ ]] [$ [@click=",
    "backslash": "a trailing [\\",
    "rich tags": ":bomb: [blink]x",
    "tags": "\U000e0041\U000e0042 hidden",
    "zalgo": "Z" + "\u0301\u0327" * 3000,
    "indic": "বাংলা ভাষা తెలుగు భాష ภาษาไทย 漢字 👩‍👩‍👧‍👦 🇩🇪",
    "wide line": "x" * 200_000,
    "wide line of cells": "漢" * 50_000,
    "quotes": ">" * 400 + " deep",
    "half fence": "```python\nprint('no end\n~~~",
    "ini": "```ini\na=1\\",
    "tabs": "a\tb\t\tc",
    "surrogate": "lone \ud83d half \udc00",
    "spaces": " " * 5000 + "end",
    "newlines": "\n" * 2000 + "end",
}
"""Name -> text."""

SHORT = "\n".join(text for text in CORPUS.values() if len(text) < 1000)
"""All of them that are short, one after the other."""

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What must not be in a text that is shown."""

KEY = "0" * 64


def events_with(text):
    """A run in which every text is this one."""
    return [
        RunStarted(1, text, "live", "meta_prompting", {}, text, text, note=text),
        RoundStarted(1, 2),
        Requested(0, KEY, (user(text),)),
        Replied(0, Reply(text, reasoning=text)),
        SpanStarted("expert", text, span="1"),
        Requested(0, KEY, (user(text),), span="1"),
        Failed(0, "server", 1, text, 2.0, span="1"),
        Replied(0, Reply(text), span="1"),
        CodeStarted(1, KEY, Program(text), span="1"),
        CodeFinished(1, CodeResult("error", text, text, 1), span="1"),
        SpanFinished("done", span="1"),
        Rejected(text),
        Stored("note", text, text, text),
        Requested(1, KEY, (user(text), user(text))),
        Failed(1, "server", 2, text),
        Answered(text),
        RunFinished("answered", text),
    ]


def painted(app):
    """Everything that the screen would send to a terminal as text, the escape filter applied."""
    from meta_tui.tui.safety import SAFE

    rows = []
    for strip in app.screen._compositor.render_strips(app.size):
        safe = strip.apply_filter(SAFE, app.screen.background_colors[1])
        rows.append("".join(segment.text for segment in safe if not segment.control))
    return "\n".join(rows)


def harmful(app):
    """Forbidden characters on the screen."""
    return set(FORBIDDEN.findall(painted(app).replace("\n", "")))


def poisoned(cassette, text):
    """The events of a shipped run in which whatever a model or a task worded is this text."""
    from meta_tui import runlog, store

    return [_poisoned(event, text) for event in runlog.read(store.find(cassette)).events]


def _poisoned(event, text):
    match event:
        case RunStarted():
            return replace(event, question=text, model=text, note=text)
        case SpanStarted():
            return replace(event, name=f"{event.name} {text}")
        case Replied():
            return replace(event, reply=Reply(text))
        case Stored():
            return replace(event, title=text, body=_body(event.body, text))
    return event


def _body(body, text):
    try:
        found = json.loads(body)
    except ValueError:
        return text
    return json.dumps(_leaves(found, text)) if isinstance(found, dict) else text


def _leaves(value, text, key=""):
    text = text.encode("utf-8", "replace").decode()  # no encoder of JSON writes a lone surrogate
    if isinstance(value, dict):
        return {name: _leaves(item, text, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_leaves(item, text, key) for item in value]
    return text if key in WORDED and isinstance(value, str) else value


WORDED = ("text", "when", "answer", "final_answer", "evidence", "feedback", "comment", "action")
"""Fields of stored JSON that hold words of a model."""
