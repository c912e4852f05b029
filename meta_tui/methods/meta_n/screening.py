"""What of a written layer is taken: read first, then each helper defined alone in the sandbox.

Reading is a courtesy that gives clear reasons; the sandbox is the boundary. A part that is not
taken is kept with its reason, and the rest of the layer stays.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Final

from meta_tui.chat import Limits, Program
from meta_tui.methods.meta_n.layers import Written, helper, indented, parsed, staged, with_newlines
from meta_tui.methods.meta_n.records import LIBRARY, PRE_PROCESS, HelperKept, ScreenedOut, Stage
from meta_tui.run import Run

LONGEST: Final = 10_000
"""Characters of one block."""
KEPT_SOURCE: Final = 2_000
MOST_HELPERS: Final = 20
"""Helpers of one layer."""
SMOKE_SECONDS: Final = 5.0
SMOKE = "smoke_result"

MODULES: Final = frozenset(
    # system, process
    "os sys subprocess multiprocessing signal shutil platform sysconfig resource pty fcntl ctypes cffi posix nt "
    # network
    "socket ssl http urllib requests ftplib smtplib imaplib poplib telnetlib socketserver xmlrpc select selectors "
    # files
    "io pathlib glob tempfile fileinput mmap zipfile tarfile gzip bz2 lzma linecache "
    # threads
    "threading _thread concurrent asyncio queue sched "
    # introspection
    "inspect importlib imp pkgutil runpy gc types traceback dis ast code codeop builtins weakref symtable tracemalloc "
    # serialisation
    "pickle cPickle marshal shelve dill joblib dbm sqlite3 copyreg".split()
)
"""Modules that no layer imports."""

NAMES: Final = frozenset(
    "open eval exec compile __import__ setattr delattr globals locals vars input breakpoint".split()
)
"""Built-in functions that no layer mentions."""

ATTRIBUTES: Final = frozenset(
    "__class__ __bases__ __base__ __mro__ __subclasses__ __globals__ __code__ __closure__ __dict__ __builtins__ "
    "__import__ __loader__ __spec__ __self__ __func__ __getattribute__ __getattr__ __setattr__ __delattr__ "
    "__reduce__ __reduce_ex__ __init_subclass__ __wrapped__ __traceback__ __module__ __annotations__ __defaults__ "
    "__kwdefaults__ mro gi_frame gi_code cr_frame ag_frame f_globals f_locals f_back f_builtins tb_frame "
    "func_globals".split()
)
"""Attributes that lead out of an object."""

BY_NAME: Final = frozenset({"getattr", "hasattr", "attrgetter", "methodcaller"})
"""Functions that take an attribute's name as text."""

TAKEN: Final = frozenset(dir(builtins)) | {"solve", "data", "solve_answer"}
"""Names that a helper may not have: it would change what other code means."""

TASK: Final = "task"
TASK_ID: Final = "task_id"
ASKING: Final = frozenset(
    "startswith endswith find rfind index rindex count removeprefix removesuffix partition rpartition split match "
    "fullmatch search get __contains__ __eq__ __ne__ eq ne contains indexOf countOf".split()
)
"""Methods and functions that compare a text with another."""


def refusal(source: str) -> str:
    """Why a block is not taken, by reading it; empty where nothing speaks against it."""
    if len(source) > LONGEST:
        return f"{len(source):,} characters; a block has at most {LONGEST:,}"
    try:
        tree = parsed(source)
    except SyntaxError as error:
        return f"does not parse as Python, line {error.lineno}"
    except (ValueError, RecursionError, MemoryError):
        return "does not parse as Python"
    try:
        return next((f"line {line}: {reason}" for line, reason in _offences(tree)), "")
    except RecursionError:
        return "nested too deep"


def _offences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    marks = Marks(tree)
    for node in ast.walk(tree):
        reason = _import(node) or _mention(node)
        if not reason and _compares_id(node, marks):
            reason = "branches on a literal task id; use what a task says instead"
        if reason:
            yield getattr(node, "lineno", 1), reason


def _import(node: ast.AST) -> str:
    match node:
        case ast.Import(names=names):
            tops = [alias.name.partition(".")[0] for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            if level or any(alias.name == "*" for alias in names):
                return "imports name what they import: no stars, no relative imports"
            tops = [(module or "").partition(".")[0]]
        case _:
            return ""
    bad = next((top for top in tops if top in MODULES), "")
    return f"imports {bad}, a module of the system" if bad else ""


def _mention(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) if name in NAMES or name in ATTRIBUTES:
            return f"mentions {name}"
        case ast.Attribute(attr=name) if name in ATTRIBUTES:
            return f"reaches for {name}"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in BY_NAME:
            texts = [
                one.value for one in args if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            bad = next((part for text in texts for part in text.split(".") if part in ATTRIBUTES), "")
            return f"reaches for {bad} through {name}" if bad else ""
        case ast.Global(names=names):
            return f"changes the global name {names[0]}; a layer overrides by a helper's name only"
    return ""


class Marks:
    """Which parts of a tree hold (something made of) the task's id, and which are literals: made of
    constants only, at least one of which is not None. Each part is looked at once.

    The task as a whole (its text, its items) holds its id; to take an attribute of it, to hand it to
    a function of the same code or to give it another name does not yet look at the id.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.ids: set[str] = {TASK_ID}
        self.tasks: set[str] = {TASK}
        self.literals: set[str] = set()
        self._harmless: set[int] = set(_harmless(tree))
        self._nodes = list(ast.walk(tree))[::-1]
        self._about_id: set[int] = set()
        self._other: set[int] = set()
        self._given: set[int] = set()
        assigned = list(_assignments(tree))
        known = -1
        while known != len(self.ids) + len(self.literals) + len(self.tasks):
            known = len(self.ids) + len(self.literals) + len(self.tasks)
            self._look()
            for target, value in assigned:
                if isinstance(value, ast.Name) and value.id in self.tasks and isinstance(target, ast.Name):
                    self.tasks.add(target.id)
                elif self.about_id(value):
                    self.ids |= _names(target)
                elif self.is_literal(value):
                    self.literals |= _names(target)

    def about_id(self, node: ast.AST) -> bool:
        """Whether the id stands in this part."""
        return id(node) in self._about_id

    def is_literal(self, node: ast.AST) -> bool:
        """Whether this part is made of constants, not all of them None."""
        return id(node) in self._given and id(node) not in self._other

    def _look(self) -> None:
        """All parts, those inside before those around them; marks are only ever added."""
        for node in self._nodes:
            inner = [id(child) for child in ast.iter_child_nodes(node)]
            if self._is_id(node) or not self._about_id.isdisjoint(inner):
                self._about_id.add(id(node))
            variable = isinstance(node, ast.Name)
            literal = variable and node.id in self.literals  # type: ignore[attr-defined]
            constant = isinstance(node, ast.Constant) and node.value is not None
            if constant or literal or not self._given.isdisjoint(inner):
                self._given.add(id(node))
            if (variable and not literal) or not self._other.isdisjoint(inner):
                self._other.add(id(node))
            elif id(node) in self._other:
                self._other.discard(id(node))

    def _is_id(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self.ids or (name in self.tasks and id(node) not in self._harmless)
            case ast.Attribute(attr=name):
                return name == TASK_ID
            case ast.Constant(value=text):
                return bool(text == TASK_ID)
        return False


def _assignments(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from ((target, value) for target in targets)
            case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                if value is not None:
                    yield target, value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield target, value
    yield from _handed_on(tree)


_Function = ast.FunctionDef | ast.Lambda


def _functions(tree: ast.Module) -> dict[str, _Function]:
    """The functions that code defines, by name."""
    found: dict[str, _Function] = {}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
                found[name] = value
    return found


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, _Function]]:
    """The calls of functions that the same code defines."""
    known = _functions(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in known:
                yield node, known[name]
            case ast.Call(func=ast.Lambda() as function):
                yield node, function


def _handed_on(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Parameters with what they are given, and functions with what they give back."""
    for call, function in _calls(tree):
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        yield from ((ast.Name(name), value) for name, value in zip(names, call.args, strict=False))
        yield from ((ast.Name(one.arg), one.value) for one in call.keywords if one.arg)
    for name, function in _functions(tree).items():
        if isinstance(function, ast.Lambda):
            yield ast.Name(name), function.body
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                yield ast.Name(name), node.value


def _harmless(tree: ast.Module) -> Iterator[int]:
    """Places where the task stands as a whole and nothing is made of its id."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value):
                yield id(value)
            case ast.Assign(targets=[ast.Name()], value=value):
                yield id(value)
            case ast.Call(func=ast.Name(id=name), args=[value, *_]) if name in BY_NAME:
                yield id(value)
    for call, _ in _calls(tree):
        yield from (id(value) for value in (*call.args, *(one.value for one in call.keywords)))


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _compares_id(node: ast.AST, marks: Marks) -> bool:
    match node:
        case ast.Compare(left=left, comparators=others):
            return _one_of_each([left, *others], marks)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args) if name in ASKING:
            return _one_of_each([owner, *args], marks)
        case ast.Call(func=ast.Name(id=name), args=args) if name in ASKING:
            return _one_of_each(args, marks)
        case ast.Match(subject=subject, cases=cases):
            return marks.about_id(subject) and any(_has_value(case.pattern) for case in cases)
        case ast.Subscript(value=table, slice=key):
            return marks.about_id(key) and _is_table(table, marks)
    return False


def _has_value(pattern: ast.pattern) -> bool:
    return any(isinstance(part, ast.MatchValue) for part in ast.walk(pattern))


def _is_table(table: ast.expr, marks: Marks) -> bool:
    if marks.is_literal(table):
        return True
    return isinstance(table, ast.Dict) and all(k is not None and marks.is_literal(k) for k in table.keys)


def _one_of_each(sides: list[ast.expr], marks: Marks) -> bool:
    others = [side for side in sides if not marks.about_id(side)]
    return len(others) < len(sides) and any(marks.is_literal(s) or _is_table(s, marks) for s in others)


def _out(part: str, stage: Stage, reason: str, source: str) -> ScreenedOut:
    return ScreenedOut(part=part, stage=stage, reason=reason, source=source[:KEPT_SOURCE])


async def screened(
    run: Run, layer: Written, library: bool = True
) -> tuple[str, tuple[HelperKept, ...], tuple[ScreenedOut, ...]]:
    """Pre-process code and helpers that are taken, and the parts that are not.

    Args:
        library: whether helpers are taken at all.

    Raises:
        Stopped: the run was stopped while helpers were defined in the sandbox.
    """
    pre_process, helpers, out = _read(layer, library)
    tests = ([(PRE_PROCESS, _checked(pre_process))] if pre_process else []) + [
        (f"{LIBRARY}:{one.name}", f"{staged(one)}\n{SMOKE} = callable({one.name})") for one in helpers
    ]
    if not tests:
        return pre_process, helpers, tuple(out)

    async def smoke(inner: Run, index: int) -> str:
        return await _smoke(inner, tests[index][1])

    reasons = await run.parallel("screening", [name for name, _ in tests], smoke)
    failed = {name: reason for (name, _), reason in zip(tests, reasons, strict=True) if reason}
    if PRE_PROCESS in failed:
        out.append(_out(PRE_PROCESS, "smoke", failed[PRE_PROCESS], pre_process))
        pre_process = ""
    for one in helpers:
        part = f"{LIBRARY}:{one.name}"
        if part in failed:
            out.append(_out(part, "smoke", failed[part], one.source))
    return pre_process, tuple(one for one in helpers if f"{LIBRARY}:{one.name}" not in failed), tuple(out)


def _read(layer: Written, library: bool) -> tuple[str, tuple[HelperKept, ...], list[ScreenedOut]]:
    out: list[ScreenedOut] = []
    pre_process = layer.pre_process
    if pre_process and (reason := refusal(pre_process)):
        out.append(_out(PRE_PROCESS, "static", reason, pre_process))
        pre_process = ""
    helpers: dict[str, HelperKept] = {}
    for place, (fenced, source) in enumerate(layer.helpers if library else ()):
        reason = refusal(source) if place < MOST_HELPERS else f"a layer has at most {MOST_HELPERS} helpers"
        found = None if reason else helper(fenced, source)
        if found is None or found.name in TAKEN:
            taken = "" if found is None else f"{found.name} is a name that scripts use already"
            reason = reason or taken or "defines no function"
            out.append(_out(f"{LIBRARY}:{fenced}", "static", reason, source))
        else:
            helpers[found.name] = found
    return pre_process, tuple(helpers.values()), out


def _checked(pre_process: str) -> str:
    """Pre-process code inside a function that is not called: the sandbox reads it, nothing runs."""
    head = "def read_only(task, outer_context, additional_context):\n    pass\n"
    return f"{head}{indented(with_newlines(pre_process))}\n{SMOKE} = True"


async def _smoke(run: Run, code: str) -> str:
    """Why a definition fails in the sandbox; empty where it does not."""
    result = await run.execute(Program(code, result=SMOKE, limits=Limits(seconds=SMOKE_SECONDS)))
    if result.status == "ok":
        return "" if result.value is True else "its name is not callable after the definition"
    last = result.error.strip().rpartition("\n")[2]
    return f"{result.status}: {last}" if last else result.status
