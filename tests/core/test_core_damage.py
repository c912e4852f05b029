"""Damaged, edited, cut, foreign and future logs: each is refused by a named error with its line,
or is a difference, or the edit changed nothing that counts."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from published import META, archive
from scripted_runs import CASES, again, case_named, objects, record, ticking, timeless

from meta_tui.chat import embed_key, score_key
from meta_tui.errors import (
    BadLine,
    CassetteMiss,
    Difference,
    DuplicateAddress,
    FutureVersion,
    KeepTooLarge,
    KeyMismatch,
    LogError,
    MessageMismatch,
    MetaTuiError,
    NotARunLog,
    NotReached,
    OutcomeMismatch,
    OutcomeWithoutRequest,
    ReplayError,
    SpanNeverStarted,
    Unfinished,
    UnknownId,
    UnknownSetting,
)
from meta_tui.exchange.published import bounds, import_run, published_files
from meta_tui.exchange.published import rows as import_rows
from meta_tui.runlog import Recording, parse, read

Object = dict[str, Any]
Damage = Callable[[list[Object]], None]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with an expert, a program, two rounds, times and provenance."""
    log = tmp_path_factory.mktemp("whole") / "run.jsonl"
    record(case_named("python"), log, clock=ticking())
    assert again(log).answer == "42"
    return log


def dumped(found: list[Object]) -> bytes:
    return b"".join(
        json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for line in found
    )


def sealed(line: Object) -> Object:
    """The line with the id that it must have, worked out here."""
    bare = {k: v for k, v in line.items() if k not in ("id", "at", "how")}
    if "settings" in bare:
        bare["settings"] = dict(sorted(bare["settings"].items()))
    text = json.dumps(bare, separators=(",", ":"), ensure_ascii=False).encode()
    return {**line, "id": sha256(text).hexdigest()[:16]}


def first(found: list[Object], kind: str, **fields: Any) -> int:
    """Index of the first line of a kind with these fields."""
    return next(
        i
        for i, line in enumerate(found)
        if line["e"] == kind and all(line.get(k) == v for k, v in fields.items())
    )


def change(kind: str, **new: Any) -> Damage:
    """Other values in the first line of a kind."""

    def damage(found: list[Object]) -> None:
        found[first(found, kind)].update(new)

    return damage


def insert(after: str, line: Object) -> Damage:
    """A line of our own behind the first of a kind."""

    def damage(found: list[Object]) -> None:
        found.insert(first(found, after) + 1, line)

    return damage


def remove(kind: str) -> Damage:
    """Without the first line of a kind."""

    def damage(found: list[Object]) -> None:
        del found[first(found, kind)]

    return damage


def again_at(kind: str, **new: Any) -> Damage:
    """The first line of a kind twice."""

    def damage(found: list[Object]) -> None:
        i = first(found, kind)
        found.insert(i + 1, {**found[i], **new})

    return damage


SCORED = sealed({"e": "Scored", "metric": "em", "value": 1.0, "n": 0})
STRAY = sealed({"e": "Scored", "metric": "em", "value": 1.0, "span": "7"})
EMBED = {"e": "EmbedStarted", "n": 9, "key": embed_key("e", ["a"]), "model": "e", "texts": ["a"]}
SCORE = {"e": "ScoreStarted", "n": 9, "key": score_key("42"), "answer": "42"}

DAMAGES: list[tuple[str, type[LogError], Damage]] = [
    ("no JSON object", BadLine, lambda found: found.__setitem__(3, {"e": "Nothing"})),
    ("unknown field", BadLine, change("RoundStarted", colour="red")),
    ("unknown field inside a reply", BadLine, change("Replied", reply={"text": "a", "Text": "b"})),
    ("unknown field inside a program", BadLine, change("CodeStarted", program={"code": "", "cpde": ""})),
    ("unknown field inside a result", BadLine, change("CodeFinished", result={"status": "ok", "out": ""})),
    ("unknown field inside how", BadLine, change("Replied", how={"sauce": "live"})),
    ("a missing field", BadLine, lambda found: found[first(found, "RoundStarted")].pop("limit")),
    ("a field of another kind", BadLine, change("RoundStarted", number="1")),
    ("a second beginning", BadLine, again_at("RunStarted")),
    ("an unknown status", BadLine, change("RunFinished", status="done")),
    ("message edited", MessageMismatch, change("Message", content="other")),
    ("message of another role", MessageMismatch, change("Message", role="user")),
    ("message with another id", MessageMismatch, change("Message", id="0123456789abcdef")),
    (
        "parameters edited",
        MessageMismatch,
        insert("RunStarted", {"e": "Params", "id": "0123456789abcdef", "params": {"model": "m"}}),
    ),
    ("reply edited", OutcomeMismatch, change("Replied", reply={"text": "other"})),
    ("reply with another id", OutcomeMismatch, change("Replied", id="0123456789abcdef")),
    ("usage added", OutcomeMismatch, change("Replied", reply={"text": "a", "usage": {"prompt_tokens": 1}})),
    ("result edited", OutcomeMismatch, change("CodeFinished", result={"status": "ok", "stdout": "43"})),
    ("question edited", OutcomeMismatch, change("RunStarted", question="other")),
    ("setting edited", OutcomeMismatch, lambda found: found[0]["settings"].update(rounds=3)),
    ("no id", OutcomeMismatch, lambda found: found[0].pop("id")),
    ("key edited", KeyMismatch, change("Requested", key="0" * 64)),
    ("program edited", KeyMismatch, change("CodeStarted", program={"code": "print(43)"})),
    ("embedding key edited", KeyMismatch, insert("RunStarted", {**EMBED, "key": "0" * 64})),
    ("score key edited", KeyMismatch, insert("RunStarted", {**SCORE, "key": "0" * 64})),
    ("another message in a request", KeyMismatch, lambda found: _swap_new(found)),
    ("keep too large", KeepTooLarge, change("Requested", keep=1)),
    ("keep below nothing", KeepTooLarge, change("Requested", keep=-1)),
    ("message missing", UnknownId, remove("Message")),
    ("parameters missing", UnknownId, change("Requested", params="0123456789abcdef")),
    ("request missing", OutcomeWithoutRequest, remove("Requested")),
    ("program missing", OutcomeWithoutRequest, remove("CodeStarted")),
    ("a score that nobody asked for", OutcomeWithoutRequest, insert("RoundStarted", SCORED)),
    ("a result of another kind", OutcomeWithoutRequest, lambda found: _reply_to_code(found)),
    ("span never started", SpanNeverStarted, remove("SpanStarted")),
    ("a span inside none", SpanNeverStarted, change("SpanStarted", span="7/1")),
    ("a round in no span", SpanNeverStarted, change("RoundStarted", span="7")),
    ("an evaluation's score in no span", SpanNeverStarted, insert("RoundStarted", STRAY)),
    ("the same request twice", DuplicateAddress, again_at("Requested")),
    ("the same address at another place", DuplicateAddress, again_at("CodeStarted", n=5)),
    ("the same place for two effects", DuplicateAddress, again_at("Requested", draw=1)),
    ("a second outcome", DuplicateAddress, again_at("Replied")),
    ("a span that starts twice", DuplicateAddress, again_at("SpanStarted")),
]


def _swap_new(found: list[Object]) -> None:
    line = found[first(found, "Requested")]
    line["new"] = line["new"][::-1]


def _reply_to_code(found: list[Object]) -> None:
    i = first(found, "CodeFinished")
    line = {k: v for k, v in found[i].items() if k != "result"}
    found[i] = sealed({"e": "Replied", "n": line["n"], "reply": {"text": "a"}, "span": line["span"]})


@pytest.mark.parametrize(("name", "error", "damage"), DAMAGES, ids=[d[0] for d in DAMAGES])
def test_each_damage_has_its_named_error_and_line(
    name: str, error: type[LogError], damage: Damage, whole: Path
) -> None:
    found, before = objects(whole), objects(whole)
    damage(found)
    with pytest.raises(LogError) as caught:
        parse(dumped(found))
    assert type(caught.value) is error
    changed = next(i for i, (a, b) in enumerate(zip(found, before, strict=False), 1) if a != b)
    assert caught.value.line >= changed
    assert str(caught.value).startswith(f"line {caught.value.line}: ")
    if error not in (UnknownId, OutcomeWithoutRequest, SpanNeverStarted):  # these: where it is missed
        assert caught.value.line in (changed, changed + 1)


def test_every_log_error_has_a_test() -> None:
    reached = {error for _, error, _ in DAMAGES}
    elsewhere = {NotARunLog, FutureVersion, UnknownSetting}
    assert set(LogError.__subclasses__()) == reached | elsewhere


@pytest.mark.parametrize(
    "change_",
    [
        {"method": "other"},
        {"settings": {"colour": "red"}},
        {"settings": {"rounds": "three"}},
        {"settings": {"rounds": 0}},
    ],
)
def test_an_unknown_method_or_setting_is_named_with_line_1(change_: Object, whole: Path) -> None:
    found = objects(whole)
    new = dict(change_)
    if "settings" in new:
        new["settings"] = {**found[0]["settings"], **new["settings"]}
    found[0] = sealed({**found[0], **new})
    with pytest.raises(UnknownSetting, match=r"^line 1: "):
        again(parse(dumped(found)))


def test_a_log_may_lack_a_setting_that_is_newer_than_it(whole: Path) -> None:
    """Its default is what the older version did; here it is, so the run is the same."""
    found = objects(whole)
    del found[0]["settings"]["step_by_step"]
    found[0] = sealed(found[0])
    assert again(parse(dumped(found))).answer == "42"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\n\n{}",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"\xff\xfe\x00\x01\n",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        b'{"role": "user", "content": "hello"}\n',
        b'{"e": "RoundStarted", "number": 1, "limit": 2}\n',
        b'{"e":"RunStarted","format":"2"}\n',
        b'{"e":"RunStarted","format":1,"tool":"meta',
        b"PK\x03\x04" + bytes(60),
        b'{"a":' * 100_000,
        b"\xef\xbb\xbf{}\n",
        b"input,target\n1,2\n",
    ],
)
def test_a_foreign_file_is_no_run_log(data: bytes) -> None:
    with pytest.raises(NotARunLog):
        parse(data)


def test_what_cannot_be_read_is_no_run_log(tmp_path: Path) -> None:
    with pytest.raises(NotARunLog, match="cannot read"):
        read(tmp_path)
    with pytest.raises(NotARunLog, match="cannot read"):
        read(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("extra", [{}, {"another": "field"}, {"params": {"warmth": 1}}])
def test_a_newer_format_says_what_it_needs(extra: Object, whole: Path) -> None:
    """Whatever else the newer version writes."""
    found = objects(whole)
    found[0] |= {"format": 2, **extra}
    with pytest.raises(FutureVersion, match=r"line 1: .*format 2.*reads up to 1.*Install") as caught:
        parse(dumped(found))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("value", "number"),
    [("[" * 50_000 + "]" * 50_000, 1), ('"\\ud800"', 1), ("1e999", 1), ('"' + "9" * 5000, 1)],
)
def test_values_that_no_reader_survives_are_damage(value: str, number: int, whole: Path) -> None:
    line = b'{"e":"RoundStarted","number":' + value.encode() + b',"limit":16}\n'
    head = whole.read_bytes().split(b"\n")[0] + b"\n"
    with pytest.raises(BadLine, match=r"^line 2: "):
        parse(head + line)


def test_deep_settings_are_damage_too(whole: Path) -> None:
    found = objects(whole)
    data = dumped(found).replace(b'"settings":{', b'"settings":{"a":' + b"[" * 5000 + b"]" * 5000 + b",", 1)
    with pytest.raises(NotARunLog):
        parse(data)


def test_a_deep_value_of_a_program_is_damage(whole: Path) -> None:
    found = objects(whole)
    deep: Any = 0
    for _ in range(900):
        deep = [deep]
    found[first(found, "CodeStarted")]["program"]["inputs"] = deep
    with pytest.raises((BadLine, KeyMismatch)):
        parse(dumped(found))


# Cuts.


@pytest.mark.parametrize("name", ["python", "published_failures"])
def test_cut_at_every_byte_a_log_is_a_shorter_log(name: str, tmp_path: Path) -> None:
    """Without a whole first line there is nothing; after that every cut is a log whose events are
    the first events of the whole one, and a torn last line is noted."""
    log = tmp_path / "run.jsonl"
    record(case_named(name), log)
    data = log.read_bytes()
    events = read(log).events
    line_one = data.index(b"\n")
    for size in range(len(data)):
        if size < line_one:
            with pytest.raises(NotARunLog):
                parse(data[:size])
            continue
        recording = parse(data[:size])
        assert recording.events == events[: len(recording.events)]
        whole = data[:size].endswith(b"\n") or data[size : size + 1] == b"\n"
        assert recording.torn is not whole
        assert recording.size == (size if whole else data[:size].rindex(b"\n") + 1)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_cut_log_replays_to_its_end_and_then_says_so(case: Any, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    record(case, log)
    data = log.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    for end in ends[:-1]:
        with pytest.raises(Unfinished, match="unfinished: resume it"):
            again(parse(data[:end]))
    assert again(parse(data[: ends[-1]])).status == case.status


# Edits.


def test_every_line_that_is_left_out_is_missed(whole: Path) -> None:
    """Whatever line it is: by the reader, or by the replay."""
    found = objects(whole)
    for index in range(len(found)):
        with pytest.raises((LogError, ReplayError)):
            again(parse(dumped(found[:index] + found[index + 1 :])))


def test_method_events_of_one_span_that_change_places_are_missed(whole: Path) -> None:
    """Order counts within a span. Outcomes are written as they arrive, and a span's events may
    stand anywhere among those of others, so other pairs of neighbours say the same run."""
    found = objects(whole)
    pairs = 0
    for index in range(len(found) - 1):
        one, other = found[index], found[index + 1]
        if _place(one) is None or _place(one) != _place(other):
            continue
        swapped = [*found[:index], other, one, *found[index + 2 :]]
        pairs += 1
        with pytest.raises((LogError, ReplayError)):
            again(parse(dumped(swapped)))
    assert pairs


def test_an_outcome_before_its_request_is_refused(whole: Path) -> None:
    found = objects(whole)
    for index, line in enumerate(found):
        if line["e"] in ("Replied", "CodeFinished"):
            swapped = [*found[: index - 1], line, found[index - 1], *found[index + 1 :]]
            with pytest.raises(OutcomeWithoutRequest):
                parse(dumped(swapped))


def _place(line: Object) -> str | None:
    """The span whose order a line is part of; a span's beginning is part of its parent's."""
    if line["e"] in ("Message", "Params", "RunStarted", "Replied", "CodeFinished", "Failed"):
        return None
    span: str = line.get("span", "")
    return span.rpartition("/")[0] if line["e"] == "SpanStarted" else span


@pytest.mark.parametrize("name", ["standard_usage", "python", "published_failures", "round_limit"])
def test_a_changed_byte_in_any_reply_is_caught(name: str, tmp_path: Path) -> None:
    """The last reply too, and its usage: by the reader, at the reply's own line."""
    log = tmp_path / "run.jsonl"
    record(case_named(name), log)
    data = log.read_bytes()
    start = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.startswith(b'{"e":"Replied"'):
            at = start + line.index(b'"reply":') + len(b'"reply":')
            end = start + line.index(b'"id":')
            for place in range(at, end):
                edited = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
                with pytest.raises(LogError) as caught:
                    parse(edited)
                assert caught.value.line == number
        start += len(line) + 1


def test_a_reply_that_was_edited_with_its_id_is_a_difference(whole: Path) -> None:
    """Sealing it again helps nobody: its assistant message is another, or the answer is."""
    found = objects(whole)
    replies = [i for i, line in enumerate(found) if line["e"] == "Replied"]
    for index in replies:
        edited = list(found)
        text = edited[index]["reply"]["text"]
        edited[index] = sealed({**edited[index], "reply": {"text": text.replace("42", "43") + " "}})
        if index == replies[-1]:
            with pytest.raises(Difference, match="43"):
                again(parse(dumped(edited)))
        else:
            with pytest.raises((LogError, ReplayError)):
                again(parse(dumped(edited)))


def test_an_effect_that_was_renumbered_with_its_outcome_is_a_difference(whole: Path) -> None:
    """Key and address are as they were; only the place in the span is another."""
    found = objects(whole)
    index = first(found, "Requested", span="1")
    found[index]["n"] = 7
    reply = first(found, "Replied", span="1")
    found[reply] = sealed({**found[reply], "n": 7})
    with pytest.raises(Difference):
        again(parse(dumped(found)))


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("python", "rounds", 17),
        ("python", "suffix", ""),
        ("python", "placement", "user_prefix"),
        ("python", "instruction", "other"),
        ("python", "expert_system", "other"),
        ("python", "feedback", "other"),
        ("python", "name_line", False),
        ("python", "step_by_step", True),
        ("python", "python", False),
        ("python", "code_seconds", 6.0),
        ("python", "python_note", "other"),
        ("python", "run_request", "Go!"),
        ("python", "label", "Q: "),
        ("malformed", "error", "other"),
        ("malformed", "rounds", 3),
        ("two_calls", "first_only", True),
        ("two_calls", "glue", ""),
        ("published", "code_wording", "ours"),
        ("published_failures", "tries", 1),
        ("round_limit", "notice_round", 2),
        ("round_limit", "notice", "!"),
        ("standard", "system", "other"),
        ("zero_shot_cot", "suffix", "other"),
        ("expert_static", "preamble", "other"),
        ("expert_dynamic", "link", "other"),
        ("expert_dynamic", "identity_prompt", "other {question}"),
        ("multipersona", "preamble", "other"),
    ],
)
def test_a_swapped_rule_is_caught(name: str, setting: str, value: Any, tmp_path: Path) -> None:
    """The first line is sealed again, so that only the run itself can tell."""
    log = tmp_path / "run.jsonl"
    record(case_named(name), log)
    found = objects(log)
    assert found[0]["settings"][setting] != value
    found[0]["settings"][setting] = value
    found[0] = sealed(found[0])
    with pytest.raises(ReplayError):
        again(parse(dumped(found)))


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("question", "other", CassetteMiss),
        ("model", "other", KeyMismatch),
        ("params", {"temperature": 0.7}, KeyMismatch),
        ("method", "standard", UnknownSetting),
        ("format", 2, FutureVersion),
    ],
)
def test_another_first_line_sealed_again_is_caught(
    field: str, value: Any, error: type[MetaTuiError], whole: Path
) -> None:
    found = objects(whole)
    found[0] = sealed({**found[0], field: value})
    with pytest.raises(error):
        again(parse(dumped(found)))


def test_a_reply_that_is_missing_is_a_miss(whole: Path) -> None:
    """Its line taken out: a finished log without it cannot be replayed."""
    found = objects(whole)
    for index, line in enumerate(found):
        if line["e"] in ("Replied", "CodeFinished"):
            with pytest.raises((CassetteMiss, UnknownId)):
                again(parse(dumped(found[:index] + found[index + 1 :])))
    last = [i for i, line in enumerate(found) if line["e"] == "Replied"][-1]
    with pytest.raises(CassetteMiss, match="not recorded"):
        again(parse(dumped(found[:last] + found[last + 1 :])))


def test_events_that_the_run_never_comes_to_are_named(whole: Path) -> None:
    found = objects(whole)
    extra = {"e": "Rejected", "reason": "never"}
    with pytest.raises(NotReached, match=f"line {len(found) + 1}: .*Rejected"):
        again(parse(dumped([*found, extra])))
    opened = {"e": "SpanStarted", "role": "expert", "name": "Expert Nobody", "span": "9"}
    with pytest.raises((NotReached, Difference), match="Expert Nobody"):
        again(parse(dumped([*found[:-1], opened, found[-1]])))


def edits(data: bytes, count: int, seed: int) -> list[bytes]:
    """Single-byte edits, every line as often: any byte, a byte of the same kind, one bit, one more
    byte, one less."""
    chance = random.Random(seed)
    starts = [0, *(i + 1 for i, byte in enumerate(data[:-1]) if byte == 10), len(data)]
    found = []
    for _ in range(count):
        line = chance.randrange(len(starts) - 1)
        place = chance.randrange(starts[line], starts[line + 1])
        found.append(data[:place] + _instead(data[place], chance) + data[place + 1 :])
    return found


def _instead(old: int, chance: random.Random) -> bytes:
    match chance.randrange(5):
        case 0:
            return bytes([chance.choice([b for b in range(256) if b != old])])
        case 1:
            kin = b"0123456789" if 48 <= old <= 57 else b"abcdefghijklmnopqrstuvwxyz"
            return bytes([chance.choice([b for b in kin if b != old])])
        case 2:
            return bytes([old ^ (1 << chance.randrange(8))])
        case 3:
            return bytes([old, chance.choice([old, 32, 34, 48, 44, 10])])
    return b""


def verdict(data: bytes, whole: bytes) -> str:
    """What becomes of an edited log: the name of the error, or that nothing was changed."""
    recording: Recording | None = None
    try:
        recording = parse(data)
        again(recording)
    except (LogError, ReplayError) as error:
        return type(error).__name__
    unnoticed = timeless(recording) != timeless(parse(whole))
    return "unnoticed" if unnoticed else "nothing"


def check_edits(log: Path, count: int, seed: int) -> set[str]:
    """Make edits; which verdicts there were."""
    data = log.read_bytes()
    seen = {verdict(edited, data) for edited in edits(data, count, seed)}
    assert not seen & {"unnoticed", "LogError", "ReplayError"}
    return seen


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_a_thousand_single_byte_edits(name: str, tmp_path: Path) -> None:
    """1,000 a log: refused by name, reported as a difference, or nothing but at and how."""
    log = tmp_path / "run.jsonl"
    record(case_named(name), log, clock=ticking())
    seen = check_edits(log, 1000, seed=len(name))
    assert {"BadLine", "OutcomeMismatch", "KeyMismatch", "MessageMismatch", "Difference", "nothing"} <= seen


EDITED = [(META[0], "GameOf24"), (META[1], "word_sorting"), ("ExpertDynamic", "CheckmateInOne")]


@pytest.mark.parametrize(("method", "task"), EDITED)
def test_single_byte_edits_of_published_runs(method: str, task: str, tmp_path: Path) -> None:
    """One run each of Expert Python, of a word task and of a baseline with two calls."""
    (file,) = published_files(archive(), [method], [task])
    found = import_rows(file)
    log = tmp_path / "run.jsonl"
    notice, limit = bounds(file, [row["message_log"] for row in found])
    asyncio.run(import_run(file, 0, found[0], notice, limit, log))
    assert check_edits(log, 300, seed=1) >= {"BadLine", "OutcomeMismatch", "KeyMismatch"}
