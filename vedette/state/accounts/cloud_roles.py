"""Roles of the cloud side: named sets of permissions, for all sensor groups or for some."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import USER_DETAIL_CHARS_MAX
from vedette.model.rights.permission import permission_named
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP
from vedette.state.db.schema_cloud import CLOUD_APP_ROLE, CLOUD_ROLE, CLOUD_ROLE_GROUP
from vedette.state.policy.groups import checked_name
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import CLOUD_ROLES


@dataclass(frozen=True, slots=True)
class CloudRole:
    """A stored role. `groups` are ids of sensor groups; None for all."""

    id: int
    name: str
    description: str
    permissions: tuple[str, ...]
    groups: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class RoleChange:
    """Values to set; None leaves a value unchanged."""

    name: str | None = None
    description: str | None = None
    permissions: Sequence[str] | None = None
    """Names in any form that `permission_named` accepts."""
    groups: Sequence[int] | None = None
    in_all_groups: bool | None = None


def add(database: Database, new: RoleChange) -> CloudRole:
    """Creates a role, for all groups unless `new` lists some. Raises BadRequestError for an unknown
    permission or group, or if there is no permission; ConflictError for a name that is taken."""
    if not new.permissions:
        raise BadRequestError("permissions: must have at least one entry")
    checked_name(new.name or "")
    everywhere = new.groups is None if new.in_all_groups is None else new.in_all_groups
    with database.writing() as connection:
        check_room(connection, CLOUD_ROLES)
        _check_name(connection, new.name or "", 0)
        values = _values(new) | {"all_groups": everywhere}
        role_id: int = connection.execute(
            insert(CLOUD_ROLE).values(values).returning(CLOUD_ROLE.c.id)
        ).scalar_one()
        _set_groups(connection, role_id, () if everywhere else new.groups or ())
        return _get(connection, role_id)


def change(database: Database, role_id: int, new: RoleChange) -> CloudRole:
    """Changes a role. Takes effect within a second. Raises NotFoundError, and the errors of
    `add`."""
    with database.writing() as connection:
        known = _get(connection, role_id)
        if new.permissions is not None and not new.permissions:
            raise BadRequestError("permissions: must have at least one entry")
        if new.name is not None:
            checked_name(new.name)
            _check_name(connection, new.name, role_id)
        values = _values(new)
        everywhere = new.in_all_groups
        if everywhere is None and new.groups is not None:
            everywhere = False
        if everywhere is not None:
            values["all_groups"] = everywhere
            groups = new.groups if new.groups is not None else known.groups or ()
            _set_groups(connection, role_id, () if everywhere else groups)
        if values:
            connection.execute(update(CLOUD_ROLE).where(CLOUD_ROLE.c.id == role_id).values(values))
        return _get(connection, role_id)


def remove(database: Database, role_id: int) -> None:
    """Deletes a role. Its apps stay and lose its permissions. Raises NotFoundError."""
    with database.writing() as connection:
        _get(connection, role_id)
        connection.execute(delete(CLOUD_APP_ROLE).where(CLOUD_APP_ROLE.c.role_id == role_id))
        connection.execute(delete(CLOUD_ROLE_GROUP).where(CLOUD_ROLE_GROUP.c.role_id == role_id))
        connection.execute(delete(CLOUD_ROLE).where(CLOUD_ROLE.c.id == role_id))


def get(database: Database, role_id: int) -> CloudRole:
    with database.reading() as connection:
        return _get(connection, role_id)


def named(database: Database, name: str) -> CloudRole:
    """Returns the role with this name. Raises NotFoundError."""
    found = next((role for role in all_roles(database) if role.name == name), None)
    if found is None:
        raise NotFoundError(f"role {name[:80]!r} not found")
    return found


def all_roles(database: Database) -> list[CloudRole]:
    """Returns all roles, sorted by name."""
    with database.reading() as connection:
        return roles_of(connection, None)


def roles_of(connection: Connection, app_id: str | None) -> list[CloudRole]:
    """Returns the roles of an app, sorted by name; all roles if `app_id` is None."""
    query = select(CLOUD_ROLE).order_by(CLOUD_ROLE.c.name)
    if app_id is not None:
        query = query.join(CLOUD_APP_ROLE).where(CLOUD_APP_ROLE.c.app_id == app_id)
    rows = connection.execute(query).mappings().all()
    groups: dict[int, list[int]] = {}
    for link in connection.execute(
        select(CLOUD_ROLE_GROUP)
        .where(CLOUD_ROLE_GROUP.c.role_id.in_([row["id"] for row in rows]))
        .order_by(CLOUD_ROLE_GROUP.c.group_id)
    ):
        groups.setdefault(link.role_id, []).append(link.group_id)
    return [
        CloudRole(
            row["id"],
            row["name"],
            row["description"],
            msgspec.json.decode(row["permissions"], type=tuple[str, ...]),
            None if row["all_groups"] else tuple(groups.get(row["id"], ())),
        )
        for row in rows
    ]


def _get(connection: Connection, role_id: int) -> CloudRole:
    found = next((role for role in roles_of(connection, None) if role.id == role_id), None)
    if found is None:
        raise NotFoundError(f"role {role_id} not found")
    return found


def _values(new: RoleChange) -> dict[str, object]:
    values: dict[str, object] = {}
    if new.name is not None:
        values["name"] = new.name
    if new.description is not None:
        values["description"] = new.description[:USER_DETAIL_CHARS_MAX]
    if new.permissions is not None:
        names = sorted({permission_named(text).name for text in new.permissions})
        values["permissions"] = msgspec.json.encode(names).decode()
    return values


def _check_name(connection: Connection, name: str, role_id: int) -> None:
    taken = select(CLOUD_ROLE.c.id).where(CLOUD_ROLE.c.name == name, CLOUD_ROLE.c.id != role_id)
    if connection.scalar(taken) is not None:
        raise ConflictError(f"role {name!r} already exists")


def _set_groups(connection: Connection, role_id: int, groups: Sequence[int]) -> None:
    wanted = sorted(set(groups))
    known = set(connection.scalars(select(GROUP.c.id).where(GROUP.c.id.in_(wanted))))
    if missing := [one for one in wanted if one not in known]:
        raise BadRequestError(f"groups: unknown sensor group {missing[0]}")
    connection.execute(delete(CLOUD_ROLE_GROUP).where(CLOUD_ROLE_GROUP.c.role_id == role_id))
    if wanted:
        rows = [{"role_id": role_id, "group_id": one} for one in wanted]
        connection.execute(insert(CLOUD_ROLE_GROUP), rows)
