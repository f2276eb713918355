"""Check-ins: what a sensor says of itself is kept, and what is wanted of it is read.

`check_in` is the work of one check-in within a shared transaction (`group_commit.py`). The four
phases of isolation (api.md 3.1) are two columns: `network_isolation_enabled` is what people want,
`is_isolating` what the sensor last said of itself. So 0 -> 1 and 2 -> 3 are changes of the first,
1 -> 2 and 3 -> 0 of the second, and each side writes only its own.
"""

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, case, func, select, update

from vedette import limits
from vedette.errors import UnauthorizedError
from vedette.state.engine import Database
from vedette.state.schema import SENSOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a check-in says, by column of `sensor`; None where it says nothing."""

    boot_id: str | None = None
    clock_delta_s: int | None = None
    uptime_s: int | None = None
    sensor_uptime_s: int | None = None
    sensor_version: str | None = None
    health_status: int | None = None
    health_message: str | None = None
    eventlog_bytes: int | None = None
    storefiles_bytes: int | None = None
    volume_total_bytes: int | None = None
    volume_free_bytes: int | None = None
    memory_bytes: int | None = None
    network_adapters: str | None = None
    addresses: str | None = None
    power_state: int | None = None
    utc_offset_min: int | None = None
    is_isolating: bool | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sensor has come with its orders."""

    flushed_before_us: int = 0
    has_restarted: bool = False
    is_uninstalling: bool | None = False
    """None when the program cannot say: osquery is uninstalled by others."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is wanted of a sensor after its check-in."""

    id: int
    hostname: str
    group_id: int
    os_type: str
    sensor_version: str
    isolate: bool
    flush_before_us: int
    """0: no flush is wanted."""
    restart: bool
    uninstall: bool


_READ = (
    "id",
    "hostname",
    "group_id",
    "os_type",
    "sensor_version",
    "last_seen_us",
    "flush_us",
    "restart_queued",
    "uninstall",
    "uninstalled_us",
    "network_isolation_enabled",
)
_NAMES = tuple(field.name for field in fields(Report))
_SELECT = (
    select(*(SENSOR.c[name] for name in _READ))
    .where(SENSOR.c.id == bindparam("sensor"))
    .with_for_update()
)


def check_in(
    connection: Connection,
    sensor_id: int,
    report: Report,
    progress: Progress,
    now_us: int,
    interval_s: int,
) -> Standing:
    """Keeps a report; returns what is wanted of the sensor now.

    Raises UnauthorizedError for a sensor that is gone.
    """
    row = connection.execute(_SELECT, {"sensor": sensor_id}).mappings().first()
    if row is None:
        raise UnauthorizedError("there is no such sensor any more")
    values: dict[str, Any] = {
        name: value for name in _NAMES if (value := getattr(report, name)) is not None
    }
    values |= _after(row, progress, now_us)
    values["checkin_us"] = now_us
    values["next_checkin_us"] = now_us + interval_s * 1_000_000
    values["last_seen_us"] = max(now_us, row["last_seen_us"])
    connection.execute(update(SENSOR).where(SENSOR.c.id == sensor_id).values(values))
    return _standing(dict(row) | values)


def note_contact(connection: Connection, sensor_id: int, now_us: int) -> str:
    """Notes that osquery was heard of; returns the operating system of its host. Where our own
    sensor runs too, that alone says when it checks in.

    Raises UnauthorizedError for a sensor that is gone.
    """
    is_alone = SENSOR.c.key_sha256.is_(None)
    next_us = now_us + limits.OSQUERY_CHECKIN_S * 1_000_000
    changed = connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == sensor_id)
        .values(
            last_seen_us=now_us,
            checkin_us=case((is_alone, now_us), else_=SENSOR.c.checkin_us),
            next_checkin_us=case((is_alone, next_us), else_=SENSOR.c.next_checkin_us),
        )
        .returning(SENSOR.c.os_type)
    ).scalar()
    if changed is None:
        raise UnauthorizedError("there is no such sensor any more")
    return str(changed)


def _after(row: RowMapping, progress: Progress, now_us: int) -> dict[str, Any]:
    """The orders that this check-in says are done."""
    values: dict[str, Any] = {}
    if row["flush_us"] and progress.flushed_before_us >= row["flush_us"]:
        values["flush_us"] = 0
    if row["restart_queued"] and progress.has_restarted:
        values["restart_queued"] = False
    if progress.is_uninstalling:
        values["uninstalled_us"] = row["uninstalled_us"] or now_us
        values["is_isolating"] = False
    elif progress.is_uninstalling is False and row["uninstalled_us"]:
        values["uninstalled_us"] = 0  # it is still there
    return values


def _standing(row: dict[str, Any]) -> Standing:
    return Standing(
        id=row["id"],
        hostname=row["hostname"],
        group_id=row["group_id"],
        os_type=row["os_type"],
        sensor_version=row["sensor_version"],
        isolate=row["network_isolation_enabled"] and not row["uninstalled_us"],
        flush_before_us=row["flush_us"],
        restart=row["restart_queued"],
        uninstall=row["uninstall"],
    )


class Pace:
    """How often sensors should come: as the setting says, less often when they are too many."""

    def __init__(self, database: Database, interval_s: int) -> None:
        self._database = database
        self._least_s = interval_s
        self.interval_s = interval_s

    def refresh(self) -> None:
        """Counts the fleet anew. Call it every minute."""
        query = select(func.count()).select_from(SENSOR).where(SENSOR.c.checkin_us > 0)
        with self._database.reading() as connection:
            count = connection.execute(query).scalar_one()
        self.interval_s = max(self._least_s, -(-count // limits.SENSOR_CHECKINS_PER_S))
