"""The recursive-language-model baseline: its tiny language, and runs in the real sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from amr_runs import by_name, first_line
from scripted_runs import again

from meta_tui.errors import CallFailed
from meta_tui.events import AnyEvent, CodeFinished, SpanStarted, Stored
from meta_tui.methods import build
from meta_tui.methods.rlm_policy import Refusal, Step, steps
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors, RunResult
from meta_tui.sandbox import Sandbox
from meta_tui.sources import live

TASK = "apples: 3\npears: 4\nWhich fruit has more?"

ALLOWED = [
    "a = 1\nb, c = 2, 'x'",
    "first, *rest = task.split('\\n')",
    "(a, b), c = ('x', 'y'), 'z'",
    "a = [1, 2.5, True, None, {'k': (1, 2)}]",
    "a = task[0] + task[1:3] + task[::-1]",
    "a = f'{task} and {len(task)!r}'",
    "a = task.upper().replace('A', 'b').splitlines(keepends=True)",
    "a = 'x' == task or 'y' != task and not 'z' in task",
    "a = 'yes' if 'x' not in task else 'no'",
    "print(task, 'x', sep='-')\nprint(len(task), str(5))",
    "a = query('q')\nb = query_batch(['x', a])",
    "print(query('a') + query('b'))",
    "a = 'x'\na += 'y'",
    "d = {'k': 'v'}\nd['k'] = 'w'",
    "pass",
    "a = task[-1]",
]
REFUSED = [
    ("for c in task:\n    print(c)", "loop"),
    ("while True:\n    pass", "loop"),
    ("a = [c for c in task]", "comprehension"),
    ("a = {c for c in task}", "comprehension"),
    ("a = {c: c for c in task}", "comprehension"),
    ("a = ''.join(c for c in task)", "comprehension"),
    ("def f():\n    pass", "function"),
    ("async def f():\n    pass", "function"),
    ("f = lambda: 1", "lambda"),
    ("class A:\n    pass", "class"),
    ("import os", "import"),
    ("from os import path", "import"),
    ("a = 1 + 2", "arithmetic"),
    ("a = 2 * 3", "arithmetic"),
    ("a = 'x' * 9", "arithmetic"),
    ("a = '%s' % task", "arithmetic"),
    ("a = 7 ** 7", "arithmetic"),
    ("a = -len(task)", "arithmetic"),
    ("a = 'x'\na *= 3", "arithmetic"),
    ("a = 1 < 2", "an ordering comparison"),
    ("a = len(task) >= 2", "an ordering comparison"),
    ("a = task is None", "is"),
    ("try:\n    pass\nexcept Exception:\n    pass", "try"),
    ("with task:\n    pass", "with"),
    ("match task:\n    case 'x':\n        pass", "match"),
    ("if task:\n    pass", "if statement: use a conditional expression"),
    ("a = task.__class__", "an attribute that begins with an underscore"),
    ("a = task._x()", "an attribute that begins with an underscore"),
    ("a = __builtins__", "a name that begins with an underscore"),
    ("a = '{}'.format(task)", "the method format"),
    ("a = '{}'.format_map({})", "the method format_map"),
    ("a = task.encode()", "the method encode"),
    ("a = []\na.append(1)", "the method append"),
    ("f = task.upper", "the attribute upper other than as a method call"),
    ("a = f'{task:>1000000000}'", "a format specification"),
    ("a = open('x')", "a call of open"),
    ("a = eval('1')", "a call of eval"),
    ("print = 5", "print other than as a call"),
    ("a = len", "len other than as a call"),
    ("a = query", "query other than as a call"),
    ("a = query('x', 'y')", "query with anything but one argument"),
    ("a = query('x') if task else 'y'", "a query inside a condition"),
    ("a = task or query('x')", "a query inside a condition"),
    ("print(*task)", "an unpacked argument"),
    ("a = (b := 5)", "NamedExpr"),
    ("a: str = 'x'", "AnnAssign"),
    ("del task", "Delete"),
    ("assert task", "Assert"),
    ("raise task", "Raise"),
    ("global task", "Global"),
    ("a = {1, 2}", "set"),
    ("a = b'x'", "a literal of type bytes"),
    ("a = 1j", "a literal of type complex"),
    ("a = ...", "a literal of type ellipsis"),
    ("a = (lambda: 1)()", "a call of an expression"),
    ("asked0 = 'x'", "the name asked0"),
    ("await task", "Await"),
    ("yield task", "Yield"),
    ("return task", "Return"),
]


@pytest.mark.parametrize("source", ALLOWED)
def test_what_the_language_allows_is_allowed(source: str) -> None:
    assert not isinstance(steps(source, ("task",)), Refusal)


@pytest.mark.parametrize(("source", "reason"), REFUSED)
def test_everything_else_is_refused_by_name(source: str, reason: str) -> None:
    found = steps(source, ("task",))
    assert isinstance(found, Refusal)
    assert found.reason == reason


@pytest.mark.parametrize(
    "source", ["a = (", "a = 'x\x00'", "(" * 5000, "a = " + "[" * 3000, "x" * 30_000, "  a = 1"]
)
def test_a_source_that_is_no_program_is_a_refusal_and_no_error(source: str) -> None:
    assert isinstance(steps(source), Refusal)


def test_a_refusal_names_the_line() -> None:
    assert str(steps("a = 'x'\n\nb = a * 2")) == "line 3: arithmetic is not allowed"


def test_a_program_is_cut_behind_each_query_in_the_order_of_evaluation() -> None:
    found = steps("x = 'a'\ny = query(query(x) + query_batch(['b'])[0])\nprint(y)", ("task",))
    assert found == [
        Step("x = 'a'\nasked0 = x", "asked0", False, ("task", "x", "asked0")),
        Step("asked1 = ['b']", "asked1", True, ("task", "x", "asked0", "asked1")),
        Step("asked2 = asked0 + asked1[0]", "asked2", False, ("task", "x", "asked0", "asked1", "asked2")),
        Step("y = asked2\nprint(y)", names=("task", "x", "y")),
    ]


# Runs, with programs that really run.


def block(*lines: str) -> str:
    return "```python\n" + "\n".join(lines) + "\n```"


def solved(
    script: dict[str, Sequence[Any]], log: Path | None = None, **settings: Any
) -> tuple[RunResult, list[AnyEvent], ScriptedModel]:
    settings = {"budget": 20, **settings}
    events: list[AnyEvent] = []
    model = ScriptedModel(by_name(script))

    async def work() -> RunResult:
        async with Sandbox() as code:
            return await live(
                build("rlm", settings),
                first_line("rlm", settings, TASK),
                Doors(model, code),
                log=log,
                consumers=[events.append],
                clock=None,
            )

    return asyncio.run(work()), events, model


def test_variables_live_on_queries_are_answered_and_the_answer_is_submitted(tmp_path: Path) -> None:
    script = {
        "control": [
            block("first, *rest = task.splitlines()", "print(first, len(rest))"),
            block(
                "a, b = query_batch([first + '?', rest[0] + '?'])", "more = query('compare ' + a + ' ' + b)"
            ),
            block("print(more, a)", "answer = more", "ready = True"),
        ],
        "query 1": ["three"],
        "query 2": ["four"],
        "query 3": ["pears"],
    }
    log = tmp_path / "run.jsonl"
    result, events, model = solved(script, log)
    assert (result.answer, result.reason, result.calls) == ("pears", "stopped", 6)
    asked = {c.name: c.request.messages[-1].content for c in model.calls if c.name}
    assert asked == {"query 1": "apples: 3?", "query 2": "pears: 4?", "query 3": "compare three four"}
    heard = [c.request.messages[-1].content for c in model.calls if not c.name]
    assert heard[1].startswith("apples: 3 2\n")
    assert again(log).answer == "pears"
    assert {e.result.status for e in events if isinstance(e, CodeFinished)} == {"ok"}


def test_a_refused_program_is_not_run_and_the_reason_comes_back() -> None:
    script = {"control": [block("for c in task:", "    print(c)"), block("answer = 'x'", "ready = True")]}
    result, events, model = solved(script)
    assert model.calls[1].request.messages[-1].content == "Not run: line 1: loop is not allowed."
    assert len([e for e in events if isinstance(e, CodeFinished)]) == 1
    assert [(e.title, e.body) for e in events if isinstance(e, Stored) and e.kind == "flag"] == [
        ("refused", "line 1: loop is not allowed")
    ]
    assert result.answer == "x"


def test_an_error_comes_back_and_variables_from_before_it_stay() -> None:
    script = {
        "control": [
            block("kept = 'k'"),
            block("print('so far')", "x = task[9999]"),
            block("answer = kept", "ready = True"),
        ]
    }
    result, _, model = solved(script, budget=100)
    told = model.calls[2].request.messages[-1].content
    assert told.startswith("so far\n\nStopped: error.")
    assert "IndexError" in told
    assert result.answer == "k"


def test_print_is_cut_at_the_stated_length() -> None:
    script = {"control": [block("print(task + task)"), block("answer = 'x'", "ready = True")]}
    _, _, model = solved(script, shown=10)
    assert model.calls[1].request.messages[-1].content.startswith("apples: 3\n\n[")


def test_a_print_of_exactly_the_stated_length_is_not_cut() -> None:
    script = {"control": [block("print('123456789')"), block("answer = 'x'", "ready = True")]}
    _, _, model = solved(script, shown=len("123456789\n"))
    assert model.calls[1].request.messages[-1].content == "123456789\n"


def test_a_batch_asks_so_many_queries_and_no_more() -> None:
    script = {
        "control": [block("print(len(query_batch(['a', 'b', 'c'])))"), block("answer = 'x'", "ready = True")],
        **{f"query {n}": ["said"] for n in (1, 2, 3)},
    }
    _, _, model = solved(script, batch=2)
    assert [c.name for c in model.calls if c.name] == ["query 1", "query 2"]
    assert "2\n" in [m.content for m in model.calls[-1].request.messages]


def test_at_depth_two_a_query_is_a_recursive_model_and_below_it_a_plain_call() -> None:
    inner = [block("x = query('deep')", "answer = x + '!'", "ready = True")]
    script = {"control": [block("answer = query('wide')", "ready = True")], "query 1": [*inner, "bottom"]}
    result, events, model = solved(script, depth=2)
    assert result.answer == "bottom!"
    spans = [(e.span, e.name) for e in events if isinstance(e, SpanStarted)]
    assert spans == [("1", "query 1"), ("1/1", "query 1")]
    assert [len(c.request.messages) for c in model.calls] == [2, 2, 1]
    assert result.calls == 3


def test_the_budget_counts_all_depths_and_submits_the_answer_that_is_set() -> None:
    script = {"control": [block("answer = 'so far'", "a = query_batch(['1', '2', '3'])")] * 9}
    result, _, model = solved(script, budget=8)
    assert (result.calls, result.reason, result.answer) == (8, "forced", "so far")
    last = [c for c in model.calls if not c.name][-1].request.messages
    assert "Budget: 4 of 8 calls used, 4 left." in [m.content for m in last]


def test_without_any_answer_there_is_none() -> None:
    result, _, _ = solved({"control": [block("print(1)")] * 9}, budget=3)
    assert (result.status, result.reason) == ("no_answer", "no_answer")


def test_a_query_that_fails_gives_a_text_that_says_so() -> None:
    script = {
        "control": [block("answer = query('x')", "ready = True")],
        "query 1": [CallFailed("server", "down")],
    }
    assert solved(script)[0].answer == "(this query failed)"


def test_without_code_it_is_asked_again_once_and_then_taken_at_its_word() -> None:
    result, _, model = solved({"control": ["I think pears.", "pears"]})
    assert (result.answer, result.calls) == ("pears", 2)
    assert "held no fenced Python block" in model.calls[1].request.messages[-1].content
