"""Running the code that a reply asks to have run, and what each outcome is worth to a model.

From a code result to text the functions are pure; the run itself is the sandbox's work, behind
the method's `Run`. Two wordings
exist: ours says what happened and what to change; `published` is the four texts of the published
runs (Suzgun & Kalai 2024, published code), which replay needs to the byte.
"""

from __future__ import annotations

from typing import Literal

from meta_tui.chat import CodeResult, Limits, Program
from meta_tui.protocol import requested_code
from meta_tui.run import Run

Wording = Literal["ours", "published"]

SHOWN = 10_000
"""Characters of output that the Meta Model is shown; the log keeps more."""

CODE_LINE = "Here is the Python code used to solve the problem:"
OUTPUT_LINE = "Here is the output of the code when executed:"
ERROR_LEAD = "Error in execution: "
NO_OUTPUT = (
    "(No output was generated. It is possible that you did not include a print statement in your code.)"
)
TOO_LONG = "Execution took too long, aborting..."

NO_CODE = (
    "\n\n[No code was run: the request to run it was there, but no fenced code block stood before it. "
    "Ask for one complete program in a fenced block, followed by the request.]"
)


async def run_requested(
    run: Run, reply: str, run_request: str, seconds: float, wording: Wording = "ours"
) -> str | None:
    """Run the last code block before the run request; the text to put behind the reply.

    None if the reply does not ask for a run.
    """
    code = requested_code(reply, run_request)
    if not code:
        return None if code is None else NO_CODE
    return report(code, await run.execute(Program(code, limits=Limits(seconds=seconds))), wording)


def report(code: str, result: CodeResult, wording: Wording) -> str:
    """What is put behind Expert Python's reply after its code ran."""
    if wording == "published":
        return f"{CODE_LINE}\n\n{code}\n\n{OUTPUT_LINE}\n\n{_published(result)}"
    return f"\n\n[The code that was run]\n```python\n{code}\n```\n{outcome(result)}"


def outcome(result: CodeResult) -> str:
    """How a program ended and what it printed, without its code."""
    return f"[{_headline(result)}]\n{_shown(result)}".rstrip()


def _published(result: CodeResult) -> str:
    if result.status == "timeout":
        return TOO_LONG
    return result.stdout.strip() or (ERROR_LEAD + result.error.strip() if result.error else NO_OUTPUT)


def published_result(text: str) -> CodeResult:
    """The result that the published wording stood for (the inverse of `report`)."""
    if text == TOO_LONG:
        return CodeResult("timeout")
    if text == NO_OUTPUT:
        return CodeResult("ok")
    if text.startswith(ERROR_LEAD):
        return CodeResult("error", error=text.removeprefix(ERROR_LEAD))
    return CodeResult("ok", stdout=text)


def _headline(result: CodeResult) -> str:
    match result.status:
        case "ok" | "exit" if result.stdout.strip():
            return "It printed this"
        case "ok" | "exit":
            return "It ran to its end and printed nothing. Only printed output can be seen: use print()"
        case "error":
            return "It stopped with an error; correct the code and run it again"
        case "syntax":
            return "It is no valid Python and did not run; correct the syntax"
        case "refused":
            return "It was not run, because it uses something that is not allowed here; do without that"
        case "timeout":
            return "It was stopped at the time limit; use a faster method or a smaller search"
        case "memory":
            return "It was stopped because it used too much memory; keep less of it at once"
        case "crash":
            return "The interpreter crashed while running it; simplify the code"


def _shown(result: CodeResult) -> str:
    parts = [part for part in (_cut(result.stdout.rstrip()), _cut(result.error.rstrip())) if part]
    return "\n".join(parts)


def _cut(text: str) -> str:
    if len(text) <= SHOWN:
        return text
    return f"{text[:SHOWN]}\n[... {len(text) - SHOWN:,} more characters were printed and are left out]"
