"""Feeds of threat intelligence: how they do, one of them, its reports."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.schemas.threat_report import report_body
from vedette.api.services import Services, services
from vedette.console.alert_outcomes import outcomes_of
from vedette.console.render import render
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.scope import Scope
from vedette.model.threat.feed import shown_url
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import feeds
from vedette.store.read.threat.reports import report_counts, reports_after

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.get("/ui/feeds", summary="Feeds")
async def listed(request: Request, here: Here, scope: Within) -> Response:
    """Those that fail first."""

    def work(engine: BoundedEngine) -> dict[str, Any]:
        found = sorted(
            feeds.all_feeds(here.database), key=lambda one: (not one.last_error, one.name.lower())
        )
        ids = [str(one.id) for one in found]
        return {
            "feeds": found,
            "counts": report_counts(engine),
            "outcomes": outcomes_of(engine, here, scope, "feed", ids),
        }

    return render(request, "screens/feeds.html", **await run_search(request, here, work))


@router.get("/ui/feeds/{feed_id}", summary="A feed")
async def one(feed_id: str, request: Request, here: Here) -> Response:
    after = request.query_params.get("after", "")

    def work() -> dict[str, Any]:
        try:
            number = bounded_number("feed_id", feed_id, most=ID_MAX)
        except BadRequestError:
            raise NotFoundError(f"there is no feed {feed_id[:40]!r}") from None
        feed = feeds.get(here.database, number)
        rows = reports_after(here.engine, feed.id, after, limits.PAGE_ROWS)
        return {
            "feed": feed,
            "address": shown_url(feed.feed_url),
            "counts": report_counts(here.engine).get(feed.id, (0, 0)),
            "reports": [report_body(row) for row in rows],
            "errors": feeds.errors_of(here.database, feed.id),
            "secrets": feeds.has_secrets(here.database, feed.id),
        }

    return render(
        request, "screens/feed.html", page_rows=limits.PAGE_ROWS, **await to_thread.run_sync(work)
    )
