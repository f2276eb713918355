"""Aliases: further names of a host, whose records belong to the host's sensor."""

from collections.abc import Sequence

from sqlalchemy import case, delete, insert, select, update

from vedette.errors import ConflictError, NotFoundError
from vedette.state.db.database import Database
from vedette.state.db.schema import ALIAS, SENSOR
from vedette.state.sensors.host_registry import is_hostname
from vedette.state.sensors.hosts.lookup import Senders, known_hosts


def add(database: Database, alias: str, hostname: str, group_id: int | None = None) -> None:
    """Assigns records of host `alias` to the sensor of `hostname`, for senders of its group.

    Raises NotFoundError for an unknown host; ConflictError if the alias is a host of the group, or
    if hosts of several groups have the name and `group_id` is None.
    """
    alias, hostname = alias.lower(), hostname.lower()
    with database.writing() as connection:
        query = select(SENSOR.c.id, SENSOR.c.group_id).where(SENSOR.c.hostname == hostname)
        rows = [(row[0], row[1]) for row in connection.execute(query)]
        sensor_id, of_group = _only_one(rows, hostname, group_id)
        if not is_hostname(alias) or known_hosts(connection, [alias], Senders(of_group)):
            raise ConflictError(f"{alias!r} is already a host or an alias, or is not a valid name")
        connection.execute(insert(ALIAS).values(alias=alias, sensor_id=sensor_id))


def remove(database: Database, alias: str, now_us: int, group_id: int | None = None) -> None:
    """Deletes an alias: records of host `alias` get their own sensor again. Every server applies it
    at its next refresh. Raises the errors of `add`."""
    with database.writing() as connection:
        query = select(ALIAS.c.sensor_id, SENSOR.c.group_id).join(SENSOR)
        of_alias = connection.execute(query.where(ALIAS.c.alias == alias.lower()))
        rows = [(row[0], row[1]) for row in of_alias]
        found, _ = _only_one(rows, alias.lower(), group_id)
        connection.execute(
            delete(ALIAS).where(ALIAS.c.alias == alias.lower(), ALIAS.c.sensor_id == found)
        )
        changed = case((SENSOR.c.changed_us < now_us, now_us), else_=SENSOR.c.changed_us + 1)
        connection.execute(update(SENSOR).where(SENSOR.c.id == found).values(changed_us=changed))


def _only_one(rows: Sequence[tuple[int, int]], name: str, group_id: int | None) -> tuple[int, int]:
    """Returns (id, group) of the only row, restricted to the group if one is given."""
    wanted = [row for row in rows if group_id in (None, row[1])]
    if not wanted:
        raise NotFoundError(f"host {name[:80]!r} not found")
    if len(wanted) > 1:
        raise ConflictError(f"several sensor groups have a host named {name!r}; specify one")
    return wanted[0]


def listed(database: Database) -> list[tuple[str, int, str]]:
    """Returns (alias, sensor id, host name) of every alias, sorted by alias."""
    query = (
        select(ALIAS.c.alias, ALIAS.c.sensor_id, SENSOR.c.hostname)
        .join(SENSOR, SENSOR.c.id == ALIAS.c.sensor_id)
        .order_by(ALIAS.c.alias, ALIAS.c.sensor_id)
    )
    with database.reading() as connection:
        return [(row[0], row[1], row[2]) for row in connection.execute(query)]
