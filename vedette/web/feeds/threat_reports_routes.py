"""Threat reports: search, and ignoring them (docs/api-threat-reports.md#threat-reports)."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError
from vedette.feeds.ignored import ignore_reports
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.model.threat.report_fields import REPORT
from vedette.query import check, parse_stored
from vedette.query.check.coverage import matches_all
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.reports import report_search
from vedette.state.accounts.users import id_of
from vedette.state.policy.ignored_reports import Ignorer, ReportKey
from vedette.store.read.threat.report_search import FACETS, report_keys
from vedette.store.read.threat.reports import existing_reports, report
from vedette.web.feeds.threat_report_json import (
    changed_reports_body,
    report_body,
    report_results_body,
)
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import check_members, flag_value
from vedette.web.json.bulk_selection import ALLOW_ALL, allows_all, check_selection
from vedette.web.json.parameters import ID_MAX, bounded_number, described
from vedette.web.processes.search_parameters_json import search_request

REPORT_UPDATE_IDS_MAX: Limit[int] = 100_000
"""Reports in a request to ignore them."""


router = Router(tags=["threat reports"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_PATH: Final = "/api/v1/threat_report"
_SEARCH: Final = described(
    ("q", "Query; empty or missing for everything; several are ANDed"),
    ("rows", f"Rows of a page; default 10, at most {limits.ROWS_MAX}"),
    ("start", "First row"),
    ("sort", f"Field and asc or desc; default {report_search.REPORT_SORT_DEFAULT}"),
    ("svc.q.FIELD", "A query for one field, ANDed"),
    ("svc.fq", "A further query, ANDed"),
    ("svc.fq.FIELD", "An exact value of one field"),
    ("facet", "true to count facets"),
    ("facet.field", f"A facet: {', '.join(FACETS)}"),
    array=("q", "facet.field"),
)


@router.get(_PATH, right=Right.VIEW, summary="Search threat reports", openapi_extra=_SEARCH)
async def search(request: Request, here: Here) -> Response:
    """Returns matching reports. The query language has its own fields for reports."""
    wanted = search_request(request.query_params.multi_items(), report_search.REPORT_SORT_DEFAULT)

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        found = report_search.search(engine, wanted, here.settings, now_us, engine.cancel)
        return json_answer(report_results_body(found))

    return await run_search(request, here, work)


@router.post(_PATH, right=Deed.IGNORE_REPORTS, summary="Ignore or stop ignoring threat reports")
def update(here: Here, caller: Caller, body: Body) -> Response:
    """Body: `ids`, which maps feed ids to lists of report ids, or `query`; and `updates` with only
    `is_ignored`. A query that matches every report needs `allow_all`. `updated` counts changed
    reports, `unchanged` those that already had the value, and `not_found` lists ids without a
    report. For a single report, the response also contains its record."""
    check_members(body, "ids", "query", "updates", ALLOW_ALL, of="the request")
    ignored = _updates(body.get("updates"))
    if (body.get("ids") is None) == (body.get("query") is None):
        raise BadRequestError("specify either ids or query")
    is_allowed = allows_all(body)
    reports = (
        _named(body["ids"])
        if body.get("ids") is not None
        else _found(here, body["query"], allows_all=is_allowed)
    )
    known = existing_reports(here.engine, reports)
    found = [one for one in reports if one in known]
    by = Ignorer(id_of(here.database, caller.name), caller.name, here.clock.now_us())
    changed = ignore_reports(here.engine, here.database, here.clock, found, ignored=ignored, by=by)
    done = changed_reports_body(changed, len(found), [one for one in reports if one not in known])
    # The public client expects the changed record as the response.
    row = report(here.engine, *found[0]) if len(found) == 1 else None
    return json_answer(done if row is None else report_body(row) | done)


def _updates(value: object) -> bool:
    if not isinstance(value, dict) or "is_ignored" not in value:
        raise BadRequestError("updates: must be an object with is_ignored")
    others = sorted(name for name in value if name != "is_ignored")
    if others:
        raise BadRequestError(f"updates: {others[0][:60]!r} is not a writable field of a report")
    return flag_value("is_ignored", value["is_ignored"])


def _named(value: object) -> list[ReportKey]:
    if not isinstance(value, dict):
        raise BadRequestError("ids: must map feed ids to lists of report ids")
    keys: dict[ReportKey, None] = {}
    for feed_id, report_ids in value.items():
        feed = bounded_number("ids", feed_id, least=1, most=ID_MAX)
        if not isinstance(report_ids, list) or not all(isinstance(i, str) for i in report_ids):
            raise BadRequestError(f"ids: {feed} must be a list of report ids")
        keys |= dict.fromkeys((feed, one) for one in report_ids)
    if len(keys) > REPORT_UPDATE_IDS_MAX:
        raise BadRequestError(f"ids: at most {REPORT_UPDATE_IDS_MAX:,} ids")
    return list(keys)


def _found(here: Services, value: object, *, allows_all: bool) -> list[ReportKey]:
    if not isinstance(value, str):
        raise BadRequestError("query: must be a query string")
    tree = parse_stored(value, REPORT)
    now_us = here.clock.now_us()
    is_any = matches_all(check(tree, REPORT, now_us=now_us), REPORT.always)
    check_selection("query", selects_all=is_any, allows_all=allows_all)
    where = report_search.report_condition(here.engine, tree, here.settings, now_us)
    most = REPORT_UPDATE_IDS_MAX
    keys = report_keys(here.engine, where, most + 1)
    if len(keys) > most:
        raise BadRequestError(f"query: selects more than {most:,} reports; select fewer")
    return keys
