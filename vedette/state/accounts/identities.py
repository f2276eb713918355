"""Identities: links from a subject at an identity provider to a local user.

The key is the provider, whose issuer never changes, and the subject. Names and mail addresses in
claims never select a user: otherwise anyone who can choose them at the provider could choose whose
account to use.
"""

from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    delete,
    insert,
    select,
    update,
)

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import SUBJECT_CHARS_MAX
from vedette.state.db.database import Database
from vedette.state.db.schema import TOKEN, USER
from vedette.state.db.schema_console import IDENTITY, IDENTITY_PROVIDER
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import IDENTITIES


@dataclass(frozen=True, slots=True)
class Identity:
    """A link. `follows_claims`: the provider created the user, and its claims determine the user's
    teams."""

    id: int
    provider: str
    issuer: str
    subject: str
    username: str
    follows_claims: bool
    created_us: int
    last_used_us: int


def link(
    database: Database, provider_id: int, subject: str, username: str, now_us: int
) -> Identity:
    """Links a subject to a user, who can then sign in with it. Raises NotFoundError for an unknown
    provider or user, ConflictError for a subject that is already linked."""
    with database.writing() as connection:
        user_id = connection.scalar(select(USER.c.id).where(USER.c.username == username.lower()))
        if user_id is None:
            raise NotFoundError(f"user {username[:100]!r} not found")
        known = select(IDENTITY_PROVIDER.c.id).where(IDENTITY_PROVIDER.c.id == provider_id)
        if connection.scalar(known) is None:
            raise NotFoundError(f"identity provider {provider_id} not found")
        identity_id = insert_checked(connection, provider_id, subject, user_id, now_us)
        return _identities(connection, IDENTITY.c.id == identity_id)[0]


def insert_checked(
    connection: Connection,
    provider_id: int,
    subject: str,
    user_id: int,
    now_us: int,
    *,
    follows_claims: bool = False,
) -> int:
    """Like `link`, within a transaction. Returns the identity's id."""
    if not 0 < len(subject) <= SUBJECT_CHARS_MAX or not subject.isprintable():
        raise BadRequestError(f"subject: 1 to {SUBJECT_CHARS_MAX} printable characters")
    same = (IDENTITY.c.provider_id == provider_id) & (IDENTITY.c.subject == subject)
    if connection.scalar(select(IDENTITY.c.id).where(same)) is not None:
        raise ConflictError("subject: is already linked to a user")
    check_room(connection, IDENTITIES, None, IDENTITY.c.user_id == user_id)
    row = {
        "provider_id": provider_id,
        "subject": subject,
        "user_id": user_id,
        "follows_claims": follows_claims,
        "created_us": now_us,
    }
    identity_id: int = connection.execute(
        insert(IDENTITY).values(row).returning(IDENTITY.c.id)
    ).scalar_one()
    return identity_id


def unlink(database: Database, identity_id: int, now_us: int) -> None:
    """Deletes a link: the subject can no longer sign in, and its sessions end. Raises
    NotFoundError."""
    with database.writing() as connection:
        end_sessions(connection, now_us, identity_id=identity_id)
        removed = connection.execute(delete(IDENTITY).where(IDENTITY.c.id == identity_id))
        if not removed.rowcount:
            raise NotFoundError(f"identity {identity_id} not found")


def all_identities(database: Database) -> list[Identity]:
    """Returns all identities, sorted by user, provider and subject."""
    with database.reading() as connection:
        return _identities(connection)


def end_sessions(
    connection: Connection, now_us: int, *, provider_id: int = 0, identity_id: int = 0
) -> None:
    """Ends the sessions that began with one identity, or with any identity of a provider."""
    of_provider = select(IDENTITY.c.id).where(IDENTITY.c.provider_id == provider_id)
    begun = (
        TOKEN.c.identity_id.in_(of_provider) if provider_id else TOKEN.c.identity_id == identity_id
    )
    connection.execute(
        update(TOKEN)
        .where(begun, TOKEN.c.identity_id != 0, TOKEN.c.revoked_us == 0)
        .values(revoked_us=now_us)
    )


def _identities(connection: Connection, *conditions: ColumnElement[bool]) -> list[Identity]:
    query = (
        select(IDENTITY, USER.c.username, IDENTITY_PROVIDER.c.name, IDENTITY_PROVIDER.c.issuer)
        .join(USER, USER.c.id == IDENTITY.c.user_id)
        .join(IDENTITY_PROVIDER, IDENTITY_PROVIDER.c.id == IDENTITY.c.provider_id)
        .where(*conditions)
        .order_by(USER.c.username, IDENTITY_PROVIDER.c.name, IDENTITY.c.subject)
    )
    return [_identity(row) for row in connection.execute(query).mappings()]


def _identity(row: RowMapping) -> Identity:
    return Identity(
        id=row["id"],
        provider=row["name"],
        issuer=row["issuer"],
        subject=row["subject"],
        username=row["username"],
        follows_claims=row["follows_claims"],
        created_us=row["created_us"],
        last_used_us=row["last_used_us"],
    )
