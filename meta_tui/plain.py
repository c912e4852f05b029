"""The plain front end: an event consumer that writes a run as lines of text.

It shows the same facts as the app, for pipes, logs, small terminals and screen readers. Text from
models is written with its control characters made visible. It reads no clock and no terminal:
whoever makes it says how wide the output is and whether colour may be used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from meta_tui.chat import CodeResult
from meta_tui.display import clean, count, dollars, table
from meta_tui.events import (
    Answered,
    AnyEvent,
    CodeFinished,
    CodeStarted,
    Delta,
    Failed,
    How,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    Scored,
    SpanStarted,
    Stored,
    paid,
)

if TYPE_CHECKING:
    from meta_tui.evaluation.chains import Reader
    from meta_tui.methods.artifacts import Tracer

__all__ = ["STATUS_WORDS", "Plain", "Tally", "table"]

Write = Callable[[str], None]
"""Takes text that may hold newlines; adds none."""

STATUS_WORDS: dict[str, str] = {
    "answered": "✓ answered",
    "completed": "✓ completed",
    "no_answer": "✗ no answer",
    "failed": "✗ failed",
    "cancelled": "✗ cancelled",
    "budget": "▲ stopped by the budget",
}
"""Status -> glyph and word; never a colour alone."""

_COLOURS = {"head": "\x1b[1m", "dim": "\x1b[2m", "good": "\x1b[32m", "bad": "\x1b[31m", "warn": "\x1b[33m"}
_RESET = "\x1b[0m"


@dataclass(slots=True)
class Tally:
    """Running totals of a stream, for status lines."""

    calls: int = 0
    cached: int = 0
    code_runs: int = 0
    rounds: int = 0
    tokens: int = 0
    unknown_tokens: bool = False
    cost: float = 0.0
    unknown_cost: bool = False

    def take(self, event: AnyEvent) -> None:
        """Count one event."""
        match event:
            case Requested():
                self.calls += 1
            case CodeStarted():
                self.code_runs += 1
            case RoundStarted():
                self.rounds = max(self.rounds, event.number)
            case Replied():
                self._reply(event)

    def _reply(self, event: Replied) -> None:
        usage, how = event.reply.usage, event.how
        self.tokens += usage.total if usage else 0
        self.unknown_tokens |= usage is None
        cost = paid(how)
        self.cached += how is not None and how.source == "cache"
        self.unknown_cost |= cost is None
        self.cost += cost or 0.0

    @property
    def cost_text(self) -> str:
        """Dollars, or "-" where a price is unknown."""
        return dollars(None if self.unknown_cost else self.cost)

    def line(self) -> str:
        """`6 calls (1 cached) · 1 code run · 5,812 tokens · $0.0410`."""
        tokens = "- tokens" if self.unknown_tokens else f"{self.tokens:,} tokens"
        cached = f" ({self.cached} cached)" if self.cached else ""
        parts = [count(self.calls, "call") + cached]
        parts += [count(self.code_runs, "code run")] if self.code_runs else []
        return " · ".join([*parts, tokens, self.cost_text])


@dataclass(slots=True)
class Plain:
    """Writes events as they come; give its `take` to a run as a consumer.

    Args:
        write: where text goes.
        colour: whether ANSI colours may be used for our own words.
        brief: one line for each thing that happened, texts cut.
        status: words to put behind a round's header (a budget), asked when the round begins.
        line: line of the log that the next event stands on, where it is to be told: what
            `fork --at` takes.
    """

    write: Write
    colour: bool = False
    brief: bool = False
    status: Callable[[], str] | None = None
    line: int = 0
    tally: Tally = field(default_factory=Tally)
    _names: dict[str, str] = field(default_factory=lambda: {"": "Meta Model"})
    _streaming: tuple[str, int] | None = None
    _column_start: bool = True
    _tracer: Tracer | None = None
    _chains: Reader | None = None

    def take(self, event: AnyEvent) -> None:
        """Show one event."""
        self.tally.take(event)
        if self._tracer is not None:
            self._tracer.take(event)
        if self._chains is not None:
            self._chains.take(event)
        match event:
            case RunStarted():
                self._started(event)
            case SpanStarted():
                self._names[event.span] = event.name
            case RoundStarted():
                self._round(event)
            case Delta():
                self._delta(event)
            case Replied():
                self._replied(event)
            case Failed():
                self._failed(event)
            case CodeFinished():
                self._code(event.result, event.how, self._whose(event.span))
            case Rejected():
                # A reason with a colon says itself what is done instead; Meta^n asks nothing again.
                done = "" if ":" in event.reason or self._chains else ": reminder sent"
                self._line(f"▲ {event.reason}{done}", "warn")
            case Stored():
                self._stored(event)
            case Scored():
                whose = self._whose(event.span)
                self._line(f"  {whose}{event.metric}: {event.value:g} {clean(event.feedback)}".rstrip())
            case Answered():
                self._block(f"{self._whose(event.span)}Answer", event.text, "good")
            case RunFinished():
                self._finished(event)

    def _started(self, event: RunStarted) -> None:
        if "budget" in event.settings:  # a method that has workers
            from meta_tui.methods.artifacts import Tracer

            self._tracer = Tracer()
            self._tracer.take(event)
        if event.method == "meta_n":
            from meta_tui.evaluation.chains import Reader

            self._chains = Reader()
            self._chains.take(event)
        if not event.span and event.method == "standard":
            self._names[""] = "Model"
        where = " · ".join(clean(w) for w in (event.method, event.model, event.sample, event.origin) if w)
        self._line(where, "head")
        if event.note:
            self._line(clean(event.note), "dim")
        if event.parent and not event.parent.line:
            self._line(f"follows {clean(event.parent.run)}", "dim")
        self._block("Question", event.question)

    def _round(self, event: RoundStarted) -> None:
        so_far = self.tally.line() if self.tally.calls else ""
        facts = " · ".join(part for part in (so_far, self.status() if self.status else "") if part)
        self._line(f"── Round {event.number} of {event.limit} ── {facts}".rstrip(), "head")

    def _delta(self, event: Delta) -> None:
        place = (event.span, event.n)
        if self._streaming is None:
            self._streaming = place
            self._line(self._name(event.span), "head")
        if self._streaming == place and not self.brief:
            self._stream(event.text)

    def _stream(self, text: str) -> None:
        for index, part in enumerate(clean(text).split("\n")):
            if index:
                self.write("\n")
                self._column_start = True
            if part:
                self.write(f"  {part}" if self._column_start else part)
                self._column_start = False

    def _replied(self, event: Replied) -> None:
        if self._streaming == (event.span, event.n) and not self.brief:
            self._end_line()
            for call in event.reply.tool_calls:
                self._line(f"  tool call {clean(call.name)}({clean(call.arguments)})")
        else:
            self._block(self._name(event.span), event.reply.shown or "(an empty reply)")
        if self._streaming == (event.span, event.n):
            self._streaming = None
        facts = self._with_line(_facts(event))
        if facts:
            self._line(f"  {facts}", "dim")

    def _with_line(self, facts: str) -> str:
        place = f"line {self.line}" if self.line else ""
        return " · ".join(part for part in (place, facts) if part)

    def _failed(self, event: Failed) -> None:
        self._streaming = None
        again = f"; retry {event.attempt} in {event.retry_in:g} s" if event.retry_in is not None else ""
        word = "▲" if again else "✗"
        why = f": {clean(event.message)}" if event.message else ""
        text = f"{word} {self._name(event.span)}: {event.kind}{why}".rstrip()
        self._line(text + again, "warn" if again else "bad")

    def _code(self, result: CodeResult, how: How | None, whose: str = "") -> None:
        ms = f", {how.ms} ms" if how and how.ms is not None else ""
        ms += f", line {self.line}" if self.line else ""
        text = "\n".join(part for part in (result.stdout.rstrip(), result.error.rstrip()) if part)
        self._block(f"  {whose}code ran: {result.status}{ms}", text or "(nothing was printed)")

    def _stored(self, event: Stored) -> None:
        made_from = f" ← {', '.join(map(clean, event.inputs))}" if event.inputs else ""
        head = f"{clean(f'{event.kind} {event.id}'.strip())}{made_from}"
        text = event.title or event.body
        if event.kind == "flag" and event.title and event.body:
            text = f"{event.title}: {event.body}"
        if self._chains is not None and not (self.brief and event.title):
            from meta_tui.evaluation.chain_text import told_of

            text = told_of(self._chains.view, event)
        if text:
            self._block(head, text)
        else:
            self._line(head, "head")

    def _artifacts(self) -> None:
        """What workers left, how it was used, and who used the budget."""
        from meta_tui.evaluation.drawing import budget_text, memory_text, tree_text

        found = self._tracer.trace() if self._tracer else None
        if found and found.artifacts:
            self._block("Artifacts", tree_text(found))
            if not self.brief:
                self._block("Memory", memory_text(found))
            self._block("Budget", budget_text(found))

    def _layers(self) -> None:
        """The archive, score by depth, and the best of each task."""
        from meta_tui.evaluation.chain_text import overview, plain

        for head, lines in overview(self._chains.view) if self._chains and not self.brief else ():
            self._block(head, plain(lines))

    def _finished(self, event: RunFinished) -> None:
        self._artifacts()
        self._layers()
        rounds = f"{count(self.tally.rounds, 'round')} · " if self.tally.rounds else ""
        good = event.status in ("answered", "completed")
        reason = f" ({clean(event.reason)})" if event.reason else ""
        self._line(
            f"{STATUS_WORDS[event.status]}{reason} · {rounds}{self.tally.line()}", "good" if good else "bad"
        )

    def _whose(self, span: str) -> str:
        """`opt:3: `: many tasks of a candidate go on at once, so each line says whose it is."""
        return f"{self._name(span)}: " if self._chains is not None and span else ""

    def _name(self, span: str) -> str:
        return clean(self._names.get(span, span)).replace("\n", " ")

    def _block(self, head: str, text: str, colour: str = "head") -> None:
        shown = clean(text)
        if self.brief:
            first, _, rest = shown.strip().partition("\n")
            cut = first[:100] + ("…" if rest or len(first) > 100 else "")
            self._line(f"{head}: {cut}", colour)
            return
        self._line(head, colour)
        self.write("".join(f"  {line}\n" if line else "\n" for line in shown.split("\n")))

    def _end_line(self) -> None:
        """A reply that is still being written must not run into what comes between."""
        if not self._column_start:
            self.write("\n")
            self._column_start = True

    def _line(self, text: str, colour: str = "") -> None:
        on = _COLOURS.get(colour, "") if self.colour else ""
        self._end_line()
        self.write(f"{on}{text}{_RESET if on else ''}\n")


def _facts(event: Replied) -> str:
    how, usage = event.how, event.reply.usage
    parts = []
    if how and how.source in ("cache", "edited", "copy-paste"):
        parts.append({"cache": "◆ cached"}.get(how.source, how.source))
    if how and how.source == "live" and how.ms is not None:
        parts.append(f"{how.ms / 1000:.1f} s")
    if usage:
        parts.append(f"{usage.prompt_tokens}+{usage.completion_tokens} tokens")
    return " · ".join(parts)
