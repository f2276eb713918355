"""Advances devices of update jobs when their sensors check in, fetch the kit, or run it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, bindparam, select, update

from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.db.schema_updates import UPDATE_JOB, UPDATE_TARGET
from vedette.state.devices.update_failures import REFUSED, WAITING
from vedette.state.devices.update_jobs import Kit, kit_for, settle

UPDATE_JOBS_ADVANCED_MAX: Limit[int] = 5
"""Update jobs that one check-in advances, newest first; the next check-in advances further ones."""

UPDATE_REASON_CHARS_MAX: Limit[int] = 300
"""Characters of a sensor's reason for refusing an update."""


_REFUSAL: Final = "update: UpdateError: "
"""Prefix of an update refusal in a sensor's health message."""


_TARGETS: Final = (
    select(
        UPDATE_TARGET.c.job_id,
        UPDATE_TARGET.c.state,
        UPDATE_TARGET.c.kit_type,
        UPDATE_TARGET.c.initial_version,
        UPDATE_TARGET.c.wave,
        UPDATE_JOB.c.kits,
        UPDATE_JOB.c.wave.label("job_wave"),
    )
    .join(UPDATE_JOB, UPDATE_JOB.c.id == UPDATE_TARGET.c.job_id)
    .where(
        UPDATE_TARGET.c.device_id == bindparam("device"),
        UPDATE_TARGET.c.state.in_(WAITING),
        UPDATE_JOB.c.status == "IN_PROGRESS",
    )
    .order_by(UPDATE_JOB.c.created_us.desc())
    .limit(UPDATE_JOBS_ADVANCED_MAX)
)
"""Jobs in which a device waits, newest first. Built once: building the query takes longer than
running it, and all devices of a job run it."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """The part of a check-in that concerns updates."""

    device_id: int
    version: str
    health_message: str
    now_us: int


class UpdateTargets:
    """In-memory set of devices that wait for an update, consulted at each check-in. Safe to share
    between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: frozenset[int] = frozenset()

    def waits(self, device_id: int) -> bool:
        return device_id in self._waiting

    def refresh(self) -> None:
        """Rereads the set. Called every two seconds and after creating a job."""
        running = select(UPDATE_JOB.c.id).where(UPDATE_JOB.c.status == "IN_PROGRESS")
        query = select(UPDATE_TARGET.c.device_id).where(
            UPDATE_TARGET.c.job_id.in_(running), UPDATE_TARGET.c.state.in_(WAITING)
        )
        with self._database.reading() as connection:
            self._waiting = frozenset(connection.scalars(query))


def advance(connection: Connection, sighting: Sighting) -> Kit | None:
    """Advances the waiting targets of a device that checked in. Returns the kit that it should
    install now, from its newest job."""
    wanted: Kit | None = None
    for row in _waiting(connection, sighting.device_id):
        kit = kit_for(msgspec.json.decode(row.kits, type=dict[str, Kit]), row.kit_type)
        values: dict[str, object] = {}
        refusal = _refusal(sighting.health_message)
        if kit is None:
            values = {"state": "FAILED", "failure": "JOB_INITIALIZATION"}
        elif _number(sighting.version) >= _number(kit.version):
            values = {"state": "UPDATED", "updated_version": sighting.version}
        elif refusal and row.state != "NOT_HINTED":
            values = {"state": "FAILED", "failure": REFUSED, "reason": refusal}
        elif row.wave <= row.job_wave:
            wanted = wanted or kit
            if row.state == "NOT_HINTED":
                values = {"state": "HINTED", "hinted_us": sighting.now_us}
                if not row.initial_version:
                    values["initial_version"] = sighting.version
        if values:
            _set(connection, row.job_id, sighting.device_id, values)
        if values.get("state") in ("UPDATED", "FAILED"):
            settle(connection, row.job_id, sighting.now_us)
    return wanted


def note_download(connection: Connection, device_id: int, sha256: str) -> None:
    """Records that a device fetches a kit."""
    for row in _waiting(connection, device_id):
        kit = kit_for(msgspec.json.decode(row.kits, type=dict[str, Kit]), row.kit_type)
        if kit is not None and kit.sha256 == sha256 and row.state == "HINTED":
            _set(connection, row.job_id, device_id, {"state": "DOWNLOADED"})


def _waiting(connection: Connection, device_id: int) -> Sequence[Any]:
    return connection.execute(_TARGETS, {"device": device_id}).all()


def _set(connection: Connection, job_id: str, device_id: int, values: dict[str, object]) -> None:
    connection.execute(
        update(UPDATE_TARGET)
        .where(UPDATE_TARGET.c.job_id == job_id, UPDATE_TARGET.c.device_id == device_id)
        .values(values)
    )


def _refusal(health_message: str) -> str:
    """Returns the sensor's reason for refusing an update; "" if the health message contains
    none."""
    _, found, rest = health_message.partition(_REFUSAL)
    return rest.partition("; ")[0][:UPDATE_REASON_CHARS_MAX] if found else ""


def _number(version: str) -> tuple[int, ...]:
    """Returns a version as comparable numbers; () for an invalid version, which sorts first."""
    parts = version.split(".")
    if not all(part.isascii() and part.isdecimal() and len(part) <= 9 for part in parts):
        return ()
    numbers = [int(part) for part in parts]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
