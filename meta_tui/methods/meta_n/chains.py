"""A chain as a file: what `chain export` writes and `solve --chain` reads.

Reading checks the file's form; every part of it is screened again when it is used, like code that
came from a model a moment ago.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from meta_tui.chat import Value
from meta_tui.errors import UsageError
from meta_tui.events import AnyEvent
from meta_tui.methods.meta_n.records import ArchiveBest, CandidateKept, LayerKept, all_of

VERSION = 1


class ChainFile(Value, frozen=True, kw_only=True):
    """A chain for later tasks.

    Attributes:
        format: version of this file.
        method: `meta_n`.
        run: the run that it comes from, for people.
        candidate: its candidate there.
        mean: that candidate's mean there.
        layers: from shallow to deep.
    """

    format: int = VERSION
    method: str = "meta_n"
    run: str = ""
    candidate: str = ""
    mean: float | None = None
    layers: tuple[LayerKept, ...] = ()


def chain_of(events: Sequence[AnyEvent], run: str = "", candidate: str = "") -> ChainFile:
    """The chain of a candidate; of the best one so far where none is named.

    Raises:
        UsageError: there is no such candidate.
    """
    known = {one.id: one for one in all_of(events, CandidateKept)}
    bests = all_of(events, ArchiveBest)
    name = candidate or (bests[-1].best if bests else "")
    if name not in known:
        have = ", ".join(known) or "none yet"
        raise UsageError(f"no candidate {name or '(best)'}; this run has {have}")
    layers = {layer.id: layer for layer in all_of(events, LayerKept)}
    one = known[name]
    return ChainFile(run=run, candidate=name, mean=one.mean, layers=tuple(layers[id_] for id_ in one.chain))


def to_json(chain: ChainFile) -> bytes:
    """The file of it: indented JSON that diffs well."""
    plain = {"format": VERSION, "method": "meta_n", **msgspec.to_builtins(chain, order="sorted")}
    return msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n"


def from_json(text: bytes, name: str) -> ChainFile:
    """What a file holds.

    Args:
        name: the file, for messages.

    Raises:
        UsageError: it is damaged, newer, or no chain.
    """
    try:
        found = msgspec.json.decode(text, type=ChainFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} holds no chain: {error}. `meta-tui chain export RUN` makes one") from error
    if found.format > VERSION:
        raise UsageError(f"{name} has format {found.format}, this version reads {VERSION}; update meta-tui")
    if found.method != "meta_n":
        raise UsageError(f"{name} is a chain of {found.method}, not of meta_n")
    return found
