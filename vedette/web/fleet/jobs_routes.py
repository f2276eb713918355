"""Jobs of the caller: changes of alerts, exports (docs/cloud-alerts.md#jobs)."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import Principal
from vedette.model.rights import permission
from vedette.model.rights.permission import DEVICE_READ, groups_with
from vedette.state.jobs import cloud_jobs
from vedette.state.jobs.cloud_jobs import CloudJob
from vedette.web.fleet.device_export_routes import device_export
from vedette.web.http.organization import caller_of, organization, owner_of
from vedette.web.http.responses import json_answer
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.json.wire_values import milli_instant

router = Router(tags=["cloud jobs"])

Here = Annotated[Services, Depends(services)]
Org = Annotated[str, Depends(organization)]
Caller = Annotated[Principal, Depends(caller_of)]

_BASE: Final = "/jobs/v1/orgs/{org_key}/jobs"


@router.get(_BASE, right=permission.JOBS_READ, summary="List the caller's jobs")
def listed(here: Here, org: Org, caller: Caller) -> Response:
    """Returns the caller's jobs, newest first."""
    found = cloud_jobs.of_owner(here.database, owner_of(caller))
    return json_answer({"num_found": len(found), "results": [job_body(one, org) for one in found]})


@router.get(f"{_BASE}/{{job_id}}", right=permission.JOBS_READ, summary="Get a job of the caller")
def one(job_id: str, here: Here, org: Org, caller: Caller) -> Response:
    """Returns the job. `status` is CREATED, COMPLETED or FAILED."""
    return json_answer(job_body(_job(here, caller, job_id), org))


@router.get(
    f"{_BASE}/{{job_id}}/progress",
    right=permission.JOBS_READ,
    summary="Get the progress of a job",
)
def progress(job_id: str, here: Here, caller: Caller) -> Response:
    return json_answer(_progress(_job(here, caller, job_id)))


@router.get(
    f"{_BASE}/{{job_id}}/download",
    right=permission.JOBS_READ,
    summary="Download the result of a job",
)
def download(job_id: str, here: Here, caller: Caller) -> Response:
    """Returns the CSV of an export, built at download time, with devices that were visible to the
    job and are still visible to the caller. Returns 404 for a job without a download."""
    job = _job(here, caller, job_id)
    if job.kind != "device_export":
        raise NotFoundError(f"job {job.id} has nothing to download")
    return device_export(here, job, groups_with(caller, DEVICE_READ))


def job_body(job: CloudJob, org: str) -> dict[str, Any]:
    return {
        "id": job.id,
        "org_key": org,
        "type": job.kind,
        "owner_id": 0,
        "connector_id": job.owner,
        "status": job.status,
        "errors": job.errors,
        "create_time": milli_instant(job.created_us),
        "last_update_time": milli_instant(job.updated_us),
        "job_parameters": {},
        "progress": _progress(job),
    }


def _progress(job: CloudJob) -> dict[str, Any]:
    return {
        "num_total": job.total,
        "num_completed": job.completed,
        "message": "QUEUED" if job.status == "CREATED" else "FINISHED",
    }


def _job(here: Services, caller: Principal, text: str) -> CloudJob:
    try:
        number = bounded_number("job_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"job {text[:40]!r} not found") from None
    return cloud_jobs.get(here.database, number, owner_of(caller))
