"""Rules for replacing the key of a sensor, and their audit.

A whole group shares an enrolment secret, so it does not prove which host sends a request. An
enrolment under the name of a host that has a key succeeds only

- with the host's present key (`previous_key`), or
- after an administrator approved it. The first attempt is refused with `reenrolment_pending` and
  shown with the sensor. The approval covers the requesting machine id, for
  `REENROLMENT_APPROVAL_US`.

The first key of a second program on the host (osquery and the sensor) needs the machine id that the
first program reported, or the same approval. Approved or not, at most `KEY_REPLACEMENTS_MAX` keys
of a sensor are replaced within `KEY_REPLACEMENTS_US`.
"""

import hmac
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette.errors import BusyError, ConflictError, NotFoundError, StaleError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import SENSOR_KEY_EVENT

REENROLMENT_APPROVAL_US: Limit[int] = 24 * 3600 * 1_000_000
"""Validity (us) of an approved re-enrolment: a sensor retries every few minutes, and rebuilding a
host takes a working day."""

KEY_REPLACEMENTS_MAX: Limit[int] = 5
"""Key replacements of one sensor within `KEY_REPLACEMENTS_US`; further ones get 429."""

KEY_REPLACEMENTS_US: Limit[int] = 3600 * 1_000_000
"""Period (us) for counting key replacements."""

KEY_EVENTS_KEPT: Limit[int] = 100
"""Audit entries per sensor and action; the oldest are deleted first."""


KeyKind = Literal["sensor", "osquery"]

KEY_COLUMNS = {"sensor": SENSOR.c.key_sha256, "osquery": SENSOR.c.node_key_sha256}
"""A host may run both programs, each with its own key."""

Action = Literal["enrolled", "replaced", "requested", "approved", "rejected"]

PENDING = "reenrolment_pending"
"""The `reason` of a refused enrolment that awaits approval."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Evidence that an enrolment comes from the host that it names."""

    kind: KeyKind
    machine_id: str
    previous_key: str = ""
    """The host's present key, with or without an `ID:` prefix."""
    address: str = ""


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """An audit entry. Times are epoch microseconds."""

    time_us: int
    kind: str
    action: str
    machine_id: str
    address: str
    username: str


@dataclass(frozen=True, slots=True)
class Request:
    """A re-enrolment request, pending or approved. Times are epoch microseconds."""

    requested_us: int
    """0: no request."""
    approved_us: int
    kind: str
    machine_id: str


def digest(key: str) -> bytes:
    """Returns the stored hash of a key. A fast hash suffices for 256 random bits."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


def is_allowed(row: RowMapping, claim: Claim, now_us: int) -> bool:
    """Whether a claim may give a sensor a new key. `row` is the sensor's row."""
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
    """Records an enrolment that awaits approval. Idempotent.

    A request of another machine replaces an earlier request, but not an approved one: otherwise
    anyone with the secret could keep a host out.
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
    """Allows the requesting machine to take over the sensor's name at its next attempt.

    `machine_id` is the machine of the request that the administrator saw. It is approved even if
    another machine has requested since: otherwise anyone with the secret could keep a host out.
    Raises StaleError for a machine without a recent request, and NotFoundError for a sensor without
    a request.
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
    """Rejects the request; a further attempt is a new request. Raises StaleError if the current
    request is from another machine than `machine_id`, and NotFoundError if there is none."""
    values = {"reenrol_us": 0, "reenrol_approved_us": 0}
    _decide(database, sensor_id, username, "rejected", values, now_us, machine_id)


def request_of(database: Database, scope: Scope, sensor_id: int) -> Request:
    """Returns the re-enrolment request of a sensor. Raises NotFoundError for a sensor that does not
    exist or is out of scope."""
    query = select(
        SENSOR.c.reenrol_us,
        SENSOR.c.reenrol_approved_us,
        SENSOR.c.reenrol_kind,
        SENSOR.c.reenrol_machine_id,
    ).where(SENSOR.c.id == sensor_id)
    with database.reading() as connection:
        row = connection.execute(query).first() if scope.allows(sensor_id) else None
    if row is None:
        raise NotFoundError(f"sensor {sensor_id} not found")
    return Request(*row)


def requests(database: Database) -> list[tuple[int, str, Request]]:
    """Returns (sensor id, host name, request) of all re-enrolment requests, oldest first."""
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
    """Returns the audit entries of a sensor's keys, newest first."""
    query = (
        select(*(SENSOR_KEY_EVENT.c[name] for name in KeyEvent.__slots__))
        .where(SENSOR_KEY_EVENT.c.sensor_id == sensor_id)
        .order_by(SENSOR_KEY_EVENT.c.id.desc())
    )
    with database.reading() as connection:
        return [KeyEvent(*row) for row in connection.execute(query)]


def check_rate(connection: Connection, sensor_id: int, now_us: int) -> None:
    """Raises BusyError if too many keys of the sensor were replaced recently."""
    query = (
        select(func.count())
        .select_from(SENSOR_KEY_EVENT)
        .where(
            SENSOR_KEY_EVENT.c.sensor_id == sensor_id,
            SENSOR_KEY_EVENT.c.action == "replaced",
            SENSOR_KEY_EVENT.c.time_us > now_us - KEY_REPLACEMENTS_US,
        )
    )
    if connection.execute(query).scalar_one() >= KEY_REPLACEMENTS_MAX:
        raise BusyError("the key of this sensor was replaced too often; retry in an hour")


def audit(
    connection: Connection,
    sensor_id: int,
    claim: Claim,
    action: Action,
    now_us: int,
    username: str = "",
) -> None:
    """Writes an audit entry and deletes the oldest entries of the same action, so that repeated
    requests never displace the record of key replacements."""
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
        .offset(KEY_EVENTS_KEPT)
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
            raise NotFoundError(f"no re-enrollment of sensor {sensor_id} is pending")
        claim = Claim(row["reenrol_kind"], row["reenrol_machine_id"])
        if machine_id is not None and machine_id != claim.machine_id:
            earlier = _earlier_request(connection, sensor_id, machine_id, now_us)
            if earlier is None or action != "approved":
                raise StaleError(
                    f"another machine now requests sensor {sensor_id}",
                    {"machine_id": claim.machine_id},
                )
            claim = earlier
            values |= {"reenrol_machine_id": machine_id, "reenrol_kind": claim.kind}
        if action == "approved" and row["reenrol_approved_us"]:
            raise ConflictError(f"the re-enrollment of sensor {sensor_id} is already approved")
        connection.execute(update(SENSOR).where(SENSOR.c.id == sensor_id).values(values))
        audit(connection, sensor_id, claim, action, now_us, username)


def _earlier_request(
    connection: Connection, sensor_id: int, machine_id: str, now_us: int
) -> Claim | None:
    """Returns the machine's earlier request if an approval of it would still be valid, or None."""
    event, asked_us = SENSOR_KEY_EVENT.c, now_us - REENROLMENT_APPROVAL_US
    query = (
        select(event.kind)
        .where(
            event.sensor_id == sensor_id,
            event.machine_id == machine_id,
            event.action == "requested",
            event.time_us > asked_us,
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
    """Normalizes a machine id: programs write it with or without dashes, in either case."""
    return machine_id.replace("-", "").lower()


def _is_approved(row: RowMapping, claim: Claim, now_us: int) -> bool:
    return (
        _is_recent(row["reenrol_approved_us"], now_us)
        and (row["reenrol_machine_id"], row["reenrol_kind"]) == (claim.machine_id, claim.kind)
        and bool(row["reenrol_us"])
    )


def _is_recent(approved_us: int, now_us: int) -> bool:
    return approved_us > 0 and 0 <= now_us - approved_us < REENROLMENT_APPROVAL_US
