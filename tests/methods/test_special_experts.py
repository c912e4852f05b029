"""Special experts in a run: who is asked what, what the Meta Model is told, and exact replay.

Every run is replayed with no door open, so a function, a command or a model that were asked then
could not answer; the counts show that they are not even tried.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import FINAL, PROGRAM, call_text

import meta_tui
from meta_tui.chat import Program
from meta_tui.errors import CallFailed, CassetteMiss, Difference, UnknownSetting, UsageError
from meta_tui.events import CodeFinished, CodeStarted, Failed, Replied, Requested, SpanStarted, Stored
from meta_tui.methods import build
from meta_tui.methods.special import Special, introduction, majority, speaker
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line, ScriptedModel
from meta_tui.plain import Plain
from meta_tui.run import RunResult
from meta_tui.runlog import read

QUESTION = "What is 6 times 7?"
SEARCH = call_text("Expert Search", "capital of Peru")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


class Told:
    """One solved run with special experts: its calls, its events, its log, which replays exactly."""

    def __init__(
        self,
        script: list[Line],
        experts: Mapping[str, Any] | None = None,
        status: str = "answered",
        **settings: Any,
    ) -> None:
        self.model = ScriptedModel(script)
        self.log = Path("run.jsonl")
        self.result: RunResult = meta_tui.solve(
            QUESTION, model=self.model, experts=experts, settings=settings, log=self.log
        )
        assert self.result.status == status, self.result
        self.recording = read(self.log)
        asked = len(self.model.calls)
        replayed = meta_tui.replay(self.log)
        assert (replayed.status, replayed.answer) == (self.result.status, self.result.answer)
        assert len(self.model.calls) == asked

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.recording.events if isinstance(event, kind)]

    def told_meta(self, number: int) -> str:
        """The last message of the nth request of the Meta Model."""
        return [call for call in self.model.calls if call.role == "meta"][number].request.messages[-1].content

    @property
    def instruction(self) -> str:
        return self.model.calls[0].request.messages[0].content

    @property
    def plain(self) -> str:
        lines: list[str] = []
        front = Plain(lines.append)
        for event in self.recording.events:
            front.take(event)
        return "".join(lines)


# Functions.


def test_a_function_is_given_the_instruction_and_nothing_else_and_never_runs_in_a_replay() -> None:
    asked = []

    def search(text: str) -> str:
        """Looks up facts.

        More that is for programmers only.
        """
        asked.append(text)
        return "Lima"

    told = Told([SEARCH, FINAL], {"Expert Search": search})
    assert asked == ["capital of Peru"]
    assert 'Expert Search\'s output:\n"""\nLima\n"""' in told.told_meta(1)
    assert "- Expert Search: Looks up facts.\n" in told.instruction
    assert "programmers" not in told.instruction
    [request] = [event for event in told.of(Requested) if event.span]
    assert [(m.role, m.content) for m in request.messages] == [("user", "capital of Peru")]
    assert request.params.model == "function:Expert Search"
    assert [call.role for call in told.model.calls] == ["meta", "meta"]


def test_a_function_costs_no_tokens_and_no_money_and_no_call_of_the_budget() -> None:
    experts = {"Expert Search": lambda text: "Lima"}
    result = meta_tui.solve(
        QUESTION, model=ScriptedModel([SEARCH, FINAL]), experts=experts, log="b.jsonl", max_calls=2
    )
    assert (result.status, result.calls, result.tokens) == ("answered", 3, 0)


def test_only_names_come_into_the_log_no_function_no_command_and_no_address() -> None:
    experts = {
        "Expert Search": {"function": lambda text: "Lima", "about": "finds things."},
        "Expert Shell": {"command": ["sh", "-c", "echo very-private-argument"]},
    }
    told = Told([SEARCH, call_text("Expert Shell", "go"), FINAL], experts)
    lines = told.log.read_text()
    assert "echo very-private-argument" not in lines
    assert "very-private-argument" in lines  # what it printed
    assert told.recording.started.settings["experts"] == [
        {"name": "Expert Search", "about": "finds things.", "model": "function:Expert Search"},
        {"name": "Expert Shell", "model": "command:Expert Shell"},
    ]


FREE = threading.Event()


@pytest.fixture(autouse=True)
def _free_what_hangs() -> Iterator[None]:
    FREE.clear()
    yield
    FREE.set()


def hangs(text: str) -> None:
    FREE.wait(60)


def raises(text: str) -> None:
    raise ValueError("no such page")


def prints(text: str) -> None:
    print("seen", text)


def floods(text: str) -> str:
    return "x" * 5_000_000


def no_text(text: str) -> object:
    return object()


@pytest.mark.parametrize(
    ("function", "words", "failed"),
    [
        (hangs, "nothing came within 0.2 s", "timeout"),
        (raises, "ValueError: no such page", "unknown"),
        (prints, "[It printed this]\nseen capital of Peru", ""),
        (floods, "more characters came and are left out]", ""),
        (no_text, "it gave back a object, which is no text", "unknown"),
        (lambda text: None, "[It ended without a word.]", ""),
    ],
    ids=["hangs", "raises", "prints", "floods", "no text", "nothing"],
)
def test_whatever_a_function_does_the_meta_model_reads_it_and_goes_on(
    function: Any, words: str, failed: str
) -> None:
    began = time.monotonic()
    told = Told([SEARCH, FINAL], {"Expert Search": {"function": function, "seconds": 0.2}})
    assert time.monotonic() - began < 5
    assert words in told.told_meta(1)
    assert len(told.told_meta(1)) < 11_000
    assert [event.kind for event in told.of(Failed)] == ([failed] if failed else [])
    assert told.log.stat().st_size < 100_000
    shown = told.plain
    assert ("✗ Expert Search: " in shown) == bool(failed)


def test_a_reply_of_the_function_itself_can_hold_no_lone_surrogate_and_no_control_of_ours() -> None:
    told = Told([SEARCH, FINAL], {"Expert Search": lambda text: "\ud800 \x1b[2J\x00"})
    assert "\x1b" not in told.plain
    assert "\ufffd" in told.told_meta(1)


# Commands.


def test_a_command_is_run_once_live_and_never_in_a_replay(tmp_path: Path) -> None:
    count = tmp_path / "count"
    command = ["sh", "-c", f"echo ran >> {count}; cat; echo ' and more'"]
    told = Told([SEARCH, FINAL], {"Expert Search": {"command": command}})
    assert 'output:\n"""\ncapital of Peru and more\n"""' in told.told_meta(1)
    assert count.read_text() == "ran\n"
    [replied] = [event for event in told.of(Replied) if event.span]
    assert replied.how is not None
    assert (replied.how.source, replied.how.cost) == ("live", 0.0)


def test_a_command_that_is_gone_replays_and_resumes_only_where_it_is_given_again(tmp_path: Path) -> None:
    from meta_tui import config, session

    script = tmp_path / "search.sh"
    script.write_text("#!/bin/sh\necho Lima\n")
    script.chmod(0o755)
    told = Told([SEARCH, FINAL], {"Expert Search": {"command": [str(script)]}})
    script.unlink()
    assert meta_tui.replay(told.log).answer == "42"
    lines = told.log.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"SpanStarted"' in line)
    told.log.write_bytes(b"".join(lines[:cut]))
    before = told.log.read_bytes()
    live = session.Session(config.Settings(model="openai/none"))
    with pytest.raises(UsageError, match="Expert Search, a command that is not given here"):
        asyncio.run(session.resume(told.log, live))
    assert told.log.read_bytes() == before


def test_the_program_that_began_a_run_goes_on_with_its_log_and_asks_nothing_twice(tmp_path: Path) -> None:
    asked: list[str] = []

    def search(instruction: str) -> str:
        asked.append(instruction)
        return "Lima"

    told = Told([SEARCH, FINAL], {"Expert Search": search})
    lines = told.log.read_bytes().splitlines(keepends=True)
    after = [n for n, line in enumerate(lines) if b'"Replied"' in line][1] + 1
    told.log.write_bytes(b"".join(lines[:after]))
    model = ScriptedModel([FINAL])
    result = meta_tui.solve(
        QUESTION,
        model=model,
        experts={"Expert Search": search},
        cassette=told.log,
        record="new_episodes",
    )
    assert (result.status, result.answer) == ("answered", "42")
    assert asked == ["capital of Peru"]
    assert len(model.calls) == 1


# Programs of the sandbox.


def test_a_program_reads_the_instruction_and_is_run_in_the_sandbox() -> None:
    told = Told([SEARCH, FINAL], {"Expert Search": Program("print(input().upper())")})
    assert "[It printed this]\nCAPITAL OF PERU" in told.told_meta(1)
    assert [event.program.stdin for event in told.of(CodeStarted)] == ["capital of Peru"]
    assert [event.result.status for event in told.of(CodeFinished)] == ["ok"]
    assert len(told.model.calls) == 2


def test_a_program_that_fails_is_a_result() -> None:
    told = Told([SEARCH, FINAL], {"Expert Search": Program("import os")})
    assert "It was not run, because it uses something that is not allowed here" in told.told_meta(1)


# Models.


def test_an_expert_by_pattern_is_another_model_with_persona_and_code() -> None:
    script = [call_text("Expert Python", "go"), PROGRAM, call_text("Expert Ada", "go"), "hm", FINAL]
    told = Told(script, {"Expert P*": "other/model"})
    asked = [(call.name, call.request.params.model) for call in told.model.calls if call.role == "expert"]
    assert asked == [("Expert Python", "other/model"), ("Expert Ada", "ScriptedModel")]
    assert len(told.of(CodeFinished)) == 1
    assert "- Expert P*: another language model." in told.instruction
    assert "A star in a name stands for any words." in told.instruction


def test_a_model_object_answers_for_its_expert_and_counts_against_the_budget() -> None:
    critic = ScriptedModel(["wrong"])
    told = Told([call_text("Expert Critic", "check"), FINAL], {"Expert Critic": critic})
    assert len(critic.calls) == 1
    assert critic.calls[0].request.messages[-1].content == "You are Expert Critic.\n\ncheck"
    assert "wrong" in told.told_meta(1)
    model = ScriptedModel([call_text("Expert Critic", "check"), FINAL])
    experts = {"Expert Critic": ScriptedModel(["wrong"])}
    result = meta_tui.solve(QUESTION, model=model, experts=experts, log="c.jsonl", max_calls=2)
    assert result.status == "budget"


@pytest.mark.parametrize(
    ("merge", "shown", "how"),
    [
        (
            "all",
            "[Reply 1 of 3, temperature 0]\n6 * 7\n42\n\n[Reply 2 of 3, temperature 0.5]\n43\n\n"
            "[Reply 3 of 3, temperature 1]\nIt is\n**42**.",
            "all 3 replies",
        ),
        ("majority", "6 * 7\n42", "2 of 3 replies agree"),
        ("summary", "two say 42", "a summary of 3 replies"),
    ],
)
def test_one_model_at_several_temperatures_becomes_one_reply(merge: str, shown: str, how: str) -> None:
    replies = ["6 * 7\n42", "43", "It is\n**42**."] + (["two say 42"] if merge == "summary" else [])
    experts = {"Expert Sum": {"temperatures": [0, 0.5, 1], "merge": merge}}
    told = Told([call_text("Expert Sum", "add"), *replies, FINAL], experts)
    expert = [call for call in told.model.calls if call.role == "expert"]
    assert [call.request.params.temperature for call in expert[:3]] == [0, 0.5, 1]
    assert len({call.request.messages for call in expert[:3]}) == 1
    assert f'Expert Sum\'s output:\n"""\n{shown}\n"""' in told.told_meta(1)
    [stored] = told.of(Stored)
    assert (stored.kind, stored.id, stored.title) == ("merged", merge, how)
    assert how in told.plain
    if merge == "summary":
        assert "[Reply 2 of 3, temperature 0.5]\n43" in expert[3].request.messages[-1].content
        assert "The instruction:\nadd" in expert[3].request.messages[-1].content


def test_a_temperature_that_fails_is_left_out_and_all_that_fail_end_the_run() -> None:
    down = CallFailed("server", "down")
    experts = {"Expert Sum": {"temperatures": [0, 1]}}
    told = Told([call_text("Expert Sum", "add"), down, "42", FINAL], experts)
    assert told.of(Stored)[0].title == "all 1 replies; 1 of 2 failed"
    Path("run.jsonl").unlink()
    assert (
        Told([call_text("Expert Sum", "add"), down, down], experts, status="failed").result.reason == "server"
    )


def test_the_majority_is_the_answer_that_most_replies_share_the_first_of_equals() -> None:
    assert majority(["I say\nFinal Answer: 1,000", "Final answer: 7", "so 7 or rather\n$1000$"]) == (
        "I say\nFinal Answer: 1,000",
        "2 of 3 replies agree",
    )
    assert majority(["a", "b"]) == ("a", "1 of 2 replies agree")
    assert majority(["", "\n", "x"])[1] == "2 of 3 replies agree"


# Names, and what is refused.


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("Expert Search", "Expert Search", True),
        ("Expert Search", "expert  SEARCH", True),
        ("Expert Search", "Expert Searcher", False),
        ("Expert S*", "Expert Searcher of Things", True),
        ("Expert *er", "Expert Searcher", True),
        ("Expert *", "Expert Python", True),
        ("Expert a.c", "Expert abc", False),
        ("Expert ***", "Expert x", True),
    ],
)
def test_a_pattern_is_a_name_in_which_a_star_stands_for_any_words(
    pattern: str, name: str, matches: bool
) -> None:
    assert Special(name=pattern).matches(name) is matches


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    began = time.process_time()
    Special(name="Expert " + "*a" * 40 + "b").matches("Expert " + "a" * 79)
    assert time.process_time() - began < 1


def test_the_first_that_matches_answers() -> None:
    first, second = Special(name="Expert Search", model="a"), Special(name="Expert *", model="b")
    assert speaker([first, second], "Expert Search") is first
    assert speaker([second, first], "Expert Search") is second
    assert speaker([first], "Expert Ada").model == ""


def test_an_own_instruction_is_told_of_special_experts_too() -> None:
    experts = {"Expert Search": lambda text: "Lima"}
    told = Told([FINAL], experts, instruction="Conduct!\n")
    assert told.instruction.startswith("Conduct!\n\nSome experts are more than a persona.")
    Path("run.jsonl").unlink()
    prefixed = Told([FINAL], experts, instruction="Conduct!\n", placement="user_prefix")
    asked = prefixed.model.calls[0].request.messages[1].content
    assert "Conduct!\n\nSome experts" in asked
    assert f"finds.\n\n{QUESTION}" in asked
    assert introduction(()) == ""


@pytest.mark.parametrize(
    ("experts", "words"),
    [
        ({"Search": lambda text: ""}, "write 'Expert Search'"),
        ({"Expert Search": 7}, "cannot be a int"),
        ({"Expert Search": {"modle": "x"}}, "Its fields are about, model,"),
        ({"Expert Search": {"model": "x", "command": ["y"]}}, "both a command and a model"),
        ({"Expert Search": {}}, "is nothing yet"),
        ({"Expert Search": {"command": ["y"], "temperatures": [1]}}, "has no temperatures"),
        ({"Expert Search": {"function": "nowhere:at_all"}}, "is not to be had"),
        ({"Expert Search": {"function": ".relative:name"}}, "is not to be had"),
        ({"Expert Search": {"function": "json"}}, "write package.module:name"),
        ({"Expert Search": {"program": "no/such/file.py"}}, "cannot read the program"),
        ({"Expert Search": {"command": ["y"], "seconds": 0}}, "seconds"),
        ({"Expert Search\nExpert Fake": len}, "a name is one line"),
        ({"Expert Search \ud800": len}, "a name is one line"),
        ({"Expert Search" + "h" * 200: len}, "of at most 200 characters"),
        ({"Expert Search": {"model": "x", "about": "\ud800"}}, "surrogates"),
        ({"Expert Search": "command:rm"}, "names no model"),
        ({"Expert Search": {"model": "function:Expert Other"}}, "names no model"),
    ],
)
def test_what_can_be_no_expert_is_refused_with_what_to_write(experts: Any, words: str) -> None:
    with pytest.raises(UsageError, match="Search") as caught:
        meta_tui.solve(QUESTION, model=ScriptedModel([FINAL]), experts=experts, log="run.jsonl")
    assert words in str(caught.value)
    assert not Path("run.jsonl").exists()


def test_experts_for_a_method_that_consults_none_are_refused() -> None:
    for method in ("standard", build("standard")):
        with pytest.raises(UsageError, match="leave experts out"):
            meta_tui.solve(
                QUESTION, model=ScriptedModel([FINAL]), method=method, experts={"Expert A": str.upper}
            )


def test_a_setting_for_a_function_without_the_function_is_refused_before_anything_is_asked() -> None:
    settings = {"experts": [{"name": "Expert A", "model": "function:Expert A"}]}
    with pytest.raises(UsageError, match="a function that is not given here"):
        meta_tui.solve(QUESTION, model="openai/none", settings=settings, log="run.jsonl")


def test_a_setting_of_the_wrong_kind_is_an_unknown_setting() -> None:
    with pytest.raises(UnknownSetting, match="begins with Expert"):
        build("meta_prompting", {"experts": [{"name": "Search"}]})


def test_a_method_of_ones_own_making_is_told_of_the_experts() -> None:
    model = ScriptedModel([SEARCH, FINAL])
    method = meta_tui.MetaPrompting(rounds=3)
    experts = {"Expert Search": lambda text: "Lima"}
    result = meta_tui.solve(QUESTION, model=model, method=method, experts=experts, log="own.jsonl")
    assert "Lima" in model.calls[-1].request.messages[-1].content
    assert result.started.settings["rounds"] == 3
    assert meta_tui.replay("own.jsonl").answer == "42"


# Cassettes.


def test_a_cassette_of_a_run_with_a_function_replays_without_calling_it() -> None:
    asked = []

    def search(text: str) -> str:
        asked.append(text)
        return "Lima"

    for _ in range(2):
        result = meta_tui.solve(
            QUESTION,
            model=ScriptedModel([SEARCH, FINAL]),
            experts={"Expert Search": search},
            cassette="c.jsonl",
        )
        assert result.answer == "42"
    assert asked == ["capital of Peru"]
    with pytest.raises((CassetteMiss, Difference)):
        meta_tui.solve(QUESTION, model=ScriptedModel([FINAL]), cassette="c.jsonl", record="none")


def test_every_function_reply_is_written_before_the_run_goes_on(tmp_path: Path) -> None:
    """A run that is killed while the next call is under way keeps what the function found."""
    seen: list[bytes] = []

    def model(call: Call) -> str:
        seen.append(Path("run.jsonl").read_bytes())
        return SEARCH if len(seen) == 1 else FINAL

    meta_tui.solve(
        QUESTION, model=ScriptedModel(model), experts={"Expert Search": lambda text: "Lima"}, log="run.jsonl"
    )
    assert b"Lima" in seen[1]


def test_the_spans_of_special_experts_are_those_of_any_expert() -> None:
    told = Told([SEARCH, FINAL], {"Expert Search": lambda text: "Lima"})
    assert [(e.role, e.name, e.strand) for e in told.of(SpanStarted)] == [("expert", "Expert Search", "")]


def test_nothing_of_functions_is_imported_by_a_run_without_them() -> None:
    import subprocess

    code = (
        "import sys, meta_tui\n"
        "meta_tui.replay('game24-python')\n"
        "assert not {'meta_tui.models.local', 'meta_tui.models.command'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
