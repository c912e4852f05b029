"""Running one program inside a worker: compile, run, and say how it ended.

The result is a plain dictionary that becomes one frame. Every way to end is a status; nothing
escapes as an exception of this module. Limits are not here: the process has them.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import Any, Final

from meta_tui.sandbox import policy, repairs, science, tracebacks
from meta_tui.sandbox.interpreter import STRING, Interpreter
from meta_tui.sandbox.modules import Library
from meta_tui.sandbox.output import Buffer, Stream
from meta_tui.sandbox.ownership import Refused
from meta_tui.sandbox.substitutes import made_modules
from meta_tui.sandbox.tracebacks import line_in

FILENAME: Final = "program.py"
DEPTH: Final = 1000
COMPILE_DEPTH: Final = 10_000
ERROR_CHARS: Final = 16 * 1024
VALUE_CHARS: Final = 1 << 20

Answer = dict[str, Any]


def run(request: dict[str, Any], finish: Callable[[Answer], Any]) -> None:
    """Run the program of `request` and call `finish` once with the answer."""
    Run(request, finish).run()


class Run:
    """One program, its output and its way out."""

    def __init__(self, request: dict[str, Any], finish: Callable[[Answer], Any]) -> None:
        self.request = request
        self.code: str = request["code"]
        self.guarded = request.get("profile", "policy") == "policy"
        self.buffer = Buffer(request["output"], self._flooded)
        self._send = finish
        self.filenames = {FILENAME, STRING}
        self.below = 0

    def run(self) -> None:
        """Run it to its end, whatever that is."""
        self._set_stage()
        try:
            self._finish(self._outcome())
        except RecursionError as error:
            self._finish(self._failed("error", error))
        except MemoryError:
            self._finish(self._answer("memory", "the program used more memory than it may"))

    def _set_stage(self) -> None:
        sys.stdout = sys.stderr = Stream(self.buffer)
        sys.stdin = io.StringIO(self.request.get("stdin", ""))
        sys.unraisablehook = self._ignored
        sys.argv = [FILENAME]
        tracebacks.keep_source(FILENAME, self.code)

    def _outcome(self) -> Answer:
        self.below = _frames_below()
        try:
            space, code = self._prepared()
        except policy.Refusal as refusal:
            return self._answer("refused", str(refusal), refusal.line)
        except (SyntaxError, ValueError, OverflowError, SystemError) as error:
            return self._syntax(error)
        try:
            sys.setrecursionlimit(DEPTH + self.below)
            exec(code, space)
            return self._value(space)
        except SystemExit as leaving:
            return self._left(leaving)
        except Refused as refusal:
            line = line_in(refusal, FILENAME)
            return self._answer("refused", (f"line {line}: " if line else "") + one_line(refusal), line)
        except MemoryError as error:
            text = "the program used more memory than it may"
            return self._answer("memory", text, line_in(error, FILENAME))
        except BaseException as error:  # noqa: BLE001 - the worker boundary: any end is a result
            return self._failed("error", error)
        finally:
            self._retire(space)

    def _prepared(self) -> tuple[dict[str, Any], Any]:
        sys.setrecursionlimit(COMPILE_DEPTH)
        if not self.guarded:
            import random

            repairs.fix_seeds(random)
            space = {"__name__": "__main__", "__builtins__": __builtins__}
            return space | self._inputs(), compile(self.code, FILENAME, "exec", dont_inherit=True)
        code = policy.translate(self.code, FILENAME)
        repairs.repair()
        library = Library({**made_modules(FILENAME, self.below), **science.MAKERS}, science.sympy_part)
        interpreter = Interpreter(FILENAME, library)
        self.filenames = interpreter.filenames
        interpreter.space.update(self._inputs())
        return interpreter.space, code

    def _inputs(self) -> dict[str, Any]:
        inputs = self.request.get("inputs") or {}
        return {
            name: value for name, value in inputs.items() if not policy.is_special(name) and name[:1] != "@"
        }

    def _value(self, space: dict[str, Any]) -> Answer:
        name = self.request.get("result")
        if not name:
            return self._answer("ok")
        if name not in space:
            return self._answer("error", f"the program ended without setting `{name}`")
        try:
            text = json.dumps(space[name], allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            return self._answer("error", f"`{name}` is no JSON value: {one_line(error)}")
        if len(text) > VALUE_CHARS:
            return self._answer("error", f"`{name}` is larger than {VALUE_CHARS} characters of JSON")
        return self._answer("ok") | {"value": json.loads(text)}

    # Endings

    def _answer(self, status: str, error: str = "", line: int | None = None) -> Answer:
        return {"status": status, "error": shortened(error), "line": line}

    def _finish(self, answer: Answer) -> None:
        self._send(answer | {"stdout": self.buffer.text})

    def _syntax(self, error: Exception) -> Answer:
        line = error.lineno if isinstance(error, SyntaxError) else None
        return self._answer("syntax", tracebacks.last_lines(error), line)

    def _failed(self, status: str, error: BaseException) -> Answer:
        line = line_in(error, FILENAME)
        try:
            text = "".join(tracebacks.traceback_lines(error, self.filenames)).rstrip("\n")
        except Exception:  # noqa: BLE001 - an exception of the program may break its own traceback
            text = f"{type(error).__name__}"
        return self._answer(status, text, line)

    def _left(self, leaving: SystemExit) -> Answer:
        code = leaving.code
        text = "" if code is None or isinstance(code, int) else one_line(leaving)
        return self._answer("exit", text, line_in(leaving, FILENAME))

    def _ignored(self, trouble: Any) -> None:
        """What Python prints of an exception that nothing can catch, such as one in `__del__`."""
        lines = tracebacks.traceback_lines(trouble.exc_value, self.filenames)
        sys.stderr.write(f"Exception ignored in: {trouble.object!r}\n{''.join(lines)}")

    def _flooded(self, message: str) -> None:
        self._finish(self._answer("error", message))

    def _retire(self, space: dict[str, Any]) -> None:
        if "__del__" not in self.code:
            return
        for private in (True, False):
            for name in [name for name in space if name.startswith("_") == private and name[:2] != "__"]:
                space[name] = None
        import gc

        gc.collect()


def _frames_below() -> int:
    """How deep the caller stands: a program's own depth counts from there."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth + (sys.version_info < (3, 12))  # 3.11 counts the call of exec too


def one_line(error: BaseException) -> str:
    """What an exception says, without its class."""
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - a method of the program
        return type(error).__name__


def shortened(text: str) -> str:
    """A text cut in the middle: the first and the last lines of a traceback matter."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) <= ERROR_CHARS:
        return text
    half = ERROR_CHARS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters cut]\n{text[-half:]}"
