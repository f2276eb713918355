"""Formats devices as JSON and CSV, and parses device searches (docs/cloud-devices.md#devices)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.limits import ALERT_V7_SORTS_MAX, ALERT_V7_VALUES_MAX, DEVICE_ROWS_MAX, Limit
from vedette.state.devices.device_list import Device, DeviceFilter, DeviceSort
from vedette.web.fleet.csv_text import csv_text
from vedette.web.json.cloud_request import span_of
from vedette.web.json.parameters import bounded_number
from vedette.web.json.wire_values import milli_instant

DEVICE_ROWS_DEFAULT: Limit[int] = 100
"""Default number of devices in a response."""

DEVICE_QUERY_CHARS_MAX: Limit[int] = 1_000
"""Characters of a text query over devices."""


Body = dict[str, Any]

_UNKNOWN: Final = (
    "activation_code",
    "activation_code_expiry_time",
    "av_status",
    "email",
    "first_name",
    "last_name",
    "middle_name",
    "login_user_name",
    "last_location",
    "last_reset_time",
    "last_shutdown_time",
    "scan_status",
    "uninstall_code",
    "vdi_base_device",
    "virtual_machine",
    "virtualization_provider",
    "windows_platform",
    "device_owner_id",
    "last_policy_updated_time",
    "last_external_ip_address",
)
"""Members of the API's record that no sensor reports; they are null."""


def device_body(device: Device, org_key: str) -> Body:
    """Returns a device record; every member is always present."""
    sensor = device.sensor
    first_ip, first_mac = _first_adapter(sensor.network_adapters)
    return {
        "id": sensor.id,
        "device_id": sensor.id,
        "name": sensor.hostname,
        "organization_id": 0,
        "organization_name": org_key,
        "os": device.os,
        "os_version": sensor.os_version,
        "status": device.status,
        "sensor_states": sorted(device.statuses),
        "sensor_version": sensor.sensor_version,
        "sensor_kit_type": device.kit_type,
        "sensor_out_of_date": device.is_out_of_date,
        "deployment_type": "ENDPOINT",
        "policy_id": sensor.group_id,
        "policy_name": sensor.group_name,
        "policy_override": False,
        "current_sensor_policy_name": sensor.group_name,
        "ad_group_id": 0,
        "asset_group": [],
        "target_priority": device.priority,
        "target_priority_type": device.priority,
        "quarantined": sensor.is_isolating or sensor.network_isolation_enabled,
        "passive_mode": False,
        "registered_time": _moment(sensor.enrolled_us or sensor.first_seen_us),
        "deregistered_time": _moment(sensor.uninstalled_us),
        "last_contact_time": _moment(device.contact_us),
        "last_reported_time": _moment(sensor.last_seen_us),
        "last_internal_ip_address": sensor.interface_ip or first_ip,
        "mac_address": first_mac,
        "linux_kernel_version": sensor.kernel if device.os == "LINUX" and sensor.kernel else None,
        **dict.fromkeys(_UNKNOWN),
    }


def _first_adapter(text: str) -> tuple[str, str]:
    address, _, mac = text.partition("|")[0].partition(",")
    return address, mac


def _moment(time_us: int) -> str | None:
    return milli_instant(time_us) if time_us else None


_EVERYTHING: Final = ("*", "*:*")
"""Queries that match every device."""

_COLUMNS: Final = (
    "id",
    "name",
    "os",
    "os_version",
    "status",
    "sensor_version",
    "sensor_out_of_date",
    "policy_id",
    "policy_name",
    "target_priority",
    "quarantined",
    "registered_time",
    "last_contact_time",
    "last_internal_ip_address",
    "mac_address",
)


def devices_csv(devices: Sequence[Device], org_key: str) -> str:
    bodies = (device_body(one, org_key) for one in devices)
    return csv_text(_COLUMNS, ([body[name] for name in _COLUMNS] for body in bodies))


@dataclass(frozen=True, slots=True)
class DevicePage:
    """Requested rows and their order. `start` counts from 0."""

    start: int
    rows: int
    sorts: tuple[DeviceSort, ...]


def device_filter(body: Mapping[str, Any], now_us: int) -> DeviceFilter:
    """Parses the filter of a body. Raises BadRequestError with the location of the error."""
    query = body.get("query") or ""
    if not isinstance(query, str) or len(query) > DEVICE_QUERY_CHARS_MAX:
        raise BadRequestError(f"query: must be a string of at most {DEVICE_QUERY_CHARS_MAX}")
    criteria, exclusions = _object(body, "criteria"), _object(body, "exclusions")
    contact = criteria.pop("last_contact_time", None)
    span = None
    if contact is not None:
        span = span_of(_signed_range(contact), "criteria.last_contact_time", now_us)
    return DeviceFilter(
        {name: _values(f"criteria.{name}", value) for name, value in criteria.items()},
        {name: _values(f"exclusions.{name}", value) for name, value in exclusions.items()},
        "" if query.strip() in _EVERYTHING else query.strip(),
        span.from_us if span else None,
        span.to_us if span else None,
    )


def _signed_range(contact: object) -> object:
    """Converts the unit `m` to months, its meaning in the ranges `3h, 1d, 1w, 2w or 1m`."""
    if isinstance(contact, dict) and isinstance(contact.get("range"), str):
        return contact | {"range": contact["range"].replace("m", "M")}
    return contact


def device_page(body: Mapping[str, Any], rows_default: int = DEVICE_ROWS_DEFAULT) -> DevicePage:
    """Parses page and order. Raises BadRequestError. `start` 0 and 1 both mean the first row."""
    start = body.get("start")
    rows = body.get("rows")
    return DevicePage(
        max(bounded_number("start", 0 if start is None else start), 1) - 1,
        bounded_number("rows", rows_default if rows is None else rows, most=DEVICE_ROWS_MAX),
        _sorts(body.get("sort")),
    )


def _object(body: Mapping[str, Any], name: str) -> Body:
    given = body.get(name)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise BadRequestError(f"{name}: must be an object")
    return dict(given)


def _values(place: str, value: object) -> frozenset[str]:
    values = value if isinstance(value, list) else [value]
    is_good = all(isinstance(one, str | int) and not isinstance(one, bool) for one in values)
    if not values or not is_good or len(values) > ALERT_V7_VALUES_MAX:
        raise BadRequestError(f"{place}: must be a list of strings or numbers")
    return frozenset(str(one) for one in values)


def _sorts(given: object) -> tuple[DeviceSort, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > ALERT_V7_SORTS_MAX:
        raise BadRequestError("sort: must be a list of objects with field and order")
    sorts = []
    for one in given:
        name = one.get("field") if isinstance(one, dict) else None
        order = str(one.get("order", "ASC")).upper() if isinstance(one, dict) else ""
        if not isinstance(name, str) or order not in ("ASC", "DESC"):
            raise BadRequestError(
                "sort: entries must be objects with field and order (asc or desc)"
            )
        sorts.append((name, order == "DESC"))
    return tuple(sorts)
