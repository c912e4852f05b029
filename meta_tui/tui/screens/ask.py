"""Asking a new question: what, with which method, of which model."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static, TextArea

from meta_tui import methods, session
from meta_tui.config import Settings
from meta_tui.display import clean, one_line
from meta_tui.errors import UsageError
from meta_tui.plugins import Survey
from meta_tui.store import RunSummary
from meta_tui.tui import handing
from meta_tui.tui.estimate import estimate
from meta_tui.tui.screens.home import load
from meta_tui.tui.screens.samples import Offer, SamplesScreen, offers
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.listing import Listing, Part


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants to have run."""

    question: str
    method: str
    model: str
    base_url: str
    max_calls: int | None = None
    sample: str = ""


class AskScreen(Screen[Wish | None]):
    """The form of a new run.

    Args:
        settings: the settings in force; they fill the form.
        question: a text to begin with.
        offered: method ids; None offers all.
        fetch: gives the recorded runs from which calls and cost are estimated.
    """

    CSS_PATH = "ask.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = ("help", "back")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("f1", "help", show=False),
        Binding("ctrl+t", "samples", show=False, priority=True),
        Binding("ctrl+s,ctrl+j,ctrl+enter", "start", show=False, priority=True),
    ]
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("ctrl+s", "Start"),
        ("ctrl+t", "Sample"),
        ("tab", "Next field"),
        ("f1", "Help"),
        ("esc", "Back"),
    )
    ABOUT = (
        "A new question, your own or a sample of a task (ctrl+t). The model is provider/name as litellm names it, or a server's own name with its "
        "address, or copy-paste: then each prompt is shown to you, you take it to a web chat and paste the "
        "reply back. Everything is recorded as it comes; x stops, R resumes."
    )

    def __init__(
        self,
        settings: Settings,
        question: str = "",
        offered: Sequence[str] | None = None,
        fetch: Callable[[], Sequence[RunSummary]] = load,
    ) -> None:
        super().__init__()
        self._fetch = fetch
        self._past: Sequence[RunSummary] | None = None
        self._settings = settings
        self._question = question
        self._offer: Offer | None = None
        found = methods.from_plugins() if offered is None else Survey({}, [])
        self._origins = {name: plugin.origin for name, (plugin, _) in found.good.items()}
        self._problems = found.problems
        known = offered or list(dict.fromkeys([*methods.METHODS, *found.good]))
        self._methods = sorted(known, key=lambda name: name != settings.method)

    def compose(self) -> ComposeResult:
        """Question, method, model, limits; what it comes down to."""
        yield Static(Content("ASK  a new question"), classes="bar", markup=False)
        with Vertical(id="form"):
            yield Static(Content("question"), classes="label", markup=False)
            yield TextArea(self._question, id="question", soft_wrap=True)
            with Horizontal(id="lower"):
                with Vertical():
                    yield Static(Content("method"), classes="label", markup=False)
                    yield Listing(self._paint_method, id="methods")
                with Vertical(id="right"):
                    yield from self._field(
                        "model", "model: provider/name, or copy-paste", self._settings.model
                    )
                    yield from self._field(
                        "base_url", "address of a server (optional)", self._settings.base_url
                    )
                    calls = self._settings.max_calls
                    yield from self._field(
                        "max_calls", "calls at most (optional)", "" if calls is None else str(calls)
                    )
            yield Static(id="state", markup=False)
            yield Static(id="estimate", markup=False)
            yield Static(id="command", markup=False)
        yield Hints(self.HINTS)

    def _field(self, name: str, label: str, value: str) -> list[Static | Input]:
        line = Input(value, id=name, compact=True)
        line.cursor_blink = False
        return [Static(Content(label), classes="label", markup=False), line]

    def on_mount(self) -> None:
        """Write the question first."""
        self.query_one("#question", TextArea).cursor_blink = False
        self.query_one("#methods", Listing).fill(len(self._methods), 0)
        self.query_one("#question", TextArea).focus()
        self._tell()
        self.run_worker(self._read, thread=True, exit_on_error=False)
        for problem in self._problems:
            handing.note(self.app, problem, warn=True)

    def _read(self) -> None:
        """What past runs needed, read beside the writing."""
        try:
            past = self._fetch()
        except (UsageError, OSError):
            past = []
        self.app.call_from_thread(self._remember, past)

    def _remember(self, past: Sequence[RunSummary]) -> None:
        self._past = past
        if self.is_attached:
            self._tell()

    def on_resize(self) -> None:
        """Little room: the question keeps its lines."""
        self.set_class(self.size.height < 26, "-low")

    def _paint_method(self, row: int, width: int) -> list[Part]:
        name = self._methods[row]
        origin = self._origins.get(name)
        return [(f" {name} ", ""), *([(f"from {origin} ", "dim")] if origin else [])]

    @property
    def wish(self) -> Wish:
        """What the form says."""
        calls = self._value("max_calls")
        return Wish(
            self.query_one("#question", TextArea).text.strip(),
            self._methods[self.query_one("#methods", Listing).cursor],
            self._value("model"),
            self._value("base_url"),
            int(calls) if calls.isdigit() and int(calls) else None,
            self._sample(),
        )

    def _sample(self) -> str:
        """The name of the chosen sample, as long as its question stands as it was."""
        text = self.query_one("#question", TextArea).text
        return self._offer.name if self._offer and self._offer.question.strip() == text.strip() else ""

    def _value(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    def on_text_area_changed(self) -> None:
        """Another question, another command."""
        self._tell()

    def on_input_changed(self) -> None:
        """Another model, another command."""
        self._tell()

    def on_listing_moved(self) -> None:
        """Another method, another command."""
        self._tell()

    def _tell(self) -> None:
        wish = self.wish
        self.query_one("#state", Static).update(Content(key_state(wish, os.environ.keys())))
        past = self._past
        words = "" if past is None else estimate(past, wish.method, wish.model, wish.max_calls)
        self.query_one("#estimate", Static).update(Content(words))
        self.query_one("#command", Static).update(Content(clean(command(wish))))

    def action_start(self) -> None:
        """Run it, if it can be run."""
        wish = self.wish
        missing = lacking(wish)
        if missing:
            handing.note(self.app, missing, warn=True)
        else:
            self.dismiss(wish)

    def action_samples(self) -> None:
        """Choose a question among the samples of the tasks."""
        try:
            known, problems = offers()
        except UsageError as error:
            handing.note(self.app, str(error), warn=True)
            return
        for problem in problems:
            handing.note(self.app, problem, warn=True)
        self.app.push_screen(SamplesScreen(known), self._chosen)

    def _chosen(self, offer: Offer | None) -> None:
        if offer is not None:
            self._offer = offer
            self.query_one("#question", TextArea).text = offer.question
            self._tell()

    def action_back(self) -> None:
        """Never mind."""
        self.dismiss(None)


def lacking(wish: Wish) -> str:
    """What must be given before it can start; empty if nothing."""
    if not wish.question:
        return "Write a question first."
    if not wish.model:
        return "Name a model: provider/name, a server's own name with its address, or copy-paste."
    return ""


def key_state(wish: Wish, names: Iterable[str]) -> str:
    """Whether a key is there that the model might need; names only, never a value."""
    known = sorted(name for name in names if name.endswith("_API_KEY"))
    found = f"keys set: {', '.join(known)}" if known else "no API key is set"
    if wish.model == session.COPY_PASTE:
        return "No key is needed: you are shown each prompt and paste its reply."
    if wish.base_url:
        return f"{found}; a server of your own may need none"
    return found if known else f"{found}; cached calls, a server of your own and copy-paste work without"


def command(wish: Wish) -> str:
    """The same as a command line."""
    parts = ["meta-tui", "solve", "--method", wish.method, "--model", wish.model or "..."]
    parts += ["--base-url", wish.base_url] if wish.base_url else []
    parts += ["--max-calls", str(wish.max_calls)] if wish.max_calls else []
    if wish.sample:
        return shlex.join([*parts, "--sample", wish.sample])
    return f"{shlex.join(parts)} {shlex.quote(one_line(wish.question, 60) or '...')}"
