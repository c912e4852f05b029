"""From a foreign exception to one word of ours, a text for people and how long to wait.

The model library's exception types mislead (a missing key and a web page both arrive as an
internal server error), so this reads the whole chain of causes: names, status codes, headers. It
imports no library and knows no provider; it neither retries nor raises on its own account.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from meta_tui.events import FailureKind
from meta_tui.models.secrets import mend, scrub

LONGEST_MESSAGE = 500

_CUT = {"ReadError", "RemoteProtocolError", "ClientPayloadError", "ServerDisconnectedError"}
_UNREACHABLE = {"ConnectError", "ClientConnectorError", "ConnectionRefusedError", "gaierror", "ProxyError"}
_LATE = {"Timeout", "APITimeoutError", "ReadTimeout", "ConnectTimeout", "SocketTimeoutError", "TimeoutError"}
_FILTERED = {"content_filter", "content_policy_violation", "ContentPolicyViolationError"}
_NO_KEY = re.compile(r"missing credentials|missing \w+ api key|api[_ ]key (client )?(option )?must be", re.I)
_PREFIX = re.compile(
    r"^(?:litellm\.)?[A-Za-z]+(?:Error|Exception|Timeout)(?: - |: )|^(?:litellm\.)?Timeout(?: Error)?: "
)


class Fault(Exception):
    """One attempt that failed. It never leaves the models: it is retried or becomes `CallFailed`.

    Attributes:
        kind: a word of `events.FailureKind`.
        message: what to show; holds no secret.
        wait: seconds that the server asks to wait, None if it does not say.
        final: trying again cannot help, whatever the kind.
    """

    def __init__(
        self, kind: FailureKind, message: str, wait: float | None = None, final: bool = False
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.wait = wait
        self.final = final


def fault_of(error: BaseException) -> Fault:
    """The fault that a foreign exception stands for."""
    links = list(_chain(error))
    names = {type(link).__name__ for link in links}
    words = names | {str(getattr(link, "code", "")) for link in links}
    text = tidy(str(error))
    kind = _kind(names, words, links, text)
    return Fault(kind, _said(kind, names, text), _wait(links), "insufficient_quota" in words)


def _said(kind: FailureKind, names: set[str], text: str) -> str:
    """The text, or a clearer one where the library's says nothing."""
    if "JSONDecodeError" in names:
        return f"the server sent broken JSON: {text}"
    if kind == "timeout" and text.startswith("Request timed out"):
        return "nothing came from the server in time"
    if text == "Connection error.":
        return "the connection broke before the reply was whole" if kind == "cut" else "cannot connect"
    return text or kind


def tidy(text: str) -> str:
    """An error's text for people: no secret, no class names in front, one line, not too long."""
    text = scrub(mend(text)).split(" Original exception:")[0]
    while match := _PREFIX.match(text):
        text = text[match.end() :]
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + "…"


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set()
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        further = (getattr(link, "original_exception", None), link.__cause__, link.__context__)
        waiting += [other for other in further if isinstance(other, BaseException)]


def _kind(names: set[str], words: set[str], links: list[BaseException], text: str) -> FailureKind:
    if words & _FILTERED:
        return "filtered"
    if "MidStreamFallbackError" in names:
        return _kind_of_break(names, words)
    if names & _LATE:
        return "timeout"
    if names & _UNREACHABLE:
        return "network"
    if _NO_KEY.search(text) or "AuthenticationError" in names:
        return "auth"
    if "UnsupportedParamsError" in names:
        return "unsupported"
    if names & _CUT:
        return "cut"
    return _kind_of_status(_status(links), names)


def _kind_of_break(names: set[str], words: set[str]) -> FailureKind:
    """A stream that broke: the cause is in the chain, the status code means nothing."""
    if names & _LATE:
        return "timeout"
    if words & {"429", "rate_limit_exceeded"}:
        return "rate_limit"
    if "JSONDecodeError" in names:
        return "server"
    if names & _CUT or "StopAsyncIteration" in names:
        return "cut"
    return "server" if "APIError" in names else "cut"


def _kind_of_status(status: int, names: set[str]) -> FailureKind:
    match status:
        case 401 | 403:
            return "auth"
        case 408:
            return "timeout"
        case 429:
            return "rate_limit"
        case _ if 400 <= status < 500:
            return "bad_request"
        case _ if status >= 500:
            return "server"
    return "server" if "JSONDecodeError" in names else "unknown"


def _status(links: list[BaseException]) -> int:
    codes = (getattr(link, "status_code", None) for link in links)
    return next((code for code in codes if isinstance(code, int)), 0)


def _wait(links: list[BaseException]) -> float | None:
    for link in links:
        response = getattr(link, "response", None)
        for headers in (getattr(response, "headers", None), getattr(link, "litellm_response_headers", None)):
            if headers and (wait := retry_after(headers)) is not None:
                return wait
    return None


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """Seconds that `Retry-After` (seconds or a date) or `Retry-After-Ms` asks for, if any."""
    plain = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    if (milliseconds := _positive(plain.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    asked = plain.get("retry-after", "")
    seconds = _positive(asked)
    return _seconds_until(asked) if asked and seconds is None else seconds


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds_until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())
