"""The checks of `meta-tui doctor`: Python, terminal, folders, keys, cache, cassettes, sandbox.

Each yields what was found and what to do about it; showing them is the command line's and the
app's business. Values of keys are never looked at beyond being there. Nothing connects to a
network except `reach`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec


class Check(msgspec.Struct, frozen=True):
    """One line of the doctor's report. Only `fail` changes the exit code."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    fix: str = ""


GLYPHS = {"ok": "✓", "warn": "▲", "fail": "✗"}
"""State -> glyph."""


def checks() -> list[Check]:
    """All checks that need no network, in order."""
    return [check for group in _CHECKS for check in group()]


def _python() -> Iterator[Check]:
    from meta_tui import __version__

    yield Check("meta-tui", "ok", __version__)
    yield Check("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}")


def _terminal() -> Iterator[Check]:
    term, size = os.environ.get("TERM", ""), shutil.get_terminal_size()
    out = sys.__stdout__  # the app puts something else in the place of sys.stdout
    usable = out is not None and out.isatty() and term not in ("", "dumb")
    encoding = out.encoding if out is not None else "-"
    found = f"TERM={term or '-'}, {size.columns}x{size.lines}, encoding {encoding}"
    yield Check(
        "terminal", "ok" if usable else "warn", found, "the app needs a terminal; --plain works anywhere"
    )


def _folders() -> Iterator[Check]:
    from meta_tui import store

    place = store.home()
    yield _writable("user's folder", place.root)
    rows = len(store.own_runs().summaries())
    yield Check("runs", "ok", f"{rows:,} in {place.runs}")


def _writable(name: str, folder: Path) -> Check:
    probe = folder / f".write-test-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_text("x")
        probe.unlink()
    except OSError as error:
        return Check(name, "fail", f"{folder}: {error.strerror}", "set META_TUI_HOME to a folder of yours")
    free = shutil.disk_usage(folder).free
    return Check(
        name, "ok" if free > 50e6 else "warn", f"{folder}, {free / 1e9:.1f} GB free", "free some space"
    )


def _settings() -> Iterator[Check]:
    from meta_tui import config
    from meta_tui.errors import UsageError

    try:
        model = config.resolve().settings.model
    except UsageError as error:
        yield Check("settings", "fail", str(error), "mend or remove that file or variable")
        return
    yield Check("model", "ok" if model else "warn", model or "none set", "set META_TUI_MODEL or give --model")


def _keys() -> Iterator[Check]:
    from meta_tui import config

    config.load_env_file()
    names = sorted(n for n in os.environ if n.upper().endswith("_API_KEY") and os.environ[n])
    found = f"set: {', '.join(names)}" if names else "none set"
    yield Check(
        "keys", "ok" if names else "warn", found, "not needed to play and replay, nor for a local server"
    )


def _cache() -> Iterator[Check]:
    from meta_tui import store
    from meta_tui.display import count
    from meta_tui.errors import UsageError
    from meta_tui.models import cached

    try:
        stats = cached.stats(store.home().cache)
    except UsageError as error:
        yield Check("cache", "fail", str(error), "`meta-tui cache clear`")
        return
    yield Check("cache", "ok", f"{count(stats.entries, 'reply', 'replies')}, {stats.size / 1e6:.1f} MB")


def _cassettes() -> Iterator[Check]:
    from meta_tui import sources, store
    from meta_tui.errors import MetaTuiError

    logs = store.logs_in(store.shipped("cassettes")) if store.shipped("cassettes").is_dir() else []
    bad = []
    for path in logs:
        try:
            asyncio.run(sources.replay(sources.check_log(path)))
        except MetaTuiError as error:
            bad.append(f"{path.name}: {error}")
    if bad or not logs:
        yield Check("cassettes", "fail", "; ".join(bad) or "none found", "install meta-tui again")
    else:
        yield Check("cassettes", "ok", f"{len(logs)} replay exactly")


def _plugins() -> Iterator[Check]:
    """Plug-ins of every group: where each comes from, and one line for each that is broken."""
    from meta_tui import experts, methods, session, tasks

    found, problems = methods.listed()
    families, more = tasks.listed()
    named = {f"method {one.id}": one.origin for one in found if one.id not in methods.BUILT_IN}
    named |= {f"task {one.family.id}": one.origin for one in families if one.family.id not in tasks.FAMILIES}
    wrong = [*problems, *more]
    others = {"grader": tasks.listed_graders, "expert": experts.listed, "model": session.listed_models}
    for kind, listed in others.items():
        origins, problems = listed()
        named |= {f"{kind} {name}": origin for name, origin in origins.items()}
        wrong += problems
    for name, origin in named.items():
        yield Check(f"plug-in {name}", "ok", f"from {origin}")
    for problem in wrong:
        yield Check("plug-in", "warn", problem)
    if not named and not wrong:
        yield Check("plug-ins", "ok", "none installed")


def _sandbox() -> Iterator[Check]:
    from meta_tui import sandbox

    for name, held, detail in sandbox.doctor():
        yield Check(f"sandbox {name}", "ok" if held else "warn", detail, "the other layers still hold")


_CHECKS: tuple[Callable[[], Iterator[Check]], ...] = (
    _python,
    _terminal,
    _folders,
    _settings,
    _keys,
    _cache,
    _plugins,
    _cassettes,
    _sandbox,
)


async def reach() -> Check:
    """Ask the model that is set for one word."""
    from meta_tui import config, session
    from meta_tui.chat import Params, Request, user
    from meta_tui.errors import MetaTuiError
    from meta_tui.models.base import Call

    settings = msgspec.structs.replace(config.resolve().settings, cache=False, retries=0)
    live = session.Session(settings)
    began = time.monotonic()
    try:
        name = session.model_name(settings)
        model = live.doors().model
        assert model is not None
        await model.answer(
            Call(Request((user("Say: ready"),), Params(model=name, max_tokens=16))), lambda _: None
        )
    except MetaTuiError as error:
        return Check("model answers", "fail", str(error), "check the name, the key and the address")
    finally:
        await live.aclose()
    return Check("model answers", "ok", f"{name} in {time.monotonic() - began:.1f} s")
