"""Every error that meta-tui raises on purpose, and what each one means for the exit code.

This module holds classes only: no formatting for a screen, no logging, no recovery. A message
always says what to do next, because it is shown to a person as it stands.

    MetaTuiError                    exit 1   something that the user can act on
    ├── UsageError                  exit 2   bad input: a path, a setting, a command line
    │   └── StrandBusy                       a method asked twice at once in one strand
    ├── LogError                    exit 2   a run log that cannot be trusted, with its line
    │   ├── BadLine                          no JSON, no UTF-8, an unknown or missing field
    │   ├── NotARunLog                       no complete first line: nothing to read or to resume
    │   ├── FutureVersion                    written by a newer format
    │   ├── MessageMismatch                  a message is not its id
    │   ├── OutcomeMismatch                  a reply, result or first line is not its id
    │   ├── KeyMismatch                      a key is not its request's or its program's
    │   ├── KeepTooLarge                     keeps more messages than the last request had
    │   ├── UnknownId                        names a message or parameter set that is not there
    │   ├── OutcomeWithoutRequest            a reply or result that nothing asked for
    │   ├── SpanNeverStarted                 an event in a span that no line opens
    │   ├── DuplicateAddress                 the same address, outcome or span twice
    │   └── UnknownSetting                   a method or a setting that this version lacks
    ├── ReplayError                 exit 3   the log is sound, the run is not the same
    │   ├── CassetteMiss                     a request that was not recorded
    │   ├── Difference                       an event differs from the recorded one
    │   ├── NotReached                       recorded events that the run never came to
    │   └── Unfinished                       the log stops before its run does: resume it
    ├── CallFailed                  exit 5   a model, code or embedding call failed for good
    │   └── Stopped                 exit 1/4 the run was cancelled (1) or met its budget (4)
    └── RecordError                 exit 5   log or cache could not be written: disk full, no permission
"""

from __future__ import annotations

from typing import ClassVar


class MetaTuiError(Exception):
    """Base of every deliberate error; `exit_code` is what the command line ends with."""

    exit_code: ClassVar[int] = 1


class UsageError(MetaTuiError):
    """The input cannot be used as it is; the message says what to give instead."""

    exit_code = 2


class StrandBusy(UsageError):
    """A strand has one effect outstanding and was asked for a second."""


class LogError(MetaTuiError):
    """A run log is damaged, edited or foreign. `line` counts from 1; 0 means the whole file."""

    exit_code = 2

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line
        self.path = ""
        """The file, where it was read from one."""


class BadLine(LogError):
    """A line is not JSON of a known event."""


class NotARunLog(LogError):
    """The file has no complete first line, so there is nothing to read or to resume."""


class FutureVersion(LogError):
    """The log was written in a newer format than this version reads."""


class MessageMismatch(LogError):
    """A stored message does not have the digest that its id claims."""


class OutcomeMismatch(LogError):
    """A first line or an outcome does not have the digest that its id claims."""


class KeyMismatch(LogError):
    """A key is not the key of the request, program or texts that it stands beside."""


class KeepTooLarge(LogError):
    """A request keeps more messages than the previous request of its span had."""


class UnknownId(LogError):
    """A request names a message or a parameter set that no earlier line defines."""


class OutcomeWithoutRequest(LogError):
    """An outcome points at an effect that no earlier line starts."""


class SpanNeverStarted(LogError):
    """An event stands in a span that no earlier line opens."""


class DuplicateAddress(LogError):
    """An address, a final outcome or a span stands twice in one log."""


class UnknownSetting(LogError):
    """The first line names a method or a setting that this version does not have."""


class ReplayError(MetaTuiError):
    """The log is sound, but running the method against it did not give the same run."""

    exit_code = 3


class CassetteMiss(ReplayError):
    """A request that the log does not hold; the message shows the nearest recorded one.

    `wanted` is the request as text, `recorded` the nearest recorded one and `line` its line in the
    log; they are empty and 0 where the log holds no request, or the effect is no request.
    """

    def __init__(self, message: str, wanted: str = "", recorded: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.wanted = wanted
        self.recorded = recorded
        self.line = line


class Difference(ReplayError):
    """An event of the run differs from the recorded one at the same place."""


class NotReached(ReplayError):
    """The run ended although recorded events were still to come."""


class Unfinished(ReplayError):
    """The log holds no end: it replays as far as it goes and can be resumed."""


class RecordError(MetaTuiError):
    """The run log or the cache could not be written; what was written before is kept."""

    exit_code = 5


class CallFailed(MetaTuiError):
    """An effect failed for good. `kind` is a word of `events.FailureKind`."""

    exit_code = 5

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message


class Stopped(CallFailed):
    """The run was stopped from outside: `kind` is `cancelled` or `budget`."""
