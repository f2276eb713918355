"""Sensor groups, the unit of access: each sensor is in one group, and teams have roles in
groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import STATE_NAME_CHARS_MAX
from vedette.model.principal import Role
from vedette.record.group_filters import group_filters
from vedette.record.objects.sensor_group import Group, GroupOptions, group_of
from vedette.state.db.database import Database
from vedette.state.db.key_values import keep_last_id, unused_id
from vedette.state.db.schema import GROUP, SENSOR, SITE, TEAM, TEAM_ACCESS, TOKEN
from vedette.state.policy.filters import changed_by_options
from vedette.state.policy.group_options import options_of, options_text

DEFAULT_GROUP_ID = 1
DEFAULT_SITE_ID = 1


@dataclass(frozen=True, slots=True)
class GroupChanges:
    """Values to set; None leaves a value unchanged."""

    name: str | None = None
    site_id: int | None = None
    sensorbackend_server: str | None = None
    suppress_children: bool | None = None
    options: Mapping[str, Any] | None = None
    """Members of `GroupOptions` by name; omitted members stay."""
    team_roles: Mapping[int, Role] | None = None
    """Roles of all teams in the group; omitted teams lose their role."""


def create_defaults(connection: Connection) -> None:
    """Creates the default site and group in a new database; does nothing if a site exists."""
    if connection.scalar(select(func.count()).select_from(SITE)):
        return
    connection.execute(insert(SITE).values(name="Default Site"))
    connection.execute(insert(GROUP).values(name="Default Group", site_id=DEFAULT_SITE_ID))


def add(
    database: Database,
    name: str,
    site_id: int = DEFAULT_SITE_ID,
    sensorbackend_server: str = "",
    options: GroupOptions | None = None,
    team_roles: Mapping[int, Role] | None = None,
) -> Group:
    """Creates a group. Raises ConflictError for a name that is taken, BadRequestError for an
    invalid name, site or team."""
    options = options or GroupOptions()
    checked_name(name)
    values = {
        "name": name,
        "site_id": site_id,
        "sensorbackend_server": sensorbackend_server,
        "options": options_text(options),
    }
    with database.writing() as connection:
        _check_site(connection, site_id)
        _check_name(connection, name, 0)
        group_id: int = connection.execute(
            insert(GROUP).values(values | unused_id(connection, GROUP)).returning(GROUP.c.id)
        ).scalar_one()
        if team_roles is not None:
            _set_roles(connection, group_id, team_roles)
        if group_filters(group_id, options):
            changed_by_options(connection)
    own = {"name": name, "site_id": site_id, "sensorbackend_server": sensorbackend_server}
    return group_of(options, id=group_id, **own)


def change(
    database: Database,
    group_id: int,
    changes: GroupChanges,
    check: Callable[[Group], None] | None = None,
) -> Group:
    """Changes a group. `check` may raise to reject the change. Raises NotFoundError, and the errors
    of `add`."""
    values: dict[str, object] = {}
    if changes.name is not None:
        checked_name(changes.name)
    for name in _OWN[1:]:
        if (value := getattr(changes, name)) is not None:
            values[name] = value
    with database.writing() as connection:
        # Locked because all options share one column, and concurrent changes may set different
        # options.
        row = select(GROUP.c.options).where(GROUP.c.id == group_id).with_for_update()
        before = connection.scalar(row)
        if before is None:
            raise NotFoundError(f"sensor group {group_id} not found")
        if check is not None:
            check(_get(connection, group_id))
        if changes.site_id is not None:
            _check_site(connection, changes.site_id)
        if changes.name is not None:
            _check_name(connection, changes.name, group_id)
        known = options_of(before)
        options = replace(known, **(changes.options or {}))
        if options != known:
            values["options"] = options_text(options)
        if values:
            connection.execute(update(GROUP).where(GROUP.c.id == group_id).values(values))
        if group_filters(group_id, options) != group_filters(group_id, known):
            changed_by_options(connection)
        if changes.team_roles is not None:
            _set_roles(connection, group_id, changes.team_roles)
    return get(database, group_id)


def all_groups(database: Database) -> list[Group]:
    """Returns all groups, sorted by id."""
    with database.reading() as connection:
        return [_group(row) for row in connection.execute(_QUERY).mappings()]


def get(database: Database, group_id: int) -> Group:
    """Returns the group with this id. Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, group_id)


def _get(connection: Connection, group_id: int) -> Group:
    row = connection.execute(_QUERY.where(GROUP.c.id == group_id)).mappings().first()
    if row is None:
        raise NotFoundError(f"sensor group {group_id} not found")
    return _group(row)


def named(database: Database, name: str) -> Group:
    """Returns the group with this exact name. Raises NotFoundError."""
    with database.reading() as connection:
        row = connection.execute(_QUERY.where(GROUP.c.name == name)).mappings().first()
    if row is None:
        raise NotFoundError(f"sensor group {name!r} not found")
    return _group(row)


def suppress_children(database: Database, group_id: int, wanted: bool) -> None:
    """Sets whether the API shows the group's processes that only loaded modules as suppressed.
    Raises NotFoundError."""
    changed = update(GROUP).where(GROUP.c.id == group_id).values(suppress_children=wanted)
    with database.writing() as connection:
        found = connection.execute(changed).rowcount
    if not found:
        raise NotFoundError(f"sensor group {group_id} not found")


def suppressing(database: Database) -> frozenset[str]:
    """Returns the names of the groups whose module-loading children are shown as suppressed."""
    with database.reading() as connection:
        return frozenset(connection.scalars(select(GROUP.c.name).where(GROUP.c.suppress_children)))


def remove(database: Database, group_id: int) -> None:
    """Deletes an empty group with its ingest tokens. Raises NotFoundError, and ConflictError for
    the default group and for a group that has sensors."""
    if group_id == DEFAULT_GROUP_ID:
        raise ConflictError("the default group cannot be deleted")
    with database.writing() as connection:
        if connection.scalar(select(SENSOR.c.id).where(SENSOR.c.group_id == group_id).limit(1)):
            raise ConflictError(f"sensor group {group_id} still has sensors; move them first")
        keep_last_id(connection, GROUP)
        connection.execute(delete(TOKEN).where(TOKEN.c.group_id == group_id))
        found = connection.execute(delete(GROUP).where(GROUP.c.id == group_id)).rowcount
    if not found:
        raise NotFoundError(f"sensor group {group_id} not found")


def enforces_bans(connection: Connection, group_id: int) -> bool:
    """Whether the sensors of a group block banned programs."""
    text = connection.scalar(select(GROUP.c.options).where(GROUP.c.id == group_id))
    return text is not None and options_of(text).banning_enabled


def sensors_of(connection: Connection, group_id: int) -> frozenset[int]:
    """Returns the sensors that are currently in a group."""
    return frozenset(connection.scalars(select(SENSOR.c.id).where(SENSOR.c.group_id == group_id)))


def host_counts(database: Database) -> dict[int, int]:
    """Maps group id to its number of sensors; omits empty groups."""
    query = select(SENSOR.c.group_id, func.count()).group_by(SENSOR.c.group_id)
    with database.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def team_roles(database: Database) -> dict[int, list[tuple[int, str, Role]]]:
    """Maps group id to the teams with a role in it: (team id, name, role), sorted by team id."""
    query = select(TEAM_ACCESS, TEAM.c.name).join(TEAM).order_by(TEAM_ACCESS.c.team_id)
    found: dict[int, list[tuple[int, str, Role]]] = {}
    with database.reading() as connection:
        for row in connection.execute(query).mappings():
            role = row["team_id"], row["name"], Role(row["role"])
            found.setdefault(row["group_id"], []).append(role)
    return found


def checked_name(name: str) -> str:
    """Returns the name. Raises BadRequestError if it is empty, too long, or not printable."""
    if not name.strip() or len(name) > STATE_NAME_CHARS_MAX or not name.isprintable():
        raise BadRequestError(f"a name must be 1 to {STATE_NAME_CHARS_MAX} printable characters")
    return name


_OWN: Final = ("id", "name", "site_id", "sensorbackend_server", "suppress_children")
"""Columns of members that are not options."""

_QUERY = select(GROUP).order_by(GROUP.c.id)


def _group(row: RowMapping) -> Group:
    return group_of(options_of(row["options"]), **{name: row[name] for name in _OWN})


def _check_site(connection: Connection, site_id: int) -> None:
    if connection.scalar(select(SITE.c.id).where(SITE.c.id == site_id)) is None:
        raise BadRequestError(f"site_id: unknown site {site_id}")


def _check_name(connection: Connection, name: str, group_id: int) -> None:
    taken = connection.scalar(select(GROUP.c.id).where(GROUP.c.name == name))
    if taken not in (None, group_id):
        raise ConflictError(f"sensor group {name!r} already exists")


def _set_roles(connection: Connection, group_id: int, roles: Mapping[int, Role]) -> None:
    known = set(connection.scalars(select(TEAM.c.id).where(TEAM.c.id.in_(set(roles)))))
    if unknown := set(roles) - known:
        raise BadRequestError(f"team_access: unknown team {min(unknown)}")
    connection.execute(delete(TEAM_ACCESS).where(TEAM_ACCESS.c.group_id == group_id))
    rows = [
        {"team_id": team_id, "group_id": group_id, "role": int(role)}
        for team_id, role in sorted(roles.items())
    ]
    if rows:
        connection.execute(insert(TEAM_ACCESS), rows)
