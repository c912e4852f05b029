"""Live calls against a real HTTP server that behaves as badly as servers do."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calls import Told, ask
from scripted_server import (
    Behaviour,
    ScriptedServer,
    cut,
    drip,
    echo_key,
    empty,
    error_in_stream,
    failing,
    filtered,
    html,
    malformed,
    nothing,
    ok,
    one_piece,
    rate_limited,
    refused_by_filter,
    say_key,
    silent,
    stalled,
    unfinished,
)

from meta_tui.chat import Message, Params, Request, ToolCall, Usage, system, user
from meta_tui.errors import CallFailed, UsageError
from meta_tui.models.base import Attempt, Call
from meta_tui.models.cached import CachedModel, stats
from meta_tui.models.litellm_model import LitellmEmbedder, LitellmModel
from meta_tui.models.secrets import HIDDEN

Make = Callable[..., LitellmModel]
MakeEmbedder = Callable[..., LitellmEmbedder]
TOOL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "\u00e9"}'}}
LOGPROBS = {"content": [{"token": "a", "logprob": -0.25, "bytes": [97], "top_logprobs": []}]}


async def failure(model: LitellmModel, told: Told | None = None, call: Call | None = None) -> CallFailed:
    with pytest.raises(CallFailed) as failed:
        await model.answer(call or ask(), told if told is not None else Told())
    return failed.value


async def test_a_reply_comes_whole_with_what_the_provider_counted(
    server: ScriptedServer, litellm_model: Make
) -> None:
    server.play(ok("one two three"))
    told = Told()
    answer = await litellm_model(server.url).answer(ask("hi you there"), told)
    assert answer.reply.text == told.text == "one two three"
    assert answer.reply.usage == Usage(prompt_tokens=3, completion_tokens=3)
    assert answer.reply.finish_reason == "stop"
    assert answer.how is not None
    assert (answer.how.source, answer.how.attempts, answer.how.provider_id) == ("live", 1, "scripted-1")
    assert answer.how.ms is not None
    assert server.count == 1


async def test_pieces_are_told_while_the_reply_is_being_made(
    server: ScriptedServer, litellm_model: Make
) -> None:
    server.play(ok("one two three four", every=0.1))
    heard: list[tuple[float, str | Attempt]] = []
    await litellm_model(server.url).answer(ask(), lambda piece: heard.append((time.monotonic(), piece)))
    assert [piece for _, piece in heard] == ["one ", "two ", "three ", "four"]
    assert heard[-1][0] - heard[0][0] >= 0.25


async def test_what_is_sent_is_a_streamed_request_and_nothing_more(
    server: ScriptedServer, litellm_model: Make
) -> None:
    messages = (
        system("be \u00e9"),
        user("q"),
        Message("assistant", "", (ToolCall("c", "f", "{}"),)),
        user("r"),
    )
    await litellm_model(server.url).answer(Call(Request(messages, Params("m"))), Told())
    called = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert server.requests[0].body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be \u00e9"},
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "", "tool_calls": [called]},
            {"role": "user", "content": "r"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_tool_calls_reasoning_and_logprobs_are_carried(
    server: ScriptedServer, litellm_model: Make
) -> None:
    server.play(ok("a b", tool_calls=[TOOL], reasoning="let me see", logprobs=LOGPROBS, finish="tool_calls"))
    reply = (await litellm_model(server.url).answer(ask(), Told())).reply
    assert reply.tool_calls == (ToolCall("c1", "look", '{"at": "\u00e9"}'),)
    assert (reply.text, reply.reasoning, reply.logprobs) == ("a b", "let me see", LOGPROBS)
    assert reply.finish_reason == "tool_calls"


async def test_tokens_are_never_invented_where_the_provider_does_not_count(
    server: ScriptedServer, litellm_model: Make
) -> None:
    server.play(ok(usage=False))
    answer = await litellm_model(server.url).answer(ask(), Told())
    assert answer.reply.usage is None
    assert answer.how is not None
    assert answer.how.cost is None


async def test_an_empty_reply_is_a_reply_and_is_not_tried_again(
    server: ScriptedServer, litellm_model: Make
) -> None:
    server.play(empty())
    told = Told()
    answer = await litellm_model(server.url).answer(ask(), told)
    assert (answer.reply.text, answer.reply.finish_reason, told) == ("", "stop", [])
    assert server.count == 1


FOR_GOOD = [
    (filtered(), "filtered", "filter"),
    (refused_by_filter(), "filtered", "content policy"),
    (echo_key(), "auth", "META_TUI_API_KEY"),
    (failing(403), "auth", "broke"),
    (failing(400, "bad words"), "bad_request", "bad words"),
    (failing(404, "no such model", "model_not_found"), "bad_request", "'scripted'"),
    (failing(400, "maximum context length is 8", "context_length_exceeded"), "bad_request", "context length"),
    (failing(422, "no"), "bad_request", "no"),
    (failing(429, "pay first", "insufficient_quota"), "rate_limit", "pay first"),
]
AGAIN = [
    (rate_limited(None), "rate_limit", "slow down"),
    (failing(500), "server", "the server broke"),
    (failing(503), "server", "the server broke"),
    (silent(), "timeout", "nothing came"),
    (stalled(), "timeout", "nothing came"),
    (cut(), "cut", "connection broke"),
    (unfinished(), "cut", "ended before"),
    (nothing(), "cut", "before anything came"),
    (error_in_stream(), "server", "the model fell over"),
    (malformed(), "server", "broken JSON"),
    (html(), "server", "web page"),
    (html(502), "server", "502"),
    (one_piece(), "server", "one piece"),
]


@pytest.mark.parametrize(("behaviour", "kind", "words"), FOR_GOOD)
async def test_what_cannot_get_better_fails_at_once(
    server: ScriptedServer, litellm_model: Make, behaviour: Behaviour, kind: str, words: str
) -> None:
    server.default = behaviour
    told = Told()
    failed = await failure(litellm_model(server.url), told)
    assert (type(failed), failed.kind, server.count, told.attempts) == (CallFailed, kind, 1, [])
    assert words in failed.message


@pytest.mark.parametrize(("behaviour", "kind", "words"), AGAIN)
async def test_what_may_get_better_is_tried_again_where_it_can_be_seen(
    server: ScriptedServer, litellm_model: Make, behaviour: Behaviour, kind: str, words: str
) -> None:
    server.default = behaviour
    told = Told()
    failed = await failure(litellm_model(server.url, retries=1, timeout=0.4), told)
    assert (type(failed), failed.kind, server.count) == (CallFailed, kind, 2)
    assert words in failed.message
    assert [(attempt.kind, attempt.attempt) for attempt in told.attempts] == [(kind, 1)]


@pytest.mark.parametrize(("behaviour", "kind", "words"), AGAIN)
async def test_after_it_got_better_only_the_whole_reply_counts(
    server: ScriptedServer, litellm_model: Make, behaviour: Behaviour, kind: str, words: str
) -> None:
    server.play(behaviour, ok("well now"))
    told = Told()
    answer = await litellm_model(server.url, timeout=0.4).answer(ask(), told)
    assert answer.reply.text == told.text == "well now"
    assert answer.how is not None
    assert (answer.how.attempts, server.count) == (2, 2)


@pytest.mark.parametrize("behaviour", [row[0] for row in FOR_GOOD + AGAIN] + [drip(0.02)])
async def test_nothing_is_kept_of_a_call_that_failed(
    server: ScriptedServer, litellm_model: Make, tmp_path: Path, behaviour: Behaviour
) -> None:
    server.play(behaviour, ok("at last"))
    below = litellm_model(server.url, retries=0, timeout=0.4, deadline=1.0)
    await below.warm()
    model = CachedModel(below, tmp_path, server.url)
    with pytest.raises(CallFailed):
        await model.answer(ask(), Told())
    assert stats(tmp_path).entries == 0
    assert (await model.answer(ask(), Told())).reply.text == "at last"
    assert (server.count, stats(tmp_path).entries) == (2, 1)


async def test_an_empty_reply_is_asked_for_again_next_time(
    server: ScriptedServer, litellm_model: Make, tmp_path: Path
) -> None:
    server.play(empty(), ok("at last"))
    model = CachedModel(litellm_model(server.url), tmp_path, server.url)
    assert [(await model.answer(ask(), Told())).reply.text for _ in range(2)] == ["", "at last"]
    assert server.count == 2


async def test_the_second_time_no_request_is_sent_but_fresh_and_another_repeat_send_one(
    server: ScriptedServer, litellm_model: Make, tmp_path: Path
) -> None:
    model = CachedModel(litellm_model(server.url), tmp_path, server.url)
    counts = []
    for call in (ask(), ask(), ask(call={"fresh": True}), ask(), ask(call={"repeat": "1"}), ask()):
        await model.answer(call, Told())
        counts.append(server.count)
    assert counts == [1, 1, 2, 2, 3, 3]


async def test_a_reply_may_repeat_itself(server: ScriptedServer, litellm_model: Make) -> None:
    server.play(ok("again " * 400))
    told = Told()
    answer = await litellm_model(server.url).answer(ask(), told)
    assert answer.reply.text == told.text == "again " * 400


async def test_the_server_says_how_long_to_wait(server: ScriptedServer, litellm_model: Make) -> None:
    server.play(rate_limited(0.3))
    told = Told()
    begun = time.monotonic()
    await litellm_model(server.url).answer(ask(), told)
    assert [attempt.retry_in for attempt in told.attempts] == [0.3]
    assert time.monotonic() - begun >= 0.3


async def test_a_wait_past_the_deadline_is_not_begun(server: ScriptedServer, litellm_model: Make) -> None:
    server.play(rate_limited(3600))
    failed = await failure(litellm_model(server.url))
    assert failed.kind == "rate_limit"
    assert server.count == 1


async def test_a_slow_drip_ends_at_the_deadline(server: ScriptedServer, litellm_model: Make) -> None:
    server.play(drip(every=0.05))
    model = litellm_model(server.url, deadline=1.0)
    await model.warm()
    told = Told()
    begun = time.monotonic()
    failed = await failure(model, told)
    assert failed.kind == "timeout"
    assert "1 s" in failed.message
    assert 0.9 <= time.monotonic() - begun < 3
    assert told.text.startswith("drip drip")
    assert await soon(lambda: server.busy == 0)


async def test_cancelling_closes_the_stream(server: ScriptedServer, litellm_model: Make) -> None:
    server.play(drip(every=0.02))
    told = Told()
    task = asyncio.ensure_future(litellm_model(server.url, deadline=None).answer(ask(), told))
    assert await soon(lambda: len(told) > 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await soon(lambda: server.busy == 0)
    assert server.dropped == 1


async def test_a_listener_that_fails_is_no_failure_of_the_model(
    server: ScriptedServer, litellm_model: Make
) -> None:
    def broken(_: str | Attempt) -> None:
        raise OSError("the log is full")

    with pytest.raises(OSError, match="the log is full"):
        await litellm_model(server.url).answer(ask(), broken)
    assert server.count == 1


async def soon(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return condition()


async def test_nobody_there_is_a_fault_of_the_network(litellm_model: Make) -> None:
    failed = await failure(litellm_model("http://127.0.0.1:1/v1", retries=0))
    assert failed.kind == "network"
    assert "is the server at http://127.0.0.1:1/v1 running?" in failed.message


def all_bytes(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_an_address_that_holds_a_key_is_refused_without_repeating_it(only_our_key: str) -> None:
    with pytest.raises(UsageError, match="META_TUI_API_KEY") as error:
        LitellmModel(f"http://user:{only_our_key}@127.0.0.1/v1")
    assert only_our_key not in str(error.value)


@pytest.mark.parametrize("behaviour", [echo_key(), echo_key(500), say_key()], ids=["401", "500", "reply"])
async def test_the_key_is_sent_and_then_seen_nowhere(
    server: ScriptedServer,
    litellm_model: Make,
    only_our_key: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    behaviour: Behaviour,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.default = behaviour
    told = Told()
    with_key = server.url.replace("//", f"//user:{only_our_key}@")
    model = CachedModel(litellm_model(server.url), tmp_path, with_key)
    seen: list[object] = [told]
    try:
        seen.append(await model.answer(ask(), told))
    except CallFailed as failed:
        seen += [failed, failed.__cause__, failed.message]
    assert server.requests[0].headers["authorization"] == f"Bearer {only_our_key}"
    output = "".join(capfd.readouterr()) + caplog.text + repr(seen)
    assert only_our_key not in output
    assert only_our_key.encode() not in all_bytes(tmp_path)
    assert HIDDEN in output


async def test_no_pieces_of_the_key_are_shown_before_it_is_known_for_one(
    server: ScriptedServer, litellm_model: Make, only_our_key: str
) -> None:
    server.play(say_key())
    told = Told()
    answer = await litellm_model(server.url).answer(ask(), told)
    assert answer.reply.text == told.text == f"your key is {HIDDEN} indeed"
    assert only_our_key[:6] not in repr(told)


async def test_nothing_is_printed_or_logged_to_the_terminal(
    server: ScriptedServer, litellm_model: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    model = litellm_model(server.url, retries=0)
    server.play(failing(400), failing(500), echo_key(), ok(finish="banana"), html())
    for _ in range(5):
        try:
            await model.answer(ask(), Told())
        except CallFailed:
            continue
    await failure(litellm_model(), call=ask(model="nope/nothing"))
    assert capfd.readouterr() == ("", "")


async def test_a_server_of_ones_own_gets_the_name_as_it_names_it(
    server: ScriptedServer, litellm_model: Make
) -> None:
    model = litellm_model(server.url)
    for name in ("llama3.2", "Qwen/Qwen2.5-7B-Instruct", "gpt-4", "a/b/c"):
        await model.answer(ask(model=name), Told())
    assert [seen.body["model"] for seen in server.requests] == [
        "llama3.2",
        "Qwen/Qwen2.5-7B-Instruct",
        "gpt-4",
        "a/b/c",
    ]


async def test_a_providers_name_before_the_model_holds_also_with_an_address(
    server: ScriptedServer, litellm_model: Make
) -> None:
    await litellm_model(server.url).answer(ask(model="openai/gpt-4o"), Told())
    await litellm_model(server.url).answer(ask(model="openai/openai/gpt-oss"), Told())
    assert [seen.body["model"] for seen in server.requests] == ["gpt-4o", "openai/gpt-oss"]


async def test_a_server_that_wants_no_key_gets_none_of_value(
    server: ScriptedServer, litellm_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("META_TUI_API_KEY")
    await litellm_model(server.url).answer(ask(), Told())
    assert server.requests[0].headers["authorization"] == "Bearer none"


ALL: dict[str, Any] = {
    "temperature": 0.0,
    "top_p": 0.95,
    "max_tokens": 100,
    "seed": 1,
    "stop": ("x", "y"),
    "presence_penalty": 0.5,
    "logprobs": True,
    "reasoning_effort": "low",
    "extra_body": {"grammar": 'root ::= "a"', "top_k": 3},
}


async def test_a_server_of_ones_own_gets_every_parameter(server: ScriptedServer, litellm_model: Make) -> None:
    answer = await litellm_model(server.url).answer(ask(**ALL), Told())
    body = server.requests[0].body
    plain = {name: value for name, value in ALL.items() if name != "extra_body"} | ALL["extra_body"]
    assert {name: body[name] for name in plain} == {**plain, "stop": ["x", "y"]}
    assert answer.how is not None
    assert answer.how.sent is None


async def test_what_a_model_refuses_is_left_out_and_what_was_sent_is_said(
    server: ScriptedServer, litellm_model: Make
) -> None:
    call = ask(model="openai/gpt-5", temperature=0.0, top_p=0.95, max_tokens=100, seed=1)
    answer = await litellm_model(server.url).answer(call, Told())
    body = server.requests[0].body
    assert "temperature" not in body
    assert "top_p" not in body
    assert answer.how is not None
    assert answer.how.sent == {"max_completion_tokens": body["max_completion_tokens"], "seed": 1}
    assert body["max_completion_tokens"] == 100


async def test_what_gives_a_request_its_meaning_is_never_left_out(
    server: ScriptedServer, litellm_model: Make
) -> None:
    failed = await failure(litellm_model(server.url), call=ask(model="openai/gpt-5", stop="x", logprobs=True))
    assert failed.kind == "unsupported"
    assert "takes no logprobs and no stop" in failed.message
    assert server.count == 0


async def test_anthropic_gets_a_temperature_or_a_top_p_but_not_both(
    server: ScriptedServer, litellm_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    server.default = failing(400, "seen")
    model = litellm_model(server.url.removesuffix("/v1"))
    name = "anthropic/claude-opus-4-6"
    await failure(model, call=ask(model=name, temperature=0.5, top_p=0.9))
    await failure(model, call=ask(model=name, top_p=0.9))
    bodies = [{key: seen.body.get(key) for key in ("temperature", "top_p")} for seen in server.requests]
    assert bodies == [{"temperature": 0.5, "top_p": None}, {"temperature": None, "top_p": 0.9}]


async def test_a_name_without_a_known_provider_says_how_to_write_it(litellm_model: Make) -> None:
    for name in ("nothing-known", "nope/nothing", ""):
        failed = await failure(litellm_model(), call=ask(model=name))
        assert failed.kind == "bad_request"
        assert "write provider/model" in failed.message


async def test_a_missing_key_names_the_variable(litellm_model: Make) -> None:
    for name, variable in (("gpt-4o", "OPENAI_API_KEY"), ("anthropic/claude-x", "ANTHROPIC_API_KEY")):
        failed = await failure(litellm_model(), call=ask(model=name))
        assert failed.kind == "auth"
        assert f"set {variable} in the environment or in a .env file" in failed.message


async def test_the_cost_is_the_tables_price_times_the_tokens(
    server: ScriptedServer, litellm_model: Make
) -> None:
    server.play(ok("one two three four"))
    answer = await litellm_model(server.url).answer(ask("a b c", model="openai/gpt-4o"), Told())
    import litellm

    price = litellm.model_cost["gpt-4o"]
    expected = 3 * price["input_cost_per_token"] + 4 * price["output_cost_per_token"]
    assert answer.how is not None
    assert answer.how.cost == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["gpt-4o", "openai/never-heard-of"])
async def test_the_price_of_a_server_of_ones_own_or_an_unknown_model_is_unknown(
    server: ScriptedServer, litellm_model: Make, name: str
) -> None:
    answer = await litellm_model(server.url).answer(ask(model=name), Told())
    assert answer.how is not None
    assert answer.how.cost is None


async def test_lone_surrogates_are_replaced_and_split_pairs_joined(
    server: ScriptedServer, litellm_model: Make
) -> None:
    server.play(
        ok("a\ud83d \ude00b", logprobs={"content": [{"token": "\ud83d", "logprob": -1.0, "bytes": None}]})
    )
    reply = (await litellm_model(server.url).answer(ask(), Told())).reply
    assert reply.text == "a\ufffd \ufffdb"
    assert reply.logprobs["content"][0]["token"] == "\ufffd"
    server.play(ok(" \ud83d\ude00"))
    assert (await litellm_model(server.url).answer(ask("2"), Told())).reply.text == " \U0001f600"


async def test_many_calls_at_once_keep_their_replies_apart(
    server: ScriptedServer, litellm_model: Make
) -> None:
    server.default = ok(lambda body: f"re: {body['messages'][0]['content']}")
    model = litellm_model(server.url, timeout=20.0, deadline=60.0)
    answers = await asyncio.gather(*(model.answer(ask(f"question {n}"), Told()) for n in range(30)))
    assert [answer.reply.text for answer in answers] == [f"re: question {n}" for n in range(30)]
    assert server.busiest > 1


async def test_texts_become_vectors_in_order(server: ScriptedServer, embedder: MakeEmbedder) -> None:
    vectors, how = await embedder(server.url).embed("any", ["one two", "three", ""])
    assert vectors == [[7.0, 2.0, 0.0], [5.0, 1.0, 1.0], [0.0, 0.0, 2.0]]
    assert (how.source, how.attempts, how.cost) == ("live", 1, None)


async def test_embedding_tries_again_and_fails_with_our_words(
    server: ScriptedServer, embedder: MakeEmbedder
) -> None:
    server.play(failing(500))
    _, how = await embedder(server.url).embed("any", ["one"])
    assert how.attempts == 2
    server.play(echo_key())
    with pytest.raises(CallFailed) as failed:
        await embedder(server.url).embed("any", ["one"])
    assert failed.value.kind == "auth"
    assert HIDDEN in failed.value.message


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=100, check=False)


def test_litellm_is_not_imported_before_the_first_call() -> None:
    done = python(
        "import sys, meta_tui.models.litellm_model, meta_tui.models.cached, meta_tui.models.limits;"
        "print([name for name in ('litellm', 'diskcache', 'openai', 'httpx') if name in sys.modules])"
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


WARMING = """
import asyncio, time
from meta_tui.models.litellm_model import LitellmModel

async def main():
    task = asyncio.ensure_future(LitellmModel().warm())
    ticks, longest = 0, 0.0
    while not task.done():
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        ticks, longest = ticks + 1, max(longest, time.perf_counter() - before)
    await task
    import threading, os
    names = [thread.name for thread in threading.enumerate() if "litellm" in thread.name]
    print(ticks > 20, longest, os.environ["LITELLM_OFFLINE_MODE"], os.environ["LITELLM_MODE"], names)

asyncio.run(main())
"""


def test_the_import_leaves_the_loop_running_and_looks_nothing_up() -> None:
    done = python(WARMING)
    assert done.stderr == ""
    moved, _, offline, mode, *threads = done.stdout.split()
    assert (moved, offline, mode) == ("True", "true", "PRODUCTION")
    assert threads == ["[]"]


QUITTING = """
import asyncio
from meta_tui.models.litellm_model import LitellmModel

async def main():
    asyncio.ensure_future(LitellmModel().warm())
    await asyncio.sleep(0.3)

asyncio.run(main())
"""


def test_who_quits_during_the_import_quits_cleanly() -> None:
    done = python(QUITTING)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


LEAVING = """
import asyncio, sys
from meta_tui.chat import Params, Request, user
from meta_tui.models.base import Call
from meta_tui.models.litellm_model import LitellmModel

call = Call(Request((user("hi"),), Params("m")))
print(asyncio.run(LitellmModel(sys.argv[1]).answer(call, lambda _: None)).reply.text)
"""


def test_a_program_that_called_a_model_ends_without_a_word(server: ScriptedServer) -> None:
    done = python(LEAVING, server.url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello there\n", "")


@pytest.mark.parametrize(("name", "meant"), [("gtp-4o", "gpt-4o"), ("copy-past", "copy-paste")])
async def test_a_mistyped_model_is_met_with_a_near_name(name: str, meant: str) -> None:
    call = Call(Request((user("q"),), Params(model=name)))
    found = await failure(LitellmModel(), call=call)
    assert found.kind == "bad_request"
    assert "did you mean" in found.message
    assert repr(meant) in found.message


async def test_a_simulation_outside_an_evaluation_is_sent_there_and_not_to_providers() -> None:
    found = await failure(LitellmModel(), call=Call(Request((user("q"),), Params(model="simulated:answers"))))
    assert found.kind == "bad_request"
    assert "`meta-tui evaluate`" in found.message
    assert "provider" not in found.message


@pytest.mark.parametrize(("name", "near"), [("gtp-4o", "did you mean 'gpt-4o'"), ("gpt-4o", "")])
async def test_a_model_that_a_provider_does_not_know_is_met_with_a_near_name_of_that_provider(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    server.default = failing(404, "no such model", "model_not_found")
    found = await failure(LitellmModel(), call=Call(Request((user("q"),), Params(model=f"openai/{name}"))))
    assert found.kind == "bad_request"
    assert near in found.message
    assert ("did you mean" in found.message) is bool(near)
