"""Sites: sets of sensor groups."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import ConflictError, NotFoundError
from vedette.record.columns import from_row, row_of
from vedette.record.objects.site import Site
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SITE
from vedette.state.policy.groups import DEFAULT_SITE_ID, checked_name


def all_sites(database: Database) -> list[Site]:
    """Returns all sites, sorted by id."""
    with database.reading() as connection:
        rows = connection.execute(select(SITE).order_by(SITE.c.id)).mappings()
        return [from_row(Site, row) for row in rows]


def get(database: Database, site_id: int) -> Site:
    """Returns the site with this id. Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, site_id)


def add(database: Database, name: str) -> Site:
    """Creates a site. Raises ConflictError for a name that is taken, BadRequestError for an invalid
    name."""
    checked_name(name)
    with database.writing() as connection:
        _check_name(connection, name, 0)
        query = insert(SITE).values(name=name).returning(SITE.c.id)
        return Site(id=connection.execute(query).scalar_one(), name=name)


def change(
    database: Database,
    site_id: int,
    values: Mapping[str, Any],
    check: Callable[[Site], None] | None = None,
) -> Site:
    """Changes members of a site. `check` may raise to reject the change. Raises NotFoundError, and
    the errors of `add`."""
    with database.writing() as connection:
        known = _get(connection, site_id, locks=True)
        if check is not None:
            check(known)
        changed = replace(known, **values)
        _check_name(connection, checked_name(changed.name), site_id)
        query = update(SITE).where(SITE.c.id == site_id).values(row_of(changed, "id"))
        connection.execute(query)
        return changed


def remove(database: Database, site_id: int) -> None:
    """Deletes a site. Raises NotFoundError, and ConflictError for the default site and a site with
    groups."""
    if site_id == DEFAULT_SITE_ID:
        raise ConflictError("the default site cannot be deleted")
    with database.writing() as connection:
        if connection.scalar(select(GROUP.c.id).where(GROUP.c.site_id == site_id).limit(1)):
            raise ConflictError(f"site {site_id} still has sensor groups; move them first")
        if not connection.execute(delete(SITE).where(SITE.c.id == site_id)).rowcount:
            raise NotFoundError(f"site {site_id} not found")


def _get(connection: Connection, site_id: int, *, locks: bool = False) -> Site:
    query = select(SITE).where(SITE.c.id == site_id)
    row = connection.execute(query.with_for_update() if locks else query).mappings().first()
    if row is None:
        raise NotFoundError(f"site {site_id} not found")
    return from_row(Site, row)


def _check_name(connection: Connection, name: str, site_id: int) -> None:
    taken = connection.scalar(select(SITE.c.id).where(SITE.c.name == name))
    if taken not in (None, site_id):
        raise ConflictError(f"site {name!r} already exists")
