"""The state database's copy of the store id (`store/integrity/identity.py`), and restoration of
sensors from telemetry.

The id is written here first, as pending, then to the telemetry store, then confirmed here. A crash
in between leaves a pending id, which the next start completes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, func, insert, select

from vedette.state.db.database import Database
from vedette.state.db.key_values import load, put, save
from vedette.state.db.schema import SENSOR
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.state.sensors.host_registry import computer_name, is_hostname

_NAME: Final = "store_id"
_PENDING: Final = "pending:"
_ACCEPTED_DAMAGE: Final = "accepted_damage"
_PART_LIST: Final = "part_list"
_LOST_PARTS: Final = "lost_parts"


@dataclass(frozen=True, slots=True)
class StateIdentity:
    """The store id; `is_pending` if the telemetry store may not have it yet."""

    store_id: str
    is_pending: bool


def load_identity(database: Database) -> StateIdentity | None:
    value = load(database, _NAME)
    if value is None:
        return None
    return StateIdentity(value.removeprefix(_PENDING), value.startswith(_PENDING))


def save_identity(database: Database, identity: StateIdentity) -> None:
    """Stores the identity; durable on return."""
    save(database, _NAME, (_PENDING if identity.is_pending else "") + identity.store_id)


def load_accepted_damage(database: Database) -> frozenset[str]:
    """Returns keys (`DamagedPart.key`) of damaged parts that an operator has accepted as lost."""
    return frozenset((load(database, _ACCEPTED_DAMAGE) or "").split())


def save_accepted_damage(database: Database, keys: Iterable[str]) -> None:
    save(database, _ACCEPTED_DAMAGE, " ".join(sorted(keys)))


def load_part_list(database: Database, version: int) -> str:
    """Returns the parts of the telemetry at the last shutdown; "" after a kill, and after a
    shutdown with another version of the tables."""
    saved, _, parts = (load(database, _PART_LIST) or "").partition(" ")
    return parts if saved == str(version) else ""


def save_part_list(database: Database, version: int, parts: str) -> None:
    save(database, _PART_LIST, f"{version:d} {parts}")


def load_lost_parts(database: Database) -> str:
    """Returns the parts that earlier starts missed."""
    return load(database, _LOST_PARTS) or ""


def save_lost_parts(database: Database, parts: str) -> None:
    """Stores the missing parts and clears the part list of the last shutdown, which no longer
    applies once the server runs."""
    with database.writing() as connection:
        put(connection, _LOST_PARTS, parts)
        put(connection, _PART_LIST, "")


def newest_sensor_id(database: Database) -> int:
    """Returns the highest assigned sensor number; 0 without sensors."""
    with database.reading() as connection:
        return connection.scalar(select(func.max(SENSOR.c.id))) or 0


def restore_sensors(
    database: Database, hosts: Mapping[int, tuple[str, str]], now_us: int
) -> list[int]:
    """Recreates the sensors of hosts (full name and OS type, by sensor number) in the default
    group, under the numbers that telemetry refers to. Skips existing numbers. Returns the numbers
    of hosts whose name is taken or invalid; their sensors get a placeholder name."""
    with database.writing() as connection:
        taken_ids = set(connection.scalars(select(SENSOR.c.id)))
        taken_names = set(connection.scalars(select(SENSOR.c.hostname)))
        rows, refused = [], []
        for sensor_id, (hostname, os_type) in sorted(hosts.items()):
            if sensor_id in taken_ids:
                continue
            if hostname in taken_names or not is_hostname(hostname):
                refused.append(sensor_id)
                hostname = f"unknown-sensor-{sensor_id}"
            taken_names.add(hostname)
            rows.append(_row(sensor_id, hostname, os_type, now_us))
        if rows:
            connection.execute(insert(SENSOR), rows)
            _continue_after(connection)
    return refused


def _row(sensor_id: int, hostname: str, os_type: str, now_us: int) -> dict[str, object]:
    return {
        "id": sensor_id,
        "hostname": hostname,
        "computer_name": computer_name(hostname, os_type),
        "group_id": DEFAULT_GROUP_ID,
        "os_type": os_type,
        "first_seen_us": now_us,
        "last_seen_us": now_us,
        "changed_us": now_us,
        "network_isolation_enabled": False,
        "is_isolating": False,
        "restart_queued": False,
        "uninstall": False,
    }


def _continue_after(connection: Connection) -> None:
    """Advances PostgreSQL's sequence, which is independent of the rows; SQLite continues after the
    highest number."""
    if connection.dialect.name == "postgresql":
        newest = select(func.max(SENSOR.c.id)).scalar_subquery()
        sequence = func.pg_get_serial_sequence(SENSOR.name, "id")
        connection.execute(select(func.setval(sequence, newest)))
