"""Measures the work of a writing transaction, and bounds it in shared transactions.

SQLite has one writer at a time, and a group commit is one transaction for many callers, so the work
of one caller delays all others. `Database.writing` counts the rows of every transaction and logs
long ones. Within `allowance`, a statement above the allowance raises before it runs, so a unit of
work cannot grow with one caller's input.

The row count adds, per statement, the larger of its parameter sets and its changed rows. Read rows
do not count.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import structlog
from sqlalchemy import Connection, Engine, event

from vedette.limits import STATE_TRANSACTION_ROWS_MAX, Limit

STATE_TRANSACTION_LOGGED_S: Limit[float] = 2.0
"""Duration (s) of a transaction above which it is logged: check-ins waited for it."""


log = structlog.get_logger(__name__)

_WORK: Final = "work of the transaction"


class OversizedWorkError(Exception):
    """A unit of work exceeds its allowance. Indicates a bug in the caller of the shared
    transaction."""


@dataclass(slots=True)
class Work:
    """Work of one transaction so far, and its remaining allowance (None: unlimited)."""

    rows: int = 0
    rows_left: int | None = None
    bytes_left: int = 0


@dataclass(slots=True)
class LargestWork:
    """Maximum rows of one transaction since the database was opened."""

    rows: int = 0


def observe(engine: Engine) -> None:
    """Observes the statements of an engine to count their work."""
    event.listen(engine, "before_cursor_execute", _before)
    event.listen(engine, "after_cursor_execute", _after)


@contextmanager
def measured(connection: Connection, largest: LargestWork) -> Iterator[None]:
    """Counts the rows of a transaction. Logs a transaction above `STATE_TRANSACTION_ROWS_MAX` rows
    or `STATE_TRANSACTION_LOGGED_S` seconds, since other writers wait for it."""
    info = connection.info  # keep it: a closed connection loses its info
    work = info[_WORK] = Work()
    begun_s = time.monotonic()
    try:
        yield
    finally:
        info.pop(_WORK, None)
        largest.rows = max(largest.rows, work.rows)
        took_s = time.monotonic() - begun_s
        if work.rows > STATE_TRANSACTION_ROWS_MAX or took_s > STATE_TRANSACTION_LOGGED_S:
            log.warning("slow state transaction", rows=work.rows, seconds=round(took_s, 3))


@contextmanager
def allowance(connection: Connection, rows: int, byte_count: int) -> Iterator[None]:
    """Limits the statements of the block to `rows` rows and `byte_count` bytes of values,
    regardless of an outer allowance. Raises OversizedWorkError before a statement that would exceed
    it."""
    work: Work = connection.info[_WORK]
    outer = work.rows_left, work.bytes_left
    work.rows_left, work.bytes_left = rows, byte_count
    try:
        yield
    finally:
        work.rows_left, work.bytes_left = outer


def _before(
    connection: Connection,
    _cursor: object,
    _statement: str,
    parameters: Any,
    _context: object,
    executemany: bool,
) -> None:
    work: Work | None = connection.info.get(_WORK)
    if work is None:
        return
    sets: Sequence[Any] = parameters if executemany else (parameters,)
    _take(work, len(sets))
    if work.rows_left is not None:
        work.bytes_left -= sum(map(_byte_count, sets))
        if work.bytes_left < 0:
            raise OversizedWorkError("the work of one caller has more bytes than its allowance")


def _after(
    connection: Connection,
    cursor: Any,
    _statement: str,
    parameters: Any,
    _context: object,
    executemany: bool,
) -> None:
    work: Work | None = connection.info.get(_WORK)
    if work is not None:
        counted = len(parameters) if executemany else 1
        _take(work, max(0, (cursor.rowcount or 0) - counted))


def _take(work: Work, rows: int) -> None:
    work.rows += rows
    if work.rows_left is not None:
        work.rows_left -= rows
        if work.rows_left < 0:
            raise OversizedWorkError("the work of one caller has more rows than its allowance")


def _byte_count(values: Any) -> int:
    """Returns the characters of strings plus the bytes of binary values; other values have a
    bounded size."""
    given = values.values() if isinstance(values, Mapping) else values or ()
    return sum(len(one) for one in given if isinstance(one, str | bytes))
