"""A history that outgrew its budget: its older rounds become a summary, made by a recorded call.

Not in the paper, whose runs fit their models; our choice. The question and the last rounds are
never touched, and the summary stands behind the question, so that user and assistant still take
turns. Tokens are estimated from the text alone, so the same run is shortened at the same place
everywhere. What is left out stays in the run log, where it was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from meta_tui.chat import Message, user
from meta_tui.methods.asking import filled
from meta_tui.methods.dialogue import History
from meta_tui.methods.prompts import text
from meta_tui.run import Run

BYTES_A_TOKEN = 4
_HEADER = re.compile(r"ROUND (\d{1,9}):\n")


def tokens(messages: Sequence[Message]) -> int:
    """About how many tokens these messages have: a quarter of their bytes in UTF-8, rounded up."""
    return -(-sum(len(message.content.encode()) for message in messages) // BYTES_A_TOKEN)


async def shortened(run: Run, history: History, asked: History, most: int, keep: int) -> History:
    """The history, or a shorter one that says in short what its older rounds held.

    Args:
        history: the opening, then replies of the Meta Model and what came back, in turn.
        asked: the opening as it was sent in round 1; never cut.
        most: tokens above which the history is cut.
        keep: last replies of the Meta Model that stay as they are, with what came back.

    Raises:
        CallFailed: the summary could not be had.
    """
    start, end = len(asked), _first_kept(history, len(asked), keep)
    if tokens(history) <= most or end <= start:
        return history
    cut = history[start:end]
    last = _round_before(history, end)
    rounds = f"rounds 1-{last}" if last > 1 else "round 1"
    earlier = history[start - 1].content.removeprefix(asked[-1].content).strip()
    async with run.span("summary", f"Summary of {rounds}") as teller:
        said = "\n\n".join([*([earlier] if earlier else []), *map(_rendered, cut)])
        question = _HEADER.sub("", asked[-1].content, count=1).strip()
        asking = filled(text("history_summary"), question=question, dialogue=said)
        summary = (await teller.ask([user(asking)])).text.strip()
    if not summary:
        run.reject(f"an empty summary of {rounds}: the history stays as it is")
        return history
    _tell(run, rounds, cut, summary)
    said_so = f"[{rounds.capitalize()} in short; the full text is left out here.]\n{summary}"
    return (*asked[:-1], user(f"{asked[-1].content}\n\n{said_so}"), *history[end:])


def _first_kept(history: History, start: int, keep: int) -> int:
    """Place of the oldest of the last `keep` replies; `start` where there are no more than these."""
    replies = [n for n in range(start, len(history)) if history[n].role == "assistant"]
    return replies[-keep] if len(replies) > keep else start


def _round_before(history: History, end: int) -> int:
    """The last round that is cut: the message before the first kept reply has the next one's header."""
    found = _HEADER.match(history[end - 1].content)
    return int(found.group(1)) - 1 if found else 1


def _rendered(message: Message) -> str:
    who = "Meta-Expert wrote" if message.role == "assistant" else "Then came back"
    return f"[{who}]\n{_HEADER.sub('', message.content, count=1).strip()}"


def _tell(run: Run, rounds: str, cut: History, summary: str) -> None:
    """Show what was left out, and what stands in its place."""
    size = tokens([Message("user", summary)])
    title = (
        f"{len(cut)} messages, about {tokens(cut):,} tokens, are left out from here on; "
        f"a summary of about {size:,} stands in their place"
    )
    run.store("history", rounds, title, summary)
