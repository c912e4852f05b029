"""The run screen: a run as it happens, live or recorded.

It starts a source, keeps what comes on a tape, and paints the state that its transport points at,
twelve times a second at most. It cannot tell a live run from a recorded one: the badge and the
way the transport starts are given to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Literal

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.display import clean, one_line
from meta_tui.errors import MetaTuiError
from meta_tui.events import AnyEvent, Replied, RoundStarted
from meta_tui.run import Stop
from meta_tui.tui import words
from meta_tui.tui.arrange import POOL, Plan, arrange, rows_shown
from meta_tui.tui.keymap import bindings
from meta_tui.tui.origin import Source
from meta_tui.tui.state import RunState, SpanView, depth
from meta_tui.tui.tape import Tape, Transport
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

Badge = Literal["LIVE", "REPLAY", "PLAYBACK"]
FPS = 12
NARROW = 100
"""Cells below which the panes stand above each other."""


class RunScreen(Screen[None]):
    """One run.

    Args:
        source: what gives the events.
        badge: what kind of run this is, for people.
        name: the run's name, for people.
        speed: of the playback; 0 shows the end at once.
        fps: paintings a second; 0 paints only when `flush` is called (tests).
        clock: seconds, for the pace.
    """

    CSS_PATH = "run.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (
        *"play call_back call_on round_back round_on slower faster to_start to_end zoom help back".split(),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("space", "Play"),
        ("h l", "Call"),
        ("[ ]", "Round"),
        ("< >", "Speed"),
        ("z", "Zoom"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "A run as it happened. On the left the Meta Model, which reads everything and asks; on the "
        "right each consultation, which sees only what stands above its reply. The line at the "
        "bottom is the whole run: bars are rounds, dots are calls."
    )

    def __init__(
        self,
        source: Source,
        *,
        badge: Badge = "PLAYBACK",
        title: str = "",
        speed: float = 1.0,
        fps: float = FPS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.source = source
        self.badge = badge
        self.run_title = title
        self.stop = Stop()
        self.tape = Tape()
        self.transport = Transport(self.tape, following=badge != "PLAYBACK", speed=speed or 1.0)
        self._at_once = speed == 0
        self._fps = fps
        self._clock = clock
        self._before = clock()
        self._painted: RunState | None = None
        self._plan = Plan((), ())
        self._chosen: str | None = None
        self._pool: list[Pane] = []

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
        yield Static(id="transport", markup=False)
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Start the source and the one timer."""
        self._pool = list(self.query("#panes Pane").results(Pane))
        self.meta.caption("1 Meta Model")
        self.meta.focus()
        self.run_worker(self._work(), exit_on_error=False, exclusive=True)
        self._before = self._clock()
        if self._fps:
            self.set_interval(1 / self._fps, self.flush)

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

    async def _work(self) -> None:
        try:
            await self.source(self.feed, self.stop)
        except MetaTuiError as error:
            self.tape.break_off(str(error))
        except Exception as error:  # noqa: BLE001 - the worker's boundary: a person must read it
            self.tape.break_off(f"{type(error).__name__}: {error}")
        self.tape.ended = True
        if self._at_once:
            self.transport.to_end()

    def feed(self, event: AnyEvent) -> None:
        """One event from the source."""
        self.tape.add(event)

    # Painting.

    def flush(self) -> None:
        """Let time pass and paint what changed."""
        now = self._clock()
        self.transport.advance(now - self._before)
        self._before = now
        state = self.transport.state
        if state is not self._painted:
            self._painted = state
            self._paint(state)
        self._paint_transport()

    def on_resize(self) -> None:
        """Another size may hold another number of panes."""
        self.set_class(self.size.width < NARROW, "-stacked")
        self._painted = None
        self.call_after_refresh(self.flush)

    def _paint(self, state: RunState) -> None:
        self.query_one("#status", Static).update(self._status(state), layout=False)
        spans = [span for span in state.spans.values() if span.id]
        side = self.query_one("#side")
        side.display = bool(spans)
        if spans:
            self._place(
                arrange(spans, self._chosen, self._side_width(), side.size.height or self.size.height - 3)
            )
        root = state.spans.get("")
        if root:
            self.meta.caption(self._caption("1", root, self.meta), self._root_facts(state, root))
            self.meta.show(root.blocks)
        for number, (pane, id_) in enumerate(zip(self._pool, self._plan.panes, strict=False), 2):
            if span := state.spans.get(id_):
                pane.caption(self._caption(str(number), span, pane), self._facts(span))
                pane.show(span.blocks)
        self.query_one("#rows", Listing).refresh()

    def _side_width(self) -> int:
        width = self.query_one("#side").size.width
        return width or (self.size.width if self.size.width < NARROW else self.size.width // 2)

    def _place(self, plan: Plan) -> None:
        if plan == self._plan:
            return
        self._plan = plan
        for index, pane in enumerate(self._pool):
            pane.set_class(index >= len(plan.panes), "-off")
        self.query_one("#panes").set_class(plan.columns == 2, "-two")
        rows = self.query_one("#rows", Listing)
        rows.display = bool(plan.rows)
        shown = min(len(plan.rows), rows_shown(self.query_one("#side").size.height or self.size.height))
        rows.styles.height = shown
        rows.fill(len(plan.rows), len(plan.rows) - 1)

    def _paint_row(self, row: int, width: int) -> list[Part]:
        if row >= len(self._plan.rows):
            return []
        span = self.state.spans.get(self._plan.rows[row])
        if span is None:
            return []
        glyph, word, colour = words.GLYPHS[span.phase]
        last = one_line(span.blocks[-1].text, 200) if span.blocks else ""
        head = f"{'  ' * (depth(span.id) - 1)}{glyph} {one_line(span.name, 40)}"
        return [(head, colour), (f"  {word}  {last}"[: max(0, width - cell_len(head))], "quiet")]

    def _caption(self, number: str, span: SpanView, pane: Pane) -> str:
        glyph = words.GLYPHS[span.phase][0]
        mark = "> " if pane.has_focus else ""
        where = f" · round {span.round}" if span.round and span.id else ""
        return f"{mark}{number} {glyph} {one_line(span.name, 50) or 'run'}{where}"

    def _facts(self, span: SpanView) -> str:
        if span.phase in ("running", "retrying"):
            return words.state_word(span.phase)
        return span.facts or words.state_word(span.phase)

    def _root_facts(self, state: RunState, root: SpanView) -> str:
        return words.state_word(state.status if state.status in words.GLYPHS else root.phase)

    def _status(self, state: RunState) -> Content:
        started = state.started
        names = [self.run_title] if self.run_title else []
        if started:
            names += [" · ".join(clean(word) for word in (started.method, started.model) if word)]
        parts: list[str | tuple[str, str]] = [
            (f" {self.badge} ", "bold reverse"),
            " ",
            one_line("  ".join(names), 60),
        ]
        if state.limit:
            parts.append(f"   round {state.round}/{state.limit}")
        parts.append(f"   calls {state.calls}")
        if state.cached:
            parts.append(f" (◆ {state.cached} cached)")
        if state.code_runs:
            parts.append(f"   code {state.code_runs}")
        parts.append(f"   tok {words.run_tokens(state)}   {words.run_cost(state)}")
        parts.append(f"   {words.state_word(state.status)}")
        return Content.assemble(*parts)

    def _paint_transport(self) -> None:
        hand = self.transport
        if hand.following:
            head = "● following the end"
        else:
            glyph = "▶" if hand.playing else ("■" if hand.at_end else "‖")
            head = f"{glyph} {hand.speed:g}x  {words.seconds(hand.time)} of {words.seconds(self.tape.length)}"
        room = max(0, self.size.width - cell_len(head) - 6)
        self.query_one("#transport", Static).update(Content(f"{head}  {self._track(room)}"), layout=False)

    def _track(self, width: int) -> str:
        """The run as a line: bars are rounds, dots are calls, the heavy part is over."""
        length = self.tape.length
        if width < 12 or length <= 0:
            return ""
        done = width if self.transport.following else round(self.transport.time / length * (width - 1))
        cells = ["━" if i <= done else "─" for i in range(width)]
        for kind, mark in ((Replied, "•"), (RoundStarted, "┃")):
            for place in self.tape.marks(kind):
                cells[round(self.tape.time(place) / length * (width - 1))] = mark
        if not self.transport.following:
            cells[min(done, width - 1)] = "◉"
        return "".join(cells)

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

    def on_descendant_focus(self) -> None:
        """The focused pane says so in its title."""
        self._painted = None

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
        for pane in self._pool:
            pane.remove_class("-zoom")
        focused = self.focused
        if not was and isinstance(focused, Pane):
            focused.add_class("-zoom")
            self.add_class("-zoomed-meta" if focused is self.meta else "-zoomed-side")

    def action_back(self) -> None:
        """Leave, or stop zooming."""
        if self.has_class("-zoomed-meta") or self.has_class("-zoomed-side"):
            self.action_zoom()
        else:
            self.stop.now()
            self.dismiss()

    def _moved(self) -> None:
        self._before = self._clock()
        self.flush()
