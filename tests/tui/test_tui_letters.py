"""In a locale that is not UTF-8 the whole app is painted in ASCII, and nothing moves by that."""

import pytest
from test_tui_goldens import SCREENS
from test_tui_terminal import BROWSE, Terminal
from tui_hostile import painted

from meta_tui.tui.app import MetaApp
from meta_tui.tui.safety import LETTERS
from meta_tui.tui.screens.run import RunScreen


def in_letters(app):
    rows = []
    for strip in app.screen._compositor.render_strips(app.size):
        safe = strip.apply_filter(LETTERS, app.screen.background_colors[1])
        assert safe.cell_length == strip.cell_length
        rows.append("".join(segment.text for segment in safe))
    return rows


@pytest.mark.parametrize("name", SCREENS)
async def test_every_screen_in_letters_has_the_same_cells(name):
    app = MetaApp(SCREENS[name], fps=0, in_letters=True)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        if isinstance(app.screen, RunScreen):
            await app.workers.wait_for_complete()
            app.screen.flush()
            await pilot.pause()
        assert LETTERS in app.get_line_filters()
        rows = in_letters(app)
        assert all(row.isascii() for row in rows)
        assert len(rows) == len(painted(app).split("\n"))


@pytest.mark.parametrize(("locale", "ascii_only"), [("C", True), ("C.UTF-8", False)])
def test_the_locale_decides_in_a_terminal(locale, ascii_only):
    shell = Terminal(BROWSE, size=(100, 30), LC_ALL=locale)
    try:
        shell.until("game24")
        shell.read(0.5)
        assert shell.text.isascii() == ascii_only
    finally:
        shell.close()
