"""Text that a model might write to harm a terminal, an app or a reader, and how to look for it."""

import re

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
