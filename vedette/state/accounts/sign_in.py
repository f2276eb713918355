"""Sign-in with a password, and limits on attempts.

Attempts are counted before the password is checked, in one transaction, per address, per user, and
per pair of both. Concurrent attempts therefore never exceed the limits. Attempts for an unknown
name count too. A wrong password, an unknown user and a disabled user get the same response after
the same time.

A link replaces a password, once and for a few minutes. Anyone who may open the state database on
the server's machine can issue a link (`vedette user link`, `vedette demo`). A second factor is
still required.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from ipaddress import IPv6Network, ip_address
from typing import Final

from sqlalchemy import Connection, delete, select, update

from vedette import limits
from vedette.errors import BadRequestError, BusyError, NotFoundError, UnauthorizedError
from vedette.limits import Limit
from vedette.state.accounts import tokens, users
from vedette.state.accounts.lock_note import AttemptLock, note_locks
from vedette.state.accounts.second_factor import check_code
from vedette.state.accounts.tokens import Issued
from vedette.state.db.author import current_author, set_author
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SIGN_IN_ATTEMPT, TOKEN, USER
from vedette.state.db.sealing import Sealing

SIGN_INS_OF_USER_AND_ADDRESS_MAX: Limit[int] = 8
"""Attempts from one address for one user within `SIGN_IN_WINDOW_S`: people mistype, programs
guess."""

SIGN_INS_OF_USER_MAX: Limit[int] = 60
"""Attempts for one user from all addresses together. Higher than the limit for one address, so that
a single address cannot lock a user out."""

SIGN_INS_OF_ADDRESS_MAX: Limit[int] = 40
"""Failed attempts from one address for all users: an office has one address for many people."""

SIGN_IN_LINK_S: Limit[int] = 15 * 60
"""Validity (s) of a link: long enough to carry it from a terminal to a browser."""

SIGN_INS_OF_LINK_MAX: Limit[int] = 8
"""Attempts with one link from all addresses together. People mistype codes of a second factor; a
thief of the link guesses them."""


_SECOND_US: Final = 1_000_000
_NETWORK_V6: Final = 64


@dataclass(frozen=True, slots=True)
class Attempt:
    """Credentials of a sign-in."""

    username: str
    password: str
    code: str
    """Code of the second factor; "" for none."""
    address: str


def sign_in(
    database: Database, sealing: Sealing, attempt: Attempt, client: str, now_us: int
) -> Issued:
    """Signs a user in and returns a session named `client`. Deliberately slow: tens of
    milliseconds.

    Raises UnauthorizedError, with the reason `second_factor_needed` if only the code is missing;
    BusyError with the reason `locked_out`, whether or not the user exists.
    """
    name = attempt.username.lower()[: limits.USER_DETAIL_CHARS_MAX]
    kept = _matching_hash(database, name, attempt.password, attempt.address, now_us)
    if kept is None:
        raise UnauthorizedError("invalid user name or password")
    with database.writing() as connection:
        # Changing the password or disabling the user ends existing sessions. The check under the
        # row lock prevents a new session with credentials that were valid only before such a
        # change.
        user_id = users.enabled_id_within(connection, name, kept)
        if user_id is None:
            raise UnauthorizedError("invalid user name or password")
        check_code(connection, sealing, user_id, attempt.code, now_us)
        _forget(connection, name, attempt.address)
        return tokens.begin_session_within(connection, user_id, client, now_us)


def prove_password(
    database: Database, username: str, password: str, address: str, now_us: int
) -> None:
    """Checks the password for actions that need more than a session. A wrong password counts as a
    sign-in attempt. Deliberately slow. Raises BadRequestError for a wrong password, BusyError with
    the reason `locked_out`."""
    if _matching_hash(database, username, password, address, now_us) is None:
        raise BadRequestError("password: is incorrect")
    with database.writing() as connection:
        _forget(connection, username, address)


def change_password(
    database: Database,
    username: str,
    present: str,
    wanted: str,
    address: str,
    now_us: int,
    *,
    own_session: str,
) -> None:
    """Sets a new password after checking the present one, and ends all sessions except
    `own_session`. A wrong present password counts as a sign-in attempt. Deliberately slow.

    Raises BadRequestError for a wrong present password, and for a new one that is too short, too
    long or unchanged; BusyError with the reason `locked_out`.
    """
    kept = _matching_hash(database, username, present, address, now_us)
    if kept is None:
        raise BadRequestError("password: is incorrect")
    if present == wanted:
        raise BadRequestError("new_password: must differ from the current password")
    made = users.hash_password(wanted, "new_password")
    with database.writing() as connection:
        # An administrator may have set another password meanwhile, or disabled the user.
        user_id = users.enabled_id_within(connection, username, kept)
        if user_id is None:
            raise BadRequestError("password: is incorrect")
        _forget(connection, username, address)
        users.keep_password_within(connection, user_id, made, own_session=own_session)


def count_attempt(connection: Connection, key: str, most: int, now_us: int) -> None:
    """Counts an event that may occur `most` times in `SIGN_IN_WINDOW_S`, also under concurrency.
    Raises BusyError with the reason `locked_out` above the limit."""
    _delete_old(connection, now_us)
    _count(connection, key, most, now_us)


def count_all(database: Database, locks: list[AttemptLock], now_us: int) -> None:
    """Counts an attempt in all counters, or in none. Raises BusyError above a limit, whether or not
    the user exists, and writes it into the audit log."""
    try:
        with database.writing() as connection:
            _delete_old(connection, now_us)
            for lock in locks:
                _count(connection, lock.key, lock.attempts_max, now_us)
    except BusyError:
        note_locks(database, locks, now_us)
        raise


def issue_link(database: Database, username: str, now_us: int) -> str:
    """Returns the secret of a link that signs this user in once within `SIGN_IN_LINK_S`. Revokes
    earlier links. Raises NotFoundError, also for a disabled user."""
    with database.writing() as connection:
        user_id = connection.scalar(
            select(USER.c.id).where(USER.c.username == username.lower(), USER.c.enabled.is_(True))
        )
        if user_id is None:
            raise NotFoundError(f"user {username!r} not found or cannot sign in")
        connection.execute(
            update(TOKEN)
            .where(TOKEN.c.user_id == user_id, TOKEN.c.kind == "link", TOKEN.c.revoked_us == 0)
            .values(revoked_us=now_us)
        )
        expires_us = now_us + SIGN_IN_LINK_S * _SECOND_US
        new = tokens.NewToken("link", user_id=user_id, expires_us=expires_us)
        return tokens.insert_checked(connection, new, now_us).secret


def sign_in_by_link(
    database: Database, sealing: Sealing, link: str, attempt: Attempt, client: str, now_us: int
) -> Issued:
    """Uses a link up and returns a session named `client` of the link's user. Only the address and
    the code of `attempt` are used. The audit log shows the link's user as the author.

    Raises UnauthorizedError, with the reason `second_factor_needed` if only the code is missing,
    which leaves the link valid; BusyError with the reason `locked_out`.
    """
    network = network_of(attempt.address)
    count_all(database, [_of_address(network)], now_us)
    with database.reading() as connection:
        found = tokens.find_link(connection, link, now_us)
    if found is None:
        raise UnauthorizedError("the link was already used or has expired", reason="link_ended")
    token_id, user_id, username = found
    set_author(replace(current_author(), name=username))
    lock = AttemptLock(f"link {token_id}", SIGN_INS_OF_LINK_MAX, "link", username, network)
    count_all(database, [lock], now_us)
    with database.writing() as connection:
        users.enabled_id_within(connection, username)  # locks the user's row
        check_code(connection, sealing, user_id, attempt.code, now_us)
        used = update(TOKEN).where(TOKEN.c.id == token_id, TOKEN.c.revoked_us == 0)
        if not connection.execute(used.values(revoked_us=now_us)).rowcount:
            raise UnauthorizedError("the link was already used", reason="link_ended")
        _take_back(connection, attempt.address)
        return tokens.begin_session_within(connection, user_id, client, now_us)


def network_of(address: str) -> str:
    """Returns the network that attempts from an address count for: the /64 of an IPv6 address,
    since a client usually controls all of it; else the address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(IPv6Network((int(parsed), _NETWORK_V6), strict=False))


def _matching_hash(
    database: Database, name: str, password: str, address: str, now_us: int
) -> str | None:
    """Like `users.matching_hash`, after counting the attempt."""
    count_all(database, _locks(name, address), now_us)
    return users.matching_hash(database, name, password)


def _forget(connection: Connection, name: str, address: str) -> None:
    """Resets the user's counters after a correct password. The address keeps its earlier
    attempts."""
    own = [lock.key for lock in _locks(name, address) if lock.of != "address"]
    connection.execute(delete(SIGN_IN_ATTEMPT).where(SIGN_IN_ATTEMPT.c.name.in_(own)))
    _take_back(connection, address)


def _take_back(connection: Connection, address: str) -> None:
    """Uncounts the successful attempt of an address, since a whole office may share one address."""
    of_address = SIGN_IN_ATTEMPT.c.name == _of_address(network_of(address)).key
    counted = update(SIGN_IN_ATTEMPT).where(of_address, SIGN_IN_ATTEMPT.c.attempts > 0)
    connection.execute(counted.values(attempts=SIGN_IN_ATTEMPT.c.attempts - 1))


def _locks(name: str, address: str) -> list[AttemptLock]:
    """Returns the counters of an attempt with their limits. Keys contain hashes of names: people
    type passwords into name fields."""
    network = network_of(address)
    user = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    most, most_of_all = SIGN_INS_OF_USER_AND_ADDRESS_MAX, SIGN_INS_OF_USER_MAX
    return [
        AttemptLock(f"user {user} {network}", most, "user from an address", name, network),
        AttemptLock(f"user {user}", most_of_all, "user", name, network),
        _of_address(network),
    ]


def _of_address(network: str) -> AttemptLock:
    return AttemptLock(f"address {network}", SIGN_INS_OF_ADDRESS_MAX, "address", "", network)


def _count(connection: Connection, key: str, most: int, now_us: int) -> None:
    connection.execute(
        insert_new(connection, SIGN_IN_ATTEMPT), {"name": key, "attempts": 0, "first_us": now_us}
    )
    of_key = SIGN_IN_ATTEMPT.c.name == key
    counted = update(SIGN_IN_ATTEMPT).where(of_key, SIGN_IN_ATTEMPT.c.attempts < most)
    if not connection.execute(counted.values(attempts=SIGN_IN_ATTEMPT.c.attempts + 1)).rowcount:
        raise BusyError("too many sign-in attempts; retry in 15 minutes", reason="locked_out")


def _delete_old(connection: Connection, now_us: int) -> None:
    """Deletes expired counters, without the clock guard: expired counters limit nothing, and an
    attacker who can set the clock ahead has no need to guess."""
    before = now_us - limits.SIGN_IN_WINDOW_S * _SECOND_US
    connection.execute(delete(SIGN_IN_ATTEMPT).where(SIGN_IN_ATTEMPT.c.first_us < before))
