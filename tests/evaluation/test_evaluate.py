"""An evaluation loses nothing, does nothing twice, and adds up the same wherever it is reported."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from evaluation import bench, small
from meta_tui import sources
from meta_tui.errors import MetaTuiError, UsageError
from meta_tui.evaluation import cells, evaluate, leases, merge, pages, report, results, simulation, watching
from meta_tui.evaluation.results import Row
from meta_tui.events import RunFinished, Scored
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors, Stop
from meta_tui.runlog import read
from meta_tui.tasks import Grade, loaders


async def summarise(folder: Path, grader: str = "strict") -> dict[str, object]:
    rows = [row async for row in results.rows(folder, (grader,))]
    return report.summary(cells.read_plan(folder), rows, grader)


def logs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "cells").glob("*.jsonl"))}


def bare(content: bytes) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in content.split(b"\n") if line]
    return [{k: v for k, v in line.items() if k not in ("at", "how")} for line in lines]


async def test_every_cell_is_a_run_log_that_replays_and_holds_its_grades(tmp_path: Path) -> None:
    done = await bench.run(tmp_path, 3)
    assert (done.done, done.failed, done.total) == (24, 0, 24)
    for path in (tmp_path / "cells").glob("*.jsonl"):
        recording = read(path)
        await sources.replay(recording)
        kinds = [type(event) for event in recording.events]
        assert kinds[-1] is RunFinished
        assert kinds[-2] is Scored
        assert recording.started.sample
    assert not list(tmp_path.rglob("*.lease"))


async def test_the_same_call_again_runs_nothing(tmp_path: Path) -> None:
    side = tmp_path / "calls.txt"
    await bench.run(tmp_path, 2, side=side)
    asked = side.read_text()
    before = logs(tmp_path)
    done = await bench.run(tmp_path, 2, side=side)
    assert (done.done, done.ran) == (16, 0)
    assert side.read_text() == asked
    assert logs(tmp_path) == before


async def test_the_target_stands_in_no_log_before_its_score(tmp_path: Path) -> None:
    """Sentinel: samples whose targets occur nowhere else."""
    sentinel = "zebra-4711-quux"
    found = [msgspec.structs.replace(s, target=sentinel) for s in bench.samples(2)]
    chosen = bench.plan(found)
    cells.open_folder(tmp_path, chosen, found)
    model = ScriptedModel(lambda call: '>> FINAL ANSWER:\n"""\n1\n"""')
    work = evaluate.Bench(tmp_path, {"scripted": Doors(model)})
    await evaluate.evaluate(work, list(cells.cells(chosen, found)))
    assert len(logs(tmp_path)) == 16
    for content in logs(tmp_path).values():
        before, scored, _ = content.decode().partition('{"e":"Scored"')
        assert scored
        assert sentinel not in before


def start(folder: Path, count: int, shard: str = "0/1", pause: float = 0.004) -> subprocess.Popen[bytes]:
    root = Path(bench.__file__).parent.parent
    command = [sys.executable, str(Path(bench.__file__)), str(folder), str(count), str(pause), shard]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(root)}, start_new_session=True)


def kill_after(process: subprocess.Popen[bytes], folder: Path, calls: int) -> None:
    """Kill the process once it made so many further calls, somewhere between two of them."""
    side = folder / "calls.txt"
    before = side.read_text().count("\n") if side.exists() else 0
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if side.exists() and side.read_text().count("\n") >= before + calls:
            break
        time.sleep(0.003)
    assert process.poll() is None, "it ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)


async def test_killed_five_times_and_continued_it_equals_an_uninterrupted_run(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    count = 25
    await bench.run(whole, count)
    chance = random.Random(5)
    for _ in range(5):
        kill_after(start(killed, count), killed, chance.randrange(5, 45))
    assert 0 < len(logs(killed)) < 2 * 4 * count
    assert start(killed, count).wait(100) == 0
    first, second = logs(whole), logs(killed)
    assert first.keys() == second.keys()
    assert len(first) == 2 * 4 * count
    for name, content in first.items():
        assert bare(content) == bare(second[name])
    for path in (killed / "cells").glob("*.jsonl"):
        await sources.replay(read(path))
    assert msgspec.json.encode(await summarise(whole)) == msgspec.json.encode(await summarise(killed))


async def test_a_reply_on_disk_is_not_asked_for_again_after_a_kill(tmp_path: Path) -> None:
    kill_after(start(tmp_path, 6, pause=0.02), tmp_path, 20)
    stored = sum(
        line["e"] == "Replied" for content in logs(tmp_path).values() for line in bare_whole(content)
    )
    before = (tmp_path / "calls.txt").read_text().count("\n")
    assert start(tmp_path, 6).wait(60) == 0
    after = (tmp_path / "calls.txt").read_text().count("\n")
    total = sum(line["e"] == "Replied" for content in logs(tmp_path).values() for line in bare(content))
    assert after - before == total - stored


def bare_whole(content: bytes) -> list[dict[str, object]]:
    return bare(content[: content.rfind(b"\n") + 1])


async def test_two_shards_in_two_processes_merge_to_the_whole(tmp_path: Path) -> None:
    whole, one, two, both = (tmp_path / name for name in ("whole", "one", "two", "both"))
    await bench.run(whole, 5)
    processes = [start(one, 5, "0/2"), start(two, 5, "1/2")]
    assert [p.wait(60) for p in processes] == [0, 0]
    assert merge.merge([one, two], both) == 40
    assert {n: bare(c) for n, c in logs(both).items()} == {n: bare(c) for n, c in logs(whole).items()}
    assert await summarise(both) == await summarise(whole)


async def test_two_processes_in_one_folder_share_the_work_and_ask_nothing_twice(tmp_path: Path) -> None:
    processes = [start(tmp_path, 5), start(tmp_path, 5)]
    assert [p.wait(60) for p in processes] == [0, 0]
    await bench.run(tmp_path, 5)
    asked = (tmp_path / "calls.txt").read_text().split("\n")[:-1]
    replies = sum(line["e"] == "Replied" for content in logs(tmp_path).values() for line in bare(content))
    assert len(logs(tmp_path)) == 40
    assert len(asked) == replies


async def test_merge_refuses_two_different_runs_of_one_cell(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    await bench.run(one, 1)
    found = bench.samples(1)
    chosen = bench.plan(found)
    cells.open_folder(two, chosen, found)
    other = ScriptedModel(lambda call: '>> FINAL ANSWER:\n"""\nsomething else\n"""')
    await evaluate.evaluate(evaluate.Bench(two, {"scripted": Doors(other)}), list(cells.cells(chosen, found)))
    with pytest.raises(UsageError, match="different runs of one cell"):
        merge.merge([one, two], tmp_path / "both")


async def test_merge_says_which_folder_is_no_shard_and_in_what_it_differs(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, number in ((one, 1), (two, 2)):
        found = bench.samples(number)
        cells.open_folder(folder, bench.plan(found), found)
    with pytest.raises(UsageError, match=r"two is no shard of the evaluation in .*one: their samples differ"):
        merge.merge([one, two], tmp_path / "both")
    assert not (tmp_path / "both").exists()


async def test_a_folder_that_holds_another_evaluation_is_refused(tmp_path: Path) -> None:
    await bench.run(tmp_path, 1)
    found = bench.samples(2)
    with pytest.raises(UsageError, match="another evaluation: its samples"):
        cells.open_folder(tmp_path, bench.plan(found), found)


def test_a_log_that_is_damaged_before_its_last_line_is_made_anew(tmp_path: Path) -> None:
    small.run(tmp_path, tasks=("words",), count=2)
    log = min((tmp_path / "cells").glob("*.jsonl"))
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], b'{"torn": 1}\n', *lines[2:]]))
    again = small.run(tmp_path, tasks=("words",), count=2)
    assert (again.done, again.ran) == (4, 1)
    assert read(log).finished is not None
    assert log.with_suffix(".damaged").read_bytes().splitlines()[1] == b'{"torn": 1}'


async def test_a_cell_that_another_process_ended_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """Between the look at the log and the lease there is time for the other one to come to an end."""
    small.run(tmp_path, tasks=("words",), count=1)
    samples = loaders.samples("words", 1)
    model = simulation.named("simulated:answers,chance=0.6", samples)
    cell = small.planned(tmp_path, ("standard", "zero_shot_cot"), samples, model.id)[0]
    table = evaluate.Bench(tmp_path, {model.id: Doors(model)})
    before, state = logs(tmp_path), evaluate.Progress()
    await evaluate._leased(table, cell, table.log(cell), state, Stop(), set())
    assert (state.done, state.ran, logs(tmp_path)) == (1, 0, before)


async def test_a_cell_that_went_on_since_it_was_read_is_not_called_stopped(tmp_path: Path) -> None:
    """A log is read in its middle; the run ends, and its lease goes, before the leases are looked at."""
    small.run(tmp_path, tasks=("words",), count=1)
    log = min((tmp_path / "cells").glob("*.jsonl"))
    whole = log.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    watch = watching.Watch(tmp_path)
    assert (await watch.look()).stopped == 1

    def ended(standing: watching.Standing) -> None:
        log.write_bytes(whole)

    log.write_bytes(log.read_bytes())
    os.utime(log, ns=(1, 1))  # written to again: it is read again, and ends once that is done
    during = watching.Watch(tmp_path)
    assert (await during.look(ended, every=1)).stopped == 0
    assert (await during.look()).done == 2


async def test_changed_samples_are_noticed(tmp_path: Path) -> None:
    await bench.run(tmp_path, 1)
    path = tmp_path / cells.SAMPLES_FILE
    path.write_text(path.read_text().replace('"target":"', '"target":"1', 1))
    with pytest.raises(UsageError, match="was changed"):
        await summarise(tmp_path)


async def test_a_report_moved_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "deep" / "there"
    await bench.run(here, 3)
    shutil.copytree(here, there)
    rows = [[row async for row in results.rows(folder, ("strict",))] for folder in (here, there)]
    sums = [report.summary(cells.read_plan(f), r, "strict") for f, r in zip((here, there), rows, strict=True)]
    for make in (pages.markdown, lambda s: pages.html(s, rows[0]), msgspec.json.encode):
        assert make(sums[0]) == make(sums[1])
    assert pages.csv_rows(rows[0]) == pages.csv_rows(rows[1])


async def test_a_stop_ends_every_cell_properly_and_the_same_call_goes_on(tmp_path: Path) -> None:
    found = bench.samples(5)
    chosen = bench.plan(found)
    cells.open_folder(tmp_path, chosen, found)
    work = evaluate.Bench(tmp_path, {"scripted": Doors(bench.Talker(found, 0.01, None))})
    stop = Stop()
    watched = evaluate.Progress(report=lambda now: stop.now() if now.done >= 5 else None)
    done = await evaluate.evaluate(work, list(cells.cells(chosen, found)), watched, stop)
    assert done.stopped
    assert done.done < done.total
    statuses = {read(path).finished.status for path in (tmp_path / "cells").glob("*.jsonl")}  # type: ignore[union-attr]
    assert statuses <= {"answered", "cancelled"}
    again = await evaluate.evaluate(work, list(cells.cells(chosen, found)))
    assert again.done == again.total
    whole = tmp_path / "whole"
    await bench.run(whole, 5)
    assert {n: bare(c) for n, c in logs(tmp_path).items()} == {n: bare(c) for n, c in logs(whole).items()}


async def test_a_cell_that_takes_too_long_is_stopped_counted_from_its_own_start(tmp_path: Path) -> None:
    found = bench.samples(2)
    chosen = bench.plan(found)
    cells.open_folder(tmp_path, chosen, found)
    slow = evaluate.Bench(
        tmp_path, {"scripted": Doors(bench.Talker(found, 0.15, None))}, concurrency=2, cell_seconds=0.25
    )
    done = await evaluate.evaluate(slow, list(cells.cells(chosen, found)))
    by_method: dict[str, set[str]] = {"meta_prompting": set(), "standard": set()}
    for path in (tmp_path / "cells").glob("*.jsonl"):
        recording = read(path)
        assert recording.finished is not None
        by_method[recording.started.method].add(recording.finished.status)
    assert by_method == {"meta_prompting": {"budget"}, "standard": {"answered"}}
    assert not done.stopped


async def test_only_failures_are_run_again_on_request(tmp_path: Path) -> None:
    from meta_tui.errors import CallFailed

    found = bench.samples(1)
    chosen = bench.plan(found)
    cells.open_folder(tmp_path, chosen, found)
    all_cells = list(cells.cells(chosen, found))
    broken = ScriptedModel(lambda call: CallFailed("server", "down"))
    done = await evaluate.evaluate(evaluate.Bench(tmp_path, {"scripted": Doors(broken)}), all_cells)
    assert (done.done, done.failed) == (8, 8)
    good = {"scripted": Doors(bench.Talker(found, 0, None))}
    done = await evaluate.evaluate(evaluate.Bench(tmp_path, good), all_cells)
    assert (done.ran, done.failed) == (0, 8)
    done = await evaluate.evaluate(evaluate.Bench(tmp_path, good, again=True), all_cells)
    assert (done.ran, done.failed) == (8, 0)


def test_a_lease_is_exclusive_and_one_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    mark = tmp_path / "cell.lease"
    with leases.lease(mark) as first, leases.lease(mark) as second:
        assert (first, second) == (True, False)
    assert not mark.exists()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    import socket

    mark.write_text(f"{socket.gethostname()} {dead.pid}\n")
    with leases.lease(mark) as held:
        assert held
    mark.write_text("another-host 1\n")
    with leases.lease(mark) as held:
        assert not held
    os.utime(mark, (time.time() - leases.STALE - 1,) * 2)
    with leases.lease(mark) as held:
        assert held


def row(
    method: str,
    sample: int,
    verdict: str,
    *,
    repeat: int = 0,
    calls: int = 2,
    cost: float | None = 0.5,
    **more: object,
) -> Row:
    grade = Grade(verdict, score=1.0 if verdict == "correct" else 0.0)  # type: ignore[arg-type]
    place = {"method": method, "model": "m", "task": "words", "sample": f"words:{sample}", "repeat": repeat}
    facts = {
        "log": "x",
        "status": "answered",
        "answer": "a",
        "calls": calls,
        "cost": cost,
        "rounds": 1,
        "replies": 1,
    }
    return msgspec.convert({**place, **facts, **more, "grades": {"strict": msgspec.to_builtins(grade)}}, Row)


def two_methods(repeats: int = 1) -> cells.Plan:
    return cells.Plan(
        variants=(cells.variant("standard"), cells.variant("zero_shot_cot")),
        models=("m",),
        tasks=("words",),
        repeats=repeats,
        samples="x",
    )


def test_the_numbers_of_a_report_are_those_worked_out_by_hand() -> None:
    """10 samples: standard right on 0-6, zero_shot_cot right on 0-3 and 7; both right on 0-3."""
    rows = [row("standard", i, "correct" if i < 7 else "incorrect") for i in range(10)]
    rows += [
        row("zero_shot_cot", i, "correct" if i < 4 or i == 7 else "ambiguous", calls=5, cost=1.0)
        for i in range(10)
    ]
    found = report.summary(two_methods(), rows, "strict")
    first, second = found["table"]
    assert (first["correct"], first["n"], first["accuracy"]) == (7, 10, 0.7)
    assert first["interval"] == pytest.approx([0.396776, 0.892209], abs=1e-5)  # Wilson, z = 1.959964
    assert (second["accuracy"], second["if_ambiguous"]) == (0.5, [0.5, 1.0])
    assert (first["cost_total"], first["cost_per_correct"]) == (5.0, pytest.approx(5 / 7, abs=1e-6))
    assert (first["within_calls"]["1"], first["within_calls"]["2"], second["within_calls"]["4"]) == (
        0.0,
        0.7,
        0.0,
    )
    (pair,) = found["pairs"]
    assert (pair["both"], pair["only_a"], pair["only_b"], pair["neither"]) == (4, 3, 1, 2)
    assert pair["difference"] == 0.2
    assert pair["p"] == 0.625  # 2 * (C(4,0) + C(4,1)) / 2**4
    assert pair["verdict"] == "tied"
    assert pair["extra_cost_per_extra_correct"] == -2.5  # 5 dollars less for 2 more right


def test_a_pair_is_compared_on_the_samples_that_both_have() -> None:
    """Of 6 samples the second method has 5: on these 5 right for 2.50 against 2 right for 5.00."""
    rows = [row("standard", i, "correct") for i in range(6)]
    rows += [row("zero_shot_cot", i, "correct" if i < 2 else "incorrect", cost=1.0) for i in range(5)]
    (pair,) = report.summary(two_methods(), rows, "strict")["pairs"]
    assert (pair["n"], pair["both"], pair["only_a"]) == (5, 2, 3)
    assert pair["extra_cost_per_extra_correct"] == pytest.approx(-2.5 / 3, abs=1e-6)


def test_an_unknown_price_stays_unknown_in_every_sum() -> None:
    rows = [row("standard", 0, "correct"), row("standard", 1, "correct", cost=None)]
    found = report.summary(two_methods(), rows, "strict")["table"][0]
    assert (found["cost_total"], found["cost_per_correct"]) == (None, None)
    assert report.columns(found)[-2:] == ("-", "-")


def test_repeats_are_not_pooled_as_if_they_were_independent() -> None:
    rows = []
    for repeat in range(3):
        for i in range(6):
            rows.append(row("standard", i, "correct" if i < 3 + repeat else "incorrect", repeat=repeat))
            rows.append(row("zero_shot_cot", i, "incorrect", repeat=repeat))
    found = report.summary(two_methods(3), rows, "strict")
    repeats = found["table"][0]["by_repeat"]
    assert repeats["accuracies"] == [0.5, 0.666667, 0.833333]
    mean, half = 2 / 3, 4.302653 * (1 / 6) / 3**0.5
    assert repeats["interval"] == pytest.approx([mean - half, mean + half], abs=1e-4)
    assert repeats["pass_at"]["1"] == pytest.approx(2 / 3, abs=1e-5)
    assert repeats["pass_at"]["3"] == pytest.approx(5 / 6, abs=1e-5)
    (pair,) = found["pairs"]
    assert pair["n"] == 6
    assert pair["difference"] == pytest.approx(2 / 3, abs=1e-5)


def test_an_interval_with_repeats_is_as_wide_as_its_samples_allow() -> None:
    """8 samples, 4 always right and 4 never, run 3 times: 8 samples know as much as without repeats,
    and Wilson's interval of 12 of 24 (31 to 69 %) would claim to know more."""
    rows = [
        row("standard", i, "correct" if i < 4 else "incorrect", repeat=k) for i in range(8) for k in range(3)
    ]
    found = report.summary(two_methods(3), rows, "strict")["table"][0]
    assert (found["correct"], found["n"]) == (12, 24)
    # A mean of 8 draws of 0 or 1: the 2.5 % point of binomial(8, 1/2) is 1, the 97.5 % point 7.
    assert found["interval"] == [0.125, 0.875]


def test_samples_that_all_came_out_alike_in_every_repeat_count_once_each() -> None:
    """No bootstrap can tell that 6 samples of 6 are few: [100, 100] would be its interval."""
    rows = [
        row(m, i, "correct", repeat=k)
        for i in range(6)
        for k in range(3)
        for m in ("standard", "zero_shot_cot")
    ]
    found = report.summary(two_methods(3), rows, "strict")
    assert found["table"][0]["interval"] == pytest.approx([0.609666, 1.0], abs=1e-5)  # 6 of 6: n / (n + z^2)
    (pair,) = found["pairs"]
    assert pair["interval"][0] < 0 < pair["interval"][1]
    few = report.summary(two_methods(3), [one for one in rows if one.sample < "words:4"], "strict")
    assert few["table"][0]["interval"] is None


def test_reports_say_what_intervals_and_tests_are_with_repeats() -> None:
    rows = [row("standard", i, "correct", repeat=k) for i in range(6) for k in range(3)]
    found = report.summary(two_methods(3), rows, "strict")
    for text in (pages.markdown(found), pages.html(found, rows, "t")):
        assert "bootstraps over samples" in text
    once = report.summary(two_methods(), rows[::3], "strict")
    assert "bootstraps" not in pages.markdown(once)


def test_few_samples_get_no_interval_and_no_verdict() -> None:
    rows = [row("standard", i, "correct") for i in range(3)] + [
        row("zero_shot_cot", i, "incorrect") for i in range(3)
    ]
    found = report.summary(two_methods(), rows, "strict")
    assert found["table"][0]["interval"] is None
    assert found["pairs"][0]["verdict"] == "n too small"
    assert "n too small" in report.columns(found["table"][0])


def test_the_html_page_asks_nobody_for_anything_and_escapes_every_text() -> None:
    hostile = '<script>alert(1)</script>"><img src=x onerror=y>'
    rows = [row("standard", i, "correct", answer=hostile, reason=hostile) for i in range(6)]
    page = pages.html(report.summary(two_methods(), rows, "strict"), rows, hostile)
    assert "<script" not in page
    assert "<img" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "src=" not in page.replace("src=x onerror=y&gt;", "")


def test_a_spreadsheet_cannot_be_made_to_run_an_answer() -> None:
    rows = [row("standard", 0, "correct", answer='=HYPERLINK("http://x")')]
    assert "'=HYPERLINK" in pages.csv_rows(rows)


def test_a_stated_confidence_is_read_and_calibrated() -> None:
    rows = [row("standard", i, "correct" if i < 8 else "incorrect", confidence=0.8) for i in range(10)]
    found = report.summary(two_methods(), rows, "strict")["table"][0]["calibration"]
    assert found["n"] == 10
    assert found["ece"] == pytest.approx(0.0, abs=1e-9)


def test_methods_with_settings_are_variants_of_their_own() -> None:
    plain, python = cells.variant("standard"), cells.variant("standard:python=true,rounds=4")
    assert (plain.settings["python"], python.settings["python"], python.settings["rounds"]) == (
        False,
        True,
        4,
    )
    with pytest.raises(MetaTuiError, match="colour"):
        cells.variant("standard:colour=1")
    sample = bench.samples(1)[0]
    made = [cells.Cell(variant=v, model="m", sample=sample, repeat=0, seed=0).digest for v in (plain, python)]
    assert made[0] != made[1]
