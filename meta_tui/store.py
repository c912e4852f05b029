"""Where runs, cassettes, instructions, cache and settings live, and how they are found.

One folder of the user's holds everything (`META_TUI_HOME`, else the platform's data folder). The
run list comes from an index that can be deleted at any time: it is rebuilt from the logs, which
alone count. This module never changes a log.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from meta_tui.errors import LogError, UsageError
from meta_tui.events import CodeStarted, Replied, Requested, RoundStarted, RunFinished, paid
from meta_tui.nearest import did_you_mean
from meta_tui.places import shipped
from meta_tui.runlog import Recording, read

__all__ = [
    "Home",
    "Index",
    "Instruction",
    "RunSummary",
    "find",
    "find_all",
    "home",
    "load_instruction",
    "logs_in",
    "new_run_id",
    "own_runs",
    "run_id",
    "save_instruction",
    "shipped",
    "summarise",
    "summary",
]

INDEX_VERSION = 3
EXCERPT = 200
"""Characters of a question or an answer that the index keeps."""


class RunSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the run list.

    Attributes:
        id: name of the run, unique in its folder.
        path: the log.
        status: status of the run, or `unfinished`, or `damaged` (then `reason` is the error).
        at: start in seconds since the epoch; None where the log has no times.
        seconds: from the first to the last event.
        cost: dollars paid for its replies; None if any price is unknown.
        cached: calls answered by the cache.
    """

    id: str
    path: str
    method: str = ""
    model: str = ""
    task: str = ""
    sample: str = ""
    origin: str = ""
    question: str = ""
    status: str = ""
    reason: str = ""
    answer: str | None = None
    rounds: int = 0
    calls: int = 0
    code_runs: int = 0
    tokens: int | None = None
    cost: float | None = None
    cached: int = 0
    at: float | None = None
    seconds: float | None = None
    size: int = 0
    note: str = ""
    parent: str = ""
    repeat: str = "0"


@dataclass(frozen=True, slots=True)
class Home:
    """The user's folder and what is in it."""

    root: Path

    @property
    def runs(self) -> Path:
        """Run logs, one file a run."""
        return self.root / "runs"

    @property
    def cache(self) -> Path:
        """The reply cache; may be deleted at any time."""
        return self.root / "cache"

    @property
    def instructions(self) -> Path:
        """Named instructions, one JSON file each."""
        return self.root / "instructions"

    @property
    def knowledge(self) -> Path:
        """What runs left behind for later ones, one JSON file each."""
        return self.root / "knowledge"

    @property
    def index(self) -> Path:
        """The index of the run list; may be deleted at any time."""
        return self.root / "index.sqlite"

    @property
    def config(self) -> Path:
        """The user's settings."""
        return self.root / "config.toml"


def home() -> Home:
    """The user's folder: `META_TUI_HOME`, else the platform's data folder."""
    own = os.environ.get("META_TUI_HOME")
    if own:
        return Home(Path(own).expanduser())
    from platformdirs import user_data_path

    return Home(user_data_path("meta-tui", appauthor=False))


def new_run_id() -> str:
    """A name for a new run that sorts by time, to a fraction of a second: `20260131-174502-3f9c7a`."""
    now = time.time()
    clock = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{clock}-{int(now % 1 * 65536):04x}{secrets.token_hex(1)}"


def logs_in(folder: Path) -> list[Path]:
    """All run logs below a folder, sorted; HTTP recordings and an evaluation's samples are none."""
    found = (p for p in folder.rglob("*.jsonl") if "http" not in p.relative_to(folder).parts[:-1])
    return sorted(
        p for p in found if not (p.name == "samples.jsonl" and p.with_name("evaluation.json").exists())
    )


def find(name: str) -> Path:
    """The log that a person means: a path, a run id or a unique start of one, a shipped
    cassette's name, or `last`.

    Raises:
        UsageError: nothing or several things have that name.
    """
    path = Path(name)
    if name and path.exists():
        return path
    runs = home().runs
    stems = {p.stem: p for p in logs_in(shipped("cassettes"))} | {run_id(p, runs): p for p in _own_logs()}
    if name == "last" and (own := _own_logs()):
        return max(own, key=lambda p: p.stem)
    if name in stems:
        return stems[name]
    found = [stem for stem in stems if stem.startswith(name)] if name else []
    if len(found) == 1:
        return stems[found[0]]
    if found:
        raise UsageError(f"{name!r} is the start of {len(found)} runs ({', '.join(sorted(found)[:4])}, ...)")
    near = did_you_mean(name, stems) or ";"
    raise UsageError(
        f"no run or file {name!r}{near} `meta-tui runs` lists runs, `meta-tui demo --list` the cassettes"
    )


def run_id(path: Path, folder: Path) -> str:
    """A run's name in a folder: the path below it, without its ending."""
    return path.relative_to(folder).with_suffix("").as_posix()


def find_all(names: Iterable[str]) -> list[Path]:
    """The logs that names mean, folders opened.

    Raises:
        UsageError: a name means nothing, or a folder holds no log.
    """
    found: list[Path] = []
    for name in names:
        path = find(name)
        inside = logs_in(path) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} holds no run logs (*.jsonl)")
        found += inside
    return found


def _own_logs() -> list[Path]:
    runs = home().runs
    return logs_in(runs) if runs.is_dir() else []


def summary(path: Path, id_: str | None = None) -> RunSummary:
    """What the run list shows of a log; a damaged log is a summary too."""
    try:
        recording = read(path)
    except LogError as error:
        size = path.stat().st_size if path.exists() else 0
        return RunSummary(id_ or path.stem, str(path), status="damaged", reason=str(error), size=size)
    return summarise(recording, path, id_)


def _excerpt(text: str) -> str:
    """The beginning of a text; one that goes on ends with a sign of it."""
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def summarise(recording: Recording, path: Path, id_: str | None = None) -> RunSummary:
    """The summary of a recording that was read already."""
    started, events = recording.started, recording.events
    finished = next((e for e in reversed(events) if isinstance(e, RunFinished)), None)
    replies = [e for e in events if isinstance(e, Replied)]
    usages = [e.reply.usage for e in replies]
    began = started.at if started.parent and started.parent.line else None
    times = [e.at for e in events if e.at is not None and (began is None or e.at >= began)]
    return RunSummary(
        id_ or path.stem,
        str(path),
        started.method,
        started.model,
        started.task or (started.source.task if started.source else ""),
        started.sample,
        started.origin,
        _excerpt(started.question),
        finished.status if finished else "unfinished",
        finished.reason if finished else "",
        None if recording.answer is None else _excerpt(recording.answer),
        max((e.number for e in events if isinstance(e, RoundStarted)), default=0),
        sum(isinstance(e, Requested) for e in events),
        sum(isinstance(e, CodeStarted) for e in events),
        sum(u.total for u in usages if u) if replies and all(usages) else None,
        _cost(replies),
        sum(e.how is not None and e.how.source == "cache" for e in replies),
        started.at,
        round(max(times) - min(times), 3) if times else None,
        recording.size,
        started.note,
        started.parent.run if started.parent else "",
        started.repeat,
    )


def _cost(replies: list[Replied]) -> float | None:
    """Dollars paid for the replies; None if one has no known price or there is none."""
    costs = [paid(event.how) for event in replies]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if replies and len(known) == len(replies) else None


class Index:
    """The run list of a folder, kept in SQLite beside it and brought up to date on every look.

    Raises:
        UsageError: the index cannot be written where it should stand.
    """

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder = folder
        self.index = index

    def summaries(self) -> list[RunSummary]:
        """All runs, newest first. Only logs that are new or changed are read.

        An index that is damaged is thrown away and built anew: the logs alone count.
        """
        if not self.folder.is_dir():
            return []
        try:
            return self._look()
        except (sqlite3.DatabaseError, msgspec.DecodeError) as error:
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise UsageError(f"cannot use the run index {self.index}: {error}") from error
            self._remove()
            return self._look()
        except OSError as error:
            raise UsageError(f"cannot use the run index {self.index}: {error.strerror}") from error

    def rebuild(self) -> int:
        """Throw the index away and read every log again; how many there are."""
        self._remove()
        return len(self.summaries())

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.index}{suffix}").unlink(missing_ok=True)

    def _look(self) -> list[RunSummary]:
        with self._open() as db:
            self._refresh(db)
            rows = db.execute("SELECT summary FROM runs ORDER BY started DESC, id DESC").fetchall()
        decode = msgspec.json.Decoder(RunSummary).decode
        return [decode(row[0]) for row in rows]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.index.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.index, timeout=10, isolation_level=None)
        try:
            self._prepare(db)
            yield db
        finally:
            db.close()

    def _prepare(self, db: sqlite3.Connection) -> None:
        if db.execute("PRAGMA user_version").fetchone()[0] != INDEX_VERSION:
            db.execute("DROP TABLE IF EXISTS runs")
            db.execute(
                "CREATE TABLE IF NOT EXISTS runs(path TEXT PRIMARY KEY, id TEXT, mtime INTEGER, size INTEGER, "
                "started REAL, summary BLOB)"
            )
            db.execute(f"PRAGMA user_version={INDEX_VERSION}")

    def _refresh(self, db: sqlite3.Connection) -> None:
        known = {row[0]: (row[1], row[2]) for row in db.execute("SELECT path, mtime, size FROM runs")}
        present = dict(_stats(self.folder))
        gone = [(path,) for path in known.keys() - present.keys()]
        new = [path for path, stat in present.items() if known.get(path) != stat]
        if not gone and not new:
            return
        db.execute("BEGIN IMMEDIATE")
        db.executemany("DELETE FROM runs WHERE path=?", gone)
        for path in new:
            row = summary(Path(path), run_id(Path(path), self.folder))
            db.execute(
                "INSERT OR REPLACE INTO runs VALUES(?,?,?,?,?,?)",
                (path, row.id, *present[path], row.at or 0.0, msgspec.json.encode(row)),
            )
        db.execute("COMMIT")


def _stats(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _stats(Path(entry.path))
            elif entry.name.endswith(".jsonl") and not entry.name.startswith("."):
                stat = entry.stat()
                yield entry.path, (stat.st_mtime_ns, stat.st_size)


def own_runs() -> Index:
    """The index of the user's own runs."""
    place = home()
    return Index(place.runs, place.index)


class Instruction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named instruction that a user imported or wrote: settings of `meta_prompting`."""

    name: str
    origin: str
    settings: dict[str, str]


def save_instruction(instruction: Instruction) -> Path:
    """Keep a named instruction in the user's folder; the same name is replaced."""
    path = home().instructions / f"{instruction.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(instruction), indent=1) + b"\n")
    return path


def load_instruction(name: str) -> Instruction:
    """A named instruction.

    Raises:
        UsageError: there is none of that name, or its file is damaged.
    """
    folder = home().instructions
    names = sorted(p.stem for p in folder.glob("*.json")) if folder.is_dir() else []
    if name not in names:
        known = f"there are {', '.join(names)}" if names else "`meta-tui import published` registers one"
        raise UsageError(f"no instruction {name!r}; {known}")
    try:
        return msgspec.json.decode((folder / f"{name}.json").read_bytes(), type=Instruction)
    except msgspec.DecodeError as error:
        raise UsageError(f"instruction {name}: {error}; import or write it again") from error
