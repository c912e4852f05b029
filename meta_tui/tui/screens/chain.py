"""The layers that a Meta^n run wrote: archive, a box a layer, code and change, score by depth, tasks.

Drawn from the view of the run's events (`evaluation.chains`) and nothing else; live or recorded. The
call that wrote a layer opens in the inspector with its exact prompt. Marks are a sign, a word and a
colour. What the solver said on a task stands in the run screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.display import one_line
from meta_tui.evaluation import chain_text
from meta_tui.evaluation.chains import Attempt, ChainView, Reader
from meta_tui.events import AnyEvent
from meta_tui.methods.meta_n.records import CandidateKept, LayerKept
from meta_tui.tui import boxes, handing, words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.sides import difference
from meta_tui.tui.state import Block, EffectView
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

Look = Callable[[], tuple[Sequence[AnyEvent], Sequence[EffectView]]]
"""The events and the calls of the run as they are shown now."""

VIEWS = ("Chain", "Layer", "Change", "Depth", "Tasks")

NARROW = 100
"""Cells below which the archive stands above the page."""


class ChainScreen(Screen[None]):
    """Layers of a run, a candidate at a time.

    Args:
        look: what is known of the run now; asked again while the screen is open.
        title: name of the run.
    """

    CSS_PATH = "chain.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (
        *"open inspect view round_back round_on to_start to_end zoom".split(),
        *"find next previous copy save help back".split(),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("v 1-5", "View"),
        ("enter", "Prompt"),
        ("[ ]", "Iteration"),
        ("z", "Zoom"),
        ("/", "Find"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "What a Meta^n run bred. On the left the archive, a line for each use of the operation: ✓ better or "
        "✗ regressed against the candidate below (any fall of the mean counts), ✓ repaired where it brings a "
        "regression back, ■ refused by the gate, ○ nothing usable. On the right the chain, a box a layer, the "
        "deepest first; the layer with its code and what was screened out; what it changed against the layer "
        "below; score by depth; or each task with its best so far, which never falls. Enter opens the exact "
        "prompt that wrote the layer; [ and ] go through the iterations; / with a name (C37, L12) goes to its line."
    )

    def __init__(self, look: Look, title: str = "") -> None:
        super().__init__()
        self._look = look
        self._title = title
        self._reader = Reader()
        self._moment: int | None = None
        self._shown: tuple[object, ...] = ()
        self._moved = False
        self.view = 0
        self.effects: Sequence[EffectView] = ()

    def compose(self) -> ComposeResult:
        """Status, views, chain, archive, page, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Static(id="views", markup=False)
        yield Static(id="chain", markup=False)
        with Horizontal(id="body"):
            with Vertical(id="archive"):
                yield Static(id="head", markup=False)
                yield Listing(self._paint_row, id="attempts")
            yield Pane(tail=False, id="page")
        yield FindBar()
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Show the run as it is now, and go on looking."""
        self.listing.focus()
        self.refresh_view()
        self.set_interval(0.5, self.refresh_view)

    def on_resize(self) -> None:
        """The archive goes above the page where there is no room beside it; boxes are drawn anew."""
        self.set_class(self.size.width < NARROW, "-narrow")
        self.call_after_refresh(self._show)

    @property
    def listing(self) -> Listing:
        """The archive."""
        return self.query_one("#attempts", Listing)

    @property
    def pane(self) -> Pane:
        """The page."""
        return self.query_one("#page", Pane)

    @property
    def chains(self) -> ChainView:
        """The run as it is shown: as it is now, or as it was after an iteration."""
        moments = self._reader.moments
        if self._moment is None or not moments:
            return self._reader.view
        return moments[min(self._moment, len(moments) - 1)]

    @property
    def attempt(self) -> Attempt | None:
        """The line under the cursor."""
        lines, row = self.chains.attempts, self.listing.cursor
        return lines[row] if row < len(lines) else None

    @property
    def candidate(self) -> CandidateKept | None:
        """The candidate of the line under the cursor, or the one that it was written for."""
        attempt = self.attempt
        if attempt is None:
            return None
        return attempt.candidate or self.chains.candidates.get(attempt.parent)

    def refresh_view(self) -> None:
        """Take what came since the last look."""
        events_, self.effects = self._look()
        if self._reader.to(events_) or not self._shown:
            self._show()

    def _show(self) -> None:
        view = self.chains
        self.listing.fill(len(view.attempts), self._first(view))
        self.query_one("#status", Static).update(Content(self._status(view)))
        names = [f"{'▸' if i == self.view else ' '}{i + 1} {name}" for i, name in enumerate(VIEWS)]
        self.query_one("#views", Static).update(Content("   ".join(names)))
        self.query_one("#head", Static).update(Content(chain_text.archive_head(self.listing.size.width)))
        kept = self.candidate
        line = chain_text.strip(view, kept, self.size.width - 2) if kept else "nothing is evaluated yet"
        self.query_one("#chain", Static).update(Content(line))
        self._show_page(view)

    def _first(self, view: ChainView) -> int | None:
        """The line of the best chain, until a person moves the cursor or reads on in the page."""
        if self._moved or view.best is None or self.pane.top:
            return None
        best = view.best.best
        return next((one.number for one in view.attempts if one.id == best), None)

    def _show_page(self, view: ChainView) -> None:
        pane, attempt = self.pane, self.attempt
        shown = (self.view, attempt.number if attempt else None)
        if shown != self._shown:
            pane.clear()
        self._shown = shown
        pane.caption(f"{one_line(attempt.id, 30)}: {VIEWS[self.view]}" if attempt else VIEWS[self.view])
        pane.show(page(view, attempt, self.view, max(boxes.LEAST, pane.size.width - 1)))

    def _status(self, view: ChainView) -> str:
        parts = [self._title, *facts(view)]
        if self._moment is not None:
            parts.insert(1, f"as after iteration {view.best.iteration if view.best else 0} of {self._last}")
        return f"CHAIN  {one_line(' · '.join(part for part in parts if part), 190)}"

    @property
    def _last(self) -> int:
        best = self._reader.view.best
        return best.iteration if best else 0

    def _paint_row(self, row: int, width: int) -> Sequence[Part]:
        lines = self.chains.attempts
        return chain_text.archive_line(self.chains, lines[row], width) if row < len(lines) else ()

    # Keys.

    def on_key(self, event: events.Key) -> None:
        """Digits are views."""
        if event.character and event.character in "12345":
            self.view = int(event.character) - 1
            self._show()

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another line of the archive."""
        self._moved = True
        self._show()

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """The prompt behind a line."""
        self.action_open()

    def action_open(self) -> None:
        """The call that wrote the layer of this line, exactly as it was sent."""
        attempt = self.attempt
        call = call_of(attempt, self.effects) if attempt else None
        if call is None:
            handing.note(self.app, "no call stands behind this line: it is the base solver or was given")
            return
        self.app.push_screen(InspectScreen(self.effects, call.number, self._title))

    def action_inspect(self) -> None:
        """The same."""
        self.action_open()

    def action_view(self) -> None:
        """The next view."""
        self.view = (self.view + 1) % len(VIEWS)
        self._show()

    def action_round_on(self) -> None:
        """As it was after the next iteration; behind the last the run is followed."""
        if self._moment is not None:
            after = self._moment + 1
            self._stand(None if after >= len(self._reader.moments) else after)

    def action_round_back(self) -> None:
        """As it was after the iteration before."""
        moments = len(self._reader.moments)
        if moments:
            self._stand(max(0, (moments if self._moment is None else self._moment) - 1))

    def action_to_start(self) -> None:
        """As it was when only the seed was evaluated."""
        self._stand(0 if self._reader.moments else None)

    def action_to_end(self) -> None:
        """As it is now; a live run is followed again."""
        self._stand(None)

    def _stand(self, moment: int | None) -> None:
        self._moment = moment
        self._show()

    def action_zoom(self) -> None:
        """The page alone, or the archive beside it again."""
        self.toggle_class("-zoomed")
        (self.pane if self.has_class("-zoomed") else self.listing).focus()
        self.call_after_refresh(self._show)

    def action_find(self) -> None:
        """Ask for words."""
        self.query_one(FindBar).ask()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Mark the words; the name of a candidate or a layer goes to its line."""
        self.pane.find(message.words)
        name = message.words.strip().casefold()
        lines = (one for one in self.chains.attempts if name in names(one))
        if name and (found := next(lines, None)) is not None:
            self.listing.move_to(found.number)
        else:
            self.pane.next_found()

    def on_find_bar_closed(self) -> None:
        """Back to the archive, or to the page where it is alone."""
        (self.pane if self.has_class("-zoomed") else self.listing).focus()

    def action_next(self) -> None:
        """The next place found."""
        self.pane.next_found()

    def action_previous(self) -> None:
        """The previous place found."""
        self.pane.next_found(False)

    def action_copy(self) -> None:
        """Copy the page."""
        handing.copy(self.app, self.pane.text)

    def action_save(self) -> None:
        """Write the archive and every page of this line to a file."""
        handing.save(self.app, f"{self._title or 'run'}-chain.txt", whole(self.chains, self.attempt))

    def action_back(self) -> None:
        """Leave, or give the archive its place again."""
        if self.has_class("-zoomed"):
            self.action_zoom()
        else:
            self.dismiss()


def facts(view: ChainView) -> list[str]:
    """What the status line says of a run."""
    found = []
    if view.best is not None:
        found.append(f"best {view.best.best} {chain_text.number(view.best.mean)}")
        found.append(f"of tasks {chain_text.number(view.best.task_mean)}")
    if view.stop is not None:
        found.append(view.stop.reason.replace("_", " "))
    elif view.under is not None and not view.ended:
        found.append(f"evaluating {view.under[0]}")
    found += [words.count(len(view.candidates), "candidate"), words.count(len(view.layers), "layer")]
    found.append(str(view.settings.get("mode", "")))
    if view.unreadable:
        found.append(f"▲ {words.count(view.unreadable, 'record')} unreadable")
    return found


def names(attempt: Attempt) -> set[str]:
    """What a line goes by, in small letters."""
    found = {attempt.id, attempt.layer.id if attempt.layer else "", attempt.call.id if attempt.call else ""}
    return {name.casefold() for name in found if name}


def call_of(attempt: Attempt, effects: Sequence[EffectView]) -> EffectView | None:
    """The call that wrote the layer of a line."""
    if not attempt.span:
        return None
    return next((one for one in effects if one.span == attempt.span and one.kind == "model"), None)


def whole(view: ChainView, attempt: Attempt | None, width: int = 100) -> str:
    """The archive, and every page of a line of it, as text."""
    parts = [chain_text.plain(chain_text.archive_lines(view, width))]
    for number, name in enumerate(VIEWS):
        parts.append(f"\n{name}\n" + "\n".join(block.text for block in page(view, attempt, number, width)))
    return "\n".join(parts) + "\n"


def page(view: ChainView, attempt: Attempt | None, number: int, width: int) -> tuple[Block, ...]:
    """The blocks of a view on a line of the archive, for so many cells."""
    if attempt is None:
        return (Block("notice", ("nothing is in the archive yet",)),)
    kept = attempt.candidate or view.candidates.get(attempt.parent)
    match number:
        case 0:
            return boxes.drawn(_chain(view, attempt, kept, width))
        case 1:
            return _layer(view, attempt, width)
        case 2:
            return _change(view, attempt)
        case 3:
            return boxes.drawn(chain_text.depth_lines(view, kept, width))
    return boxes.drawn(chain_text.task_lines(view, kept, width))


def _chain(
    view: ChainView, attempt: Attempt, kept: CandidateKept | None, width: int
) -> list[chain_text.Line]:
    """A box a layer, the deepest first: that is the order in which they speak."""
    lines: list[chain_text.Line] = []
    if attempt.candidate is None:
        lines += _box(view, attempt.layer, None, width, chain_text.origin_entries(view, attempt))
    line = view.lineage(kept) if kept else []
    whose = {one.chain[-1] if one.chain else "": one for one in reversed(line)}
    if kept is not None:  # a child without a layer of its own stands on its parent's newest
        whose[kept.chain[-1] if kept.chain else ""] = kept
    for layer in reversed(view.chain(kept)) if kept else ():
        lines += _box(view, layer, whose.get(layer.id), width)
    if kept is not None:
        lines += _box(view, None, whose.get(""), width)
    return lines[:-1] if lines and lines[-1] == _ARROW else lines


_ARROW: chain_text.Line = (("    │ what it says is heard below", "quiet"),)


def _box(
    view: ChainView,
    layer: LayerKept | None,
    kept: CandidateKept | None,
    width: int,
    more: Sequence[chain_text.Entry] = (),
) -> list[chain_text.Line]:
    head = chain_text.layer_head(view, layer, kept)
    if layer is not None:
        return [
            *boxes.box(head, [*chain_text.layer_entries(view, layer, kept), *more], width),
            _ARROW,
        ]
    if more:
        return [*boxes.box((("no layer", "head"),), more, width), _ARROW]
    return boxes.box(head, chain_text.candidate_entries(view, kept) if kept else [], width)


def _layer(view: ChainView, attempt: Attempt, width: int) -> tuple[Block, ...]:
    """How the layer of a line came about, its code, and what was screened out of it."""
    layer = attempt.layer
    head = chain_text.layer_head(view, layer, attempt.candidate)
    origin = chain_text.origin_entries(view, attempt)
    first = boxes.drawn(boxes.box(head, origin, width))
    if layer is None:
        said = "this line has no layer of its own: it is the base solver, or nothing usable came"
        return (*first, Block("notice", (said,)))
    parts = [*_heading("strategy"), Block("reply", (layer.rationale or "none given",))]
    if layer.pre_process:
        parts += [*_heading("pre-process"), _python(layer.pre_process)]
    for helper in layer.library:
        parts += [*_heading(f"helper {helper.name}"), _python(helper.source)]
    for out in layer.screened:
        parts += _heading(f"screened out: {out.part}")
        parts.append(Block("failure", (f"{out.stage}: {out.reason}",)))
        parts += [_python(out.source)] if out.source else []
    return (*first, *parts)


def _heading(text: str) -> list[Block]:
    return [Block("round", (one_line(text, 80),))]


def _python(code: str) -> Block:
    return Block("reply", (f"```python\n{code}\n```",))


def _change(view: ChainView, attempt: Attempt) -> tuple[Block, ...]:
    """What a layer changed against the layer below: pre-process code, overridden and new helpers."""
    layer = attempt.layer
    if layer is None:
        return (Block("notice", ("this line has no layer of its own",)),)
    under = view.layers.get(layer.below)
    if under is None:
        return (Block("notice", ("below is the base solver: all of the layer is new",)), *_new(layer))
    below = chain_text.below_of(view, layer)
    parts = [Block("asked", (f"{layer.id} against {under.id}, the layer below",))]
    parts += [*_heading("pre-process"), *_differs(under.pre_process, layer.pre_process)]
    for helper in layer.library:
        old = below.get(helper.name)
        word = "overridden" if old else "new"
        parts += [
            *_heading(f"helper {helper.name}: {word}"),
            *_differs(old.source if old else "", helper.source),
        ]
    kept = [name for name in below if name not in chain_text.names_of(layer)]
    return (*parts, *(Block("same", (f"helper {name} is kept",)) for name in kept))


def _new(layer: LayerKept) -> list[Block]:
    parts = [*_heading("pre-process"), *_differs("", layer.pre_process)] if layer.pre_process else []
    for helper in layer.library:
        parts += [*_heading(f"helper {helper.name}: new"), *_differs("", helper.source)]
    return parts


def _differs(old: str, new: str) -> tuple[Block, ...]:
    if old == new:
        return (Block("same", ("the same" if new else "neither has any",)),)
    if not old:
        return (Block("added", (new,)),)
    return difference(old, new)
