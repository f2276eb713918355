"""Audit entries about lockouts after failed attempts with a password, a link or an app.

Each lock gets one entry, however many attempts it rejects, and all locks together get
`LOCK_OUTS_NOTED_MAX` entries in `SIGN_IN_WINDOW_S`, so guessing cannot fill the log. An entry shows
a name only if a user or app has it: people type passwords into name fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from sqlalchemy import ColumnElement, Connection, delete, select, update

from vedette.limits import SIGN_IN_WINDOW_S, Limit
from vedette.state.db.audit_log import Entry, note
from vedette.state.db.author import acting_as, current_author
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SIGN_IN_ATTEMPT, USER
from vedette.state.db.schema_cloud import CLOUD_APP

LOCK_OUTS_NOTED_MAX: Limit[int] = 100
"""Audit entries about lockouts within `SIGN_IN_WINDOW_S`. A client with thousands of addresses
triggers lock after lock."""


_NOTED: Final = "lock-outs in the audit log"
"""Key of the counter of written entries."""

_SECOND_US: Final = 1_000_000

_UNKNOWN: Final = "(no such name)"


Of = Literal["user", "user from an address", "address", "link", "app"]


@dataclass(frozen=True, slots=True)
class AttemptLock:
    """A counter of attempts, and the contents of its audit entry."""

    key: str
    """Key in the table of counters."""
    attempts_max: int
    of: Of
    """Kind of the locked object. `link` and `address` lock out every user of it."""
    target: str
    """User name, app id or address. The entry shows a name or id only if it exists."""
    network: str
    """Network of the client that triggered the lock."""


def note_locks(database: Database, locks: Sequence[AttemptLock], now_us: int) -> None:
    """Writes entries for the locks that have none yet, after an attempt was rejected."""
    with database.reading() as connection:
        if not any(_is_new(connection, lock) for lock in locks):
            return
    author = replace(current_author(), kind="server", name="sign-in")
    with acting_as(author), database.writing() as connection:
        for lock in locks:
            # Incrementing the counter beyond its limit marks the lock as noted.
            new = (
                update(SIGN_IN_ATTEMPT).where(*_of_new(lock)).values(attempts=lock.attempts_max + 1)
            )
            if connection.execute(new).rowcount:
                note_lock(connection, lock, now_us)


def note_lock(connection: Connection, lock: AttemptLock, now_us: int) -> None:
    """Writes an entry within a transaction, up to the limit of entries."""
    old = SIGN_IN_ATTEMPT.c.first_us < now_us - SIGN_IN_WINDOW_S * _SECOND_US
    connection.execute(delete(SIGN_IN_ATTEMPT).where(SIGN_IN_ATTEMPT.c.name == _NOTED, old))
    row = {"name": _NOTED, "attempts": 0, "first_us": now_us}
    connection.execute(insert_new(connection, SIGN_IN_ATTEMPT), row)
    counted = (
        update(SIGN_IN_ATTEMPT)
        .where(SIGN_IN_ATTEMPT.c.name == _NOTED, SIGN_IN_ATTEMPT.c.attempts < LOCK_OUTS_NOTED_MAX)
        .values(attempts=SIGN_IN_ATTEMPT.c.attempts + 1)
        .returning(SIGN_IN_ATTEMPT.c.attempts)
    )
    written = connection.scalar(counted)
    if written is None:
        return
    details: dict[str, object] = {
        "of": lock.of,
        "address": lock.network,
        "attempts": lock.attempts_max,
        "minutes": SIGN_IN_WINDOW_S // 60,
    }
    if written == LOCK_OUTS_NOTED_MAX:
        details["further"] = "are not noted for as long"
    note(connection, Entry("create", "lock-out", _shown(connection, lock), after=details))


def _of_new(lock: AttemptLock) -> tuple[ColumnElement[bool], ...]:
    return (
        SIGN_IN_ATTEMPT.c.name == lock.key,
        SIGN_IN_ATTEMPT.c.attempts == lock.attempts_max,
    )


def _is_new(connection: Connection, lock: AttemptLock) -> bool:
    found = select(SIGN_IN_ATTEMPT.c.name).where(*_of_new(lock))
    return connection.scalar(found) is not None


def _shown(connection: Connection, lock: AttemptLock) -> str:
    if lock.of == "address":
        return lock.network
    if not lock.target.isprintable():  # PostgreSQL compares no zero byte
        return _UNKNOWN
    column = CLOUD_APP.c.id if lock.of == "app" else USER.c.username
    known: str | None = connection.scalar(select(column).where(column == lock.target))
    return known or _UNKNOWN
