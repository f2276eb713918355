"""The errors of the server, by who can fix them.

    VedetteError
    ├── CallerError            4xx: the caller can fix it; `reason` is a stable word
    │   ├── QueryError         400 query_malformed_syntax, with the place in the text
    │   ├── BadRequestError    400
    │   │   └── InvalidBodyError   400, with the path and text of every fault
    │   ├── UnauthorizedError  401
    │   ├── ForbiddenError     403
    │   ├── NotFoundError      404
    │   ├── ConflictError      409
    │   │   └── StaleError     409 changed_meanwhile, with what is now
    │   └── TooLargeError      413
    ├── BusyError              429: the queue is full, send again later
    ├── UnavailableError       503: the store or the disk refuses, send again later
    └── StartError             the server cannot start; the text says what to do

The HTTP layer maps them in one table (`web/http/error_responses.py`). Anything else is a bug: 500.
"""

from collections.abc import Mapping, Sequence
from typing import Any


class VedetteError(Exception):
    """Base class of all errors that the server raises on purpose."""

    reason = "error"

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if reason is not None:
            self.reason = reason


class CallerError(VedetteError):
    """The request is at fault. Sending it again unchanged gives the same answer."""

    reason = "bad_request"


class BadRequestError(CallerError):
    """A parameter or body that cannot be understood."""


class InvalidBodyError(BadRequestError):
    """A JSON body with faults. `faults` are pairs of a member's path and what is wrong with the
    member's value."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {text}" if path else text for path, text in faults))
        self.faults = faults


class QueryError(CallerError):
    """A query that cannot be parsed. `start` and `end` are character offsets into it."""

    reason = "query_malformed_syntax"

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start = start
        self.end = end


class UnauthorizedError(CallerError):
    """No token, or one that is unknown, revoked or expired."""

    reason = "unauthorized"


class ForbiddenError(CallerError):
    """A valid token that does not permit the request."""

    reason = "forbidden"


class NotFoundError(CallerError):
    """The object in the path does not exist, or the caller may not see it."""

    reason = "not_found"


class ConflictError(CallerError):
    """The object already exists, or its state forbids the change."""

    reason = "conflict"


class StaleError(ConflictError):
    """Somebody else has changed a record since the caller read it. `changed` has the current values
    by member."""

    reason = "changed_meanwhile"

    def __init__(self, message: str, changed: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.changed = changed


class TooLargeError(CallerError):
    """A body above its size limit, as sent or after decompression."""

    reason = "too_large"


class BusyError(VedetteError):
    """The queue is full. The sender keeps its copy and sends it again later."""

    reason = "busy"


class UnavailableError(VedetteError):
    """The store cannot take data or answer now. The sender keeps its copy and sends it again
    later."""

    reason = "unavailable"


class StartError(VedetteError):
    """The server or command cannot start. The message says what to do about it."""

    reason = "start_failed"
