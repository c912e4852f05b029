"""The recorded cassettes: what their first lines promise, exact replay, and no trace of a machine."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
import recorded
from live_runs import logs
from local_model import NAME

from meta_tui.events import AnyEvent, CodeFinished, Replied, Requested, SpanStarted
from meta_tui.protocol import ExpertCalls, FinalAnswer
from meta_tui.protocol import read as read_reply
from meta_tui.runlog import Recording, read
from meta_tui.sources import replay

LIVE, PASTED = "live-rolls", "pasted-weekdays"
NAMES = (LIVE, PASTED)


def of(recording: Recording, kind: type[AnyEvent]) -> list[AnyEvent]:
    return [event for event in recording.events if isinstance(event, kind)]


def kept(name: str) -> Recording:
    return read(recorded.SHIPPED / f"{name}.jsonl")


def test_every_recorded_cassette_is_known_here() -> None:
    found = [p.stem for p in recorded.SHIPPED.glob("*.jsonl") if p.stem.startswith(("live-", "pasted-"))]
    assert sorted(found) == sorted(NAMES) == sorted(recorded.RECORDED)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_cassette_replays_exactly(name: str) -> None:
    told: list[AnyEvent] = []
    recording = kept(name)
    result = asyncio.run(replay(recording, consumers=[told.append]))
    assert result.status == "answered", f"a prompt changed: run `python tests/cassettes/recorded.py {name}`"
    assert result.answer == recording.answer
    assert len(told) == len(recording.events)


@pytest.mark.parametrize("name", NAMES)
def test_its_first_line_says_how_it_was_made(name: str) -> None:
    note = kept(name).started.note
    assert "Licence: MIT" in note
    assert "tests/cassettes/recorded.py" in note
    assert note == (recorded.LIVE_NOTE if name == LIVE else recorded.PASTED_NOTE)


@pytest.mark.parametrize("name", NAMES)
def test_it_holds_no_path_no_address_and_no_key(name: str) -> None:
    text = (recorded.SHIPPED / f"{name}.jsonl").read_text(encoding="utf-8")
    assert len(text) < 60_000
    for trace in (
        r"/home/",
        r"/root",
        r"/tmp",
        r"\.gguf",
        r"127\.0\.0\.1",
        r"localhost",
        r"[Bb]earer",
        r"\bsk-",
    ):
        assert not re.search(trace, text), trace
    assert recorded.TESTS.parent.as_posix() not in text


def test_the_live_one_comes_from_the_local_model_and_keeps_to_the_protocol() -> None:
    recording = kept(LIVE)
    started = recording.started
    assert (started.origin, started.model) == ("live", NAME)
    assert started.params.extra_body == {"grammar": recorded.GRAMMAR}
    assert started.params.seed is not None
    replies = [event for event in recording.events if isinstance(event, Replied)]
    for event in replies:
        assert event.how is not None
        assert event.how.source == "live"
        assert event.how.ms
        assert event.how.cost is None
        assert event.reply.usage is not None
        assert event.reply.usage.completion_tokens > 5
        assert event.reply.finish_reason == "stop"
    own = [read_reply(event.reply.text) for event in replies if not event.span]
    assert all(isinstance(reading, ExpertCalls) for reading in own[:-1])
    assert isinstance(own[-1], FinalAnswer)
    assert len(own) >= 2


def test_its_program_was_run_and_its_answer_is_right() -> None:
    """Six rolls in each of seven bags are forty-two."""
    recording = kept(LIVE)
    assert [event.result.stdout for event in of(recording, CodeFinished)] == ["42\n"]  # type: ignore[union-attr]
    assert recording.answer == "42 rolls"


def test_the_pasted_one_came_through_copy_and_paste() -> None:
    recording = kept(PASTED)
    assert (recording.started.origin, recording.started.model) == ("copy-paste", "copy-paste")
    replies = [event for event in recording.events if isinstance(event, Replied)]
    assert [event.reply.text for event in replies] == recorded.PASTED
    for event in replies:
        assert event.how is not None
        assert (event.how.source, event.how.cost, event.reply.usage) == ("copy-paste", 0.0, None)
    names = [event.name for event in recording.events if isinstance(event, SpanStarted)]
    assert names == ["Expert Mathematician", "Expert Python"]


def test_the_weekdays_are_right() -> None:
    week = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    near, far = (week[(week.index("Tuesday") + days) % 7] for days in (100, 1000))
    recording = kept(PASTED)
    assert recording.answer == f"It is a {near} 100 days from now and a {far} 1,000 days from now."
    (result,) = (event.result for event in recording.events if isinstance(event, CodeFinished))
    assert result.stdout == f"100 {near}\n1000 {far}\n"


def test_pasting_again_gives_the_same_run(tmp_path: Path) -> None:
    """Through a real terminal: the same requests and the same outcomes, at other times."""
    recorded.record_pasted(tmp_path, pause=0.0)
    (log,) = logs(tmp_path)
    assert outcomes(read(log)) == outcomes(kept(PASTED))


def outcomes(recording: Recording) -> list[tuple[str, str]]:
    """Keys of the requests and ids of the outcomes, in order."""
    return [
        (type(event).__name__, event.key if isinstance(event, Requested) else event.id)
        for event in recording.events
        if isinstance(event, Requested | Replied | CodeFinished)
    ]


def test_the_readme_has_a_row_for_each() -> None:
    readme = (recorded.SHIPPED / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## Recorded, not written")[2]
    rows = re.findall(r"^\| `([\w-]+)` \| .+? \| `([\w-]+)` \|", section, re.MULTILINE)
    assert rows == [(name, kept(name).started.model) for name in NAMES]
