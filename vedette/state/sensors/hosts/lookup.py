"""Looks up sensors by host name for a sender: senders of a group reach sensors of their group, and
sensors that an administrator assigned to it (`policy/name_owners.py`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, select, true

from vedette.limits import HOSTS_PER_STATEMENT
from vedette.model.host import SensorRef
from vedette.state.db.schema import ALIAS, GROUP, NAME_OWNER, SENSOR
from vedette.state.policy.group_options import KNOWN_DLLS_FILTERED
from vedette.state.policy.groups import DEFAULT_GROUP_ID


@dataclass(frozen=True, slots=True)
class Senders:
    """Scope of a name lookup: one group, one sensor, or all groups."""

    group_id: int
    """Group of the credential; new hosts join it."""
    any_group: bool = False
    sensor_id: int = 0
    """The only sensor that the names can belong to; 0: any."""

    @property
    def is_bound(self) -> bool:
        """Whether the senders only reach sensors of their own group."""
        return not self.any_group and not self.sensor_id


def is_kept(
    host: str,
    senders: Senders,
    ref: SensorRef,
    names: Mapping[int, set[str]],
    assigned: Mapping[tuple[str, int], int | None],
) -> bool:
    """Whether a cached name still leads the senders to a sensor that changed. False also if it must
    be looked up again."""
    if senders.sensor_id:
        return True
    if not senders.is_bound:
        return host in names[ref.id] and (host, ref.group_id) not in assigned
    owner = assigned.get((host, senders.group_id))
    if owner is not None:
        return owner == ref.id
    return host in names[ref.id] and ref.group_id == senders.group_id


def names_of(connection: Connection, refs: Mapping[int, SensorRef]) -> dict[int, set[str]]:
    """Maps sensor id to its host name and aliases."""
    names = {sensor_id: {ref.hostname} for sensor_id, ref in refs.items()}
    ids = sorted(refs)
    for begin in range(0, len(ids), HOSTS_PER_STATEMENT):
        some = ALIAS.c.sensor_id.in_(ids[begin : begin + HOSTS_PER_STATEMENT])
        for alias, sensor_id in connection.execute(
            select(ALIAS.c.alias, ALIAS.c.sensor_id).where(some)
        ):
            names[sensor_id].add(alias)
    return names


def known_hosts(
    connection: Connection, names: Sequence[str], senders: Senders, *, assigned: bool = True
) -> dict[str, SensorRef]:
    """Maps each host name or alias to the sensor that the senders reach. A sensor that an
    administrator assigned takes precedence, then a host of that name, then an alias.

    Senders of all groups reach the sensor of the only group that has the name. If several groups
    have it and no decision exists, they reach the sensor of their own group, or none, so that no
    claimant gets records meant for another.
    """
    if senders.sensor_id:
        refs = sensor_refs(connection, SENSOR.c.id == senders.sensor_id)
        return {name: ref for name in names for ref in refs}
    found: dict[str, SensorRef] = {}
    for begin in range(0, len(names), HOSTS_PER_STATEMENT):
        some = names[begin : begin + HOSTS_PER_STATEMENT]
        by_group = _by_group(connection, some, senders)
        for name in some:
            refs_of_name = by_group.get(name, {})
            ref = refs_of_name.get(senders.group_id)
            if ref is None and len(refs_of_name) == 1:
                (ref,) = refs_of_name.values()
            if ref is not None:
                found[name] = ref
        if assigned:
            found |= _assignments(connection, some, senders)
    return found


def _by_group(
    connection: Connection, names: Sequence[str], senders: Senders
) -> dict[str, dict[int, SensorRef]]:
    """Maps name and group to the sensor with that host name, or else that alias."""
    reached = SENSOR.c.group_id == senders.group_id if senders.is_bound else true()
    found: dict[str, dict[int, SensorRef]] = {}
    aliases = connection.execute(
        select(ALIAS.c.alias, ALIAS.c.sensor_id)
        .join(SENSOR)
        .where(ALIAS.c.alias.in_(names), reached)
        .order_by(ALIAS.c.sensor_id.desc())
    ).all()
    of_aliases = {one[1] for one in aliases}
    refs = {ref.id: ref for ref in sensor_refs(connection, SENSOR.c.id.in_(of_aliases))}
    named = [(name, refs[sensor_id]) for name, sensor_id in aliases]
    hosts = sensor_refs(connection, SENSOR.c.hostname.in_(names) & reached)
    for name, ref in (*named, *((ref.hostname, ref) for ref in hosts)):
        found.setdefault(name, {})[ref.group_id] = ref
    return found


def _assignments(
    connection: Connection, names: Sequence[str], senders: Senders
) -> dict[str, SensorRef]:
    """Maps name to the sensor that a decision assigns to the senders. Senders of all groups use the
    decision for the sensor's own group."""
    group_id = senders.group_id if senders.is_bound else SENSOR.c.group_id
    rows = connection.execute(
        select(NAME_OWNER.c.hostname, SENSOR.c.id)
        .join(SENSOR, SENSOR.c.id == NAME_OWNER.c.sensor_id)
        .where(NAME_OWNER.c.hostname.in_(names), NAME_OWNER.c.group_id == group_id)
    )
    owners = {row[0]: row[1] for row in rows}
    refs = sensor_refs(connection, SENSOR.c.id.in_(set(owners.values()))) if owners else []
    by_id = {ref.id: ref for ref in refs}
    return {name: by_id[sensor_id] for name, sensor_id in owners.items()}


def decided_names(connection: Connection, names: set[str]) -> dict[tuple[str, int], int | None]:
    """Maps (name, group) to the assigned sensor; None for the group's own sensor."""
    wanted, found = sorted(names), dict[tuple[str, int], int | None]()
    for begin in range(0, len(wanted), HOSTS_PER_STATEMENT):
        some = NAME_OWNER.c.hostname.in_(wanted[begin : begin + HOSTS_PER_STATEMENT])
        query = select(NAME_OWNER.c.hostname, NAME_OWNER.c.group_id, NAME_OWNER.c.sensor_id)
        found |= {(row[0], row[1]): row[2] for row in connection.execute(query.where(some))}
    return found


def existing_group(connection: Connection, group_id: int) -> int:
    """Returns the group, or the default group if the group was deleted while its sender was
    sending."""
    query = select(GROUP.c.id).where(GROUP.c.id == group_id).with_for_update(read=True)
    return DEFAULT_GROUP_ID if connection.scalar(query) is None else group_id


_FILTERING = GROUP.c.options.contains(KNOWN_DLLS_FILTERED, autoescape=True)
GROUPS = select(GROUP.c.id, GROUP.c.name, _FILTERING)


def of_group(ref: SensorRef) -> tuple[int, str, bool]:
    return ref.group_id, ref.group_name, ref.filtering_known_dlls


def sensor_refs(connection: Connection, condition: ColumnElement[bool]) -> list[SensorRef]:
    """Returns the sensors that meet a condition."""
    rows = connection.execute(
        select(
            SENSOR.c.id,
            SENSOR.c.hostname,
            SENSOR.c.group_id,
            GROUP.c.name,
            SENSOR.c.os_type,
            SENSOR.c.utc_offset_min,
            SENSOR.c.key_sha256.is_not(None),
            SENSOR.c.host_type,
            SENSOR.c.addresses,
            SENSOR.c.computer_sid,
            SENSOR.c.network_adapters,
            _FILTERING,
        )
        .join(GROUP)
        .where(condition)
    )
    return [SensorRef(*row) for row in rows]
