"""Limits on wrong secrets of apps.

Wrong secrets are counted in the state database per address, per app, and per pair of both. A server
checks secrets one at a time, so concurrent guesses never exceed the limits; each further server of
a cluster adds at most one guess. A correct secret costs a read and no write. A lock also rejects
the correct secret.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from threading import Lock
from typing import TypeVar

from sqlalchemy import Connection, delete, select, update

from vedette.errors import BusyError, UnauthorizedError
from vedette.limits import SIGN_IN_WINDOW_S, Limit
from vedette.state.accounts.lock_note import AttemptLock, Of, note_lock
from vedette.state.accounts.sign_in import network_of
from vedette.state.db.author import acting_as, current_author
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SIGN_IN_ATTEMPT

APP_GUESSES_OF_ADDRESS_MAX: Limit[int] = 20
"""Wrong secrets for one app from one address within `SIGN_IN_WINDOW_S`; programs do not mistype."""

APP_GUESSES_MAX: Limit[int] = 100
"""Wrong secrets within `SIGN_IN_WINDOW_S` for one app from all addresses, or from one address for
all apps. Higher than the limit for one app from one address, so that a single address locks out
neither the app nor other apps of its network."""


T = TypeVar("T")

_SECOND = 1_000_000


class AppGuesses:
    """Counts wrong secrets. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = Lock()

    def check(
        self, who: str, address: str, now_us: int, look: Callable[[Connection], T | None]
    ) -> T:
        """Returns the result of `look`, which checks a secret inside a read transaction.

        `who` is the app's id, or "" if the secret identifies the app; then only the address is
        counted. Raises UnauthorizedError if `look` returns None, BusyError (`reason` "locked_out")
        after too many failures.
        """
        network = network_of(address)
        limits_of = _keys(who, network)
        with self._turn:
            with self._database.reading() as connection:
                _refuse_beyond(connection, limits_of, now_us)
                found = look(connection)
            if found is not None:
                return found
            author = replace(current_author(), kind="server", name="sign-in", address=address)
            with acting_as(author), self._database.writing() as connection:
                for key in list(self._count(connection, limits_of, now_us)):
                    of: Of = "address" if key in _keys("", network) else "app"
                    lock = AttemptLock(key, limits_of[key], of, who, network)
                    note_lock(connection, lock, now_us)
        raise UnauthorizedError("invalid id or secret")

    def _count(
        self, connection: Connection, limits_of: dict[str, int], now_us: int
    ) -> Iterator[str]:
        """Increments the counters and yields the keys that have just reached their limit."""
        # These are counters of guesses, which need no clock guard; see `sign_in.py`.
        old = SIGN_IN_ATTEMPT.c.first_us < now_us - SIGN_IN_WINDOW_S * _SECOND
        connection.execute(
            delete(SIGN_IN_ATTEMPT).where(old, SIGN_IN_ATTEMPT.c.name.in_(limits_of))
        )
        for key, most in limits_of.items():
            row = {"name": key, "attempts": 0, "first_us": now_us}
            connection.execute(insert_new(connection, SIGN_IN_ATTEMPT), row)
            counted = (
                update(SIGN_IN_ATTEMPT)
                .where(SIGN_IN_ATTEMPT.c.name == key)
                .values(attempts=SIGN_IN_ATTEMPT.c.attempts + 1)
                .returning(SIGN_IN_ATTEMPT.c.attempts)
            )
            if connection.scalar(counted) == most:
                yield key


def _keys(who: str, address: str) -> dict[str, int]:
    """Maps each counter's key to its limit."""
    of_address = {f"app address {address}": APP_GUESSES_MAX}
    if not who:
        return of_address
    app = sha256(who.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    of_app = {f"app {app} {address}": APP_GUESSES_OF_ADDRESS_MAX, f"app {app}": APP_GUESSES_MAX}
    return of_app | of_address


def _refuse_beyond(connection: Connection, limits_of: dict[str, int], now_us: int) -> None:
    rows = connection.execute(
        select(SIGN_IN_ATTEMPT.c.name, SIGN_IN_ATTEMPT.c.attempts).where(
            SIGN_IN_ATTEMPT.c.name.in_(limits_of),
            SIGN_IN_ATTEMPT.c.first_us >= now_us - SIGN_IN_WINDOW_S * _SECOND,
        )
    )
    # Fetch all rows: an open cursor keeps its snapshot, and SQLite refuses to write from an old
    # snapshot.
    if any(row.attempts >= limits_of[row.name] for row in rows.all()):
        raise BusyError("too many failed attempts; retry in 15 minutes", reason="locked_out")
