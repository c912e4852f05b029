"""The run log as it stands on disk, read with json and hashlib: what each line holds and how
requests, messages and ids hang together. What a reader makes of it is the other half."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import CASES, FINAL, Case, again, lines_of, objects, record, run

from meta_tui.chat import Message, Params, Reply
from meta_tui.errors import UsageError
from meta_tui.events import (
    AnyEvent,
    Delta,
    Failed,
    Replied,
    Requested,
    RunStarted,
    Scored,
    from_json,
    to_json,
)
from meta_tui.methods import build, settings_of
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.runlog import Writer, parse, read, seal
from meta_tui.sources import header

OUTCOMES = {"RunStarted", "Replied", "Failed", "CodeFinished", "Embedded", "Scored"}


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def log(case: Case, tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    record(case, path)
    return path


def test_a_log_begins_with_what_is_run_and_ends_with_how_it_ended(log: Path, case: Case) -> None:
    found = objects(log)
    first, last = found[0], found[-1]
    assert first["e"] == "RunStarted"
    assert first["format"] == 1
    assert first["tool"].startswith("meta-tui ")
    assert (first["method"], first["model"], first["question"]) == (
        case.method,
        "scripted",
        "What is 6 times 7?",
    )
    assert set(first["settings"]) == set(settings_of(case.build()))
    assert last["e"] == "RunFinished"
    assert last["status"] == case.status


def test_each_distinct_message_stands_once_and_no_reply_twice(log: Path) -> None:
    found = objects(log)
    stored = [line["id"] for line in found if line["e"] == "Message"]
    assert len(stored) == len(set(stored))
    replies = {
        sha256(canonical({"role": "assistant", "content": line["reply"]["text"]})).hexdigest()[:16]
        for line in found
        if line["e"] == "Replied"
    }
    assert not replies & set(stored)


def test_every_id_is_the_digest_that_the_design_names(log: Path) -> None:
    """Message: canonical JSON of the message. Outcome: the line without id, at and how."""
    for line, raw in zip(objects(log), lines_of(log), strict=True):
        if line["e"] == "Message":
            content = {k: line[k] for k in ("role", "content")}
            assert line["id"] == sha256(canonical(content)).hexdigest()[:16]
        if line["e"] in OUTCOMES:
            bare = {k: v for k, v in line.items() if k not in ("id", "at", "how")}
            text = json.dumps(bare, separators=(",", ":"), ensure_ascii=False).encode()
            assert line["id"] == sha256(text).hexdigest()[:16], raw


def _whole(params: dict[str, Any]) -> dict[str, Any]:
    """1.0 is written as 1 where keys are made."""
    return {k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in params.items()}


def test_requests_written_as_keep_and_new_give_the_keys_again(log: Path) -> None:
    """Rebuilt here from the lines alone: messages by id, keep of the same span's last request."""
    found = objects(log)
    base = {"model": found[0]["model"], **found[0].get("params", {})}
    params = {k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in base.items()}
    texts: dict[str, dict[str, str]] = {}
    last: dict[str, list[str]] = {}
    requests = 0
    sets = {line["id"]: _whole(line["params"]) for line in found if line["e"] == "Params"}
    for line in found:
        if line["e"] == "Message":
            texts[line["id"]] = {"role": line["role"], "content": line["content"]}
        if line["e"] == "Replied":
            message = {"role": "assistant", "content": line["reply"]["text"]}
            texts[sha256(canonical(message)).hexdigest()[:16]] = message
        if line["e"] == "Requested":
            span = line.get("span", "")
            ids = last.get(span, [])[: line.get("keep", 0)] + line.get("new", [])
            last[span] = ids
            own = sets[line["params"]] if "params" in line else params
            digests = [sha256(canonical(texts[id_])).hexdigest() for id_ in ids]
            assert line["key"] == sha256(canonical({"v": 1, "params": own, "messages": digests})).hexdigest()
            requests += 1
    assert requests


def test_fields_at_their_default_are_left_out(log: Path) -> None:
    for line in objects(log):
        for name, default in (("span", ""), ("strand", ""), ("draw", 0), ("keep", 0), ("at", None)):
            assert line.get(name, "absent") != default, line


def test_order_of_keys_is_fixed(log: Path) -> None:
    """No two fields of one kind of line ever stand in both orders; dictionaries are sorted."""
    orders: set[tuple[str, str, str]] = set()
    for line in objects(log):
        orders |= {(line["e"], one, other) for one, other in combinations(line, 2)}
    assert not [(e, one, other) for e, one, other in orders if (e, other, one) in orders]
    settings = objects(log)[0]["settings"]
    assert list(settings) == sorted(settings)


def test_the_reader_gives_back_the_events_that_consumers_were_told(case: Case, tmp_path: Path) -> None:
    told: list[AnyEvent] = []
    record(case, tmp_path / "run.jsonl", consumers=[told.append])
    kept = [event for event in told if not isinstance(event, Delta)]
    assert read(tmp_path / "run.jsonl").events == kept


def test_events_survive_their_json(case: Case, tmp_path: Path) -> None:
    told: list[AnyEvent] = []
    record(case, tmp_path / "run.jsonl", consumers=[told.append])
    assert [from_json(to_json(event)) for event in told] == told


def test_lines_are_numbered_as_a_person_counts_them(log: Path) -> None:
    recording = read(log)
    raw = log.read_bytes().split(b"\n")
    for event, number in zip(recording.events, recording.lines, strict=True):
        assert json.loads(raw[number - 1])["e"] == type(event).__name__


def test_the_reader_counts_whole_lines(log: Path) -> None:
    recording = read(log)
    assert recording.size == log.stat().st_size
    assert not recording.torn
    assert recording.finished is not None


@pytest.mark.parametrize(
    "params",
    [
        Params(temperature=0, top_p=1),
        Params(temperature=1.0, extra_body={"a": 1.0, "b": [None, True]}),
        Params(stop=("a", "b"), response_format={"type": "json_object"}),
    ],
)
def test_parameters_given_as_whole_numbers_can_be_read_again(params: Params, tmp_path: Path) -> None:
    """1 given for 1.0 has another digest than the 1.0 that is read."""
    log = tmp_path / "run.jsonl"
    run(
        build("standard"),
        header(build("standard"), "q", model="m", params=params),
        Doors(ScriptedModel([FINAL])),
        log,
    )
    assert again(log).answer == "42"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(FINAL, logprobs=[{"token": "a", "logprob": float("-inf")}]),
        Reply(FINAL, logprobs={"big": 2**70, "small": 1e-320, "zero": -0.0}),
        Reply(FINAL, reasoning="\u2028\x00\x1b]0;x\x07", finish_reason="stop"),
    ],
)
def test_whatever_a_door_gives_is_read_as_the_run_saw_it(reply: Reply, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    told: list[AnyEvent] = []
    method = build("standard")
    run(method, header(method, "q", model="m"), Doors(ScriptedModel([reply])), log, consumers=[told.append])
    seen = [event for event in told if isinstance(event, Replied)]
    assert [event for event in read(log).events if isinstance(event, Replied)] == seen
    assert again(log).answer == "42"


def test_an_outcome_is_sealed_as_it_will_be_read() -> None:
    assert seal(Failed(0, "server", retry_in=1)).retry_in == 1.0
    assert seal(Failed(0, "server", retry_in=1)).id == seal(Failed(0, "server", retry_in=1.0)).id
    assert seal(Scored("em", 1, n=0)).id == seal(Scored("em", 1.0, n=0)).id


def test_an_outcome_that_no_file_can_hold_is_refused_before_it_is_written() -> None:
    with pytest.raises(UsageError, match="cannot be stored"):
        seal(Replied(0, Reply("\ud800")))


def test_deltas_are_never_logged(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    told: list[AnyEvent] = []
    method = build("standard")
    run(
        method,
        header(method, "q", model="m"),
        Doors(ScriptedModel([FINAL], piece=3)),
        log,
        consumers=[told.append],
    )
    pieces = [event for event in told if isinstance(event, Delta)]
    assert "".join(piece.text for piece in pieces) == FINAL
    assert b"Delta" not in log.read_bytes()


def test_parameters_that_differ_stand_once(tmp_path: Path) -> None:
    """The design's `Params` line: a request names the id of the set that it used."""
    base = Params(temperature=0.5)
    started = RunStarted(1, "t", "written", "standard", {}, "m", "q", base)
    own = Params("m", temperature=0.5, seed=1)
    log = tmp_path / "run.jsonl"
    with Writer(log) as writer:
        writer.write(seal(started))
        for n in range(3):
            message = Message("user", str(n))
            key = sha256(
                canonical(
                    {
                        "v": 1,
                        "params": {"model": "m", "temperature": 0.5, "seed": 1},
                        "messages": [message.digest],
                    }
                )
            )
            writer.write(Requested(n, key.hexdigest(), (message,), own))
    found = objects(log)
    sets = [line for line in found if line["e"] == "Params"]
    assert [line["params"] for line in sets] == [{"model": "m", "temperature": 0.5, "seed": 1}]
    assert sets[0]["id"] == sha256(canonical(sets[0]["params"])).hexdigest()[:16]
    assert [line["params"] for line in found if line["e"] == "Requested"] == [sets[0]["id"]] * 3
    assert [e.params for e in read(log).events if isinstance(e, Requested)] == [own] * 3


def test_parameters_that_only_compare_equal_are_another_set(tmp_path: Path) -> None:
    """True == 1 in Python, but not in a request."""
    log = tmp_path / "run.jsonl"
    started = seal(RunStarted(1, "t", "written", "standard", {}, "m", "q", Params(extra_body={"a": 1})))
    own = Params("m", extra_body={"a": True})
    message = Message("user", "q")
    key = sha256(
        canonical({"v": 1, "params": {"model": "m", "extra_body": {"a": True}}, "messages": [message.digest]})
    )
    with Writer(log) as writer:
        writer.write(started)
        writer.write(Requested(0, key.hexdigest(), (message,), own))
    (event,) = [e for e in read(log).events if isinstance(e, Requested)]
    assert event.params.extra_body["a"] is True


def test_a_message_that_a_method_edits_is_a_new_message(tmp_path: Path) -> None:
    """Round headers stand on the last message: the request keeps what stands before it."""
    log = tmp_path / "run.jsonl"
    record(next(c for c in CASES if c.name == "malformed"), log)
    requests = [line for line in objects(log) if line["e"] == "Requested"]
    assert [(line.get("keep", 0), len(line["new"])) for line in requests] == [(0, 2), (2, 2), (4, 2), (6, 2)]


def test_a_log_without_a_last_newline_is_whole(log: Path) -> None:
    data = log.read_bytes()
    assert parse(data[:-1]).events == parse(data).events
    assert not parse(data[:-1]).torn
