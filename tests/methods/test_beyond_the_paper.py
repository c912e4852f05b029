"""Settings of meta-prompting that go beyond its paper: several experts at once or one a round,
histories that are summarised, remarks on instructions that point at what an expert cannot see.

Each run here is recorded and replayed exactly with no door open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_runs import FINAL, Programs, again, call_text

from meta_tui.chat import CodeResult, Message, system, user
from meta_tui.errors import CallFailed
from meta_tui.events import Rejected, Requested, RoundStarted, SpanStarted, Stored
from meta_tui.exchange.story import tell
from meta_tui.methods import all_settings, build, settings_of
from meta_tui.methods.shorten import tokens
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.plain import Plain
from meta_tui.protocol import refers_back
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.sources import header, live
from meta_tui.tui.state import EMPTY, apply_all

QUESTION = "What is 6 times 7?"
TWO = call_text("Expert Ada", "first") + "\n\n" + call_text("Expert Bob", "second")
THREE = TWO + "\n\n" + call_text("Expert Cy", "third")


class Talk:
    """One recorded run, replayed exactly before anything is looked at."""

    def __init__(
        self, folder: Path, script: Sequence[Line] | Any, status: str = "answered", **settings: Any
    ) -> None:
        self.log = folder / "run.jsonl"
        self.log.unlink(missing_ok=True)
        self.model = script if hasattr(script, "answer") else ScriptedModel(script)
        method = build("meta_prompting", settings)
        started = header(method, QUESTION, model="m")
        doors = Doors(self.model, Programs([CodeResult("ok", "42\n")] * 9))
        self.result = asyncio.run(live(method, started, doors, log=self.log))
        assert self.result.status == status, self.result
        self.recording = read(self.log)
        replayed = again(self.recording)
        assert (replayed.answer, replayed.messages) == (self.result.answer, self.result.messages)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.recording.events if isinstance(event, kind)]

    @property
    def meta(self) -> list[Call]:
        return [call for call in self.model.calls if call.role == "meta"]

    def told_meta(self, number: int) -> str:
        return self.meta[number].request.messages[-1].content

    @property
    def plain(self) -> str:
        lines: list[str] = []
        front = Plain(lines.append)
        for event in self.recording.events:
            front.take(event)
        return "".join(lines)

    def pane(self, span: str = "") -> str:
        """What the app's pane of a span holds: kinds, texts and notes."""
        state = apply_all(EMPTY, self.recording.events)
        return "\n".join(f"{b.kind}: {b.text} {b.note}" for b in state.spans[span].blocks)


# A log says nothing of what is not used.


def test_settings_beyond_the_paper_stand_in_a_log_only_where_they_are_used() -> None:
    names = {"experts", "several", "history_tokens", "history_keep", "nudge"}
    assert not names & set(settings_of(build("meta_prompting")))
    assert names <= set(all_settings(build("meta_prompting")))
    used = settings_of(build("meta_prompting", {"several": "at_once", "history_keep": 2}))
    assert names & set(used) == {"several"}


# Several experts at once.


class Meeting:
    """Experts that answer only when all of a round are there: one after the other would hang."""

    def __init__(self, size: int) -> None:
        self.calls: list[Call] = []
        self.ended: list[str] = []
        self._barrier = asyncio.Barrier(size)
        self._size = size

    async def answer(self, call: Call, tell: Tell) -> Answer:
        from meta_tui.chat import Reply

        self.calls.append(call)
        if call.role == "meta":
            return Answer(Reply(THREE if len(self.calls) == 1 else FINAL), None)
        place = await asyncio.wait_for(self._barrier.wait(), 20)
        for _ in range((self._size - "Ada Bob Cy".split().index(call.name.split()[1])) * 3):
            await asyncio.sleep(0)  # the last call answers first
        self.ended.append(call.name)
        return Answer(Reply(f"{call.name} at {place >= 0}"), None)


def test_experts_of_one_reply_are_consulted_at_once_and_come_back_in_order(tmp_path: Path) -> None:
    meeting = Meeting(3)
    talk = Talk(tmp_path, meeting, several="at_once")
    assert meeting.ended[0] == "Expert Cy"
    outputs = [line for line in talk.told_meta(1).split("\n") if line.endswith("'s output:")]
    assert outputs == ["Expert Ada's output:", "Expert Bob's output:", "Expert Cy's output:"]
    spans = [(e.span, e.name, e.strand) for e in talk.of(SpanStarted)]
    assert spans == [("1", "Expert Ada", "0"), ("2", "Expert Bob", "1"), ("3", "Expert Cy", "2")]


def test_without_the_setting_they_are_consulted_one_after_the_other(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [TWO, "one", "two", FINAL])
    assert [e.strand for e in talk.of(SpanStarted)] == ["", ""]


def test_the_meta_model_is_told_that_it_may_consult_several(tmp_path: Path) -> None:
    usual = Talk(tmp_path, [FINAL]).model.calls[0].request.messages[0].content
    several = Talk(tmp_path, [FINAL], several="at_once").model.calls[0].request.messages[0].content
    assert "Consult one expert at a time" in usual
    assert "Consult one expert at a time" not in several
    assert "You may consult several experts in one reply" in several


def test_code_of_experts_that_work_at_once_is_run(tmp_path: Path) -> None:
    program = "```python\nprint(6 * 7)\n```\nPlease run this code!"
    both = call_text("Expert Python", "one") + "\n\n" + call_text("Expert Python", "two")
    talk = Talk(tmp_path, [both, program, program, FINAL], several="at_once")
    assert talk.told_meta(1).count("[It printed this]\n42") == 2


def test_an_expert_that_fails_among_several_fails_the_round_after_all_have_ended(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [TWO, CallFailed("server", "down"), "two"], status="failed", several="at_once")
    assert len(talk.model.calls) == 3
    assert "two" in talk.plain


# One expert a round.


def test_one_expert_a_round_is_enforced_and_everybody_is_told(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [THREE, "one", FINAL], several="one", feedback="FEEDBACK")
    assert [call.name for call in talk.model.calls if call.role == "expert"] == ["Expert Ada"]
    assert talk.told_meta(1) == (
        'ROUND 2:\n\nExpert Ada\'s output:\n"""\none\n"""\n\n'
        "[Only Expert Ada was consulted: one expert a round. Expert Bob, Expert Cy saw nothing; consult "
        "again in a later round whom you still need.]\n\nFEEDBACK"
    )
    words = "one expert a round; not consulted: Expert Bob, Expert Cy"
    assert words in talk.plain
    assert words in talk.pane()
    assert any(words in passage.note for passage in tell(talk.recording.events, "t").passages)


def test_one_expert_a_round_says_nothing_where_one_is_called(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [call_text("Expert Ada", "first"), "one", FINAL], several="one")
    assert "one expert a round" not in talk.told_meta(1)
    assert not talk.of(Stored)


# A history that outgrew its tokens.

LONG = "A long finding. " * 100
ASK = call_text("Expert Ada", "Go on.")


def summarised(tmp_path: Path, **settings: Any) -> Talk:
    script = [ASK, LONG, ASK, LONG, ASK, LONG, "THE FIRST SUMMARY", ASK, "short", FINAL]
    return Talk(tmp_path, script, **{"history_tokens": 1600, "history_keep": 1, **settings})


def test_a_history_within_its_tokens_is_left_alone(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [ASK, LONG, ASK, LONG, FINAL], history_tokens=100_000)
    assert [call.role for call in talk.model.calls] == ["meta", "expert"] * 2 + ["meta"]
    usual = Talk(tmp_path, [ASK, LONG, ASK, LONG, FINAL])
    assert talk.meta[-1].request.messages == usual.meta[-1].request.messages


def test_older_rounds_become_a_summary_behind_the_question(tmp_path: Path) -> None:
    """1,600 tokens: the opening, three calls and two findings fit; the third finding does not."""
    talk = summarised(tmp_path)
    before, after = talk.meta[2].request.messages, talk.meta[3].request.messages
    assert [m.role for m in before] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [m.role for m in after] == ["system", "user", "assistant", "user"]
    question = before[1].content
    assert after[0] == before[0]
    assert after[1].content == (
        f"{question}\n\n[Rounds 1-2 in short; the full text is left out here.]\nTHE FIRST SUMMARY"
    )
    assert after[2].content == ASK  # the last round stays word for word
    assert after[3].content.startswith("ROUND 4:\n\nExpert Ada's output:")
    assert after[3].content.count(LONG.strip()) == 1


def test_the_summary_is_asked_for_with_the_question_and_all_that_is_cut(tmp_path: Path) -> None:
    talk = summarised(tmp_path)
    [asked] = [call for call in talk.model.calls if call.role == "summary"]
    text = asked.request.messages[-1].content
    assert QUESTION in text
    assert text.count(LONG.strip()) == 2
    assert text.count("[Meta-Expert wrote]") == 2
    assert "ROUND " not in text
    assert asked.name == "Summary of rounds 1-2"


def test_what_was_cut_is_visible_in_the_app_in_the_plain_output_and_in_exports(tmp_path: Path) -> None:
    talk = summarised(tmp_path)
    [stored] = talk.of(Stored)
    assert (stored.kind, stored.id, stored.body) == ("history", "rounds 1-2", "THE FIRST SUMMARY")
    cut = talk.meta[2].request.messages[2:]
    size = -(-sum(len(m.content.encode()) for m in cut) // 4)
    words = f"4 messages, about {size:,} tokens, are left out from here on"
    assert words in stored.title
    assert words in talk.plain
    assert "Summary of rounds 1-2\n  THE FIRST SUMMARY" in talk.plain
    assert words in talk.pane()
    span = next(e.span for e in talk.of(SpanStarted) if e.role == "summary")
    assert LONG.strip() in talk.pane(span)
    assert any(words in passage.note for passage in tell(talk.recording.events, "t").passages)


def test_a_second_summary_takes_the_first_one_up(tmp_path: Path) -> None:
    script = [ASK, LONG, ASK, LONG, "FIRST", ASK, LONG, "SECOND", ASK, LONG, "THIRD", FINAL]
    talk = Talk(tmp_path, script, history_tokens=1000, history_keep=1)
    summaries = [call for call in talk.model.calls if call.role == "summary"]
    assert "FIRST" in summaries[1].request.messages[-1].content
    assert summaries[1].request.messages[-1].content.count(LONG.strip()) == 1
    last = talk.meta[-1].request.messages
    assert [m.role for m in last] == ["system", "user", "assistant", "user"]
    assert "[Rounds 1-3 in short" in last[1].content
    assert "THIRD" in last[1].content
    assert "FIRST" not in last[1].content
    assert [e.id for e in talk.of(Stored)] == ["round 1", "rounds 1-2", "rounds 1-3"]


def test_the_last_rounds_stay_however_long_they_are(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [ASK, LONG, ASK, LONG, FINAL], history_tokens=1, history_keep=9)
    assert not [call for call in talk.model.calls if call.role == "summary"]


def test_an_empty_summary_cuts_nothing(tmp_path: Path) -> None:
    script = [ASK, LONG, ASK, LONG, " ", FINAL]
    talk = Talk(tmp_path, script, history_tokens=1, history_keep=1)
    assert len(talk.meta[-1].request.messages) == 6
    assert "an empty summary of round 1: the history stays as it is" in talk.plain


def test_a_summary_that_fails_fails_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    from meta_tui.sources import resume

    script = [ASK, LONG, ASK, LONG, CallFailed("server", "down")]
    talk = Talk(tmp_path, script, status="failed", history_tokens=1, history_keep=1)
    model = ScriptedModel(["SUMMARY", FINAL])
    result = asyncio.run(resume(talk.log, Doors(model), clock=None))
    assert (result.status, result.answer) == ("answered", "42")
    assert [call.role for call in model.calls] == ["summary", "meta"]
    assert again(talk.log).answer == "42"


def test_a_summary_in_the_middle_of_tries_that_failed_keeps_what_is_last(tmp_path: Path) -> None:
    down = CallFailed("server", "down")
    script = [down, ASK, LONG, ASK, LONG, "SUMMARY", down, FINAL]
    talk = Talk(tmp_path, script, history_tokens=1, history_keep=1, tries=2)
    last = talk.meta[-1].request.messages
    assert [m.role for m in last] == ["system", "user", "assistant", "user"]
    assert last[1].content.startswith("ROUND 1:\n\nROUND 1:\n\n")
    assert last[1].content.endswith("SUMMARY")


def test_a_continued_run_keeps_the_earlier_conversation_whole(tmp_path: Path) -> None:
    history = (system("s"), user("an old question"), Message("assistant", "an old answer"))
    method = build("meta_prompting", {"history_tokens": 1, "history_keep": 1})
    model = ScriptedModel([ASK, LONG, ASK, LONG, "SUMMARY", FINAL])
    started = header(method, QUESTION, model="m", history=tuple(m.id for m in history))
    log = tmp_path / "continued.jsonl"
    asyncio.run(live(method, started, Doors(model), log=log, history=history))
    sent = model.calls[-1].request.messages
    assert sent[:3] == history
    assert QUESTION in sent[3].content
    assert sent[3].content.endswith("SUMMARY")
    assert again(log).answer == "42"


def test_tokens_are_a_quarter_of_the_bytes_rounded_up() -> None:
    assert tokens([]) == 0
    assert tokens([user("12345")]) == 2
    assert tokens([user("四" * 4), user("ab")]) == 4  # 12 + 2 bytes


# A remark on instructions that point at what an expert cannot see.

ABOVE = call_text("Expert Critic", "Check the solution above and the previous expert's output.")


def test_without_the_setting_nothing_is_remarked(tmp_path: Path) -> None:
    assert not Talk(tmp_path, [ABOVE, "what?", FINAL]).of(Stored)


def test_an_instruction_that_refers_back_is_shown_and_the_expert_consulted(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [ABOVE, "what?", FINAL], nudge="show", feedback="F")
    assert talk.told_meta(1) == 'ROUND 2:\n\nExpert Critic\'s output:\n"""\nwhat?\n"""\n\nF'
    words = 'its instruction says "solution above", which it cannot see'
    assert words in talk.plain
    assert words in talk.pane()


def test_a_re_ask_sends_the_call_back_once_and_costs_a_round(tmp_path: Path) -> None:
    full = call_text("Expert Critic", "Check that 6 * 7 is 42.")
    talk = Talk(tmp_path, [ABOVE, full, "yes", FINAL], nudge="reask")
    assert [call.role for call in talk.model.calls] == ["meta", "meta", "expert", "meta"]
    assert talk.told_meta(1).startswith("ROUND 2:\n\nNo expert was consulted.")
    assert 'to Expert Critic says "solution above"' in talk.told_meta(1)
    assert len(talk.of(RoundStarted)) == 3


def test_a_call_that_is_repeated_as_it_was_is_made(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [ABOVE, ABOVE, "what?", FINAL], nudge="reask")
    assert [call.role for call in talk.model.calls] == ["meta", "meta", "expert", "meta"]
    assert len(talk.of(Stored)) == 2


def test_experts_who_see_the_history_are_not_remarked_on(tmp_path: Path) -> None:
    assert not Talk(tmp_path, [ABOVE, "yes", FINAL], nudge="reask", fresh_eyes=False).of(Stored)


def test_an_answer_beside_a_call_that_is_sent_back_is_kept(tmp_path: Path) -> None:
    talk = Talk(tmp_path, [f"{ABOVE}\n\n{FINAL}", "hm"], status="no_answer", nudge="reask", rounds=2)
    assert not talk.of(SpanStarted)
    assert [e.reason for e in talk.of(Rejected)] == ["neither an expert call nor a final answer"]


@pytest.mark.parametrize(
    ("instruction", "phrase"),
    [
        ("Check the solution above.", "solution above"),
        ("Using the above, compute the sum.", "the above"),
        ("Verify the previous expert's answer.", "the previous expert"),
        ("As mentioned above, the sum is 9. Check.", "mentioned above"),
        ("Look at the previous solution", "the previous solution"),
        ("Compare your earlier\nanswer with mine", "your earlier answer"),
        ("the aforementioned candidates", "the aforementioned"),
        ("Use the previously computed result", "previously computed"),
        ("THE ABOVE LIST is wrong", "THE ABOVE LIST"),
        ("Add the numbers from above.", "numbers from above"),
        ("See above, then go on", "See above"),
        ("the above-mentioned plan", "the above"),
    ],
)
def test_words_that_point_back_are_found(instruction: str, phrase: str) -> None:
    assert refers_back(instruction) == phrase


@pytest.mark.parametrize(
    "instruction",
    [
        "List all primes above 10.",
        "Which of 3 and 4 is above the line?",
        "Each number is twice the previous one; the previous number in a Fibonacci sequence ...",
        "The shelf above the desk",
        "Sort: pear fig apple",
        "In the previous century",
        "temperatures above zero",
        "Compute the above-average scores",
        "Sum the numbers above 100 in: 5 200",
        "Seen from above, a cone is a circle. Draw the scene from above.",
        "Which results above the threshold 0.5 are there?",
        "Write a message above the door",
        "birds found above 3000 m",
        "",
    ],
)
def test_words_that_only_look_like_it_are_not(instruction: str) -> None:
    assert refers_back(instruction) is None


@given(st.text(max_size=300))
def test_any_instruction_can_be_looked_at(instruction: str) -> None:
    found = refers_back(instruction)
    assert found is None or found in " ".join(instruction.split())


def test_looking_back_is_linear_in_the_instruction() -> None:
    import time

    began = time.process_time()
    for text in ("the previous " * 50_000, "above " * 100_000, "a" * 500_000, "the " * 100_000):
        refers_back(text)
    assert time.process_time() - began < 3


def test_the_requests_of_a_run_with_every_setting_at_its_default_are_those_of_before(tmp_path: Path) -> None:
    """The defaults are written out here; they are part of the log format."""
    off = {"experts": [], "several": "in_turn", "history_tokens": 0, "history_keep": 2, "nudge": "off"}
    script = [TWO, "one", "two", ABOVE, "what?", FINAL]
    one, other = Talk(tmp_path, script), Talk(tmp_path, script, **off)
    assert [e.key for e in one.of(Requested)] == [e.key for e in other.of(Requested)]
    assert one.recording.started == other.recording.started.__class__(
        **{
            name: getattr(other.recording.started, name)
            for name in other.recording.started.__struct_fields__
            if name not in ("at",)
        },
        at=one.recording.started.at,
    )
