"""The pane: growing a text piece by piece looks like showing it whole, at any width."""

import random

import pytest
from textual.app import App

from meta_tui import runlog, store
from meta_tui.display import clean
from meta_tui.tui.state import Block
from meta_tui.tui.tape import Tape, Transport
from meta_tui.tui.widgets.pane import Pane


class Shell(App):
    """One pane and nothing else."""

    CSS_PATH = "../../meta_tui/tui/app.tcss"

    def __init__(self, **more):
        super().__init__()
        self.pane = Pane(**more)

    def get_theme_variable_defaults(self):
        from meta_tui.tui.theme import DEFAULTS

        return DEFAULTS

    def compose(self):
        yield self.pane


def reply(text, open=False):
    return Block("reply", (text,) if text else (), n=0, open=open)


async def fresh(blocks, size):
    app = Shell()
    async with app.run_test(size=size) as pilot:
        app.pane.show(blocks)
        await pilot.pause()
        return app.pane.rows


TEXTS = {
    "words": "The quick brown fox jumps over the lazy dog. " * 20,
    "lines": "one\ntwo\n\nthree\r\nfour\r\n" * 10,
    "wide": "漢字と words ともっと漢字 " * 20,
    "word": "x" * 500,
    "marks": "e\u0301a\u0308 " * 100,
    "hostile": "\x1b[31m\r\x00\u202e [b]x[/b] " * 20,
}


@pytest.mark.parametrize("name", TEXTS)
async def test_a_reply_that_grows_looks_like_the_whole_reply(name):
    text = TEXTS[name]
    app = Shell()
    chance = random.Random(5)
    async with app.run_test(size=(40, 12)) as pilot:
        shown = 0
        while shown < len(text):
            shown = min(len(text), shown + chance.randint(1, 17))
            app.pane.show((reply(text[:shown], open=True),))
        await pilot.pause()
        growing = app.pane.rows
        app.pane.show((reply(text),))
        closed = app.pane.rows
    assert growing == closed == await fresh((reply(text),), (40, 12))


async def test_growing_costs_the_last_row_only(monkeypatch):
    app = Shell()
    async with app.run_test(size=(40, 12)):
        app.pane.show((reply("word " * 1000, open=True),))
        wrapped = []
        original = Pane._wrap_line
        monkeypatch.setattr(
            Pane, "_wrap_line", lambda self, n, begin: (wrapped.append((n, begin)), original(self, n, begin))
        )
        app.pane.show((reply("word " * 1001, open=True),))
        assert len(wrapped) == 1
        assert wrapped[0][1] > 4900


@pytest.mark.parametrize("path", store.logs_in(store.shipped("cassettes")), ids=lambda path: path.stem)
async def test_a_pane_that_was_sought_about_shows_what_a_fresh_one_shows(path):
    """Whatever way the pane came to a moment, its rows are those of the moment's blocks."""
    tape = Tape()
    for event in runlog.read(path).events:
        tape.add(event)
    chance = random.Random(11)
    hand = Transport(tape)
    app = Shell()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        for _ in range(25):
            if chance.random() < 0.5:
                hand.seek(chance.randint(1, len(tape.events)))
            else:
                hand.playing = True
                hand.advance(chance.random() * 2)
            blocks = hand.state.spans[""].blocks
            app.pane.show(blocks)
            rows = app.pane.rows
            app.pane.clear()
            app.pane.show(blocks)
            assert rows == app.pane.rows


async def test_every_character_of_a_reply_is_there():
    """Raw text: nothing is taken for markup or Markdown."""
    text = "4*5*6 and 2**3**2, <think>x<y>z</think>, >> FINAL ANSWER:\n# no heading\n```python\nx = 1\n```"
    app = Shell()
    async with app.run_test(size=(200, 20)) as pilot:
        app.pane.show((reply(text),))
        await pilot.pause()
        assert app.pane.text == clean(text)


async def test_scrolling_up_stops_following_and_the_end_follows_again():
    app = Shell()
    async with app.run_test(size=(40, 12)) as pilot:
        app.pane.show((reply("line\n" * 50, open=True),))
        await pilot.pause()
        app.pane.focus()
        assert app.pane.top == app.pane.last_top
        await pilot.press("k")
        held = app.pane.top
        app.pane.show((reply("line\n" * 60, open=True),))
        assert app.pane.top == held
        await pilot.press("G")
        app.pane.show((reply("line\n" * 70, open=True),))
        assert app.pane.top == app.pane.last_top


async def test_a_pane_that_does_not_follow_begins_at_the_top():
    app = Shell(tail=False)
    async with app.run_test(size=(40, 12)) as pilot:
        app.pane.show((reply("line\n" * 50),))
        await pilot.pause()
        assert app.pane.top == 0


async def test_found_words_are_gone_to_one_after_the_other():
    app = Shell(tail=False)
    async with app.run_test(size=(40, 12)) as pilot:
        lines = [f"line {i}" + (" Needle" if i in (30, 60) else "") for i in range(100)]
        app.pane.show((reply("\n".join(lines)),))
        await pilot.pause()
        assert app.pane.find("needle") == 2
        assert app.pane.next_found()
        assert app.pane.top == 30
        assert app.pane.next_found()
        assert app.pane.top == 60
        assert app.pane.next_found()
        assert app.pane.top == 30
        assert app.pane.find("absent") == 0
        assert not app.pane.next_found()


async def test_another_width_wraps_anew_and_stays_at_the_line():
    app = Shell(tail=False)
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show((reply("\n".join(f"{i} " + "word " * 20 for i in range(50))),))
        await pilot.pause()
        app.pane.scroll_top(app.pane._line_rows[25])
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert app.pane.rows[app.pane.top].startswith("25 ")


async def test_selected_text_is_the_text_and_not_the_widget():
    app = Shell()
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show((reply("first line\nsecond line"),))
        await pilot.pause()
        app.screen.set_focus(None)
        await pilot.mouse_down(app.pane, offset=(3, 1))
        await pilot.hover(app.pane, offset=(9, 2))
        await pilot.mouse_up(app.pane, offset=(9, 2))
        await pilot.pause()
        selected = app.screen.get_selected_text() or ""
        assert "line" in selected
        assert "Pane" not in selected


def test_quiet_code_shows_only_the_line_that_failed():
    from meta_tui.tui.paper import block_lines

    block = Block("code", ("a = 1\nb = 0\nprint(a / b)",), "error, line 3", quiet=True, mark=3)
    lines = block_lines(block, True)
    assert [line.lead + line.text for line in lines] == [
        "▸ ran 3 lines of Python · error, line 3",
        "▶3 print(a / b)",
    ]


def test_colours_never_change_a_character():
    from meta_tui.tui.paper import block_lines

    text = 'before\n```python\ndef f(x):\n    return \'a\' + """b\n```\nafter\n```\nplain\n```'
    lines = block_lines(Block("reply", (text,)), True)
    assert "\n".join(line.text for line in lines) == text
    for line in lines:
        assert all(0 <= start < end <= len(line.text) for start, end, _ in line.spans)


def test_fences_cut_at_every_character_are_shown():
    from meta_tui.tui.paper import block_lines

    text = "x\n```ini\na=1\\\n```\n~~~py\n'''\n```python\nf'{a:\n```"
    for cut in range(len(text) + 1):
        lines = block_lines(Block("reply", (text[:cut],)), True)
        assert "\n".join(line.text for line in lines) == text[:cut]
