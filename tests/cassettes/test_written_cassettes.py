"""The shipped cassettes are what their stories say, replay exactly, and tell what they promise."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from written import CASSETTES, MODEL, SHIPPED, STORIES, STREAMS, Clock, Storyteller, story

from meta_tui.chat import Message, Request
from meta_tui.errors import UsageError
from meta_tui.events import (
    Answered,
    AnyEvent,
    CodeFinished,
    Failed,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    SpanStarted,
)
from meta_tui.methods.artifacts import trace as of_events
from meta_tui.models.base import Attempt, Call
from meta_tui.run import RunResult
from meta_tui.runlog import Recording, read
from meta_tui.sources import replay

NAMES = tuple(cassette.name for cassette in CASSETTES)
ALL = (*NAMES, *(cassette.name for cassette in STREAMS))


@dataclass(frozen=True)
class Told:
    """A replayed cassette: what was recorded, what happened again, and how it ended."""

    recording: Recording
    events: list[AnyEvent]
    result: RunResult

    def of(self, kind: type[AnyEvent]) -> list[AnyEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def spans(self) -> list[tuple[str, str]]:
        return [(e.role, e.name) for e in self.events if isinstance(e, SpanStarted)]

    @property
    def experts(self) -> list[str]:
        return [name.removeprefix("Expert ") for role, name in self.spans if role == "expert"]

    @property
    def code(self) -> list[str]:
        return [e.result.status for e in self.events if isinstance(e, CodeFinished)]

    def asked(self, name: str, nth: int = 0) -> str:
        """The user message that the nth expert of this name was sent."""
        spans = [e.span for e in self.events if isinstance(e, SpanStarted) and e.name == name]
        return next(
            e.messages[-1].content for e in self.events if isinstance(e, Requested) and e.span == spans[nth]
        )

    def heard(self, round_: int) -> str:
        """The last message that the Meta Model was sent in a round."""
        own = [e for e in self.events if isinstance(e, Requested) and not e.span]
        return own[round_ - 1].messages[-1].content


@cache
def told(name: str) -> Told:
    """A cassette, replayed with every door closed."""
    recording = read(SHIPPED / f"{name}.jsonl")
    events: list[AnyEvent] = []
    result = asyncio.run(replay(recording, consumers=[events.append]))
    return Told(recording, events, result)


def test_every_run_log_that_ships_has_a_story_and_every_story_ships() -> None:
    """But for those that were recorded, which `test_live_cassettes` knows."""
    logs = [p for p in SHIPPED.rglob("*.jsonl") if p.relative_to(SHIPPED).parts[0] != "http"]
    names = sorted(p.relative_to(SHIPPED).as_posix() for p in logs)
    written = [name for name in names if not name.startswith(("live-", "pasted-"))]
    assert written == sorted(f"{name}.jsonl" for name in ALL)
    assert sorted(p.stem for p in STORIES.iterdir()) == sorted(ALL)


def test_writing_the_cassettes_anew_gives_the_same_bytes(tmp_path: Path) -> None:
    """In another folder, hash seed and time zone, by the command of the README; times included."""
    root = SHIPPED.parent
    target = tmp_path / "again"
    target.mkdir()
    subprocess.run(
        [sys.executable, str(root / "tests/cassettes/written.py"), "--to", str(target)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root), "PYTHONHASHSEED": "4711", "TZ": "Asia/Kolkata"},
        check=True,
        capture_output=True,
        timeout=90,
    )
    assert sorted(p.name for p in target.iterdir()) == sorted(f"{name}.jsonl" for name in ALL)
    changed = [p.name for p in target.iterdir() if p.read_bytes() != (SHIPPED / p.name).read_bytes()]
    assert not changed, "a prompt or a story changed: run `python tests/cassettes/written.py`"


@pytest.mark.parametrize("name", ALL)
def test_a_cassette_replays_exactly_and_gives_all_its_events(name: str) -> None:
    """Span by span: workers of one batch may be heard in another order."""
    assert by_span(told(name).events) == by_span(told(name).recording.events)


def by_span(events: list[AnyEvent]) -> dict[str, list[AnyEvent]]:
    spans: dict[str, list[AnyEvent]] = {}
    for event in events:
        spans.setdefault(event.span, []).append(event)
    return spans


@pytest.mark.parametrize("name", ALL)
def test_the_first_line_says_that_it_was_written_and_that_no_model_was_called(name: str) -> None:
    started = told(name).recording.started
    assert (started.origin, started.model) == ("written", "scripted")
    assert "Written by hand for meta-tui through its scripted model" in started.note
    assert "no language model was called" in started.note
    assert "MIT" in started.note


@pytest.mark.parametrize("name", ALL)
def test_replies_are_marked_as_written_and_no_result_names_a_machine(name: str) -> None:
    events = told(name).recording.events
    assert {e.how.source if e.how else "" for e in events if isinstance(e, Replied)} == {"written"}
    for event in events:
        if isinstance(event, CodeFinished):
            assert event.how is not None
            assert (event.how.layers, event.how.ms) == ((), None)


@pytest.mark.parametrize("name", ALL)
def test_time_goes_on_from_event_to_event_at_a_pace_that_eyes_can_follow(name: str) -> None:
    times = [event.at or 0.0 for event in told(name).recording.events]
    gaps = [after - before for before, after in pairwise(times)]
    assert min(gaps) > 0
    assert max(gaps) < 15


@dataclass(frozen=True)
class Facts:
    """What a story must contain, in the order in which it happens."""

    rounds: int
    experts: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    reminders: int = 0
    attempts: int = 0
    limit: int = 16
    end: tuple[str, str] = ("answered", "accepted")


FACTS = {
    "bakery-spanish": Facts(3, ("Matemático", "Python"), ("ok",)),
    "baseline-expert-dynamic": Facts(1),
    "baseline-expert-static": Facts(1),
    "baseline-multipersona": Facts(1),
    "baseline-standard": Facts(1),
    "baseline-zero-shot-cot": Facts(2, reminders=1),
    "checkmate-second-opinion": Facts(3, ("Chess Player", "Chess Arbiter")),
    "direct-forced": Facts(0, reminders=1, end=("answered", "forced")),
    "direct-native": Facts(0, end=("answered", "stopped")),
    "direct-repair": Facts(0, end=("answered", "stopped")),
    "direct-two-agree": Facts(0, end=("answered", "stopped")),
    "game24-python": Facts(4, ("Problem Solver", "Python", "Arithmetic Checker"), ("ok",)),
    "history-summarised": Facts(4, ("Algebraist", "Enumerator", "Verifier")),
    "race-several-experts": Facts(3, ("Logician", "Puzzle Setter", "Verifier"), attempts=1),
    "rival-bot": Facts(0, end=("answered", "field")),
    "rival-cot": Facts(0, end=("answered", "field")),
    "rival-cot-sc": Facts(0, end=("answered", "field")),
    "rival-meta-reasoner": Facts(3, limit=8, end=("answered", "field")),
    "rival-mrp": Facts(0, end=("answered", "field")),
    "rival-tot": Facts(2, limit=2, end=("answered", "field")),
    "rival-ttpi": Facts(3, limit=16, end=("answered", "field")),
    "rlm-digits-forced": Facts(0, code=("ok",) * 4, end=("answered", "forced")),
    "rlm-orchard": Facts(0, code=("ok",) * 5, end=("answered", "stopped")),
    "rlm-two-depths": Facts(0, code=("ok",) * 10, reminders=1, end=("answered", "stopped")),
    "sample-game24-experts": Facts(3, ("Python", "Arithmetic Checker"), ("ok",)),
    "sample-game24-standard": Facts(1),
    "sample-words-cot": Facts(1),
    "seats-corrected": Facts(5, ("Combinatorialist", "Sceptic", "Mathematician", "Python"), ("ok",)),
    "shapes-malformed-reply": Facts(5, ("Geometer", "Mathematics Teacher"), reminders=2),
    "sonnet-repaired": Facts(5, ("Poet", "Prosodist", "Lyric Editor", "Python"), ("ok",)),
    "squares-round-limit": Facts(
        6,
        ("Number Theorist", "Algebraist", "Diophantine Analyst", "Calculator", "Searcher", "Number Theorist"),
        limit=6,
        end=("no_answer", "round_limit"),
    ),
    "staged-early-stop": Facts(3, limit=5, end=("answered", "stopped")),
    "staged-forced": Facts(2, limit=2, end=("answered", "forced")),
    "staged-native": Facts(3, limit=5, end=("answered", "stopped")),
    "staged-note-repair": Facts(3, limit=5, end=("answered", "stopped")),
    "tilings-code-timeout": Facts(
        5, ("Python", "Python", "Mathematician", "Python"), ("timeout", "ok", "ok")
    ),
    "timetable-function": Facts(5, ("Timetable", "Timetable", "Timetable", "Travel Planner"), attempts=1),
    "words-sorted": Facts(4, ("Python", "Proofreader", "Python"), ("ok", "ok")),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_story_happens_as_it_is_promised(name: str) -> None:
    run, facts = told(name), FACTS[name]
    rounds = [e for e in run.events if isinstance(e, RoundStarted)]
    assert [(e.number, e.limit) for e in rounds] == [(n, facts.limit) for n in range(1, facts.rounds + 1)]
    assert tuple(run.experts) == facts.experts
    assert tuple(run.code) == facts.code
    assert len(run.of(Rejected)) == facts.reminders
    assert len(run.of(Failed)) == facts.attempts
    assert len(run.of(Answered)) == (facts.end[0] == "answered")
    end = run.events[-1]
    assert isinstance(end, RunFinished)
    assert (end.status, end.reason) == facts.end


def test_game24_the_program_finds_what_the_expert_without_one_did_not() -> None:
    run = told("game24-python")
    assert "did not find an expression" in run.heard(2)
    assert "12 / (3 - (5 / 2)) = 24" in run.heard(3)
    assert "12 / (3 - (5 / 2))" in run.asked("Expert Arithmetic Checker")


def test_checkmate_the_second_expert_is_not_told_which_move_is_meant_to_mate() -> None:
    run = told("checkmate-second-opinion")
    assert run.recording.started.settings["python"] is False
    asked = run.asked("Expert Chess Arbiter")
    assert "queen f5 takes g5, and bishop c1 takes g5" in asked
    assert "#" not in asked
    assert "This is mate." in run.heard(3)


def test_race_both_experts_are_asked_in_one_reply_and_answer_in_one_message() -> None:
    run = told("race-several-experts")
    heard = run.heard(2)
    assert heard.index("Expert Logician's output:") < heard.index("Expert Puzzle Setter's output:")


def test_race_the_failed_attempt_comes_before_the_reply_of_the_same_call() -> None:
    run = told("race-several-experts")
    (failed,) = run.of(Failed)
    after = run.events[run.events.index(failed) + 1]
    assert isinstance(failed, Failed)
    assert isinstance(after, Replied)
    assert (failed.kind, failed.attempt, failed.retry_in) == ("rate_limit", 1, 2.5)
    assert (failed.span, failed.n) == (after.span, after.n)
    assert after.how is not None
    assert after.how.attempts == 2
    assert (after.at or 0) - (failed.at or 0) > 2.5


def test_seats_the_wrong_count_is_refuted_and_a_new_expert_gets_both_texts() -> None:
    run = told("seats-corrected")
    assert "The answer is 0." in run.heard(2)
    assert "the answer 0 is wrong" in run.heard(3)
    asked = run.asked("Expert Mathematician")
    assert "gives 0" in asked
    assert "A B C a b c" in asked
    assert run.result.answer == "240"


def test_shapes_each_malformed_reply_is_followed_by_the_error_text() -> None:
    run = told("shapes-malformed-reply")
    error = run.recording.started.settings["error"]
    assert run.heard(2) == f"ROUND 2:\n\n{error}"
    assert run.heard(5) == f"ROUND 5:\n\n{error}"


def test_sonnet_the_draft_lacks_a_word_and_a_rhyme_and_the_answer_has_both() -> None:
    run = told("sonnet-repaired")
    draft, answer = run.heard(2), run.result.answer or ""
    assert "orchard" not in draft
    assert "shut the door." in draft
    assert "orchard" in answer
    assert answer.endswith("shut the gate.")


def test_squares_the_last_round_is_announced_and_ends_with_an_expert() -> None:
    run = told("squares-round-limit")
    settings = run.recording.started.settings
    assert settings["rounds"] == settings["notice_round"] == 6
    assert run.heard(6).endswith(settings["notice"])
    assert run.result.answer is None
    assert "2, 359, 482 and 3362" in [e for e in run.events if isinstance(e, Replied)][-1].reply.text
    assert run.result.messages[-1].role == "user"


def test_tilings_the_time_out_is_reported_to_the_meta_model_which_goes_on() -> None:
    run = told("tilings-code-timeout")
    assert "stopped at the time limit" in run.heard(2)
    assert "7 by 10: 53175517" in run.heard(3)
    assert "7 by 10: 53175517.000" in run.heard(5)


def test_words_the_first_result_has_lost_a_word() -> None:
    run = told("words-sorted")
    lost, kept = (e.result.stdout.split("\n")[0].split() for e in run.events if isinstance(e, CodeFinished))
    assert (lost.count("thistle"), kept.count("thistle")) == (1, 2)
    assert run.result.answer == " ".join(kept)


def test_bakery_the_expert_has_a_name_that_only_the_lenient_parser_takes() -> None:
    run = told("bakery-spanish")
    assert run.recording.started.settings["parser"] == "lenient"
    assert ("expert", "Expert Matemático") in run.spans
    (code,) = (e for e in run.events if isinstance(e, CodeFinished))
    assert "¿se divide entre 3? sí" in code.result.stdout


def test_baselines_all_answer_one_question_without_experts() -> None:
    runs = [told(name) for name in NAMES if name.startswith("baseline-")]
    assert {run.recording.started.method for run in runs} == {
        "standard",
        "zero_shot_cot",
        "expert_static",
        "expert_dynamic",
        "multipersona",
    }
    assert len({run.recording.started.question for run in runs}) == 1
    assert {run.result.answer for run in runs} == {"25"}
    assert [run.spans for run in runs if run.spans] == [[("identity", "Identity")]]


def test_staged_the_early_artifact_is_submitted_although_a_later_one_was_stored() -> None:
    trace = of_events(told("staged-early-stop").events)
    assert [a.id for a in trace.workers] == ["0_0", "0_1", "1_0"]
    assert (trace.submitted, trace.how) == ("0_0", "stopped")
    assert [a.answer for a in trace.workers] == ["208", "208", "220"]


def test_staged_the_budget_forces_the_latest_artifact_after_a_batch_that_passed_it() -> None:
    run = told("staged-forced")
    trace = of_events(run.events)
    assert (run.result.calls, trace.budget) == (11, 10)
    assert (trace.submitted, trace.how) == ("1_0", "forced")
    assert trace.workers[-1].context == ("0_0",)


def test_native_tool_calls_are_in_the_replies_and_each_is_answered_under_its_id() -> None:
    """And no reply of these runs holds a tool call in the text form."""
    for name, used, unanswered in (
        (
            "staged-native",
            ["run_workers", "write_memory", "read_memory", "read_memory", "run_workers", "finish"],
            {"call_1", "call_5", "call_6"},  # they end Dispatch, which begins anew in every cycle
        ),
        ("direct-native", ["run_workers", "run_workers", "run_workers", "finish"], {"call_4"}),
    ):
        requests = [e for e in told(name).events if isinstance(e, Requested)]
        replies = [e.reply for e in told(name).events if isinstance(e, Replied)]
        calls = [call for reply in replies for call in reply.tool_calls]
        assert [call.name for call in calls] == used
        assert [call.id for call in calls] == [f"call_{n}" for n in range(1, len(calls) + 1)]
        assert not any("```json" in reply.text for reply in replies)
        answered = {m.tool_call_id for e in requests for m in e.messages if m.role == "tool"}
        assert {call.id for call in calls} - answered == unanswered
        workers = {e.span for e in told(name).events if isinstance(e, SpanStarted) and e.role == "worker"}
        assert all(bool(e.params.tools) != (e.span in workers) for e in requests)


def test_native_the_note_is_read_by_propose_and_shown_to_the_worker_that_repairs() -> None:
    trace = of_events(told("staged-native").events)
    assert [(a.id, a.kind) for a in trace.artifacts][2:] == [("1_0", "note"), ("1_1", "worker")]
    assert [(r.stage, r.ids) for r in trace.reads] == [("assess", ("0_0",)), ("propose", ("0_0", "1_0"))]
    assert (trace.artifacts[-1].context, trace.submitted) == (("0_0", "1_0"), "1_1")


def test_native_of_two_batches_in_one_message_the_first_is_run() -> None:
    run = told("direct-native")
    assert [name for role, name in run.spans if role == "worker"] == [
        "worker 0_0",
        "worker 0_1",
        "worker 1_0",
    ]
    assert "one batch for each of your messages" in "".join(m.content for m in run.of(Requested)[3].messages)  # type: ignore[attr-defined]


def test_staged_the_note_is_read_and_shown_to_the_worker_that_repairs() -> None:
    trace = of_events(told("staged-note-repair").events)
    assert [(a.id, a.kind) for a in trace.artifacts if a.kind == "note"] == [("1_0", "note")]
    assert trace.edges("note") == [("1_0", "1_1")]
    assert [(r.stage, r.ids) for r in trace.reads] == [("propose", ("1_0",))]
    assert not [flag for flag in trace.flags if flag[0] == "short_instruction"]


def test_direct_control_submits_its_own_text_or_is_stopped_by_its_budget() -> None:
    assert of_events(told("direct-forced").events).submitted == "2_0"
    assert told("direct-forced").result.calls == 6
    for name in ("direct-two-agree", "direct-repair"):
        assert of_events(told(name).events).submitted == ""


def test_rlm_a_sum_is_refused_and_left_to_sub_models() -> None:
    run = told("rlm-orchard")
    third = [e for e in run.events if isinstance(e, Requested) and not e.span][2]
    assert "Not run: line 1: arithmetic is not allowed." in [m.content for m in third.messages]
    assert [name for role, name in run.spans if role == "query"] == [f"query {n}" for n in range(1, 6)]


def test_rlm_the_budget_ends_a_check_and_the_answer_that_was_set_is_submitted() -> None:
    run = told("rlm-digits-forced")
    assert run.result.calls == 8
    assert [name for role, name in run.spans if role == "query"] == [f"query {n}" for n in range(1, 7)]


def test_rlm_a_query_is_a_recursive_model_that_asks_and_is_refused_like_the_first() -> None:
    run = told("rlm-two-depths")
    spans = {e.span: e.name for e in run.events if isinstance(e, SpanStarted) and e.role == "query"}
    depths = [span.count("/") + 1 for span in spans]
    assert (depths.count(1), depths.count(2)) == (3, 2)
    told_again = [m.content for e in run.events if isinstance(e, Requested) and e.span for m in e.messages]
    assert "Not run: line 1: arithmetic is not allowed." in told_again


def test_timetable_what_the_function_refused_is_told_and_the_meta_model_goes_on() -> None:
    run = told("timetable-function")
    instruction = run.of(Requested)[0].messages[0].content  # type: ignore[attr-defined]
    assert "- Expert Timetable: looks up the next three trains" in instruction
    assert "There is no result." in run.heard(2)
    assert "ValueError: ask for one line at a time" in run.heard(2)
    assert run.asked("Expert Timetable", 1) == "Alder to Birch after 14:05"
    assert '[["14:12","14:41"]' in run.heard(3)


def test_history_the_first_two_rounds_stand_as_a_summary_from_the_fourth_on() -> None:
    run = told("history-summarised")
    own = [e for e in run.events if isinstance(e, Requested) and not e.span]
    assert [len(e.messages) for e in own] == [2, 4, 6, 4]
    asked = own[3].messages[1].content
    assert "[Rounds 1-2 in short; the full text is left out here.]" in asked
    assert "99(c - a) = 198, so c = a + 2" in asked
    assert "Write the number as 100a" not in "".join(m.content for m in own[3].messages)


def test_the_readme_has_a_true_row_for_every_cassette() -> None:
    readme = (SHIPPED / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.+?) \| `(\w+)` \| (\d+) \| (\d+) \|", readme, re.MULTILINE)
    expected = []
    for cassette in sorted((*CASSETTES, *STREAMS), key=lambda one: one.name):
        run = told(cassette.name)
        rounds = max((e.number for e in run.events if isinstance(e, RoundStarted)), default=0)
        row = (cassette.shows, cassette.method, str(rounds), str(run.result.calls))
        expected.append((cassette.name, *row))
    assert rows == expected


def test_no_story_holds_an_invisible_or_control_character() -> None:
    for path in STORIES.iterdir():
        text = path.read_text(encoding="utf-8")
        assert all(char == "\n" or char.isprintable() for char in text), path.name
        assert text == "\n".join(line.rstrip() for line in text.split("\n")), path.name


# The story-teller itself.


def _call(name: str = "") -> Call:
    return Call(Request((Message("user", "?"),)), name=name)


async def test_a_story_in_the_wrong_order_is_refused_by_name() -> None:
    _, parts = story("seats-corrected")
    teller = Storyteller(parts, Clock(0))
    await teller.answer(_call(), lambda news: None)
    with pytest.raises(UsageError, match=r"Expert Mathematician is asked, .* Expert Combinatorialist"):
        await teller.answer(_call("Expert Mathematician"), lambda news: None)


async def test_an_attempt_of_a_story_is_told_once_and_its_wait_passes() -> None:
    _, parts = story("race-several-experts")
    clock = Clock(0)
    teller = Storyteller(parts[2:], clock)
    told_: list[tuple[str | Attempt, float]] = []
    answer = await teller.answer(_call("Expert Puzzle Setter"), lambda news: told_.append((news, clock())))
    ((attempt, at),) = told_
    assert isinstance(attempt, Attempt)
    assert (attempt.kind, attempt.attempt, attempt.retry_in) == ("rate_limit", 1, 2.5)
    assert clock() - at > 2.5
    assert answer.reply.text.startswith("**Ada first.**")
    assert MODEL == "scripted"
