"""The second factor of a password: time-based codes (RFC 6238), each valid once.

A new secret is proposed first and takes effect when the user confirms it with a code; until then an
earlier secret stays in effect. Secrets are sealed (`sealing.py`).
"""

import secrets
from dataclasses import dataclass
from typing import Final

import pyotp
from sqlalchemy import Connection, delete, select, update

from vedette.errors import BadRequestError, UnauthorizedError
from vedette.state.accounts import users
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SECOND_FACTOR
from vedette.state.db.sealing import Sealing

_SECOND_US: Final = 1_000_000
_PURPOSE: Final = "second factor of user "
_ISSUER: Final = "Vedette"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A secret for an authenticator."""

    secret: str
    """In base32, for typing."""
    uri: str
    """The secret as an `otpauth:` URI."""


def propose(database: Database, sealing: Sealing, username: str) -> Proposal:
    """Creates a secret for the user's authenticator. It takes effect with `confirm`; until then an
    earlier secret stays in effect."""
    secret = pyotp.random_base32()
    user_id = users.id_of(database, username)
    with database.writing() as connection:
        connection.execute(insert_new(connection, SECOND_FACTOR), {"user_id": user_id})
        connection.execute(
            update(SECOND_FACTOR)
            .where(SECOND_FACTOR.c.user_id == user_id)
            .values(proposed=sealing.seal(secret, f"{_PURPOSE}{user_id}"))
        )
    uri = pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=_ISSUER)
    return Proposal(secret, uri)


def confirm(database: Database, sealing: Sealing, username: str, code: str, now_us: int) -> None:
    """Activates the proposed secret; a password alone no longer suffices. Raises BadRequestError
    for a wrong code, or if no secret was proposed."""
    user_id = users.id_of(database, username)
    with database.writing() as connection:
        row = connection.execute(
            select(SECOND_FACTOR).where(SECOND_FACTOR.c.user_id == user_id).with_for_update()
        ).first()
        step = None
        if row is not None and row.proposed:
            step = _step_of(sealing.open(row.proposed, f"{_PURPOSE}{user_id}"), code, now_us)
        if row is None or step is None:
            raise BadRequestError("code: is invalid, or no second factor was proposed")
        connection.execute(
            update(SECOND_FACTOR)
            .where(SECOND_FACTOR.c.user_id == user_id)
            .values(secret=row.proposed, proposed="", used_step=step)
        )


def users_with_one(database: Database) -> frozenset[int]:
    """Ids of users with an active second factor."""
    with database.reading() as connection:
        in_force = select(SECOND_FACTOR.c.user_id).where(SECOND_FACTOR.c.secret != "")
        return frozenset(connection.scalars(in_force))


def remove(database: Database, username: str) -> None:
    """Removes the second factor, so that a password suffices again. Idempotent."""
    user_id = users.id_of(database, username)
    with database.writing() as connection:
        connection.execute(delete(SECOND_FACTOR).where(SECOND_FACTOR.c.user_id == user_id))


def is_in_force(database: Database, username: str) -> bool:
    user_id = users.id_of(database, username)
    query = select(SECOND_FACTOR.c.secret).where(SECOND_FACTOR.c.user_id == user_id)
    with database.reading() as connection:
        return bool(connection.scalar(query))


def check_code(
    connection: Connection, sealing: Sealing, user_id: int, code: str, now_us: int
) -> None:
    """Consumes a code; does nothing for a user without an active factor. Raises UnauthorizedError,
    with the reason `second_factor_needed` if `code` is empty."""
    query = select(SECOND_FACTOR).where(SECOND_FACTOR.c.user_id == user_id).with_for_update()
    row = connection.execute(query).first()
    if row is None or not row.secret:
        return
    if not code:
        raise UnauthorizedError("a second-factor code is required", reason="second_factor_needed")
    step = _step_of(sealing.open(row.secret, f"{_PURPOSE}{user_id}"), code, now_us)
    if step is None or step <= row.used_step:
        raise UnauthorizedError("invalid or already used code", reason="second_factor_wrong")
    connection.execute(
        update(SECOND_FACTOR).where(SECOND_FACTOR.c.user_id == user_id).values(used_step=step)
    )


def _step_of(secret: str, code: str, now_us: int) -> int | None:
    """Returns the time step of a code: the current one, the one before or the one after; None for a
    wrong code."""
    totp = pyotp.TOTP(secret)
    now = now_us // _SECOND_US // totp.interval
    for step in (now, now - 1, now + 1):
        expected = totp.at(step * totp.interval)
        if secrets.compare_digest(expected, code.strip()[:20].encode("ascii", "replace").decode()):
            return step
    return None
