"""The app takes a worker's answer as data from a stranger: whatever it is, there is a result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meta_tui.chat import CodeResult, Limits, canonical_json
from meta_tui.sandbox.runner import result_of
from meta_tui.sandbox.wire import HEADER, length, pack, unpack

LIMITS = Limits(output=1000)
GOOD = {"status": "ok", "stdout": "x\n", "error": "", "line": None}


def answer(**changes: Any) -> CodeResult:
    return result_of(json.dumps({**GOOD, **changes}).encode(), LIMITS)


def test_a_proper_answer_is_the_result() -> None:
    assert answer() == CodeResult("ok", "x\n")
    assert answer(status="error", error="E", line=3, value=None) == CodeResult("error", "x\n", "E", 3)
    assert answer(value={"a": [1, 2.5, "b"]}).value == {"a": [1, 2.5, "b"]}


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "fine"},
        {"status": None},
        {"status": ["ok"]},
        {"stdout": None},
        {"stdout": ["x"]},
        {"error": 5},
        {"line": -1},
        {"line": 0},
        {"line": 1 << 40},
        {"line": True},
        {"line": "3"},
        {"line": 2.0},
        {"value": float("nan")},
        {"value": {"a": float("inf")}},
    ],
)
def test_an_answer_with_a_wrong_field_is_a_crash(changes: dict[str, Any]) -> None:
    assert answer(**changes).status == "crash"


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"5", b'"ok"', b"{}", b"\xff\xfe", b"{", b"[" * 100_000]
)
def test_an_answer_of_another_shape_is_a_crash(body: bytes) -> None:
    assert result_of(body, LIMITS).status == "crash"


def test_text_beyond_the_cap_is_cut_again() -> None:
    assert len(answer(stdout="x" * 10**6).stdout) <= LIMITS.output + 200


def test_lone_surrogates_become_text_that_a_file_can_hold() -> None:
    result = answer(stdout="\ud800", error="\udfff", value={"\ud800": ["\udfff"]})
    assert (result.stdout, result.error, result.value) == ("\\ud800", "\\udfff", {"\\ud800": ["\\udfff"]})
    canonical_json(result)


@given(st.binary(max_size=300))
def test_no_bytes_make_the_app_fail(body: bytes) -> None:
    assert isinstance(result_of(body, LIMITS), CodeResult)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "value", "more"]), JSON))
def test_no_json_makes_the_app_fail(value: dict[str, Any]) -> None:
    result = result_of(json.dumps(value).encode(), LIMITS)
    canonical_json(result)


@given(JSON)
def test_a_frame_holds_what_was_packed(value: Any) -> None:
    frame = pack(value)
    assert length(frame[:HEADER]) == len(frame) - HEADER
    assert unpack(frame[HEADER:]) == value


def test_wide_characters_are_cut_by_their_bytes() -> None:
    assert len(answer(stdout="\U0001f600" * 10**6).stdout.encode()) <= LIMITS.output + 200
