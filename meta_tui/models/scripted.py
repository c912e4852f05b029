"""A model that says what a script says: for tests, demonstrations and cassettes made by hand.

It is shipped because other people's tests need it as much as ours. It is not a mock of a
provider: nothing of HTTP, streaming protocols or providers is imitated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from meta_tui.chat import CodeResult, Program, Reply
from meta_tui.errors import CallFailed, UsageError
from meta_tui.events import FailureKind, How
from meta_tui.models.base import Answer, Attempt, Call, Tell

Line = str | Reply | Attempt | CallFailed
WRITTEN = How("written")


class ScriptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of a script file: a reply's text, or the kind of a failure.

    `name` limits the line to the expert (or other span) of that name.
    """

    text: str = ""
    fail: FailureKind | None = None
    name: str = ""


class ScriptedModel:
    """Answers calls from a script.

    Args:
        script: replies in the order in which they are asked for, or a function from the call to
            its reply. A `CallFailed` in it is raised; an `Attempt` is told, and the same call gets
            the next line (a function is asked again).
        piece: characters of a piece that is told while the reply "comes"; 0 tells nothing.
        how: what the run log says about where replies came from; None says nothing.

    Raises:
        CallFailed: (on a call) the script has no line left.
    """

    def __init__(
        self,
        script: Iterable[Line] | Callable[[Call], Line],
        *,
        piece: int = 0,
        how: How | None = WRITTEN,
    ) -> None:
        self._next = script if callable(script) else _in_order(list(script))
        self._piece = piece
        self._how = how
        self.calls: list[Call] = []

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The next reply of the script."""
        self.calls.append(call)
        line, how = self._next(call), self._how
        while isinstance(line, Attempt):
            tell(line)
            how = how and msgspec.structs.replace(how, attempts=line.attempt + 1)
            line = self._next(call)
        if isinstance(line, CallFailed):
            raise line
        reply = line if isinstance(line, Reply) else Reply(line)
        for start in range(0, len(reply.text), self._piece) if self._piece else ():
            tell(reply.text[start : start + self._piece])
        return Answer(reply, how)


class ScriptedCode:
    """Gives back results of code in the order in which programs are run."""

    def __init__(self, results: Iterable[CodeResult], how: How | None = WRITTEN) -> None:
        self._results = iter(results)
        self._how = how

    async def execute(self, program: Program) -> tuple[CodeResult, How | None]:
        """The next result."""
        result = next(self._results, None)
        if result is None:
            raise CallFailed("unknown", "the script has no result left for this program")
        return result, self._how


def read_script(path: Path) -> ScriptedModel:
    """A scripted model from a file of JSON lines, each {"text": ...} or {"fail": kind}.

    Raises:
        UsageError: no such file, or a line that is not such an object.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the script {path}: {error}") from error
    script = [_script_line(path, n, line) for n, line in enumerate(lines, 1) if line.strip()]
    return ScriptedModel(_by_name(script), piece=12)


def _script_line(path: Path, number: int, line: str) -> ScriptLine:
    try:
        return msgspec.json.decode(line, type=ScriptLine)
    except msgspec.DecodeError as error:
        raise UsageError(
            f'{path}, line {number}: {error}. A script line is {{"text": "..."}} or {{"fail": "timeout"}}'
        ) from error


def _by_name(script: list[ScriptLine]) -> Callable[[Call], Line]:
    left = list(script)

    def next_line(call: Call) -> Line:
        for index, line in enumerate(left):
            if line.name in ("", call.name):
                del left[index]
                return CallFailed(line.fail, "as the script says") if line.fail else line.text
        raise CallFailed("unknown", f"the script has no line left for {call.name or 'the Meta Model'}")

    return next_line


def _in_order(script: list[Line]) -> Callable[[Call], Line]:
    lines = iter(script)

    def next_line(call: Call) -> Line:
        for line in lines:
            return line
        raise CallFailed("unknown", f"the script has no line left for {call.name or 'the Meta Model'}")

    return next_line
