"""What two runs are compared by: everything that a person would read, in order."""

from __future__ import annotations

from meta_tui.chat import Reply, ToolCall
from meta_tui.compare import steps
from meta_tui.events import Replied


def test_replies_that_differ_in_a_tool_call_alone_are_different_steps() -> None:
    one, other = (Replied(0, Reply("", (ToolCall("c", "finish", f'{{"id":{n}}}'),))) for n in (1, 2))
    assert steps([one]) != steps([other])
    assert steps([one])[0].text == 'tool call finish({"id":1})'
