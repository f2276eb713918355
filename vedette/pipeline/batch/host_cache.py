"""Cache of hosts by name: each with its sensor and its learned context.

The first record of an unknown host registers a sensor for it. A host that enters the cache gets a
context with its recent processes from the store. Names are resolved again at the beginning of each
time window, so that changed groups and aliases take effect. Not thread-safe: owned by the batch
processor.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import Record
from vedette.limits import HOST_CONTEXTS_CACHED_MAX, HOSTS_WHOLE_MAX
from vedette.model.address import address_text, is_ipv4, pack_address
from vedette.model.event import UNKNOWN_IP, Facts, Outcome
from vedette.model.host import UTC_CLOCK, HostProcess, SensorRef, Sighting
from vedette.model.ids import slot_of

_NO_KEYS: frozenset[int] = frozenset()


class SensorDirectory(Protocol):
    """Sensors by host name (`state/sensors/host_registry.py`)."""

    def resolve(
        self, hosts: Mapping[str, Sighting], group_id: int, now_us: int
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
        """The recent processes of these hosts."""


class Host:
    """A sensor with its learned context, and the record keys of the current commit."""

    __slots__ = ("comms_ip", "context", "keys", "prints", "sensor", "stored", "taken")

    def __init__(self, sensor: SensorRef, context: HostContext) -> None:
        self.sensor = sensor
        self.context = context
        self.comms_ip = UNKNOWN_IP
        """Network address that it sends from, packed."""
        self.keys: list[int] = []
        """Keys of the commit's records, in order of arrival."""
        self.stored: frozenset[int] = _NO_KEYS
        """Those that earlier commits stored."""
        self.taken: set[int] = set()
        """Those that the commit stores."""
        self.prints: set[int] = set()
        """Fingerprints of the records with a number that the commit stores."""

    def columns(self) -> dict[str, Any]:
        """The current `columns.HOST` values."""
        return {
            "hostname": self.sensor.hostname,
            "group": self.sensor.group_name,
            "os_type": self.sensor.os_type,
            "host_type": self.context.host_type or self.sensor.host_type,
            "comms_ip": self.comms_ip,
            "host_clock": UTC_CLOCK + self.sensor.utc_offset_min,
            "interface_ip": self._interface_ip(),
            "filtering_known_dlls": int(self.sensor.filtering_known_dlls),
        }

    def _interface_ip(self) -> bytes:
        """The first IPv4 address that the enrolled sensor or the shipper reported, else the lowest
        one of the host's connections; packed, UNKNOWN_IP without any."""
        reported = filter(is_ipv4, map(pack_address, self._addresses()))
        return next(reported, min(filter(is_ipv4, self.context.local), default=UNKNOWN_IP))

    def _addresses(self) -> list[str]:
        """As the enrolled sensor reported them, else as a shipper did."""
        if self.sensor.addresses or not self.context.adapters:
            return self.sensor.addresses.split("|")
        return [one.partition(",")[0] for one in self.context.adapters.split("|")]

    def note_peer(self, address: str) -> None:
        """A request with records of this host came from an address: the host's own, if it has it;
        else that of a relay."""
        if address in self._addresses():
            self.comms_ip = pack_address(address)

    def reset_facts(self, outcomes: list[Outcome]) -> None:
        """Marks process facts in these outcomes as unreported: the outcomes are dropped, so the
        next record of the process has to report them again."""
        for outcome in outcomes:
            if type(outcome) is Facts:
                known = self.context.named(outcome.process_id)
                if known is not None:
                    known.mark_unreported()
                    known.learn(cmdline=str(outcome.values.get("cmdline", "")))


class HostCache:
    """See the module."""

    def __init__(self, sensors: SensorDirectory, past: HostHistory, workers: int = 1) -> None:
        """`workers` is how many caches divide the memory for hosts."""
        self._sensors = sensors
        self._past = past
        self._named: dict[str, Host] = {}
        self._by_sensor: OrderedDict[int, Host] = OrderedDict()
        self._workers = workers
        self._divisor = 1

    def expire_names(self) -> None:
        """Names are resolved again at their next use."""
        self._named.clear()

    def reset_reported(self) -> None:
        """Marks all facts of all contexts as unreported: rows with them may not be stored."""
        for host in self._by_sensor.values():
            host.context.mark_unreported()

    def of(self, records: list[Record], group_id: int, now_us: int) -> list[Host | None]:
        """The host of each record; None where the name is not a valid host name. New hosts join
        `group_id`. Raises UnavailableError."""
        find = self._named.get
        found = [find(record.host) for record in records]
        if None not in found:
            return list(found)
        unknown = {
            record.host: Sighting(os_type_of(record))
            for record, host in zip(records, found, strict=True)
            if host is None
        }
        self._load(unknown, group_id, now_us)
        return [find(record.host) for record in records]

    def columns(self, sensor_ids: set[int], now_us: int) -> dict[int, dict[str, Any]]:
        """The `columns.HOST` values of the sensors of a commit. Notes that they were seen."""
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

    def _load(self, unknown: dict[str, Sighting], group_id: int, now_us: int) -> None:
        """Looks up, or registers, the sensors of hosts that are not in the cache."""
        new: dict[int, HostContext] = {}
        for name, sensor in self._sensors.resolve(unknown, group_id, now_us).items():
            host = self._by_sensor.get(sensor.id)
            if host is None:
                new[sensor.id] = HostContext(sensor.id)
                new[sensor.id].divide_capacity(self._divisor)
                host = self._by_sensor[sensor.id] = Host(sensor, new[sensor.id])
            host.sensor = sensor
            self._named[name] = host
        if new:
            self._divide_capacity()
            self._restore(new)

    def _restore(self, new: dict[int, HostContext]) -> None:
        rows: dict[int, list[HostProcess]] = {}
        for found in self._past.host_processes(sorted(new)):
            rows.setdefault(found.sensor_id, []).append(found)
        for sensor_id, known in rows.items():
            new[sensor_id].restore(known)

    def _divide_capacity(self) -> None:
        """Limits the context of each host: the more hosts there are, the less each may hold."""
        divisor = _capacity_divisor(len(self._by_sensor) * self._workers)
        if divisor != self._divisor:
            self._divisor = divisor
            for host in self._by_sensor.values():
                host.context.divide_capacity(divisor)

    def forget_slots(self, slots: frozenset[int]) -> None:
        """Drops the hosts whose sensors are in these slots."""
        self._named.clear()
        for sensor_id in [one for one in self._by_sensor if slot_of(one) in slots]:
            del self._by_sensor[sensor_id]

    def evict(self) -> None:
        """Evicts the oldest hosts beyond `HOST_CONTEXTS_CACHED_MAX`. Only between commits: a
        commit refers to its hosts."""
        while len(self._by_sensor) > HOST_CONTEXTS_CACHED_MAX // self._workers:
            self._by_sensor.popitem(last=False)
            self._named.clear()


def _capacity_divisor(hosts: int) -> int:
    if hosts <= HOSTS_WHOLE_MAX:
        return 1
    return 2 if hosts <= 4 * HOSTS_WHOLE_MAX else 4
