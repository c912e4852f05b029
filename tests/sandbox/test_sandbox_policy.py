"""The language policy: what it refuses with which words, and that it changes nothing else."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from sandbox_programs import run_one

from meta_tui.sandbox import policy
from meta_tui.sandbox.policy import FIELDS, Policy, Refusal, translate

BINDINGS = {
    "assignment": "{} = 1",
    "unpacking": "a, *{} = 1, 2",
    "annotation": "{}: int = 1",
    "augmented": "{} += 1",
    "walrus": "({} := 1)",
    "for": "for {} in []: pass",
    "comprehension": "[0 for {} in []]",
    "with": "with a as {}: pass",
    "except": "try: pass\nexcept E as {}: pass",
    "import": "import math as {}",
    "from import": "from math import pi as {}",
    "function": "def {}(): pass",
    "class": "class {}: pass",
    "parameter": "def f({}): pass",
    "positional-only parameter": "def f({}, /): pass",
    "keyword-only parameter": "def f(*, {}): pass",
    "star parameter": "def f(*{}): pass",
    "double star parameter": "def f(**{}): pass",
    "lambda parameter": "lambda {}: 1",
    "capture": "match 1:\n case {}: pass",
    "capture by as": "match 1:\n case 1 as {}: pass",
    "starred capture": "match 1:\n case [*{}]: pass",
    "rest of a mapping": "match 1:\n case {{**{}}}: pass",
    "global": "global {}",
    "nonlocal": "def f():\n def g():\n  nonlocal {}",
    "del": "del {}",
    "keyword argument": "f({}=1)",
}
"""Every construct of Python 3.11 that gives a name to something."""


@pytest.mark.parametrize("name", ["__builtins__", "__import__", "__build_class__", "__class__"])
@pytest.mark.parametrize("code", BINDINGS.values(), ids=BINDINGS.keys())
def test_no_construct_binds_a_name_of_pythons_own(code: str, name: str) -> None:
    with pytest.raises(Refusal, match=f"`{name}`"):
        translate(code.format(name), "p")


@pytest.mark.parametrize("code", BINDINGS.values(), ids=BINDINGS.keys())
def test_no_construct_binds_a_name_like_a_guards(code: str) -> None:
    with pytest.raises(Refusal, match="`_getattr_`"):
        translate(code.format("_getattr_"), "p")


ORDINARY = [
    (code, name)
    for kind, code in BINDINGS.items()
    for name in ("_", "__", "_x", "__x", "x_", "_x1", "x")
    if kind not in ("nonlocal", "global") and not ("match" in code and name == "_")  # a pattern's wildcard
]


@pytest.mark.parametrize(("code", "name"), ORDINARY)
def test_ordinary_names_may_be_bound_by_every_construct(code: str, name: str) -> None:
    translate(code.format(name), "p")


def test_the_name_of_a_guard_cannot_be_written_in_python() -> None:
    for guard in (
        policy.GET,
        policy.LOOK,
        policy.STORE,
        policy.ALTER,
        policy.PATTERN,
        policy.UPDATE,
        policy.PURE,
    ):
        assert not guard.isidentifier()
        with pytest.raises(SyntaxError):
            ast.parse(f"{guard} = 1")


def test_a_look_alike_name_is_checked_as_python_reads_it() -> None:
    """Python turns full-width letters into plain ones before there is a tree."""
    with pytest.raises(Refusal, match="`__globals__`"):
        translate("f.__ｇlobals__", "p")


def test_a_node_that_the_policy_does_not_know_is_refused_with_its_name_and_line() -> None:
    class Hologram(ast.stmt):
        _fields = ()

    tree = ast.parse("x = 1\n")
    tree.body.append(ast.copy_location(Hologram(), tree.body[0]))
    with pytest.raises(Refusal, match=r"line 1: .*`Hologram`"):
        policy.translate_tree(tree, "p", "exec")


def test_a_field_that_the_policy_does_not_know_is_refused_with_its_name_and_line() -> None:
    class Import(ast.Import):
        _fields = ("names", "lazily")

    tree = ast.parse("import math")
    statement = Import(names=tree.body[0].names, lazily=1)  # type: ignore[attr-defined]
    tree.body[0] = ast.copy_location(statement, tree.body[0])
    with pytest.raises(Refusal, match=r"line 1: .*`lazily` of `Import`"):
        policy.translate_tree(tree, "p", "exec")


def test_every_node_with_a_name_in_it_has_its_fields_listed() -> None:
    """A string field is a name, a flag or a text: each is looked at on purpose."""
    for name, node in vars(ast).items():
        types: dict[str, Any] = getattr(node, "_field_types", {}) if isinstance(node, type) else {}
        if any("str" in str(kind) for kind in types.values()):
            assert FIELDS.get(name) is not None, name
            assert set(node._fields) <= FIELDS[name] | {"type_ignores"}, name


@pytest.mark.parametrize(
    "name", ["f_globals", "gi_frame", "tb_frame", "cr_frame", "ag_frame", "co_code", "gi_code"]
)
def test_frames_and_code_are_never_read_nor_matched(name: str) -> None:
    for code in (
        f"x.{name}",
        f"x.{name} = 1",
        f"x.{name} += 1",
        f"del x.{name}",
        f"match x:\n case A({name}=y): pass",
    ):
        with pytest.raises(Refusal, match=f"`{name}`"):
            translate(code, "p")


def test_the_first_refusal_of_several_is_told() -> None:
    with pytest.raises(Refusal) as raised:
        translate("x = 1\nx.__globals__\nasync def f(): pass", "p")
    assert raised.value.line == 2


def test_annotations_are_evaluated_as_python_does() -> None:
    """A program that names something unknown in an annotation fails here as it does in Python."""
    assert run_one("x: Unknown = 1").error.endswith("NameError: name 'Unknown' is not defined")
    assert run_one("from __future__ import annotations\nx: Unknown = 1\nprint(x)").stdout == "1\n"


def test_a_method_asks_once_for_its_first_parameter() -> None:
    tree = Policy().visit(ast.parse("class A:\n def f(self):\n  self.x = self.y + self.z\n"))
    text = ast.unparse(tree)
    assert text.count("@type(self) in @pure") == 1
    assert text.count("if @self else") == 3


def test_a_method_whose_first_parameter_is_bound_again_asks_each_time() -> None:
    for line in (
        "self = other",
        "for self in x: pass",
        "del self",
        "nonlocal self",
        "def self(): pass",
        "import self",
    ):
        tree = Policy().visit(ast.parse(f"class A:\n def f(self):\n  {line}\n  self.x\n"))
        assert "@self" not in ast.unparse(tree), line


def test_the_order_of_evaluation_is_pythons() -> None:
    code = """
log = []
class A:
    def __init__(self, name): object.__setattr__(self, "name", name)
    def __getattr__(self, n): log.append(f"get {n}"); return 1
    def __setattr__(self, n, v): log.append(f"set {n}"); super().__setattr__("held", v)
def o(name): log.append(name); return A(name)
def v(name): log.append(name); return 2
o("a").x = v("b")
o("c").y += v("d")
o("e").p, o("f").q = v("g"), v("h")
print(*log)
"""
    assert run_one(code).stdout == "b a set x c get y d set y g h e set p f set q\n"


def test_numpy_without_a_seed_gives_the_same_numbers_every_time() -> None:
    pytest.importorskip("numpy")
    code = (
        "import numpy as np\n"
        "r = np.random\n"
        "r.seed()\n"
        "made = [r.RandomState(), r.Generator(r.PCG64()), r.Generator(r.Philox()), r.default_rng()]\n"
        "print(r.rand(), [m.normal() for m in made], r.SeedSequence().entropy)\n"
        "print(isinstance(made[0], r.RandomState), r.RandomState(5).randint(99), r.MT19937(seed=3).random_raw())"
    )
    first, second = run_one(code), run_one(code)
    assert first.status == "ok", first.error
    assert first == second


def test_a_plain_structure_is_the_programs_whatever_its_names_are_read_through() -> None:
    """`sys.implementation` and the like are copies, so a change stays in the program."""
    result = run_one("import sys\nsys.implementation.name = 'mine'\nprint(sys.implementation.name)")
    assert result.stdout == "mine\n"


@pytest.mark.parametrize("name", ["__x__", "__class__", "@get"])
def test_a_name_of_pythons_own_is_no_keyword_at_run_time_either(name: str) -> None:
    result = run_one(f"def f(**names): print(names)\nf(**{{{name!r}: 1}})")
    assert (result.status, result.line, result.stdout) == ("refused", 2, "")
    assert name in result.error
