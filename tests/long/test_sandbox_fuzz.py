"""Ten thousand random programs: each has a result, and what is refused is refused by name and line.

The programs come from a grammar of Python 3.11 to 3.13, names of Python's own and of guards among
them. Most fail when they run; that is not what is looked at. What is: the app never fails, the worker
never fails by a fault of ours, valid Python is never called invalid, and a refusal names its
construct and a line that exists.
"""

# A grammar reads best with short names for its productions.
# ruff: noqa: E731

from __future__ import annotations

import asyncio
import random
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from sandbox_programs import missing_layers

from meta_tui.chat import CodeResult, Limits, Program
from meta_tui.sandbox import Sandbox
from meta_tui.sandbox.policy import Refusal, translate

COUNT = 10_000
AT_ONCE = 200
LIMITS = Limits(seconds=2, memory=256 << 20, output=4096)

NAMES = (
    "a b c x y self cls f g A B print len range _ __ _p __q é __init__ __name__ __class__ __builtins__ __import__ "
    "_getattr_ __getattr__ __doc__ __slots__ T int str dict type object Exception ValueError math json random enum"
).split()
ATTRIBUTES = (
    "real x y _p __q append items format __class__ __dict__ __init__ __globals__ gi_frame __mro__ __getattribute__ "
    "__subclasses__ name value obj mro register data __reduce_ex__ f_back"
).split()
MODULES = "math json random os sys collections.abc enum typing dataclasses re nothing a.b itertools".split()
CONSTANTS = (
    "0",
    "1",
    "-3",
    "2.5",
    "1e3",
    "0x1F",
    "1_0",
    "3j",
    "'s'",
    '"t"',
    "b'b'",
    "None",
    "True",
    "...",
    "r'\\d'",
    "''",
)
BINARY = [*"+ - * / // % ** @ << >> & | ^ and or == != < <= > >= is in".split(), "not in", "is not"]
AUGMENTED = "+= -= *= /= //= %= @= &= |= ^= >>= <<=".split()


class Grammar:
    """Draws programs; `depth` bounds how deep expressions and blocks nest."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str | Callable[[], str]) -> str:
        choice = self.random.choice(choices)
        return choice if isinstance(choice, str) else choice()

    def some(self, make: Callable[[], str], most: int = 3, least: int = 0) -> list[str]:
        return [make() for _ in range(self.random.randint(least, most))]

    def name(self) -> str:
        return self.random.choice(NAMES)

    def program(self) -> str:
        return "\n".join(self.block(self.random.randint(1, 3), 1 + self.random.randint(0, 5)))

    # Expressions

    def expression(self, depth: int = 3) -> str:
        if depth <= 0 or self.random.random() < 0.25:
            return self.pick(self.name, lambda: self.random.choice(CONSTANTS))
        e = lambda: self.expression(depth - 1)
        return self.pick(
            lambda: f"({e()} {self.random.choice(BINARY)} {e()})",
            lambda: f"({self.pick('-', '+', '~', 'not ')}{e()})",
            lambda: f"({e()}).{self.random.choice(ATTRIBUTES)}",
            lambda: (
                f"({e()})[{self.pick(e, lambda: f'{e()}:{e()}', lambda: f'{e()}:{e()}:{e()}', lambda: f'*{e()}, {e()}')}]"
            ),
            lambda: f"{self.pick(self.name, lambda: f'({e()})')}({self.arguments(depth - 1)})",
            lambda: f"({e()} if {e()} else {e()})",
            lambda: f"[{', '.join(self.some(lambda: self.pick(e, lambda: f'*{e()}')))}]",
            lambda: f"({', '.join(self.some(e, least=1))},)",
            lambda: "{" + ", ".join(self.some(lambda: f"{e()}: {e()}")) + "}",
            lambda: "{" + ", ".join(self.some(e, least=1)) + "}",
            lambda: "{**" + e() + ", 'k': 1}",
            lambda: f"[{e()}{self.clauses(depth - 1)}]",
            lambda: f"({e()}{self.clauses(depth - 1)})",
            lambda: "{" + e() + self.clauses(depth - 1) + "}",
            lambda: "{" + f"{e()}: {e()}" + self.clauses(depth - 1) + "}",
            lambda: f"(lambda {self.parameters(depth - 1, False)}: {e()})",
            lambda: f"({self.name()} := {e()})",
            lambda: (
                "f'"
                + "{"
                + re.sub(r"['\"\\{}]", "", e()).replace(":", "")
                + self.pick("", "!r", ":>5", "=")
                + "}'"
            ),
            lambda: f"(yield {e()})",
            lambda: f"(yield from {e()})",
            lambda: f"(await {e()})",
        )

    def clauses(self, depth: int) -> str:
        word = self.pick("for", "for", "for", "async for")
        tail = "".join(f" if {self.expression(depth)}" for _ in range(self.random.randint(0, 1)))
        return f" {word} {self.target(1)} in {self.expression(depth)}{tail}"

    def arguments(self, depth: int) -> str:
        return ", ".join(self.some(lambda: self.argument(depth)))

    def argument(self, depth: int) -> str:
        e = lambda: self.expression(depth)
        return self.pick(e, e, lambda: f"*{e()}", lambda: f"**{e()}", lambda: f"{self.name()}={e()}")

    def parameters(self, depth: int, typed: bool = True) -> str:
        note = lambda: f": {self.expression(0)}" if typed and self.random.random() < 0.3 else ""
        parts = [f"{self.name()}{note()}" for _ in range(self.random.randint(0, 2))]
        if parts and self.random.random() < 0.3:
            parts.append("/")
        parts += self.some(lambda: f"{self.name()}{note()}={self.expression(0)}", 1)
        star = self.pick("", "", f"*{self.name()}", "*")
        if star:
            parts += [star, f"{self.name()}={self.expression(0)}"]
        if self.random.random() < 0.2:
            parts.append(f"**{self.name()}")
        return ", ".join(parts)

    def target(self, depth: int = 2) -> str:
        if depth <= 0:
            return self.name()
        return self.pick(
            self.name,
            self.name,
            lambda: f"{self.name()}.{self.random.choice(ATTRIBUTES)}",
            lambda: f"{self.name()}[{self.expression(1)}]",
            lambda: f"({self.target(depth - 1)}, {self.target(depth - 1)})",
            lambda: f"[{self.target(depth - 1)}, *{self.name()}]",
        )

    # Statements

    def block(self, depth: int, size: int) -> list[str]:
        return [line for _ in range(size) for line in self.statement(depth)]

    def inside(self, depth: int) -> list[str]:
        return [f"    {line}" for line in self.block(depth - 1, self.random.randint(1, 2))]

    def statement(self, depth: int) -> list[str]:
        if depth > 0 and self.random.random() < 0.45:
            return self.random.choice(self.compounds)(self, depth)
        e = self.expression
        return [
            self.pick(
                self.expression,
                lambda: f"{self.target()} = {e()}",
                lambda: f"{self.name()} = {self.target()} = {e()}",
                lambda: f"{self.target(1)}: {e(1)} = {e()}",
                lambda: f"{self.name()}: {e(1)}",
                lambda: f"{self.target(1)} {self.random.choice(AUGMENTED)} {e()}",
                lambda: f"del {self.target()}",
                lambda: f"assert {e()}, {e()}",
                lambda: f"raise {e()} from {e()}",
                "raise",
                "pass",
                "break",
                "continue",
                lambda: f"return {e()}",
                lambda: f"global {self.name()}, {self.name()}",
                lambda: f"nonlocal {self.name()}",
                lambda: f"import {self.random.choice(MODULES)} as {self.name()}",
                lambda: f"import {self.random.choice(MODULES)}",
                lambda: f"from {self.random.choice(MODULES)} import {self.name()} as {self.name()}",
                lambda: f"from {self.random.choice(MODULES)} import *",
                lambda: f"type {self.name()}{self.type_parameters()} = {e(2)}",
            )
        ]

    def type_parameters(self) -> str:
        one = lambda: self.pick(
            self.name,
            lambda: f"{self.name()}: {self.expression(1)}",
            lambda: f"*{self.name()}",
            lambda: f"**{self.name()}",
        )
        return f"[{', '.join(self.some(one, 2, 1))}]" if self.random.random() < 0.3 else ""

    def decorators(self) -> list[str]:
        return self.some(lambda: f"@{self.pick(self.name, lambda: self.expression(1))}", 1)

    def function(self, depth: int) -> list[str]:
        word = self.pick("def", "def", "def", "async def")
        arrow = self.pick("", f" -> {self.expression(1)}")
        head = f"{word} {self.name()}{self.type_parameters()}({self.parameters(1)}){arrow}:"
        return [*self.decorators(), head, *self.inside(depth)]

    def class_(self, depth: int) -> list[str]:
        bases = ", ".join(
            self.some(lambda: self.pick(self.name, lambda: f"{self.name()}={self.expression(1)}"), 2)
        )
        return [
            *self.decorators(),
            f"class {self.name()}{self.type_parameters()}({bases}):",
            *self.inside(depth),
        ]

    def condition(self, depth: int) -> list[str]:
        tail = ["else:", *self.inside(depth)] if self.random.random() < 0.5 else []
        return [f"if {self.expression()}:", *self.inside(depth), *tail]

    def loop(self, depth: int) -> list[str]:
        head = self.pick(
            lambda: f"for {self.target()} in {self.expression()}:",
            lambda: f"while {self.expression()}:",
            lambda: f"async for {self.target()} in {self.expression()}:",
        )
        last = "    break"
        return [head, *self.inside(depth), last, "else:", *self.inside(depth)]

    def trial(self, depth: int) -> list[str]:
        star = self.pick("", "", "*")
        name = self.pick("", lambda: f" as {self.name()}")
        handler = [f"except{star} {self.expression(1)}{name}:", *self.inside(depth)]
        return ["try:", *self.inside(depth), *handler, "finally:", *self.inside(depth)]

    def context(self, depth: int) -> list[str]:
        word = self.pick("with", "with", "async with")
        items = ", ".join(self.some(lambda: f"{self.expression(2)} as {self.target(1)}", 2, 1))
        return [f"{word} {items}:", *self.inside(depth)]

    def match(self, depth: int) -> list[str]:
        lines = [f"match {self.expression()}:"]
        for _ in range(self.random.randint(1, 3)):
            guard = self.pick("", lambda: f" if {self.expression(1)}")
            lines += [f"    case {self.pattern(2)}{guard}:", *(f"    {line}" for line in self.inside(depth))]
        return lines

    def pattern(self, depth: int) -> str:
        if depth <= 0:
            return self.pick("_", self.name, "1", "'s'", "None", "-2", "1.5", "b''")
        p = lambda: self.pattern(depth - 1)
        dotted = lambda: f"{self.name()}.{self.random.choice(ATTRIBUTES)}"
        return self.pick(
            p,
            dotted,
            lambda: f"({p()} | {p()})",
            lambda: f"[{p()}, *{self.name()}, {p()}]",
            lambda: "{'k': " + p() + ", " + dotted() + ": " + p() + ", **" + self.name() + "}",
            lambda: f"{self.pick(self.name, dotted)}({p()}, {self.random.choice(ATTRIBUTES)}={p()})",
            lambda: f"{self.pick(self.name, dotted)}()",
            lambda: f"({p()}) as {self.name()}",
        )

    compounds = (function, class_, condition, loop, trial, context, match)


def programs(seed: int) -> Iterator[str]:
    """Programs that Python accepts four times of five; the others test the way out."""
    grammar = Grammar(seed)
    while True:
        text = grammar.program()
        if is_python(text) or grammar.random.random() < 0.05:
            yield text


def is_python(text: str) -> bool:
    """Whether Python itself compiles it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "p", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, SystemError):  # Python 3.13.0 has a fault of its own here
            return False
    return True


def test_the_grammar_reaches_every_statement_and_many_refusals() -> None:
    texts = "\n".join(islice(programs(1), 2000))
    for word in (
        "async def",
        "await",
        "except*",
        "match",
        "case",
        "lambda",
        "yield from",
        ":=",
        "nonlocal",
        "**",
        "/,",
    ):
        assert word in texts, word


@pytest.mark.timeout(600)
def test_every_program_compiles_is_refused_by_name_and_line_or_is_no_python() -> None:
    refused = 0
    for text in islice(programs(2), COUNT):
        try:
            translate(text, "p")
        except Refusal as refusal:
            refused += 1
            check_refusal(str(refusal), refusal.line, text)
        except (SyntaxError, ValueError, SystemError):
            assert not is_python(text), text
    assert COUNT // 20 < refused < COUNT


@pytest.mark.timeout(3600)
async def test_every_program_has_a_result_and_the_app_goes_on() -> None:
    missing_layers()
    source = programs(3)
    async with Sandbox(pool=2) as sandbox:
        for _ in range(COUNT // AT_ONCE):
            batch = list(islice(source, AT_ONCE))
            ran = await asyncio.gather(*(sandbox.execute(Program(text, limits=LIMITS)) for text in batch))
            for text, (result, _) in zip(batch, ran, strict=True):
                check_result(result, text)


def check_result(result: CodeResult, text: str) -> None:
    assert result.status in ("ok", "exit", "error", "refused", "syntax", "timeout", "memory"), (result, text)
    if result.status == "syntax":
        assert not is_python(text), (result, text)
    if result.status == "refused":
        check_refusal(result.error, result.line, text)


def check_refusal(message: str, line: int | None, text: str) -> None:
    assert line is not None, (message, text)
    assert 1 <= line <= text.count("\n") + 1, (message, text)
    assert message.startswith(f"line {line}: "), (message, text)
    assert "`" in message or "sandbox" in message, (message, text)
