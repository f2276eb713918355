"""The body of `PUT /api/v1/sensor/{id}` (docs/http-api.md#changing-a-sensor): updatable members,
and the roles they need.

Clients send a single member or the whole record. Seven members are updatable; read-only members are
ignored, since they may have changed since the client read them; unknown members are refused.
`event_log_flush_time` null changes nothing: cbapi sends it with every update. A time in 1970
cancels a flush.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from vedette import limits
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.schemas.sensor import sensor_body
from vedette.errors import BadRequestError
from vedette.model.principal import Role
from vedette.state.sensors.sensor_changes import SensorChanges
from vedette.state.sensors.sensor_row import SensorRow

_IDENTITY = ("id", "computer_name", "computer_dns_name")
"""Members that identify a sensor: another value is an error."""

ISOLATION_MEMBERS = ("isolation_reason", "isolation_expires")
"""What is said with an order to isolate; kept apart from the order."""

MANY_MEMBERS = (
    *("network_isolation_enabled", "restart_queued", "uninstall", "group_id", "notes"),
    *("event_log_flush_time", *ISOLATION_MEMBERS),
)
"""What may be ordered of many sensors at once."""

_LAST_US = 253_402_300_799_000_000


def read_changes(body: dict[str, Any], row: SensorRow) -> SensorChanges:
    """The changes in a body. Raises BadRequestError that names the member."""
    record = sensor_body(row, 0)
    wanted: dict[str, Any] = {}
    for name, value in body.items():
        if name in ISOLATION_MEMBERS:
            continue
        if name in _READERS:
            column, read = _READERS[name]
            wanted[column] = read(name, value)
        elif name not in record:
            raise BadRequestError(f"{name}: a sensor has no such member")
        elif name in _IDENTITY and value != record[name]:
            raise BadRequestError(f"{name}: cannot be changed; this is sensor {row.id}")
    return SensorChanges(**wanted)


def isolation_words(body: dict[str, Any], row: SensorRow, now_us: int) -> tuple[str, int] | None:
    """Reason and end (epoch microseconds, 0 for never) of an isolation that the body orders or
    changes; None where it says nothing new. Raises BadRequestError."""
    given = {name: body[name] for name in ISOLATION_MEMBERS if name in body}
    if not given or not body.get("network_isolation_enabled", row.network_isolation_enabled):
        return None
    reason = given.get("isolation_reason", row.isolation_reason) or ""
    if not isinstance(reason, str) or len(reason) > limits.ISOLATION_REASON_CHARS_MAX:
        most = limits.ISOLATION_REASON_CHARS_MAX
        raise BadRequestError(f"isolation_reason: a text of up to {most:,} characters")
    expires_us = row.isolation_expires_us
    if "isolation_expires" in given:
        expires_us = _flush("isolation_expires", given["isolation_expires"]) or 0
        is_kept = abs(expires_us - row.isolation_expires_us) < 1_000_000  # a record sent back
        if expires_us and expires_us <= now_us and not is_kept:
            raise BadRequestError("isolation_expires: must be in the future, or null for never")
    said = reason, expires_us
    return None if said == (row.isolation_reason, row.isolation_expires_us) else said


def needed_roles(changes: SensorChanges, row: SensorRow) -> Iterator[tuple[int, Role]]:
    """The role that a change needs, by sensor group: Analyst for reversible changes, Administrator
    to remove a sensor from a group."""
    yield row.group_id, Role.ANALYST
    if changes.uninstall is not None and changes.uninstall != row.uninstall:
        yield row.group_id, Role.ADMINISTRATOR
    if changes.group_id is not None and changes.group_id != row.group_id:
        yield row.group_id, Role.ADMINISTRATOR
        yield changes.group_id, Role.ADMINISTRATOR


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadRequestError(f"{name}: must be true or false")
    return value


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
    """Epoch microseconds of RFC 1123 or ISO 8601 text, UTC without a time zone."""
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
    "network_isolation_enabled": ("network_isolation_enabled", _flag),
    "restart_queued": ("restart_queued", _flag),
    "uninstall": ("uninstall", _flag),
    "liveresponse_init": ("liveresponse_init", _flag),
    "group_id": ("group_id", _group),
    "notes": ("notes", _notes),
    "event_log_flush_time": ("flush_us", _flush),
}
"""The updatable members: column and reader."""
