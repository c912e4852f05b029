"""Rules of the app that no single screen can break: keys, footers, colours, imports, markup."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from textual.color import Color
from textual.screen import Screen
from textual.widget import Widget

import meta_tui.tui
from meta_tui.errors import UsageError
from meta_tui.tui import keymap, theme, words
from meta_tui.tui.widgets.hints import MOST, WIDEST, fitted, line

SOURCE = Path(meta_tui.tui.__file__).parent


def modules():
    found = pkgutil.walk_packages([str(SOURCE)], "meta_tui.tui.")
    return [importlib.import_module(module.name) for module in found]


def classes(base):
    found = {
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__.startswith("meta_tui.")
    }
    return sorted(found, key=lambda cls: cls.__name__)


def own_bindings(cls):
    for binding in vars(cls).get("BINDINGS", ()):
        for key in binding.key.split(","):
            yield key.strip(), binding.action


def test_no_key_of_the_table_means_two_things():
    keymap.check({})


def test_a_users_keys_that_clash_are_refused():
    with pytest.raises(UsageError, match="'space' would mean both"):
        keymap.check({"zoom": ("space",)})
    with pytest.raises(UsageError, match="no action 'fly'"):
        keymap.check({"fly": ("f",)})
    keymap.check({"zoom": ("f9",)})


def test_a_letter_means_the_same_on_every_screen_and_widget():
    """Dialogs that only wait to be closed or handed in are left out: they take any of a few keys."""
    meanings = {}
    for cls in classes(Widget):
        if issubclass(cls, Screen) and not hasattr(cls, "ACTIONS"):
            continue
        for key, action in own_bindings(cls):
            meanings.setdefault(key, set()).add(action)
    clashes = {key: actions for key, actions in meanings.items() if len(actions) > 1}
    assert not clashes


def test_every_action_of_a_screen_is_in_the_table_and_can_be_done():
    from meta_tui.tui.app import MetaApp

    for cls in classes(Screen):
        for name in getattr(cls, "ACTIONS", ()):
            assert name in keymap.KEYS
            assert hasattr(cls, f"action_{name}") or hasattr(MetaApp, f"action_{name}"), (cls, name)


def test_footers_are_short():
    for cls in classes(Screen):
        for hints in (getattr(cls, "HINTS", ()), getattr(cls, "LIVE_HINTS", ())):
            assert len(hints) <= MOST
            assert len(line(hints)) <= WIDEST


def test_every_screen_explains_itself():
    for cls in classes(Screen):
        if hasattr(cls, "ACTIONS"):
            assert len(cls.ABOUT) > 60, cls


def contrast(one, other):
    def luminance(colour):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["meta-dark", "meta-light"])
def test_words_can_be_read_on_their_paper(name):
    """4.5:1 for text (WCAG AA), 3:1 for lines that only divide."""
    own = theme.THEMES[name]
    papers = [Color.parse(own.background), Color.parse(own.panel)]
    for look in ("run", "done", "fail", "hit", "wait", "quiet", "head"):
        for paper in papers:
            assert contrast(Color.parse(own.variables[look]), paper) >= 4.5, (look, paper)
    for paper in papers:
        assert contrast(Color.parse(own.foreground), paper) >= 10
    assert contrast(Color.parse(own.variables["line"]), papers[0]) >= 3
    assert contrast(Color.parse(own.variables["run"]), papers[0]) >= 4.5


def test_the_terminals_own_colours_are_only_its_own():
    own = theme.THEMES["meta-ansi"]
    assert own.ansi
    assert all(value.startswith("ansi_") for name, value in own.variables.items() if name in theme.DEFAULTS)


def test_states_are_glyph_and_word():
    for glyph, word, colour in words.GLYPHS.values():
        assert len(glyph) == 1
        assert word
        assert colour in theme.DEFAULTS
    assert len({word for _, word, _ in words.GLYPHS.values()}) >= 12


def test_no_text_of_a_model_can_reach_a_markup_parser():
    """Static, Label and notify get `Content`, or say markup=False; f-strings never go in bare."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        for found in re.finditer(r"\b(Static|Label)\((?P<arguments>[^)]*)", text):
            arguments = found.group("arguments")
            assert "markup=False" in text[found.start() : found.start() + 200] or "Content" in arguments, (
                path.name,
                found.group(),
            )
        assert "from_markup" not in text, path.name
        for found in re.finditer(r"\.notify\(", text):
            assert "markup=False" in text[found.start() : found.start() + 200], path.name
        for found in re.finditer(r"border_(?:sub)?title = (.*)", text):
            assert found.group(1).startswith(("Content(", "None")), (path.name, found.group())


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_imports_no_textual():
    loaded = run_python("import sys, meta_tui.tui; print('textual' in sys.modules, 'litellm' in sys.modules)")
    assert loaded.split() == ["False", "False"]


def test_the_whole_app_imports_no_model_client():
    code = (
        "import sys, meta_tui.tui.app, meta_tui.tui.exporting\n"
        "print([m for m in ('litellm', 'diskcache', 'RestrictedPython', 'openai', 'httpx', 'requests') if m in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


@pytest.mark.parametrize("name", ["state", "tape", "paper", "arrange", "words", "present"])
def test_pure_modules_know_no_widget_and_no_clock(name):
    source = (SOURCE / f"{name}.py").read_text()
    assert not re.search(r"^(?:from|import) textual", source, re.M)
    assert "time.time(" not in source
    assert "monotonic" not in source
    assert "open(" not in source


@pytest.mark.parametrize("first", ["run", "home", "compare", "program", "missing", "inspect"])
async def test_every_action_of_a_screen_is_in_the_command_palette(first):
    from test_tui_goldens import SCREENS

    from meta_tui.tui.app import MetaApp

    app = MetaApp(SCREENS["run-end" if first == "run" else first], fps=0)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await app.workers.wait_for_complete()
        titles = [command.title for command in app.get_system_commands(app.screen)]
        wanted = [keymap.KEYS[name] for name in (*app.screen.ACTIONS, "jump", "wrap", "settings", "theme")]
        assert {f"{key.hint}  ({key.shown})" for key in wanted} <= set(titles)


async def test_the_screen_below_is_seen_through_the_letters():
    from test_tui_goldens import SCREENS

    from meta_tui.tui.app import MetaApp

    app = MetaApp(SCREENS["home"], fps=0)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert app.screen.styles.background.a == 0


async def test_paging_a_palette_that_has_no_room_ends_nothing():
    from test_tui_goldens import SCREENS

    from meta_tui.tui.app import MetaApp

    app = MetaApp(SCREENS["home"], fps=0)
    async with app.run_test(size=(3, 2)) as pilot:
        await pilot.press("ctrl+p", "pagedown", "pageup", "down", "home", "end", "pagedown")
        await pilot.pause()
        assert app.is_running
        await pilot.press("escape")


def test_help_and_the_way_out_stay_in_a_narrow_footer():
    hints = [("space", "Play"), ("h l", "Call"), ("f", "Fork"), ("?", "Help"), ("q", "Back")]
    assert fitted(hints, 80) == hints
    assert fitted(hints, 33) == [hints[0], *hints[-2:]]
    assert fitted(hints, 5) == hints[-2:]
