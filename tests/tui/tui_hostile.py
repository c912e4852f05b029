"""Text that a model might write to harm a terminal, an app or a reader, and how to look for it."""

import re

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

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What must not be in a text that is shown."""


def painted(app):
    """Everything that the screen would send to a terminal as text, filters applied."""
    from rich.console import Console

    strips = app.screen._compositor.render_strips(app.size)
    filters = [f for f in app.get_line_filters() if f.enabled]
    assert Console
    text = []
    for strip in strips:
        for one in filters[:1]:
            strip = strip.apply_filter(one, app.screen.background_colors[1])
        text.append("".join(segment.text for segment in strip if not segment.control))
    return "\n".join(text)
