"""Geometric shapes: which of the options does an SVG path draw.

`paper` wants the published label at the very start of the answer. `strict` takes a letter or a
name, refuses two options, and accepts every option that is true of the drawing: all published
ellipses are circles and all published trapezoids are rectangles, with those options beside them.
The paths here are made of M, L, A and Z; another path leaves the label alone to decide.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.extraction import (
    abstains,
    correct,
    incorrect,
    is_negated,
    paper_answer,
    paper_grade,
    strictly,
    without_boxes,
)

Point = tuple[float, float]

POLYGONS = {3: "triangle", 5: "pentagon", 6: "hexagon", 7: "heptagon", 8: "octagon"}
NEAR = 0.02
"""Two lengths or directions this close, relatively, are equal: paths have two decimals."""

_OPTION = re.compile(r"\(([A-Z])\)\s*([^\n(]+)")
_PATH = re.compile(r"\bd\s*=\s*[\"']([^\"']+)[\"']")
_TOKEN = re.compile(r"[A-Za-z]|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_ARGUMENTS = {"M": 2, "L": 2, "A": 7, "Z": 0}
_IN_BRACKETS = re.compile(r"\(\s*([A-Za-z])\s*\)")
_BARE = re.compile(
    r"(?:^|\b(?:option|answer|choice|letter)\b(?:\s+is)?[\s:*_`\"'(]{0,8})[\s*_`\"'\\]{0,6}([A-Za-z])"
    r"(?=[\s*_`\"'\\]{0,6}(?:$|[).:,;–—-])|\s\()",
    re.IGNORECASE,
)
_OR_BARE = re.compile(r"\b(?:or|and|/)\s+(?:option\s+)?([A-Z])\b(?=$|[\s).:,;])")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A path: the corners of its line, where each stands once, and the radii of its arcs."""

    corners: tuple[Point, ...]
    arcs: tuple[tuple[float, float], ...]
    closed: bool


def paper(sample: Sample, reply: str) -> Grade:
    """The answer starts with the label."""
    answer = paper_answer(reply)
    target = sample.target.lower()
    return paper_grade(target in answer[: len(target)], answer)


def options(question: str) -> dict[str, str]:
    """Letter -> name of each option of a question."""
    return {letter: name.strip().casefold() for letter, name in _OPTION.findall(question)}


def _judge(sample: Sample, answer: str) -> Grade:
    return _judge_among(sample, answer, true_options(sample.input))


def _judge_labels(sample: Sample, answer: str) -> Grade:
    return _judge_among(sample, answer, set())


def _judge_among(sample: Sample, answer: str, also: set[str]) -> Grade:
    offered = options(sample.input)
    label = sample.target.strip("() \n").upper()
    allowed = {label} | also
    given = _given(without_boxes(answer).strip(" \n$."), offered)
    shown = " ".join(f"({letter}) {offered.get(letter, '')}".strip() for letter in sorted(given))
    if len(given) == 1:
        letter = next(iter(given))
        by = "label" if letter == label else "geometry"
        if letter in allowed:
            return correct(shown, "" if by == "label" else "true of the drawing", by=by)
        return incorrect(shown, f"it is ({label}) {offered.get(label, '')}")
    if given:
        return incorrect(shown, "names several options")
    if abstains(answer):
        return Grade("abstained", "says that no option fits", answer[:200])
    return incorrect(answer[:200], "names no option")


def _given(answer: str, offered: dict[str, str]) -> set[str]:
    """The options that an answer names, by letter or by name; ruled-out ones apart."""
    found = {
        match.group(1).upper()
        for pattern in (_IN_BRACKETS, _BARE, _OR_BARE)
        for match in pattern.finditer(answer)
        if match.group(1).upper() in offered and not is_negated(answer, *match.span(1))
    }
    for letter, name in offered.items():
        for match in re.finditer(rf"\b{re.escape(name)}s?\b", answer, re.IGNORECASE):
            if not is_negated(answer, match.start(), match.end()):
                found.add(letter)
    return found


# The drawing


def true_options(question: str) -> set[str]:
    """Letters of the options that are true of the question's path; empty if it cannot be read."""
    path = _PATH.search(question)
    drawing = read_path(path.group(1)) if path else None
    names = names_of(drawing) if drawing else frozenset()
    return {letter for letter, name in options(question).items() if name in names}


def read_path(path: str) -> Drawing | None:
    """The drawing of an absolute path of M, L, A and Z; None for any other.

    A pen that is lifted and put back at the same point draws on.
    """
    points: list[Point] = []
    arcs: list[tuple[float, float]] = []
    closed = False
    for command, numbers in _commands(path) or [("?", [])]:
        if command not in _ARGUMENTS or len(numbers) != _ARGUMENTS[command]:
            return None
        if command == "Z":
            closed = True
            continue
        point = (numbers[-2], numbers[-1])
        if command == "M" and points and not _same(points[-1], point):
            return None
        if command == "A":
            arcs.append((abs(numbers[0]), abs(numbers[1])))
        if not points or not _same(points[-1], point):
            points.append(point)
    closed = closed or (len(points) > 2 and _same(points[0], points[-1]))
    if len(points) > 1 and _same(points[0], points[-1]):
        points.pop()
    return Drawing(tuple(points), tuple(arcs), closed)


def _commands(path: str) -> list[tuple[str, list[float]]]:
    """(letter, numbers) of each command; further pairs after M or L are lines of their own."""
    found: list[tuple[str, list[float]]] = []
    for token in _TOKEN.findall(path.replace(",", " ")):
        if token.isalpha():
            found.append((token.upper() if token in "zZ" else token, []))
        elif not found:
            return []
        else:
            command, numbers = found[-1]
            if len(numbers) == _ARGUMENTS.get(command, 0) and numbers:
                found.append(("L" if command == "M" else command, [float(token)]))
            else:
                numbers.append(float(token))
    return found


def names_of(drawing: Drawing) -> frozenset[str]:
    """Every name that is true of a drawing; a square is a rectangle, a kite and a trapezoid."""
    if drawing.arcs:
        return _names_of_curves(drawing)
    if len(drawing.corners) == 2:
        return frozenset({"line"})
    if not drawing.closed:
        return frozenset()
    plain = _without_straight_angles(drawing.corners)
    names = {POLYGONS.get(len(drawing.corners)), POLYGONS.get(len(plain))} - {None}
    quadrilateral = _quadrilateral_names(plain) if len(plain) == 4 else set()
    return frozenset(str(name) for name in names) | quadrilateral


def _names_of_curves(drawing: Drawing) -> frozenset[str]:
    round_ = all(math.isclose(rx, ry, rel_tol=NEAR) for rx, ry in drawing.arcs)
    if len(drawing.arcs) == 1 and drawing.closed and len(drawing.corners) == 3:
        return frozenset({"sector"})
    if len(drawing.arcs) >= 2 and len(drawing.corners) == len(drawing.arcs):
        return frozenset({"circle", "ellipse"} if round_ else {"ellipse"})
    return frozenset()


def _quadrilateral_names(corners: tuple[Point, ...]) -> frozenset[str]:
    a, b, c, d = corners
    sides = [_minus(b, a), _minus(c, b), _minus(d, c), _minus(a, d)]
    lengths = [math.hypot(*side) for side in sides]
    names = {"quadrilateral"}
    parallel = [_parallel(sides[0], sides[2]), _parallel(sides[1], sides[3])]
    if any(parallel):
        names |= {"trapezoid", "trapezium"}
    if all(parallel):
        names.add("parallelogram")
        if _perpendicular(sides[0], sides[1]):
            names.add("rectangle")
    equal = [math.isclose(lengths[i], lengths[(i + 1) % 4], rel_tol=NEAR) for i in range(4)]
    if (equal[0] and equal[2]) or (equal[1] and equal[3]):
        names.add("kite")
    if all(equal):
        names |= {"rhombus", "square"} if "rectangle" in names else {"rhombus"}
    return frozenset(names)


def _without_straight_angles(corners: tuple[Point, ...]) -> tuple[Point, ...]:
    count = len(corners)
    return tuple(
        corner
        for i, corner in enumerate(corners)
        if not _parallel(_minus(corner, corners[i - 1]), _minus(corners[(i + 1) % count], corner))
    )


def _minus(one: Point, other: Point) -> Point:
    return (one[0] - other[0], one[1] - other[1])


def _parallel(one: Point, other: Point) -> bool:
    return abs(one[0] * other[1] - one[1] * other[0]) <= NEAR * math.hypot(*one) * math.hypot(*other)


def _perpendicular(one: Point, other: Point) -> bool:
    return abs(one[0] * other[0] + one[1] * other[1]) <= NEAR * math.hypot(*one) * math.hypot(*other)


def _same(one: Point, other: Point) -> bool:
    return math.dist(one, other) < 0.015


strict = strictly(_judge)
"""Exactly one option, by letter or name, and it is the label or true of the drawing."""

labels = strictly(_judge_labels)
"""The same, but only the label is right."""
