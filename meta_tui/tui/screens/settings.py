"""Settings in force and where they come from; the state of this installation, as `doctor` sees it."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from meta_tui import config, doctor, store
from meta_tui.errors import UsageError
from meta_tui.models.secrets import scrub
from meta_tui.tui import crash, handing, measure
from meta_tui.tui.keymap import bindings
from meta_tui.tui.state import Block
from meta_tui.tui.widgets.hints import Hints
from meta_tui.tui.widgets.pane import Pane

NARROW = 100
WIDTH = "How wide this terminal draws other scripts is measured by `meta-tui doctor`, outside the app."


class SettingsScreen(Screen[None]):
    """What is set, and what works."""

    CSS_PATH = "settings.tcss"
    ACTIONS: ClassVar[tuple[str, ...]] = (*"copy theme help back".split(),)
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("tab", "Side"),
        ("c", "Colours"),
        ("y", "Copy report"),
        ("?", "Help"),
        ("q", "Back"),
    )
    ABOUT = (
        "On the left every setting, its value and where it comes from: a flag wins over the environment "
        "(META_TUI_NAME), that over meta-tui.toml in the working folder, that over config.toml in your own "
        "folder. On the right the checks of `meta-tui doctor`. Keys are no settings: they are never shown."
    )

    def compose(self) -> ComposeResult:
        """Both sides."""
        yield Static(Content("SETTINGS  and the state of this installation"), classes="bar", markup=False)
        with Horizontal(id="body"):
            yield Pane(tail=False, id="settings")
            yield Pane(tail=False, id="doctor")
        yield Hints(self.HINTS)

    def on_mount(self) -> None:
        """Settings at once, checks when they are done."""
        left, right = self.query_one("#settings", Pane), self.query_one("#doctor", Pane)
        left.caption("settings")
        right.caption("doctor", "checking ...")
        left.show(settings_page())
        left.focus()
        self.run_worker(self._check(), exit_on_error=False)

    def on_resize(self) -> None:
        """One above the other where there is little room."""
        self.set_class(self.size.width < NARROW, "-narrow")

    async def _check(self) -> None:
        try:
            found = await asyncio.to_thread(doctor.checks)
        except Exception as error:  # noqa: BLE001 - the worker's boundary: a person must read it
            self.query_one("#doctor", Pane).show((Block("failure", (crash.report(error),)),))
        else:
            self._show([*found, *self._width()])

    def _width(self) -> list[doctor.Check]:
        """The check of how wide the terminal draws scripts: the app steps aside for a moment."""
        if self.app.screen is not self:
            return []  # the person went on meanwhile
        try:
            with self.app.suspend():
                found = measure.check()
        except SuspendNotSupported:
            return []
        return [found] if found else []

    def _show(self, found: list[doctor.Check]) -> None:
        pane = self.query_one("#doctor", Pane)
        bad = sum(check.state == "fail" for check in found)
        pane.caption("doctor", f"✗ {bad} failed" if bad else "✓ nothing failed")
        told = any(check.name == "text width" for check in found)
        pane.show((*doctor_page(found), *(() if told else (Block("asked", (WIDTH,)),))))

    def action_copy(self) -> None:
        """Both pages as text, anything like a key taken out."""
        pages = [self.query_one(name, Pane).text for name in ("#settings", "#doctor")]
        handing.copy(self.app, scrub("\n\n".join(pages)))

    def action_theme(self) -> None:
        """The next theme."""
        self.app.call_later(self.app.run_action, "theme")

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


def settings_page() -> tuple[Block, ...]:
    """Every setting, its value, where it comes from."""
    try:
        resolved = config.resolve()
    except UsageError as error:
        return (Block("failure", (str(error),)),)
    values = msgspec.structs.asdict(resolved.settings)
    rows = [
        f"{name:<18}{'-' if value in (None, '') else value!s:<24} {resolved.origins[name]}"
        for name, value in values.items()
    ]
    files = f"user file     {store.home().config}\nproject file  {config.PROJECT_FILE} in the working folder"
    return (Block("reply", ("\n".join(rows),)), Block("asked", (files,)))


def doctor_page(found: list[doctor.Check]) -> tuple[Block, ...]:
    """The checks, and what to do about those that did not pass."""
    blocks: list[Block] = []
    for check in found:
        kind = {"ok": "reply", "warn": "notice", "fail": "failure"}[check.state]
        lead = "✓ " if check.state == "ok" else ""
        fix = f"\n→ {check.fix}" if check.fix and check.state != "ok" else ""
        blocks.append(Block(kind, (f"{lead}{check.name}: {check.found}{fix}",)))  # type: ignore[arg-type]
    return tuple(blocks)
