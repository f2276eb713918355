"""Devices of the cloud API (docs/cloud-devices.md#devices)."""

from typing import Annotated, Any, Final

import orjson
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.limits import DEVICE_ROWS_MAX
from vedette.model.principal import Principal
from vedette.model.rights import permission
from vedette.model.rights.permission import groups_with
from vedette.model.scope import Scope
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.devices import device_list
from vedette.state.devices.device_list import Device
from vedette.state.jobs import cloud_jobs
from vedette.web.fleet.device_export_routes import csv_answer
from vedette.web.fleet.devices_json import device_body, device_filter, device_page, devices_csv
from vedette.web.fleet.jobs_routes import job_body
from vedette.web.http.access import scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.organization import caller_of, organization, owner_of
from vedette.web.http.responses import json_answer
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.cloud_request import facet_fields
from vedette.web.json.parameters import described

router = Router(tags=["cloud devices"])

Here = Annotated[Services, Depends(services)]
Org = Annotated[str, Depends(organization)]
Caller = Annotated[Principal, Depends(caller_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

BASE: Final = "/appservices/v6/orgs/{org_key}/devices"
_DOWNLOAD: Final = described(
    ("status", "Statuses, comma-separated; required"),
    ("policy_id", "Ids of sensor groups"),
    ("ad_group_id", "0"),
    ("target_priority", "LOW, MEDIUM, HIGH, MISSION_CRITICAL"),
    ("query_string", "Part of a name, address, version or operating system"),
    ("sort_field", "Field to sort by"),
    ("sort_order", "ASC or DESC"),
)


@router.post(f"{BASE}/_search", right=permission.DEVICE_READ, summary="Search devices")
def search(here: Here, org: Org, scope: Within, body: Body) -> Response:
    """Body: `criteria`, `exclusions`, `query`, `rows` (at most 10,000), `start` and `sort`. Returns
    matching devices in the caller's scope."""
    page = device_page(body)
    found = _found(here, scope, body)
    shown = found[page.start : page.start + page.rows]
    records = [device_body(one, org) for one in shown]
    return json_answer({"num_found": len(found), "num_available": len(found), "results": records})


@router.post(f"{BASE}/_scroll", right=permission.DEVICE_READ, summary="Scroll through all devices")
def scroll(here: Here, org: Org, scope: Within, body: Body) -> Response:
    """Like a search, sorted by id. Send `search_after` of a response to get the next devices."""
    rows = device_page(body, DEVICE_ROWS_MAX).rows
    after = _after(body.get("search_after"))
    found = sorted(_found(here, scope, body), key=lambda one: one.sensor.id)
    shown = [one for one in found if one.sensor.id > after][:rows]
    last = [shown[-1].sensor.id] if shown else [after]
    records = [device_body(one, org) for one in shown]
    return json_answer({"num_found": len(found), "results": records, "search_after": last})


@router.post(
    f"{BASE}/_facet", right=permission.DEVICE_READ, summary="Count devices by field values"
)
def facet(here: Here, scope: Within, body: Body) -> Response:
    """Body: the selection of a search, and `terms` with `fields` and `rows` (values per field; 0
    for all). Returns the counts of each value."""
    names, rows = facet_fields(body)
    found = _found(here, scope, body)
    policies = device_list.policy_names(found)
    results = [
        {
            "field": name,
            "values": [
                {
                    "id": value,
                    "name": policies.get(value, value) if name == "policy_id" else value,
                    "total": total,
                }
                for value, total in (values[:rows] if rows else values)
            ],
        }
        for name, values in device_list.facets(found, names).items()
    ]
    return json_answer({"results": results})


@router.get(
    f"{BASE}/_search/download",
    right=permission.DEVICE_READ,
    summary="Download devices as CSV",
    openapi_extra=_DOWNLOAD,
)
def download(request: Request, here: Here, org: Org, scope: Within) -> Response:
    """Requires the parameter `status`. Cells that start like a formula have an apostrophe in front.
    The audit log records the download."""
    query = request.query_params
    if not query.get("status"):
        raise BadRequestError("status: is required")
    names = ("status", "policy_id", "ad_group_id", "target_priority")
    body: dict[str, Any] = {
        "criteria": {name: query[name].split(",") for name in names if query.get(name)},
        "query": query.get("query_string", ""),
    }
    if query.get("sort_field"):
        body["sort"] = [{"field": query["sort_field"], "order": query.get("sort_order", "ASC")}]
    audit_trail.record(here.database, Entry("read", "device export", "download"))
    return csv_answer(devices_csv(_found(here, scope, body), org), "devices.csv")


@router.post(
    f"{BASE}/_export", right=permission.DEVICE_READ, summary="Export devices as CSV in a job"
)
def export(here: Here, org: Org, scope: Within, caller: Caller, body: Body) -> Response:
    """Body: the selection of a search, and `format`: CSV. Returns a job;
    `/jobs/v1/orgs/ORG/jobs/ID/download` has the file."""
    if str(body.get("format", "CSV")).upper() != "CSV":
        raise BadRequestError("format: must be CSV")
    count = len(_found(here, scope, body))
    job_id = cloud_jobs.add(
        here.database,
        "device_export",
        owner=owner_of(caller),
        author=caller.name,
        request=orjson.dumps(body).decode(),
        groups=groups_with(caller, permission.DEVICE_READ),
        now_us=here.clock.now_us(),
        status="COMPLETED",
        total=count,
    )
    return json_answer(job_body(cloud_jobs.get(here.database, job_id, owner_of(caller)), org))


@router.get(f"{BASE}/{{device_id}}", right=permission.DEVICE_READ, summary="Get a device")
def one(device_id: str, here: Here, org: Org, scope: Within) -> Response:
    """Returns 404 also for a device of a sensor group that the caller may not see."""
    number = device_list.number_of(device_id)
    found = device_list.get(here.database, scope, number, here.clock.now_us())
    return json_answer(device_body(found, org))


def _found(here: Services, scope: Scope, body: dict[str, Any]) -> list[Device]:
    now_us = here.clock.now_us()
    wanted, page = device_filter(body, now_us), device_page(body)
    return device_list.search(here.database, scope, wanted, page.sorts, now_us)


def _after(given: object) -> int:
    """Returns the id at the end of the previous page."""
    if given is None:
        return 0
    is_ours = isinstance(given, list) and len(given) == 1 and isinstance(given[0], int)
    if not is_ours:
        raise BadRequestError("search_after: must be the value from the previous response")
    return int(given[0])  # type: ignore[index]
