"""Signing in with a password, and how often somebody may try.

Attempts are counted before the password is looked at, in one transaction, for the address, for the
user, and for both together: of any number of attempts at once no more are let through than the
limits say. A name that belongs to nobody is counted like any other, and a wrong password, an
unknown user and a disabled one get the same answer after the same time.

A link stands for a password, once and for a few minutes: who may open the state on the server's
machine makes one (`vedette user link`, `vedette demo`). A second factor is asked for as ever.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from ipaddress import IPv6Network, ip_address
from typing import Final

from sqlalchemy import Connection, delete, select, update

from vedette import limits
from vedette.errors import BadRequestError, BusyError, NotFoundError, UnauthorizedError
from vedette.state.accounts import tokens, users
from vedette.state.accounts.lock_note import AttemptLock, note_locks
from vedette.state.accounts.second_factor import check_code
from vedette.state.accounts.tokens import Issued
from vedette.state.db.author import current_author, set_author
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SIGN_IN_ATTEMPT, TOKEN, USER
from vedette.state.db.sealing import Sealing

_SECOND_US: Final = 1_000_000
_NETWORK_V6: Final = 64


@dataclass(frozen=True, slots=True)
class Attempt:
    """What somebody signs in with."""

    username: str
    password: str
    code: str
    """Of the second factor, "" for none."""
    address: str


def sign_in(
    database: Database, sealing: Sealing, attempt: Attempt, client: str, now_us: int
) -> Issued:
    """A session, called `client`. Slow on purpose: tens of milliseconds.

    Raises UnauthorizedError, with the reason `second_factor_needed` where only the code is missing;
    BusyError with the reason `locked_out`, whether or not the user exists.
    """
    name = attempt.username.lower()[: limits.USER_DETAIL_CHARS_MAX]
    kept = _matching_hash(database, name, attempt.password, attempt.address, now_us)
    if kept is None:
        raise UnauthorizedError("the user name or the password is wrong")
    with database.writing() as connection:
        # Whoever gets another password, or is disabled, ends the sessions there are: none may begin
        # after that with what was right before.
        user_id = users.enabled_id_within(connection, name, kept)
        if user_id is None:
            raise UnauthorizedError("the user name or the password is wrong")
        check_code(connection, sealing, user_id, attempt.code, now_us)
        _forget(connection, name, attempt.address)
        return tokens.begin_session_within(connection, user_id, client, now_us)


def prove_password(
    database: Database, username: str, password: str, address: str, now_us: int
) -> None:
    """For what a session alone is not enough. A wrong password counts as an attempt to sign in.
    Slow on purpose. Raises BadRequestError for one, BusyError with the reason `locked_out`."""
    if _matching_hash(database, username, password, address, now_us) is None:
        raise BadRequestError("password: is wrong")
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
    """Who knows the present password sets another, which ends all sessions but `own_session`. A
    wrong one counts as an attempt to sign in. Slow on purpose.

    Raises BadRequestError for a wrong one, and for one that is too short, too long or the same;
    BusyError with the reason `locked_out`.
    """
    kept = _matching_hash(database, username, present, address, now_us)
    if kept is None:
        raise BadRequestError("password: is wrong")
    if present == wanted:
        raise BadRequestError("new_password: is the present one")
    made = users.hash_password(wanted, "new_password")
    with database.writing() as connection:
        # An administrator may have set another one meanwhile, or switched the user off.
        user_id = users.enabled_id_within(connection, username, kept)
        if user_id is None:
            raise BadRequestError("password: is wrong")
        _forget(connection, username, address)
        users.keep_password_within(connection, user_id, made, own_session=own_session)


def count_attempt(connection: Connection, key: str, most: int, now_us: int) -> None:
    """Count something that may happen `most` times in `SIGN_IN_WINDOW_S`, however much of it comes
    at once. Raises BusyError with the reason `locked_out`."""
    _delete_old(connection, now_us)
    _count(connection, key, most, now_us)


def count_all(database: Database, locks: list[AttemptLock], now_us: int) -> None:
    """Counts an attempt for all of them, or for none. Raises BusyError, noted in the audit log,
    whether or not the user exists."""
    try:
        with database.writing() as connection:
            _delete_old(connection, now_us)
            for lock in locks:
                _count(connection, lock.key, lock.attempts_max, now_us)
    except BusyError:
        note_locks(database, locks, now_us)
        raise


def issue_link(database: Database, username: str, now_us: int) -> str:
    """The secret of a link that signs this user in once, within `SIGN_IN_LINK_S`. One that was
    made before ends. Raises NotFoundError, also for a user who is disabled."""
    with database.writing() as connection:
        user_id = connection.scalar(
            select(USER.c.id).where(USER.c.username == username.lower(), USER.c.enabled.is_(True))
        )
        if user_id is None:
            raise NotFoundError(f"there is no user {username!r} who may sign in")
        connection.execute(
            update(TOKEN)
            .where(TOKEN.c.user_id == user_id, TOKEN.c.kind == "link", TOKEN.c.revoked_us == 0)
            .values(revoked_us=now_us)
        )
        expires_us = now_us + limits.SIGN_IN_LINK_S * _SECOND_US
        new = tokens.NewToken("link", user_id=user_id, expires_us=expires_us)
        return tokens.insert_checked(connection, new, now_us).secret


def sign_in_by_link(
    database: Database, sealing: Sealing, link: str, attempt: Attempt, client: str, now_us: int
) -> Issued:
    """A session, called `client`, of the user whose link it is; it is used up by that. Of the
    attempt count the address and the code. The author gets the name that is found.

    Raises UnauthorizedError, with the reason `second_factor_needed` where only the code is missing,
    which leaves the link good; BusyError with the reason `locked_out`.
    """
    network = network_of(attempt.address)
    count_all(database, [_of_address(network)], now_us)
    with database.reading() as connection:
        found = tokens.find_link(connection, link, now_us)
    if found is None:
        raise UnauthorizedError("the link was used, or its time is over", reason="link_ended")
    token_id, user_id, username = found
    set_author(replace(current_author(), name=username))
    lock = AttemptLock(f"link {token_id}", limits.SIGN_INS_OF_LINK_MAX, "link", username, network)
    count_all(database, [lock], now_us)
    with database.writing() as connection:
        users.enabled_id_within(connection, username)  # a change of theirs ends the link
        check_code(connection, sealing, user_id, attempt.code, now_us)
        used = update(TOKEN).where(TOKEN.c.id == token_id, TOKEN.c.revoked_us == 0)
        if not connection.execute(used.values(revoked_us=now_us)).rowcount:
            raise UnauthorizedError("the link was used just now", reason="link_ended")
        _take_back(connection, attempt.address)
        return tokens.begin_session_within(connection, user_id, client, now_us)


def network_of(address: str) -> str:
    """What attempts of an address are counted for: of IPv6 the network of 64 bits, since whoever
    has one address has all of those."""
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
    """`users.matching_hash`, counted before it is looked at."""
    count_all(database, _locks(name, address), now_us)
    return users.matching_hash(database, name, password)


def _forget(connection: Connection, name: str, address: str) -> None:
    """Nobody has to answer for the attempts before the right one; an address still does."""
    own = [lock.key for lock in _locks(name, address) if lock.of != "address"]
    connection.execute(delete(SIGN_IN_ATTEMPT).where(SIGN_IN_ATTEMPT.c.name.in_(own)))
    _take_back(connection, address)


def _take_back(connection: Connection, address: str) -> None:
    """The attempt that was right does not count for its address: behind one there may be a whole
    office, whose day begins at nine."""
    of_address = SIGN_IN_ATTEMPT.c.name == _of_address(network_of(address)).key
    counted = update(SIGN_IN_ATTEMPT).where(of_address, SIGN_IN_ATTEMPT.c.attempts > 0)
    connection.execute(counted.values(attempts=SIGN_IN_ATTEMPT.c.attempts - 1))


def _locks(name: str, address: str) -> list[AttemptLock]:
    """What is counted, and how many attempts each has. Names are hashed: people type passwords
    where names belong."""
    network = network_of(address)
    user = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    most, most_of_all = limits.SIGN_INS_OF_USER_AND_ADDRESS_MAX, limits.SIGN_INS_OF_USER_MAX
    return [
        AttemptLock(f"user {user} {network}", most, "user from an address", name, network),
        AttemptLock(f"user {user}", most_of_all, "user", name, network),
        _of_address(network),
    ]


def _of_address(network: str) -> AttemptLock:
    return AttemptLock(f"address {network}", limits.SIGN_INS_OF_ADDRESS_MAX, "address", "", network)


def _count(connection: Connection, key: str, most: int, now_us: int) -> None:
    connection.execute(
        insert_new(connection, SIGN_IN_ATTEMPT), {"name": key, "attempts": 0, "first_us": now_us}
    )
    of_key = SIGN_IN_ATTEMPT.c.name == key
    counted = update(SIGN_IN_ATTEMPT).where(of_key, SIGN_IN_ATTEMPT.c.attempts < most)
    if not connection.execute(counted.values(attempts=SIGN_IN_ATTEMPT.c.attempts + 1)).rowcount:
        raise BusyError(
            "too many attempts to sign in: wait a quarter of an hour", reason="locked_out"
        )


def _delete_old(connection: Connection, now_us: int) -> None:
    """Whatever the clock guard says: these are counters of guesses, which bound nothing any more,
    and whoever could set the clock ahead needs no guesses."""
    before = now_us - limits.SIGN_IN_WINDOW_S * _SECOND_US
    connection.execute(delete(SIGN_IN_ATTEMPT).where(SIGN_IN_ATTEMPT.c.first_us < before))
