"""Resume and fork: nothing that was paid for is asked again, and a run that goes on ends as if it
had never been cut."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from again_by_script import Recorded
from msgspec.structs import replace as replaced
from scripted_runs import (
    CASES,
    FINAL,
    Address,
    Case,
    Programs,
    Script,
    address,
    again,
    case_named,
    go_on,
    lines_of,
    objects,
    record,
    run,
    ticking,
)

from meta_tui.errors import CallFailed, NotARunLog, UnknownSetting, UsageError
from meta_tui.events import Failed, Parent, Replied, Result, RunFinished, Source, to_json
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors, Stop
from meta_tui.runlog import parse, read, seal
from meta_tui.sources import fork, message_log, message_log_digest
from meta_tui.store import shipped

ENDED_BY_ITSELF = [case for case in CASES if case.status != "failed"]
CASSETTES = [log for log in sorted(shipped("cassettes").glob("*.jsonl")) if not read(log).started.stream]
"""Instances of a stream speak at once: how one goes on is held, span by span, beside its story."""

FAILED = [case for case in CASES if case.status == "failed"]


def doors_of(case: Case, script: Script, cut: bytes) -> tuple[Doors, ScriptedModel, Programs]:
    """Doors that give what the first run was given; programs that ran before the cut are done."""
    model, done = script.model(), cut.count(b'{"e":"CodeFinished"')
    programs = Programs(case.results[done:])
    return Doors(model, programs), model, programs


def answered_in(data: bytes) -> set[Address]:
    """The addresses whose outcome stands in a log."""
    return set(parse(data).outcomes)


@pytest.mark.parametrize("case", ENDED_BY_ITSELF, ids=str)
def test_cut_at_every_line_a_run_goes_on_to_the_same_bytes(case: Case, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    script = record(case, log)
    data, lines = log.read_bytes(), lines_of(log)
    for count in range(1, len(lines)):
        cut = b"".join(lines[:count])
        log.write_bytes(cut)
        doors, model, programs = doors_of(case, script, cut)
        result = go_on(log, doors)
        assert log.read_bytes() == data, f"cut behind line {count}"
        asked = [address(call) for call in model.calls]
        assert len(asked) == len(set(asked))
        assert not set(asked) & answered_in(cut)
        assert len(programs.ran) == data.count(b'"CodeFinished"') - cut.count(b'"CodeFinished"')
        assert result.status == case.status


@pytest.mark.parametrize("case", ENDED_BY_ITSELF, ids=str)
def test_cut_at_any_byte_a_run_goes_on_to_the_same_bytes(case: Case, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    script = record(case, log)
    data = log.read_bytes()
    line_one = data.index(b"\n")
    chance = random.Random(case.name)
    for size in sorted(chance.sample(range(line_one, len(data)), 40)):
        log.write_bytes(data[:size])
        if read(log).finished:
            continue
        doors, model, _ = doors_of(case, script, data[: read(log).size])
        go_on(log, doors)
        assert log.read_bytes() == data
        assert not {address(call) for call in model.calls} & answered_in(data[:size])


def test_nothing_can_be_resumed_before_the_first_line_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("standard"), log)
    data = log.read_bytes()
    for size in (0, 1, data.index(b"\n") - 1):
        log.write_bytes(data[:size])
        with pytest.raises(NotARunLog):
            go_on(log, Doors())
        assert log.read_bytes() == data[:size]


def test_times_of_what_was_recorded_stay(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    script = record(case_named("python"), log, clock=ticking())
    lines = lines_of(log)
    log.write_bytes(b"".join(lines[:9]))
    go_on(log, doors_of(case_named("python"), script, b"".join(lines[:9]))[0])
    assert lines_of(log)[:9] == lines[:9]
    assert again(log).answer == "42"


def test_a_run_that_ended_by_itself_is_not_resumed(tmp_path: Path) -> None:
    for name in ("standard", "round_limit"):
        log = tmp_path / f"{name}.jsonl"
        record(case_named(name), log)
        before = log.read_bytes()
        with pytest.raises(UsageError, match=r"ended by itself.*fork it"):
            go_on(log, Doors())
        assert log.read_bytes() == before


@pytest.mark.parametrize("case", FAILED, ids=str)
def test_a_failed_run_is_not_failed_for_ever(case: Case, tmp_path: Path) -> None:
    """Its failed end is cut, the call that failed for good is asked again under its own address."""
    log = tmp_path / "run.jsonl"
    script = record(case, log)
    failed = [a for a, line in script.lines.items() if isinstance(line, CallFailed)]
    replied = set(script.lines) - set(failed)
    model = ScriptedModel(lambda call: FINAL if call.role == "meta" else "fine")
    result = go_on(log, Doors(model))
    assert (result.status, result.answer) == ("answered", "42")
    assert address(model.calls[0]) == failed[-1]
    assert not {address(call) for call in model.calls} & replied
    assert again(log).status == "answered"
    assert [line["status"] for line in objects(log) if line["e"] == "RunFinished"] == ["answered"]


def test_a_failure_that_the_method_took_stays(tmp_path: Path) -> None:
    """Failures before the failed end are part of the run: the method went on from them."""
    case = case_named("gives_up")
    log = tmp_path / "run.jsonl"
    record(case, log)
    go_on(log, Doors(ScriptedModel([FINAL])))
    kinds = [line["kind"] for line in objects(log) if line["e"] == "Failed"]
    assert kinds == ["server", "server"]


@pytest.mark.parametrize("case", FAILED, ids=str)
def test_a_failed_run_cut_before_its_end_can_be_resumed_twice(case: Case, tmp_path: Path) -> None:
    """Killed while it was failing: it may fail again at once, but not for ever, and never asks
    what was answered."""
    log = tmp_path / "run.jsonl"
    script = record(case, log)
    answered = {a for a, line in script.lines.items() if not isinstance(line, CallFailed)}
    lines = lines_of(log)
    for count in range(1, len(lines)):
        log.write_bytes(b"".join(lines[:count]))
        known = answered_in(log.read_bytes()) & answered
        model = ScriptedModel(lambda call: FINAL if call.role == "meta" else "fine")
        result = go_on(log, Doors(model))
        if result.status == "failed":
            result = go_on(log, Doors(model))
        assert result.answer == "42"
        assert not {address(call) for call in model.calls} & known
        assert again(log).answer == "42"


@pytest.mark.parametrize("kind", ["cancelled", "budget"])
@pytest.mark.parametrize("name", ["python", "two_calls", "expert_dynamic", "published_failures"])
def test_a_stopped_run_goes_on_to_the_same_bytes(name: str, kind: str, tmp_path: Path) -> None:
    """Stopped after any number of calls: the stop is taken out and the run ends as it would have."""
    case = case_named(name)
    whole = tmp_path / "whole.jsonl"
    script = record(case, whole)
    for calls in range(len(case.script)):
        log = tmp_path / f"{calls}.jsonl"
        stopped_after(case, script, calls, log, kind)
        assert objects(log)[-1] == {"e": "RunFinished", "status": kind, "reason": kind}
        assert again(log).status == kind
        done = log.read_bytes()
        go_on(log, doors_of(case, script, done)[0])
        assert log.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("name", ["two_calls", "published_failures"])
def test_a_stopped_run_cut_anywhere_goes_on_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    """Killed while it wrote its stopped end."""
    case = case_named(name)
    whole = tmp_path / "whole.jsonl"
    script = record(case, whole)
    for calls in (1, 2):
        stopped = tmp_path / f"{calls}.jsonl"
        stopped_after(case, script, calls, stopped, "cancelled")
        lines = lines_of(stopped)
        for count in range(1, len(lines) + 1):
            log = tmp_path / "cut.jsonl"
            log.write_bytes(b"".join(lines[:count]))
            go_on(log, doors_of(case, script, b"")[0])
            assert log.read_bytes() == whole.read_bytes(), f"cut behind line {count}"


def stopped_after(case: Case, script: Script, calls: int, log: Path, kind: str) -> None:
    """Run a case that is stopped when it made so many calls."""
    stop = Stop()
    seen = 0

    def answer(call: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == calls:
            stop.after_call(kind)
        return script.lines[address(call)]

    if not calls:
        stop.after_call(kind)
    run(case.build(), case.header(), Doors(ScriptedModel(answer), Programs(case.results)), log, stop=stop)


def test_a_torn_end_behind_a_failed_end_does_no_harm(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("gives_up"), log)
    log.write_bytes(log.read_bytes() + b'{"e":"Sco')
    assert go_on(log, Doors(ScriptedModel([FINAL]))).answer == "42"
    assert again(log).answer == "42"


def test_a_resumed_run_that_differs_leaves_the_file_alone(tmp_path: Path) -> None:
    """Its method is unknown here: nothing may be written."""
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    started = seal(replaced(read(log).started, id="", method="other"))
    log.write_bytes(to_json(started) + b"\n" + b"".join(lines_of(log)[1:9]))
    before = log.read_bytes()
    with pytest.raises(UnknownSetting):
        go_on(log, Doors(ScriptedModel([FINAL])))
    assert log.read_bytes() == before


@pytest.mark.parametrize("log", CASSETTES, ids=lambda p: p.stem)
def test_every_shipped_cassette_cut_at_every_line_goes_on_to_the_same_run(log: Path, tmp_path: Path) -> None:
    """Byte-equal apart from at and how, and nothing is asked twice."""
    outcomes, lines, whole = read(log).outcomes, lines_of(log), _bare(log)
    for count in range(1, len(lines)):
        cut = tmp_path / log.name
        cut.write_bytes(b"".join(lines[:count]))
        known = read(cut).outcomes
        rest = {place: found[len(known.get(place, ())) :] for place, found in outcomes.items()}
        recorded = Recorded({place: found for place, found in rest.items() if found})
        go_on(cut, recorded.doors)
        assert _bare(cut) == whole, f"cut behind line {count}"
        assert len(recorded.asked) == len(set(recorded.asked))
        assert not [place for place in recorded.asked if known.get(place) and _is_last(known[place][-1])]


def _is_last(outcome: Result) -> bool:
    return not isinstance(outcome, Failed) or outcome.retry_in is None


def _bare(log: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k not in ("at", "how")} for line in objects(log)]


# Forks.


def line_of(log: Path, kind: str, nth: int = 0) -> int:
    """Line of the nth event of a kind."""
    return [n for n, line in enumerate(objects(log), 1) if line["e"] == kind][nth]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fork_at_any_line_keeps_what_stands_before_and_asks_the_rest(case: Case, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    script = record(case, log)
    recording = read(log)
    for line in recording.lines[1:]:
        new = tmp_path / f"fork{line}.jsonl"
        fork(recording, "parent", line, new, f"fork{line}")
        kept = answered_in(new.read_bytes())
        started = read(new).started
        assert started.parent == Parent("parent", line)
        assert started.repeat == f"fork:fork{line}"
        assert lines_of(new)[1:] == lines_of(log)[1 : line - 1]
        doors, model, _ = doors_of(case, script, new.read_bytes())
        result = go_on(new, doors)
        assert result.status == case.status
        assert not {address(call) for call in model.calls} & kept
        assert {call.repeat for call in model.calls} <= {f"fork:fork{line}"}
        assert lines_of(new)[1:] == lines_of(log)[1:]
        assert again(new).status == case.status


def test_a_fork_with_an_edited_reply_goes_another_way(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    recording = read(log)
    line = line_of(log, "Replied", -1)
    new = fork(recording, "parent", line, tmp_path / "new.jsonl", "new", edit=FINAL.replace("42", "41"))
    edited = objects(new)[-1]
    assert edited["how"]["source"] == "edited"
    assert "usage" not in edited["reply"]
    result = go_on(new, Doors())
    assert result.answer == "41"
    assert read(new).started.parent == Parent("parent", line, edited=True)
    assert again(new).answer == "41"


def test_an_edit_early_in_a_run_asks_all_that_follows_anew(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    line = line_of(log, "Replied", 0)
    new = fork(read(log), "parent", line, tmp_path / "new.jsonl", "new", edit=FINAL)
    model = ScriptedModel([])
    assert go_on(new, Doors(model)).answer == "42"
    assert model.calls == []
    assert again(new).calls == 1


def test_a_redraw_asks_the_same_address_in_another_repeat(tmp_path: Path) -> None:
    """The key and place are the old ones; `repeat` keeps the cache from giving the old reply."""
    log = tmp_path / "run.jsonl"
    script = record(case_named("two_calls"), log)
    line = line_of(log, "Replied", 1)
    new = fork(read(log), "parent", line, tmp_path / "new.jsonl", "r2")
    model = ScriptedModel(["another one", "two", FINAL])
    go_on(new, Doors(model))
    assert address(model.calls[0]) in script.lines
    assert model.calls[0].repeat == "fork:r2"
    assert [e.reply.text for e in read(new).events if isinstance(e, Replied)][1] == "another one"
    assert again(new).answer == "42"


@pytest.mark.parametrize("line", [0, 1, 9999, -3])
def test_a_fork_outside_of_the_log_is_refused(line: int, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    with pytest.raises(UsageError, match="no line"):
        fork(read(log), "parent", line, tmp_path / "new.jsonl", "new")
    assert not (tmp_path / "new.jsonl").exists()


def test_only_a_reply_can_be_edited(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    for kind in ("Requested", "CodeFinished", "RunFinished", "Message"):
        with pytest.raises(UsageError, match="no reply"):
            fork(read(log), "p", line_of(log, kind), tmp_path / "new.jsonl", "new", edit="x")


def test_a_fork_never_replaces_a_log(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    before = log.read_bytes()
    with pytest.raises(UsageError, match="exists"):
        fork(read(log), "parent", 9, log, "run")
    assert log.read_bytes() == before


def test_a_fork_of_a_stopped_run_is_not_stopped(tmp_path: Path) -> None:
    case = case_named("two_calls")
    whole = tmp_path / "whole.jsonl"
    script = record(case, whole)
    log = tmp_path / "run.jsonl"
    stopped_after(case, script, 2, log, "cancelled")
    recording = read(log)
    assert isinstance(recording.events[-1], RunFinished)
    last_failed = max(
        n for e, n in zip(recording.events, recording.lines, strict=True) if isinstance(e, Failed)
    )
    for line in (last_failed, last_failed + 1, recording.lines[-1]):
        new = fork(recording, "p", line, tmp_path / f"{line}.jsonl", f"{line}")
        assert go_on(new, doors_of(case, script, b"")[0]).answer == "42"
        assert again(new).answer == "42"


def test_a_fork_of_an_imported_run_is_a_run_of_its_own(tmp_path: Path) -> None:
    """It goes another way, so it will not give the authors' history back and does not claim to."""
    case = case_named("two_calls")
    log = tmp_path / "run.jsonl"
    script = record(case, log)
    messages = message_log(again(log).messages)
    started = replaced(case.header(), source=Source("M", "t", 0, message_log_digest(messages)))
    imported = tmp_path / "imported.jsonl"
    run(case.build(), started, doors_of(case, script, b"")[0], imported)
    assert again(imported).answer == "42"
    line = line_of(imported, "Replied", -1)
    new = fork(read(imported), "p", line, tmp_path / "new.jsonl", "new", edit=FINAL.replace("42", "41"))
    assert go_on(new, Doors()).answer == "41"
    assert read(new).started.source is None
    assert again(new).answer == "41"
