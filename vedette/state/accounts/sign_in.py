"""Signing in with a password, and how often somebody may try.

Attempts are counted before the password is looked at, in one transaction, for the address, for the
user, and for both together: of any number of attempts at once no more are let through than the
limits say. A name that belongs to nobody is counted like any other, and a wrong password, an
unknown user and a disabled one get the same answer after the same time.
"""

import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import pyotp
from sqlalchemy import Connection, delete, select, update

from vedette import limits
from vedette.errors import BadRequestError, BusyError, UnauthorizedError
from vedette.state.accounts import users
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SECOND_FACTOR, SIGN_IN_ATTEMPT, USER
from vedette.state.db.sealing import Sealing

_SECOND_US: Final = 1_000_000
_PURPOSE: Final = "second factor of user "
_ISSUER: Final = "Vedette"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What somebody signs in with."""

    username: str
    password: str
    code: str
    """Of the second factor, "" for none."""
    address: str


def sign_in(database: Database, sealing: Sealing, attempt: Attempt, now_us: int) -> int:
    """The id of the user. Slow on purpose: tens of milliseconds.

    Raises UnauthorizedError, with the reason `second_factor_needed` where only the code is missing;
    BusyError with the reason `locked_out`, whether or not the user exists.
    """
    name = attempt.username.lower()[: limits.USER_DETAIL_CHARS_MAX]
    keys = _keys(name, attempt.address)
    with database.writing() as connection:
        _delete_old(connection, now_us)
        for key, most in keys.items():
            _count(connection, key, most, now_us)
    if not users.has_password(database, name, attempt.password):
        raise UnauthorizedError("the user name or the password is wrong")
    with database.writing() as connection:
        user_id: int = connection.execute(
            select(USER.c.id).where(USER.c.username == name, USER.c.enabled.is_(True))
        ).scalar_one()
        _check_code(connection, sealing, user_id, attempt.code, now_us)
        own = [key for key in keys if not key.startswith("address ")]
        connection.execute(delete(SIGN_IN_ATTEMPT).where(SIGN_IN_ATTEMPT.c.name.in_(own)))
    return user_id


def new_second_factor(database: Database, sealing: Sealing, username: str) -> str:
    """A secret for the user's authenticator, as its `otpauth:` address; in force once it is
    confirmed. One that is in force stays so until then."""
    secret = pyotp.random_base32()
    user_id = users.id_of(database, username)
    with database.writing() as connection:
        connection.execute(insert_new(connection, SECOND_FACTOR), {"user_id": user_id})
        connection.execute(
            update(SECOND_FACTOR)
            .where(SECOND_FACTOR.c.user_id == user_id)
            .values(proposed=sealing.seal(secret, f"{_PURPOSE}{user_id}"))
        )
    return pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=_ISSUER)


def confirm_second_factor(
    database: Database, sealing: Sealing, username: str, code: str, now_us: int
) -> None:
    """Puts the proposed secret in force: from now on a password alone is not enough. Raises
    BadRequestError for a wrong code, or where none was proposed."""
    user_id = users.id_of(database, username)
    with database.writing() as connection:
        row = connection.execute(
            select(SECOND_FACTOR).where(SECOND_FACTOR.c.user_id == user_id).with_for_update()
        ).first()
        step = None
        if row is not None and row.proposed:
            step = _step_of(sealing.open(row.proposed, f"{_PURPOSE}{user_id}"), code, now_us)
        if row is None or step is None:
            raise BadRequestError("code: is wrong, or no second factor was asked for")
        connection.execute(
            update(SECOND_FACTOR)
            .where(SECOND_FACTOR.c.user_id == user_id)
            .values(secret=row.proposed, proposed="", used_step=step)
        )


def remove_second_factor(database: Database, username: str) -> None:
    """A password is enough again. Idempotent."""
    user_id = users.id_of(database, username)
    with database.writing() as connection:
        connection.execute(delete(SECOND_FACTOR).where(SECOND_FACTOR.c.user_id == user_id))


def has_second_factor(database: Database, username: str) -> bool:
    user_id = users.id_of(database, username)
    query = select(SECOND_FACTOR.c.secret).where(SECOND_FACTOR.c.user_id == user_id)
    with database.reading() as connection:
        return bool(connection.scalar(query))


def _keys(name: str, address: str) -> dict[str, int]:
    """What is counted, and how many attempts each has. Names are hashed: people type passwords
    where names belong."""
    user = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return {
        f"user {user} {address}": limits.SIGN_INS_OF_USER_AND_ADDRESS_MAX,
        f"user {user}": limits.SIGN_INS_OF_USER_MAX,
        f"address {address}": limits.SIGN_INS_OF_ADDRESS_MAX,
    }


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
    before = now_us - limits.SIGN_IN_WINDOW_S * _SECOND_US
    connection.execute(delete(SIGN_IN_ATTEMPT).where(SIGN_IN_ATTEMPT.c.first_us < before))


def _check_code(
    connection: Connection, sealing: Sealing, user_id: int, code: str, now_us: int
) -> None:
    query = select(SECOND_FACTOR).where(SECOND_FACTOR.c.user_id == user_id).with_for_update()
    row = connection.execute(query).first()
    if row is None or not row.secret:
        return
    if not code:
        raise UnauthorizedError(
            "the code of the second factor is needed", reason="second_factor_needed"
        )
    step = _step_of(sealing.open(row.secret, f"{_PURPOSE}{user_id}"), code, now_us)
    if step is None or step <= row.used_step:
        raise UnauthorizedError("the code is wrong, or was used", reason="second_factor_wrong")
    connection.execute(
        update(SECOND_FACTOR).where(SECOND_FACTOR.c.user_id == user_id).values(used_step=step)
    )


def _step_of(secret: str, code: str, now_us: int) -> int | None:
    """The time step that a code belongs to: of now, the one before or after; None for a wrong
    one."""
    totp = pyotp.TOTP(secret)
    now = now_us // _SECOND_US // totp.interval
    for step in (now, now - 1, now + 1):
        expected = totp.at(step * totp.interval)
        if secrets.compare_digest(expected, code.strip()[:20].encode("ascii", "replace").decode()):
            return step
    return None
