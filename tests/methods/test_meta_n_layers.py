"""Meta^n, layers: reading, screening, and running a chain on a task (D-1, D-2, D-3, D-7, D-8).

What is about containing a program runs in the real sandbox.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from meta_n_runs import PACK, Told, by_role, layer, layer_reply, say, scores_of, script, solve

from meta_tui.methods.meta_n.layers import blocks, called, helper, merged, script_in, staged, written
from meta_tui.methods.meta_n.screening import refusal


def chained(*layers: Any, count: int = 1, reply: Any = None, **settings: Any) -> Told:
    """A chain on invented tasks, in the real sandbox."""
    return solve(
        reply or (lambda call: script(0.5)), count, code="sandbox", mode="apply", chain=layers, **settings
    )


def test_d1_deeper_layers_speak_first_and_are_heard_by_those_below() -> None:
    told = chained(layer(2, 'additional_context = "a" + "|heard:" + outer_context'), layer(3, say("b")))
    (prompt,) = told.prompts("instance")
    assert "Advice for this problem:\nb\n\na|heard:b\n" in prompt + "\n"


def test_without_outer_context_a_layer_hears_nothing_and_is_still_heard() -> None:
    told = chained(
        layer(2, 'additional_context = "a" + "|heard:" + outer_context'),
        layer(3, say("b")),
        outer_context=False,
    )
    assert "Advice for this problem:\nb\n\na|heard:\n" in told.prompts("instance")[0] + "\n"


def test_d2_a_layer_that_changes_the_task_changes_nothing_and_one_that_loops_is_cut() -> None:
    told = chained(
        layer(2, 'additional_context = str(task.metadata.get("stolen")) + "/" + task.description'),
        layer(3, 'task.metadata["stolen"] = "yes"\nadditional_context = "mutated"'),
        layer(4, "while True:\n    pass"),
        layer(5, 'task.description = "another task"\nadditional_context = "changed"'),
        pre_seconds=1.0,
    )
    (prompt,) = told.prompts("instance")
    assert "mutated\n\nNone/Task number 0: pack the items." in prompt
    assert "another task" not in prompt
    assert "changed" not in prompt
    reasons = {body["layer"]: body["reason"] for body in told.bodies("skipped")}
    assert reasons["L3"].startswith("timeout")
    assert "AttributeError" in reasons["L4"]
    assert told.bodies("candidate")[0]["mean"] == 0.5


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("additional_context = 3", "int"),
        ("additional_context = None", "NoneType"),
        ("additional_context = 'x' * 10001", "10,001"),
        ("del additional_context", "without setting"),
        ("raise SystemExit(0)", "exit: it ended before its last line"),
        ("def f(n):\n    return f(n + 1)\nadditional_context = f(0)", "RecursionError"),
        ("import json\njson.dumps = len\nadditional_context = 'x'", "not available in the sandbox"),
        ("additional_context = b'x'", "no JSON value"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_layer_that_says_no_text_contributes_nothing(code: str, reason: str) -> None:
    told = chained(layer(2, code), layer(3, say("heard")))
    assert "Advice for this problem:\nheard" in told.prompts("instance")[0]
    assert reason in told.bodies("skipped")[0]["reason"]


def test_d3_a_helper_of_a_deeper_layer_takes_the_place_of_its_namesake_only() -> None:
    two = 'def size(x):\n    """Shallow."""\n    return 2'
    other = 'def other(x):\n    """Untouched."""\n    return 40'
    three = 'def size(x):\n    """Deep."""\n    return 3'
    told = chained(
        layer(2, "", two, other),
        layer(3, "", three),
        reply=lambda call: "```python\ndef solve():\n    return (size(0) + other(0)) / 100\n```",
    )
    (prompt,) = told.prompts("instance")
    assert "size(x)\n    Deep." in prompt
    assert "Shallow" not in prompt
    assert "Untouched." in prompt
    assert "return 40" not in prompt, "bodies are not shown"
    (body,) = told.bodies("candidate")
    assert body["mean"] == 0.43
    assert body["scores"][0]["helpers"] == ["size", "other"]


def test_helpers_cannot_take_the_place_of_anything_but_their_own_name() -> None:
    """A block may import, define and assign what it likes: all of it is its own."""
    hostile = (
        "from math import floor as good\nprint = len\nTASK = 1\n"
        "def solve():\n    return 9\n"
        'def bad(x):\n    """Bad."""\n    return good(x)'
    )
    told = chained(
        layer(2, "", 'def good(x):\n    """Good."""\n    return x + 0.5'),
        layer(3, "", hostile),
        reply=lambda call: "```python\ndef solve():\n    print('hi')\n    return good(0.25)\n```",
    )
    assert told.bodies("candidate")[0]["mean"] == 0.75


REFUSED = {
    "os": "import os",
    "from-subprocess": "from subprocess import run",
    "pickle": "import json, pickle",
    "dotted": "import os.path as p",
    "relative": "from . import x",
    "star": "from math import *",
    "getattr": 'getattr(x, "__class__")',
    "attrgetter": 'attrgetter("a.__globals__")(f)',
    "dunder": "x.__class__.__bases__[0]",
    "frames": "g.gi_frame",
    "eval": "eval('1')",
    "alias": "e = exec",
    "builtins": "__builtins__['open']",
    "open": "open('f')",
    "input": "input()",
    "global": "def f():\n    global pack_items\n    pack_items = 1",
    "equal": 'task.task_id == "t1"',
    "reversed": '"t1" == task.task_id',
    "member": 'task.task_id in ("a", "b")',
    "member-dict": 'task.task_id in {"a": 1}',
    "starts": 'task.task_id.startswith("t")',
    "lower": 'task.task_id.lower() == "t1"',
    "alias-id": 't = task.task_id\nif t == "t1":\n    pass',
    "alias-literal": 'ids = ("a", "b")\nif task.task_id in ids:\n    pass',
    "number": "hash(task.task_id) == 12345",
    "table": '{"t1": 1}[task.task_id]',
    "table-get": '{"t1": 1}.get(task.task_id)',
    "match": 'match task.task_id:\n    case "t1":\n        pass',
    "item": 'task[0] == "t1"',
    "as-text": '"t1" in str(task)',
    "as-f-string": 'f"{task}".startswith("t")',
    "as-tuple": '"t1" in task',
    "unpacked": 'name, *rest = task\nif name == "t1":\n    pass',
    "loop": 'for part in task:\n    if part == "t1":\n        pass',
    "alias-task": 't = task\nif t[0] == "t1":\n    pass',
    "match-task": 'match task:\n    case ("t1", _, _):\n        pass',
    "function": 'def f(i):\n    return i == "t1"\nf(task.task_id)',
    "function-by-name": 'def f(i):\n    return i == "t1"\nf(i=task.task_id)',
    "function-task": 'def f(t):\n    return t[0] == "t1"\nf(task)',
    "function-literal": "def f(a, b):\n    return a == b\nf(task.task_id, 't1')",
    "function-gives": 'def f():\n    return task.task_id\nif f() == "t1":\n    pass',
    "lambda": '(lambda i: i == "t1")(task.task_id)',
    "operator": 'from operator import eq\neq(task.task_id, "t1")',
    "list": '["a", "b"][int(task.task_id[2:])]',
    "getattr-id": 'getattr(task, "task_id") == "t1"',
    "syntax": "def f(:",
    "null": "x = 1\0",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_d7_code_that_reaches_out_or_branches_on_a_task_id_is_refused(source: str) -> None:
    assert refusal(source)


ALLOWED = (
    '"grid" in task.description',
    "import math, json, random, itertools, collections, re",
    'additional_context = "about " + task.task_id',
    'task.metadata["category"] == "bins"',
    "x = [].append",
    "match kind:\n    case 'a':\n        pass",
    "len(task.description) > 300",
    'def kind(task):\n    return "grid" if "grid" in task.description else ""\nif kind(task) == "grid":\n    pass',
    't = task\nif t.metadata["category"] == "bins" and "grid" in getattr(t, "description"):\n    pass',
    '["a", "b"][len(task.description) % 2]',
    "if task is None:\n    pass",
    "f.__name__",
)


@pytest.mark.parametrize("source", ALLOWED)
def test_d7_code_that_goes_by_what_a_task_says_is_allowed(source: str) -> None:
    assert refusal(source) == ""


def test_d7_a_block_has_at_most_ten_thousand_characters() -> None:
    assert refusal("#" * 10_000) == ""
    assert refusal("#" * 10_001) == "10,001 characters; a block has at most 10,000"


def one_layer(reply: str) -> Told:
    """What becomes of one reply of Omega, in the real sandbox."""
    return solve(
        by_role(lambda call: reply, lambda call: script(0.5)), 1, code="sandbox", iterations=1, patience=1
    )


def test_d8_a_helper_goes_by_the_function_that_it_defines() -> None:
    told = one_layer(layer_reply(foo='def bar(x):\n    """B."""\n    return x'))
    (body,) = told.bodies("layer")
    assert [one["name"] for one in body["library"]] == ["bar"]
    assert "screened" not in body


def test_d8_a_helper_that_fails_when_it_is_defined_is_dropped_and_the_layer_survives() -> None:
    told = one_layer(
        layer_reply(
            say("hello"),
            good=PACK,
            raises="1 / 0\ndef raises():\n    pass",
            loops="while True:\n    pass\ndef loops():\n    pass",
            nothing="x = 1",
        )
    )
    (body,) = told.bodies("layer")
    assert [one["name"] for one in body["library"]] == ["pack_items"]
    assert body["pre_process"] == say("hello")
    out = {one["part"]: (one["stage"], one["reason"]) for one in body["screened"]}
    assert out["solver_lib:nothing"] == ("static", "defines no function")
    assert out["solver_lib:raises"][0] == "smoke"
    assert "ZeroDivisionError" in out["solver_lib:raises"][1]
    assert out["solver_lib:loops"] == ("smoke", "timeout: stopped after 5 s")
    assert len(told.bodies("candidate")) == 2


def test_a_contract_that_no_file_can_store_is_mended() -> None:
    """The source is plain text; the text that it stands for holds half of a pair."""
    told = one_layer(layer_reply(h='def h():\n    """Half \\ud800 a pair."""\n    return 1'))
    (body,) = told.bodies("layer")
    assert body["library"][0]["doc"] == "Half \ufffd a pair."
    assert len(told.bodies("candidate")) == 2


@pytest.mark.parametrize("first", ["grid", "make_grid"])
def test_a_helper_is_no_other_helpers_maker(first: str) -> None:
    """`grid` is made by a function; a helper that happens to have its name stays what it is."""
    sources = {
        "grid": 'def grid():\n    """G."""\n    return 0.75',
        "make_grid": 'def make_grid(a):\n    """M."""\n    return a',
        "make_make_grid": 'def make_make_grid(a):\n    """MM."""\n    return a / 10',
    }
    names = [first, *(name for name in reversed(sources) if name != first)]
    told = chained(
        layer(2, "", *(sources[name] for name in names)),
        reply=lambda call: (
            "```python\ndef solve():\n    return grid() + make_grid(0.1) + make_make_grid(0.2)\n```"
        ),
    )
    assert told.bodies("candidate")[0]["mean"] == pytest.approx(0.87)


def test_nothing_is_carried_from_one_task_to_the_next() -> None:
    """A mutable default and a name of its block begin anew with every script."""
    count = "seen = []\ndef count(x, own=[]):\n    seen.append(x)\n    own.append(x)\n    return len(seen + own) / 10"
    told = chained(
        layer(2, "", count),
        count=3,
        reply=lambda call: "```python\ndef solve():\n    return count(1)\n```",
    )
    assert list(scores_of(told.bodies("candidate")[0]).values()) == [0.2, 0.2, 0.2]


@pytest.mark.parametrize("name", ["sorted", "print", "solve", "data", "solve_answer", "ValueError"])
def test_a_helper_cannot_take_a_name_that_scripts_use_already(name: str) -> None:
    told = one_layer(layer_reply(**{name: f"def {name}(*a):\n    return 9"}))
    (body,) = told.bodies("layer")
    assert body["screened"][0]["reason"] == f"{name} is a name that scripts use already"
    assert "library" not in body


HOSTILE = {
    "task": (say("x") + '\nimport os\nos.environ["TASK"] = "1"', "os"),
    "solver": ("x = ().__class__.__bases__[0].__subclasses__()", "reaches for __"),
    "frames": ("def f():\n    yield 1\nx = f().gi_frame.f_back", "reaches for f_back"),
    "ids": ('if task.task_id == "t:0":\n    additional_context = "the answer is 0.9"', "task id"),
    "long": (say("y" * 10_001), "10,0"),
    "async": ("async def f():\n    pass", "async def"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_layer_is_refused_and_the_reason_is_kept(case: str) -> None:
    code, reason = HOSTILE[case]
    told = one_layer(layer_reply(code))
    (body,) = told.bodies("layer")
    assert reason in body["screened"][0]["reason"]
    assert body["screened"][0]["part"] == "pre_process"
    assert len(told.bodies("candidate")) == 1, "nothing usable is left of it, so nothing is evaluated"
    assert "screened out" in told.stored("layer")[0].title


def test_a_hostile_helper_harms_its_own_script_only() -> None:
    """It is defined well and misbehaves when it is called: that is a failure of the script."""
    told = solve(
        by_role(
            lambda call: layer_reply(trap='def trap(x):\n    """Trap."""\n    while True:\n        pass'),
            lambda call: (
                "```python\ndef solve():\n    return trap(1) if 'trap' in dir() else 0.5\n```"
                if "trap" not in call.request.messages[0].content
                else "```python\ndef solve():\n    return trap(1)\n```"
            ),
        ),
        1,
        code="sandbox",
        iterations=1,
        script_seconds=1.0,
    )
    first, second = told.bodies("candidate")
    assert first["mean"] == 0.5
    assert second["scores"][0]["failure"] == "timeout"
    assert second["mean"] == 0


def test_reading_stays_fast_on_text_that_is_made_to_be_slow() -> None:
    """Each takes a moment; a reader that is not linear would need minutes."""
    slow = (
        "```" + " " * 2_000_000 + "`",
        "a" + ".get(1)" * 1400,
        "x = " + " == ".join(["task_id"] * 900),
        "\n".join(f"a{n} = a{n + 1}" for n in range(700)),
        "x = " + "[" * 90 + "]" * 90,
    )
    began = time.process_time()
    assert blocks(slow[0]) == []
    for source in slow[1:]:
        refusal(source)
    assert time.process_time() - began < 5


def test_a_layer_is_bounded() -> None:
    many = {f"helper_{n}": f"def helper_{n}():\n    pass" for n in range(25)}
    told = solve(
        by_role(lambda call: layer_reply("", "why" * 9_000, **many), lambda call: script(0.5)),
        1,
        iterations=1,
    )
    (body,) = told.bodies("layer")
    assert len(body["library"]) == 20
    assert {one["reason"] for one in body["screened"]} == {"a layer has at most 20 helpers"}
    assert len(body["rationale"]) == 10_000


def test_the_blocks_of_a_reply_are_those_that_are_closed() -> None:
    text = "a\n```python\nx\n```\n````md\n```\ninner\n```\n````\n```python\ncut"
    assert [(b.info, b.body) for b in blocks(text)] == [("python", "x"), ("md", "```\ninner\n```")]


def test_a_layer_is_read_from_its_fences() -> None:
    reply = (
        layer_reply("a = 1", "why", pack_items=PACK) + "\n```solver_lib: spaced\ndef spaced():\n    pass\n```"
    )
    found = written(reply)
    assert (found.rationale, found.pre_process) == ("why", "a = 1")
    assert [name for name, _ in found.helpers] == ["pack_items", "spaced"]
    assert written("no fence at all") == written("")


def test_a_script_is_the_last_block_that_defines_solve() -> None:
    assert script_in("```python\ndef solve(): pass\n```\n```python\nprint(1)\n```") == "def solve(): pass"
    assert script_in("```\nx = 1\n```") == "x = 1"
    assert script_in("```rationale\nx\n```") == ""


def test_a_helper_knows_its_signature_and_its_docstring() -> None:
    found = helper("pack_items", PACK)
    assert found is not None
    assert found.signature == "pack_items(items: list, capacity: int) -> list"
    assert found.doc.startswith("First-fit decreasing.")
    assert merged([layer(2, "", PACK)])["pack_items"].source == PACK
    space: dict[str, Any] = {}
    exec(staged(found), space)
    assert space["pack_items"]([5, 4, 3, 2], 7) == [[5, 2], [4, 3]]


def test_a_call_is_a_mention_outside_of_an_own_definition() -> None:
    assert called("x = pack_items([1], 2)", ["pack_items", "other"]) == ("pack_items",)
    assert called("def pack_items(a):\n    pass\npack_items(1)", ["pack_items"]) == ()
    assert called("repack_items(1)", ["pack_items"]) == ()


def test_a_staged_helper_keeps_its_text_so_that_every_python_makes_the_same_program() -> None:
    """Only the indentation changes, and not inside of texts of several lines."""
    source = (
        'import math\n\ndef tall(a: list, b: str = "x:y",  # a note\n         *, c=1) -> dict[str, int]:\n'
        '    """Contract."""\n    text = """one\ntwo\n  three"""\n    return {"t": text, "m": math.floor(a[0])}'
    )
    found = helper("tall", source)
    assert found is not None
    assert found.signature == 'tall(a: list, b: str = "x:y", *, c=1) -> dict[str, int]'
    lines = staged(found).split("\n")
    assert lines[0] == "def make_tall():"
    assert [line for line in source.split("\n") if line.strip() and line not in lines] == [
        line for line in source.split("\n") if line.strip() and line not in ("two", '  three"""')
    ]
    assert "two" in lines
    assert '  three"""' in lines
    space: dict[str, Any] = {}
    exec(staged(found), space)
    assert space["tall"]([1.5]) == {"t": "one\ntwo\n  three", "m": 1}
    assert helper("", "def tab(a):\r\n\treturn a") is not None


def test_a_helper_that_is_no_function_after_its_definition_is_dropped() -> None:
    told = one_layer(layer_reply(h="@property\ndef h():\n    return 1"))
    (body,) = told.bodies("layer")
    assert body["screened"][0]["reason"] == "its name is not callable after the definition"


def test_of_two_blocks_with_one_name_the_last_counts_and_a_fence_says_which_function_it_means() -> None:
    first, second = ("def h():\n    return 1", "def h():\n    return 2")
    reply = f"```solver_lib:h\n{first}\n```\n```solver_lib:h\n{second}\n```"
    assert written(reply).helpers == (("h", second),)
    found = helper("meant", "def meant():\n    return inner()\ndef inner():\n    return 1")
    assert found is not None
    assert found.name == "meant"
