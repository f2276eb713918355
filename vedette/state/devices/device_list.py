"""Devices: sensors with the fields and states of the cloud API (docs/cloud-devices.md#devices).

Filters run in memory over the sensors of the caller's scope: a device's states depend on the time
and on the registered packages, for which no column exists.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors import sensor_list
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.state.sensors.sensor_packages import OS_TYPES, package_of
from vedette.state.sensors.sensor_row import SensorRow, is_online

DEVICE_INACTIVE_US: Limit[int] = 30 * 24 * 3600 * 1_000_000
"""Time (us) without contact after which a device is INACTIVE."""


STATUSES: Final = frozenset(
    {
        "PENDING",
        "REGISTERED",
        "UNINSTALLED",
        "DEREGISTERED",
        "ACTIVE",
        "INACTIVE",
        "ERROR",
        "ALL",
        "BYPASS_ON",
        "BYPASS",
        "QUARANTINE",
        "SENSOR_OUTOFDATE",
        "DELETED",
        "LIVE",
    }
)
PRIORITIES: Final = ("LOW", "MEDIUM", "HIGH", "MISSION_CRITICAL")

_EVERY_DEVICE: Final = {"status": "ALL", "deployment_type": "ENDPOINT", "ad_group_id": "0"}
"""Values that all devices share, by field."""

_PRIORITY_OF: Final = ("LOW", "LOW", "LOW", "MEDIUM", "HIGH", "MISSION_CRITICAL")
"""Indexed by the alert criticality of the sensor group, 1 to 5."""

_OS: Final = {"windows": "WINDOWS", "linux": "LINUX", "osx": "MAC"}

_DISTRIBUTIONS: Final = (
    ("ubuntu", "UBUNTU"),
    ("debian", "UBUNTU"),
    ("suse", "SUSE"),
    ("amazon", "AMAZON_LINUX"),
    *(
        (name, "RHEL")
        for name in ("red hat", "rhel", "centos", "rocky", "alma", "oracle", "fedora")
    ),
)


@dataclass(frozen=True, slots=True)
class Device:
    """A sensor with the states that follow from the time and the fleet's settings."""

    sensor: SensorRow
    statuses: frozenset[str]
    """All statuses that filters match, without ALL."""
    status: str
    """The displayed status."""
    priority: str
    kit_type: str
    is_out_of_date: bool

    @property
    def os(self) -> str:
        return _OS.get(self.sensor.os_type, "OTHER")

    @property
    def contact_us(self) -> int:
        return max(self.sensor.checkin_us, self.sensor.last_seen_us)


@dataclass(frozen=True, slots=True)
class DeviceFilter:
    """Selects devices that match a value of every criterion and no value of an exclusion."""

    criteria: Mapping[str, frozenset[str]]
    exclusions: Mapping[str, frozenset[str]]
    query: str = ""
    """Part of a name, an address, a version or an operating system; case-insensitive."""
    from_us: int | None = None
    """Bounds of the last contact."""
    to_us: int | None = None

    @property
    def selects_all(self) -> bool:
        """Whether the filter matches every device."""
        is_bounded = self.from_us is not None or self.to_us is not None
        is_narrowed = any(
            _EVERY_DEVICE.get(name) not in values for name, values in self.criteria.items()
        )
        return not (self.query or self.exclusions or is_bounded or is_narrowed)


_Values = Callable[[Device], Sequence[str]]

FIELDS: Final[Mapping[str, _Values]] = MappingProxyType(
    {
        "id": lambda one: (str(one.sensor.id),),
        "policy_id": lambda one: (str(one.sensor.group_id),),
        "policy_name": lambda one: (one.sensor.group_name,),
        "ad_group_id": lambda _: ("0",),
        "status": lambda one: (*one.statuses, "ALL"),
        "target_priority": lambda one: (one.priority,),
        "target_priority_type": lambda one: (one.priority,),
        "os": lambda one: (one.os,),
        "os_version": lambda one: (one.sensor.os_version,),
        "name": lambda one: (one.sensor.hostname,),
        "sensor_version": lambda one: (one.sensor.sensor_version,),
        "deployment_type": lambda _: ("ENDPOINT",),
        "cloud_provider_account_id": lambda _: (),
        "auto_scaling_group_name": lambda _: (),
        "virtual_private_cloud_id": lambda _: (),
        "sensor_kit_type": lambda one: (one.kit_type,),
    }
)
"""Fields for filters and facets, with their values of a device."""

_SORTS: Final[Mapping[str, Callable[[Device], str | int]]] = MappingProxyType(
    {
        "id": lambda one: one.sensor.id,
        "name": lambda one: one.sensor.hostname,
        "last_contact_time": lambda one: one.contact_us,
        "registered_time": lambda one: one.sensor.enrolled_us or one.sensor.first_seen_us,
        "policy_id": lambda one: one.sensor.group_id,
        "policy_name": lambda one: one.sensor.group_name,
        "os": lambda one: one.os,
        "os_version": lambda one: one.sensor.os_version,
        "sensor_version": lambda one: one.sensor.sensor_version,
        "status": lambda one: one.status,
        "target_priority": lambda one: PRIORITIES.index(one.priority),
    }
)

DeviceSort = tuple[str, bool]
"""(field, is descending)."""


def kit_type_of(sensor: SensorRow) -> str:
    """Returns the kit type that updates a sensor."""
    version = sensor.os_version.lower()
    match sensor.os_type:
        case "windows":
            return "XP" if "windows xp" in version else "WINDOWS"
        case "osx":
            return "MAC"
        case "linux":
            found = (kit for name, kit in _DISTRIBUTIONS if name in version)
            return next(found, "OTHER")
        case _:
            return "OTHER"


def search(
    database: Database,
    scope: Scope,
    wanted: DeviceFilter,
    sorts: Sequence[DeviceSort],
    now_us: int,
) -> list[Device]:
    """Returns all devices of the scope that match the filter, sorted by `sorts`, then by id. Raises
    BadRequestError."""
    _check(wanted, sorts)
    found = [one for one in _all(database, scope, now_us) if _matches(one, wanted)]
    found.sort(key=lambda one: one.sensor.id)
    for name, descends in reversed(sorts):
        found.sort(key=_SORTS[name], reverse=descends)
    return found


def get(database: Database, scope: Scope, device_id: int, now_us: int) -> Device:
    """Raises NotFoundError, also outside of the scope."""
    sensor = sensor_list.get(database, scope, device_id)
    return _Maker(database, now_us).device(sensor)


def facets(found: Sequence[Device], names: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
    """Returns counts of field values, most frequent first. Raises BadRequestError for an unknown
    field."""
    counted = {}
    for name in names:
        values = FIELDS.get(name)
        if values is None:
            raise BadRequestError(f"terms.fields: unknown field {name[:60]!r}")
        counter = Counter(
            value for one in found for value in values(one) if value and value != "ALL"
        )
        counted[name] = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    return counted


def policy_names(found: Sequence[Device]) -> dict[str, str]:
    """Maps policy id (sensor group id) to its name."""
    return {str(one.sensor.group_id): one.sensor.group_name for one in found}


def _check(wanted: DeviceFilter, sorts: Sequence[DeviceSort]) -> None:
    for place, tests in (("criteria", wanted.criteria), ("exclusions", wanted.exclusions)):
        for name, values in tests.items():
            if name not in FIELDS:
                raise BadRequestError(f"{place}: unknown field {name[:60]!r}")
            if name == "status" and (unknown := values - STATUSES):
                raise BadRequestError(f"{place}.status: unknown status {min(unknown)[:40]!r}")
            if name.startswith("target_priority") and (unknown := values - set(PRIORITIES)):
                raise BadRequestError(f"{place}.{name}: unknown priority {min(unknown)[:40]!r}")
    for name, _ in sorts:
        if name not in _SORTS:
            raise BadRequestError(f"sort: cannot sort devices by {name[:60]!r}")


def _matches(device: Device, wanted: DeviceFilter) -> bool:
    if wanted.from_us is not None and device.contact_us < wanted.from_us:
        return False
    if wanted.to_us is not None and device.contact_us >= wanted.to_us:
        return False
    if wanted.query and wanted.query.lower() not in _text(device):
        return False
    has_all = all(_has(device, name, values) for name, values in wanted.criteria.items())
    return has_all and not any(
        _has(device, name, values) for name, values in wanted.exclusions.items()
    )


def _has(device: Device, name: str, values: frozenset[str]) -> bool:
    return not values.isdisjoint(FIELDS[name](device))


def _text(device: Device) -> str:
    sensor = device.sensor
    parts = (sensor.hostname, sensor.interface_ip, sensor.network_adapters, sensor.sensor_version)
    return "\n".join((*parts, sensor.os_version, device.os, sensor.group_name)).lower()


def _all(database: Database, scope: Scope, now_us: int) -> list[Device]:
    maker = _Maker(database, now_us)
    query = SensorQuery(sort="id", is_descending=False)
    return [maker.device(one) for one in sensor_list.page(database, scope, query, now_us).sensors]


class _Maker:
    """Converts sensors to devices, with groups and packages read once."""

    def __init__(self, database: Database, now_us: int) -> None:
        self._now_us = now_us
        self._priorities = {
            group.id: _PRIORITY_OF[min(5, max(0, group.options.alert_criticality))]
            for group in groups.all_groups(database)
        }
        packages = {one: package_of(database, one) for one in OS_TYPES}
        self._versions = {one: kit.version for one, kit in packages.items() if kit is not None}

    def device(self, sensor: SensorRow) -> Device:
        wanted = self._versions.get(sensor.os_type)
        is_old = bool(wanted and sensor.has_sensor and sensor.sensor_version != wanted)
        statuses = _statuses(sensor, self._now_us, is_old=is_old)
        return Device(
            sensor,
            statuses,
            _shown(statuses),
            self._priorities.get(sensor.group_id, PRIORITIES[1]),
            kit_type_of(sensor),
            is_old,
        )


def _statuses(sensor: SensorRow, now_us: int, *, is_old: bool) -> frozenset[str]:
    found = set()
    if sensor.uninstalled_us:
        found |= {"DEREGISTERED", "UNINSTALLED", "DELETED"}
    else:
        found.add("REGISTERED" if sensor.has_sensor else "PENDING")
        seen_us = max(sensor.checkin_us, sensor.last_seen_us)
        found.add("ACTIVE" if now_us - seen_us < DEVICE_INACTIVE_US else "INACTIVE")
        if is_online(sensor, now_us):
            found.add("LIVE")
        if sensor.is_isolating or sensor.network_isolation_enabled:
            found.add("QUARANTINE")
        if is_old:
            found.add("SENSOR_OUTOFDATE")
        if sensor.has_health and sensor.health_status < 100 and sensor.health_message:
            found.add("ERROR")
    return frozenset(found)


def _shown(statuses: frozenset[str]) -> str:
    order = ("DEREGISTERED", "QUARANTINE", "REGISTERED", "PENDING")
    return next(one for one in order if one in statuses)


def known(database: Database, scope: Scope, ids: Sequence[int], now_us: int) -> dict[int, Device]:
    """Maps id to device for those `ids` that are in the scope."""
    wanted = set(ids)
    return {one.sensor.id: one for one in _all(database, scope, now_us) if one.sensor.id in wanted}


def number_of(text: str) -> int:
    """Parses a device id from a path. Raises NotFoundError for text that cannot be an id."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise NotFoundError(f"device {text[:40]!r} not found")
    return int(text)
