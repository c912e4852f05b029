"""Keys stay out of texts, and replies can be stored."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta_tui.models.secrets import HIDDEN, Cleaner, mend, scrub, secret_values

KEY = 'k3y/with+odd="chars"&more'


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "GH_PAT",
        "XKEY_2_APIKEY",
        "KEY_1",
    ],
)
def test_a_variable_with_a_keys_name_is_a_secret(name: str) -> None:
    assert secret_values({name: "abcdef123456"}) == ("abcdef123456",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/local/bin"),
        ("KEYBOARD", "us-international"),
        ("TOKENIZERS_PARALLELISM", "falsefalse"),
        ("OPENAI_API_KEY", "short"),
        ("TOKEN_LIMIT", "1000000000"),
    ],
)
def test_other_variables_and_values_that_are_no_keys_are_none(name: str, value: str) -> None:
    assert secret_values({name: value}) == ()


def test_longer_secrets_come_first_so_that_none_is_left_in_part() -> None:
    values = secret_values({"A_KEY": "abcdefgh", "B_KEY": "abcdefghijkl"})
    assert values == ("abcdefghijkl", "abcdefgh")
    assert scrub("abcdefghijkl", values) == HIDDEN


@pytest.mark.parametrize("form", [KEY, quote(KEY, safe=""), json.dumps(KEY)[1:-1]])
def test_a_known_value_is_hidden_in_every_usual_escape(form: str) -> None:
    assert scrub(f"bad key {form}!", [KEY]) == f"bad key {HIDDEN}!"


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-Zx81mmQpL0aa22bb.",
        "key AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY failed",
        "Authorization: Bearer 0123456789abcdef",
        "connect to https://me:hunter2@host/v1 failed",
        "GET /v1beta/models?key=0123456789abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
    ],
)
def test_the_usual_shapes_of_keys_are_hidden_although_nobody_knows_them(text: str) -> None:
    scrubbed = scrub(text, [])
    assert HIDDEN in scrubbed
    for part in ("Zx81mm", "9tSrke", "0123456789", "hunter2", "IOSFODNN", "SflKxw"):
        assert part not in scrubbed


def test_plain_text_is_left_alone() -> None:
    text = "The risk-free token of 12 characters, task-oriented-planning and skip-lists."
    assert scrub(text, []) == text


@given(st.text(alphabet="abKEYxyz0", max_size=60), st.lists(st.integers(1, 5), max_size=80))
def test_a_reply_in_any_pieces_is_cleaned_like_the_whole(text: str, sizes: list[int]) -> None:
    secrets = ("KEYxyz0a", "abKEY")
    cleaner, shown, place = Cleaner(secrets), [], 0
    for size in sizes:
        shown.append(cleaner.feed(text[place : place + size]))
        place += size
    shown += [cleaner.feed(text[place:]), cleaner.flush()]
    whole = "".join(shown)
    assert not any(secret in whole for secret in secrets)
    if not any(secret in text for secret in secrets):
        assert whole == text


def test_a_secret_split_over_pieces_is_never_shown_in_part() -> None:
    cleaner = Cleaner(("sk-12345678",))
    shown = [cleaner.feed(piece) for piece in ("it is s", "k-123", "45678", " indeed")]
    assert shown == ["it is ", "", HIDDEN, " indeed"]


def test_a_reply_is_not_judged_by_patterns() -> None:
    cleaner = Cleaner(())
    assert cleaner.feed("use sk-0123456789abcdef") + cleaner.flush() == "use sk-0123456789abcdef"


def test_pairs_are_joined_and_lone_surrogates_replaced() -> None:
    assert mend("\ud83d\ude00") == "\U0001f600"
    assert mend("a\ud83d b\ude00 c") == "a\ufffd b\ufffd c"


def test_a_pair_cut_in_two_by_pieces_is_joined() -> None:
    cleaner = Cleaner(())
    shown = [cleaner.feed("a\ud83d"), cleaner.feed("\ude00b"), cleaner.feed("c\ud83d"), cleaner.flush()]
    assert shown == ["a", "\U0001f600b", "c", "\ufffd"]
