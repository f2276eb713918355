"""Sensor-update jobs (docs/cloud.md#sensor-updates)."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.cloud.device_export import csv_answer
from vedette.api.routes.cloud.organization import caller_of, organization
from vedette.api.schemas.cloud.update_job import (
    JobWanted,
    job_body,
    job_status_body,
    job_wanted,
    sensors_body,
    sensors_csv,
)
from vedette.api.schemas.parameters import described, flag
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import DEVICE_ROWS_MAX
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.devices import device_list, update_jobs
from vedette.state.devices.device_list import Device
from vedette.state.devices.update_jobs import NewJob

router = Router(tags=["cloud sensor updates"])

Here = Annotated[Services, Depends(services)]
Org = Annotated[str, Depends(organization)]
Caller = Annotated[Principal, Depends(caller_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

BASE: Final = "/sus/v2/orgs/{org_key}/jobs"
_DAY_US: Final = 24 * 3600 * 1_000_000
_TYPE: Final = described(("job_type", "ENDPOINT, the default and only one"))


@router.post(BASE, summary="Update the sensors of devices", openapi_extra=_TYPE)
def create(
    request: Request, here: Here, org: Org, scope: Within, caller: Caller, body: Body
) -> Response:
    """Takes `action_type` (UPDATE_SENSOR_VERSION), `options.sensor_version` (kit type to version),
    and either `device_id` (a list) or `search_definition` (`criteria`, `query`, `sort`, `rows`,
    `start`). With `dry_run` nothing changes; the answer counts. `options.waves` (`percent` of a
    sensor group, `failures_max`) rolls out in steps."""
    _check_type(request)
    now_us = here.clock.now_us()
    wanted = job_wanted(body, now_us)
    kits = update_jobs.kits_for(here.database, wanted.versions)
    devices, missing = _selected(here, scope, wanted, now_us)
    if not devices and not scope.sees_all:
        raise NotFoundError("none of the devices is one that you may update")
    new = NewJob(
        caller.name,
        kits,
        devices,
        missing,
        wanted.waves,
        now_us,
        now_us + here.settings.update_job_days * _DAY_US,
    )
    if flag_member(body, "dry_run"):
        return json_answer(
            {"success": True, "message": "nothing changed", **update_jobs.trial(new)}
        )
    job_id = update_jobs.create(here.database, new)
    here.update_targets.refresh()
    return _changed(here, org, scope, job_id, "the job was created")


def _selected(
    here: Services, scope: Scope, wanted: JobWanted, now_us: int
) -> tuple[list[Device], list[int]]:
    """The devices of a new job, and ids that name none."""
    if wanted.device_ids is not None:
        known = device_list.known(here.database, scope, wanted.device_ids, now_us)
        missing = [one for one in wanted.device_ids if one not in known]
        return [known[one] for one in wanted.device_ids if one in known], missing
    assert wanted.search is not None
    page = wanted.page
    found = device_list.search(here.database, scope, wanted.search, page.sorts, now_us)
    return found[page.start : page.start + min(page.rows, DEVICE_ROWS_MAX)], []


@router.get(BASE, summary="All sensor-update jobs", openapi_extra=_TYPE)
def listed(request: Request, here: Here, scope: Within) -> Response:
    """The newest first; those that have a device of the caller's groups."""
    _check_type(request)
    found = update_jobs.all_jobs(here.database, scope)
    return json_answer([job_status_body(one) for one in found])


@router.get(f"{BASE}/{{job_id}}", summary="A sensor-update job")
def one(job_id: str, here: Here, org: Org, scope: Within) -> Response:
    """With the states of its devices."""
    job = update_jobs.get(here.database, scope, job_id)
    targets = update_jobs.targets(here.database, scope, job_id)
    return json_answer(job_body(job, org, targets))


@router.get(
    f"{BASE}/{{job_id}}/sensors",
    summary="The devices of a sensor-update job",
    openapi_extra=described(
        ("format", "json, the default, or csv"),
        ("download", "true: as a file, by Content-Disposition"),
    ),
)
def sensors(job_id: str, request: Request, here: Here, scope: Within) -> Response:
    """CSV has the columns Device ID, Update Status, Failure Reason, Initial Device Version, Update
    Device Version, Initiated Update Time UTC, OS."""
    wanted = request.query_params.get("format", "json").lower()
    if wanted not in ("json", "csv"):
        raise BadRequestError("format: must be json or csv")
    is_download = flag(request.query_params, "download")
    found = update_jobs.targets(here.database, scope, job_id)
    if is_download or wanted == "csv":
        audit_trail.record(here.database, Entry("read", "device export", f"update job {job_id}"))
    if wanted == "csv":
        return csv_answer(sensors_csv(found), "sensors.csv" if is_download else "")
    answer = json_answer(sensors_body(found))
    if is_download:
        answer.headers["Content-Disposition"] = 'attachment; filename="sensors.json"'
    return answer


@router.post(f"{BASE}/{{job_id}}/status", summary="Cancel a sensor-update job")
def cancel(job_id: str, here: Here, org: Org, scope: Within, body: Body) -> Response:
    """Takes `status`: CANCELLED. Devices that wait have failed then; those that are updated stay
    so."""
    if body.get("status") != "CANCELLED":
        raise BadRequestError("status: must be CANCELLED")
    update_jobs.cancel(here.database, scope, job_id, here.clock.now_us())
    here.update_targets.refresh()
    return _changed(here, org, scope, job_id, "the job was cancelled")


def _changed(here: Services, org: str, scope: Scope, job_id: str, message: str) -> Response:
    job = update_jobs.get(here.database, scope, job_id)
    targets = update_jobs.targets(here.database, scope, job_id)
    body = {"success": True, "message": message, "job": job_body(job, org, targets)}
    return json_answer(body)


def flag_member(body: dict[str, Any], name: str) -> bool:
    """A member that is true or false, or not given. Raises BadRequestError."""
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise BadRequestError(f"{name}: must be true or false")
    return value


def _check_type(request: Request) -> None:
    if request.query_params.get("job_type", "ENDPOINT") != "ENDPOINT":
        raise BadRequestError("job_type: must be ENDPOINT")
