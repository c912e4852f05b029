"""The evaluations of one's own, to choose one: what was evaluated, and how far each is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui import store
from meta_tui.display import one_line
from meta_tui.errors import UsageError
from meta_tui.evaluation import leases
from meta_tui.evaluation.cells import PLAN_FILE, Plan, read_plan
from meta_tui.tui import words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.screens.evaluation import EvaluationScreen
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

EMPTY = (
    "No evaluations yet. One that asks no model, to look around:\n\n"
    "meta-tui evaluate --method standard,zero_shot_cot --task words --model simulated:answers\n\n"
    "With a model of yours give --model provider/name. An evaluation that stands elsewhere is opened with\n\n"
    "meta-tui report FOLDER --app"
)


class Found(NamedTuple):
    """An evaluation's folder: its plan (None where it cannot be read), logs, and whether it runs."""

    folder: Path
    plan: Plan | None
    logs: int = 0
    running: bool = False
    problem: str = ""


def load() -> list[Found]:
    """The evaluations in the home of runs, the latest first."""
    root = store.home().root / "evaluations"
    plans = sorted(root.glob(f"*/{PLAN_FILE}"), key=lambda path: path.stat().st_mtime, reverse=True)
    return [found(path.parent) for path in plans]


def found(folder: Path) -> Found:
    """What there is in a folder."""
    try:
        plan = read_plan(folder)
    except UsageError as error:
        return Found(folder, None, problem=str(error))
    logs = sum(1 for _ in (folder / "cells").glob("*.jsonl"))
    running = any(leases.held(path) for path in (folder / "cells").glob("*.lease"))
    return Found(folder, plan, logs, running)


class EvaluationsScreen(Screen[None]):
    """The list of evaluations."""

    CSS_PATH = "evaluations.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"open help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (("enter", "Open"), ("?", "Help"), ("q", "Back"))
    ABOUT = (
        "Your evaluations, the latest first: what was run on what, and how many cells have begun. Enter opens one, "
        "also while it is running. Those that were made with --to stand elsewhere: `meta-tui report FOLDER --app`."
    )

    def __init__(self, fetch: Callable[[], Sequence[Found]] = load) -> None:
        super().__init__()
        self._fetch = fetch
        self.found: list[Found] = []

    def compose(self) -> ComposeResult:
        """Title, list, page, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Listing(self._paint, id="rows")
        yield Pane(tail=False, id="page")
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Read the folders."""
        self.query_one("#rows", Listing).focus()
        self.query_one("#page", Pane).can_focus = False
        self.fill()

    def on_screen_resume(self) -> None:
        """Something may have run meanwhile."""
        self.fill()

    def fill(self) -> None:
        """Show what there is."""
        self.found = list(self._fetch())
        self.set_class(not self.found, "-nothing")
        self.query_one("#rows", Listing).fill(len(self.found))
        self.query_one("#status", Static).update(Content(f"EVALUATIONS  {len(self.found)}"))
        self._show()

    def _show(self) -> None:
        pane = self.query_one("#page", Pane)
        pane.clear()
        pane.caption("evaluation")
        pane.show((Block("reply", (self._about(),)),))

    def _about(self) -> str:
        if not self.found:
            return EMPTY
        one = self.found[self.query_one("#rows", Listing).cursor]
        if one.plan is None:
            return one.problem
        lines = [str(one.folder), f"tasks: {', '.join(one.plan.tasks)}"]
        lines += [f"methods: {', '.join(v.label for v in one.plan.variants)}"]
        lines += [f"models: {', '.join(one.plan.models)}", f"repeats: {one.plan.repeats}"]
        return "\n".join(lines + ([f"streams of {one.plan.stream}"] if one.plan.stream else []))

    def _paint(self, row: int, width: int) -> list[Part]:
        if row >= len(self.found):
            return []
        one = self.found[row]
        if one.plan is None:
            return [
                (f"{words.state_word('damaged'):<12}", "fail"),
                (one_line(one.folder.name, width - 14), ""),
            ]
        state = words.state_word("running") if one.running else ""
        what = f"{', '.join(one.plan.tasks)}: {', '.join(v.label for v in one.plan.variants)}"
        return [
            (f"{state:<12}", words.colour("running")),
            (f"{one.logs:>6} cells  ", "quiet"),
            (one_line(what, max(10, width - 28)), ""),
        ]

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another one."""
        self._show()

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """Open it."""
        self.action_open()

    def action_open(self) -> None:
        """Open the evaluation under the cursor."""
        if self.found:
            self.app.flow(self._open(self.found[self.query_one("#rows", Listing).cursor].folder))  # type: ignore[attr-defined]

    async def _open(self, folder: Path) -> None:
        self.app.push_screen(EvaluationScreen(folder))

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()
