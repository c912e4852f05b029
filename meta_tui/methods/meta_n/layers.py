"""What a layer is, how it is read from a reply, and how chains of layers are put together.

A layer is pre-process code, a library of helpers and a rationale (`records.LayerKept`). Reading is
pure and never raises on what a model says; nothing here decides whether a part may be used
(`screening`) and nothing is run (`solving`).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from meta_tui.methods.meta_n.records import LIBRARY, PRE_PROCESS, HelperKept, LayerKept

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
    functions = [node for node in parsed(source).body if isinstance(node, ast.FunctionDef)]
    if not functions:
        return None
    node = next((one for one in functions if one.name == fenced), functions[-1])
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    signature = f"{node.name}({ast.unparse(node.args)}){returns}"
    return HelperKept(name=node.name, source=source, signature=signature, doc=ast.get_docstring(node) or "")


def staged(one: HelperKept) -> str:
    """A helper's code as it stands before a script: whatever else it defines or imports is its own,
    so that nothing but its one name can take the place of something."""
    body = [*parsed(one.source).body, ast.Return(ast.Name(one.name, ast.Load()))]
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    made = f"make_{one.name}"
    maker = ast.FunctionDef(name=made, args=nothing, body=body, decorator_list=[])
    maker.type_params = []  # type: ignore[attr-defined,unused-ignore]
    return f"{ast.unparse(ast.fix_missing_locations(maker))}\n{one.name} = {made}()"


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
