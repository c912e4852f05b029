"""Meta-prompting, acceptance A-1 to A-7, and its settings, on scripted replies."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from scripted_runs import FINAL, PROGRAM, Programs, call_text, run

from meta_tui.chat import CodeResult, Message, Program
from meta_tui.errors import CallFailed, Stopped
from meta_tui.events import AnyEvent, CodeStarted, Failed, Rejected, RoundStarted, SpanStarted
from meta_tui.methods import PRESETS, build
from meta_tui.models.base import Call, CodeRunner
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.run import Doors, RunResult
from meta_tui.sandbox import Sandbox
from meta_tui.sources import header

QUESTION = "What is the sum of the first ten odd numbers?"
PYTHON_CALL = call_text("Expert Python", "Print the sum of the first ten odd numbers.")


class Talk:
    """One run: what was asked, what was told, how it ended."""

    def __init__(
        self,
        script: Sequence[Line],
        results: Sequence[CodeResult] = (),
        *,
        preset: str = "default",
        code: CodeRunner | None = None,
        **settings: Any,
    ) -> None:
        chosen = {**PRESETS[preset].settings_of("meta_prompting"), **settings}
        method = build("meta_prompting", chosen)
        self.model = ScriptedModel(script)
        self.programs = Programs(results)
        self.events: list[AnyEvent] = []
        doors = Doors(self.model, code or self.programs)
        started = header(method, QUESTION, model="m")
        self.result: RunResult = run(method, started, doors, None, consumers=[self.events.append])

    @property
    def meta(self) -> list[Call]:
        """Calls of the Meta Model."""
        return [call for call in self.model.calls if call.role == "meta"]

    @property
    def experts(self) -> list[Call]:
        """Calls of experts."""
        return [call for call in self.model.calls if call.role == "expert"]

    def last_message(self, number: int) -> str:
        """The last message of the nth request of the Meta Model."""
        return self.meta[number].request.messages[-1].content

    def told(self, kind: type[AnyEvent]) -> list[Any]:
        """All events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


def test_a1_an_expert_sees_its_instruction_and_nothing_else_of_the_dialogue() -> None:
    """No 20 characters of any earlier message that do not stand inside its own quotes."""
    first = "I wonder about triangular numbers and whether they matter here at all.\n"
    talk = Talk(
        [
            first + call_text("Expert Historian", "Who first summed the odd numbers? Answer in one line."),
            "Aristarchus of somewhere, I believe, long before Nicomachus wrote it down.",
            call_text("Expert Critic", "Is 100 the sum of the first ten odd numbers? Check it twice."),
            "Yes, one hundred, as the square of ten.",
            FINAL,
        ]
    )
    assert len(talk.experts) == 2
    for expert in talk.experts:
        index = talk.model.calls.index(expert)
        seen = "\n".join(m.content for m in expert.request.messages)
        earlier = [m.content for call in talk.model.calls[:index] for m in call.request.messages]
        replies = [m.content for m in talk.meta[-1].request.messages if m.role == "assistant"]
        own = "\n" + seen.partition(".\n\n")[2]
        for text in [*earlier, *replies, QUESTION]:
            if text in [m.content for m in expert.request.messages]:
                continue  # the system message that every expert has
            for start in range(len(text) - 20):
                piece = text[start : start + 20]
                assert piece not in seen or piece in own, piece
    assert [m.role for m in talk.experts[1].request.messages] == ["system", "user"]
    assert talk.experts[1].request.messages[1].content == (
        "You are Expert Critic.\n\nIs 100 the sum of the first ten odd numbers? Check it twice."
    )


def test_a2_a_call_beside_an_answer_goes_on_and_the_history_grows_by_one_user_message() -> None:
    talk = Talk([f"{call_text('Expert Critic', 'Check it.')}\n\n{FINAL}", "fine", FINAL])
    assert talk.result.answer == "42"
    assert len(talk.experts) == 1
    for earlier, later in zip(talk.meta, talk.meta[1:], strict=False):
        before, after = earlier.request.messages, later.request.messages
        assert after[: len(before)] == before
        assert [m.role for m in after[len(before) :]] == ["assistant", "user"]


def test_a2_an_answer_that_came_beside_a_call_is_what_a_stopped_run_ends_with() -> None:
    talk = Talk([f"{call_text('Expert Critic', 'Check it.')}\n\n{FINAL}", Stopped("budget")])
    assert (talk.result.status, talk.result.answer) == ("budget", "42")


def test_a3_three_replies_with_neither_get_three_error_messages_and_the_answer_is_taken() -> None:
    talk = Talk(["no", "", "no again", FINAL], error="ERROR TEXT")
    assert talk.result.answer == "42"
    assert [talk.last_message(n) for n in (1, 2, 3)] == [f"ROUND {n}:\n\nERROR TEXT" for n in (2, 3, 4)]
    assert len(talk.told(Rejected)) == 3


def test_a3_rounds_that_run_out_give_no_answer_and_no_error() -> None:
    talk = Talk(["no"] * 16)
    result = talk.result
    assert (result.status, result.reason, result.answer, result.calls) == (
        "no_answer",
        "round_limit",
        None,
        16,
    )
    assert [(e.number, e.limit) for e in talk.told(RoundStarted)] == [(n, 16) for n in range(1, 17)]


def test_a4_two_calls_in_one_reply_are_made_in_order_and_come_back_in_one_message() -> None:
    two = call_text("Expert Ada", "first") + "\n\n" + call_text("Expert Bob", "second")
    talk = Talk([two, "one", "two", FINAL], feedback="FEEDBACK")
    assert [call.name for call in talk.experts] == ["Expert Ada", "Expert Bob"]
    assert talk.last_message(1) == (
        'ROUND 2:\n\nExpert Ada\'s output:\n"""\none\n"""\n\nExpert Bob\'s output:\n"""\ntwo\n"""\n\nFEEDBACK'
    )
    only = Talk([two, "one", FINAL], first_only=True)
    assert [call.name for call in only.experts] == ["Expert Ada"]
    glued = Talk([two, "one", "two", FINAL], preset="published", feedback="FEEDBACK")
    assert '"""Expert Bob\'s output:' in glued.last_message(1)


def test_a5_an_answer_of_several_lines_with_quotes_and_code_survives() -> None:
    answer = 'She said "no".\n\n```python\nprint("x")\n```'
    talk = Talk([f'>> FINAL ANSWER:\n"""\nold\n"""\n>> FINAL ANSWER:\n"""\n{answer}\n"""'])
    assert talk.result.answer == answer


def sandboxed(code: str, **settings: Any) -> tuple[Talk, float]:
    """A run whose program runs in the real sandbox, and how long it took."""
    began = time.monotonic()
    reply = f"```python\n{code}\n```\nPlease run this code!"
    talk = Talk([PYTHON_CALL, reply, FINAL], code=Sandbox(), **settings)
    return talk, time.monotonic() - began


def test_a6_an_endless_program_is_stopped_in_time_and_the_run_goes_on() -> None:
    talk, seconds = sandboxed("while True:\n    pass", code_seconds=1.0)
    assert talk.result.answer == "42"
    assert "time limit" in talk.last_message(1)
    assert seconds < 1.0 + 1.0 + 3.0, "the limit, the second that A-6 allows, the start of a child"


def test_a6_a_program_that_reaches_out_is_refused_and_the_run_goes_on() -> None:
    talk, _ = sandboxed("import os\nprint(os.getcwd())")
    assert talk.result.answer == "42"
    assert "not allowed" in talk.last_message(1)


def test_a_program_that_prints_is_run_and_its_output_shown() -> None:
    talk, _ = sandboxed("print(sum(range(1, 20, 2)))")
    assert talk.last_message(1).startswith('ROUND 2:\n\nExpert Python\'s output:\n"""\n```python')
    assert '[It printed this]\n100\n"""' in talk.last_message(1)


@pytest.mark.parametrize("preset", ["default", "published"])
def test_a7_without_python_nothing_runs_whatever_a_reply_says(preset: str) -> None:
    talk = Talk(
        [PYTHON_CALL, PROGRAM, f"{PROGRAM}\n{PYTHON_CALL}", PROGRAM, FINAL], preset=preset, python=False
    )
    assert talk.result.answer == "42"
    assert talk.told(CodeStarted) == []
    assert talk.programs.ran == []
    assert "Python" not in talk.meta[0].request.messages[0].content
    assert "run" not in talk.experts[0].request.messages[1].content.partition("\n\n")[0]


def test_only_expert_python_has_code_run() -> None:
    """Neither the Meta Model nor another expert, whatever they write."""
    talk = Talk([f"{PROGRAM}\n{call_text('Expert Ada', 'Go.')}", PROGRAM, FINAL])
    assert talk.programs.ran == []
    assert talk.last_message(1).count("print(6 * 7)") == 1


def test_without_the_run_request_nothing_runs() -> None:
    talk = Talk([PYTHON_CALL, "```python\nprint(1)\n```", FINAL])
    assert talk.programs.ran == []


def test_the_program_is_what_was_asked_for() -> None:
    talk = Talk([PYTHON_CALL, PROGRAM, FINAL], [CodeResult("ok", "42\n")], code_seconds=2.5)
    (program,) = talk.programs.ran
    assert (program.code, program.limits.seconds, program.profile) == ("print(6 * 7)", 2.5, "policy")
    assert isinstance(program, Program)


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (CodeResult("ok", "42\n"), "It printed this"),
        (CodeResult("ok"), "use print()"),
        (CodeResult("ok", "  \n"), "use print()"),
        (CodeResult("exit"), "use print()"),
        (CodeResult("error", "half\n", "ValueError: x", 3), "stopped with an error"),
        (CodeResult("syntax", error="SyntaxError"), "no valid Python"),
        (CodeResult("refused", error="import of os"), "not allowed"),
        (CodeResult("timeout", "so far"), "time limit"),
        (CodeResult("memory"), "too much memory"),
        (CodeResult("crash"), "crashed"),
    ],
)
def test_every_outcome_has_a_text_of_its_own(result: CodeResult, shown: str) -> None:
    """Printed text and the error are shown with it; the code too."""
    talk = Talk([PYTHON_CALL, PROGRAM, FINAL], [result])
    text = talk.last_message(1)
    assert shown in text
    assert result.stdout.strip() in text
    assert result.error in text
    assert text.count("print(6 * 7)") == 2
    assert talk.result.answer == "42"


def test_a_run_request_without_code_is_reported() -> None:
    talk = Talk([PYTHON_CALL, "Please run this code!", FINAL])
    assert "no fenced code block" in talk.last_message(1)
    assert talk.programs.ran == []


def test_output_is_shown_to_ten_thousand_characters() -> None:
    talk = Talk([PYTHON_CALL, PROGRAM, FINAL], [CodeResult("ok", "x" * 12_345)])
    text = talk.last_message(1)
    assert text.count("x") < 10_100
    assert "2,345 more characters" in text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (CodeResult("ok", " 42 \n"), "42"),
        (
            CodeResult("error", "", " Traceback\nValueError: x \n"),
            "Error in execution: Traceback\nValueError: x",
        ),
        (CodeResult("error", "half\n", "ValueError"), "half"),
        (
            CodeResult("ok"),
            "(No output was generated. It is possible that you did not include a print statement in your code.)",
        ),
        (CodeResult("timeout", "so far"), "Execution took too long, aborting..."),
    ],
)
def test_published_runs_report_code_in_four_texts(result: CodeResult, text: str) -> None:
    """published/README rule 6."""
    talk = Talk([PYTHON_CALL, PROGRAM, FINAL], [result], preset="published", feedback="F")
    assert talk.last_message(1) == (
        f'ROUND 2:\n\nExpert Python\'s output:\n"""\n{PROGRAM}'
        "Here is the Python code used to solve the problem:\n\nprint(6 * 7)\n\n"
        f'Here is the output of the code when executed:\n\n{text}\n"""\n\nF'
    )


def test_round_headers_stand_on_the_stored_last_message_and_the_notice_behind_it() -> None:
    talk = Talk(
        ["no", "no", "no"], rounds=3, notice_round=2, notice=" NOW", error="E", suffix="", label="Q: "
    )
    messages = talk.meta[2].request.messages
    assert [m.content for m in messages[1:]] == [
        f"ROUND 1:\n\nQ: {QUESTION}",
        "no",
        "ROUND 2:\n\nE NOW",
        "no",
        "ROUND 3:\n\nE",
    ]
    assert talk.result.messages[-1] == Message("user", "E")
    assert talk.result.messages[:-2] == messages


@pytest.mark.parametrize("placement", ["system", "user_prefix"])
def test_the_instruction_stands_where_the_setting_says(placement: str) -> None:
    talk = Talk([FINAL], placement=placement, instruction="INSTRUCTION\n\n", system="SYSTEM", suffix="SUFFIX")
    system, user = talk.meta[0].request.messages
    asked = f"{QUESTION}\n\nSUFFIX"
    if placement == "system":
        assert (system.content, user.content) == ("INSTRUCTION\n\n", f"ROUND 1:\n\n{asked}")
    else:
        assert (system.content, user.content) == ("SYSTEM", f"ROUND 1:\n\nINSTRUCTION\n\n{asked}")


def test_switches_of_the_expert_prompt() -> None:
    plain = Talk([call_text("Expert Ada", "Go."), "x", FINAL], name_line=False)
    assert plain.experts[0].request.messages[1].content == "Go."
    steps = Talk([call_text("Expert Ada", "Go."), "x", FINAL], step_by_step=True)
    content = steps.experts[0].request.messages[1].content
    assert content.startswith("You are Expert Ada.\n\nGo.\n\n")
    assert "step by step" in content


def test_without_fresh_eyes_an_expert_sees_the_dialogue() -> None:
    """The ablation; with them (the default) it does not."""
    script = [call_text("Expert Ada", "Go."), "x", FINAL]
    shown = Talk(script, fresh_eyes=False).experts[0].request.messages
    assert [m.role for m in shown] == ["system", "user", "assistant", "user"]
    assert QUESTION in shown[1].content
    assert len(Talk(script).experts[0].request.messages) == 2


def test_a_failed_expert_ends_the_run_or_begins_the_round_again() -> None:
    """`tries` of the published runs: the assistant message stays and gets the next header."""
    down = CallFailed("server", "down")
    call = call_text("Expert Ada", "Go.")
    assert Talk([call, down]).result.status == "failed"
    talk = Talk([call, down, FINAL], tries=2)
    assert talk.result.answer == "42"
    assert [m.role for m in talk.meta[1].request.messages] == ["system", "user", "assistant"]
    assert talk.last_message(1) == f"ROUND 1:\n\n{call}"
    assert len(talk.told(Failed)) == 1


def test_failed_calls_stack_their_headers_until_the_run_gives_up() -> None:
    talk = Talk([CallFailed("server", "down")] * 8, preset="published")
    assert (talk.result.status, talk.result.reason, talk.result.calls) == ("failed", "server", 8)
    assert talk.result.messages[-1].content.startswith("ROUND 1:\n\n" * 8)


def test_spans_carry_role_and_name() -> None:
    talk = Talk([call_text("Expert Ada", "Go."), "x", FINAL])
    (span,) = talk.told(SpanStarted)
    assert (span.role, span.name, span.span) == ("expert", "Expert Ada", "1")


def test_an_expert_is_never_searched_for_the_answer() -> None:
    talk = Talk([call_text("Expert Ada", "Go."), FINAL.replace("42", "41"), "hm", FINAL])
    assert talk.result.answer == "42"
    assert talk.result.calls == 4
