"""The chain screen: archive, a box a layer, code, change, depth, tasks, and the exact prompt."""

import os
from pathlib import Path

import pytest
from rich.cells import cell_len
from tui_chains import begun, large, linear, shown
from tui_hostile import FORBIDDEN, SHORT, harmful, painted
from tui_story import source_of

from meta_tui import runlog, store
from meta_tui.evaluation.chain_text import Entry
from meta_tui.evaluation.chains import EMPTY as NOTHING
from meta_tui.evaluation.chains import Reader
from meta_tui.evaluation.chains import apply_all as view_of
from meta_tui.tui import boxes
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.chain import VIEWS, ChainScreen, page
from meta_tui.tui.screens.inspect import InspectScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.state import EMPTY, apply_all
from meta_tui.tui.widgets.listing import Listing
from meta_tui.tui.widgets.pane import Pane

GOLDENS = Path(__file__).parent / "goldens"
SIZES = [(80, 24), (120, 36), (200, 60)]
HOSTILE = SHORT.encode("utf-8", "replace").decode()
"""Without half characters: records are canonical JSON, which has none."""


def app_of(events, title="meta-n-demo"):
    return MetaApp(lambda: ChainScreen(shown(events), title), fps=0)


def page_text(app):
    return app.screen.query_one("#page", Pane).text


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("view", range(5), ids=[name.lower() for name in VIEWS])
async def test_the_chain_screen_looks_as_it_did(view, size):
    """`WRITE_GOLDENS=1` writes them anew, as those of the other screens."""
    app = app_of(linear())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("g", "j", "j", str(view + 1))
        await pilot.pause()
        text = "\n".join(row.rstrip() for row in painted(app).split("\n")) + "\n"
    golden = GOLDENS / f"chain-{VIEWS[view].lower()}-{size[0]}x{size[1]}.txt"
    if os.environ.get("WRITE_GOLDENS"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


async def test_the_best_chain_is_shown_first_a_box_a_layer_the_deepest_on_top():
    app = app_of(linear())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        assert app.screen.attempt.id == "C3"
        heads = [line[3:22].strip("─ ") for line in page_text(app).split("\n") if line.startswith("╭")]
        assert [head.split(" · ")[0] for head in heads] == ["depth 4", "depth 3", "depth 2", "depth 1"]


async def test_regressions_have_a_sign_a_word_and_a_colour():
    app = app_of(linear())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        listing = app.screen.query_one("#attempts", Listing)
        looks = {text.strip(): look for text, look in app.screen._paint_row(2, 58)}
        assert looks["✗ regressed -0.100"] == "fail"
        assert "✗ regressed -0.100" in listing.rows[2]
        blocks = page(app.screen.chains, app.screen.attempt, 3, 60)
        [line] = [block for block in blocks if "✗ regressed" in block.text]
        assert "failure" in {look for _, _, look in line.looks}


async def test_enter_opens_the_exact_prompt_that_wrote_a_layer_even_one_that_was_refused():
    for row, words in ((1, "FIRST"), (2, "SECOND"), (4, "FOURTH"), (5, "FIFTH"), (6, "SIXTH")):
        async with app_of(linear()).run_test(size=(120, 36)) as pilot:
            app = pilot.app
            await pilot.pause()
            await pilot.press("g", *["j"] * row, "enter")
            await pilot.pause()
            assert isinstance(app.screen, InspectScreen)
            [message] = app.screen.effect.started.messages
            assert message.content == f"You write code that makes the solver below score higher. {words}"


async def test_the_base_solver_has_no_prompt_behind_it_and_says_so():
    app = app_of(linear())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("g", "i")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)


async def test_iterations_can_be_gone_through_and_the_end_is_followed_again():
    app = app_of(linear())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        found = []
        for key in ("left_square_bracket", "left_square_bracket", "0", "right_square_bracket", "$"):
            await pilot.press("dollar_sign" if key == "$" else key)
            await pilot.pause()
            found.append(len(app.screen.chains.attempts))
        assert found == [7, 5, 1, 2, 7]
        assert "as after iteration" not in str(app.screen.query_one("#status").content)
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert "as after iteration 4 of 5" in str(app.screen.query_one("#status").content)


async def test_a_live_run_is_followed_and_the_page_stays_where_it_was_scrolled():
    events, have = linear(), []
    have.append(events[:-20])
    effects = apply_all(EMPTY, events).effects
    app = MetaApp(lambda: ChainScreen(lambda: (have[-1], effects), "live"), fps=0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        before = len(app.screen.chains.attempts)
        pane = app.screen.query_one("#page", Pane)
        pane.scroll_top(5)
        have.append(events)
        app.screen.refresh_view()
        await pilot.pause()
        assert len(app.screen.chains.attempts) > before
        assert pane.top == 5
        have.append(events[:40])
        app.screen.refresh_view()
        assert app.screen.chains == view_of(NOTHING, events[:40])


async def test_nothing_kept_yet_is_said():
    app = app_of([begun()])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "nothing is in the archive yet" in page_text(app)
        await pilot.press("j", "enter", "v", "left_square_bracket", "z", "z", "y")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)


async def test_the_screen_opens_from_the_run_screen_of_such_a_run():
    app = MetaApp(lambda: RunScreen(source_of(linear()), speed=0, fps=0), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        app.screen.flush()
        assert '{"' not in "\n".join(app.screen.meta.rows), "records are told, not dumped"
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)
        assert len(app.screen.chains.attempts) == 7
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)


async def test_zoom_gives_the_page_the_whole_width_and_back_takes_it_again():
    app = app_of(linear())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        before = app.screen.query_one("#page", Pane).size.width
        await pilot.press("z")
        await pilot.pause()
        await pilot.pause()
        assert app.screen.query_one("#page", Pane).size.width > before + 40
        assert max(map(len, page_text(app).split("\n"))) > before
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, ChainScreen)
        assert app.screen.query_one("#page", Pane).size.width == before


async def test_found_words_are_gone_through_on_the_page():
    app = app_of(linear())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"anneal", "enter")
        await pilot.pause()
        pane = app.screen.query_one("#page", Pane)
        first = pane.top
        await pilot.press("n")
        await pilot.pause()
        assert pane.top != first


def test_the_change_of_a_layer_is_a_diff_of_its_code_and_names_what_is_kept():
    view = view_of(NOTHING, linear())
    blocks = page(view, view.attempts[2], 2, 80)
    kinds = {(block.kind, block.text) for block in blocks}
    assert ("removed", "# by size") in kinds
    assert ("added", "    return sorted(items, reverse=True)") in kinds
    assert ("removed", "    return sorted(items)") in kinds
    blocks = page(view, view.attempts[3], 2, 80)
    assert ("same", "helper pack is kept") in {(block.kind, block.text) for block in blocks}


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)], ids=str)
@pytest.mark.parametrize("view", range(5))
async def test_hostile_text_is_inert_on_every_page(view, size):
    app = app_of(linear(HOSTILE), HOSTILE)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        for row in range(7):
            await pilot.press(str(view + 1), "j" if row else "g")
            await pilot.pause()
            assert not harmful(app)
            pane = app.screen.query_one("#page", Pane)
            assert not FORBIDDEN.search("\n".join(pane.rows).replace("\n", ""))
        await pilot.click(offset=(8, 5))
        await pilot.press("tab", "pagedown", "up")
        assert app.is_running


@pytest.mark.parametrize("width", [24, 30, 58, 77, 120])
def test_every_row_of_a_box_is_as_wide_as_the_box(width):
    texts = ["plain", "漢字 and more " * 9, "x" * 300, HOSTILE, ""]
    entries = [Entry("label", ((text, ""), (" coloured", "done"))) for text in texts]
    rows = boxes.box((("depth 3 · " + "漢" * 60, "head"), ("  0.5", "")), _cleaned(entries), width)
    assert {sum(cell_len(text) for text, _ in row) for row in rows} == {width}


def _cleaned(entries):
    from meta_tui.display import one_line

    return [Entry(e.label, tuple((one_line(t, 500), look) for t, look in e.line)) for e in entries]


def test_wrapped_rows_keep_every_character_and_its_look():
    line = (("one two ", "done"), ("three four five", "fail"), (" six", ""))
    rows = list(boxes.wrapped(line, 9))
    assert " ".join("".join(text for text, _ in row) for row in rows) == "one two three four five six"
    assert all(look == "fail" for row in rows for text, look in row if "three" in text or "four" in text)


async def test_a_run_of_two_hundred_candidates_is_moved_through_by_rows_on_screen_only():
    app = app_of(large(60, 8))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        listing = app.screen.query_one("#attempts", Listing)
        assert listing.count == 60
        assert len(listing.rows) <= 36
        await pilot.press("G")
        await pilot.pause()
        assert app.screen.attempt.id == "C59"


async def test_a_name_that_is_looked_for_goes_to_its_line():
    app = app_of(large(60, 8))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        for words, expected in (("c37", "C37"), ("L12", "C12"), ("no such name", "C12")):
            await pilot.press("slash", *[("space" if c == " " else c) for c in words], "enter")
            await pilot.pause()
            assert app.screen.attempt.id == expected


@pytest.mark.parametrize("name", ["layers-linear", "layers-evolution"])
async def test_the_shipped_runs_have_a_regression_that_a_deeper_layer_repairs(name):
    events = runlog.read(store.find(name)).events
    async with app_of(events, name).run_test(size=(120, 36)) as pilot:
        screen = pilot.app.screen
        await pilot.pause()
        line = screen.chains.lineage(screen.candidate)
        verdicts = [screen.chains.verdict(one) for one in line]
        assert verdicts.index("repaired") == verdicts.index("worse") + 1
        await pilot.press("enter")
        await pilot.pause()
        asked = screen.chains.by_layer[line[-1].chain[-1]].span
        assert (pilot.app.screen.effect.span, pilot.app.screen.effect.kind) == (asked, "model")
        assert len(pilot.app.screen.effect.started.messages) == 1


@pytest.mark.parametrize("name", ["layers-linear", "layers-evolution"])
def test_any_moment_of_a_shipped_run_is_what_playing_up_to_it_gives(name):
    events = runlog.read(store.find(name)).events
    reader, played = Reader(), NOTHING
    places = list(range(len(events)))
    for place in places:
        played = view_of(played, [events[place]])
        if place % 7 == 0:
            reader.to(events[: (place * 31) % len(events)])
            reader.to(events[: place + 1])
            assert reader.view == played


async def test_the_cursor_stays_on_the_best_chain_until_somebody_moves_it():
    events, have = linear(), []
    places = [n for n, e in enumerate(events, 1) if getattr(e, "kind", "") == "archive_best"]
    have.append(events[: places[0]])
    app = MetaApp(lambda: ChainScreen(lambda: (have[-1], ()), "live"), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        found = [app.screen.attempt.id]
        for place in places[1:4]:
            have.append(events[:place])
            app.screen.refresh_view()
            found.append(app.screen.attempt.id)
        assert found == ["C0", "C1", "C1", "C3"]
        await pilot.press("g")
        await pilot.pause()
        have.append(events)
        app.screen.refresh_view()
        assert app.screen.attempt.id == "C0"
