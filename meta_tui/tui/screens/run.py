"""The run screen: a run as it happens, live or recorded.

It starts a source, keeps what comes on a tape, and paints the state that its transport points at,
twelve times a second at most. It cannot tell a live run from a recorded one: the badge and the
way the transport starts are given to it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from meta_tui import session
from meta_tui.display import one_line
from meta_tui.errors import CassetteMiss, MetaTuiError
from meta_tui.evaluation.chains import METHOD
from meta_tui.events import AnyEvent, Replied, Stored
from meta_tui.run import RunResult, Stop
from meta_tui.tui import crash, handing, heading, timeline, words
from meta_tui.tui.app import FPS
from meta_tui.tui.arrange import POOL, Plan, arrange, rows_shown
from meta_tui.tui.keymap import bindings
from meta_tui.tui.origin import Source
from meta_tui.tui.screens.artifacts import ArtifactsScreen
from meta_tui.tui.screens.chain import ChainScreen
from meta_tui.tui.screens.dialogs import Choice, Word
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.screens.knowledge import KnowledgeScreen
from meta_tui.tui.screens.missing import MissingScreen
from meta_tui.tui.screens.program import ProgramScreen
from meta_tui.tui.screens.reader import ReaderScreen
from meta_tui.tui.start import lines_of
from meta_tui.tui.state import EMPTY, EffectView, RunState, SpanView, depth, in_order, instance_of
from meta_tui.tui.tape import Tape, Transport
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

Badge = Literal["LIVE", "REPLAY", "PLAYBACK"]
AT_ONCE = 2
"""Panes that one tick of the timer paints at most: the focused one and another."""

NARROW = 100
"""Cells below which the panes stand above each other."""

FRAME = 3
"""Rows of status, transport and hints."""

TIMELINE = ((50, 6), (36, 4), (30, 3))
"""From so many rows of the screen the timeline is shown unasked, with so many rows of calls at most."""


EXACT = "exact: the method, run again against its log, did the same, event for event"
BESIDE = "\ni shows what was asked beside what was recorded; f goes live from here."
STILL_RUNNING = (
    "This run is still going on. What was answered so far is in its log, and it can be resumed later."
)
STAY_OR_LEAVE = ("Stay and watch", "Stop after this call, and stay", "Stop now, and leave")


class RunScreen(Screen[int]):
    """One run.

    Args:
        source: what gives the events.
        badge: what kind of run this is, for people.
        title: the run's name, for people.
        log: where the run is recorded.
        base: what the log of a fork or of a resumed run holds already.
        speed: of the playback; 0 shows the end at once.
        fps: paintings a second; 0 paints only when `flush` is called (tests).
        clock: seconds, for the pace.
    """

    CSS_PATH = "run.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (
        *"play call_back call_on round_back round_on slower faster to_start to_end round zoom".split(),
        *"inspect program timeline artifacts open markdown find next previous copy save fork follow_up resume replay".split(),
        *"export compare stop interrupt help back".split(),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("space", "Play"),
        ("h l", "Call"),
        ("[ ]", "Round"),
        ("i", "Inspect"),
        ("f", "Fork"),
        ("?", "Help"),
        ("q", "Back"),
    )
    LIVE_HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("x", "Stop"),
        ("space", "Hold"),
        ("h l", "Call"),
        ("i", "Inspect"),
        ("z", "Zoom"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "A run as it happens or happened. On the left the Meta Model, which reads everything and asks; "
        "on the right each consultation, which sees only what stands above its reply. The line at the "
        "bottom is the whole run: bars are rounds, dots are replies. Above it (T) each part has a row of "
        f"its calls: {timeline.legend()}. Every state of the run can be looked at "
        "again, forked from, inspected and compared."
    )

    class Asked(Message):
        """Something is wanted that the app does: `what` is an action's name."""

        def __init__(self, screen: RunScreen, what: str) -> None:
            super().__init__()
            self.run = screen
            self.what = what

    def __init__(
        self,
        source: Source,
        *,
        badge: Badge = "PLAYBACK",
        title: str = "",
        log: Path | None = None,
        base: RunState = EMPTY,
        speed: float = 1.0,
        fps: float = FPS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.source = source
        self.badge = badge
        self.run_title = title
        self.log_path = log
        self.base = base
        self.stop = Stop()
        self.result: RunResult | None = None
        self.error: MetaTuiError | None = None
        self.tape = Tape()
        self.transport = Transport(self.tape, following=badge != "PLAYBACK", speed=speed or 1.0)
        self._at_once = speed == 0
        self._fps = fps
        self._clock = clock
        self._before = clock()
        self._painted: RunState | None = None
        self._transport_text = ""
        self._timeline: bool | None = None
        self._timeline_key: tuple[object, ...] = ()
        self._plan = Plan((), ())
        self._chosen: str | None = None
        self._pool: list[Pane] = []
        self._turns = 0

    # What is on the screen.

    def compose(self) -> ComposeResult:
        """The frame: status, panes, transport, hints."""
        yield Static(id="status", classes="bar", markup=False)
        with Horizontal(id="body"):
            yield Pane(id="meta")
            with Vertical(id="side"):
                yield Listing(self._paint_row, id="rows")
                with Container(id="panes"):
                    for number in range(POOL):
                        yield Pane(id=f"pane{number + 1}", classes="-off")
        yield FindBar()
        yield Static(id="timeline", markup=False)
        yield Static(id="transport", markup=False)
        yield Hints(self._hints())

    def on_mount(self) -> None:
        """Start the source and the one timer."""
        self._pool = list(self.query("#panes Pane").results(Pane))
        self.meta.caption("1 Meta Model")
        self.meta.focus()
        self.run_worker(self._work(), exit_on_error=False, exclusive=True)
        self._before = self._clock()
        if self._fps:
            self.set_interval(1 / self._fps, self.tick)

    @property
    def meta(self) -> Pane:
        """The pane of the run itself."""
        return self.query_one("#meta", Pane)

    @property
    def state(self) -> RunState:
        """What is shown."""
        return self.transport.state

    @property
    def panes(self) -> dict[str, Pane]:
        """Span id -> its pane, for those that have one."""
        return {"": self.meta, **dict(zip(self._plan.panes, self._pool, strict=False))}

    @property
    def going(self) -> bool:
        """A live run is under way."""
        return self.badge == "LIVE" and not self.tape.ended

    @property
    def exit_code(self) -> int:
        """What the command that opened this screen ends with."""
        if self.error is not None:
            return self.error.exit_code
        return session.exit_code(self.result) if self.result and self.badge == "LIVE" else 0

    async def _work(self) -> None:
        try:
            result = await self.source(self.feed, self.stop)
            self.result = result if isinstance(result, RunResult) else None
            if self.badge == "REPLAY":
                handing.note(self.app, EXACT)
        except MetaTuiError as error:
            self.error = error
            self.tape.break_off(
                f"{error}{BESIDE if isinstance(error, CassetteMiss) and error.wanted else ''}"
            )
        except Exception as error:  # noqa: BLE001 - the worker's boundary: a person must read it
            self.error = MetaTuiError(crash.report(error))
            self.tape.break_off(str(self.error))
        finally:
            self.tape.ended = True
        if self._at_once:
            self.transport.to_end()

    def feed(self, event: AnyEvent) -> None:
        """One event from the source."""
        self.tape.add(event)

    # Painting.

    def flush(self) -> None:
        """Let time pass and paint what changed."""
        self._pass(POOL + 1)

    def tick(self) -> None:
        """The same, a few panes at a time: keys are never kept waiting by a full repaint."""
        self._pass(AT_ONCE)

    def _pass(self, most: int) -> None:
        now = self._clock()
        self.transport.advance(now - self._before)
        self._before = now
        state = self.transport.state
        if state is not self._painted:
            self._painted = state
            self._paint(state, most)
        self._paint_timeline(state)
        self._paint_transport()
        self.query_one(Hints).say(self._hints())

    def _hints(self) -> tuple[tuple[str, str], ...]:
        """A live run that is over is played and forked as any other."""
        head = self.tape.head
        over = head.trouble or head.status not in ("waiting", "running")
        return self.LIVE_HINTS if self.badge == "LIVE" and not over else self.HINTS

    def on_resize(self) -> None:
        """Another size may hold another number of panes."""
        self.set_class(self.size.width < NARROW, "-stacked")
        self._painted = None
        self.call_after_refresh(self.flush)

    def _paint(self, state: RunState, most: int = POOL + 1) -> None:
        self.query_one("#status", Static).update(self._status(state), layout=False)
        spans = [span for span in in_order(state) if span.id]
        self.query_one("#side").set_class(not spans, "-off")
        if spans:
            self._place(arrange(spans, self._chosen, *self._side_size()))
        changed = [pair for pair in self._pairs(state) if not pair[0].holds(pair[1].blocks)]
        for pane, span in self._turn(changed, most):
            pane.show(span.blocks)
        if len(changed) > most:
            self._painted = None
        self._captions(state)
        if self._plan.rows:
            self.query_one("#rows", Listing).refresh()

    def _pairs(self, state: RunState) -> list[tuple[Pane, SpanView]]:
        shown = [(self.panes[id_], state.spans.get(id_)) for id_ in ("", *self._plan.panes)]
        return [(pane, span) for pane, span in shown if span is not None]

    def _turn(self, changed: list[tuple[Pane, SpanView]], most: int) -> list[tuple[Pane, SpanView]]:
        """The panes that are painted now: the focused one always, the others in turn."""
        if len(changed) <= most:
            return changed
        self._turns += 1
        others = [pair for pair in changed if pair[0] is not self.focused]
        start = self._turns % len(others)
        waiting = [*others[start:], *others[:start]]
        first = [pair for pair in changed if pair[0] is self.focused]
        return [*first, *waiting][:most]

    def _captions(self, state: RunState) -> None:
        for number, (pane, span) in enumerate(self._pairs(state), 1):
            facts = self._facts(span) if span.id else self._root_facts(state, span)
            pane.caption(self._caption(str(number), span, instance_of(state, span)), facts)

    def _side_size(self) -> tuple[int, int]:
        """Cells of the area of the parts, worked out from the screen's: a layout that is still to
        come must not decide what is shown."""
        width, height = self.size.width, max(1, self.size.height - FRAME - len(self._timeline_rows()))
        return (width, height // 2) if width < NARROW else (width // 2, height)

    def _place(self, plan: Plan) -> None:
        if plan == self._plan:
            return
        self._plan = plan
        for index, pane in enumerate(self._pool):
            pane.set_class(index >= len(plan.panes), "-off")
        self.query_one("#panes").set_class(plan.columns == 2, "-two")
        rows = self.query_one("#rows", Listing)
        rows.set_class(bool(plan.rows), "-some")
        shown = min(len(plan.rows), rows_shown(self._side_size()[1]))
        rows.styles.height = shown
        rows.fill(len(plan.rows), len(plan.rows) - 1)

    def _paint_row(self, row: int, width: int) -> list[Part]:
        if row >= len(self._plan.rows):
            return []
        span = self.state.spans.get(self._plan.rows[row])
        if span is None:
            return []
        glyph, word, colour = words.GLYPHS[span.phase]
        texts = (one_line(block.text, 200) for block in reversed(span.blocks))
        last = next((text for text in texts if text), "")
        head = f"{'  ' * (depth(span.id) - 1)}{glyph} {one_line(span.name, 40)}"
        return [(head, colour), ("  " + _fitted(f"{word}  {last}", width - cell_len(head) - 2), "quiet")]

    def _caption(self, number: str, span: SpanView, instance: str) -> str:
        glyph = words.GLYPHS[span.phase][0]
        where = f" · {one_line(instance, 30)}" if instance else ""
        where += f" · round {span.round}" if span.round and span.id else ""
        return f"{number} {glyph} {one_line(span.name, 50) or 'run'}{where}"

    def _facts(self, span: SpanView) -> str:
        if span.phase in ("running", "retrying"):
            return words.state_word(span.phase)
        return span.facts or words.state_word(span.phase)

    def _root_facts(self, state: RunState, root: SpanView) -> str:
        return words.state_word(state.status if state.status in words.GLYPHS else root.phase)

    def _status(self, state: RunState) -> Content:
        badge = f" {self.badge} "
        room = self.size.width - len(badge) - 3
        return Content.assemble(
            (badge, "bold reverse"), " ", heading.status(state, self.run_title, room, self.base)
        )

    def _timeline_rows(self) -> list[str]:
        """The scale and the names of the timeline's rows; empty while it is hidden."""
        high = next((rows for least, rows in TIMELINE if self.size.height >= least), 0)
        shown = bool(high) if self._timeline is None else self._timeline
        found = timeline.names(self.tape.head.effects, high or TIMELINE[-1][1]) if shown else []
        return ["", *found] if found else []

    def _paint_timeline(self, state: RunState) -> None:
        rows, hand, width = self._timeline_rows(), self.transport, self.size.width - 2
        length = hand.tape.length
        now = length if hand.following else hand.time
        column = round(now / length * width) if length else 0
        moment = timeline.moment(state.effects, length, width)
        key = (moment, rows, width, column, self.tape.ended)
        if key == self._timeline_key:
            return
        self._timeline_key = key
        shown = self.query_one("#timeline", Static)
        shown.display = bool(rows)
        shown.styles.height = len(rows)
        lines = timeline.strip(state.effects, rows[1:], hand.tape.time, now, length, width) if rows else []
        shown.update(_coloured(lines), layout=False)

    def action_timeline(self) -> None:
        """Show or hide the timeline."""
        self._timeline = not self._timeline_rows()
        self._painted = None
        self.call_after_refresh(self.flush)

    def _paint_transport(self) -> None:
        text = heading.transport(self.transport, self.size.width - 2)
        if text != self._transport_text:
            self._transport_text = text
            self.query_one("#transport", Static).update(Content(text), layout=False)

    # Keys.

    def on_key(self, event: object) -> None:
        """Digits focus panes."""
        character = getattr(event, "character", None)
        if character and character in "123456789":
            self._focus_number(int(character))

    def _focus_number(self, number: int) -> None:
        panes = list(self.panes.values())
        if number <= len(panes):
            panes[number - 1].focus()

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """A row becomes a pane."""
        message.stop()
        if message.row < len(self._plan.rows):
            self._chosen = self._plan.rows[message.row]
            self._painted = None
            self.flush()
            if pane := self.panes.get(self._chosen):
                pane.focus()

    def action_play(self) -> None:
        """Play or pause."""
        self.transport.toggle()
        self.flush()

    def action_call_on(self) -> None:
        """To the end of the next call."""
        self.transport.step_call(True)
        self._moved()

    def action_call_back(self) -> None:
        """To the end of the previous call."""
        self.transport.step_call(False)
        self._moved()

    def action_round_on(self) -> None:
        """To the next round."""
        self.transport.step_round(True)
        self._moved()

    def action_round_back(self) -> None:
        """To the previous round."""
        self.transport.step_round(False)
        self._moved()

    def action_to_start(self) -> None:
        """To the beginning."""
        self.transport.to_start()
        self._moved()

    def action_to_end(self) -> None:
        """To the end."""
        self.transport.to_end()
        self._moved()

    def action_faster(self) -> None:
        """The next speed up."""
        self.transport.faster()
        self._moved()

    def action_slower(self) -> None:
        """The next speed down."""
        self.transport.slower()
        self._moved()

    def action_zoom(self) -> None:
        """The focused pane alone, or all again."""
        was = self.has_class("-zoomed-meta") or self.has_class("-zoomed-side")
        self.remove_class("-zoomed-meta", "-zoomed-side")
        for pane in (self.meta, *self._pool):
            pane.remove_class("-zoom")
        focused = self.focused
        if not was and isinstance(focused, Pane):
            focused.add_class("-zoom")
            self.add_class("-zoomed-meta" if focused is self.meta else "-zoomed-side")

    # What is asked for.

    @property
    def focused_span(self) -> str:
        """The span whose pane has the focus; "" for the run."""
        focused = self.focused
        return next((span for span, pane in self.panes.items() if pane is focused), "")

    @property
    def effect(self) -> EffectView | None:
        """The call that is meant: the last one of the focused pane, else of the run."""
        effects = list(self.state.effects)
        own = [effect for effect in effects if effect.span == self.focused_span]
        return (own or effects)[-1] if effects else None

    @property
    def answered(self) -> EffectView | None:
        """The last model call of the focused pane, else of the run, that was answered."""
        calls = [e for e in self.state.effects if e.kind == "model" and isinstance(e.outcome, Replied)]
        own = [effect for effect in calls if effect.span == self.focused_span]
        return (own or calls)[-1] if calls else None

    @property
    def missed(self) -> bool:
        """The replay stands where it asked for something that was not recorded."""
        return isinstance(self.error, CassetteMiss) and self.transport.at_end

    def action_round(self) -> None:
        """Ask for a round and go there."""

        def go(answer: str | None) -> None:
            if answer and answer.strip().isdigit() and not self.transport.to_round(int(answer)):
                handing.note(self.app, f"this run has no round {answer.strip()}", warn=True)
            self._moved()

        self.app.push_screen(Word("go to round", "Number of the round:"), go)

    def action_inspect(self) -> None:
        """The call that is meant, exactly as it was."""
        effect = self.effect
        if isinstance(self.error, CassetteMiss) and self.missed and self.error.wanted:
            go_live = self.action_fork if self.log_path else None
            self.app.push_screen(MissingScreen(self.error, self.run_title, go_live))
        elif effect is None:
            handing.note(self.app, "no call was made yet")
        else:
            lines = lines_of(self.log_path) if self.log_path else {}
            self.app.push_screen(InspectScreen(self.state.effects, effect.number, self.run_title, lines))

    def action_program(self) -> None:
        """The last program of the focused pane, else of the run, to be run again."""
        programs = [effect for effect in self.state.effects if effect.kind == "code"]
        own = [effect for effect in programs if effect.span == self.focused_span]
        if programs:
            self.app.push_screen(ProgramScreen((own or programs)[-1], self.run_title))
        else:
            handing.note(self.app, "no program was run yet")

    def action_artifacts(self) -> None:
        """What workers have left so far, what a stream has learned, or which layers were written."""
        kinds = {event.kind for event in self.tape.events if isinstance(event, Stored)}
        if self.state.started is not None and self.state.started.method == METHOD:
            self.app.push_screen(ChainScreen(self._kept, self.run_title))
        elif not kinds:
            handing.note(self.app, "this run keeps no artifacts")
        elif "knowledge" in kinds:
            self.app.push_screen(KnowledgeScreen(lambda: self._kept()[0], self.run_title))
        else:
            self.app.push_screen(ArtifactsScreen(self._kept, self.run_title))

    def _kept(self) -> tuple[Sequence[AnyEvent], Sequence[EffectView]]:
        """The events and calls that are over where the transport stands."""
        over = None if self.transport.following else self.transport.place
        return self.tape.events[:over], self.state.effects

    def action_open(self) -> None:
        """The same as inspect."""
        self.action_inspect()

    def action_markdown(self) -> None:
        """The last reply of the focused pane as Markdown."""
        span = self.state.spans.get(self.focused_span)
        replies = [block.text for block in span.blocks if block.kind == "reply"] if span else []
        if replies:
            self.app.push_screen(ReaderScreen(replies[-1]))

    def action_find(self) -> None:
        """Ask for words."""
        self.query_one(FindBar).ask()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Mark the words in every pane."""
        for pane in self.panes.values():
            pane.find(message.words)

    def on_find_bar_closed(self) -> None:
        """Back to the panes, at the first place found; said where there is none."""
        self.meta.focus()
        self.action_next()

    def action_next(self) -> None:
        """The next place found, in the focused pane or the first that has one."""
        self._to_found(True)

    def action_previous(self) -> None:
        """The previous place found."""
        self._to_found(False)

    def _to_found(self, forward: bool) -> None:
        focused = self.focused
        order = sorted(self.panes.values(), key=lambda pane: pane is not focused)
        found = next((pane for pane in order if pane.next_found(forward)), None)
        words = self.query_one(FindBar).value
        if found is not None:
            found.focus()
        elif words:
            handing.note(
                self.app, f"{one_line(words, 40)!r} is nowhere in the panes at this moment of the run"
            )

    def action_copy(self) -> None:
        """The focused pane's text."""
        handing.copy(self.app, self._focused_pane().text)

    def action_save(self) -> None:
        """The focused pane's text, into a file."""
        handing.save(self.app, f"{self.run_title or 'run'}.txt", self._focused_pane().text)

    def _focused_pane(self) -> Pane:
        return self.panes.get(self.focused_span, self.meta)

    def action_stop(self) -> None:
        """Stop a live run after this call; a second time now."""
        if not self.going:
            handing.note(self.app, "nothing is running; q leaves this screen")
        elif self.stop.kind is None:
            self.stop.after_call()
            handing.note(self.app, "stopping after this call; x again stops now. Nothing is lost: R resumes")
        else:
            self.stop.now()

    def action_interrupt(self) -> None:
        """Copy what is selected, else stop."""
        selected = self.get_selected_text()
        if selected:
            handing.copy(self.app, selected)
        else:
            self.action_stop()

    def action_fork(self) -> None:
        """Go on differently from the call that is meant; live, from a request that was not recorded."""
        self.post_message(self.Asked(self, "go_live" if self.missed else "fork"))

    def action_follow_up(self) -> None:
        """Ask a further question."""
        self.post_message(self.Asked(self, "follow_up"))

    def action_resume(self) -> None:
        """Go on with the run."""
        self.post_message(self.Asked(self, "resume"))

    def action_replay(self) -> None:
        """Run the recorded method again."""
        self.post_message(self.Asked(self, "replay"))

    def action_export(self) -> None:
        """Write the run to share it."""
        self.post_message(self.Asked(self, "export"))

    def action_compare(self) -> None:
        """Compare with the run that this one was forked from, or with another one."""
        self.post_message(self.Asked(self, "compare"))

    def action_back(self) -> None:
        """Leave, or stop zooming; a live run is not stopped unasked."""
        if self.has_class("-zoomed-meta") or self.has_class("-zoomed-side"):
            self.action_zoom()
        elif self.going:
            self.app.push_screen(Choice("still running", STILL_RUNNING, STAY_OR_LEAVE), self._left)
        else:
            self.dismiss(self.exit_code)

    def _left(self, choice: int | None) -> None:
        if choice == 1:
            self.stop.after_call()
        elif choice == 2:
            self.run_worker(self.end_and_leave(), exit_on_error=False)

    async def end_and_leave(self) -> None:
        """Stop the run now, wait until its log is whole, leave."""
        await self.end()
        self.dismiss(self.exit_code)

    async def end(self, seconds: float = 5.0) -> None:
        """Stop the run now and wait until its log is whole."""
        self.stop.now()
        for _ in range(int(seconds / 0.02)):
            if self.tape.ended:
                return
            await asyncio.sleep(0.02)

    def _moved(self) -> None:
        self._before = self._clock()
        self.flush()


def _fitted(text: str, cells: int) -> str:
    """A text on so many cells, its cut shown."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1) + "…" if cells > 0 else ""


def _coloured(lines: list[list[timeline.Part]]) -> Content:
    """Lines of coloured parts, for a `Static`."""
    parts: list[str | tuple[str, str]] = []
    for number, line in enumerate(lines):
        parts += ["\n"] if number else []
        parts += [(text, f"${colour}") if colour else text for text, colour in line]
    return Content.assemble(*parts)
