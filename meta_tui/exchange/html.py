"""A run as one HTML page that needs nothing else: panes, search and a scrubber over the events.

The page makes no request: styles, script and data stand in it, and its policy forbids the rest.
Texts are data and are shown through `textContent`, so nothing that a model wrote is ever markup.
"""

from __future__ import annotations

import html
import re
from importlib.resources import files

import msgspec

from meta_tui.exchange.story import Story

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(story: Story) -> str:
    """The HTML of a story."""
    template = files("meta_tui.exchange").joinpath("page.html").read_text(encoding="utf-8")
    parts = {"POLICY": POLICY, "TITLE": html.escape(story.title, quote=True), "DATA": _data(story)}
    return re.sub("@@(POLICY|TITLE|DATA)@@", lambda found: parts[found.group(1)], template)


def _data(story: Story) -> str:
    """JSON that cannot end the element it stands in."""
    text = msgspec.json.encode(story).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
