"""Canonical JSON and keys, held against vectors worked out with json, hashlib and sha256sum."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta_tui.chat import (
    Limits,
    Message,
    Params,
    Program,
    Reply,
    Request,
    ToolCall,
    canonical_json,
    embed_key,
    request_key,
    score_key,
    system,
    user,
)
from meta_tui.errors import UsageError

SYSTEM_DIGEST = "8b8978889158b19d7dcb407288c8e5bfcdb2cf74479978416c45aef2332b442f"
USER_DIGEST = "ff31738f7333571c835a4db7d2d027a235f019e49c5f76d596702bb018b40f89"


def sha(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


def by_hand(messages: list[dict[str, Any]], params: dict[str, Any]) -> str:
    """The key as the rule says it, with json and hashlib only; `params` must hold no None and no
    whole float."""

    def canonical(value: Any) -> str:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    digests = [sha(canonical(message)) for message in messages]
    return sha(canonical({"v": 1, "params": params, "messages": digests}))


def test_a_message_digest_is_the_sha256_of_its_sorted_json() -> None:
    assert sha('{"content":"You are helpful.","role":"system"}') == SYSTEM_DIGEST
    assert system("You are helpful.").digest == SYSTEM_DIGEST
    assert sha('{"content":"Grüße, 日本 \\"x\\"\\n","role":"user"}') == USER_DIGEST
    assert user('Grüße, 日本 "x"\n').digest == USER_DIGEST
    assert user('Grüße, 日本 "x"\n').id == USER_DIGEST[:16]


def test_a_request_key_is_the_sha256_of_digests_parameters_and_version() -> None:
    """The hex was computed with sha256sum: 0.0 is written 0, 1.0 is written 1, text as UTF-8."""
    text = (
        f'{{"messages":["{SYSTEM_DIGEST}","{USER_DIGEST}"],'
        '"params":{"max_tokens":1024,"model":"gpt-4-32k","temperature":0,"top_p":1},"v":1}'
    )
    request = Request(
        (system("You are helpful."), user('Grüße, 日本 "x"\n')),
        Params("gpt-4-32k", temperature=0.0, top_p=1.0, max_tokens=1024),
    )
    assert request.key == sha(text)
    assert request.key == "0f8889b55f395611987e5b2faac1b6c0f11e224a1d5b48dac71720685f11bd87"


def test_a_request_without_messages_has_a_key_too() -> None:
    expected = "a0eddc795640dff4524894b164648836498da38b06e8132b91ca872d99ebd1c6"
    assert Request((), Params("m")).key == expected
    assert request_key([], Params("m")) == expected


def test_nested_tools_are_sorted_at_every_depth_and_absent_fields_dropped() -> None:
    tools = [
        {
            "type": "function",
            "function": {
                "name": "suche",
                "parameters": {"type": "object", "b": [1.0, 2.5, None], "a": None, "ü": True},
            },
        }
    ]
    request = Request((user("q"),), Params("m", tools=tools, stop=("a", "b"), logprobs=False))
    assert request.key == by_hand(
        [{"role": "user", "content": "q"}],
        {
            "model": "m",
            "stop": ["a", "b"],
            "logprobs": False,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "suche",
                        "parameters": {"type": "object", "b": [1, 2.5, None], "ü": True},
                    },
                }
            ],
        },
    )


def test_tool_calls_of_a_message_are_in_its_digest() -> None:
    message = Message("assistant", "", (ToolCall("c1", "add", '{"a": 1}'),))
    text = (
        '{"content":"","role":"assistant","tool_calls":[{"arguments":"{\\"a\\": 1}","id":"c1","name":"add"}]}'
    )
    assert message.digest == sha(text)
    answer = Message("tool", "3", tool_call_id="c1")
    assert answer.digest == sha('{"content":"3","role":"tool","tool_call_id":"c1"}')


def test_a_reply_has_the_digest_of_its_assistant_message() -> None:
    assert Reply("hi").message.digest == sha('{"content":"hi","role":"assistant"}')


def test_program_embedding_and_score_keys() -> None:
    """Hex from sha256sum; fields at their default are left out."""
    assert Program("pass").key == "c3af70c295bc86b41379423e92727ffedcb3a6970cc18679b6b43c9310afb688"
    assert Program("print(1)", limits=Limits(seconds=3.0)).key == (
        "5d3d9bf00feea193c585e8dbdc1de8bc6bb7caa11e2464af1d911c9b98df2509"
    )
    assert embed_key("e", ["a", "ä"]) == "456a98f3fd8af14f8b0db5a2a4867d183d39cb7025b20cb9eac365c75aabeea4"
    assert score_key("42") == "9dae92a5923166547eb68ff4a57df8c333e067cb66ba4883d30d6081d1173994"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Params("m", temperature=0), Params("m", temperature=0.0)),
        (Params("m", extra_body={"a": 1, "b": 2}), Params("m", extra_body={"b": 2.0, "a": 1.0})),
        (Params("m", extra_body={"a": None}), Params("m", extra_body={})),
        (Params("m", stop=("x",)), Params("m", stop=["x"])),  # type: ignore[arg-type]
        (Params("m", temperature=-0.0), Params("m", temperature=0)),
    ],
)
def test_what_means_the_same_has_one_key(one: Params, other: Params) -> None:
    assert Request((user("q"),), one).key == Request((user("q"),), other).key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Params("m"), Params("m", temperature=0)),
        (Params("m", temperature=1), Params("m", temperature=0.1)),
        (Params("m", logprobs=True), Params("m", logprobs=False)),
        (Params("m", extra_body={"a": True}), Params("m", extra_body={"a": 1})),
        (Params("m", extra_body={"a": "1"}), Params("m", extra_body={"a": 1})),
        (Params("m", stop="ab"), Params("m", stop=("ab",))),
        (Params("m", seed=0), Params("m")),
    ],
)
def test_what_can_change_an_output_changes_the_key(one: Params, other: Params) -> None:
    assert Request((user("q"),), one).key != Request((user("q"),), other).key


def test_text_is_never_normalised() -> None:
    texts = ["é", "e\u0301", " é", "é\n", "é\r\n", "É", "é\u2028"]
    assert len({user(text).digest for text in texts}) == len(texts)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), [{"a": float("nan")}]])
def test_numbers_without_a_value_are_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="finite"):
        canonical_json(value)
    with pytest.raises(UsageError, match="finite"):
        Request((user("q"),), Params("m", extra_body={"x": value})).key  # noqa: B018


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_lone_surrogates_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="surrogate"):
        canonical_json({"a": [text]})
    with pytest.raises(UsageError, match="surrogate"):
        user(text).digest  # noqa: B018
    with pytest.raises(UsageError, match="surrogate"):
        canonical_json({text: 1})


def test_keys_that_are_no_text_and_bottomless_values_are_refused() -> None:
    with pytest.raises(UsageError, match="text"):
        canonical_json({1: 2})
    bottomless: list[Any] = []
    for _ in range(100_000):
        bottomless = [bottomless]
    with pytest.raises(UsageError, match="deep"):
        canonical_json(bottomless)


def test_unordered_values_have_one_order() -> None:
    """A set must not bring the hash seed into a key."""
    assert canonical_json({"a": {"y", "x", "z"}}) == b'{"a":["x","y","z"]}'


_plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def _drop_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _drop_none(v) for k, v in value.items() if v is not None}
    return [_drop_none(v) for v in value] if isinstance(value, list) else value


@given(_plain)
def test_canonical_json_means_what_json_means(value: Any) -> None:
    assert json.loads(canonical_json(value)) == _drop_none(value)


@given(_plain)
def test_canonical_json_is_a_fixed_point(value: Any) -> None:
    once = canonical_json(value)
    assert canonical_json(json.loads(once)) == once


@given(st.text(), st.sampled_from(["system", "user", "assistant"]))
def test_a_message_digest_agrees_with_json_and_hashlib(content: str, role: str) -> None:
    text = json.dumps(
        {"role": role, "content": content}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert Message(role, content).digest == sha(text)


def test_parameters_over_others_fill_in_what_is_absent() -> None:
    base = Params("m", temperature=0.5, top_p=0.9, stop=("x",))
    own = Params(temperature=0.0, max_tokens=0, logprobs=False)
    assert own.over(base) == Params(
        "m", temperature=0.0, top_p=0.9, stop=("x",), max_tokens=0, logprobs=False
    )


def test_a_value_that_is_frozen_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        user("q").content = "other"  # type: ignore[misc]
