"""Reading a Meta Model's reply: who is called with what, what the final answer is, which code.

Pure functions from text to values. Nothing here calls a model, and no prompt text is worded here
(that is `methods/prompts`). Two readers exist: `compat` follows the published loop to the byte
(Suzgun & Kalai 2024, published code), `lenient` is what live runs use. Both are linear in the
length of the reply.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MARKER = ">> FINAL ANSWER:"
QUOTES = '"""'
PYTHON = "Expert Python"

ParserName = Literal["compat", "lenient"]


@dataclass(frozen=True, slots=True)
class ExpertCall:
    """One consultation: the name as it is sent, the instruction inside the quotes, and whether
    this is Expert Python (lenient: a remark in parentheses does not make it another expert)."""

    name: str
    instruction: str
    is_python: bool = False


@dataclass(frozen=True, slots=True)
class ExpertCalls:
    """The reply consults experts. `calls` may be empty: a name was there, a block was not."""

    calls: tuple[ExpertCall, ...]


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The reply ends the dialogue with this answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """The reply neither calls an expert nor answers."""

    reason: str


Reading = ExpertCalls | FinalAnswer | Malformed

# Linear form of the published `Expert ((?:\w+ ?){1,5}):\n`, which is exponential as written.
_COMPAT_CALL = re.compile(r"Expert (\w+(?: \w+){0,4} ?):\n")
_REMARK = re.compile(r"\s*\([^()\n]{0,80}\)")
_LENIENT_NAME = re.compile(
    r"(?:^|[\s*_#>`])(Expert[ \t]+[^\s\"*_`#:][^\n\"*`#:]{0,79}?)[*_`]{0,3}[ \t]*:[*_`]{0,3}[ \t]*$"
)
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n", re.MULTILINE)


def read(reply: str, parser: ParserName = "lenient", *, first_only: bool = False) -> Reading:
    """What a Meta Model reply asks for; a call wins over an answer in the same reply.

    Args:
        reply: the whole text of the reply.
        parser: `compat` or `lenient`.
        first_only: keep only the first of several calls.
    """
    calls = _compat_calls(reply) if parser == "compat" else _lenient_calls(reply)
    if calls is not None:
        return ExpertCalls(calls[:1] if first_only else calls)
    answer = final_answer(reply)
    if answer is not None:
        return FinalAnswer(answer)
    return Malformed("neither an expert call nor a final answer")


def final_answer(reply: str) -> str | None:
    """The text after the last marker, up to the closing triple quotes; None without a marker.

    Unclosed quotes run to the end; without quotes it is the rest of the line, or of the next
    paragraph where the marker ends its line.
    """
    _, marker, rest = reply.rpartition(MARKER)
    if not marker:
        return None
    lead = rest.lstrip()
    if lead.startswith(QUOTES):
        return _closed(lead[len(QUOTES) :]).strip()
    line, _, paragraph = rest.partition("\n")
    if line.strip():
        return line.strip()
    return paragraph.lstrip("\n").partition("\n\n")[0].strip()


def _closed(text: str) -> str:
    """The text up to the closing quotes; of a longer run of quotes the last three close."""
    end = text.find(QUOTES)
    while end >= 0 and text.startswith('"', end + len(QUOTES)):
        end += 1
    return text if end < 0 else text[:end]


NO_SOLUTION = (
    "there is no",
    "there may be no",
    "it is not possible",
    "it is impossible",
    "no solution",
    "no valid solution",
    "not possible",
    "i apologize",
)
"""How a final answer begins that states that there is none, as the published runs are counted."""


def states_no_solution(answer: str) -> bool:
    """Whether a final answer says that no solution exists or was found."""
    return answer.strip().lower().startswith(NO_SOLUTION)


_EARLIER = (
    "answer|approach|attempt|calculation|candidate|code|conversation|discussion|expert|experts|findings|"
    "instruction|message|output|outputs|question|reasoning|reply|replies|response|responses|result|results|"
    "round|rounds|solution|solutions|work"
)
_NO_THRESHOLD = r"(?![\s-]+(?:\d|average|age|all\b|an?\b|the\b|zero|ground|sea|pH\b))"
"""What does not follow an "above" that points back: "numbers above 5", "a text above the door"."""
_REFERS = re.compile(
    r"\b(?:(?:as|like|see|seen|mentioned|described|stated|shown|listed|given|discussed|provided|found)"
    rf"\s+(?:above{_NO_THRESHOLD}|earlier|previously)"
    r"|the\s+above(?![\s-]+(?:average|normal|freezing|zero|ground|board)\b)"
    rf"(?:\s+(?:\w+\s+)?(?:{_EARLIER}|information|list|problem|text|words|numbers|code))?"
    rf"|(?:the|your|our|their|my|this|that|any)\s+(?:previous|preceding|earlier|prior)\s+(?:\w+\s+)?(?:{_EARLIER})"
    rf"|(?:{_EARLIER}|information|list|problem|text|words|numbers)\s+(?:from\s+)?above{_NO_THRESHOLD}"
    r"|(?:the\s+)?aforementioned|previously\s+(?:mentioned|discussed|given|found|stated|computed))\b",
    re.IGNORECASE,
)


def refers_back(instruction: str) -> str | None:
    """The words with which an instruction points at what its expert cannot see; None without any.

    English only, and words alone: it cannot tell whether what is pointed at stands in the
    instruction itself, so it is a reason to remark, never to refuse.
    """
    found = _REFERS.search(instruction)
    return " ".join(found.group().split()) if found else None


def _compat_calls(reply: str) -> tuple[ExpertCall, ...] | None:
    if not _COMPAT_CALL.search(reply):
        return None
    parts = reply.split(QUOTES)
    calls = []
    for before, instruction in zip(parts[::2], parts[1::2], strict=False):
        name = before.strip().rpartition("\n")[2]
        if "Expert " in name:
            name = name.removesuffix(":")
            calls.append(ExpertCall(name, instruction.strip(), name == PYTHON))
    return tuple(calls)


def _lenient_calls(reply: str) -> tuple[ExpertCall, ...] | None:
    parts = reply.split(QUOTES)
    calls = []
    for before, instruction in zip(parts[::2], parts[1::2], strict=False):
        name = _lenient_name(before)
        if name and instruction.strip():
            is_python = _REMARK.sub("", name).strip() == PYTHON
            calls.append(ExpertCall(name, instruction.strip(), is_python))
    return tuple(calls) or None


def _lenient_name(before: str) -> str | None:
    line = before.rstrip().rpartition("\n")[2][-200:]
    found = _LENIENT_NAME.search(line)
    return " ".join(found.group(1).split()) if found else None


def code_blocks(text: str) -> list[str]:
    """The bodies of the fenced blocks of a text, in order; an unclosed last fence counts."""
    blocks = []
    position = 0
    while found := _FENCE.search(text, position):
        end = text.find("```", found.end())
        blocks.append(text[found.end() : end if end >= 0 else len(text)])
        position = end + 3 if end >= 0 else len(text)
    return blocks


def requested_code(reply: str, run_request: str) -> str | None:
    """The code that an Expert Python reply wants run: None if it does not ask, "" if it asks
    and shows no code, else the last fenced block before the first run request."""
    if not run_request or run_request not in reply:
        return None
    before = reply[: reply.index(run_request)]
    blocks = code_blocks(before)
    return blocks[-1].strip() if blocks else ""
