"""Sensor-update jobs: a version for many devices, in waves (docs/cloud-devices.md#sensor-updates).

A job is IN_PROGRESS from its creation and COMPLETED when no device waits any more. A device goes
NOT_HINTED -> HINTED -> DOWNLOADED -> UPDATED or FAILED (`update_progress.py` changes the state).
"""

import secrets
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    case,
    delete,
    func,
    insert,
    literal,
    select,
    true,
    update,
)

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import PULSE_CHANGES_SHOWN, Limit
from vedette.model.scope import Scope
from vedette.state.db import audit_log
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_updates import UPDATE_JOB, UPDATE_TARGET
from vedette.state.devices.device_list import Device
from vedette.state.devices.update_failures import REFUSED, WAITING, fail_waiting
from vedette.state.sensors.sensor_list import literal_ids
from vedette.state.sensors.sensor_packages import package_of
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import UPDATE_JOBS

UPDATE_JOBS_MAX: Limit[int] = 1_000
"""Stored sensor-update jobs; the oldest finished ones are deleted first."""


FAILURES: Final = ("JOB_CANCELLED", "NO_DATA_FOUND", "JOB_EXPIRED", "JOB_INITIALIZATION")
_HOUR_US: Final = 3_600_000_000
_NO_DEVICE: Final = "device not found"

KIT_TYPES: Final[Mapping[str, str]] = {
    "XP": "windows",
    "WINDOWS": "windows",
    "MAC": "osx",
    "MAC_OSX": "osx",
    **dict.fromkeys(("RHEL", "UBUNTU", "SUSE", "AMAZON_LINUX", "OTHER"), "linux"),
}
"""Maps kit type to operating system."""


class Kit(msgspec.Struct, frozen=True):
    """Package that a job installs on devices of one kit type."""

    version: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Waves:
    """Rollout of a job: each wave covers `percent` of every sensor group. The job is cancelled if
    more than `failures_max` devices refuse the kit; -1 for no limit."""

    percent: int = 100
    failures_max: int = -1


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to create. `missing` are requested ids outside the caller's devices."""

    login_name: str
    kits: Mapping[str, Kit]
    devices: Sequence[Device]
    missing: Sequence[int]
    waves: Waves
    now_us: int
    expires_us: int
    reason: str = ""
    """Written to the audit log."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Progress rate of a job. The remaining time is an estimate, since devices that are off finish
    at any time."""

    per_hour: float
    """Finished devices per hour; 0 if there are none yet."""
    left_s: int | None
    """Estimated time (s) for the waiting devices at this rate; None if unknown."""
    is_late: bool
    """Whether the job expires earlier."""


NO_PACE: Final = Pace(0.0, None, is_late=False)


@dataclass(frozen=True, slots=True)
class RunningJob:
    """Counts of a running job."""

    id: str
    targeted: int
    waiting: int
    failed: int


@dataclass(frozen=True, slots=True)
class UpdateJob:
    """A stored job, with its devices counted by state and listed by failure."""

    id: str
    login_name: str
    status: str
    kits: Mapping[str, Kit]
    created_us: int
    ended_us: int
    states: Mapping[str, int]
    updated: Sequence[int]
    failed: Mapping[str, Sequence[int]]
    expires_us: int = 0
    moved: int = 0
    """Devices that were offered the kit and have finished."""

    def pace(self, now_us: int) -> "Pace":
        """Returns the mean rate since the job began."""
        took_us = (self.ended_us or now_us) - self.created_us
        if not self.moved or took_us <= 0:
            return NO_PACE
        left_us = self.waiting * took_us // self.moved if self.status == "IN_PROGRESS" else 0
        is_late = bool(self.expires_us) and now_us + left_us > self.expires_us
        return Pace(self.moved * _HOUR_US / took_us, left_us // 1_000_000, is_late)

    @property
    def targeted(self) -> int:
        return sum(self.states.values())

    @property
    def waiting(self) -> int:
        return sum(self.states.get(state, 0) for state in WAITING)


@dataclass(frozen=True, slots=True)
class UpdatedDevice:
    """A device of a job."""

    device_id: int
    state: str
    failure: str
    reason: str
    initial_version: str
    updated_version: str
    hinted_us: int
    kit_type: str
    os: str


def kits_for(database: Database, versions: Mapping[str, str]) -> dict[str, Kit]:
    """Maps each kit type to its registered package. Raises BadRequestError for an unknown kit type
    and for a version that is not registered."""
    found = {}
    for kit_type, version in versions.items():
        if kit_type not in KIT_TYPES:
            names = ", ".join(KIT_TYPES)
            raise BadRequestError(
                f"options.sensor_version: {kit_type[:40]!r} is not one of {names}"
            )
        package = package_of(database, KIT_TYPES[kit_type])
        if package is None or package.version != version:
            raise BadRequestError(
                f"options.sensor_version.{kit_type}: unknown kit {version[:40]!r}"
            )
        found[kit_type] = Kit(package.version, package.sha256, package.size)
    if not found:
        raise BadRequestError("options.sensor_version: has no kit")
    return found


def kit_for(kits: Mapping[str, Kit], kit_type: str) -> Kit | None:
    """Returns the kit for a device's kit type; a MAC_OSX kit also serves MAC."""
    also = {"MAC": "MAC_OSX"}.get(kit_type, kit_type)
    return kits.get(kit_type) or kits.get(also)


def create(database: Database, new: NewJob) -> str:
    """Creates a job and returns its id. Raises ConflictError above the quota (`UPDATE_JOBS`)."""
    job_id = secrets.token_hex(12)
    rows = [*_target_rows(job_id, new), *_missing_rows(job_id, new)]
    with database.writing() as connection:
        check_room(connection, UPDATE_JOBS, new.login_name)
        _forget(connection)
        connection.execute(
            insert(UPDATE_JOB).values(
                id=job_id,
                login_name=new.login_name,
                status="IN_PROGRESS",
                kits=msgspec.json.encode(new.kits).decode(),
                created_us=new.now_us,
                expires_us=new.expires_us,
                failures_max=new.waves.failures_max,
            )
        )
        if rows:
            connection.execute(insert(UPDATE_TARGET), rows)
        settle(connection, job_id, new.now_us)
        if new.reason:
            audit_log.complete(connection, "sensor update job", job_id, {"reason": new.reason})
    return job_id


def trial(new: NewJob) -> dict[str, int]:
    """Returns how many devices a job would target, leave waiting, find updated and fail
    immediately."""
    rows = [*_target_rows("", new), *_missing_rows("", new)]
    count = Counter(str(row["state"]) for row in rows)
    states = {"waiting": "NOT_HINTED", "updated": "UPDATED", "failed": "FAILED"}
    return {"targeted": len(rows), **{name: count[state] for name, state in states.items()}}


def _target_rows(job_id: str, new: NewJob) -> list[dict[str, object]]:
    by_group: dict[int, list[Device]] = defaultdict(list)
    for device in new.devices:
        by_group[device.sensor.group_id].append(device)
    return [
        _target_row(job_id, new, device, place * 100 // (len(some) * new.waves.percent))
        for some in by_group.values()
        for place, device in enumerate(some)
    ]


def _target_row(job_id: str, new: NewJob, device: Device, wave: int) -> dict[str, object]:
    sensor, kit = device.sensor, kit_for(new.kits, device.kit_type)
    row = _row(job_id, sensor.id) | {
        "initial_version": sensor.sensor_version,
        "kit_type": device.kit_type,
        "os": device.os,
        "wave": wave,
    }
    if kit is None or not sensor.has_sensor or sensor.uninstalled_us:
        lacks = "no kit of the job matches it" if kit is None else "no sensor on it accepts updates"
        return row | {"state": "FAILED", "failure": "JOB_INITIALIZATION", "reason": lacks}
    if sensor.sensor_version == kit.version:
        return row | {"state": "UPDATED", "updated_version": kit.version}
    return row


def _missing_rows(job_id: str, new: NewJob) -> list[dict[str, object]]:
    failed = {"state": "FAILED", "failure": "NO_DATA_FOUND", "reason": _NO_DEVICE}
    return [_row(job_id, one) | failed for one in new.missing]


def _row(job_id: str, device_id: int) -> dict[str, object]:
    """Returns a row with every column: rows of one INSERT must have the same columns."""
    texts = ("failure", "reason", "initial_version", "updated_version", "kit_type", "os")
    row: dict[str, object] = dict.fromkeys(texts, "")
    numbers = {"job_id": job_id, "device_id": device_id, "state": "NOT_HINTED", "wave": 0}
    return row | numbers


def _forget(connection: Connection) -> None:
    old = (
        select(UPDATE_JOB.c.id)
        .where(UPDATE_JOB.c.status != "IN_PROGRESS")
        .order_by(UPDATE_JOB.c.created_us.desc())
        .offset(UPDATE_JOBS_MAX - 1)
    )
    for job_id in connection.scalars(old).all():
        connection.execute(delete(UPDATE_TARGET).where(UPDATE_TARGET.c.job_id == job_id))
        connection.execute(delete(UPDATE_JOB).where(UPDATE_JOB.c.id == job_id))


def settle(connection: Connection, job_id: str, now_us: int) -> None:
    """Advances a job after its devices changed: starts the next wave, cancels it after too many
    failures, or completes it."""
    of_job = UPDATE_JOB.c.id == job_id
    job = connection.execute(select(UPDATE_JOB).where(of_job).with_for_update()).one()
    if job.status != "IN_PROGRESS":
        return
    failed = (UPDATE_TARGET.c.job_id == job_id) & UPDATE_TARGET.c.failure.in_((REFUSED,))
    if job.failures_max >= 0:
        count = connection.scalar(select(func.count()).select_from(UPDATE_TARGET).where(failed))
        if (count or 0) > job.failures_max:
            _end(connection, job_id, now_us, "CANCELLED")
            return
    waiting = (UPDATE_TARGET.c.job_id == job_id) & UPDATE_TARGET.c.state.in_(WAITING)
    # Stop at the first waiting device of the wave. The full scan below then runs once per wave, not
    # once per device.
    in_wave = select(literal(1)).where(waiting, UPDATE_TARGET.c.wave == job.wave).limit(1)
    if connection.scalar(in_wave) is not None:
        return
    wave = connection.scalar(select(func.min(UPDATE_TARGET.c.wave)).where(waiting))
    if wave is None:
        values = {"status": "COMPLETED", "ended_us": now_us}
        connection.execute(update(UPDATE_JOB).where(of_job).values(values))
    elif wave != job.wave:
        connection.execute(update(UPDATE_JOB).where(of_job).values(wave=wave))


def _end(connection: Connection, job_id: str, now_us: int, status: str) -> None:
    """Ends a job without failing its waiting devices (`fail_waiting` does): a check-in that ends a
    job must not pay for all other devices."""
    connection.execute(
        update(UPDATE_JOB)
        .where(UPDATE_JOB.c.id == job_id, UPDATE_JOB.c.status == "IN_PROGRESS")
        .values(status=status, ended_us=now_us)
    )


def cancel(database: Database, scope: Scope, job_id: str, now_us: int, reason: str = "") -> None:
    """Cancels a job and writes `reason` into the audit log.

    Raises NotFoundError for a job without a device in the scope, BadRequestError for a job that has
    ended (docs/cloud-devices.md#sensor-updates).
    """
    with database.writing() as connection:
        job = _found(connection, scope, job_id)
        if job["status"] != "IN_PROGRESS":
            raise BadRequestError(f"the job is already {job['status']}")
        _end(connection, job_id, now_us, "CANCELLED")
        if reason:
            audit_log.complete(connection, "sensor update job", job_id, {"reason": reason})
    fail_waiting(database)


def groups_of(database: Database, job_id: str) -> frozenset[int]:
    """Returns the current sensor groups of a job's devices."""
    query = (
        select(SENSOR.c.group_id)
        .join(UPDATE_TARGET, UPDATE_TARGET.c.device_id == SENSOR.c.id)
        .where(UPDATE_TARGET.c.job_id == job_id, UPDATE_TARGET.c.failure != "NO_DATA_FOUND")
    )
    with database.reading() as connection:
        return frozenset(connection.scalars(query))


def expire(database: Database, now_us: int) -> None:
    """Ends the jobs that have expired."""
    due = select(UPDATE_JOB.c.id).where(
        UPDATE_JOB.c.status == "IN_PROGRESS", UPDATE_JOB.c.expires_us <= now_us
    )
    with database.reading() as connection:
        jobs = connection.scalars(due).all()
    for job_id in jobs:
        with database.writing() as connection:
            _end(connection, job_id, now_us, "COMPLETED")
    fail_waiting(database)


def all_jobs(database: Database, scope: Scope) -> list[UpdateJob]:
    """Returns the jobs with a device in the scope, newest first, restricted to the scope's devices.
    An unlimited scope also gets jobs without devices."""
    query = select(UPDATE_JOB).order_by(UPDATE_JOB.c.created_us.desc(), UPDATE_JOB.c.id)
    with database.reading() as connection:
        rows = connection.execute(query).mappings().all()
        found = [_job(connection, scope, row) for row in rows]
    return [one for one in found if one.targeted or scope.sees_all]


def running(database: Database, scope: Scope) -> list[RunningJob]:
    """Returns the running jobs with a device in the scope, newest first, with counts of the scope's
    devices."""
    target = UPDATE_TARGET.c
    is_waiting = case((target.state.in_(WAITING), 1), else_=0)
    has_failed = case((target.state == "FAILED", 1), else_=0)
    query = (
        select(UPDATE_JOB.c.id, func.count(), func.sum(is_waiting), func.sum(has_failed))
        .join(UPDATE_TARGET, target.job_id == UPDATE_JOB.c.id)
        .where(UPDATE_JOB.c.status == "IN_PROGRESS", _seen(scope))
        .group_by(UPDATE_JOB.c.id)
        .order_by(func.max(UPDATE_JOB.c.created_us).desc(), UPDATE_JOB.c.id)
        .limit(PULSE_CHANGES_SHOWN)
    )
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return [RunningJob(row[0], *map(int, row[1:])) for row in rows]


def get(database: Database, scope: Scope, job_id: str) -> UpdateJob:
    """Raises NotFoundError, also for a job without a device in the scope."""
    with database.reading() as connection:
        return _job(connection, scope, _found(connection, scope, job_id))


def targets(database: Database, scope: Scope, job_id: str) -> list[UpdatedDevice]:
    """Returns the devices of a job within the scope, sorted by id. Raises NotFoundError."""
    columns = [UPDATE_TARGET.c[name] for name in UpdatedDevice.__slots__]
    query = select(*columns).where(_condition(scope, job_id)).order_by(UPDATE_TARGET.c.device_id)
    with database.reading() as connection:
        _found(connection, scope, job_id)
        return [UpdatedDevice(*row) for row in connection.execute(query).all()]


def _found(connection: Connection, scope: Scope, job_id: str) -> RowMapping:
    query = select(UPDATE_JOB).where(UPDATE_JOB.c.id == job_id)
    row = connection.execute(query).mappings().first()
    is_seen = scope.sees_all or bool(connection.scalar(_within(scope, job_id)))
    if row is None or not is_seen:
        raise NotFoundError(f"job {job_id[:64]!r} not found")
    return row


def _condition(scope: Scope, job_id: str) -> ColumnElement[bool]:
    return (UPDATE_TARGET.c.job_id == job_id) & _seen(scope)


def _seen(scope: Scope) -> ColumnElement[bool]:
    if scope.sensors is None:
        return true()
    return UPDATE_TARGET.c.device_id.in_(literal_ids(scope.sensors))


def _within(scope: Scope, job_id: str) -> Select[int]:
    return select(func.count()).select_from(UPDATE_TARGET).where(_condition(scope, job_id))


def _job(connection: Connection, scope: Scope, row: RowMapping) -> UpdateJob:
    states: dict[str, int] = defaultdict(int)
    updated: list[int] = []
    failed: dict[str, list[int]] = {name: [] for name in FAILURES}
    moved = 0
    target = UPDATE_TARGET.c
    query = (
        select(target.device_id, target.state, target.failure, target.hinted_us)
        .where(_condition(scope, row["id"]))
        .order_by(UPDATE_TARGET.c.device_id)
    )
    for device_id, state, failure, hinted_us in connection.execute(query).all():
        states[state] += 1
        moved += hinted_us > 0 and state not in WAITING and failure not in FAILURES
        if state == "UPDATED":
            updated.append(device_id)
        elif state == "FAILED":
            failed.setdefault(failure, []).append(device_id)
    return UpdateJob(
        row["id"],
        row["login_name"],
        row["status"],
        msgspec.json.decode(row["kits"], type=dict[str, Kit]),
        row["created_us"],
        row["ended_us"],
        dict(states),
        updated,
        failed,
        row["expires_us"],
        moved,
    )
