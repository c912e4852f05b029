"""An evaluation on a screen: table, plots, pairs, samples, failures, progress; running or not."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from evaluation import bench, small
from tui_hostile import FORBIDDEN, SHORT, harmful, painted

from meta_tui import store
from meta_tui.evaluation import cells, evaluate
from meta_tui.evaluation.watching import Standing, Watch
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors, Stop
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.compare import CompareScreen
from meta_tui.tui.screens.evaluation import EvaluationScreen, fitted, progress
from meta_tui.tui.screens.evaluations import EvaluationsScreen, Found, found
from meta_tui.tui.screens.home import HomeScreen
from meta_tui.tui.screens.run import RunScreen
from meta_tui.tui.widgets.listing import Listing
from meta_tui.tui.widgets.pane import Pane

GOLDENS = Path(__file__).parent / "goldens"
SIZES = [(80, 24), (120, 36), (200, 60)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evaluations") / "words-and-sums"
    small.run(made)
    return made


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evaluations") / "half-down"
    small.failing(made)
    return made


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evaluations") / "not-begun"
    samples = bench.samples(2)
    cells.open_folder(made, bench.plan(samples), samples)
    return made


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evaluations") / "taught"
    small.run(made, ("mc2:batch=8", "cot"), ("theorem",), 24, "simulated:learner", 24)
    return made


def shown(folder: Path, **more) -> MetaApp:
    return MetaApp(lambda: EvaluationScreen(folder, every=0, **more), fps=0)


async def settled(app: MetaApp, pilot) -> EvaluationScreen:
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()
    assert isinstance(app.screen, EvaluationScreen)
    return app.screen


def rows(app: MetaApp) -> list[str]:
    return app.screen.query_one("#rows", Listing).rows


def page(app: MetaApp) -> str:
    return app.screen.query_one("#page", Pane).text


KEYS = {"table": "1", "plots": "2", "pairs": "3", "duels": "3 enter", "samples": "4", "failures": "5"}
PICTURES = [
    *(("folder", name) for name in KEYS if name != "failures"),
    ("failed", "failures"),
    ("waiting", "table"),
    ("streams", "plots"),
]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(("which", "view"), PICTURES)
async def test_the_screen_looks_as_it_did(which, view, size, request):
    """As the other goldens: `WRITE_GOLDENS=1` writes them anew; look at what changed."""
    app = shown(request.getfixturevalue(which))
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        await pilot.press(*KEYS[view].split())
        await pilot.pause()
        text = "\n".join(row.rstrip() for row in painted(app).split("\n")) + "\n"
    golden = GOLDENS / f"evaluation-{which}-{view}-{size[0]}x{size[1]}.txt"
    if os.environ.get("WRITE_GOLDENS"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_list_of_evaluations_looks_as_it_did(size, folder, failed):
    for name, fetch in (("list", lambda: [found(folder), found(failed)]), ("none", list)):
        app = MetaApp(lambda fetch=fetch: EvaluationsScreen(lambda: [_moved(one) for one in fetch()]), fps=0)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            text = "\n".join(row.rstrip() for row in painted(app).split("\n")) + "\n"
        golden = GOLDENS / f"evaluations-{name}-{size[0]}x{size[1]}.txt"
        if os.environ.get("WRITE_GOLDENS"):
            golden.write_text(text, encoding="utf-8")
        assert text == golden.read_text(encoding="utf-8")


def _moved(one: Found) -> Found:
    return one._replace(folder=Path("/home/me/evaluations") / one.folder.name)


async def test_the_table_shows_what_the_report_says(folder, capsys):
    from meta_tui.cli import main

    assert await asyncio.to_thread(main, ["report", str(folder)]) == 0
    printed = capsys.readouterr().out
    app = shown(folder)
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(app, pilot)
        for row in rows(app):
            line = " ".join(row.replace("…", " ").split()[:2])
            accuracy, interval = row.split("  ")[0], row[row.index("[") : row.index("]") + 1]
            assert accuracy
            told = next(one for one in printed.split("\n") if " ".join(one.split()[:2]) == line)
            assert interval in told
        assert "is a simulation" in page(app)


async def test_pairs_lead_to_samples_and_those_to_both_runs(folder):
    app = shown(folder)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await settled(app, pilot)
        await pilot.press("3")
        assert "standard - zero_shot_cot" in rows(app)[0]
        await pilot.press("enter")
        await pilot.pause()
        assert len(screen.behind) == 8
        assert all(duel["sample"].startswith("words:") for duel in screen.behind)
        await pilot.press("n")
        one = screen.behind[screen.query_one("#rows", Listing).cursor]
        assert one["won"] in ("a", "b")
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, CompareScreen)
        methods = [app.screen.left.started.method, app.screen.right.started.method]
        assert methods == ["standard", "zero_shot_cot"]
        assert app.screen.left.started.sample == one["sample"]
        await pilot.press("q")
        await pilot.pause()
        assert app.screen is screen
        await pilot.press("q")
        assert screen.pair is None
        assert "standard - zero_shot_cot" in rows(app)[0]


async def test_a_sample_opens_its_run_and_find_goes_to_it(folder):
    app = shown(folder)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await settled(app, pilot)
        await pilot.press("4", "slash", *"arithmetic:3", "enter")
        await pilot.pause()
        row = screen.behind[screen.query_one("#rows", Listing).cursor]
        assert row.sample == "arithmetic:3"
        await pilot.press("enter")
        await pilot.pause()
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        assert app.screen.run_title == Path(row.log).stem


async def test_failures_are_grouped_say_what_to_do_and_open_a_run(failed):
    app = shown(failed)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await settled(app, pilot)
        assert screen.standing.failed == 3
        assert "3 failed" in painted(app)
        await pilot.press("5")
        assert rows(app)[0].split()[:2] == ["failed", "3"]
        assert "503 from the server" in rows(app)[0]
        assert "--again" in page(app)
        await pilot.press("enter")
        await pilot.pause()
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)


async def test_an_evaluation_that_another_process_runs_is_followed(tmp_path):
    """Everything comes from the folder: leases, logs, times."""
    samples = bench.samples(3)
    plan = bench.plan(samples)
    cells.open_folder(tmp_path, plan, samples)
    talker = {"scripted": Doors(bench.Talker(samples, 0.03, None))}
    work = evaluate.Bench(tmp_path, talker, concurrency=2)
    app = MetaApp(lambda: EvaluationScreen(tmp_path, every=0.05), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        running = asyncio.create_task(evaluate.evaluate(work, list(cells.cells(plan, samples))))
        seen = []
        while not running.done():
            await pilot.pause(0.03)
            seen.append((app.screen.standing, painted(app).split("\n")[1]))
        screen = app.screen
        screen._every = 0
        for _ in range(3):
            await pilot.pause(0.1)
        middle = [(s, line) for s, line in seen if s and s.running and 4 < s.done < s.cells]
        assert middle
        standing, line = middle[-1]
        assert standing.running <= 2
        assert standing.rate > 60
        assert all(word in line for word in ("at work", "a minute", "eta", "calls", "$"))
        counts = [s.done for s, _ in seen if s]
        assert counts == sorted(counts)
        assert screen.standing.state == "completed"
        assert screen.standing.done == 24
        assert screen.standing.cost == pytest.approx(0.001 * screen.standing.calls)


async def test_an_evaluation_that_the_app_runs_is_stopped_by_x_and_not_left_unasked(tmp_path):
    samples = bench.samples(5)
    plan = bench.plan(samples)
    cells.open_folder(tmp_path, plan, samples)
    talker = {"scripted": Doors(bench.Talker(samples, 0.05, None))}
    every = list(cells.cells(plan, samples))

    async def work(stop: Stop) -> None:
        await evaluate.evaluate(evaluate.Bench(tmp_path, talker, concurrency=2), every, stop=stop)

    app = shown(tmp_path, work=work)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause(0.2)
        screen = app.screen
        assert screen.going
        await pilot.press("q")
        assert app.screen is screen
        assert app.going == [screen]
        await pilot.press("x")
        await asyncio.wait_for(screen._ended.wait(), 10)
        await app.workers.wait_for_complete()
        assert screen.standing.state == "unfinished"
        assert 0 < screen.standing.done < 40
        await pilot.press("q")
        await pilot.pause()
    done = await evaluate.evaluate(evaluate.Bench(tmp_path, talker), every)
    assert done.done == done.total


async def test_a_watched_evaluation_cannot_be_stopped_from_here(folder):
    app = shown(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await settled(app, pilot)
        await pilot.press("x")
        assert screen.stop.kind is None


async def test_a_folder_that_breaks_while_it_is_shown_is_said_in_place(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    app = shown(copy)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await settled(app, pilot)
        (log,) = list((copy / "cells").glob("words-0-*.jsonl"))[:1]
        log.write_text("no log at all\n")
        screen.look()
        await settled(app, pilot)
        assert screen.summary["cells"]["damaged"] == 1
        await pilot.press("5")
        assert "damaged" in rows(app)[0]


async def test_home_opens_the_evaluations_and_those_an_evaluation(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path))
    shutil.copytree(folder, store.home().root / "evaluations" / "mine")
    app = MetaApp(lambda: HomeScreen([]), fps=0)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("b")
        await pilot.pause()
        assert isinstance(app.screen, EvaluationsScreen)
        assert "words, arithmetic: standard, zero_shot_cot" in app.screen.query_one(Listing).rows[0]
        await pilot.press("enter")
        await pilot.pause()
        await app.workers.wait_for_complete()
        assert isinstance(app.screen, EvaluationScreen)
        await pilot.press("question_mark")
        await pilot.pause()
        assert "recomputed from its logs" in painted(app)
        await pilot.press("q", "q", "q")


async def test_a_page_that_only_plays_opens_no_evaluation():
    app = MetaApp(lambda: HomeScreen([]), fps=0, playback_only=True)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("b")
        await pilot.pause()
        assert isinstance(app.screen, HomeScreen)


async def test_hostile_answers_failures_and_names_are_inert(tmp_path):
    samples = small.loaders.samples("words", 3)
    text = SHORT.encode(errors="replace").decode()  # a lone surrogate is refused before it is sent
    model = ScriptedModel(lambda call: f'>> FINAL ANSWER:\n"""\n{text}\n"""')
    bad = small.down(text)
    for name, doors in (("answers", model), ("down", bad)):
        where = tmp_path / name
        found_ = small.planned(where, ("standard", "zero_shot_cot"), samples, text)
        await evaluate.evaluate(evaluate.Bench(where, {text: Doors(doors)}), found_)
        app = shown(where)
        async with app.run_test(size=(120, 36)) as pilot:
            await settled(app, pilot)
            for keys in KEYS.values():
                await pilot.press(*keys.split())
                await pilot.pause()
                assert not harmful(app)
                for pane in app.screen.query(Pane):
                    assert not FORBIDDEN.search("\n".join(pane.rows).replace("\n", ""))
                await pilot.click(offset=(10, 6))
                assert app.is_running
                assert isinstance(app.screen, EvaluationScreen)


@pytest.mark.parametrize("size", [(40, 10), (60, 20)])
async def test_a_small_terminal_is_survived(folder, size):
    app = shown(folder)
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        for keys in KEYS.values():
            await pilot.press(*keys.split())
            await pilot.pause()


def test_the_progress_line_fits_and_says_all():
    plan = bench.plan(bench.samples(1))
    standing = Standing(plan=plan, cells=100, done=61, failed=3, running=4, rate=12.4, calls=402, cost=1.92)
    line = progress(standing, 100)
    assert line.startswith("61/100 ━")
    assert line.endswith("4 at work · 12.4 a minute · eta 3:08 · 3 failed · 402 calls · cost $1.9200")
    assert len(progress(standing, 78)) <= 78
    assert progress(None, 80) == ""


def test_columns_share_what_is_left():
    from meta_tui.tui.screens.evaluation import Column

    found_ = fitted((Column("a", 10), Column("b", 0), Column("c", 5, 100)), 50)
    assert found_ == [(0, 10), (1, 36)]


def test_a_watch_reads_only_what_changed(folder):
    watch = Watch(folder)
    read = []
    first = asyncio.run(watch.look(read.append, every=1))
    assert len(read) == 32
    again = asyncio.run(watch.look(read.append, every=1))
    assert len(read) == 32
    assert first == again


async def test_a_screen_that_is_left_while_it_reads_breaks_nothing(tmp_path):
    await bench.run(tmp_path, 30)
    app = MetaApp(lambda: HomeScreen([]), fps=0)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        screen = EvaluationScreen(tmp_path, every=0)
        app.push_screen(screen)
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, HomeScreen)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.is_running


def test_without_a_terminal_the_app_is_refused_in_words(folder, capsys):
    from meta_tui.cli import main

    assert main(["report", str(folder), "--app"]) == 2
    assert "--app needs a terminal; leave it out for text" in capsys.readouterr().err


async def test_behind_the_plots_the_heads_of_a_list_stand_over_its_columns(folder):
    """The plots hide the list: it has no width yet when the heads are painted again."""
    app = shown(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settled(app, pilot)
        heads = []
        for key in ("3", "2", "3"):
            await pilot.press(key)
            await settled(app, pilot)
            heads.append(str(screen.query_one("#heads").render()))
        assert "difference" in heads[0]
        assert heads[2] == heads[0]
