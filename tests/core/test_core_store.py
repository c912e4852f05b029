"""The user's folder: what names mean, what the run list says, and that it can always be rebuilt."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import msgspec
import pytest
from checkout import project
from scripted_runs import case_named, lines_of, record, ticking

from meta_tui import store
from meta_tui.errors import UsageError
from meta_tui.runlog import read


@pytest.fixture
def runs() -> Path:
    folder = store.home().runs
    for name in ("python", "round_limit", "gives_up"):
        record(case_named(name), folder / f"2026-{name}.jsonl", clock=ticking())
    return folder


def test_the_home_is_the_one_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path))
    place = store.home()
    assert place.root == tmp_path
    assert {place.runs, place.cache, place.instructions, place.index, place.config} == {
        tmp_path / name for name in ("runs", "cache", "instructions", "index.sqlite", "config.toml")
    }


def test_shipped_files_are_found_from_a_checkout() -> None:
    assert store.shipped("cassettes") == project() / "cassettes"


def test_a_name_is_a_path_an_id_a_unique_start_or_last(runs: Path) -> None:
    log = runs / "2026-python.jsonl"
    assert store.find(str(log)) == log
    assert store.find("2026-python") == log
    assert store.find("2026-p") == log
    assert store.find("last") == runs / "2026-round_limit.jsonl"


@pytest.mark.parametrize("name", ["", "2026-", "nothing", "../../etc/passwd\x00", "x" * 200])
def test_a_name_that_means_nothing_or_several_says_what_to_do(name: str, runs: Path) -> None:
    with pytest.raises(UsageError, match=r"meta-tui runs|is the start of 3 runs"):
        store.find(name)


def test_folders_are_opened_and_recordings_of_http_left_out(runs: Path) -> None:
    (runs / "http").mkdir()
    (runs / "http" / "x.jsonl").write_text("")
    (runs / "deep" / "er").mkdir(parents=True)
    record(case_named("standard"), runs / "deep" / "er" / "one.jsonl")
    found = store.find_all([str(runs)])
    assert [p.name for p in found] == [
        "2026-gives_up.jsonl",
        "2026-python.jsonl",
        "2026-round_limit.jsonl",
        "one.jsonl",
    ]
    (runs / "empty").mkdir()
    with pytest.raises(UsageError, match="no run logs"):
        store.find_all([str(runs / "empty")])


def test_a_summary_says_what_a_run_list_shows(runs: Path) -> None:
    log = runs / "2026-python.jsonl"
    found = store.summary(log)
    recording = read(log)
    assert (found.id, found.path) == ("2026-python", str(log))
    assert (found.method, found.model, found.question) == ("meta_prompting", "scripted", "What is 6 times 7?")
    assert (found.status, found.reason, found.answer) == ("answered", "accepted", "42")
    assert (found.rounds, found.calls, found.code_runs) == (3, 5, 1)
    assert (found.tokens, found.cost) == (None, 0.0)  # nobody was asked: a script replied
    assert found.at == recording.started.at
    assert found.seconds == pytest.approx((len(recording.events) - 1) * 0.037)
    assert found.size == log.stat().st_size


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b"", "damaged", "no complete first line"),
        (b"{}\n", "damaged", "line 1"),
        (b"\xff\xfe", "damaged", "no complete first line"),
    ],
)
def test_a_damaged_log_has_a_summary_too(data: bytes, status: str, reason: str, tmp_path: Path) -> None:
    log = tmp_path / "x.jsonl"
    log.write_bytes(data)
    found = store.summary(log)
    assert found.status == status
    assert reason in found.reason


def test_an_unfinished_log_says_so(runs: Path) -> None:
    log = runs / "2026-python.jsonl"
    log.write_bytes(b"".join(lines_of(log)[:9]))
    assert store.summary(log).status == "unfinished"


def test_a_long_question_ends_in_the_list_with_a_sign_that_it_goes_on(runs: Path) -> None:
    recording = read(runs / "2026-python.jsonl")
    for question, shown in (("q" * 200, "q" * 200), ("q" * 201, "q" * 199 + "…")):
        recording.started = msgspec.structs.replace(recording.started, question=question)
        assert store.summarise(recording, Path("a.jsonl")).question == shown


def test_the_run_list_follows_the_folder(runs: Path) -> None:
    index = store.own_runs()
    assert {s.id for s in index.summaries()} == {"2026-python", "2026-round_limit", "2026-gives_up"}
    (runs / "2026-python.jsonl").unlink()
    record(case_named("standard"), runs / "2027-standard.jsonl", clock=ticking())
    log = runs / "2026-round_limit.jsonl"
    log.write_bytes(b"".join(lines_of(log)[:5]))
    found = {s.id: s.status for s in index.summaries()}
    assert found == {"2026-round_limit": "unfinished", "2026-gives_up": "failed", "2027-standard": "answered"}


def test_newest_runs_come_first(runs: Path) -> None:
    record(case_named("standard"), runs / "a.jsonl", clock=lambda: 1_900_000_000.0)
    record(case_named("standard"), runs / "b.jsonl")
    found = [s.id for s in store.own_runs().summaries()]
    assert (found[0], found[-1]) == ("a", "b"), "a run without times is the oldest"


def test_only_new_and_changed_logs_are_read(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.own_runs().summaries()
    looked: list[Path] = []
    whole = store.summary

    def watched(path: Path, id_: str | None = None) -> store.RunSummary:
        looked.append(path)
        return whole(path, id_)

    monkeypatch.setattr(store, "summary", watched)
    store.own_runs().summaries()
    assert looked == []
    os.utime(runs / "2026-python.jsonl", (1, 1))
    store.own_runs().summaries()
    assert [p.name for p in looked] == ["2026-python.jsonl"]
    assert store.own_runs().rebuild() == 3
    assert len(looked) == 4


def test_a_folder_that_is_absent_holds_no_runs(tmp_path: Path) -> None:
    assert store.Index(tmp_path / "absent", tmp_path / "index.sqlite").summaries() == []


def _damage(kind: str, index: Path) -> None:
    data = index.read_bytes()
    match kind:
        case "no database":
            index.write_bytes(b"this is no database at all, but it is long enough to look at" * 99)
        case "cut":
            index.write_bytes(data[: len(data) // 2])
        case "empty":
            index.write_bytes(b"")
        case "scribbled":
            index.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
        case "no table":
            with sqlite3.connect(index) as db:
                db.execute("DROP TABLE runs")
        case "another version":
            with sqlite3.connect(index) as db:
                db.execute("PRAGMA user_version=999")
        case "summaries of another version":
            with sqlite3.connect(index) as db:
                db.execute("UPDATE runs SET summary=?", (b'{"unknown": 1}',))
        case "gone":
            index.unlink()


@pytest.mark.parametrize(
    "kind",
    [
        "no database",
        "cut",
        "empty",
        "scribbled",
        "no table",
        "another version",
        "summaries of another version",
        "gone",
    ],
)
def test_the_index_may_be_damaged_or_deleted_at_any_time(kind: str, runs: Path) -> None:
    index = store.own_runs()
    before = index.summaries()
    _damage(kind, index.index)
    assert index.summaries() == before
    assert index.summaries() == before


def test_an_index_that_cannot_be_written_is_a_usage_error(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot use the run index"):
        store.Index(runs, tmp_path / "file" / "index.sqlite").summaries()


def test_the_index_never_changes_a_log(runs: Path) -> None:
    before = {p: p.read_bytes() for p in runs.iterdir()}
    store.own_runs().rebuild()
    assert {p: p.read_bytes() for p in runs.iterdir()} == before


def test_run_ids_sort_by_time_and_differ() -> None:
    ids = [store.new_run_id() for _ in range(50)]
    assert len(set(ids)) > 45
    assert all(len(id_) == len("20260131-174502-3f9c7a") for id_ in ids)
    moments = [id_[:-2] for id_ in ids]
    assert moments == sorted(moments), "`last` is the last one also of two in one second"


def test_an_instruction_is_kept_and_found_by_its_name() -> None:
    kept = store.Instruction("mine", "written", {"instruction": "Grüße"})
    store.save_instruction(kept)
    assert store.load_instruction("mine") == kept
    with pytest.raises(UsageError, match="there are mine"):
        store.load_instruction("yours")
    (store.home().instructions / "mine.json").write_text("{")
    with pytest.raises(UsageError, match="mine"):
        store.load_instruction("mine")


@pytest.mark.parametrize("name", ["../../etc/passwd", "", ".", "a/b"])
def test_an_instruction_name_is_never_a_path(name: str) -> None:
    with pytest.raises(UsageError, match="no instruction"):
        store.load_instruction(name)
