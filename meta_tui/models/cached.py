"""Replies that were paid for once: a cache on disk, and one request for many who ask the same.

The only module that imports diskcache. A look-up is (repeat, key, strand, draw, base URL without
credentials); what is stored is JSON text and never a pickle, nothing is ever evicted, and the
whole directory may be deleted at any time. It is no cassette: that is a run log. Errors, empty,
filtered and cut replies do not get here or are not kept; a reply that hit its token limit is
given to the run but kept for nobody else.
"""

from __future__ import annotations

import asyncio
import copy
import errno
import functools
import os
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import msgspec

from meta_tui.chat import Reply, Value, canonical_json, embed_key
from meta_tui.errors import RecordError, UsageError
from meta_tui.events import How
from meta_tui.models.base import Answer, Attempt, Call, Embedder, Model, Tell, decode_vector, encode_vector

T = TypeVar("T")

VERSION = 1
PATIENCE = 10.0
"""Seconds to wait for another process that writes."""

NOT_KEPT = {"length", "content_filter"}
"""Finish reasons of replies that must not answer anybody else."""

_FILE = re.compile(r"[0-9a-f]{2}[/\\][0-9a-f]{2}[/\\][0-9a-f]{28}\.val")


class Entry(Value, frozen=True):
    """A stored reply. `paid` is what it cost when it was asked for, None if unknown."""

    v: int
    model: str
    reply: Reply
    provider_id: str = ""
    sent: Any = None
    paid: float | None = None


@dataclass(frozen=True, slots=True)
class Stats:
    """What a cache holds: replies in all and by model, bytes on disk, dollars paid for them.

    `paid` counts known prices only; `unpriced` is the number of replies without one.
    """

    entries: int = 0
    size: int = 0
    paid: float = 0.0
    unpriced: int = 0
    models: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: entries that can be read, and one line for each thing that is wrong."""

    entries: int
    problems: tuple[str, ...] = ()


def look_up(call: Call, base_url: str | None = None) -> str:
    """The name under which the reply to a call is stored."""
    place = [VERSION, call.repeat, call.request.key, call.strand, call.draw, bare_url(base_url)]
    return canonical_json(place).decode()


def bare_url(url: str | None) -> str:
    """A base URL without credentials, query, fragment and last slash; "" for None."""
    if not url:
        return ""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme.lower(), host, parts.path.rstrip("/"), "", ""))


class CachedModel:
    """A model that asks the one below only what was not asked before.

    Identical look-ups under way at the same time are sent once; share one instance among all runs
    of a process for that. Several processes may share the directory.

    Args:
        model: answers what is not stored.
        directory: where the cache lives; made (mode 0700) at the first call.
        base_url: address of the model, part of every look-up: two servers may serve one name.
    """

    def __init__(self, model: Model, directory: Path, base_url: str | None = None) -> None:
        self.model = model
        self._base_url = base_url
        self._store = _Store(directory)
        self._flights: dict[tuple[str, bool], _Flight] = {}

    def close(self) -> None:
        """Closes the files. Calls after it open them again."""
        self._store.close()

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The stored reply in one piece, or the reply of the model below in its pieces.

        A hit costs nothing: what was paid for it was counted then.

        Raises:
            UsageError: the cache cannot be read; the message says what to do.
            RecordError: the disk is full, found before anything was asked.
            CallFailed: whatever the model below raises, the same for all who wait for it.
        """
        begun = time.monotonic()
        name = look_up(call, self._base_url)
        flight = self._flights.get((name, call.fresh)) or self._take_off(name, call)
        answer = await flight.join(tell)
        if flight.shared(answer):
            return _for_nothing(answer, round((time.monotonic() - begun) * 1000))
        return answer

    def _take_off(self, name: str, call: Call) -> _Flight:
        flight = self._flights[name, call.fresh] = _Flight(functools.partial(self._forget, name, call.fresh))
        flight.start(self._fetch(name, call, flight.tell))
        return flight

    def _forget(self, name: str, fresh: bool, flight: _Flight) -> None:
        if self._flights.get((name, fresh)) is flight:
            del self._flights[name, fresh]

    async def _fetch(self, name: str, call: Call, tell: Tell) -> Answer:
        if not call.fresh and (entry := await self._store.get(name)) is not None:
            if entry.reply.text:
                tell(entry.reply.text)
            how = How("cache", cost=0.0, price=entry.paid, sent=entry.sent, provider_id=entry.provider_id)
            return Answer(entry.reply, how)
        answer = await self.model.answer(call, tell)
        return await self._keep(name, call, answer) if may_be_kept(answer.reply) else answer

    async def _keep(self, name: str, call: Call, answer: Answer) -> Answer:
        """Stores a reply; the first of two processes wins, and both give its reply."""
        how = answer.how or How()
        entry = Entry(VERSION, call.request.params.model, answer.reply, how.provider_id, how.sent, how.cost)
        kept, trouble = await self._store.put(name, entry, call.fresh)
        if trouble:
            return Answer(answer.reply, msgspec.structs.replace(how, note=f"not cached: {trouble}"))
        return Answer(kept.reply, answer.how)


class CachedEmbedder:
    """An embedder that asks the one below only for texts whose vectors are not stored.

    A look-up is (model, texts, base URL); equal texts have equal vectors, whoever asks.

    Args:
        embedder, directory, base_url: as those of `CachedModel`.
        fresh: nothing is read; what is stored is replaced.
    """

    def __init__(
        self, embedder: Embedder, directory: Path, base_url: str | None = None, *, fresh: bool = False
    ) -> None:
        self.embedder = embedder
        self._base_url = base_url
        self._fresh = fresh
        self._store = _Store(directory)

    def close(self) -> None:
        """Closes the files. Calls after it open them again."""
        self._store.close()

    async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
        """One vector of floats a text, in order, to the precision of 32 bits.

        Raises:
            UsageError: the cache cannot be read; the message says what to do.
            CallFailed: whatever the embedder below raises.
        """
        name = canonical_json([VERSION, embed_key(model, texts), bare_url(self._base_url)]).decode()
        if not self._fresh and (entry := await self._store.get(name)) is not None:
            return _vectors(entry.reply.text), How("cache", cost=0.0, price=entry.paid)
        vectors, how = await self.embedder.embed(model, texts)
        text = canonical_json([encode_vector(vector) for vector in vectors]).decode()
        await self._store.put(name, Entry(VERSION, model, Reply(text), paid=how.cost), self._fresh)
        return vectors, how


def _vectors(text: str) -> list[list[float]]:
    return [decode_vector(vector) for vector in msgspec.json.decode(text, type=list[str])]


def may_be_kept(reply: Reply) -> bool:
    """Whether a reply may answer others: it is whole and it says something."""
    said = bool(reply.text.strip() or reply.tool_calls)
    return said and reply.finish_reason not in NOT_KEPT


def _for_nothing(answer: Answer, milliseconds: int) -> Answer:
    """The answer for one who did not pay for it; what can be changed in it is a copy."""
    how = answer.how or How()
    reply = answer.reply if answer.reply.logprobs is None else copy.deepcopy(answer.reply)
    price = how.price if how.source == "cache" else how.cost
    return Answer(
        reply, How("cache", milliseconds, cost=0.0, price=price, sent=how.sent, provider_id=how.provider_id)
    )


@dataclass(eq=False, slots=True)
class _Waiter:
    """One who waits for a flight: its listener, and the end of its waiting."""

    tell: Tell
    end: asyncio.Future[None]

    def hear(self, item: str | Attempt) -> None:
        if self.end.done():
            return
        try:
            self.tell(item)
        except Exception as error:  # noqa: BLE001 - its own affair: the others wait for a reply
            self.end.set_exception(error)


class _Flight:
    """One look-up under way and all who wait for it.

    Whoever joins late hears what was told before. A waiter that leaves does not stop it, the last
    one does. A listener that raises ends its own waiting and hurts nobody else.
    """

    def __init__(self, forget: Callable[[_Flight], None]) -> None:
        self._forget = forget
        self._told: list[str | Attempt] = []
        self._waiting: set[_Waiter] = set()
        self._paid = False

    def start(self, work: Coroutine[Any, Any, Answer]) -> None:
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(self._land)

    def tell(self, item: str | Attempt) -> None:
        if isinstance(item, Attempt):
            self._told.clear()
        self._told.append(item)
        for waiter in tuple(self._waiting):
            waiter.hear(item)

    async def join(self, tell: Tell) -> Answer:
        waiter = _Waiter(tell, asyncio.get_running_loop().create_future())
        self._waiting.add(waiter)
        try:
            for item in self._told:
                tell(item)
            await waiter.end
            return self._task.result()
        finally:
            self._waiting.discard(waiter)
            await self._leave()

    def shared(self, answer: Answer) -> bool:
        """Whether somebody else has this answer already: the first to ask is the one who paid."""
        if answer.how is not None and answer.how.source == "cache":
            return True
        first, self._paid = not self._paid, True
        return not first

    async def _leave(self) -> None:
        if self._waiting or self._task.done():
            return
        self._forget(self)
        self._task.cancel()
        await asyncio.wait([self._task])

    def _land(self, task: asyncio.Task[Answer]) -> None:
        self._forget(self)
        if not task.cancelled():
            task.exception()  # seen here even if all who waited have left
        for waiter in self._waiting:
            if not waiter.end.done():
                waiter.end.set_result(None)


class _Store:
    """The cache's files, reached in one thread of their own so that the loop never waits for them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._cache: Any = None
        self._pool = ThreadPoolExecutor(1, "cache")

    async def get(self, name: str) -> Entry | None:
        return await self._run(self._get, name)

    async def put(self, name: str, entry: Entry, over: bool) -> tuple[Entry, str]:
        """The entry that is stored now, and why none is ("" if one is)."""
        return await self._run(self._put, name, entry, over)

    def close(self) -> None:
        self._pool.submit(self._close).result()

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def _open(self) -> Any:
        if self._cache is None:
            self._cache = _open(self._directory)
        return self._cache

    def _close(self) -> None:
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    def _get(self, name: str) -> Entry | None:
        with _named(self._directory):
            try:
                text = self._open().get(name)
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    return None
                raise
            return None if text is None else _decoded(text)

    def _put(self, name: str, entry: Entry, over: bool) -> tuple[Entry, str]:
        text = msgspec.json.encode(entry).decode()
        try:
            cache = self._open()
            stored = cache.set(name, text) if over else cache.add(name, text)
            return (entry if stored else _decoded(cache.get(name, text))), ""
        except (OSError, sqlite3.Error, ValueError, _timeout()) as error:
            return entry, str(error) or type(error).__name__


def stats(directory: Path) -> Stats:
    """What the cache in a directory holds; nothing, if there is none.

    Raises:
        UsageError: it cannot be read.
    """
    if not _exists(directory):
        return Stats()
    with _named(directory), closing(_open(directory)) as cache:
        entries = [_decoded(cache[name]) for name in cache]
        size = cache.volume()
    paid = [entry.paid for entry in entries if entry.paid is not None]
    models = sorted(Counter(entry.model for entry in entries).items())
    return Stats(len(entries), size, sum(paid), len(entries) - len(paid), tuple(models))


def check(directory: Path, fix: bool = False) -> Checked:
    """Looks at every entry and file; with `fix`, removes what is wrong.

    Raises:
        UsageError: the database itself is damaged: only `clear` helps.
    """
    if not _exists(directory):
        return Checked(0)
    with _named(directory), closing(_open(directory)) as cache:
        problems = list(_bad_entries(cache, fix))
        problems += [str(warning.message) for warning in cache.check(fix=fix)]
        for _ in range(2 if fix else 0):  # a file removed leaves folders that the next round removes
            cache.check(fix=True)
        return Checked(len(cache), tuple(problems))


def clear(directory: Path) -> int:
    """Removes the cache, also a damaged one, and nothing else. Gives the bytes that were freed.

    Raises:
        UsageError: a file cannot be removed.
    """
    freed = 0
    try:
        for path in list(_files(directory)):
            freed += path.stat().st_size
            path.unlink()
        for folder in sorted(directory.glob("??/??"), reverse=True):
            _remove_empty(folder)
            _remove_empty(folder.parent)
    except OSError as error:
        raise UsageError(f"the cache in {directory} cannot be removed: {error}") from error
    return freed


def _files(directory: Path) -> Iterator[Path]:
    for path in directory.glob("cache.db*"):
        if path.name in ("cache.db", "cache.db-wal", "cache.db-shm", "cache.db-journal"):
            yield path
    for path in directory.glob("??/??/*.val"):
        if _FILE.fullmatch(str(path.relative_to(directory))):
            yield path


def _remove_empty(folder: Path) -> None:
    if re.fullmatch(r"[0-9a-f]{2}", folder.name) and not any(folder.iterdir()):
        folder.rmdir()


def _bad_entries(cache: Any, fix: bool) -> Iterator[str]:
    for name in list(cache):
        try:
            _decoded(cache[name])
        except (KeyError, ValueError, OSError) as error:
            yield f"entry {name}: {error}"
            if fix:
                cache.delete(name)


def _exists(directory: Path) -> bool:
    return (directory / "cache.db").is_file()


def _decoded(text: str) -> Entry:
    try:
        entry = msgspec.json.decode(text, type=Entry)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    if entry.v != VERSION:
        raise ValueError(f"version {entry.v} is not {VERSION}")
    return entry


@contextmanager
def _named(directory: Path) -> Iterator[None]:
    """Whatever goes wrong with the files becomes an error that says what to do."""
    try:
        yield
    except (OSError, sqlite3.Error, ValueError, _timeout()) as error:
        if _finds_no_room(error):
            raise RecordError(
                f"the cache in {directory} cannot be written ({error}). Is the disk full? Free some space or "
                "do without a cache (--no-cache), then `meta-tui resume` the run"
            ) from error
        message = (
            f"the cache in {directory} cannot be read ({error}). It holds nothing that a run needs: "
            "run `meta-tui cache check --fix`, or `meta-tui cache clear` to begin anew"
        )
        raise UsageError(message) from error


def _finds_no_room(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_FULL", "SQLITE_IOERR"))


def _open(directory: Path) -> Any:
    import diskcache

    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return diskcache.Cache(
        os.fspath(directory), timeout=PATIENCE, disk=_safe_disk(), eviction_policy="none", cull_limit=0
    )


def _timeout() -> type[Exception]:
    import diskcache

    found: type[Exception] = diskcache.Timeout
    return found


@functools.cache
def _safe_disk() -> Any:
    """diskcache's file layer without its dangers: exact text in and out, no pickle in either
    direction, and no file outside the directory whatever the database says."""
    import diskcache

    class SafeDisk(diskcache.Disk):  # type: ignore[misc]
        def put(self, key: Any) -> Any:
            if not isinstance(key, str):
                raise TypeError("names of a cache are text")
            return super().put(key)

        def get(self, key: Any, raw: bool) -> Any:
            if not raw or not isinstance(key, str):
                raise ValueError("a name is no text")
            return super().get(key, raw)

        def store(self, value: Any, read: bool, key: Any = diskcache.UNKNOWN) -> Any:
            if read or not isinstance(value, str):
                raise TypeError("values of a cache are text")
            return super().store(value.encode("utf-8"), False, key=key)

        def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> str:
            if mode == diskcache.core.MODE_PICKLE:
                raise ValueError("an entry is a pickle")
            if filename is not None and not _FILE.fullmatch(filename):
                raise ValueError("an entry points outside the cache")
            content = super().fetch(mode, filename, value, read)
            if not isinstance(content, bytes):
                raise ValueError("an entry is no text")
            return content.decode("utf-8")

        def remove(self, file_path: str) -> None:
            if _FILE.fullmatch(file_path):
                super().remove(file_path)

    return SafeDisk
