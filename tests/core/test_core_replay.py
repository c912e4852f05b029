"""Replay: exact, or an error that says where and what; and the record modes over the same follow."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replaced
from scripted_runs import (
    CASES,
    FINAL,
    Case,
    Programs,
    Script,
    again,
    call_text,
    case_named,
    lines_of,
    objects,
    record,
    remembering,
    run,
)

from meta_tui.chat import Params, user
from meta_tui.errors import CallFailed, CassetteMiss, Difference, Unfinished, UsageError
from meta_tui.events import AnyEvent, RunFinished, RunStarted, Source
from meta_tui.methods import build
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors, Run, RunResult, Solution, Stop
from meta_tui.runlog import Writer, read, seal
from meta_tui.sources import (
    RecordMode,
    check_log,
    header,
    message_log,
    message_log_digest,
    play,
    replay,
    with_cassette,
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_method_replays_from_its_own_log_with_no_door_open(case: Case, tmp_path: Path) -> None:
    """X-2: the same events, told to consumers in an order in which each span is the recorded one."""
    log = tmp_path / "run.jsonl"
    record(case, log)
    recording = read(log)
    told: list[AnyEvent] = []
    result = asyncio.run(replay(recording, consumers=[told.append]))
    assert sorted(map(repr, told)) == sorted(map(repr, recording.events))
    for span in {e.span for e in recording.events}:
        assert [e for e in told if e.span == span] == [e for e in recording.events if e.span == span]
    assert result.status == case.status
    assert log.read_bytes() == b"".join(lines_of(log))


def test_playing_gives_every_event_in_the_order_of_the_file(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    told: list[AnyEvent] = []
    play(read(log), told.append)
    assert told == read(log).events
    log.write_bytes(b"".join(lines_of(log)[:-1]))
    with pytest.raises(Unfinished):
        play(read(log), told.append)


def test_a_log_of_a_known_method_is_checked_without_being_run(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    assert check_log(log).answer == "42"


# The miss report.


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    return log


def missed(log: Path, error: type[Exception] = CassetteMiss, **settings: Any) -> str:
    """The report of replaying a log with other settings than were recorded."""
    recording = read(log)
    method = build(recording.started.method, {**recording.started.settings, **settings})
    with pytest.raises(error) as caught:
        asyncio.run(replay(recording, method=method))
    return str(caught.value)


def test_a_miss_names_role_round_nearest_request_and_first_differing_line(recorded: Path) -> None:
    """The feedback text stands in the second request of the Meta Model, on its last line."""
    found = objects(recorded)
    second = [n for n, line in enumerate(found, 1) if line["e"] == "Requested" and not line.get("span")][1]
    text = next(
        line["content"] for line in found if line["e"] == "Message" and "Given this" in line["content"]
    )
    where = text.split("\n").index(next(x for x in text.split("\n") if x.startswith("Given this"))) + 1
    report = missed(recorded, feedback="Give in.")
    assert report.startswith("not recorded: meta, round 2, key ")
    assert (
        f"the nearest recorded request is line {second}; message 3 (user) line {where}, character 5" in report
    )
    assert "recorded 'Given this" in report
    assert "now 'Give in." in report


def test_a_miss_of_an_expert_names_the_expert(recorded: Path) -> None:
    report = missed(recorded, expert_system="You are an expert.")
    assert report.startswith("not recorded: expert Expert Python, round 1, key ")
    assert "message 0 (system) line 1, character 12: recorded 'You are an assistant" in report


def test_a_miss_of_the_first_request_names_its_line(recorded: Path) -> None:
    report = missed(recorded, suffix="Go on.")
    assert "meta, round 1" in report
    assert "message 1 (user) line 5, character 1" in report


def test_a_request_that_is_recorded_at_another_place_is_a_difference(recorded: Path) -> None:
    """first_only, rounds: the run goes another way before it asks for anything new."""
    report = missed(recorded, Difference, rounds=9)
    assert report == "line 2 (meta, round 1): RoundStarted.limit: recorded 16, now 9"


def test_a_program_that_was_not_recorded_is_a_difference_with_its_line(recorded: Path) -> None:
    line = next(n for n, found in enumerate(objects(recorded), 1) if found["e"] == "CodeStarted")
    report = missed(recorded, Difference, code_seconds=9)
    assert report.startswith(f"line {line} (expert Expert Python, round 1): CodeStarted.key")


def test_a_miss_in_an_empty_log_says_that_there_is_nothing(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    started = seal(case_named("standard").header())
    with Writer(log) as writer:
        writer.write(started)
        writer.write(RunFinished("no_answer"))
    with pytest.raises((CassetteMiss, Difference)):
        again(log)


def test_a_reply_too_long_to_show_is_cut_in_the_report(recorded: Path) -> None:
    """10 MB on one line: the report stays a few lines, and is made in no time."""
    report = missed(recorded, feedback="x" * 10_000_000)
    assert len(report) < 1000


def test_a_run_that_ends_too_early_is_a_difference(tmp_path: Path) -> None:
    """Here a reply without a final answer is answered by an error text: then it was not."""
    log = tmp_path / "run.jsonl"
    record(case_named("malformed"), log)
    recording = read(log)
    method = build("meta_prompting", {**recording.started.settings, "rounds": 16})
    with pytest.raises(Difference, match=r"recorded Rejected, now the end of the run"):
        asyncio.run(replay(recording, method=Ends(method)))


class Ends:
    """A method that takes the first reply for the last."""

    id = "meta_prompting"

    def __init__(self, method: Any) -> None:
        self._method = method

    async def solve(self, run: Run, question: str) -> Solution:
        run.round(1, 16)
        history = self._method.opening(question)
        headed = user(f"ROUND 1:\n\n{history[-1].content}")
        await run.ask([*history[:-1], headed])
        return Solution(None, "enough")


# Imported runs.


def test_an_imported_log_must_give_its_message_log_back(tmp_path: Path) -> None:
    """The digest of the first line is compared, so a run that is exact but of another source is not."""
    case = case_named("two_calls")
    plain = tmp_path / "plain.jsonl"
    record(case, plain)
    result = again(plain)
    right = message_log_digest(message_log(result.messages))
    for digest, error in ((right, None), ("0" * 64, Difference)):
        log = tmp_path / f"{digest[:4]}.jsonl"
        source = Source("M", "t", 3, digest)
        started = header(
            case.build(), "What is 6 times 7?", model="scripted", seed=7, origin="imported", source=source
        )
        run(case.build(), started, Doors(remembering(case.script, Script()), Programs(())), log)
        if error is None:
            assert again(log).answer == "42"
        else:
            with pytest.raises(error, match="M/t row 3"):
                again(log)


def test_a_message_log_digest_is_the_sha256_of_its_canonical_json() -> None:
    """Worked out with json and hashlib."""
    log = [{"role": "user", "content": 'Grüße "x"\n'}, {"role": "assistant", "content": ""}]
    text = json.dumps(log, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert message_log_digest(log) == sha256(text.encode()).hexdigest()


# Record modes.


def cassette(
    path: Path,
    mode: RecordMode,
    script: Any,
    *,
    case: str = "two_calls",
    stop: Stop | None = None,
    **settings: Any,
) -> tuple[RunResult, ScriptedModel, int]:
    """A run in a record mode: its result, the model, how many recorded effects went unused."""
    found = case_named(case)
    method = build(found.method, {**dict(found.settings), **settings})
    started = header(method, "q", model="m")
    model = ScriptedModel(script)
    result, journal = asyncio.run(with_cassette(path, mode, method, started, Doors(model), stop=stop))
    return result, model, len(journal.unused())


SCRIPT = ('Expert Ada:\n"""\nfirst\n"""', "one", FINAL)


def test_mode_none_needs_a_cassette_and_asks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    with pytest.raises(UsageError, match="no cassette"):
        cassette(path, "none", SCRIPT)
    cassette(path, "once", SCRIPT)
    before = path.read_bytes()
    result, model, unused = cassette(path, "none", [])
    assert (result.answer, model.calls, unused) == ("42", [], 0)
    assert path.read_bytes() == before


def test_mode_once_records_and_then_replays(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    _, model, _ = cassette(path, "once", SCRIPT)
    assert len(model.calls) == 3
    before = path.read_bytes()
    _, model, unused = cassette(path, "once", [])
    assert (model.calls, unused) == ([], 0)
    assert path.read_bytes() == before
    with pytest.raises(Difference, match="line 1: setting 'expert_system' was recorded as 'You are"):
        cassette(path, "once", SCRIPT, expert_system="other")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("question", "other"), ("model", "n"), ("repeat", "1"), ("seed", 1), ("params", Params(seed=1))],
)
def test_modes_none_and_once_want_the_recorded_run(name: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    cassette(path, "once", SCRIPT)
    method = build("meta_prompting")
    started: RunStarted = replaced(header(method, "q", model="m"), **{name: value})
    with pytest.raises(Difference, match=f"line 1: {name}"):
        asyncio.run(with_cassette(path, "once", method, started, Doors()))


def test_mode_new_episodes_asks_what_is_missing_and_replaces_the_file(tmp_path: Path) -> None:
    """An edited feedback text: the first request and the expert's are recorded, the rest is new."""
    path = tmp_path / "c.jsonl"
    cassette(path, "once", SCRIPT)
    result, model, unused = cassette(path, "new_episodes", [FINAL], feedback="Go on.")
    assert result.answer == "42"
    assert [call.role for call in model.calls] == ["meta"]
    assert unused == 1, "the second request of the recorded run is stale"
    assert again(path).answer == "42"
    _, model, unused = cassette(path, "none", [], feedback="Go on.")
    assert (model.calls, unused) == ([], 0)


def test_mode_new_episodes_moves_replies_to_where_they_are_asked_for_now(tmp_path: Path) -> None:
    """Addresses are key, strand and draw: a span more or less does not lose a reply."""
    path = tmp_path / "c.jsonl"
    two = call_text("Expert Ada", "first") + "\n\n" + call_text("Expert Bob", "second")
    cassette(path, "once", (two, "one", "two", FINAL))
    _, model, _ = cassette(path, "new_episodes", [FINAL], first_only=True)
    assert len(model.calls) == 1
    assert again(path).answer == "42"


def test_mode_new_episodes_asks_again_what_was_stopped(tmp_path: Path) -> None:
    """A stop belongs to the run that was stopped, not to its request."""
    path = tmp_path / "c.jsonl"
    stop = Stop()

    def answer(call: Any) -> str:
        stop.after_call()
        return SCRIPT[0]

    result, _, _ = cassette(path, "once", answer, stop=stop)
    assert result.status == "cancelled"
    result, model, _ = cassette(path, "new_episodes", ["one", FINAL])
    assert (result.answer, len(model.calls)) == ("42", 2)
    assert again(path).answer == "42"


def test_mode_all_records_anew_and_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    cassette(path, "once", SCRIPT)
    _, model, _ = cassette(path, "all", (FINAL.replace("42", "43"),))
    assert len(model.calls) == 1
    assert again(path).answer == "43"
    assert [p.name for p in tmp_path.iterdir()] == ["c.jsonl"]


@pytest.mark.parametrize("mode", ["all", "new_episodes"])
def test_a_cassette_stays_until_its_successor_is_whole(mode: RecordMode, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    cassette(path, "once", SCRIPT)
    before = path.read_bytes()

    def answer(call: Any) -> str:
        assert path.read_bytes() == before
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        cassette(path, mode, answer, suffix="other")
    assert path.read_bytes() == before


def test_a_first_recording_stands_in_the_cassette_as_it_goes(tmp_path: Path) -> None:
    """What was paid for is there if the run is killed; the next look says what to do."""
    path = tmp_path / "c.jsonl"
    script = iter(SCRIPT)
    paid = []

    def answer(call: Any) -> str:
        paid.append(path.read_bytes().count(b'{"e":"Replied"'))
        return next(script)

    cassette(path, "once", answer)
    assert paid == [0, 1, 2]
    path.write_bytes(b"".join(lines_of(path)[:9]))
    with pytest.raises(Unfinished, match="resume it"):
        cassette(path, "once", [])


def test_recorded_failures_are_part_of_a_cassette(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    result, _, _ = cassette(path, "once", [CallFailed("server", "down")], case="standard")
    assert result.status == "failed"
    modes: tuple[RecordMode, ...] = ("none", "new_episodes")
    for mode in modes:
        result, model, _ = cassette(path, mode, [FINAL], case="standard")
        assert (result.status, result.reason, model.calls) == ("failed", "server", [])


def test_unused_recordings_are_reported_by_mode_new_episodes_only(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    cassette(path, "once", ("hm", "hm", FINAL), case="malformed")
    _, _, unused = cassette(path, "new_episodes", [FINAL], case="malformed", suffix="other")
    assert unused == 3
