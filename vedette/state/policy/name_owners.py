"""Host names that several sensor groups claim, and administrators' decisions about them.

Each group has its own sensor for the name, so a group's records are never rejected because of
another group. An administrator decides whether these are different hosts or one host. In the latter
case, records that senders of the other groups store under the name belong to the sensor that owns
it. Stored records do not move.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Subquery,
    and_,
    case,
    delete,
    func,
    insert,
    select,
    union_all,
    update,
)

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.db.schema import ALIAS, GROUP, NAME_OWNER, SENSOR

NAME_CONFLICTS_SHOWN: Limit[int] = 200
"""Contested host names in one response; senders choose host names, so their number is unbounded."""


@dataclass(frozen=True, slots=True)
class NameClaim:
    """A sensor that has a name, as host name or alias. Times are epoch microseconds."""

    name: str
    sensor_id: int
    group_id: int
    group_name: str
    hostname: str
    is_enrolled: bool
    first_seen_us: int
    last_seen_us: int
    is_decided: bool
    """Whether an administrator decided about the name in this group."""
    owner_id: int | None
    """Sensor that gets the records of the group's senders; None for the group's own sensor."""


@dataclass(frozen=True, slots=True)
class NameConflict:
    """A name with the claims of several groups, sorted by group."""

    name: str
    claims: tuple[NameClaim, ...]


@dataclass(frozen=True, slots=True)
class NameConflicts:
    """The first conflicts sorted by name, and their total number."""

    total: int
    shown: tuple[NameConflict, ...]


def open_conflicts(
    database: Database, groups: Collection[int] | None = None, most: int = NAME_CONFLICTS_SHOWN
) -> NameConflicts:
    """Returns names that several groups claim and that await a decision; with `groups`, only names
    that one of these groups claims."""
    claims, undecided = _claims(), func.sum(case((NAME_OWNER.c.hostname.is_(None), 1), else_=0))
    named = (
        select(claims.c.name)
        .outerjoin(NAME_OWNER, _is_about(claims))
        .group_by(claims.c.name)
        .having(func.count(claims.c.group_id.distinct()) > 1, undecided > 0)
    )
    if groups is not None:
        mine = func.sum(case((claims.c.group_id.in_(sorted(groups)), 1), else_=0))
        named = named.having(mine > 0)
    with database.reading() as connection:
        total = connection.scalar(select(func.count()).select_from(named.subquery())) or 0
        query = named.order_by(claims.c.name).limit(most)
        names = list(connection.scalars(query)) if total else []
        return NameConflicts(int(total), _conflicts(connection, names))


def conflict_of(database: Database, name: str) -> NameConflict:
    """Returns the claims of a name, also after a decision. Raises NotFoundError if fewer than two
    groups claim it."""
    with database.reading() as connection:
        return _conflict(connection, name.lower())


def is_contested(database: Database, sensor_id: int) -> bool:
    """Whether another group claims a name of the sensor, without a decision."""
    claims = _claims()
    mine = select(claims.c.name).where(claims.c.sensor_id == sensor_id)
    with database.reading() as connection:
        names = list(connection.scalars(mine))
        found = _conflicts(connection, names)
    return any(not all(claim.is_decided for claim in one.claims) for one in found)


def decide(
    database: Database, name: str, owner_id: int | None, username: str, now_us: int
) -> NameConflict:
    """Makes a sensor the owner of a name: it gets the records of all groups that claim the name.
    Without an owner, the claims belong to different hosts, and each group keeps its own records.

    Raises NotFoundError like `conflict_of`, BadRequestError for a sensor without this name.
    """
    with database.writing() as connection:
        found = _conflict(connection, name.lower())
        if owner_id is not None and owner_id not in {one.sensor_id for one in found.claims}:
            raise BadRequestError(f"owner: sensor {owner_id} does not have the name {found.name!r}")
        for claim in found.claims:
            _decide(connection, claim, owner_id, username, now_us)
        _touch(connection, found, now_us)
        return _conflict(connection, found.name)


def withdraw(database: Database, name: str, now_us: int) -> None:
    """Deletes the decision about a name: each group's records go to its own sensor again, and the
    conflict reopens. Raises NotFoundError."""
    with database.writing() as connection:
        decided = NAME_OWNER.c.hostname == name.lower()
        if connection.scalar(select(func.count()).select_from(NAME_OWNER).where(decided)) == 0:
            raise NotFoundError(f"no decision exists for the name {name[:80]!r}")
        connection.execute(delete(NAME_OWNER).where(decided))
        _touch(connection, _claimed(connection, name.lower()), now_us)


def end_decisions(connection: Connection, sensor_id: int, group_id: int) -> None:
    """Deletes decisions about a sensor that leaves a group, since they concern that group."""
    claims = _claims()
    names = select(claims.c.name).where(claims.c.sensor_id == sensor_id)
    in_group = and_(NAME_OWNER.c.group_id == group_id, NAME_OWNER.c.hostname.in_(names))
    connection.execute(delete(NAME_OWNER).where((NAME_OWNER.c.sensor_id == sensor_id) | in_group))


def _claims() -> Subquery:
    """Returns a subquery of every name with its sensor and group, without uninstalled sensors."""
    hosts = select(
        SENSOR.c.hostname.label("name"), SENSOR.c.group_id, SENSOR.c.id.label("sensor_id")
    )
    aliases = select(ALIAS.c.alias.label("name"), SENSOR.c.group_id, ALIAS.c.sensor_id)
    installed = SENSOR.c.uninstalled_us == 0
    return union_all(
        hosts.where(installed),
        aliases.join(SENSOR, SENSOR.c.id == ALIAS.c.sensor_id).where(installed),
    ).subquery("claims")


def _is_about(claims: Subquery) -> ColumnElement[bool]:
    return and_(NAME_OWNER.c.hostname == claims.c.name, NAME_OWNER.c.group_id == claims.c.group_id)


def _conflicts(connection: Connection, names: Collection[str]) -> tuple[NameConflict, ...]:
    """Returns those names that several groups claim, with their claims, sorted by name."""
    claims = _claims()
    query = (
        select(
            claims.c.name,
            claims.c.sensor_id,
            claims.c.group_id,
            GROUP.c.name.label("group_name"),
            SENSOR.c.hostname,
            (SENSOR.c.key_sha256.is_not(None) | SENSOR.c.node_key_sha256.is_not(None)).label(
                "is_enrolled"
            ),
            SENSOR.c.first_seen_us,
            SENSOR.c.last_seen_us,
            NAME_OWNER.c.hostname.is_not(None).label("is_decided"),
            NAME_OWNER.c.sensor_id.label("owner_id"),
        )
        .join(SENSOR, SENSOR.c.id == claims.c.sensor_id)
        .join(GROUP, GROUP.c.id == claims.c.group_id)
        .outerjoin(NAME_OWNER, _is_about(claims))
        .where(claims.c.name.in_(sorted(names)))
        .order_by(claims.c.name, claims.c.group_id, claims.c.sensor_id)
    )
    rows = connection.execute(query).mappings() if names else ()
    by_name = groupby((_claim(row) for row in rows), key=lambda one: one.name)
    found = (NameConflict(name, tuple(some)) for name, some in by_name)
    return tuple(one for one in found if len({claim.group_id for claim in one.claims}) > 1)


def _claim(row: Mapping[Any, Any]) -> NameClaim:
    flags = {name: bool(row[name]) for name in ("is_enrolled", "is_decided")}
    return NameClaim(**{name: row[name] for name in NameClaim.__slots__} | flags)


def _conflict(connection: Connection, name: str) -> NameConflict:
    found = _conflicts(connection, [name])
    if not found:
        raise NotFoundError(f"no two sensor groups have a host named {name[:80]!r}")
    return found[0]


def _claimed(connection: Connection, name: str) -> NameConflict:
    found = _conflicts(connection, [name])
    return found[0] if found else NameConflict(name, ())


def _decide(
    connection: Connection, claim: NameClaim, owner_id: int | None, username: str, now_us: int
) -> None:
    values = {"sensor_id": owner_id, "decided_us": now_us, "username": username}
    is_about = and_(NAME_OWNER.c.hostname == claim.name, NAME_OWNER.c.group_id == claim.group_id)
    if connection.execute(update(NAME_OWNER).where(is_about).values(values)).rowcount == 0:
        values |= {"hostname": claim.name, "group_id": claim.group_id}
        connection.execute(insert(NAME_OWNER).values(values))


def _touch(connection: Connection, conflict: NameConflict, now_us: int) -> None:
    """Makes every server reread the sensors and their names at its next refresh."""
    changed = case((SENSOR.c.changed_us < now_us, now_us), else_=SENSOR.c.changed_us + 1)
    ids = sorted({claim.sensor_id for claim in conflict.claims})
    connection.execute(update(SENSOR).where(SENSOR.c.id.in_(ids)).values(changed_us=changed))
