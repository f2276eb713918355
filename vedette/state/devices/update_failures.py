"""Fails devices that still wait in sensor-update jobs that have ended.

Ending a job updates one row. Its devices follow here in transactions of bounded size, since a job
may contain all devices of the server.
"""

from typing import Any, Final

from sqlalchemy import Connection, func, literal, select, update

from vedette.limits import STATE_TRANSACTION_ROWS_MAX
from vedette.state.db.database import Database
from vedette.state.db.schema_updates import UPDATE_JOB, UPDATE_TARGET

WAITING: Final = ("NOT_HINTED", "HINTED", "DOWNLOADED")
"""States of a device that waits for its update."""

REFUSED: Final = "UPDATE_REFUSED"
"""Failure code outside the API's list: the sensor refused the kit."""


def fail_waiting(database: Database) -> None:
    """Fails the waiting devices of all ended jobs, at most `STATE_TRANSACTION_ROWS_MAX` rows per
    transaction."""
    ended = (
        select(UPDATE_JOB.c.id, UPDATE_JOB.c.status, UPDATE_JOB.c.failures_max)
        .where(UPDATE_JOB.c.status != "IN_PROGRESS")
        .where(
            select(literal(1))
            .where(UPDATE_TARGET.c.job_id == UPDATE_JOB.c.id, UPDATE_TARGET.c.state.in_(WAITING))
            .exists()
        )
    )
    with database.reading() as connection:
        jobs = connection.execute(ended).all()
        failures = {job.id: _failure(connection, job) for job in jobs}
    for job_id, failed in failures.items():
        while _fail_some(database, job_id, failed):
            continue


def _failure(connection: Connection, job: Any) -> tuple[str, str]:
    """Returns (failure code, reason in words) for the waiting devices of an ended job."""
    if job.status != "CANCELLED":
        return "JOB_EXPIRED", "the device did not update in time"
    refused = select(func.count()).where(
        UPDATE_TARGET.c.job_id == job.id, UPDATE_TARGET.c.failure == REFUSED
    )
    is_stopped = 0 <= job.failures_max < (connection.scalar(refused) or 0)
    return "JOB_CANCELLED", "too many failures" if is_stopped else "the job was cancelled"


def _fail_some(database: Database, job_id: str, failed: tuple[str, str]) -> bool:
    """Fails up to `STATE_TRANSACTION_ROWS_MAX // 2` devices. Returns whether more may remain."""
    of_job, most = UPDATE_TARGET.c.job_id == job_id, STATE_TRANSACTION_ROWS_MAX // 2
    waiting = select(UPDATE_TARGET.c.device_id).where(of_job, UPDATE_TARGET.c.state.in_(WAITING))
    with database.writing() as connection:
        some = connection.scalars(waiting.order_by(UPDATE_TARGET.c.device_id).limit(most)).all()
        connection.execute(
            update(UPDATE_TARGET)
            .where(of_job, UPDATE_TARGET.c.device_id.in_(some))
            .values(state="FAILED", failure=failed[0], reason=failed[1])
        )
    return len(some) == most
