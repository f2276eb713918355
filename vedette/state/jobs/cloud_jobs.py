"""Background jobs that callers of the cloud side start and poll: changes of many alerts, exports.

A job belongs to its caller and keeps the scope that the caller had at its start.
"""

from dataclasses import dataclass
from typing import Literal

import msgspec
from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.model.rights.permission import Groups
from vedette.state.db.database import Database
from vedette.state.db.schema_cloud_jobs import CLOUD_JOB
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import CLOUD_JOBS

CLOUD_JOBS_PER_OWNER_MAX: Limit[int] = 1_000
"""Stored jobs of one caller; the newest are retained."""


JobKind = Literal["alert_workflow", "device_export"]
JobStatus = Literal["CREATED", "COMPLETED", "FAILED"]


@dataclass(frozen=True, slots=True)
class CloudJob:
    """A stored job. `request` is JSON in a form that depends on `kind`."""

    id: int
    kind: JobKind
    owner: str
    author: str
    request: str
    groups: Groups
    status: JobStatus
    total: int
    completed: int
    errors: str
    created_us: int
    updated_us: int


def add(
    database: Database,
    kind: JobKind,
    *,
    owner: str,
    author: str,
    request: str,
    groups: Groups,
    now_us: int,
    status: JobStatus = "CREATED",
    total: int = 0,
) -> int:
    """Adds a job and returns its id. Deletes the owner's oldest finished jobs. Raises ConflictError
    above the quota (`CLOUD_JOBS`)."""
    values = {
        "kind": kind,
        "owner": owner,
        "author": author,
        "request": request,
        "groups": msgspec.json.encode(None if groups is None else sorted(groups)).decode(),
        "status": status,
        "total": total,
        "completed": total if status == "COMPLETED" else 0,
        "created_us": now_us,
        "updated_us": now_us,
    }
    with database.writing() as connection:
        check_room(connection, CLOUD_JOBS, None, CLOUD_JOB.c.owner == owner)
        statement = insert(CLOUD_JOB).values(values).returning(CLOUD_JOB.c.id)
        job_id: int = connection.execute(statement).scalar_one()
        _forget(connection, owner)
    return job_id


def _forget(connection: Connection, owner: str) -> None:
    old = (
        select(CLOUD_JOB.c.id)
        .where(CLOUD_JOB.c.owner == owner, CLOUD_JOB.c.status != "CREATED")
        .order_by(CLOUD_JOB.c.id.desc())
        .offset(CLOUD_JOBS_PER_OWNER_MAX)
    )
    ids = connection.scalars(old).all()
    if ids:
        connection.execute(delete(CLOUD_JOB).where(CLOUD_JOB.c.id.in_(ids)))


def get(database: Database, job_id: int, owner: str) -> CloudJob:
    """Returns a job of the owner. Raises NotFoundError, also for another owner's job."""
    query = select(CLOUD_JOB).where(CLOUD_JOB.c.id == job_id, CLOUD_JOB.c.owner == owner)
    with database.reading() as connection:
        row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"job {job_id} not found")
    return _job(row)


def of_owner(database: Database, owner: str) -> list[CloudJob]:
    """Returns the owner's jobs, newest first."""
    query = select(CLOUD_JOB).where(CLOUD_JOB.c.owner == owner).order_by(CLOUD_JOB.c.id.desc())
    with database.reading() as connection:
        rows = connection.execute(query.limit(CLOUD_JOBS_PER_OWNER_MAX)).mappings().all()
    return [_job(row) for row in rows]


def waiting(database: Database) -> list[CloudJob]:
    """Returns the unfinished jobs in order of creation."""
    query = select(CLOUD_JOB).where(CLOUD_JOB.c.status == "CREATED").order_by(CLOUD_JOB.c.id)
    with database.reading() as connection:
        return [_job(row) for row in connection.execute(query).mappings().all()]


def finish(
    database: Database, job_id: int, now_us: int, *, completed: int = 0, errors: str = ""
) -> None:
    """Marks a job as completed, or as failed if there are errors."""
    values = {
        "status": "FAILED" if errors else "COMPLETED",
        "total": completed,
        "completed": completed,
        "errors": errors,
        "updated_us": now_us,
    }
    with database.writing() as connection:
        connection.execute(update(CLOUD_JOB).where(CLOUD_JOB.c.id == job_id).values(values))


def _job(row: RowMapping) -> CloudJob:
    groups = msgspec.json.decode(row["groups"], type=list[int] | None)
    values = {**row, "groups": None if groups is None else frozenset(groups)}
    return CloudJob(**values)
