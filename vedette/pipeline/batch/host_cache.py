"""Cache of hosts by name, each with its sensor and its learned context.

The first record of an unknown host registers a sensor for it. A host that enters the cache gets a
context with its recent processes from the store. Names are resolved again at the start of each time
window, so that changed groups and aliases take effect. Not thread-safe: owned by the batch
processor.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import Record
from vedette.limits import Limit
from vedette.model.address import address_text, is_ipv4, pack_address
from vedette.model.event import UNKNOWN_IP, Facts, Outcome
from vedette.model.host import UTC_CLOCK, HostProcess, SensorRef, Sighting
from vedette.model.ids import slot_of

HOSTS_WHOLE_MAX: Limit[int] = 128
"""Hosts up to which each context may use the full bounds above, about 4 MB; with more hosts each
gets half, with more than four times as many a quarter."""

HOST_CONTEXTS_CACHED_MAX: Limit[int] = 5_000
"""Hosts in the caches of all workers together, a quarter to one MB each; the context of an evicted
host is rebuilt from the store."""


_NO_KEYS: frozenset[int] = frozenset()


class SensorDirectory(Protocol):
    """Sensors by host name (`state/sensors/host_registry.py`)."""

    def resolve(
        self,
        hosts: Mapping[str, Sighting],
        group_id: int,
        now_us: int,
        *,
        any_group: bool = False,
        sensor_id: int = 0,
    ) -> dict[str, SensorRef]: ...

    def note(
        self,
        sensor_id: int,
        seen_us: int,
        *,
        interface_ip: str = "",
        host_type: str = "",
        computer_sid: str = "",
        adapters: str = "",
    ) -> None: ...


class HostHistory(Protocol):
    """Recent processes of hosts in the store."""

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]:
        """Returns the recent processes of these hosts."""


class Host:
    """A sensor with its learned context, and the record keys of the current commit."""

    __slots__ = ("comms_ip", "context", "keys", "prints", "sensor", "stored", "taken")

    def __init__(self, sensor: SensorRef, context: HostContext) -> None:
        self.sensor = sensor
        self.context = context
        self.comms_ip = UNKNOWN_IP
        """Network address that the host sends from, packed."""
        self.keys: list[int] = []
        """Keys of the commit's records, in order of arrival."""
        self.stored: frozenset[int] = _NO_KEYS
        """The keys that earlier commits stored."""
        self.taken: set[int] = set()
        """The keys that the commit stores."""
        self.prints: set[int] = set()
        """Fingerprints of the records with a number that the commit stores."""

    def columns(self) -> dict[str, Any]:
        """Returns the current `columns.HOST` values."""
        return {
            "hostname": self.sensor.hostname,
            "group": self.sensor.group_name,
            "os_type": self.sensor.os_type,
            "host_type": self.context.host_type or self.sensor.host_type,
            "comms_ip": self.comms_ip,
            "host_clock": self._clock(),
            "interface_ip": self._interface_ip(),
            "filtering_known_dlls": int(self.sensor.filtering_known_dlls),
        }

    def _clock(self) -> int:
        """Returns the clock offset reported by the enrolled sensor, else by a shipper; 0 if neither
        reported it. A sensor in UTC and a sensor without a report look the same, and both are
        treated as UTC."""
        if self.sensor.utc_offset_min or not self.context.host_clock:
            offset_min = self.sensor.utc_offset_min
            return UTC_CLOCK + offset_min if offset_min or self.sensor.takes_filters else 0
        return self.context.host_clock

    def _interface_ip(self) -> bytes:
        """Returns the first IPv4 address that the enrolled sensor or the shipper reported, else the
        lowest IPv4 address of the host's connections; packed, UNKNOWN_IP if there is none."""
        reported = filter(is_ipv4, map(pack_address, self._addresses()))
        return next(reported, min(filter(is_ipv4, self.context.local), default=UNKNOWN_IP))

    def _addresses(self) -> list[str]:
        """Returns the addresses that the enrolled sensor reported, else those that a shipper
        reported."""
        if self.sensor.addresses or not self.context.adapters:
            return self.sensor.addresses.split("|")
        return [one.partition(",")[0] for one in self.context.adapters.split("|")]

    def note_peer(self, address: str) -> None:
        """Notes the peer address of a request with records of this host. Stores it as the host's
        address if the host has it; otherwise the peer is a relay."""
        if address in self._addresses():
            self.comms_ip = pack_address(address)

    def reset_facts(self, outcomes: list[Outcome]) -> None:
        """Marks the process facts in these outcomes as unreported. The outcomes are dropped, so the
        next record of the process must report the facts again."""
        for outcome in outcomes:
            if type(outcome) is Facts:
                known = self.context.named(outcome.process_id)
                if known is not None:
                    known.mark_unreported()
                    known.learn(cmdline=str(outcome.values.get("cmdline", "")))


class HostCache:
    """Cache of hosts (see the module docstring)."""

    def __init__(self, sensors: SensorDirectory, past: HostHistory, workers: int = 1) -> None:
        """`workers` is the number of caches that share the memory for hosts."""
        self._sensors = sensors
        self._past = past
        self._named: dict[int, dict[str, Host]] = {}
        """Maps credential group id (0: any group) to the hosts that its senders reach, by name."""
        self._owned: dict[int, Host] = {}
        """Maps the sensor that owns a credential to its host."""
        self._by_sensor: OrderedDict[int, Host] = OrderedDict()
        self._workers = workers
        self._divisor = 1

    def expire_names(self) -> None:
        """Expires host names, so that each is resolved again at its next use."""
        self._named.clear()
        self._owned.clear()

    def reset_reported(self) -> None:
        """Marks all facts of all contexts as unreported, because their rows may not be stored."""
        for host in self._by_sensor.values():
            host.context.mark_unreported()

    def of(
        self,
        records: list[Record],
        group_id: int,
        now_us: int,
        *,
        any_group: bool = False,
        sensor_id: int = 0,
    ) -> list[Host | None]:
        """Returns the host of each record, resolved by the rights of the credential
        (`host_registry.py`); None for an invalid host name. New hosts join `group_id`. Raises
        UnavailableError."""
        if sensor_id:
            return self._of_sensor(records, group_id, sensor_id, now_us)
        named = self._named.setdefault(0 if any_group else group_id, {})
        find = named.get
        found = [find(record.host) for record in records]
        if None not in found:
            return list(found)
        unknown = {
            record.host: Sighting(os_type_of(record))
            for record, host in zip(records, found, strict=True)
            if host is None
        }
        named |= self._load(self._sensors.resolve(unknown, group_id, now_us, any_group=any_group))
        return [find(record.host) for record in records]

    def _of_sensor(
        self, records: list[Record], group_id: int, sensor_id: int, now_us: int
    ) -> list[Host | None]:
        if records and sensor_id not in self._owned:
            sighting = {records[0].host: Sighting(os_type_of(records[0]))}
            found = self._sensors.resolve(sighting, group_id, now_us, sensor_id=sensor_id)
            for host in self._load(found).values():
                self._owned[sensor_id] = host
        return [self._owned.get(sensor_id)] * len(records)

    def columns(self, sensor_ids: set[int], now_us: int) -> dict[int, dict[str, Any]]:
        """Maps each sensor of a commit to its `columns.HOST` values, and notes that it was seen."""
        columns = {sensor_id: self._by_sensor[sensor_id].columns() for sensor_id in sensor_ids}
        for sensor_id, values in columns.items():
            host = self._by_sensor[sensor_id]
            host_type, sid = values["host_type"], host.context.computer_sid
            adapters = host.context.adapters
            self._sensors.note(
                sensor_id,
                now_us,
                interface_ip=address_text(values["interface_ip"]),
                host_type=host_type if host_type != host.sensor.host_type else "",
                computer_sid=sid if sid != host.sensor.computer_sid else "",
                adapters=adapters if adapters != host.sensor.network_adapters else "",
            )
        return columns

    def _load(self, sensors: Mapping[str, SensorRef]) -> dict[str, Host]:
        """Caches the hosts of sensors that were looked up or registered. Returns the hosts by
        name."""
        new: dict[int, HostContext] = {}
        loaded: dict[str, Host] = {}
        for name, sensor in sensors.items():
            host = self._by_sensor.get(sensor.id)
            if host is None:
                new[sensor.id] = HostContext(sensor.id)
                new[sensor.id].divide_capacity(self._divisor)
                host = self._by_sensor[sensor.id] = Host(sensor, new[sensor.id])
            host.sensor = sensor
            loaded[name] = host
        if new:
            self._divide_capacity()
            self._restore(new)
        return loaded

    def _restore(self, new: dict[int, HostContext]) -> None:
        rows: dict[int, list[HostProcess]] = {}
        for found in self._past.host_processes(sorted(new)):
            rows.setdefault(found.sensor_id, []).append(found)
        for sensor_id, known in rows.items():
            new[sensor_id].restore(known)

    def _divide_capacity(self) -> None:
        """Limits the context of each host: the more hosts, the smaller each context."""
        divisor = _capacity_divisor(len(self._by_sensor) * self._workers)
        if divisor != self._divisor:
            self._divisor = divisor
            for host in self._by_sensor.values():
                host.context.divide_capacity(divisor)

    def forget_slots(self, slots: frozenset[int]) -> None:
        """Drops the hosts whose sensors are in these slots."""
        self.expire_names()
        for sensor_id in [one for one in self._by_sensor if slot_of(one) in slots]:
            del self._by_sensor[sensor_id]

    def evict(self) -> None:
        """Evicts the oldest hosts beyond `HOST_CONTEXTS_CACHED_MAX`. Call it only between commits,
        because a commit refers to its hosts."""
        while len(self._by_sensor) > HOST_CONTEXTS_CACHED_MAX // self._workers:
            self._by_sensor.popitem(last=False)
            self.expire_names()


def _capacity_divisor(hosts: int) -> int:
    if hosts <= HOSTS_WHOLE_MAX:
        return 1
    return 2 if hosts <= 4 * HOSTS_WHOLE_MAX else 4
