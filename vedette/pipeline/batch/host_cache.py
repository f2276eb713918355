"""The hosts of late: sensor and learned context by host name.

A host's first record makes its sensor; a sensor that is new to this process gets a context
filled with what the store knows of its processes. Names are looked up again whenever a window
begins, so that changed groups and aliases come into force. Whoever prepares owns it.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import Record
from vedette.limits import HOSTS_WHOLE_MAX
from vedette.model.address import address_text, is_ipv4, pack_address
from vedette.model.event import UNKNOWN_IP, Facts, Outcome
from vedette.model.host import UTC_CLOCK, HostProcess, SensorRef, Sighting

HOSTS_MAX = 5_000
"""Hosts whose learned context is kept in memory, a quarter to one MB each; the rest begins anew
from the store."""

_NO_KEYS: frozenset[int] = frozenset()


class SensorBook(Protocol):
    """Which sensor stands for which host (`state/sensors/host_registry.py`)."""

    def resolve(
        self, hosts: Mapping[str, Sighting], group_id: int, now_us: int
    ) -> dict[str, SensorRef]: ...

    def note(
        self, sensor_id: int, seen_us: int, *, interface_ip: str = "", host_type: str = ""
    ) -> None: ...


class Past(Protocol):
    """What the store knows of hosts."""

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]:
        """The processes that these hosts had of late."""


class Host:
    """A sensor with its learned context, and the record keys of the commit under way."""

    __slots__ = ("comms_ip", "context", "keys", "sensor", "stored", "taken")

    def __init__(self, sensor: SensorRef, context: HostContext) -> None:
        self.sensor = sensor
        self.context = context
        self.comms_ip = UNKNOWN_IP
        """Where it sends from, packed."""
        self.keys: list[int] = []
        """Keys of this commit's records, as they came."""
        self.stored: frozenset[int] = _NO_KEYS
        """Those that were stored before."""
        self.taken: set[int] = set()
        """Those that this commit stores."""

    def columns(self) -> dict[str, Any]:
        """The `columns.HOST` values as they are known now."""
        return {
            "hostname": self.sensor.hostname,
            "group": self.sensor.group_name,
            "os_type": self.sensor.os_type,
            "host_type": self.context.host_type or self.sensor.host_type,
            "comms_ip": self.comms_ip,
            "host_clock": UTC_CLOCK + self.sensor.utc_offset_min,
            "interface_ip": self._interface_ip(),
        }

    def _interface_ip(self) -> bytes:
        """The first IPv4 address that the enrolled sensor reported, else the lowest one of the
        host's connections; packed, UNKNOWN_IP without any."""
        reported = filter(is_ipv4, map(pack_address, self.sensor.addresses.split("|")))
        return next(reported, min(filter(is_ipv4, self.context.local), default=UNKNOWN_IP))

    def untell(self, outcomes: list[Outcome]) -> None:
        """These are dropped: what they told of processes, another record has to tell."""
        for outcome in outcomes:
            if type(outcome) is Facts:
                known = self.context.named(outcome.process_id)
                if known is not None:
                    known.retell()
                    known.learn(cmdline=str(outcome.values.get("cmdline", "")))


class Hosts:
    """See the module."""

    def __init__(self, sensors: SensorBook, past: Past, processes: int = 1) -> None:
        """`processes` share the memory that hosts may use."""
        self._sensors = sensors
        self._past = past
        self._named: dict[str, Host] = {}
        self._by_sensor: OrderedDict[int, Host] = OrderedDict()
        self._processes = processes
        self._shares = 1

    def look_again(self) -> None:
        """Names are resolved anew from now on."""
        self._named.clear()

    def retell(self) -> None:
        """Contexts hold nothing as told: rows that said it may never have been stored."""
        for host in self._by_sensor.values():
            host.context.retell()

    def of(self, records: list[Record], group_id: int, now_us: int) -> list[Host | None]:
        """The host of every record; None where the name cannot be a host's."""
        find = self._named.get
        found = [find(record.host) for record in records]
        if None not in found:
            return list(found)
        unknown = {
            record.host: Sighting(os_type_of(record))
            for record, host in zip(records, found, strict=True)
            if host is None
        }
        self._meet(unknown, group_id, now_us)
        return [find(record.host) for record in records]

    def columns(self, sensor_ids: set[int], now_us: int) -> dict[int, dict[str, Any]]:
        """The `columns.HOST` values of the sensors of a commit, which are noted as seen."""
        columns = {sensor_id: self._by_sensor[sensor_id].columns() for sensor_id in sensor_ids}
        for sensor_id, values in columns.items():
            known = self._by_sensor[sensor_id].sensor
            address, host_type = address_text(values["interface_ip"]), values["host_type"]
            news = host_type if host_type != known.host_type else ""
            self._sensors.note(sensor_id, now_us, interface_ip=address, host_type=news)
        return columns

    def _meet(self, unknown: dict[str, Sighting], group_id: int, now_us: int) -> None:
        """Finds or makes the sensors of hosts that are not in memory."""
        new: dict[int, HostContext] = {}
        for name, sensor in self._sensors.resolve(unknown, group_id, now_us).items():
            host = self._by_sensor.get(sensor.id)
            if host is None:
                new[sensor.id] = HostContext(sensor.id)
                new[sensor.id].share_memory(self._shares)
                host = self._by_sensor[sensor.id] = Host(sensor, new[sensor.id])
            host.sensor = sensor
            self._named[name] = host
        if new:
            self._share_memory()
            self._restore(new)

    def _restore(self, new: dict[int, HostContext]) -> None:
        rows: dict[int, list[HostProcess]] = {}
        for found in self._past.host_processes(sorted(new)):
            rows.setdefault(found.sensor_id, []).append(found)
        for sensor_id, known in rows.items():
            new[sensor_id].restore(known)

    def _share_memory(self) -> None:
        """The more hosts there are, the less each may hold."""
        shares = _shares(len(self._by_sensor) * self._processes)
        if shares != self._shares:
            self._shares = shares
            for host in self._by_sensor.values():
                host.context.share_memory(shares)

    def forget_oldest(self) -> None:
        """Keeps `HOSTS_MAX`; between two commits, because a commit names its hosts."""
        while len(self._by_sensor) > HOSTS_MAX // self._processes:
            self._by_sensor.popitem(last=False)
            self._named.clear()


def _shares(hosts: int) -> int:
    if hosts <= HOSTS_WHOLE_MAX:
        return 1
    return 2 if hosts <= 4 * HOSTS_WHOLE_MAX else 4
