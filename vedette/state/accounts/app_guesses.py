"""How often somebody may be wrong about the secret of an app.

Wrong secrets are counted in the state database: for an address, for an app, and for both. Within a
server one secret is looked at after the other, so that of any number of guesses at once no more
than the limits say are compared; other servers of a cluster add one guess each at most. A right
secret costs a read and no write. Whoever is locked out is so with the right secret, too.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from threading import Lock
from typing import TypeVar

from sqlalchemy import Connection, delete, select, update

from vedette.errors import BusyError, UnauthorizedError
from vedette.limits import APP_GUESSES_MAX, APP_GUESSES_OF_ADDRESS_MAX, SIGN_IN_WINDOW_S
from vedette.state.accounts.lock_note import AttemptLock, Of, note_lock
from vedette.state.accounts.sign_in import network_of
from vedette.state.db.author import acting_as, current_author
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SIGN_IN_ATTEMPT

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
        """What `look` finds with a secret, within a transaction for reading. `who` is the id of
        the app; "" where the secret says it, so that only addresses are counted.

        Raises UnauthorizedError where it finds nothing, BusyError (`reason` "locked_out") after
        too many of these.
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
        raise UnauthorizedError("the id or the secret is wrong")

    def _count(
        self, connection: Connection, limits_of: dict[str, int], now_us: int
    ) -> Iterator[str]:
        """Yields what is locked from now on."""
        # Counters of guesses: not worth to ask the clock guard for, as in `sign_in.py`.
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
    """What is counted, and how much of it there may be."""
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
    # Read to the end: a cursor that is left open keeps its snapshot, and SQLite lets nobody write
    # from an old one.
    if any(row.attempts >= limits_of[row.name] for row in rows.all()):
        raise BusyError("too many wrong secrets: wait a quarter of an hour", reason="locked_out")
