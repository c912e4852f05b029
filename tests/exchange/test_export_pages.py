"""Exports of a run: safe to give away, complete, and asking nothing of anybody."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

from meta_tui import runlog, store
from meta_tui.chat import CodeResult, Program, Reply, user
from meta_tui.events import (
    Answered,
    CodeFinished,
    CodeStarted,
    Failed,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
)
from meta_tui.exchange import html, markdown, story
from meta_tui.tui import exporting

KEY = "sk-" + "abcdefgh12345678"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def run_with(text):
    """A run in which every text is this one."""
    key = "0" * 64
    return [
        RunStarted(1, "meta-tui", "live", "meta_prompting", {}, text, text),
        RoundStarted(1, 2),
        Requested(0, key, (user(text),)),
        Replied(0, Reply(text)),
        SpanStarted("expert", text, span="1"),
        Requested(0, key, (user(text),), span="1"),
        Failed(0, "server", 1, text, 2.0, span="1"),
        Replied(0, Reply(text), span="1"),
        CodeStarted(1, key, Program(text + " "), span="1"),
        CodeFinished(1, CodeResult("error", text, text, 1), span="1"),
        SpanFinished("done", span="1"),
        Answered(text),
        RunFinished("answered", "accepted"),
    ]


def data_of(page):
    return json.loads(
        re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1)
    )


def cassettes():
    return store.logs_in(store.shipped("cassettes"))


@pytest.mark.parametrize("path", cassettes(), ids=lambda path: path.stem)
def test_the_page_holds_every_reply_output_and_the_answer(path):
    recording = runlog.read(path)
    data = data_of(html.page(story.tell(recording.events, path.stem)))
    texts = [passage["text"] for passage in data["passages"]]
    for event in recording.events:
        if isinstance(event, Replied):
            assert event.reply.shown in texts
        if isinstance(event, CodeFinished) and event.result.stdout.strip():
            assert event.result.stdout.rstrip() in texts
        if isinstance(event, Answered):
            assert event.text in texts
    assert len(data["calls"]) == sum(isinstance(event, Replied) for event in recording.events)


@pytest.mark.parametrize("path", cassettes()[:4], ids=lambda path: path.stem)
def test_the_page_asks_for_nothing_from_outside(path):
    page = html.page(story.tell(runlog.read(path).events, path.stem))
    markup = re.sub(r'<script id="data".*?</script>', "", page, flags=re.S)
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']?(?!#)""", markup)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|https?://|//[a-z]+\.", markup)
    assert "default-src 'none'" in markup


@pytest.mark.parametrize(
    "text",
    [
        "</script><script>alert(1)</script>",
        "<!--",
        "@@DATA@@ @@TITLE@@",
        "\x1b]52;c;eA==\x07\u202e",
        "]]>&amp;",
    ],
)
def test_no_text_ends_the_data_of_the_page(text):
    page = html.page(story.tell(run_with(text), text))
    data = data_of(page)
    assert page.count("<script") == 2
    assert page.count('"passages"') == 1
    assert data["passages"][0]["text"] == re.sub(FORBIDDEN, lambda m: shown(m.group()), text)
    assert not FORBIDDEN.search(page)


def shown(control):
    return {"\x1b": "␛", "\x07": "␇"}.get(control, "\ufffd")


def test_the_document_keeps_hostile_text_inside_its_fences():
    text = "```\n# not a heading\n`````\n[x](javascript:1) <b>\n~~~"
    document = markdown.document(story.tell(run_with(text), "[x](y)"))
    fence = None
    for line in document.split("\n"):
        if fence is None and (opened := re.match(r"(`{3,})text$", line)):
            fence = opened.group(1)
        elif fence is not None and line == fence:
            fence = None
        elif fence is None:
            assert line != "# not a heading"
            assert "javascript" not in line or "\\[x\\]" in line
    assert fence is None
    assert len(re.findall(r"^`{6}text$", document, re.M)) >= 6


def test_keys_are_taken_out_and_said(monkeypatch, tmp_path):
    monkeypatch.setenv("SOME_API_KEY", "hunter2-hunter2-hunter2")
    told = story.tell(run_with(f"the key is {KEY} and hunter2-hunter2-hunter2"), "run")
    assert told.hidden > 0
    for text in (html.page(told), markdown.document(told)):
        assert KEY not in text
        assert "hunter2-hunter2" not in text


@pytest.fixture
def solved():
    return store.shipped("cassettes") / "game24-python.jsonl"


async def test_the_picture_is_sound_and_asks_for_nothing(solved, tmp_path):
    written = await exporting.write(solved, "svg", tmp_path / "run.svg")
    svg = written.path.read_text()
    ET.fromstring(svg)
    assert "@font-face" not in svg
    assert not re.search(r"url\(['\"]?http", svg)
    assert "ANSWER" in svg


async def test_the_screen_recording_is_valid_and_ends_at_the_answer(solved, tmp_path):
    written = await exporting.write(solved, "asciicast", tmp_path / "run.cast", size=(100, 30))
    head, *frames = [json.loads(line) for line in written.path.read_text().splitlines()]
    assert (head["version"], head["width"], head["height"]) == (2, 100, 30)
    times = [frame[0] for frame in frames]
    assert times == sorted(times)
    assert len(frames) > 20
    assert all(kind == "o" for _, kind, _ in frames)
    codes = set(re.findall(r"\x1b\[[0-9;?]*([A-Za-z])", "".join(frame[2] for frame in frames)))
    assert codes <= set("mHJl")
    assert screen_after(frames, 30)[0].startswith("  PLAYBACK  ✓ answered")


def screen_after(frames, height):
    """What a terminal shows after these frames: a reader of the few codes that they use."""
    rows = [""] * height
    for _, _, text in frames:
        for y, row in re.findall(r"\x1b\[(\d+);1H(.*?)(?=\x1b\[\d+;1H|$)", text, re.S):
            rows[int(y) - 1] = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", row)
    return rows


async def test_a_file_that_cannot_be_written_is_an_error_with_a_reason(solved, tmp_path):
    from meta_tui.errors import RecordError

    with pytest.raises(RecordError, match="cannot write"):
        await exporting.write(solved, "md", tmp_path / "no" / "run.md")


def test_tool_calls_stand_in_the_page_and_in_the_document():
    path = store.find("staged-native")
    told = story.tell(runlog.read(path).events, path.stem)
    texts = [passage["text"] for passage in data_of(html.page(told))["passages"]]
    assert 'tool call finish({"memory_id":"1_1"})' in texts
    assert 'tool call read_memory({"ids":["0_0"]})' in markdown.document(told)
    assert "(an empty reply)" not in markdown.document(told)
