"""Alert search v7 (docs/cloud-alerts.md#alerts)."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.alerting.workflow_jobs import STATUSES, WorkflowRequest
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import Limit
from vedette.model.findings.alert import AlertRow
from vedette.model.principal import Principal
from vedette.model.rights import permission
from vedette.model.rights.authorization import Deed, groups_where
from vedette.model.scope import Scope
from vedette.search.alerts import cloud_search
from vedette.search.alerts.cloud_search import AlertFilter
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.jobs import cloud_jobs
from vedette.state.policy.alert_workflow import AlertExtras, extras
from vedette.store.read.detection.cloud_alerts import AlertSpan, selected_keys
from vedette.web.alerts.cloud_alert_json import cloud_alert_body, clusters_body, facets_body
from vedette.web.http.access import scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.organization import caller_of, organization, owner_of
from vedette.web.http.responses import json_answer
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import flag_of
from vedette.web.json.bulk_selection import allows_all, check_selection
from vedette.web.json.cloud_request import alert_filter, facet_fields, page_wanted

ALERT_NOTE_CHARS_MAX: Limit[int] = 10_000
"""Characters of a note on an alert."""

WORKFLOW_ALERTS_MAX: Limit[int] = 100_000
"""Alerts that a workflow job changes."""


router = Router(tags=["cloud alerts"])

Here = Annotated[Services, Depends(services)]
Org = Annotated[str, Depends(organization)]
Caller = Annotated[Principal, Depends(caller_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

BASE: Final = "/api/alerts/v7/orgs/{org_key}"
_REASONS: Final = (
    "NO_REASON",
    "RESOLVED",
    "RESOLVED_BENIGN_KNOWN_GOOD",
    "DUPLICATE_CLEANUP",
    "OTHER",
)
_DETERMINATIONS: Final = ("TRUE_POSITIVE", "FALSE_POSITIVE", "NONE")


@router.post(f"{BASE}/alerts/_search", right=permission.ALERTS_READ, summary="Search alerts (v7)")
async def search(request: Request, here: Here, org: Org, scope: Within, body: Body) -> Response:
    """Body: `time_range` (of `backend_timestamp`, default the last two weeks), `criteria`,
    `exclusions`, `query`, `rows` (at most 10,000), `start` and `sort`. Returns matching alerts in
    the caller's scope."""

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        wanted, page = alert_filter(body, now_us), page_wanted(body)
        found = cloud_search.search(
            engine,
            scope,
            wanted,
            page.sorts,
            here.settings,
            now_us,
            start=page.start,
            rows=page.rows,
        )
        kept = _extras(here, found.rows)
        records = [cloud_alert_body(row, org, kept) for row in found.rows]
        return json_answer(
            {"num_found": found.total, "num_available": found.total, "results": records}
        )

    return await run_search(request, here, work)


@router.post(
    f"{BASE}/alerts/_facet",
    right=permission.ALERTS_READ,
    summary="Count alerts by field values (v7)",
)
async def facet(request: Request, here: Here, scope: Within, body: Body) -> Response:
    """Body: the selection of `alerts/_search`, and `terms` with `fields` and `rows` (values per
    field; 0 for all). Returns the counts of the most frequent values."""
    return await _facets(request, here, scope, body, keeps_own=True)


@router.post(
    f"{BASE}/grouped_alerts/_facet",
    right=permission.ALERTS_READ,
    summary="Count grouped alerts by field values (v7)",
)
async def group_facet(request: Request, here: Here, scope: Within, body: Body) -> Response:
    """Like `alerts/_facet`, but a criterion does not restrict the facet of its own field unless
    `filter_values` is true."""
    return await _facets(request, here, scope, body, keeps_own=bool(flag_of(body, "filter_values")))


async def _facets(
    request: Request, here: Services, scope: Scope, body: dict[str, Any], *, keeps_own: bool
) -> Response:
    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        names, rows = facet_fields(body)
        counts = cloud_search.facets(
            engine,
            scope,
            alert_filter(body, now_us),
            names,
            here.settings,
            now_us,
            rows=rows,
            keeps_own=keeps_own,
        )
        return json_answer(facets_body(counts))

    return await run_search(request, here, work)


@router.post(
    f"{BASE}/grouped_alerts/_search", right=permission.ALERTS_READ, summary="Group alerts (v7)"
)
@router.post(
    f"{BASE}/alerts/_group_search", right=permission.ALERTS_READ, summary="Group alerts (v7)"
)
async def group_search(
    request: Request, here: Here, org: Org, scope: Within, body: Body
) -> Response:
    """Body: the selection of `alerts/_search`, and `group_by` with `field` (default THREAT_ID).
    Returns counts and the newest alert of each group, with the most recently active group first."""

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        page = page_wanted(body)
        found = cloud_search.groups(
            engine,
            scope,
            alert_filter(body, now_us),
            _group_field(body),
            here.settings,
            now_us,
            start=page.start,
            rows=page.rows,
        )
        kept = _extras(here, [row for _, row in found.groups])
        return json_answer(clusters_body(found, org, kept))

    return await run_search(request, here, work)


@router.get(
    f"{BASE}/alerts/{{alert_id}}", right=permission.ALERTS_READ, summary="Get an alert (v7)"
)
async def one(alert_id: str, request: Request, here: Here, org: Org, scope: Within) -> Response:
    """Returns 404 also for an alert of a sensor group that the caller may not see."""

    def work(engine: BoundedEngine) -> Response:
        found = known_alert(engine, here, scope, alert_id)
        return json_answer(cloud_alert_body(found, org, _extras(here, [found])))

    return await run_lookup(request, here, work)


@router.post(
    f"{BASE}/alerts/workflow",
    right=permission.ALERTS_CLOSE,
    summary="Change the workflow of alerts (v7)",
)
async def workflow(
    request: Request, here: Here, scope: Within, caller: Caller, body: Body
) -> Response:
    """Body: a selection like `alerts/_search`, and `status` (OPEN, IN_PROGRESS, CLOSED),
    `closure_reason`, `determination` and `note`. Starts a job, whose id is in `request_id`, that
    changes the currently selected alerts, at most 100,000. A selection without `time_range`,
    `criteria`, `exclusions` or a restricting query needs `allow_all`."""

    def work(engine: BoundedEngine) -> list[str]:
        now_us = here.clock.now_us()
        wanted = alert_filter(body, now_us)
        check_selection(
            "criteria, query",
            selects_all=cloud_search.selects_all(wanted, now_us),
            allows_all=allows_all(body),
        )
        names_ids = any(one.field == "id" and not one.excludes for one in wanted.filters)
        if wanted.span is None and names_ids:
            wanted = AlertFilter(AlertSpan(0), wanted.filters, wanted.query)
        where = cloud_search.condition(engine, wanted, here.settings, now_us)
        return selected_keys(engine, where, scope, WORKFLOW_ALERTS_MAX + 1)

    change = _workflow_request(body)
    ids = await run_search(request, here, work)
    if len(ids) > WORKFLOW_ALERTS_MAX:
        raise BadRequestError(f"a job can update at most {WORKFLOW_ALERTS_MAX:,} alerts")
    job = msgspec.structs.replace(change, ids=ids)
    job_id = await to_thread.run_sync(lambda: _begin(here, caller, job))
    return json_answer({"request_id": str(job_id)})


def _begin(here: Services, caller: Principal, job: WorkflowRequest) -> int:
    return cloud_jobs.add(
        here.database,
        "alert_workflow",
        owner=owner_of(caller),
        author=caller.name,
        request=msgspec.json.encode(job).decode(),
        groups=groups_where(caller, Deed.TRIAGE),
        now_us=here.clock.now_us(),
        total=len(job.ids),
    )


def known_alert(engine: BoundedEngine, here: Services, scope: Scope, alert_id: str) -> AlertRow:
    """Returns an alert. Raises NotFoundError if it does not exist or is outside the scope."""
    found = cloud_search.by_id(engine, scope, alert_id.lower(), here.settings)
    if found is None:
        raise NotFoundError(f"alert {alert_id[:64]!r} not found")
    return found


def _extras(here: Services, rows: Sequence[AlertRow]) -> AlertExtras:
    return extras(here.database, [row["id"] for row in rows])


def _group_field(body: dict[str, Any]) -> str:
    given = body.get("group_by")
    field = given.get("field", "threat_id") if isinstance(given, dict) else "threat_id"
    if not isinstance(field, str):
        raise BadRequestError("group_by.field: must be the name of a field")
    return field


def _workflow_request(body: dict[str, Any]) -> WorkflowRequest:
    change = WorkflowRequest(
        [],
        _word(body, "status", tuple(STATUSES)),
        _word(body, "closure_reason", _REASONS),
        _word(body, "determination", _DETERMINATIONS),
        note_text(body) if body.get("note") is not None else "",
    )
    if not (change.status or change.determination or change.note or change.closure_reason):
        raise BadRequestError("status, determination or note: one is required")
    return change


def _word(body: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    given = body.get(name)
    if given is None:
        return ""
    if not isinstance(given, str) or given.upper() not in known:
        raise BadRequestError(f"{name}: must be one of {', '.join(known)}")
    return given.upper()


def note_text(body: dict[str, Any]) -> str:
    """Returns the member `note`. Raises BadRequestError."""
    text = body.get("note")
    if not isinstance(text, str) or not text.strip() or len(text) > ALERT_NOTE_CHARS_MAX:
        raise BadRequestError(f"note: must be a string of 1 to {ALERT_NOTE_CHARS_MAX} characters")
    return text
