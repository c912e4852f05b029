"""What a layer is, how it is read from a reply, and how chains of layers are put together.

A layer is pre-process code, a library of helpers and a rationale (`records.LayerKept`). Reading is
pure and never raises on what a model says; nothing here decides whether a part may be used
(`screening`) and nothing is run (`solving`).
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from meta_tui.methods.meta_n.records import LIBRARY, PRE_PROCESS, HelperKept, LayerKept
from meta_tui.models.secrets import mend

Chain = tuple[LayerKept, ...]
"""From M_2 (shallow) to M_n (deep)."""

PYTHON = ("python", "py", "python3", "")
LONGEST_FENCE = 300
"""Characters of a line that may open or close a block."""
_FENCE = re.compile(r"[ \t]{0,3}(`{3,})[ \t]*([^`\n]{0,200}?)[ \t]*")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: what stands behind its opening fence, and what is inside."""

    info: str
    body: str


@dataclass(frozen=True, slots=True)
class Written:
    """A layer as a reply has it, before screening. `helpers` are (name as fenced, source)."""

    rationale: str = ""
    pre_process: str = ""
    helpers: tuple[tuple[str, str], ...] = ()


def parsed(source: str) -> ast.Module:
    """The tree of code that a model wrote; what Python would warn of is not said here.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse` does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a reply that are closed, in order."""
    found: list[Block] = []
    ticks, info, inside = "", "", list[str]()
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line.rstrip("\r")) if len(line) <= LONGEST_FENCE else None
        if not ticks:
            if fence:
                ticks, info, inside = fence[1], fence[2], []
        elif fence and not fence[2] and len(fence[1]) >= len(ticks):
            found.append(Block(info, "\n".join(inside)))
            ticks = ""
        else:
            inside.append(line)
    return found


def written(reply: str) -> Written:
    """The layer in a reply of Omega: its last rationale, its last pre-process code, every helper."""
    rationale, pre_process = "", ""
    helpers: dict[str, str] = {}
    for block in blocks(reply):
        kind, _, name = block.info.rpartition(" ")[2].partition(":")
        if not name and ":" in block.info:  # `solver_lib: pack_items`
            kind, _, name = (part.strip() for part in block.info.partition(":"))
        match kind:
            case "rationale":
                rationale = block.body.strip()
            case _ if kind == PRE_PROCESS:
                pre_process = block.body.strip("\n")
            case _ if kind == LIBRARY or block.info.startswith(f"{LIBRARY}:"):
                name = name or block.info.partition(":")[2]
                helpers[name.strip()] = block.body.strip("\n")
    blank = not pre_process.strip()
    return Written(
        rationale, "" if blank else pre_process, tuple((n, s) for n, s in helpers.items() if s.strip())
    )


def script_in(reply: str) -> str:
    """The script of a solver's reply: its last block that defines `solve`, else its last Python
    block; empty where there is none."""
    found = [block.body for block in blocks(reply) if block.info.lower() in PYTHON]
    defining = [body for body in found if re.search(r"^def solve\b", body, re.MULTILINE)]
    return (defining or found or [""])[-1].strip("\n")


def helper(fenced: str, source: str) -> HelperKept | None:
    """A helper, keyed by the function that it really defines: the one named on its fence, else the
    last of the outermost functions; None where there is none. The source must parse."""
    source = with_newlines(source)
    functions = [node for node in parsed(source).body if isinstance(node, ast.FunctionDef)]
    if not functions:
        return None
    node = next((one for one in functions if one.name == fenced), functions[-1])
    return HelperKept(
        name=node.name,
        source=source,
        signature=signature(source, node),
        doc=mend(ast.get_docstring(node) or ""),
    )


def with_newlines(source: str) -> str:
    """The source with the one kind of line end that everybody counts alike."""
    return source.replace("\r\n", "\n").replace("\r", "\n")


def signature(source: str, node: ast.FunctionDef) -> str:
    """The head of a function as it was written, without `def`, on one line and without comments."""
    pieces: list[str] = []
    depth, last = 0, (0, 0)
    for token in _tokens(source):
        if token.start < (node.lineno, node.col_offset) or token.type in _LAYOUT:
            continue
        if token.string == ":" and depth == 0 and pieces:
            break
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        pieces.append(f" {token.string}" if pieces and token.start != last else token.string)
        last = token.end
    return "".join(pieces).removeprefix("def").strip()


def staged(one: HelperKept) -> str:
    """A helper's code as it stands before a script: whatever else it defines or imports is its own,
    so that nothing but its one name can take the place of something. The text stays as it was
    written (but for its indentation), so that every version of Python makes the same program."""
    return f"def make_{one.name}():\n{indented(one.source)}\n    return {one.name}\n{one.name} = make_{one.name}()"


def in_order(helpers: Mapping[str, HelperKept]) -> list[HelperKept]:
    """Helpers as they are staged one after the other: `make_x` after `x`, whose maker has that name
    until then. Otherwise their order is kept."""
    return sorted(helpers.values(), key=lambda one: len(_MAKERS.match(one.name)[0]))  # type: ignore[index]


_MAKERS = re.compile(r"(?:make_)*")


def indented(source: str) -> str:
    """Code four columns further in; lines that begin inside a text stay as they are."""
    inside: set[int] = set()
    opened: list[int] = []
    for token in _tokens(source):
        if token.type == tokenize.STRING:
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif token.type == _FSTRING_START:
            opened.append(token.start[0])
        elif token.type == _FSTRING_END:
            inside.update(range(opened.pop() + 1, token.end[0] + 1))
    lines = enumerate(source.split("\n"), 1)
    return "\n".join(
        line if number in inside or not line.strip() else f"    {line}" for number, line in lines
    )


_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
_FSTRING_START = getattr(tokenize, "FSTRING_START", -1)
_FSTRING_END = getattr(tokenize, "FSTRING_END", -1)
"""Where Python has them (from 3.12 on); before, such a text is one token."""


def _tokens(source: str) -> list[tokenize.TokenInfo]:
    """The tokens of code that parses."""
    try:
        return list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return []


def merged(chain: Sequence[LayerKept]) -> dict[str, HelperKept]:
    """The helpers of a chain by name, shallow to deep: a deeper one of the same name counts."""
    found: dict[str, HelperKept] = {}
    for layer in chain:
        found |= {one.name: one for one in layer.library}
    return found


def called(script: str, names: Sequence[str]) -> tuple[str, ...]:
    """The helpers that a script mentions by name, unless it defines that name itself."""
    return tuple(
        name
        for name in names
        if re.search(rf"\b{re.escape(name)}\b", script)
        and not re.search(rf"^\s*(?:def|class)\s+{re.escape(name)}\b", script, re.MULTILINE)
    )


def listing(helpers: Mapping[str, HelperKept]) -> str:
    """Signatures and docstrings, as the solver sees them: never a body."""
    return "\n\n".join(
        one.signature + (f"\n{_indented(one.doc)}" if one.doc else "") for one in helpers.values()
    )


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))
