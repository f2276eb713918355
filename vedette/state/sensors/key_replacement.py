"""Who may replace the key of a sensor, and the audit of that.

An enrolment secret is shared by a whole group, so it proves nothing about which host speaks. An
enrolment under the name of a host that has a key succeeds only

- with the key that the host has (`previous_key`), or
- after an administrator approved it: the first attempt is refused with `reenrolment_pending` and
  shown with the sensor; the approval is for the machine id that asked, and for
  `REENROLMENT_APPROVAL_US`.

The first key for a second program on the host (osquery and the sensor) needs the machine id that
the first one reported, or the same approval. Approved or not, at most `KEY_REPLACEMENTS_MAX` keys a
sensor are replaced in `KEY_REPLACEMENTS_US`.
"""

import hmac
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette import limits
from vedette.errors import BusyError, ConflictError, NotFoundError, StaleError
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import SENSOR_KEY_EVENT

KeyKind = Literal["sensor", "osquery"]

KEY_COLUMNS = {"sensor": SENSOR.c.key_sha256, "osquery": SENSOR.c.node_key_sha256}
"""A host may run both programs, each with a key of its own."""

Action = Literal["enrolled", "replaced", "requested", "approved", "rejected"]

PENDING = "reenrolment_pending"
"""The `reason` of a refused enrolment that waits for approval."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What an enrolment brings to prove that it comes from the host it names."""

    kind: KeyKind
    machine_id: str
    previous_key: str = ""
    """The key that the host has, with or without `ID:` before it."""
    address: str = ""


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """One entry of the audit, epoch microseconds."""

    time_us: int
    kind: str
    action: str
    machine_id: str
    address: str
    username: str


@dataclass(frozen=True, slots=True)
class Request:
    """A re-enrolment that waits, or waits no longer; times in epoch microseconds."""

    requested_us: int
    """0: none."""
    approved_us: int
    kind: str
    machine_id: str


def digest(key: str) -> bytes:
    """What is kept of a key. A fast hash is right for 256 random bits."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


def is_allowed(row: RowMapping, claim: Claim, now_us: int) -> bool:
    """Whether a claim may give a sensor a new key. `row` is the sensor's."""
    if not has_key(row) or _has_old_key(row, claim):
        return True
    if row["uninstalled_us"] and row["machine_id"] in ("", claim.machine_id):
        return True
    if row[KEY_COLUMNS[claim.kind].name] is None and _is_same_machine(row, claim):
        return True
    return _is_approved(row, claim, now_us)


def has_key(row: RowMapping) -> bool:
    return any(row[column.name] for column in KEY_COLUMNS.values())


def request_approval(database: Database, sensor_id: int, claim: Claim, now_us: int) -> None:
    """Record an enrolment that waits for an administrator. Idempotent.

    A request of another machine takes the place of an earlier one, but not of one that is
    approved: else anybody with the secret could keep a host out.
    """
    wanted: dict[str, Any] = {
        "reenrol_machine_id": claim.machine_id,
        "reenrol_kind": claim.kind,
        "reenrol_us": now_us,
        "reenrol_approved_us": 0,
    }
    of_sensor = SENSOR.c.id == sensor_id
    with database.writing() as connection:
        row = connection.execute(select(SENSOR).where(of_sensor)).mappings().one()
        is_repeated = row["reenrol_us"] and all(
            row[name] == wanted[name] for name in ("reenrol_machine_id", "reenrol_kind")
        )
        has_approval = _is_recent(row["reenrol_approved_us"], now_us)
        if has_approval or (is_repeated and not row["reenrol_approved_us"]):
            return
        connection.execute(update(SENSOR).where(of_sensor).values(wanted))
        audit(connection, sensor_id, claim, "requested", now_us)


def approve(
    database: Database,
    sensor_id: int,
    username: str,
    now_us: int,
    machine_id: str | None = None,
) -> None:
    """Let the machine that asked take over the sensor's name at its next attempt.

    `machine_id` is that of the request which was read, and is approved though another machine has
    asked since: else anybody with the secret could keep a host out. Raises StaleError for one that
    has not asked lately, and NotFoundError for a sensor without a request.
    """
    values = {"reenrol_approved_us": now_us}
    _decide(database, sensor_id, username, "approved", values, now_us, machine_id)


def reject(
    database: Database,
    sensor_id: int,
    username: str,
    now_us: int,
    machine_id: str | None = None,
) -> None:
    """Drop the request; a further attempt is a new one. Raises StaleError where another machine
    than `machine_id` asks by now, and NotFoundError without any."""
    values = {"reenrol_us": 0, "reenrol_approved_us": 0}
    _decide(database, sensor_id, username, "rejected", values, now_us, machine_id)


def request_of(database: Database, scope: Scope, sensor_id: int) -> Request:
    """Raises NotFoundError for a sensor that does not exist or is out of scope."""
    query = select(
        SENSOR.c.reenrol_us,
        SENSOR.c.reenrol_approved_us,
        SENSOR.c.reenrol_kind,
        SENSOR.c.reenrol_machine_id,
    ).where(SENSOR.c.id == sensor_id)
    with database.reading() as connection:
        row = connection.execute(query).first() if scope.allows(sensor_id) else None
    if row is None:
        raise NotFoundError(f"there is no sensor {sensor_id}")
    return Request(*row)


def requests(database: Database) -> list[tuple[int, str, Request]]:
    """All re-enrolments that wait, with id and host name of their sensor, the oldest first."""
    query = (
        select(
            SENSOR.c.id,
            SENSOR.c.hostname,
            SENSOR.c.reenrol_us,
            SENSOR.c.reenrol_approved_us,
            SENSOR.c.reenrol_kind,
            SENSOR.c.reenrol_machine_id,
        )
        .where(SENSOR.c.reenrol_us > 0)
        .order_by(SENSOR.c.reenrol_us, SENSOR.c.id)
    )
    with database.reading() as connection:
        return [(row[0], row[1], Request(*row[2:])) for row in connection.execute(query)]


def history(database: Database, sensor_id: int) -> list[KeyEvent]:
    """The audit of a sensor's keys, the newest first."""
    query = (
        select(*(SENSOR_KEY_EVENT.c[name] for name in KeyEvent.__slots__))
        .where(SENSOR_KEY_EVENT.c.sensor_id == sensor_id)
        .order_by(SENSOR_KEY_EVENT.c.id.desc())
    )
    with database.reading() as connection:
        return [KeyEvent(*row) for row in connection.execute(query)]


def check_rate(connection: Connection, sensor_id: int, now_us: int) -> None:
    """Raises BusyError when too many keys of the sensor were replaced lately."""
    query = (
        select(func.count())
        .select_from(SENSOR_KEY_EVENT)
        .where(
            SENSOR_KEY_EVENT.c.sensor_id == sensor_id,
            SENSOR_KEY_EVENT.c.action == "replaced",
            SENSOR_KEY_EVENT.c.time_us > now_us - limits.KEY_REPLACEMENTS_US,
        )
    )
    if connection.execute(query).scalar_one() >= limits.KEY_REPLACEMENTS_MAX:
        raise BusyError("the key of this sensor was replaced too often: try again in an hour")


def audit(
    connection: Connection,
    sensor_id: int,
    claim: Claim,
    action: Action,
    now_us: int,
    username: str = "",
) -> None:
    """Append to the audit, and evict the oldest entries of the same action, so that repeated
    requests never push out when keys were replaced."""
    row = {
        "sensor_id": sensor_id,
        "time_us": now_us,
        "kind": claim.kind,
        "action": action,
        "machine_id": claim.machine_id,
        "address": claim.address,
        "username": username,
    }
    connection.execute(insert(SENSOR_KEY_EVENT).values(row))
    alike = (SENSOR_KEY_EVENT.c.sensor_id == sensor_id) & (SENSOR_KEY_EVENT.c.action == action)
    newest = (
        select(SENSOR_KEY_EVENT.c.id)
        .where(alike)
        .order_by(SENSOR_KEY_EVENT.c.id.desc())
        .offset(limits.KEY_EVENTS_KEPT)
        .limit(1)
    )
    if (oldest := connection.scalar(newest)) is not None:
        connection.execute(delete(SENSOR_KEY_EVENT).where(alike, SENSOR_KEY_EVENT.c.id <= oldest))


def _decide(
    database: Database,
    sensor_id: int,
    username: str,
    action: Action,
    values: dict[str, Any],
    now_us: int,
    machine_id: str | None,
) -> None:
    with database.writing() as connection:
        query = select(SENSOR).where(SENSOR.c.id == sensor_id).with_for_update()
        row = connection.execute(query).mappings().first()
        if row is None or not row["reenrol_us"]:
            raise NotFoundError(f"no re-enrolment of sensor {sensor_id} waits for approval")
        claim = Claim(row["reenrol_kind"], row["reenrol_machine_id"])
        if machine_id is not None and machine_id != claim.machine_id:
            earlier = _earlier_request(connection, sensor_id, machine_id, now_us)
            if earlier is None or action != "approved":
                raise StaleError(
                    f"another machine asks for sensor {sensor_id} by now",
                    {"machine_id": claim.machine_id},
                )
            claim = earlier
            values |= {"reenrol_machine_id": machine_id, "reenrol_kind": claim.kind}
        if action == "approved" and row["reenrol_approved_us"]:
            raise ConflictError(f"the re-enrolment of sensor {sensor_id} is approved already")
        connection.execute(update(SENSOR).where(SENSOR.c.id == sensor_id).values(values))
        audit(connection, sensor_id, claim, action, now_us, username)


def _earlier_request(
    connection: Connection, sensor_id: int, machine_id: str, now_us: int
) -> Claim | None:
    """What a machine asked for while an approval would still have been good."""
    event, asked_us = SENSOR_KEY_EVENT.c, now_us - limits.REENROLMENT_APPROVAL_US
    query = (
        select(event.kind)
        .where(
            *(event.sensor_id == sensor_id, event.machine_id == machine_id),
            *(event.action == "requested", event.time_us > asked_us),
        )
        .order_by(event.id.desc())
        .limit(1)
    )
    kind = connection.scalar(query)
    return None if kind is None else Claim(kind, machine_id)


def _has_old_key(row: RowMapping, claim: Claim) -> bool:
    kept = row[KEY_COLUMNS[claim.kind].name]
    number, colon, key = claim.previous_key.rpartition(":")
    if kept is None or not key or (colon and number != str(row["id"])):
        return False
    return hmac.compare_digest(kept, digest(key))


def _is_same_machine(row: RowMapping, claim: Claim) -> bool:
    return not row["machine_id"] or _plain(row["machine_id"]) == _plain(claim.machine_id)


def _plain(machine_id: str) -> str:
    """Programs write the same id with and without dashes, in either case."""
    return machine_id.replace("-", "").lower()


def _is_approved(row: RowMapping, claim: Claim, now_us: int) -> bool:
    return (
        _is_recent(row["reenrol_approved_us"], now_us)
        and (row["reenrol_machine_id"], row["reenrol_kind"]) == (claim.machine_id, claim.kind)
        and bool(row["reenrol_us"])
    )


def _is_recent(approved_us: int, now_us: int) -> bool:
    return approved_us > 0 and 0 <= now_us - approved_us < limits.REENROLMENT_APPROVAL_US
