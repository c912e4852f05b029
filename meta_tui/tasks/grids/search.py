"""All programs of a depth, tried out: the reference solver, and the guarantee of a task.

Programs that do the same to all the grids at hand are followed once. A task is sound when no
shorter program explains its examples and every program of its depth that explains them agrees
about the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from meta_tui.tasks.grids.transforms import PRIMITIVES, Grid, apply

Program = tuple[str, ...]
Pair = tuple[Grid, Grid]
State = tuple[Grid, ...]


def explanations(pairs: Sequence[Pair], depth: int) -> Iterator[Program]:
    """Programs of exactly this depth that turn every input into its output."""
    inputs, outputs = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    for program, state in _states(inputs, depth - 1):
        for name in PRIMITIVES:
            if all(apply(name, grid) == output for grid, output in zip(state, outputs, strict=True)):
                yield (*program, name)


def is_sound(pairs: Sequence[Pair], question: Pair, depth: int) -> bool:
    """Whether `depth` is the least that explains the pairs, and the question has one answer."""
    if any(True for less in range(depth) for _ in _explained(pairs, less)):
        return False
    grids = (*(a for a, _ in pairs), question[0])
    wanted = tuple(b for _, b in pairs)
    for _, state in _states(grids, depth - 1):
        for name in PRIMITIVES:
            fits = all(apply(name, grid) == output for grid, output in zip(state, wanted, strict=False))
            if fits and apply(name, state[-1]) != question[1]:
                return False
    return True


def solve(pairs: Sequence[Pair], question: Grid, deepest: int = 3) -> tuple[Program, Grid] | None:
    """A shortest program that explains the pairs, and what it makes of the question."""
    for depth in range(1, deepest + 1):
        for program in explanations(pairs, depth):
            now: Grid | None = question
            for name in program:
                now = apply(name, now) if now is not None else None
            if now is not None:
                return program, now
    return None


def _explained(pairs: Sequence[Pair], depth: int) -> Iterator[Program]:
    if depth == 0:
        return iter([()] if all(a == b for a, b in pairs) else [])
    return explanations(pairs, depth)


def _states(grids: State, depth: int) -> Iterator[tuple[Program, State]]:
    """What the programs of a depth make of the grids, each state once."""
    level: dict[State, Program] = {grids: ()}
    for _ in range(depth):
        following: dict[State, Program] = {}
        for state, program in level.items():
            for name in PRIMITIVES:
                after = tuple(apply(name, grid) for grid in state)
                if None not in after:
                    following.setdefault(after, (*program, name))  # type: ignore[arg-type]
        level = following
    return ((program, state) for state, program in level.items())
