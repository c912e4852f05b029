"""One word for every way in which a call can fail, whatever the library calls it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from meta_tui.models.faults import LONGEST_MESSAGE, fault_of, retry_after, tidy


class Answered(Exception):
    """What an HTTP library raises for an error status."""

    def __init__(self, message: str, status: int, code: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.code = code


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "auth"),
        (403, "auth"),
        (404, "bad_request"),
        (408, "timeout"),
        (413, "bad_request"),
        (429, "rate_limit"),
        (500, "server"),
        (529, "server"),
    ],
)
def test_a_status_code_decides_where_nothing_else_does(status: int, kind: str) -> None:
    assert fault_of(Answered("no", status)).kind == kind


def test_a_content_filter_is_known_by_its_code() -> None:
    assert fault_of(Answered("no", 400, "content_filter")).kind == "filtered"


def test_used_up_money_is_not_tried_again() -> None:
    fault = fault_of(Answered("pay first", 429, "insufficient_quota"))
    assert (fault.kind, fault.final) == ("rate_limit", True)
    assert not fault_of(Answered("slow down", 429)).final


def test_the_cause_of_a_wrong_status_is_found_in_the_chain() -> None:
    error = Answered("Connection error.", 500)
    error.__context__ = ConnectionRefusedError(111, "refused")
    assert fault_of(error).kind == "network"


def test_something_never_seen_is_unknown() -> None:
    assert fault_of(RuntimeError("what?")).kind == "unknown"


def test_a_chain_that_bites_its_tail_ends() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__context__, two.__context__ = two, one
    assert fault_of(one).message == "one"


def test_a_message_loses_the_librarys_class_names_line_ends_and_length() -> None:
    assert tidy("litellm.RateLimitError: RateLimitError: OpenAIException - slow\n down") == "slow down"
    assert len(tidy("x " * 1000)) == LONGEST_MESSAGE + 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_nothing(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    wait = retry_after(
        {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)}
    )
    assert wait is not None
    assert 27 <= wait <= 30
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
