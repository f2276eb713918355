"""Jobs that change the workflow of alerts, started by callers of search v7.

The timer of one server runs a job. The job may be killed at any point: a repetition changes nothing
twice, since `change_alerts` skips alerts that already have the values.
"""

import secrets
from dataclasses import dataclass

import msgspec
import structlog

from vedette.alerting.triage import Analyst, Wanted, change_alerts_at_once, ids_condition
from vedette.clock import Clock
from vedette.errors import VedetteError
from vedette.limits import ALERT_NOTES_CHARS_MAX
from vedette.model.scope import Scope
from vedette.state.db.author import Author, acting_as
from vedette.state.db.database import Database
from vedette.state.jobs import cloud_jobs
from vedette.state.jobs.cloud_jobs import CloudJob
from vedette.state.policy import alert_workflow
from vedette.state.policy.alert_workflow import Note, Workflow
from vedette.store.engine.client import Engine

log = structlog.get_logger(__name__)

_WORKERS = "workflow jobs"

STATUSES = {"OPEN": "Unresolved", "IN_PROGRESS": "In Progress", "CLOSED": "Resolved"}
"""Maps workflow status to alert status; a closed alert with FALSE_POSITIVE becomes `False
Positive`."""


class WorkflowRequest(msgspec.Struct, frozen=True):
    """Alert ids of a job, and the changes to make."""

    ids: list[str]
    status: str = ""
    closure_reason: str = ""
    determination: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowJobs:
    """Runs the waiting workflow jobs, on one server of a cluster at a time."""

    engine: Engine
    database: Database
    clock: Clock

    def run(self) -> None:
        """Runs all waiting jobs; marks jobs that fail."""
        if not cloud_jobs.waiting(self.database):
            return
        with self.database.exclusive(_WORKERS):  # servers of a cluster take turns
            for job in cloud_jobs.waiting(self.database):
                if job.kind == "alert_workflow":
                    self._do(job)

    def _do(self, job: CloudJob) -> None:
        request = msgspec.json.decode(job.request, type=WorkflowRequest)
        try:
            with acting_as(Author("token", job.author)):
                self._change(job, request)
        except VedetteError as error:
            if error.reason in ("unavailable", "deadline"):
                raise  # the next round retries it
            log.warning("a workflow job failed", job=job.id, reason=error.reason)
            now_us = self.clock.now_us()
            cloud_jobs.finish(self.database, job.id, now_us, errors=error.message)
            return
        cloud_jobs.finish(self.database, job.id, self.clock.now_us(), completed=len(request.ids))

    def _change(self, job: CloudJob, request: WorkflowRequest) -> None:
        now_us = self.clock.now_us()
        by = Analyst(0, job.author, now_us)
        if wanted := _wanted(request):
            change_alerts_at_once(
                self.engine,
                self.database,
                Scope(None),  # the ids were selected within the caller's scope
                ids_condition(request.ids),
                f"job {job.id}, {len(request.ids)} ids",
                wanted,
                by,
            )
        workflow = Workflow(request.closure_reason, request.determination, job.author, now_us)
        with self.database.writing() as connection:
            alert_workflow.keep_workflow(connection, request.ids, workflow)
            for alert_id in request.ids if request.note else ():
                note = Note(secrets.token_hex(16), request.note, job.author, now_us)
                alert_workflow.insert_note(connection, alert_id, note)


def _wanted(request: WorkflowRequest) -> Wanted | None:
    """Returns the change of the alerts themselves, or None."""
    status = STATUSES.get(request.status)
    if request.determination == "FALSE_POSITIVE" and request.status == "CLOSED":
        status = "False Positive"
    notes = request.note[:ALERT_NOTES_CHARS_MAX] or None
    return None if status is None and notes is None else Wanted(status=status, notes=notes)
