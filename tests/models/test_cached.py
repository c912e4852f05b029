"""What was paid for once is not asked again; what must not answer others is not kept."""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import diskcache
import pytest
from calls import Told, ask

from meta_tui.chat import Reply, ToolCall, Usage
from meta_tui.errors import CallFailed, UsageError
from meta_tui.events import How
from meta_tui.models import cached
from meta_tui.models.base import Answer, Attempt, Call, Tell
from meta_tui.models.cached import CachedEmbedder, CachedModel, bare_url, look_up
from meta_tui.models.scripted import ScriptedModel

PAID = How("live", ms=900, attempts=2, cost=0.25, sent={"seed": 1}, provider_id="p-1")


def whole(text: str = "the reply", **fields: Any) -> Reply:
    return Reply(text, **{"finish_reason": "stop", "usage": Usage(3, 2), **fields})


def numbered() -> ScriptedModel:
    """A model that never gives the same reply twice."""
    count = iter(range(1000))
    return ScriptedModel(lambda _: whole(f"reply {next(count)}"), how=PAID)


async def said(model: CachedModel, call: Call) -> str:
    return (await model.answer(call, Told())).reply.text


async def test_the_second_time_nothing_is_asked_and_nothing_paid(tmp_path: Path) -> None:
    below = numbered()
    model = CachedModel(below, tmp_path)
    first = await model.answer(ask(), Told())
    told = Told()
    second = await model.answer(ask(), told)
    assert len(below.calls) == 1
    assert first.how == PAID
    assert second.reply == first.reply
    assert second.how is not None
    assert (second.how.source, second.how.cost, second.how.attempts) == ("cache", 0.0, 1)
    assert second.how.price == 0.25
    assert (second.how.sent, second.how.provider_id) == ({"seed": 1}, "p-1")
    assert told == ["reply 0"]


async def test_a_later_process_finds_it(tmp_path: Path) -> None:
    await said(CachedModel(numbered(), tmp_path), ask())
    below = numbered()
    assert await said(CachedModel(below, tmp_path), ask()) == "reply 0"
    assert below.calls == []


@pytest.mark.parametrize(
    "other",
    [
        ask("other words"),
        ask(model="other"),
        ask(temperature=0.5),
        ask(extra_body={"grammar": "x"}),
        ask(call={"repeat": "1"}),
        ask(call={"repeat": "fork:r1"}),
        ask(call={"strand": "0"}),
        ask(call={"draw": 1}),
    ],
)
async def test_another_request_repeat_strand_or_draw_is_asked(tmp_path: Path, other: Call) -> None:
    model = CachedModel(numbered(), tmp_path)
    assert await said(model, ask()) == "reply 0"
    assert await said(model, other) == "reply 1"


@pytest.mark.parametrize(
    "same",
    [ask(call={"span": "3/1", "role": "expert", "name": "Expert Cook"}), ask(temperature=None), ask()],
)
async def test_what_is_there_for_people_only_changes_nothing(tmp_path: Path, same: Call) -> None:
    model = CachedModel(numbered(), tmp_path)
    assert await said(model, ask()) == "reply 0"
    assert await said(model, same) == "reply 0"


async def test_two_servers_may_serve_one_name(tmp_path: Path) -> None:
    assert await said(CachedModel(numbered(), tmp_path, "http://one/v1"), ask()) == "reply 0"
    assert await said(CachedModel(numbered(), tmp_path, "http://two/v1"), ask(draw := "hi you")) == "reply 0"
    below = numbered()
    assert await said(CachedModel(below, tmp_path, "http://user:pass@ONE/v1/?key=1"), ask(draw)) == "reply 0"
    assert below.calls == []


def test_credentials_of_an_address_are_no_part_of_it() -> None:
    assert bare_url("HTTPS://me:secret@Example.org:8000/v1/?key=abc#x") == "https://example.org:8000/v1"
    assert bare_url(None) == ""


def test_the_name_of_an_entry_is_fixed_for_ever() -> None:
    call = ask("hello", model="m", call={"strand": "0.1", "draw": 2, "repeat": "3"})
    assert look_up(call, "http://h/v1/") == f'[1,"3","{call.request.key}","0.1",2,"http://h/v1"]'


async def test_fresh_reads_nothing_and_replaces_the_stored_reply(tmp_path: Path) -> None:
    model = CachedModel(numbered(), tmp_path)
    assert await said(model, ask()) == "reply 0"
    assert await said(model, ask(call={"fresh": True})) == "reply 1"
    assert await said(model, ask()) == "reply 1"


NASTY = "a\r\nb\rc\nd\u2028e\x00f\ufffd\U0001f600\x1b[31m \t"


@pytest.mark.parametrize("text", [NASTY, NASTY * 4000, "x" * 10_000_000], ids=["short", "in a file", "10 MB"])
async def test_a_reply_comes_back_byte_for_byte(tmp_path: Path, text: str) -> None:
    reply = whole(
        text,
        tool_calls=(ToolCall("c", "f", '{"a":"\\r"}'),),
        reasoning=NASTY,
        logprobs={"content": [{"token": "a", "logprob": -0.021087, "bytes": [97]}]},
    )
    await said(CachedModel(ScriptedModel([reply]), tmp_path), ask())
    again = await CachedModel(ScriptedModel([]), tmp_path).answer(ask(), Told())
    assert again.reply == reply


@pytest.mark.parametrize(
    "reply",
    [
        whole(""),
        whole(" \n"),
        whole("half", finish_reason="length"),
        whole("no", finish_reason="content_filter"),
    ],
    ids=["empty", "blank", "length", "filtered"],
)
async def test_what_says_nothing_or_is_not_whole_is_given_but_not_kept(tmp_path: Path, reply: Reply) -> None:
    model = CachedModel(ScriptedModel([reply, whole("next")]), tmp_path)
    assert (await model.answer(ask(), Told())).reply == reply
    assert await said(model, ask()) == "next"


async def test_a_reply_of_tool_calls_alone_is_kept(tmp_path: Path) -> None:
    reply = whole("", finish_reason="tool_calls", tool_calls=(ToolCall("c", "f", "{}"),))
    model = CachedModel(ScriptedModel([reply]), tmp_path)
    await model.answer(ask(), Told())
    told = Told()
    assert (await model.answer(ask(), told)).reply == reply
    assert told == []


@pytest.mark.parametrize("kind", ["server", "cut", "filtered", "cancelled", "rate_limit"])
async def test_a_failure_is_not_kept(tmp_path: Path, kind: str) -> None:
    model = CachedModel(ScriptedModel([CallFailed(kind, "no"), whole("now")]), tmp_path)
    with pytest.raises(CallFailed) as failed:
        await model.answer(ask(), Told())
    assert (failed.value.kind, failed.value.message) == (kind, "no")
    assert await said(model, ask()) == "now"


async def test_nothing_is_ever_evicted(tmp_path: Path) -> None:
    model = CachedModel(ScriptedModel(lambda _: whole("x" * 20_000)), tmp_path)
    for number in range(60):
        await said(model, ask(str(number)))
    model.close()
    with diskcache.Cache(str(tmp_path), disk=cached._safe_disk()) as cache:
        assert (cache.eviction_policy, cache.cull_limit) == ("none", 0)
    assert cached.stats(tmp_path).entries == 60


class Held:
    """Tells a piece, waits until it is let go, tells another and replies."""

    def __init__(self, reply: Reply | CallFailed, held: bool = True) -> None:
        self.reply = reply
        self.calls = self.cancelled = 0
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        if not held:
            self.go.set()

    async def answer(self, call: Call, tell: Tell) -> Answer:
        self.calls += 1
        tell("the ")
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        tell("reply")
        if isinstance(self.reply, CallFailed):
            raise self.reply
        return Answer(self.reply, PAID)


async def at_once(held: Held, model: CachedModel, number: int, leaving: int = 0) -> list[Any]:
    """What so many get who ask the same while the first is under way; some leave before it ends."""
    tasks = [asyncio.ensure_future(model.answer(ask(), Told())) for _ in range(number)]
    await held.begun.wait()
    for task in tasks[:leaving]:
        task.cancel()
    await asyncio.wait(tasks[:leaving] or [asyncio.ensure_future(asyncio.sleep(0))])
    held.go.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_what_can_be_changed_in_a_reply_belongs_to_each_who_asked(tmp_path: Path) -> None:
    held = Held(whole("r", logprobs={"content": [1]}))
    answers = await at_once(held, CachedModel(held, tmp_path), 3)
    answers[0].reply.logprobs["content"].append(2)
    assert [answer.reply.logprobs for answer in answers[1:]] == [{"content": [1]}] * 2


async def test_a_hundred_who_ask_at_once_send_one_request_even_if_the_first_leaves(tmp_path: Path) -> None:
    held = Held(whole())
    answers = await at_once(held, CachedModel(held, tmp_path), 100, leaving=1)
    assert held.calls == 1
    assert isinstance(answers[0], asyncio.CancelledError)
    assert [answer.reply.text for answer in answers[1:]] == ["the reply"] * 99


async def test_one_of_those_who_wait_has_paid(tmp_path: Path) -> None:
    held = Held(whole())
    answers = await at_once(held, CachedModel(held, tmp_path), 20)
    assert sorted(answer.how.source for answer in answers) == ["cache"] * 19 + ["live"]
    assert sum(answer.how.cost for answer in answers) == 0.25
    assert {answer.how.price for answer in answers if answer.how.source == "cache"} == {0.25}


async def test_all_hear_the_pieces_and_who_comes_late_hears_those_before(tmp_path: Path) -> None:
    held = Held(whole())
    model = CachedModel(held, tmp_path)
    early, late = Told(), Told()
    first = asyncio.ensure_future(model.answer(ask(), early))
    await held.begun.wait()
    second = asyncio.ensure_future(model.answer(ask(), late))
    await asyncio.sleep(0)
    held.go.set()
    await asyncio.gather(first, second)
    assert held.calls == 1
    assert early == late == ["the ", "reply"]


async def test_a_failed_leader_does_not_stampede(tmp_path: Path) -> None:
    held = Held(CallFailed("server", "broke"))
    model = CachedModel(held, tmp_path)
    results = await at_once(held, model, 5)
    assert [(type(r), str(r)) for r in results] == [(CallFailed, "server: broke")] * 5
    assert held.calls == 1
    held.reply = whole("at last")
    assert await said(model, ask()) == "at last"
    assert held.calls == 2


async def test_the_last_who_leaves_ends_the_call_and_the_next_begins_anew(tmp_path: Path) -> None:
    held = Held(whole())
    model = CachedModel(held, tmp_path)
    await at_once(held, model, 3, leaving=3)
    assert (held.calls, held.cancelled) == (1, 1)
    assert await said(model, ask()) == "the reply"
    assert cached.stats(tmp_path).entries == 1


async def test_a_listener_that_fails_hurts_nobody_else(tmp_path: Path) -> None:
    def broken(_: str | Attempt) -> None:
        raise OSError("the log is full")

    model = CachedModel(Held(whole(), held=False), tmp_path)
    results = await asyncio.gather(
        model.answer(ask(), broken), model.answer(ask(), Told()), return_exceptions=True
    )
    assert isinstance(results[0], OSError)
    assert isinstance(results[1], Answer)


async def test_equal_requests_with_other_draws_are_never_merged(tmp_path: Path) -> None:
    held = Held(whole(), held=False)
    model = CachedModel(held, tmp_path)
    await asyncio.gather(*(model.answer(ask(call={"draw": n}), Told()) for n in range(3)))
    assert held.calls == 3


async def test_an_attempt_made_again_voids_the_pieces_before_it(tmp_path: Path) -> None:
    again = Attempt("cut", "broke", 1, 0.0)
    held = Held(whole())

    class Retrying:
        async def answer(self, call: Call, tell: Tell) -> Answer:
            tell("half a ")
            tell(again)
            return await held.answer(call, tell)

    model = CachedModel(Retrying(), tmp_path)
    early, late = Told(), Told()
    first = asyncio.ensure_future(model.answer(ask(), early))
    await held.begun.wait()
    second = asyncio.ensure_future(model.answer(ask(), late))
    await asyncio.sleep(0)
    held.go.set()
    await asyncio.gather(first, second)
    assert early == ["half a ", again, "the ", "reply"]
    assert late == [again, "the ", "reply"]


async def test_the_first_of_two_processes_wins_and_both_give_its_reply(tmp_path: Path) -> None:
    class Overtaken:
        async def answer(self, call: Call, tell: Tell) -> Answer:
            await said(CachedModel(ScriptedModel([whole("theirs")]), tmp_path), call)
            return Answer(whole("mine"), PAID)

    answer = await CachedModel(Overtaken(), tmp_path).answer(ask(), Told())
    assert (answer.reply.text, answer.how) == ("theirs", PAID)


def spoil(directory: Path) -> None:
    for path in directory.glob("cache.db*"):
        path.write_bytes(b"this is no database " * 500)


def all_in(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


async def test_a_damaged_database_is_one_clear_error_and_can_be_cleared(tmp_path: Path) -> None:
    model = CachedModel(numbered(), tmp_path)
    await said(model, ask())
    model.close()
    spoil(tmp_path)
    below = numbered()
    with pytest.raises(UsageError, match="meta-tui cache clear") as error:
        await said(CachedModel(below, tmp_path), ask())
    assert str(tmp_path) in str(error.value)
    assert below.calls == []
    for look in (cached.stats, cached.check):
        with pytest.raises(UsageError, match="cache clear"):
            look(tmp_path)
    assert cached.clear(tmp_path) > 0
    assert await said(CachedModel(numbered(), tmp_path), ask()) == "reply 0"


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def doctor(directory: Path, **columns: Any) -> None:
    with sqlite3.connect(directory / "cache.db") as database:
        names = ", ".join(f"{name} = ?" for name in columns)
        database.execute(f"UPDATE Cache SET {names}", tuple(columns.values()))
    database.close()


@pytest.mark.parametrize("column", ["value", "key"])
async def test_a_pickle_in_a_doctored_database_never_runs(tmp_path: Path, column: str) -> None:
    folder, mark = tmp_path / "cache", tmp_path / "mark"
    model = CachedModel(numbered(), folder)
    await said(model, ask())
    model.close()
    bomb = pickle.dumps(Bomb(mark))
    doctor(folder, **({"value": bomb, "mode": 4} if column == "value" else {"key": bomb, "raw": 0}))
    if column == "value":
        with pytest.raises(UsageError, match="pickle"):
            await said(CachedModel(numbered(), folder), ask())
    with pytest.raises(UsageError) if column == "key" else pytest.raises(UsageError, match="pickle"):
        cached.stats(folder)
    assert not mark.exists()


@pytest.mark.parametrize("mode", [2, 3])
async def test_no_file_outside_the_cache_is_read_or_removed(tmp_path: Path, mode: int) -> None:
    folder, outside = tmp_path / "cache", tmp_path / "outside.val"
    outside.write_text('{"v":1,"model":"m","reply":{"text":"stolen"}}')
    model = CachedModel(numbered(), folder)
    await said(model, ask())
    model.close()
    doctor(folder, filename="../outside.val", mode=mode, value=None)
    with pytest.raises(UsageError, match="outside"):
        await said(CachedModel(numbered(), folder), ask())
    assert len(cached.check(folder, fix=True).problems) > 0
    await said(CachedModel(numbered(), folder), ask(call={"fresh": True}))
    cached.clear(folder)
    assert outside.exists()


async def test_check_names_what_is_wrong_and_removes_it_when_told_to(tmp_path: Path) -> None:
    model = CachedModel(ScriptedModel(lambda call: whole(call.request.messages[0].content)), tmp_path)
    for text in ("good", "bad", "z" * 50_000):
        await said(model, ask(text))
    model.close()
    assert cached.check(tmp_path) == cached.Checked(3)
    with sqlite3.connect(tmp_path / "cache.db") as database:
        database.execute(
            "UPDATE Cache SET value = ? WHERE CAST(value AS TEXT) LIKE '%bad%'", (b'{"v":1,"reply"',)
        )
    database.close()
    orphan = tmp_path / "ab" / "cd" / ("0" * 28 + ".val")
    orphan.parent.mkdir(parents=True)
    orphan.write_text("left over by a killed process")
    found = cached.check(tmp_path)
    assert found.entries == 3
    assert len(found.problems) == 2
    assert orphan.exists()
    cached.check(tmp_path, fix=True)
    assert cached.check(tmp_path) == cached.Checked(2)
    assert not orphan.exists()


async def test_stats_say_what_there_is(tmp_path: Path) -> None:
    assert cached.stats(tmp_path) == cached.Stats()
    assert all_in(tmp_path) == []
    model = CachedModel(ScriptedModel(lambda _: whole(), how=PAID), tmp_path)
    for name in ("m1", "m1", "m2"):
        await said(model, ask(name, model=name))
    await said(model, ask("two", model="m1"))
    free = CachedModel(ScriptedModel(lambda _: whole(), how=How("live")), tmp_path)
    await said(free, ask("three", model="m3"))
    found = cached.stats(tmp_path)
    assert (found.entries, found.paid, found.unpriced) == (4, 0.75, 1)
    assert found.models == (("m1", 2), ("m2", 1), ("m3", 1))
    assert found.size > 0


async def test_clear_removes_the_cache_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "mine.val").write_text("mine too")
    model = CachedModel(ScriptedModel(lambda _: whole("x" * 50_000)), tmp_path)
    await said(model, ask())
    model.close()
    assert cached.clear(tmp_path) > 50_000
    assert all_in(tmp_path) == ["ab", "ab/mine.val", "notes.txt"]
    assert cached.clear(tmp_path / "nowhere") == 0


async def test_the_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "cache"
    await said(CachedModel(numbered(), folder), ask())
    assert folder.stat().st_mode & 0o777 == 0o700


def run_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    script = textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


SHARING = """
    import asyncio, sys
    from pathlib import Path
    from meta_tui.chat import Params, Reply, Request, user
    from meta_tui.models.base import Call
    from meta_tui.models.cached import CachedModel
    from meta_tui.models.scripted import ScriptedModel

    async def main():
        below = ScriptedModel(lambda call: Reply(sys.argv[2] + call.request.messages[0].content * 50))
        model = CachedModel(below, Path(sys.argv[1]))
        for n in range(100):
            call = Call(Request((user(f"question {n}"),), Params("m")))
            print((await model.answer(call, lambda _: None)).reply.text[:4])

    asyncio.run(main())
"""


def test_two_processes_share_a_cache_without_an_error(tmp_path: Path) -> None:
    both = [run_python(SHARING, str(tmp_path), name) for name in ("AAAA", "BBBB")]
    outputs = [process.communicate(timeout=100) for process in both]
    assert [(process.returncode, error) for process, (_, error) in zip(both, outputs, strict=True)] == [
        (0, "")
    ] * 2
    assert outputs[0][0] == outputs[1][0]
    assert cached.stats(tmp_path).entries == 100
    assert cached.check(tmp_path) == cached.Checked(100)


FULL = """
    import asyncio, resource, signal, sys
    from pathlib import Path
    from meta_tui.chat import Params, Reply, Request, user
    from meta_tui.models.base import Call
    from meta_tui.models.cached import CachedModel
    from meta_tui.models.scripted import ScriptedModel

    async def main():
        model = CachedModel(ScriptedModel(lambda call: Reply("x" * 40_000)), Path(sys.argv[1]))
        await model.answer(Call(Request((user("first"),))), lambda _: None)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        answer = await model.answer(Call(Request((user("second"),))), lambda _: None)
        print(len(answer.reply.text), answer.how.source, answer.how.note)

    asyncio.run(main())
"""


def test_a_reply_that_no_longer_fits_on_the_disk_is_given_all_the_same(tmp_path: Path) -> None:
    process = run_python(FULL, str(tmp_path))
    output, error = process.communicate(timeout=60)
    assert error == ""
    assert output.startswith("40000 written not cached: ")


class Embedding:
    """Vectors that are numbered by the request; `asked` keeps what was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
        self.asked.append((model, tuple(texts)))
        return [[float(len(self.asked)), 0.5] for _ in texts], How("live", ms=3, cost=0.25)


async def test_vectors_of_the_same_texts_are_asked_for_once(tmp_path: Path) -> None:
    below = Embedding()
    first, paid = await CachedEmbedder(below, tmp_path).embed("m", ["a", "b"])
    second, how = await CachedEmbedder(below, tmp_path).embed("m", ["a", "b"])
    assert first == second == [[1.0, 0.5]] * 2
    assert (paid.source, paid.cost, how.source, how.cost, how.price) == ("live", 0.25, "cache", 0.0, 0.25)
    assert len(below.asked) == 1
    assert cached.stats(tmp_path).models == (("m", 1),)
    assert cached.check(tmp_path).problems == ()


async def test_other_texts_models_and_servers_have_vectors_of_their_own(tmp_path: Path) -> None:
    below = Embedding()
    for model, texts, url in (
        ("m", "ab", None),
        ("m", "ba", None),
        ("n", "ab", None),
        ("m", "ab", "http://x"),
    ):
        await CachedEmbedder(below, tmp_path, url).embed(model, list(texts))
    assert len(below.asked) == 4


async def test_fresh_vectors_replace_those_that_are_stored(tmp_path: Path) -> None:
    below = Embedding()
    await CachedEmbedder(below, tmp_path).embed("m", ["a"])
    assert (await CachedEmbedder(below, tmp_path, fresh=True).embed("m", ["a"]))[0] == [[2.0, 0.5]]
    assert (await CachedEmbedder(below, tmp_path).embed("m", ["a"]))[0] == [[2.0, 0.5]]


async def test_a_failed_embedding_is_not_kept(tmp_path: Path) -> None:
    class Down:
        async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
            raise CallFailed("server", "down")

    with pytest.raises(CallFailed):
        await CachedEmbedder(Down(), tmp_path).embed("m", ["a"])
    assert (await CachedEmbedder(Embedding(), tmp_path).embed("m", ["a"]))[0] == [[1.0, 0.5]]
