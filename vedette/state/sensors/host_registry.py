"""Cache from host names to sensors, for the write path.

A new host gets a sensor before any of its telemetry is stored, in one durable transaction for all
new hosts of a batch. A cached host costs a dictionary lookup. Names are compared in lower case. Two
names are one host if an alias connects them, or if one is the short form of the other
(`host_names`). Last contact and address are collected in memory and written by `flush`.

A name belongs to one sensor within a sensor group: senders of a group only reach sensors of their
own group, and no group can occupy a name of another group. `policy/name_owners.py` lists names that
several groups claim, and stores administrators' decisions about them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from threading import Lock

from sqlalchemy import (
    BindParameter,
    Connection,
    bindparam,
    case,
    func,
    select,
    true,
    update,
)

from vedette import limits
from vedette.limits import HOSTS_PER_STATEMENT
from vedette.model.host import SensorRef, Sighting
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.policy.group_options import options_of
from vedette.state.sensors.changed_sensors import ChangedSensors
from vedette.state.sensors.host_names import join_names, short_names_of
from vedette.state.sensors.hosts.lookup import (
    GROUPS,
    Senders,
    decided_names,
    existing_group,
    is_kept,
    known_hosts,
    names_of,
    of_group,
    sensor_refs,
)
from vedette.state.sensors.silent_sensors import earlier_seen, midnight_us


@dataclass(slots=True)
class _Note:
    seen_us: int = 0
    earlier_us: int = 0
    """Latest contact on an earlier day; 0 for none."""
    os_type: str = ""
    interface_ip: str = ""
    host_type: str = ""
    computer_sid: str = ""
    adapters: str = ""


class Sensors:
    """Write-through cache of the sensors in the database. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._refs: dict[str, dict[Senders, SensorRef]] = {}
        self._notes: dict[int, _Note] = {}
        self._groups: dict[int, tuple[str, bool]] = {}
        """Maps group id to (name, whether it omits loads of known DLLs)."""
        self._changed = ChangedSensors()
        self._latest: set[int] = set()
        """Sensors that changed at the last refresh. They are reread once more, since another thread
        may have cached an older row meanwhile."""
        self._lock = Lock()
        self.names_version = 0
        """Increments when a name no longer belongs to the sensor that `resolve` returned for it, or
        when the sensor's group changes."""

    def resolve(
        self,
        hosts: Mapping[str, Sighting],
        group_id: int,
        now_us: int,
        *,
        any_group: bool = False,
        sensor_id: int = 0,
    ) -> dict[str, SensorRef]:
        """Maps every host (lower case, full name) to its sensor.

        Senders of a group get sensors of that group, or the sensors that an administrator assigned.
        With `any_group`, they get the sensor of the only group that has the name, or the assigned
        sensor; if several groups have the name, the sensor of `group_id`. With `sensor_id`, all
        names belong to that sensor.

        New hosts join `group_id` and are durable on return. The result omits names that no host can
        have (`is_hostname`), and new hosts above `SENSORS_MAX`; the caller rejects their records.
        Raises UnavailableError when the database does not answer.
        """
        senders = Senders(0 if sensor_id else group_id, any_group, sensor_id)
        found = {host: ref for host in hosts if (ref := self._cached(host, senders)) is not None}
        if len(found) < len(hosts):
            missing = {h: s for h, s in hosts.items() if h not in found and is_hostname(h)}
            found |= self._take_in(missing, senders, group_id, now_us)
        for host, sighting in hosts.items():
            ref = found.get(host)
            if ref is not None and sighting.os_type and ref.os_type != sighting.os_type:
                found[host] = replace(ref, os_type=sighting.os_type)
                with self._lock:
                    self._refs.setdefault(host, {})[senders] = found[host]
                self.note(ref.id, 0, os_type=sighting.os_type)
        return found

    def own(
        self, hostname: str, sighting: Sighting, group_id: int, now_us: int
    ) -> SensorRef | None:
        """Returns the group's own sensor for a host, for enrolment; ignores assignments to the
        group's senders. None in the cases that `resolve` omits."""
        if not is_hostname(hostname):
            return None
        with self._database.writing() as connection:
            known = known_hosts(connection, [hostname], Senders(group_id), assigned=False)
            if not known:
                group_id = existing_group(connection, group_id)
                left = join_names(connection, [hostname], group_id, now_us)
                _insert(connection, dict.fromkeys(left, sighting), group_id, now_us)
                known = known_hosts(connection, [hostname], Senders(group_id), assigned=False)
        return known.get(hostname)

    def evict(self, hostname: str) -> None:
        """Evicts the sensors of a host name from the cache after a change."""
        with self._lock:
            self._refs.pop(hostname, None)
            self.names_version += 1

    def _cached(self, host: str, senders: Senders) -> SensorRef | None:
        refs = self._refs.get(host)
        return None if refs is None else refs.get(senders)

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
        """Records a contact of a sensor for the next `flush`; "" leaves a value unchanged."""
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
        """Writes recorded contacts. Call every few seconds and at shutdown."""
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
        """Updates the cache with changes by other servers and commands since the last call. Call
        every few seconds."""
        with self._database.reading() as connection:
            latest = set(self._changed.look(connection, now_us))
            changed = self._read(connection, latest | self._latest)
            names = names_of(connection, changed)
            assigned = decided_names(connection, {name for some in names.values() for name in some})
            groups = {row[0]: (row[1], bool(row[2])) for row in connection.execute(GROUPS)}
        with self._lock:
            self._changed.taken()
            self._latest = latest
            if not changed and groups == self._groups:
                return
            self._groups = groups
            for host, refs in list(self._refs.items()):
                for senders, ref in list(refs.items()):
                    newest = changed.get(ref.id, ref)
                    if newest is not ref and not is_kept(host, senders, newest, names, assigned):
                        del refs[senders]  # alias removed, group changed, or name assigned
                        self.names_version += 1
                        continue
                    group = newest.group_name, newest.filtering_known_dlls
                    name, filtering = groups.get(newest.group_id, group)
                    if newest is not ref or (name, filtering) != group:
                        refs[senders] = new = replace(
                            newest,
                            group_name=name,
                            filtering_known_dlls=filtering,
                            os_type=newest.os_type or ref.os_type,
                        )
                        if of_group(new) != of_group(ref):
                            self.names_version += 1

    def _read(self, connection: Connection, sensor_ids: set[int]) -> dict[int, SensorRef]:
        """Reads the current rows of the changed sensors that are cached."""
        with self._lock:
            cached = {ref.id for refs in self._refs.values() for ref in refs.values()}
        wanted = sorted(cached & sensor_ids)
        found: dict[int, SensorRef] = {}
        for begin in range(0, len(wanted), HOSTS_PER_STATEMENT):
            some = SENSOR.c.id.in_(wanted[begin : begin + HOSTS_PER_STATEMENT])
            found |= {ref.id: ref for ref in sensor_refs(connection, some)}
        return found

    def _take_in(
        self, hosts: Mapping[str, Sighting], senders: Senders, group_id: int, now_us: int
    ) -> dict[str, SensorRef]:
        names = sorted(hosts)  # one order for all servers, to prevent deadlocks
        found: dict[str, SensorRef] = {}
        with self._database.reading() as connection:
            found |= known_hosts(connection, names, senders)
        new = [] if senders.sensor_id else [name for name in names if name not in found]
        if new:
            with self._database.writing() as connection:
                group_id = existing_group(connection, group_id)
                # Full names first, since short names of the same batch may join them.
                later = short_names_of(new)
                first = [name for name in new if name not in later]
                for some in (first, list(later)):
                    left = join_names(connection, some, group_id, now_us) if some else []
                    _insert(connection, {name: hosts[name] for name in left}, group_id, now_us)
                found |= known_hosts(connection, new, replace(senders, group_id=group_id))
        with self._lock:
            for name, ref in found.items():
                self._refs.setdefault(name, {})[senders] = ref
        return found


def is_hostname(name: str) -> bool:
    """Whether a host can have the name: printable, without whitespace, of bounded length."""
    return (
        0 < len(name) <= limits.HOSTNAME_CHARS_MAX
        and name.isprintable()
        and not any(character.isspace() for character in name)
    )


def computer_name(hostname: str, os_type: str) -> str:
    """Returns the short name of a host; in upper case for Windows, like NetBIOS names."""
    short = hostname.partition(".")[0]
    if short.isdecimal() or not short:  # an address, not a name
        short = hostname
    return short.upper() if os_type == "windows" else short


def all_sensors(database: Database) -> dict[int, SensorRef]:
    """Maps id to sensor for all sensors."""
    with database.reading() as connection:
        return {ref.id: ref for ref in sensor_refs(connection, true())}


def _insert(
    connection: Connection, hosts: Mapping[str, Sighting], group_id: int, now_us: int
) -> None:
    """Adds sensors for new hosts, up to the limits of the server and of the group."""
    group = select(GROUP.c.options).where(GROUP.c.id == group_id)
    options = connection.scalar(group) if hosts else None
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
    """Writes a SID from telemetry. An enrolled host keeps the SID that its own program reported."""
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
    """Writes adapters from telemetry, unless the host is enrolled: then its own program reports
    them."""
    addresses = "|".join(one.partition(",")[0] for one in adapters.split("|") if one)
    is_enrolled = SENSOR.c.key_sha256.is_not(None) | SENSOR.c.node_key_sha256.is_not(None)
    connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == sensor_id, SENSOR.c.network_adapters != adapters, ~is_enrolled)
        .values(network_adapters=adapters, addresses=addresses, changed_us=now_us)
    )
