"""Threat reports: search, and ignoring them (docs/http-api.md#threat-reports)."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.body_members import check_members
from vedette.api.schemas.parameters import ID_MAX, bounded_number, described
from vedette.api.schemas.search.search_parameters import search_request
from vedette.api.schemas.threat_report import report_body, report_results_body
from vedette.api.services import Services, services
from vedette.errors import BadRequestError
from vedette.feeds.ignored import ignore_reports
from vedette.model.principal import Principal
from vedette.model.threat.report_fields import REPORT
from vedette.query.parse.query_params import parse_stored
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.reports import report_search
from vedette.state.accounts.users import id_of
from vedette.state.policy.ignored_reports import Ignorer, ReportKey
from vedette.store.read.threat.report_search import FACETS, report_keys
from vedette.store.read.threat.reports import report

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


@router.get(_PATH, summary="Search threat reports", openapi_extra=_SEARCH)
async def search(request: Request, here: Here) -> Response:
    """The query language has fields of its own for reports."""
    wanted = search_request(request.query_params.multi_items(), report_search.REPORT_SORT_DEFAULT)

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        found = report_search.search(engine, wanted, here.settings, now_us, engine.cancel)
        return json_answer(report_results_body(found))

    return await run_search(request, here, work)


@router.post(_PATH, summary="Ignore threat reports, or hear them again")
def update(here: Here, caller: Caller, body: Body) -> Response:
    """Takes `ids`, feed ids to lists of report ids, or `query`, a query string; and `updates` with
    `is_ignored` alone. The answer says how many reports were selected; of one it is the record."""
    check_members(body, "ids", "query", "updates", of="the request")
    ignored = _updates(body.get("updates"))
    if (body.get("ids") is None) == (body.get("query") is None):
        raise BadRequestError("give either ids or query")
    reports = _named(body["ids"]) if body.get("ids") is not None else _found(here, body["query"])
    by = Ignorer(id_of(here.database, caller.name), caller.name, here.clock.now_us())
    ignore_reports(here.engine, here.database, here.clock, reports, ignored=ignored, by=by)
    done: dict[str, Any] = {"result": "success", "updated": len(reports)}
    # The public client takes the answer for the record that it changed.
    row = report(here.engine, *reports[0]) if len(reports) == 1 else None
    return json_answer(done if row is None else report_body(row) | done)


def _updates(value: object) -> bool:
    if not isinstance(value, dict) or "is_ignored" not in value:
        raise BadRequestError("updates: must be an object with is_ignored")
    others = sorted(name for name in value if name != "is_ignored")
    if others:
        raise BadRequestError(f"updates: {others[0][:60]!r} of a report cannot be changed")
    ignored = value["is_ignored"]
    if not isinstance(ignored, bool):
        raise BadRequestError("is_ignored: must be true or false")
    return ignored


def _named(value: object) -> list[ReportKey]:
    if not isinstance(value, dict):
        raise BadRequestError("ids: must be an object of feed ids and lists of report ids")
    keys: dict[ReportKey, None] = {}
    for feed_id, report_ids in value.items():
        feed = bounded_number("ids", feed_id, least=1, most=ID_MAX)
        if not isinstance(report_ids, list) or not all(isinstance(i, str) for i in report_ids):
            raise BadRequestError(f"ids: {feed} must have a list of report ids")
        keys |= dict.fromkeys((feed, one) for one in report_ids)
    if len(keys) > limits.REPORT_UPDATE_IDS_MAX:
        raise BadRequestError(f"ids: are more than {limits.REPORT_UPDATE_IDS_MAX:,}")
    return list(keys)


def _found(here: Services, value: object) -> list[ReportKey]:
    if not isinstance(value, str):
        raise BadRequestError("query: must be a query string")
    tree = parse_stored(value, REPORT)
    now_us = here.clock.now_us()
    where = report_search.report_condition(here.engine, tree, here.settings, now_us)
    most = limits.REPORT_UPDATE_IDS_MAX
    keys = report_keys(here.engine, where, most + 1)
    if len(keys) > most:
        raise BadRequestError(f"query: selects more than {most:,} reports; select fewer")
    return keys
