"""Routes of threat intelligence feeds and their reports (docs/feeds.md)."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import NotFoundError
from vedette.feeds.describe import fetch_info, with_name
from vedette.feeds.egress import FeedUnreachableError
from vedette.feeds.fetch import Source
from vedette.feeds.formats.json_pieces import BrokenDocumentError
from vedette.feeds.report_writer import writing_reports
from vedette.feeds.trial import try_feed
from vedette.limits import REPORT_IOCS_MAX, REPORT_IOCS_SHOWN_MAX, Limit
from vedette.model.findings.detection import Source as DetectionSource
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.model.scope import Scope
from vedette.model.threat.feed import FeedInfo, shown_url
from vedette.record.answers import many
from vedette.record.bodies import Sent
from vedette.record.objects.feed import (
    CHANGED_FEED,
    FEED,
    FEED_CHANGE,
    FEED_WITH_ERRORS,
    NEW_FEED,
    Feed,
    FeedRequest,
)
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import actions, feeds
from vedette.state.policy.feeds import CHANGES, EVERYTHING
from vedette.store.read.detection.tag_counts import hits_of_report
from vedette.store.read.threat.reports import (
    report,
    report_counts,
    reports_after,
)
from vedette.store.write.reports import delete_feed, name_reports
from vedette.web.feeds.models import error_body, feed_body, feed_members, feed_settings, trial_body
from vedette.web.feeds.threat_report_json import matches_body, report_body
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import flag_of
from vedette.web.json.parameters import described, whole_number

REPORT_LIST_ROWS_MAX: Limit[int] = 10_000
"""Maximum reports per response of `/api/v1/feed/{id}/report`."""


router = Router(tags=["feeds"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]
New = Annotated[Sent[FeedRequest], Depends(json_body(NEW_FEED))]

_BASE: Final = "/api/v1/feed"
_REPORTS: Final = described(
    ("after", "Only reports whose id comes after this one, in the order of ids"),
    ("rows", f"Reports of the answer; default and at most {REPORT_LIST_ROWS_MAX}"),
)


@router.get(_BASE, right=Right.VIEW, summary="List feeds", response_model=many(FEED))
def listed(here: Here, caller: Caller) -> Response:
    """Returns all feeds by id, with the state of their synchronization. Secrets are null. Only
    global administrators see the query part of `feed_url`, which may contain a key."""
    counts = report_counts(here.engine)
    found = feeds.all_feeds(here.database)
    return json_answer(
        [_seen(caller, _body(here, feed, counts.get(feed.id, (0, 0)))) for feed in found]
    )


@router.post(_BASE, right=Deed.CHANGE_FEEDS, summary="Add a feed", response_model=FEED)
def create(here: Here, body: New) -> Response:
    """Adds a feed from `feed_url` and optional members of the record; returns the record. The
    server fetches the document immediately to read the feed's metadata. If the fetch fails, the
    feed is added only if the body has a `name`. The first synchronization adds the reports."""
    members = feed_members(body)
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


@router.post(f"{_BASE}/preview", right=Deed.CHANGE_FEEDS, summary="Try a feed")
def try_out(here: Here, body: New) -> Response:
    """Fetches and parses the document of a feed like a synchronization, and stores nothing. The
    body is that of a new feed. `complete` is false if the deadline passed before the end of the
    document."""
    members = feed_members(body)
    found = try_feed(here.feeds.parts.fetcher, _source(members))
    return json_answer(trial_body(found))


@router.get(
    f"{_BASE}/{{feed_id}}",
    right=Right.VIEW,
    summary="Get a feed",
    response_model=FEED_WITH_ERRORS,
)
def one(feed_id: int, here: Here, caller: Caller) -> Response:
    """Returns the feed with `errors`: the parts of the document that the latest synchronization
    could not parse, and their location."""
    return json_answer(_seen(caller, _with_errors(here, feeds.get(here.database, feed_id))))


@router.put(
    f"{_BASE}/{{feed_id}}",
    right=Deed.CHANGE_FEEDS,
    summary="Change a feed",
    response_model=CHANGED_FEED,
)
def change(
    feed_id: int, here: Here, body: Annotated[Sent[FeedRequest], Depends(json_body(FEED_CHANGE))]
) -> Response:
    """Changes the given members and returns the record. A null secret leaves the stored secret
    unchanged. Stored secrets are deleted if the new URL has another server. Error 409
    `changed_meanwhile`: a member differs from its value in `was`."""
    members = feed_members(body)

    def check(known: Feed) -> None:
        body.check_unchanged(feed_settings(known))

    feed = feeds.change(here.database, feed_id, members, here.sealing, here.clock.now_us(), check)
    if {"name", "category"} & members.keys():
        with writing_reports(here.engine, here.database, here.clock) as version:
            name_reports(here.engine, feed.id, feed.name, feed.category or "", version)
    return json_answer(_with_errors(here, feed) | {"result": "success"})


@router.delete(f"{_BASE}/{{feed_id}}", right=Deed.CHANGE_FEEDS, summary="Delete a feed")
def delete(feed_id: int, here: Here) -> Response:
    """Deletes a feed with its reports and indicators. Tags and alerts from its hits remain."""
    off = {"enabled": False, "etag": ""}
    feeds.change(here.database, feed_id, off, here.sealing, here.clock.now_us())
    with writing_reports(here.engine, here.database, here.clock) as version:
        delete_feed(here.engine, feed_id, version)
    source = DetectionSource("feed", str(feed_id))
    feeds.remove(here.database, feed_id, lambda connection: actions.remove_of(connection, source))
    return json_answer({"result": "success"})


@router.post(
    f"{_BASE}/{{feed_id}}/synchronize",
    right=Deed.CHANGE_FEEDS,
    summary="Request the synchronization of a feed",
)
def synchronise(feed_id: int, here: Here, body: Body) -> Response:
    """Requests a synchronization. `full_sync` compares every report and deletes reports that are
    missing from the document; otherwise only new and updated reports are stored. Error 409: the
    feed is disabled."""
    how = EVERYTHING if flag_of(body, "full_sync") else CHANGES
    feeds.request_sync(here.database, feed_id, how, here.clock.now_us())
    return json_answer({"result": True})


@router.get(f"{_BASE}/{{feed_id}}/errors", right=Right.VIEW, summary="List errors of a feed")
def errors(feed_id: int, here: Here) -> Response:
    """Returns the parts of the document that the latest synchronization could not parse, in
    document order, with their location."""
    return json_answer([error_body(part) for part in feeds.errors_of(here.database, feed_id)])


@router.get(
    f"{_BASE}/{{feed_id}}/report",
    right=Right.VIEW,
    summary="List reports of a feed",
    openapi_extra=_REPORTS,
)
def reports(feed_id: int, request: Request, here: Here) -> Response:
    """Returns reports by id. For the next page, send the last id as `after`."""
    feeds.get(here.database, feed_id)
    most = REPORT_LIST_ROWS_MAX
    rows = whole_number(request.query_params, "rows", most, least=1, most=most)
    after = request.query_params.get("after", "")
    found = reports_after(here.engine, feed_id, after, rows)
    return json_answer([report_body(row) for row in found])


@router.get(
    f"{_BASE}/{{feed_id}}/report/{{report_id}}", right=Right.VIEW, summary="Get a report of a feed"
)
def one_report(feed_id: int, report_id: str, here: Here) -> Response:
    """Returns the report with all indicators."""
    feeds.get(here.database, feed_id)
    row = report(here.engine, feed_id, report_id)
    if row is None:
        raise NotFoundError(f"feed {feed_id} has no report {report_id[:80]!r}")
    return json_answer(report_body(row, REPORT_IOCS_MAX))


@router.get(
    f"{_BASE}/{{feed_id}}/report/{{report_id}}/matches",
    right=Right.VIEW,
    summary="List matches of a report",
)
async def matches(
    feed_id: int, report_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Returns the report's indicators that match stored processes within the caller's scope, with
    the number of process segments and hosts, and the time of the latest match. Sorted by number of
    matches, at most 1,000."""
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


def _seen(caller: Principal, body: dict[str, Any]) -> dict[str, Any]:
    """Removes the query of `feed_url` unless the caller is a global administrator: publishers put
    keys into it."""
    if caller.is_global_admin:
        return body
    return body | {"feed_url": shown_url(body["feed_url"])}


def _with_errors(here: Services, feed: Feed) -> dict[str, Any]:
    body = _body(here, feed, report_counts(here.engine).get(feed.id, (0, 0)))
    return body | {"errors": [error_body(p) for p in feeds.errors_of(here.database, feed.id)]}


def _body(here: Services, feed: Feed, counts: tuple[int, int]) -> dict[str, Any]:
    return feed_body(feed, counts, feeds.has_secrets(here.database, feed.id))
