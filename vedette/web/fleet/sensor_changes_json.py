"""Parses the body of `PUT /api/v1/sensor/{id}` (docs/api-sensors.md#changing-a-sensor) and
determines the required roles.

Clients send a single member or the whole record. Seven members are updatable; read-only members are
ignored, since they may have changed since the client read them; unknown members are rejected.
`reason` is the reason of the changes for the audit log.

`event_log_flush_time` null changes nothing, because cbapi sends it with every update. A time in
1970 cancels a flush.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from vedette import limits
from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.rights.authorization import Deed, Managed, of_groups
from vedette.state.sensors.sensor_changes import SensorChanges
from vedette.state.sensors.sensor_row import SensorRow
from vedette.web.fleet.models import sensor_body
from vedette.web.json.body_members import flag_of, flag_value
from vedette.web.json.parameters import ID_MAX, bounded_number

ORDER_REASON_CHARS_MAX: Limit[int] = 1_000
"""Characters of the reason of an order to a host. The audit log stores it with the order."""


_IDENTITY = ("id", "computer_name", "computer_dns_name")
"""Members that identify a sensor; another value is an error."""

ISOLATION_MEMBERS = ("isolation_reason", "isolation_expires")
"""Details of an order to isolate, stored separately from the order."""

REASON_MEMBER = "reason"
"""Member with the reason of the changes, for the audit log."""

MANY_MEMBERS = (
    "network_isolation_enabled",
    "restart_queued",
    "uninstall",
    "group_id",
    "notes",
    "event_log_flush_time",
    *ISOLATION_MEMBERS,
)
"""Members that a bulk change accepts."""

_LAST_US = 253_402_300_799_000_000


def read_changes(body: dict[str, Any], row: SensorRow) -> SensorChanges:
    """Returns the changes in a body. Raises BadRequestError that names the member."""
    record = sensor_body(row, 0)
    wanted: dict[str, Any] = {}
    for name, value in body.items():
        if name in (*ISOLATION_MEMBERS, REASON_MEMBER):
            continue
        if name in _READERS:
            column, read = _READERS[name]
            wanted[column] = read(name, value)
        elif name not in record:
            raise BadRequestError(f"unknown field {name}")
        elif name in _IDENTITY and value != record[name]:
            raise BadRequestError(f"{name}: cannot be changed; this is sensor {row.id}")
    return SensorChanges(**wanted)


def isolation_words(body: dict[str, Any], row: SensorRow, now_us: int) -> tuple[str, int] | None:
    """Returns reason and end (epoch microseconds, 0 for never) of an isolation that the body orders
    or changes; None if nothing changes. Raises BadRequestError."""
    given = {name: body[name] for name in ISOLATION_MEMBERS if name in body}
    is_ordered = flag_of(body, "network_isolation_enabled")
    if not given or not (row.network_isolation_enabled if is_ordered is None else is_ordered):
        return None
    reason = _reason("isolation_reason", given.get("isolation_reason", row.isolation_reason))
    expires_us = row.isolation_expires_us
    if "isolation_expires" in given:
        expires_us = _flush("isolation_expires", given["isolation_expires"]) or 0
        # A record that is sent back unchanged.
        is_kept = abs(expires_us - row.isolation_expires_us) < 1_000_000
        if expires_us and expires_us <= now_us and not is_kept:
            raise BadRequestError("isolation_expires: must be in the future, or null for never")
    said = reason, expires_us
    return None if said == (row.isolation_reason, row.isolation_expires_us) else said


def order_reason(body: dict[str, Any]) -> str:
    """Returns the reason of the changes in a body, "" without one. Raises BadRequestError."""
    return _reason(REASON_MEMBER, body.get(REASON_MEMBER))


def _reason(name: str, value: Any) -> str:
    most = ORDER_REASON_CHARS_MAX
    if value is not None and (not isinstance(value, str) or len(value) > most):
        raise BadRequestError(f"{name}: must be a string of up to {most:,} characters")
    return value or ""


def needed_rights(changes: SensorChanges, row: SensorRow) -> Iterator[tuple[Deed, Managed]]:
    """Yields the deeds that a change requires, with the groups to check: always to order, and
    further deeds to uninstall a sensor or to move it to another group."""
    yield Deed.ORDER_SENSOR, of_groups(row.group_id)
    if changes.uninstall is not None and changes.uninstall != row.uninstall:
        yield Deed.UNINSTALL_SENSOR, of_groups(row.group_id)
    if changes.group_id is not None and changes.group_id != row.group_id:
        yield Deed.MOVE_SENSOR, of_groups(row.group_id, changes.group_id)


def _group(name: str, value: Any) -> int:
    if isinstance(value, bool):
        raise BadRequestError(f"{name}: must be the id of a sensor group")
    return bounded_number(name, value, least=1, most=ID_MAX)


def _notes(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > limits.SENSOR_NOTES_CHARS_MAX:
        raise BadRequestError(f"{name}: a text of up to {limits.SENSOR_NOTES_CHARS_MAX} characters")
    return value


def _flush(name: str, value: Any) -> int | None:
    """Parses RFC 1123 or ISO 8601 text to epoch microseconds, UTC without a time zone."""
    if value is None:
        return None
    moment = _moment(value) if isinstance(value, str) else None
    if moment is None:
        raise BadRequestError(f"{name}: a time like Sat, 20 Nov 2027 13:24:20 GMT, or null")
    time_us = round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 1_000_000
    return max(0, min(time_us, _LAST_US))


def _moment(text: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text.strip())
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None


_Read = Callable[[str, Any], Any]

_READERS: dict[str, tuple[str, _Read]] = {
    "network_isolation_enabled": ("network_isolation_enabled", flag_value),
    "restart_queued": ("restart_queued", flag_value),
    "uninstall": ("uninstall", flag_value),
    "liveresponse_init": ("liveresponse_init", flag_value),
    "group_id": ("group_id", _group),
    "notes": ("notes", _notes),
    "event_log_flush_time": ("flush_us", _flush),
}
"""Maps each updatable member to its column and parser."""
