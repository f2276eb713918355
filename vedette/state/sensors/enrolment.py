"""Enrolment: a group's secret admits new hosts, and every sensor gets its own key.

A group's secret is stored in clear text, since installers that contain it can be created at any
time. It only adds unknown hosts to its own group; `key_replacement` decides about names that
already have a key. A sensor's key is 256 random bits, returned once and stored as a hash.
"""

import hmac
import secrets
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, insert, select, update

from vedette.clock import SystemClock
from vedette.errors import BadRequestError, ConflictError, NotFoundError, UnauthorizedError
from vedette.model.host import SensorRef, Sighting
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import ENROLMENT_SECRET, SENSOR_QUEUE
from vedette.state.policy.groups import get as get_group
from vedette.state.sensors import key_replacement
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.key_replacement import KEY_COLUMNS, Claim, KeyKind, digest
from vedette.state.sensors.silent_sensors import contact_of


@dataclass(frozen=True, slots=True)
class Secret:
    """An enrolment secret of a group."""

    id: int
    group_id: int
    secret: str
    created_us: int
    revoked_us: int
    """0: not revoked."""
    expires_us: int = 0
    """0: never."""
    uses_max: int = 0
    """Hosts that may enrol with it; 0: unlimited."""
    uses: int = 0

    def is_good(self, now_us: int) -> bool:
        """Whether a host may enrol with it."""
        is_expired = bool(self.expires_us) and now_us >= self.expires_us
        is_used_up = bool(self.uses_max) and self.uses >= self.uses_max
        return not (self.revoked_us or is_expired or is_used_up)


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts that a host reports when it enrols; "" and 0 for unknown."""

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
    """A sensor with its new key. The server stores only a hash of the key."""

    sensor: SensorRef
    key: str


def current_secret(database: Database, group_id: int) -> str:
    """Returns the newest valid secret of a group, for its installers; issues the first one.

    Raises NotFoundError for an unknown group, ConflictError when all its secrets have ended; an
    administrator must then issue a new one.
    """
    get_group(database, group_id)
    known = group_secrets(database, group_id)
    if not known:
        return issue_secret(database, group_id).secret
    now_us = SystemClock().now_us()
    good = [secret for secret in known if secret.is_good(now_us)]
    if not good:
        raise ConflictError(
            f"all enrollment secrets of sensor group {group_id} are revoked, expired, or used up; "
            "issue one with vedette group secret --rotate"
        )
    return good[-1].secret


def issue_secret(
    database: Database, group_id: int, expires_us: int = 0, uses_max: int = 0
) -> Secret:
    """Issues a further secret, valid until `expires_us` (0: no end) and for `uses_max` hosts (0:
    unlimited). Earlier secrets stay valid.

    Raises NotFoundError for an unknown group, BadRequestError for an expiry in the past or negative
    values.
    """
    get_group(database, group_id)
    now_us = SystemClock().now_us()
    if uses_max < 0 or expires_us < 0 or 0 < expires_us <= now_us:
        raise BadRequestError(
            "a secret must expire in the future and allow at least one enrollment"
        )
    row = {
        "group_id": group_id,
        "secret": secrets.token_urlsafe(32),
        "created_us": now_us,
        "expires_us": expires_us,
        "uses_max": uses_max,
    }
    with database.writing() as connection:
        made = connection.execute(insert(ENROLMENT_SECRET).values(row).returning(ENROLMENT_SECRET))
        return _secret(made.mappings().one())


def group_secrets(database: Database, group_id: int) -> list[Secret]:
    """Returns all secrets of a group, oldest first."""
    query = (
        select(ENROLMENT_SECRET)
        .where(ENROLMENT_SECRET.c.group_id == group_id)
        .order_by(ENROLMENT_SECRET.c.id)
    )
    with database.reading() as connection:
        return [_secret(row) for row in connection.execute(query).mappings()]


def revoke_secret(database: Database, group_id: int, secret_id: int) -> None:
    """Revokes a secret; sensors that enrolled with it stay. Raises NotFoundError."""
    of_group = (ENROLMENT_SECRET.c.id == secret_id) & (ENROLMENT_SECRET.c.group_id == group_id)
    with database.writing() as connection:
        if connection.scalar(select(ENROLMENT_SECRET.c.id).where(of_group)) is None:
            raise NotFoundError(f"sensor group {group_id} has no enrollment secret {secret_id}")
        connection.execute(
            update(ENROLMENT_SECRET)
            .where(of_group, ENROLMENT_SECRET.c.revoked_us == 0)
            .values(revoked_us=SystemClock().now_us())
        )


def enrol(
    database: Database,
    sensors: Sensors,
    secret: str,
    machine: Machine,
    kind: KeyKind,
    now_us: int,
    previous_key: str = "",
    address: str = "",
) -> Enrolled:
    """Returns the sensor for a host's name with a new key, which replaces an earlier key of the
    same program.

    A host with the same name in another group is a different host and does not affect the result.

    Raises UnauthorizedError for a secret that is unknown or has ended; ConflictError with `reason`
    `reenrolment_pending` if an administrator must approve; BusyError for a key that is replaced too
    often; BadRequestError for a name that no host can have.
    """
    known = _secret_of(database, secret, now_us)
    hostname = machine.hostname.strip().rstrip(".").lower()
    ref = sensors.own(hostname, Sighting(machine.os_type), known.group_id, now_us)
    if ref is None:
        raise BadRequestError(f"hostname: {hostname[:80]!r} is not a valid host name")
    claim = Claim(kind, machine.machine_id, previous_key, address)
    key = secrets.token_urlsafe(32)
    with database.writing() as connection:
        query = select(SENSOR).where(SENSOR.c.id == ref.id).with_for_update()
        row = connection.execute(query).mappings().one()
        _check_group(row, known.group_id)
        is_allowed = key_replacement.is_allowed(row, claim, now_us)
        if is_allowed:
            _replace_key(connection, row, known, machine, claim, key, now_us)
    if not is_allowed:
        key_replacement.request_approval(database, ref.id, claim, now_us)
        raise ConflictError(
            f"{hostname} is already enrolled; an administrator must approve its re-enrollment",
            reason=key_replacement.PENDING,
        )
    sensors.evict(hostname)
    return Enrolled(ref, key)


def _replace_key(
    connection: Connection,
    row: RowMapping,
    secret: Secret,
    machine: Machine,
    claim: Claim,
    key: str,
    now_us: int,
) -> None:
    is_known = key_replacement.has_key(row)
    if is_known:
        key_replacement.check_rate(connection, row["id"], now_us)
    else:
        _count_use(connection, secret)
    values = _values(machine, claim.kind, row, now_us)
    values[KEY_COLUMNS[claim.kind].name] = digest(key)
    values |= {"reenrol_us": 0, "reenrol_approved_us": 0}
    if machine.machine_id and row["machine_id"] not in ("", machine.machine_id):
        values |= _another_machine(connection, row)
    connection.execute(update(SENSOR).where(SENSOR.c.id == row["id"]).values(values))
    action: key_replacement.Action = "replaced" if is_known else "enrolled"
    key_replacement.audit(connection, row["id"], claim, action, now_us)


def _secret_of(database: Database, secret: str, now_us: int) -> Secret:
    query = select(ENROLMENT_SECRET).where(ENROLMENT_SECRET.c.secret == secret)
    with database.reading() as connection:
        row = connection.execute(query).mappings().first() if "\0" not in secret else None
    if row is None or not hmac.compare_digest(row["secret"].encode(), secret.encode()):
        raise UnauthorizedError("the enrollment secret is unknown or expired")
    found = _secret(row)
    if not found.is_good(now_us):
        raise UnauthorizedError("the enrollment secret is unknown or expired")
    return found


def _count_use(connection: Connection, secret: Secret) -> None:
    """Counts a use of the secret. Raises UnauthorizedError if another host took the last use
    meanwhile."""
    is_left: ColumnElement[bool] = (ENROLMENT_SECRET.c.uses_max == 0) | (
        ENROLMENT_SECRET.c.uses < ENROLMENT_SECRET.c.uses_max
    )
    used = connection.execute(
        update(ENROLMENT_SECRET)
        .where(ENROLMENT_SECRET.c.id == secret.id, is_left)
        .values(uses=ENROLMENT_SECRET.c.uses + 1)
    )
    if not used.rowcount:
        raise UnauthorizedError("the enrollment secret is unknown or expired")


def _check_group(row: RowMapping, group_id: int) -> None:
    """Rejects a sensor that moved to another group: a secret must not reach hosts of other
    groups."""
    if row["group_id"] != group_id:
        raise ConflictError("the sensor was moved; enroll again")


def _values(machine: Machine, kind: KeyKind, row: RowMapping, now_us: int) -> dict[str, object]:
    is_shown = kind == "sensor" or row["key_sha256"] is None  # else osquery beside our sensor
    reported = {
        "os_type": machine.os_type,
        "machine_id": machine.machine_id,
        "os_version": machine.os_version,
        "kernel": machine.kernel,
        "arch": machine.arch,
        "boot_id": machine.boot_id,
        "memory_bytes": machine.memory_bytes,
        "computer_sid": machine.computer_sid,
        "host_type": machine.host_type,
        "sensor_version": machine.sensor_version if is_shown else "",
    }
    values: dict[str, object] = {name: value for name, value in reported.items() if value}
    values |= {
        "enrolled_us": now_us,
        **contact_of(row, now_us),
        "changed_us": now_us,
    }
    if kind == "sensor" and row["uninstalled_us"]:
        values |= {"uninstalled_us": 0, "uninstall": False, "is_isolating": False}
    return values


def _another_machine(connection: Connection, row: RowMapping) -> dict[str, object]:
    """Resets the upload state, since the host is another machine."""
    connection.execute(delete(SENSOR_QUEUE).where(SENSOR_QUEUE.c.sensor_id == row["id"]))
    return {"reenrolled": row["reenrolled"] + 1, "sequence_gaps": 0, "missing_blocks": 0}


def _secret(row: RowMapping) -> Secret:
    return Secret(**{name: row[name] for name in Secret.__slots__})
