"""A run as an asynchronous stream of events, as in a notebook cell or a web handler."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import meta_tui
from meta_tui.events import Answered, Replied, RoundStarted

SCRIPT = ['Expert Poet:\n"""\nRhyme "sea".\n"""', "tea", '>> FINAL ANSWER:\n"""\ntea\n"""']


async def main() -> None:
    """Print what is worth a line, and leave the stream early the second time."""
    async for event in meta_tui.solve_events("A rhyme for sea?", model=meta_tui.ScriptedModel(SCRIPT)):
        match event:
            case RoundStarted():
                print("round", event.number)
            case Replied():
                print("  reply:", event.reply.text.split("\n")[0])
            case Answered():
                print("answer:", event.text)

    events = meta_tui.solve_events("A rhyme for sea?", model=meta_tui.ScriptedModel(SCRIPT), log="left.jsonl")
    async with aclosing(events) as stream:
        async for event in stream:
            if isinstance(event, Replied):
                break
    print(meta_tui.load("left.jsonl").answer)


asyncio.run(main())
