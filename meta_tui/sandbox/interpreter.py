"""The builtins of a program, and what it does with texts and namespaces.

Most builtins are Python's own. Replaced are those that compile text, look into namespaces or reach
outside; each keeps the signature and the errors that programs expect. The namespaces that programs
run in are never handed out: they hold the guards.
"""

from __future__ import annotations

import builtins
import re
import sys
import types
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, Final, NoReturn

from meta_tui.sandbox import building, guards, patterns, policy
from meta_tui.sandbox.modules import Library
from meta_tui.sandbox.namespaces import Names, namespace_of
from meta_tui.sandbox.ownership import (
    KNOWN,
    PROGRAM,
    PURE,
    TABLES,
    Refused,
    RefusedAction,
    exact,
    is_hidden,
    is_own_space,
    own_frame,
)
from meta_tui.sandbox.standins import MEMORY, TYPE

PLAIN: Final = (
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float "
    "format frozenset hash hex id input int isinstance issubclass iter len list map max min next object oct ord pow "
    "print property range repr reversed round set slice sorted staticmethod str sum super tuple zip Ellipsis False "
    "None NotImplemented True"
).split()
"""Builtins that are Python's own; exceptions too are."""

needs_policy: Final = re.compile(r"[_\\#]|\.\s*[A-Za-z]|async|await|[^\x00-\x7f]").search
"""An expression without any of this reads no attribute and names nothing of Python's own, so that the
policy would not change it; Game of 24 tries thousands of those."""

STRING: Final = "<string>"
CODES: Final = 4096
"""Compiled texts that are kept."""


class RefusedCode(Refused, SyntaxError):
    """A text given to eval or exec that the policy refuses."""


class Code:
    """What `compile` hands out: it can be run, not looked into."""

    __slots__ = ("_code", "_mode")

    def __init__(self, code: CodeType, mode: str) -> None:
        self._code = code
        self._mode = mode

    def __repr__(self) -> str:
        return f"<code object {self._mode}>"


class DefaultBuiltins(dict[str, Any]):
    """What stands under `__builtins__` in a namespace that eval or exec was given."""


class Globals(Names):
    """What `globals()` hands out."""

    __slots__ = ()


KNOWN.update((Code, Globals))


class Interpreter:
    """eval, exec, compile and the namespaces of one program."""

    def __init__(self, filename: str, library: Library) -> None:
        self.filenames = {filename, STRING}
        self.builtins = library.builtins = self._table(library)
        self.space: dict[str, Any] = self.new_space()
        TABLES[id(self.builtins)] = self.builtins
        self._bare: dict[str, Any] = {}
        self._copies: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._codes: dict[tuple[str, str, str], CodeType] = {}

    def new_space(self) -> dict[str, Any]:
        """An empty global namespace."""
        return {"__name__": PROGRAM, "__doc__": None, "__builtins__": self.builtins}

    def _table(self, library: Library) -> dict[str, Any]:
        return {
            **{name: getattr(builtins, name) for name in PLAIN},
            **{
                k: v
                for k, v in vars(builtins).items()
                if isinstance(v, type) and issubclass(v, BaseException)
            },
            policy.GET: guards.get,
            policy.LOOK: guards.look,
            policy.STORE: guards.store,
            policy.ALTER: guards.alter,
            policy.PATTERN: patterns.Late,
            policy.UPDATE: guards.update,
            policy.TYPE: type,
            policy.PURE: PURE,
            policy.NAMES: guards.keywords,
            policy.BODY: building.close_body,
            **{f"{policy.ASKED}{name}": wrap for name, wrap in building.ASKED_WRAPPERS.items()},
            "__build_class__": building.build_class,
            "__debug__": True,
            "__import__": library.bring,
            "compile": self.compile,
            "delattr": guards.delete_attribute,
            "dir": self.dir,
            "eval": self.eval,
            "exec": self.exec,
            "exit": leave,
            "getattr": guards.get_attribute,
            "globals": self.globals,
            "hasattr": guards.has_attribute,
            "locals": self.locals,
            "memoryview": MEMORY,
            "open": refuse_open,
            "quit": leave,
            "setattr": guards.set_attribute,
            "type": TYPE,
            "vars": self.vars,
        }

    # Compiling

    def code(self, source: Any, mode: str, filename: str = STRING) -> CodeType:
        """Compile a text that the program made.

        Raises:
            RefusedCode: the policy refuses it.
        """
        if type(source) is Code and type(source._code) is CodeType:
            return source._code
        if isinstance(source, (bytes, bytearray)):
            source = bytes(source).decode("utf-8")
        if not isinstance(source, str):
            raise TypeError(f"{mode}() arg 1 must be a string, bytes or code object")
        text = str.__str__(source)
        key = (text, mode, filename)
        if key not in self._codes:
            if len(self._codes) >= CODES:
                self._codes.clear()
            self._codes[key] = self._translate(text, mode, filename)
        return self._codes[key]

    def _translate(self, text: str, mode: str, filename: str) -> CodeType:
        if mode == "eval":
            text = text.lstrip(" \t")
            if not needs_policy(text):
                code: CodeType = builtins.compile(text, filename, mode, dont_inherit=True)
                return code
        try:
            return policy.translate(text, filename, mode)
        except policy.Refusal as refusal:
            raise RefusedCode(str(refusal)) from None

    def compile(self, source: Any, filename: Any = STRING, mode: str = "exec", *_: Any, **__: Any) -> Code:
        """The builtin `compile`, for text."""
        if mode not in ("eval", "exec"):
            raise RefusedAction("the sandbox compiles in the modes 'exec' and 'eval' only")
        name = exact(filename) if isinstance(filename, str) else STRING
        name = f"<{name.strip('<>')}>"
        self.filenames.add(name)
        return Code(self.code(source, mode, name), mode)

    # Running

    def eval(self, source: Any, /, globals: Any = None, locals: Any = None) -> Any:
        """The builtin `eval`."""
        return self._run(builtins.eval, self.code(source, "eval"), globals, locals)

    def exec(self, source: Any, /, globals: Any = None, locals: Any = None) -> None:
        """The builtin `exec`."""
        self._run(builtins.exec, self.code(source, "exec"), globals, locals)

    def _run(self, run: Callable[..., Any], code: CodeType, given: Any, local: Any) -> Any:
        if given is None and local is None:
            return self._run_here(run, code)
        if type(given) is Globals:
            return self._run_with(run, code, given._target, None if type(local) is Globals else local)
        if given is None:
            return self._run_with(run, code, self.caller().f_globals, local)
        if not isinstance(given, dict):
            raise TypeError(f"{run.__name__}() globals must be a dict, not {type(given).__name__}")
        space = self._copy_in(given)
        try:
            return self._run_with(run, code, space, local)
        finally:
            self._copy_out(space, given)

    def _run_here(self, run: Callable[..., Any], code: CodeType) -> Any:
        frame = self.caller()
        names = frame.f_locals
        if names is frame.f_globals:
            return run(code, self._sealed(frame.f_globals))
        # A dictionary is a copy of a function's variables, or the real namespace of a class body.
        return run(code, self._sealed(frame.f_globals), names if type(names) is dict else dict(names))

    def _run_with(self, run: Callable[..., Any], code: CodeType, space: dict[str, Any], local: Any) -> Any:
        if local is None:
            return run(code, self._sealed(space))
        names = visible(local)
        try:
            return run(code, self._sealed(space), names)
        finally:
            for name, value in names.items():
                if name[:1] != "@":
                    local[name] = value

    def _sealed(self, space: dict[str, Any]) -> dict[str, Any]:
        if not is_own_space(space):
            raise RefusedAction("this namespace cannot be run in")
        return space

    def _copy_in(self, given: dict[Any, Any]) -> dict[str, Any]:
        known, space = self._copies.get(id(given), (None, {}))
        if known is not given:
            space = self.new_space()
            self._copies[id(given)] = (given, space)
        for name in visible(space).keys() - given.keys():
            del space[name]
        space.update(visible(given))
        space["__builtins__"] = self._builtins_for(given)
        return space

    def _builtins_for(self, given: dict[Any, Any]) -> dict[str, Any]:
        asked = dict.get(given, "__builtins__", self.builtins)
        if asked is self.builtins or isinstance(asked, DefaultBuiltins):
            return self.builtins
        names = vars(asked) if isinstance(asked, types.ModuleType) else asked
        chosen = visible(names) if isinstance(names, Mapping) else {}
        if not chosen and self._bare:
            return self._bare
        table = {name: value for name, value in self.builtins.items() if name[0] in "@_"} | chosen
        TABLES[id(table)] = table
        if not chosen:
            self._bare = table
        return table

    def _copy_out(self, space: dict[str, Any], given: dict[Any, Any]) -> None:
        result = visible(space)
        for name in visible(given).keys() - result.keys():
            dict.__delitem__(given, name)
        dict.update(given, result)
        dict.setdefault(given, "__builtins__", DefaultBuiltins())

    def caller(self) -> FrameType:
        """The nearest frame that runs the program's own code."""
        return own_frame(sys._getframe(2))

    # Namespaces

    def globals(self) -> Globals:
        """The builtin `globals`: a copy whose changes are written through."""
        view = Globals(self.caller().f_globals)
        dict.update(view, __name__=PROGRAM, __doc__=None)
        return view

    def locals(self) -> dict[str, Any]:
        """The builtin `locals`: a copy."""
        frame = self.caller()
        return self.globals() if frame.f_locals is frame.f_globals else visible(frame.f_locals)

    def vars(self, *owner: Any) -> Any:
        """The builtin `vars`."""
        if not owner:
            return self.locals()
        try:
            return namespace_of(*owner)
        except AttributeError as error:
            if isinstance(error, Refused):
                raise
            raise TypeError("vars() argument must have __dict__ attribute") from None

    def dir(self, *owner: Any) -> list[str]:
        """The builtin `dir`, without what cannot be read."""
        if not owner:
            return sorted(self.locals())
        return [
            name for name in builtins.dir(*owner) if not policy.is_special(name) or name in policy.ATTRIBUTES
        ]


def visible(names: Mapping[Any, Any]) -> dict[str, Any]:
    """The names of a namespace that a program may hold: plain text, nothing of Python or the guards."""
    return {name: value for name, value in dict(names).items() if not is_hidden(name) or name in SAFE}


SAFE: Final = (policy.METHODS - policy.ASKED_FOR_NAMES) | {"__slots__", "__doc__", "__all__", "__version__"}


def leave(code: Any = None) -> NoReturn:
    """`exit` and `quit`."""
    raise SystemExit(code)


def refuse_open(*_: Any, **__: Any) -> NoReturn:
    """`open`."""
    raise RefusedAction("the sandbox has no files; keep data in variables or io.StringIO")
