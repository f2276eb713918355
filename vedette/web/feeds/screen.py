"""Pages of feeds: the list, details of a feed, and a report."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError, UnavailableError
from vedette.model.scope import Scope
from vedette.model.threat.feed import shown_url
from vedette.record.objects.feed import Feed
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import feeds
from vedette.store.read.detection.tag_counts import IocHits, hits_of_report, hits_over_time
from vedette.store.read.threat.reports import (
    indicator_types,
    report,
    report_counts,
    reports_after,
)
from vedette.watchlists.backtest import DAY_MS
from vedette.web.feeds.threat_report_json import report_body, report_iocs
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.action_sources import FEED_SOURCE
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.notify.source_actions import actions_of
from vedette.web.page.alert_outcomes import outcomes_of
from vedette.web.page.render import render

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.get("/ui/feeds", right=Right.VIEW, summary="List feeds")
async def listed(request: Request, here: Here, scope: Within) -> Response:
    """Shows failing feeds first."""

    def work(engine: BoundedEngine) -> dict[str, Any]:
        found = sorted(
            feeds.all_feeds(here.database), key=lambda one: (not one.last_error, one.name.lower())
        )
        ids = [str(one.id) for one in found]
        return {
            "feeds": found,
            "counts": report_counts(engine),
            "types": indicator_types(engine),
            "hits": _hits(engine, here, scope, [one.name.lower() for one in found]),
            "outcomes": outcomes_of(engine, here, scope, "feed", ids),
        }

    return render(request, "feeds/feeds.html", **await run_search(request, here, work))


def _hits(
    engine: BoundedEngine, here: Services, scope: Scope, names: list[str]
) -> Mapping[str, Sequence[int]] | None:
    """Returns hits per day by feed name; None after a timeout."""
    now_ms, steps = here.clock.now_us() // 1_000, limits.ALERT_TREND_DAYS
    seconds = limits.WATCHLIST_GLANCE_S
    try:
        return hits_over_time(engine, scope, "alliance", names, now_ms, DAY_MS, steps, seconds)
    except UnavailableError:
        return None


@router.get("/ui/feeds/{feed_id}/report", right=Right.READ, summary="Show a report of a feed")
async def one_report(feed_id: str, request: Request, here: Here, scope: Within) -> Response:
    """The parameter `id` is the report's id, which may contain slashes."""
    wanted = request.query_params.get("id", "")

    def work(engine: BoundedEngine) -> dict[str, Any]:
        feed = _feed(here, feed_id)
        row = report(engine, feed.id, wanted)
        if row is None:
            raise NotFoundError(f"feed {feed.id} has no report {wanted[:80]!r}")
        hits, is_known = _matches(engine, scope, feed.name, wanted)
        shown = report_iocs(row, limits.REPORT_IOCS_SHOWN_MAX)
        queries = shown.pop("query", [])
        iocs = [
            (kind, value, hits.get(value)) for kind, values in shown.items() for value in values
        ]
        iocs += [("query", one["search_query"], hits.get(one["search_query"])) for one in queries]
        iocs.sort(key=lambda one: -(one[2].segments if one[2] else 0))
        return {
            "feed": feed,
            "report": report_body(row, 0),
            "iocs": iocs[: limits.REPORT_IOCS_SHOWN_MAX],
            "hit": sum(one[2] is not None for one in iocs),
            "is_known": is_known,
            "fields": _FIELDS,
        }

    return render(request, "feeds/report.html", **await run_search(request, here, work))


_FIELDS: Final = {"md5": "md5", "sha256": "sha256", "dns": "domain", "ipv4": "ipaddr"}
"""Maps type of indicator to the query field of process searches."""


def _matches(
    engine: BoundedEngine, scope: Scope, name: str, report_id: str
) -> tuple[Mapping[str, IocHits], bool]:
    """Returns hits by indicator, and False if the count timed out."""
    most = limits.REPORT_IOCS_SHOWN_MAX
    try:
        found = hits_of_report(engine, scope, name, report_id, most, limits.WATCHLIST_GLANCE_S)
    except UnavailableError:
        return {}, False
    return {one.ioc: one for one in found}, True


def _feed(here: Services, text: str) -> Feed:
    """Returns the feed that a path names. Raises NotFoundError."""
    try:
        number = bounded_number("feed_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"feed {text[:40]!r} not found") from None
    return feeds.get(here.database, number)


@router.get("/ui/feeds/{feed_id}", right=Right.VIEW, summary="Show a feed")
async def one(feed_id: str, request: Request, here: Here) -> Response:
    after = request.query_params.get("after", "")
    caller = principal_of(request)

    def work() -> dict[str, Any]:
        feed = _feed(here, feed_id)
        rows = reports_after(here.engine, feed.id, after, limits.PAGE_ROWS)
        return {
            "feed": feed,
            **actions_of(FEED_SOURCE, here, caller, str(feed.id)),
            "address": shown_url(feed.feed_url),
            "counts": report_counts(here.engine).get(feed.id, (0, 0)),
            "types": indicator_types(here.engine).get(feed.id, {}),
            "reports": [report_body(row) for row in rows],
            "errors": feeds.errors_of(here.database, feed.id),
            "secrets": feeds.has_secrets(here.database, feed.id),
        }

    return render(
        request, "feeds/feed.html", page_rows=limits.PAGE_ROWS, **await to_thread.run_sync(work)
    )
