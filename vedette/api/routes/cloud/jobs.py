"""Jobs of the caller: changes of alerts, exports (docs/cloud.md#jobs)."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.cloud.device_export import device_export
from vedette.api.routes.cloud.organization import caller_of, organization, owner_of
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.schemas.wire_values import milli_instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.permission import DEVICE_READ, groups_with
from vedette.model.principal import Principal
from vedette.state.jobs import cloud_jobs
from vedette.state.jobs.cloud_jobs import CloudJob

router = Router(tags=["cloud jobs"])

Here = Annotated[Services, Depends(services)]
Org = Annotated[str, Depends(organization)]
Caller = Annotated[Principal, Depends(caller_of)]

_BASE: Final = "/jobs/v1/orgs/{org_key}/jobs"


@router.get(_BASE, summary="The caller's jobs")
def listed(here: Here, org: Org, caller: Caller) -> Response:
    """The newest first."""
    found = cloud_jobs.of_owner(here.database, owner_of(caller))
    return json_answer({"num_found": len(found), "results": [job_body(one, org) for one in found]})


@router.get(f"{_BASE}/{{job_id}}", summary="A job of the caller")
def one(job_id: str, here: Here, org: Org, caller: Caller) -> Response:
    """`status` is CREATED, COMPLETED or FAILED."""
    return json_answer(job_body(_job(here, caller, job_id), org))


@router.get(f"{_BASE}/{{job_id}}/progress", summary="How far a job of the caller is")
def progress(job_id: str, here: Here, caller: Caller) -> Response:
    return json_answer(_progress(_job(here, caller, job_id)))


@router.get(f"{_BASE}/{{job_id}}/download", summary="What a job of the caller made")
def download(job_id: str, here: Here, caller: Caller) -> Response:
    """The CSV of an export, made when it is asked for, of what the job may see and the caller still
    may. 404 for a job that makes nothing."""
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
        raise NotFoundError(f"there is no job {text[:40]!r}") from None
    return cloud_jobs.get(here.database, number, owner_of(caller))
