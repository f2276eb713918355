"""Failures of the engine, told apart: what passes (503, the sender retries) and what is a bug."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from clickhouse_connect.driver.exceptions import (
    DatabaseError,
    OperationalError,
    ProgrammingError,
    StreamFailureError,
)

from vedette.errors import UnavailableError, VedetteError

DEADLINE_CODES = frozenset({159, 160})

MANY_CODES = frozenset({158, 191})
"""Codes of `ManyRowsError`."""

UNAVAILABLE_CODES: dict[int, str] = {
    74: "the disk cannot be read",
    75: "the disk cannot be written",
    76: "a file cannot be opened",
    198: "a server cannot be found",
    202: "too many queries at once",
    209: "a connection timed out",
    210: "a connection was lost",
    225: "no coordination service",
    236: "the engine is shutting down",
    241: "out of memory",
    242: "the table is read-only",
    243: "the disk is full",
    252: "merging cannot keep up",
    279: "no server of the cluster answers",
    285: "too few replicas",
    286: "too few replicas stored it",
    319: "the insert may not be on enough replicas",
    425: "the system refuses",
    497: "its user lacks a right",
    516: "its user is refused",
    999: "the coordination service refuses",
}
"""ClickHouse error codes that say nothing against the statement."""

_BEFORE_RIGHT, _AFTER_RIGHT = "necessary to have the grant ", " (ACCESS_DENIED)"
"""What surrounds the missing right in the engine's message."""

DISK_WORDS = ("No space left on device", "Disk quota exceeded", "Read-only file system")
"""Some disk failures come as a generic code; only the text tells."""

DISK_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE})


class ManyRowsError(VedetteError):
    """A set, or the groups of an answer, have more rows than a question allowed for
    (`store/plan/search_bounds.py`); who asks knows another way."""


def unavailable(text: str, code: int | None) -> UnavailableError | None:
    """The domain error of an engine's failure; None when it is a bug of ours."""
    if code in DEADLINE_CODES:
        return UnavailableError("the search took longer than allowed", reason="deadline")
    if any(word in text for word in DISK_WORDS):
        return UnavailableError("the telemetry store cannot answer: the disk is full or refuses")
    if code in UNAVAILABLE_CODES:
        right = _missing_right(text)
        cause = UNAVAILABLE_CODES[code] + (f": {right}" if right else "")
        return UnavailableError(f"the telemetry store cannot answer: {cause}")
    return None


def _missing_right(text: str) -> str:
    _, before, rest = text.partition(_BEFORE_RIGHT)
    right, after, _ = rest.partition(_AFTER_RIGHT)
    return right.removesuffix(".") if before and after else ""


def _is_connection(error: DatabaseError) -> bool:
    # A statement that fails in the middle of a stream has the connection's class, too.
    return isinstance(error, OperationalError) and not isinstance(error, StreamFailureError)


@contextmanager
def domain_errors() -> Iterator[None]:
    """Raise UnavailableError for what will pass; let bugs through as they are."""
    try:
        yield
    except DatabaseError as error:
        if error.code in MANY_CODES:
            raise ManyRowsError("there are more rows than were asked for") from error
        mapped = unavailable(str(error), error.code)
        if mapped is None and _is_connection(error):
            mapped = UnavailableError("the telemetry store cannot be reached")
        if mapped is None:
            raise
        raise mapped from error
    except ProgrammingError as error:
        if "closed" in str(error):
            raise UnavailableError("the telemetry store is closed") from error
        raise
    except OSError as error:
        if error.errno in DISK_ERRNOS:
            raise UnavailableError(f"the disk refuses: {error.strerror}") from error
        raise
