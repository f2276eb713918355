"""Enrolment: a group's secret lets a host in, and every sensor gets a key of its own.

A group's secret is kept as it is, not as a hash: installers are made at any time and have to
carry it. What it gives is little: whoever has it can add a sensor to that group, and no more.
What a sensor holds afterwards, its key, is 256 random bits, shown once and kept as a hash; a
fast hash is right for a secret that cannot be guessed.
"""

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from vedette.clock import SystemClock
from vedette.errors import BadRequestError, ConflictError, NotFoundError, UnauthorizedError
from vedette.model.host import SensorRef, Sighting
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import ENROLMENT_SECRET, SENSOR_QUEUE
from vedette.state.policy.groups import get as get_group
from vedette.state.sensors.host_registry import Sensors

KeyKind = Literal["sensor", "osquery"]

KEY_COLUMNS = {"sensor": SENSOR.c.key_sha256, "osquery": SENSOR.c.node_key_sha256}
"""A host may run both programs, each with a key of its own."""


@dataclass(frozen=True, slots=True)
class Secret:
    """An enrolment secret of a group."""

    id: int
    group_id: int
    secret: str
    created_us: int
    revoked_us: int
    """0 while it is good."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a host tells of itself when it enrols; "" and 0 are unknown."""

    hostname: str
    os_type: str
    machine_id: str = ""
    os_version: str = ""
    kernel: str = ""
    arch: str = ""
    boot_id: str = ""
    memory_bytes: int = 0
    computer_sid: str = ""
    sensor_version: str = ""
    host_type: str = ""


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A sensor with its new key, which is nowhere else and cannot be shown again."""

    sensor: SensorRef
    key: str


def current_secret(database: Database, group_id: int) -> str:
    """The newest good secret of a group, for its installers; the first time, one is issued.

    Raises NotFoundError for an unknown group, ConflictError when all its secrets are revoked:
    that was somebody's decision, so a new one has to be, too.
    """
    get_group(database, group_id)
    known = group_secrets(database, group_id)
    if not known:
        return issue_secret(database, group_id).secret
    good = [secret for secret in known if not secret.revoked_us]
    if not good:
        raise ConflictError(
            f"all enrolment secrets of sensor group {group_id} are revoked: "
            "issue one with vedette group secret --rotate"
        )
    return good[-1].secret


def issue_secret(database: Database, group_id: int) -> Secret:
    """A further secret; those before it stay good until they are revoked.

    Raises NotFoundError for an unknown group.
    """
    get_group(database, group_id)
    row = {
        "group_id": group_id,
        "secret": secrets.token_urlsafe(32),
        "created_us": SystemClock().now_us(),
    }
    with database.writing() as connection:
        made = connection.execute(insert(ENROLMENT_SECRET).values(row).returning(ENROLMENT_SECRET))
        return _secret(made.mappings().one())


def group_secrets(database: Database, group_id: int) -> list[Secret]:
    """All secrets of a group, the oldest first."""
    query = (
        select(ENROLMENT_SECRET)
        .where(ENROLMENT_SECRET.c.group_id == group_id)
        .order_by(ENROLMENT_SECRET.c.id)
    )
    with database.reading() as connection:
        return [_secret(row) for row in connection.execute(query).mappings()]


def revoke_secret(database: Database, group_id: int, secret_id: int) -> None:
    """Nobody enrols with it any more; sensors that did stay. Raises NotFoundError."""
    of_group = (ENROLMENT_SECRET.c.id == secret_id) & (ENROLMENT_SECRET.c.group_id == group_id)
    with database.writing() as connection:
        if connection.scalar(select(ENROLMENT_SECRET.c.id).where(of_group)) is None:
            raise NotFoundError(f"sensor group {group_id} has no enrolment secret {secret_id}")
        connection.execute(
            update(ENROLMENT_SECRET)
            .where(of_group, ENROLMENT_SECRET.c.revoked_us == 0)
            .values(revoked_us=SystemClock().now_us())
        )


def enrol(
    database: Database, sensors: Sensors, secret: str, machine: Machine, kind: KeyKind, now_us: int
) -> Enrolled:
    """Lets a host in: the sensor of its name, with a new key; the old key is dead.

    A host that is known already stays in its group: with the secret of another one must not be
    able to make what it told before visible there.

    Raises UnauthorizedError for a secret that is unknown or revoked, ConflictError for a host
    that is enrolled in another group, BadRequestError for a name that cannot be a host's.
    """
    group_id = _group_of(database, secret)
    hostname = machine.hostname.strip().rstrip(".").lower()
    ref = sensors.resolve({hostname: Sighting(machine.os_type)}, group_id, now_us).get(hostname)
    if ref is None:
        raise BadRequestError(f"hostname: there can be no sensor for {hostname[:80]!r}")
    key = secrets.token_urlsafe(32)
    with database.writing() as connection:
        row = (
            connection.execute(select(SENSOR).where(SENSOR.c.id == ref.id).with_for_update())
            .mappings()
            .one()
        )
        _check_group(row, group_id)
        values = _values(machine, kind, row, now_us)
        values[KEY_COLUMNS[kind].name] = digest(key)
        if machine.machine_id and row["machine_id"] not in ("", machine.machine_id):
            values |= _another_machine(connection, row)
        connection.execute(update(SENSOR).where(SENSOR.c.id == ref.id).values(values))
    sensors.forget(hostname)
    return Enrolled(ref, key)


def digest(key: str) -> bytes:
    """What is kept of a key."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


def _group_of(database: Database, secret: str) -> int:
    query = select(ENROLMENT_SECRET.c.group_id, ENROLMENT_SECRET.c.secret).where(
        ENROLMENT_SECRET.c.secret == secret, ENROLMENT_SECRET.c.revoked_us == 0
    )
    with database.reading() as connection:
        row = connection.execute(query).first() if "\0" not in secret else None
    if row is None or not hmac.compare_digest(row.secret.encode(), secret.encode()):
        raise UnauthorizedError("the enrolment secret is unknown or revoked")
    return int(row.group_id)


def _check_group(row: RowMapping, group_id: int) -> None:
    """A secret of one group must not take over the sensors of another."""
    is_enrolled = row["key_sha256"] or row["node_key_sha256"]
    if is_enrolled and not row["uninstalled_us"] and row["group_id"] != group_id:
        raise ConflictError(
            "this host is enrolled in another sensor group: use that group's secret, or move "
            "the sensor first"
        )


def _values(machine: Machine, kind: KeyKind, row: RowMapping, now_us: int) -> dict[str, object]:
    told = {
        "os_type": machine.os_type,
        "machine_id": machine.machine_id,
        "os_version": machine.os_version,
        "kernel": machine.kernel,
        "arch": machine.arch,
        "boot_id": machine.boot_id,
        "memory_bytes": machine.memory_bytes,
        "computer_sid": machine.computer_sid,
        "host_type": machine.host_type,
        "sensor_version": machine.sensor_version if kind == "sensor" else "",
    }
    values: dict[str, object] = {name: value for name, value in told.items() if value}
    values |= {
        "enrolled_us": now_us,
        "last_seen_us": max(now_us, row["last_seen_us"]),
        "changed_us": now_us,
    }
    if kind == "sensor" and row["uninstalled_us"]:
        values |= {"uninstalled_us": 0, "uninstall": False, "is_isolating": False}
    return values


def _another_machine(connection: Connection, row: RowMapping) -> dict[str, object]:
    """The name came back with other hardware: its uploads have nothing to do with the old ones."""
    connection.execute(delete(SENSOR_QUEUE).where(SENSOR_QUEUE.c.sensor_id == row["id"]))
    return {"reenrolled": row["reenrolled"] + 1, "sequence_gaps": 0, "missing_blocks": 0}


def _secret(row: RowMapping) -> Secret:
    return Secret(**{name: row[name] for name in Secret.__slots__})
