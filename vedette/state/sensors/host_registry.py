"""Cache of host names to sensors, for the write path.

A new host gets a sensor before any of its telemetry is stored, in one durable transaction for all
new hosts of a batch; a known one costs a dictionary lookup. Names are compared in lower case. Two
names are one host where an alias says so, or where one is the short form of the other
(`host_names`). Last contact and address are collected in memory and written by `flush`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from threading import Lock

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    true,
    update,
)

from vedette import limits
from vedette.errors import ConflictError, NotFoundError
from vedette.limits import HOSTS_PER_STATEMENT
from vedette.model.host import SensorRef, Sighting
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import ALIAS, GROUP, SENSOR
from vedette.state.policy.group_options import KNOWN_DLLS_FILTERED, options_of
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.state.sensors.changed_sensors import ChangedSensors
from vedette.state.sensors.host_names import join_names, short_names_of
from vedette.state.sensors.silent_sensors import earlier_seen, midnight_us


@dataclass(slots=True)
class _Note:
    seen_us: int = 0
    earlier_us: int = 0
    """The latest on a day before that, 0 for none."""
    os_type: str = ""
    interface_ip: str = ""
    host_type: str = ""
    computer_sid: str = ""
    adapters: str = ""


class Sensors:
    """Write-through cache of the sensors in the database. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._refs: dict[str, SensorRef] = {}
        self._notes: dict[int, _Note] = {}
        self._groups: dict[int, tuple[str, bool]] = {}
        """Name of each group, and whether it leaves out loads of known DLLs."""
        self._changed = ChangedSensors()
        self._latest: set[int] = set()
        """Changed at the last refresh: another thread may have cached an older read since."""
        self._lock = Lock()
        self.names_version = 0
        """Rises when a name no longer belongs to the sensor that `resolve` gave for it, or the
        sensor's group is another one or has changed."""

    def resolve(
        self, hosts: Mapping[str, Sighting], group_id: int, now_us: int
    ) -> dict[str, SensorRef]:
        """The sensor of every host, by the name that was asked for (lower case, full).

        New hosts join `group_id` and are durable before this returns. Left out are names that
        cannot be a host's (`is_hostname`), and new hosts above `SENSORS_MAX`: their records are
        to be rejected. Raises UnavailableError when the database cannot answer.
        """
        found = {host: ref for host in hosts if (ref := self._refs.get(host)) is not None}
        if len(found) < len(hosts):
            missing = {h: s for h, s in hosts.items() if h not in found and is_hostname(h)}
            found |= self._take_in(missing, group_id, now_us)
        for host, sighting in hosts.items():
            ref = found.get(host)
            if ref is not None and sighting.os_type and ref.os_type != sighting.os_type:
                found[host] = self._refs[host] = replace(ref, os_type=sighting.os_type)
                self.note(ref.id, 0, os_type=sighting.os_type)
        return found

    def evict(self, hostname: str) -> None:
        """Evict the sensor of a host from the cache after a change."""
        with self._lock:
            self._refs.pop(hostname, None)
            self.names_version += 1

    def note(
        self,
        sensor_id: int,
        seen_us: int,
        *,
        os_type: str = "",
        interface_ip: str = "",
        host_type: str = "",
        computer_sid: str = "",
        adapters: str = "",
    ) -> None:
        """Record a contact of a sensor for the next `flush`; "" leaves a value as it is."""
        with self._lock:
            note = self._notes.setdefault(sensor_id, _Note())
            if note.seen_us < midnight_us(seen_us):
                note.earlier_us = note.seen_us
            note.seen_us = max(note.seen_us, seen_us)
            note.os_type = os_type or note.os_type
            note.interface_ip = interface_ip or note.interface_ip
            note.host_type = host_type or note.host_type
            note.computer_sid = computer_sid or note.computer_sid
            note.adapters = adapters or note.adapters

    def flush(self, now_us: int) -> None:
        """Write recorded contacts. Call it every few seconds and at the end."""
        with self._lock:
            notes, self._notes = self._notes, {}
        if not notes:
            return
        try:
            with self._database.writing() as connection:
                _write_notes(connection, dict(sorted(notes.items())), now_us)
        except BaseException:
            for sensor_id, note in notes.items():
                kept = asdict(note)
                if earlier_us := kept.pop("earlier_us"):
                    self.note(sensor_id, earlier_us)
                self.note(sensor_id, **kept)
            raise

    def refresh(self, now_us: int) -> None:
        """Update the cache with changes of other servers and commands. Call it every few seconds;
        it reads what changed since the last call."""
        with self._database.reading() as connection:
            latest = set(self._changed.look(connection, now_us))
            changed = self._read(connection, latest | self._latest)
            names = _names_of(connection, changed)
            groups = {row[0]: (row[1], bool(row[2])) for row in connection.execute(_GROUPS)}
        with self._lock:
            self._changed.taken()
            self._latest = latest
            if not changed and groups == self._groups:
                return
            self._groups = groups
            for host, ref in list(self._refs.items()):
                newest = changed.get(ref.id, ref)
                if newest is not ref and host not in names[ref.id]:
                    del self._refs[host]  # an alias that was removed
                    self.names_version += 1
                    continue
                group = newest.group_name, newest.filtering_known_dlls
                name, filtering = groups.get(newest.group_id, group)
                if newest is not ref or (name, filtering) != group:
                    self._refs[host] = new = replace(
                        newest,
                        group_name=name,
                        filtering_known_dlls=filtering,
                        os_type=newest.os_type or ref.os_type,
                    )
                    if _of_group(new) != _of_group(ref):
                        self.names_version += 1

    def _read(self, connection: Connection, sensor_ids: set[int]) -> dict[int, SensorRef]:
        """The current rows of those sensors that are cached."""
        with self._lock:
            wanted = sorted({ref.id for ref in self._refs.values()} & sensor_ids)
        found: dict[int, SensorRef] = {}
        for begin in range(0, len(wanted), HOSTS_PER_STATEMENT):
            some = SENSOR.c.id.in_(wanted[begin : begin + HOSTS_PER_STATEMENT])
            found |= {ref.id: ref for ref in _refs(connection, some)}
        return found

    def _take_in(
        self, hosts: Mapping[str, Sighting], group_id: int, now_us: int
    ) -> dict[str, SensorRef]:
        names = sorted(hosts)  # one order for all servers, so that they cannot block each other
        found: dict[str, SensorRef] = {}
        with self._database.reading() as connection:
            found |= _known(connection, names)
        new = [name for name in names if name not in found]
        if new:
            with self._database.writing() as connection:
                # Short names after the full ones of the same batch, which they may join.
                later = short_names_of(new)
                first = [name for name in new if name not in later]
                for some in (first, list(later)):
                    left = join_names(connection, some, group_id, now_us) if some else []
                    _insert(connection, {name: hosts[name] for name in left}, group_id, now_us)
                found |= _known(connection, new)
        with self._lock:
            self._refs |= found
        return found


def is_hostname(name: str) -> bool:
    """Whether a name can be stored as a host's: printable, without spaces, of bounded length."""
    return (
        0 < len(name) <= limits.HOSTNAME_CHARS_MAX
        and name.isprintable()
        and not any(character.isspace() for character in name)
    )


def computer_name(hostname: str, os_type: str) -> str:
    """The short name of a host; in capitals for Windows, as NetBIOS has it."""
    short = hostname.partition(".")[0]
    if short.isdecimal() or not short:  # an address, not a name
        short = hostname
    return short.upper() if os_type == "windows" else short


def add_alias(database: Database, alias: str, hostname: str) -> None:
    """From now on records of host `alias` belong to the sensor of `hostname`.

    Raises NotFoundError for an unknown host, ConflictError when the alias is a host itself.
    """
    alias, hostname = alias.lower(), hostname.lower()
    with database.writing() as connection:
        sensor_id = connection.scalar(select(SENSOR.c.id).where(SENSOR.c.hostname == hostname))
        if sensor_id is None:
            raise NotFoundError(f"there is no host {hostname!r}")
        if not is_hostname(alias) or _known(connection, [alias]):
            raise ConflictError(f"{alias!r} is a host or an alias already, or cannot be one")
        connection.execute(insert(ALIAS).values(alias=alias, sensor_id=sensor_id))


def remove_alias(database: Database, alias: str, now_us: int) -> None:
    """Records of host `alias` get a sensor of their own again; every server knows it at its next
    refresh. Raises NotFoundError."""
    with database.writing() as connection:
        found = connection.scalar(select(ALIAS.c.sensor_id).where(ALIAS.c.alias == alias.lower()))
        if found is None:
            raise NotFoundError(f"there is no alias {alias[:80]!r}")
        connection.execute(delete(ALIAS).where(ALIAS.c.alias == alias.lower()))
        changed = case((SENSOR.c.changed_us < now_us, now_us), else_=SENSOR.c.changed_us + 1)
        connection.execute(update(SENSOR).where(SENSOR.c.id == found).values(changed_us=changed))


def aliases(database: Database) -> list[tuple[str, int, str]]:
    """Every alias with the id and the host name of its sensor, by alias."""
    query = (
        select(ALIAS.c.alias, ALIAS.c.sensor_id, SENSOR.c.hostname)
        .join(SENSOR, SENSOR.c.id == ALIAS.c.sensor_id)
        .order_by(ALIAS.c.alias)
    )
    with database.reading() as connection:
        return [(row[0], row[1], row[2]) for row in connection.execute(query)]


def all_sensors(database: Database) -> dict[int, SensorRef]:
    """Every sensor, by id."""
    with database.reading() as connection:
        return {ref.id: ref for ref in _refs(connection, true())}


def _names_of(connection: Connection, refs: Mapping[int, SensorRef]) -> dict[int, set[str]]:
    """Name and aliases of each sensor."""
    names = {sensor_id: {ref.hostname} for sensor_id, ref in refs.items()}
    ids = sorted(refs)
    for begin in range(0, len(ids), HOSTS_PER_STATEMENT):
        some = ALIAS.c.sensor_id.in_(ids[begin : begin + HOSTS_PER_STATEMENT])
        for alias, sensor_id in connection.execute(
            select(ALIAS.c.alias, ALIAS.c.sensor_id).where(some)
        ):
            names[sensor_id].add(alias)
    return names


def _known(connection: Connection, names: Sequence[str]) -> dict[str, SensorRef]:
    """Sensors by host name and by alias."""
    found: dict[str, SensorRef] = {}
    for begin in range(0, len(names), HOSTS_PER_STATEMENT):
        some = names[begin : begin + HOSTS_PER_STATEMENT]
        found |= {ref.hostname: ref for ref in _refs(connection, SENSOR.c.hostname.in_(some))}
        query = select(ALIAS.c.alias, ALIAS.c.sensor_id).where(ALIAS.c.alias.in_(some))
        aliases = dict(connection.execute(query).all())
        if aliases:
            by_id = {r.id: r for r in _refs(connection, SENSOR.c.id.in_(set(aliases.values())))}
            found |= {alias: by_id[sensor_id] for alias, sensor_id in aliases.items()}
    return found


_FILTERING = GROUP.c.options.contains(KNOWN_DLLS_FILTERED, autoescape=True)
_GROUPS = select(GROUP.c.id, GROUP.c.name, _FILTERING)


def _of_group(ref: SensorRef) -> tuple[int, str, bool]:
    return ref.group_id, ref.group_name, ref.filtering_known_dlls


def _refs(connection: Connection, condition: ColumnElement[bool]) -> list[SensorRef]:
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


def _insert(
    connection: Connection, hosts: Mapping[str, Sighting], group_id: int, now_us: int
) -> None:
    """Add sensors for new hosts, as many as the limits of the server and of the group allow."""
    group = select(GROUP.c.options).where(GROUP.c.id == group_id).with_for_update(read=True)
    options = connection.scalar(group) if hosts else None
    if options is None:  # deleted while its sender was sending
        group_id = DEFAULT_GROUP_ID
    count = select(func.count()).select_from(SENSOR)
    all_of_them = connection.scalar(count) or 0
    of_group = connection.scalar(count.where(SENSOR.c.group_id == group_id)) or 0
    licences = options_of(options).max_licenses if options else -1
    group_max = limits.GROUP_SENSORS_MAX if licences < 0 else licences
    room = min(limits.SENSORS_MAX - all_of_them, group_max - of_group)
    rows = [
        {
            "hostname": host,
            "computer_name": computer_name(host, sighting.os_type),
            "group_id": group_id,
            "os_type": sighting.os_type,
            "first_seen_us": now_us,
            "last_seen_us": now_us,
            "changed_us": now_us,
            "network_isolation_enabled": False,
            "is_isolating": False,
            "restart_queued": False,
            "uninstall": False,
        }
        for host, sighting in list(hosts.items())[: max(room, 0)]
    ]
    if rows:
        connection.execute(insert_new(connection, SENSOR), rows)


def _write_notes(connection: Connection, notes: Mapping[int, _Note], now_us: int) -> None:
    seen: BindParameter[int] = bindparam("seen")
    address: BindParameter[str] = bindparam("address")
    connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == bindparam("sensor"))
        .values(
            last_seen_us=case((SENSOR.c.last_seen_us < seen, seen), else_=SENSOR.c.last_seen_us),
            earlier_seen_us=earlier_seen(bindparam("midnight")),
            interface_ip=case((address == "", SENSOR.c.interface_ip), else_=address),
        ),
        [
            {
                "sensor": sensor_id,
                "seen": seen_us,
                "midnight": midnight_us(seen_us),
                "address": note.interface_ip,
            }
            for sensor_id, note in notes.items()
            for seen_us in ((note.earlier_us, note.seen_us) if note.earlier_us else (note.seen_us,))
        ],
    )
    for sensor_id, note in notes.items():
        if note.os_type:
            _write_os_type(connection, sensor_id, note.os_type, now_us)
        if note.host_type:
            _write_host_type(connection, sensor_id, note.host_type, now_us)
        if note.computer_sid:
            _write_computer_sid(connection, sensor_id, note.computer_sid, now_us)
        if note.adapters:
            _write_adapters(connection, sensor_id, note.adapters, now_us)


def _write_os_type(connection: Connection, sensor_id: int, os_type: str, now_us: int) -> None:
    hostname = connection.scalar(select(SENSOR.c.hostname).where(SENSOR.c.id == sensor_id))
    if hostname is not None:
        connection.execute(
            update(SENSOR)
            .where(SENSOR.c.id == sensor_id, SENSOR.c.os_type != os_type)
            .values(
                os_type=os_type,
                computer_name=computer_name(hostname, os_type),
                changed_us=now_us,
            )
        )


def _write_host_type(connection: Connection, sensor_id: int, host_type: str, now_us: int) -> None:
    connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == sensor_id, SENSOR.c.host_type != host_type)
        .values(host_type=host_type, changed_us=now_us)
    )


def _write_computer_sid(connection: Connection, sensor_id: int, sid: str, now_us: int) -> None:
    """An enrolled host keeps a SID that its own program reported."""
    is_enrolled = SENSOR.c.key_sha256.is_not(None) | SENSOR.c.node_key_sha256.is_not(None)
    connection.execute(
        update(SENSOR)
        .where(
            SENSOR.c.id == sensor_id,
            SENSOR.c.computer_sid != sid,
            ~is_enrolled | (SENSOR.c.computer_sid == ""),
        )
        .values(computer_sid=sid, changed_us=now_us)
    )


def _write_adapters(connection: Connection, sensor_id: int, adapters: str, now_us: int) -> None:
    """An enrolled host has the adapters that its own program reports."""
    addresses = "|".join(one.partition(",")[0] for one in adapters.split("|") if one)
    is_enrolled = SENSOR.c.key_sha256.is_not(None) | SENSOR.c.node_key_sha256.is_not(None)
    connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == sensor_id, SENSOR.c.network_adapters != adapters, ~is_enrolled)
        .values(network_adapters=adapters, addresses=addresses, changed_us=now_us)
    )
