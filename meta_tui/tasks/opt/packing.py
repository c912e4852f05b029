"""Problems of packing and time: knapsack, bins, cutting a sheet, a workshop."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import pairwise, permutations, product
from typing import Any

from meta_tui.tasks.opt.problems import Infeasible, Instance, Problem, every_one, integers, once_each


def _knapsack_draw(rng: random.Random, large: bool) -> Instance:
    count = rng.randint(60, 90) if large else rng.randint(12, 20)
    weights = [rng.randint(5, 60) for _ in range(count)]
    values = [weight + rng.randint(-4, 25) for weight in weights]
    return {"weights": weights, "values": values, "capacity": sum(weights) * 2 // 5, "large": large}


def _knapsack_solve(instance: Instance) -> tuple[list[int], int]:
    """Exact for every size: the best value for each capacity, item by item."""
    capacity = instance["capacity"]
    rows = [[0] * (capacity + 1)]
    for weight, value in zip(instance["weights"], instance["values"], strict=True):
        before = rows[-1]
        rows.append([max(b, before[c - weight] + value if c >= weight else 0) for c, b in enumerate(before)])
    chosen, room = [], capacity
    for item in range(len(rows) - 2, -1, -1):
        if rows[item + 1][room] != rows[item][room]:
            chosen.append(item)
            room -= instance["weights"][item]
    return chosen[::-1], rows[-1][capacity]


def _knapsack_value(instance: Instance, construction: Any) -> int:
    items = integers(construction, "the choice")
    once_each(items, len(instance["weights"]), "item")
    weight = sum(instance["weights"][i] for i in items)
    if weight > instance["capacity"]:
        raise Infeasible(f"the items weigh {weight}, more than {instance['capacity']}")
    return sum(instance["values"][i] for i in items)


def _bins_draw(rng: random.Random, large: bool) -> Instance:
    count = rng.randint(50, 60) if large else rng.randint(12, 15)
    return {"sizes": [rng.randint(12, 62) for _ in range(count)], "capacity": 100, "large": large}


def _bins_solve(instance: Instance) -> tuple[list[list[int]], int]:
    sizes, capacity = instance["sizes"], instance["capacity"]
    order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))
    best: list[list[int]] = []
    for item in order:
        fitting = next((b for b in best if sum(sizes[i] for i in b) + sizes[item] <= capacity), None)
        if fitting is None:
            best.append([item])
        else:
            fitting.append(item)
    least = -(-sum(sizes) // capacity)
    while not instance["large"] and len(best) > least:
        fewer = _into(sizes, order, [capacity] * (len(best) - 1), [[] for _ in best[1:]])
        if fewer is None:
            break
        best = fewer
    return best, len(best)


def _into(
    sizes: list[int], left: list[int], rooms: list[int], bins: list[list[int]]
) -> list[list[int]] | None:
    """The items in these bins, largest first, by exhaustive search; equal rooms are tried once."""
    if not left:
        return bins
    if sum(sizes[i] for i in left) > sum(rooms):
        return None
    item, tried = left[0], set()
    for place, room in enumerate(rooms):
        if sizes[item] > room or room in tried:
            continue
        tried.add(room)
        after = [*rooms[:place], room - sizes[item], *rooms[place + 1 :]]
        filled = [*bins[:place], [*bins[place], item], *bins[place + 1 :]]
        if (found := _into(sizes, left[1:], after, filled)) is not None:
            return found
    return None


def _bins_value(instance: Instance, construction: Any) -> int:
    if not isinstance(construction, list):
        raise Infeasible("the bins must be a JSON list of lists of items")
    bins = [integers(one, "each bin") for one in construction]
    every_one([item for one in bins for item in one], len(instance["sizes"]), "item")
    for one in bins:
        size = sum(instance["sizes"][i] for i in one)
        if size > instance["capacity"]:
            raise Infeasible(f"the bin {one} holds {size}, more than {instance['capacity']}")
    return sum(1 for one in bins if one)


def _sheet_draw(rng: random.Random, large: bool) -> Instance:
    """Eight pieces whose value is near their area, so that no piece is best everywhere."""
    width, height = (120, 80) if large else (60, 40)
    pieces: list[list[int]] = []
    while len(pieces) < 8:
        w, h = rng.randint(width // 8, width // 2), rng.randint(height // 8, height // 2)
        pieces.append([w, h, round(w * h * rng.uniform(0.7, 1.2) / 10)])
    return {"width": width, "height": height, "pieces": pieces, "large": large}


def _sheet_solve(instance: Instance) -> tuple[list[list[int]], int]:
    """Exact for every size: the best value of each part, by its first guillotine cut."""
    pieces = tuple(map(tuple, instance["pieces"]))
    table = _cuts(pieces, instance["width"], instance["height"])
    placed: list[list[int]] = []
    _follow(table, pieces, placed, 0, 0, instance["width"], instance["height"])
    return placed, table[instance["width"]][instance["height"]][0]


Plan = tuple[int, str, int]
"""Value of a part, what is done with it (`none`, `piece`, `across`, `down`), and which or where."""


@lru_cache(maxsize=4)
def _cuts(pieces: tuple[tuple[int, ...], ...], width: int, height: int) -> list[list[Plan]]:
    table: list[list[Plan]] = [[(0, "none", 0)] * (height + 1) for _ in range(width + 1)]
    wide, tall = _sums([p[0] for p in pieces], width), _sums([p[1] for p in pieces], height)
    for w, h in product(range(1, width + 1), range(1, height + 1)):
        best: Plan = (0, "none", 0)
        for k, (pw, ph, value) in enumerate(pieces):
            if pw <= w and ph <= h and value > best[0]:
                best = (value, "piece", k)
        for cut in wide:
            if 2 * cut > w:
                break
            best = max(best, (table[cut][h][0] + table[w - cut][h][0], "across", cut), key=lambda p: p[0])
        for cut in tall:
            if 2 * cut > h:
                break
            best = max(best, (table[w][cut][0] + table[w][h - cut][0], "down", cut), key=lambda p: p[0])
        table[w][h] = best
    return table


def _sums(lengths: list[int], most: int) -> list[int]:
    """Sums of lengths up to `most`: a cut elsewhere can be moved to one of them at no loss."""
    reached = {0}
    for length in range(1, most + 1):
        if any(length - one in reached for one in lengths):
            reached.add(length)
    return sorted(reached - {0})


def _follow(
    table: list[list[Plan]],
    pieces: tuple[tuple[int, ...], ...],
    placed: list[list[int]],
    x: int,
    y: int,
    w: int,
    h: int,
) -> None:
    _, what, which = table[w][h]
    if what == "piece":
        placed.append([which, x, y])
    elif what == "across":
        _follow(table, pieces, placed, x, y, which, h)
        _follow(table, pieces, placed, x + which, y, w - which, h)
    elif what == "down":
        _follow(table, pieces, placed, x, y, w, which)
        _follow(table, pieces, placed, x, y + which, w, h - which)


Box = tuple[int, int, int, int]


def _sheet_value(instance: Instance, construction: Any) -> int:
    if not isinstance(construction, list):
        raise Infeasible("the cutting plan must be a JSON list of [piece, x, y]")
    total, boxes = 0, []
    for one in construction:
        triple = integers(one, "each placed piece")
        if len(triple) != 3 or not 0 <= triple[0] < len(instance["pieces"]):
            raise Infeasible(f"{one} is no [piece, x, y]")
        w, h, value = instance["pieces"][triple[0]]
        box = (triple[1], triple[2], triple[1] + w, triple[2] + h)
        if min(box) < 0 or box[2] > instance["width"] or box[3] > instance["height"]:
            raise Infeasible(f"the piece {one} leaves the sheet")
        boxes.append(box)
        total += value
    if not _can_be_cut(boxes):
        raise Infeasible("the pieces overlap, or cannot be cut out by straight cuts from edge to edge")
    return total


def _can_be_cut(boxes: list[Box]) -> bool:
    """Whether a cut from edge to edge parts the pieces, and so on for both parts."""
    if len(boxes) < 2:
        return True
    for axis in (0, 1):
        for cut in sorted({box[axis] for box in boxes} | {box[axis + 2] for box in boxes}):
            before = [box for box in boxes if box[axis + 2] <= cut]
            after = [box for box in boxes if box[axis] >= cut]
            if before and after and len(before) + len(after) == len(boxes):
                return _can_be_cut(before) and _can_be_cut(after)
    return False


def _shop_draw(rng: random.Random, large: bool) -> Instance:
    jobs = 5 if large else 3
    return {
        "jobs": [[[m, rng.randint(1, 15)] for m in rng.sample(range(3), 3)] for _ in range(jobs)],
        "large": large,
    }


def _shop_solve(instance: Instance) -> tuple[list[list[int]], int]:
    """Exact for three jobs: every order of them on every machine. For more, the best of all
    orders in which each job is put in as early as it goes."""
    jobs = instance["jobs"]
    orders = list(permutations(range(len(jobs))))
    found: list[tuple[int, list[list[int]]]] = []
    if instance["large"]:
        found = [_dispatched(jobs, order) for order in orders]
    else:
        found = [plan for three in product(orders, repeat=3) if (plan := _timed(jobs, three)) is not None]
    end, starts = min(found)
    return starts, end


def _timed(
    jobs: list[list[list[int]]], orders: tuple[tuple[int, ...], ...]
) -> tuple[int, list[list[int]]] | None:
    """Earliest starts with these orders on the machines; None where they wait for each other."""
    starts: list[list[int]] = [[] for _ in jobs]
    free, turn = [0] * 3, [0] * 3
    moved = True
    while moved:
        moved = False
        for machine in range(3):
            if turn[machine] == len(jobs):
                continue
            job = orders[machine][turn[machine]]
            step = len(starts[job])
            if step < 3 and jobs[job][step][0] == machine:
                _start(jobs, starts, free, job)
                turn[machine] += 1
                moved = True
    if any(len(one) < 3 for one in starts):
        return None
    return max(one[-1] + job[-1][1] for one, job in zip(starts, jobs, strict=True)), starts


def _start(jobs: list[list[list[int]]], starts: list[list[int]], free: list[int], job: int) -> None:
    step = len(starts[job])
    machine, length = jobs[job][step]
    ready = starts[job][-1] + jobs[job][step - 1][1] if step else 0
    begin = max(ready, free[machine])
    starts[job].append(begin)
    free[machine] = begin + length


def _dispatched(jobs: list[list[list[int]]], order: tuple[int, ...]) -> tuple[int, list[list[int]]]:
    starts: list[list[int]] = [[] for _ in jobs]
    free = [0] * 3
    for _ in range(3):
        for job in order:
            _start(jobs, starts, free, job)
    return max(one[-1] + job[-1][1] for one, job in zip(starts, jobs, strict=True)), starts


def _shop_value(instance: Instance, construction: Any) -> int:
    jobs = instance["jobs"]
    if not isinstance(construction, list) or len(construction) != len(jobs):
        raise Infeasible(f"the plan must be a JSON list of {len(jobs)} lists of start times")
    busy: dict[int, list[tuple[int, int]]] = {}
    end = 0
    for job, times in enumerate(construction):
        starts = integers(times, "each job's start times")
        if len(starts) != len(jobs[job]) or min(starts) < 0:
            raise Infeasible(f"job {job} needs {len(jobs[job])} start times from 0 on")
        ready = 0
        for (machine, length), start in zip(jobs[job], starts, strict=True):
            if start < ready:
                raise Infeasible(f"job {job} starts a step at {start}, before its last step ends at {ready}")
            ready = start + length
            busy.setdefault(machine, []).append((start, ready))
        end = max(end, ready)
    for machine, spans in busy.items():
        if any(a[1] > b[0] for a, b in pairwise(sorted(spans))):
            raise Infeasible(f"machine {machine} works on two jobs at once")
    return end


def _shop_words(instance: Instance) -> str:
    jobs = "; ".join(
        f"job {i}: " + ", ".join(f"machine {m} for {t}" for m, t in job)
        for i, job in enumerate(instance["jobs"])
    )
    return (
        f"Jobs pass through machines in a fixed order of steps, without a break in a step: {jobs}. A machine works on "
        "one job at a time. Find start times so that the last step ends as early as you can. Answer with a JSON list "
        "that holds for each job the list of its steps' start times (integers, from 0)."
    )


PROBLEMS = (
    Problem(
        "knapsack", "max", 1, _knapsack_draw,
        lambda i: f"Items 0 to {len(i['weights']) - 1} have the weights {i['weights']} and the values {i['values']}. Choose items of a total weight of at most {i['capacity']} with the greatest total value you can. Answer with a JSON list of the chosen items.",
        _knapsack_solve, _knapsack_value,
    ),
    Problem(
        "bins", "min", 2, _bins_draw,
        lambda i: f"Items 0 to {len(i['sizes']) - 1} have the sizes {i['sizes']}. Put all of them into as few bins of size {i['capacity']} as you can. Answer with a JSON list of bins, each a list of items.",
        _bins_solve, _bins_value,
    ),
    Problem(
        "sheet", "max", 3, _sheet_draw,
        lambda i: f"A sheet {i['width']} wide and {i['height']} high is cut into pieces by straight cuts, each from edge to edge of the part that it cuts. Pieces 0 to {len(i['pieces']) - 1} as [width, height, value]: {i['pieces']}. A piece may be cut any number of times and is not turned. Make the total value as great as you can. Answer with a JSON list of [piece, x, y], where x, y is the corner nearest to (0, 0).",
        _sheet_solve, _sheet_value,
    ),
    Problem("workshop", "min", 3, _shop_draw, _shop_words, _shop_solve, _shop_value, held_out=True),
)  # fmt: skip
