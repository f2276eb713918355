"""What people keep of the console: preferences, searches with a name, links too long to send."""

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import PERMALINK_ID_BYTES, PERMALINKS_OF_USER_MAX, SAVED_SEARCHES_OF_USER_MAX
from vedette.state.db.schema import USER
from vedette.state.db.schema_console import PERMALINK, PREFERENCE, SAVED_SEARCH


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search with a name. `params` is the query string of its address."""

    id: int
    username: str
    name: str
    view: str
    params: str
    shared: bool
    changed_us: int


@dataclass(frozen=True, slots=True)
class Permalink:
    """A view under a short id."""

    id: str
    view: str
    params: str
    made_us: int
    expires_us: int


def preferences(connection: Connection, user_id: int) -> str:
    """JSON, "{}" before the first."""
    query = select(PREFERENCE.c.body).where(PREFERENCE.c.user_id == user_id)
    return connection.scalar(query) or "{}"


def set_preferences(connection: Connection, user_id: int, body: str, now_us: int) -> None:
    values = {"body": body, "changed_us": now_us}
    done = connection.execute(
        update(PREFERENCE).where(PREFERENCE.c.user_id == user_id).values(values)
    )
    if not done.rowcount:
        connection.execute(insert(PREFERENCE).values(user_id=user_id, **values))


_SEARCHES = select(
    SAVED_SEARCH.c.id,
    USER.c.username,
    *(SAVED_SEARCH.c[name] for name in ("name", "view", "params", "shared", "changed_us")),
).join_from(SAVED_SEARCH, USER)


def searches(connection: Connection, user_id: int) -> list[SavedSearch]:
    """A user's own, and those that others share, by name."""
    theirs = or_(SAVED_SEARCH.c.user_id == user_id, SAVED_SEARCH.c.shared)
    query = _SEARCHES.where(theirs).order_by(SAVED_SEARCH.c.name, SAVED_SEARCH.c.id)
    return [SavedSearch(**row) for row in connection.execute(query).mappings()]


def add_search(
    connection: Connection, user_id: int, name: str, view: str, params: str, *, shared: bool,
    now_us: int,
) -> SavedSearch:  # fmt: skip
    """Raises BadRequestError where the user has as many as they may."""
    own = select(func.count()).where(SAVED_SEARCH.c.user_id == user_id)
    if connection.execute(own).scalar_one() >= SAVED_SEARCHES_OF_USER_MAX:
        raise BadRequestError(f"at most {SAVED_SEARCHES_OF_USER_MAX} searches can be saved")
    values = {
        "user_id": user_id, "name": name, "view": view, "params": params, "shared": shared,
        "changed_us": now_us,
    }  # fmt: skip
    made = connection.execute(insert(SAVED_SEARCH).values(values).returning(SAVED_SEARCH.c.id))
    query = _SEARCHES.where(SAVED_SEARCH.c.id == made.scalar_one())
    return SavedSearch(**connection.execute(query).mappings().one())


def remove_search(connection: Connection, user_id: int, search_id: int) -> None:
    """One of the user's own. Raises NotFoundError."""
    which = (SAVED_SEARCH.c.id == search_id) & (SAVED_SEARCH.c.user_id == user_id)
    if not connection.execute(delete(SAVED_SEARCH).where(which)).rowcount:
        raise NotFoundError(f"you have no search {search_id}")


def delete_old_permalinks(connection: Connection, now_us: int) -> None:
    """Deletes the links whose time is over. A job does, which asks the clock guard."""
    connection.execute(delete(PERMALINK).where(PERMALINK.c.expires_us < now_us))


def add_permalink(
    connection: Connection, user_id: int, view: str, params: str, now_us: int, ttl_us: int
) -> Permalink:
    """The oldest of a user go when there are too many."""
    own = (
        select(PERMALINK.c.id)
        .where(PERMALINK.c.user_id == user_id)
        .order_by(PERMALINK.c.made_us.desc())
        .offset(PERMALINKS_OF_USER_MAX - 1)
        .limit(1_000)
    )
    old = list(connection.scalars(own))
    connection.execute(delete(PERMALINK).where(PERMALINK.c.id.in_(old)))
    link_id = secrets.token_urlsafe(PERMALINK_ID_BYTES)
    link = Permalink(link_id, view, params, now_us, now_us + ttl_us)
    connection.execute(
        insert(PERMALINK).values(
            id=link.id, user_id=user_id, view=view, params=params, made_us=now_us,
            expires_us=link.expires_us,
        )
    )  # fmt: skip
    return link


def permalink(connection: Connection, link_id: str, now_us: int) -> Permalink:
    """Raises NotFoundError, also for one whose time has passed."""
    query = select(
        *(PERMALINK.c[name] for name in ("id", "view", "params", "made_us", "expires_us"))
    ).where(PERMALINK.c.id == link_id, PERMALINK.c.expires_us >= now_us)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no link {link_id[:40]!r} any more")
    return Permalink(**row)
