"""Puzzles on boards: queens, towers, squares, knights, lights, tiles."""

from __future__ import annotations

import random
from itertools import product

from meta_tui.tasks.generating.puzzle_kinds import Kind, Puzzle, written

Grid = list[list[int]]
KNIGHT = tuple((a, b) for a, b in product((-2, -1, 1, 2), repeat=2) if abs(a) != abs(b))
STEPS = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


def grid_path(rng: random.Random) -> Puzzle:
    """Steps through a walled grid from corner to corner."""
    size = rng.randint(5, 7)
    goal = (size - 1, size - 1)
    while True:
        rows = [[int(rng.random() < 0.3) for _ in range(size)] for _ in range(size)]
        rows[0][0] = rows[-1][-1] = 0
        answer = _shortest(rows, goal)
        if answer:
            break
    return written(
        """
        def sat(steps: str, walls=<walls>, most=<most>):
            assert len(steps) <= most
            row = column = 0
            for step in steps:
                row += {"U": -1, "D": 1}.get(step, 0)
                column += {"L": -1, "R": 1}.get(step, 0)
                assert 0 <= row < len(walls) and 0 <= column < len(walls) and not walls[row][column]
            return row == column == len(walls) - 1
        """,
        answer, walls=rows, most=len(answer),
    )  # fmt: skip


def _shortest(walls: Grid, goal: tuple[int, int]) -> str:
    seen, queue = {(0, 0): ""}, [(0, 0)]
    for row, column in queue:
        for name, (down, right) in STEPS.items():
            place = (row + down, column + right)
            inside = 0 <= place[0] < len(walls) and 0 <= place[1] < len(walls)
            if inside and not walls[place[0]][place[1]] and place not in seen:
                seen[place] = seen[row, column] + name
                queue.append(place)
    return seen.get(goal, "")


def queens(rng: random.Random) -> Puzzle:
    """Queens that do not attack each other, two of them placed."""
    size = rng.randint(6, 9)
    answer = _queens(rng, size, [])
    rows = sorted(rng.sample(range(size), 2))
    return written(
        """
        def sat(columns: List[int], size=<size>, given=<given>):
            assert len(columns) == size and all(0 <= c < size for c in columns)
            assert all(columns[row] == column for row, column in given)
            return all(columns[i] != columns[j] and abs(columns[i] - columns[j]) != j - i
                       for j in range(size) for i in range(j))
        """,
        answer, size=size, given=[[row, answer[row]] for row in rows],
    )  # fmt: skip


def _queens(rng: random.Random, size: int, placed: list[int]) -> list[int]:
    if len(placed) == size:
        return placed
    for column in rng.sample(range(size), size):
        if all(column != c and abs(column - c) != len(placed) - i for i, c in enumerate(placed)):
            found = _queens(rng, size, [*placed, column])
            if found:
                return found
    return []


def towers(rng: random.Random) -> Puzzle:
    """Moves that bring discs from wherever they lie onto one peg."""
    count, goal = rng.randint(4, 6), rng.randrange(3)
    while True:
        start = [rng.randrange(3) for _ in range(count)]
        answer = _gather(list(start), count, goal)
        if len(answer) >= 5:
            break
    return written(
        """
        def sat(moves: List[List[int]], pegs=<pegs>, goal=<goal>, most=<most>):
            # pegs[i] is the peg of disc i, 0 is the smallest; a move is [from, to]
            assert len(moves) <= most
            pegs = list(pegs)
            for a, b in moves:
                disc = pegs.index(a)
                assert b in (0, 1, 2) and b not in pegs[:disc]
                pegs[disc] = b
            return all(peg == goal for peg in pegs)
        """,
        answer, pegs=start, goal=goal, most=len(answer),
    )  # fmt: skip


def _gather(pegs: list[int], count: int, goal: int) -> Grid:
    if count == 0:
        return []
    disc = count - 1
    if pegs[disc] == goal:
        return _gather(pegs, disc, goal)
    moves = _gather(pegs, disc, 3 - goal - pegs[disc])
    moves.append([pegs[disc], goal])
    pegs[disc] = goal
    return moves + _gather(pegs, disc, goal)


def magic_square(rng: random.Random) -> Puzzle:
    """A magic square of equal steps with a given corner."""
    start, step = rng.randint(-20, 60), rng.randint(2, 15)
    square = [[2, 7, 6], [9, 5, 1], [4, 3, 8]]
    for _ in range(rng.randrange(4)):
        square = [list(row) for row in zip(*square[::-1], strict=True)]
    if rng.random() < 0.5:
        square = square[::-1]
    answer = [[start + step * (n - 1) for n in row] for row in square]
    return written(
        """
        def sat(square: List[List[int]], start=<start>, step=<step>, corner=<corner>):
            cells = [cell for row in square for cell in row]
            assert len(square) == 3 and all(len(row) == 3 for row in square)
            assert sorted(cells) == [start + step * i for i in range(9)] and cells[0] == corner
            lines = square + [list(column) for column in zip(*square)] + [cells[::4], cells[2:7:2]]
            return len({sum(line) for line in lines}) == 1
        """,
        answer, start=start, step=step, corner=answer[0][0],
    )  # fmt: skip


def knight_walk(rng: random.Random) -> Puzzle:
    """A knight's walk over a number of different fields between two given ones."""
    size, length = rng.randint(5, 7), rng.randint(7, 14)
    while True:
        walk = [(rng.randrange(size), rng.randrange(size))]
        while len(walk) < length:
            steps = [(walk[-1][0] + a, walk[-1][1] + b) for a, b in KNIGHT]
            free = [s for s in steps if min(s) >= 0 and max(s) < size and s not in walk]
            if not free:
                break
            walk.append(rng.choice(free))
        if len(walk) == length:
            break
    answer = [list(place) for place in walk]
    return written(
        """
        def sat(walk: List[List[int]], size=<size>, length=<length>, first=<first>, last=<last>):
            assert len(walk) == length == len({tuple(p) for p in walk})
            assert all(0 <= x < size and 0 <= y < size for x, y in walk)
            assert walk[0] == first and walk[-1] == last
            return all(sorted([abs(a - c), abs(b - d)]) == [1, 2] for (a, b), (c, d) in zip(walk, walk[1:]))
        """,
        answer, size=size, length=length, first=answer[0], last=answer[-1],
    )  # fmt: skip


def lights_out(rng: random.Random) -> Puzzle:
    """Presses that put all lights out; a press turns a field and its neighbours."""
    size = rng.randint(3, 5)
    fields = list(product(range(size), repeat=2))
    while True:
        answer = sorted(rng.sample(fields, rng.randint(4, size * size - 3)))
        lit = [
            [sum(abs(row - r) + abs(col - c) <= 1 for r, c in answer) % 2 for col in range(size)]
            for row in range(size)
        ]
        if any(map(any, lit)):
            break
    return written(
        """
        def sat(presses: List[List[int]], lit=<lit>):
            size = len(lit)
            assert all(0 <= row < size and 0 <= column < size for row, column in presses)
            return all(
                (lit[r][c] + sum(abs(r - row) + abs(c - column) <= 1 for row, column in presses)) % 2 == 0
                for r in range(size) for c in range(size))
        """,
        [list(press) for press in answer], lit=lit,
    )  # fmt: skip


def sliding(rng: random.Random) -> Puzzle:
    """Moves of the gap that bring the tiles of a 3 x 3 board into order."""
    goal = [1, 2, 3, 4, 5, 6, 7, 8, 0]
    tiles, back = list(goal), ""
    opposite = {"U": "D", "D": "U", "L": "R", "R": "L"}
    length = rng.randint(8, 16)
    while len(back) < length:
        name = rng.choice("UDLR")
        if back and name == back[0]:
            continue
        if _slide(tiles, name):
            back = opposite[name] + back
    if tiles == goal:
        return sliding(rng)
    return written(
        """
        def sat(moves: str, tiles=<tiles>, most=<most>):
            # each letter moves the gap (0): U, D, L or R
            assert len(moves) <= most
            tiles = list(tiles)
            for move in moves:
                gap = tiles.index(0)
                row, column = gap // 3 + {"U": -1, "D": 1}.get(move, 0), gap % 3 + {"L": -1, "R": 1}.get(move, 0)
                assert 0 <= row < 3 and 0 <= column < 3
                tiles[gap], tiles[3 * row + column] = tiles[3 * row + column], 0
            return tiles == [1, 2, 3, 4, 5, 6, 7, 8, 0]
        """,
        back, tiles=tiles, most=length,
    )  # fmt: skip


def _slide(tiles: list[int], name: str) -> bool:
    gap = tiles.index(0)
    row, column = gap // 3 + STEPS[name][0], gap % 3 + STEPS[name][1]
    if not (0 <= row < 3 and 0 <= column < 3):
        return False
    other = 3 * row + column
    tiles[gap], tiles[other] = tiles[other], 0
    return True


def life_before(rng: random.Random) -> Puzzle:
    """A generation of Conway's game of life that comes before a given one."""
    size = rng.randint(4, 6)
    while True:
        before = [[int(rng.random() < 0.4) for _ in range(size)] for _ in range(size)]
        after = _next(before)
        if sum(map(sum, after)) >= 3 and after != before:
            break
    return written(
        """
        def sat(before: List[List[int]], after=<after>):
            n = len(after)
            assert len(before) == n and all(len(row) == n and set(row) <= {0, 1} for row in before)
            def near(r, c):
                return sum(before[i][j] for i in range(max(0, r - 1), min(n, r + 2))
                           for j in range(max(0, c - 1), min(n, c + 2))) - before[r][c]
            return after == [[int(near(r, c) == 3 or (before[r][c] and near(r, c) == 2)) for c in range(n)]
                             for r in range(n)]
        """,
        before, after=after,
    )  # fmt: skip


def _next(cells: Grid) -> Grid:
    size = len(cells)

    def near(r: int, c: int) -> int:
        around = product(range(max(0, r - 1), min(size, r + 2)), range(max(0, c - 1), min(size, c + 2)))
        return sum(cells[i][j] for i, j in around) - cells[r][c]

    return [
        [int(near(r, c) == 3 or (cells[r][c] == 1 and near(r, c) == 2)) for c in range(size)]
        for r in range(size)
    ]


def latin_square(rng: random.Random) -> Puzzle:
    """A square in which each row and column holds each number once, some given."""
    size = rng.choice((4, 5))
    rows, columns, names = (rng.sample(range(size), size) for _ in range(3))
    answer = [[names[(r + c) % size] + 1 for c in columns] for r in rows]
    kept = set(rng.sample(list(product(range(size), repeat=2)), size + 1))
    given = [[answer[r][c] if (r, c) in kept else 0 for c in range(size)] for r in range(size)]
    return written(
        """
        def sat(square: List[List[int]], given=<given>):
            n = len(given)
            assert len(square) == n and all(len(row) == n for row in square)
            assert all(g in (0, x) for row, wanted in zip(square, given) for x, g in zip(row, wanted))
            return all(sorted(line) == list(range(1, n + 1)) for line in square + [list(c) for c in zip(*square)])
        """,
        answer, given=given,
    )  # fmt: skip


BOARDS = (
    Kind("grid_path", 2, "str", grid_path),
    Kind("queens", 3, "List[int]", queens),
    Kind("towers", 3, "List[List[int]]", towers),
    Kind("magic_square", 3, "List[List[int]]", magic_square),
    Kind("knight_walk", 3, "List[List[int]]", knight_walk),
    Kind("lights_out", 3, "List[List[int]]", lights_out),
    Kind("sliding", 3, "str", sliding),
    Kind("life_before", 3, "List[List[int]]", life_before),
    Kind("latin_square", 3, "List[List[int]]", latin_square),
)
