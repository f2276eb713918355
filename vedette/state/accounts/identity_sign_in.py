"""Sign-in with an identity, after `oidc` has verified it.

An attempt has a single-use number (`spend`). Creating users for unknown subjects is a setting of
the provider, off by default. Such users have no password. Each sign-in sets their teams from their
claims. No claim makes a user a global administrator.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import BadRequestError, BusyError, ConflictError, UnauthorizedError
from vedette.limits import Limit
from vedette.state.accounts import identities, sign_in, users
from vedette.state.accounts.identity_providers import EVERYBODY, Provider
from vedette.state.accounts.lock_note import AttemptLock
from vedette.state.accounts.users import NewUser
from vedette.state.db.database import Database
from vedette.state.db.schema import TEAM_MEMBER, USER
from vedette.state.db.schema_console import IDENTITY

IDENTITY_SIGN_INS_OF_ADDRESS_MAX: Limit[int] = 200
"""Attempts that one address may finish within `SIGN_IN_WINDOW_S`. They allow no guessing, but each
costs a request to the provider."""


@dataclass(frozen=True, slots=True)
class Vouched:
    """Verified claims about a person."""

    subject: str
    username: str = ""
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    teams: frozenset[str] = frozenset()
    """Values of the team claim."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The local user who signs in."""

    user_id: int
    username: str
    identity_id: int


def count_attempt(database: Database, address: str, now_us: int) -> None:
    """Counts an attempt. Raises BusyError above the limit of an address."""
    network = sign_in.network_of(address)
    most = IDENTITY_SIGN_INS_OF_ADDRESS_MAX
    lock = AttemptLock(f"identities {network}", most, "address", "", network)
    sign_in.count_all(database, [lock], now_us)


def spend(database: Database, number: str, now_us: int) -> None:
    """Marks the number of an attempt as used. Raises UnauthorizedError if it was used before, also
    when two requests race. The mark outlasts the attempt's validity (`SIGN_IN_WINDOW_S`)."""
    key = f"attempt {sha256(number.encode()).hexdigest()}"
    try:
        with database.writing() as connection:
            sign_in.count_attempt(connection, key, 1, now_us)
    except BusyError:
        raise UnauthorizedError(
            "this sign-in was already completed", reason="sign_in_spent"
        ) from None


def admit(database: Database, provider: Provider, vouched: Vouched, now_us: int) -> Admitted:
    """Returns the user of an identity; creates the user if the provider allows it.

    Raises UnauthorizedError with the reason `identity_unknown`, `user_disabled`, or `no_team` if no
    claim names a team; the user then also leaves the provider's teams.
    """
    try:
        return _admitted(database, provider, vouched, now_us)
    except ConflictError:  # a concurrent first sign-in created the user
        return _admitted(database, provider, vouched, now_us)


def _admitted(database: Database, provider: Provider, vouched: Vouched, now_us: int) -> Admitted:
    with database.writing() as connection:
        row = _identity(connection, provider, vouched)
        if row is None:
            row = _made(connection, provider, vouched, now_us)
        teams = _teams(provider, vouched)
        if row["follows_claims"]:
            _set_teams(connection, provider, row["user_id"], teams)
        if not row["enabled"]:
            raise UnauthorizedError("the user is disabled", reason="user_disabled")
        used = update(IDENTITY).where(IDENTITY.c.id == row["id"]).values(last_used_us=now_us)
        connection.execute(used)
    if row["follows_claims"] and not teams:
        raise UnauthorizedError("no claim names a team", reason="no_team")
    return Admitted(row["user_id"], row["username"], row["id"])


def _identity(connection: Connection, provider: Provider, vouched: Vouched) -> Any:
    query = (
        select(IDENTITY, USER.c.username, USER.c.enabled)
        .join(USER, USER.c.id == IDENTITY.c.user_id)
        .where(IDENTITY.c.provider_id == provider.id, IDENTITY.c.subject == vouched.subject)
    )
    return connection.execute(query).mappings().first()


def _made(connection: Connection, provider: Provider, vouched: Vouched, now_us: int) -> Any:
    """Creates a user and its identity, and returns the identity."""
    if not provider.creates_users:
        raise UnauthorizedError("no user is linked to the identity", reason="identity_unknown")
    if not _teams(provider, vouched):
        raise UnauthorizedError("no claim names a team", reason="no_team")
    new = NewUser(
        vouched.username or f"{provider.name}-{sha256(vouched.subject.encode()).hexdigest()[:12]}",
        first_name=vouched.first_name,
        last_name=vouched.last_name,
        email=vouched.email,
    )
    try:
        user_id = users.insert_checked(connection, new, now_us)
    except BadRequestError as error:
        raise UnauthorizedError(
            f"cannot create a user from the claims: {error.message}", reason="claims_unusable"
        ) from None
    except ConflictError:
        # Never link automatically: choosing a name at the provider must not select a user here.
        raise UnauthorizedError("the user name is already taken", reason="username_taken") from None
    identities.insert_checked(
        connection, provider.id, vouched.subject, user_id, now_us, follows_claims=True
    )
    return _identity(connection, provider, vouched)


def _teams(provider: Provider, vouched: Vouched) -> set[int]:
    return {
        team_id for value, team_id in provider.teams if value == EVERYBODY or value in vouched.teams
    }


def _set_teams(connection: Connection, provider: Provider, user_id: int, wanted: set[int]) -> None:
    """Sets the user's membership in the provider's teams to `wanted`. Other memberships stay."""
    own = TEAM_MEMBER.c.user_id == user_id
    current = set(connection.scalars(select(TEAM_MEMBER.c.team_id).where(own)))
    ruled = {team_id for _, team_id in provider.teams}
    if gone := (current & ruled) - wanted:
        connection.execute(delete(TEAM_MEMBER).where(own, TEAM_MEMBER.c.team_id.in_(gone)))
    if new := wanted - current:
        rows = [{"team_id": team_id, "user_id": user_id} for team_id in sorted(new)]
        connection.execute(insert(TEAM_MEMBER), rows)
