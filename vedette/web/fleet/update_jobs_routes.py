"""Sensor update jobs (docs/cloud-devices.md#sensor-updates)."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import DEVICE_ROWS_MAX
from vedette.model.principal import Principal
from vedette.model.rights import permission
from vedette.model.rights.authorization import Deed, of_groups, require
from vedette.model.scope import Scope
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.devices import device_list, update_jobs
from vedette.state.devices.device_list import Device
from vedette.state.devices.update_jobs import NewJob
from vedette.web.fleet.device_export_routes import csv_answer
from vedette.web.fleet.sensor_changes_json import order_reason
from vedette.web.fleet.update_jobs_json import (
    JobWanted,
    job_body,
    job_status_body,
    job_wanted,
    sensors_body,
    sensors_csv,
)
from vedette.web.http.access import scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.organization import caller_of, organization
from vedette.web.http.responses import json_answer
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import flag_of
from vedette.web.json.bulk_selection import allows_all, check_selection
from vedette.web.json.parameters import described, flag

router = Router(tags=["cloud sensor updates"])

Here = Annotated[Services, Depends(services)]
Org = Annotated[str, Depends(organization)]
Caller = Annotated[Principal, Depends(caller_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

BASE: Final = "/sus/v2/orgs/{org_key}/jobs"
_DAY_US: Final = 24 * 3600 * 1_000_000
_TYPE: Final = described(("job_type", "ENDPOINT, the default and only one"))


@router.post(
    BASE,
    right=permission.KITS_EXECUTE,
    summary="Update sensors of devices",
    openapi_extra=_TYPE,
)
def create(
    request: Request, here: Here, org: Org, scope: Within, caller: Caller, body: Body
) -> Response:
    """Body: `action_type` (UPDATE_SENSOR_VERSION), `options.sensor_version` (kit type to version),
    and either `device_id` (a list) or `search_definition` (`criteria`, `query`, `sort`, `rows`,
    `start`). A search that matches every device needs `allow_all`. With `dry_run` nothing changes
    and the response has the counts. `options.waves` (`percent` of a sensor group, `failures_max`)
    rolls out in steps. The audit log stores `reason`."""
    _check_type(request)
    now_us = here.clock.now_us()
    wanted = job_wanted(body, now_us)
    is_trial, is_allowed = flag_of(body, "dry_run") is True, allows_all(body)
    selects_all = wanted.search is not None and wanted.search.selects_all
    check_selection("search_definition", selects_all=selects_all, allows_all=is_trial or is_allowed)
    kits = update_jobs.kits_for(here.database, wanted.versions)
    devices, missing = _selected(here, scope, wanted, now_us)
    if not devices and not scope.sees_all:
        raise NotFoundError("you cannot update any of the devices")
    if devices:
        require(caller, Deed.UPDATE_SENSORS, of_groups(*{one.sensor.group_id for one in devices}))
    new = NewJob(
        caller.name,
        kits,
        devices,
        missing,
        wanted.waves,
        now_us,
        now_us + here.settings.update_job_days * _DAY_US,
        wanted.reason,
    )
    if is_trial:
        counted = update_jobs.trial(new) | {"selects_all": selects_all}
        return json_answer({"success": True, "message": "nothing changed", **counted})
    job_id = update_jobs.create(here.database, new)
    here.update_targets.refresh()
    return _changed(here, org, scope, job_id, "the job was created")


def _selected(
    here: Services, scope: Scope, wanted: JobWanted, now_us: int
) -> tuple[list[Device], list[int]]:
    """Returns the devices of a new job, and the ids that match no device."""
    if wanted.device_ids is not None:
        known = device_list.known(here.database, scope, wanted.device_ids, now_us)
        missing = [one for one in wanted.device_ids if one not in known]
        return [known[one] for one in wanted.device_ids if one in known], missing
    assert wanted.search is not None
    page = wanted.page
    found = device_list.search(here.database, scope, wanted.search, page.sorts, now_us)
    return found[page.start : page.start + min(page.rows, DEVICE_ROWS_MAX)], []


@router.get(
    BASE, right=permission.DEVICE_READ, summary="List sensor update jobs", openapi_extra=_TYPE
)
def listed(request: Request, here: Here, scope: Within) -> Response:
    """Returns jobs with a device in the caller's sensor groups, newest first."""
    _check_type(request)
    found = update_jobs.all_jobs(here.database, scope)
    return json_answer([job_status_body(one) for one in found])


@router.get(f"{BASE}/{{job_id}}", right=permission.DEVICE_READ, summary="Get a sensor update job")
def one(job_id: str, here: Here, org: Org, scope: Within) -> Response:
    """Returns the job with the states of its devices."""
    job = update_jobs.get(here.database, scope, job_id)
    targets = update_jobs.targets(here.database, scope, job_id)
    return json_answer(job_body(job, org, targets))


@router.get(
    f"{BASE}/{{job_id}}/sensors",
    right=permission.DEVICE_READ,
    summary="List devices of a sensor update job",
    openapi_extra=described(
        ("format", "json, the default, or csv"),
        ("download", "true: as a file, by Content-Disposition"),
    ),
)
def sensors(job_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns the state of each device. CSV has the columns Device ID, Update Status, Failure
    Reason, Initial Device Version, Update Device Version, Initiated Update Time UTC, OS."""
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


@router.post(
    f"{BASE}/{{job_id}}/status", right=permission.KITS_EXECUTE, summary="Cancel a sensor update job"
)
def cancel(
    job_id: str, here: Here, org: Org, scope: Within, caller: Caller, body: Body
) -> Response:
    """Body: `status`: CANCELLED, and `reason` for the audit log. Waiting devices become failed;
    updated devices stay updated."""
    if body.get("status") != "CANCELLED":
        raise BadRequestError("status: must be CANCELLED")
    reason = order_reason(body)
    update_jobs.get(here.database, scope, job_id)  # raises NotFoundError
    groups = update_jobs.groups_of(here.database, job_id)
    require(caller, Deed.UPDATE_SENSORS, of_groups(*groups))
    update_jobs.cancel(here.database, scope, job_id, here.clock.now_us(), reason)
    here.update_targets.refresh()
    return _changed(here, org, scope, job_id, "the job was cancelled")


def _changed(here: Services, org: str, scope: Scope, job_id: str, message: str) -> Response:
    job = update_jobs.get(here.database, scope, job_id)
    targets = update_jobs.targets(here.database, scope, job_id)
    body = {"success": True, "message": message, "job": job_body(job, org, targets)}
    return json_answer(body)


def _check_type(request: Request) -> None:
    if request.query_params.get("job_type", "ENDPOINT") != "ENDPOINT":
        raise BadRequestError("job_type: must be ENDPOINT")
