"""Putting the shards of one evaluation together: a union that is checked, never a guess.

Shards must have the same plan. A cell that stands in several must be the same run (times and
provenance apart); of a finished and an unfinished log the finished one is taken.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from meta_tui.errors import LogError, UsageError
from meta_tui.evaluation.cells import cells, open_folder, read_plan, read_samples, unlike_field
from meta_tui.events import AnyEvent, RunStarted
from meta_tui.runlog import Recording, read


def merge(folders: Sequence[Path], to: Path) -> int:
    """Copy the cells of all folders into one; how many there are then.

    Raises:
        UsageError: plans differ, or two finished logs of one cell are different runs.
    """
    plan, samples = read_plan(folders[0]), read_samples(folders[0])
    for other in folders[1:]:
        if (unlike := unlike_field(plan, read_plan(other))) is not None:
            raise UsageError(
                f"{other} is no shard of the evaluation in {folders[0]}: their {unlike} differ; "
                "merge shards of one evaluation"
            )
        read_samples(other)
    open_folder(to, plan, samples)
    count = 0
    for cell in cells(plan, samples):
        name = f"{cell.name}.jsonl"
        chosen = _choose([folder / "cells" / name for folder in (to, *folders)])
        if chosen is not None:
            count += 1
            if chosen != to / "cells" / name:
                shutil.copyfile(chosen, to / "cells" / name)
    return count


def _choose(paths: Sequence[Path]) -> Path | None:
    found = [(path, recording) for path in paths if (recording := _readable(path)) is not None]
    finished = [(path, recording) for path, recording in found if recording.finished is not None]
    for path, recording in finished[1:]:
        if not _same_run(finished[0][1], recording):
            raise UsageError(
                f"{finished[0][0]} and {path} are different runs of one cell; remove the wrong one"
            )
    if finished:
        return finished[0][0]
    return max(found, key=lambda pair: len(pair[1].events))[0] if found else None


def _readable(path: Path) -> Recording | None:
    try:
        return read(path)
    except LogError:
        return None


def _same_run(left: Recording, right: Recording) -> bool:
    return [_bare(e) for e in left.events] == [_bare(e) for e in right.events]


def _bare(event: AnyEvent) -> AnyEvent:
    bare = msgspec.structs.replace(event, at=None)
    if isinstance(bare, RunStarted):
        bare = msgspec.structs.replace(bare, id="", tool="")
    return msgspec.structs.replace(bare, how=None) if hasattr(bare, "how") else bare
