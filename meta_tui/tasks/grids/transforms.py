"""Nineteen transformations of small grids, and the programs that are made of them.

A grid is rows of colours 0 (empty) to 9. Every transformation is a pure function without
parameters, so the programs of a depth can be counted out: 19, 361, 6,859. "Most common" and
"largest" leave no choice: ties go to the lower colour and to the object that comes first in
reading order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

Grid = tuple[tuple[int, ...], ...]
Cell = tuple[int, int]

LARGEST = 30
"""Rows and columns at most."""


def rotate(grid: Grid) -> Grid:
    """A quarter turn clockwise."""
    return tuple(zip(*grid[::-1], strict=True))


def flip_sideways(grid: Grid) -> Grid:
    """Left and right change places."""
    return tuple(row[::-1] for row in grid)


def flip_over(grid: Grid) -> Grid:
    """Top and bottom change places."""
    return grid[::-1]


def transpose(grid: Grid) -> Grid:
    """Rows become columns."""
    return tuple(zip(*grid, strict=True))


def crop(grid: Grid) -> Grid:
    """The smallest part that holds every coloured cell."""
    rows = [r for r, row in enumerate(grid) if any(row)]
    columns = [c for c, column in enumerate(zip(*grid, strict=True)) if any(column)]
    if not rows:
        return grid
    return tuple(row[columns[0] : columns[-1] + 1] for row in grid[rows[0] : rows[-1] + 1])


def gravity(grid: Grid) -> Grid:
    """Coloured cells fall to the bottom of their column."""
    height = len(grid)
    fallen = [tuple(c for c in column if c) for column in zip(*grid, strict=True)]
    return transpose(tuple((0,) * (height - len(column)) + column for column in fallen))


def largest_object(grid: Grid) -> Grid:
    """Only the object with the most cells."""
    return _only(grid, max(_objects(grid), key=len, default=()))


def smallest_object(grid: Grid) -> Grid:
    """Only the object with the fewest cells."""
    return _only(grid, min(_objects(grid), key=len, default=()))


def fill_holes(grid: Grid) -> Grid:
    """Empty cells that cannot reach the border take the most common colour."""
    outside: set[Cell] = set()
    height, width = len(grid), len(grid[0])
    border = [(r, c) for r, c in _cells(grid) if r in (0, height - 1) or c in (0, width - 1)]
    queue = [(r, c) for r, c in border if not grid[r][c]]
    while queue:
        cell = queue.pop()
        if cell not in outside:
            outside.add(cell)
            queue += [(r, c) for r, c in _beside(grid, *cell) if not grid[r][c]]
    colour = _common(grid)
    return _mapped(grid, lambda r, c, v: v or (0 if (r, c) in outside else colour))


def outline(grid: Grid) -> Grid:
    """Coloured cells that are enclosed by coloured cells on all four sides are emptied."""

    def kept(r: int, c: int, value: int) -> int:
        around = _beside(grid, r, c)
        return 0 if len(around) == 4 and all(grid[i][j] for i, j in around) else value

    return _mapped(grid, kept)


def join(grid: Grid) -> Grid:
    """Empty cells between two cells of one colour, in a row or a column, take that colour."""
    rows = tuple(map(_bridged, grid))
    columns = transpose(tuple(map(_bridged, transpose(grid))))
    return _mapped(grid, lambda r, c, v: v or rows[r][c] or columns[r][c])


def mirror(grid: Grid) -> Grid:
    """The grid and its mirror image side by side."""
    return tuple(row + row[::-1] for row in grid)


def double(grid: Grid) -> Grid:
    """Every cell becomes two by two cells."""
    return tuple(tuple(v for v in row for _ in (0, 1)) for row in grid for _ in (0, 1))


def recolour(grid: Grid) -> Grid:
    """Every coloured cell takes the most common colour."""
    colour = _common(grid)
    return _mapped(grid, lambda r, c, v: colour if v else 0)


def drop_colour(grid: Grid) -> Grid:
    """The most common colour is taken away."""
    colour = _common(grid)
    return _mapped(grid, lambda r, c, v: 0 if v == colour else v)


def sort_rows(grid: Grid) -> Grid:
    """Rows with fewer coloured cells come first; equal ones keep their order."""
    return tuple(sorted(grid, key=lambda row: sum(map(bool, row))))


def tile(grid: Grid) -> Grid:
    """The grid two by two times."""
    return tuple(row * 2 for row in grid) * 2


def denoise(grid: Grid) -> Grid:
    """Coloured cells without a coloured cell beside them are emptied."""
    return _mapped(grid, lambda r, c, v: v if any(grid[i][j] for i, j in _beside(grid, r, c)) else 0)


def invert(grid: Grid) -> Grid:
    """Empty cells take the most common colour, coloured ones are emptied."""
    colour = _common(grid)
    return _mapped(grid, lambda r, c, v: 0 if v else colour)


PRIMITIVES: dict[str, Callable[[Grid], Grid]] = {
    function.__name__: function
    for function in (
        rotate, flip_sideways, flip_over, transpose, crop, gravity, largest_object, smallest_object,
        fill_holes, outline, join, mirror, double, recolour, drop_colour, sort_rows, tile, denoise, invert,
    )
}  # fmt: skip
"""Name -> transformation."""


@lru_cache(maxsize=65536)
def apply(name: str, grid: Grid) -> Grid | None:
    """A transformation of a grid; None where the result is larger than LARGEST."""
    height, width = len(grid), len(grid[0])
    if max(height, width) > LARGEST // 2 and name in ("mirror", "double", "tile"):
        return None
    return PRIMITIVES[name](grid)


def run(program: tuple[str, ...], grid: Grid) -> Grid | None:
    """The transformations one after the other."""
    now: Grid | None = grid
    for name in program:
        now = apply(name, now) if now is not None else None
    return now


def _cells(grid: Grid) -> Iterator[Cell]:
    return ((r, c) for r in range(len(grid)) for c in range(len(grid[0])))


def _beside(grid: Grid, row: int, column: int) -> list[Cell]:
    around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
    return [(r, c) for r, c in around if 0 <= r < len(grid) and 0 <= c < len(grid[0])]


def _mapped(grid: Grid, change: Callable[[int, int, int], int]) -> Grid:
    return tuple(tuple(change(r, c, v) for c, v in enumerate(row)) for r, row in enumerate(grid))


def _common(grid: Grid) -> int:
    counts = Counter(v for row in grid for v in row if v)
    return min(counts, key=lambda colour: (-counts[colour], colour)) if counts else 0


def _objects(grid: Grid) -> list[tuple[Cell, ...]]:
    """Cells of one colour that hang together side by side, in reading order of their first cell."""
    seen: set[Cell] = set()
    found = []
    for cell in _cells(grid):
        if cell in seen or not grid[cell[0]][cell[1]]:
            continue
        seen.add(cell)
        whole = [cell]
        for r, c in whole:
            more = [n for n in _beside(grid, r, c) if n not in seen and grid[n[0]][n[1]] == grid[r][c]]
            seen.update(more)
            whole += more
        found.append(tuple(whole))
    return found


def _only(grid: Grid, cells: tuple[Cell, ...]) -> Grid:
    kept = set(cells)
    return _mapped(grid, lambda r, c, v: v if (r, c) in kept else 0)


def _bridged(line: tuple[int, ...]) -> tuple[int, ...]:
    filled = list(line)
    coloured = [i for i, v in enumerate(line) if v]
    for a, b in pairwise(coloured):
        if line[a] == line[b]:
            filled[a:b] = [line[a]] * (b - a)
    return tuple(filled)
