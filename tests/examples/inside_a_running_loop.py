"""`solve` where a loop is running already, as in a notebook: it has a loop of its own in a thread."""

from __future__ import annotations

import asyncio

import meta_tui

FINAL = '>> FINAL ANSWER:\n"""\n42\n"""'


async def cell() -> None:
    """The plain function blocks this loop until the answer is there; the coroutine does not."""
    print(meta_tui.solve("6 times 7?", model=meta_tui.ScriptedModel([FINAL])).answer)
    both = await asyncio.gather(
        meta_tui.solve_async("6 times 7?", model=meta_tui.ScriptedModel([FINAL])),
        meta_tui.solve_async("7 times 6?", model=meta_tui.ScriptedModel([FINAL])),
    )
    print([result.answer for result in both])


asyncio.run(cell())
