"""Stored views of the console: preferences, named searches, and short links for long URLs."""

import secrets

from sqlalchemy import Connection, RowMapping, delete, insert, or_, select, update

from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.record.columns import from_row, row_of
from vedette.record.objects.kept_view import Permalink, SavedSearch
from vedette.state.db.schema import USER
from vedette.state.db.schema_console import PERMALINK, PREFERENCE, SAVED_SEARCH
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import SAVED_SEARCHES

PERMALINKS_OF_USER_MAX: Limit[int] = 200
"""Links of one user; the oldest are deleted first."""

PERMALINK_ID_BYTES: Limit[int] = 12
"""Random bytes of a link's id: unguessable, and short enough for one line."""


def preferences(connection: Connection, user_id: int) -> str:
    """Returns a user's preferences as JSON; "{}" if none are stored."""
    query = select(PREFERENCE.c.body).where(PREFERENCE.c.user_id == user_id)
    return connection.scalar(query) or "{}"


def set_preferences(connection: Connection, user_id: int, body: str, now_us: int) -> None:
    values = {"body": body, "changed_us": now_us}
    done = connection.execute(
        update(PREFERENCE).where(PREFERENCE.c.user_id == user_id).values(values)
    )
    if not done.rowcount:
        connection.execute(insert(PREFERENCE).values(user_id=user_id, **values))


_SEARCHES = select(SAVED_SEARCH, USER.c.username).join_from(SAVED_SEARCH, USER)


def searches(connection: Connection, user_id: int) -> list[SavedSearch]:
    """Returns a user's own searches and all shared ones, sorted by name."""
    theirs = or_(SAVED_SEARCH.c.user_id == user_id, SAVED_SEARCH.c.shared)
    query = _SEARCHES.where(theirs).order_by(SAVED_SEARCH.c.name, SAVED_SEARCH.c.id)
    return [_search(row) for row in connection.execute(query).mappings()]


def add_search(connection: Connection, new: SavedSearch) -> SavedSearch:
    """Raises BadRequestError where the user has as many as they may."""
    check_room(connection, SAVED_SEARCHES, None, SAVED_SEARCH.c.user_id == new.user_id)
    values = row_of(new, "id")
    made = connection.execute(insert(SAVED_SEARCH).values(values).returning(SAVED_SEARCH.c.id))
    query = _SEARCHES.where(SAVED_SEARCH.c.id == made.scalar_one())
    return _search(connection.execute(query).mappings().one())


def _search(row: RowMapping) -> SavedSearch:
    return from_row(SavedSearch, row, username=row["username"])


def remove_search(connection: Connection, search_id: int) -> None:
    """Deletes a saved search. Raises NotFoundError."""
    which = SAVED_SEARCH.c.id == search_id
    if not connection.execute(delete(SAVED_SEARCH).where(which)).rowcount:
        raise NotFoundError(f"search {search_id} not found")


def delete_old_permalinks(connection: Connection, now_us: int) -> None:
    """Deletes expired links. Called by a job that consults the clock guard."""
    connection.execute(delete(PERMALINK).where(PERMALINK.c.expires_us < now_us))


def add_permalink(
    connection: Connection, user_id: int, view: str, params: str, now_us: int, ttl_us: int
) -> Permalink:
    """Stores a link. Deletes the user's oldest links above `PERMALINKS_OF_USER_MAX`."""
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
    link = Permalink(
        id=link_id, view=view, params=params, made_us=now_us, expires_us=now_us + ttl_us
    )
    connection.execute(insert(PERMALINK).values(user_id=user_id, **row_of(link)))
    return link


def permalink(connection: Connection, link_id: str, now_us: int) -> Permalink:
    """Raises NotFoundError, also for one whose time has passed."""
    is_alive = PERMALINK.c.expires_us >= now_us
    query = select(PERMALINK).where(PERMALINK.c.id == link_id, is_alive)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"link {link_id[:40]!r} not found or expired")
    return from_row(Permalink, row)
