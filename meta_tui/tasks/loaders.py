"""Task files: our own, and the formats of data sets that people have copies of.

The only module of this room that reads files. Nothing is downloaded. A file's format is recognised
from its name and first record unless it is given; every error names the file, the line (from 1) and
the field. Samples of other people's data carry what they need in `meta` and have no witness.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from meta_tui import places
from meta_tui.errors import UsageError
from meta_tui.tasks import FAMILIES, Sample, decode, family
from meta_tui.tasks.grading.numbers import MOST_DIGITS
from meta_tui.tasks.grids.answers import worded, written

SEED = 2000
"""Seed of the shipped files and of every sample id: `game24:17` is sample 17 of this seed."""

COUNT = 25
"""Samples of a shipped file."""

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")

SOURCE_DIGITS = 8
"""Hex digits of a file's digest in the names of its samples."""

AUTHORS: dict[str, str] = {
    "GameOf24": "game24",
    "CheckmateInOne": "checkmate",
    "geometric_shapes": "shapes",
    "multistep_arithmetic_two": "arithmetic",
    "word_sorting": "words",
    "P3_Test": "puzzles",
    "Sonnets-Standard": "sonnets",
} | {f"MGSM_{code}": f"mgsm_{code.lower()}" for code in "BN DE EN ES FR JA RU SW TE TH ZH".split()}
"""The authors' file name, without what follows the task -> task id."""

PUZZLE_FIELDS = (
    "module",
    "name",
    "notes",
    "sol_bodies",
    "sol_header",
    "ans_type",
    "sol_docstring",
    "weight",
    "sat",
)
"""Fields of the authors' puzzles that stand beside input and target."""

Record = Mapping[str, Any]


class _Place:
    """Where in a file a record stands, for errors."""

    def __init__(self, path: Path, line: int, record: str = "") -> None:
        self.where = f"{path}, line {line}" if line else f"{path}, {record}" if record else str(path)

    def error(self, field: str, problem: str) -> UsageError:
        named = f", field {field!r}" if field else ""
        return UsageError(f"{self.where}{named}: {problem}")

    def text(self, record: Record, field: str) -> str:
        """A field that must be text."""
        if field not in record:
            raise self.error(
                field, f"it is missing; the record has {', '.join(map(repr, record)) or 'no fields'}"
            )
        value = record[field]
        if not isinstance(value, str):
            raise self.error(field, f"it must be text, not {_kind(value)}")
        return value


def _kind(value: object) -> str:
    names = {type(None): "null", bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")


def shipped() -> list[str]:
    """The tasks that have a shipped file, in the order of FAMILIES."""
    return [task for task in FAMILIES if (places.shipped("tasks") / f"{task}.jsonl").is_file()]


def samples(task: str, count: int = COUNT) -> list[Sample]:
    """The first samples of a task id, or all samples of a file whose path is given instead.

    What the shipped file holds comes from it; variants (`mgsm_bn`) and further samples are made by
    the generator with SEED, and are the same on every machine.

    Raises:
        UsageError: no such task or file, or a file that cannot be read.
    """
    if Path(task).suffix in SUFFIXES:
        return read(Path(task))
    found = family(task)
    path = places.shipped("tasks") / f"{task}.jsonl"
    known = read(path, "own")[:count] if path.is_file() else []
    options = {"language": task.partition("_")[2]} if task in found.variants else {}
    made = (found.generate(index, SEED, **options) for index in range(len(known), count))
    return known + [msgspec.structs.replace(sample, task=task) for sample in made]


def sample(name: str) -> Sample:
    """The sample that `<task>:<index>` names.

    Raises:
        UsageError: that is no name of a sample.
    """
    task, _, index = name.rpartition(":")
    if not task or not (index.isascii() and index.isdigit()):
        raise UsageError(f"{name!r} names no sample; write TASK:INDEX, such as game24:17")
    found = samples(task, int(index) + 1)
    if int(index) >= len(found):
        raise UsageError(f"{task} has samples 0 to {len(found) - 1}, not {index}")
    return found[int(index)]


def encode(sample: Sample) -> str:
    """A sample as a line of our own files: input and target first, as in the authors' files."""
    return msgspec.json.encode(sample, order="deterministic").decode() + "\n"


def read(path: Path, form: str = "auto", task: str = "") -> list[Sample]:
    """The samples of a file.

    Args:
        form: `auto`, or one of FORMATS.
        task: task id of samples that do not say theirs.

    Raises:
        UsageError: the file cannot be read or is not in that format, or the task is unknown.
    """
    if task:
        family(task)
    if form != "auto" and form not in FORMATS:
        raise UsageError(f"no format {form!r}; there are auto, {', '.join(FORMATS)}")
    text = read_text(path)
    chosen = recognised(path, text) if form == "auto" else form
    return list(FORMATS[chosen](path, text, task))


def own(path: Path, task: str = "", form: str = "auto") -> list[Sample]:
    """The samples of a file of one's own, with names that no sample of ours and of no other file has.

    `theorem@1f2e3d4c:7` is sample 7 of the file whose SHA-256 begins with these digits: the same
    file gives the same names wherever it stands, a changed one gives others. A copy of a shipped
    file holds samples of ours.

    Raises:
        UsageError: as `read`.
    """
    found, digest = read(path, form, task), sha256(path.read_bytes()).hexdigest()
    if not all(one.task for one in found):
        raise UsageError(f"{path} does not say of which task its records are; write TASK={path}")
    if digest in {sha256(file.read_bytes()).hexdigest() for file in places.shipped("tasks").glob("*.jsonl")}:
        return found
    return [msgspec.structs.replace(one, source=one.source or digest[:SOURCE_DIGITS]) for one in found]


def read_text(path: Path) -> str:
    """The text of a file, with or without a byte order mark.

    Raises:
        UsageError: it cannot be read, or is no UTF-8 (with the line).
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}, line {line}: no UTF-8 text; save the file as UTF-8") from error


def records(path: Path, text: str) -> Iterator[tuple[_Place, Record]]:
    """The records of JSON lines, or of one JSON list, with their places.

    Raises:
        UsageError: a line is no JSON object.
    """
    if text.lstrip().startswith("["):
        for number, value in enumerate(_json(path, text, 0)):
            yield _object(_Place(path, 0, f"record {number + 1}"), value)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _object(_Place(path, number), _json(path, line, number))


def _json(path: Path, text: str, line: int) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise _Place(path, line).error("", f"no JSON ({error})") from error


def _object(place: _Place, value: Any) -> tuple[_Place, Record]:
    if not isinstance(value, dict):
        raise place.error("", f"a record must be an object, not {_kind(value)}")
    return place, value


def recognised(path: Path, text: str) -> str:
    """The format of a file, from its name and its first record.

    Raises:
        UsageError: it is none that is known.
    """
    if path.suffix == ".tsv":
        return "mgsm"
    if path.suffix == ".json" and text.lstrip().startswith("{") and "\n" in text.strip():
        return "arc" if _is_arc(_json(path, text, 0)) else _by_fields(path, text)
    return _by_fields(path, text)


def _by_fields(path: Path, text: str) -> str:
    _, first = next(records(path, text), (None, None))
    if first is None:
        raise UsageError(f"{path}: there are no records in the file")
    if _is_arc(first):
        return "arc"
    for form, fields in SIGNS.items():
        if fields <= first.keys():
            return "mp" if form == "plain" and authors_task(path) else form
    raise UsageError(
        f"{path}: cannot tell the format from the fields {', '.join(map(repr, first))}; "
        f"give --format: {', '.join(FORMATS)}"
    )


def authors_task(path: Path) -> str:
    """The task id that the authors' file name stands for; empty for other names."""
    stem = path.name.removesuffix(".jsonl").removesuffix("-zero-shot-cot")
    return AUTHORS.get(stem, "")


def _own(path: Path, text: str, task: str) -> Iterator[Sample]:
    seen = set[str]()
    for place, record in records(path, text):
        for field in ("input", "target"):
            place.text(record, field)
        try:
            found = decode(msgspec.json.encode(record))
        except (msgspec.ValidationError, UsageError) as error:
            raise place.error("", str(error)) from error
        if not (found.task or task):
            raise place.error("task", "it is missing; give --task")
        known = _known(place, found, task)
        if known.index < 0 or known.id in seen:
            raise place.error("index", "it must be a number from 0 that no sample of the task has before it")
        seen.add(known.id)
        yield known


def _known(place: _Place, found: Sample, task: str) -> Sample:
    try:
        family(found.task or task)
    except UsageError as error:
        raise place.error("task", str(error)) from error
    return found if found.task else msgspec.structs.replace(found, task=task)


def _mp(path: Path, text: str, task: str) -> Iterator[Sample]:
    task = task or authors_task(path)
    if not task:
        raise UsageError(f"{path}: the name is none of the authors' files; give --task")
    for index, (place, record) in enumerate(records(path, text)):
        meta = {name: record[name] for name in PUZZLE_FIELDS if name in record}
        yield Sample(
            input=place.text(record, "input"),
            target=place.text(record, "target"),
            task=task,
            index=index,
            meta=meta,
        )


def _plain(path: Path, text: str, task: str) -> Iterator[Sample]:
    for index, (place, record) in enumerate(records(path, text)):
        yield Sample(
            input=place.text(record, "input"), target=place.text(record, "target"), task=task, index=index
        )


def _gsm8k(path: Path, text: str, task: str) -> Iterator[Sample]:
    for index, (place, record) in enumerate(records(path, text)):
        solution, mark, gold = place.text(record, "answer").rpartition("####")
        if not mark:
            raise place.error("answer", "it has no #### before the number")
        target = _number(place, "answer", gold)
        meta = {"language": "en", "solution": solution.strip()}
        yield Sample(
            input=place.text(record, "question"), target=target, task=task or "mgsm", index=index, meta=meta
        )


def _number(place: _Place, field: str, text: str) -> str:
    """A gold number without the commas of thousands (with them it could never be matched).

    What the graders cannot read (`nan`, `1_000`, a hundred digits) is refused here: there every
    answer would count as wrong."""
    plain = text.strip().replace(",", "")
    if len(plain) > MOST_DIGITS or not _NUMBER.fullmatch(plain):
        raise place.error(field, f"{text.strip()[:80]!r} is no number")
    return plain


def _math500(path: Path, text: str, task: str) -> Iterator[Sample]:
    for index, (place, record) in enumerate(records(path, text)):
        meta = {name: record[name] for name in ("subject", "level", "unique_id") if name in record}
        yield Sample(
            input=place.text(record, "problem"),
            target=place.text(record, "answer"),
            task=task or "math",
            index=index,
            meta=meta,
        )


def _theoremqa(path: Path, text: str, task: str) -> Iterator[Sample]:
    """Questions with a picture are left out: nobody here can see it."""
    for index, (place, record) in enumerate(records(path, text)):
        if record.get("Picture"):
            continue
        kind = place.text(record, "Answer_type") if "Answer_type" in record else ""
        target, found = _theorem_answer(place, record.get("Answer"))
        meta = {"answer_type": kind.strip().lower() or found}
        yield Sample(
            input=place.text(record, "Question"),
            target=target,
            task=task or "theorem",
            index=index,
            meta=meta,
        )


def _theorem_answer(place: _Place, answer: Any) -> tuple[str, str]:
    """An answer as text, and its type where the record does not say it."""
    match answer:
        case bool():
            return ("yes" if answer else "no"), "bool"
        case int():
            return str(answer), "integer"
        case float():
            return repr(answer), "float"
        case list():
            return json.dumps(answer), "list"
        case str() if answer.strip():
            return answer.strip(), "option" if answer.strip(" ()").isalpha() else "float"
    raise place.error("Answer", "it is missing" if answer is None else f"it cannot be {_kind(answer)}")


def _mgsm(path: Path, text: str, task: str) -> Iterator[Sample]:
    task = task or path.stem.lower()
    try:
        family(task)
    except UsageError as error:
        raise UsageError(
            f"{path}: the name says no language ({error}); give --task, such as mgsm_de"
        ) from error
    index = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        question, tab, answer = line.rstrip("\r").rpartition("\t")
        place = _Place(path, number)
        if not tab:
            raise place.error("answer", "there is no tab before it")
        yield Sample(input=question, target=_number(place, "answer", answer), task=task, index=index)
        index += 1


def _is_arc(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    some = value if "train" in value else next(iter(value.values()), None)
    return (
        isinstance(some, dict) and isinstance(some.get("train"), list) and isinstance(some.get("test"), list)
    )


def _arc(path: Path, text: str, task: str) -> Iterator[Sample]:
    """One task a file, or an object of tasks by name; each test grid is a sample."""
    whole = _json(path, text, 0)
    if not _is_arc(whole):
        raise UsageError(f"{path}: no ARC task; it needs the lists 'train' and 'test'")
    tasks = {path.stem: whole} if "train" in whole else whole
    index = 0
    for name, one in tasks.items():
        place = _Place(path, 0, f"task {name}")
        if not (isinstance(one, dict) and _is_arc(one)):
            raise place.error("", "it needs the lists 'train' and 'test'")
        pairs = [(_grid(place, p, "input"), _grid(place, p, "output")) for p in one["train"]]
        for number, pair in enumerate(one["test"]):
            target = written(_grid(place, pair, "output"))
            meta = {"arc": name, "test": number}
            question = worded(pairs, _grid(place, pair, "input"))
            yield Sample(input=question, target=target, task=task or "grids", index=index, meta=meta)
            index += 1


def _grid(place: _Place, pair: Any, field: str) -> list[list[int]]:
    grid = pair.get(field) if isinstance(pair, dict) else None
    rows = grid if isinstance(grid, list) else []
    digits = all(
        isinstance(row, list) and row and all(type(c) is int and 0 <= c <= 9 for c in row) for row in rows
    )
    if not rows or not digits or len({len(row) for row in rows}) != 1:
        raise place.error(field, "it must be a grid: lists of equally many colours 0 to 9")
    return rows


Reader = Callable[[Path, str, str], Iterator[Sample]]

FORMATS: dict[str, Reader] = {
    "own": _own,
    "mp": _mp,
    "gsm8k": _gsm8k,
    "math500": _math500,
    "theoremqa": _theoremqa,
    "mgsm": _mgsm,
    "arc": _arc,
    "plain": _plain,
}
"""Format -> its reader. `mp` is the meta-prompting authors' JSONL."""

SIGNS: dict[str, set[str]] = {
    "own": {"input", "target", "task"},
    "gsm8k": {"question", "answer"},
    "math500": {"problem", "answer"},
    "theoremqa": {"Question", "Answer"},
    "plain": {"input", "target"},
}
"""Fields of a first record that tell a format."""

SUFFIXES: Sequence[str] = (".jsonl", ".json", ".tsv")
