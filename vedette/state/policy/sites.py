"""Sites, which group sensor groups."""

from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from vedette.errors import ConflictError, NotFoundError
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SITE
from vedette.state.policy.groups import DEFAULT_SITE_ID, checked_name


@dataclass(frozen=True, slots=True)
class Site:
    """A stored site."""

    id: int
    name: str


def all_sites(database: Database) -> list[Site]:
    """Every site, by id."""
    with database.reading() as connection:
        rows = connection.execute(select(SITE).order_by(SITE.c.id)).mappings()
        return [Site(row["id"], row["name"]) for row in rows]


def get(database: Database, site_id: int) -> Site:
    """Raises NotFoundError."""
    for site in all_sites(database):
        if site.id == site_id:
            return site
    raise NotFoundError(f"there is no site {site_id}")


def add(database: Database, name: str) -> Site:
    """Raises ConflictError for a name that is taken, BadRequestError for a bad one."""
    checked_name(name)
    with database.writing() as connection:
        if connection.scalar(select(SITE.c.id).where(SITE.c.name == name)) is not None:
            raise ConflictError(f"there is a site {name!r} already")
        query = insert(SITE).values(name=name).returning(SITE.c.id)
        return Site(connection.execute(query).scalar_one(), name)


def rename(database: Database, site_id: int, name: str) -> Site:
    """Raises NotFoundError, and as `add` does."""
    checked_name(name)
    with database.writing() as connection:
        taken = connection.scalar(select(SITE.c.id).where(SITE.c.name == name))
        if taken not in (None, site_id):
            raise ConflictError(f"there is a site {name!r} already")
        query = update(SITE).where(SITE.c.id == site_id).values(name=name)
        if not connection.execute(query).rowcount:
            raise NotFoundError(f"there is no site {site_id}")
    return Site(site_id, name)


def remove(database: Database, site_id: int) -> None:
    """Raises NotFoundError, and ConflictError for the default site and one that has groups."""
    if site_id == DEFAULT_SITE_ID:
        raise ConflictError("the default site cannot be deleted")
    with database.writing() as connection:
        if connection.scalar(select(GROUP.c.id).where(GROUP.c.site_id == site_id).limit(1)):
            raise ConflictError(f"site {site_id} still has sensor groups; move them first")
        if not connection.execute(delete(SITE).where(SITE.c.id == site_id)).rowcount:
            raise NotFoundError(f"there is no site {site_id}")
