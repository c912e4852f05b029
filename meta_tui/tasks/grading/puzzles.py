"""Python programming puzzles: a function `solution` whose value makes the puzzle's `sat` true.

Answers are code, so both graders are coroutines that are given an `execute` callable and run nothing
themselves. `paper` runs puzzle, answer and a print in one program and looks for the text "True" in
what comes out, as the published evaluator does. `strict` lets the answer compute its value in one
process and asks the original `sat` about that value, read as a literal, in another: an answer
cannot touch `sat`, and printing True proves nothing.
"""

from __future__ import annotations

import ast
import base64
import re
import zlib
from typing import Any

from meta_tui.chat import CodeResult, Limits, Program
from meta_tui.tasks import Execute, Grade, Sample
from meta_tui.tasks.grading.extraction import (
    QUOTES,
    behind_marker,
    correct,
    find_answer,
    incorrect,
    paper_answer,
    paper_grade,
)

SECONDS = 3.0
MOST_CLOSINGS = 20

_PYTHON_BLOCK = re.compile(r"```python(.*?)(?:```|\Z)", re.DOTALL)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_SUPPORT = "from typing import *\n"

COMPUTE = """
import base64, sys, zlib

def plain(value):
    if type(value).__module__.split(".")[0] == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else value
    return value

def computed(source):
    space = {"__name__": "answer"}
    exec("from typing import *", space)
    exec(compile(source, "answer.py", "exec"), space)
    return space["solution"]()

sys.set_int_max_str_digits(0)
text = base64.b64encode(zlib.compress(repr(plain(computed(SOURCE))).encode())).decode()
"""
"""Runs the answer alone; `text` is the repr of its value, packed: some answers are long and dull."""

CHECK = """
import ast, base64, inspect, sys, zlib

def verdict():
    space = {"__name__": "puzzle"}
    exec("from typing import *", space)
    exec(compile(SAT, "puzzle.py", "exec"), space)
    sat = space["sat"]
    try:
        value = ast.literal_eval(zlib.decompress(base64.b64decode(TEXT)).decode())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return "the value is no plain literal"
    kind = ast.parse(TYPE or "None", mode="eval").body
    first, *others = inspect.signature(sat).parameters.values()
    if isinstance(value, tuple) and 1 < len(value) <= 1 + len(others) and fits(listed(value[0], kind), kind):
        if any(not same(given, other.default) for given, other in zip(value[1:], others)):
            return "changes the puzzle: gives other values for its further arguments"
        value = value[0]
    value = listed(value, kind)
    if not fits(value, kind):
        return "the value is not of the type " + TYPE
    return "" if sat(value) is True else "sat is not True for this value"

def same(one, other):
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) == type(other) and one == other

def inner(kind):
    listed = isinstance(kind, ast.Subscript) and getattr(kind.value, "id", "") in ("List", "list")
    return kind.slice if listed else None

def listed(value, kind):
    element = inner(kind)
    if element is None or not isinstance(value, (list, tuple)):
        return value
    return [listed(item, element) for item in value]

def fits(value, kind):
    element = inner(kind)
    if element is not None:
        return isinstance(value, list) and all(fits(item, element) for item in value)
    name = getattr(kind, "id", "")
    if name == "int":
        return type(value) is int
    if name == "float":
        return type(value) in (int, float)
    if name in ("str", "bool", "list", "dict", "set", "tuple"):
        return type(value).__name__ == name
    return True

sys.set_int_max_str_digits(0)
sys.setrecursionlimit(10000)
fault = verdict()
"""
"""Asks the original `sat` about a literal; `fault` is empty where it is True."""


async def paper(sample: Sample, reply: str, execute: Execute) -> Grade:
    """ "True" stands in what puzzle, answer and print put out together."""
    answer = paper_answer(reply, fold=False)
    blocks = _PYTHON_BLOCK.findall(answer)
    code = blocks[-1].strip() if blocks else answer
    whole = code if "def sat" in code else f"{sample.input}\n\n{code}"
    whole = f"{whole}\n\nanswer = solution()\nprint(sat(answer))".replace("List[", "list[")
    result = await execute(Program(whole, profile="os_only", limits=Limits(seconds=SECONDS)))
    if result.status == "timeout":
        return paper_grade(False, code, result.error)
    return paper_grade("True" in (result.stdout.strip() or result.error), code, result.status)


async def strict(sample: Sample, reply: str, execute: Execute) -> Grade:
    """The original `sat` is True for the value of `solution()`, which has the type asked for."""
    answer = find_answer(reply)
    if not answer:
        return Grade("no_answer", "the reply has no final answer")
    code = answer_code(reply)
    if "def solution" not in code and "solution" not in code:
        return incorrect(code, "defines no function solution")
    text = _literal(code)
    if text is None:
        computed = await execute(_program(COMPUTE, "text", SOURCE=code))
        if computed.status != "ok" or not isinstance(computed.value, str):
            return incorrect(code, _why(computed))
        text = computed.value
    checked = await execute(_program(CHECK, "fault", SAT=sample.input, TEXT=text, TYPE=answer_type(sample)))
    if checked.status != "ok":
        return incorrect(code, f"sat ended with {_why(checked)}")
    return incorrect(code, str(checked.value)) if checked.value else correct(code)


def _literal(code: str) -> str | None:
    """What COMPUTE would give for a `solution` that only returns a literal, without running it; None
    for all other code."""
    try:
        match ast.parse(code).body:
            case [
                ast.FunctionDef(
                    name="solution", decorator_list=[], body=[ast.Return(value=ast.expr() as value)]
                )
            ]:
                return base64.b64encode(zlib.compress(repr(ast.literal_eval(value)).encode())).decode()
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return None


def _program(harness: str, result: str, **values: str) -> Program:
    lines = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    return Program(lines + harness, result=result, profile="os_only", limits=Limits(seconds=SECONDS))


def _why(result: CodeResult) -> str:
    last = result.error.strip().rpartition("\n")[2]
    return f"{result.status}: {last}"[:300] if last else result.status


def answer_code(reply: str) -> str:
    """The code of the answer: its last fenced block, else all of it.

    Triple quotes close the answer, but code has docstrings too: the first closing quotes that leave
    a program with a `solution` count.
    """
    rest = behind_marker(reply) or ""
    if not rest.startswith(QUOTES):
        return _last_block(rest)
    body = rest[len(QUOTES) :]
    pieces = body.split(QUOTES)
    for count in range(1, min(len(pieces), MOST_CLOSINGS) + 1):
        code = _last_block(QUOTES.join(pieces[:count]))
        if _defines_solution(code):
            return code
    return _last_block(pieces[0])


def _last_block(text: str) -> str:
    blocks = _FENCE.findall(text)
    return (blocks[-1] if blocks else text).strip("\n")


def _defines_solution(code: str) -> bool:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == "solution" for node in tree.body)


def answer_type(sample: Sample) -> str:
    """The annotation of the answer: of the sample's meta, else of the first argument of `sat`."""
    if given := sample.meta.get("ans_type"):
        return str(given)
    try:
        tree: Any = ast.parse(sample.input)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "sat"]
    arguments = functions[0].args.args if functions else []
    return ast.unparse(arguments[0].annotation) if arguments and arguments[0].annotation else ""
