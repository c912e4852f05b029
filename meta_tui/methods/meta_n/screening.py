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
from meta_tui.methods.meta_n.layers import Written, helper, parsed, staged
from meta_tui.methods.meta_n.records import LIBRARY, PRE_PROCESS, HelperKept, ScreenedOut, Stage
from meta_tui.run import Run

LONGEST: Final = 10_000
"""Characters of one block."""
KEPT_SOURCE: Final = 2_000
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

TASK_ID: Final = "task_id"
ASKING: Final = frozenset(
    "startswith endswith find rfind index rindex count removeprefix removesuffix partition rpartition split match "
    "fullmatch search get __contains__ __eq__".split()
)
"""Methods that compare a text with another."""


def refusal(source: str) -> str:
    """Why a block is not taken, by reading it; empty where nothing speaks against it."""
    if len(source) > LONGEST:
        return f"{len(source):,} characters; a block has at most {LONGEST:,}"
    try:
        tree = parsed(source)
    except SyntaxError as error:
        return f"does not parse: line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"does not parse: {error or type(error).__name__}"
    try:
        return next((f"line {line}: {reason}" for line, reason in _offences(tree)), "")
    except RecursionError:
        return "nested too deep"


def _offences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    ids, literals = _tainted(tree)
    for node in ast.walk(tree):
        reason = _import(node) or _mention(node) or _branches_on_id(node, ids, literals)
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


def _tainted(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """Variables that hold (something made of) the task's id, and those that hold literals."""
    ids: set[str] = {TASK_ID}
    literals: set[str] = set()
    before = -1
    while before != len(ids) + len(literals):
        before = len(ids) + len(literals)
        for target, value in _assignments(tree):
            if _mentions_id(value, ids):
                ids |= _names(target)
            elif _is_literal(value, literals):
                literals |= _names(target)
    return frozenset(ids), frozenset(literals)


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


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _mentions_id(node: ast.AST, ids: set[str] | frozenset[str]) -> bool:
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name) if name in ids:
                return True
            case ast.Attribute(attr=name) if name == TASK_ID:
                return True
            case ast.Constant(value=text) if text == TASK_ID:
                return True
    return False


def _is_literal(node: ast.AST, literals: set[str] | frozenset[str]) -> bool:
    """Whether an expression is made of constants only, at least one of which is not None."""
    leaves = [one for one in ast.walk(node) if isinstance(one, ast.Constant | ast.Name)]
    given = [one for one in leaves if not (isinstance(one, ast.Constant) and one.value is None)]
    known = all(isinstance(one, ast.Constant) or one.id in literals for one in given)
    return bool(given) and known


def _branches_on_id(node: ast.AST, ids: frozenset[str], literals: frozenset[str]) -> str:
    if _compares_id(node, ids, literals):
        return "branches on a literal task id; use what a task says instead"
    return ""


def _compares_id(node: ast.AST, ids: frozenset[str], literals: frozenset[str]) -> bool:
    match node:
        case ast.Compare(left=left, comparators=others):
            return _one_of_each([left, *others], ids, literals)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args) if name in ASKING:
            return _one_of_each([owner, *args], ids, literals)
        case ast.Match(subject=subject, cases=cases):
            values = [p for case in cases for p in ast.walk(case.pattern) if isinstance(p, ast.MatchValue)]
            return bool(values) and _mentions_id(subject, ids)
        case ast.Subscript(value=table, slice=key):
            return _mentions_id(key, ids) and _is_literal_table(table, literals)
    return False


def _is_literal_table(table: ast.expr, literals: frozenset[str]) -> bool:
    if isinstance(table, ast.Name):
        return table.id in literals
    return isinstance(table, ast.Dict) and all(k is not None and _is_literal(k, literals) for k in table.keys)


def _one_of_each(sides: list[ast.expr], ids: frozenset[str], literals: frozenset[str]) -> bool:
    mine = [side for side in sides if _mentions_id(side, ids)]
    return bool(mine) and any(
        _is_literal(side, literals) or _is_literal_table(side, literals) for side in sides if side not in mine
    )


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
    for fenced, source in layer.helpers if library else ():
        reason = refusal(source)
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
    tree = ast.parse("def read_only(task, outer_context, additional_context):\n    pass")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = parsed(pre_process).body or function.body
    return f"{ast.unparse(ast.fix_missing_locations(tree))}\n{SMOKE} = True"


async def _smoke(run: Run, code: str) -> str:
    """Why a definition fails in the sandbox; empty where it does not."""
    result = await run.execute(Program(code, result=SMOKE, limits=Limits(seconds=SMOKE_SECONDS)))
    if result.status == "ok":
        return "" if result.value is True else "its name is not callable after the definition"
    last = result.error.strip().rpartition("\n")[2]
    return f"{result.status}: {last}" if last else result.status
