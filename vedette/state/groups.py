"""Sensor groups, the unit of access: a sensor is in one, a team has a role in some."""

from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.state.engine import Database
from vedette.state.schema import GROUP, SENSOR, SITE, TOKEN

DEFAULT_GROUP_ID = 1
DEFAULT_SITE_ID = 1

NAME_CHARS_MAX = 200
"""Characters of a name of a group, team or token."""


@dataclass(frozen=True, slots=True)
class Group:
    """A sensor group as it is kept."""

    id: int
    name: str
    site_id: int
    sensorbackend_server: str
    suppress_children: bool = False
    """Whether processes without events but module loads are shown as suppressed."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place that groups belong to; there is one."""

    id: int
    name: str


def create_defaults(connection: Connection) -> None:
    """The default site and group of a new database; nothing where they exist."""
    if connection.scalar(select(func.count()).select_from(SITE)):
        return
    connection.execute(insert(SITE).values(name="Default Site"))
    connection.execute(insert(GROUP).values(name="Default Group", site_id=DEFAULT_SITE_ID))


def add(
    database: Database, name: str, site_id: int = DEFAULT_SITE_ID, sensorbackend_server: str = ""
) -> Group:
    """Raises ConflictError for a name that is taken, BadRequestError for a bad name or site."""
    checked_name(name)
    values = {"name": name, "site_id": site_id, "sensorbackend_server": sensorbackend_server}
    with database.writing() as connection:
        if connection.scalar(select(SITE.c.id).where(SITE.c.id == site_id)) is None:
            raise BadRequestError(f"there is no site {site_id}")
        if connection.scalar(select(GROUP.c.id).where(GROUP.c.name == name)) is not None:
            raise ConflictError(f"there is a sensor group {name!r} already")
        group_id: int = connection.execute(
            insert(GROUP).values(values).returning(GROUP.c.id)
        ).scalar_one()
    return Group(group_id, name, site_id, sensorbackend_server)


def all_groups(database: Database) -> list[Group]:
    """Every group, by id."""
    with database.reading() as connection:
        return [_group(row) for row in connection.execute(_QUERY).mappings()]


def get(database: Database, group_id: int) -> Group:
    """Raises NotFoundError."""
    with database.reading() as connection:
        row = connection.execute(_QUERY.where(GROUP.c.id == group_id)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no sensor group {group_id}")
    return _group(row)


def named(database: Database, name: str) -> Group:
    """The group of that exact name. Raises NotFoundError."""
    with database.reading() as connection:
        row = connection.execute(_QUERY.where(GROUP.c.name == name)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no sensor group {name!r}")
    return _group(row)


def suppress_children(database: Database, group_id: int, wanted: bool) -> None:
    """Whether the group's processes without events but module loads are shown as suppressed.

    Raises NotFoundError."""
    changed = update(GROUP).where(GROUP.c.id == group_id).values(suppress_children=wanted)
    with database.writing() as connection:
        found = connection.execute(changed).rowcount
    if not found:
        raise NotFoundError(f"there is no sensor group {group_id}")


def suppressing(database: Database) -> frozenset[str]:
    """The names of the groups whose processes without events are suppressed."""
    with database.reading() as connection:
        return frozenset(connection.scalars(select(GROUP.c.name).where(GROUP.c.suppress_children)))


def remove(database: Database, group_id: int) -> None:
    """Deletes an empty group with its ingest tokens. Raises NotFoundError, and ConflictError
    for the default group and for one that still has sensors."""
    if group_id == DEFAULT_GROUP_ID:
        raise ConflictError("the default group cannot be deleted")
    with database.writing() as connection:
        if connection.scalar(select(SENSOR.c.id).where(SENSOR.c.group_id == group_id).limit(1)):
            raise ConflictError(f"sensor group {group_id} still has sensors; move them first")
        connection.execute(delete(TOKEN).where(TOKEN.c.group_id == group_id))
        found = connection.execute(delete(GROUP).where(GROUP.c.id == group_id)).rowcount
    if not found:
        raise NotFoundError(f"there is no sensor group {group_id}")


def all_sites(database: Database) -> list[Site]:
    """Every site, by id."""
    with database.reading() as connection:
        rows = connection.execute(select(SITE).order_by(SITE.c.id)).mappings()
        return [Site(row["id"], row["name"]) for row in rows]


def checked_name(name: str) -> str:
    """The name. Raises BadRequestError for one that is empty, long, or cannot be printed."""
    if not name.strip() or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise BadRequestError(f"a name must be 1 to {NAME_CHARS_MAX} printable characters")
    return name


_QUERY = select(GROUP).order_by(GROUP.c.id)


def _group(row: RowMapping) -> Group:
    return Group(
        row["id"],
        row["name"],
        row["site_id"],
        row["sensorbackend_server"],
        row["suppress_children"],
    )
