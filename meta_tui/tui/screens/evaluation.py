"""An evaluation: how it is getting on, what it found, who won which sample; running or ended.

Drawn from its folder alone (`evaluation.watching`), so that it may be run by this process, by
another or by another machine. Where this app runs it, it can be stopped here. Numbers are those of
`report`, made from the same logs; nothing on this screen asks a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui.display import one_line
from meta_tui.errors import MetaTuiError
from meta_tui.evaluation import diagnosing, report, textplots
from meta_tui.evaluation.results import Row
from meta_tui.evaluation.watching import Standing, Watch
from meta_tui.run import Stop
from meta_tui.tui import handing, words
from meta_tui.tui.keymap import bindings
from meta_tui.tui.screens.compare import CompareScreen, recordings
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.find import FindBar
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part
from meta_tui.tui.widgets.pane import Pane

Work = Callable[[Stop], Awaitable[None]]
"""Runs the evaluation in this process until it ends or is stopped."""

VIEWS = ("Table", "Plots", "Pairs", "Samples", "Failures")
TABLE, PLOTS, PAIRS, SAMPLES, FAILURES = range(5)
EVERY = 1.0
"""Seconds between two looks at the folder."""

NO_PAIRS = "One method only: there is nothing to compare. Give several with --method A,B."
NO_FAILURES = "No cell failed."
NOT_BEGUN = (
    "No cell has begun. The `meta-tui evaluate` command that made this folder runs them (give this folder with "
    "--to); this screen follows it from wherever it is run."
)
WON = {"a": "only A", "b": "only B", "both": "both", "neither": "neither"}

Line = tuple[tuple[str, ...], str]
"""Cells of a row of the list, and the colour of the row."""


class Column(NamedTuple):
    """A column of a list: its head, its cells (0: what is left), and from which width it is shown."""

    head: str
    cells: int
    least: int = 0


COLUMNS: dict[str, tuple[Column, ...]] = {
    "table": (
        Column("task", 12),
        Column("method", 0),
        Column("model", 22, 150),
        Column("accuracy", 8),
        Column("95 % interval", 15),
        Column("correct", 8),
        Column("rounds", 6, 90),
        Column("calls", 7, 100),
        Column("tokens", 10, 130),
        Column("cost", 9),
        Column("cost/correct", 12, 140),
    ),
    "pairs": (
        Column("task", 12),
        Column("model", 22, 150),
        Column("difference", 0),
        Column("points", 6),
        Column("95 % interval", 16),
        Column("won", 9, 100),
        Column("p", 9, 130),
        Column("p (Holm)", 9, 110),
        Column("verdict", 14),
    ),
    "duels": (
        Column("sample", 18),
        Column("model", 22, 150),
        Column("repeat", 6, 100),
        Column("right", 8),
        Column("answer of A", 0),
        Column("answer of B", 0),
    ),
    "samples": (
        Column("sample", 18),
        Column("method", 0),
        Column("model", 22, 150),
        Column("repeat", 6, 110),
        Column("verdict", 11),
        Column("calls", 5, 90),
        Column("answer", 0),
    ),
    "failures": (Column("status", 11), Column("cells", 5), Column("reason", 0)),
}


class EvaluationScreen(Screen[None]):
    """One evaluation.

    Args:
        folder: of the evaluation.
        grader: whose verdicts count.
        work: runs it here; None only looks.
        every: seconds between looks; 0 looks once.

    Raises:
        UsageError: the folder holds no evaluation.
    """

    CSS_PATH = "evaluation.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"open view find next previous copy save stop help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("v 1-5", "View"),
        ("enter", "Open"),
        ("/", "Find"),
        ("y", "Copy"),
        ("x", "Stop"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "An evaluation, recomputed from its logs; while it is running, here or anywhere, what is ready so far. "
        "Table: methods on tasks with 95 % intervals. Plots: the same on one scale, streams by batch, score by "
        "allowed calls. Pairs: two methods on the same samples; enter lists who won which sample, enter "
        "there shows both runs side by side. Samples: every cell; enter plays its run. Failures: why cells "
        "failed; `meta-tui evaluate .. --again` runs only these again. x stops an evaluation that this app "
        "runs; the same command goes on with it."
    )

    def __init__(
        self, folder: Path, *, grader: str = "strict", work: Work | None = None, every: float = EVERY
    ) -> None:
        super().__init__()
        self.watch_ = Watch(folder, grader)
        self.folder = folder
        self.work = work
        self.stop = Stop()
        self.going = work is not None
        self._ended = asyncio.Event()
        self.standing: Standing | None = None
        self.summary: dict[str, Any] = {}
        self.problem = ""
        self.view = TABLE
        self.pair: dict[str, Any] | None = None
        self.lines: list[Line] = []
        self.behind: list[Any] = []
        self._every = every
        self._looking = False

    def compose(self) -> ComposeResult:
        """Status, progress, views, list with its heads, page, hints."""
        yield Static(id="status", classes="bar", markup=False)
        yield Static(id="progress", markup=False)
        yield Static(id="views", markup=False)
        with Vertical(id="body"):
            yield Static(id="heads", markup=False)
            yield Listing(self._paint, id="rows")
            yield Pane(tail=False, id="page")
        yield FindBar()
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Look at the folder, go on looking, and run what is to be run."""
        self.query_one("#rows", Listing).focus()
        self._show()
        self.look()
        if self._every:
            self.set_interval(self._every, self.look)
        if self.work is not None:
            self.run_worker(self._run_here(self.work), exit_on_error=False)

    def on_resize(self) -> None:
        """Columns and plots depend on the width."""
        if self.is_mounted:
            self._show()

    # Looking.

    def look(self) -> None:
        """Look at the folder, unless a look is under way."""
        if not self._looking:
            self._looking = True
            self.run_worker(self._look(), exit_on_error=False)

    async def _look(self) -> None:
        try:
            await asyncio.to_thread(self._read)
        except (MetaTuiError, OSError) as error:
            self.problem = str(error)
        finally:
            self._looking = False
        self._show()

    def _read(self) -> None:
        """Read what changed; in a thread of its own, with a loop of its own for graders."""
        standing = asyncio.run(self.watch_.look(self._partly))
        if standing != self.standing:
            self._take(standing, whole=not standing.running)
        self.problem = ""

    def _partly(self, standing: Standing) -> None:
        self._take(standing, whole=False)
        self.app.call_from_thread(self._show)

    def _take(self, standing: Standing, whole: bool) -> None:
        found = report.summary(standing.plan, standing.rows, self.watch_.grader)
        if whole and any(one.method in diagnosing.METHODS for one in standing.plan.variants):
            runs = asyncio.run(diagnosing.of_folder(self.folder, self.watch_.grader))
            found["diagnostics"] = diagnosing.grouped(runs)
        self.standing, self.summary = standing, found

    async def _run_here(self, work: Work) -> None:
        try:
            await work(self.stop)
        except (MetaTuiError, OSError) as error:
            self.problem = str(error)
            handing.note(self.app, str(error), warn=True)
        finally:
            self.going = False
            self._ended.set()
        self.look()

    async def end(self) -> None:
        """Stop what runs here and wait until its logs are whole."""
        self.stop.now()
        await self._ended.wait()

    # Painting.

    def _show(self) -> None:
        if not self.is_attached:
            return  # it was left while the folder was being read
        self._fill_lines()
        listing = self.query_one("#rows", Listing)
        self.set_class(self.view == PLOTS, "-plots")
        listing.styles.height = max(3, min(len(self.lines), (self.size.height - 6) // 2))
        listing.fill(len(self.lines))
        self.query_one("#status", Static).update(Content(one_line(self._status(), self.size.width - 2)))
        self.query_one("#progress", Static).update(Content(progress(self.standing, self.size.width - 2)))
        names = [f"{'▸' if i == self.view else ' '}{i + 1} {name}" for i, name in enumerate(VIEWS)]
        self.query_one("#views", Static).update(Content("  ".join(names)))
        # Behind the plots the list has no width of its own yet; it will have that of the screen.
        width = listing.size.width or self.size.width - 2
        self.query_one("#heads", Static).update(Content(_row(self._heads(), self._columns(width))))
        self._show_page()

    def _status(self) -> str:
        plan = self.watch_.plan
        head = (
            f"EVALUATION  {words.state_word(self.standing.state)}  "
            if self.standing
            else "EVALUATION  reading ..  "
        )
        parts = [", ".join(plan.tasks), f"{self.watch_.grader} grader"]
        parts += [f"streams of {plan.stream}"] if plan.stream else []
        parts += ["runs here"] if self.going else []
        return head + " · ".join([*parts, ", ".join(plan.models), self.folder.name])

    def _show_page(self) -> None:
        pane = self.query_one("#page", Pane)
        pane.caption(self._caption(), "")
        blocks = self._page()
        if not pane.holds(blocks):
            pane.clear()
            pane.show(blocks)

    def _caption(self) -> str:
        if self.pair is not None and self.view == PAIRS:
            return f"A {one_line(self.pair['a'], 40)} · B {one_line(self.pair['b'], 40)}"
        return VIEWS[self.view]

    def _page(self) -> tuple[Block, ...]:
        warned = [
            Block("notice", (line,)) for line in report.simulation_lines(self.summary or {"simulated": []})
        ]
        if self.problem:
            return (Block("failure", (self.problem,)),)
        if self.standing is None:
            return (Block("notice", ("the logs are being read ..",)),)
        if self.standing.state == "waiting":
            return (*warned, Block("notice", (NOT_BEGUN,)))
        if self.view == PLOTS:
            return (Block("reply", (textplots.all_of(self.summary, max(40, self.size.width - 6)),)), *warned)
        if not self.behind:
            return (Block("notice", (NO_PAIRS if self.view == PAIRS else NO_FAILURES,)),)
        return (*self._about(self.behind[self._cursor()]), *warned)

    def _about(self, one: Any) -> tuple[Block, ...]:
        """The page of the row under the cursor."""
        match self.view:
            case 0:
                plot = "\n".join(textplots.accuracy(self.summary, max(40, self.size.width - 6)))
                return (Block("reply", (textplots.details(one),)), Block("reply", (plot,)))
            case 2 if self.pair is not None:
                return _duel_page(one)
            case 2:
                return (Block("reply", (_pair_text(one),)),)
            case 3:
                return _sample_page(one, self.watch_.grader)
            case _:
                return (Block("reply", ("\n".join(report.failure_lines([one])),)),)

    def _cursor(self) -> int:
        return min(self.query_one("#rows", Listing).cursor, len(self.behind) - 1)

    def _columns(self, width: int) -> list[tuple[int, int]]:
        return fitted(COLUMNS[self._kind()], width)

    def _heads(self) -> tuple[str, ...]:
        return tuple(column.head for column in COLUMNS[self._kind()])

    def _kind(self) -> str:
        if self.view == PAIRS and self.pair is not None:
            return "duels"
        return ("table", "table", "pairs", "samples", "failures")[self.view]

    def _paint(self, number: int, width: int) -> list[Part]:
        if number >= len(self.lines):
            return []
        cells, colour = self.lines[number]
        return [(_row(cells, self._columns(width)), colour)]

    def _fill_lines(self) -> None:
        """The rows of the list, and what stands behind each."""
        self.behind = self._behind()
        makers = {"table": _table_line, "pairs": _pair_line, "duels": _duel_line, "failures": _failure_line}
        kind = self._kind()
        if kind == "samples":
            self.lines = [_sample_line(one, self.watch_.grader) for one in self.behind]
        else:
            self.lines = [makers[kind](one) for one in self.behind]

    def _behind(self) -> list[Any]:
        if not self.summary or self.standing is None or self.view == PLOTS:
            return []
        if self.view == PAIRS and self.pair is not None:
            chosen = self.pair
            found = report.duels(self.standing.rows, chosen["a"], chosen["b"], self.watch_.grader)
            return [d for d in found if d["model"] == chosen["model"] and _task(d) == chosen["task"]]
        if self.view == SAMPLES:
            return list(self.standing.rows)
        return list(self.summary[{TABLE: "table", PAIRS: "pairs", FAILURES: "failures"}[self.view]])

    # Keys.

    def on_key(self, event: events.Key) -> None:
        """Digits are views."""
        if event.character and event.character in "12345" and not isinstance(self.focused, FindBar):
            self._to_view(int(event.character) - 1)

    def _to_view(self, view: int) -> None:
        self.view, self.pair = view, None
        self.query_one("#rows", Listing).cursor = 0
        self.query_one("#page" if view == PLOTS else "#rows").focus()
        self._show()

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Another row."""
        self._show_page()

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        """What stands behind a row."""
        self.action_open()

    def action_view(self) -> None:
        """The next view."""
        self._to_view((self.view + 1) % len(VIEWS))

    def action_open(self) -> None:
        """A pair's samples, both runs of a sample, a cell's run, or a run that failed."""
        if not self.behind:
            return
        one = self.behind[self._cursor()]
        if self.view == PAIRS and self.pair is None:
            self.pair = one
            self.query_one("#rows", Listing).cursor = 0
            self._show()
        elif self.view == PAIRS:
            self.app.flow(self._both(one))  # type: ignore[attr-defined]
        elif self.view in (SAMPLES, FAILURES):
            self._open_log(one.log if isinstance(one, Row) else one["logs"][0])
        else:
            self._to_view(SAMPLES)

    async def _both(self, duel: dict[str, Any]) -> None:
        left, right = recordings(self.folder / duel["log_a"], self.folder / duel["log_b"])
        self.app.push_screen(CompareScreen(left, right))

    def _open_log(self, log: str) -> None:
        path = self.folder / log
        if path.exists():
            self.app.ask("open", path)  # type: ignore[attr-defined]
        else:
            handing.note(self.app, "this cell has not begun; there is no run yet")

    def action_find(self) -> None:
        """Ask for words."""
        self.query_one(FindBar).ask()

    def on_find_bar_asked(self, message: FindBar.Asked) -> None:
        """Go to the first row with the words, and mark them on the page."""
        self._wanted = message.words.casefold()
        self.query_one("#page", Pane).find(message.words)
        self._to_row(1, at=0)

    def on_find_bar_closed(self) -> None:
        """Back to the list."""
        self.query_one("#page" if self.view == PLOTS else "#rows").focus()

    _wanted = ""

    def action_next(self) -> None:
        """The next row with the words; in a pair the next sample that only one won."""
        self._to_row(1)

    def action_previous(self) -> None:
        """The previous one."""
        self._to_row(-1)

    def _to_row(self, step: int, at: int | None = None) -> None:
        if self.view == PLOTS:
            self.query_one("#page", Pane).next_found(step > 0)
            return
        listing = self.query_one("#rows", Listing)
        number = listing.cursor + step if at is None else at
        while 0 <= number < len(self.lines):
            if self._matches(number):
                listing.move_to(number)
                return
            number += step

    def _matches(self, number: int) -> bool:
        if self._wanted:
            return self._wanted in " ".join(self.lines[number][0]).casefold()
        return self._kind() != "duels" or self.behind[number]["won"] in ("a", "b")

    def action_copy(self) -> None:
        """Copy the page."""
        handing.copy(self.app, self.query_one("#page", Pane).text)

    def action_save(self) -> None:
        """Write all plots and the list to a file."""
        rows = [_row(cells, self._columns(200)).rstrip() for cells, _ in self.lines]
        text = "\n".join([*rows, "", self.query_one("#page", Pane).text])
        handing.save(self.app, f"{self.folder.name}-{VIEWS[self.view].lower()}.txt", text)

    def action_stop(self) -> None:
        """Stop the evaluation after the calls under way; a second time: now."""
        if not self.going:
            handing.note(self.app, "this app only watches the evaluation; stop it where it is running")
        elif self.stop.kind:
            self.stop.now()
        else:
            self.stop.after_call()
            handing.note(self.app, "stopping after the calls under way; x again stops now")

    def action_back(self) -> None:
        """From a pair's samples to the pairs, else leave; what runs here is not stopped unasked."""
        if self.pair is not None:
            self._to_view(PAIRS)
        elif self.going:
            handing.note(self.app, "the evaluation is running here; x stops it, then q leaves", warn=True)
        else:
            self.dismiss()


def progress(standing: Standing | None, width: int) -> str:
    """`61/100 ━━━━╌╌╌ 4 at work · 12.4 a minute · eta 4:10 · 3 failed · 402 calls · cost $1.9200`."""
    if standing is None:
        return ""
    facts = [f"{standing.running} at work"] if standing.running else []
    facts += [f"{standing.rate:,.1f} a minute"] if standing.rate and standing.running else []
    facts += [f"eta {words.seconds(standing.eta)}"] if standing.eta is not None else []
    facts += [f"{standing.failed} failed"] if standing.failed else []
    facts += [f"{standing.stopped} stopped"] if standing.stopped else []
    facts += [words.count(standing.calls, "call"), f"cost {words.cost(standing.cost)}"]
    head, rest = f"{standing.done}/{standing.cells} ", f" {' · '.join(facts)}"
    room = max(4, min(40, width - len(head) - len(rest)))
    full = room * standing.done // max(1, standing.cells)
    return one_line(f"{head}{'━' * full}{'╌' * (room - full)}{rest}", max(20, width))


def fitted(columns: Sequence[Column], width: int) -> list[tuple[int, int]]:
    """(index, cells) of the columns that are shown at this width; what is left is shared."""
    shown = [(i, column) for i, column in enumerate(columns) if width >= column.least]
    free = [i for i, column in shown if not column.cells]
    taken = sum(column.cells + 2 for _, column in shown)
    each = max(8, (width - taken) // max(1, len(free)))
    return [(i, column.cells or each) for i, column in shown]


def _row(cells: Sequence[str], columns: Sequence[tuple[int, int]]) -> str:
    return "  ".join(_cell(cells[i], width) for i, width in columns)


def _cell(text: str, width: int) -> str:
    line = one_line(text, 400)
    if cell_len(line) > width:
        return set_cell_size(line, max(0, width - 1)) + "…"
    return set_cell_size(line, width)


def _table_line(row: dict[str, Any]) -> Line:
    return report.columns(row), "" if row["n"] else "quiet"


def _pair_line(pair: dict[str, Any]) -> Line:
    return report.pair_columns(pair), "quiet" if pair["verdict"] in ("tied", "n too small") else ""


def _duel_line(duel: dict[str, Any]) -> Line:
    answers = (duel["answer_a"] or "-", duel["answer_b"] or "-")
    look = "" if duel["won"] in ("a", "b") else "quiet"
    return (duel["sample"], duel["model"], str(duel["repeat"]), WON[duel["won"]], *answers), look


def _failure_line(one: dict[str, Any]) -> Line:
    return (one["status"], str(one["cells"]), one["reason"]), "fail"


def _sample_line(row: Row, grader: str) -> Line:
    verdict = row.grades[grader].verdict if grader in row.grades else row.status
    look = {"correct": "done", "incorrect": "", "missing": "quiet", "failed": "fail", "error": "fail"}
    cells = (row.sample, row.method, row.model, str(row.repeat), verdict, str(row.calls), row.answer or "-")
    return cells, look.get(row.status if row.trouble else verdict, "wait")


def _task(duel: dict[str, Any]) -> str:
    return str(duel["sample"]).rpartition(":")[0].partition("@")[0]


def _pair_text(pair: dict[str, Any]) -> str:
    points, won, p, holm = (report.pair_columns(pair)[i] for i in (3, 5, 6, 7))
    extra = pair["extra_cost_per_extra_correct"]
    return "\n".join(
        [
            f"{pair['a']} against {pair['b']} on {pair['n']} samples of {pair['task']}: {pair['verdict']}",
            f"both right {pair['both']}, only {pair['a']} {pair['only_a']}, only {pair['b']} {pair['only_b']}, "
            f"neither {pair['neither']}",
            f"{points} points {report.pair_columns(pair)[4]}; won {won}; McNemar p {p}, after Holm's correction {holm}",
            f"dollars for one more correct answer: {report.money(extra)}",
            "",
            "enter: who won which sample, and both runs of each",
        ]
    )


def _duel_page(duel: dict[str, Any]) -> tuple[Block, ...]:
    return (
        Block("notice", (f"{duel['sample']}: {WON[duel['won']]} right; enter shows both runs",)),
        Block("stored", (duel["answer_a"] or "no answer",), f"A, {duel['log_a']}"),
        Block("stored", (duel["answer_b"] or "no answer",), f"B, {duel['log_b']}"),
    )


def _sample_page(row: Row, grader: str) -> tuple[Block, ...]:
    grade = row.grades.get(grader)
    facts = f"{row.sample} · {row.method} · {row.status}"
    facts += f" · {grade.verdict}: {grade.reason}".rstrip(": ") if grade else ""
    facts += f"\n{row.log}" + (f", batch {row.batch} of {row.stream}" if row.stream else "")
    trouble = (Block("failure", (row.trouble,)),) if row.trouble else ()
    return (Block("reply", (facts,)), *trouble, Block("answer", (row.answer or "no answer",)))
