"""Feeds of threat intelligence and their reports (docs/feeds.md)."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.feed import READ_ONLY, error_body, feed_body, feed_members, trial_body
from vedette.api.schemas.parameters import described, whole_number
from vedette.api.schemas.stale_changes import as_it_was
from vedette.api.schemas.threat_report import matches_body, report_body
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.feeds.describe import fetch_info, with_name
from vedette.feeds.egress import FeedUnreachableError
from vedette.feeds.fetch import Source
from vedette.feeds.formats.json_pieces import BrokenDocumentError
from vedette.feeds.report_writer import writing_reports
from vedette.feeds.trial import try_feed
from vedette.limits import REPORT_IOCS_MAX, REPORT_IOCS_SHOWN_MAX, REPORT_LIST_ROWS_MAX
from vedette.model.findings.detection import Source as DetectionSource
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.model.threat.feed import FeedInfo, shown_url
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import actions, feeds
from vedette.state.policy.feeds import CHANGES, EVERYTHING, Feed
from vedette.store.read.detection.tag_counts import hits_of_report
from vedette.store.read.threat.reports import (
    report,
    report_counts,
    reports_after,
)
from vedette.store.write.reports import delete_feed, name_reports

router = Router(tags=["feeds"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_BASE: Final = "/api/v1/feed"
_REPORTS: Final = described(
    ("after", "Only reports whose id comes after this one, in the order of ids"),
    ("rows", f"Reports of the answer; default and at most {REPORT_LIST_ROWS_MAX}"),
)


@router.get(_BASE, summary="All feeds")
def listed(here: Here, caller: Caller) -> Response:
    """By id, with how their synchronisation went. Secrets are null; what stands behind `?` in
    `feed_url` is for global administrators."""
    counts = report_counts(here.engine)
    found = feeds.all_feeds(here.database)
    return json_answer(
        [_seen(caller, _body(here, feed, counts.get(feed.id, (0, 0)))) for feed in found]
    )


@router.post(_BASE, summary="Add a feed")
def create(here: Here, body: Body) -> Response:
    """Takes `feed_url` and any member of the record. The document is fetched at once for what it
    says of itself; given a `name`, a feed whose document cannot be fetched is added all the same.
    The answer is the record; the reports follow with the first synchronisation."""
    members = feed_members(body)
    if not members.get("feed_url"):
        raise BadRequestError("feed_url: is missing")
    try:
        info = fetch_info(here.feeds.parts.fetcher, _source(members))
    except (FeedUnreachableError, BrokenDocumentError):
        if "name" not in members:
            raise
        info = FeedInfo()
    taken = (feed.name for feed in feeds.all_feeds(here.database))
    named = with_name(info, str(members["feed_url"]), taken)
    known = {one: value for one in info.__struct_fields__ if (value := getattr(named, one))}
    made = {"enabled": False, "manually_added": True, **known, **members}
    made["display_name"] = made.get("display_name") or made["name"]
    now_us = here.clock.now_us()
    feed = feeds.add(here.database, made, here.sealing, now_us)
    return json_answer(_body(here, feed, (0, 0)))


@router.post(f"{_BASE}/preview", summary="Try a feed")
def try_out(here: Here, body: Body) -> Response:
    """Takes what a new feed takes. Its document is fetched and read as a synchronisation would;
    nothing is kept. `complete` is false when there was no time for all of it."""
    members = feed_members(body)
    if not members.get("feed_url"):
        raise BadRequestError("feed_url: is missing")
    found = try_feed(here.feeds.parts.fetcher, _source(members))
    return json_answer(trial_body(found))


@router.get(f"{_BASE}/{{feed_id}}", summary="One feed")
def one(feed_id: int, here: Here, caller: Caller) -> Response:
    """The record, with `errors`: what its latest synchronisation could not read, and where."""
    return json_answer(_seen(caller, _with_errors(here, feeds.get(here.database, feed_id))))


@router.put(f"{_BASE}/{{feed_id}}", summary="Change a feed")
def change(feed_id: int, here: Here, body: Body) -> Response:
    """Takes members of the record; what is not given stays, null leaves a secret alone. Secrets are
    dropped when the URL leads to another server. The answer is the record. 409 `changed_meanwhile`
    where a member is not as `was` says."""
    members = feed_members(body)
    if "name" in members and not members["name"]:
        raise BadRequestError("name: must not be empty")
    check = as_it_was(body, _settings)
    feed = feeds.change(here.database, feed_id, members, here.sealing, here.clock.now_us(), check)
    if {"name", "category"} & members.keys():
        with writing_reports(here.engine, here.database, here.clock) as version:
            name_reports(here.engine, feed.id, feed.name, feed.category or "", version)
    return json_answer(_with_errors(here, feed) | {"result": "success"})


@router.delete(f"{_BASE}/{{feed_id}}", summary="Delete a feed")
def delete(feed_id: int, here: Here) -> Response:
    """With its reports and indicators. What they hit stays tagged, alerts stay."""
    off = {"enabled": False, "etag": ""}
    feeds.change(here.database, feed_id, off, here.sealing, here.clock.now_us())
    with writing_reports(here.engine, here.database, here.clock) as version:
        delete_feed(here.engine, feed_id, version)
    source = DetectionSource("feed", str(feed_id))
    feeds.remove(here.database, feed_id, lambda connection: actions.remove_of(connection, source))
    return json_answer({"result": "success"})


@router.post(f"{_BASE}/{{feed_id}}/synchronize", summary="Synchronise a feed soon")
def synchronise(feed_id: int, here: Here, body: Body) -> Response:
    """With `full_sync` every report is compared, and what the document no longer has is deleted;
    else new and newer reports are taken. 409 for a feed that is disabled."""
    full = body.get("full_sync") or False
    if not isinstance(full, bool):
        raise BadRequestError("full_sync: must be true or false")
    how = EVERYTHING if full else CHANGES
    feeds.request_sync(here.database, feed_id, how, here.clock.now_us())
    return json_answer({"result": True})


@router.get(f"{_BASE}/{{feed_id}}/errors", summary="What of a feed could not be read")
def errors(feed_id: int, here: Here) -> Response:
    """Of the latest synchronisation, in the order of the document, with the place of each."""
    return json_answer([error_body(part) for part in feeds.errors_of(here.database, feed_id)])


@router.get(f"{_BASE}/{{feed_id}}/report", summary="Reports of a feed", openapi_extra=_REPORTS)
def reports(feed_id: int, request: Request, here: Here) -> Response:
    """By id. Ask for the next ones with the last id as `after`."""
    feeds.get(here.database, feed_id)
    most = REPORT_LIST_ROWS_MAX
    rows = whole_number(request.query_params, "rows", most, least=1, most=most)
    after = request.query_params.get("after", "")
    found = reports_after(here.engine, feed_id, after, rows)
    return json_answer([report_body(row) for row in found])


@router.get(f"{_BASE}/{{feed_id}}/report/{{report_id}}", summary="One report of a feed")
def one_report(feed_id: int, report_id: str, here: Here) -> Response:
    """With all of its indicators."""
    feeds.get(here.database, feed_id)
    row = report(here.engine, feed_id, report_id)
    if row is None:
        raise NotFoundError(f"feed {feed_id} has no report {report_id[:80]!r}")
    return json_answer(report_body(row, REPORT_IOCS_MAX))


@router.get(
    f"{_BASE}/{{feed_id}}/report/{{report_id}}/matches", summary="What a report of a feed hit"
)
async def matches(
    feed_id: int, report_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Each indicator that hit stored processes of hosts that the caller sees, with how many process
    segments and hosts and when the newest was; those that hit most first, at most 1,000."""
    feed = await to_thread.run_sync(feeds.get, here.database, feed_id)

    def work(engine: BoundedEngine) -> Response:
        if report(engine, feed_id, report_id) is None:
            raise NotFoundError(f"feed {feed_id} has no report {report_id[:80]!r}")
        most, seconds = REPORT_IOCS_SHOWN_MAX, here.settings.search_deadline_s
        found = hits_of_report(engine, scope, feed.name, report_id, most, seconds)
        return json_answer([matches_body(one) for one in found])

    return await run_search(request, here, work)


def _source(members: dict[str, Any]) -> Source:
    return Source(
        url=members["feed_url"],
        is_checked=members.get("validate_server_cert") is not False,
        by_proxy=bool(members.get("use_proxy")),
        username=members.get("username") or "",
        password=members.get("password") or "",
        certificate=members.get("ssl_client_crt") or "",
        key=members.get("ssl_client_key") or "",
    )


def _settings(feed: Feed) -> dict[str, Any]:
    """What people set of a feed, and no secret."""
    body = feed_body(feed, (0, 0), {"password": False, "ssl_client_key": False})
    return {name: value for name, value in body.items() if name not in READ_ONLY}


def _seen(caller: Principal, body: dict[str, Any]) -> dict[str, Any]:
    """A record as the caller sees it: publishers put keys into the query of their addresses."""
    if caller.is_global_admin:
        return body
    return body | {"feed_url": shown_url(body["feed_url"])}


def _with_errors(here: Services, feed: Feed) -> dict[str, Any]:
    body = _body(here, feed, report_counts(here.engine).get(feed.id, (0, 0)))
    return body | {"errors": [error_body(p) for p in feeds.errors_of(here.database, feed.id)]}


def _body(here: Services, feed: Feed, counts: tuple[int, int]) -> dict[str, Any]:
    return feed_body(feed, counts, feeds.has_secrets(here.database, feed.id))
