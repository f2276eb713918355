"""User accounts of people and programs.

A user without a password can only use tokens. User names are stored in lower case, so `Alice` and
`alice` are the same user. At least one enabled global administrator always remains.
"""

import re
from dataclasses import dataclass
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, RowMapping, Select, delete, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import USER_DETAIL_CHARS_MAX, Limit
from vedette.state.db.database import Database
from vedette.state.db.key_values import keep_last_id, unused_id
from vedette.state.db.schema import TEAM, TEAM_MEMBER, TOKEN, USER

PASSWORD_CHARS_MIN: Limit[int] = 10
"""Minimum characters of a password; shorter ones are guessed."""

PASSWORD_CHARS_MAX: Limit[int] = 1_000
"""Maximum characters of a password. Hashing is costly, so its input is bounded."""


_USERNAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}")
_HASHER = PasswordHasher()


@dataclass(frozen=True, slots=True)
class NewUser:
    """Data of a new user."""

    username: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    password: str | None = None
    is_global_admin: bool = False
    team_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class User:
    """A stored user. `teams` are (id, name), sorted by id."""

    id: int
    username: str
    first_name: str
    last_name: str
    email: str
    is_global_admin: bool
    is_enabled: bool
    has_password: bool
    created_us: int
    teams: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class UserChanges:
    """Values to set; None leaves a value unchanged."""

    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    password: str | None = None
    is_global_admin: bool | None = None
    is_enabled: bool | None = None
    team_ids: tuple[int, ...] | None = None


def add(database: Database, new: NewUser, now_us: int) -> User:
    """Creates a user. Raises ConflictError for a name that is taken, BadRequestError for invalid
    values."""
    with database.writing() as connection:
        user_id = insert_checked(connection, new, now_us)
        return _with_id(connection, user_id)


def all_users(database: Database) -> list[User]:
    """Returns all users, sorted by name."""
    with database.reading() as connection:
        return _users(connection, select(USER).order_by(USER.c.username))


def get(database: Database, username: str) -> User:
    """Returns the user with this name. Raises NotFoundError."""
    with database.reading() as connection:
        return _named(connection, username)


def id_of(database: Database, username: str) -> int:
    """Returns the user's id; 0 for a user who no longer exists."""
    with database.reading() as connection:
        return connection.scalar(select(USER.c.id).where(USER.c.username == username)) or 0


def change(
    database: Database, username: str, changes: UserChanges, *, own_session: str = ""
) -> User:
    """Changes a user. A new password, or disabling the user, ends the user's sessions and links;
    API tokens stay. `own_session` is the id of the session that makes the change; a new password
    does not end it.

    Raises NotFoundError, BadRequestError, and ConflictError for the last administrator.
    """
    texts = {
        "first_name": changes.first_name,
        "last_name": changes.last_name,
        "email": changes.email,
    }
    given = {name: _detail(name, text) for name, text in texts.items() if text is not None}
    values: dict[str, object] = {**given}
    if changes.password is not None:
        values["password_hash"] = hash_password(changes.password)
    if changes.is_global_admin is not None:
        values["global_admin"] = changes.is_global_admin
    if changes.is_enabled is not None:
        values["enabled"] = changes.is_enabled
    with database.writing() as connection:
        user = _named(connection, username)
        if values:
            connection.execute(update(USER).where(USER.c.id == user.id).values(values))
        if changes.team_ids is not None:
            _set_teams(connection, user.id, changes.team_ids)
        if changes.is_enabled is False:
            _end_sessions(connection, user.id)
        elif changes.password is not None:
            _end_sessions(connection, user.id, but=own_session)
        _check_administrator_remains(connection)
        return _with_id(connection, user.id)


def remove(database: Database, username: str) -> None:
    """Deletes a user with all tokens. Raises NotFoundError, and ConflictError for the last
    administrator."""
    with database.writing() as connection:
        user = _named(connection, username)
        keep_last_id(connection, USER)
        connection.execute(delete(USER).where(USER.c.id == user.id))
        _check_administrator_remains(connection)


def matching_hash(database: Database, username: str, password: str) -> str | None:
    """Returns the stored hash if the password matches and the user is enabled, else None.
    Deliberately slow: tens of milliseconds, during which the password may change."""
    with database.reading() as connection:
        kept = connection.scalar(
            select(USER.c.password_hash).where(
                USER.c.username == username.lower(), USER.c.enabled.is_(True)
            )
        )
    try:
        _HASHER.verify(kept or _no_hash(), password[:PASSWORD_CHARS_MAX])
    except (VerificationError, InvalidHashError):
        return None
    return kept


def hash_password(password: str, member: str = "password") -> str:
    """Returns the Argon2id hash of a password. Raises BadRequestError, which names the request's
    `member`, for a password that is too short or too long."""
    if not PASSWORD_CHARS_MIN <= len(password) <= PASSWORD_CHARS_MAX:
        raise BadRequestError(
            f"{member}: must have from {PASSWORD_CHARS_MIN} to {PASSWORD_CHARS_MAX} characters"
        )
    return _HASHER.hash(password)


def insert_checked(connection: Connection, new: NewUser, now_us: int) -> int:
    """Adds a user within a transaction and returns the id. Raises the errors of `add`."""
    username = new.username.lower()
    if not _USERNAME.fullmatch(username):
        raise BadRequestError(
            "a user name must begin with a letter or digit and consist of letters, digits and "
            "any of . _ @ + - (at most 100)"
        )
    if connection.scalar(select(USER.c.id).where(USER.c.username == username)) is not None:
        raise ConflictError(f"user {username!r} already exists")
    row = {
        "username": username,
        "first_name": _detail("first_name", new.first_name),
        "last_name": _detail("last_name", new.last_name),
        "email": _detail("email", new.email),
        "password_hash": None if new.password is None else hash_password(new.password),
        "global_admin": new.is_global_admin,
        "enabled": True,
        "created_us": now_us,
    }
    row |= unused_id(connection, USER)
    user_id: int = connection.execute(insert(USER).values(row).returning(USER.c.id)).scalar_one()
    _set_teams(connection, user_id, new.team_ids)
    return user_id


@cache
def _no_hash() -> str:
    """Returns a hash to verify for unknown users, so that timing does not reveal user names."""
    return _HASHER.hash("of nobody")


def _detail(name: str, text: str) -> str:
    if len(text) > USER_DETAIL_CHARS_MAX or (text and not text.isprintable()):
        raise BadRequestError(f"{name}: at most {USER_DETAIL_CHARS_MAX} printable characters")
    return text


def _set_teams(connection: Connection, user_id: int, team_ids: tuple[int, ...]) -> None:
    wanted = set(team_ids)
    known = set(connection.scalars(select(TEAM.c.id).where(TEAM.c.id.in_(wanted))))
    if wanted - known:
        raise BadRequestError(f"team {min(wanted - known)} not found")
    connection.execute(delete(TEAM_MEMBER).where(TEAM_MEMBER.c.user_id == user_id))
    if wanted:
        rows = [{"team_id": team_id, "user_id": user_id} for team_id in sorted(wanted)]
        connection.execute(insert(TEAM_MEMBER), rows)


def enabled_id_within(
    connection: Connection, username: str, password_hash: str | None = None
) -> int | None:
    """Returns the id of an enabled user, whose hash must equal `password_hash` if given, else None.
    Locks the row until the transaction ends."""
    found = select(USER.c.id).where(USER.c.username == username, USER.c.enabled.is_(True))
    if password_hash is not None:
        found = found.where(USER.c.password_hash == password_hash)
    user_id: int | None = connection.scalar(found.with_for_update())
    return user_id


def keep_password_within(
    connection: Connection, user_id: int, password_hash: str, *, own_session: str
) -> None:
    """Stores a new password hash and ends the user's sessions and links except `own_session`."""
    connection.execute(update(USER).where(USER.c.id == user_id).values(password_hash=password_hash))
    _end_sessions(connection, user_id, but=own_session)


def _end_sessions(connection: Connection, user_id: int, but: str = "") -> None:
    """Deletes sessions and links, since someone who knew the old password may have started them."""
    passing = TOKEN.c.kind.in_(("session", "link"))
    connection.execute(delete(TOKEN).where(TOKEN.c.user_id == user_id, passing, TOKEN.c.id != but))


def _check_administrator_remains(connection: Connection) -> None:
    is_able = USER.c.global_admin.is_(True) & USER.c.enabled.is_(True)
    if not connection.execute(select(USER.c.id).where(is_able).with_for_update()).all():
        raise ConflictError("at least one enabled global administrator must remain")


def _named(connection: Connection, username: str) -> User:
    found = _users(connection, select(USER).where(USER.c.username == username.lower()))
    if not found:
        raise NotFoundError(f"user {username!r} not found")
    return found[0]


def _with_id(connection: Connection, user_id: int) -> User:
    return _users(connection, select(USER).where(USER.c.id == user_id))[0]


def _users(connection: Connection, query: Select[*tuple[object, ...]]) -> list[User]:
    rows = connection.execute(query).mappings().all()
    members = connection.execute(
        select(TEAM_MEMBER.c.user_id, TEAM.c.id, TEAM.c.name).join(TEAM).order_by(TEAM.c.id)
    )
    teams: dict[int, list[tuple[int, str]]] = {}
    for user_id, team_id, name in members:
        teams.setdefault(user_id, []).append((team_id, name))
    return [_user(row, tuple(teams.get(row["id"], ()))) for row in rows]


def _user(row: RowMapping, teams: tuple[tuple[int, str], ...]) -> User:
    return User(
        id=row["id"],
        username=row["username"],
        first_name=row["first_name"],
        last_name=row["last_name"],
        email=row["email"],
        is_global_admin=row["global_admin"],
        is_enabled=row["enabled"],
        has_password=row["password_hash"] is not None,
        created_us=row["created_us"],
        teams=teams,
    )
