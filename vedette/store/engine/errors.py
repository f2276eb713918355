"""Maps failures of the engine: transient failures become UnavailableError (503), others are
bugs."""

import errno
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from clickhouse_connect.driver.exceptions import (
    DatabaseError,
    OperationalError,
    ProgrammingError,
    StreamFailureError,
)

from vedette.errors import UnavailableError, VedetteError
from vedette.store.engine.cancel import cancelled_error

DEADLINE_CODES = frozenset({159, 160})

CANCELLED_CODES = frozenset({394})

MANY_CODES = frozenset({158, 191})
"""Codes of `ManyRowsError`."""

REFUSED = "the lease of the sending server has expired"
"""Text of the engine's error for an insert that arrived too late (`fenced_insert.py`)."""

MOVING = "sensors are being moved to another shard"
"""Text of the error, also of the engine's error for a statement that would change rows of sensors
that are being moved."""

DROPPED_CODE, UNKNOWN_CODE = 218, 60
"""A statement used a table that was replaced after the statement began: dropped, or no longer
there."""

_GONE = re.compile(r"\([0-9a-f]{8}-[0-9a-f-]{27}\) does not exist")
"""Error about a table that the engine resolved to a UUID. A table that never existed is reported
without one."""

THROWN_CODE = 395
"""A statement raised an error deliberately."""

UNAVAILABLE_CODES: dict[int, str] = {
    74: "the disk cannot be read",
    75: "the disk cannot be written",
    76: "a file cannot be opened",
    81: "its database is missing: run `vedette cluster init`",
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
    341: "a server that is to do the same is away",
    369: "all replicas of a shard are behind",
    425: "the system refuses",
    497: "its user lacks a right",
    516: "its user is refused",
    999: "the coordination service refuses",
}
"""ClickHouse error codes that are not the fault of the statement."""

_BEFORE_RIGHT, _AFTER_RIGHT = "necessary to have the grant ", " (ACCESS_DENIED)"
"""The text around the missing right in the engine's message."""

DISK_WORDS = ("No space left on device", "Disk quota exceeded", "Read-only file system")
"""Texts of disk failures that come with a generic code."""

DISK_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})

DESCRIPTOR_WORDS = ("Too many open files", "errno: 24", "errno: 23")
"""The process or the machine is out of file descriptors; the engine's codes for this vary."""

DESCRIPTOR_ERRNOS = frozenset({errno.EMFILE, errno.ENFILE})


CORRUPT_CODES = frozenset({3, 32, 33, 39, 40, 107, 117, 226, 246, 271, 432})
"""Files of a part are missing, truncated or fail their checksum."""


@dataclass(frozen=True, slots=True, order=True)
class PartName:
    """A data part of a table, with the table's name in `tables.TABLES`."""

    table: str
    part: str


class CorruptPartError(UnavailableError):
    """A query read a damaged part; `part` is None if the engine does not name it."""

    def __init__(self, part: PartName | None) -> None:
        named = "a data part" if part is None else f"part {part.part} of table {part.table}"
        super().__init__(f"the telemetry store is unavailable: {named} is damaged")
        self.part = part


class ReplacedTableError(UnavailableError):
    """The definition of a table was replaced while a statement began. The statement did nothing,
    and its tables exist: it can be repeated at once."""

    def __init__(self) -> None:
        super().__init__("the telemetry store is unavailable: a table was replaced")


class ManyRowsError(VedetteError):
    """A set, or the groups of a result, exceed `Reach.rows_max` (`store/plan/search_bounds.py`);
    the caller falls back to another plan."""


def deadline_error() -> UnavailableError:
    return UnavailableError("the search exceeded its time limit", reason="deadline")


def left_s(until_s: float) -> float:
    """Returns the seconds until a time of the monotonic clock, at least a millisecond, because the
    engine treats 0 as no limit. Raises UnavailableError (`reason` "deadline")."""
    seconds = until_s - time.monotonic()
    if seconds <= 0:
        raise deadline_error()
    return max(seconds, 0.001)


def descriptors_error() -> UnavailableError:
    return UnavailableError("the server is out of file descriptors")


def unavailable(text: str, code: int | None) -> UnavailableError | None:
    """Returns the domain error for an engine failure; None for a bug of this project."""
    if code in DEADLINE_CODES:
        return deadline_error()
    if code in CANCELLED_CODES:
        return cancelled_error()
    if code in CORRUPT_CODES:
        return CorruptPartError(_part_name(text))
    if any(words in text for words in DESCRIPTOR_WORDS):
        return descriptors_error()
    if any(word in text for word in DISK_WORDS):
        return UnavailableError("the telemetry store is unavailable: the disk is full or failing")
    if code == DROPPED_CODE or (code == UNKNOWN_CODE and _GONE.search(text)):
        return ReplacedTableError()
    if code == THROWN_CODE and REFUSED in text:
        return UnavailableError(f"the telemetry store is unavailable: {REFUSED}")
    if code == THROWN_CODE and MOVING in text:
        return UnavailableError(MOVING, reason="moving")
    if code in UNAVAILABLE_CODES:
        right = _missing_right(text)
        cause = UNAVAILABLE_CODES[code] + (f": {right}" if right else "")
        return UnavailableError(f"the telemetry store is unavailable: {cause}")
    return None


def _part_name(text: str) -> PartName | None:
    """Returns the part named in `... from part /path/of/PART/ in table DATABASE.TABLE (...`."""
    path, in_table, after = text.partition("from part ")[2].partition("/ in table ")
    if not in_table:
        return None
    names = [name for name in path.split("/") if not name.endswith(".proj")]
    table = after.partition(" ")[0].partition(".")[2].removesuffix("_local")
    return PartName(table, names[-1]) if names and table else None


def _missing_right(text: str) -> str:
    _, before, rest = text.partition(_BEFORE_RIGHT)
    right, after, _ = rest.partition(_AFTER_RIGHT)
    return right.removesuffix(".") if before and after else ""


def _is_connection(error: DatabaseError) -> bool:
    # A statement that fails in mid-stream has the class of a connection error, too.
    return isinstance(error, OperationalError) and not isinstance(error, StreamFailureError)


@contextmanager
def domain_errors() -> Iterator[None]:
    """Converts transient failures to UnavailableError and row limits to ManyRowsError; raises bugs
    unchanged."""
    try:
        yield
    except DatabaseError as error:
        if error.code in MANY_CODES:
            raise ManyRowsError("the result has more rows than allowed") from error
        mapped = unavailable(str(error), error.code)
        if mapped is None and _is_connection(error):
            mapped = UnavailableError("the telemetry store cannot be reached")
        if mapped is None:
            raise
        raise mapped from error
    except ProgrammingError as error:
        if any(words in str(error) for words in DESCRIPTOR_WORDS):
            raise descriptors_error() from error
        if "closed" in str(error):
            raise UnavailableError("the telemetry store is closed") from error
        raise
    except OSError as error:
        if error.errno in DESCRIPTOR_ERRNOS:
            raise descriptors_error() from error
        if error.errno in DISK_ERRNOS:
            raise UnavailableError(f"the disk refuses: {error.strerror}") from error
        raise
